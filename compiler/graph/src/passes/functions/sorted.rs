//! Sorted vectors, from ranks.
//!
//! Before: any graph without scales, [`super::super::order`] done. After: no [`Op::Sort`] but those of which more
//! entries are used than one can search for. Entry k of the sorted vector is the entry whose rank is k: comparisons of
//! all pairs at one depth, n equality tests on as many bits as n has for every entry that is asked for, and one inner
//! product each.
//!
//! ```text
//! %2 = sort %1 ; %3 = slice %2 axis=1 start=1 len=2
//!   ->   %4 = rank of each entry ; %5 = eq %4 [1, 2] ; %6 = to_int %5 ; %3 = sum of %6 * %1
//! ```

use super::super::promise::{Kept, none};
use super::super::{cse, order};
use crate::graph::ranks::{PAIRED, rankable};
use crate::graph::{Graph, NodeId, Op};
use slvr_language::types::Elem;

/// Of a long vector more entries are not searched for.
const SEARCHED: u64 = 64;

pub(crate) fn run(graph: &Graph) -> Graph {
    if graph.ids().all(|id| *graph.op(id) != Op::Sort) {
        return graph.clone();
    }
    // Slices first: what they leave out is not computed.
    let slices = graph.replace(|new, id, args| {
        let node = graph.node(id);
        let last = graph.shape(id).len().saturating_sub(1) as u64;
        match node.op {
            Op::Slice { axis, start, len, step }
                if axis == last
                    && *new.op(args[0]) == Op::Sort
                    && spelled_out(new, args[0], len) =>
            {
                let x = new.arg(args[0], 0);
                let which = (0..len).map(|i| start + i * step).collect();
                Some(entries(new, x, which, node.site))
            }
            _ => None,
        }
    });
    let slices = cse::dead_code(&slices);
    slices.replace(|new, id, args| match *slices.op(id) {
        Op::Sort if is_short(new, args[0]) => {
            let n = slices.shape(id).last().copied().unwrap_or(1);
            Some(entries(new, args[0], (0..n).collect(), slices.node(id).site))
        }
        _ => None,
    })
}

pub(crate) fn after(g: &Graph) -> Kept {
    none(g, "a sort of few enough entries is left", |id| {
        *g.op(id) == Op::Sort && is_short(g, g.arg(id, 0))
    })
}

/// Whether a vector is short enough to compare all pairs of its entries.
fn is_short(g: &Graph, x: NodeId) -> bool {
    g.shape(x).last().is_some_and(|&n| n <= PAIRED)
}

/// Whether so many entries of a sorted vector are computed from ranks. Those of a long one are searched for one by one.
fn spelled_out(g: &Graph, sort: NodeId, count: u64) -> bool {
    let x = g.arg(sort, 0);
    is_short(g, x) || count <= SEARCHED && rankable(g.shape(x))
}

/// Some entries of x in ascending order along its last axis.
fn entries(g: &mut Graph, x: NodeId, which: Vec<u64>, site: u32) -> NodeId {
    let shape = g.shape(x).to_vec();
    let rank = shape.len();
    if shape[rank - 1] == 1 {
        return x;
    }
    if shape[rank - 1] > PAIRED {
        let mut one = shape.clone();
        one[rank - 1] = 1;
        let each = |k: u64| {
            let entry = order::by_rank(g, x, k, k + 1, site);
            g.add_reshape(entry, one.clone(), site)
        };
        let all: Vec<NodeId> = which.into_iter().map(each).collect();
        return match all[..] {
            [one] => one,
            _ => g.add(Op::Concat(rank as u64 - 1), &all, site),
        };
    }
    let ranks = order::ranks(g, x, site);
    let mut row = shape.clone();
    row.insert(rank - 1, 1);
    let ranks = g.add_reshape(ranks, row.clone(), site);
    let x = g.add_reshape(x, row, site);
    let mut column = vec![1; rank - 1];
    column.extend([which.len() as u64, 1]);
    let wanted = which.iter().map(|&k| k as f64).collect();
    let wanted = g.add_table(column, wanted, Elem::Int, site);
    let equal = g.add(Op::Eq, &[ranks, wanted], site);
    let equal = g.add(Op::ToInt, &[equal], site);
    let product = g.add(Op::Mul, &[equal, x], site);
    g.add(Op::Sum(vec![rank as u64]), &[product], site)
}
