//! The typed program: from names to numbers.
//!
//! [`check()`] binds the sizes of a predicate, resolves names, infers shapes and secrecy and
//! evaluates everything that is known at compile time; what is left is a [`Program`]. [`eval`] runs
//! a program in floating point, loop by loop. It is slow, and tests use it as their reference: it shares with the graph and
//! the circuit only which sums are ranks ([`Rank`]), the values of functions ([`domain`]) and the sampler of noise.
//!
//! The operations of the language are listed once: functions in [`Intrinsic`] and [`Elementwise`],
//! facts about elementary functions in [`function`], layers of the compiler in [`layer`].
//!
//! May not live here: tensors with batch axes, rings, scales, shares.

mod check;
mod display;
pub mod domain;
pub mod eval;
mod expr;
pub mod function;
mod intrinsic;
pub mod layer;
pub mod model;
pub mod number;
mod program;
mod ranks;
mod walk;

pub use check::{Checked, Options, check, check_given};
pub use expr::*;
pub use intrinsic::{Elementwise, Intrinsic, Rule};
pub use program::*;
pub use ranks::{First, Rank};
pub use slvr_circuit::pairs::{MAX_PAIRED, PairTable};
pub use slvr_circuit::{Conv, Lots};
