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
    let mut out = Placement::of(circuit.clone(), cost::memory_by_layer);
    while let Some(end) = exceeds(&out.layers, budget) {
        if !out.lighter(end) {
            budget = most(&out.layers[end..=end]);
        }
    }
    if proof::check(&out.circuit).is_ok() { out.circuit } else { circuit }
}

/// Whether a party holds no more than `budget` where layers are repeated, with more proofs beside layers only: what is
/// waited for would be waited for twice.
pub(super) fn fits_repeated(circuit: Circuit, budget: u64) -> bool {
    let mut out = Placement::of(circuit, cost::memory_by_layer_at_most);
    while let Some(end) = exceeds(&out.layers, budget) {
        if !out.lighter(end) {
            return false;
        }
    }
    proof::check(&out.circuit).is_ok()
}

/// A circuit that gets proofs beside its layers.
struct Placement {
    circuit: Circuit,
    held: fn(&Circuit) -> Vec<[u64; 2]>,
    /// What a party holds of it, by layer.
    layers: Vec<[u64; 2]>,
    /// Without these proofs.
    rounds: usize,
    most_sent: u64,
}

impl Placement {
    fn of(circuit: Circuit, held: fn(&Circuit) -> Vec<[u64; 2]>) -> Self {
        let Traffic { rounds, bytes, .. } = Traffic::of(&circuit);
        let sent = cost::busiest_party(bytes);
        let (layers, most_sent) = (held(&circuit), sent + sent / MORE_BYTES);
        Self { circuit, held, layers, rounds, most_sent }
    }

    /// One more proof, if it makes a tenth less of what is held at the layer `end`, without a round and for few bytes.
    fn lighter(&mut self, end: usize) -> bool {
        let Some(tried) = beside(&self.circuit, end) else { return false };
        let layers = (self.held)(&tried);
        let at = |layers: &[[u64; 2]]| most(&layers[end..=end]);
        let is_lighter = at(&layers) < at(&self.layers) - at(&self.layers) / 10;
        let Traffic { rounds, bytes, .. } = Traffic::of(&tried);
        let sent = cost::busiest_party(bytes);
        let is_better = is_lighter && rounds <= self.rounds && sent <= self.most_sent;
        if is_better {
            (self.circuit, self.layers) = (tried, layers);
        }
        is_better
    }
}

/// The circuit, against a malicious party with as few more proofs as it takes for what a party holds to fit.
///
/// # Errors
///
/// The bytes that it takes with proofs wherever there may be one, if that is too much, or too many proofs.
pub(super) fn fitting(circuit: Circuit, budget: u64) -> Result<Circuit, u64> {
    if !circuit.security.is_malicious() {
        let held = cost::memory_at_most(&circuit);
        return if held <= budget { Ok(circuit) } else { Err(held) };
    }
    let least = least(&circuit);
    if least > budget {
        return Err(least);
    }
    segmented(&circuit, budget).ok_or(least)
}

/// The bytes that no more proofs make less: those with proofs wherever there may be one.
fn least(circuit: &Circuit) -> u64 {
    let mut circuit = circuit.clone();
    (1..circuit.layers.len()).for_each(|l| prove(&mut circuit, l, Op::Prove));
    cost::memory_at_most(&circuit)
}

/// Bytes of values, and of the vectors of proofs, in the layer with most of them.
fn most(layers: &[[u64; 2]]) -> u64 {
    layers.iter().flatten().copied().max().unwrap_or(0)
}

/// The circuit with as few more proofs as it takes for what a party holds to fit; none if no place does.
fn segmented(circuit: &Circuit, budget: u64) -> Option<Circuit> {
    let by_layer = cost::memory_by_layer_at_most;
    let mut circuit = circuit.clone();
    let mut layers = by_layer(&circuit);
    while let Some(end) = exceeds(&layers, budget) {
        let beside = beside(&circuit, end).map(|tried| (by_layer(&tried), tried));
        let is_later = |held: &[[u64; 2]]| exceeds(held, budget).is_none_or(|later| later > end);
        (layers, circuit) = beside.filter(|(held, _)| is_later(held)).or_else(|| {
            let tried = waiting(&circuit, budget, end)?;
            Some((by_layer(&tried), tried))
        })?;
    }
    proof::check(&circuit).is_ok().then_some(circuit)
}

/// The first layer in which a party holds more than `budget`.
fn exceeds(layers: &[[u64; 2]], budget: u64) -> Option<usize> {
    layers.iter().position(|held| held.iter().any(|bytes| *bytes > budget))
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
        let layers = cost::memory_by_layer_at_most(&tried);
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

/// The fewest bytes, of those tried from `budget` to `most`, for which proofs are found with which a party takes no
/// more, by halves to a part in 32; `most` if there are none, and of a circuit for parties that follow the protocol.
pub(super) fn fewest(circuit: &Circuit, budget: u64, most: u64) -> u64 {
    if !circuit.security.is_malicious() {
        return most;
    }
    let (mut low, mut high) = (budget.max(least(circuit)), most);
    if low < high && segmented(circuit, low).is_some() {
        return low;
    }
    while high.saturating_sub(low) > 1 + high / 32 {
        let middle = low.midpoint(high);
        if segmented(circuit, middle).is_some() {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
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
