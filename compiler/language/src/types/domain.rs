//! The values of elementary functions and of quotients where those of the reals do not exist or no word holds
//! them: the one place that evaluation in floating point ([`super::eval`]), exact evaluation
//! (`slvr_graph::graph::eval`) and lowering (`slvr_backend::lower`) all follow.
//!
//! Every function has a value for every number. Where the real function has none, or a larger one than the
//! ends below, it saturates:
//!
//! | function | as in the reals for | beyond |
//! |---|---|---|
//! | e^x | -11.875 <= x <= 29 ln 2 | 0 below, 2^29 above |
//! | 1 / x | x != 0 | 2^31 at 0 |
//! | sqrt x | x >= 0 | 0 below |
//! | 1 / sqrt x | x > 0 | 2^31 at 0 and below |
//! | ln x | x >= 2^-16 | -17 ln 2 below |
//! | x / y | y != 0, and abs (x / y) <= 2^31 or abs y >= 1 | 2^31 with the sign of x / y; of x where y is 0; 0 / 0 is 0 |
//!
//! So 1 / x as a function and as a quotient are the same. Division of IEEE 754, with infinities and NaN, is what
//! [`super::eval`] uses if it is asked to.

use std::f64::consts::LN_2;

/// e^x is 2^EXP_TOP from EXP_TOP ln 2 on.
pub const EXP_TOP: u32 = 29;
/// e^x is 0 below this: less than half a unit of 2^-16. From here to EXP_TOP ln 2 are less than 32.
pub const EXP_LOW: f64 = -11.875;
/// e^x is 2^EXP_TOP above this.
pub const EXP_HIGH: f64 = EXP_TOP as f64 * LN_2;
/// ln x is -17 ln 2 below this, the least positive operand that a circuit has.
pub const LOG_LOW: f64 = 1.0 / 65536.0;
/// Quotients saturate at 2^QUOTIENT_TOP.
pub const QUOTIENT_TOP: u32 = 31;
/// 2^QUOTIENT_TOP as a number.
pub const QUOTIENT_END: f64 = (1u64 << QUOTIENT_TOP) as f64;

/// The largest quotient of dividends up to this size, whatever the divisor: one by less than 1 is cut, and one by 1 or
/// more is no larger than the dividend.
pub fn largest_quotient(dividend: f64) -> f64 {
    QUOTIENT_END.max(dividend)
}

/// e^x, saturated.
pub fn exp(x: f64) -> f64 {
    if x > EXP_HIGH {
        f64::from(EXP_TOP).exp2()
    } else if x < EXP_LOW {
        0.0
    } else {
        x.exp()
    }
}

/// 1 / x, saturated.
pub fn recip(x: f64) -> f64 {
    div(1.0, x)
}

/// sqrt x, saturated.
pub fn sqrt(x: f64) -> f64 {
    x.max(0.0).sqrt()
}

/// 1 / sqrt x, saturated: the reciprocal of the root.
pub fn recip_sqrt(x: f64) -> f64 {
    recip(sqrt(x))
}

/// ln x, saturated.
pub fn log(x: f64) -> f64 {
    if x < LOG_LOW { -17.0 * LN_2 } else { x.ln() }
}

/// x / y, saturated.
pub fn div(x: f64, y: f64) -> f64 {
    if x == 0.0 {
        0.0
    } else if y == 0.0 {
        QUOTIENT_END.copysign(x)
    } else if y.abs() < 1.0 {
        (x / y).clamp(-QUOTIENT_END, QUOTIENT_END)
    } else {
        x / y
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saturation() {
        let end = QUOTIENT_END;
        assert_eq!(
            (exp(-12.1), exp(0.0), exp(21.0), exp(1e9)),
            (0.0, 1.0, 2f64.powi(29), 2f64.powi(29))
        );
        assert_eq!((recip(0.0), recip(-4.0), recip(4.0), recip(1e-12)), (end, -0.25, 0.25, end));
        assert_eq!((sqrt(-1.0), sqrt(9.0)), (0.0, 3.0));
        assert_eq!((recip_sqrt(-1.0), recip_sqrt(0.0), recip_sqrt(16.0)), (end, end, 0.25));
        assert_eq!((log(0.0), log(-1.0), log(1.0)), (-17.0 * LN_2, -17.0 * LN_2, 0.0));
        assert_eq!((log(LOG_LOW), log(LOG_LOW / 2.0)), (-16.0 * LN_2, -17.0 * LN_2));
        assert_eq!(
            (div(5.0, 0.0), div(-5.0, 0.0), div(0.0, 0.0), div(5.0, -2.0)),
            (end, -end, 0.0, -2.5)
        );
        assert_eq!((div(1e7, 1e-6), div(1e7, -1e-6), div(1e12, 2.0)), (end, -end, 5e11));
        // -0.0 is a zero like the other.
        assert_eq!((div(1.0, -0.0), div(-0.0, 0.0)), (end, 0.0));
        assert!((20f64.exp() - exp(20.0)).abs() == 0.0);
    }
}
