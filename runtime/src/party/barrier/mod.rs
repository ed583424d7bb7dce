//! A barrier: every party proves to the other two that all it has sent since the last one was right.
//!
//! The steps and the lengths of their messages are those of [`slvr_circuit::proof::Lengths`]. A party has three parts
//! in each step: it proves (P), it checks the party after it (V1) and the one before it (V2). Lives here: when there is
//! one, and what it sends besides its proofs. Their messages are in [`prove`]; what a party computes is in [`sides`], for
//! lifted statements in [`lifted`], of what it sees ([`scope`]).

mod lifted;
mod prove;
mod scope;
mod sides;

use super::engine::Engine;
use super::error::{Phase, RunError};
use super::guard::Carries;
use crate::link::{Header, Kind, Peer};
use crate::proof::algebra::Draw;
use crate::proof::{carries, statements};
use crate::share::{Held, next, prev};
use sides::Slot;
use slvr_circuit::proof::{Barrier, HASH, Lengths};
use slvr_circuit::{Op, ValueId};
use slvr_ring::Planes;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is said of a proof that does not hold.
const WRONG: &str = "its proof is wrong";

impl Engine<'_> {
    /// Once all of the layer before l is sent: tells its share of the carries to the party after it, where it knows them.
    pub(super) fn carry(&mut self, l: usize) -> Result<(), RunError> {
        let next = self.guard.as_ref().and_then(|g| g.barriers.get(g.next));
        let is_early = |next: &&Arc<(Barrier, Lengths)>| {
            let (barrier, lengths) = &***next;
            barrier.layer as usize == l && lengths.early && !lengths.is_empty()
        };
        let Some(next) = next.filter(is_early).cloned() else { return Ok(()) };
        let phase = std::mem::replace(&mut self.phase, Phase::Layer(l as u32));
        let carries = self.share_carries(self.barrier_number(), &next.0)?;
        self.phase = phase;
        if let Some(guard) = &mut self.guard {
            guard.carries = Some(carries);
        }
        Ok(())
    }

    /// A proof that is given a second time is another one.
    fn barrier_number(&self) -> usize {
        let Some(guard) = &self.guard else { return 0 };
        guard.next + if self.attempt.repeating { guard.barriers.len() } else { 0 }
    }

    /// Tells shares of carries to the party after this one.
    fn share_carries(&mut self, number: usize, barrier: &Barrier) -> Result<Carries, RunError> {
        let Some(guard) = &mut self.guard else { unreachable!("a guarded run") };
        let kept = std::mem::take(&mut guard.kept);
        let (carries, body) = self.carries(number, barrier, &kept);
        if let Some(guard) = &mut self.guard {
            guard.kept = kept;
        }
        if !body.is_empty() {
            self.tell(next(self.me), 0, body)?;
        }
        Ok(carries)
    }

    /// Proves what was sent before layer l, if it opens something or the circuit says so.
    pub(super) fn barrier(&mut self, l: usize) -> Result<(), RunError> {
        let Some(guard) = &self.guard else { return Ok(()) };
        let next = guard.barriers.get(guard.next).filter(|next| next.0.layer == l as u32);
        let Some(next) = next.cloned() else { return Ok(()) };
        let (barrier, lengths) = &*next;
        let number = self.barrier_number();
        let decides = guard.speculation.as_ref().is_some_and(|part| part.last == l);
        self.phase = Phase::Layer(l as u32);
        if !lengths.is_empty() {
            let Some(guard) = &mut self.guard else { unreachable!("a guarded run") };
            let carries = match guard.carries.take() {
                Some(carries) => carries,
                None => self.share_carries(number, barrier)?,
            };
            let Some(guard) = &mut self.guard else { unreachable!("a guarded run") };
            // Nothing else needs what is kept as long as this proof lasts.
            let kept = std::mem::take(&mut guard.kept);
            self.prove(number, barrier, lengths, &kept, carries)?;
            if let Some(guard) = &mut self.guard {
                guard.kept = kept;
            }
            self.rounds += lengths.rounds();
        }
        if !decides {
            self.passed(l);
        }
        Ok(())
    }

    /// After the proof before layer l, if there is one and it is not given again: forgets what no later one needs.
    pub(super) fn passed(&mut self, l: usize) {
        let Some(guard) = &mut self.guard else { return };
        for x in guard.passed(l) {
            self.regs.forget(x);
        }
    }

    fn tell(&mut self, to: usize, part: usize, body: Vec<u8>) -> Result<(), RunError> {
        let Phase::Layer(layer) = self.phase else { unreachable!("barriers stand before layers") };
        let layer = self.on_wire(layer);
        let header = Header { part: part as u32, ..Header::new(Kind::Proof, layer, body.len()) };
        self.bytes_sent += body.len() as u64;
        self.send(Peer::Party(to), header, body).map_err(|e| self.in_proof(e))
    }

    fn hear(&mut self, from: usize, part: usize, len: usize) -> Result<Vec<u8>, RunError> {
        let Phase::Layer(layer) = self.phase else { unreachable!("barriers stand before layers") };
        let layer = self.on_wire(layer);
        let header = Header { part: part as u32, ..Header::new(Kind::Proof, layer, len) };
        self.recv(Peer::Party(from), header).map_err(|e| self.in_proof(e))
    }

    /// An error of the link, in a message of a proof.
    fn in_proof(&self, error: RunError) -> RunError {
        match error {
            RunError::Link { phase, peer, problem, .. } => {
                RunError::Link { phase, proof: Some(self.opens()), peer, problem }
            }
            other => other,
        }
    }

    /// A coin, or a half of one.
    fn hear_coin(&mut self, from: usize, part: usize) -> Result<[u8; HASH], RunError> {
        let body = self.hear(from, part, HASH)?;
        body.try_into().map_err(|_| self.rejected(from, "a coin of another length"))
    }

    /// The name of what is opened in the layer at hand, behind its proof.
    fn opens(&self) -> &'static str {
        match self.phase {
            Phase::Layer(l) => {
                let layer = &self.party.circuit.layers[l as usize];
                let opens = |op: &Op| op.interaction().is_some_and(|i| i.reveals());
                layer
                    .exchange
                    .iter()
                    .find(|i| opens(&i.op))
                    .map_or(Op::Prove.name(), |i| i.op.name())
            }
            _ => "open",
        }
    }

    /// A party is found to deviate in a proof before the layer at hand.
    fn rejected(&self, party: usize, what: &'static str) -> RunError {
        RunError::Proof { phase: self.phase, op: self.opens(), party, or: None, what }
    }

    /// The same where what two parties have said does not fit together.
    fn rejected_either(&self, party: usize, or: usize, what: &'static str) -> RunError {
        match self.rejected(party, what) {
            RunError::Proof { phase, op, party, what, .. } => {
                RunError::Proof { phase, op, party, or: Some(or), what }
            }
            other => other,
        }
    }

    /// Nobody opens anything before all have accepted.
    fn verdict(&mut self, part: usize) -> Result<(), RunError> {
        let (after, before) = (next(self.me), prev(self.me));
        for peer in [after, before] {
            self.tell(peer, part, vec![1])?;
        }
        for peer in [after, before] {
            if self.hear(peer, part, 1)? != [1] {
                return Err(self.rejected(peer, "it does not say that it accepts"));
            }
        }
        Ok(())
    }

    /// What this party and the one after it draw at a barrier without talking.
    fn with_next(&self, barrier: usize, slot: Slot) -> [u8; HASH] {
        self.party.prss.key_with_next(slot.stream(barrier))
    }

    /// The same with the party before it.
    fn with_prev(&self, barrier: usize, slot: Slot) -> [u8; HASH] {
        self.party.prss.key_with_prev(slot.stream(barrier))
    }

    /// From what the random elements of the vectors are drawn, in the order of [`scope::ROLES`].
    fn hidden(&self, barrier: usize) -> [[u8; HASH]; 4] {
        [
            self.with_prev(barrier, Slot::HideFirst),
            self.with_next(barrier, Slot::HideSecond),
            self.with_next(barrier, Slot::HideFirst),
            self.with_prev(barrier, Slot::HideSecond),
        ]
    }

    /// Shares of the carries of p + q that are told at the barrier of a number, as P, which the statements are about, and as V1.
    /// Also the message to V2.
    fn carries(
        &self,
        number: usize,
        barrier: &Barrier,
        kept: &BTreeMap<ValueId, Held>,
    ) -> (Carries, Vec<u8>) {
        let circuit = self.party.circuit;
        let mut out = Carries::default();
        let drawn = |seed| Draw::new(&seed, "slvr 2026 carries");
        let mut mine = drawn(self.with_prev(number, Slot::Carries));
        let mut theirs = drawn(self.with_next(number, Slot::Carries));
        let mut body = Vec::new();
        for (&x, of) in &barrier.carries {
            let Some(&last) = of.told.last() else { continue };
            let n = of.told.len() as u32;
            let range = statements::shard(circuit, x, self.me);
            let len = range.len();
            let rep = kept[&x.x].as_rep();
            let (p, q) = (rep.first.slice(range.clone()), rep.second.slice(range));
            let mut rest = carries::told(of, carries::carries(&p, &q, last));
            let share = planes(n, len, mine.words(words(n, len)));
            rest.words_mut().iter_mut().zip(share.words()).for_each(|(c, s)| *c ^= s);
            rest.words().iter().for_each(|w| body.extend_from_slice(&w.to_le_bytes()));
            out[0].insert(x, share);
            out[1].insert(x, rest);
            let len = statements::shard(circuit, x, next(self.me)).len();
            out[2].insert(x, planes(n, len, theirs.words(words(n, len))));
        }
        (out, body)
    }

    /// The shares as V2, which P has sent. Bits beyond the last carry are 0, as in every message.
    fn read_carries(
        &self,
        barrier: &Barrier,
        got: &[u8],
        out: &mut Carries,
    ) -> Result<(), RunError> {
        let (all, _) = got.as_chunks();
        let mut all = all.iter().map(|w| u64::from_le_bytes(*w));
        for (&x, of) in &barrier.carries {
            let n = of.told.len() as u32;
            if n == 0 {
                continue;
            }
            let len = statements::shard(self.party.circuit, x, prev(self.me)).len();
            let some: Vec<u64> = all.by_ref().take(words(n, len)).collect();
            if !len.is_multiple_of(64) {
                let mut last = some.chunks(len.div_ceil(64)).filter_map(<[u64]>::last);
                if last.any(|word| word >> (len % 64) != 0) {
                    return Err(self.rejected(prev(self.me), "carries of nothing"));
                }
            }
            out[3].insert(x, planes(n, len, some));
        }
        Ok(())
    }
}

fn planes(n: u32, len: usize, words: Vec<u64>) -> Planes {
    match Planes::from_words(n, len, words) {
        Some(p) => p,
        None => unreachable!("so many words were drawn, or received"),
    }
}

fn words(n: u32, len: usize) -> usize {
    n as usize * len.div_ceil(64)
}
