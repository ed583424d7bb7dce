//! What an evaluation reads and gives, and why there may be no value.

use crate::graph::verify::VerifyError;
use slvr_language::noise::Words;
use slvr_language::types::Lots;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Tensors by name, row-major in the declared shape; a record is one vector under its own name.
pub type Tensors = BTreeMap<String, Vec<f64>>;

/// Public coins: rows of distinct numbers.
pub type Coin<'a> = &'a dyn Fn(&Lots) -> Vec<Vec<u64>>;

/// What an evaluation reads. Labels are given as integers, also where the circuit gets them one-hot.
#[derive(Clone, Default, PartialEq)]
pub struct Inputs {
    pub public: Tensors,
    /// Secret inputs: by party set, in declaration order, then by member. Sets that give nothing may
    /// be empty, and trailing ones may be missing.
    pub sets: Vec<Vec<Tensors>>,
    /// States that an earlier round has left; the others begin.
    pub states: Tensors,
    /// What noise is made of.
    pub noise: Words,
}

/// Counts only: inputs are private.
impl fmt::Debug for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members: Vec<usize> = self.sets.iter().map(Vec::len).collect();
        write!(f, "Inputs {{ public: {}, members: {members:?} }}", self.public.len())
    }
}

/// The result of an evaluation; `W` is `f64` for [`super::real`] and the signed raw word for [`super::exact`].
#[derive(Clone, PartialEq)]
pub struct Evaluated<W> {
    /// Values by node, row-major: all of them if they were to be kept, otherwise those that were not
    /// yet dead at the end.
    pub values: Vec<Option<Arc<Vec<W>>>>,
    /// What receivers get, in order, after decoding and division: name, shape, entries.
    pub outputs: Vec<(String, Vec<u64>, Vec<f64>)>,
    /// What each state is in the next round: name and entries.
    pub states: Vec<(String, Vec<f64>)>,
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
        expected: u64,
        found: usize,
    },
    /// An entry is not possible.
    #[error("entry {entry} of input {name} {of} is {why}")]
    Entry {
        /// Name of the input.
        name: String,
        /// `of Client 3`, or `(public)`.
        of: String,
        entry: usize,
        why: String,
    },
    /// The coins give something else: not so many rows of distinct numbers.
    #[error("%{node}: the coins do not give the numbers that are asked for")]
    Coin { node: usize },
    /// A run-time index is beyond its axis.
    #[error("%{node}: an index is beyond its axis")]
    Index { node: usize },
    /// A number does not fit a word.
    #[error("%{node} = {op}: a value does not fit {bits} bits")]
    Overflow { node: usize, op: &'static str, bits: u32 },
    /// A value has more entries than any machine could hold.
    #[error("%{node}: a tensor of {elements} entries is too large to evaluate")]
    TooLarge { node: usize, elements: u64 },
    /// Ranks are told by comparisons of all pairs where all values are kept: of so many entries they are not made.
    #[error("%{node}: all pairs of {entries} entries are too many to evaluate")]
    Pairs { node: usize, entries: u64 },
}
