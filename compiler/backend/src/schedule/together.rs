//! Layers for a draft against a malicious party that waits for the checks of its inputs.
//!
//! A proof stands before each layer that opens something, unless nothing was sent since the one before it, and takes
//! several rounds. So the bits of all checks that something waits for are opened in one layer, as soon as all are
//! known, and everything else in the last layer that opens any of it: the outputs, and bits of checks that nothing
//! waits for. That is one proof before the outputs, and another one before the bits if there are any. What is opened
//! later may move what waits for it, and with that the last layer: instructions are placed again until nothing is left
//! to move.

use super::settled;
use crate::lower::Draft;
use slvr_circuit::{Circuit, Instr, Op};
use slvr_graph::graph::Graph;

/// Puts a draft into layers as [`super::schedule()`] does, but opens together what need not be opened one after the
/// other. None if a check waits for another one.
pub fn together(graph: &Graph, mut draft: Draft) -> Option<Circuit> {
    draft.settle();
    let mut awaited = vec![false; draft.emit.types.len()];
    for v in draft.emit.instrs.iter().flat_map(|i| i.op.operands()) {
        awaited[v.index()] = true;
    }
    let is_awaited = |i: &Instr| i.out.is_some_and(|v| awaited[v.index()]);
    let early = |i: &Instr| matches!(i.op, Op::Open(_) | Op::OpenSum(_)) && is_awaited(i);
    let late = |i: &Instr| is_final(i, is_awaited);
    settled(graph, draft, |Draft { emit, .. }, layer_of, least| {
        let is_early = raise(&emit.instrs, layer_of, least, early);
        Some(is_early | raise(&emit.instrs, layer_of, least, late))
    })
}

/// Whether an instruction opens an output, or bits of a check that nothing waits for.
pub(super) fn is_final(instr: &Instr, is_awaited: impl Fn(&Instr) -> bool) -> bool {
    match instr.op {
        Op::OpenTo { .. } => true,
        Op::Open(_) | Op::OpenSum(_) => !is_awaited(instr),
        _ => false,
    }
}

/// The last layer of some instructions, 0 if there are none.
pub(super) fn last_of(
    instrs: &[Instr],
    layer_of: &[usize],
    which: impl Fn(&Instr) -> bool,
) -> usize {
    let some = instrs.iter().zip(layer_of).filter(|(i, _)| which(i));
    some.map(|(_, at)| *at).max().unwrap_or(0)
}

/// Raises the first layers of some instructions to the last layer of any of them; whether one was earlier.
fn raise(
    instrs: &[Instr],
    layer_of: &[usize],
    least: &mut [usize],
    which: impl Fn(&Instr) -> bool,
) -> bool {
    let last = last_of(instrs, layer_of, &which);
    let mut moved = false;
    for ((i, at), least) in instrs.iter().zip(layer_of).zip(least) {
        if which(i) {
            moved |= *at < last;
            *least = (*least).max(last);
        }
    }
    moved
}
