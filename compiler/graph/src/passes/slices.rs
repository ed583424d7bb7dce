//! What is read in slices is computed in slices.
//!
//! Before: a graph with scales. After: no elementwise sum is read by slices only, along one axis, that
//! do not overlap: each slice is a sum of slices. A model's layers take their weights from one long
//! vector, and a sum of such vectors need not exist as a whole.
//!
//! ```text
//! %3 = add %1 %2 : [10, 61706] ; %4 = slice %3 axis=1 start=0 len=150
//!   ->   %1' = slice %1 .. ; %2' = slice %2 .. ; %4 = add %1' %2'
//! ```

use super::promise::{Kept, none};
use super::slice_pushdown::{Part, SlicePushdown};
use crate::graph::{Graph, NodeId, Op};

pub(super) fn run(graph: &Graph) -> Graph {
    let mut narrow = SlicePushdown::default();
    let sliced: Vec<bool> = graph.ids().map(|id| in_slices(graph, id)).collect();
    graph.replace(|new, id, args| match *graph.op(id) {
        Op::Slice { axis, start, len, step: 1 } if sliced[graph.arg(id, 0).index()] => {
            let only = args[0];
            let part = Part { axis: axis as usize, start, len };
            Some(narrow.part(new, only, part, &|n| n == only))
        }
        _ => None,
    })
}

/// What holds after it. A slice of a slice is left as it is.
pub(super) fn after(g: &Graph) -> Kept {
    let cut = |a: NodeId| matches!(g.op(a), Op::Slice { .. });
    none(g, "is read in slices, but computed as a whole", |id| {
        in_slices(g, id) && !g.args(id).iter().copied().any(cut)
    })
}

/// Whether a node is a local elementwise operation that is only read in slices which do not overlap.
fn in_slices(graph: &Graph, id: NodeId) -> bool {
    let local = matches!(graph.op(id), Op::Add | Op::Sub | Op::Neg | Op::Scale(_) | Op::Shift(_));
    if !local || graph.is_output(id) {
        return false;
    }
    let users = graph.users(id);
    let slices: Option<Vec<(u64, u64, u64)>> = users
        .iter()
        .map(|&u| match *graph.op(u) {
            Op::Slice { axis, start, len, step: 1 } => Some((axis, start, start + len)),
            _ => None,
        })
        .collect();
    let Some(mut slices) = slices else { return false };
    slices.sort_unstable();
    !slices.is_empty() && slices.windows(2).all(|w| w[0].0 == w[1].0 && w[0].2 <= w[1].1)
}
