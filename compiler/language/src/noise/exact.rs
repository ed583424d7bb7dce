//! Numbers from 0 to a few thousand with [`BITS`] fraction bits, rounded down. Every operation is off by less than one
//! unit, so what a table is made of is right to hundreds of bits, and distances are upper bounds but for that.

use num_bigint::BigUint;
use num_traits::{One, ToPrimitive, Zero};

/// Fraction bits.
const BITS: u64 = 384;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Exact(BigUint);

impl Exact {
    pub fn zero() -> Exact {
        Exact(BigUint::zero())
    }

    pub fn one() -> Exact {
        Exact(BigUint::one() << BITS)
    }

    pub fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    /// A positive float, exactly as long as it has no bits below the last one here.
    pub fn of(x: f64) -> Exact {
        let bits = x.to_bits();
        let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i64, bits & ((1 << 52) - 1));
        let mantissa = if exponent == 0 { fraction } else { fraction | 1 << 52 };
        let shift = exponent.max(1) - 1075 + BITS as i64;
        let mantissa = BigUint::from(mantissa);
        Exact(if shift < 0 { mantissa >> -shift as u64 } else { mantissa << shift as u64 })
    }

    pub fn plus(&self, other: &Exact) -> Exact {
        Exact(&self.0 + &other.0)
    }

    /// The difference, without its sign.
    pub fn apart(&self, other: &Exact) -> Exact {
        Exact(if self.0 < other.0 { &other.0 - &self.0 } else { &self.0 - &other.0 })
    }

    pub fn times(&self, other: &Exact) -> Exact {
        Exact((&self.0 * &other.0) >> BITS)
    }

    pub fn twice(&self) -> Exact {
        Exact(&self.0 << 1u8)
    }

    pub fn over(&self, other: &Exact) -> Exact {
        Exact((&self.0 << BITS) / &other.0)
    }

    pub fn exp_neg(&self) -> Exact {
        // x is halved until it is below 2^-8, and the result squared as often.
        let halvings = (self.0.bits() + 8).saturating_sub(BITS);
        let x = Exact(&self.0 >> halvings);
        // Terms in turn added and taken away.
        let (mut sums, mut term) = ([Exact::zero(), Exact::zero()], Exact::one());
        for i in 1u32.. {
            let side = &mut sums[(i as usize + 1) % 2];
            *side = side.plus(&term);
            term = Exact(term.times(&x).0 / i);
            if term.is_zero() {
                break;
            }
        }
        let mut power = sums[0].apart(&sums[1]);
        for _ in 0..halvings {
            power = power.times(&power);
        }
        power
    }

    /// The nearest multiple of 2^-bits below, as this many of them.
    pub fn units(&self, bits: u64) -> u128 {
        (&self.0 >> (BITS - bits)).to_u128().unwrap_or(u128::MAX)
    }

    /// So many multiples of 2^-bits.
    pub fn of_units(units: u128, bits: u64) -> Exact {
        Exact(BigUint::from(units) << (BITS - bits))
    }

    /// A float that is no smaller.
    pub fn above(&self) -> f64 {
        let bits = self.0.bits();
        let shift = bits.saturating_sub(53);
        let top = (&self.0 >> shift).to_f64().unwrap_or(f64::INFINITY) + 1.0;
        top * ((shift as f64) - BITS as f64).exp2()
    }
}
