//! What every circuit against a malicious party that the verifier admits must keep, for tests of hand-made and of random ones: honest
//! parties compute what they do without proofs, at the predicted cost, and every altered frame before the last proof is
//! noticed.

use crate::proofs::{options, run, without_proves};
use crate::tampering::{How, Rule, Truth, bent, ended_well, sent};
use slvr_circuit::proof::barriers;
use slvr_circuit::traffic::Traffic;
use slvr_circuit::verify::{Openings, verify_with};
use slvr_circuit::{Circuit, Security};
use slvr_runtime::link::Kind;
use slvr_runtime::share::encode::Encoded;
use std::fmt::Display;
use std::ops::Range;

/// How many cases there are, or the first of them.
pub fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// Whether `SLVR_EFFORT=full` asks for what takes too long for every day.
pub fn is_full() -> bool {
    std::env::var("SLVR_EFFORT").as_deref() == Ok("full")
}

/// Of what `SLVR_EFFORT=full` takes whole, every day takes one of so many.
pub fn one_of(every_day: usize) -> usize {
    if is_full() { 1 } else { every_day }
}

/// How many cases there are where every day takes `few` of `all`.
pub fn part(few: u64, all: u64) -> u64 {
    if is_full() { all } else { few }
}

/// Those circuits of seeds that are admitted.
pub fn admitted(
    seeds: Range<u64>,
    random: fn(u64) -> (Circuit, Encoded),
) -> impl Iterator<Item = (u64, Circuit, Encoded)> {
    seeds.filter_map(move |seed| {
        let (circuit, encoded) = random(seed);
        verify_with(&circuit, Openings::Any).ok().map(|_| (seed, circuit, encoded))
    })
}

/// Honest parties compute what they do without proofs, at the predicted cost.
pub fn agrees(circuit: &Circuit, encoded: &Encoded, seed: u64, what: &dyn Display) {
    let plain = Circuit { security: Security::SemiHonest, ..without_proves(circuit) };
    let without = run(&plain, encoded, &options(seed));
    let with = run(circuit, encoded, &options(seed));
    assert_eq!(with.outputs, without.outputs, "{what}");
    let predicted = Traffic::of(circuit);
    let counted = (with.rounds, with.bytes_sent);
    assert_eq!(counted, (predicted.rounds, predicted.bytes), "{what}");
}

/// Of every frame before the last proof one bit is altered, and noticed; `bit` chooses it among so many. How many there were.
pub fn notices_every_frame(
    circuit: &Circuit,
    encoded: &Encoded,
    what: &dyn Display,
    bit: &mut dyn FnMut(u64) -> u64,
) -> usize {
    let last = barriers(circuit).unwrap().last().unwrap().layer;
    let truth = Truth::of(circuit, encoded, 1);
    let mut flips = 0;
    for (party, frames) in sent(circuit, encoded).iter().enumerate() {
        for (n, (h, _)) in frames.iter().enumerate() {
            if h.kind != Kind::Layer || h.layer >= last || h.len == 0 {
                continue;
            }
            flips += 1;
            let rule = Rule { party, frame: Some((n, How::Flip, bit(8 * h.len))) };
            let (outcome, log) = bent(circuit, encoded, rule, None, 1);
            assert!(!truth.is_missed(&outcome, party), "{what}: {rule:?} of {h}");
            let stopped = outcome.receivers[0].1.is_err();
            assert!(stopped, "{what}: {rule:?} of {h} was not noticed");
            ended_well(circuit, &outcome, &log, party, &rule);
        }
    }
    flips
}
