//! Training of a declared model, and federated learning simulated around an aggregation rule.
//!
//! What the verbs `demo` and `lab` need to show a predicate at work on real data: an embedded data set, gradients of
//! any [`slvr_compiler::types::model::Model`], clients with unlike data, clients that poison, and a caller-supplied
//! rule that aggregates.
//!
//! | file | holds |
//! |---|---|
//! | [`data`] | labelled images in memory |
//! | [`idx`] | the IDX file format; the embedded digits |
//! | [`random`] | uniform, normal, gamma and Dirichlet variates from a seed |
//! | [`partition`] | unlike shares of the data |
//! | `number` | `f32` and `f64`, and products of matrices of them |
//! | `kernels` | inner loops over many images side by side |
//! | [`error`], [`fill`], `loss` | why a model cannot be trained; how weights start; cross-entropy |
//! | [`reverse`] | a graph of the compiler forwards and backwards |
//! | `outline` | what is known of a model however it is computed |
//! | `chain`, `general` | the fast passes of models that are chains of layers; those of all others |
//! | [`net`] | a model ready to be trained |
//! | [`train`] | stochastic gradient descent, accuracy |
//! | [`lab`] | federated learning around any predicate, under any of the attacks |
//!
//! There are two ways to a gradient. A model all of whose values are layers, sums or entries put in places is a
//! `chain`, if its kernels are square and padded evenly: f32, many images side by side, kernels written for it. Every
//! other model is `general`: the compiler's graph of the program that computes a batch of it, forwards and backwards by
//! [`reverse`]. LeNet-5 takes about three times as long so (`cargo bench -p slvr-simulation` has both). [`reverse`]
//! also evaluates and differentiates the predicates of the lab, in f64, and is what tests hold `chain` against.
//! [`net::Net::of`] chooses.
//!
//! Everything follows from seeds: the same seed gives the same bits, whatever the number of
//! threads, on one machine. Another processor may round matrix products and logarithms otherwise.
//!
//! What may not live here: files, sockets, printing, clocks, shares, rings, a check. The caller reads the files and
//! hands in the rule. The one predicate here, [`net::PROGRAM`], is what a model is trained with.

mod chain;
pub mod data;
pub mod error;
pub mod fill;
mod general;
pub mod idx;
mod kernels;
pub mod lab;
mod loss;
pub mod net;
mod number;
mod outline;
pub mod partition;
pub mod random;
pub mod reverse;
pub mod train;

#[cfg(test)]
mod general_tests;
#[cfg(test)]
mod testing;
