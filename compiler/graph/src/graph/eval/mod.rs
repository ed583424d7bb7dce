//! Evaluation of a graph in the clear: in floating point ([`real`]), and exactly as a circuit
//! computes, in Z_2^64 ([`exact`]) or Z_2^128 ([`exact_wide`]).
//!
//! One walk (`run`) over one set of kernels ([`operation()`]), generic over the kinds of words ([`Word`]):
//!
//! | | `real`: `f64` | `exact`: raw words mod 2^64 |
//! |---|---|---|
//! | a number x | x | round(x 2^frac), ties to even |
//! | a bit | 0.0 or 1.0 | 0 or 1 |
//! | add, sub, mul, ... | as usual | wrapping |
//! | a < b | a < b | the top bit of a - b |
//! | `trunc` by n | x | floor((x + 2^(n-1)) / 2^n) |
//! | `shift` by n | x | x 2^n |
//! | `div_pow2` by n | x / 2^n | x |
//! | `mul_pow2` by n | x 2^n | x |
//! | `saturate` | x | cut at the two ends |
//! | exp, log, div, ... | saturated as in [`super::domain`] | the same, decoded before and encoded after |
//!
//! The truncation protocol's result differs from `trunc` above by at most one unit in the last
//! place, and results of functions differ by at most what `slvr_backend::lower` states. So a comparison whose sides
//! are that close may come out otherwise in a run.
//!
//! Nodes that no output depends on are evaluated only if all values are to be kept, or if they are drawn. Where not all
//! are kept, a product that only a sum reads is never stored: `sum(mul(a, b))` over axes of a weight vector would be
//! the largest value of the whole evaluation. Nor are pairs compared for ranks of many entries, which are sorted.
//!
//! A walk elsewhere, as that of training and of the lab, which goes backwards as well, takes the value of each
//! operation from [`operation()`], too, with words of its own choice: `f32` is one.
//!
//! | file | holds |
//! |---|---|
//! | `data` | what is read and what is given: [`Inputs`], [`Evaluated`], [`EvalError`] |
//! | `word` | the kinds of words |
//! | [`walk`] | tensors walked in step |
//! | `layout`, `reduce`, `product` | kernels: entries in other places; sums, extrema and orders; products |
//! | `operation` | the value of one operation |
//! | `input` | the value of an input |
//! | `run` | the walk over a graph |
//!
//! May not live here: reading files, shares, protocols.

mod data;
mod input;
pub(crate) mod layout;
mod operation;
mod product;
mod reduce;
mod run;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
pub mod walk;
mod word;

pub use data::{Coin, EvalError, Evaluated, Inputs, Tensors};
pub use layout::{Run, moved};
pub use operation::{MOST_COMPUTED, NoValue, Scales, View, operation};
pub use product::conv_axes;
pub use reduce::first_largest;
pub use word::Word;

use super::{Graph, NodeId};
use std::sync::Arc;

/// Evaluates in floating point, before or after any pass. With `keep` the values of all nodes are in
/// the result; without, each is dropped after its last use.
pub fn real(
    graph: &Graph,
    inputs: &Inputs,
    coin: Coin<'_>,
    keep: bool,
) -> Result<Evaluated<f64>, EvalError> {
    run::run(graph, inputs, coin, keep)
}

/// Evaluates as a circuit does, in Z_2^64, a graph whose scales are known. `keep` as for [`real`].
pub fn exact(
    graph: &Graph,
    inputs: &Inputs,
    coin: Coin<'_>,
    keep: bool,
) -> Result<Evaluated<i64>, EvalError> {
    run::run(scaled(graph)?, inputs, coin, keep)
}

/// Like [`exact`], in Z_2^128: the same numbers where no value leaves Z_2^64.
pub fn exact_wide(
    graph: &Graph,
    inputs: &Inputs,
    coin: Coin<'_>,
    keep: bool,
) -> Result<Evaluated<i128>, EvalError> {
    run::run(scaled(graph)?, inputs, coin, keep)
}

/// A graph whose scales are known.
pub(crate) fn scaled(graph: &Graph) -> Result<&Graph, EvalError> {
    if graph.frac.is_some() { Ok(graph) } else { Err(EvalError::Unscaled) }
}

/// One node in floating point, from given values of its operands, whatever computed them. The graph is taken to be
/// well formed.
pub(crate) fn node(
    graph: &Graph,
    id: NodeId,
    given: &[&Arc<Vec<f64>>],
    inputs: &Inputs,
    coin: Coin<'_>,
) -> Result<Arc<Vec<f64>>, EvalError> {
    run::Source { graph, inputs, coin }.node(id, &run::Reads::Operands, given)
}
