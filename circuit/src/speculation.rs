//! Layers that are computed before it is known whose inputs count.
//!
//! The checks of inputs take several rounds. A circuit that reads their outcome by [`Op::Admitted`] does
//! not wait for it: the run computes as if all clients had passed. Let R be the layer of the first
//! `admitted` and L the last layer that opens bits of a check that some `admitted` names. When layer L
//! is done and the bits are all ones, everything computed is right, and the run goes on. If not, the
//! parties go back to the start of layer R, once, and compute layers R to L again with the opened bits.
//!
//! All parties see the same bits, so all decide alike. The verifier (invariant 16 of
//! [`super::verify`]) sees to it that going back needs no copies and tells nobody anything: from R to
//! L nothing is opened but bits of checks, which do not depend on the assumption, and what was there
//! before R stays. Instructions that are repeated draw from other pseudorandom streams, and
//! masks are made anew. What was opened is known, and is not opened again: bits that depend on what is drawn anew would
//! be others, and the parties would learn more than the circuit says.

use super::{Circuit, Instr, Layer, Op, ValueId};

/// What is repeated if a client fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speculation {
    /// R: the layer of the first `admitted`.
    pub first: usize,
    /// L: the last layer that opens bits of a check that some `admitted` names.
    pub last: usize,
    /// The checks that some `admitted` names, ascending, as indices into [`Circuit::checks`].
    pub checks: Vec<usize>,
}

impl Speculation {
    /// Of a circuit; none if no `admitted` is in it, or names a check that does not exist.
    pub fn of(circuit: &Circuit) -> Option<Speculation> {
        let mut first = None;
        let mut named = vec![false; circuit.checks.len()];
        for (l, layer) in circuit.layers.iter().enumerate() {
            for instr in &layer.local {
                if let Op::Admitted { check, .. } = instr.op {
                    first.get_or_insert(l);
                    if let Some(named) = named.get_mut(check as usize) {
                        *named = true;
                    }
                }
            }
        }
        let first = first?;
        let checks: Vec<usize> = (0..named.len()).filter(|&c| named[c]).collect();
        let bits: Vec<ValueId> = checks.iter().map(|&c| circuit.checks[c].value).collect();
        let opens = |layer: &Layer| outcomes(layer).any(|v| bits.contains(&v));
        let last = circuit.layers.iter().rposition(opens)?;
        Some(Speculation { first, last, checks })
    }

    /// Whether a layer is computed again if a client fails.
    pub fn covers(&self, layer: usize) -> bool {
        (self.first..=self.last).contains(&layer)
    }

    /// Whether a run of the circuit with these outcomes of its checks, in their order, goes back.
    pub fn repeats(&self, admitted: &[(u32, Vec<bool>)]) -> bool {
        let bits = self.checks.iter().filter_map(|&c| admitted.get(c));
        bits.flat_map(|(_, bits)| bits).any(|good| !good)
    }

    /// Whether an instruction of an exchange opens bits of a check that some `admitted` names. A repetition leaves it out.
    pub fn opens(&self, circuit: &Circuit, instr: &Instr) -> bool {
        let checks = self.checks.iter().filter_map(|&c| circuit.checks.get(c));
        instr.out.is_some_and(|v| checks.map(|c| c.value).any(|value| value == v))
    }

    /// The values that are defined in the layers in question.
    pub fn made(&self, circuit: &Circuit) -> impl Iterator<Item = ValueId> {
        circuit.layers.get(self.first..=self.last).into_iter().flatten().flat_map(outcomes)
    }
}

/// A product with outcomes of checks that is its other factor as long as all clients pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gated {
    /// What is multiplied, of the type of the result.
    pub x: ValueId,
    /// Public words or bits, all 1 if all clients pass.
    pub by: ValueId,
}

/// By value: whether it is a [`Gated`] product. A party need not copy what it multiplies by ones; that they
/// are ones is public.
pub fn gated(circuit: &Circuit) -> Vec<Option<Gated>> {
    // What is made of nothing but bits of checks by operations that keep ones.
    let mut ones = vec![false; circuit.types.len()];
    let mut out = vec![None; circuit.types.len()];
    let is = |ones: &[bool], v: &ValueId| ones.get(v.index()).copied().unwrap_or(false);
    for instr in circuit.layers.iter().flat_map(|l| &l.local) {
        let Some(v) = instr.out else { continue };
        let one = match &instr.op {
            Op::Admitted { .. } => true,
            Op::FromBits(x, _) | Op::Reshape(x, _) | Op::Broadcast(x, _) | Op::Transpose(x, _) => {
                is(&ones, x)
            }
            Op::Slice { x, .. } => is(&ones, x),
            Op::Mul(a, b) => {
                let gate = |x: &ValueId, by: &ValueId| {
                    let alike = circuit.types.get(x.index()) == circuit.types.get(v.index());
                    (is(&ones, by) && alike).then_some(Gated { x: *x, by: *by })
                };
                if let Some(place) = out.get_mut(v.index()) {
                    *place = gate(a, b).or_else(|| gate(b, a));
                }
                is(&ones, a) && is(&ones, b)
            }
            _ => false,
        };
        if let Some(place) = ones.get_mut(v.index()) {
            *place = one;
        }
    }
    out
}

/// The values that a layer defines.
fn outcomes(layer: &Layer) -> impl Iterator<Item = ValueId> {
    layer.local.iter().chain(&layer.exchange).filter_map(|i| i.out)
}
