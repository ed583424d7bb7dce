//! Ranges of layers on workers: a party hands a range with what it reads to a machine of its own, which computes it with
//! the same worker of the other two parties ([`slvr_circuit::ranges`]).
//!
//! A worker is its party. It has the run's pair seeds, and draws by the numbers of the instructions, so the parts
//! of messages are those of a run without workers, to the bit. What differs is who sends them, and so in which frames they
//! travel. Of the circuit it opens nothing, draws no coins and talks to no receiver.
//!
//! A range is computed once in a run. Whoever could have it computed again, with the same seeds and other shares,
//! would learn the difference of two messages under one mask.

use super::engine::{Engine, Party};
use super::error::{Phase, RunError};
use super::hello::{Hello, hash_public};
use super::registers::Registers;
use super::uploads::{Invalid, Replaced};
use crate::link::{Header, Kind, Peer};
use crate::share::{Held, Rep, next, prev};
use slvr_circuit::ranges::{Division, first};
use slvr_circuit::{Circuit, Hold, ValueId, wire_len};
use slvr_ring::Data;
use std::collections::BTreeSet;
use std::fmt;
use zeroize::Zeroizing;

/// What a worker gets for a range.
#[derive(Clone)]
pub struct Given {
    /// Its number among those of the circuit.
    pub range: usize,
    /// What it reads of values, in the order of [`Range::reads`](slvr_circuit::ranges::Range::reads).
    pub reads: Vec<(ValueId, Held)>,
    /// Clients whose inputs are not used: zeros are loaded in place of them.
    pub replaced: Vec<Replaced>,
}

impl Given {
    /// Whether zeros stand in for the inputs of a member.
    pub fn replaces(&self, set: usize, member: usize) -> bool {
        self.replaced.iter().any(|r| (r.set as usize, r.member) == (set, member as u64))
    }
}

impl fmt::Debug for Given {
    /// Nothing of the shares.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Given(range {}, {} values hidden)", self.range, self.reads.len())
    }
}

/// What comes back.
pub struct Computed {
    pub range: usize,
    /// In the order of [`Range::writes`](slvr_circuit::ranges::Range::writes).
    pub writes: Vec<(ValueId, Held)>,
    /// Bytes sent to the same worker of the other parties, frames excluded.
    pub bytes_sent: u64,
    /// Most bytes that values took at one time.
    pub peak_memory: u64,
}

impl fmt::Debug for Computed {
    /// Nothing of the shares.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Computed(range {}, {} values hidden)", self.range, self.writes.len())
    }
}

/// A party's workers. Range n is for worker n modulo their number, which all parties have in common.
pub trait Workers: Send {
    /// Hands a range over, once its worker has done the one before.
    ///
    /// # Errors
    ///
    /// Why the worker cannot take it, or has stopped.
    fn give(&mut self, given: Given) -> Result<(), RunError>;

    /// Waits until a range that was handed over is done.
    ///
    /// # Errors
    ///
    /// Why it is not.
    fn take(&mut self, range: usize) -> Result<Computed, RunError>;
}

impl Party<'_> {
    /// Computes a range, as a worker of this party, on links to the same worker of the other two. No receiver,
    /// state or worker of the party is used. `prss` must be fresh: instructions that
    /// several ranges evaluate for themselves draw the same words in each.
    ///
    /// # Errors
    ///
    /// Whatever goes wrong here or at a peer, with the layers of the range; the others have been told.
    pub fn run_range(self, division: &Division, given: Given) -> Result<Computed, RunError> {
        let mut engine = Engine::new(Party { invalid: Invalid::Zeros, ..self });
        engine.receivers = BTreeSet::new();
        let done = engine.range(division, given);
        if done.is_err() {
            engine.abort();
        }
        done
    }
}

/// An error with the worker and the layers of the range that it is about.
pub fn in_range(division: &Division, worker: usize, number: usize, source: RunError) -> RunError {
    let layers = division.ranges.get(number).map_or(0..0, |range| range.layers.clone());
    let last = layers.end.saturating_sub(1);
    RunError::Range { number, first: layers.start, last, worker, source: Box::new(source) }
}

/// Values as they travel between a party and its worker: their parts one after another. Both know how long each is.
pub fn pack(values: &[(ValueId, Held)]) -> Zeroizing<Vec<u8>> {
    let parts = || values.iter().flat_map(|(_, held)| held.parts());
    // All of it at once: what a vector leaves behind as it grows is not wiped.
    let len = parts().map(|x| wire_len(x.dom(), x.len())).sum();
    let mut bytes = Zeroizing::new(Vec::with_capacity(len));
    parts().for_each(|x| x.to_wire(&mut bytes));
    bytes
}

/// How many elements, and bytes, each of the parts has that party `me` holds of a value.
fn lengths(circuit: &Circuit, me: usize, v: ValueId) -> impl Iterator<Item = (usize, usize)> {
    let ty = circuit.ty(v);
    ty.stored(me).into_iter().map(move |n| (n as usize, wire_len(ty.dom, n as usize)))
}

/// How many bytes party `me` packs some values into.
pub fn packed(circuit: &Circuit, me: usize, values: &[ValueId]) -> u64 {
    let each = values.iter().flat_map(|&v| lengths(circuit, me, v));
    each.fold(0, |sum, (_, bytes)| sum.saturating_add(bytes as u64))
}

/// Reads what [`pack`] wrote of these values at party `me`.
///
/// # Errors
///
/// Bytes that are no packing of them.
pub fn unpack(
    circuit: &Circuit,
    me: usize,
    values: &[ValueId],
    bytes: &[u8],
) -> Result<Vec<(ValueId, Held)>, RunError> {
    let mut rest = bytes;
    let mut one = |v: ValueId| {
        let dom = circuit.ty(v).dom;
        let mut parts = lengths(circuit, me, v).map(|(n, len)| {
            let (part, left) = rest.split_at_checked(len)?;
            rest = left;
            Data::from_wire(dom, n, part)
        });
        let first = parts.next()??;
        let held = match parts.next() {
            Some(second) => Held::Rep(Rep::new(first, second?)),
            None => Held::one(first),
        };
        Some((v, held))
    };
    let all: Option<Vec<_>> = values.iter().map(|&v| one(v)).collect();
    all.filter(|_| rest.is_empty()).ok_or(RunError::Setup)
}

/// Whether what a party holds of a value is as large as its type says.
fn fits(circuit: &Circuit, me: usize, v: ValueId, held: &Held) -> bool {
    let ty = circuit.ty(v);
    let two = matches!(ty.hold, Hold::Rep | Hold::Mask);
    let sizes = held.parts().map(|x| x.len() as u64);
    let alike = matches!(held, Held::Rep(_)) == two && held.parts().all(|x| x.dom() == ty.dom);
    alike && sizes.eq(ty.stored(me))
}

impl Engine<'_> {
    fn range(&mut self, division: &Division, given: Given) -> Result<Computed, RunError> {
        let circuit = self.party.circuit;
        let number = given.range;
        let plans = division.workers.get(number).zip(division.ranges.get(number));
        let (plans, range) = plans.ok_or(RunError::Setup)?;
        let ids = given.reads.iter().map(|(v, _)| *v);
        let all = given.reads.iter().all(|(v, held)| fits(circuit, self.me, *v, held));
        if !ids.eq(range.reads.iter().copied()) || !all {
            return Err(RunError::Setup);
        }
        self.regs = Registers::new(circuit.types.len());
        self.replaced = given.replaced;
        self.meet(number)?;
        for (v, held) in given.reads {
            self.define(v, held);
        }
        let consts = range.consts(circuit);
        for c in circuit.consts.iter().filter(|c| consts.contains(&c.value)) {
            self.define(c.value, Held::one(Data::from_u128s(circuit.ty(c.value).dom, &c.data)));
        }
        self.layers(plans, &division.ranges, first(circuit))?;
        let writes = range.writes.iter().map(|&v| (v, self.regs.get(v).clone())).collect();
        let (bytes_sent, peak_memory) = (self.bytes_sent, self.regs.peak());
        Ok(Computed { range: number, writes, bytes_sent, peak_memory })
    }

    /// Compares circuit, run and range with the same worker of the others.
    fn meet(&mut self, range: usize) -> Result<(), RunError> {
        self.phase = Phase::Handshake;
        let public = hash_public(std::iter::empty());
        let mine = Hello::new(self.party.circuit, public, self.party.run);
        let body = mine.encode();
        let peers = [next(self.me), prev(self.me)].map(Peer::Party);
        let header = Header::new(Kind::Hello, range as u32, body.len());
        for peer in peers {
            self.send(peer, header, body.clone())?;
        }
        for peer in peers {
            let theirs = self.recv(peer, header)?;
            mine.compare(&theirs).map_err(|what| RunError::Mismatch { peer, what })?;
        }
        Ok(())
    }

    /// Hands a range to its worker.
    pub(super) fn give(
        &mut self,
        division: &[slvr_circuit::ranges::Range],
        range: usize,
    ) -> Result<(), RunError> {
        let reads = division[range].reads.iter().map(|&v| (v, self.regs.get(v).clone())).collect();
        let replaced = self.replaced.clone();
        match self.party.workers.as_deref_mut() {
            Some(workers) => workers.give(Given { range, reads, replaced }),
            None => unreachable!("a party without workers hands nothing over"),
        }
    }

    /// Takes back what is read of a range.
    pub(super) fn take(
        &mut self,
        division: &[slvr_circuit::ranges::Range],
        range: usize,
    ) -> Result<(), RunError> {
        let done = match self.party.workers.as_deref_mut() {
            Some(workers) => workers.take(range)?,
            None => unreachable!("a party without workers hands nothing over"),
        };
        let circuit = self.party.circuit;
        let ids = done.writes.iter().map(|(v, _)| *v);
        let all = done.writes.iter().all(|(v, held)| fits(circuit, self.me, *v, held));
        if !ids.eq(division[range].writes.iter().copied()) || !all {
            return Err(RunError::Setup);
        }
        self.bytes_sent = self.bytes_sent.saturating_add(done.bytes_sent);
        self.workers_memory.push(done.peak_memory);
        for (v, held) in done.writes {
            self.define(v, held);
        }
        Ok(())
    }
}
