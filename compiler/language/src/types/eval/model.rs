//! Models on one input, and layers of the compiler, by plain loops.

use super::value::Value;
use super::{EvalError, Machine};
use crate::types::Conv;
use crate::types::domain;
use crate::types::layer::Layer;
use crate::types::model::{Model, Param};

type Result<T> = std::result::Result<T, EvalError>;

const MALFORMED: EvalError = EvalError::Malformed("a model's shapes do not fit");

impl Machine<'_> {
    /// The model's output for one weight vector and one input.
    pub(super) fn apply(&mut self, model: &Model, weights: &Value, input: Value) -> Result<Value> {
        self.set(model.x, input)?;
        for (var, param) in &model.read {
            self.set(*var, tensor(model, weights, *param)?)?;
        }
        self.body(&model.body)?.pop().ok_or(MALFORMED)
    }
}

fn tensor(model: &Model, weights: &Value, p: usize) -> Result<Value> {
    let Param { shape, offset, .. } = model.params.get(p).ok_or(MALFORMED)?;
    let part = Value {
        data: weights.data.clone(),
        start: weights.start + *offset as usize,
        shape: shape.clone(),
    };
    let inside = *offset as usize + part.len() <= weights.len();
    if inside { Ok(part) } else { Err(MALFORMED) }
}

/// What a layer makes of a value.
pub(super) fn layer(of: &Layer, x: &Value, params: &[Value], shape: &[u64]) -> Result<Value> {
    let param = |at: usize| params.get(at).map(Value::entries).ok_or(MALFORMED);
    let data: Vec<f64> = match of {
        Layer::Conv2d { conv, pad_w, bias, .. } => {
            let bias = if *bias { Some(param(1)?) } else { None };
            conv2d(x, params.first().ok_or(MALFORMED)?, bias, shape, *conv, *pad_w)?
        }
        Layer::Linear { inputs, bias, .. } => {
            let rows = param(0)?.chunks((*inputs as usize).max(1));
            let bias = if *bias { Some(param(1)?) } else { None };
            let mut out = Vec::new();
            for x in x.entries().chunks((*inputs as usize).max(1)) {
                let dot = |row: &[f64]| row.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
                let of_row = |(o, row): (usize, &[f64])| {
                    dot(row) + bias.and_then(|b| b.get(o)).copied().unwrap_or(0.0)
                };
                out.extend(rows.clone().enumerate().map(of_row));
            }
            out
        }
        Layer::BatchNorm { eps, .. } => {
            let (scale, shift, mean, var) = (param(0)?, param(1)?, param(2)?, param(3)?);
            let x = x.entries();
            let plane = (x.len() / scale.len().max(1)).max(1);
            let one = |(i, x): (usize, &f64)| {
                let c = i / plane;
                // Beside a variance and an eps of 0 the reciprocal is the largest there is.
                let inverse = domain::recip((var[c].max(0.0) + eps).sqrt());
                (x - mean[c]) * inverse * scale[c] + shift[c]
            };
            x.iter().enumerate().map(one).collect()
        }
        Layer::Relu => x.entries().iter().map(|x| x.max(0.0)).collect(),
        Layer::AvgPool { k, stride } => {
            let area = (k * k) as f64;
            let sums = pool(x, shape, *k, *stride, 0.0, |a, b| a + b)?;
            sums.into_iter().map(|sum| sum / area).collect()
        }
        Layer::MaxPool { k, stride } => pool(x, shape, *k, *stride, f64::NEG_INFINITY, f64::max)?,
        Layer::GlobalAvgPool => {
            let x = x.entries();
            let plane = x.len() / shape.first().map_or(1, |c| *c as usize).max(1);
            let mean = |c: &[f64]| c.iter().sum::<f64>() / c.len() as f64;
            x.chunks(plane.max(1)).map(mean).collect()
        }
        Layer::Flatten | Layer::Identity => x.entries().to_vec(),
    };
    if data.len() as u64 != shape.iter().product::<u64>() {
        return Err(MALFORMED);
    }
    Ok(Value::new(shape.to_vec(), data))
}

/// Channels, height and width.
fn image(x: &Value) -> Result<(&[f64], [usize; 3])> {
    match x.shape.as_slice() {
        &[c, h, w] => Ok((x.entries(), [c as usize, h as usize, w as usize])),
        _ => Err(MALFORMED),
    }
}

/// Row by row, so that the innermost loop runs over neighbours.
fn conv2d(
    x: &Value,
    kernels: &Value,
    bias: Option<&[f64]>,
    out_shape: &[u64],
    conv: Conv,
    pad_w: u64,
) -> Result<Vec<f64>> {
    let (stride, dilation) = (conv.stride as i64, conv.dilation as i64);
    let (pad_h, pad_w) = (conv.pad as i64, pad_w as i64);
    let (x, [cin, h, w]) = image(x)?;
    let &[cout, oh, ow] = out_shape else { return Err(MALFORMED) };
    let (cout, oh, ow) = (cout as usize, oh as usize, ow as usize);
    let &[_, channels, kh, kw] = kernels.shape.as_slice() else { return Err(MALFORMED) };
    let (kh, kw, channels) = (kh as usize, kw as usize, channels as usize);
    if conv.kernel_channels(cin as u64, cout as u64) != Some(channels as u64) {
        return Err(MALFORMED);
    }
    let weight = kernels.entries();
    let mut out = vec![0.0; cout * oh * ow];
    for (o, plane) in out.chunks_mut((oh * ow).max(1)).enumerate() {
        if let Some(bias) = bias {
            plane.fill(*bias.get(o).ok_or(MALFORMED)?);
        }
        // Of the image's channels, those of the same group.
        let first_channel = o / (cout / conv.groups as usize) * channels;
        for at in 0..channels * kh * kw {
            let (i, ky, kx) = (at / (kh * kw), at / kw % kh, at % kw);
            let factor = *weight.get(o * channels * kh * kw + at).ok_or(MALFORMED)?;
            // Columns whose operand lies inside the image.
            let shift = kx as i64 * dilation - pad_w;
            let first = if shift < 0 { (-shift + stride - 1) / stride } else { 0 };
            let last = ((w as i64 - 1 - shift).div_euclid(stride) + 1).clamp(0, ow as i64);
            if first >= last {
                continue;
            }
            for y in 0..oh {
                let row = y as i64 * stride + ky as i64 * dilation - pad_h;
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
    Ok(out)
}

fn pool(
    x: &Value,
    out_shape: &[u64],
    k: u64,
    stride: u64,
    start: f64,
    f: impl Fn(f64, f64) -> f64,
) -> Result<Vec<f64>> {
    let (x, [c, h, w]) = image(x)?;
    let &[_, oh, ow] = out_shape else { return Err(MALFORMED) };
    let (k, stride) = (k as usize, stride as usize);
    let mut out = Vec::with_capacity(c * (oh * ow) as usize);
    for plane in x.chunks((h * w).max(1)) {
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
