//! The circuit format: what a compiler targets and the parties evaluate.
//!
//! A circuit is a list of [`Layer`]s. A layer is some local instructions and then **one exchange**:
//! every interactive instruction takes exactly one round, and in a round a party sends at most one
//! message to each other party. So the rounds of a run are the layers with an exchange, and every
//! byte is known at build.
//!
//! Values are tensors in single assignment form, typed ([`Type`]) by who holds what of them
//! ([`Hold`]) and over which domain ([`Dom`]).
//!
//! What may not live here: arithmetic, sharing, I/O.
//!
//! # Map
//!
//! | module | holds |
//! |---|---|
//! | this file | [`Circuit`] and what it declares: party sets, inputs, outputs, checks, layers |
//! | `security` | the adversary that a circuit is made for |
//! | `limits`, `bounded` | how large anything may be; how long the sequences of an artifact |
//! | `dom`, `types` | [`Type`], [`Hold`], [`Lanes`] and [`Dom`]: who holds what, over which domain, in which shape |
//! | [`interaction`] | the table of interactions: who sends what to whom |
//! | [`multi_and`], [`pairs`], `lots`, [`tables`], [`fixed`] | attributes of single instructions, and fixed-point numbers |
//! | [`text`] | the text form, which reads back what it prints, and the table of operations: names, operands and parameters |
//! | [`conv`] | attributes of convolutions |
//! | `op` | the instruction set, [`Op`], with the meaning of each instruction |
//! | [`speculation`] | which layers are computed before it is known whose inputs count |
//! | [`proof`] | what the parties prove against a malicious one |
//! | [`verify`] | the verifier, and the typing rule of every operation |
//! | [`artifact`] | the artifact file |
//! | [`plan`], [`traffic`], [`upload`] | the order of steps and the frames of messages; bytes and rounds |
//! | [`ranges`] | which layers another machine of a party can compute |
//! | [`openings`] | who learns what |
//!
//! To add an interactive instruction, add it to `op`, `text/forms.rs` and [`interaction`], and its name to the typing
//! rules of [`verify`], and its statement to [`proof`], or circuits against a malicious party refuse it; everything else
//! here follows from its row. A local one needs `op`, `text/forms.rs` and its
//! own typing rule.
//!
//! # Roles and shards
//!
//! A replicated value is x = x0 + x1 + x2, P_i holds (x_i, x_{i+1}). Protocols on the *split*
//! x = a + b (a known to one party, b to the other two) would load one party more than the others,
//! so a tensor is cut into three shards ([`Lanes`]), and in shard r the role "knows a" is played by
//! party r: a = x_r + x_{r+1}, b = x_{r+2}. A [`Hold::Own`] value is known to party r in shard r; a
//! [`Hold::Dup`] value to parties r+1 and r+2; a [`Hold::Add2`] value is the sum of a word of party
//! r+1 and a word of party r+2. A [`Hold::Mask`] value is a part a that is shared already, a = y_r +
//! y_{r+1}: party r knows both words, so also a (`own`); party r+1 knows y_{r+1} and party r+2 knows
//! y_r, so they hold it additively (`as_add2`). With a part b it is a replicated value (`join`).
//!
//! In the terms of the literature, for shard r with party r as the *dealer* (the helper party, or P_0 of
//! ASTRA) and parties r+1 and r+2 as the two that are online:
//!
//! | here | ASTRA, ABY2.0 | who knows it |
//! |---|---|---|
//! | [`Hold::Rep`] x | a replicated (2-out-of-3) sharing; also of the mask and the masked value together | every party two of three words |
//! | [`Hold::Own`] a | minus the mask, -λ_x = a, as one number | the dealer |
//! | [`Hold::Mask`] a | the same, shared between the two (\[λ_x\]), both words known to the dealer | each of the two its word, the dealer both |
//! | [`Hold::Dup`] b | the masked value m_x = x + λ_x = b | the two |
//! | [`Hold::Add2`] | an additive sharing \[x\] between the two | each of the two its word |
//! | [`Hold::Add3`] | an additive sharing among all three | every party its word |
//!
//! So x = a + b is x = m_x - λ_x. To open a masked value ([`Op::OpenMasked`]) is the online phase of ASTRA's
//! multiplication, and to deal ([`Op::Deal`], [`Op::DealMask`]) its offline phase; the dealer's messages
//! depend on nothing that the two send.
//!
//! Of `Own`, `Mask`, `Dup` and `Add2` values a party stores only the shards in which it plays a role. Where shards are cut is part
//! of the type ([`Type::groups`]):
//!
//! - every 64 elements (0 groups), so that a shard of a bit plane starts at a word. A shard is then a
//!   flat piece: what is elementwise applies, and nothing that looks at axes.
//! - between groups: the leading axis (the first whose size is not 1: clients, samples) falls into this
//!   many equal parts, and each shard is a third of them, rounded. A shard is then a tensor of fewer
//!   rows, to which layouts, matrix products and convolutions apply, so long as the leading axis keeps
//!   its place and is not summed over. With one group party 1 owns everything, and any axis will do.
//!
//! Which shard an element is in decides which party plays which role, so operands that are stored in
//! shards are cut alike, and the two parts of one split too.

pub mod artifact;
mod bounded;
pub mod conv;
mod dom;
pub mod fixed;
pub mod interaction;
mod limits;
mod lots;
pub mod multi_and;
mod op;
pub mod openings;
pub mod pairs;
pub mod plan;
pub mod proof;
pub mod ranges;
mod security;
pub mod speculation;
pub mod tables;
pub mod text;
pub mod traffic;
mod types;
pub mod upload;
pub mod verify;

pub use conv::Conv;
pub use dom::{Dom, low_mask, wire_len};
pub use lots::Lots;
pub use op::{Instr, Op};
pub use security::Security;
pub use text::forms::INTERACTIVE;
pub use types::{Hold, Lanes, Shape, SplitPart, Type, ValueId, elements, lead};

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A circuit, with everything that the parties must agree on before the first share moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Circuit {
    /// Name of the predicate it was compiled from.
    pub name: String,
    /// Sizes and parameters it was built for, as text, in declaration order (`m` = `10`).
    #[serde(deserialize_with = "crate::bounded::declarations")]
    pub sizes: Vec<(String, String)>,
    /// Party sets, in declaration order. A set of size 1 that only receives is a receiver.
    #[serde(deserialize_with = "crate::bounded::declarations")]
    pub parties: Vec<PartySet>,
    /// Inputs, in declaration order.
    #[serde(deserialize_with = "crate::bounded::declarations")]
    pub inputs: Vec<Input>,
    /// Constant tables (index tables, masks): public values known at build.
    #[serde(deserialize_with = "crate::bounded::consts")]
    pub consts: Vec<Const>,
    /// Type of every value, indexed by [`ValueId`].
    #[serde(deserialize_with = "crate::bounded::types")]
    pub types: Vec<Type>,
    /// Where instructions come from; [`Instr::site`] indexes it.
    #[serde(deserialize_with = "crate::bounded::sites")]
    pub sites: Vec<Site>,
    /// The layers, in order.
    #[serde(deserialize_with = "crate::bounded::layers")]
    pub layers: Vec<Layer>,
    /// What is revealed, in order; [`Op::OpenTo`] names its index.
    #[serde(deserialize_with = "crate::bounded::declarations")]
    pub outputs: Vec<Output>,
    /// Which inputs the parties examine, at most one entry for each party set.
    #[serde(deserialize_with = "crate::bounded::declarations")]
    pub checks: Vec<Check>,
    /// What one party may do. In a file it is the version of the format, so that nothing else of a circuit
    /// depends on it.
    #[serde(skip)]
    pub security: Security,
}

/// The parties examine the inputs of a party set: a member whose inputs break a declared range has
/// all of them replaced by zeros, publicly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The party set (index into [`Circuit::parties`]).
    pub set: u32,
    /// `Public B1[size]`: for each member 1 where its inputs are used as they are, 0 where zeros
    /// stand in for them. The circuit does the replacing; this names the bits for the report.
    pub value: ValueId,
}

/// A declared set of parties (clients or receivers).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartySet {
    /// Its name in the source, e.g. `Client`.
    pub name: String,
    /// How many members it has.
    pub size: u64,
}

/// Who gives an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum From {
    /// Public: every party has it before the run.
    Public,
    /// Secret, one tensor from each member of a party set (index into [`Circuit::parties`]): the
    /// value's first axis ranges over the members.
    Each(u32),
    /// Secret, kept by the parties from round to round as shares: what a [`Op::Keep`] of the round before has left. In
    /// the first round every word is this one, modulo 2^k.
    State(i64),
    /// Public, a bit for each member of a party set: whether it gives inputs in this run. Nobody gives it. Whoever starts
    /// a run knows it, and the parties compare it as all that is public. Of a member whose bit is 0 the other inputs are zeros.
    Present(u32),
}

impl From {
    /// Whether it is a secret that members of a party set give, or that the parties keep.
    pub fn is_secret(self) -> bool {
        matches!(self, From::Each(_) | From::State(_))
    }
}

/// How real numbers and integers of an input file become ring elements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Encoding {
    /// x as round(x * 2^frac) * 2^shift; the closed interval [lo, hi] is what the declaration allows.
    Fixed {
        /// Fraction bits.
        frac: u32,
        lo: f64,
        hi: f64,
        /// Bits by which words are shifted up, to fill a small ring that is lifted later. Then the
        /// largest word is 2^(k-2) - 2^shift, below which the lift is exact: one unit less than the
        /// range's end may be.
        shift: u32,
        /// Largest allowed Euclidean norm of the tensor; infinite if there is no limit.
        norm: f64,
    },
    /// An integer in lo..hi (hi excluded).
    Int {
        lo: i64,
        /// One more than the largest allowed value.
        hi: i64,
    },
    /// An integer in 0..classes, dealt as a one-hot vector: the value has one more axis, last.
    OneHot { classes: u64 },
}

/// An input of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// Its name in the source.
    pub name: String,
    pub from: From,
    /// How it is encoded.
    pub encoding: Encoding,
    /// Shape of the tensor in the file of one giver, without the party axis and before encoding.
    #[serde(deserialize_with = "crate::bounded::shape")]
    pub shape: Shape,
    /// For a record (the weights of a model): its fields, laid out one after another along the only
    /// axis of `shape`. Empty for a plain tensor.
    #[serde(deserialize_with = "crate::bounded::declarations")]
    pub fields: Vec<Field>,
    /// The value it becomes: `Public` for a public input, `Rep` for a secret one or a state.
    pub value: ValueId,
}

/// A named tensor inside a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Dotted name, e.g. `conv1.weight`.
    pub name: String,
    /// Its shape; fields follow one another without gaps, row-major.
    #[serde(deserialize_with = "crate::bounded::shape")]
    pub shape: Shape,
}

/// A public table known at build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Const {
    /// The value it defines; its type is `Public` over a ring or bits.
    pub value: ValueId,
    /// Its elements, row-major, each below 2^k (or below 2^w over bits).
    #[serde(deserialize_with = "crate::bounded::words")]
    pub data: Vec<u128>,
}

/// A place in the source that instructions are attributed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// A name for the step, e.g. `gain/conv1`.
    pub name: String,
    /// 1-based source line, 0 when there is none.
    pub line: u32,
}

/// A revealed value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// Its name after `as`.
    pub name: String,
    /// The receiving party set (index into [`Circuit::parties`]).
    pub to: u32,
    /// Shape of the tensor the receiver obtains.
    #[serde(deserialize_with = "crate::bounded::shape")]
    pub shape: Shape,
    /// Ring width k of the opened words, in bits.
    pub ring: u32,
    /// Fraction bits of the opened words.
    pub frac: u32,
    /// The receiver multiplies by this public number after opening.
    pub factor: f64,
    /// Then divides by this one.
    pub divisor: f64,
    /// Fields, as for an input.
    #[serde(deserialize_with = "crate::bounded::declarations")]
    pub fields: Vec<Field>,
}

/// Local instructions, then one exchange.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Layer {
    /// Evaluated first, in order, by each party alone.
    #[serde(deserialize_with = "crate::bounded::values")]
    pub local: Vec<Instr>,
    /// Interactive instructions that share this layer's round. None reads another's result.
    #[serde(deserialize_with = "crate::bounded::values")]
    pub exchange: Vec<Instr>,
    /// Values that are dead once this layer is done, ascending.
    #[serde(deserialize_with = "crate::bounded::values")]
    pub drop: Vec<ValueId>,
}

impl Circuit {
    /// Rounds of communication: the layers with an exchange.
    pub fn rounds(&self) -> usize {
        self.layers.iter().filter(|l| !l.exchange.is_empty()).count()
    }

    /// Number of instructions, local and interactive.
    pub fn instructions(&self) -> usize {
        self.layers.iter().map(|l| l.local.len() + l.exchange.len()).sum()
    }

    /// The inputs that are loaded in parts ([`Op::Load`]).
    pub fn loaded(&self) -> BTreeSet<ValueId> {
        let local = self.layers.iter().flat_map(|l| &l.local);
        local
            .filter_map(|i| match i.op {
                Op::Load { x, .. } => Some(x),
                _ => None,
            })
            .collect()
    }

    /// The states that the parties keep, by index of the input.
    pub fn states(&self) -> impl Iterator<Item = (usize, &Input)> {
        self.inputs.iter().enumerate().filter(|(_, i)| matches!(i.from, From::State(_)))
    }

    /// The type of a value. The verifier guarantees that ids in a verified circuit are in range.
    pub fn ty(&self, v: ValueId) -> &Type {
        &self.types[v.index()]
    }
}
