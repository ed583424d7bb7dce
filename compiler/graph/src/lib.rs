//! The dataflow graph between a typed program and its circuit: what it computes, what is known of it, and rewrites.
//!
//! | room | holds |
//! |---|---|
//! | [`graph`] | a pure dataflow graph of tensor operations, its text, verifier and evaluation |
//! | [`analysis`] | what is known of every value: interval, sign, ring, error |
//! | [`passes`] | named rewrites of the graph, one file each |
//!
//! A room imports those above it in this table. Of protocols four files of [`analysis`] know something: it lists them.

pub mod analysis;
pub mod graph;
pub mod passes;
