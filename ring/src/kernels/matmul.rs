//! Batched matrix product: which loop fits the shape, and what is spread over threads.

use super::dims::{MatMulDims, SERIAL};
use super::gemm::{Keep, Left, Matrix, Part, Right, columns, gemm};
use crate::simd::{self, Isa, Kernel, with_kernel};
use crate::{PARALLEL, Word, Words, threads};
use std::ops::Range;

pub(super) fn run<T: Keep>(out: &mut [T], a: &[T], b: &[T], d: MatMulDims, isa: Isa) {
    let (ma, mb, mc) = (d.m * d.k, d.k * d.n, d.m * d.n);
    if mc == 0 || d.k == 0 {
        return;
    }
    let one = |(i, c): (usize, &mut [T]), threads: usize| {
        let a = if d.a_batched { &a[i * ma..(i + 1) * ma] } else { a };
        let b = if d.b_batched { &b[i * mb..(i + 1) * mb] } else { b };
        matrix(c, a, b, &d, threads, isa);
    };
    let threads = threads::count();
    if d.batch * mc * d.k < SERIAL {
        out.chunks_exact_mut(mc).enumerate().for_each(|x| one(x, 1));
    } else if d.batch >= threads {
        // So many at a time, of small matrices.
        let few = (SERIAL / 8 / (mc * d.k)).max(1);
        threads::each(out.chunks_mut(few * mc).enumerate(), &|(i, out)| {
            let each = out.chunks_exact_mut(mc).enumerate();
            each.for_each(|(j, c)| one((i * few + j, c), 1));
        });
    } else {
        out.chunks_exact_mut(mc).enumerate().for_each(|x| one(x, threads));
    }
}

/// c += a b for one batch, on at most so many threads.
fn matrix<T: Keep>(c: &mut [T], a: &[T], b: &[T], d: &MatMulDims, threads: usize, isa: Isa) {
    // With this few rows, or a single column, each element of b is used about once.
    let few = d.m < 4;
    if d.n == 1 || (few && d.trans_b) {
        dots(c, a, b, d, threads);
    } else if few {
        rows(c, a, b, d, threads);
    } else {
        with_kernel!(isa, T, kernel => blocked(kernel, c, a, b, d, threads));
    }
}

/// Both operands have contiguous sums: one dot product per element.
fn dots<T: Keep>(c: &mut [T], a: &[T], b: &[T], d: &MatMulDims, threads: usize) {
    let (k, n) = (d.k, d.n);
    let add = |(i, c): (usize, &mut T)| {
        let (a, b) = (&a[i / n * k..][..k], &b[i % n * k..][..k]);
        let sum = if threads == 1 || k < PARALLEL {
            simd::dot(a, b)
        } else {
            let parts = a.chunks(PARALLEL / 4).zip(b.chunks(PARALLEL / 4));
            total(&threads::map(parts, &|(a, b)| simd::dot(a, b)))
        };
        *c = c.wadd(sum);
    };
    if threads == 1 || k >= PARALLEL {
        c.iter_mut().enumerate().for_each(add);
    } else {
        let min = (SERIAL / 8 / k).max(1);
        threads::each(c.chunks_mut(min).enumerate(), &|(i, c)| {
            c.iter_mut().enumerate().for_each(|(j, c)| add((i * min + j, c)));
        });
    }
}

fn total<T: Word>(parts: &[T]) -> T {
    parts.iter().copied().fold(T::ZERO, T::wadd)
}

/// As [`super::squares`].
pub(super) fn squares<T: Word>(a: &[T], b: &[T], rows: usize) -> Words {
    let d = a.len() / rows.max(1);
    assert!(a.len() == b.len() && d * rows == a.len(), "rows of one length");
    let part = PARALLEL / 4;
    // All parts of all rows, then the sums of each row's.
    let parts = d.div_ceil(part);
    let one = |i: usize| {
        let (row, start) = (i / parts * d, i % parts * part);
        let range = row + start..row + (start + part).min(d);
        simd::square(&a[range.clone()], &b[range])
    };
    let all = threads::map(0..rows * parts, &one);
    T::wrap((0..rows).map(|i| total(&all[i * parts..(i + 1) * parts])).collect())
}

/// Few rows and b `[K, N]`: sums of scaled rows of b, a piece of the result at a time.
fn rows<T: Keep>(c: &mut [T], a: &[T], b: &[T], d: &MatMulDims, threads: usize) {
    const PIECE: usize = 2048;
    let (k, n) = (d.k, d.n);
    for (c, a) in c.chunks_exact_mut(n).zip(a.chunks_exact(k)) {
        let piece = |(i, c): (usize, &mut [T])| {
            for (&x, b) in a.iter().zip(b.chunks_exact(n)) {
                simd::axpy(c, x, &b[i * PIECE..][..c.len()]);
            }
        };
        if threads == 1 {
            c.chunks_mut(PIECE).enumerate().for_each(piece);
        } else {
            threads::each(c.chunks_mut(PIECE).enumerate(), &piece);
        }
    }
}

fn blocked<T: Keep, K: Kernel<T>>(
    kernel: K,
    c: &mut [T],
    a: &[T],
    b: &[T],
    d: &MatMulDims,
    threads: usize,
) {
    let (m, k, n) = (d.m, d.k, d.n);
    let right = Columns { b, d };
    // Rows of a, sums and columns.
    let product = |c: &mut [T], stride: usize, a: &[T], ks: Range<usize>, cols: Range<usize>| {
        let left = Left { data: a, stride: k, rows: a.len() / k };
        let first = cols.start;
        let mut out = Matrix { data: c, stride, first };
        T::with_scratch(|scratch| gemm(kernel, &mut out, left, &right, ks, cols, scratch));
    };
    if threads == 1 {
        product(c, n, a, 0..k, 0..n);
    } else if m >= threads * 16 * K::MR || (n < 2 * columns::<T>() && k < PARALLEL / 16) {
        // Rows apart: each thread packs all of b again, which enough rows pay for.
        let part = m.div_ceil(threads).next_multiple_of(K::MR);
        let parts = c.chunks_mut(part * n).zip(a.chunks(part * k));
        threads::each(parts, &|(c, a)| product(c, n, a, 0..k, 0..n));
    } else if k >= PARALLEL / 16 && m * n <= PARALLEL {
        // A small result of long sums (distances of models): parts of the sums apart.
        let part = k.div_ceil(threads);
        let parts = threads::map(0..k.div_ceil(part), &|i| {
            let mut c = vec![T::ZERO; m * n];
            product(&mut c, n, a, i * part..((i + 1) * part).min(k), 0..n);
            c
        });
        for part in parts {
            c.iter_mut().zip(part).for_each(|(c, x)| *c = c.wadd(x));
        }
    } else {
        // Columns apart; a part of the columns is not contiguous in c, so it is computed aside.
        let part = n.div_ceil(threads).next_multiple_of(K::NR);
        let parts = threads::map(0..n.div_ceil(part), &|i| {
            let cols = i * part..((i + 1) * part).min(n);
            let mut c = vec![T::ZERO; m * cols.len()];
            product(&mut c, cols.len(), a, 0..k, cols);
            c
        });
        for (i, x) in parts.iter().enumerate() {
            let nb = part.min(n - i * part);
            for (c, x) in c.chunks_exact_mut(n).zip(x.chunks_exact(nb)) {
                c[i * part..][..nb].iter_mut().zip(x).for_each(|(c, &x)| *c = c.wadd(x));
            }
        }
    }
}

/// Rows of the left operand up to which the right one is read in place.
const IN_PLACE: usize = 32;

/// The right operand.
struct Columns<'a, T> {
    b: &'a [T],
    d: &'a MatMulDims,
}

impl<T: Keep> Right<T> for Columns<'_, T> {
    fn pack(&self, nr: usize, p: Part, block: &mut [T]) {
        let (b, d) = (self.b, self.d);
        if d.trans_b {
            for (panel, j) in block.chunks_exact_mut(p.kc * nr).zip((0..p.nb).step_by(nr)) {
                let nc = nr.min(p.nb - j);
                let from = &b[(p.j0 + j) * d.k + p.k0..];
                simd::interleave(panel, nr, nc, from, d.k, p.kc);
            }
        } else {
            // Along the rows, as they lie in memory.
            for i in 0..p.kc {
                let row = &b[(p.k0 + i) * d.n + p.j0..][..p.nb];
                simd::spread(&mut block[i * nr..], p.kc * nr, nr, row);
            }
        }
    }

    fn rows(&self, left: usize) -> Option<(&[T], usize)> {
        (left <= IN_PLACE && !self.d.trans_b).then_some((self.b, self.d.n))
    }
}
