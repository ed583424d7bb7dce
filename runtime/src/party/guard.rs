//! What a party keeps for proofs, and how the holders of an opened component vouch for it.

use super::engine::Engine;
use super::error::{Phase, RunError};
use crate::link::{Header, Kind, Peer};
use crate::share::{Held, Purpose, Rep, Stream, next, prev};
use slvr_circuit::proof::{Barrier, HASH, Shape, barriers};
use slvr_circuit::{Circuit, Dom, Op, Security, ValueId, plan};
use slvr_ring::Data;
use std::collections::BTreeMap;

/// Of a run against a malicious party: what is still to be proven, and the values that this takes.
pub(super) struct Guard {
    pub barriers: Vec<(Barrier, Shape)>,
    /// The next barrier.
    pub next: usize,
    /// Replicated values that statements or openings are about.
    pub kept: BTreeMap<ValueId, Rep>,
    /// After which barrier a value is needed no more.
    last: BTreeMap<ValueId, usize>,
}

impl Guard {
    /// Of a verified circuit; none if nothing is proven in it.
    pub fn of(circuit: &Circuit) -> Option<Guard> {
        if circuit.security != Security::Malicious {
            return None;
        }
        let barriers = match barriers(circuit) {
            Ok(barriers) => barriers,
            Err(_) => unreachable!("the verifier admits only circuits with proofs"),
        };
        let mut last = BTreeMap::new();
        for (n, barrier) in barriers.iter().enumerate() {
            for s in &barrier.statements {
                last.insert(s.out, n);
                s.claim.values(&mut |v| {
                    last.insert(v, n);
                });
            }
            // What is opened right after this barrier is kept until the next one.
            for instr in &circuit.layers[barrier.layer as usize].exchange {
                if let Some(x) = opened(circuit, &instr.op) {
                    last.insert(x, n + 1);
                }
            }
        }
        let shaped = barriers.into_iter().map(|b| {
            let shape = Shape::of(circuit, &b);
            (b, shape)
        });
        Some(Guard { barriers: shaped.collect(), next: 0, kept: BTreeMap::new(), last })
    }

    /// Remembers a value that is still to be proven something about.
    pub fn keep(&mut self, v: ValueId, held: &Held) {
        if let (Held::Rep(x), true) = (held, self.last.contains_key(&v)) {
            self.kept.insert(v, x.clone());
        }
    }

    /// After a barrier: forgets what no later one needs.
    pub fn passed(&mut self) {
        let done = self.next;
        self.next += 1;
        self.kept.retain(|v, _| self.last.get(v).is_some_and(|&n| n > done));
    }
}

/// The replicated value whose components an instruction opens. A receiver gets them as the first words of the three.
fn opened(circuit: &Circuit, op: &Op) -> Option<ValueId> {
    match op {
        Op::Open(x) => Some(*x),
        Op::OpenTo { x, .. } => {
            let all = circuit.layers.iter().flat_map(|l| &l.local);
            all.filter(|i| i.out == Some(*x)).find_map(|i| match i.op {
                Op::AsAdd3(r) => Some(r),
                _ => None,
            })
        }
        _ => None,
    }
}

/// The hash by which the other holder of a component vouches for it.
pub(super) fn voucher(x: &Data) -> [u8; HASH] {
    let mut bytes = Vec::new();
    x.to_wire(&mut bytes);
    blake3::derive_key("slvr 2026 voucher of an opened component", &bytes)
}

impl Engine<'_> {
    /// After the exchange of a layer that opens something or draws coins: the other holder of each component that
    /// this party or a receiver got vouches for it. `first` is the number of the layer's first interactive
    /// instruction.
    pub(super) fn vouch(&mut self, l: usize, first: u64) -> Result<(), RunError> {
        let circuit = self.party.circuit;
        let (me, before) = (self.me, Peer::Party(prev(self.me)));
        let mut expected = Vec::new();
        for (j, instr) in circuit.layers[l].exchange.iter().enumerate() {
            let header =
                Header { part: j as u32, ..Header::new(Kind::Vouch, l as u32, HASH) };
            let stream = Stream::new(first + j as u64, Purpose::Coin);
            let kept = opened(circuit, &instr.op).and_then(|x| self.guard.as_ref()?.kept.get(&x));
            match (&instr.op, kept.cloned()) {
                (Op::Open(_), Some(x)) => {
                    // The component that neither of these two is.
                    let mut other = self.opened_data(instr.out);
                    other.sub_assign(&x.first);
                    other.sub_assign(&x.second);
                    expected.push((header, instr.op.name(), voucher(&other)));
                    self.send_vouch(before, header, voucher(&x.second))?;
                }
                (Op::Coin, _) => {
                    let prss = &self.party.prss;
                    let mine = prss.again_with_prev(stream, Dom::Ring(128), 1);
                    let after = prss.again_with_next(stream, Dom::Ring(128), 1);
                    let mut other = self.opened_data(instr.out);
                    other.sub_assign(&mine);
                    other.sub_assign(&after);
                    expected.push((header, instr.op.name(), voucher(&other)));
                    self.send_vouch(before, header, voucher(&after))?;
                }
                (Op::OpenTo { .. }, Some(x)) if !x.second.is_empty() => {
                    let to = Peer::Receiver(plan::receiver(circuit, &instr.op));
                    self.send_vouch(to, header, voucher(&x.second))?;
                }
                _ => {}
            }
        }
        let after = Peer::Party(next(me));
        for (header, op, want) in expected {
            if self.recv(after, header)? != want {
                let phase = Phase::Layer(l as u32);
                return Err(RunError::Voucher { phase, op, from: prev(me), by: next(me) });
            }
        }
        Ok(())
    }

    fn send_vouch(&mut self, to: Peer, header: Header, hash: [u8; HASH]) -> Result<(), RunError> {
        self.bytes_sent += HASH as u64;
        self.send(to, header, hash.to_vec())
    }

    /// An opened value, which is public, even after it is dropped.
    fn opened_data(&self, v: Option<ValueId>) -> Data {
        match v.and_then(|v| self.opened.get(&v)) {
            Some(x) => x.clone(),
            None => unreachable!("an opening defines a value, which is remembered"),
        }
    }
}
