//! Bit-sliced bits: plane j holds bit j of every element, 64 elements to a `u64`.

use super::bits::{self, mask64, slice64, unslice64};
use super::{PARALLEL, Word};
use rayon::prelude::*;
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

    /// Plane j.
    pub fn plane(&self, j: usize) -> &[u64] {
        let s = self.stride();
        &self.words[j * s..(j + 1) * s]
    }

    /// Plane j.
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

    /// Bits lo .. lo + w of each word; bits beyond a word's own are zero.
    pub fn slice_words<T: Word>(words: &[T], lo: u32, w: u32) -> Planes {
        let mut out = Planes::zeros(w, words.len());
        let stride = out.stride();
        if words.len() < PARALLEL {
            slice_chunk(words, lo, w, &mut out.words);
            return out;
        }
        // A plane is contiguous but a block of elements is not: slice chunks apart, then place them.
        let chunk = PARALLEL / 4;
        let pieces: Vec<Vec<u64>> = words
            .par_chunks(chunk)
            .map(|c| {
                let mut piece = vec![0; w as usize * c.len().div_ceil(64)];
                slice_chunk(c, lo, w, &mut piece);
                piece
            })
            .collect();
        for (p, piece) in pieces.iter().enumerate() {
            let len = piece.len() / (w as usize).max(1);
            for (j, from) in piece.chunks_exact(len.max(1)).enumerate() {
                let at = j * stride + p * chunk / 64;
                out.words[at..at + len].copy_from_slice(from);
            }
        }
        out
    }

    /// Each element's bits as a word; bits beyond the word's k are dropped.
    pub fn unslice<T: Word>(&self) -> Vec<T> {
        let mut out = vec![T::ZERO; self.n];
        if self.n < PARALLEL {
            self.unslice_chunk(0, &mut out);
        } else {
            let chunk = PARALLEL / 4;
            out.par_chunks_mut(chunk)
                .enumerate()
                .for_each(|(i, c)| self.unslice_chunk(i * chunk / 64, c));
        }
        out
    }

    fn unslice_chunk<T: Word>(&self, block: usize, out: &mut [T]) {
        for lo in (0..self.w.min(T::BITS)).step_by(64) {
            match self.w - lo {
                1 => self.unslice_half::<T, 1>(block, lo, out),
                2..=8 => self.unslice_half::<T, 8>(block, lo, out),
                9..=16 => self.unslice_half::<T, 16>(block, lo, out),
                17..=32 => self.unslice_half::<T, 32>(block, lo, out),
                _ => self.unslice_half::<T, 64>(block, lo, out),
            }
        }
    }

    fn unslice_half<T: Word, const R: usize>(&self, block: usize, lo: u32, out: &mut [T]) {
        let (stride, planes) = (self.stride(), R.min((self.w - lo) as usize));
        for (b, c) in out.chunks_mut(64).enumerate() {
            let mut rows = [0u64; R];
            for (j, row) in rows.iter_mut().enumerate().take(planes) {
                *row = self.words[(lo as usize + j) * stride + block + b];
            }
            unslice64::<R>(rows, |i, x| {
                if let Some(o) = c.get_mut(i) {
                    // The halves are disjoint; only words of 128 bits have an upper one.
                    let x = if lo == 0 { T::from_u64(x) } else { T::from_u128((x as u128) << lo) };
                    *o = o.wadd(x);
                }
            });
        }
    }
}

fn slice_chunk<T: Word>(words: &[T], lo: u32, w: u32, out: &mut [u64]) {
    for from in (0..w).step_by(64) {
        match w - from {
            1 => slice_half::<T, 1>(words, lo, from, w, out),
            2..=8 => slice_half::<T, 8>(words, lo, from, w, out),
            9..=16 => slice_half::<T, 16>(words, lo, from, w, out),
            17..=32 => slice_half::<T, 32>(words, lo, from, w, out),
            _ => slice_half::<T, 64>(words, lo, from, w, out),
        }
    }
}

/// Writes planes from .. from + R (those below w), which hold bits lo + from and up of the words.
fn slice_half<T: Word, const R: usize>(words: &[T], lo: u32, from: u32, w: u32, out: &mut [u64]) {
    let stride = words.len().div_ceil(64);
    let shift = lo.saturating_add(from);
    let planes = R.min((w - from) as usize);
    for (b, c) in words.chunks(64).enumerate() {
        let rows = match <&[T; 64]>::try_from(c) {
            Ok(c) => slice64::<R>(|i| c[i].shr(shift).to_u64()),
            Err(_) => slice64::<R>(|i| c.get(i).map_or(0, |x| x.shr(shift).to_u64())),
        };
        for (j, &row) in rows.iter().enumerate().take(planes) {
            out[(from as usize + j) * stride + b] = row;
        }
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
            let want = (x.to_u128() >> lo) & crate::ring::low_mask(w);
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
