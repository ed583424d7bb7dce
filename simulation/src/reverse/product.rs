//! Matrix products and convolutions. Threads share out results; no sum is split among them.

use super::walk::{View, inside};
use crate::number::{Matrix, Number};
use rayon::prelude::*;
use slvr_compiler::graph::eval::conv_axes;
use slvr_compiler::types::Conv;

/// Which matrix of a batch: a batch of 1 is repeated.
fn of<T>(x: &[T], batches: usize, batch: usize, size: usize) -> &[T] {
    &x[if batches == 1 { 0 } else { batch * size }..][..size]
}

fn of_mut<T>(x: &mut [T], batches: usize, batch: usize, size: usize) -> &mut [T] {
    &mut x[if batches == 1 { 0 } else { batch * size }..][..size]
}

/// `[B, M, K] * [B, K, N]`, or `[B, N, K]` with `trans_b`.
pub(super) fn matmul<T: Number>(
    (a, sa): View<'_, T>,
    (b, sb): View<'_, T>,
    to: &[usize],
    trans_b: bool,
) -> Vec<T> {
    let (m, k, n) = (to[1], sa[2], to[2]);
    let mut out = vec![T::ZERO; to.iter().product()];
    if out.is_empty() || k == 0 {
        return out;
    }
    out.par_chunks_mut(m * n).enumerate().for_each(|(g, out)| {
        let a = Matrix::new(of(a, sa[0], g, m * k), k);
        let b = of(b, sb[0], g, k * n);
        let b = if trans_b { Matrix::new(b, k).transposed() } else { Matrix::new(b, n) };
        T::gemm([m, k, n], a, b, T::ZERO, out);
    });
    out
}

/// The derivatives of [`matmul`] added to those by its operands.
pub(super) fn matmul_back<T: Number>(
    (a, sa): View<'_, T>,
    (b, sb): View<'_, T>,
    (dy, to): View<'_, T>,
    trans_b: bool,
    [mut da, mut db]: [Option<&mut [T]>; 2],
) {
    let (m, k, n) = (to[1], sa[2], to[2]);
    if dy.is_empty() || k == 0 {
        return;
    }
    for (g, dy) in dy.chunks_exact(m * n).enumerate() {
        if let Some(da) = da.as_deref_mut() {
            let b = of(b, sb[0], g, k * n);
            let b = if trans_b { Matrix::new(b, k) } else { Matrix::new(b, n).transposed() };
            let da = of_mut(da, sa[0], g, m * k);
            T::gemm([m, n, k], Matrix::new(dy, n), b, T::ONE, da);
        }
        if let Some(db) = db.as_deref_mut() {
            let a = of(a, sa[0], g, m * k);
            let db = of_mut(db, sb[0], g, k * n);
            if trans_b {
                T::gemm([n, m, k], Matrix::new(dy, n).transposed(), Matrix::new(a, k), T::ONE, db);
            } else {
                T::gemm([k, m, n], Matrix::new(a, k).transposed(), Matrix::new(dy, n), T::ONE, db);
            }
        }
    }
}

/// The sizes of a convolution: x `[G, N, C, H, W]`, w `[G, O, C / groups, h, w]`, result `[G, N, O, H', W']`.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    conv: [usize; 4],
    batches: [usize; 2],
    images: usize,
    channels: usize,
    height: usize,
    width: usize,
    outs: usize,
    depth: usize,
    kernel: [usize; 2],
    to: [usize; 2],
}

impl Sizes {
    pub(super) fn new(x: &[usize], w: &[usize], to: &[usize], conv: Conv) -> Sizes {
        let [xg, _, channels, height, width] = conv_axes(x);
        let [wg, _, depth, kh, kw] = conv_axes(w);
        let [_, images, outs, oh, ow] = conv_axes(to);
        Sizes {
            conv: [conv.stride, conv.pad, conv.dilation, conv.groups].map(|n| n as usize),
            batches: [xg, wg],
            images,
            channels,
            height,
            width,
            outs,
            depth,
            kernel: [kh, kw],
            to: [oh, ow],
        }
    }

    fn area(&self) -> usize {
        self.to[0] * self.to[1]
    }

    /// Entries of a kernel of one channel of the result.
    fn window(&self) -> usize {
        self.depth * self.kernel[0] * self.kernel[1]
    }

    fn image(&self) -> usize {
        self.channels * self.height * self.width
    }

    /// Calls `run(row of the columns, place in the image, place in the row, length)` for what windows of a group of
    /// channels read of an image; entries of a run are a stride apart in the image.
    fn runs(&self, group: usize, mut run: impl FnMut(usize, usize, usize, usize)) {
        let [stride, pad, dilation, _] = self.conv;
        let [kh, kw] = self.kernel;
        for row in 0..self.window() {
            let (c, ky, kx) = (row / (kh * kw), row / kw % kh * dilation, row % kw * dilation);
            let c = group * self.depth + c;
            let xs = inside(kx, [stride, pad], self.width, self.to[1]);
            if xs.is_empty() {
                continue;
            }
            for oy in inside(ky, [stride, pad], self.height, self.to[0]) {
                let y = oy * stride + ky - pad;
                let from = (c * self.height + y) * self.width + xs.start * stride + kx - pad;
                run(row, from, oy * self.to[1] + xs.start, xs.len());
            }
        }
    }

    fn columns<T: Number>(&self, image: &[T], group: usize, columns: &mut Vec<T>) {
        let (area, stride) = (self.area(), self.conv[0]);
        columns.clear();
        columns.resize(self.window() * area, T::ZERO);
        self.runs(group, |row, from, to, len| {
            let to = &mut columns[row * area + to..][..len];
            let from = image[from..].iter().step_by(stride);
            to.iter_mut().zip(from).for_each(|(t, f)| *t = *f);
        });
    }
}

pub(super) fn conv2d<T: Number>(x: &[T], w: &[T], s: Sizes, len: usize) -> Vec<T> {
    let mut out = vec![T::ZERO; len];
    let (groups, area) = (s.conv[3], s.area());
    if out.is_empty() || s.window() == 0 {
        return out;
    }
    let each = s.outs / groups;
    out.par_chunks_mut(s.outs * area).enumerate().for_each_init(Vec::new, |columns, (at, out)| {
        let (g, n) = (at / s.images, at % s.images);
        let x = of(x, s.batches[0], g, s.images * s.image());
        let image = &x[n * s.image()..][..s.image()];
        let w = of(w, s.batches[1], g, s.outs * s.window());
        let parts = out.chunks_exact_mut(each * area).zip(w.chunks_exact(each * s.window()));
        for (group, (out, w)) in parts.enumerate() {
            s.columns(image, group, columns);
            let (w, columns) = (Matrix::new(w, s.window()), Matrix::new(columns.as_slice(), area));
            T::gemm([each, s.window(), area], w, columns, T::ZERO, out);
        }
    });
    out
}

/// The derivatives of [`conv2d`] added to those by its operands.
pub(super) fn conv2d_back<T: Number>(
    x: &[T],
    w: &[T],
    dy: &[T],
    s: Sizes,
    [mut dx, mut dw]: [Option<&mut [T]>; 2],
) {
    let (groups, area, window) = (s.conv[3], s.area(), s.window());
    if dy.is_empty() || window == 0 {
        return;
    }
    let each = s.outs / groups;
    let mut columns = Vec::new();
    for (at, dy) in dy.chunks_exact(s.outs * area).enumerate() {
        let (g, n) = (at / s.images, at % s.images);
        let image = |x: &[T]| {
            n * s.image() + if s.batches[0] == 1 { 0 } else { g * x.len() / s.batches[0] }
        };
        let kernels = s.outs * window;
        for (group, dy) in dy.chunks_exact(each * area).enumerate() {
            let part = group * each * window..(group + 1) * each * window;
            if let Some(dw) = dw.as_deref_mut() {
                s.columns(&x[image(x)..][..s.image()], group, &mut columns);
                let transposed = Matrix::new(columns.as_slice(), area).transposed();
                let dw = &mut of_mut(dw, s.batches[1], g, kernels)[part.clone()];
                T::gemm([each, area, window], Matrix::new(dy, area), transposed, T::ONE, dw);
            }
            if let Some(dx) = dx.as_deref_mut() {
                let w = &of(w, s.batches[1], g, kernels)[part];
                columns.resize(window * area, T::ZERO);
                let (w, dy) = (Matrix::new(w, window).transposed(), Matrix::new(dy, area));
                T::gemm([window, each, area], w, dy, T::ZERO, &mut columns);
                let start = image(dx);
                let dx = &mut dx[start..][..s.image()];
                s.runs(group, |row, from, to, len| {
                    let to = &columns[row * area + to..][..len];
                    let from = dx[from..].iter_mut().step_by(s.conv[0]);
                    from.zip(to).for_each(|(x, d)| *x += *d);
                });
            }
        }
    }
}
