//! The layer loop of one party, and a session of three parties on this machine.
//!
//! Lives here: [`Party::run`] (local operations, one exchange, finish, drop dead values; rounds,
//! bytes and memory are counted), the handshake, the receiver's side ([`receive`]), errors
//! ([`RunError`]), the [`Transcript`] hook, [`session`] (three parties and the receivers as threads)
//! and [`remote`] (parties elsewhere, at the end of pipes). May not: files, sockets, anything about the source language.
//!
//! # A run
//!
//! 1. Handshake: the parties compare hashes of the circuit and of the public inputs, and the run's
//!    id. Nothing else is sent before all agree.
//! 2. The parties settle whose inputs are used ([`Replaced`]): a client that gave nothing, or different
//!    copies to different parties, has zeros in place of its inputs from here on.
//! 3. For each layer: evaluate the local instructions; send one message to each other party and to
//!    each receiver, if the layer has anything for them; take in the two messages of the peers and
//!    finish the instructions. A message travels in frames whose kind, layer, number and length are
//!    known, each as soon as it is computed, and is waited for where its first result is read
//!    ([`slvr_circuit::plan`]). Layers that were computed on the assumption that all clients pass their checks are
//!    repeated if one does not (`speculation.rs`).
//! 4. Closing, in two steps: each party tells the others that it is done and waits for the same from
//!    them; then it tells the others and the receivers that all agree, and waits for the same. With
//!    one step, a party that finds a stray message where the others' end should be would stop after
//!    it had let the others finish. Closing carries no data and is not counted as rounds.
//!
//! After any error a party tells everybody (an abort frame) and stops. A receiver outputs nothing
//! unless all three parties agree.

mod error;
mod exchange;
mod hello;
mod intake;
mod local;
mod receiver;
mod registers;
pub mod remote;
pub mod session;
mod speculation;
mod submissions;
mod transcript;

pub use error::{Phase, RunError};
pub use hello::{Hello, hash_public};
pub use receiver::{Receiver, receive};
pub use registers::Held;
pub use submissions::{Received, Replaced, Uploads, Why};
pub use transcript::{Direction, Event, Recorded, Recorder, Transcript};

use crate::link::{Header, Kind, Link, LinkError, Peer};
use crate::share::{Prss, RunId, next, prev};
use exchange::Round;
use registers::Registers;
use serde::{Deserialize, Serialize};
use slvr_circuit::Dom;
use slvr_circuit::plan::{self, Step};
use slvr_circuit::speculation::{Speculation, gated};
use slvr_circuit::verify::verify;
use slvr_circuit::{Circuit, From, Lanes, Op, ValueId};
use slvr_ring::Data;
use speculation::Attempt;
use std::collections::BTreeSet;
use std::time::Duration;

/// One party, ready to run.
pub struct Party<'a> {
    /// What to evaluate.
    pub circuit: &'a Circuit,
    /// This party's pairwise randomness; it also says which party this is.
    pub prss: Prss,
    /// The channels to the other parties and the receivers.
    pub link: &'a mut dyn Link,
    /// The run's public name.
    pub run: RunId,
    /// What arrived of the clients' inputs.
    pub uploads: Uploads,
    /// How long to wait for a message of a peer, its computation of the layer included.
    pub deadline: Duration,
    /// Told of every input, value and message, if there is one.
    pub transcript: Option<&'a mut dyn Transcript>,
    /// Called after each layer with the number of layers done and the number of all layers. Before
    /// layers are repeated the first number falls back.
    pub progress: Option<&'a (dyn Fn(usize, usize) + Sync)>,
}

/// What a party knows after a run. No share is part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartyReport {
    /// Layers with an exchange, as often as they were executed.
    pub rounds: usize,
    /// Bytes sent to the other parties and the receivers in the layers, frames excluded.
    pub bytes_sent: u64,
    /// Most bytes that values took at one time.
    pub peak_memory: u64,
    /// The public coins, in the order of their instructions.
    pub coins: Vec<u128>,
    /// For each of the circuit's checks its party set and which members' inputs were admitted.
    pub admitted: Vec<(u32, Vec<bool>)>,
    /// Clients whose inputs were replaced by zeros, by party set and member.
    pub replaced: Vec<Replaced>,
}

impl<'a> Party<'a> {
    /// Runs the circuit on what this party holds of the inputs, in declaration order: `One` for a
    /// public input, `Rep` for a secret one.
    ///
    /// # Errors
    ///
    /// Whatever goes wrong here or at a peer; the others have been told.
    pub fn run(self, inputs: Vec<Held>) -> Result<PartyReport, RunError> {
        let mut engine = Engine::new(self);
        let done = engine.all(inputs);
        if done.is_err() {
            engine.abort();
        }
        done
    }
}

/// The state of a run.
struct Engine<'a> {
    party: Party<'a>,
    me: usize,
    regs: Registers,
    receivers: BTreeSet<usize>,
    phase: Phase,
    /// Index of the current instruction, over all layers.
    instr: u64,
    /// What is assumed of the checks, and whether layers are repeated.
    attempt: Attempt,
    rounds: usize,
    bytes_sent: u64,
    /// With their instructions' numbers.
    coins: Vec<(u64, u128)>,
    /// Clients whose inputs are not used, before the circuit's checks.
    replaced: Vec<Replaced>,
    /// The results of the circuit's checks, once they are known.
    admitted: Vec<(u32, Vec<bool>)>,
}

impl<'a> Engine<'a> {
    fn new(party: Party<'a>) -> Self {
        let receivers = party.circuit.outputs.iter().map(|o| o.to as usize).collect();
        Engine {
            me: party.prss.me(),
            regs: Registers::new(0),
            receivers,
            phase: Phase::Handshake,
            instr: 0,
            attempt: Attempt::default(),
            rounds: 0,
            bytes_sent: 0,
            coins: Vec::new(),
            replaced: Vec::new(),
            admitted: party.circuit.checks.iter().map(|c| (c.set, Vec::new())).collect(),
            party,
        }
    }

    fn all(&mut self, inputs: Vec<Held>) -> Result<PartyReport, RunError> {
        let circuit = self.party.circuit;
        verify(circuit)?;
        self.regs = Registers::new(circuit.types.len());
        self.check_inputs(&inputs)?;
        self.greet(&inputs)?;
        let inputs = self.settle(inputs)?;
        self.load(inputs);
        self.layers()?;
        self.close()?;
        let mut coins = std::mem::take(&mut self.coins);
        coins.sort_unstable();
        Ok(PartyReport {
            rounds: self.rounds,
            bytes_sent: self.bytes_sent,
            peak_memory: self.regs.peak(),
            coins: coins.into_iter().map(|(_, coin)| coin).collect(),
            replaced: self.all_replaced(),
            admitted: std::mem::take(&mut self.admitted),
        })
    }

    /// All layers, step by step.
    fn layers(&mut self) -> Result<(), RunError> {
        let circuit = self.party.circuit;
        let plans = plan::plan(circuit);
        let part = Speculation::of(circuit);
        let gated = gated(circuit);
        // Index of each layer's first instruction.
        let starts: Vec<u64> = (circuit.layers.iter())
            .scan(0, |next, l| {
                let start = *next;
                *next += (l.local.len() + l.exchange.len()) as u64;
                Some(start)
            })
            .collect();
        // The layer before, while some of its messages are under way.
        let mut before: Option<Round> = None;
        let mut l = 0;
        while let (Some(layer), Some(plan), Some(&first)) =
            (circuit.layers.get(l), plans.get(l), starts.get(l))
        {
            self.phase = Phase::Layer(l as u32);
            let interactive = first + layer.local.len() as u64;
            let mut round = self.round(l as u32, &plan.order, interactive);
            for &step in &plan.steps {
                match step {
                    Step::Local(i) => {
                        let instr = &layer.local[i];
                        // Every local instruction has a result.
                        if let Some(v) = instr.out {
                            let value = match instr.op {
                                Op::Admitted { check, members } => self.assumed(check, members),
                                _ => match self.kept(gated[v.index()]) {
                                    Some(x) => x,
                                    None => self.local(&instr.op, v, first + i as u64)?,
                                },
                            };
                            self.define(v, value);
                        }
                    }
                    Step::Send(j) => self.send_part(&mut round, j, &layer.exchange[j])?,
                    // Done the first time.
                    Step::Finish { layer, .. } if self.attempt.again_from == Some(layer + 1) => {}
                    Step::Finish { layer, exchange } => {
                        let instr = &circuit.layers[layer].exchange[exchange];
                        let of = match &mut before {
                            Some(before) if layer < l => before,
                            _ => &mut round,
                        };
                        self.complete(of, exchange, instr)?;
                    }
                    Step::Drop(v) => self.regs.drop(v),
                }
            }
            self.rounds += usize::from(!layer.exchange.is_empty());
            before = Some(round);
            if let Some(progress) = self.party.progress {
                progress(l + 1, circuit.layers.len());
            }
            l = match &part {
                Some(part) if part.last == l && self.goes_back(part)? => part.first,
                _ => l + 1,
            };
        }
        Ok(())
    }

    /// The result v of a local instruction, by its number.
    fn local(&self, op: &Op, v: ValueId, number: u64) -> Result<Held, RunError> {
        let done = local::eval(self.party.circuit, self.context(number), &self.regs, op, v);
        done.map_err(|source| RunError::Index { phase: self.phase, source })
    }

    /// Inputs come from the outside: they must have the declared holders, domains and lengths.
    fn check_inputs(&self, inputs: &[Held]) -> Result<(), RunError> {
        let circuit = self.party.circuit;
        for (j, input) in circuit.inputs.iter().enumerate() {
            let ty = circuit.ty(input.value);
            let fits = |x: &Data| x.dom() == ty.dom && x.len() as u64 == ty.elements();
            let secret = input.from != From::Public;
            let good = match inputs.get(j) {
                Some(Held::One(x)) => !secret && fits(x),
                Some(Held::Rep(x)) => secret && fits(&x.first) && fits(&x.second),
                None => false,
            };
            if !good {
                return Err(RunError::Shape(input.name.clone()));
            }
        }
        Ok(())
    }

    /// Compares hashes with the peers.
    fn greet(&mut self, inputs: &[Held]) -> Result<(), RunError> {
        let circuit = self.party.circuit;
        let public = inputs.iter().filter_map(|held| match held {
            Held::One(x) => Some(&**x),
            Held::Rep(_) => None,
        });
        let mine = Hello::new(circuit, hash_public(public), self.party.run);
        let body = mine.encode();
        for peer in self.everybody() {
            let header = Header::new(Kind::Hello, 0, body.len());
            self.send(peer, header, body.to_vec())?;
        }
        for peer in self.peers() {
            let header = Header::new(Kind::Hello, 0, body.len());
            let theirs = self.recv(peer, header)?;
            mine.compare(&theirs).map_err(|what| RunError::Mismatch { peer, what })?;
        }
        Ok(())
    }

    fn load(&mut self, inputs: Vec<Held>) {
        let circuit = self.party.circuit;
        for (input, held) in circuit.inputs.iter().zip(inputs) {
            self.define(input.value, held);
        }
        for c in &circuit.consts {
            let data = Data::from_u128s(circuit.ty(c.value).dom, &c.data);
            self.define(c.value, Held::one(data));
        }
    }

    fn define(&mut self, v: ValueId, value: Held) {
        if let Some(t) = self.party.transcript.as_deref_mut() {
            t.value(v, &value);
        }
        let checks = self.party.circuit.checks.iter().zip(&mut self.admitted);
        for (_, (_, admitted)) in checks.filter(|(c, _)| c.value == v) {
            if let Held::One(bits) = &value {
                *admitted = bits.to_bools();
            }
        }
        self.regs.set(v, value);
    }

    fn close(&mut self) -> Result<(), RunError> {
        self.phase = Phase::Closing;
        for (kind, told) in [(Kind::Done, self.peers().to_vec()), (Kind::Agreed, self.everybody())]
        {
            let header = Header::new(kind, 0, 0);
            for peer in told {
                self.send(peer, header, Vec::new())?;
            }
            for peer in self.peers() {
                self.recv(peer, header)?;
            }
        }
        Ok(())
    }

    /// Tells everybody that this party has stopped. Who cannot be reached will notice by itself.
    fn abort(&mut self) {
        let layer = match self.phase {
            Phase::Layer(l) => l,
            Phase::Handshake | Phase::Inputs | Phase::Closing => 0,
        };
        for peer in self.everybody() {
            // The run has failed already; there is nobody left to tell about this failure.
            let _ = self.party.link.send(peer, Header::new(Kind::Abort, layer, 0), Vec::new());
        }
    }

    fn peers(&self) -> [Peer; 2] {
        [Peer::Party(next(self.me)), Peer::Party(prev(self.me))]
    }

    fn everybody(&self) -> Vec<Peer> {
        let receivers = self.receivers.iter().map(|&set| Peer::Receiver(set));
        self.peers().into_iter().chain(receivers).collect()
    }

    fn send(&mut self, to: Peer, header: Header, body: Vec<u8>) -> Result<(), RunError> {
        let sent = self.party.link.send(to, header, body);
        sent.map_err(|problem| self.failed(to, problem))
    }

    fn recv(&mut self, from: Peer, expected: Header) -> Result<Vec<u8>, RunError> {
        let got = self.party.link.recv(from, expected, self.party.deadline);
        got.map_err(|problem| self.failed(from, problem))
    }

    fn failed(&self, peer: Peer, problem: LinkError) -> RunError {
        RunError::Link { phase: self.phase, peer, problem }
    }

    /// Domain and shards of what an interactive instruction works on.
    fn operand(&self, op: &Op) -> (Dom, Lanes) {
        plan::operand(self.party.circuit, op)
    }
}
