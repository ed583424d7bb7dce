//! What elementary functions do to errors.
//!
//! A run computes g(x') with g the function saturated as in [`domain`], and a protocol whose own error
//! is stated ([`StatedErrors`]); the program has f(x), and f = g where x is in the domain. So the error is
//! that of the macro and the largest |g(x') - g(x)| with |x' - x| at most the operand's error: each g
//! is monotone, and convex or concave, so that is reached at an end of the interval. The hyperbolic tangent
//! is neither, and its bound is its largest slope, which is where the operand is nearest to 0.

use super::value::{Line, Values};
use super::view::times;
use crate::analysis::interval::{Interval, size};
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
    /// Whether it rests on the program's operand being in the domain.
    pub assumed: bool,
}

/// Units that exponentials are off by where they are cut at the lower end of their domain.
pub(super) const CUT: f64 = 0.5;

/// A function of one number, whose operand has the error `e`.
pub(super) fn one(
    function: Function,
    stated: Stated,
    ulp: f64,
    (x, e, line): (Values, f64, Line),
) -> Effect {
    let low = x.real.0.min(x.run.0);
    let high = x.real.1.max(x.run.1);
    let least = (-f64::from(domain::DIVISOR_LOW)).exp2();
    let top = |bits: u32| f64::from(bits).exp2();
    let (passed, result, assumed) = match function {
        Function::Exp => {
            let end = f64::from(domain::EXP_TOP) * LN_2;
            let most = high.min(end).exp();
            (times(most, -(-e).exp_m1()), most, x.real.1 > end)
        }
        Function::ExpNonPositive => {
            // The program's operand is at most 0.
            let most = x.run.1.min(e).max(0.0).exp();
            (times(most, -(-e).exp_m1()), most.min(2.0), false)
        }
        Function::Recip => {
            let l = low.max(least);
            let outside = x.real.0 < least || x.real.1 >= top(domain::DIVISOR_TOP);
            let passed = if e == 0.0 { 0.0 } else { 1.0 / l - 1.0 / (l + e) };
            // 1 / x' - 1 / x = (x / x' - 1) / x.
            let q = line.ratio(x.real.0.max(least));
            let by_ratio = times(quotient_of(q), 1.0 / x.real.0.max(least));
            (passed.min(by_ratio), 1.0 / l, outside)
        }
        Function::Sqrt => {
            let l = low.max(0.0);
            let outside = x.real.0 < 0.0 || x.real.1 >= top(domain::ROOT_TOP);
            let passed = if e == 0.0 { 0.0 } else { (l + e).sqrt() - l.sqrt() };
            (passed, high.max(0.0).sqrt(), outside)
        }
        Function::Log => {
            // It is -17 ln 2 where the run has 0 or less.
            let least = (-16f64).exp2();
            let outside = x.real.0 < least || x.real.1 >= top(domain::ROOT_TOP);
            let l = if low >= least { low.ln() } else { -17.0 * LN_2 };
            let passed = if e == 0.0 { 0.0 } else { (low.max(0.0) + e).max(least).ln() - l };
            let q = line.ratio(x.real.0.max(least));
            let by_ratio = if q < 1.0 && low >= least { -(-q).ln_1p() } else { f64::INFINITY };
            (passed.min(by_ratio), 0.0, outside)
        }
        Function::Tanh => {
            let nearest = low.max(-high).max(0.0).tanh();
            (times(e, 1.0 - nearest * nearest).min(2.0), size((low, high)).tanh(), false)
        }
    };
    let units = match function {
        Function::Exp | Function::ExpNonPositive => stated.units + CUT,
        Function::Recip | Function::Sqrt | Function::Log | Function::Tanh => stated.units,
    };
    let own = units * ulp + times(stated.relative, result);
    Effect { own, passed, passed_divisor: 0.0, assumed }
}

/// The largest |x / x' - 1| for a relative error of x'.
fn quotient_of(q: f64) -> f64 {
    if q < 1.0 { q / (1.0 - q) } else { f64::INFINITY }
}

/// x' / y' - x / y = (x' - x) / y' + (x / y)(y / y' - 1), for operands with their errors; the divisor
/// comes in steps of `unit`.
pub(super) fn quotient(
    stated: &StatedErrors,
    ulp: f64,
    (x, ex, line_x): (Values, f64, Line),
    (y, ey, line_y): (Values, f64, Line),
    unit: f64,
) -> Effect {
    let most = f64::from(domain::QUOTIENT_TOP).exp2();
    // The smallest absolute value in an interval, for a divisor that is not 0.
    let near = |(lo, hi): Interval| if lo > 0.0 { lo } else { (-hi).max(0.0) };
    let least = (-f64::from(domain::DIVISOR_LOW)).exp2();
    let floor = if ey == 0.0 { unit.max(least) } else { least };
    let program = near(y.real).max(floor);
    let run = near(y.run).max(program - ey);
    let result = (size(x.real) / program).min(most);
    let outside = near(y.real) < floor
        || size(y.real) >= f64::from(domain::DIVISOR_TOP).exp2()
        || size(x.real) / program >= most;
    let (passed, passed_divisor) = if run >= least {
        // How much smaller the run's divisor may be than the program's.
        let q = line_y.ratio(program);
        let dividend = times(line_x.fixed, 1.0 / program) + times(line_x.relative, result);
        let by_line = times(dividend, 1.0 + quotient_of(q));
        (
            times(ex, 1.0 / run).min(by_line),
            times(ey, result / run).min(times(quotient_of(q), result)),
        )
    } else {
        // The run may have a divisor that counts as 0, or one of the other sign.
        (0.0, result + most)
    };
    let divisor = size(y.run).max(size(y.real));
    let relative = stated.div.relative + times(divisor, stated.div_by_divisor);
    // Of the run's own quotient, which is off from the program's.
    let own = stated.div.units * ulp + times(relative, result + passed + passed_divisor);
    Effect { own, passed, passed_divisor, assumed: outside }
}
