//! Numbers modulo the prime 2^61 - 1, in which combinations are computed without errors.

use std::ops::{Add, Mul, Neg, Sub};

const PRIME: u64 = (1 << 61) - 1;

/// A number modulo the prime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in super::super) struct Residue(u64);

impl Residue {
    pub(super) const ONE: Residue = Residue(1);

    pub(super) fn whole(n: u64) -> Residue {
        Residue(n % PRIME)
    }

    /// A constant of a program: the simplest fraction that it is the nearest floating-point number of. So 0.1 is a
    /// tenth, and three times 0.1 is 0.3. Of what is no finite number nothing is known but that it is not 0.
    pub(super) fn constant(x: f64) -> Residue {
        if !x.is_finite() {
            return Residue::drawn(x.to_bits());
        }
        let bits = x.abs().to_bits();
        let (mantissa, exponent) = match bits >> 52 {
            0 => (bits, -1074),
            e => (bits & ((1 << 52) - 1) | 1 << 52, e as i64 - 1075),
        };
        let size = match exponent {
            // Twice the mantissa, less and more one, over 2^(1 - exponent) are the ends of what rounds to it.
            -118..0 if mantissa > 0 => {
                let (double, below) = (2 * u128::from(mantissa), 1u128 << (1 - exponent));
                let (over, under) = simplest((double - 1, below), (double + 1, below));
                let of = |n: u128| Residue((n % u128::from(PRIME)) as u64);
                of(over) * of(under).inverse()
            }
            // 2^61 is 1.
            _ => Residue::whole(mantissa) * Residue(1 << exponent.rem_euclid(61)),
        };
        if x < 0.0 { -size } else { size }
    }

    /// A number that nothing is known of: always the same one for a word that is as good as random.
    pub(super) fn drawn(word: u64) -> Residue {
        Residue(1 + word % (PRIME - 1))
    }

    pub(super) fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// What gives 1 when multiplied by it; 0 for 0.
    pub(super) fn inverse(self) -> Residue {
        let (mut out, mut power, mut left) = (Residue::ONE, self, PRIME - 2);
        while left > 0 {
            if left & 1 == 1 {
                out = out * power;
            }
            power = power * power;
            left >>= 1;
        }
        out
    }
}

/// The fraction of the smallest denominator from one to another positive one.
fn simplest((a, b): (u128, u128), (c, d): (u128, u128)) -> (u128, u128) {
    let whole = a / b;
    if whole * b == a {
        return (whole, 1);
    }
    if whole < c / d {
        return (whole + 1, 1);
    }
    let (over, under) = simplest((d, c - whole * d), (b, a - whole * b));
    (whole * over + under, over)
}

impl Add for Residue {
    type Output = Residue;
    fn add(self, b: Residue) -> Residue {
        let sum = self.0 + b.0;
        Residue(if sum >= PRIME { sum - PRIME } else { sum })
    }
}

impl Neg for Residue {
    type Output = Residue;
    fn neg(self) -> Residue {
        Residue(if self.0 == 0 { 0 } else { PRIME - self.0 })
    }
}

impl Sub for Residue {
    type Output = Residue;
    fn sub(self, b: Residue) -> Residue {
        self + -b
    }
}

impl Mul for Residue {
    type Output = Residue;
    fn mul(self, b: Residue) -> Residue {
        let product = u128::from(self.0) * u128::from(b.0);
        let sum = (product as u64 & PRIME) + (product >> 61) as u64;
        Residue(if sum >= PRIME { sum - PRIME } else { sum })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_the_fractions_that_are_meant() {
        let of = Residue::constant;
        let n = Residue::whole;
        for (over, under) in
            [(1u64, 3u64), (1, 10), (3, 10), (7, 11), (22, 7), (1, 65536), (123_457, 1000)]
        {
            assert_eq!(of(over as f64 / under as f64) * n(under), n(over), "{over}/{under}");
            assert_eq!(of(-(over as f64) / under as f64) * n(under), -n(over));
        }
        assert_eq!(of(0.1) + of(0.2), of(0.3));
        assert_eq!(of(0.0), Residue::whole(0));
        assert_eq!(of(2f64.powi(70)), n(1 << 9));
        assert_eq!(of(2f64.powi(-200)) * of(2f64.powi(200)), Residue::ONE);
        assert_eq!(of(1e18), n(1_000_000_000_000_000_000));
        // What is no number may be any, but a product with it does not vanish.
        assert!([f64::NAN, f64::INFINITY].iter().all(|x| !of(*x).is_zero()));
        assert_ne!(of(f64::INFINITY), of(f64::NEG_INFINITY));
        assert_eq!(n(5) * n(5).inverse(), Residue::ONE);
    }
}
