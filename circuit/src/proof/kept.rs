//! Which values a party keeps for proofs and openings, and until when.

use super::Barrier;
use crate::{Circuit, Op, ValueId};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The values that statements or openings are about, almost all of them replicated, each with the number of the barrier after which
/// nothing asks for it any more. What is opened right after a barrier is kept until the next one, because both holders
/// of its components vouch for them.
pub fn kept(circuit: &Circuit, barriers: &[Barrier]) -> BTreeMap<ValueId, usize> {
    let (mut last, words) = (BTreeMap::new(), words(circuit));
    for (n, barrier) in barriers.iter().enumerate() {
        for s in &barrier.statements {
            last.insert(s.out, n);
            s.claim.values(&mut |v| {
                last.insert(v, n);
            });
            last.extend(s.claim.words().map(|v| (v, n)));
        }
        for instr in &circuit.layers[barrier.layer as usize].exchange {
            if let Some(x) = opened(&instr.op, &words) {
                last.insert(x, n + 1);
            }
        }
    }
    last
}

/// Of what outputs are opened from, the replicated values whose components these are.
pub fn words(circuit: &Circuit) -> HashMap<ValueId, ValueId> {
    let opened: HashSet<ValueId> = circuit
        .layers
        .iter()
        .flat_map(|l| &l.exchange)
        .filter_map(|i| match i.op {
            Op::OpenTo { x, .. } => Some(x),
            _ => None,
        })
        .collect();
    let made = circuit.layers.iter().flat_map(|l| &l.local);
    let words = made.filter_map(|i| match (i.out, &i.op) {
        (Some(v), Op::AsAdd3(r)) if opened.contains(&v) => Some((v, *r)),
        _ => None,
    });
    words.collect()
}

/// The replicated value whose components an instruction opens, with the [`words`] of its circuit. A receiver gets them as
/// the first words of the three.
pub fn opened(op: &Op, words: &HashMap<ValueId, ValueId>) -> Option<ValueId> {
    match op {
        Op::Open(x) => Some(*x),
        Op::OpenTo { x, .. } => words.get(x).copied(),
        _ => None,
    }
}
