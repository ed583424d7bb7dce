//! What is known of a sum of values that a mask chooses by rank.

use crate::analysis::view::View;
use crate::graph::NodeId;

/// A sum of values by rank.
#[derive(Clone, Debug)]
pub(in crate::analysis) struct Ranked {
    pub values: NodeId,
    /// What each kind of row has.
    pub rows: Vec<Weights>,
    /// What lies between the comparisons of a row and its sum, of each kind of row.
    pub between: Vec<Between>,
}

impl Ranked {
    /// The largest sum of absolute weights of a row.
    pub fn entries(&self) -> f64 {
        let sum = |row: &Weights| row.weights.iter().map(|w| w.abs()).sum();
        self.rows.iter().map(sum).fold(0.0, f64::max)
    }

    /// How far compared values may be from those that are summed, by entry, in real units.
    pub fn slack(&self, view: &View<'_>) -> f64 {
        self.between.iter().map(|row| row.slack(view)).fold(0.0, f64::max)
    }
}

/// The weights of a row.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::analysis) struct Weights {
    /// By ascending rank.
    pub weights: Vec<f64>,
    /// If the values that are summed are those that are ranked: the node that each of them is computed by. Else none.
    pub nodes: Vec<NodeId>,
}

/// The truncations that a value went through since it was computed, the last one first.
pub(super) type Truncations = Vec<NodeId>;

/// What lies between the comparisons of a row and its sum: nothing, or truncations of compared and of summed entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::analysis) struct Between {
    pub(super) compared: Vec<Truncations>,
    pub(super) summed: Vec<Truncations>,
}

impl Between {
    fn slack(&self, view: &View<'_>) -> f64 {
        let off = |one: &Truncations| one.iter().map(|&t| view.truncation(t)).sum::<f64>();
        let most = |all: &[Truncations]| all.iter().map(off).fold(0.0, f64::max);
        2.0 * most(&self.compared) + most(&self.summed)
    }
}

/// Adds one of a kind.
pub(super) fn note<T: PartialEq>(all: &mut Vec<T>, one: T) {
    if !all.contains(&one) {
        all.push(one);
    }
}
