//! Which invariant is broken, and where.

use super::infer::TypeError;
use crate::ValueId;
use crate::proof::Unproven;
use std::fmt;
use thiserror::Error;

/// An instruction, as messages name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Layer, from 0.
    pub layer: usize,
    /// Whether it is in the exchange.
    pub exchange: bool,
    /// Position in that part of the layer, from 0.
    pub instr: usize,
    /// Name of the operation.
    pub op: &'static str,
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = if self.exchange { "exchange" } else { "local" };
        write!(f, "layer {}, {part} instruction {} (`{}`)", self.layer, self.instr, self.op)
    }
}

/// Which invariant a circuit breaks, and where.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum VerifyError {
    /// Invariant 19.
    #[error("{place}: nothing is proven in a circuit for parties that follow the protocol")]
    NothingToProve { place: Instruction },
    /// Invariant 20.
    #[error("state `{name}`: {why}")]
    BadState { name: String, why: &'static str },
    /// Invariant 1.
    #[error("too many {0}")]
    TooMany(&'static str),
    /// Invariant 1.
    #[error("party set {set} has {size} members")]
    PartySize { set: usize, size: u64 },
    /// Invariant 2.
    #[error("{value}: {error}")]
    BadType { value: ValueId, error: TypeError },
    /// Invariant 3.
    #[error("{place}: there is no value {value}")]
    NoValue { place: Instruction, value: ValueId },
    /// Invariant 3.
    #[error("{place}: there is no {what} {index}")]
    NoIndex {
        place: Instruction,
        /// A site, an output or a check.
        what: &'static str,
        index: u32,
    },
    /// Invariant 4.
    #[error("{value} is defined twice, again by {by}")]
    Redefined {
        value: ValueId,
        /// The second definition.
        by: String,
    },
    /// Invariant 4.
    #[error("{0} is never defined")]
    Undefined(ValueId),
    /// Invariant 5.
    #[error("{place}: {value} is not defined yet")]
    NotYet { place: Instruction, value: ValueId },
    /// Invariant 6.
    #[error("{place}: {value} was dropped before")]
    Dropped { place: Instruction, value: ValueId },
    /// Invariants 6 and 16.
    #[error("layer {layer} cannot drop {value}: {why}")]
    BadDrop { layer: usize, value: ValueId, why: &'static str },
    /// Invariant 7.
    #[error("{place}: this operation does not belong in this part of a layer")]
    Section { place: Instruction },
    /// Invariant 8.
    #[error("{place}: it has a result where it must not, or none where it must")]
    Result { place: Instruction },
    /// Invariant 9.
    #[error("{place}: {error}")]
    Operands { place: Instruction, error: TypeError },
    /// Invariant 9.
    #[error("{place}: {value} is declared {declared}, but its operation gives {found}")]
    WrongType {
        place: Instruction,
        value: ValueId,
        /// Its type in the circuit, as text.
        declared: String,
        /// The type by the rules, as text.
        found: String,
    },
    /// Invariant 10.
    #[error("input {index} (`{name}`): {why}")]
    BadInput { index: usize, name: String, why: &'static str },
    /// Invariant 11.
    #[error("constant {value}: {why}")]
    BadConst {
        /// The value it defines.
        value: ValueId,
        why: &'static str,
    },
    /// Invariant 12.
    #[error("{place}: index {index} is out of range for an axis of size {size}")]
    Index {
        place: Instruction,
        index: u128,
        /// Size of the axis.
        size: u64,
    },
    /// Invariant 13.
    #[error("output {index} (`{name}`): {why}")]
    BadOutput { index: usize, name: String, why: &'static str },
    /// Invariant 14.
    #[error("{place}: {value} is not a fresh mask, or masks another exchange too")]
    Mask { place: Instruction, value: ValueId },
    /// Invariant 14.
    #[error(
        "{place}: what it opens depends on its own mask {mask}, which might cancel: the parties could learn \
         an input"
    )]
    OwnMask { place: Instruction, mask: ValueId },
    /// Invariant 21.
    #[error("{place}: {value} is not a secret input of a party set that is read by loads alone")]
    Load {
        place: Instruction,
        /// What is read.
        value: ValueId,
    },
    /// Invariant 15.
    #[error("check {index}: {why}")]
    BadCheck { index: usize, why: &'static str },
    /// Invariant 16.
    #[error("{place}: {why}")]
    Speculation { place: Instruction, why: &'static str },
    /// Invariant 17.
    #[error("{place}: it opens to the parties what is not the bits of a check")]
    Opening { place: Instruction },
    /// Invariant 18.
    #[error("{0}")]
    Name(&'static str),
    /// Invariant 19.
    #[error(transparent)]
    Unproven(#[from] Unproven),
}
