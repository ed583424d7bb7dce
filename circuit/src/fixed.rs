//! Fixed-point encoding: a real x is the signed k-bit word round(x * 2^frac).

use crate::low_mask;

/// round(x * 2^frac) as a k-bit two's complement word; ties go to the even word, so that encoding
/// has no bias. `None` for NaN, for infinities and where the result does not fit k bits signed.
#[inline]
pub fn encode(x: f64, frac: u32, k: u32) -> Option<u128> {
    // Scaling by a power of two is exact, or overflows to an infinity that the check excludes.
    let scaled = ties_even(x * pow2(i64::from(frac)));
    let bound = pow2(i64::from(k) - 1);
    (scaled >= -bound && scaled < bound).then(|| integer(scaled) as u128 & low_mask(k))
}

/// Below it a number has bits for its fraction.
const EXACT: f64 = (1u64 << 51) as f64;
/// What is less than [`EXACT`] from here has none.
const INTEGERS: f64 = 3.0 * EXACT;

/// The nearest integer, as `f64::round_ties_even` has it but for the sign of zero. Where a processor's instruction for it is
/// not used, two additions take less than a call: among numbers of this size the integers are all there are.
#[inline]
fn ties_even(x: f64) -> f64 {
    match x.abs() < EXACT {
        true => (x + INTEGERS) - INTEGERS,
        false => x.round_ties_even(),
    }
}

/// An integer below 2^127 as one.
#[inline]
fn integer(x: f64) -> i128 {
    match x.abs() < (1u64 << 63) as f64 {
        true => i128::from(x as i64),
        false => x as i128,
    }
}

/// round(x * 2^frac) * 2^shift as a k-bit word that an exact lift takes: for a shift above 0 at least
/// -2^(k-2), and at most 2^(k-2) - 2^shift, which stands for 2^(k-2) too. `None` as for [`encode`].
#[inline]
pub fn shifted(x: f64, frac: u32, shift: u32, k: u32) -> Option<u128> {
    if shift == 0 {
        return encode(x, frac, k);
    }
    let room = k.checked_sub(2)?.checked_sub(shift)?;
    let scaled = ties_even(x * pow2(i64::from(frac)));
    let bound = pow2(i64::from(room));
    (scaled >= -bound && scaled <= bound)
        .then(|| (integer(scaled.min(bound - 1.0)) << shift) as u128 & low_mask(k))
}

/// [`shifted`] for numbers between two that it takes, if all of them are short enough for arithmetic without a branch, of
/// which a compiler makes instructions for several numbers at once.
pub struct Short {
    scale: f64,
    most: f64,
    shift: u32,
}

impl Short {
    /// For the numbers lo..=hi.
    pub fn new((lo, hi): (f64, f64), frac: u32, shift: u32, k: u32) -> Option<Short> {
        let scale = pow2(i64::from(frac));
        // Rounding keeps their order, so what lies between is as short, and fits as they do.
        let fits = |x: f64| (x * scale).abs() < EXACT && shifted(x, frac, shift, k).is_some();
        let most = match shift {
            0 => EXACT,
            _ => EXACT.min(pow2(i64::from(k.checked_sub(2 + shift)?)) - 1.0),
        };
        (k <= 64 && fits(lo) && fits(hi)).then_some(Short { scale, most: INTEGERS + most, shift })
    }

    /// The word of x, which is between the two; bits beyond k may be set.
    #[inline(always)]
    pub fn word(&self, x: f64) -> u64 {
        // Integers in a row have bits in a row.
        let bits = (x * self.scale + INTEGERS).min(self.most).to_bits();
        bits.wrapping_sub(INTEGERS.to_bits()) << (self.shift % 64)
    }
}

/// round(x * 2^frac) modulo 2^k, whatever its size. `None` for NaN, for infinities, and where x 2^frac is
/// beyond the largest `f64`.
pub fn wrapping(x: f64, frac: u32, k: u32) -> Option<u128> {
    let scaled = (x * pow2(i64::from(frac))).round_ties_even();
    if !scaled.is_finite() {
        return None;
    }
    // The remainder is exact, and less than 2^k <= 2^128.
    let rest = (scaled.abs() % pow2(i64::from(k))) as u128;
    let word = if scaled < 0.0 { rest.wrapping_neg() } else { rest };
    Some(word & low_mask(k))
}

/// The signed value of a k-bit word, over 2^frac. Rounds to the nearest `f64` when the word has
/// more than 53 significant bits.
pub fn decode(word: u128, k: u32, frac: u32) -> f64 {
    signed(word, k) as f64 * pow2(-i64::from(frac))
}

/// The signed value of a k-bit two's complement word, 1 <= k <= 128; higher bits are ignored.
pub fn signed(word: u128, k: u32) -> i128 {
    let unused = 128 - k.clamp(1, 128);
    ((word << unused) as i128) >> unused
}

/// 2^e.
#[inline]
fn pow2(e: i64) -> f64 {
    // A number of every tensor is scaled by it, so the usual ones are put together.
    if let biased @ 1..=2046 = e + 1023 {
        return f64::from_bits((biased as u64) << 52);
    }
    2f64.powi(e.clamp(-2000, 2000) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ties_go_to_even_and_the_range_is_closed_below() {
        assert_eq!(encode(0.5, 0, 8), Some(0));
        assert_eq!(encode(1.5, 0, 8), Some(2));
        assert_eq!(encode(-0.5, 0, 8), Some(0));
        assert_eq!(encode(-1.5, 0, 8), Some(0xfe));
        assert_eq!(encode(127.0, 0, 8), Some(127));
        assert_eq!(encode(127.5, 0, 8), None);
        assert_eq!(encode(-128.0, 0, 8), Some(128));
        assert_eq!(encode(-129.0, 0, 8), None);
        assert_eq!(encode(-1.0, 0, 128), Some(u128::MAX));
        assert_eq!(encode(2f64.powi(127), 0, 128), None);
        for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
            assert_eq!(encode(x, 16, 64), None);
        }
        assert_eq!(encode(0.0, 5000, 64), None);
    }

    #[test]
    fn wrapping_reduces() {
        for x in [0.0, 0.5, 1.5, -8.0, 1234.0625, -1.0] {
            assert_eq!(wrapping(x, 16, 64), encode(x, 16, 64), "{x}");
        }
        assert_eq!(wrapping(2f64.powi(64) + 2f64.powi(20), 0, 64), Some(1 << 20));
        assert_eq!(wrapping(-(2f64.powi(64)) - 2f64.powi(20), 0, 64), Some((1 << 64) - (1 << 20)));
        assert_eq!(wrapping(2f64.powi(47), 16, 64), Some(1 << 63));
        assert_eq!(wrapping(2f64.powi(48), 16, 64), Some(0));
        assert_eq!(wrapping(300.0, 0, 8), Some(44));
        assert_eq!(wrapping(-1e300, 0, 128), Some(0));
        assert_eq!(wrapping(-2f64.powi(127), 0, 128), Some(1 << 127));
        for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e305] {
            assert_eq!(wrapping(x, 16, 64), None);
        }
    }

    proptest! {
        #[test]
        fn ties_are_those_of_the_standard_library(bits: u64, half in -1_000_000i64..1_000_000, e in 0i64..60) {
            let near = |e: i64| pow2(e) + half as f64 / 2.0;
            for x in [f64::from_bits(bits), half as f64 / 2.0, near(e), -near(e)] {
                let wanted = x.round_ties_even();
                prop_assert!(ties_even(x) == wanted || wanted.is_nan());
                if wanted.abs() < pow2(126) {
                    prop_assert_eq!(integer(wanted), wanted as i128);
                }
            }
        }

        #[test]
        fn short_words_are_the_same(
            xs in proptest::collection::vec(-1.0f64..=1.0, 0..50), size in -30i32..60,
            frac in 0u32..50, shift in 0u32..70, k in proptest::sample::select(vec![8u32, 11, 32, 64, 128]),
        ) {
            let hi = 2f64.powi(size);
            if let Some(short) = Short::new((-hi, hi), frac, shift, k) {
                let halves = xs.iter().map(|x| (x * hi * pow2(frac.into())).round() / pow2(i64::from(frac) + 1));
                for x in xs.iter().map(|x| x * hi).chain(halves).chain([-hi, hi, 0.0, -0.0]) {
                    let word = u128::from(short.word(x)) & low_mask(k);
                    prop_assert_eq!(Some(word), shifted(x, frac, shift, k));
                }
            }
        }

        #[test]
        fn decode_inverts_encode_to_half_a_unit(x in -1e6f64..1e6, frac in 0u32..40) {
            let word = encode(x, frac, 64).unwrap();
            prop_assert!((decode(word, 64, frac) - x).abs() <= 0.5 * 2f64.powi(-(frac as i32)));
        }
    }
}
