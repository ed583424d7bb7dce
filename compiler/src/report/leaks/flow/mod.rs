//! What every value depends on: which clients' inputs, how many of them in one entry, whether
//! linearly, whether behind a secret factor. And what it tells of an order: whether an entry is one
//! client's that an order picked, whether it says how clients compare, and by whose bit it is chosen
//! among public numbers.
//!
//! One pass over the graph as built from the source. An entry of a value depends on the members that
//! its positions on *client axes* name, on members named by constants (`update[0]`), and on further
//! ones that are only counted. The count is an upper bound: what is reported as one client is one.

mod facts;
mod layout;
mod members;
mod product;
mod selection;
#[cfg(test)]
mod tests;

use crate::analysis::order::Rankings;
use crate::graph::{Graph, NodeId, Op, Table};
use crate::syntax::ast::Secrecy;
use crate::types::Elem;
use facts::{BITS, Ones, Order, Place, add, both};
pub(super) use facts::{Dependence, Factor, Flow, Mask, Ranks, Scope};
use layout::{concat, gather, reshape, slice};
use members::{Group, Members};
use product::{by_public, div, mul, not, select};
use selection::{compare, has_one_axis, least_by_gate, varies};
use std::collections::BTreeSet;

/// Entries of an index whose numbers are looked at.
const PLACES: u64 = 1 << 16;

/// Party sets whose inputs a receiver knows: a single party knows its own.
pub(super) fn known(graph: &Graph, to: u32) -> BTreeSet<u32> {
    let single = graph.parties.get(to as usize).is_some_and(|p| p.1 == 1);
    if single { BTreeSet::from([to]) } else { BTreeSet::new() }
}

/// The flows of all nodes to somebody who knows the inputs of these party sets.
pub(super) fn flows(graph: &Graph, known: &BTreeSet<u32>) -> Vec<Flow> {
    let rankings = Rankings::new(graph);
    let mut out: Vec<Flow> = Vec::with_capacity(graph.len());
    for id in graph.ids() {
        let mut flow = flow(graph, known, &rankings, &out, id);
        if flow.is_free() || graph.ty(id).secrecy == Secrecy::Public {
            out.push(Flow::free());
            continue;
        }
        simplify(graph, id, &mut flow);
        if flow.ranks == Ranks::Compared && named(graph, id, &out, &flow) {
            flow.ranks = Ranks::Named;
        }
        out.push(flow);
    }
    out
}

/// What follows for a node's flow from its type alone.
fn simplify(graph: &Graph, id: NodeId, flow: &mut Flow) {
    let (ty, is_bit) = (graph.ty(id), graph.ty(id).elem == Elem::Bit);
    flow.extra = flow.extra.min(graph.parties.iter().map(|p| p.1).sum());
    flow.trim(&ty.shape);
    flow.condense();
    if let (Dependence::Other(of), true) = (&mut flow.form, is_bit) {
        // Bits say little of what they compare.
        *of = None;
    }
    flow.divided &= !is_bit && *graph.op(id) != Op::ArgMax;
    let alone = |axis: usize| ty.shape.get(axis).is_none_or(|n| *n == 1);
    if is_bit && !flow.is_bits() || flow.bits.is_some_and(|b| alone(b.1)) {
        flow.bits = BITS;
    }
}

/// Whether public numbers that differ from client to client take part in an operation entry by entry.
fn named(g: &Graph, id: NodeId, flows: &[Flow], f: &Flow) -> bool {
    let entrywise = matches!(g.op(id), Op::Add | Op::Sub | Op::Mul | Op::Select | Op::Lt | Op::Eq);
    let [group] = &f.groups[..] else { return false };
    let differs = |a: NodeId| group.axes.iter().any(|&axis| varies(g, a, axis));
    entrywise && g.args(id).iter().any(|&a| flows[a.index()].is_free() && differs(a))
}

fn flow(
    g: &Graph,
    known: &BTreeSet<u32>,
    rankings: &Rankings<'_>,
    flows: &[Flow],
    id: NodeId,
) -> Flow {
    let args = g.args(id);
    let of: Vec<&Flow> = args.iter().map(|a| &flows[a.index()]).collect();
    let shape = |i: usize| g.shape(args[i]);
    let last = |i: usize| shape(i).len() - 1;
    let first = || of.first().map_or_else(Flow::free, |f| (*f).clone());
    match g.op(id) {
        Op::Input(i) => input(g, known, *i),
        // As if it were known: what is said of a reveal holds with any noise, and with none.
        Op::Noise { .. } => Flow::free(),
        Op::Const(..) | Op::Draw(_) | Op::Pairs { .. } | Op::Places(_) => Flow::free(),
        Op::Add | Op::Sub => add(of[0], of[1]),
        Op::Mul => mul(g, args, of[0], of[1], false),
        Op::And => and(g, args, &of),
        Op::Div => div(of[0], of[1]),
        Op::Scale(0.0) => Flow::free(),
        Op::Neg | Op::Scale(_) | Op::Trunc(_) | Op::Shift(_) | Op::DivPow2(_) | Op::MulPow2(_) => {
            Flow { bits: None, ..first() }
        }
        Op::ToInt => first(),
        Op::Not => not(g, rankings, args[0], of[0]),
        Op::Lt | Op::Eq => compare(g, rankings, id, &of),
        Op::Xor | Op::Gate => both(of[0], of[1]),
        Op::Select => select(g, rankings, flows, id, &of),
        Op::Sum(axes) => summed(g, of[0], shape(0), axes),
        Op::Max(axis) => reduce(shape(0), *axis as usize, of[0], Some((Place::Last, id))),
        Op::Min(axis) => reduce(shape(0), *axis as usize, of[0], Some((Place::First, id))),
        Op::ArgMax => placed(shape(0), of[0]),
        Op::Sort => sort(shape(0), of[0], id),
        Op::SortSum { lo, hi } => {
            reduce(shape(0), last(0), of[0], (hi - lo == 1).then_some((Place::At(*lo), id)))
        }
        Op::ArgMaxIs => placed(shape(0), &both(of[0], of[1])),
        Op::OneHot(_) => Flow { bits: BITS, ..first().other() },
        Op::MatMul { trans_b } => {
            // What is multiplied stands along rows, what is added up, and columns.
            let (mut a, mut b) = (of[0].clone(), of[1].clone());
            let columns = if *trans_b { [0, 3, 2] } else { [0, 2, 3] };
            a.moved(|axis| [0, 1, 2].get(axis).copied());
            b.moved(|axis| columns.get(axis).copied());
            let [batch, rows, n] = g.shape(id)[..] else { return both(&a, &b) };
            let f = mul(g, args, &a, &b, true);
            summed(g, &f, &[batch, rows, shape(0)[2], n], &[2])
        }
        Op::Conv2d { .. } => {
            let (mut x, mut w) = (of[0].clone(), of[1].clone());
            x.moved(|axis| (axis < 2).then_some(axis));
            w.moved(|axis| [Some(0), Some(2)].get(axis).copied().flatten());
            mul(g, args, &x, &w, true)
        }
        Op::MaxPool { .. } => {
            let mut f = first().other();
            f.moved(|axis| (axis + 1 < last(0)).then_some(axis));
            f
        }
        Op::Reshape(to) => reshape(shape(0), to, of[0]),
        Op::Transpose(perm) => {
            let mut f = first();
            f.moved(|axis| perm.iter().position(|&p| p as usize == axis));
            f
        }
        Op::Slice { axis, start, len, step } => slice(of[0], *axis as usize, *start, *len, *step),
        Op::Concat(axis) => concat(&of, *axis as usize),
        Op::Broadcast(_) => first(),
        Op::Gather { axis, batch } => {
            let mut f = first();
            let (axis, indexed) = (*axis as usize, shape(1).len() - *batch as usize);
            gather(&mut f, (axis, indexed), places(g, args[1], *batch), &g.parties);
            f
        }
        // Computed entry by entry.
        Op::Relu | Op::Saturate(_) | Op::Function(_) | Op::Abs => first().entrywise(),
    }
}

/// The constants that an index holds, and their shape.
fn places(g: &Graph, index: NodeId, batch: u64) -> Option<(&[u64], Vec<u64>)> {
    let Op::Const(table, ..) = g.op(index) else { return None };
    if batch > 0 || g.elements(index) > PLACES {
        return None;
    }
    let of = (0..g.elements(index) as usize).map(|k| Table::at(table, k) as u64).collect();
    Some((g.shape(index), of))
}

fn input(g: &Graph, known: &BTreeSet<u32>, index: u32) -> Flow {
    let mut f = Flow::free();
    let Some(input) = g.inputs.get(index as usize) else { return f };
    let Some(set) = input.from.set().filter(|s| !known.contains(s)) else { return f };
    f.form = Dependence::Linear;
    f.inputs.insert(index);
    if g.parties.get(set as usize).is_some_and(|p| p.1 == 1) {
        f.fixed.insert((set, 0));
    } else {
        let members = Some(Members { set, start: 0, step: 1 });
        f.groups.push(Group { members, ..Group::along([0].into()) });
    }
    f
}

/// Where both bits are 1: along an axis no more than of either.
fn and(g: &Graph, args: &[NodeId], of: &[&Flow]) -> Flow {
    if let Some(public) = (0..2).find(|&i| of[i].is_free()) {
        return by_public(g, args[public], of[1 - public]).other();
    }
    let f = both(of[0], of[1]);
    let least = (0..2).find_map(|i| least_by_gate(g, args[i], args[1 - i]));
    let counted = of.iter().find_map(|f| f.bits.filter(|b| b.0 != Ones::ANY));
    let Some(along) = counted.map(|b| b.1).or(f.axis()) else { return f };
    let most = of[0].ones(along).most.min(of[1].ones(along).most);
    let least = least.filter(|_| f.axis() == Some(along)).unwrap_or(0);
    Flow { bits: Some((Ones { most, least }, along)), ..f }
}

fn summed(g: &Graph, a: &Flow, shape: &[u64], axes: &[u64]) -> Flow {
    let mut f = a.clone().plain();
    // A sum of one entry is that entry.
    let alone = axes.iter().all(|&axis| shape[axis as usize] == 1);
    if alone {
        f.order = a.order;
    }
    // Where each place was selected by bits of its own, several of a client are added up.
    let across = axes.iter().any(|&axis| !a.on(axis as usize));
    if let Dependence::Masked(m) = &mut f.form
        && !alone
        && across
        && m.by.is_none_or(|bits| !has_one_axis(g.shape(bits)))
    {
        m.ones = Ones::ANY;
    }
    for &axis in axes {
        f.absorb(axis as usize, shape[axis as usize]);
    }
    // The number of comparisons that one client wins is its rank; how many clients are kept is no rank.
    let tally = f.side_by_side()
        || a.fixed.iter().any(|m| g.parties.get(m.0 as usize).is_some_and(|p| p.1 > 1));
    if f.sides() < a.sides() && !(a.is_bits() && tally) && f.ranks == Ranks::Compared {
        f.ranks = Ranks::No;
    }
    f.moved(|axis| Some(axis - axes.iter().filter(|&&x| (x as usize) < axis).count()));
    f
}

/// A nonlinear reduction along an axis, which disappears; it may pick an entry: which, and where.
fn reduce(shape: &[u64], axis: usize, a: &Flow, picks: Option<(Place, NodeId)>) -> Flow {
    let mut f = Flow { bits: a.bits.and(picks).and(BITS), ..a.clone().other() };
    f.absorb(axis, shape[axis]);
    f.moved(|x| Some(if x > axis { x - 1 } else { x }));
    // The largest of several bits is their disjunction, one bit about all.
    if let (true, Some((place, node))) = (a.on(axis) && !a.is_bits() || a.one_by_order(), picks) {
        f.order = Order::One(place, node);
    }
    f
}

/// The place of the largest along the last axis, which disappears: of clients, it says who that is.
fn placed(shape: &[u64], a: &Flow) -> Flow {
    let last = shape.len() - 1;
    let mut f = reduce(shape, last, a, None);
    if a.on(last) {
        f.ranks = f.ranks.max(Ranks::Compared);
    }
    f
}

fn sort(shape: &[u64], a: &Flow, node: NodeId) -> Flow {
    let mut f = a.clone().other();
    let Some(last) = shape.len().checked_sub(1) else { return f };
    f.absorb(last, shape[last]);
    // Bits in order are how many of them are 1.
    if a.on(last) && !a.is_bits() || a.one_by_order() {
        f.order = Order::Sorted(last, node);
    }
    f
}
