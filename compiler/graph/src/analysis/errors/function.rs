//! What elementary functions do to errors.
//!
//! A run computes g(x') with g the function saturated as in [`domain`], and a protocol whose own error
//! is stated ([`StatedErrors`]); the program has g(x). So the error is that of the macro and the largest
//! |g(x') - g(x)| with |x' - x| at most the operand's error: where it is not cut, each g is monotone, and convex or
//! concave, so that is reached at an end of the interval; cutting brings two values no further apart. The hyperbolic
//! tangent is neither, and its bound is its largest slope, which is where the operand is nearest to 0.

use super::value::Known;
use super::view::times;
use crate::analysis::interval::{nearest, size};
use crate::analysis::stated::{Function, Stated, StatedErrors};
use crate::graph::domain;
use std::f64::consts::LN_2;

/// An error in parts.
pub(super) struct Effect {
    /// Of the macro.
    pub own: f64,
    /// Of the operand, through the function.
    pub passed: f64,
    /// Of the divisor, through a quotient.
    pub passed_divisor: f64,
}

/// A function of one number, with what its protocol states and how many units more it
/// is off by at the lower end of its domain.
pub(super) fn one(
    (function, stated, low_end): (Function, Stated, f64),
    ulp: f64,
    x: &Known,
) -> Effect {
    let (e, line) = (x.error, x.line);
    let low = x.real.0.min(x.run.0);
    let high = x.real.1.max(x.run.1);
    let end = domain::QUOTIENT_END;
    let (passed, result) = match function {
        Function::Exp => {
            let most = high.min(f64::from(domain::EXP_TOP) * LN_2).exp();
            (times(most, -(-e).exp_m1()), most)
        }
        Function::ExpNonPositive => {
            // The program's operand is at most 0.
            let most = x.run.1.min(e).max(0.0).exp();
            (times(most, -(-e).exp_m1()), most.min(2.0))
        }
        Function::Recip => {
            // The operand nearest to 0.
            let l = nearest((low, high));
            let passed = match (e == 0.0, l > 0.0) {
                (true, _) => 0.0,
                (_, true) => (1.0 / l).min(end) - (1.0 / (l + e)).min(end),
                // From one end to the other, if signs differ; 0 has the upper end.
                _ if low < 0.0 => 2.0 * end,
                _ => end,
            };
            // 1 / x' - 1 / x = (x / x' - 1) / x.
            let program = nearest(x.real);
            let by_ratio = if program > 0.0 {
                times(quotient_of(line.ratio(program)), 1.0 / program)
            } else {
                f64::INFINITY
            };
            (passed.min(by_ratio), (1.0 / l).min(end))
        }
        Function::Sqrt => {
            let l = low.max(0.0);
            let passed = if e == 0.0 { 0.0 } else { (l + e).sqrt() - l.sqrt() };
            (passed, high.max(0.0).sqrt())
        }
        Function::RecipSqrt => {
            // The operand nearest to 0, from which on it is at its end.
            let l = low.max(0.0);
            let at = domain::recip_sqrt;
            let passed = if e == 0.0 { 0.0 } else { at(l) - at(l + e) };
            // 1 / sqrt x' - 1 / sqrt x = (sqrt(x / x') - 1) / sqrt x.
            let program = x.real.0;
            let by_ratio = if program > 0.0 {
                let off = (1.0 + quotient_of(line.ratio(program))).sqrt() - 1.0;
                times(off, at(program))
            } else {
                f64::INFINITY
            };
            (passed.min(by_ratio), at(l))
        }
        Function::Log => {
            let least = domain::LOG_LOW;
            let l = domain::log(low);
            // From there it is at once at what lies the error above the least operand that has a logarithm.
            let passed = if e == 0.0 { 0.0 } else { (low.max(least) + e).ln() - l };
            let q = line.ratio(x.real.0.max(least));
            let by_ratio = if q < 1.0 && low >= least { -(-q).ln_1p() } else { f64::INFINITY };
            (passed.min(by_ratio), 0.0)
        }
        Function::Tanh => {
            let least = nearest((low, high)).tanh();
            (times(e, 1.0 - least * least).min(2.0), size((low, high)).tanh())
        }
    };
    let own = (stated.units + low_end) * ulp + times(stated.relative, result);
    Effect { own, passed, passed_divisor: 0.0 }
}

/// The largest |x / x' - 1| for a relative error of x'.
fn quotient_of(q: f64) -> f64 {
    if q < 1.0 { q / (1.0 - q) } else { f64::INFINITY }
}

/// x' / y' - x / y = (x' - x) / y' + (x / y)(y / y' - 1), for operands with their errors; the divisor
/// comes in steps of `unit`. Without `by_zero` the dividend is exactly 0 where the divisor is.
pub(super) fn quotient(
    stated: &StatedErrors,
    ulp: f64,
    x: &Known,
    y: &Known,
    unit: f64,
    by_zero: bool,
) -> Effect {
    let ((ex, line_x), (ey, line_y)) = ((x.error, x.line), (y.error, y.line));
    let end = domain::largest_quotient(size(x.real).max(size(x.run)));
    // A divisor that is exact comes in steps of `unit`, and is 0 in a run where it is in the program.
    let zero = by_zero && (nearest(y.real) == 0.0 || nearest(y.run) == 0.0);
    let program = if ey == 0.0 { nearest(y.real).max(unit) } else { nearest(y.real) };
    let run = if ey == 0.0 { program } else { nearest(y.run).max(program - ey) };
    let result = (size(x.real) / program).min(end);
    let negative = x.real.0.min(x.run.0) < 0.0;
    // From one end to the other: signs of dividends differ, or those of divisors.
    let opposite = if negative || y.real.0.min(y.run.0) < 0.0 { 2.0 * end } else { end };
    let (passed, passed_divisor) = if run > 0.0 && program > 0.0 {
        // How much smaller the run's divisor may be than the program's.
        let q = line_y.ratio(program);
        let dividend = times(line_x.fixed, 1.0 / program) + times(line_x.relative, result);
        let by_line = times(dividend, 1.0 + quotient_of(q));
        let passed = times(ex, 1.0 / run).min(by_line);
        // A quotient by 0 is one of the ends, or 0.
        let passed = if zero && ex > 0.0 { opposite } else { passed };
        (passed, times(ey, result / run).min(times(quotient_of(q), result)))
    } else {
        // The run may have a divisor that is 0, or one of the other sign.
        (0.0, opposite)
    };
    // Of the run's own quotient, which is off from the program's.
    let most = (result + passed + passed_divisor).min(end);
    // A circuit cuts all quotients of a divisor whose interval reaches below 1, also those by 1 and more.
    let far = y.run.0.abs().max(y.run.1.abs());
    let reaches = nearest(y.run) < 1.0 && far >= 1.0;
    let beyond = size(x.run) - domain::QUOTIENT_END;
    let cut = if reaches { beyond.max(0.0) } else { 0.0 };
    let own = stated.div.units * ulp + times(stated.div.relative, most) + cut;
    Effect { own, passed, passed_divisor }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::errors::value::{Cause, Line};
    use crate::analysis::stated::low_end;
    use proptest::prelude::*;

    const NOTHING: Stated = Stated { units: 0.0, relative: 0.0 };

    /// Places where functions jump, turn or end.
    fn special() -> impl Strategy<Value = f64> {
        let ulp = (-16f64).exp2();
        let end = f64::from(domain::EXP_TOP) * LN_2;
        let places = vec![0.0, ulp, -ulp, 1.0, -1.0, domain::EXP_LOW, end, 2.0 * ulp];
        (
            prop::sample::select(places),
            -3i32..=3,
            prop::sample::select(vec![1e-9, 0.25 * ulp, ulp, 0.5]),
        )
            .prop_map(|(x, n, step)| x + f64::from(n) * step)
    }

    fn number() -> impl Strategy<Value = f64> {
        prop_oneof![special(), -20.0..20.0f64, -1e5..1e5f64]
    }

    fn error() -> impl Strategy<Value = f64> {
        prop_oneof![Just(0.0), (-30.0..4.0f64).prop_map(f64::exp2)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        /// What an operand's error becomes covers any two values of the operand that are no further apart: also on both
        /// sides of a jump.
        #[test]
        fn what_is_passed_covers_all_pairs(
            ends in (number(), number()),
            e in error(),
            at in 0.0..=1.0f64,
            places in prop::collection::vec(special(), 4),
        ) {
            let (lo, hi) = (ends.0.min(ends.1), ends.0.max(ends.1));
            let within = |x: &f64| (lo..=hi).contains(x);
            let start: Vec<f64> =
                places.into_iter().chain([lo, hi, lo + at * (hi - lo)]).filter(within).collect();
            let ulp = (-16f64).exp2();
            for &function in Function::ALL {
                let (real, run, line) = ((lo, hi), (lo, hi), Line::flat(e));
                let operand = Known { real, run, error: e, line, cause: Cause::own(e) };
                let low_end = if e > 0.0 { low_end(function) } else { 0.0 };
                let effect = one((function, NOTHING, low_end), ulp, &operand);
                let bound = effect.own + effect.passed;
                for &x in &start {
                    for y in [x + e, x - e, x + at * e, x - at * e].into_iter().filter(within) {
                        // Rounding moved it further away.
                        if (y - x).abs() > e || (function == Function::ExpNonPositive && x > 0.0) {
                            continue;
                        }
                        let g = function.facts().saturated;
                        let off = (g(y) - g(x)).abs();
                        let tiny = 1e-9 * (g(x).abs() + g(y).abs());
                        prop_assert!(off <= bound + tiny, "{function:?}: {x} and {y} in {lo}..{hi}, {e}: {off} > {bound}");
                    }
                }
            }
        }
    }
}
