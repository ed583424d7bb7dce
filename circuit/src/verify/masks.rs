//! What keeps messages from telling anything: the second half of invariant 14, by which no mask can be taken
//! away from what it hides, and invariant 17, by which the parties open nothing but the bits of checks.
//!
//! # Why a circuit without this check leaks
//!
//! [`Op::OpenMasked`] sends x - a between two parties, and relies on a being fresh. If x depends on a, the
//! mask may cancel: of `z + as_add2(a)`, opened under a, the two parties learn z. The dependence need not be
//! a sum. The mask may pass through a layout or a split, its owner may deal it, another mask may hide it for a
//! round. It may also come back from another mask: if x_1 contains a_2 and is opened under a_1, and x_2 contains
//! a_1 and is opened under a_2, then each operand is free of its own mask, and the sum of what is opened is
//! free of both.
//!
//! # The rule
//!
//! Take the graph that has an arrow from each operand of an instruction to its result, for all instructions, the
//! local and the interactive ones. For each `open_masked` add an arrow from its operand x to its mask a. The rule
//! is that **this graph has no circle**. Arrows of the first kind go forward in time, so each circle has one
//! of the second kind: an operand depends on its own mask, directly or by way of other masks.
//!
//! An arrow stands for any dependence, whatever the instruction does. So the rule also refuses some circuits
//! that tell nothing, such as one that multiplies the mask by 0 first. No compiler needs them.
//!
//! # Why the rule is enough
//!
//! Let P_j be a party. There are streams of random words that the two other parties share and P_j does not know.
//! Each word that P_j receives of them hides under a word of such a stream:
//!
//! - In `input`, `deal`, `deal_mask`, `reshare` and `reshare_two` the instruction itself draws that word, and
//!   draws it for nothing else. The files of the runtime's `protocol` say which word it is.
//! - In `open_masked` it is a word of the mask, in the shards where P_j is one of the two. In the others P_j
//!   receives nothing.
//!
//! So the k-th word that P_j receives is w_k = f_k - u_k, where P_j does not know u_k. The operand of the message
//! is a function f_k of the inputs, of the coins, of what P_j knows, of what has been opened, and of other
//! words u_l. If f_k depends on u_l, the graph has a path from the result of the instruction that drew u_l to
//! the operand of the k-th message. From that operand there is an arrow to where u_k was drawn: to the mask
//! of an `open_masked`, and to the result of every other instruction. So if there is no circle, the words have
//! an order in which each f_k depends on earlier u_l only.
//!
//! Fix the inputs, the coins and what is opened. Each u_k then follows from w_k and the words before it. So
//! the map from all u to all w is one to one, and uniform u give uniform w, **whatever the inputs are**.
//!
//! What is opened may depend on masks; a circuit can open a mask on purpose. Let n bits be opened to P_j in all.
//! The probability that P_j sees bits p and words w is at most the probability of w where p stands in for
//! what is opened, and that is the uniform one. A simulator that draws w and guesses p is right with 2^-n
//! times at least this probability. So **the view of a party is worth at most n bits of the inputs, whoever
//! made the circuit**. Invariant 17 keeps n small and in sight: the parties open the bits of checks, one
//! for each member of a party set. All else goes to the receivers of outputs. [`crate::openings`] lists both.
//!
//! The verifier does not know what the opened bits say of the inputs: that depends on what the circuit computes.
//!
//! Layers that are computed a second time ([`crate::speculation`]) draw all their words anew, and by invariant 16
//! also the masks under which they open. No later layer reads what the first pass has made, so a second pass
//! brings no circle that the first has not.

use super::error::{Instruction, VerifyError};
use crate::{Circuit, Op, ValueId};
use std::collections::BTreeSet;

/// What a circuit may open to the parties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Openings {
    /// The bits of its checks: what may be run.
    #[default]
    Checks,
    /// Anything. For evaluations by somebody who has all inputs, for receivers, who open nothing, and for tests
    /// of single instructions.
    Any,
}

/// The second half of invariant 14, in a circuit that keeps 3 to 9: the graph has no circle.
pub(super) fn check(circuit: &Circuit) -> Result<(), VerifyError> {
    let instrs = circuit.layers.iter().flat_map(|l| l.local.iter().chain(&l.exchange));
    let masked = instrs.clone().any(|i| matches!(i.op, Op::OpenMasked { .. }));
    if !masked {
        return Ok(());
    }
    let arrows = Arrows::of(circuit);
    // Values to which nothing points any more are taken away. What is left lies on circles or behind one.
    let mut into = arrows.ends();
    let mut free: Vec<usize> = (0..into.len()).filter(|&v| into[v] == 0).collect();
    while let Some(v) = free.pop() {
        for &to in arrows.from(v) {
            into[to as usize] -= 1;
            if into[to as usize] == 0 {
                free.push(to as usize);
            }
        }
    }
    let Some(left) = into.iter().position(|&n| n > 0) else { return Ok(()) };
    // An arrow into each of these comes from another of them. So whoever goes back by such arrows, as often as there
    // are values, is on a circle.
    let mut before = vec![0; into.len()];
    for v in (0..into.len()).filter(|&v| into[v] > 0) {
        arrows.from(v).iter().for_each(|&to| before[to as usize] = v);
    }
    let start = (0..into.len()).fold(left, |v, _| before[v]);
    let mut circle = BTreeSet::from([start]);
    let mut v = before[start];
    while circle.insert(v) {
        v = before[v];
    }
    for (layer, l) in circuit.layers.iter().enumerate() {
        for (instr, i) in l.exchange.iter().enumerate() {
            if let Op::OpenMasked { mask, .. } = i.op
                && circle.contains(&mask.index())
            {
                let place = Instruction { layer, exchange: true, instr, op: i.op.name() };
                return Err(VerifyError::OwnMask { place, mask });
            }
        }
    }
    unreachable!("a circle without a mask would go back in time")
}

/// Invariant 17.
pub(super) fn openings(circuit: &Circuit) -> Result<(), VerifyError> {
    for (layer, l) in circuit.layers.iter().enumerate() {
        for (instr, i) in l.exchange.iter().enumerate() {
            // What has no result goes to a receiver.
            let public = i.out.filter(|_| i.op.interaction().is_some_and(|row| row.reveals()));
            if public.is_some_and(|v| circuit.checks.iter().all(|c| c.value != v)) {
                let place = Instruction { layer, exchange: true, instr, op: i.op.name() };
                return Err(VerifyError::Opening { place });
            }
        }
    }
    Ok(())
}

/// The arrows of the graph, by the value that they come from.
struct Arrows {
    /// Where the arrows of each value begin in `to`, and where those of the last end.
    starts: Vec<u32>,
    to: Vec<u32>,
}

impl Arrows {
    fn of(circuit: &Circuit) -> Arrows {
        let each = |visit: &mut dyn FnMut(ValueId, ValueId)| {
            for i in circuit.layers.iter().flat_map(|l| l.local.iter().chain(&l.exchange)) {
                if let Some(out) = i.out {
                    i.op.values(&mut |v| visit(v, out));
                }
                if let Op::OpenMasked { x, mask } = i.op {
                    visit(x, mask);
                }
            }
        };
        let mut starts = vec![0u32; circuit.types.len() + 1];
        each(&mut |from, _| starts[from.index() + 1] += 1);
        for v in 1..starts.len() {
            starts[v] += starts[v - 1];
        }
        let mut next = starts.clone();
        let mut to = vec![0; starts.last().map_or(0, |&n| n as usize)];
        each(&mut |from, out| {
            let place = &mut next[from.index()];
            to[*place as usize] = out.0;
            *place += 1;
        });
        Arrows { starts, to }
    }

    fn from(&self, v: usize) -> &[u32] {
        &self.to[self.starts[v] as usize..self.starts[v + 1] as usize]
    }

    /// For each value the arrows that end in it.
    fn ends(&self) -> Vec<u32> {
        let mut into = vec![0; self.starts.len() - 1];
        self.to.iter().for_each(|&v| into[v as usize] += 1);
        into
    }
}
