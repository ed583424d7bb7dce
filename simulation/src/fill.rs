//! How weights start.

use super::random::{Purpose, Random};
use slvr_compiler::types::model::{Model, Param};
use std::ops::Range;

/// Where a parameter lies in the weight vector, if it is inside.
pub fn slot(model: &Model, param: &Param) -> Option<Range<usize>> {
    let len = param.shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d))?;
    let end = param.offset.checked_add(len).filter(|end| *end <= model.len)?;
    Some(usize::try_from(param.offset).ok()?..usize::try_from(end).ok()?)
}

/// How a parameter starts: Kaiming uniform for ReLU, as `torch.nn.init.kaiming_uniform_` has it. Weights of layers are
/// uniform on ±sqrt(6 / fan-in), biases are zero, normalisation is the identity (K. He, X. Zhang, S. Ren, J. Sun,
/// "Delving deep into rectifiers", 2015).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fill {
    /// Uniform on [-bound, bound].
    Uniform(f64),
    Constant(f32),
}

impl Fill {
    /// Of a layer whose results are sums of so many products.
    pub fn kaiming(fan_in: usize) -> Fill {
        Fill::Uniform((6.0 / fan_in.max(1) as f64).sqrt())
    }

    /// Of any parameter, by its shape and the last part of its name, which for parameters of one's own is all that
    /// tells them apart: what has two axes or more is a matrix of a layer, what is named as factors of normalisations
    /// are is one, all else is added.
    pub fn of(param: &Param) -> Fill {
        let last = param.name.rsplit('.').next().unwrap_or_default();
        match param.shape.as_slice() {
            [_, rest @ ..] if !rest.is_empty() => {
                Fill::kaiming(rest.iter().product::<u64>() as usize)
            }
            _ if ["weight", "running_var", "scale", "gamma"].contains(&last) => Fill::Constant(1.0),
            _ => Fill::Constant(0.0),
        }
    }

    pub fn all(fills: &[(Range<usize>, Fill)], len: usize, seed: u64) -> Vec<f32> {
        let mut random = Random::new(seed, Purpose::Init, [0, 0]);
        let mut weights = vec![0.0; len];
        for (range, fill) in fills {
            for w in &mut weights[range.clone()] {
                *w = match fill {
                    Fill::Uniform(bound) => ((2.0 * random.uniform() - 1.0) * bound) as f32,
                    Fill::Constant(c) => *c,
                };
            }
        }
        weights
    }
}
