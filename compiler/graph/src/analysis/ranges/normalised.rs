//! Sums of products with what is divided by its norm.
//!
//! Of x / |u| times an entry v of u, |v| <= |u| leaves at most |x|. A run has words of u, of which the square of the
//! norm is exact; its root is off by what is stated. A word of u that is not 0 is at least one unit, so the root is
//! at least as large as that unit, and off by a part of it that is small if the root has more fraction bits than u.

use super::Rule;
use crate::analysis::interval::{Interval, size};
use crate::analysis::norms;
use crate::analysis::stated::Function;
use crate::graph::NodeId;

/// The root is at least this part of the exact one, or nothing is said.
const LEAST: f64 = 0.75;

impl Rule<'_> {
    /// Of a product whose first factor may have the quotients.
    pub(super) fn normalised(&self, args: [NodeId; 2]) -> Option<Interval> {
        let (g, stated) = (self.view.g, self.view.stated);
        let n = norms::normalised(g, g.op(self.id), args)?;
        let [a, u] = args.map(|x| g.ulp(x));
        let (div, sqrt) = (stated.div.with_room(), stated.of(Function::Sqrt).with_room());
        // The root of one unit of u, in its own units.
        let of_unit = u * (n.root_power as f64).exp2() / g.ulp(n.root);
        let part = 1.0 - sqrt.relative - sqrt.units / of_unit;
        let quotient = 1.0 + div.relative;
        // And one for a truncation.
        let units = div.units * g.ulp(n.quotient) + a;
        let dividend = size(self.reals(n.dividend)) * (-(n.power as f64)).exp2();
        let entry = size(self.of(args[1]).range) * u;
        let most = n.terms as f64 * (dividend * quotient / part + units * entry) / (a * u);
        (part >= LEAST).then_some((-most, most))
    }
}
