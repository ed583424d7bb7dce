//! What is known of a value while rules run: its error in parts, a bound that grows with it, and the
//! intervals that it is in.

use super::view::times;
use crate::analysis::interval::{Interval, enlarged};
use crate::graph::NodeId;

/// What a node's error is made of.
#[derive(Clone, Debug, Default)]
pub(super) struct Cause {
    /// Its own rounding.
    pub own: f64,
    /// What each operand contributes.
    pub parts: Vec<(NodeId, f64)>,
}

impl Cause {
    pub fn own(own: f64) -> Cause {
        Cause { own, parts: Vec::new() }
    }

    /// The same proportions of another total; of unbounded parts each the same.
    pub fn shrunk(mut self, total: f64) -> Cause {
        let whole = self.total();
        if whole.is_finite() {
            self.own *= total / whole;
            self.parts.iter_mut().for_each(|p| p.1 *= total / whole);
            return self;
        }
        self.parts.retain(|p| !p.1.is_finite());
        let part = total / self.parts.len() as f64;
        self.parts.iter_mut().for_each(|p| p.1 = part);
        self.own = if self.parts.is_empty() { total } else { 0.0 };
        self
    }

    pub fn total(&self) -> f64 {
        // The sum itself is rounded.
        let total = enlarged(self.own + self.parts.iter().map(|p| p.1).sum::<f64>());
        if total.is_nan() { f64::INFINITY } else { total }
    }
}

/// A bound that depends on the program's value v: `fixed` + `relative` * |v|.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    pub fixed: f64,
    pub relative: f64,
}

impl Line {
    pub fn flat(fixed: f64) -> Line {
        Line { fixed, relative: 0.0 }
    }

    /// The relative error of all values of at least this size.
    pub fn ratio(self, least: f64) -> f64 {
        times(self.fixed, 1.0 / least) + self.relative
    }
}

/// Intervals in real units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Values {
    /// Of the program.
    pub real: Interval,
    /// Of a run.
    pub run: Interval,
}
