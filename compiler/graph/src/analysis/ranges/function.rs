//! Elementary functions and quotients, off by what is stated of them.

use super::{Rule, power, shares};
use crate::analysis::interval::{Interval, hull, meet, scaled};
use crate::analysis::stated::{Function, Stated};
use crate::analysis::zeros::vanishes;
use crate::graph::{NodeId, domain};
use slvr_language::types::function::NotNegative;

impl Rule<'_> {
    /// An operand's interval in real units.
    pub(super) fn reals(&self, x: NodeId) -> Interval {
        self.all.real(self.view.g, x)
    }

    /// A result between two real numbers, off by what is stated of it, and by what intervals allow for.
    fn wide(&self, real: Interval, stated: Stated) -> Interval {
        stated.with_room().around(scaled(real, power(self.view.g.frac_of(self.id))))
    }

    /// Elementary functions: their saturated values on the interval of the operand; a few units for the
    /// rounding of operand and protocol.
    pub(super) fn function(&self, f: Function, x: NodeId) -> Interval {
        let facts = f.facts();
        let (lo, hi) = self.reals(x);
        let (least, most) = (facts.interval)(lo, hi);
        let not_negative = match facts.not_negative {
            NotNegative::Always => true,
            NotNegative::WithOperand => lo >= 0.0,
            NotNegative::No => false,
        };
        let (lo, hi) = self.wide((least, most), self.view.stated.of(f));
        (if not_negative { lo.max(0.0) } else { lo }, hi)
    }

    /// Quotients, saturated where the divisor may be 0 or near to it.
    pub(super) fn quotient(&self, x: NodeId, y: NodeId) -> Interval {
        let unit = self.view.g.ulp(y);
        let by_zero = !vanishes(self.view.g, x, y);
        let known = [shares::quotient(self.view, &self.all.raw, x, y), self.averaged(x, y)];
        let any = quotients(self.reals(x), self.reals(y), unit, by_zero);
        let (lo, hi) = known.into_iter().flatten().fold(any, meet);
        let lo = lo.min(hi);
        let (least, most) = self.wide((lo, hi), self.view.stated.div);
        // The sign is right.
        (
            if lo >= 0.0 { least.max(0.0) } else { least },
            if hi <= 0.0 { most.min(0.0) } else { most },
        )
    }
}

/// Quotients ([`domain::div`]) of two intervals, for divisors in steps of `unit`; without `by_zero` a dividend is 0
/// where the divisor is.
fn quotients(x: Interval, y: Interval, unit: f64, by_zero: bool) -> Interval {
    let end = domain::QUOTIENT_END;
    let of_zero = if by_zero { end } else { 0.0 };
    let zero = (y.0 <= 0.0 && y.1 >= 0.0)
        .then_some((if x.0 < 0.0 { -of_zero } else { 0.0 }, if x.1 > 0.0 { of_zero } else { 0.0 }));
    // Divisors of one sign, from the one nearest to 0 to the one farthest from it.
    let above = (y.1 >= unit).then(|| (y.0.max(unit), y.1));
    let below = (y.0 <= -unit).then(|| (y.1.min(-unit), y.0));
    let side = |(near, far): Interval| {
        // A divisor of size 1 is the first that no quotient is cut for.
        let one = f64::copysign(1.0, near);
        let middle = if near.abs() < 1.0 && far.abs() >= 1.0 { one } else { near };
        let ends = [near, middle, far].into_iter().flat_map(|y| [(x.0, y), (x.1, y)]);
        let all = ends.map(|(x, y)| domain::div(x, y)).map(|q| (q, q));
        all.reduce(hull).unwrap_or((-end, end))
    };
    [zero, above.map(side), below.map(side)]
        .into_iter()
        .flatten()
        .reduce(hull)
        .unwrap_or((-end, end))
}
