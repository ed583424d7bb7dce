//! What bits are of earlier bits.
//!
//! A bit that is made of comparisons by conjunctions, counts and thresholds is a function of these
//! comparisons. Two forms of such functions are needed, and this is their one place:
//!
//! | file | form | who asks |
//! |---|---|---|
//! | `function.rs`, `bits.rs` | any function of few bits, as a truth table of 2^n entries ([`Functions`]) | lowering, which deals tables |
//! | `sums.rs` | a function of a weighted sum of any number of bits, as a table by the sum ([`sums::Value`]) | order, which looks at masks by rank ([`super::order`]) |
//!
//! May not live here: what a table costs, and whether it pays (`slvr_backend::lower`).

mod bits;
mod function;
pub mod sums;
#[cfg(test)]
mod tests;

pub use bits::Functions;
pub use function::{Function, Literal, MOST_BITS};
