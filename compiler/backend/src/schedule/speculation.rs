//! Layers for a draft that does not wait for the checks of its inputs, so that they do not lengthen the longest chain.
//! The price is memory, and a repetition when a client fails.
//!
//! What is needed for that ([`slvr_circuit::speculation`]; R and L as there): reveals come
//! after L, coins before R, and a mask that is used in layers R to L is made there. Each of these moves
//! an instruction to a later layer, which may move others and with them R and L: instructions are
//! placed again until nothing is left to move.
//!
//! Against a malicious party a proof stands before L, and another one before the outputs, all in one layer, if anything
//! is sent between ([`Checks`]). Where nothing is, the layers that may be repeated are all from R to the outputs: a
//! client that fails makes the parties compute and prove all of it once more, in place of the layers up to its check.

use super::settled;
use super::together::{is_final, last_of};
use crate::lower::Draft;
use slvr_circuit::{Circuit, Instr, Op};
use slvr_graph::graph::Graph;

/// When the bits of checks are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// Each as soon as it is known: among semi-honest parties.
    AsKnown,
    /// All in one layer, as soon as all are known: one proof stands before them, another one before the outputs.
    AtOnce,
    /// All in one layer, after everything else has been sent: one proof is enough, but all is repeated if a client
    /// fails.
    Last,
}

/// Puts a draft into layers as [`super::schedule()`] does, but computes as if all members were admitted
/// before that is known. None if nothing is gated, or all is known before anything is.
pub fn speculative(graph: &Graph, draft: Draft, checks: Checks) -> Option<Circuit> {
    settled(graph, draft, |draft, layer_of, least| postpone(draft, layer_of, least, checks))
}

/// Raises the first layers of instructions that are too early; whether there were any. None if R would
/// be after L.
fn postpone(
    draft: &Draft,
    layer_of: &[usize],
    least: &mut [usize],
    checks: Checks,
) -> Option<bool> {
    let placed = || draft.emit.instrs.iter().zip(layer_of.iter().copied()).enumerate();
    let mut named = vec![false; draft.checks.len()];
    let mut first = usize::MAX;
    for (_, (i, at)) in placed() {
        if let Op::Admitted { check, .. } = i.op {
            named[check as usize] = true;
            first = first.min(at);
        }
    }
    let is_named =
        |v| draft.checks.iter().zip(&named).any(|(check, named)| *named && check.value == v);
    // By value: what makes it, if it is a mask. And L.
    let mut masks: Vec<Option<usize>> = vec![None; draft.emit.types.len()];
    let mut last = 0;
    for (n, (i, at)) in placed() {
        let Some(out) = i.out else { continue };
        masks[out.index()] = matches!(i.op, Op::Mask { .. }).then_some(n);
        if is_named(out) {
            last = last.max(at);
        }
    }
    if checks == Checks::Last {
        let is_sent = |i: &Instr| i.op.interaction().is_some_and(|row| !row.reveals());
        let after = placed().filter(|(_, (i, _))| is_sent(i)).map(|(_, (_, at))| at + 1);
        last = after.fold(last, usize::max);
    }
    if first > last {
        return None;
    }
    let coins = placed().filter(|(_, (i, _))| i.op == Op::Coin).map(|(_, (_, at))| at + 1).max();
    // Against a malicious party in one layer, behind one proof.
    let reveals = match checks {
        Checks::AsKnown => 0,
        Checks::AtOnce | Checks::Last => {
            last_of(&draft.emit.instrs, layer_of, |i| is_final(i, |i| i.out.is_some_and(is_named)))
        }
    };
    let end = reveals.max(last + 1);
    let mut moved = false;
    let mut raise = |n: usize, to: usize| {
        moved |= layer_of[n] < to;
        least[n] = least[n].max(to);
    };
    for (n, (i, at)) in placed() {
        match i.op {
            Op::Admitted { .. } => raise(n, coins.unwrap_or(0)),
            Op::Keep { .. } => raise(n, last + 1),
            // Also the check of inputs that nothing reads: no gate waits for its bits.
            _ if is_final(i, |i| i.out.is_some_and(is_named)) => raise(n, end),
            Op::Open(_) if checks != Checks::AsKnown => raise(n, last),
            Op::OpenMasked { mask, .. } if (first..=last).contains(&at) => {
                if let Some(mask) = masks[mask.index()] {
                    raise(mask, first);
                }
            }
            _ => {}
        }
    }
    Some(moved)
}
