//! Proofs between openings, so that what is kept until it is proven fits a budget.
//!
//! Against a malicious party the words of every message are kept until the next proof, and without more, the next proof
//! stands before the next opening: of a large network that is all there is. A proof is put in front of the last layer
//! at which what is kept still fits, together with the vectors that the proof itself takes
//! ([`Lengths::working`](slvr_circuit::proof::Lengths::working)). It costs the rounds of a proof, and no other bytes than
//! its own.

use crate::cost;
use slvr_circuit::proof::{self, Barrier, Lengths, barriers};
use slvr_circuit::{Circuit, Instr, Op};

/// The circuit, against a malicious party with as few more proofs as it takes for what a party holds to fit.
///
/// # Errors
///
/// The bytes that it takes with proofs wherever there may be one, if that is too much, or too many proofs.
pub(super) fn fitting(circuit: Circuit, budget: u64) -> Result<Circuit, u64> {
    if circuit.security.is_malicious() {
        segmented(&circuit, budget).ok_or_else(|| held(&proven_everywhere(circuit)))
    } else {
        let held = cost::busiest_party(cost::peak_memory(&circuit));
        if held <= budget { Ok(circuit) } else { Err(held) }
    }
}

/// Bytes of values, and of the vectors of proofs, that the party with most of them holds at one time if layers are
/// repeated.
pub(super) fn held_repeated(circuit: &Circuit) -> u64 {
    most(circuit, &cost::memory_by_layer_repeated(circuit))
}

/// The same if all clients pass.
fn held(circuit: &Circuit) -> u64 {
    most(circuit, &cost::memory_by_layer(circuit))
}

fn most(circuit: &Circuit, layers: &[(u64, u64)]) -> u64 {
    let values = layers.iter().map(|(_, peak)| *peak).max().unwrap_or(0);
    let proofs = proofs(circuit);
    let at = |b: &Barrier| layers[b.layer as usize].0.saturating_add(working(circuit, b));
    proofs.iter().map(at).max().unwrap_or(0).max(values)
}

/// The circuit with as few more proofs as it takes for what a party holds to fit; none if no place does.
fn segmented(circuit: &Circuit, budget: u64) -> Option<Circuit> {
    let mut circuit = circuit.clone();
    loop {
        let layers = cost::memory_by_layer(&circuit);
        let proofs = proofs(&circuit);
        let fits = |circuit: &Circuit, b: &Barrier| {
            layers[b.layer as usize].0.saturating_add(working(circuit, b)) <= budget
        };
        let values = layers.iter().position(|(_, peak)| *peak > budget);
        let proof = proofs.iter().find(|b| !fits(&circuit, b)).map(|b| b.layer as usize);
        let Some(end) = [values, proof].into_iter().flatten().min() else {
            return proof::check(&circuit).is_ok().then_some(circuit);
        };
        // Behind the proof before, and where none is yet.
        let before = proofs.iter().rev().map(|b| b.layer as usize).find(|&l| l < end).unwrap_or(0);
        let there = proofs.iter().any(|b| b.layer as usize == end);
        let (mut low, mut high) = (before, if there { end } else { end + 1 });
        // Before `low` it fits, or stands already; at `high` it does not fit.
        let mut best = None;
        while high - low > 1 {
            let middle = low.midpoint(high);
            let tried = with_proof(&circuit, middle);
            let all = barriers(&tried).ok()?;
            if all.iter().find(|b| b.layer as usize == middle).is_some_and(|b| fits(&tried, b)) {
                (low, best) = (middle, Some(tried));
            } else {
                high = middle;
            }
        }
        circuit = best?;
    }
}

/// The fewest bytes, of those tried between `budget` and `most`, for which proofs are found with which a party takes no
/// more, by halves to a hundredth; `most` if there are none, and of a circuit for parties that follow the protocol.
pub(super) fn fewest(circuit: &Circuit, budget: u64, most: u64) -> u64 {
    if !circuit.security.is_malicious() {
        return most;
    }
    let (mut low, mut high) = (budget, most);
    while high.saturating_sub(low) > 1 + high / 100 {
        let middle = low.midpoint(high);
        if segmented(circuit, middle).is_some() {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

fn proofs(circuit: &Circuit) -> Vec<Barrier> {
    barriers(circuit).unwrap_or_default()
}

fn working(circuit: &Circuit, barrier: &Barrier) -> u64 {
    Lengths::of(circuit, barrier).working()
}

/// With a proof before every layer but the first.
fn proven_everywhere(mut circuit: Circuit) -> Circuit {
    (1..circuit.layers.len()).for_each(|l| prove(&mut circuit, l));
    circuit
}

/// With a proof before what a layer sends.
fn with_proof(circuit: &Circuit, layer: usize) -> Circuit {
    let mut out = circuit.clone();
    prove(&mut out, layer);
    out
}

fn prove(circuit: &mut Circuit, layer: usize) {
    let at = &mut circuit.layers[layer];
    let site = at.exchange.first().or(at.local.first()).map_or(0, |i| i.site);
    at.local.insert(0, Instr { out: None, op: Op::Prove, site });
}
