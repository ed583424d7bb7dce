//! Order statistics: entries and sums of slices of a sort, from ranks.
//!
//! Before: any graph without scales, [`super::monotone`] done. After: no slice of an [`Op::Sort`] is
//! summed or taken as a single entry, and no [`Op::SortSum`] of few enough entries is left. The rank of an entry is how
//! many come before it in ascending order (of equal entries the earlier index first, so ranks are a
//! permutation): comparisons of all pairs, one depth whatever n.
//!
//! ```text
//! %2 = sort %1 ; %3 = slice %2 axis=1 0..2 ; %4 = sum %3 axes=[1]
//!   ->   %4 = sort_sum %1 0..2
//!   ->   rank of each entry; %4 = sum (rank < 2) * %1
//! ```

use super::promise::{Kept, none};
use crate::graph::ranks::{self, First, by_rule};
use crate::graph::{Graph, NodeId, Op};
use slvr_language::types::{Elem, PairTable};

pub(super) fn run(graph: &Graph) -> Graph {
    let slices = graph.replace(|new, id, args| slice(new, graph.op(id), args, graph.node(id).site));
    // Roots move out of the new order statistics before these are spelled out.
    let slices = super::monotone::run(&slices);
    slices.replace(|new, id, args| match *slices.op(id) {
        Op::SortSum { lo, hi } if ranks::rankable(new.shape(args[0])) => {
            Some(by_rank(new, args[0], lo, hi, slices.node(id).site))
        }
        _ => None,
    })
}

pub(super) fn after(g: &Graph) -> Kept {
    none(g, "an order statistic of few enough entries is left", |id| {
        matches!(g.op(id), Op::SortSum { .. }) && ranks::rankable(g.shape(g.arg(id, 0)))
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
        return g.add_table(shape, vec![0.0], Elem::Int, site);
    }
    let table = |g: &mut Graph, table: PairTable| {
        let entries = table.entries(n).map(|x| x as f64).collect();
        g.add_table(table.shape(n), entries, Elem::Int, site)
    };
    let [later, earlier] = [PairTable::Later, PairTable::Earlier].map(|t| table(g, t));
    let pick = Op::Gather { axis: rank as u64 - 1, batch: 0 };
    let [later, earlier] = [later, earlier].map(|index| g.add(pick.clone(), &[x, index], site));
    // Of equal ones the earlier comes first.
    let less = g.add(Op::Lt, &[later, earlier], site);

    // Entry (i, o): whether the o-th other comes before i.
    let which = table(g, PairTable::Number);
    let before = g.add(pick, &[less, which], site);
    let mut side = vec![1; rank - 1];
    side.extend([n, n - 1]);
    let flip = PairTable::Order.entries(n).map(|order| f64::from(order < 0)).collect();
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
        let bound = g.add_number(rank, bound as f64, Elem::Int, site);
        g.add(op, &[ranks, bound], site)
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
