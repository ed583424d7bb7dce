//! From a dataflow graph to a layered circuit for three parties, and what that costs.
//!
//! | room | holds |
//! |---|---|
//! | [`cost`] | rounds, bytes, memory and predicted time, per source line |
//! | [`lower`] | graph operations to protocol macros made of circuit instructions |
//! | [`schedule`] | instructions to layers; liveness |
//! | [`pipeline`] | everything in a row: source to circuit |
//!
//! A room imports those above it in this table.

pub mod cost;
pub mod lower;
pub mod pipeline;
pub mod schedule;

// Macros are run on thousands of elements at a time.
#[cfg(test)]
use slvr_allocator as _;
