//! Sums of products of which one factor is a mask by ranks.

use super::{Bound, Rule, power};
use crate::analysis::interval::{self, Interval, above, hull, meet, product, size};
use crate::analysis::order;

impl Rule<'_> {
    /// The bound of a sum of products, where one factor is a mask by ranks: so much of the values is summed.
    pub(super) fn ranked(&self, bound: Bound) -> Bound {
        if bound.range.0 == bound.range.1 {
            return bound;
        }
        let Some(found) = self.orders.of(self.view, self.id) else { return bound };
        let (lo, hi) = self.of(found.values).range;
        let slack = found.slack(self.view);
        // Between what is compared and what is summed a truncation may exchange neighbours; and what is summed is off by
        // its own from what was put in order.
        let exchanged = match slack > 0.0 {
            true => above(2.0 * slack * power(self.view.g.frac_of(found.values))) + 1.0,
            false => 0.0,
        };
        let row = |row: &order::Weights| {
            let sum = |low: &dyn Fn(usize) -> Interval| {
                let each = row.weights.iter().enumerate().map(|(k, &w)| product(low(k), (w, w)));
                let (lo, hi) = each.fold((0.0, 0.0), interval::sum);
                let sizes = row.weights.iter().enumerate().map(|(k, &w)| w.abs() * size(low(k)));
                let off = rounded_by(sizes.sum(), &row.weights);
                (lo - off, hi + off)
            };
            let all = sum(&|_| (lo, hi));
            if row.nodes.len() != row.weights.len() {
                return all;
            }
            // The k-th smallest value is at least the k-th smallest lower end.
            let ends = row.nodes.iter().map(|&n| self.of(n).range);
            let (mut least, mut most): (Vec<f64>, Vec<f64>) = ends.unzip();
            least.sort_by(f64::total_cmp);
            most.sort_by(f64::total_cmp);
            meet(all, sum(&|k| (least[k] - exchanged, most[k] + exchanged)))
        };
        match found.rows.iter().map(row).reduce(hull) {
            Some(range) => Bound { range: meet(bound.range, range), ..bound },
            None => bound,
        }
    }
}

/// How far the sum of terms with these weights may be from what is computed for it, if the terms' sizes have this sum:
/// whole numbers below 2^53 are added up exactly.
fn rounded_by(sizes: f64, weights: &[f64]) -> f64 {
    let exact = sizes < 9e15 && weights.iter().all(|w| w.fract() == 0.0);
    if exact { 0.0 } else { sizes * weights.len() as f64 * 2.0 * f64::EPSILON }
}
