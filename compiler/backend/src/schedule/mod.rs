//! Scheduling: instructions to layers, and liveness.
//!
//! An interactive instruction goes to the earliest layer in which its operands exist, so that
//! independent multiplications, comparisons and truncations of all clients, pairs and samples share
//! rounds: the number of rounds is the depth of the circuit. A local instruction may be later: it
//! waits for its first user where its value takes more room than what it reads takes for longer. What
//! dealers know ahead waits until it is needed, with what is made of it. A value ends at its last use.
//!
//! Blocks ([`slvr_graph::passes::blocks`]) run one after another: a block begins in the layer in which the
//! one before it has ended.
//!
//! [`speculative()`] does not wait for the checks of inputs either: what they gate comes as early as it
//! can, reveals come after them. [`together()`] waits for them, and opens all outputs in one layer.

mod loads;
mod speculation;
#[cfg(test)]
mod tests;
mod together;

pub use loads::Loads;
pub use speculation::{Checks, speculative};
pub use together::together;

use crate::lower::{Draft, Emit};
use slvr_circuit::speculation::Speculation;
use slvr_circuit::{Circuit, Hold, Instr, Layer, Op, PartySet, Site, Type, ValueId};
use slvr_graph::graph::Graph;
use std::collections::{BTreeMap, BTreeSet};

/// Puts a draft into layers, with the interface of the graph it came from. Whatever depends on which
/// inputs are admitted waits for that.
pub fn schedule(graph: &Graph, mut draft: Draft) -> Circuit {
    draft.settle();
    let least = vec![0; draft.emit.instrs.len()];
    let layer_of = place(&draft, &least);
    layered(graph, draft, &layer_of)
}

/// Placements that are tried: circuits take two to four.
const TRIES: usize = 16;

/// Puts a draft into layers again and again, until `raise` raises no first layer of an instruction any more. None if it
/// finds no way.
fn settled(
    graph: &Graph,
    draft: Draft,
    raise: impl Fn(&Draft, &[usize], &mut [usize]) -> Option<bool>,
) -> Option<Circuit> {
    let mut least = vec![0; draft.emit.instrs.len()];
    for _ in 0..TRIES {
        let layer_of = place(&draft, &least);
        if !raise(&draft, &layer_of, &mut least)? {
            return Some(layered(graph, draft, &layer_of));
        }
    }
    None
}

/// A draft with the layer of each instruction as a circuit.
fn layered(graph: &Graph, draft: Draft, layer_of: &[usize]) -> Circuit {
    let Draft { emit, blocks: _, inputs, outputs, checks } = draft;
    let count = layer_of.iter().map(|&l| l + 1).max().unwrap_or(0);
    let mut layers = vec![Layer::default(); count];
    for (instr, &l) in emit.instrs.into_iter().zip(layer_of) {
        if instr.op.is_interactive() {
            layers[l].exchange.push(instr);
        } else {
            layers[l].local.push(instr);
        }
    }
    let mut circuit = Circuit {
        name: graph.name.clone(),
        sizes: graph.sizes.clone(),
        parties: graph
            .parties
            .iter()
            .map(|(name, size)| PartySet { name: name.clone(), size: *size })
            .collect(),
        inputs,
        consts: emit.consts,
        types: emit.types,
        // Copies of sites come last, and no instruction is attributed to one.
        sites: (graph.sites.iter().filter(|s| s.compared.is_none()))
            .map(|s| Site { name: s.name.clone(), line: s.line })
            .collect(),
        layers,
        outputs,
        checks,
        security: Default::default(),
    };
    drop_dead(&mut circuit);
    circuit
}

/// How often instructions are moved to later layers. Most circuits settle after two or three times; a chain of which each
/// time moves one more must not take the square of its length.
const SWEEPS: usize = 4;

/// The layer of each instruction; `least` is the first layer that it may be in.
fn place(draft: &Draft, least: &[usize]) -> Vec<usize> {
    let (Emit { instrs, types, .. }, blocks) = (&draft.emit, &draft.blocks);
    let floors = floors(instrs, types, blocks);
    // First layer in which each value can be read.
    let mut ready = vec![0; types.len()];
    let mut layer = Vec::with_capacity(instrs.len());
    for ((i, block), &least) in instrs.iter().zip(blocks).zip(least) {
        let at = i.op.operands().iter().map(|v| ready[v.index()]).max().unwrap_or(0);
        let at = at.max(least).max(floors.get(block).copied().unwrap_or(0));
        if let Some(out) = i.out {
            ready[out.index()] = at + usize::from(i.op.is_interactive());
        }
        layer.push(at);
    }
    let ahead = known_ahead(draft);
    // What has moved may let what comes after it move, too.
    for _ in 0..SWEEPS {
        if !late(&draft.emit, &ahead, &mut layer) {
            break;
        }
    }
    layer
}

/// Moves instructions to later layers where less is kept then. What a dealer knows before the others waits until it is
/// needed. Other local instructions go to the layer of their first user if values take less room then: if the operands
/// that would have to live longer are no larger than the result and the operands that are made later with it. Otherwise
/// they go to the last layer in which their operands live anyway. Returns whether any moved.
fn late(emit: &Emit, ahead: &[bool], layer: &mut [usize]) -> bool {
    let Emit { instrs, types, .. } = emit;
    let mut moved_any = false;
    let size = |v: ValueId| {
        let t = &types[v.index()];
        let components = if matches!(t.hold, Hold::Rep | Hold::Mask) { 2 } else { 1 };
        t.elements() * u64::from(t.bits()) * components
    };
    let mut first_use: Vec<Option<usize>> = vec![None; types.len()];
    // Of what has been placed, and of the rest as early as it can be.
    let mut last_use = vec![0; types.len()];
    // By what cannot be later.
    let mut fixed_use = vec![usize::MAX; types.len()];
    for (i, &at) in instrs.iter().zip(layer.iter()) {
        for v in i.op.operands() {
            last_use[v.index()] = at.max(last_use[v.index()]);
            if i.op.is_interactive() && !i.out.is_some_and(|out| ahead[out.index()]) {
                fixed_use[v.index()] = at.min(fixed_use[v.index()]);
            }
        }
    }
    for (n, i) in instrs.iter().enumerate().rev() {
        let operands = i.op.operands();
        if let Some(out) = i.out
            && let Some(user) = first_use[out.index()]
        {
            let to = match (ahead[out.index()], i.op.is_interactive()) {
                (true, sent) => user - usize::from(sent),
                (false, true) => layer[n],
                (false, false) => {
                    let read: BTreeSet<ValueId> = operands.iter().copied().collect();
                    // What can be later itself is made later with it. Other local instructions that read it are taken
                    // to move as well.
                    let moves = |v: &ValueId| {
                        let first = first_use[v.index()].unwrap_or(user).min(fixed_use[v.index()]);
                        ahead[v.index()] && first >= user
                    };
                    let (moved, mut longer): (Vec<ValueId>, Vec<ValueId>) =
                        read.into_iter().partition(moves);
                    longer.retain(|v| last_use[v.index()] < user);
                    let sum = |vs: &[ValueId]| vs.iter().copied().map(size).sum::<u64>();
                    if sum(&longer) <= size(out) + sum(&moved) {
                        user
                    } else {
                        // As late as no operand lives longer.
                        longer.iter().map(|v| last_use[v.index()]).min().unwrap_or(user)
                    }
                }
            };
            moved_any |= layer[n] < to;
            layer[n] = layer[n].max(to);
        }
        for v in operands {
            let first = first_use[v.index()].get_or_insert(layer[n]);
            *first = layer[n].min(*first);
            last_use[v.index()] = layer[n].max(last_use[v.index()]);
        }
    }
    moved_any
}

/// The first layer of each block: after the block before it, as far as that is known from depths, and
/// when what it reads from outside is there.
fn floors(instrs: &[Instr], types: &[Type], blocks: &[u32]) -> BTreeMap<u32, usize> {
    #[derive(Clone, Copy)]
    struct Made {
        block: u32,
        /// Layers from the start of the block.
        depth: usize,
    }
    let mut made = vec![Made { block: 0, depth: 0 }; types.len()];
    // Of each block: layers, and the earliest start at which nothing waits for what is outside.
    let mut spans: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    for (i, &block) in instrs.iter().zip(blocks) {
        let (mut depth, mut outside) = (0, 0);
        for v in i.op.operands() {
            let m = made[v.index()];
            if m.block == block {
                depth = depth.max(m.depth);
            } else if m.block == 0 {
                outside = outside.max(m.depth);
            }
        }
        let after = depth + usize::from(i.op.is_interactive());
        if block != 0 {
            let span = spans.entry(block).or_default();
            *span = (span.0.max(after), span.1.max(outside.saturating_sub(depth)));
        }
        if let Some(out) = i.out {
            made[out.index()] = Made { block, depth: after };
        }
    }
    let mut free = 0;
    spans
        .into_iter()
        .map(|(block, (length, outside))| {
            let start = outside.max(free);
            free = start + length;
            (block, start)
        })
        .collect()
}

/// Which values are known from the start: what dealers draw and deal, against a malicious party also what owners input,
/// and what follows of these without a message.
fn known_ahead(draft: &Draft) -> Vec<bool> {
    let inputs = draft.emit.target.masked().is_some();
    let mut ahead = vec![false; draft.emit.types.len()];
    for i in &draft.emit.instrs {
        let Some(out) = i.out else { continue };
        let operands = i.op.operands();
        ahead[out.index()] = match i.op {
            Op::Deal(_) | Op::DealMask(_) => true,
            Op::Input(_) => inputs,
            _ if matches!(draft.emit.ty(out).hold, Hold::Own | Hold::Mask) => true,
            _ if i.op.is_interactive() || operands.is_empty() => false,
            _ => operands.into_iter().all(|v| ahead[v.index()]),
        };
    }
    ahead
}

/// Lists, for each layer, the values that nothing later reads. Where layers may be repeated, values
/// from before them that they read are kept until that is decided.
fn drop_dead(circuit: &mut Circuit) {
    let part = Speculation::of(circuit);
    let mut last: Vec<Option<usize>> = vec![None; circuit.types.len()];
    for (l, layer) in circuit.layers.iter().enumerate() {
        for i in layer.local.iter().chain(&layer.exchange) {
            for v in i.op.operands().into_iter().chain(i.out) {
                last[v.index()] = Some(l);
            }
        }
    }
    if let Some(part) = part {
        let mut kept: Vec<bool> = last.iter().map(|l| l.is_some_and(|l| part.covers(l))).collect();
        part.made(circuit).for_each(|v| kept[v.index()] = false);
        let kept = last.iter_mut().zip(kept).filter(|(_, kept)| *kept);
        kept.for_each(|(l, _)| *l = Some(part.last + 1));
    }
    for (v, l) in last.iter().enumerate() {
        if let Some(layer) = l.and_then(|l| circuit.layers.get_mut(l)) {
            layer.drop.push(ValueId(v as u32));
        }
    }
}
