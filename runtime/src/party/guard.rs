//! What a party keeps for proofs and for vouching.

use crate::share::{Held, Rep};
use slvr_circuit::proof::{Barrier, HASH, Shape, barriers};
use slvr_circuit::{Circuit, Op, Security, ValueId};
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
pub(super) fn opened(circuit: &Circuit, op: &Op) -> Option<ValueId> {
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
