//! A model instance: its parameters and the steps from its input to its output.

use super::expr::{Body, VarId};
use super::layer::Layer;
use crate::syntax::ast::Span;

/// A model with all sizes bound. Steps are in evaluation order; a step reads earlier ones.
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
    /// Steps; the first is [`StepKind::Input`], the last is the result.
    pub steps: Vec<Step>,
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

/// Index of a step of the same model.
pub type StepId = usize;

/// Index into [`Model::params`].
pub type ParamId = usize;

#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub kind: StepKind,
    pub shape: Vec<u64>,
    /// Name of the layer, e.g. `stage1.down.first.conv`; empty where the source has none.
    pub name: String,
    pub span: Span,
    /// Where the layer is applied, if the step is all that a block computes.
    pub applied: Option<Span>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum StepKind {
    Input,
    /// A layer of the compiler.
    Layer {
        layer: Layer,
        x: StepId,
        /// Its parameters, in the order of [`Layer::params`].
        params: Vec<ParamId>,
    },
    /// Sum of two of the same shape.
    Add(StepId, StepId),
    /// An expression of the language.
    Compute {
        /// What its free variables stand for.
        operands: Vec<(VarId, Operand)>,
        /// The definitions that it needs, and its one value.
        body: Body,
    },
}

/// What a variable of a model's expression stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The result of an earlier step.
    Step(StepId),
    Param(ParamId),
}
