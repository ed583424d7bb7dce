//! Reveals entry by entry: a graph of numbers in place of tensors, and its evaluation.
//!
//! Only those entries are made that some chosen entry of a reveal is computed from. Where an entry would
//! be computed from more others than are worth following (a norm of sixty thousand weights), it is taken
//! for an unknown of its own, of the client that it is computed from; one that is computed twice in the same way
//! (`twins`) is one unknown. This hides relations and invents none: what is found of the reveals is there.
//!
//! Evaluation (`eval`) follows, beside a value, how it depends on unknowns (`form`), in two ways. A
//! *symbolic* evaluation is exact for what is linear and makes an unknown of every other result. A *local*
//! one follows derivatives at a point, with comparisons as they come out there.

mod arith;
mod choice;
mod coins;
mod data;
mod eval;
mod form;
mod order;
mod point;
mod reads;
#[cfg(test)]
mod tests;
mod twins;
mod world;

use super::flow::Flow;
use crate::graph::{Graph, NodeId, Op, Table};
pub(super) use choice::choosing;
pub(super) use coins::Coins;
pub(super) use data::{Extremum, Scalar, Scalars, World};
pub(super) use eval::{Evaluated, Inside, Mode, evaluate};
pub(super) use form::{Column, Key, Owner, key};
pub(super) use point::{Given, Point, UNIT};
pub(super) use reads::position;
use std::collections::{BTreeMap, BTreeSet};
use twins::Twins;
pub(super) use world::next;

/// Numbers followed in all, and operands of these.
const BUDGET: usize = 1 << 17;
/// Operands of one number, tried in turn until the budget holds. A sum over clients is always followed.
const WIDTHS: [u64; 3] = [1024, 64, 16];
/// Operands of one number over clients.
const CLIENTS: u64 = 4096;
/// Entries of one reveal.
const ENTRIES: usize = 40;

/// Where along an axis of each length something begins or ends: a tensor of a model, an entry that is read by its place.
type Places = BTreeMap<u64, BTreeSet<u64>>;

fn places(g: &Graph) -> Places {
    let mut out = Places::new();
    let mut add = |n: u64, from: u64, to: u64| {
        let all = out.entry(n).or_default();
        all.extend([from, to].into_iter().filter(|&place| place < n));
    };
    for id in g.ids() {
        match g.op(id) {
            Op::Slice { axis, start, len, step } if *len > 0 => {
                add(g.shape(g.arg(id, 0))[*axis as usize], *start, start + step * (len - 1));
            }
            Op::Concat(axis) => {
                let (n, mut start) = (g.shape(id)[*axis as usize], 0);
                for of in g.args(id) {
                    let len = g.shape(of)[*axis as usize];
                    add(n, start, start + len.saturating_sub(1));
                    start += len;
                }
            }
            Op::Gather { axis, .. } => {
                if let Op::Const(table, ..) = g.op(g.arg(id, 1)) {
                    let n = g.shape(g.arg(id, 0))[*axis as usize];
                    let of = (0..ENTRIES.min(g.elements(g.arg(id, 1)) as usize))
                        .map(|k| Table::at(table, k));
                    of.for_each(|place| add(n, place as u64, place as u64));
                }
            }
            _ => {}
        }
    }
    out
}

/// Entries of a reveal to look at: the same ones of all reveals of one shape.
fn chosen(shape: &[u64], places: &Places) -> Vec<usize> {
    let elements = shape.iter().product::<u64>().max(1) as usize;
    if elements <= 2 * ENTRIES {
        return (0..elements).collect();
    }
    let spread = (0..ENTRIES / 2).map(|k| k * (elements - 1) / (ENTRIES / 2 - 1));
    let mut found: BTreeSet<usize> = (0..ENTRIES / 2).chain(spread).collect();
    // Where something begins along every axis; of very many such places some.
    let none = BTreeSet::new();
    let mut at: Vec<usize> = vec![0];
    for &n in shape {
        let of = places.get(&n).unwrap_or(&none);
        let step = of.len().div_ceil(ENTRIES).max(1);
        let of: Vec<u64> = [0, n - 1].into_iter().chain(of.iter().copied().step_by(step)).collect();
        let next = at.iter().flat_map(|&e| of.iter().map(move |&p| e * n as usize + p as usize));
        at = next.take(ENTRIES * ENTRIES).collect();
    }
    at.sort_unstable();
    at.dedup();
    found.extend(at.iter().step_by(at.len().div_ceil(2 * ENTRIES).max(1)));
    found.into_iter().collect()
}

/// The numbers behind these outputs; `None` if they are too many.
pub(super) fn scalars(graph: &Graph, flows: &[Flow], outputs: &[usize]) -> Option<Scalars> {
    WIDTHS.iter().find_map(|&width| build(graph, flows, outputs, width))
}

fn build(graph: &Graph, flows: &[Flow], outputs: &[usize], width: u64) -> Option<Scalars> {
    let mut wanted: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); graph.len()];
    let places = places(graph);
    let chosen = |node: NodeId| chosen(graph.shape(node), &places);
    for &o in outputs {
        let node = graph.outputs[o].node;
        wanted[node.index()].extend(chosen(node));
    }
    let (mut count, mut operands) = (0, 0);
    for id in graph.ids().rev() {
        let entries = std::mem::take(&mut wanted[id.index()]);
        count += entries.len();
        if !opaque(graph, flows, id, width) {
            let args = graph.args(id);
            for &entry in &entries {
                for (arg, of) in args.iter().zip(reads::reads(graph, id, entry)) {
                    operands += of.len();
                    wanted[arg.index()].extend(of);
                }
                if count.max(operands / 4) > BUDGET {
                    return None;
                }
            }
        }
        wanted[id.index()] = entries;
    }
    let mut start = vec![0u32; graph.len()];
    let mut all: Vec<Scalar> = Vec::with_capacity(count);
    let mut twins = Twins::of(graph);
    let sorted: Vec<Vec<usize>> = wanted.into_iter().map(|w| w.into_iter().collect()).collect();
    let number = |start: &[u32], id: NodeId, entry: usize| -> Option<u32> {
        let at = sorted[id.index()].binary_search(&entry).ok()?;
        Some(start[id.index()] + at as u32)
    };
    for id in graph.ids() {
        start[id.index()] = all.len() as u32;
        let opaque = opaque(graph, flows, id, width);
        let args = graph.args(id);
        for &entry in &sorted[id.index()] {
            let mut operands = Vec::new();
            if !opaque {
                for (&arg, of) in args.iter().zip(reads::reads(graph, id, entry)) {
                    let of: Option<Vec<u32>> = of.iter().map(|&e| number(&start, arg, e)).collect();
                    operands.push(of?);
                }
            }
            let owner = owner(graph, id, &flows[id.index()], entry);
            let (clip, extremum) =
                if opaque { (false, None) } else { clip(graph, &all, id, &operands) };
            let number = all.len() as u32;
            let same = match flows[id.index()].axis() {
                Some(axis) if opaque => twins.first(id, axis, entry, number),
                _ => number,
            };
            // Whose it is may be known of one of the two only.
            if let Some(first) = all.get_mut(same as usize)
                && first.owner == Owner::Several
            {
                first.owner = owner;
            }
            all.push(Scalar { node: id, entry, operands, opaque, same, clip, extremum, owner });
        }
    }
    let entries = |&o: &usize| -> Option<(usize, Vec<u32>)> {
        let node = graph.outputs[o].node;
        let of = chosen(node).into_iter();
        Some((o, of.map(|e| number(&start, node, e)).collect::<Option<_>>()?))
    };
    let reveals = outputs.iter().map(entries).collect::<Option<_>>()?;
    Some(Scalars { all, reveals })
}

/// Whether it is a choice between a value and what this value is compared with, or what such a choice leaves over; and
/// which of the two it takes.
fn clip(
    graph: &Graph,
    all: &[Scalar],
    id: NodeId,
    operands: &[Vec<u32>],
) -> (bool, Option<Extremum>) {
    // Where a value comes from, and whether its complement is taken on the way.
    let moved = |mut s: u32| {
        let mut not = false;
        while let Scalar { node, operands, opaque: false, .. } = &all[s as usize]
            && (graph.op(*node).is_layout() || matches!(graph.op(*node), Op::Not | Op::ToInt))
            && let Some(&next) = operands.iter().flatten().next()
        {
            not ^= *graph.op(*node) == Op::Not;
            s = next;
        }
        (s, not)
    };
    let constant = |s: u32| match graph.op(all[s as usize].node) {
        Op::Const(table, ..) => Some(Table::at(table, all[s as usize].entry)),
        _ => None,
    };
    let equal = |x: u32, y: u32| x == y || constant(x).is_some_and(|c| constant(y) == Some(c));
    match graph.op(id) {
        Op::Select => {
            let [(c, not), (a, _), (b, _)] = [0, 1, 2].map(|i| moved(operands[i][0]));
            let compared = &all[c as usize];
            if *graph.op(compared.node) != Op::Lt || compared.opaque {
                return (false, None);
            }
            let [x, y] = [0, 1].map(|i| moved(compared.operands[i][0]).0);
            let (first, second) = if not { (b, a) } else { (a, b) };
            let extremum = if equal(x, first) && equal(y, second) {
                Some(Extremum::Smallest)
            } else if equal(x, second) && equal(y, first) {
                Some(Extremum::Largest)
            } else {
                None
            };
            ([x, y].iter().any(|&side| side == a || side == b), extremum)
        }
        Op::Sub => (operands.iter().flatten().any(|&s| all[moved(s).0 as usize].clip), None),
        _ => (false, None),
    }
}

/// Whether an entry has more operands than are followed.
fn opaque(graph: &Graph, flows: &[Flow], id: NodeId, width: u64) -> bool {
    let found = reads::width(graph, id);
    let over_clients = || {
        let arg = graph.args(id)[0];
        let last = graph.shape(arg).len().saturating_sub(1);
        let on = |axis: usize| flows[arg.index()].on(axis);
        match graph.op(id) {
            Op::Sum(axes) => axes.iter().any(|&a| on(a as usize)),
            Op::Max(axis) | Op::Min(axis) => on(*axis as usize),
            Op::ArgMax | Op::Sort | Op::SortSum { .. } => on(last),
            Op::Gather { .. } => true,
            Op::Input(_)
            | Op::Const(..)
            | Op::Draw(_)
            | Op::Noise { .. }
            | Op::Pairs { .. }
            | Op::Places(_)
            | Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Div
            | Op::Neg
            | Op::Scale(_)
            | Op::Lt
            | Op::Eq
            | Op::Not
            | Op::And
            | Op::Xor
            | Op::ToInt
            | Op::Select
            | Op::Relu
            | Op::Gate
            | Op::Saturate(_)
            | Op::Function(_)
            | Op::Abs
            | Op::OneHot(_)
            | Op::ArgMaxIs
            | Op::MatMul { .. }
            | Op::Conv2d(_)
            | Op::MaxPool { .. }
            | Op::Reshape(_)
            | Op::Transpose(_)
            | Op::Slice { .. }
            | Op::Concat(_)
            | Op::Broadcast(_)
            | Op::Trunc(_)
            | Op::Shift(_)
            | Op::DivPow2(_)
            | Op::MulPow2(_) => false,
        }
    };
    found > width && (found > CLIENTS || !over_clients())
}

/// The client that an entry is computed from, by what the dataflow knows.
fn owner(graph: &Graph, id: NodeId, flow: &Flow, entry: usize) -> Owner {
    if flow.is_free() {
        return Owner::Nobody;
    }
    if let Some((set, member)) = flow.member() {
        return Owner::One(set, member);
    }
    let position = reads::position(graph.shape(id), entry);
    flow.member_at(&position).map_or(Owner::Several, |(set, member)| Owner::One(set, member))
}
