//! Proofs: every party proves to the other two that all it has sent since the last one was right.
//!
//! The steps and the lengths of their messages are those of [`slvr_circuit::proof::Lengths`], and when they travel says
//! [`slvr_circuit::proof::proofs`]. A party has three parts in each step: it proves (P), it checks the party after it
//! (V1) and the one before it (V2). Lives here: when there is one, how those that are under way take their rounds, beside
//! what layers send or by themselves, and what a party tells besides its proofs. Their messages are in [`prove`]; what a
//! party computes is in [`sides`], for lifted statements in [`lifted`], of what it sees ([`scope`]).

mod lifted;
mod prove;
mod scope;
mod sides;

pub(super) use prove::Proving;

use super::engine::Engine;
use super::error::{Phase, RunError};
use super::guard::Carries;
use crate::link::{Header, Kind, Peer};
use crate::proof::algebra::Draw;
use crate::proof::{carries, statements};
use crate::share::{Held, next, prev};
use sides::Slot;
use slvr_circuit::proof::{Barrier, HASH};
use slvr_circuit::{Op, ValueId};
use slvr_ring::Planes;
use std::collections::BTreeMap;

/// What is said of a proof that does not hold.
const WRONG: &str = "its proof is wrong";

impl Engine<'_> {
    /// Once all of the layer before l is sent: tells its share of the carries to the party after it, where it knows them.
    pub(super) fn carry(&mut self, l: usize) -> Result<(), RunError> {
        let Some(proof) = self.guard.as_ref().and_then(|g| g.begins(l)) else { return Ok(()) };
        if !proof.lengths.early || proof.lengths.is_empty() {
            return Ok(());
        }
        let proof = proof.clone();
        let phase = std::mem::replace(&mut self.phase, Phase::Layer(l as u32));
        let carries = self.share_carries(self.proof_number(), &proof.barrier)?;
        self.phase = phase;
        if let Some(guard) = &mut self.guard {
            guard.carries = Some(carries);
        }
        Ok(())
    }

    /// A proof that is given a second time is another one.
    fn proof_number(&self) -> usize {
        let Some(guard) = &self.guard else { return 0 };
        guard.next + if self.attempt.repeating { guard.proofs.len() } else { 0 }
    }

    /// Tells shares of carries to the party after this one.
    fn share_carries(&mut self, number: usize, barrier: &Barrier) -> Result<Carries, RunError> {
        let (carries, body) = self.with_kept(|engine, kept| engine.carries(number, barrier, kept));
        if !body.is_empty() {
            self.tell(next(self.me), 0, body)?;
        }
        Ok(carries)
    }

    /// What is done with the values that are kept, which nothing changes meanwhile.
    fn with_kept<R>(&mut self, done: impl FnOnce(&mut Self, &BTreeMap<ValueId, Held>) -> R) -> R {
        let kept = self.guard.as_mut().map(|g| std::mem::take(&mut g.kept)).unwrap_or_default();
        let out = done(self, &kept);
        if let Some(guard) = &mut self.guard {
            guard.kept = kept;
        }
        out
    }

    /// Before what layer l sends: begins its proof, if it has one, and ends all that are under way if it is waited for.
    pub(super) fn barrier(&mut self, l: usize) -> Result<(), RunError> {
        let Some(guard) = &self.guard else { return Ok(()) };
        if let Some(proof) = guard.begins(l).cloned() {
            self.phase = Phase::Layer(l as u32);
            self.begin(&proof)?;
            while proof.barrier.waits && self.guard.as_ref().is_some_and(|g| g.is_proving()) {
                self.tell_proofs()?;
                self.hear_proofs()?;
                self.rounds += 1;
            }
            if let Some(guard) = &mut self.guard {
                guard.next += 1;
            }
        }
        let gone = self.guard.as_mut().map(|guard| guard.folded(l));
        gone.into_iter().flatten().for_each(|x| self.regs.forget(x));
        Ok(())
    }

    /// One round of all proofs under way: what a party tells. Each of these computes before.
    pub(super) fn tell_proofs(&mut self) -> Result<(), RunError> {
        self.each_proof(|engine, proving| {
            engine.with_kept(|engine, kept| engine.tell_turn(proving, kept))
        })
    }

    /// What it hears in the same round.
    pub(super) fn hear_proofs(&mut self) -> Result<(), RunError> {
        self.each_proof(Self::hear_turn)
    }

    fn each_proof(
        &mut self,
        turn: impl Fn(&mut Self, &mut Proving) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let under_way = self.guard.as_mut().map(|g| std::mem::take(&mut g.under_way));
        let phase = self.phase;
        let mut all = under_way.unwrap_or_default();
        for proving in &mut all {
            // Frames and errors name the layer before which a proof begins.
            self.phase = Phase::Layer(proving.layer());
            turn(self, proving)?;
        }
        self.phase = phase;
        all.retain(|proving| !proving.has_ended());
        if let Some(guard) = &mut self.guard {
            guard.under_way = all;
        }
        Ok(())
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
