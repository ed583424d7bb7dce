//! One function of every element, on several threads where there are many.

use crate::{PARALLEL, Word, simd, threads};

/// Elements that a thread takes at a time.
const PART: usize = PARALLEL / 4;

/// a_i = f(a_i, b_i); the slices have equal lengths.
pub(super) fn zip_assign<T: Word>(a: &mut [T], b: &[T], f: impl Fn(T, T) -> T + Sync) {
    assert_eq!(a.len(), b.len(), "operands of different lengths");
    if a.len() < PARALLEL {
        simd::zip(a, b, &f);
    } else {
        threads::each(a.chunks_mut(PART).zip(b.chunks(PART)), &|(a, b)| simd::zip(a, b, &f));
    }
}

/// a_i = b_i; the slices have equal lengths.
pub(super) fn copy<T: Word>(a: &mut [T], b: &[T]) {
    if a.len() < PARALLEL {
        a.copy_from_slice(b);
    } else {
        threads::each(a.chunks_mut(PART).zip(b.chunks(PART)), &|(a, b)| a.copy_from_slice(b));
    }
}

pub(super) fn map_assign<T: Word>(a: &mut [T], f: impl Fn(T) -> T + Sync) {
    if a.len() < PARALLEL {
        simd::map(a, &f);
    } else {
        threads::each(a.chunks_mut(PART), &|a| simd::map(a, &f));
    }
}

/// The f(x) of all x, of another width.
pub(super) fn map_to<T: Word, U: Word>(a: &[T], f: impl Fn(T) -> U + Sync) -> Vec<U> {
    let mut out = vec![U::ZERO; a.len()];
    if a.len() < PARALLEL {
        simd::convert(&mut out, a, &f);
    } else {
        threads::each(out.chunks_mut(PART).zip(a.chunks(PART)), &|(o, a)| simd::convert(o, a, &f));
    }
    out
}
