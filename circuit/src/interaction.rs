//! Who sends what to whom in an interactive instruction.

use crate::{Lanes, Op};
use std::fmt;

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
    /// To the receiver.
    pub receiver: usize,
}

/// Elements that party `me` sends for an operand with these shards. Nothing for a local operation.
pub fn outgoing(op: &Op, lanes: Lanes, me: usize) -> Counts {
    let (n, len) = (lanes.n, |shard: usize| lanes.len(shard));
    match op {
        Op::Reshare(_) => Counts { prev: n, ..Counts::default() },
        Op::Input(_) => Counts { next: len(me), ..Counts::default() },
        Op::Deal(_) | Op::DealMask(_) => Counts { prev: len(me), ..Counts::default() },
        Op::ReshareTwo(_) | Op::OpenMasked { .. } => {
            Counts { next: len(prev(me)), prev: len(next(me)), receiver: 0 }
        }
        Op::Open(_) => Counts { next: n, ..Counts::default() },
        Op::OpenSum(_) => Counts { next: n, prev: n, receiver: 0 },
        Op::OpenTo { .. } => Counts { receiver: n, ..Counts::default() },
        Op::Coin => Counts { next: 1, ..Counts::default() },
        _ => Counts::default(),
    }
}

/// Elements that party `me` receives for an operand with these shards.
pub fn incoming(op: &Op, lanes: Lanes, me: usize) -> Counts {
    let (from_next, from_prev) = (outgoing(op, lanes, next(me)), outgoing(op, lanes, prev(me)));
    Counts { next: from_next.prev, prev: from_prev.next, receiver: 0 }
}
