//! Sums of products with what is divided by its norm.
//!
//! Of x / |u| times an entry v of u, |v| <= |u| leaves at most |x|. A run has words of u, of which the square of the
//! norm is exact; its root is off by what is stated. A word of u that is not 0 is at least one unit, so the root is
//! at least as large as that unit, and off by a part of it that is small if the root has more fraction bits than u.

use super::Rule;
use crate::analysis::interval::{Interval, UNBOUNDED, size};
use crate::analysis::norms;
use crate::analysis::stated::{Function, StatedErrors};
use crate::graph::NodeId;

/// The root is at least this part of the exact one, or nothing is said.
const LEAST: f64 = 0.75;

impl Rule<'_> {
    /// Of a product whose first factor may have the quotients.
    pub(super) fn normalised(&self, args: [NodeId; 2]) -> Interval {
        let bound = || {
            let n = norms::normalised(self.view.g, self.view.g.op(self.id), args)?;
            let [a, u] = args.map(|x| (-f64::from(self.view.g.frac_of(x))).exp2());
            let (room, sqrt) = (StatedErrors::ROOM, self.view.stated.of(Function::Sqrt));
            // The root of one unit of u, in its own units.
            let of_unit =
                u * (n.root_power as f64).exp2() * f64::from(self.view.g.frac_of(n.root)).exp2();
            let part =
                1.0 - room.relative.max(sqrt.relative) - room.units.max(sqrt.units) / of_unit;
            let quotient = 1.0 + room.relative.max(self.view.stated.div.relative);
            // And one for a truncation.
            let unit = (-f64::from(self.view.g.frac_of(n.quotient))).exp2();
            let units = room.units.max(self.view.stated.div.units) * unit + a;
            let dividend = size(self.reals(n.dividend)) * (-(n.power as f64)).exp2();
            let entry = size(self.of(args[1]).range) * u;
            let most = n.terms as f64 * (dividend * quotient / part + units * entry) / (a * u);
            (part >= LEAST).then_some((-most, most))
        };
        bound().unwrap_or(UNBOUNDED)
    }
}
