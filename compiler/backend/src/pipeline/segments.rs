//! Proofs between openings, so that what is kept until it is proven fits a budget.
//!
//! Against a malicious party the words of every message are kept until the next proof, and without more, the next proof
//! stands before the next opening: of a large network that is all there is. So more proofs are put between openings,
//! with no other bytes than their own. One that goes on beside the layers after it
//! ([`slvr_circuit::proof::proofs`]) takes no rounds, but what it is about is kept for a few more layers. Where that is
//! too long, a proof is put in front of the last layer at which what is kept still fits, and is waited for. Without a
//! budget there are only those that take no rounds.

use crate::cost;
use slvr_circuit::proof::{self, proofs};
use slvr_circuit::traffic::Traffic;
use slvr_circuit::{Circuit, Instr, Op, Security};

/// Bytes of a party below which no proof is added that nobody asked for: each takes some milliseconds.
const ENOUGH: u64 = 32 << 20;

/// What part of its bytes a circuit may send besides for all such proofs.
const MORE_BYTES: u64 = 100;

/// The circuit, against a malicious party with proofs beside layers, which take no rounds, where what is kept is more
/// than what the party computes with.
pub(super) fn lightened(circuit: Circuit) -> Circuit {
    let plain = Circuit { security: Security::SemiHonest, ..circuit.clone() };
    let values = cost::busiest_party(cost::peak_memory(&plain));
    let mut budget = values.max(ENOUGH);
    let most = Traffic::of(&circuit);
    let most_sent = cost::busiest_party(most.bytes);
    let most_sent = most_sent + most_sent / MORE_BYTES;
    let mut out = circuit.clone();
    let held = |c: &Circuit| -> Vec<u64> {
        let layers = cost::memory_by_layer(c).into_iter();
        layers.map(|[before, within]| before.max(within)).collect()
    };
    let mut layers = held(&out);
    while let Some(end) = layers.iter().position(|held| *held > budget) {
        let tried = beside(&out, end).map(|tried| (held(&tried), tried));
        let is_better = |less: &[u64], tried: &Circuit| {
            let is_lighter = less[end] < layers[end] - layers[end] / 10;
            let Traffic { rounds, bytes, .. } = Traffic::of(tried);
            let sent = cost::busiest_party(bytes);
            is_lighter && rounds <= most.rounds && sent <= most_sent
        };
        match tried.filter(|(less, tried)| is_better(less, tried)) {
            Some((less, tried)) => (layers, out) = (less, tried),
            // No proof makes it less.
            None => budget = layers[end],
        }
    }
    if proof::check(&out).is_ok() { out } else { circuit }
}

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
    most(&cost::memory_by_layer_repeated(circuit))
}

/// The same if all clients pass.
fn held(circuit: &Circuit) -> u64 {
    most(&cost::memory_by_layer(circuit))
}

fn most(layers: &[[u64; 2]]) -> u64 {
    layers.iter().flatten().copied().max().unwrap_or(0)
}

/// The circuit with as few more proofs as it takes for what a party holds to fit; none if no place does.
fn segmented(circuit: &Circuit, budget: u64) -> Option<Circuit> {
    let mut circuit = circuit.clone();
    while let Some(end) = exceeds(&circuit, budget) {
        let is_later = |c: &Circuit| exceeds(c, budget).is_none_or(|later| later > end);
        let beside = beside(&circuit, end).filter(is_later);
        circuit = beside.or_else(|| waiting(&circuit, budget, end))?;
    }
    proof::check(&circuit).is_ok().then_some(circuit)
}

/// The first layer in which a party holds more than `budget`.
fn exceeds(circuit: &Circuit, budget: u64) -> Option<usize> {
    let fits = |held: &[u64; 2]| held.iter().all(|bytes| *bytes <= budget);
    cost::memory_by_layer(circuit).iter().position(|held| !fits(held))
}

/// Layers at which a proof is tried, up to the last one that is in time.
const TRIED: usize = 4;

/// With one more proof that goes on beside layers and of which nothing is kept any more at the layer `end`: of the last
/// ones of these the one with fewest bytes. Carries that one proof finds are told if it is two.
fn beside(circuit: &Circuit, end: usize) -> Option<Circuit> {
    let with = |layer: usize| with_proof(circuit, layer, Op::BeginProof);
    let in_time = |layer: usize| {
        let all = proofs(&with(layer)).unwrap_or_default();
        all.iter().any(|p| p.barrier.layer as usize == layer && p.folded as usize <= end)
    };
    // At `low` it is in time, or a proof stands there already; at `high` it is too late.
    let (before, mut high) = (last_proof(circuit, end), end);
    let mut low = before;
    while high - low > 1 {
        let middle = low.midpoint(high);
        *(if in_time(middle) { &mut low } else { &mut high }) = middle;
    }
    let from = (before + 1).max(low.saturating_sub(TRIED - 1));
    let tried = (from..=low).rev().map(with);
    tried.min_by_key(|tried| Traffic::of(tried).bytes.iter().sum::<u64>())
}

/// With one more proof that is waited for, before the last layer where a party holds no more than `budget` meanwhile.
fn waiting(circuit: &Circuit, budget: u64, end: usize) -> Option<Circuit> {
    let all = proofs(circuit).ok()?;
    let waits = all.iter().filter(|p| p.barrier.waits).map(|p| p.barrier.layer as usize);
    let before = waits.clone().rfind(|&l| l < end).unwrap_or(0);
    let there = waits.clone().any(|l| l == end);
    let (mut low, mut high) = (before, if there { end } else { end + 1 });
    // Before `low` it fits, or stands already; at `high` it does not fit.
    let mut best = None;
    while high - low > 1 {
        let middle = low.midpoint(high);
        let tried = with_proof(circuit, middle, Op::Prove);
        let layers = cost::memory_by_layer(&tried);
        if layers.get(middle).is_some_and(|[before, _]| *before <= budget) {
            (low, best) = (middle, Some(tried));
        } else {
            high = middle;
        }
    }
    best
}

/// The last layer before `end` with a proof, or the first layer.
fn last_proof(circuit: &Circuit, end: usize) -> usize {
    let all = proofs(circuit).unwrap_or_default();
    all.iter().rev().map(|p| p.barrier.layer as usize).find(|&l| l < end).unwrap_or(0)
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

/// With a proof before every layer but the first.
fn proven_everywhere(mut circuit: Circuit) -> Circuit {
    (1..circuit.layers.len()).for_each(|l| prove(&mut circuit, l, Op::Prove));
    circuit
}

/// With a proof before what a layer sends.
fn with_proof(circuit: &Circuit, layer: usize, op: Op) -> Circuit {
    let mut out = circuit.clone();
    prove(&mut out, layer, op);
    out
}

fn prove(circuit: &mut Circuit, layer: usize, op: Op) {
    let at = &mut circuit.layers[layer];
    let site = at.exchange.first().or(at.local.first()).map_or(0, |i| i.site);
    at.local.insert(0, Instr { out: None, op, site });
}
