//! A model instance: its parameters and the steps from its input to its output.

use crate::syntax::ast::Span;
use slvr_circuit::Conv;

/// A model with all sizes bound. Steps are in evaluation order; a step reads earlier ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Name in the source.
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

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What it computes.
    pub kind: StepKind,
    /// Shape of its result.
    pub shape: Vec<u64>,
    /// Name of the layer, e.g. `stage1.down.first.conv`; empty where the source has none.
    pub name: String,
    /// Where it stands.
    pub span: Span,
}

/// Kinds of steps. Images are (channels, height, width).
#[derive(Clone, Debug, PartialEq)]
pub enum StepKind {
    /// The input of the model.
    Input,
    /// Cross-correlation; weight `[out, in / groups, k, k]`, bias `[out]`.
    Conv2d {
        /// Operand.
        x: StepId,
        /// Kernels.
        weight: ParamId,
        /// Added per output channel.
        bias: Option<ParamId>,
        /// Its attributes.
        conv: Conv,
    },
    /// weight x + bias; weight `[out, in]`.
    Linear {
        /// Operand, a vector.
        x: StepId,
        /// Matrix.
        weight: ParamId,
        /// Added per output.
        bias: Option<ParamId>,
    },
    /// (x - running_mean) / sqrt(running_var + eps) * weight + bias, per channel.
    BatchNorm {
        /// Operand.
        x: StepId,
        /// Scale.
        weight: ParamId,
        /// Shift.
        bias: ParamId,
        /// Mean.
        mean: ParamId,
        /// Variance.
        var: ParamId,
        /// Added to the variance.
        eps: f64,
    },
    /// max(x, 0).
    Relu(StepId),
    /// Mean over k x k windows, `stride` apart, without padding.
    AvgPool {
        /// Operand.
        x: StepId,
        /// Window.
        k: u64,
        /// Distance.
        stride: u64,
    },
    /// Maximum over k x k windows, `stride` apart, without padding.
    MaxPool {
        /// Operand.
        x: StepId,
        /// Window.
        k: u64,
        /// Distance.
        stride: u64,
    },
    /// Mean over height and width: `[C, H, W]` to `[C]`.
    GlobalAvgPool(StepId),
    /// All entries as one vector.
    Flatten(StepId),
    /// Sum of two of the same shape.
    Add(StepId, StepId),
}
