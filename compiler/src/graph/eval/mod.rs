//! Evaluation of a graph in the clear: in floating point ([`real`]), and exactly as a circuit
//! computes, in Z_2^64 ([`exact`]).
//!
//! One walk (`run`) over one set of kernels, generic over the two kinds of words (`word`):
//!
//! | | `real`: `f64` | `exact`: raw words mod 2^64 |
//! |---|---|---|
//! | a number x | x | round(x 2^frac), ties to even |
//! | a bit | 0.0 or 1.0 | 0 or 1 |
//! | add, sub, mul, ... | as usual | wrapping |
//! | a < b | a < b | the top bit of a - b |
//! | `trunc` by n | x | floor((x + 2^(n-1)) / 2^n) |
//! | `shift` by n | x | x 2^n |
//! | `halve` by n | x / 2^n | x |
//! | exp, log, div, ... | as usual | decoded, computed, encoded; saturated as in [`super::domain`] |
//!
//! The truncation protocol's result differs from `trunc` above by at most one unit in the last
//! place, and the functions' by what [`crate::lower`] states; comparisons that a difference of one unit decides may come out otherwise in a run.
//!
//! Nodes that no output depends on are evaluated only if all values are to be kept. A product that
//! only a sum reads is never stored: `sum(mul(a, b))` over axes of a weight vector would be the
//! largest value of the whole evaluation.
//!
//! Lives here: the interface ([`Inputs`], [`Evaluated`], [`EvalError`]), and in files of their own
//! `word`, `walk` (strides), `layout`, `reduce`, `product`, `input`, `run`. May not:
//! reading files, shares, protocols.

mod input;
pub(crate) mod layout;
mod product;
mod reduce;
mod run;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod walk;
mod word;

use super::Graph;
use super::verify::VerifyError;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Tensors by name, row-major in the declared shape; a record is one vector under its own name.
pub type Tensors = BTreeMap<String, Vec<f64>>;

/// Public coins: for each of n members, k distinct others.
pub type Coin<'a> = &'a dyn Fn(u64, u64) -> Vec<Vec<u64>>;

/// What an evaluation reads. Labels are given as integers, also where the circuit gets them one-hot.
#[derive(Clone, Default, PartialEq)]
pub struct Inputs {
    /// Public inputs.
    pub public: Tensors,
    /// Secret inputs: by party set, in declaration order, then by member. Sets that give nothing may
    /// be empty, and trailing ones may be missing.
    pub sets: Vec<Vec<Tensors>>,
}

/// Counts only: inputs are private.
impl fmt::Debug for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members: Vec<usize> = self.sets.iter().map(Vec::len).collect();
        write!(f, "Inputs {{ public: {}, members: {members:?} }}", self.public.len())
    }
}

/// The result of an evaluation; `W` is `f64` for [`real`] and the signed raw word for [`exact`].
#[derive(Clone, PartialEq)]
pub struct Evaluated<W> {
    /// Values by node, row-major: all of them if they were to be kept, otherwise those that were not
    /// yet dead at the end.
    pub values: Vec<Option<Arc<Vec<W>>>>,
    /// What receivers get, in order, after decoding and division: name, shape, entries.
    pub outputs: Vec<(String, Vec<u64>, Vec<f64>)>,
}

/// Names and shapes only: values are private.
impl<W> fmt::Debug for Evaluated<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outputs: Vec<_> = self.outputs.iter().map(|(name, shape, _)| (name, shape)).collect();
        write!(f, "Evaluated {{ nodes: {}, outputs: {outputs:?} }}", self.values.len())
    }
}

/// Why a graph has no value. No message shows an input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// The graph breaks an invariant.
    #[error(transparent)]
    Invalid(#[from] VerifyError),
    /// Exact evaluation of a graph before its scales are known.
    #[error("exact evaluation needs a graph with scales")]
    Unscaled,
    /// A party set has another number of members than the inputs.
    #[error("{set} has {expected} members, inputs are given for {found}")]
    Members {
        /// Name of the set.
        set: String,
        /// Its size.
        expected: u64,
        /// How many there are.
        found: usize,
    },
    /// A tensor is missing.
    #[error("input {name} {of} is missing")]
    Missing {
        /// Name of the input.
        name: String,
        /// `of Client 3`, or `(public)`.
        of: String,
    },
    /// A tensor has the wrong number of entries.
    #[error("input {name} {of} has {found} entries, {expected} are declared")]
    Length {
        /// Name of the input.
        name: String,
        /// `of Client 3`, or `(public)`.
        of: String,
        /// As declared.
        expected: u64,
        /// As given.
        found: usize,
    },
    /// An entry is not possible.
    #[error("entry {entry} of input {name} {of} is {why}")]
    Entry {
        /// Name of the input.
        name: String,
        /// `of Client 3`, or `(public)`.
        of: String,
        /// Position.
        entry: usize,
        /// What is wrong.
        why: &'static str,
    },
    /// The coins are no committees: not n lists of k members.
    #[error("%{node}: the coins do not give the committees that are asked for")]
    Coin {
        /// Node.
        node: usize,
    },
    /// A run-time index is beyond its axis.
    #[error("%{node}: an index is beyond its axis")]
    Index {
        /// Node.
        node: usize,
    },
    /// The value of a function does not fit a word.
    #[error("%{node} = {op}: a value does not fit 64 bits")]
    Overflow {
        /// Node.
        node: usize,
        /// Its operation.
        op: &'static str,
    },
    /// A value has more entries than any machine could hold.
    #[error("%{node}: a tensor of {elements} entries is too large to evaluate")]
    TooLarge {
        /// Node.
        node: usize,
        /// Its size.
        elements: u64,
    },
}

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
    if graph.frac.is_none() {
        return Err(EvalError::Unscaled);
    }
    run::run(graph, inputs, coin, keep)
}

/// Like [`exact`], in Z_2^128: the same numbers where no value leaves Z_2^64.
pub fn exact_wide(
    graph: &Graph,
    inputs: &Inputs,
    coin: Coin<'_>,
    keep: bool,
) -> Result<Evaluated<i128>, EvalError> {
    if graph.frac.is_none() {
        return Err(EvalError::Unscaled);
    }
    run::run(graph, inputs, coin, keep)
}
