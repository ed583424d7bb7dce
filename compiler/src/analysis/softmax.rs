//! Sums of e^(x - max x), of which one term is 1.

use super::view::View;
use crate::graph::{Function, NodeId, Op};

/// So many truncations are allowed for between a maximum and the entry that it is.
pub(in crate::analysis) const TRUNCATIONS: f64 = 6.0;

/// The z of a sum of e^(z - max z), as (the exponential, its operand, z).
pub(in crate::analysis) fn softmax_of(
    view: &View<'_>,
    sum: NodeId,
) -> Option<(NodeId, NodeId, NodeId)> {
    let Op::Sum(axes) = view.op(sum) else { return None };
    let exp = view.args(sum)[0];
    if !has_largest(view, exp, axes) {
        return None;
    }
    let x = view.args(exp)[0];
    let mut difference = x;
    while let Op::Trunc(_) | Op::Shift(_) = view.op(difference) {
        difference = view.args(difference)[0];
    }
    Some((exp, x, view.args(difference)[0]))
}

/// Whether a value is e^(x - max x) and the axes contain the one of the maximum.
pub(in crate::analysis) fn has_largest(view: &View<'_>, id: NodeId, axes: &[u64]) -> bool {
    if *view.op(id) != Op::Function(Function::ExpNonPositive) {
        return false;
    }
    let mut x = view.args(id)[0];
    while let Op::Trunc(_) | Op::Shift(_) = view.op(x) {
        x = view.args(x)[0];
    }
    if *view.op(x) != Op::Sub {
        return false;
    }
    // An exponential of this kind is made of x - max x only, and the maximum is repeated along
    // the one axis that it was taken over.
    let (all, most) = (view.shape(view.args(x)[0]), view.shape(view.args(x)[1]));
    all.len() == most.len()
        && all
            .iter()
            .zip(most)
            .enumerate()
            .all(|(d, (&n, &m))| n == m || (m == 1 && axes.contains(&(d as u64))))
}
