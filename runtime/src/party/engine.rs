//! The state of one party's run: what it was given, what it holds, and how it talks to the others.

use super::doors::Doors;
use super::error::{Phase, RunError};
use super::guard::Guard;
use super::ranges::Workers;
use super::receiver::receiving;
use super::registers::Registers;
use super::transcript::Transcript;
use super::uploads::{Invalid, Replaced, Uploads};
use crate::link::{Header, Link, LinkError, Peer};
use crate::protocol::{Context, REPEATED};
use crate::share::state::Kept;
use crate::share::{Held, Prss, Rep, RunId, next, prev};
use serde::{Deserialize, Serialize};
use slvr_circuit::{Circuit, Dom, Lanes, Op, ValueId, plan};
use slvr_ring::Data;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// One party, ready to run.
pub struct Party<'a> {
    pub circuit: &'a Circuit,
    /// This party's pairwise randomness; it also says which party this is.
    pub prss: Arc<Prss>,
    /// The channels to the other parties and the receivers.
    pub link: &'a mut dyn Link,
    /// The run's public name.
    pub run: RunId,
    /// What arrived of the clients' inputs.
    pub uploads: Uploads,
    /// What is done about clients whose inputs cannot be used. The same at all three parties.
    pub invalid: Invalid,
    /// What this party has kept of the round before; without it, a circuit with states begins.
    pub state: Option<Kept>,
    /// How long to wait for a message of a peer, its computation of the layer included.
    pub deadline: Duration,
    /// Told of every input, value and message, if there is one.
    pub transcript: Option<&'a mut dyn Transcript>,
    /// Called after each layer with the number of layers done and the number of all layers. Before
    /// layers are repeated the first number falls back.
    pub progress: Option<&'a (dyn Fn(usize, usize) + Sync)>,
    /// Who computes ranges of layers for this party, if somebody does. The same number at all three parties.
    pub workers: Option<&'a mut dyn Workers>,
    /// What a test does to the run.
    pub doors: Doors<'a>,
}

impl<'a> Party<'a> {
    /// With no uploads, state, workers or anybody who is told of the run.
    pub fn new(
        circuit: &'a Circuit,
        prss: Prss,
        link: &'a mut dyn Link,
        run: RunId,
        deadline: Duration,
    ) -> Party<'a> {
        Party {
            circuit,
            prss: prss.into(),
            link,
            run,
            uploads: Uploads::default(),
            invalid: Invalid::default(),
            state: None,
            deadline,
            transcript: None,
            progress: None,
            workers: None,
            doors: Doors::default(),
        }
    }
}

/// What a party knows after a run. No share is part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartyReport {
    /// Layers with an exchange, as often as they were executed.
    pub rounds: usize,
    /// Bytes sent to the other parties and the receivers in the layers, by workers too, frames excluded.
    pub bytes_sent: u64,
    /// Most bytes that values took at one time, those of workers excepted.
    pub peak_memory: u64,
    /// The same of workers, for each range in the order in which they were taken back.
    pub workers_memory: Vec<u64>,
    /// The public coins, in the order of their instructions.
    pub coins: Vec<u128>,
    /// For each of the circuit's checks its party set and which members' inputs were admitted.
    pub admitted: Vec<(u32, Vec<bool>)>,
    /// Clients whose inputs were replaced by zeros, by party set and member.
    pub replaced: Vec<Replaced>,
}

/// What is assumed of the checks.
#[derive(Default)]
pub(super) struct Attempt {
    /// The first of the layers that are computed a second time, once that has begun.
    pub again_from: Option<usize>,
    /// For each check its set and bits, as they were opened the first time. Before that all members
    /// are taken to pass.
    pub bits: Vec<(u32, Vec<bool>)>,
    /// Whether the run is in layers that it has computed before.
    pub repeating: bool,
}

/// The state of a run.
pub(super) struct Engine<'a> {
    pub party: Party<'a>,
    pub me: usize,
    pub regs: Registers,
    pub receivers: BTreeSet<usize>,
    pub phase: Phase,
    /// Index of the current instruction, over all layers.
    pub instr: u64,
    /// What is assumed of the checks, and whether layers are repeated.
    pub attempt: Attempt,
    pub rounds: usize,
    pub bytes_sent: u64,
    /// Most bytes of values of each range that a worker has computed.
    pub workers_memory: Vec<u64>,
    /// With their instructions' numbers.
    pub coins: Vec<(u64, u128)>,
    /// Clients whose inputs are not used, before the circuit's checks.
    pub replaced: Vec<Replaced>,
    /// Members of whom the circuit reads that they take no part: nobody is surprised that they give nothing.
    pub away: BTreeSet<(u32, u64)>,
    /// The results of the circuit's checks, once they are known.
    pub admitted: Vec<(u32, Vec<bool>)>,
    /// What is to be proven, in a circuit against a malicious party.
    pub guard: Option<Guard>,
    /// Of such a circuit what its layer at hand has opened.
    pub opened: BTreeMap<ValueId, Data>,
    /// What is kept for the next round, by index of the input.
    pub kept: BTreeMap<u32, [Data; 2]>,
    /// Inputs that are loaded in parts, of which the party was handed all shares.
    pub given: BTreeMap<ValueId, Rep>,
}

impl<'a> Engine<'a> {
    pub(super) fn new(party: Party<'a>) -> Self {
        let receivers = receiving(party.circuit).into_iter().collect();
        Engine {
            me: party.prss.me(),
            regs: Registers::new(0),
            receivers,
            phase: Phase::Handshake,
            instr: 0,
            attempt: Attempt::default(),
            rounds: 0,
            bytes_sent: 0,
            workers_memory: Vec::new(),
            coins: Vec::new(),
            replaced: Vec::new(),
            away: BTreeSet::new(),
            admitted: party.circuit.checks.iter().map(|c| (c.set, Vec::new())).collect(),
            guard: None,
            opened: BTreeMap::new(),
            kept: BTreeMap::new(),
            given: BTreeMap::new(),
            party,
        }
    }

    /// What is drawn in an instruction comes from its streams.
    pub(super) fn context(&self, instr: u64) -> Context<'_> {
        Context { prss: &self.party.prss, instr: self.number(instr) }
    }

    /// The number of an instruction in the run.
    pub(super) fn number(&self, instr: u64) -> u64 {
        if self.attempt.repeating { instr + REPEATED } else { instr }
    }

    pub(super) fn define(&mut self, v: ValueId, value: Held) {
        if let Some(t) = self.party.transcript.as_deref_mut() {
            t.value(v, &value);
        }
        let checks = self.party.circuit.checks.iter().zip(&mut self.admitted);
        for (_, (_, admitted)) in checks.filter(|(c, _)| c.value == v) {
            if let Held::One(bits) = &value {
                *admitted = bits.to_bools();
            }
        }
        let kept = self.guard.as_mut().is_some_and(|guard| guard.keep(v, &value));
        if kept {
            self.regs.keep(&value);
        }
        self.regs.set(v, value);
    }

    pub(super) fn peers(&self) -> [Peer; 2] {
        [Peer::Party(next(self.me)), Peer::Party(prev(self.me))]
    }

    pub(super) fn everybody(&self) -> Vec<Peer> {
        let receivers = self.receivers.iter().map(|&set| Peer::Receiver(set));
        self.peers().into_iter().chain(receivers).collect()
    }

    pub(super) fn send(&mut self, to: Peer, header: Header, body: Vec<u8>) -> Result<(), RunError> {
        let sent = self.party.link.send(to, header, body);
        sent.map_err(|problem| self.failed(to, problem))
    }

    pub(super) fn recv(&mut self, from: Peer, expected: Header) -> Result<Vec<u8>, RunError> {
        let got = self.party.link.recv(from, expected, self.party.deadline);
        got.map_err(|problem| self.failed(from, problem))
    }

    pub(super) fn failed(&self, peer: Peer, problem: LinkError) -> RunError {
        RunError::Link { phase: self.phase, proof: None, peer, problem }
    }

    /// Domain and shards of what an interactive instruction works on.
    pub(super) fn operand(&self, op: &Op) -> (Dom, Lanes) {
        plan::operand(self.party.circuit, op)
    }
}
