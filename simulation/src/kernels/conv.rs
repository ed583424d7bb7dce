//! Convolutions of [`LANES`](super::LANES) images at a time, without copies of windows.
//!
//! Channels of the results are taken in blocks of up to [`BLOCK`]: what a pixel adds to them stays in registers while a
//! window is walked through. The gradient by the inputs is the same walk from pixels to windows. The gradient by the
//! weights goes row by row, so that what is read stays near.

use super::window::{Places, Window};
use super::{Lanes, versions};

/// Channels at a time: with AVX2, twice as many accumulators fit the registers.
const BLOCK: usize = 6;

/// Buffers of the passes.
#[derive(Default)]
pub struct Scratch {
    packed: Vec<f32>,
    turned: Vec<Lanes>,
    sums: Vec<Lanes>,
}

/// Calls the instance for a block of this size.
macro_rules! block {
    ($size:expr, $name:ident $args:tt) => {
        match $size {
            1 => $name::<1> $args,
            2 => $name::<2> $args,
            3 => $name::<3> $args,
            4 => $name::<4> $args,
            5 => $name::<5> $args,
            _ => $name::<BLOCK> $args,
        }
    };
}

/// Sizes of what is walked over: channels and width of the source, its area, the side of a window.
#[derive(Clone, Copy)]
struct Walk {
    channels: usize,
    width: usize,
    area: usize,
    k: usize,
}

versions! {
    /// y[o][p] += the sum over channels and entries of `packed[channel][entry][o]` times what the entry meets in x.
    fn walk<FUSED, O>(
        x: &[Lanes], walk: Walk, places: &[Places; 2], packed: &[[f32; O]], y: &mut [Lanes],
    ) {
        let [rows, columns] = places;
        let (entries, area) = (walk.k * walk.k, rows.len() * columns.len());
        for (oy, rows) in rows.iter().enumerate() {
            for (ox, columns) in columns.iter().enumerate() {
                let at = oy * places[1].len() + ox;
                let mut sums = [Lanes::default(); O];
                for (o, sum) in sums.iter_mut().enumerate() {
                    *sum = y[o * area + at];
                }
                for channel in 0..walk.channels {
                    let plane = &x[channel * walk.area..][..walk.area];
                    let weights = &packed[channel * entries..][..entries];
                    for &(ky, iy) in rows {
                        let line = &plane[iy * walk.width..][..walk.width];
                        let weights = &weights[ky * walk.k..][..walk.k];
                        for &(kx, ix) in columns {
                            let (x, w) = (&line[ix], &weights[kx]);
                            for o in 0..O {
                                sums[o].add_product::<FUSED>(w[o], x);
                            }
                        }
                    }
                }
                for (o, sum) in sums.iter().enumerate() {
                    y[o * area + at] = *sum;
                }
            }
        }
    }
}

versions! {
    /// sums[channel][entry][o] += the sum over windows of dy[o] times what the entry meets in x; `dy` has the block's
    /// channels beside each other.
    fn meet<FUSED, O>(x: &[Lanes], window: &Window, dy: &[[Lanes; O]], sums: &mut [[Lanes; O]]) {
        let (k, area) = (window.k, window.h * window.w);
        for (oy, rows) in window.to_pixels[0].iter().enumerate() {
            let dy = &dy[oy * window.ow..][..window.ow];
            for (channel, plane) in x.chunks_exact(area).enumerate() {
                for &(ky, iy) in rows {
                    let line = &plane[iy * window.w..][..window.w];
                    let sums = &mut sums[(channel * k + ky) * k..][..k];
                    for (kept, met) in sums.iter_mut().zip(&window.across) {
                        let mut sums = *kept;
                        for &(ox, ix) in met {
                            let (x, dy) = (&line[ix], &dy[ox]);
                            for o in 0..O {
                                sums[o].add_products::<FUSED>(x, &dy[o]);
                            }
                        }
                        *kept = sums;
                    }
                }
            }
        }
    }
}

/// A block of channels of the results.
fn walk_block<const O: usize>(
    x: &[Lanes],
    sizes: Walk,
    places: &[Places; 2],
    scratch: &mut Scratch,
    weight: impl Fn(usize, usize, usize) -> f32,
    y: &mut [Lanes],
) {
    let entries = sizes.k * sizes.k;
    scratch.packed.clear();
    for channel in 0..sizes.channels {
        for entry in 0..entries {
            scratch.packed.extend((0..O).map(|o| weight(o, channel, entry)));
        }
    }
    walk::<O>(x, sizes, places, scratch.packed.as_chunks().0, y);
}

/// Adds to y, `[out, oh, ow]`, the convolution of x, `[C, H, W]`, with the weights, `[out, C / groups, k, k]`.
pub fn convolve(
    window: &Window,
    weights: &[f32],
    x: &[Lanes],
    y: &mut [Lanes],
    scratch: &mut Scratch,
) {
    let (area, out_area, depth) = (window.h * window.w, window.area(), window.depth());
    let (channels, entries) = (window.c / window.groups, window.k * window.k);
    let out = y.len() / out_area / window.groups;
    let sizes = Walk { channels, width: window.w, area, k: window.k };
    for group in 0..window.groups {
        let x = &x[group * channels * area..][..channels * area];
        let y = &mut y[group * out * out_area..][..out * out_area];
        let weights = &weights[group * out * depth..][..out * depth];
        for (first, y) in (0..out).step_by(BLOCK).zip(y.chunks_mut(BLOCK * out_area)) {
            let weight =
                |o: usize, c: usize, e: usize| weights[(first + o) * depth + c * entries + e];
            block!(y.len() / out_area, walk_block(x, sizes, &window.to_pixels, scratch, weight, y));
        }
    }
}

/// Adds to dx the gradient by the inputs.
pub fn add_inputs(
    window: &Window,
    weights: &[f32],
    dy: &[Lanes],
    dx: &mut [Lanes],
    scratch: &mut Scratch,
) {
    let (area, out_area, depth) = (window.h * window.w, window.area(), window.depth());
    let (channels, entries) = (window.c / window.groups, window.k * window.k);
    let out = dy.len() / out_area / window.groups;
    let sizes = Walk { channels: out, width: window.ow, area: out_area, k: window.k };
    for group in 0..window.groups {
        let dy = &dy[group * out * out_area..][..out * out_area];
        let dx = &mut dx[group * channels * area..][..channels * area];
        let weights = &weights[group * out * depth..][..out * depth];
        for (first, dx) in (0..channels).step_by(BLOCK).zip(dx.chunks_mut(BLOCK * area)) {
            let weight =
                |c: usize, o: usize, e: usize| weights[o * depth + (first + c) * entries + e];
            block!(dx.len() / area, walk_block(dy, sizes, &window.to_windows, scratch, weight, dx));
        }
    }
}

/// A block of channels of the results.
fn meet_block<const O: usize>(
    window: &Window,
    x: &[Lanes],
    dy: &[Lanes],
    scratch: &mut Scratch,
    dw: &mut [f32],
) {
    let (area, depth) = (window.area(), window.depth());
    let Scratch { turned, sums, .. } = scratch;
    turned.resize(area * O, Lanes::default());
    for (o, plane) in dy.chunks_exact(area).enumerate() {
        turned.iter_mut().skip(o).step_by(O).zip(plane).for_each(|(turned, d)| *turned = *d);
    }
    sums.clear();
    sums.resize(depth * O, Lanes::default());
    meet::<O>(x, window, turned.as_chunks().0, sums.as_chunks_mut().0);
    for (at, sums) in sums.as_chunks::<O>().0.iter().enumerate() {
        for (o, sum) in sums.iter().enumerate() {
            dw[o * depth + at] += sum.sum();
        }
    }
}

/// Adds to dw the gradient by the weights.
pub fn add_weights(
    window: &Window,
    x: &[Lanes],
    dy: &[Lanes],
    dw: &mut [f32],
    scratch: &mut Scratch,
) {
    let (area, out_area, depth) = (window.h * window.w, window.area(), window.depth());
    let channels = window.c / window.groups;
    let out = dy.len() / out_area / window.groups;
    for group in 0..window.groups {
        let x = &x[group * channels * area..][..channels * area];
        let dy = &dy[group * out * out_area..][..out * out_area];
        let dw = &mut dw[group * out * depth..][..out * depth];
        for (dy, dw) in dy.chunks(BLOCK * out_area).zip(dw.chunks_mut(BLOCK * depth)) {
            block!(dy.len() / out_area, meet_block(window, x, dy, scratch, dw));
        }
    }
}
