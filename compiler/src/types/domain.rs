//! Where the elementary functions are what they say, and what they are beyond: the one place that
//! exact evaluation ([`crate::graph::eval`]) and lowering ([`crate::lower`]) both follow.
//!
//! In ring arithmetic a function has a value everywhere; where the real one has none, or one that a
//! word cannot hold, it saturates:
//!
//! | function | as in the reals for | beyond |
//! |---|---|---|
//! | e^x | -12 <= x <= 19 ln 2 | 0 below, 2^19 above |
//! | 1 / x | 2^-12 <= x < 2^20 | 2^12 below (also for negative x) |
//! | sqrt x | 0 <= x < 2^30 | 0 below |
//! | ln x | 2^-16 <= x < 2^30 | -17 ln 2 below |
//! | x / y | 2^-12 <= abs y < 2^20, abs (x / y) < 2^12 | 0 for smaller abs y |
//!
//! Above the upper ends of the last four lines a circuit's result means nothing (it is some word); no
//! function ever fails. In floating point ([`crate::graph::eval::real`]) none of this applies.

use std::f64::consts::LN_2;

/// e^x is 2^EXP_TOP from EXP_TOP ln 2 on: 1 + e^x still is a divisor.
pub const EXP_TOP: u32 = 19;
/// e^x is 0 below this: less than half a unit of 2^-16.
pub const EXP_LOW: f64 = -12.0;
/// The smallest divisor is 2^-DIVISOR_LOW.
pub const DIVISOR_LOW: u32 = 12;
/// Divisors are below 2^DIVISOR_TOP.
pub const DIVISOR_TOP: u32 = 20;
/// Operands of roots and logarithms are below 2^ROOT_TOP.
pub const ROOT_TOP: u32 = 30;
/// Quotients are below 2^QUOTIENT_TOP.
pub const QUOTIENT_TOP: u32 = 12;

/// e^x, saturated.
pub fn exp(x: f64) -> f64 {
    let top = f64::from(EXP_TOP);
    if x > top * LN_2 {
        top.exp2()
    } else if x < EXP_LOW {
        0.0
    } else {
        x.exp()
    }
}

/// 1 / x, saturated.
pub fn recip(x: f64) -> f64 {
    let top = f64::from(DIVISOR_LOW).exp2();
    if x < 1.0 / top { top } else { 1.0 / x }
}

/// sqrt x, saturated.
pub fn sqrt(x: f64) -> f64 {
    x.max(0.0).sqrt()
}

/// ln x, saturated, for operands in steps of 2^-16.
pub fn log(x: f64) -> f64 {
    if x < (-16f64).exp2() { -17.0 * LN_2 } else { x.ln() }
}

/// x / y, saturated.
pub fn div(x: f64, y: f64) -> f64 {
    if y.abs() < (-f64::from(DIVISOR_LOW)).exp2() { 0.0 } else { x / y }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saturation() {
        assert_eq!((exp(-12.1), exp(0.0), exp(14.0), exp(1e9)), (0.0, 1.0, 524288.0, 524288.0));
        assert_eq!((recip(0.0), recip(-3.0), recip(4.0)), (4096.0, 4096.0, 0.25));
        assert_eq!((sqrt(-1.0), sqrt(9.0)), (0.0, 3.0));
        assert_eq!((log(0.0), log(-1.0), log(1.0)), (-17.0 * LN_2, -17.0 * LN_2, 0.0));
        assert_eq!((div(5.0, 0.0), div(5.0, -2.0)), (0.0, -2.5));
    }
}
