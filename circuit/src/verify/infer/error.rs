//! Why an operation has no type.

use crate::{Dom, Hold, Shape};
use thiserror::Error;

/// An operation does not apply to its operands.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TypeError {
    /// No rule for operands held like this.
    #[error("`{op}` does not apply to operands held as {held:?}")]
    Holders {
        op: &'static str,
        /// Holders of its operands.
        held: Vec<Hold>,
    },
    /// A domain that the operation does not take, or two that do not go together.
    #[error("`{op}` does not apply to {found:?}: {want}")]
    Domains {
        op: &'static str,
        /// Domains of its operands.
        found: Vec<Dom>,
        want: &'static str,
    },
    /// Shapes that do not go together.
    #[error("`{op}` does not apply to shapes {found:?}: {want}")]
    Shapes {
        op: &'static str,
        /// Shapes of its operands.
        found: Vec<Shape>,
        want: &'static str,
    },
    /// A parameter out of range.
    #[error("`{op}`: {want}")]
    Parameter { op: &'static str, want: &'static str },
    /// Not a type, or one beyond the limits.
    #[error("{ty}: {want}")]
    Type {
        /// The type, as text.
        ty: String,
        want: &'static str,
    },
}
