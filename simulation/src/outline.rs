//! What is known of a model however it is computed.

use super::error::NetError;
use super::fill::{Fill, slot};
use slvr_compiler::types::model::Model;
use std::ops::Range;

#[derive(Clone, Debug)]
pub(super) struct Outline {
    pub(super) weights: usize,
    pub(super) fills: Vec<(Range<usize>, Fill)>,
    pub(super) input: Vec<usize>,
    pub(super) classes: usize,
}

impl Outline {
    /// Of a model whose parameters all lie in its weight vector.
    pub(super) fn new(
        model: &Model,
        input: Vec<usize>,
        classes: usize,
    ) -> Result<Outline, NetError> {
        let weights = usize::try_from(model.len).map_err(|_| NetError::Weights)?;
        let fills = model.params.iter().map(|p| Some((slot(model, p)?, Fill::of(p))));
        let fills = fills.collect::<Option<_>>().ok_or(NetError::Weights)?;
        Ok(Outline { weights, fills, input, classes })
    }

    pub(super) fn input_len(&self) -> usize {
        self.input.iter().product()
    }
}
