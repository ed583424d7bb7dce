//! Scheduling: instructions to layers, and liveness.
//!
//! An interactive instruction goes to the earliest layer in which its operands exist, so that
//! independent multiplications, comparisons and truncations of all clients, pairs and samples share
//! rounds: the number of rounds is the depth of the circuit. A local instruction may be later:
//! one that makes its value larger than what it reads waits for its first user, so that the large
//! value lives as short as it can. A value ends at its last use.

use crate::graph::Graph;
use crate::lower::Draft;
use slvr_runtime::circuit::{Circuit, Hold, Instr, Layer, Op, PartySet, Site, Type, ValueId};

/// Puts a draft into layers, with the interface of the graph it came from.
pub fn schedule(graph: &Graph, draft: Draft) -> Circuit {
    let Draft { emit, inputs, outputs, checks } = draft;
    let layer_of = place(&emit.instrs, &emit.types);
    let count = layer_of.iter().map(|&l| l + 1).max().unwrap_or(0);
    let mut layers = vec![Layer::default(); count];
    for (instr, &l) in emit.instrs.into_iter().zip(&layer_of) {
        if instr.op.is_interactive() {
            layers[l].exchange.push(instr);
        } else {
            layers[l].local.push(instr);
        }
    }
    drop_dead(&mut layers, emit.types.len());
    Circuit {
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
        sites: graph.sites.iter().map(|s| Site { name: s.name.clone(), line: s.line }).collect(),
        layers,
        outputs,
        checks,
    }
}

/// The layer of each instruction.
fn place(instrs: &[Instr], types: &[Type]) -> Vec<usize> {
    // First layer in which each value can be read.
    let mut ready = vec![0; types.len()];
    let mut layer = Vec::with_capacity(instrs.len());
    for i in instrs {
        let at = i.op.operands().iter().map(|v| ready[v.index()]).max().unwrap_or(0);
        if let Some(out) = i.out {
            ready[out.index()] = at + usize::from(i.op.is_interactive());
        }
        layer.push(at);
    }
    // Backwards: what a dealer knows before the others waits until it is needed, so that nothing of it is
    // kept longer than the values of the other two.
    let mut needed: Vec<Option<usize>> = vec![None; types.len()];
    for (n, i) in instrs.iter().enumerate().rev() {
        if let Some(out) = i.out
            && runs_ahead(&i.op, &types[out.index()])
            && let Some(user) = needed[out.index()]
        {
            layer[n] = (user - usize::from(i.op.is_interactive())).max(layer[n]);
        }
        for v in i.op.operands() {
            let first = needed[v.index()].get_or_insert(layer[n]);
            *first = layer[n].min(*first);
        }
    }
    // Backwards: a growing local value waits for its first user.
    let size = |v: ValueId| {
        let t = &types[v.index()];
        t.elements() * u64::from(t.bits())
    };
    let mut first_use: Vec<Option<usize>> = vec![None; types.len()];
    for (n, i) in instrs.iter().enumerate().rev() {
        if let (false, Some(out)) = (i.op.is_interactive(), i.out) {
            let read: u64 = i.op.operands().iter().map(|&v| size(v)).sum();
            if let (Some(user), true) = (first_use[out.index()], size(out) > read) {
                layer[n] = user.max(layer[n]);
            }
        }
        for v in i.op.operands() {
            let first = first_use[v.index()].get_or_insert(layer[n]);
            *first = layer[n].min(*first);
        }
    }
    layer
}

/// Whether an instruction is a dealer's, or the message it deals: it depends on masks only.
fn runs_ahead(op: &Op, out: &Type) -> bool {
    matches!(op, Op::Deal(_) | Op::DealMask(_)) || matches!(out.hold, Hold::Own | Hold::Mask)
}

/// Lists, for each layer, the values that nothing later reads.
fn drop_dead(layers: &mut [Layer], values: usize) {
    let mut last: Vec<Option<usize>> = vec![None; values];
    for (l, layer) in layers.iter().enumerate() {
        for i in layer.local.iter().chain(&layer.exchange) {
            for v in i.op.operands().into_iter().chain(i.out) {
                last[v.index()] = Some(l);
            }
        }
    }
    for (v, l) in last.iter().enumerate() {
        if let Some(l) = l {
            layers[*l].drop.push(ValueId(v as u32));
        }
    }
}
