//! What is proven of every value.
//!
//! Today: intervals of integers that are integers by construction (counts of bits, ranks, tables),
//! so that they are compared on as many bits as they need ([`ranges`]). An interval never rests on
//! an input's declared range, which a malicious client need not respect. And which numbers are not
//! negative, whatever their size ([`signs`]).

pub mod ranges;
pub mod signs;
