//! The layers that have weights: what they make of images side by side, and their derivatives.

use crate::kernels::{self, LANES, Lanes, Scratch, Window, flat_mut, matrix};
use crate::number::{Matrix, Number};
use std::ops::Range;

/// The operand of a layer, and where the derivative by it goes: that by the images is nobody's.
pub(super) type Operand<'a> = (&'a [Lanes], Option<&'a mut [Lanes]>);

/// A convolution.
#[derive(Clone, Debug)]
pub(super) struct Conv {
    pub(super) weight: Range<usize>,
    pub(super) bias: Option<Range<usize>>,
    pub(super) window: Window,
}

impl Conv {
    pub(super) fn forward(
        &self,
        weights: &[f32],
        x: &[Lanes],
        y: &mut [Lanes],
        scratch: &mut Scratch,
    ) {
        fill_rows(y, self.window.area(), &self.bias, weights);
        kernels::convolve(&self.window, &weights[self.weight.clone()], x, y, scratch);
    }

    /// Adds the derivatives by the weights, the biases and the operand.
    pub(super) fn back(
        &self,
        weights: &[f32],
        (x, dx): Operand<'_>,
        dy: &[Lanes],
        gradient: &mut [f32],
        scratch: &mut Scratch,
    ) {
        let Conv { weight, bias, window } = self;
        kernels::add_weights(window, x, dy, &mut gradient[weight.clone()], scratch);
        add_rows(dy, window.area(), bias, gradient);
        if let Some(dx) = dx {
            kernels::add_inputs(window, &weights[weight.clone()], dy, dx, scratch);
        }
    }
}

/// A linear layer.
#[derive(Clone, Debug)]
pub(super) struct Linear {
    pub(super) weight: Range<usize>,
    pub(super) bias: Option<Range<usize>>,
    /// Length of the operand.
    pub(super) inputs: usize,
}

impl Linear {
    pub(super) fn forward(&self, weights: &[f32], x: &[Lanes], y: &mut [Lanes]) {
        fill_rows(y, 1, &self.bias, weights);
        let w = Matrix::new(&weights[self.weight.clone()], self.inputs);
        f32::gemm([y.len(), self.inputs, LANES], w, matrix(x), 1.0, flat_mut(y));
    }

    /// Adds the derivatives by the weights, the biases and the operand, of so many images.
    pub(super) fn back(
        &self,
        weights: &[f32],
        (x, dx): Operand<'_>,
        (dy, images): (&[Lanes], usize),
        gradient: &mut [f32],
    ) {
        let Linear { weight, bias, inputs } = self;
        let (out, by) = (dy.len(), matrix(dy));
        let dw = &mut gradient[weight.clone()];
        f32::gemm([out, images, *inputs], by, matrix(x).transposed(), 1.0, dw);
        add_rows(dy, 1, bias, gradient);
        if let Some(dx) = dx {
            let w = Matrix::new(&weights[weight.clone()], *inputs).transposed();
            f32::gemm([*inputs, out, LANES], w, by, 1.0, flat_mut(dx));
        }
    }
}

/// A normalisation; of each parameter where it begins.
#[derive(Clone, Debug)]
pub(super) struct Norm {
    pub(super) weight: usize,
    pub(super) bias: usize,
    pub(super) mean: usize,
    pub(super) var: usize,
    pub(super) eps: f32,
    pub(super) channels: usize,
}

impl Norm {
    fn deviation(&self, weights: &[f32], channel: usize) -> f32 {
        (weights[self.var + channel] + self.eps).sqrt()
    }

    /// Where the entries of a channel are among so many.
    fn row(&self, channel: usize, entries: usize) -> Range<usize> {
        let area = entries / self.channels;
        channel * area..(channel + 1) * area
    }

    pub(super) fn forward(&self, weights: &[f32], x: &[Lanes], y: &mut [Lanes]) {
        for c in 0..self.channels {
            let slope = weights[self.weight + c] / self.deviation(weights, c);
            let shift = weights[self.bias + c] - weights[self.mean + c] * slope;
            let row = self.row(c, x.len());
            for (y, x) in y[row.clone()].iter_mut().zip(&x[row]) {
                *y = Lanes(x.0.map(|x| x * slope + shift));
            }
        }
    }

    /// Adds the derivatives by the scale, the shift and the operand; mean and variance are constants.
    pub(super) fn back(
        &self,
        weights: &[f32],
        (xs, dxs): (&[Lanes], &mut [Lanes]),
        dy: &[Lanes],
        gradient: &mut [f32],
    ) {
        for c in 0..self.channels {
            let (mean, deviation) = (weights[self.mean + c], self.deviation(weights, c));
            let slope = weights[self.weight + c] / deviation;
            let row = self.row(c, xs.len());
            let (mut by_scale, mut by_shift) = (Lanes::default(), Lanes::default());
            let pairs = xs[row.clone()].iter().zip(&mut dxs[row.clone()]);
            for (d, (x, dx)) in dy[row].iter().zip(pairs) {
                for lane in 0..LANES {
                    by_scale.0[lane] += d.0[lane] * (x.0[lane] - mean);
                    by_shift.0[lane] += d.0[lane];
                    dx.0[lane] += d.0[lane] * slope;
                }
            }
            gradient[self.weight + c] += by_scale.sum() / deviation;
            gradient[self.bias + c] += by_shift.sum();
        }
    }
}

/// Each row set to its bias, or to zero.
fn fill_rows(y: &mut [Lanes], width: usize, bias: &Option<Range<usize>>, weights: &[f32]) {
    match bias {
        Some(bias) => {
            let rows = y.chunks_exact_mut(width.max(1));
            rows.zip(&weights[bias.clone()]).for_each(|(row, b)| row.fill(Lanes::all(*b)));
        }
        None => y.fill(Lanes::default()),
    }
}

/// The sum of each row added to the gradient of its bias.
fn add_rows(dy: &[Lanes], width: usize, bias: &Option<Range<usize>>, gradient: &mut [f32]) {
    if let Some(bias) = bias {
        let rows = dy.chunks_exact(width.max(1));
        for (g, row) in gradient[bias.clone()].iter_mut().zip(rows) {
            let mut sum = Lanes::default();
            row.iter().for_each(|d| sum.add(d));
            *g += sum.sum();
        }
    }
}
