//! Why a model cannot be trained.

use thiserror::Error;

/// Why a model cannot be trained, or not on this data.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NetError {
    /// The program around the model is not the one that is trained with.
    #[error("the program is not `Train`: {0}")]
    Program(String),
    /// Its result is no vector of at least one class, or its parameters are beyond its weights.
    #[error("the model does not lead from one input to a vector of classes")]
    Ends,
    /// The samples have another shape than the model's input.
    #[error("samples have shape {found:?}, the model reads {expected:?}")]
    Shape { found: Vec<usize>, expected: Vec<usize> },
    /// A label is not one of the model's classes.
    #[error("label {found} where the model has {classes} classes")]
    Label { found: u8, classes: usize },
    #[error("no samples")]
    Empty,
}
