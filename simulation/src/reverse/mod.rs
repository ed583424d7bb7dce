//! Graphs of the compiler in floating point, forwards and backwards.
//!
//! A graph holds all that a program computes, so one table of derivatives trains whatever a model of the language can
//! contain. The same walk forwards evaluates whole predicates: it is what `slvrc lab --fast` aggregates with. Numbers
//! are `f32` for training and `f64` for predicates and for tests of gradients.
//!
//! | file | holds |
//! |---|---|
//! | `walk` | tensors walked in step, with axes of size 1 repeated |
//! | `product` | matrix products, convolution |
//! | `order` | which entries sorting, extrema and pooling take |
//! | `value` | the value of every operation: the compiler's, and faster kernels |
//! | `derivative` | the derivative of every operation |
//! | `tape` | the walk over a graph |
//! | `again` | the walk again, where inputs of some members have changed |
//!
//! What is not differentiable has a derivative all the same: 0 for comparisons and indices, and for `relu`, `max` and
//! sorting that of the branch that was taken. Operations that stand for rounding in a circuit are the identity.

mod again;
mod derivative;
mod order;
mod product;
mod tape;
#[cfg(test)]
mod tests;
mod value;
mod walk;

pub use crate::number::Number;
pub use again::{Base, Changing};
pub use tape::{Change, Given, Tape, TapeError};
