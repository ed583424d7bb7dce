//! Training of a declared model, and federated learning simulated around an aggregation rule.
//!
//! What the verb `demo` needs to show a predicate at work on real data: an embedded data
//! set, gradients of any [`slvr_compiler::types::model::Model`], clients with unlike data, clients that
//! poison, and a caller-supplied rule that aggregates.
//!
//! | file | holds |
//! |---|---|
//! | [`data`] | labelled images in memory |
//! | [`idx`] | the IDX file format; the embedded digits |
//! | [`random`] | uniform, normal, gamma and Dirichlet variates from a seed |
//! | [`net`] | a model's forward and backward pass in f32 |
//! | [`train`] | initial weights, stochastic gradient descent, accuracy |
//! | [`federated`] | shares of the data, poisoning, rounds with three aggregations side by side |
//!
//! Everything follows from seeds: the same seed gives the same bits, whatever the number of
//! threads, on one machine. Another processor may round matrix products and logarithms otherwise.
//!
//! What may not live here: files, sockets, printing, clocks, shares, rings, a predicate. The
//! caller reads the files and hands in the rule.

pub mod data;
pub mod federated;
pub mod idx;
mod kernels;
pub mod net;
pub mod random;
pub mod train;

#[cfg(test)]
mod federated_tests;
#[cfg(test)]
mod net_tests;
#[cfg(test)]
mod slvr_reference;
#[cfg(test)]
mod testing;
