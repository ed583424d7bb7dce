//! What the rules of [`super::scales`] and of [`super::fine`] share: their limits, and the graph they make.
//!
//! May not live here: a rule.

use super::chosen::Chosen;
use super::inverse::Part;
use crate::analysis::magnitudes::Magnitudes;
use crate::graph::{Graph, NodeId};
use std::collections::{BTreeMap, BTreeSet};

pub use crate::graph::FRACTION;

/// How many fraction bits values of which precision is wanted may have (`precision.rs`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// The most that an input or a truncated value has.
    pub most: u32,
    /// The most that each input has, by index; empty if none is held to less than `most`.
    pub caps: Vec<u32>,
    /// Also long vectors that a network reads: all their entries are truncated for it.
    pub long: bool,
    /// Also factors of products with reciprocals of roots.
    pub factors: bool,
    /// Also what is rounded on its way to a comparison.
    pub compared: bool,
    /// Whether the last reveal asks for nothing: its value is looked at.
    pub unasked: bool,
}

impl Level {
    /// [`FRACTION`] for every value, but for what normalisations multiply by.
    pub const COARSE: Level = Level {
        most: FRACTION,
        caps: Vec::new(),
        long: false,
        factors: true,
        compared: false,
        unasked: false,
    };
}

/// No untruncated fine value has more.
pub(super) const FINE_LIMIT: u32 = 56;
/// Raw values that stay untruncated longer than they need to are below this, and so is whatever is
/// made of them without truncation: differences still fit a word.
pub(super) const ROOM: f64 = (1u64 << 61) as f64;

/// How a value is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Want {
    /// [`FRACTION`] fraction bits are enough.
    Coarse,
    /// As it is, untruncated where that fits.
    AsItIs,
    /// Relative to its own size: it is revealed, or a revealed value is made of it.
    Fine,
}

/// The graph that is made, and what is known of the value that is made next.
pub(super) struct Scales<'a> {
    pub(super) g: &'a mut Graph,
    /// Truncations of each node, made once for each number of fraction bits.
    pub(super) truncated: &'a mut BTreeMap<(NodeId, u32), NodeId>,
    pub(super) sizes: &'a Magnitudes,
    /// Comparisons of the graph that is read.
    pub(super) chosen: &'a Chosen,
    pub(super) site: u32,
    /// What is wanted of the value that is made.
    pub(super) want: Want,
    /// Fraction bits of fine values.
    pub(super) fine: u32,
    /// Whether a factor that is truncated keeps what a short word holds: it is on its way to a comparison.
    pub(super) short: bool,
    /// What the value that is made is to the reciprocal of a root.
    pub(super) part: Option<Part>,
    /// Reciprocals of roots, and factors of products with them.
    pub(super) factors: &'a mut BTreeSet<NodeId>,
}

/// Bits by which a raw value may be raised within some room.
pub(super) fn room_for(raw: f64, room: f64) -> u32 {
    (room / raw.max(1.0)).log2().floor().max(0.0) as u32
}

/// Bits by which a raw value is beyond some room; many, if nothing is known of it.
pub(super) fn beyond(raw: f64, room: f64) -> u32 {
    (raw / room).log2().ceil().clamp(0.0, 4096.0) as u32
}
