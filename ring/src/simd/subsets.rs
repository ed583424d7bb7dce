//! Sums of vectors with coefficients 0 and 1, many such sums of the same vectors: four vectors have 16 sums of
//! subsets, and each of the sums takes one of these.

use super::versions;
use crate::Word;
use crate::galois::DEGREE;
use crate::grid::COLUMNS;

/// Words side by side.
pub(crate) const LANES: usize = 16;
/// Tables at a time.
pub(crate) const GROUPS: usize = 8;
/// Vectors at a time are four for each table.
const _: () = assert!(COLUMNS == 4 * GROUPS);

/// The sums of all subsets of each four vectors: scratch, of which the sums of no vector stay zero.
pub(crate) struct Tables<T>(Vec<[[T; LANES]; 16]>);

impl<T: Word> Default for Tables<T> {
    fn default() -> Self {
        Tables(vec![[[T::ZERO; LANES]; 16]; GROUPS])
    }
}

/// sums[i] += for each i the sum of the vectors x[t] whose bit is set in `picks[i]`, bit t % 4 of byte t / 4. Vector t
/// begins at word t `stride`.
pub(crate) fn add<T: Picked>(
    sums: &mut [[T; LANES]; DEGREE],
    x: &[T],
    stride: usize,
    picks: &Picks,
    tables: &mut Tables<T>,
) {
    if let Some(tables) = tables.0.first_chunk_mut::<GROUPS>() {
        tabled(tables, x, stride);
        T::add_picked(sums, tables, picks);
    }
}

/// For each row of the sums and each four vectors, which of them are added.
pub(crate) type Picks = [[u8; GROUPS]; DEGREE];

/// The sums of subsets.
pub(crate) type Subsets<T> = [[[T; LANES]; 16]; GROUPS];

versions! {
    fn tabled<[T] [T: Word]>(tables: &mut Subsets<T>, x: &[T], stride: usize) {
        for (table, from) in tables.iter_mut().zip((0..).step_by(4 * stride)) {
            for j in 0..4 {
                let Some(x) = x[from + j * stride..].first_chunk::<LANES>() else { return };
                for i in 0..1 << j {
                    for r in 0..LANES {
                        table[i | 1 << j][r] = table[i][r].wadd(x[r]);
                    }
                }
            }
        }
    }
}

/// Words of which picked sums are added.
pub trait Picked: Word {
    /// sums[i] += for each i the picked sum of each table.
    #[doc(hidden)]
    fn add_picked(sums: &mut [[Self; LANES]; DEGREE], tables: &Subsets<Self>, picks: &Picks);
}

impl Picked for u64 {
    fn add_picked(sums: &mut [[u64; LANES]; DEGREE], tables: &Subsets<u64>, picks: &Picks) {
        picked_words(sums, tables, picks);
    }
}

impl Picked for u128 {
    fn add_picked(sums: &mut [[u128; LANES]; DEGREE], tables: &Subsets<u128>, picks: &Picks) {
        picked(sums, tables, picks);
    }
}

/// By the definition, which the compiler makes vector instructions of where words are long.
fn picked<T: Word>(sums: &mut [[T; LANES]; DEGREE], tables: &Subsets<T>, picks: &Picks) {
    for (sum, picks) in sums.iter_mut().zip(picks) {
        for (table, &pick) in tables.iter().zip(picks) {
            let some = &table[usize::from(pick & 15)];
            sum.iter_mut().zip(some).for_each(|(sum, x)| *sum = sum.wadd(*x));
        }
    }
}

/// As [`picked`], of words of 64 bits. In vector instructions, because the compiler makes many sums at a time of it,
/// and gathers for them word by word what stands side by side.
fn picked_words(sums: &mut [[u64; LANES]; DEGREE], tables: &Subsets<u64>, picks: &Picks) {
    #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
    if crate::simd::Avx512::detect().is_some() {
        // SAFETY: the processor has the features that the function is compiled for.
        return unsafe { x86::wide(sums, tables, picks) };
    }
    #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
    if crate::simd::Avx2::detect().is_some() {
        // SAFETY: as above.
        return unsafe { x86::narrow(sums, tables, picks) };
    }
    picked(sums, tables, picks);
}

#[cfg(target_arch = "x86_64")]
#[cfg(any(feature = "avx2", feature = "avx512"))]
mod x86 {
    use super::{DEGREE, LANES, Picks, Subsets};
    use std::arch::x86_64::*;

    #[cfg(feature = "avx512")]
    #[target_feature(enable = "avx512f")]
    pub(super) fn wide(sums: &mut [[u64; LANES]; DEGREE], tables: &Subsets<u64>, picks: &Picks) {
        // SAFETY: it points to 16 words, and the loads need no alignment.
        let load = |x: &[u64; LANES]| unsafe {
            [0, 8].map(|i| _mm512_loadu_si512(x.as_ptr().add(i).cast()))
        };
        for (sum, picks) in sums.iter_mut().zip(picks) {
            let mut new = load(sum);
            for (table, &pick) in tables.iter().zip(picks) {
                let some = load(&table[usize::from(pick & 15)]);
                for (new, x) in new.iter_mut().zip(some) {
                    *new = _mm512_add_epi64(*new, x);
                }
            }
            for (sum, new) in sum.as_chunks_mut::<8>().0.iter_mut().zip(new) {
                // SAFETY: it points to eight words, and the store needs no alignment.
                unsafe { _mm512_storeu_si512(sum.as_mut_ptr().cast(), new) };
            }
        }
    }

    #[cfg(feature = "avx2")]
    #[target_feature(enable = "avx2")]
    pub(super) fn narrow(sums: &mut [[u64; LANES]; DEGREE], tables: &Subsets<u64>, picks: &Picks) {
        // SAFETY: it points to 16 words, and the loads need no alignment.
        let load = |x: &[u64; LANES]| unsafe {
            [0, 4, 8, 12].map(|i| _mm256_loadu_si256(x.as_ptr().add(i).cast()))
        };
        for (sum, picks) in sums.iter_mut().zip(picks) {
            let mut new = load(sum);
            for (table, &pick) in tables.iter().zip(picks) {
                let some = load(&table[usize::from(pick & 15)]);
                for (new, x) in new.iter_mut().zip(some) {
                    *new = _mm256_add_epi64(*new, x);
                }
            }
            for (sum, new) in sum.as_chunks_mut::<4>().0.iter_mut().zip(new) {
                // SAFETY: it points to four words, and the store needs no alignment.
                unsafe { _mm256_storeu_si256(sum.as_mut_ptr().cast(), new) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the definition, for every instruction set.
    #[test]
    fn every_path_adds_the_picked_vectors() {
        let mut next = crate::testing::words(7);
        let mut x = [[0u64; LANES]; COLUMNS];
        x.iter_mut().flatten().for_each(|x| *x = next());
        let mut sums = [[0u64; LANES]; DEGREE];
        sums.iter_mut().flatten().for_each(|x| *x = next());
        let mut picks = [[0; GROUPS]; DEGREE];
        picks.iter_mut().flatten().for_each(|x| *x = (next() >> 60) as u8);
        let mut want = sums;
        for (sum, picks) in want.iter_mut().zip(&picks) {
            for t in (0..COLUMNS).filter(|t| picks[t / 4] >> (t % 4) & 1 == 1) {
                sum.iter_mut().zip(&x[t]).for_each(|(sum, x)| *sum = sum.wrapping_add(*x));
            }
        }
        let mut found = sums;
        add(&mut found, x.as_flattened(), LANES, &picks, &mut Tables::default());
        assert_eq!(found, want);
        let mut tables = Tables::default();
        let tables = tables.0.first_chunk_mut::<GROUPS>().unwrap();
        tabled(tables, x.as_flattened(), LANES);
        let mut found = sums;
        picked(&mut found, tables, &picks);
        assert_eq!(found, want, "portable");
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        if crate::simd::Avx2::detect().is_some() {
            let mut found = sums;
            // SAFETY: the processor has the features that the function is compiled for.
            unsafe { x86::narrow(&mut found, tables, &picks) };
            assert_eq!(found, want, "AVX2");
        }
        let wide = |x: u64| u128::from(x) << 64 | u128::from(!x);
        let mut found = sums.map(|row| row.map(wide));
        let wide_x = x.map(|row| row.map(wide));
        add(&mut found, wide_x.as_flattened(), LANES, &picks, &mut Tables::default());
        for (sum, (before, picks)) in found.iter().zip(sums.iter().zip(&picks)) {
            let mut want = before.map(wide);
            for t in (0..COLUMNS).filter(|t| picks[t / 4] >> (t % 4) & 1 == 1) {
                want.iter_mut().zip(&x[t]).for_each(|(w, x)| *w = w.wrapping_add(wide(*x)));
            }
            assert_eq!(*sum, want, "128 bits");
        }
    }
}
