//! Bit-sliced bits: plane j holds bit j of every element, 64 elements to a `u64`.

use super::bits::{self, mask64};
use super::simd::{self, Isa};
use super::{PARALLEL, Word, threads};
use std::fmt;

/// w bits for each of n elements, one plane after another; a plane is ceil(n / 64) words.
///
/// Invariant: the bits of a plane's last word beyond element n are zero. Whoever writes through
/// [`Planes::plane_mut`] or [`Planes::words_mut`] keeps it, with [`Planes::mask_tail`] if need be.
#[derive(Clone, PartialEq, Eq)]
pub struct Planes {
    w: u32,
    n: usize,
    words: Vec<u64>,
}

impl Planes {
    /// w planes of n zeros.
    pub fn zeros(w: u32, n: usize) -> Planes {
        Planes { w, n, words: vec![0; w as usize * n.div_ceil(64)] }
    }

    /// w planes of n elements from their w ceil(n / 64) words, whose unused bits are zero.
    pub(super) fn from_parts(w: u32, n: usize, words: Vec<u64>) -> Planes {
        debug_assert_eq!(words.len(), w as usize * n.div_ceil(64), "words for every plane");
        Planes { w, n, words }
    }

    /// Planes from their words, one plane after another; clears the unused bits. `None` if the
    /// number of words is not w ceil(n / 64).
    pub fn from_words(w: u32, n: usize, words: Vec<u64>) -> Option<Planes> {
        if words.len() != (w as usize).checked_mul(n.div_ceil(64))? {
            return None;
        }
        let mut planes = Planes { w, n, words };
        planes.mask_tail();
        Some(planes)
    }

    /// w, the number of planes.
    pub fn width(&self) -> u32 {
        self.w
    }

    /// n, the number of elements.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Words per plane.
    pub fn stride(&self) -> usize {
        self.n.div_ceil(64)
    }

    pub fn plane(&self, j: usize) -> &[u64] {
        let s = self.stride();
        &self.words[j * s..(j + 1) * s]
    }

    pub fn plane_mut(&mut self, j: usize) -> &mut [u64] {
        let s = self.stride();
        &mut self.words[j * s..(j + 1) * s]
    }

    /// All planes, one after another.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// All planes, one after another.
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Bit j of element i.
    pub fn get(&self, j: usize, i: usize) -> bool {
        assert!(i < self.n, "element out of range");
        bits::get(self.plane(j), i)
    }

    /// Sets bit j of element i.
    pub fn set(&mut self, j: usize, i: usize, value: bool) {
        assert!(i < self.n, "element out of range");
        bits::fill(self.plane_mut(j), i, 1, value);
    }

    /// All bits of element i, bit j in place j.
    pub fn element(&self, i: usize) -> u128 {
        (0..self.w as usize).fold(0, |x, j| x | u128::from(self.get(j, i)) << j)
    }

    /// Clears the bits beyond element n.
    pub fn mask_tail(&mut self) {
        let (s, used) = (self.stride(), self.n % 64);
        if used != 0 {
            for j in 1..=self.w as usize {
                self.words[j * s - 1] &= mask64(used);
            }
        }
    }

    /// All words, one plane after another.
    pub fn into_words(self) -> Vec<u64> {
        self.words
    }

    /// Bits lo .. lo + w of each word; bits beyond a word's own are zero.
    pub fn slice_words<T: Word>(words: &[T], lo: u32, w: u32) -> Planes {
        let mut out = Planes::zeros(w, words.len());
        let stride = out.stride();
        if stride == 0 {
            return out;
        }
        let planes = out.words.chunks_exact_mut(stride);
        if words.len() < PARALLEL {
            slice_chunk(words, lo, &mut planes.collect::<Vec<_>>());
            return out;
        }
        // A plane is contiguous but a block of elements is not: each chunk has a part of all planes.
        let mut parts: Vec<Vec<&mut [u64]>> = Vec::new();
        parts.resize_with(words.len().div_ceil(CHUNK), || Vec::with_capacity(w as usize));
        for plane in planes {
            for (parts, part) in parts.iter_mut().zip(plane.chunks_mut(CHUNK / 64)) {
                parts.push(part);
            }
        }
        threads::each(parts.into_iter().zip(words.chunks(CHUNK)), &|(mut planes, words)| {
            slice_chunk(words, lo, &mut planes);
        });
        out
    }

    /// Each element's bits as a word; bits beyond the word's k are dropped.
    pub fn unslice<T: Word>(&self) -> Vec<T> {
        let mut out = vec![T::ZERO; self.n];
        if self.n < PARALLEL {
            self.unslice_chunk(0, &mut out);
        } else {
            threads::each(out.chunks_mut(CHUNK).enumerate(), &|(i, c)| {
                self.unslice_chunk(i * CHUNK / 64, c);
            });
        }
        out
    }

    /// Elements from the 64 `block`-th on.
    fn unslice_chunk<T: Word>(&self, block: usize, out: &mut [T]) {
        let n = out.len().div_ceil(64);
        for lo in (0..self.w.min(T::BITS)).step_by(64) {
            let planes: Vec<&[u64]> = (lo..self.w.min(lo + 64))
                .map(|j| &self.plane(j as usize)[block..block + n])
                .collect();
            simd::unslice(out, lo, &planes, Isa::best());
        }
    }
}

/// Elements that a thread takes at a time.
const CHUNK: usize = PARALLEL / 4;

fn slice_chunk<T: Word>(words: &[T], lo: u32, planes: &mut [&mut [u64]]) {
    for (i, planes) in planes.chunks_mut(64).enumerate() {
        simd::slice(words, lo.saturating_add(64 * i as u32), planes, Isa::best());
    }
}

impl fmt::Debug for Planes {
    /// Width and length only: the elements may be a share.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Planes<{} x {} bits>", self.n, self.w)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<T: Word>(words: &[T], lo: u32, w: u32) {
        let planes = Planes::slice_words(words, lo, w);
        for (i, x) in words.iter().enumerate() {
            let want = (x.to_u128() >> lo) & slvr_circuit::low_mask(w);
            assert_eq!(planes.element(i), want, "lo {lo} w {w} i {i}");
        }
        let mut masked = planes.clone();
        masked.mask_tail();
        assert!(planes == masked, "unused bits are zero");
        let back: Vec<u128> = planes.unslice();
        for (i, x) in back.iter().enumerate() {
            assert_eq!(*x, planes.element(i));
        }
        let low: Vec<T> = planes.unslice();
        for (i, x) in low.iter().enumerate() {
            assert!(*x == T::from_u128(planes.element(i)));
        }
    }

    proptest! {
        #[test]
        fn slicing_matches_shifts(
            words in proptest::collection::vec(any::<u128>(), 0..200),
            lo in 0u32..128, w in 1u32..=128,
        ) {
            check(&words, lo, w);
            let w64: Vec<u64> = words.iter().map(|&x| x as u64).collect();
            check(&w64, lo.min(63), w);
            let w8: Vec<u8> = words.iter().map(|&x| x as u8).collect();
            check(&w8, lo.min(7), w.min(8));
        }
    }

    #[test]
    fn large_tensors_take_the_parallel_path() {
        let words: Vec<u32> =
            (0..PARALLEL as u32 * 2 + 77).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
        check(&words, 3, 27);
    }

    #[test]
    fn from_words_checks_and_clears() {
        assert!(Planes::from_words(2, 65, vec![0; 3]).is_none());
        let p = Planes::from_words(2, 3, vec![u64::MAX; 2]).unwrap();
        assert_eq!(p.words(), [7, 7]);
    }
}
