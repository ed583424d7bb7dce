//! Batched matrix product: which loop fits the shape, and what is spread over threads.

use super::gemm::{Part, Scratch, Tile, gemm};
use super::{MatMulDims, SERIAL, simd};
use crate::ring::PARALLEL;
use rayon::prelude::*;

pub(super) fn run<T: Tile>(out: &mut [T], a: &[T], b: &[T], d: MatMulDims) {
    let (ma, mb, mc) = (d.m * d.k, d.k * d.n, d.m * d.n);
    if mc == 0 || d.k == 0 {
        return;
    }
    let one = |(i, c): (usize, &mut [T]), threads: usize| {
        let a = if d.a_batched { &a[i * ma..(i + 1) * ma] } else { a };
        let b = if d.b_batched { &b[i * mb..(i + 1) * mb] } else { b };
        matrix(c, a, b, &d, threads);
    };
    let threads = rayon::current_num_threads();
    if d.batch * mc * d.k < SERIAL {
        out.chunks_exact_mut(mc).enumerate().for_each(|x| one(x, 1));
    } else if d.batch >= threads {
        out.par_chunks_exact_mut(mc).enumerate().for_each(|x| one(x, 1));
    } else {
        out.chunks_exact_mut(mc).enumerate().for_each(|x| one(x, threads));
    }
}

/// c += a b for one batch, on at most so many threads.
fn matrix<T: Tile>(c: &mut [T], a: &[T], b: &[T], d: &MatMulDims, threads: usize) {
    // With this few rows, or a single column, packing b costs more than it brings.
    let few = d.m < T::MR;
    if d.n == 1 || (few && d.trans_b) {
        dots(c, a, b, d, threads);
    } else if few {
        rows(c, a, b, d, threads);
    } else {
        blocked(c, a, b, d, threads);
    }
}

/// Both operands have contiguous sums: one dot product per element.
fn dots<T: Tile>(c: &mut [T], a: &[T], b: &[T], d: &MatMulDims, threads: usize) {
    let (k, n) = (d.k, d.n);
    let add = |(i, c): (usize, &mut T)| {
        let (a, b) = (&a[i / n * k..][..k], &b[i % n * k..][..k]);
        let sum = if threads == 1 || k < PARALLEL {
            simd::dot(a, b)
        } else {
            let parts = a.par_chunks(PARALLEL / 4).zip(b.par_chunks(PARALLEL / 4));
            parts.map(|(a, b)| simd::dot(a, b)).reduce(|| T::ZERO, T::wadd)
        };
        *c = c.wadd(sum);
    };
    if threads == 1 || k >= PARALLEL {
        c.iter_mut().enumerate().for_each(add);
    } else {
        let min = (SERIAL / 8 / k).max(1);
        c.par_iter_mut().enumerate().with_min_len(min).for_each(add);
    }
}

/// Few rows and b `[K, N]`: sums of scaled rows of b, a piece of the result at a time.
fn rows<T: Tile>(c: &mut [T], a: &[T], b: &[T], d: &MatMulDims, threads: usize) {
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
            c.par_chunks_mut(PIECE).enumerate().for_each(piece);
        }
    }
}

fn blocked<T: Tile>(c: &mut [T], a: &[T], b: &[T], d: &MatMulDims, threads: usize) {
    let (m, k, n) = (d.m, d.k, d.n);
    let pack = |p: Part, block: &mut [T]| pack(p, block, b, d);
    if threads == 1 {
        gemm(c, n, a, k, 0..k, &mut Scratch::new(k, n), pack);
    } else if m >= threads * 16 * T::MR || (n < 2 * T::columns() && k < PARALLEL / 16) {
        // Rows apart: each thread packs all of b again, which enough rows pay for.
        let part = m.div_ceil(threads).next_multiple_of(T::MR);
        c.par_chunks_mut(part * n).zip(a.par_chunks(part * k)).for_each(|(c, a)| {
            gemm(c, n, a, k, 0..k, &mut Scratch::new(k, n), pack);
        });
    } else if k >= PARALLEL / 16 && m * n <= PARALLEL {
        // A small result of long sums (distances of models): parts of the sums apart.
        let part = k.div_ceil(threads);
        let parts: Vec<Vec<T>> = (0..k.div_ceil(part))
            .into_par_iter()
            .map(|i| {
                let mut c = vec![T::ZERO; m * n];
                let ks = i * part..((i + 1) * part).min(k);
                gemm(&mut c, n, a, k, ks, &mut Scratch::new(k, n), pack);
                c
            })
            .collect();
        for part in parts {
            c.iter_mut().zip(part).for_each(|(c, x)| *c = c.wadd(x));
        }
    } else {
        // Columns apart; a part of the columns is not contiguous in c, so it is computed aside.
        let part = n.div_ceil(threads).next_multiple_of(T::NR);
        let parts: Vec<Vec<T>> = (0..n.div_ceil(part))
            .into_par_iter()
            .map(|i| {
                let nb = part.min(n - i * part);
                let mut c = vec![T::ZERO; m * nb];
                gemm(&mut c, nb, a, k, 0..k, &mut Scratch::new(k, nb), |p, block| {
                    pack(Part { j0: p.j0 + i * part, ..p }, block);
                });
                c
            })
            .collect();
        for (i, x) in parts.iter().enumerate() {
            let nb = part.min(n - i * part);
            for (c, x) in c.chunks_exact_mut(n).zip(x.chunks_exact(nb)) {
                c[i * part..][..nb].iter_mut().zip(x).for_each(|(c, &x)| *c = c.wadd(x));
            }
        }
    }
}

fn pack<T: Tile>(p: Part, block: &mut [T], b: &[T], d: &MatMulDims) {
    for (panel, j0) in block.chunks_exact_mut(p.kc * T::NR).zip((0..p.nb).step_by(T::NR)) {
        let nr = T::NR.min(p.nb - j0);
        if d.trans_b {
            for j in 0..nr {
                let column = &b[(p.j0 + j0 + j) * d.k + p.k0..][..p.kc];
                for (row, &x) in panel.chunks_exact_mut(T::NR).zip(column) {
                    row[j] = x;
                }
            }
        } else {
            for (i, row) in panel.chunks_exact_mut(T::NR).enumerate() {
                row[..nr].copy_from_slice(&b[(p.k0 + i) * d.n + p.j0 + j0..][..nr]);
            }
        }
    }
}
