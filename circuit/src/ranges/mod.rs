//! Ranges of layers that another machine of the same party can compute.
//!
//! A *range* is what a run of layers computes out of few values, and of which little is read later: the blocks of
//! a circuit that was built for a memory budget are ranges. A party may hand a range to a *worker*, which
//! computes it with the same worker of the other two parties, and hands back what is read of it. All parties find the
//! same ranges, because they follow from the circuit alone, and what is computed is the same circuit: every
//! instruction has its own number wherever it is executed, and sends what it sends anywhere, once.
//!
//! **Windows** (`windows`). Layers after those that the run may end or go back in are cut where least is under way: a
//! window ends where little is left of what was made in it, before much is made again.
//!
//! **Instructions** (`assign`). Blocks reach into each other's windows: the last steps of one are in the first layers
//! of the next. So a range is not all of its window, but the instructions of it that need nothing of other
//! ranges of their *stage*, or of what the party itself computes meanwhile. What opens something, draws coins or keeps
//! a state is the party's own. Local instructions that need nothing of the window (masks and functions of them, slices of
//! what all blocks read) give the same words wherever they are evaluated. A range evaluates those for itself by which
//! it has to be handed least (`cut`). The others the party evaluates before it hands the range over ([`Range::prepared`]).
//!
//! **Stages.** A range reads values of earlier stages only, so ranges of one stage are independent.
//!
//! **Steps** (`division`). Layers before the first range finish their messages before it begins, and a range finishes
//! its own. [`Division`] has the steps of the party and of each range, with their drops.
//!
//! # Against a malicious party
//!
//! there are no ranges: before an opening each party proves at once all that it has sent since the last proof, and keeps
//! for this what statements are about, which is most of what a range makes. It would take a proof at the end of each
//! range, carried out by the workers, with the statements and vouchers of the range alone, of which the probabilities
//! add up as those of other proofs do; transcripts of these proofs joined with the party's before the first opening behind them, so that
//! no worker proves something about other words than its party goes on with; and a bound of what a worker keeps in
//! the prediction of its memory.

mod assign;
mod cut;
mod division;
mod windows;

pub use division::Division;

use crate::plan::{Place, instr};
use crate::speculation::Speculation;
use crate::{Circuit, Op, ValueId};
use serde::Serialize;
use std::collections::BTreeSet;

/// What is small: one part in so many.
const SMALL: u64 = 16;

/// What a worker can compute for its party.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Range {
    /// From the first layer that it has instructions in to the last one. Those of two ranges may overlap.
    pub layers: std::ops::Range<usize>,
    /// Ranges of one stage are independent. One may read what ranges of earlier stages have written.
    pub stage: u32,
    /// What it computes, in order. Others may evaluate some of the local instructions for themselves.
    pub instrs: Vec<Place>,
    /// Local instructions that the party evaluates before it begins, in order.
    pub prepared: Vec<Place>,
    /// What it loads of inputs.
    pub inputs: Vec<Members>,
    /// What it reads, constants excepted, ascending.
    pub reads: Vec<ValueId>,
    /// What is read of it elsewhere, ascending.
    pub writes: Vec<ValueId>,
    /// Bytes that each party sends in it.
    pub bytes: [u64; 3],
}

impl Range {
    /// The constants that it reads, ascending.
    pub fn consts(&self, circuit: &Circuit) -> Vec<ValueId> {
        let reads = self.instrs.iter().flat_map(|&place| assign::reads(instr(circuit, place)));
        let reads: BTreeSet<ValueId> = reads.collect();
        circuit.consts.iter().map(|c| c.value).filter(|v| reads.contains(v)).collect()
    }
}

/// Some members' parts of an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Members {
    /// Index into [`Circuit::inputs`].
    pub input: usize,
    pub members: std::ops::Range<u64>,
}

/// The ranges of a verified circuit, by their first layers.
pub fn ranges(circuit: &Circuit) -> Vec<Range> {
    if circuit.security.is_malicious() {
        return Vec::new();
    }
    assign::assign(circuit, &windows::windows(circuit, first(circuit)))
}

/// The first layer in which a range may have instructions: before it a run may end without a result, because of inputs
/// out of range, or go back.
pub fn first(circuit: &Circuit) -> usize {
    let bits = |v: ValueId| circuit.checks.iter().any(|c| c.value == v);
    let opens = |l: &crate::Layer| l.exchange.iter().filter_map(|i| i.out).any(bits);
    let checked = circuit.layers.iter().rposition(opens).map_or(0, |l| l + 1);
    Speculation::of(circuit).map_or(checked, |part| checked.max(part.last + 1))
}

/// What a party does by itself: it talks to others than its peers, or to those who wait for the run.
fn is_own(op: &Op) -> bool {
    let opens =
        op.interaction().is_some_and(|i| i.to.is_none() || i.to == Some(crate::Hold::Public));
    let proves = matches!(op, Op::Prove | Op::BeginProof);
    opens || proves || matches!(op, Op::Keep { .. } | Op::Admitted { .. })
}

/// Memory of a value at all parties.
fn size(circuit: &Circuit, v: ValueId) -> u64 {
    let ty = circuit.ty(v);
    (0..3).fold(0, |sum, me| ty.bytes(me).saturating_add(sum))
}

#[cfg(test)]
mod tests;
