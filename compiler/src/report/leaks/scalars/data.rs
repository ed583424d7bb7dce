//! Numbers, each computed from others, and what some are once choices are made.

use super::form::Owner;
use crate::graph::NodeId;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A number that is computed from others.
pub(in super::super) struct Scalar {
    pub(in super::super) node: NodeId,
    pub(in super::super) entry: usize,
    /// Operand by operand.
    pub(in super::super) operands: Vec<Vec<u32>>,
    /// How it is computed is not followed.
    pub(in super::super) opaque: bool,
    /// The first number that is the same one: itself, as a rule.
    pub(in super::super) same: u32,
    /// It is an operand, or a bound that this operand is compared with; or what such a clip leaves of its operand.
    pub(in super::super) clip: bool,
    /// It is the largest (or smallest) of two, written as a choice.
    pub(in super::super) extremum: Option<Extremum>,
    /// Whose it is, where that is not followed.
    pub(in super::super) owner: Owner,
}

/// One of two values, by how they compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Extremum {
    Largest,
    Smallest,
}

/// The numbers that reveals are computed from, operands first.
pub(in super::super) struct Scalars {
    pub(in super::super) all: Vec<Scalar>,
    /// By reveal (index of output), its entries.
    pub(in super::super) reveals: Vec<(usize, Vec<u32>)>,
}

/// What a node is once a choice is made.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) enum Branch {
    Value(f64),
    Operand(usize),
    /// Its first operand, with the other sign.
    Negated,
    /// Each entry is what stands here; one that does not is what it was.
    Each(Rc<BTreeMap<usize, Branch>>),
}

/// By node, what it is.
pub(in super::super) type World = BTreeMap<NodeId, Branch>;
