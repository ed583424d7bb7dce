//! Convolution as a matrix product per image: kernels `[O, C kh kw]` times the image's patches
//! `[C kh kw, H' W']`, which are packed a block at a time.

use super::gemm::{Part, Scratch, Tile, gemm};
use super::{ConvDims, SERIAL};
use rayon::prelude::*;

pub(super) fn run<T: Tile>(out: &mut [T], x: &[T], w: &[T], d: ConvDims) {
    let (pixels, k) = (d.out_h() * d.out_w(), d.c * d.kh * d.kw);
    let (image, kernels) = (d.c * d.h * d.w, d.o * k);
    if out.is_empty() || k == 0 {
        return;
    }
    // Output channels of one image, from channel `first` on.
    let one = |i: usize, first: usize, c: &mut [T], s: &mut Scratch<T>| {
        let (g, n) = (i / d.n, i % d.n);
        let x = &x[(if d.x_batched { g * d.n } else { 0 } + n) * image..][..image];
        let w = &w[if d.w_batched { g } else { 0 } * kernels..][..kernels];
        gemm(c, pixels, &w[first * k..], k, 0..k, s, |p, block| pack(p, block, x, &d));
    };
    let scratch = || Scratch::new(k, pixels);
    let (images, threads) = (d.g * d.n, rayon::current_num_threads());
    if out.len() * k < SERIAL {
        let mut s = scratch();
        out.chunks_exact_mut(d.o * pixels).enumerate().for_each(|(i, c)| one(i, 0, c, &mut s));
    } else if images >= threads {
        let chunks = out.par_chunks_exact_mut(d.o * pixels).enumerate();
        chunks.for_each_init(scratch, |s, (i, c)| one(i, 0, c, s));
    } else {
        let part = d.o.div_ceil(threads).next_multiple_of(T::MR);
        for (i, image) in out.chunks_exact_mut(d.o * pixels).enumerate() {
            let parts = image.par_chunks_mut(part * pixels).enumerate();
            parts.for_each(|(p, c)| one(i, p * part, c, &mut scratch()));
        }
    }
}

/// Packs a block of the patch matrix; what falls on padding stays zero.
fn pack<T: Tile>(p: Part, block: &mut [T], x: &[T], d: &ConvDims) {
    let (ow, end) = (d.out_w(), p.j0 + p.nb);
    for row in 0..p.kc {
        let k = p.k0 + row;
        let (c, ky, kx) = (k / (d.kh * d.kw), k / d.kw % d.kh, k % d.kw);
        // The output columns whose input column ox stride + kx - pad is inside the image.
        let lo = d.pad.saturating_sub(kx).div_ceil(d.stride);
        let hi = (d.w + d.pad).saturating_sub(kx).div_ceil(d.stride);
        let mut j = p.j0;
        while j < end {
            let (oy, ox) = (j / ow, j % ow);
            let stop = ow.min(ox + end - j);
            let iy = oy * d.stride + ky;
            if iy >= d.pad && iy - d.pad < d.h {
                let line = &x[(c * d.h + iy - d.pad) * d.w..][..d.w];
                let (from, to) = (ox.max(lo), stop.min(hi));
                let mut at = from;
                // A panel at a time: its columns are contiguous.
                while at < to {
                    let column = j - p.j0 + at - ox;
                    let run = (T::NR - column % T::NR).min(to - at);
                    let dst = &mut block[p.at::<T>(row, column)..][..run];
                    let src = &line[at * d.stride + kx - d.pad..];
                    if d.stride == 1 {
                        dst.iter_mut().zip(src).for_each(|(o, &x)| *o = x);
                    } else {
                        let src = src.iter().step_by(d.stride);
                        dst.iter_mut().zip(src).for_each(|(o, &x)| *o = x);
                    }
                    at += run;
                }
            }
            j += stop - ox;
        }
    }
}
