//! Why a model cannot be trained.

use thiserror::Error;

/// Why a model cannot be trained, or not on this data.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NetError {
    /// The program around the model is not the one that is trained with.
    #[error("the program is not `Train`: {0}")]
    Program(String),
    #[error("the program has no model")]
    NoModel,
    /// Its result is no vector of classes.
    #[error("the model does not lead from one input to a vector of classes")]
    Ends,
    /// A parameter that the weight vector does not hold.
    #[error("parameters of the model lie beyond its weights")]
    Weights,
    /// The samples have another shape than the model's input.
    #[error("samples have shape {found:?}, the model reads {expected:?}")]
    Shape { found: Vec<usize>, expected: Vec<usize> },
    /// A label is not one of the model's classes.
    #[error("label {found} where the model has {classes} classes")]
    Label { found: u8, classes: usize },
    #[error("no samples")]
    Empty,
}
