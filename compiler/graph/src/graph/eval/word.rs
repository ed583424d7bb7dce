//! The kinds of words: real numbers, and elements of Z_2^64 or Z_2^128 that stand for raw / 2^frac.

use slvr_circuit::fixed;
use std::cmp::Ordering;

/// What an evaluator computes on. Bits are [`Word::ZERO`] and [`Word::ONE`].
pub trait Word: Copy + PartialEq + Send + Sync + 'static {
    /// How many bits a word has.
    const BITS: u32;
    /// 0, also the bit.
    const ZERO: Self;
    /// The bit 1, and the integer 1 at scale 0.
    const ONE: Self;

    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// Times a constant; an integer in ring arithmetic.
    fn scale(self, factor: f64) -> Self;
    fn less(self, other: Self) -> bool;
    /// A total order for sorting; agrees with [`Word::less`] where differences do not wrap.
    fn order(&self, other: &Self) -> Ordering;
    /// Cut at +-2^top with `frac` fraction bits, in a ring.
    fn saturate(self, top: u32, frac: u32) -> Self;
    fn trunc(self, by: u32) -> Self;
    fn shift(self, by: u32) -> Self;
    fn halve(self, by: u32) -> Self;
    fn double(self, by: u32) -> Self;
    /// `None` if the number does not fit a word.
    fn encode(x: f64, frac: u32) -> Option<Self>;
    fn decode(self, frac: u32) -> f64;

    fn bit(b: bool) -> Self {
        if b { Self::ONE } else { Self::ZERO }
    }

    fn neg(self) -> Self {
        Self::ZERO.sub(self)
    }

    fn negative(self) -> bool {
        self.less(Self::ZERO)
    }

    fn max(self, other: Self) -> Self {
        if self.less(other) { other } else { self }
    }

    fn min(self, other: Self) -> Self {
        if other.less(self) { other } else { self }
    }
}

macro_rules! real_word {
    ($real:ty) => {
        impl Word for $real {
            const BITS: u32 = 8 * size_of::<$real>() as u32;
            const ZERO: $real = 0.0;
            const ONE: $real = 1.0;

            fn add(self, other: $real) -> $real {
                self + other
            }

            fn sub(self, other: $real) -> $real {
                self - other
            }

            fn mul(self, other: $real) -> $real {
                self * other
            }

            fn scale(self, factor: f64) -> $real {
                self * factor as $real
            }

            fn less(self, other: $real) -> bool {
                self < other
            }

            fn order(&self, other: &$real) -> Ordering {
                self.total_cmp(other)
            }

            fn saturate(self, _: u32, _: u32) -> $real {
                self
            }

            fn trunc(self, _: u32) -> $real {
                self
            }

            fn shift(self, _: u32) -> $real {
                self
            }

            fn halve(self, by: u32) -> $real {
                // In 64 bits, where the power is a number whatever word this is.
                (f64::from(self) * 2f64.powi(-(by.min(1074) as i32))) as $real
            }

            fn double(self, by: u32) -> $real {
                (f64::from(self) * 2f64.powi(by.min(1023) as i32)) as $real
            }

            fn encode(x: f64, _: u32) -> Option<$real> {
                Some(x as $real)
            }

            fn decode(self, _: u32) -> f64 {
                f64::from(self)
            }
        }
    };
}

real_word!(f32);
real_word!(f64);

/// Words of Z_2^64, and of Z_2^128 for graphs whose values need them.
macro_rules! ring_word {
    ($word:ty, $unsigned:ty, $ring:literal) => {
        impl Word for $word {
            const BITS: u32 = $ring;
            const ZERO: $word = 0;
            const ONE: $word = 1;

            fn add(self, other: $word) -> $word {
                self.wrapping_add(other)
            }

            fn sub(self, other: $word) -> $word {
                self.wrapping_sub(other)
            }

            fn mul(self, other: $word) -> $word {
                self.wrapping_mul(other)
            }

            fn scale(self, factor: f64) -> $word {
                self.wrapping_mul(factor as $word)
            }

            fn less(self, other: $word) -> bool {
                self.wrapping_sub(other) < 0
            }

            fn order(&self, other: &$word) -> Ordering {
                self.cmp(other)
            }

            fn saturate(self, top: u32, frac: u32) -> $word {
                // At least as large as every word: nothing is cut.
                match (1 as $word).checked_shl(top + frac) {
                    Some(most) if most > 0 => self.clamp(-most, most),
                    _ => self,
                }
            }

            fn trunc(self, by: u32) -> $word {
                match by {
                    0 => self,
                    by => self.wrapping_add(1 << (by - 1)) >> by,
                }
            }

            fn shift(self, by: u32) -> $word {
                self << by
            }

            fn halve(self, _: u32) -> $word {
                self
            }

            fn double(self, _: u32) -> $word {
                self
            }

            fn encode(x: f64, frac: u32) -> Option<$word> {
                fixed::encode(x, frac, $ring).map(|w| w as $unsigned as $word)
            }

            fn decode(self, frac: u32) -> f64 {
                // Exact except for the rounding of the conversion.
                self as f64 * 2f64.powi(-(frac.min(1074) as i32))
            }
        }
    };
}

ring_word!(i64, u64, 64);
ring_word!(i128, u128, 128);

#[cfg(test)]
mod tests {
    use super::Word;

    /// Also where the power itself is none of them.
    #[test]
    fn words_of_32_bits_are_scaled_by_any_power() {
        assert_eq!((0f32.double(200), 1f32.double(3)), (0.0, 8.0));
        assert_eq!((1e30f32.halve(160), 1f32.halve(3)), ((1e30 * 2f64.powi(-160)) as f32, 0.125));
    }
}
