//! Weighted means lie within the values that are averaged ([`crate::analysis::means`]).
//!
//! The bound is proven of a run's words. A truncated dividend is off by a unit at most, a divisor that is not 0 is at
//! least one of its own units, and a divisor of 0 has a dividend of 0. Of a divisor that was truncated to 0 nothing is
//! said. Where values are larger than any quotient by less than 1, a mean of them is cut ([`domain::div`]).

use super::{Rule, power};
use crate::analysis::interval::{Interval, hull, size};
use crate::analysis::means::Mean;
use crate::graph::{NodeId, domain};

impl Rule<'_> {
    /// Of the quotient of a run's words, exact or cut.
    pub(super) fn averaged(&self, x: NodeId, y: NodeId) -> Option<Interval> {
        let mean = self.means.quotient(self.view.g, x, y, |id| self.not_negative(id))?;
        let least = self.least(y, &mean)?;
        let off = mean.dividend_off / least;
        let (lo, hi) = self.mean(&mean, &[y], least);
        let (lo, hi) = (lo - off, hi + off);
        let end = domain::QUOTIENT_END;
        Some(if least < 1.0 { (lo.min(end), hi.max(-end)) } else { (lo, hi) })
    }

    /// Of a matrix product by shares of sums, raw.
    pub(super) fn blended(&self) -> Option<Interval> {
        let blend = self.means.blend(self.view.g, self.id, |id| self.not_negative(id))?;
        let least = blend.divisors.iter().map(|&y| self.least(y, &blend.mean));
        let least = least.reduce(|a, b| Some(a?.min(b?)))??;
        let (lo, hi) = self.mean(&blend.mean, &blend.divisors, least);
        let div = self.view.stated.div.with_room();
        let unit = |&id: &NodeId| self.view.g.ulp(id);
        let unit = blend.shares.iter().map(unit).fold(0.0, f64::max);
        let [whole, outer] = [blend.mean.power, blend.power].map(|n| (n as f64).exp2());
        let each = div.units * unit * outer + blend.off;
        let most = size(self.averaged_values(&blend.mean));
        // Shares are at most 1 together, up to a divisor that was truncated.
        let whole = whole * (1.0 + blend.mean.divisor_off / least);
        let off = (blend.terms as f64 * each + whole * div.relative) * most;
        let one = power(self.view.g.frac_of(self.id));
        Some(((lo - off) * one, (hi + off) * one))
    }

    fn not_negative(&self, id: NodeId) -> bool {
        self.of(id).range.0 >= 0.0
    }

    fn averaged_values(&self, mean: &Mean) -> Interval {
        mean.values.map_or((1.0, 1.0), |values| self.reals(values))
    }

    /// The least divisor that is not 0, in real units; none if a divisor may be 0 because it was truncated.
    fn least(&self, y: NodeId, mean: &Mean) -> Option<f64> {
        let (least, unit) = (self.reals(y).0, self.view.g.ulp(y));
        (least > 0.0 || mean.divisor_off == 0.0).then_some(least.max(unit))
    }

    /// Of the mean of a run's words by an exact or truncated divisor.
    fn mean(&self, mean: &Mean, divisors: &[NodeId], least: f64) -> Interval {
        let own = self.averaged_values(mean);
        let scale = (mean.power as f64).exp2();
        let wrong = mean.divisor_off / least * size(own);
        let (lo, hi) = ((own.0 - wrong) * scale, (own.1 + wrong) * scale);
        let zero = mean.rest || divisors.iter().any(|&y| self.of(y).range.0 <= 0.0);
        if zero { hull((lo, hi), (0.0, 0.0)) } else { (lo, hi) }
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::ranges::{Bound, Ranges};
    use crate::analysis::stated::TESTED;

    /// The interval of a mean of values from 5e9 to 6e9 by three weights in this interval.
    fn mean(least: f64, most: f64) -> (f64, f64) {
        let text = "graph T\nparties Client[3]\nparties Server[1]\nfrac 16\n\
            input 0 u : secret int in 5000000000..6000000000 from each Client\n\
            input 1 w : secret fix in 0.2..0.6 from each Client\nsite 0 \"x\" line 1\n\
            %0 = input 0 : secret int.0[3] @0\n%1 = input 1 : secret fix.16[3] @0\n\
            %2 = mul %1 %0 : secret fix.16[3] @0\n%3 = sum %2 axes=[0] : secret fix.16 @0\n\
            %4 = sum %1 axes=[0] : secret fix.16 @0\n%5 = div %3 %4 : secret fix.16 @0\n\
            reveal %5 to Server as y @0\n";
        let graph = crate::graph::text::parse(text).expect("a graph");
        let of = |range| Bound { range, norm: f64::INFINITY, total: f64::INFINITY };
        let bounds = [of((5e9, 6e9)), of((least * 65536.0, most * 65536.0))];
        Ranges::of(&graph, &bounds, &TESTED).real(&graph, graph.outputs[0].node)
    }

    /// Quotients by less than 1 are cut, also where they are means.
    #[test]
    fn means_of_large_values_may_be_cut() {
        let end = 2f64.powi(31);
        let (lo, hi) = mean(0.2, 0.6);
        assert!(lo <= end && 6e9 <= hi, "{lo} {hi}");
        // No sum of these weights is less than 1.
        let (lo, hi) = mean(0.4, 0.6);
        assert!(4.99e9 < lo && lo <= 5e9 && 6e9 <= hi, "{lo} {hi}");
    }
}
