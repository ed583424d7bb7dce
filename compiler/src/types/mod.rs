//! The typed program: from names to numbers.
//!
//! [`check()`] binds the sizes of a predicate, resolves names, infers shapes and secrecy and
//! evaluates everything that is known at compile time; what is left is a [`Program`]. [`eval`] runs
//! a program in floating point, loop by loop: slow, and independent of everything below it, which
//! is what tests need of a reference.
//!
//! What may not live here: tensors with batch axes, rings, scales, shares.

mod check;
mod conv;
mod display;
pub mod domain;
pub mod eval;
pub mod function;
pub mod model;
mod program;
mod walk;

pub use check::{Checked, Options, check};
pub use conv::Conv;
pub use program::*;
