//! The table of interactions: of each interactive instruction the holders of its operands and of its result,
//! who sends what to whom, what is drawn from streams, and what the result is.
//!
//! Everything that counts, routes or checks messages follows from it: the verifier's typing of interactive
//! instructions, the frames of a layer ([`crate::plan`]), bytes ([`crate::traffic`]), the cost model of a
//! compiler, and the evaluation on plain values. What a message contains is the matter of the protocols,
//! which a test in the runtime holds to this table.

use crate::{Dom, Hold, Lanes, Op};
use std::fmt;

/// One row of the table: what an interactive instruction does, whatever its operands.
#[derive(Debug, PartialEq, Eq)]
pub struct Interaction {
    /// Holders of the operands, in order. All operands have the domain, shape and shards of the first.
    pub from: &'static [Hold],
    /// Holder of the result, which is otherwise typed as the operands; `None` if a receiver gets it.
    pub to: Option<Hold>,
    /// Who sends to whom.
    pub sends: Sends,
    /// Pseudorandom words that the parties draw.
    pub draws: Draws,
    /// What the result is.
    pub result: Outcome,
    /// Whether it applies to words only, and not to bits.
    pub words_only: bool,
    /// Whether a party reads its operands again when it makes the result, so that they must be kept until
    /// then.
    pub rereads: bool,
}

/// Where a party sends its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// To P_{i+1}.
    Next,
    /// To P_{i-1}.
    Prev,
    /// To the receiver of an output.
    Receiver,
}

/// Who sends to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sends {
    /// Every party a word of each element, to each of these.
    All(&'static [To]),
    /// In shard r party r a word of each element.
    Owner(To),
    /// In shard r parties r + 1 and r + 2 a word of each element to each other.
    Others,
}

/// Which streams of pseudorandom words the parties draw from. Two parties share a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draws {
    Nothing,
    /// Every party a word of each element from the stream with each neighbour.
    Both,
    /// In shard r the stream of parties r and r - 1: a word of each element at both.
    WithPrev,
    /// In shard r the stream of parties r and r + 1.
    WithNext,
    /// In shard r both of these: two words of each element at party r, one at each other.
    Shards,
}

/// What the result of an interactive instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Operand,
    /// The first operand less the second.
    Difference,
    /// A uniform word of [`COINS`].
    Random,
}

/// The domain of public coins: an instruction without operands works on one such word.
pub const COINS: Dom = Dom::Ring(128);

/// What most rows have.
const ROW: Interaction = Interaction {
    from: &[],
    to: None,
    sends: Sends::All(&[]),
    draws: Draws::Nothing,
    result: Outcome::Operand,
    words_only: false,
    rereads: false,
};

pub const RESHARE: Interaction = Interaction {
    from: &[Hold::Add3],
    to: Some(Hold::Rep),
    sends: Sends::All(&[To::Prev]),
    draws: Draws::Both,
    ..ROW
};

pub const INPUT: Interaction = Interaction {
    from: &[Hold::Own],
    to: Some(Hold::Rep),
    sends: Sends::Owner(To::Next),
    draws: Draws::WithPrev,
    ..ROW
};

pub const DEAL: Interaction = Interaction {
    from: &[Hold::Own],
    to: Some(Hold::Add2),
    sends: Sends::Owner(To::Prev),
    draws: Draws::WithNext,
    ..ROW
};

pub const DEAL_MASK: Interaction = Interaction { to: Some(Hold::Mask), ..DEAL };

pub const RESHARE_TWO: Interaction = Interaction {
    from: &[Hold::Add2],
    to: Some(Hold::Rep),
    sends: Sends::Others,
    draws: Draws::Shards,
    ..ROW
};

pub const OPEN_MASKED: Interaction = Interaction {
    from: &[Hold::Add2, Hold::Mask],
    to: Some(Hold::Dup),
    sends: Sends::Others,
    result: Outcome::Difference,
    ..ROW
};

pub const OPEN: Interaction = Interaction {
    from: &[Hold::Rep],
    to: Some(Hold::Public),
    sends: Sends::All(&[To::Next]),
    rereads: true,
    ..ROW
};

pub const OPEN_SUM: Interaction = Interaction {
    from: &[Hold::Add3],
    to: Some(Hold::Public),
    sends: Sends::All(&[To::Next, To::Prev]),
    draws: Draws::Both,
    ..ROW
};

pub const OPEN_TO: Interaction = Interaction {
    from: &[Hold::Add3],
    sends: Sends::All(&[To::Receiver]),
    draws: Draws::Both,
    words_only: true,
    ..ROW
};

pub const COIN: Interaction = Interaction {
    to: Some(Hold::Public),
    sends: Sends::All(&[To::Next]),
    draws: Draws::Both,
    result: Outcome::Random,
    ..ROW
};

impl Interaction {
    /// Elements that party `me` sends for an operand with these shards.
    pub fn outgoing(&self, lanes: Lanes, me: usize) -> Counts {
        let count = |all: &[To], n: usize| {
            let to = |to| if all.contains(&to) { n } else { 0 };
            Counts { next: to(To::Next), prev: to(To::Prev), receiver: to(To::Receiver) }
        };
        match self.sends {
            Sends::All(to) => count(to, lanes.n),
            Sends::Owner(to) => count(&[to], lanes.len(me)),
            Sends::Others => {
                Counts { next: lanes.len(prev(me)), prev: lanes.len(next(me)), receiver: 0 }
            }
        }
    }

    /// Pseudorandom words that party `me` draws for an operand with these shards.
    pub fn drawn(&self, lanes: Lanes, me: usize) -> usize {
        match self.draws {
            Draws::Nothing => 0,
            Draws::Both => 2 * lanes.n,
            // Its own shard, and the one in which it is the other party of the stream.
            Draws::WithPrev => lanes.len(me) + lanes.len(next(me)),
            Draws::WithNext => lanes.len(me) + lanes.len(prev(me)),
            Draws::Shards => lanes.len(me) + lanes.n,
        }
    }

    /// Whether all parties or a receiver learn the operand.
    pub fn reveals(&self) -> bool {
        let known = matches!(self.to, None | Some(Hold::Public));
        known && self.result != Outcome::Random
    }
}

/// The party (or component) after i.
pub fn next(i: usize) -> usize {
    (i + 1) % 3
}

/// The party (or component) before i.
pub fn prev(i: usize) -> usize {
    (i + 2) % 3
}

/// The other end of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Peer {
    /// One of the three computing parties, 0, 1 or 2.
    Party(usize),
    /// The receiver of a declared party set, by the set's index in the circuit.
    Receiver(usize),
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Party(i) => write!(f, "party {i}"),
            Peer::Receiver(set) => write!(f, "the receiver (party set {set})"),
        }
    }
}

/// Numbers of elements that a party sends or receives in one instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// To or from P_{i+1}.
    pub next: usize,
    /// To or from P_{i-1}.
    pub prev: usize,
    pub receiver: usize,
}

/// Elements that party `me` sends for an operand with these shards. Nothing for a local operation.
pub fn outgoing(op: &Op, lanes: Lanes, me: usize) -> Counts {
    op.interaction().map_or(Counts::default(), |i| i.outgoing(lanes, me))
}

/// Elements that party `me` receives for an operand with these shards.
pub fn incoming(op: &Op, lanes: Lanes, me: usize) -> Counts {
    let (from_next, from_prev) = (outgoing(op, lanes, next(me)), outgoing(op, lanes, prev(me)));
    Counts { next: from_next.prev, prev: from_prev.next, receiver: 0 }
}
