//! Quotients whose divisor is made of the dividend.
//!
//! A share of a sum of values that are not negative is at most 1, in words as in real numbers: the sum of
//! words is exact. Nothing is said of a divisor that was rounded after the sum.

use crate::analysis::interval::Interval;
use crate::analysis::view::View;
use crate::graph::{NodeId, Op};

/// An interval of the exact quotient of a run's words.
pub(super) fn quotient(
    view: &View<'_>,
    raw: &[Interval],
    x: NodeId,
    y: NodeId,
) -> Option<Interval> {
    share(view, raw, x, y).then_some((0.0, 1.0))
}

/// Whether y is the sum of x along some axes, in its place, and no entry of x is negative.
fn share(view: &View<'_>, raw: &[Interval], x: NodeId, y: NodeId) -> bool {
    let unshifted = |mut id: NodeId| {
        while let Op::Shift(_) = view.op(id) {
            id = view.args(id)[0];
        }
        id
    };
    let (x, at) = (unshifted(x), view.shape(y));
    let mut sum = unshifted(y);
    while let Op::Reshape(_) = view.op(sum) {
        sum = view.args(sum)[0];
    }
    let Op::Sum(axes) = view.op(sum) else { return false };
    let mut kept = view.shape(x).to_vec();
    for &axis in axes {
        if let Some(size) = kept.get_mut(axis as usize) {
            *size = 1;
        }
    }
    unshifted(view.args(sum)[0]) == x && kept == at && raw[x.index()].0 >= 0.0
}
