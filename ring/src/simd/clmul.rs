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

/// Four products of polynomials, lower word first, whose sum counts.
pub(crate) type Products = [u64; 8];

/// Their sum.
pub(crate) fn summed(x: &Products) -> u128 {
    let (pairs, _) = x.as_chunks::<2>();
    pairs.iter().fold(0, |s, x| s ^ (u128::from(x[1]) << 64 | u128::from(x[0])))
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

    /// Of four blocks of two vectors of bits, values of polynomials in two variables, adds the inner products at the nine
    /// points of the grid: the sum of c[i] times word i of the product.
    pub(crate) fn add_nine<const N: usize>(
        self,
        sums: &mut [Products; 9],
        c: &[u64; N],
        u: &[[u64; N]; 4],
        v: &[[u64; N]; 4],
    ) {
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        if let Clmul::Wide(_) = self {
            // SAFETY: the value shows that the processor has the features.
            return unsafe { x86::wide_nine(sums, c, u, v) };
        }
        let mut products = [[0; N]; 9];
        for i in 0..N {
            let [a, b] = [u, v].map(|x| nine(x.each_ref().map(|x| x[i])));
            (0..9).for_each(|j| products[j][i] = a[j] & b[j]);
        }
        for (sum, row) in sums.iter_mut().zip(&products) {
            let more = self.dot(c, row);
            sum[0] ^= more as u64;
            sum[1] ^= (more >> 64) as u64;
        }
    }

    /// a[i] := a[i] b[i] in the field.
    pub(crate) fn times(self, a: &mut [u64], b: &[u64]) {
        assert_eq!(a.len(), b.len(), "vectors of one length");
        match self {
            #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
            // SAFETY: the value shows that the processor has the features.
            Clmul::Wide(_) => unsafe { x86::wide_times(a, b) },
            #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
            // SAFETY: as above.
            Clmul::Narrow(_) => unsafe { x86::narrow_times(a, b) },
            Clmul::Portable => {
                a.iter_mut().zip(b).for_each(|(a, b)| *a = reduce(portable(*a, *b)));
            }
        }
    }

    /// out[i] += c a[i] in the field.
    pub(crate) fn add_scaled(self, out: &mut [u64], a: &[u64], c: u64) {
        assert_eq!(a.len(), out.len(), "vectors of one length");
        let mut some = [0; 64];
        let factors = [c; 64];
        for (out, a) in out.chunks_mut(64).zip(a.chunks(64)) {
            let some = &mut some[..a.len()];
            some.copy_from_slice(a);
            self.times(some, &factors[..a.len()]);
            out.iter_mut().zip(some).for_each(|(o, x)| *o ^= *x);
        }
    }
}

/// The values at the nine points of four blocks.
fn nine([a, b, c, d]: [u64; 4]) -> [u64; 9] {
    [a, b, a ^ b, c, d, c ^ d, a ^ c, b ^ d, a ^ b ^ c ^ d]
}

/// Modulo X^64 + X^4 + X^3 + X + 1.
#[inline(always)]
pub(crate) fn reduce(x: u128) -> u64 {
    let (low, high) = (x as u64, (x >> 64) as u64);
    // X^64 is X^4 + X^3 + X + 1; what this pushes beyond 64 bits once more.
    let over = high >> 63 ^ high >> 61 ^ high >> 60;
    let fold = |h: u64| h ^ h << 1 ^ h << 3 ^ h << 4;
    low ^ fold(high) ^ fold(over)
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

    #[target_feature(enable = "pclmulqdq,avx2")]
    pub(super) fn narrow_times(a: &mut [u64], b: &[u64]) {
        for (a, &b) in a.iter_mut().zip(b) {
            let (x, y) = (_mm_set_epi64x(0, *a as i64), _mm_set_epi64x(0, b as i64));
            *a = super::reduce(value(_mm_clmulepi64_si128::<0x00>(x, y)));
        }
    }

    #[cfg(feature = "avx512")]
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(x: &[u64; 8]) -> __m512i {
        // SAFETY: it points to eight words, and the load needs no alignment.
        unsafe { _mm512_loadu_si512(x.as_ptr().cast()) }
    }

    #[cfg(feature = "avx512")]
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn total(sums: [__m512i; 2]) -> u128 {
        let sum = _mm512_xor_si512(sums[0], sums[1]);
        let quarters = [
            _mm512_extracti32x4_epi32::<0>(sum),
            _mm512_extracti32x4_epi32::<1>(sum),
            _mm512_extracti32x4_epi32::<2>(sum),
            _mm512_extracti32x4_epi32::<3>(sum),
        ];
        quarters.into_iter().fold(0, |s, q| s ^ value(q))
    }

    #[cfg(feature = "avx512")]
    #[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq,avx2")]
    pub(super) fn wide_nine<const N: usize>(
        sums: &mut [super::Products; 9],
        c: &[u64; N],
        u: &[[u64; N]; 4],
        v: &[[u64; N]; 4],
    ) {
        const { assert!(N.is_multiple_of(8), "whole vectors") };
        let [u, v] = [u, v].map(|x| x.each_ref().map(|x| x.as_chunks::<8>().0));
        let nine = |x: &[&[[u64; 8]]; 4], i: usize| {
            let [a, b, c, d] = x.map(|x| load(&x[i]));
            let xor = |a, b| _mm512_xor_si512(a, b);
            let (e, f, g, h) = (xor(a, b), xor(c, d), xor(a, c), xor(b, d));
            [a, b, e, c, d, f, g, h, xor(e, f)]
        };
        let mut out = sums.each_ref().map(|x| load(x));
        for (i, c) in c.as_chunks::<8>().0.iter().enumerate() {
            let (c, a, b) = (load(c), nine(&u, i), nine(&v, i));
            for (out, (a, b)) in out.iter_mut().zip(a.into_iter().zip(b)) {
                let x = _mm512_and_si512(a, b);
                let even = _mm512_clmulepi64_epi128::<0x00>(c, x);
                let odd = _mm512_clmulepi64_epi128::<0x11>(c, x);
                *out = _mm512_ternarylogic_epi64::<0x96>(*out, even, odd);
            }
        }
        for (sum, out) in sums.iter_mut().zip(out) {
            // SAFETY: it points to eight words, and the store needs no alignment.
            unsafe { _mm512_storeu_si512(sum.as_mut_ptr().cast(), out) };
        }
    }

    /// Each product is L + X^64 H. X^64 is X^4 + X^3 + X + 1, so H times that goes to L, and what this has above 64
    /// bits once more.
    #[cfg(feature = "avx512")]
    #[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq,avx2")]
    pub(super) fn wide_times(a: &mut [u64], b: &[u64]) {
        let taps = _mm512_set1_epi64(0x1b);
        let (all_a, rest_a) = a.as_chunks_mut::<8>();
        let (all_b, rest_b) = b.as_chunks::<8>();
        for (a, b) in all_a.iter_mut().zip(all_b) {
            let (x, y) = (load(a), load(b));
            let even = _mm512_clmulepi64_epi128::<0x00>(x, y);
            let odd = _mm512_clmulepi64_epi128::<0x11>(x, y);
            let [even, odd] = [even, odd].map(|p| {
                let once = _mm512_clmulepi64_epi128::<0x01>(p, taps);
                let twice = _mm512_clmulepi64_epi128::<0x01>(once, taps);
                _mm512_xor_si512(p, _mm512_xor_si512(once, twice))
            });
            let out = _mm512_unpacklo_epi64(even, odd);
            // SAFETY: it points to eight words, and the store needs no alignment.
            unsafe { _mm512_storeu_si512(a.as_mut_ptr().cast(), out) };
        }
        narrow_times(rest_a, rest_b);
    }

    #[cfg(feature = "avx512")]
    #[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq,avx2")]
    pub(super) fn wide(a: &[u64], b: &[u64]) -> u128 {
        let mut sums = [_mm512_setzero_si512(); 2];
        let (eights_a, rest_a) = a.as_chunks::<8>();
        let (eights_b, rest_b) = b.as_chunks::<8>();
        for (a, b) in eights_a.iter().zip(eights_b) {
            let (a, b) = (load(a), load(b));
            sums[0] = _mm512_xor_si512(sums[0], _mm512_clmulepi64_epi128::<0x00>(a, b));
            sums[1] = _mm512_xor_si512(sums[1], _mm512_clmulepi64_epi128::<0x11>(a, b));
        }
        total(sums) ^ narrow(rest_a, rest_b)
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
            for n in 0..40u64 {
                let (a, b) = (words(n, n as usize), words(n + 99, n as usize));
                let want = a.iter().zip(&b).fold(0, |s, (&a, &b)| s ^ slow(a, b));
                assert_eq!(level.dot(&a, &b), want, "{level:?}, {n} words");
                let d = words(n + 8, n as usize);
                let mut products = a.clone();
                level.times(&mut products, &b);
                let want: Vec<u64> = a.iter().zip(&b).map(|(&a, &b)| reduce(slow(a, b))).collect();
                assert_eq!(products, want, "{level:?}, {n} words");
                let mut sums = d.clone();
                level.add_scaled(&mut sums, &a, 77);
                let want: Vec<u64> =
                    d.iter().zip(&a).map(|(&d, &a)| d ^ reduce(slow(a, 77))).collect();
                assert_eq!(sums, want, "{level:?}, {n} words");
            }
            let row = |seed: u64| <[u64; 16]>::try_from(words(seed, 16)).expect("16 words");
            let c = row(5);
            let [u, v]: [[[u64; 16]; 4]; 2] =
                [10, 20].map(|seed| std::array::from_fn(|b| row(seed + b as u64)));
            let mut sums = [[7; 8]; 9];
            level.add_nine(&mut sums, &c, &u, &v);
            for (point, sum) in sums.iter().enumerate() {
                // Both variables are 0, 1, or both.
                let of = |digit: usize, bit: usize| digit == 2 || digit == bit;
                let at = |b: &usize| of(point / 3, b >> 1) && of(point % 3, b & 1);
                let value = |x: &[[u64; 16]; 4], i: usize| {
                    (0..4).filter(at).fold(0, |s, b| s ^ x[b][i])
                };
                let both = (0..16).map(|i| value(&u, i) & value(&v, i)).collect::<Vec<_>>();
                // Four times the same is 0.
                assert_eq!(summed(sum), level.dot(&c, &both), "{level:?}, point {point}");
            }
        }
    }
}
