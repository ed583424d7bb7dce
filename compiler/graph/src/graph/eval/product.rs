//! Matrix products, convolution and pooling. Threads share out results; no sum is split among
//! them, so the order of additions, which decides the last bits of an `f64`, is fixed.

use super::walk::inside;
use super::word::Word;
use crate::graph::Conv;
use rayon::prelude::*;

/// Independent partial sums of an inner product, so that additions need not wait for each other.
const LANES: usize = 8;

fn dot<W: Word>(a: &[W], b: &[W]) -> W {
    let mut sums = [W::ZERO; LANES];
    let (mut left, mut right) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    for (x, y) in left.by_ref().zip(right.by_ref()) {
        for (sum, (&x, &y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *sum = sum.add(x.mul(y));
        }
    }
    let rest = left.remainder().iter().zip(right.remainder());
    let rest = rest.fold(W::ZERO, |sum, (&x, &y)| sum.add(x.mul(y)));
    sums.iter().fold(rest, |sum, &x| sum.add(x))
}

fn add_scaled<W: Word>(to: &mut [W], factor: W, x: &[W]) {
    for (to, &x) in to.iter_mut().zip(x) {
        *to = to.add(factor.mul(x));
    }
}

/// `[B, M, K] * [B, K, N]`, or `[B, N, K]` with `trans_b`; a batch of 1 is repeated.
pub(super) fn matmul<W: Word>(
    (a, a_shape): (&[W], &[usize]),
    (b, b_shape): (&[W], &[usize]),
    out_shape: &[usize],
    trans_b: bool,
) -> Vec<W> {
    let (m, k, n) = (out_shape[1], a_shape[2], out_shape[2]);
    let mut out = vec![W::ZERO; out_shape.iter().product()];
    if out.is_empty() || k == 0 {
        return out;
    }
    out.par_chunks_mut(n).enumerate().with_min_len(1 + 4096 / (n * k)).for_each(|(i, out)| {
        let (batch, row) = (i / m, i % m);
        let a_row = (if a_shape[0] == 1 { 0 } else { batch * m } + row) * k;
        let a = &a[a_row..a_row + k];
        let b_at = if b_shape[0] == 1 { 0 } else { batch * n * k };
        let b = &b[b_at..b_at + n * k];
        if trans_b {
            out.iter_mut().zip(b.chunks_exact(k)).for_each(|(out, b)| *out = dot(a, b));
        } else {
            a.iter().zip(b.chunks_exact(n)).for_each(|(&a, b)| add_scaled(out, a, b));
        }
    });
    out
}

/// The axes of an operand or of the result of a convolution.
pub fn conv_axes(shape: &[usize]) -> [usize; 5] {
    shape.try_into().expect("a convolution is of five axes, which `verify` has looked at")
}

/// x `[G, N, C, H, W]`, w `[G, O, C / groups, h, w]` -> `out_shape` `[G, N, O, H', W']`; a G of 1 is repeated.
pub(super) fn conv2d<W: Word>(
    (x, x_shape): (&[W], &[usize]),
    (w, w_shape): (&[W], &[usize]),
    out_shape: &[usize],
    conv: Conv,
) -> Vec<W> {
    let [stride, pad, dilation, groups] =
        [conv.stride, conv.pad, conv.dilation, conv.groups].map(|n| n as usize);
    let [_, images, outs, out_h, out_w] = conv_axes(out_shape);
    let [xg, _, channels, height, width] = conv_axes(x_shape);
    let [wg, _, depth, kh, kw] = conv_axes(w_shape);
    let mut out = vec![W::ZERO; out_shape.iter().product()];
    if out.is_empty() {
        return out;
    }
    out.par_chunks_mut(out_h * out_w).enumerate().for_each(|(plane, out)| {
        let (g, image, o) = (plane / outs / images, plane / outs % images, plane % outs);
        let image = if xg == 1 { image } else { g * images + image };
        let kernel = if wg == 1 { o } else { g * outs + o };
        // Of the image's channels, those of the same group.
        let first = image * channels + o / (outs / groups) * depth;
        for c in 0..depth {
            let x = &x[(first + c) * height * width..][..height * width];
            let w = &w[(kernel * depth + c) * kh * kw..][..kh * kw];
            for (ky, w) in w.chunks_exact(kw.max(1)).enumerate() {
                let ky = ky * dilation;
                let rows = inside(ky, [stride, pad], height, out_h);
                for (kx, &w) in w.iter().enumerate() {
                    let kx = kx * dilation;
                    let cols = inside(kx, [stride, pad], width, out_w);
                    if cols.is_empty() {
                        continue;
                    }
                    for oy in rows.clone() {
                        let x = &x[(oy * stride + ky - pad) * width..][..width];
                        let x = &x[cols.start * stride + kx - pad..];
                        let out = &mut out[oy * out_w..][cols.clone()];
                        if stride == 1 {
                            add_scaled(out, w, x);
                        } else {
                            let x = x.iter().step_by(stride);
                            out.iter_mut().zip(x).for_each(|(o, &x)| *o = o.add(w.mul(x)));
                        }
                    }
                }
            }
        }
    });
    out
}

/// Largest of each k x k window of planes of h x w, `stride` apart.
pub(super) fn max_pool<W: Word>(
    x: &[W],
    (height, width): (usize, usize),
    (out_h, out_w): (usize, usize),
    k: usize,
    stride: usize,
) -> Vec<W> {
    let planes = x.chunks_exact((height * width).max(1));
    let mut out = Vec::with_capacity(planes.len() * out_h * out_w);
    for plane in planes {
        for (oy, ox) in (0..out_h).flat_map(|y| (0..out_w).map(move |x| (y, x))) {
            let first = oy * stride * width + ox * stride;
            let rows = (0..k).map(|y| &plane[first + y * width..][..k]);
            out.push(rows.flatten().fold(plane[first], |best, &x| best.max(x)));
        }
    }
    out
}
