//! Where the coins of proofs come from: the parties, in two rounds for each fold, or a hash, in rings of twice the degree.

use super::net::NetProfile;
use slvr_circuit::proof::{Barrier, KINDS, Kind, Shape, barriers};
use slvr_circuit::{Circuit, Coins, Security};
use std::collections::BTreeMap;

/// Seconds in which a party does its three parts in the proof of one word of 64 bits or less in a Galois ring, of 64 bits,
/// of one word of 128 bits, and of a lifted word, with coins of the parties. As they are counted here: the columns of all
/// statements of a prover. Circuits are chosen and times are estimated by them. Measured with three parties on two cores:
/// the committee of LeNet-5 with both kinds of coins, a million comparisons, and a million products of words of 128 bits.
const SECONDS: [f64; KINDS] = [1.5e-7, 0.35e-7, 6.7e-7, 0.75e-7];

/// Seconds of a proof of however little, with coins of the parties and from a hash. Measured with the ranking of ten numbers, on
/// links in memory.
const PROOF: [f64; 2] = [0.004, 0.012];

/// How many times as long it takes where coins come from a hash.
const DOUBLED: f64 = 2.5;

/// Seconds of the proofs of a circuit with such coins on a network: their rounds, bytes and work.
fn seconds(circuit: &Circuit, net: &NetProfile, coins: Coins) -> f64 {
    let circuit = Circuit { security: Security::malicious(coins), ..circuit.clone() };
    let line = net.bandwidth_bits_per_s / 8.0;
    let all = barriers(&circuit).unwrap_or_default().into_iter();
    let each = all.map(|barrier| {
        let shape = Shape::of(&circuit, &barrier);
        let rounds = net.tuning().time(shape.rounds() as f64, 0.0, 0);
        let most = shape.bytes().into_iter().max().unwrap_or(0);
        rounds + most as f64 / line + worked(&shape)
    });
    each.sum()
}

/// Seconds in which a party does its three parts in a proof.
fn worked(shape: &Shape) -> f64 {
    let work = |(folds, (kind, seconds)): (&Option<_>, (Kind, f64))| {
        let folds: &slvr_circuit::proof::Folds = folds.as_ref()?;
        let spread = if kind == Kind::Bits { 64 } else { 1 };
        Some((folds.cut() * folds.elements / spread) as f64 * seconds)
    };
    let kinds = Kind::ALL.into_iter().zip(SECONDS);
    let work: f64 = shape.folds.iter().zip(kinds).filter_map(work).sum();
    let [drawn, hashed] = PROOF;
    match shape.coins {
        _ if shape.is_empty() => 0.0,
        Coins::Parties => drawn + work,
        Coins::Hash => hashed + DOUBLED * work,
    }
}

/// Seconds that a party computes for all proofs of a circuit.
pub fn proof_work(circuit: &Circuit) -> f64 {
    let all = barriers(circuit).unwrap_or_default();
    all.iter().map(|barrier| worked(&Shape::of(circuit, barrier))).sum()
}

/// Seconds of each proof, and bytes of its vectors, by the layer before which it stands; nothing of a circuit for parties that
/// follow the protocol.
pub(super) fn work_by_layer(circuit: &Circuit) -> BTreeMap<usize, (f64, u64)> {
    if !circuit.security.is_malicious() {
        return BTreeMap::new();
    }
    let of = |b: &Barrier| {
        let shape = Shape::of(circuit, b);
        (b.layer as usize, (worked(&shape), shape.working()))
    };
    barriers(circuit).unwrap_or_default().iter().map(of).collect()
}

/// The coins with which the proofs of a circuit take less time on a network.
pub fn coins(circuit: &Circuit, net: &NetProfile) -> Coins {
    let [parties, hash] = [Coins::Parties, Coins::Hash].map(|c| seconds(circuit, net, c));
    if hash < parties { Coins::Hash } else { Coins::Parties }
}
