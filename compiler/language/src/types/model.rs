//! A model instance: its parameters, and what it makes of its input.

use super::expr::{Body, VarId};
use std::collections::BTreeMap;

/// The fields of a model, of which a tensor has `len` and `shape`, and what they are.
pub const FIELDS: &[(&str, &str)] = &[
    ("classes", "the number of outputs of a model"),
    ("len", "the number of weights of a model, or of entries of a tensor"),
    ("shape", "the shape of a model's input, or of a tensor"),
    ("tensors", "the number of tensors of a model's weights"),
];

pub fn is_field(name: &str) -> bool {
    FIELDS.iter().any(|(field, _)| *field == name)
}

/// A model with all sizes bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub name: String,
    /// Shape of one input, e.g. `[1, 28, 28]` (channels, height, width).
    pub input: Vec<u64>,
    /// Shape of one output, e.g. `[10]`.
    pub output: Vec<u64>,
    /// Parameters in declaration order, laid out one after another in the weight vector.
    pub params: Vec<Param>,
    /// Length of the weight vector.
    pub len: u64,
    /// The variable of its input.
    pub x: VarId,
    /// Which variables are parameters.
    pub read: BTreeMap<VarId, ParamId>,
    /// A definition for each layer and for each expression between layers, and the one result. The variable of a layer
    /// has its dotted name, e.g. `stage1.down.first.conv`, and stands where the layer is applied; that of an expression
    /// which the source does not name has no name.
    pub body: Body,
}

/// A parameter tensor, named as in PyTorch's state dict.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Dotted name, e.g. `conv1.weight`.
    pub name: String,
    /// Shape, in PyTorch's layout.
    pub shape: Vec<u64>,
    /// Position of its first entry in the weight vector.
    pub offset: u64,
}

/// Index into [`Model::params`].
pub type ParamId = usize;
