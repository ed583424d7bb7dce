//! Models on one input, by plain loops.

use super::EvalError;
use crate::types::Conv;
use crate::types::model::{Model, ParamId, StepId, StepKind};

const MALFORMED: EvalError = EvalError::Malformed("a model's shapes do not fit");

/// The model's output for one weight vector and one input.
pub(super) fn run(model: &Model, weights: &[f64], input: &[f64]) -> Result<Vec<f64>, EvalError> {
    let mut done: Vec<Vec<f64>> = Vec::with_capacity(model.steps.len());
    for (at, step) in model.steps.iter().enumerate() {
        let run = Run { model, weights, done: &done };
        let value = match &step.kind {
            StepKind::Input => input.to_vec(),
            StepKind::Conv2d { x, weight, bias, conv } => {
                run.conv(*x, &step.shape, *weight, *bias, *conv)?
            }
            StepKind::Linear { x, weight, bias } => run.linear(*x, *weight, *bias)?,
            StepKind::BatchNorm { x, weight, bias, mean, var, eps } => {
                let [scale, shift, mean, var] = [*weight, *bias, *mean, *var].map(|p| run.param(p));
                let (scale, shift, mean, var) = (scale?, shift?, mean?, var?);
                let x = run.value(*x)?;
                let plane = (x.len() / scale.len().max(1)).max(1);
                let one = |(i, x): (usize, &f64)| {
                    let c = i / plane;
                    (x - mean[c]) / (var[c].max(0.0) + eps).sqrt() * scale[c] + shift[c]
                };
                x.iter().enumerate().map(one).collect()
            }
            StepKind::Relu(x) => run.value(*x)?.iter().map(|x| x.max(0.0)).collect(),
            StepKind::AvgPool { x, k, stride } => {
                let area = (k * k) as f64;
                run.pool(*x, &step.shape, *k, *stride, 0.0, |a, b| a + b)?
                    .into_iter()
                    .map(|sum| sum / area)
                    .collect()
            }
            StepKind::MaxPool { x, k, stride } => {
                run.pool(*x, &step.shape, *k, *stride, f64::NEG_INFINITY, f64::max)?
            }
            StepKind::GlobalAvgPool(x) => {
                let x = run.value(*x)?;
                let plane = x.len() / step.shape.first().map_or(1, |c| *c as usize).max(1);
                let mean = |c: &[f64]| c.iter().sum::<f64>() / c.len() as f64;
                x.chunks(plane.max(1)).map(mean).collect()
            }
            StepKind::Flatten(x) => run.value(*x)?.to_vec(),
            StepKind::Add(x, y) => {
                run.value(*x)?.iter().zip(run.value(*y)?).map(|(x, y)| x + y).collect()
            }
        };
        if value.len() as u64 != step.shape.iter().product::<u64>() {
            return Err(MALFORMED);
        }
        done.push(value);
        debug_assert_eq!(done.len(), at + 1);
    }
    done.pop().ok_or(MALFORMED)
}

struct Run<'a> {
    model: &'a Model,
    weights: &'a [f64],
    done: &'a [Vec<f64>],
}

impl Run<'_> {
    fn value(&self, step: StepId) -> Result<&[f64], EvalError> {
        self.done.get(step).map(Vec::as_slice).ok_or(MALFORMED)
    }

    fn image(&self, step: StepId) -> Result<(&[f64], [usize; 3]), EvalError> {
        let shape = &self.model.steps.get(step).ok_or(MALFORMED)?.shape;
        match shape.as_slice() {
            &[c, h, w] => Ok((self.value(step)?, [c as usize, h as usize, w as usize])),
            _ => Err(MALFORMED),
        }
    }

    fn param(&self, p: ParamId) -> Result<&[f64], EvalError> {
        let p = self.model.params.get(p).ok_or(MALFORMED)?;
        let len = p.shape.iter().product::<u64>();
        let range = p.offset as usize..(p.offset + len) as usize;
        self.weights.get(range).ok_or(MALFORMED)
    }

    fn linear(
        &self,
        x: StepId,
        weight: ParamId,
        bias: Option<ParamId>,
    ) -> Result<Vec<f64>, EvalError> {
        let x = self.value(x)?;
        let rows = self.param(weight)?.chunks(x.len().max(1));
        let mut out: Vec<f64> =
            rows.map(|row| row.iter().zip(x).map(|(w, x)| w * x).sum()).collect();
        if let Some(bias) = bias {
            out.iter_mut().zip(self.param(bias)?).for_each(|(y, b)| *y += b);
        }
        Ok(out)
    }

    /// Row by row, so that the innermost loop runs over neighbours.
    fn conv(
        &self,
        x: StepId,
        out_shape: &[u64],
        weight: ParamId,
        bias: Option<ParamId>,
        conv: Conv,
    ) -> Result<Vec<f64>, EvalError> {
        let (stride, pad, dilation) = (conv.stride as i64, conv.pad as i64, conv.dilation as i64);
        let (x, [cin, h, w]) = self.image(x)?;
        let &[cout, oh, ow] = out_shape else { return Err(MALFORMED) };
        let (cout, oh, ow) = (cout as usize, oh as usize, ow as usize);
        let shape = &self.model.params.get(weight).ok_or(MALFORMED)?.shape;
        let &[_, channels, k, _] = shape.as_slice() else { return Err(MALFORMED) };
        let (k, channels) = (k as usize, channels as usize);
        if conv.kernel_channels(cin as u64, cout as u64) != Some(channels as u64) {
            return Err(MALFORMED);
        }
        let weight = self.param(weight)?;
        let mut out = vec![0.0; cout * oh * ow];
        for (o, plane) in out.chunks_mut(oh * ow).enumerate() {
            if let Some(bias) = bias {
                plane.fill(*self.param(bias)?.get(o).ok_or(MALFORMED)?);
            }
            // Of the image's channels, those of the same group.
            let first_channel = o / (cout / conv.groups as usize) * channels;
            for i in 0..channels {
                for ky in 0..k {
                    for kx in 0..k {
                        let factor =
                            *weight.get(((o * channels + i) * k + ky) * k + kx).ok_or(MALFORMED)?;
                        // Columns whose operand lies inside the image.
                        let shift = kx as i64 * dilation - pad;
                        let first = if shift < 0 { (-shift + stride - 1) / stride } else { 0 };
                        let last =
                            ((w as i64 - 1 - shift).div_euclid(stride) + 1).clamp(0, ow as i64);
                        if first >= last {
                            continue;
                        }
                        for y in 0..oh {
                            let row = y as i64 * stride + ky as i64 * dilation - pad;
                            if row < 0 || row >= h as i64 {
                                continue;
                            }
                            let start = ((first_channel + i) * h + row as usize) * w;
                            let from = (start as i64 + first * stride + shift) as usize;
                            let source = x.get(from..start + w).ok_or(MALFORMED)?;
                            let target = plane
                                .get_mut(y * ow + first as usize..y * ow + last as usize)
                                .ok_or(MALFORMED)?;
                            let stepped = source.iter().step_by(stride as usize);
                            target.iter_mut().zip(stepped).for_each(|(t, s)| *t += factor * s);
                        }
                    }
                }
            }
        }
        Ok(out)
    }

    fn pool(
        &self,
        x: StepId,
        out_shape: &[u64],
        k: u64,
        stride: u64,
        start: f64,
        f: impl Fn(f64, f64) -> f64,
    ) -> Result<Vec<f64>, EvalError> {
        let (x, [c, h, w]) = self.image(x)?;
        let &[_, oh, ow] = out_shape else { return Err(MALFORMED) };
        let (k, stride) = (k as usize, stride as usize);
        let mut out = Vec::with_capacity(c * (oh * ow) as usize);
        for plane in x.chunks(h * w) {
            for y in 0..oh as usize {
                for z in 0..ow as usize {
                    let mut value = start;
                    for row in y * stride..y * stride + k {
                        let from = row * w + z * stride;
                        for v in plane.get(from..from + k).ok_or(MALFORMED)? {
                            value = f(value, *v);
                        }
                    }
                    out.push(value);
                }
            }
        }
        Ok(out)
    }
}
