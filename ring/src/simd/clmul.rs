//! Products of polynomials over GF(2), by the processor's carry-less multiplication.
//!
//! There are three levels: VPCLMULQDQ (four products at once, under the feature `avx512`), PCLMULQDQ (under
//! `avx2`) and plain Rust. All give the same 128 bits.

use super::xored;
use crate::grid::{LEAF, Visit, walk};

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

pub(crate) fn summed(x: &Products) -> u128 {
    let (pairs, _) = x.as_chunks::<2>();
    pairs.iter().fold(0, |s, x| s ^ (u128::from(x[1]) << 64 | u128::from(x[0])))
}

/// Only detection makes one.
#[cfg(all(target_arch = "x86_64", any(feature = "avx2", feature = "avx512")))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Detected(());

impl Clmul {
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

    /// Of 2^m blocks of each of K vectors of bits, values of polynomials in m variables, adds at the 3^m points of the
    /// [grid](crate::grid) the sum of c[i] times word i of the sum of the products of the first two, and of the next
    /// two. `scratch` has as many blocks for each.
    pub(crate) fn add_grid<const N: usize, const K: usize>(
        self,
        sums: &mut [Products],
        c: &[u64; N],
        blocks: [&[[u64; N]]; K],
        scratch: [&mut [[u64; N]]; K],
    ) {
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        if let Clmul::Wide(_) = self {
            // SAFETY: the value shows that the processor has the features.
            return unsafe { x86::wide_grid(sums, c, blocks, scratch) };
        }
        walk(&mut Gates { level: self, c, sums }, 0, blocks, scratch);
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

    /// out[i] += the sum of all c a[i] in the field.
    pub(crate) fn add_all(self, out: &mut [u64], blocks: &[(u64, &[u64])]) {
        assert!(blocks.iter().all(|(_, a)| a.len() == out.len()), "vectors of one length");
        let done = match self {
            #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
            // SAFETY: the value shows that the processor has the features.
            Clmul::Wide(_) => unsafe { x86::wide_sums(out, blocks) },
            _ => 0,
        };
        for (i, out) in out.iter_mut().enumerate().skip(done) {
            let sum = blocks.iter().fold(0, |s, (c, a)| s ^ self.product(*c, a[i]));
            *out ^= reduce(sum);
        }
    }
}

/// The inner products at all points, for any processor.
struct Gates<'a, const N: usize> {
    level: Clmul,
    c: &'a [u64; N],
    sums: &'a mut [Products],
}

impl<const N: usize, const K: usize> Visit<[u64; N], K> for Gates<'_, N> {
    fn minus(&mut self, out: &mut [[u64; N]], a: &[[u64; N]], b: &[[u64; N]]) {
        xored(out.as_flattened_mut(), a.as_flattened(), b.as_flattened());
    }
    fn leaf(&mut self, point: usize, blocks: [&[[u64; N]; LEAF]; K]) {
        let mut products = [[0; N]; 9];
        for i in 0..N {
            for pair in blocks.as_chunks::<2>().0 {
                let [a, b] = pair.map(|x| nine(x.each_ref().map(|x| x[i])));
                (0..9).for_each(|j| products[j][i] ^= a[j] & b[j]);
            }
        }
        for (sum, row) in self.sums[point..].iter_mut().zip(&products) {
            let more = self.level.dot(self.c, row);
            sum[0] ^= more as u64;
            sum[1] ^= (more >> 64) as u64;
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

    /// The values at the nine points of eight words of four blocks.
    #[cfg(feature = "avx512")]
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn nine<const N: usize>([a, b, c, d]: &[[u64; N]; 4], i: usize) -> [__m512i; 9] {
        let (a, b) = (load(&a.as_chunks().0[i]), load(&b.as_chunks().0[i]));
        let (c, d) = (load(&c.as_chunks().0[i]), load(&d.as_chunks().0[i]));
        let (e, f) = (_mm512_xor_si512(a, b), _mm512_xor_si512(c, d));
        let (g, h) = (_mm512_xor_si512(a, c), _mm512_xor_si512(b, d));
        [a, b, e, c, d, f, g, h, _mm512_xor_si512(e, f)]
    }

    #[cfg(feature = "avx512")]
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq,avx2")]
    fn wide_nine<const N: usize, const K: usize>(
        sums: &mut [super::Products; 9],
        c: &[u64; N],
        blocks: [&[[u64; N]; 4]; K],
    ) {
        const { assert!(N.is_multiple_of(8), "whole vectors") };
        // Loops without closures, which are not compiled for these instructions.
        let mut out = [_mm512_setzero_si512(); 9];
        for (i, c) in c.as_chunks::<8>().0.iter().enumerate() {
            let c = load(c);
            let mut products = [_mm512_setzero_si512(); 9];
            for [u, v] in blocks.as_chunks::<2>().0 {
                let (a, b) = (nine(u, i), nine(v, i));
                for j in 0..9 {
                    // x xor (a and b).
                    products[j] = _mm512_ternarylogic_epi64::<0x78>(products[j], a[j], b[j]);
                }
            }
            for j in 0..9 {
                let even = _mm512_clmulepi64_epi128::<0x00>(c, products[j]);
                let odd = _mm512_clmulepi64_epi128::<0x11>(c, products[j]);
                out[j] = _mm512_ternarylogic_epi64::<0x96>(out[j], even, odd);
            }
        }
        for j in 0..9 {
            let sum = _mm512_xor_si512(load(&sums[j]), out[j]);
            // SAFETY: it points to eight words, and the store needs no alignment.
            unsafe { _mm512_storeu_si512(sums[j].as_mut_ptr().cast(), sum) };
        }
    }

    /// As `walk`, all of it for these instructions.
    #[cfg(feature = "avx512")]
    #[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq,avx2")]
    pub(super) fn wide_grid<const N: usize, const K: usize>(
        sums: &mut [super::Products],
        c: &[u64; N],
        blocks: [&[[u64; N]]; K],
        scratch: [&mut [[u64; N]]; K],
    ) {
        let half = blocks[0].len() / 2;
        if half == 2 {
            let Some(sums) = sums.first_chunk_mut() else { unreachable!("nine points") };
            let mut four = [&[[0; N]; 4]; K];
            for k in 0..K {
                let Some(x) = blocks[k].first_chunk() else { unreachable!("four blocks") };
                four[k] = x;
            }
            return wide_nine(sums, c, four);
        }
        let (mut low, mut high) = ([&[][..]; K], [&[][..]; K]);
        let none = |_| -> &mut [[u64; N]] { &mut [] };
        let mut out: [_; K] = std::array::from_fn(none);
        let mut rest: [_; K] = std::array::from_fn(none);
        for (k, x) in scratch.into_iter().enumerate() {
            (low[k], high[k]) = blocks[k].split_at(half);
            (out[k], rest[k]) = x.split_at_mut(half);
        }
        let (first, more) = sums.split_at_mut(sums.len() / 3);
        let (second, third) = more.split_at_mut(first.len());
        wide_grid(first, c, low, out.each_mut().map(|x| &mut **x));
        wide_grid(second, c, high, out.each_mut().map(|x| &mut **x));
        for k in 0..K {
            for ((out, a), b) in out[k].iter_mut().zip(high[k]).zip(low[k]) {
                let (out, _) = out.as_chunks_mut::<8>();
                for ((out, a), b) in out.iter_mut().zip(a.as_chunks().0).zip(b.as_chunks().0) {
                    let x = _mm512_xor_si512(load(a), load(b));
                    // SAFETY: it points to eight words, and the store needs no alignment.
                    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), x) };
                }
            }
        }
        wide_grid(third, c, out.map(|x| &*x), rest);
    }

    /// Modulo X^64 + X^4 + X^3 + X + 1, of products at even and at odd places. Each is L + X^64 H. X^64 is
    /// X^4 + X^3 + X + 1, so H times that goes to L, and what this has above 64 bits once more.
    #[cfg(feature = "avx512")]
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq,avx2")]
    fn reduced(products: [__m512i; 2]) -> __m512i {
        let taps = _mm512_set1_epi64(0x1b);
        let fold = |p: __m512i| {
            let once = _mm512_clmulepi64_epi128::<0x01>(p, taps);
            let twice = _mm512_clmulepi64_epi128::<0x01>(once, taps);
            _mm512_ternarylogic_epi64::<0x96>(p, once, twice)
        };
        _mm512_unpacklo_epi64(fold(products[0]), fold(products[1]))
    }

    #[cfg(feature = "avx512")]
    #[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq,avx2")]
    pub(super) fn wide_times(a: &mut [u64], b: &[u64]) {
        let (all_a, rest_a) = a.as_chunks_mut::<8>();
        let (all_b, rest_b) = b.as_chunks::<8>();
        for (a, b) in all_a.iter_mut().zip(all_b) {
            let (x, y) = (load(a), load(b));
            let even = _mm512_clmulepi64_epi128::<0x00>(x, y);
            let odd = _mm512_clmulepi64_epi128::<0x11>(x, y);
            let out = reduced([even, odd]);
            // SAFETY: it points to eight words, and the store needs no alignment.
            unsafe { _mm512_storeu_si512(a.as_mut_ptr().cast(), out) };
        }
        narrow_times(rest_a, rest_b);
    }

    /// The sums at all places but fewer than eight last ones; how many these are.
    #[cfg(feature = "avx512")]
    #[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq,avx2")]
    pub(super) fn wide_sums(out: &mut [u64], blocks: &[(u64, &[u64])]) -> usize {
        let (eights, _) = out.as_chunks_mut::<8>();
        for (i, out) in eights.iter_mut().enumerate() {
            let mut sums = [_mm512_setzero_si512(); 2];
            for (c, a) in blocks {
                let Some(a) = a[8 * i..].first_chunk::<8>() else { unreachable!("as long as out") };
                let (c, a) = (_mm512_set1_epi64(*c as i64), load(a));
                sums[0] = _mm512_xor_si512(sums[0], _mm512_clmulepi64_epi128::<0x00>(c, a));
                sums[1] = _mm512_xor_si512(sums[1], _mm512_clmulepi64_epi128::<0x11>(c, a));
            }
            let sum = _mm512_xor_si512(load(out), reduced(sums));
            // SAFETY: as above.
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), sum) };
        }
        eights.len() * 8
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
        std::iter::repeat_with(crate::testing::words(seed)).take(n).collect()
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
                level.add_all(&mut sums, &[(77, &a), (u64::MAX, &b)]);
                let both = |(a, b): (&u64, &u64)| reduce(slow(*a, 77) ^ slow(*b, u64::MAX));
                let want: Vec<u64> =
                    d.iter().zip(a.iter().zip(&b).map(both)).map(|(d, x)| d ^ x).collect();
                assert_eq!(sums, want, "{level:?}, {n} words");
            }
            let row = |seed: u64| <[u64; 16]>::try_from(words(seed, 16)).expect("16 words");
            let c = row(5);
            let [u, v, x, y]: [[[u64; 16]; 4]; 4] =
                [10, 20, 30, 40].map(|seed| std::array::from_fn(|b| row(seed + b as u64)));
            let (mut one, mut two) = ([[7; 8]; 9], [[7; 8]; 9]);
            let room = || [[[0; 16]; 4]; 2];
            let [mut a, mut b] = [room(), room()];
            let [[a, b], [x0, x1]] = [a.each_mut(), b.each_mut()];
            level.add_grid(&mut one, &c, [&u[..], &v], [&mut a[..], &mut b[..]]);
            level.add_grid(&mut two, &c, [&u[..], &v, &x, &y], [&mut a[..], b, x0, x1]);
            for point in 0..9 {
                // Both variables are 0, 1, or both.
                let of = |digit: usize, bit: usize| digit == 2 || digit == bit;
                let at = |b: &usize| of(point / 3, b >> 1) && of(point % 3, b & 1);
                let value =
                    |x: &[[u64; 16]; 4], i: usize| (0..4).filter(at).fold(0, |s, b| s ^ x[b][i]);
                let product = |u, v| (0..16).map(|i| value(u, i) & value(v, i)).collect::<Vec<_>>();
                let (first, second) = (product(&u, &v), product(&x, &y));
                // Four times the same is 0.
                assert_eq!(summed(&one[point]), level.dot(&c, &first), "{level:?}, point {point}");
                let both: Vec<u64> = first.iter().zip(&second).map(|(a, b)| a ^ b).collect();
                assert_eq!(summed(&two[point]), level.dot(&c, &both), "{level:?}, point {point}");
            }
        }
    }
}
