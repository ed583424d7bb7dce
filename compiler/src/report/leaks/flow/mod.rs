//! What every value depends on: which clients' inputs, how many of them in one entry, whether
//! linearly, whether behind a secret factor.
//!
//! One pass over the graph as built from the source. An entry of a value depends on the members that
//! its positions on *client axes* name, on members named by constants (`update[0]`), and on further
//! ones that are only counted. The count is an upper bound: what is reported as one client is one.

mod dependence;
mod layout;
mod selection;

use crate::graph::{Graph, NodeId, Op, Table};
use crate::syntax::ast::Secrecy;
use crate::types::Elem;
pub(super) use dependence::{Flow, Form, Mask};
use dependence::{Group, Members, Ones, Order, add};
use layout::{concat, gather, reshape, slice, weighed};
use selection::{
    chosen, compare, enough, extremum, half, is_zero, names, nowhere_zero, power, selecting, varies,
};
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
    let mut out: Vec<Flow> = Vec::with_capacity(graph.len());
    for id in graph.ids() {
        let args = graph.args(id);
        let of: Vec<&Flow> = args.iter().map(|a| &out[a.index()]).collect();
        let mut flow = flow(graph, known, id, args, &of);
        let members: u64 = graph.parties.iter().map(|p| p.1).sum();
        flow.extra = flow.extra.min(members);
        if flow.is_free() || graph.ty(id).secrecy == Secrecy::Public {
            flow = Flow::free();
        }
        if graph.ty(id).elem == Elem::Bit || *graph.op(id) == Op::ArgMax {
            // Bits say little of what they compare, and no quotient is opened with them.
            (flow.behind, flow.divided) = (None, false);
        }
        flow.trim(graph.shape(id));
        flow.condense();
        flow.size = graph.elements(id);
        flow.named |= named(graph, id, args, &of, &flow);
        out.push(flow);
    }
    out
}

/// Whether public numbers that differ from client to client take part in an operation entry by entry.
fn named(g: &Graph, id: NodeId, args: &[NodeId], of: &[&Flow], f: &Flow) -> bool {
    let entrywise = matches!(g.op(id), Op::Add | Op::Sub | Op::Mul | Op::Select | Op::Lt | Op::Eq);
    let [group] = &f.groups[..] else { return false };
    let differs = |a: NodeId| group.axes.iter().any(|&axis| varies(g, a, axis));
    entrywise && args.iter().zip(of).any(|(&a, f)| f.is_free() && differs(a))
}

/// Whether the factor is the same for all clients that the payload's entries are of.
fn global(g: &Graph, factor: NodeId, payload: &Flow) -> bool {
    let mut axes = payload.groups.iter().flat_map(|g| &g.axes).peekable();
    axes.peek().is_some() && axes.all(|&axis| !varies(g, factor, axis))
}

fn flow(g: &Graph, known: &BTreeSet<u32>, id: NodeId, args: &[NodeId], of: &[&Flow]) -> Flow {
    let shape = |n: NodeId| g.shape(n);
    let rank = |n: NodeId| g.shape(n).len();
    let first = || of.first().map_or_else(Flow::free, |f| (*f).clone());
    match g.op(id) {
        Op::Input(i) => input(g, known, *i),
        // As if it were known: what is said of a reveal holds with any noise, and with none.
        Op::Noise { .. } => Flow::free(),
        Op::Const(..) | Op::Draw(_) | Op::Pairs { .. } | Op::Places(_) => Flow::free(),
        Op::Add | Op::Sub => add(of[0], of[1]),
        Op::Mul => mul(g, args, of[0], of[1]),
        Op::And => {
            let mut f = mul(g, args, of[0], of[1]).other();
            f.bits = true;
            let most = of.iter().filter_map(|f| f.ones).map(|o| o.most).min();
            let least = enough(g, args[0], args[1]).or_else(|| enough(g, args[1], args[0]));
            if most.is_some() || least.is_some() {
                let (most, least) = (most.unwrap_or(u64::MAX), least.unwrap_or(0));
                f.ones = Some(Ones { most, least });
            }
            f
        }
        Op::Div => div(of[0], of[1]),
        Op::Scale(0.0) => Flow::free(),
        Op::Neg | Op::Scale(_) | Op::Trunc(_) | Op::Shift(_) | Op::DivPow2(_) | Op::MulPow2(_) => {
            let mut f = first();
            (f.bits, f.tally, f.ones) = (false, false, None);
            f
        }
        Op::ToInt => Flow { bits: true, ..first() },
        Op::Not => Flow { bits: true, ones: half(g, args[0]), ..first() },
        Op::Lt | Op::Eq => compare(g, id, args, of),
        Op::Xor => Flow { bits: true, ..add(of[0], of[1]).other() },
        Op::Select => select(g, args, of),
        Op::Gate => add(of[0], of[1]).other(),
        Op::Sum(axes) => sum(g, args[0], axes, of[0]),
        Op::Max(axis) => reduce(shape(args[0]), *axis as usize, of[0], Some((u64::MAX, id))),
        Op::Min(axis) => reduce(shape(args[0]), *axis as usize, of[0], Some((0, id))),
        Op::ArgMax => {
            let last = rank(args[0]) - 1;
            let ranks = of[0].ranks || of[0].on(last);
            Flow { ranks, ..reduce(shape(args[0]), last, of[0], None) }
        }
        Op::Sort => sort(shape(args[0]), of[0], id),
        Op::SortSum { lo, hi } => {
            let last = rank(args[0]) - 1;
            reduce(shape(args[0]), last, of[0], (hi - lo == 1).then_some((*lo, id)))
        }
        Op::ArgMaxIs => {
            let last = rank(args[0]) - 1;
            let f = reduce(shape(args[0]), last, &add(of[0], of[1]).other(), None);
            Flow { bits: true, ranks: f.ranks || of[0].on(last), ..f }
        }
        Op::OneHot(_) => Flow { bits: true, ..first().other() },
        Op::MatMul { trans_b } => {
            let mut a = of[0].clone();
            let mut b = of[1].clone();
            a.absorb(2, shape(args[0])[2]);
            let (inner, outer) = if *trans_b { (2, 1) } else { (1, 2) };
            b.absorb(inner, shape(args[1])[inner]);
            b.moved(|axis| Some(if axis == outer { 2 } else { axis }));
            contracted(g, args, &a, &b)
        }
        Op::Conv2d { .. } => {
            let (mut x, mut w) = (of[0].clone(), of[1].clone());
            x.moved(|axis| (axis < 2).then_some(axis));
            w.moved(|axis| [Some(0), Some(2)].get(axis).copied().flatten());
            contracted(g, args, &x, &w)
        }
        Op::MaxPool { .. } => {
            let mut f = first().other();
            let spatial = rank(args[0]) - 2;
            f.moved(|axis| (axis < spatial).then_some(axis));
            f
        }
        Op::Reshape(to) => reshape(shape(args[0]), to, of[0]),
        Op::Transpose(perm) => {
            let mut f = first();
            f.moved(|axis| perm.iter().position(|&p| p as usize == axis));
            f
        }
        Op::Slice { axis, start, len, step } => slice(of[0], *axis as usize, *start, *len, *step),
        Op::Concat(axis) => concat(of, *axis as usize),
        Op::Broadcast(_) => first(),
        Op::Gather { axis, batch } => {
            let mut f = first();
            let (axis, indexed) = (*axis as usize, rank(args[1]) - *batch as usize);
            gather(&mut f, (axis, indexed), places(g, args[1], *batch), &g.parties);
            f
        }
        // Computed entry by entry.
        Op::Relu | Op::Saturate(_) | Op::Function(_) | Op::Abs => first().other(),
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
    f.form = Form::Linear;
    f.bits = input.elem == Elem::Bit;
    f.inputs.insert(index);
    if g.parties.get(set as usize).is_some_and(|p| p.1 == 1) {
        f.fixed.insert((set, 0));
    } else {
        let members = Some(Members { set, start: 0, step: 1 });
        f.groups.push(Group { members, ..Group::along([0].into()) });
    }
    f
}

fn mul(g: &Graph, args: &[NodeId], a: &Flow, b: &Flow) -> Flow {
    // A public factor may be a mask of positions: bits stay bits, and at most as many are 1.
    let by = |factor: NodeId, f: &Flow| {
        let mut out = Flow { tally: false, ..f.clone() };
        if !nowhere_zero(g, factor) {
            out.fewer();
            if let Op::Const(table, ..) = g.op(factor)
                && (g.shape(factor).iter().filter(|n| **n > 1).count() > 1)
                && g.elements(factor) <= PLACES
            {
                let n = g.elements(factor) as usize;
                let weights: Vec<f64> = (0..n).map(|k| Table::at(table, k)).collect();
                weighed(&mut out, (g.shape(factor), &weights), &g.parties);
            }
        }
        out
    };
    match (a.is_free(), b.is_free()) {
        (true, _) => by(args[0], b),
        (_, true) => by(args[1], a),
        _ => product((g, args), a, b, [global(g, args[0], b), global(g, args[1], a)]),
    }
}

/// A sum of products along an axis.
fn contracted(g: &Graph, args: &[NodeId], a: &Flow, b: &Flow) -> Flow {
    let mut f = product((g, args), a, b, [false, false]);
    let public = |f: &Flow, id: NodeId| f.is_free() && !nowhere_zero(g, id);
    if public(a, args[0]) || public(b, args[1]) {
        f.fewer();
    }
    f
}

/// A product of two secrets, or a contraction of secrets and public values. Of each factor, whether it is the
/// same for all clients of the other.
fn product((g, args): (&Graph, &[NodeId]), a: &Flow, b: &Flow, global: [bool; 2]) -> Flow {
    let mut inputs = a.inputs.clone();
    inputs.extend(&b.inputs);
    let [by_a, by_b] = global;
    let larger = (a.clients(), a.size) > (b.clients(), b.size);
    // A statistic times a value of each client stands beside that of the others.
    let beside = |f: &Flow, s: &Flow| f.side_by_side() && !s.side_by_side() && s.clients() > 1;
    let same = (&a.groups, &a.fixed) == (&b.groups, &b.fixed);
    let mut f = match (&a.form, &b.form) {
        (Form::Free, _) => b.clone(),
        (_, Form::Free) => a.clone(),
        _ if beside(a, b) || beside(b, a) => {
            let mut f = a.clone();
            f.with_clients(b);
            Flow { form: Form::Other, ..f }
        }
        // A power is computed of every client.
        _ if a.clients() <= 1 && !a.bits && same && power(g, args) => a.clone().other(),
        // Numbers of several clients, each a factor of the others: none of them stands alone.
        _ if factors(a, b) => {
            let mut f = a.clone();
            f.with_clients(b);
            f.other()
        }
        // A bit masks; otherwise what does not follow linearly weighs what does. Of two linear
        // factors the smaller one is the weight.
        (Form::Linear, Form::Linear) if !a.bits && b.bits => masked(b, a, by_b),
        (Form::Linear, Form::Linear) if a.bits && !b.bits => masked(a, b, by_a),
        (Form::Linear, Form::Linear) if a.inputs != b.inputs => {
            if a.size <= b.size {
                masked(a, b, by_a)
            } else {
                masked(b, a, by_b)
            }
        }
        (Form::Linear | Form::Masked(_), Form::Other) => masked(b, a, by_b),
        (Form::Other, Form::Linear | Form::Masked(_)) => masked(a, b, by_a),
        (Form::Masked(_), Form::Linear) if b.bits => masked(b, a, by_b),
        (Form::Linear, Form::Masked(_)) if a.bits => masked(a, b, by_a),
        // What was masked before is a weight now, or has one.
        (Form::Masked(_), _) | (_, Form::Masked(_)) if larger => masked(b, a, by_b),
        (Form::Masked(_), _) | (_, Form::Masked(_)) => masked(a, b, by_a),
        // A bit masks what is computed from one client as it does its input.
        (Form::Other, Form::Other) if a.bits && !b.bits && b.clients() <= 1 => masked(a, b, by_a),
        (Form::Other, Form::Other) if !a.bits && b.bits && a.clients() <= 1 => masked(b, a, by_b),
        _ => {
            let mut f = a.clone();
            f.with_clients(b);
            f.other()
        }
    };
    f.plain();
    if let Form::Masked(mask) = &mut f.form {
        let bits = |flow: &Flow| flow.bits && !matches!(flow.form, Form::Masked(_));
        mask.by = mask.by.or(match (bits(a), bits(b)) {
            (true, false) => Some(selecting(g, args[0])),
            (false, true) => Some(selecting(g, args[1])),
            _ => None,
        });
    }
    let behind = f.behind.clone().or_else(|| a.masked_sum()).or_else(|| b.masked_sum());
    Flow { inputs, bits: a.bits && b.bits, divided: a.divided || b.divided, behind, ..f }
}

/// Whether single numbers, no bits, are multiplied that known clients gave, others in each factor.
fn factors(a: &Flow, b: &Flow) -> bool {
    let number = |f: &Flow| {
        let known = f.groups.is_empty() && f.extra == 0 && !f.fixed.is_empty();
        known && f.size == 1 && !f.bits && !matches!(f.form, Form::Masked(_))
    };
    number(a) && number(b) && a.fixed.is_disjoint(&b.fixed)
}

/// `payload` times the secret `factor`, which is one for all clients if it is `global`. Which clients' values an
/// entry holds is a matter of the payload alone.
fn masked(factor: &Flow, payload: &Flow, global: bool) -> Flow {
    let (mut bit, mut ones) = (factor.bits, factor.ones);
    let (mut each, mut zero) = (payload.clients() <= 1, true);
    let mut computed = payload.form == Form::Other;
    // What a bit selected is a weight itself, and may be 0.
    if let Form::Masked(m) = &factor.form {
        (bit, ones) = (false, m.ones.map(|o| Ones { least: 0, ..o }));
    }
    let mut by = None;
    // What was added up of clients is hidden or shown as a whole.
    let whole = payload.groups.is_empty() && payload.clients() > 1;
    match &payload.form {
        // It hides or shows all that were selected.
        Form::Masked(m) if global || whole => {
            by = m.by;
            (bit, ones, each) = (m.bit, m.ones, m.each);
            (zero, computed) = (m.zero, m.computed);
        }
        // Both select: nobody may be left.
        Form::Masked(m) => {
            let most = m.ones.into_iter().chain(ones).map(|o| o.most).min();
            (bit, ones) = (bit && m.bit, most.map(|most| Ones { most, least: 0 }));
            (each, zero, computed) = (each || m.each, m.zero, m.computed);
        }
        Form::Linear | Form::Other | Form::Free => each &= !global,
    }
    let mut f = payload.clone();
    let least = |o: Ones| if payload.part { Ones { least: 0, ..o } } else { o };
    let ones = ones.filter(|_| each).map(least);
    let others = payload.groups.is_empty() && payload.clients() > 1;
    let alone = bit && !each && others && factor.groups.is_empty() && factor.clients() == 1;
    f.form = Form::Masked(Mask { bit, each, ones, zero, computed, alone, by });
    f.plain();
    f
}

fn div(a: &Flow, b: &Flow) -> Flow {
    let mut f = Flow { bits: false, tally: false, ones: None, ..a.clone() };
    if b.is_free() {
        return f;
    }
    f.plain();
    f.inputs.extend(&b.inputs);
    match a.form {
        Form::Linear | Form::Masked(_) if a.clients() >= 2 => f.divided = true,
        Form::Linear | Form::Masked(_) => f = masked(&Flow { bits: false, ..b.clone() }, &f, false),
        Form::Free | Form::Other => {
            f.with_clients(b);
            f.form = Form::Other;
        }
    }
    f
}

/// A choice. One among public numbers says by whose bit it fell, if these numbers differ from client to client.
fn select(g: &Graph, args: &[NodeId], of: &[&Flow]) -> Flow {
    let mut f = selected(g, args, of);
    if of[0].is_free() {
        return f;
    }
    f.choice = chosen(g, args, of);
    if names(&f.choice) {
        (f.form, f.ranks, f.chosen) = (Form::Other, true, true);
    }
    f
}

fn selected(g: &Graph, args: &[NodeId], of: &[&Flow]) -> Flow {
    let (c, a, b) = (of[0], of[1], of[2]);
    let mut both = add(a, b);
    both.bits = a.bits && b.bits;
    if c.is_free() {
        both.fewer();
        return both;
    }
    both.inputs.extend(&c.inputs);
    let other = |both: Flow| {
        let (bits, mut both) = (both.bits, both.other());
        both.with_clients(c);
        both.plain();
        Flow { form: Form::Other, bits, ..both }
    };
    // Of two values of each client, or the larger or smaller of two, one always counts.
    let each = |f: &Flow| f.form == Form::Linear && !f.groups.is_empty();
    if extremum(g, args) || each(a) && each(b) {
        return other(both);
    }
    // Values of single clients, of which one is taken as it is.
    if a.of_one() && b.of_one() && both.clients() >= 2 && !both.bits {
        let ones = Some(Ones { most: 1, least: 0 });
        let computed = both.form == Form::Other;
        let mut f = both;
        f.plain();
        f.form = Form::Masked(Mask {
            bit: true,
            each: true,
            ones,
            zero: false,
            computed,
            alone: false,
            by: None,
        });
        return f;
    }
    let global = global(g, args[0], &both);
    let zero = if a.is_free() { is_zero(g, args[1]) } else { is_zero(g, args[2]) };
    match both.form {
        Form::Other if zero && !both.bits && both.clients() <= 1 && !global => {
            masked(&Flow { bits: true, ..c.clone() }, &both, global)
        }
        Form::Free | Form::Other => other(both),
        Form::Linear | Form::Masked(_) => {
            let mut f = masked(c, &both, global);
            if let Form::Masked(mask) = &mut f.form {
                mask.zero &= zero;
                // A sum that is taken only where at least so many count.
                let least = mask.by.filter(|_| b.is_free());
                let least = least.and_then(|bits| enough(g, bits, args[0]));
                if let (Some(least), None) = (least, mask.ones) {
                    mask.ones = Some(Ones { most: u64::MAX, least });
                }
            }
            f
        }
    }
}

fn sum(g: &Graph, of: NodeId, axes: &[u64], a: &Flow) -> Flow {
    let mut f = a.clone();
    f.plain();
    let before = f.groups.len();
    // A sum of one entry is that entry.
    if axes.iter().all(|&axis| g.shape(of)[axis as usize] == 1) {
        (f.order, f.ranks) = (a.order, a.ranks);
    }
    for &axis in axes {
        f.absorb(axis as usize, g.shape(of)[axis as usize]);
    }
    // A count over clients of bits that belong to another client each.
    f.tally = a.bits && f.groups.len() < before && !f.groups.is_empty();
    // The number of comparisons that one client wins is its rank; how many clients are kept is no rank. With a
    // number of its own for each client, such as its index, the sum says who it is.
    let member = |m: &(u32, u64)| g.parties.get(m.0 as usize).is_some_and(|p| p.1 > 1);
    let one = a.bits && a.fixed.iter().any(member);
    f.ranks &= before == f.groups.len() || f.tally || a.named || one;
    f.named &= before == f.groups.len();
    f.bits = false;
    f.moved(|axis| Some(axis - axes.iter().filter(|&&x| (x as usize) < axis).count()));
    f
}

/// A nonlinear reduction along an axis, which disappears; it may pick an entry: which, and where.
fn reduce(shape: &[u64], axis: usize, a: &Flow, picks: Option<(u64, NodeId)>) -> Flow {
    // The largest of several bits is their disjunction, one bit about all.
    let one = a.on(axis) && !a.bits;
    let mut f = Flow { bits: a.bits && picks.is_some(), ..a.clone().other() };
    f.absorb(axis, shape[axis]);
    f.moved(|x| Some(if x > axis { x - 1 } else { x }));
    if let (true, Some((place, node))) = (one, picks) {
        f.order = Order::One(place, node);
    }
    f
}

fn sort(shape: &[u64], a: &Flow, node: NodeId) -> Flow {
    let mut f = a.clone().other();
    let Some(last) = shape.len().checked_sub(1) else { return f };
    // Bits in order are how many of them are 1.
    let across = a.on(last) && !a.bits;
    f.absorb(last, shape[last]);
    if across {
        f.order = Order::Sorted(last, node);
    }
    f
}
