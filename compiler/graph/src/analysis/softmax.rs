//! Sums of e^(c (z - max z)) with a positive factor c.
//!
//! A [`Function::ExpNonPositive`] is made of a difference z - max z, or of a positive multiple of it, and of nothing
//! else (`passes/functions/softmax.rs`). So no operand is above 0, and where all entries of z are that the maximum was
//! taken of, one operand is 0, up to what truncations have taken off. What is 0 stays so where it is cut: the choice of
//! protocols looks through cuts, intervals and errors do not, since circuits of deep models would change with them.

use super::view::View;
use crate::graph::{Function, Graph, NodeId, Op};

/// So many truncations are allowed for between a maximum and the entry that it is.
const TRUNCATIONS: f64 = 6.0;

/// A sum of e^(c (z - max z)) over the axis of the maximum: one term is e^0, and none is negative.
pub struct Softmax {
    sum: NodeId,
    /// e^(c (z - max z)).
    pub exp: NodeId,
    pub z: NodeId,
    /// c, which is positive.
    pub factor: f64,
}

impl Softmax {
    /// Of a sum; `through_cuts`, also where operands were cut on the way.
    pub fn of(g: &Graph, sum: NodeId, through_cuts: bool) -> Option<Softmax> {
        let Op::Sum(axes) = g.op(sum) else { return None };
        let exp = g.arg(sum, 0);
        let &(difference, factor) = down_to_difference(g, exp, through_cuts)?.last()?;
        let (z, most) = (g.arg(difference, 0), g.shape(g.arg(difference, 1)));
        // The maximum is repeated along the one axis that it was taken over.
        let all = g.shape(z);
        let repeated =
            |(d, (&n, &m)): (usize, (&u64, &u64))| n == m || m == 1 && axes.contains(&(d as u64));
        let along = all.len() == most.len() && all.iter().zip(most).enumerate().all(repeated);
        (along && all == g.shape(exp)).then_some(Softmax { sum, exp, z, factor })
    }

    /// The least sum that a run has, in real units: the largest term is e^0 up to what is stated, `more` units of the
    /// last place, and what truncations take off its operand, by which it changes less than they do.
    pub(in crate::analysis) fn least(&self, view: &View<'_>, more: f64) -> f64 {
        // What a difference is off by is multiplied, and the product may be truncated again.
        let truncations = match self.factor == 1.0 {
            true => TRUNCATIONS,
            false => TRUNCATIONS * (1.0 + self.factor),
        };
        let stated = view.stated.of(Function::ExpNonPositive);
        let units = stated.units + more + truncations * view.stated.truncation;
        1.0 - stated.relative - units * view.ulp(self.sum)
    }
}

/// Upper ends of the operands of exponentials of z - max z, and of what they are made of down to this difference: by
/// index, in real units, where one is known. 0, but for truncations.
pub(in crate::analysis) fn tops(g: &Graph) -> Vec<Option<f64>> {
    let mut tops: Vec<Option<f64>> = vec![None; g.len()];
    for exp in g.ids() {
        let Some(path) = down_to_difference(g, exp, false) else { continue };
        let factor = path.last().map_or(1.0, |(_, factor)| *factor);
        let off = TRUNCATIONS * (2.0 + factor) * g.ulp(g.arg(exp, 0));
        for (id, before) in path {
            let top = off / before.min(1.0);
            tops[id.index()] = Some(tops[id.index()].map_or(top, |known| known.min(top)));
        }
    }
    tops
}

/// What the operand of an exponential of this kind is made of, from the operand itself down to the difference z - max z:
/// each with the factor that is between it and the operand.
fn down_to_difference(g: &Graph, exp: NodeId, through_cuts: bool) -> Option<Vec<(NodeId, f64)>> {
    if *g.op(exp) != Op::Function(Function::ExpNonPositive) {
        return None;
    }
    let mut path = Vec::new();
    let (mut x, mut factor) = (g.arg(exp, 0), 1.0);
    loop {
        path.push((x, factor));
        factor *= match g.op(x) {
            Op::Sub => return Some(path),
            Op::Reshape(_) => 1.0,
            Op::Saturate(_) if through_cuts => 1.0,
            op => op.factor().filter(|c| *c > 0.0)?,
        };
        x = g.arg(x, 0);
    }
}
