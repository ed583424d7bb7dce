//! Scheduling: instructions to layers, and liveness.
//!
//! An interactive instruction goes to the earliest layer in which its operands exist, so that
//! independent multiplications, comparisons and truncations of all clients, pairs and samples share
//! rounds: the number of rounds is the depth of the circuit. A local instruction may be later: it
//! waits for its first user where its value takes more room than what it reads takes for longer. A
//! value ends at its last use.
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
use std::collections::BTreeMap;

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

/// The layer of each instruction; `least` is the first layer that it may be in.
fn place(draft: &Draft, least: &[usize]) -> Vec<usize> {
    let (Emit { instrs, types, target, .. }, blocks) = (&draft.emit, &draft.blocks);
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
    // Backwards: what a dealer knows before the others waits until it is needed, so that nothing of it is
    // kept longer than the values of the other two.
    let inputs =
        if target.masked().is_some() { of_inputs(draft) } else { vec![false; types.len()] };
    let mut needed: Vec<Option<usize>> = vec![None; types.len()];
    for (n, i) in instrs.iter().enumerate().rev() {
        if let Some(out) = i.out
            && (runs_ahead(&i.op, &types[out.index()]) || inputs[out.index()])
            && let Some(user) = needed[out.index()]
        {
            layer[n] = (user - usize::from(i.op.is_interactive())).max(layer[n]);
        }
        for v in i.op.operands() {
            let first = needed[v.index()].get_or_insert(layer[n]);
            *first = layer[n].min(*first);
        }
    }
    late(instrs, types, &mut layer);
    layer
}

/// Local instructions go to the layer of their first user where values take less room then: the
/// operands that would have to live longer are no larger than the result. Others go to the last layer
/// in which their operands live anyway.
fn late(instrs: &[Instr], types: &[Type], layer: &mut [usize]) {
    let size = |v: ValueId| {
        let t = &types[v.index()];
        let components = if matches!(t.hold, Hold::Rep | Hold::Mask) { 2 } else { 1 };
        t.elements() * u64::from(t.bits()) * components
    };
    let mut first_use: Vec<Option<usize>> = vec![None; types.len()];
    // Of what has been placed, and of the rest as early as it can be.
    let mut last_use = vec![0; types.len()];
    for (i, &at) in instrs.iter().zip(layer.iter()) {
        for v in i.op.operands() {
            last_use[v.index()] = at.max(last_use[v.index()]);
        }
    }
    for (n, i) in instrs.iter().enumerate().rev() {
        let operands = i.op.operands();
        if let (false, Some(out)) = (i.op.is_interactive(), i.out)
            && let Some(user) = first_use[out.index()]
        {
            let mut longer: Vec<ValueId> =
                operands.iter().copied().filter(|v| last_use[v.index()] < user).collect();
            longer.sort_unstable();
            longer.dedup();
            // Otherwise as late as no operand lives longer.
            let free = longer.iter().map(|v| last_use[v.index()]).min().unwrap_or(user);
            let smaller = longer.into_iter().map(size).sum::<u64>() <= size(out);
            layer[n] = layer[n].max(if smaller { user } else { free });
        }
        for v in operands {
            let first = first_use[v.index()].get_or_insert(layer[n]);
            *first = layer[n].min(*first);
            last_use[v.index()] = layer[n].max(last_use[v.index()]);
        }
    }
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

/// Which values are what owners input, or made of nothing else without a message.
fn of_inputs(draft: &Draft) -> Vec<bool> {
    let mut found = vec![false; draft.emit.types.len()];
    for i in &draft.emit.instrs {
        let operands = i.op.operands();
        let known = |v: ValueId| {
            found[v.index()] || matches!(draft.emit.ty(v).hold, Hold::Own | Hold::Mask)
        };
        let all = !operands.is_empty() && operands.into_iter().all(known);
        if let Some(out) = i.out {
            let local = !i.op.is_interactive() && all;
            found[out.index()] = local || matches!(i.op, Op::Input(_));
        }
    }
    found
}

/// Whether an instruction is a dealer's, or the message it deals: it depends on masks only.
fn runs_ahead(op: &Op, out: &Type) -> bool {
    matches!(op, Op::Deal(_) | Op::DealMask(_)) || matches!(out.hold, Hold::Own | Hold::Mask)
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
