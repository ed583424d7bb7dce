//! Which values a party keeps for proofs and openings, and until when.

use super::{Claim, Proof};
use crate::speculation::Speculation;
use crate::{Circuit, Hold, Op, ValueId};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Of each value that statements or openings are about, almost all of them replicated, the layer before whose exchange
/// nothing asks for it any more: the last proof about it has folded it. What is opened right after a proof is kept until
/// the next one, because both holders of its components vouch for them. What layers that may be repeated find there is
/// kept until it is known whether they are.
pub fn kept(circuit: &Circuit, proofs: &[Proof]) -> Vec<Option<u32>> {
    let words = words(circuit);
    // Of each value the last proof about it.
    let mut last: Vec<Option<usize>> = vec![None; circuit.types.len()];
    let mut asked = |v: ValueId, n: usize| last[v.index()] = Some(n);
    let picked = picked(circuit);
    for (n, Proof { barrier, .. }) in proofs.iter().enumerate() {
        for s in &barrier.statements {
            asked(s.out, n);
            let is_product = matches!(s.claim, Claim::Products { .. } | Claim::Exchange { .. });
            s.claim.values(&mut |v| {
                // As the result is, so that a column of the product is one of the planes.
                let like = circuit.ty(v).shape == circuit.ty(s.out).shape
                    && circuit.ty(v).dom == circuit.ty(s.out).dom;
                let from = picked.get(&v).filter(|_| is_product && like);
                asked(from.map_or(v, |(x, _)| *x), n);
            });
            s.claim.words().into_iter().for_each(|v| asked(v, n));
        }
        for instr in &circuit.layers[barrier.layer as usize].exchange {
            if let Some(x) = opened(&instr.op, &words) {
                asked(x, n + 1);
            }
        }
    }
    let part = Speculation::of(circuit);
    let made: BTreeSet<ValueId> = part.iter().flat_map(|part| part.made(circuit)).collect();
    let until = |v: ValueId, n: usize| {
        let folded = proofs.get(n).map_or(u32::MAX, |p| p.folded);
        match &part {
            Some(p) if p.covers(folded as usize) => {
                let is_remade = made.contains(&v) && (folded as usize) < p.last;
                if is_remade { folded } else { p.last as u32 + 1 }
            }
            _ => folded,
        }
    };
    let each = last.into_iter().enumerate();
    each.map(|(v, n)| n.map(|n| until(ValueId(v as u32), n))).collect()
}

/// Replicated bits that are planes of others, with these and the planes: as factors of a statement they are read there,
/// and not kept themselves.
pub fn picked(circuit: &Circuit) -> HashMap<ValueId, (ValueId, Vec<u32>)> {
    let mut all: HashMap<ValueId, (ValueId, Vec<u32>)> = HashMap::new();
    for i in circuit.layers.iter().flat_map(|l| &l.local) {
        let (Some(out), Op::SelectPlanes(x, planes)) = (i.out, &i.op) else { continue };
        if circuit.ty(*x).hold != Hold::Rep {
            continue;
        }
        let from = match all.get(x) {
            Some((from, some)) => {
                let planes = planes.iter().map(|j| some.get(*j as usize).copied());
                planes.collect::<Option<_>>().map(|planes| (*from, planes))
            }
            None => Some((*x, planes.clone())),
        };
        all.extend(from.map(|from| (out, from)));
    }
    all
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

/// The replicated value whose components an instruction opens, with the [`words`] of its circuit. A receiver gets them
/// as the first words of the three.
pub fn opened(op: &Op, words: &HashMap<ValueId, ValueId>) -> Option<ValueId> {
    match op {
        Op::Open(x) => Some(*x),
        Op::OpenTo { x, .. } => words.get(x).copied(),
        _ => None,
    }
}
