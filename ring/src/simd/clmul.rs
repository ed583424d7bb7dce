//! Products of polynomials over GF(2), by the processor's carry-less multiplication.
//!
//! There are three levels: VPCLMULQDQ (four products at once, under the feature `avx512`), PCLMULQDQ (under
//! `avx2`) and plain Rust. All give the same 128 bits.

/// An instruction set for carry-less products that this machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clmul {
    #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
    Wide(Detected),
    #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
    Narrow(Detected),
    Portable,
}

/// Only detection makes one.
#[cfg(all(target_arch = "x86_64", any(feature = "avx2", feature = "avx512")))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Detected(());

impl Clmul {
    /// The widest.
    #[inline]
    pub(crate) fn best() -> Self {
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("vpclmulqdq") {
            return Clmul::Wide(Detected(()));
        }
        Self::narrow()
    }

    #[inline]
    fn narrow() -> Self {
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        if is_x86_feature_detected!("pclmulqdq") && is_x86_feature_detected!("avx2") {
            return Clmul::Narrow(Detected(()));
        }
        Clmul::Portable
    }

    /// All that this machine has.
    #[cfg(test)]
    pub(crate) fn all() -> Vec<Self> {
        let mut all = vec![Self::best(), Self::narrow(), Clmul::Portable];
        all.dedup();
        all
    }

    /// The product of two polynomials of degree below 64.
    #[inline]
    pub(crate) fn product(self, a: u64, b: u64) -> u128 {
        self.dot(&[a], &[b])
    }

    /// The sum of the products a[i] b[i].
    pub(crate) fn dot(self, a: &[u64], b: &[u64]) -> u128 {
        assert_eq!(a.len(), b.len(), "vectors of one length");
        match self {
            #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
            // SAFETY: the value shows that the processor has the features.
            Clmul::Wide(_) => unsafe { x86::wide(a, b) },
            #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
            // SAFETY: as above.
            Clmul::Narrow(_) => unsafe { x86::narrow(a, b) },
            Clmul::Portable => a.iter().zip(b).fold(0, |s, (&a, &b)| s ^ portable(a, b)),
        }
    }
}

/// Every fifth bit of each factor at a time: so few products meet in a place that integers do not carry
/// into the place that counts next.
fn portable(a: u64, b: u64) -> u128 {
    // Bits 0, 5, 10, ..., 125.
    const FIFTH: u128 = 0x2108_4210_8421_0842_1084_2108_4210_8421;
    let part = |x: u64, i: u32| u128::from(x) & (FIFTH << i);
    let mut out = 0;
    for i in 0..5 {
        for j in 0..5 {
            // At most 13 ones meet in a place, and five bits hold 13.
            let product = part(a, i).wrapping_mul(part(b, j));
            out ^= product & rotated(FIFTH, i + j);
        }
    }
    out
}

/// The places i, i + 5, ... for any i below 10.
fn rotated(fifth: u128, i: u32) -> u128 {
    if i < 5 { fifth << i } else { fifth << (i - 5) & !((1 << i) - 1) }
}

#[cfg(target_arch = "x86_64")]
#[cfg(any(feature = "avx2", feature = "avx512"))]
mod x86 {
    use std::arch::x86_64::*;

    #[inline]
    #[target_feature(enable = "sse2")]
    fn value(x: __m128i) -> u128 {
        let low = _mm_cvtsi128_si64(x) as u64;
        let high = _mm_cvtsi128_si64(_mm_unpackhi_epi64(x, x)) as u64;
        u128::from(high) << 64 | u128::from(low)
    }

    #[target_feature(enable = "pclmulqdq,avx2")]
    pub(super) fn narrow(a: &[u64], b: &[u64]) -> u128 {
        let mut sums = [_mm_setzero_si128(); 2];
        let (pairs_a, rest_a) = a.as_chunks::<2>();
        let (pairs_b, rest_b) = b.as_chunks::<2>();
        for (a, b) in pairs_a.iter().zip(pairs_b) {
            let a = _mm_set_epi64x(a[1] as i64, a[0] as i64);
            let b = _mm_set_epi64x(b[1] as i64, b[0] as i64);
            sums[0] = _mm_xor_si128(sums[0], _mm_clmulepi64_si128::<0x00>(a, b));
            sums[1] = _mm_xor_si128(sums[1], _mm_clmulepi64_si128::<0x11>(a, b));
        }
        for (&a, &b) in rest_a.iter().zip(rest_b) {
            let (a, b) = (_mm_set_epi64x(0, a as i64), _mm_set_epi64x(0, b as i64));
            sums[0] = _mm_xor_si128(sums[0], _mm_clmulepi64_si128::<0x00>(a, b));
        }
        value(_mm_xor_si128(sums[0], sums[1]))
    }

    #[cfg(feature = "avx512")]
    #[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq,avx2")]
    pub(super) fn wide(a: &[u64], b: &[u64]) -> u128 {
        let mut sums = [_mm512_setzero_si512(); 2];
        let (eights_a, rest_a) = a.as_chunks::<8>();
        let (eights_b, rest_b) = b.as_chunks::<8>();
        for (a, b) in eights_a.iter().zip(eights_b) {
            // SAFETY: both point to eight words, and the loads need no alignment.
            let (a, b) = unsafe {
                (_mm512_loadu_si512(a.as_ptr().cast()), _mm512_loadu_si512(b.as_ptr().cast()))
            };
            sums[0] = _mm512_xor_si512(sums[0], _mm512_clmulepi64_epi128::<0x00>(a, b));
            sums[1] = _mm512_xor_si512(sums[1], _mm512_clmulepi64_epi128::<0x11>(a, b));
        }
        let sum = _mm512_xor_si512(sums[0], sums[1]);
        let quarters = [
            _mm512_extracti32x4_epi32::<0>(sum),
            _mm512_extracti32x4_epi32::<1>(sum),
            _mm512_extracti32x4_epi32::<2>(sum),
            _mm512_extracti32x4_epi32::<3>(sum),
        ];
        quarters.into_iter().fold(0, |s, q| s ^ value(q)) ^ narrow(rest_a, rest_b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the definition, bit by bit.
    fn slow(a: u64, b: u64) -> u128 {
        (0..64).filter(|j| b >> j & 1 == 1).fold(0, |s, j| s ^ u128::from(a) << j)
    }

    fn words(seed: u64, n: usize) -> Vec<u64> {
        let mut s = seed | 1;
        let mut next = || {
            s = s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            s ^ s >> 29
        };
        (0..n).map(|_| next()).collect()
    }

    #[test]
    fn every_level_is_the_definition() {
        let edges = [0, 1, 2, u64::MAX, 1 << 63, 0x5555_5555_5555_5555, 0x8421_0842_1084_2108];
        for level in Clmul::all() {
            for a in edges {
                for b in edges {
                    assert_eq!(level.product(a, b), slow(a, b), "{level:?}: {a:x} {b:x}");
                }
            }
            for n in 0..40 {
                let (a, b) = (words(n, n as usize), words(n + 99, n as usize));
                let want = a.iter().zip(&b).fold(0, |s, (&a, &b)| s ^ slow(a, b));
                assert_eq!(level.dot(&a, &b), want, "{level:?}, {n} words");
            }
        }
    }
}
