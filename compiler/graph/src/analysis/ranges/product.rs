//! Products: of entries, of matrices and of images with windows. A sum of products is bounded by the better of "terms
//! times the largest product" and Cauchy and Schwarz.

use super::{Bound, Rule, loose, slices};
use crate::analysis::behind::{keeps_entries, same_entries};
use crate::analysis::interval::{enlarged, hull, meet, product, scaled, size};
use crate::graph::{Conv, NodeId, Op};

/// How many operations back the norm of some entries of a product's operand is looked for, where both operands of a sum
/// are followed, so that these are at most 2^8 nodes. Beyond, a bound is that of the whole.
const STEPS: u32 = 8;

impl Rule<'_> {
    pub(super) fn elementwise(&self, x: NodeId, y: NodeId) -> Bound {
        let (a, b) = (self.of(x), self.of(y));
        let mut range = product(a.range, b.range);
        if x == y {
            let least = if a.range.0 <= 0.0 && a.range.1 >= 0.0 { 0.0 } else { range.0.max(0.0) };
            range = (least, size(a.range).powi(2));
        }
        let (most_a, most_b) = (size(a.range), size(b.range));
        let norm = (self.repeated(x) * most_b).min(self.repeated(y) * most_a);
        let total = (self.unrepeated(x) * most_b).min(self.unrepeated(y) * most_a);
        Bound { range, norm, total }
    }

    /// Inner products over at least `fewest` and at most `terms` terms, the others being 0; an element of x
    /// takes part in `reuse` squared of them.
    fn inner(&self, x: NodeId, y: NodeId, (fewest, terms): (u64, u64), reuse: f64) -> Bound {
        let (a, b) = (self.of(x), self.of(y));
        let root = (terms as f64).sqrt();
        let one = product(a.range, b.range);
        let row = |n: NodeId| self.some(n, true, root, STEPS);
        let most = enlarged(row(x) * row(y));
        let (lo, hi) = hull(scaled(one, fewest as f64), scaled(one, terms as f64));
        let (lo, hi) = (lo.max(-most), hi.min(most));
        loose((lo.min(hi), hi), enlarged(a.norm * b.norm * reuse))
    }

    /// The norm of any elements of a node, of which there are this root squared; `sliced` if all are of one
    /// slice along axis 0. A sum's is at most the sum of its operands', each bounded in the way that is best for
    /// it.
    fn some(&self, v: NodeId, sliced: bool, root: f64, steps: u32) -> f64 {
        let b = self.of(v);
        let own = if sliced { b.norm } else { b.total }.min(size(b.range) * root);
        let g = self.view.g;
        let whole = |x: NodeId| g.elements(x) == g.elements(v);
        let args = g.args(v);
        let Some(steps) = steps.checked_sub(1) else { return own };
        let part = |a: NodeId| {
            let kept = if keeps_entries(g.op(v)) {
                self.keeps_slices(v, a)
            } else {
                slices(g.shape(a)) == slices(g.shape(v)) || matches!(g.op(v), Op::Slice { .. })
            };
            self.some(a, sliced && kept, root, steps)
        };
        let through = match g.op(v) {
            Op::Add | Op::Sub => {
                let term = |a: NodeId| match whole(a) {
                    true => part(a),
                    // An element of what is repeated may be there many times.
                    false => size(self.of(a).range) * root,
                };
                term(args[0]) + term(args[1])
            }
            Op::Mul if args.iter().any(|&a| whole(a)) => {
                let (x, y) = if whole(args[0]) { (args[0], args[1]) } else { (args[1], args[0]) };
                part(x) * size(self.of(y).range)
            }
            Op::Reshape(_) | Op::Transpose(_) | Op::Slice { .. } => part(args[0]),
            Op::Trunc(by) => part(args[0]) / f64::from(*by).exp2() + root,
            _ => f64::INFINITY,
        };
        own.min(through)
    }

    pub(super) fn matrices(&self, x: NodeId, y: NodeId) -> Bound {
        let g = self.view.g;
        let terms = g.terms(self.id);
        let mut b = self.inner(x, y, (terms, terms), 1.0);
        // An inner product of something with itself: no square is negative.
        let one = g.shape(self.id).iter().skip(1).all(|&d| d == 1);
        if one && same_entries(g, x, y) {
            b.range.0 = b.range.0.max(0.0);
        }
        let known = [self.normalised([x, y]), self.blended()];
        b.range = known.into_iter().flatten().fold(b.range, meet);
        self.ranked(b)
    }

    pub(super) fn convolved(&self, conv: &Conv, x: NodeId, w: NodeId) -> Bound {
        let (of_x, of_w) = (self.view.g.shape(x), self.view.g.shape(w));
        let terms = self.view.g.terms(self.id);
        let window: u64 = of_w.iter().skip(3).product();
        let fewest = terms / window.max(1) * fewest_taps(conv, of_x, of_w);
        self.inner(x, w, (fewest, terms), (window as f64).sqrt())
    }
}

/// The fewest entries of an image that any window of a convolution covers: none of them is padding.
fn fewest_taps(conv: &Conv, x: &[u64], w: &[u64]) -> u64 {
    let along = |axis: usize| {
        let (&side, &kernel) = (x.get(axis)?, w.get(axis)?);
        let reach = conv.dilation * kernel.saturating_sub(1) + 1;
        let places = (side + 2 * conv.pad).checked_sub(reach)? / conv.stride.max(1) + 1;
        let inside = |at: u64| {
            let tap = |k: &u64| (conv.pad..conv.pad + side).contains(&(at + k * conv.dilation));
            (0..kernel).filter(tap).count() as u64
        };
        (0..places).map(|p| inside(p * conv.stride)).min()
    };
    along(3).unwrap_or(0) * along(4).unwrap_or(0)
}
