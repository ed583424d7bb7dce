//! What is known of a sum of values that a mask chooses by rank.

use crate::graph::NodeId;

/// A sum of values by rank.
#[derive(Clone, Debug)]
pub(in crate::analysis) struct Ranked {
    pub values: NodeId,
    /// What each kind of row has.
    pub rows: Vec<Weights>,
    /// By entry, for truncations between the comparisons and the sum.
    pub slack: f64,
}

impl Ranked {
    /// The largest sum of absolute weights of a row.
    pub fn entries(&self) -> f64 {
        let sum = |row: &Weights| row.weights.iter().map(|w| w.abs()).sum();
        self.rows.iter().map(sum).fold(0.0, f64::max)
    }
}

/// The weights of a row.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::analysis) struct Weights {
    /// By ascending rank.
    pub weights: Vec<f64>,
    /// The nodes that the values are computed by whose ranks these are, one for each; none if they are other
    /// values than those that are summed.
    pub nodes: Vec<NodeId>,
}
