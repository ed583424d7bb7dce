//! Bits that select clients: how many of them are 1.

use super::facts::{BITS, Bits, Choice, Chooser, Flow, Number, Ones, Ranks, both};
use crate::analysis::behind::{behind, uncopied, unshaped};
use crate::analysis::interval::{Interval, nearest, size};
use crate::analysis::order::Rankings;
use crate::graph::{Graph, NodeId, Op, Table};
use crate::passes::FRACTION;
use crate::types::Elem;
use std::collections::BTreeSet;

/// Factors of a product that are looked at.
const FACTORS: usize = 64;
/// Products of products that sizes are looked for in.
const DEPTH: usize = 8;

/// A comparison.
pub(super) fn compare(g: &Graph, rankings: &Rankings<'_>, id: NodeId, of: &[&Flow]) -> Flow {
    let args = g.args(id);
    let mut f = Flow { bits: BITS, ..both(of[0], of[1]) };
    // Several bits of one value, which is one client's.
    let probed = |a: &Flow, b: &Flow| a.one_by_order() && b.is_free() && g.elements(id) > 1;
    let probed = probed(of[0], of[1]) || probed(of[1], of[0]);
    if compares_clients(of[0], of[1]) || probed {
        f.ranks = f.ranks.max(Ranks::Compared);
    }
    if let Some(found) = by_rank(g, rankings, id, true) {
        f.bits = Some(found);
    }
    if *g.op(id) == Op::Eq
        && let Some(along) = (0..2).find_map(|i| numbered_axis(g, args[i], args[1 - i]))
    {
        f.bits = Some((Ones { most: 1, least: 0 }, along));
    }
    f
}

/// Where ranks are held against a constant: how many are below it, or not, and that one is equal. `holds` asks of the bits
/// of the comparison itself, else of their complement.
pub(super) fn by_rank(
    g: &Graph,
    rankings: &Rankings<'_>,
    comparison: NodeId,
    holds: bool,
) -> Option<Bits> {
    let (Op::Lt | Op::Eq) = g.op(comparison) else { return None };
    let args = g.args(comparison);
    let (i, c) = (0..2).find_map(|i| Some((i, constant(g, args[1 - i])?)))?;
    let (along, all) = ranking_axis(g, rankings, args[i])?;
    if *g.op(comparison) == Op::Eq {
        return holds.then_some((Ones { most: 1, least: 0 }, along));
    }
    let n = g.shape(args[i])[along];
    // r < c is r < ceil c, and c < r is not r < floor c + 1.
    let first = if i == 0 { c.ceil() } else { c.floor() + 1.0 };
    let below = (first.max(0.0) as u64).min(n);
    let ones = match (holds == (i == 0), all) {
        (true, true) => Ones { most: below, least: below },
        (true, false) => Ones { most: below, least: 0 },
        (false, true) => Ones { most: n - below, least: n - below },
        // The counts of such comparisons may begin with 1.
        (false, false) => return None,
    };
    Some((ones, along))
}

/// The axis along which one value is held against numbers that are all different.
fn numbered_axis(g: &Graph, value: NodeId, numbers: NodeId) -> Option<usize> {
    let shape = g.shape(numbers);
    let axis = shape.iter().position(|n| *n > 1)?;
    let Op::Const(table, ..) = g.op(uncopied(g, numbers)) else { return None };
    let mut seen = BTreeSet::new();
    let differ = table.data.len() as u64 == g.elements(numbers)
        && table.data.iter().all(|x| seen.insert((x + 0.0).to_bits()));
    (has_one_axis(shape) && differ && !varies(g, value, axis)).then_some(axis)
}

/// The axis along which counts of comparisons are ranks, and equal only if what is compared is equal: each is there
/// once, whatever is equal, or all pairs are compared. And whether it is the first.
fn ranking_axis(g: &Graph, rankings: &Rankings<'_>, count: NodeId) -> Option<(usize, bool)> {
    let wide = |id: NodeId| g.shape(id).iter().copied().filter(|n| *n > 1).collect::<Vec<u64>>();
    let axis = g.shape(count).iter().rposition(|n| *n > 1)?;
    let behind_shape = unshaped(g, count);
    let counts = g.ty(count).elem == Elem::Int && wide(behind_shape) == wide(count);
    if counts && rankings.has(behind_shape) {
        return Some((axis, true));
    }
    let pairs = || {
        let bits = behind(g, g.arg(behind_shape, 0), |op| matches!(op, Op::ToInt | Op::Not));
        let of = |i: usize| uncopied(g, g.arg(bits, i));
        let all = |v: NodeId| has_one_axis(g.shape(v)) && g.elements(v) == g.elements(count);
        *g.op(bits) == Op::Lt && of(0) == of(1) && all(of(0))
    };
    (matches!(g.op(behind_shape), Op::Sum(_)) && pairs()).then_some((axis, false))
}

/// Whether values of different clients are compared, of the same inputs: each side has a client of its own.
fn compares_clients(a: &Flow, b: &Flow) -> bool {
    let own = |a: &Flow, b: &Flow| !a.groups.is_empty() || !a.fixed.is_subset(&b.fixed);
    let apart = a.groups.iter().all(|g| !b.groups.contains(g));
    own(a, b) && own(b, a) && apart && !a.inputs.is_disjoint(&b.inputs)
}

/// Whether a choice between two values is the larger or the smaller of them, so that each of them counts.
pub(super) fn is_extremum(g: &Graph, id: NodeId) -> bool {
    let Some(chosen) = g.selection_behind(id, |id| uncopied(g, id)) else { return false };
    let equal = |x: NodeId, y: NodeId| {
        uncopied(g, x) == uncopied(g, y)
            || constant(g, x).is_some_and(|v| constant(g, y) == Some(v))
    };
    let [x, y] = chosen.less;
    equal(x, chosen.then) && equal(y, chosen.other)
        || equal(x, chosen.other) && equal(y, chosen.then)
}

/// The public numbers that a choice is among: with each, the one client by whose bit it is chosen. What bits of
/// different clients choose alike says nothing of any of them.
pub(super) fn choice_of(g: &Graph, flows: &[Flow], args: &[NodeId]) -> Choice {
    let by = chooser(g, flows, args[0]);
    let mut out = Choice::new();
    for &arg in &args[1..] {
        let f = &flows[arg.index()];
        let parts = if f.is_free() {
            let number = |x: f64| Number::Constant((x + 0.0).to_bits());
            Choice::from([(constant(g, arg).map_or(Number::Of(uncopied(g, arg)), number), by)])
        } else {
            f.choice.clone()
        };
        for (number, by) in parts {
            out.entry(number).and_modify(|b| *b = b.filter(|_| *b == by)).or_insert(by);
        }
    }
    out
}

/// By whose data a bit falls: who stands apart in what is compared, or whose bit it is.
fn chooser(g: &Graph, flows: &[Flow], bit: NodeId) -> Option<Chooser> {
    let single = |id: NodeId| flows[id.index()].single_client(uncopied(g, id));
    let mut open = vec![bit];
    for _ in 0..FACTORS {
        let Some(id) = open.pop().map(|id| uncopied(g, id)) else { break };
        match g.op(id) {
            Op::Lt | Op::Eq => {
                if let Some(found) = g.args(id).iter().find_map(|&a| single(a)) {
                    return Some(found);
                }
            }
            Op::Not | Op::ToInt | Op::And | Op::Xor => open.extend(g.args(id).iter().rev()),
            _ => {}
        }
    }
    single(bit)
}

/// Whether the numbers of a choice say who chose: different clients choose different ones.
pub(super) fn tells_who_chose(choice: &Choice) -> bool {
    let mut by = choice.values().flatten();
    let first: Option<&Chooser> = by.next();
    by.any(|b| Some(b) != first)
}

/// Whether all factors of a product are the same value.
pub(super) fn is_power(g: &Graph, args: &[NodeId]) -> bool {
    let mut open: Vec<NodeId> = args.to_vec();
    let mut found = None;
    for _ in 0..FACTORS {
        let Some(id) = open.pop() else { return true };
        let id = uncopied(g, id);
        if *g.op(id) == Op::Mul {
            open.extend(g.args(id));
        } else if *found.get_or_insert(id) != id {
            return false;
        }
    }
    false
}

/// Whether a public value is 0 everywhere.
pub(super) fn is_zero(g: &Graph, id: NodeId) -> bool {
    let mut open = vec![id];
    for _ in 0..FACTORS {
        let Some(id) = open.pop().map(|id| sizes_behind(g, id)) else { return false };
        match g.op(id) {
            Op::Scale(c) if *c == 0.0 => return true,
            Op::Scale(_) | Op::Mul => open.extend(g.args(id)),
            _ if constant(g, id) == Some(0.0) => return true,
            _ => {}
        }
    }
    false
}

/// Whether the entries of a value may differ along an axis.
pub(super) fn varies(g: &Graph, id: NodeId, axis: usize) -> bool {
    if g.shape(id).get(axis).is_none_or(|&n| n == 1) || constant(g, id).is_some() {
        return false;
    }
    let repeated = || {
        let of = g.arg(id, 0);
        g.shape(of).len() == g.shape(id).len() && !varies(g, of, axis)
    };
    !(matches!(g.op(id), Op::Broadcast(_)) && repeated())
}

/// Whether a public value is certainly 0 nowhere, also where a run rounds it and what it is made of.
pub(super) fn nowhere_zero(g: &Graph, id: NodeId) -> bool {
    sizes(g, id, DEPTH).0 >= 2.0 * (-f64::from(FRACTION)).exp2()
}

/// The least and the largest absolute value of a public value, as far as its factors say it.
fn sizes(g: &Graph, id: NodeId, depth: usize) -> (f64, f64) {
    const ANY: (f64, f64) = (0.0, f64::INFINITY);
    let id = sizes_behind(g, id);
    let Some(depth) = depth.checked_sub(1) else { return ANY };
    let arg = |i: usize| sizes(g, g.arg(id, i), depth);
    let of = |range: Interval| (nearest(range), size(range));
    match g.op(id) {
        Op::Const(table, ..) => table
            .data
            .iter()
            .map(|&x| of((x, x)))
            .fold((f64::INFINITY, 0.0), |(least, most), (lo, hi)| (least.min(lo), most.max(hi))),
        Op::Input(i) => g.inputs.get(*i as usize).map_or(ANY, |input| of(input.range)),
        Op::Scale(c) => {
            let (least, most) = arg(0);
            (least * c.abs(), most * c.abs())
        }
        Op::Mul => {
            let (a, b) = (arg(0), arg(1));
            (a.0 * b.0, a.1 * b.1)
        }
        Op::Div => {
            let (a, b) = (arg(0), arg(1));
            (a.0 / b.1, a.1 / b.0)
        }
        _ => ANY,
    }
}

/// Whether entries differ along one axis at most.
pub(super) fn has_one_axis(shape: &[u64]) -> bool {
    shape.iter().filter(|n| **n > 1).count() <= 1
}

/// Of the complement of `v[p] < v`, where v[p] is at place p of v in order: at least p + 1 are not larger.
/// Likewise of the complement of `v < v[p]`.
pub(super) fn least_of_complement(g: &Graph, comparison: NodeId) -> Option<u64> {
    if *g.op(comparison) != Op::Lt {
        return None;
    }
    let place = |id: NodeId, of: NodeId| -> Option<(u64, u64)> {
        let slice = uncopied(g, id);
        let Op::Slice { start, len: 1, .. } = g.op(slice) else { return None };
        let sort = uncopied(g, g.arg(slice, 0));
        let all = *g.op(sort) == Op::Sort && uncopied(g, g.arg(sort, 0)) == uncopied(g, of);
        let n = g.elements(sort);
        let is_row = n == g.elements(uncopied(g, of)) && has_one_axis(g.shape(of));
        (all && is_row && g.elements(slice) == 1).then_some((*start, n))
    };
    let (a, b) = (g.arg(comparison, 0), g.arg(comparison, 1));
    let above = place(a, b).map(|(start, _)| start + 1);
    above.or_else(|| place(b, a).map(|(start, n)| n - start))
}

/// Of `bits && gate`, where the gate says that at least c of these same bits are 1: c.
pub(super) fn least_by_gate(g: &Graph, bits: NodeId, gate: NodeId) -> Option<u64> {
    let gate = uncopied(g, gate);
    let of = |id: NodeId| -> Option<(NodeId, NodeId)> {
        let less = *g.op(id) == Op::Lt;
        less.then(|| (g.arg(id, 0), g.arg(id, 1)))
    };
    // count >= c is !(count < c); count > c is c < count.
    let (count, c) = if *g.op(gate) == Op::Not {
        let (count, c) = of(uncopied(g, g.arg(gate, 0)))?;
        (count, constant(g, c)?.ceil())
    } else {
        let (c, count) = of(gate)?;
        (count, constant(g, c)?.floor() + 1.0)
    };
    let sum = uncopied(g, count);
    let Op::Sum(_) = g.op(sum) else { return None };
    let counted = bits_behind(g, g.arg(sum, 0));
    // All of the bits are counted, and each once: nothing was sliced away or repeated, and one number came out.
    let once = g.elements(g.arg(sum, 0)) == g.elements(counted);
    let all = counted == uncopied(g, bits)
        && once
        && g.elements(sum) == 1
        && has_one_axis(g.shape(counted));
    all.then_some(c.clamp(0.0, 1e18) as u64)
}

/// The bits that a factor is, under any shape, as bits or as numbers.
pub(super) fn bits_behind(g: &Graph, id: NodeId) -> NodeId {
    behind(g, id, |op| {
        matches!(op, Op::Reshape(_) | Op::Transpose(_) | Op::Broadcast(_) | Op::ToInt)
    })
}

/// The node whose entries have the same sizes, some of them, whatever their signs.
fn sizes_behind(g: &Graph, id: NodeId) -> NodeId {
    behind(g, id, |op| op.is_layout() || matches!(op, Op::Neg | Op::ToInt | Op::Shift(_)))
}

/// The number that all entries are, through layout.
fn constant(g: &Graph, id: NodeId) -> Option<f64> {
    let Op::Const(table, ..) = g.op(behind(g, id, Op::is_layout)) else { return None };
    Table::as_splat(table)
}
