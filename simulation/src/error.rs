//! Why a model cannot be trained.

use thiserror::Error;

/// Why a model cannot be trained, or not on this data.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NetError {
    /// A step contradicts the shapes of its operands or parameters, or reads a later one.
    #[error("step {step} `{name}` does not fit its operands or parameters")]
    Step { step: usize, name: String },
    /// A step whose derivative is not known here.
    #[error(
        "step {step} `{name}` cannot be trained here: the simulation trains square convolutions, linear layers of \
         vectors, batch normalisation, ReLU, pooling, flattening and sums this way; give its whole program instead"
    )]
    Untrained { step: usize, name: String },
    /// The program around the model is not the one that is trained with.
    #[error("the program is not `Train`: {0}")]
    Program(String),
    /// The steps do not lead from an input to a vector of at least one class.
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
