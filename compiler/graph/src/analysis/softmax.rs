//! Sums of e^(c (x - max x)) with a positive factor c, of which one term is 1.

use super::view::View;
use crate::graph::{Function, Graph, NodeId, Op};

/// So many truncations are allowed for between a maximum and the entry that it is.
const TRUNCATIONS: f64 = 6.0;

/// What the recognition of a softmax finds.
pub(in crate::analysis) struct Softmax {
    /// e^(c (z - max z)).
    pub exp: NodeId,
    /// c (z - max z).
    pub x: NodeId,
    pub z: NodeId,
    /// c, which is positive.
    pub factor: f64,
}

/// The parts of a sum of e^(c (z - max z)).
pub(in crate::analysis) fn softmax_of(view: &View<'_>, sum: NodeId) -> Option<Softmax> {
    let Op::Sum(axes) = view.op(sum) else { return None };
    let exp = view.args(sum)[0];
    let (difference, factor) = below_largest(view, exp, axes)?;
    Some(Softmax { exp, x: view.args(exp)[0], z: view.args(difference)[0], factor })
}

/// Whether a value is e^(c (x - max x)) and the axes contain the one of the maximum: by how many truncations the
/// operand of the largest entry may be off.
pub(in crate::analysis) fn has_largest(view: &View<'_>, id: NodeId, axes: &[u64]) -> Option<f64> {
    // What a difference is off by is multiplied, and the product may be truncated again.
    let truncations = |factor: f64| match factor == 1.0 {
        true => TRUNCATIONS,
        false => TRUNCATIONS * (1.0 + factor),
    };
    below_largest(view, id, axes).map(|(_, factor)| truncations(factor))
}

/// The least sum that a run has for sum e^(c (z - max z)), in real units: the largest term is e^0 up to what is stated,
/// `cut` more units of the last place, and what truncations take off its operand, by which it changes less than they do.
/// No other term is negative.
pub(in crate::analysis) fn least_sum(view: &View<'_>, sum: NodeId, cut: f64) -> Option<f64> {
    let Op::Sum(axes) = view.op(sum) else { return None };
    let truncations = has_largest(view, view.args(sum)[0], axes)?;
    let stated = view.stated.of(Function::ExpNonPositive);
    let units = stated.units + cut + truncations * view.stated.truncation;
    Some(1.0 - stated.relative - units * view.ulp(sum))
}

/// Upper ends of the operands of exponentials of x - max x, and of what they are made of down to this difference: by
/// index, in real units, where one is known. 0, but for truncations.
pub(in crate::analysis) fn tops(g: &Graph) -> Vec<Option<f64>> {
    let mut tops: Vec<Option<f64>> = vec![None; g.len()];
    for exp in g.ids().filter(|&id| *g.op(id) == Op::Function(Function::ExpNonPositive)) {
        let (mut x, mut factor) = (g.arg(exp, 0), 1.0);
        let unit = g.ulp(x);
        let mut path = vec![(x, factor)];
        let reshape = |op: &Op| matches!(op, Op::Reshape(_)).then_some(1.0);
        while let Some(by) = positive_factor(g.op(x)).or(reshape(g.op(x))) {
            (x, factor) = (g.arg(x, 0), factor * by);
            path.push((x, factor));
        }
        // An exponential of this kind is made of such a difference only.
        let off = TRUNCATIONS * (2.0 + factor) * unit;
        for (id, before) in path.into_iter().filter(|_| *g.op(x) == Op::Sub) {
            let top = off / before.min(1.0);
            tops[id.index()] = Some(tops[id.index()].map_or(top, |known| known.min(top)));
        }
    }
    tops
}

/// The number that an operation multiplies its operand by, if it is positive.
fn positive_factor(op: &Op) -> Option<f64> {
    op.factor().filter(|c| *c > 0.0)
}

/// The difference x - max x of an exponential, and the positive factor that stands before it.
fn below_largest(view: &View<'_>, id: NodeId, axes: &[u64]) -> Option<(NodeId, f64)> {
    if *view.op(id) != Op::Function(Function::ExpNonPositive) {
        return None;
    }
    let (mut x, mut factor) = (view.args(id)[0], 1.0);
    // Factors common to x and max x are taken out of the difference.
    while let Some(by) = positive_factor(view.op(x)) {
        (x, factor) = (view.args(x)[0], factor * by);
    }
    if *view.op(x) != Op::Sub {
        return None;
    }
    // An exponential of this kind is made of x - max x only, and the maximum is repeated along
    // the one axis that it was taken over.
    let (all, most) = (view.shape(view.args(x)[0]), view.shape(view.args(x)[1]));
    let repeated = all.len() == most.len()
        && all
            .iter()
            .zip(most)
            .enumerate()
            .all(|(d, (&n, &m))| n == m || (m == 1 && axes.contains(&(d as u64))));
    repeated.then_some((x, factor))
}
