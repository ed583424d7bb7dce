//! Convolution as a matrix product: kernels `[O, C kh kw]` times the patches `[C kh kw, columns]` of
//! a group of images, whose columns are the output pixels of all of them.
//!
//! The patches are packed a block at a time. Images are first copied to have their padding around
//! them; then element (k, j) of the matrix of patches is at one offset for k plus one for j.
//!
//! With groups of channels there is such a product for each group of each image: images, kernels and
//! result all have the channels of a group one after another.

use super::dims::{ConvDims, SERIAL};
use super::gemm::{At, Keep, Left, Out, Part, Right, columns, gemm};
use crate::simd::{self, Isa, Kernel, with_kernel};
use crate::threads;

pub(super) fn run<T: Keep>(out: &mut [T], x: &[T], w: &[T], all: ConvDims, isa: Isa) {
    let (d, parts) = (all.of_group(), all.groups());
    let (pixels, k) = (d.out_h() * d.out_w(), d.c * d.kh * d.kw);
    if out.is_empty() || k == 0 {
        return;
    }
    let threads = if out.len() * k < SERIAL { 1 } else { threads::count() };
    // An image here is the part of one that is of one group of channels.
    let (images, one) = (d.n * parts, d.o * pixels);
    let total = d.g * images;
    // As many images as fill a block of columns, and some groups of them for each thread.
    let group = match parts {
        1 => (columns::<T>() / pixels).clamp(1, d.n.div_ceil(threads.div_ceil(d.g))),
        _ => 1,
    };
    let plan = Plan::new(&d, group);
    let convolve = |g: usize, n: usize, out: &mut [T], first: usize, rows: usize| {
        let (count, image) = (out.len() / (rows * pixels), d.c * d.h * d.w);
        let x = &x[(if d.x_batched { g * images } else { 0 } + n) * image..][..count * image];
        let kernels = if d.w_batched { g * all.o } else { 0 } + n % parts * d.o;
        let w = &w[(kernels + first) * k..][..rows * k];
        with_kernel!(isa, T, kernel => plan.convolve(kernel, out, x, w, rows));
    };
    if threads > 1 && total < threads {
        let part = d.o.div_ceil(threads).next_multiple_of(8);
        for (i, out) in out.chunks_exact_mut(one).enumerate() {
            threads::each(out.chunks_mut(part * pixels).enumerate(), &|(p, out)| {
                convolve(i / images, i % images, out, p * part, out.len() / pixels);
            });
        }
        return;
    }
    // The groups of one g, then those of the next.
    let groups: Vec<(usize, usize, &mut [T])> = out
        .chunks_exact_mut(images * one)
        .enumerate()
        .flat_map(|(g, out)| {
            out.chunks_mut(group * one).enumerate().map(move |(i, out)| (g, i * group, out))
        })
        .collect();
    if threads == 1 {
        groups.into_iter().for_each(|(g, n, out)| convolve(g, n, out, 0, d.o));
    } else {
        threads::each(groups.into_iter(), &|(g, n, out)| convolve(g, n, out, 0, d.o));
    }
}

/// What depends on the dimensions only.
struct Plan<'a> {
    d: &'a ConvDims,
    /// Where in the padded images each row of the matrix of patches starts.
    rows: Vec<usize>,
    /// What each column adds to that.
    cols: Vec<usize>,
    /// Columns that are neighbours also in the image: every so many.
    run: usize,
}

impl<'a> Plan<'a> {
    fn new(d: &'a ConvDims, images: usize) -> Self {
        let (h, w) = (d.h + 2 * d.pad(), d.w + 2 * d.pad());
        let rows = (0..d.c)
            .flat_map(|c| (0..d.kh).map(move |y| (c, y)))
            .flat_map(|(c, y)| {
                (0..d.kw).map(move |x| (c * h + y * d.dilation()) * w + x * d.dilation())
            })
            .collect();
        let cols = (0..images)
            .flat_map(|n| (0..d.out_h()).map(move |y| (n, y)))
            .flat_map(|(n, y)| {
                (0..d.out_w()).map(move |x| ((n * d.c * h) + y * d.stride()) * w + x * d.stride())
            })
            .collect();
        // A row of the result is a run; so are all of them under a kernel of one column.
        let run = if d.stride() == 1 {
            [32, 16, 8, 4, 2].into_iter().find(|&r| d.out_w().is_multiple_of(r)).unwrap_or(1)
        } else {
            1
        };
        Plan { d, rows, cols, run }
    }

    fn convolve<T: Keep, K: Kernel<T>>(
        &self,
        kernel: K,
        out: &mut [T],
        x: &[T],
        w: &[T],
        rows: usize,
    ) {
        let d = self.d;
        let (k, pixels) = (self.rows.len(), d.out_h() * d.out_w());
        let n = out.len() / rows;
        let mut padded = Vec::new();
        T::with_scratch(|scratch| {
            let x = if d.pad() == 0 {
                x
            } else {
                std::mem::swap(&mut padded, &mut scratch.image);
                self.pad(&mut padded, x);
                &padded
            };
            let b = Patches { plan: self, x };
            let a = Left { data: w, stride: k, rows };
            gemm(kernel, &mut Images { out, rows, pixels }, a, &b, 0..k, 0..n, scratch);
            if d.pad() > 0 {
                std::mem::swap(&mut padded, &mut scratch.image);
            }
        });
    }

    /// Images with zeros around them.
    fn pad<T: Keep>(&self, padded: &mut Vec<T>, x: &[T]) {
        let d = self.d;
        let (h, w) = (d.h + 2 * d.pad(), d.w + 2 * d.pad());
        padded.clear();
        if d.h * d.w == 0 {
            padded.resize(self.cols.len() / (d.out_h() * d.out_w()) * d.c * h * w, T::ZERO);
            return;
        }
        padded.reserve(x.len() / (d.h * d.w) * h * w);
        for channel in x.chunks_exact(d.h * d.w) {
            let start = padded.len();
            padded.resize(start + d.pad() * w + d.pad(), T::ZERO);
            for row in channel.chunks_exact(d.w) {
                padded.extend_from_slice(row);
                padded.resize(padded.len() + 2 * d.pad(), T::ZERO);
            }
            padded.resize(start + h * w, T::ZERO);
        }
    }
}

/// The matrix of patches.
struct Patches<'a, T> {
    plan: &'a Plan<'a>,
    /// Padded images.
    x: &'a [T],
}

impl<T: Keep> Right<T> for Patches<'_, T> {
    fn pack(&self, nr: usize, part: Part, block: &mut [T]) {
        let rows = &self.plan.rows[part.k0..part.k0 + part.kc];
        let cols = &self.plan.cols[part.j0..part.j0 + part.nb];
        for (panel, cols) in block.chunks_exact_mut(part.kc * nr).zip(cols.chunks(nr)) {
            let run = if cols.len() == nr { self.plan.run.min(nr) } else { 0 };
            // Runs start at multiples of their length only if the panel does.
            let run = if run == 0 || part.j0.is_multiple_of(run) { run } else { 1 };
            // Widths of a panel in each instruction set.
            match (run, nr) {
                (1, 4) => simd::runs::<T, 1, 4>(panel, self.x, rows, cols),
                (4, 4) => simd::runs::<T, 4, 1>(panel, self.x, rows, cols),
                (1, 8) => simd::runs::<T, 1, 8>(panel, self.x, rows, cols),
                (4, 8) => simd::runs::<T, 4, 2>(panel, self.x, rows, cols),
                (8, 8) => simd::runs::<T, 8, 1>(panel, self.x, rows, cols),
                (1, 16) => simd::runs::<T, 1, 16>(panel, self.x, rows, cols),
                (2, 16) => simd::runs::<T, 2, 8>(panel, self.x, rows, cols),
                (4, 16) => simd::runs::<T, 4, 4>(panel, self.x, rows, cols),
                (8, 16) => simd::runs::<T, 8, 2>(panel, self.x, rows, cols),
                (16, 16) => simd::runs::<T, 16, 1>(panel, self.x, rows, cols),
                (2, 32) => simd::runs::<T, 2, 16>(panel, self.x, rows, cols),
                (4, 32) => simd::runs::<T, 4, 8>(panel, self.x, rows, cols),
                (8, 32) => simd::runs::<T, 8, 4>(panel, self.x, rows, cols),
                (16, 32) => simd::runs::<T, 16, 2>(panel, self.x, rows, cols),
                (32, 32) => simd::runs::<T, 32, 1>(panel, self.x, rows, cols),
                _ => simd::pick(panel, nr, self.x, rows, cols),
            }
        }
    }
}

/// The result: `[image, row, pixel]`, the columns being pixels of one image after another.
struct Images<'a, T> {
    out: &'a mut [T],
    rows: usize,
    pixels: usize,
}

impl<T: Keep> Out<T> for Images<'_, T> {
    #[inline(always)]
    fn place(&mut self, at: At) -> Option<(&mut [T], usize)> {
        let (image, pixel) = (at.j0 / self.pixels, at.j0 % self.pixels);
        if pixel + at.nc > self.pixels {
            return None;
        }
        let first = (image * self.rows + at.i0) * self.pixels + pixel;
        Some((&mut self.out[first..], self.pixels))
    }

    #[inline(always)]
    fn add(&mut self, at: At, nr: usize, tile: &[T]) {
        let mut j = 0;
        while j < at.nc {
            let (image, pixel) = ((at.j0 + j) / self.pixels, (at.j0 + j) % self.pixels);
            let run = (self.pixels - pixel).min(at.nc - j);
            let first = (image * self.rows + at.i0) * self.pixels + pixel;
            for (i, row) in tile.chunks_exact(nr).enumerate().take(at.mr) {
                let out = &mut self.out[first + i * self.pixels..][..run];
                out.iter_mut().zip(&row[j..]).for_each(|(o, &x)| *o = o.wadd(x));
            }
            j += run;
        }
    }
}
