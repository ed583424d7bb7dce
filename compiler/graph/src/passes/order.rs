//! Order statistics: entries and sums of slices of a sort, from ranks.
//!
//! Before: any graph without scales, [`super::monotone`] done. After: no slice of an [`Op::Sort`] is
//! summed or taken as a single entry, and no [`Op::SortSum`] is left. The rank of an entry is how
//! many come before it in ascending order (of equal entries the earlier index first, so ranks are a
//! permutation): comparisons of all pairs, one depth whatever n. Best up to n of about 480 on a LAN.
//!
//! ```text
//! %2 = sort %1 ; %3 = slice %2 axis=1 0..2 ; %4 = sum %3 axes=[1]
//!   ->   %4 = sort_sum %1 0..2
//!   ->   rank of each entry; %4 = sum (rank < 2) * %1
//! ```

use super::promise::{Kept, none};
use crate::graph::ranks::{self, First, by_rule};
use crate::graph::{Graph, NodeId, Op, Table};
use slvr_language::types::Elem;

pub(super) fn run(graph: &Graph) -> Graph {
    let slices = graph.rewrite(|new, id, args| {
        let node = graph.node(id);
        slice(new, &node.op, args, node.site).unwrap_or_else(|| new.keep(graph, id, args))
    });
    // Roots move out of the new order statistics before these are spelled out.
    let slices = super::monotone::run(&slices);
    slices.rewrite(|new, id, args| {
        let node = slices.node(id);
        match node.op {
            Op::SortSum { lo, hi } if rankable(new, args[0]) => {
                by_rank(new, args[0], lo, hi, node.site)
            }
            _ => new.keep(&slices, id, args),
        }
    })
}

/// What holds after it.
pub(super) fn after(g: &Graph) -> Kept {
    none(g, "an order statistic of few enough entries is left", |id| {
        matches!(g.op(id), Op::SortSum { .. }) && rankable(g, g.arg(id, 0))
    })
}

/// `slice(sort x)` along the sorted axis with step one: x, first, length.
fn sorted_slice(g: &Graph, id: NodeId) -> Option<(NodeId, u64, u64)> {
    let last = g.shape(id).len().checked_sub(1)? as u64;
    match g.op(id) {
        Op::Sort => Some((g.arg(id, 0), 0, *g.shape(id).last()?)),
        Op::Slice { axis, start, len, step: 1 } if *axis == last => {
            let sort = g.arg(id, 0);
            (*g.op(sort) == Op::Sort).then(|| (g.arg(sort, 0), *start, *len))
        }
        _ => None,
    }
}

fn slice(g: &mut Graph, op: &Op, args: &[NodeId], site: u32) -> Option<NodeId> {
    let x = *args.first()?;
    let last = g.shape(x).len().checked_sub(1)? as u64;
    match op {
        Op::Slice { axis, start, len: 1, .. } if *g.op(x) == Op::Sort && *axis == last => {
            let sorted = g.arg(x, 0);
            let mut shape = g.shape(x).to_vec();
            shape[last as usize] = 1;
            let entry = g.add(Op::SortSum { lo: *start, hi: start + 1 }, &[sorted], site);
            Some(g.add(Op::Reshape(shape), &[entry], site))
        }
        Op::Sum(axes) if axes.last() == Some(&last) => {
            let (sorted, start, len) = sorted_slice(g, x)?;
            let sum = g.add(Op::SortSum { lo: start, hi: start + len }, &[sorted], site);
            let rest = axes[..axes.len() - 1].to_vec();
            Some(if rest.is_empty() { sum } else { g.add(Op::Sum(rest), &[sum], site) })
        }
        _ => None,
    }
}

/// Whether entries along the last axis are told by their ranks.
fn rankable(g: &Graph, x: NodeId) -> bool {
    ranks::rankable(g.shape(x))
}

/// The rank of each entry along the last axis: how many come before it in ascending order, of equal
/// ones the earlier index. Each pair is compared once.
pub(super) fn ranks(g: &mut Graph, x: NodeId, site: u32) -> NodeId {
    let shape = g.shape(x).to_vec();
    let rank = shape.len();
    let n = shape[rank - 1];
    if by_rule(n) {
        return ranks::ranks(g, x, First::Smallest, site);
    }
    if n == 1 {
        let none = Table::splat(0.0, shape);
        return g.add(Op::Const(none, Elem::Int, None), &[], site);
    }
    let axis = rank as u64 - 1;
    // Pair (i, j), j < i, is at i (i - 1) / 2 + j: whether x_i < x_j, so that of equals the earlier
    // comes first.
    let pairs = || (1..n).flat_map(|i| (0..i).map(move |j| (i, j)));
    let count = n * (n - 1) / 2;
    let later = g.add_table(vec![count], pairs().map(|(i, _)| i as f64).collect(), Elem::Int, site);
    let earlier =
        g.add_table(vec![count], pairs().map(|(_, j)| j as f64).collect(), Elem::Int, site);
    let pick = Op::Gather { axis, batch: 0 };
    let later = g.add(pick.clone(), &[x, later], site);
    let earlier = g.add(pick.clone(), &[x, earlier], site);
    let less = g.add(Op::Lt, &[later, earlier], site);

    // Entry (i, o): whether the o-th other comes before i.
    let others = || (0..n).flat_map(|i| (0..n).filter(move |&j| j != i).map(move |j| (i, j)));
    let at = |(i, j): (u64, u64)| {
        let (i, j) = (i.max(j), i.min(j));
        (i * (i - 1) / 2 + j) as f64
    };
    let which = g.add_table(vec![n, n - 1], others().map(at).collect(), Elem::Int, site);
    let before = g.add(pick, &[less, which], site);
    let mut side = vec![1; rank - 1];
    side.extend([n, n - 1]);
    let flip = others().map(|(i, j)| f64::from(j < i)).collect();
    let flip = g.add_table(side, flip, Elem::Bit, site);
    let before = g.add(Op::Xor, &[before, flip], site);
    let before = g.add(Op::ToInt, &[before], site);
    g.add(Op::Sum(vec![rank as u64]), &[before], site)
}

/// The sum of entries lo .. hi of x in ascending order along its last axis.
pub(super) fn by_rank(g: &mut Graph, x: NodeId, lo: u64, hi: u64, site: u32) -> NodeId {
    let shape = g.shape(x).to_vec();
    let rank = shape.len();
    let n = shape[rank - 1];
    if lo == 0 && hi == n {
        return g.add(Op::Sum(vec![rank as u64 - 1]), &[x], site);
    }
    let ranks = ranks(g, x, site);

    // lo <= rank < hi is (rank < hi) xor (rank < lo).
    let mut is = |op: Op, bound: u64| {
        let t = Table::splat(bound as f64, vec![1; rank]);
        let c = g.add(Op::Const(t, Elem::Int, None), &[], site);
        g.add(op, &[ranks, c], site)
    };
    let chosen = match (lo, hi) {
        // Equality is cheaper than one comparison, let alone two.
        _ if hi - lo == 1 => is(Op::Eq, lo),
        (0, _) => is(Op::Lt, hi),
        (_, hi) if hi == n => {
            let low = is(Op::Lt, lo);
            g.add(Op::Not, &[low], site)
        }
        _ => {
            let (a, b) = (is(Op::Lt, hi), is(Op::Lt, lo));
            g.add(Op::Xor, &[a, b], site)
        }
    };
    let chosen = g.add(Op::ToInt, &[chosen], site);
    let kept = g.add(Op::Mul, &[chosen, x], site);
    g.add(Op::Sum(vec![rank as u64 - 1]), &[kept], site)
}
