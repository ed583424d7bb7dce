//! The messages of proofs, as their receiver sees them: uniform, alone and beside each other, whatever the inputs are.

use crate::agreement::part;
use crate::dealer_proofs::dealer_claims;
use crate::parted::full_claims;
use crate::proofs::{every_claim, options};
use crate::views::{Histogram, LIMIT, chi_squared, two_samples};
use slvr_circuit::Circuit;
use slvr_circuit::proof::{LIFT_WORDS, Lengths, barriers};
use slvr_runtime::link::memory::Memory;
use slvr_runtime::link::tap::Tap;
use slvr_runtime::link::{Header, Kind, Link, Peer};
use slvr_runtime::party::session::{Options, run_outcome};
use slvr_runtime::share::encode::Encoded;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// What parties hear in proofs: who, in which layer, which part, from whom.
type Heard = Arc<Mutex<BTreeMap<(usize, u32, u32, Peer), Vec<u8>>>>;

fn heard(circuit: &Circuit, encoded: &Encoded, seed: u64) -> Heard {
    let heard = Heard::default();
    let wrap = |me: usize, inner: Memory| -> Box<dyn Link> {
        let all = heard.clone();
        let heard = move |from: Peer, header: &Header, body: &[u8]| {
            // A verdict is one byte, and always the same.
            if header.kind == Kind::Proof && body.len() > 1 {
                all.lock().unwrap().insert((me, header.layer, header.part, from), body.to_vec());
            }
        };
        Box::new(Tap { inner, send: |frame| vec![frame], heard })
    };
    let options = Options { doors: options(seed).doors.wrap(&wrap), ..options(seed) };
    run_outcome(circuit, encoded.clone(), &options).unwrap().report(circuit).unwrap();
    heard
}

/// The bytes of a message of a proof that are uniform whatever is proven: all, but for the highest ones of what lifted
/// statements have. An element is below a prime of 61 bits, and a share of a quotient has a sign.
pub fn uniform_bytes(lengths: &Lengths, part: u32, body: &[u8]) -> Vec<u8> {
    let Some(folds) = lengths.folds[LIFTED].as_ref() else { return body.to_vec() };
    let part = part as usize;
    // They stand behind the other kinds.
    let sent = |step: usize| 8 * if part == 2 + 2 * step { folds.sent(step) } else { 0 };
    let end = if part == 1 + 2 * lengths.steps() { 16 } else { 0 };
    let lifted = end + (0..lengths.steps()).map(sent).sum::<usize>();
    let (others, lifted) = body.split_at(body.len() - lifted);
    let (size, high) = if part == 2 { (8 * LIFT_WORDS, 1) } else { (8, 2) };
    let low = lifted.chunks(size).flat_map(|x| &x[..size - high]);
    others.iter().chain(low).copied().collect()
}

/// The place of lifted statements among the kinds.
const LIFTED: usize = 3;

/// Bytes of each message (of three full shards, as what fills up the last word of carries is 0) over many runs, and
/// differences of each two messages that a party hears in one proof.
fn histograms(
    (circuit, encoded): (Circuit, Encoded),
    seeds: impl Iterator<Item = u64>,
) -> BTreeMap<String, Histogram> {
    let barriers = barriers(&circuit).unwrap();
    let mut out: BTreeMap<String, Histogram> = BTreeMap::new();
    for seed in seeds {
        let heard = heard(&circuit, &encoded, seed);
        let heard: BTreeMap<_, _> = heard
            .lock()
            .unwrap()
            .iter()
            .map(|(key, body)| {
                let barrier = barriers.iter().find(|b| b.layer == key.1).unwrap();
                (*key, uniform_bytes(&Lengths::of(&circuit, barrier), key.2, body))
            })
            .collect();
        let mut count = |key: String, bytes: &mut dyn Iterator<Item = u8>| {
            let h = out.entry(key).or_insert([0; 256]);
            bytes.for_each(|x| h[x as usize] += 1);
        };
        for (a, x) in heard.iter() {
            count(format!("{a:?}"), &mut x.iter().copied());
            for (b, y) in heard.iter().filter(|(b, _)| *b > a && (b.0, b.1) == (a.0, a.1)) {
                let both = &mut x.iter().zip(y).map(|(x, y)| x.wrapping_sub(*y));
                count(format!("{a:?} less {b:?}"), both);
            }
        }
    }
    out
}

/// Circuits with every statement of a family, on inputs of a seed.
type Claims = fn(u64) -> (Circuit, Encoded);

const T1: Claims = |inputs| every_claim(8, 192, inputs);
const T2: Claims = |inputs| dealer_claims(16, 192, inputs);
const MATRICES: Claims = |inputs| full_claims(16, inputs);

#[test]
fn messages_of_proofs_are_uniform_whatever_the_inputs_are() {
    // At two barriers each party hears of carries, two halves of a coin, two folds or more, and an end.
    uniform(T1, part(30, 60), 3 * 2 * 6);
}

#[test]
fn messages_of_proofs_of_family_t2_are_uniform_whatever_the_inputs_are() {
    uniform(T2, part(20, 40), 3 * 2 * 6);
}

#[test]
fn messages_of_proofs_of_parted_products_are_uniform_whatever_the_inputs_are() {
    uniform(MATRICES, part(20, 40), 3 * 2 * 5);
}

fn uniform(of: Claims, runs: u64, least: usize) {
    let a = histograms(of(3), 0..runs);
    let b = histograms(of(900), 1000..1000 + runs);
    assert!(a.len() >= least, "{:?}", a.keys());
    let mut bytes = 0;
    for (key, h) in &a {
        let n = h.iter().sum::<u64>();
        bytes += n;
        // Five of each are enough for the statistic.
        if n >= 256 * 5 {
            let (first, second) = (chi_squared(h), chi_squared(&b[key]));
            assert!(first < LIMIT && second < LIMIT, "{key}: chi-squared {first}, {second}");
            let apart = two_samples(h, &b[key]);
            assert!(apart < LIMIT, "{key}: two inputs give chi-squared {apart}");
        }
    }
    assert!(bytes > 25_000 * runs, "{bytes} bytes and differences");
}

/// The same statistic finds messages that are not drawn afresh.
#[test]
fn proofs_with_the_same_coins_are_found() {
    let same = histograms(T1(3), std::iter::repeat_n(5, 20));
    let long = same.values().filter(|h| h.iter().sum::<u64>() >= 256 * 5);
    let found = long.clone().filter(|h| chi_squared(h) > LIMIT).count();
    assert_eq!(found, long.count());
    assert!(found > 10, "{found} messages");
}
