//! The interactive instructions, one file each: the message before the exchange, the result after.
//!
//! Lives here: what a party sends and keeps (`message`) and what it makes of what it gets (`finish`), with
//! one function that finds both for an instruction ([`of`]); what public coins expand to ([`committee`],
//! [`signs`]); and how masks, which need no message, are made and stored ([`mask`]). May not: circuits'
//! control flow, links, bytes. A file's doc states the ideal functionality, the shares of every party, the
//! messages, the cost and why a party's view can be simulated.
//!
//! How many elements travel is not said here but in the table of interactions
//! ([`slvr_circuit::interaction`]), to which a test holds every message.
//!
//! | instruction | from, to | messages |
//! |---|---|---|
//! | [`reshare`] | `Add3 -> Rep` | every party to the one before it |
//! | [`input`] | `Own -> Rep` | the owner to the next party |
//! | [`deal`] | `Own -> Add2` | the owner to the party before it |
//! | [`deal_mask`] | `Own -> Mask` | as `deal` |
//! | [`reshare_two`] | `Add2 -> Rep` | the two to each other |
//! | [`open_masked`] | `Add2, Mask -> Dup` | the two to each other |
//! | [`open`] | `Rep -> Public` | every party to the next |
//! | [`open_sum`] | `Add3 -> Public` | every party to both others |
//! | [`open_to`] | `Add3 ->` a receiver | every party to the receiver |
//! | [`coin`] | `-> Public` | every party to the next |
//! | [`mask`] | `-> Mask`, local | none |
//! | [`random`] | `-> Rep`, local | none |
//!
//! # Notation
//!
//! P_i holds (x_i, x_{i+1}) of a replicated x. F_{i,j} is a stream of fresh pseudorandom words that
//! P_i and P_j derive; a stream is addressed by element, so shards draw disjoint parts. Over bits
//! read xor for + and -. Shards and the roles in them are those of [`slvr_circuit`]: party p stores
//! shard p of an `Own` value, and of `Dup` and `Add2` values the other two shards, in the order of
//! their indices; of a `Mask` value its first words of shards p and p - 1 and its second words of shards
//! p and p + 1. The formulas are also spelled out in `docs/src/protocols.md`.
//!
//! # Security
//!
//! Against one semi-honest party each instruction is simulated from that party's own input and
//! output: every word it receives is masked by a stream that it does not know, or is determined by
//! what it is meant to learn. The arguments replace streams by uniform words (ChaCha12 as a
//! pseudorandom function) and compose because no stream is drawn twice.

pub mod coin;
pub mod committee;
pub mod deal;
pub mod deal_mask;
pub mod input;
pub mod mask;
pub mod open;
pub mod open_masked;
pub mod open_sum;
pub mod open_to;
pub mod random;
pub mod reshare;
pub mod reshare_two;
pub mod signs;
mod table;

pub use table::{Operands, Protocol, of};

use crate::share::{Prss, Purpose, Stream, next, prev};
use slvr_circuit::Dom;
use slvr_circuit::Lanes;
pub use slvr_circuit::interaction::{Counts, incoming, outgoing};
use slvr_ring::Data;
use std::fmt;
use std::ops::Range;

/// Where an instruction takes its randomness from.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// This party's pairwise randomness.
    pub prss: &'a Prss,
    /// Number of the instruction in the run, which names its streams: its index in the circuit, local
    /// and interactive, counted from 0; when layers are repeated ([`slvr_circuit::speculation`]), plus
    /// [`REPEATED`].
    pub instr: u64,
}

/// What is added to the numbers of instructions that are executed a second time. Beyond all indices, so
/// that a repetition draws no stream that was drawn before.
pub const REPEATED: u64 = 1 << 32;

impl Context<'_> {
    pub fn me(&self) -> usize {
        self.prss.me()
    }

    fn mask(&self) -> Stream {
        Stream::new(self.instr, Purpose::Mask)
    }

    /// Elements `r` of this instruction's F_{i,i+1}.
    fn next(&self, dom: Dom, r: &Range<usize>) -> Data {
        self.prss.with_next(self.mask(), dom, r.start, r.len())
    }

    /// Elements `r` of this instruction's F_{i-1,i}.
    fn prev(&self, dom: Dom, r: &Range<usize>) -> Data {
        self.prss.with_prev(self.mask(), dom, r.start, r.len())
    }
}

/// What a party sends in one instruction, and what it keeps for [`finish`](reshare::finish).
#[derive(Default)]
pub struct Message {
    /// To P_{i+1}.
    pub to_next: Option<Data>,
    /// To P_{i-1}.
    pub to_prev: Option<Data>,
    /// To the receiver of the output.
    pub to_receiver: Option<Data>,
    /// Not sent.
    pub kept: Vec<Data>,
}

impl fmt::Debug for Message {
    /// Nothing of the content.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Message(hidden)")
    }
}

/// What a party receives in one instruction; the lengths are those of [`incoming`].
#[derive(Default)]
pub struct Incoming {
    /// From P_{i+1}.
    pub from_next: Option<Data>,
    /// From P_{i-1}.
    pub from_prev: Option<Data>,
}

impl fmt::Debug for Incoming {
    /// Nothing of the content.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Incoming(hidden)")
    }
}

/// The part of a message that the layer loop has checked to be there: [`incoming`] and [`outgoing`]
/// are written to agree with every `message` and `finish`, and a test holds them to it.
fn part(x: Option<Data>) -> Data {
    match x {
        Some(x) => x,
        None => unreachable!("the layer loop passes every part that `incoming` counts"),
    }
}

/// The pieces of the two shards that party `me` does not own, from their storage one after the
/// other: (shard me - 1, shard me + 1).
fn pieces(x: &Data, lanes: Lanes, me: usize) -> (Data, Data) {
    let (before, after) = complement(lanes, me);
    (x.slice(before), x.slice(after))
}

/// Where the two shards that party `me` does not own lie in its storage of a `Dup` or `Add2` value
/// with these shards: (shard me - 1, in which me plays r + 1; shard me + 1, in which it plays r + 2).
pub fn complement(lanes: Lanes, me: usize) -> (Range<usize>, Range<usize>) {
    places(lanes, prev(me), next(me)).into()
}

/// Where shards `a` and `b` lie, one after the other in the order of their indices.
pub(crate) fn places(lanes: Lanes, a: usize, b: usize) -> [Range<usize>; 2] {
    let (na, nb) = (lanes.len(a), lanes.len(b));
    if a < b { [0..na, na..na + nb] } else { [nb..nb + na, 0..nb] }
}

/// The inverse of `pieces`: shards me - 1 and me + 1 in the order of their indices.
pub fn join(before: &Data, after: &Data, me: usize) -> Data {
    join_parts((before, 0..before.len()), (after, 0..after.len()), me)
}

/// The same of parts of tensors.
pub(crate) fn join_parts(
    before: (&Data, Range<usize>),
    after: (&Data, Range<usize>),
    me: usize,
) -> Data {
    if prev(me) < next(me) { Data::join(&[before, after]) } else { Data::join(&[after, before]) }
}

/// A whole tensor from what belongs to shard me, me - 1 and me + 1.
pub(crate) fn assemble(own: &Data, before: &Data, after: &Data, me: usize) -> Data {
    let mut parts = [own; 3];
    parts[prev(me)] = before;
    parts[next(me)] = after;
    Data::concat(&parts)
}
