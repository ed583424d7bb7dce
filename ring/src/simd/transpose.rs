//! Words to bit planes and back.

use super::Isa;
use crate::Word;
use crate::bits::{slice64, unslice64};

/// Bits shift, shift + 1, ... of the words to one plane each, at most 64; bits beyond a word's own are
/// zero. A plane has ceil(n / 64) words.
pub(crate) fn slice<T: Word>(words: &[T], shift: u32, planes: &mut [&mut [u64]], isa: Isa) {
    let stride = words.len().div_ceil(64);
    assert!(planes.iter().all(|p| p.len() == stride), "planes of another length");
    match isa {
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        // SAFETY: the value shows that the processor has the features.
        Isa::Avx512(_) => unsafe { x86::slice(words, shift, planes) },
        _ => match planes.len() {
            0 => {}
            1 => slice_rows::<T, 1>(words, shift, planes),
            2..=8 => slice_rows::<T, 8>(words, shift, planes),
            9..=16 => slice_rows::<T, 16>(words, shift, planes),
            17..=32 => slice_rows::<T, 32>(words, shift, planes),
            _ => slice_rows::<T, 64>(words, shift, planes),
        },
    }
}

/// Adds 2^(shift + j) times bit j of each element; bits beyond a word's own are dropped. At most 64
/// planes.
pub(crate) fn unslice<T: Word>(out: &mut [T], shift: u32, planes: &[&[u64]], isa: Isa) {
    let stride = out.len().div_ceil(64);
    assert!(planes.iter().all(|p| p.len() == stride), "planes of another length");
    match isa {
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        // SAFETY: the value shows that the processor has the features.
        Isa::Avx512(_) => unsafe { x86::unslice(out, shift, planes) },
        _ => match planes.len() {
            0 => {}
            1 => unslice_rows::<T, 1>(out, shift, planes),
            2..=8 => unslice_rows::<T, 8>(out, shift, planes),
            9..=16 => unslice_rows::<T, 16>(out, shift, planes),
            17..=32 => unslice_rows::<T, 32>(out, shift, planes),
            _ => unslice_rows::<T, 64>(out, shift, planes),
        },
    }
}

/// o + 2^shift x.
#[inline(always)]
fn place<T: Word>(o: T, shift: u32, x: u64) -> T {
    // The halves are disjoint; only words of 128 bits have an upper one.
    o.wadd(if shift == 0 { T::from_u64(x) } else { T::from_u128(u128::from(x) << shift) })
}

fn slice_rows<T: Word, const R: usize>(words: &[T], shift: u32, planes: &mut [&mut [u64]]) {
    for (b, c) in words.chunks(64).enumerate() {
        let rows = match <&[T; 64]>::try_from(c) {
            Ok(c) => slice64::<R>(|i| c[i].shr(shift).to_u64()),
            Err(_) => slice64::<R>(|i| c.get(i).map_or(0, |x| x.shr(shift).to_u64())),
        };
        for (plane, row) in planes.iter_mut().zip(rows) {
            plane[b] = row;
        }
    }
}

fn unslice_rows<T: Word, const R: usize>(out: &mut [T], shift: u32, planes: &[&[u64]]) {
    for (b, c) in out.chunks_mut(64).enumerate() {
        let mut rows = [0u64; R];
        for (row, plane) in rows.iter_mut().zip(planes) {
            *row = plane[b];
        }
        unslice64::<R>(rows, |i, x| {
            if let Some(o) = c.get_mut(i) {
                *o = place(*o, shift, x);
            }
        });
    }
}

/// 512 words at a time, so that each plane gets a whole cache line. A group of 64 words is a matrix of
/// 8 x 8 bytes of 8 x 8 bits: bits are transposed by an affine transform of the bytes of a lane, bytes
/// by a permutation of a register, lanes by shuffles of eight registers.
#[cfg(all(target_arch = "x86_64", feature = "avx512"))]
mod x86 {
    use super::place;
    use crate::Word;
    use std::arch::x86_64::*;

    /// The words of 512 elements.
    const GROUP: usize = 512;

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,gfni")]
    pub fn slice<T: Word>(words: &[T], shift: u32, planes: &mut [&mut [u64]]) {
        if shift >= T::BITS {
            planes.iter_mut().for_each(|p| p.fill(0));
            return;
        }
        let bytes = planes.len().div_ceil(8);
        let (mut group, mut lines) = ([0u64; GROUP], [[0u64; 8]; 64]);
        for (g, words) in words.chunks(GROUP).enumerate() {
            for (o, x) in group.iter_mut().zip(words) {
                *o = x.shr(shift % T::BITS).to_u64();
            }
            group[words.len()..].fill(0);
            to_planes(&group, bytes, &mut lines);
            let n = words.len().div_ceil(64);
            for (plane, line) in planes.iter_mut().zip(&lines) {
                let out = &mut plane[8 * g..8 * g + n];
                match <&mut [u64; 8]>::try_from(&mut *out) {
                    Ok(out) => *out = *line,
                    Err(_) => out.copy_from_slice(&line[..n]),
                }
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,gfni")]
    pub fn unslice<T: Word>(out: &mut [T], shift: u32, planes: &[&[u64]]) {
        let bytes = planes.len().div_ceil(8);
        let (mut group, mut lines) = ([0u64; GROUP], [[0u64; 8]; 64]);
        for (g, out) in out.chunks_mut(GROUP).enumerate() {
            let n = out.len().div_ceil(64);
            for (line, plane) in lines.iter_mut().zip(planes) {
                let from = &plane[8 * g..8 * g + n];
                match <&[u64; 8]>::try_from(from) {
                    Ok(from) => *line = *from,
                    Err(_) => line[..n].copy_from_slice(from),
                }
            }
            to_words(&lines, bytes, &mut group);
            for (o, &x) in out.iter_mut().zip(&group) {
                *o = place(*o, shift, x);
            }
        }
    }

    /// Planes of the lowest bytes of 512 words; the other planes are left as they are.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
    fn to_planes(words: &[u64; GROUP], bytes: usize, planes: &mut [[u64; 8]; 64]) {
        let zero = _mm512_setzero_si512();
        // By byte of the words, then by 64 words: the eight planes of the byte.
        let mut parts = [[zero; 8]; 8];
        for (r, words) in words.chunks_exact(64).enumerate() {
            let mut rows = [zero; 8];
            for (row, words) in rows.iter_mut().zip(words.chunks_exact(8)) {
                // Byte i of lane c is byte c of word 7 - i, as the transform takes its matrix.
                *row = bits(permute(|i| (7 - i % 8) * 8 + i / 8, load(words)));
            }
            for (part, row) in parts.iter_mut().zip(lanes(rows)).take(bytes) {
                part[r] = permute(|i| i % 8 * 8 + i / 8, row);
            }
        }
        for (planes, part) in planes.chunks_exact_mut(8).zip(parts).take(bytes) {
            for (plane, line) in planes.iter_mut().zip(lanes(part)) {
                store(plane, line);
            }
        }
    }

    /// 512 words from the planes of their lowest bytes.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
    fn to_words(planes: &[[u64; 8]; 64], bytes: usize, words: &mut [u64; GROUP]) {
        let zero = _mm512_setzero_si512();
        let mut parts = [[zero; 8]; 8];
        for (part, planes) in parts.iter_mut().zip(planes.chunks_exact(8)).take(bytes) {
            let mut rows = [zero; 8];
            for (row, plane) in rows.iter_mut().zip(planes) {
                *row = load(plane);
            }
            *part = lanes(rows);
        }
        for (r, words) in words.chunks_exact_mut(64).enumerate() {
            let mut rows = [zero; 8];
            for (row, part) in rows.iter_mut().zip(&parts).take(bytes) {
                // From byte i of plane j to byte 7 - j of lane i.
                *row = permute(|i| (7 - i % 8) * 8 + i / 8, part[r]);
            }
            for (words, row) in words.chunks_exact_mut(8).zip(lanes(rows)) {
                store(words, permute(|i| i % 8 * 8 + i / 8, bits(row)));
            }
        }
    }

    /// Byte i of the result is byte from(i).
    #[inline]
    #[target_feature(enable = "avx512f,avx512vbmi")]
    fn permute(from: impl Fn(usize) -> usize, x: __m512i) -> __m512i {
        let index: [u8; 64] = std::array::from_fn(|i| from(i) as u8);
        // SAFETY: 64 bytes are read from an array of as many.
        let index = unsafe { _mm512_loadu_si512(index.as_ptr().cast()) };
        _mm512_permutexvar_epi8(index, x)
    }

    /// In each lane: bit j of byte i of the result is bit i of byte 7 - j.
    #[inline]
    #[target_feature(enable = "avx512f,gfni")]
    fn bits(x: __m512i) -> __m512i {
        _mm512_gf2p8affine_epi64_epi8::<0>(_mm512_set1_epi64(0x8040_2010_0804_0201_u64 as i64), x)
    }

    /// Lane j of register i becomes lane i of register j.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn lanes(x: [__m512i; 8]) -> [__m512i; 8] {
        let pair = |i: usize| {
            let (a, b) = (x[2 * i], x[2 * i + 1]);
            (_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b))
        };
        let [p, q, r, s] = [pair(0), pair(1), pair(2), pair(3)];
        // Lanes 0 and 4, 2 and 6 (or 1 and 5, 3 and 7) of four registers.
        let four = |a, b, c, d| {
            let (ab, cd) = (
                [_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0xdd>(a, b)],
                [_mm512_shuffle_i64x2::<0x88>(c, d), _mm512_shuffle_i64x2::<0xdd>(c, d)],
            );
            [
                _mm512_shuffle_i64x2::<0x88>(ab[0], cd[0]),
                _mm512_shuffle_i64x2::<0x88>(ab[1], cd[1]),
                _mm512_shuffle_i64x2::<0xdd>(ab[0], cd[0]),
                _mm512_shuffle_i64x2::<0xdd>(ab[1], cd[1]),
            ]
        };
        let [a, c, e, g] = four(p.0, q.0, r.0, s.0);
        let [b, d, f, h] = four(p.1, q.1, r.1, s.1);
        [a, b, c, d, e, f, g, h]
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(x: &[u64]) -> __m512i {
        assert!(x.len() >= 8, "a register of words");
        // SAFETY: 8 words are read, and there are as many.
        unsafe { _mm512_loadu_si512(x.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn store(out: &mut [u64], x: __m512i) {
        assert!(out.len() >= 8, "a register of words");
        // SAFETY: 8 words are written, and there are as many.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), x) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<T: Word>(words: &[T], shift: u32, w: usize) {
        let stride = words.len().div_ceil(64);
        for isa in Isa::all() {
            let mut planes = vec![vec![u64::MAX; stride]; w];
            let mut refs: Vec<&mut [u64]> = planes.iter_mut().map(|p| &mut p[..]).collect();
            slice(words, shift, &mut refs, isa);
            for (j, p) in planes.iter().enumerate() {
                for i in 0..64 * stride {
                    let x = words.get(i).map_or(T::ZERO, |x| x.shr(shift).shr(j as u32));
                    assert_eq!(p[i / 64] >> (i % 64) & 1, x.to_u64() & 1, "{isa:?} {j} {i}");
                }
            }
            let refs: Vec<&[u64]> = planes.iter().map(|p| &p[..]).collect();
            let mut back = vec![T::ZERO; words.len()];
            unslice(&mut back, 0, &refs, isa);
            for (x, y) in words.iter().zip(&back) {
                let low = x.shr(shift).to_u64() & crate::bits::mask64(w);
                assert!(*y == T::from_u64(low), "{isa:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn words_to_planes_and_back(
            words in proptest::collection::vec(any::<u128>(), 0..1200),
            shift in 0u32..130, w in 0usize..=64,
        ) {
            check(&words, shift, w);
            let narrow: Vec<u64> = words.iter().map(|&x| x as u64).collect();
            check(&narrow, shift % 64, w);
            let narrow: Vec<u16> = words.iter().map(|&x| x as u16).collect();
            check(&narrow, shift % 20, w);
            let narrow: Vec<u8> = words.iter().map(|&x| x as u8).collect();
            check(&narrow, 0, w);
        }
    }
}
