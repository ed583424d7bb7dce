//! What a party knows of the clients' uploads before a run, and which inputs are replaced after it.

use super::loads::Source;
use crate::share::deal::{Layout, Part, Upload};
use crate::share::{Held, Rep, Seed, next};
use serde::{Deserialize, Serialize};
use slvr_ring::Data;
use std::collections::BTreeMap;
use std::fmt;

/// Why zeros stand in for a client's inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Why {
    Missing,
    /// What it gave is no sharing of anything: two copies of a component differ, or one is
    /// unreadable.
    Inconsistent,
    /// Its inputs are outside the declared range: the circuit's check rejected them.
    OutOfRange,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::Missing => "missing",
            Why::Inconsistent => "inconsistent",
            Why::OutOfRange => "out of range",
        })
    }
}

/// A client whose inputs are replaced by zeros. Public.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Replaced {
    /// Its party set (index in the circuit).
    pub set: u32,
    pub member: u64,
    /// The reason; the first of several.
    pub why: Why,
}

/// What a run does about clients whose inputs cannot be used ([`Replaced`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Invalid {
    /// It goes on, with zeros in place of all inputs of these clients.
    #[default]
    Zeros,
    /// It ends, without an output, once every verdict is known: with [`RunError::Invalid`](super::RunError::Invalid) at all
    /// three parties. Whoever started it can run a circuit without these clients.
    Stop,
}

/// What a party knows of the clients' uploads before it has talked to the others.
#[derive(Clone, Debug, Default)]
pub struct Uploads {
    /// Clients (party set, member) of whom nothing usable arrived here: [`Why::Missing`] or
    /// [`Why::Inconsistent`]. Their part of the inputs may be anything.
    pub unusable: BTreeMap<(u32, u64), Why>,
    /// Hashes of what arrived of the other clients. Of a client that is neither here nor there the shares
    /// are hashed.
    pub received: BTreeMap<(u32, u64), Received>,
    /// Skip the comparison with the other parties: all parties must say the same. Only to show what
    /// happens without it.
    pub unchecked: bool,
    /// Gives what arrived once more, to a circuit that loads inputs in parts.
    pub source: Option<Source>,
}

/// Hashes of the two components of an upload as they came. As secret as these: a hash lets who knows two
/// components test guesses of the input.
#[derive(Clone, PartialEq, Eq)]
pub struct Received([[u8; 32]; 2]);

impl Received {
    /// Of an upload: BLAKE3 of each component's seed or packed elements.
    pub fn of(upload: &Upload) -> Self {
        let one = |part: &Part| match part {
            Part::Seed(seed) => *blake3::hash(seed.expose()).as_bytes(),
            Part::Explicit(bytes) => *blake3::hash(bytes).as_bytes(),
        };
        Received([one(&upload.first), one(&upload.second)])
    }

    /// Of shares: BLAKE3 of each component of a member's inputs, packed.
    pub(super) fn of_shares(inputs: &[Held], layout: &Layout, member: usize) -> Self {
        let one = |pick: fn(&Rep) -> &Data| {
            packed(layout, member, |j| match inputs.get(j as usize) {
                Some(Held::Rep(x)) => Some(pick(x)),
                _ => None,
            })
        };
        Received([one(|r| &r.first), one(|r| &r.second)])
    }

    /// Of what a member of this process dealt right to its place in the parties' first components: what each of them would
    /// say of its upload.
    pub(super) fn of_places(
        seeds: &[Seed; 2],
        explicit: &BTreeMap<u64, Data>,
        layout: &Layout,
        member: usize,
    ) -> [Received; 3] {
        let [first, second] = seeds.each_ref().map(|s| *blake3::hash(s.expose()).as_bytes());
        let of = [first, second, packed(layout, member, |j| explicit.get(&j))];
        [0, 1, 2].map(|me| Received([of[me], of[next(me)]]))
    }

    /// The hash of the first or second component.
    pub(super) fn component(&self, i: usize) -> &[u8; 32] {
        &self.0[i]
    }
}

impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Received(hidden)")
    }
}

/// BLAKE3 of a component of a member's inputs, packed, by index of the input.
fn packed<'a>(
    layout: &Layout,
    member: usize,
    component: impl Fn(u64) -> Option<&'a Data>,
) -> [u8; 32] {
    let mut hash = blake3::Hasher::new();
    for &(j, _, n) in layout {
        if let Some(x) = component(j) {
            absorb(&mut hash, x, member * n, n);
        }
    }
    *hash.finalize().as_bytes()
}

/// Hashes n elements from `start` on, some at a time: an input may be larger than what is left of
/// memory.
fn absorb(hash: &mut blake3::Hasher, x: &Data, start: usize, n: usize) {
    const CHUNK: usize = 1 << 16;
    let mut bytes = Vec::new();
    for at in (0..n).step_by(CHUNK) {
        bytes.clear();
        x.slice(start + at..start + (at + CHUNK).min(n)).to_wire(&mut bytes);
        hash.update(&bytes);
    }
}
