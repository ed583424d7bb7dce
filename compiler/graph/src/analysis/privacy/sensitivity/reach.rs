//! How a value may hang on one client, and lengths of differences.

use crate::graph::NodeId;

/// How a value hangs on the inputs of one client. Lengths are in units of the value's words.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::analysis::privacy) enum Reach {
    /// Not at all.
    Free,
    /// Row i along an axis is made of what member i of a set gave.
    Rows(Rows),
    /// All of it changes by at most this.
    Whole(Length),
    Unbounded(Why),
}

/// The L1 and the L2 norm of a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::analysis::privacy) struct Length {
    pub l1: f64,
    pub l2: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::analysis::privacy) struct Rows {
    /// Of which party set the rows' members are.
    pub(super) set: u32,
    pub(super) axis: usize,
    /// Whether a row is zeros if the client's inputs are.
    pub(super) zero: bool,
    /// How far a row is at most from the one of inputs that are zeros.
    pub length: Length,
    /// How long a row is at most, by the norms that follow from those that the parties enforce.
    pub(super) norm: f64,
}

/// Why nothing is known.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::analysis::privacy) struct Why {
    pub node: NodeId,
    pub obstacle: Obstacle,
}

/// What stands in the way of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Values of different clients are ordered, or chosen among, so one client can change what all others contribute.
    Selects,
    /// What different clients gave is combined in a way that is no sum.
    Combines,
    /// It is kept from earlier rounds, and hangs on what clients gave in all of them.
    Kept,
    /// It is computed of what several clients contribute to, before noise is added to that.
    Before,
}

impl Length {
    pub(super) const UNKNOWN: Length = Length::euclidean(f64::INFINITY);

    /// With an L2 norm of at most this.
    pub(super) const fn euclidean(l2: f64) -> Length {
        Length { l1: f64::INFINITY, l2 }
    }

    pub(super) fn times(self, by: f64) -> Length {
        Length { l1: self.l1 * by, l2: self.l2 * by }
    }

    pub(super) fn plus(self, other: Length) -> Length {
        Length { l1: self.l1 + other.l1, l2: self.l2 + other.l2 }
    }

    /// Of both beside one another.
    pub(super) fn beside(self, other: Length) -> Length {
        Length { l1: self.l1 + other.l1, l2: self.l2.hypot(other.l2) }
    }

    /// Of entries that are repeated so many times.
    pub(super) fn repeated(self, times: f64) -> Length {
        Length { l1: self.l1 * times, l2: self.l2 * times.sqrt() }
    }

    /// Of so many entries of a size.
    pub(super) fn of(entries: f64, size: f64) -> Length {
        Length { l1: entries * size, l2: entries.sqrt() * size }
    }

    /// The smaller bounds; the L1 norm of so many entries is at most the root of their number times the L2 norm.
    pub(super) fn least(self, other: Length, entries: f64) -> Length {
        let l2 = self.l2.min(other.l2).min(self.l1).min(other.l1);
        Length { l1: self.l1.min(other.l1).min(l2 * entries.sqrt()), l2 }
    }
}
