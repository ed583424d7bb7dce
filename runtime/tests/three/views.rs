//! What a party sees is uniform and does not depend on the inputs, for each interactive instruction.
//!
//! Runs are seeded, so the tests cannot flake. A chi-squared statistic with 255 degrees of freedom
//! exceeds 400 with probability below 1e-7.

use crate::build::Builder;
use crate::operations::{carry, mask_words, recorded, values};
use slvr_circuit::Dom;
use slvr_circuit::{Hold, Lanes, Op, ValueId};
use slvr_ring::Data;
use slvr_runtime::link::Peer;
use slvr_runtime::party::{Direction, Held, Recorded, Recorder};
use slvr_runtime::protocol::{Context, complement, input};
use slvr_runtime::share::{PairSeeds, Prss, RunId, Seed, next, prev};
use std::collections::BTreeMap;

pub const LIMIT: f64 = 400.0;
const RUNS: u64 = 150;
/// Three full shards of words of 8 bits.
const N: u64 = 192;

pub type Histogram = [u64; 256];

pub fn chi_squared(h: &Histogram) -> f64 {
    let expected = h.iter().sum::<u64>() as f64 / 256.0;
    h.iter().map(|&c| (c as f64 - expected).powi(2) / expected).sum()
}

pub fn two_samples(a: &Histogram, b: &Histogram) -> f64 {
    let (na, nb) = (a.iter().sum::<u64>() as f64, b.iter().sum::<u64>() as f64);
    let (ka, kb) = ((nb / na).sqrt(), (na / nb).sqrt());
    let one = |(&a, &b): (&u64, &u64)| {
        let (a, b) = (a as f64, b as f64);
        if a + b == 0.0 { 0.0 } else { (ka * a - kb * b).powi(2) / (a + b) }
    };
    a.iter().zip(b).map(one).sum()
}

/// A value whose words are constant at every party: a fresh share is uniform by itself, so only an
/// operand like this shows that the instruction's own mask hides it.
fn bare(b: &mut Builder, x: ValueId, op: Op, hold: Hold, value: u128) -> ValueId {
    let v = b.same(op, hold);
    assert_eq!(b.ty(x).dom, b.ty(v).dom);
    let zero = b.same(Op::Scale(v, 0), hold);
    b.same(Op::Offset(zero, value), hold)
}

/// Every message of every party over many runs on a constant input; and every received byte minus
/// the byte of each of the party's own input components at the same place.
fn histograms(name: &str, value: u128, seed: u64) -> BTreeMap<String, Histogram> {
    let mut out: BTreeMap<String, Histogram> = BTreeMap::new();
    for run in 0..RUNS {
        let mut b = Builder::new();
        let x = b.secret(8, &[1, N], &[value; N as usize]);
        match name {
            "reshare" => {
                let z = bare(&mut b, x, Op::AsAdd3(x), Hold::Add3, value);
                b.round(Op::Reshare(z), Hold::Rep);
            }
            "input" => {
                let a = bare(&mut b, x, Op::Own(x), Hold::Own, value);
                b.round(Op::Input(a), Hold::Rep);
            }
            "deal" => {
                let a = bare(&mut b, x, Op::Own(x), Hold::Own, value);
                b.round(Op::Deal(a), Hold::Add2);
            }
            "deal_mask" => {
                let a = bare(&mut b, x, Op::Own(x), Hold::Own, value);
                b.round(Op::DealMask(a), Hold::Mask);
            }
            "open_masked" => {
                let t = bare(&mut b, x, Op::AsAdd2(x), Hold::Add2, value);
                let (dom, shape) = (Dom::Ring(8), vec![1, N]);
                let mask = b.must(Op::Mask { tag: 0, dom, shape, groups: 0 });
                b.round(Op::OpenMasked { x: t, mask }, Hold::Dup);
            }
            "reshare_two" => {
                let t = bare(&mut b, x, Op::AsAdd2(x), Hold::Add2, value);
                b.round(Op::ReshareTwo(t), Hold::Rep);
            }
            "open" => {
                b.round(Op::Open(x), Hold::Public);
            }
            "open_sum" => {
                let z = bare(&mut b, x, Op::AsAdd3(x), Hold::Add3, value);
                b.round(Op::OpenSum(z), Hold::Public);
            }
            "open_to" => {
                let z = bare(&mut b, x, Op::AsAdd3(x), Hold::Add3, value);
                b.reveal_words(z, 0, 1.0);
            }
            _ => {
                for _ in 0..N / 16 {
                    b.op(Op::Coin, Hold::Public, Dom::Ring(128), &[]);
                }
            }
        }
        let (circuit, encoded) = b.finish();
        let outcome = recorded(&circuit, encoded, seed + run);
        for (i, party) in outcome.recorded.iter().flatten().enumerate() {
            let own = party.values.iter().find(|(v, _)| *v == ValueId(0));
            let Some((_, Held::Rep(own))) = own else { panic!("no input") };
            let own = [own.first.to_u128s(), own.second.to_u128s()];
            for m in party.messages.iter().filter(|m| m.op == name) {
                let key = format!("party {i} {:?} {}", m.direction, m.peer);
                let h = out.entry(key.clone()).or_insert([0; 256]);
                m.bytes.iter().for_each(|&x| h[x as usize] += 1);
                if m.direction == Direction::Received && m.bytes.len() == N as usize {
                    for (c, own) in own.iter().enumerate() {
                        let h = out.entry(format!("{key} minus {c}")).or_insert([0; 256]);
                        for (&x, &y) in m.bytes.iter().zip(own) {
                            h[x.wrapping_sub(y as u8) as usize] += 1;
                        }
                    }
                }
            }
        }
    }
    out
}

fn uniform_and_independent(name: &str) {
    let a = histograms(name, 0, 1000);
    let b = histograms(name, 77, 500_000);
    assert!(a.len() >= 3, "{name}: {:?}", a.keys());
    for (key, h) in a.iter().chain(&b) {
        let chi = chi_squared(h);
        assert!(chi < LIMIT, "{name}, {key}: chi-squared {chi}");
    }
    for (key, h) in &a {
        let chi = two_samples(h, &b[key]);
        assert!(chi < LIMIT, "{name}, {key}: two inputs give chi-squared {chi}");
    }
}

#[test]
fn reshare_view() {
    uniform_and_independent("reshare");
}

#[test]
fn input_view() {
    uniform_and_independent("input");
}

#[test]
fn deal_view() {
    uniform_and_independent("deal");
}

#[test]
fn reshare_two_view() {
    uniform_and_independent("reshare_two");
}

#[test]
fn deal_mask_view() {
    uniform_and_independent("deal_mask");
}

#[test]
fn open_masked_view() {
    uniform_and_independent("open_masked");
}

fn bytes(x: &Data) -> Vec<u8> {
    x.to_u128s().into_iter().map(|x| x as u8).collect()
}

/// A message that a party got, or sent, in an instruction.
fn message<'a>(party: &'a Recorder, op: &str, direction: Direction, peer: usize) -> &'a [u8] {
    let same = |m: &&Recorded| (m.op, m.direction, m.peer) == (op, direction, Peer::Party(peer));
    &party.messages.iter().find(same).unwrap().bytes
}

/// The words of a fresh mask, which nobody sends, are independent; in particular the one that a party
/// does not hold of the one that it holds. What is opened under it looks uniform next to the word held.
#[test]
fn mask_view() {
    let mut seen: BTreeMap<&str, Histogram> = BTreeMap::new();
    let mut count = |name, of: Vec<u8>| {
        let h = seen.entry(name).or_insert([0; 256]);
        of.into_iter().for_each(|x| h[x as usize] += 1);
    };
    let minus = |a: &[u8], b: &[u8]| -> Vec<u8> {
        assert_eq!(a.len(), b.len());
        a.iter().zip(b).map(|(a, b)| a.wrapping_sub(*b)).collect()
    };
    for run in 0..RUNS {
        let mut b = Builder::new();
        let x = b.secret(8, &[1, N], &[5; N as usize]);
        let t = bare(&mut b, x, Op::AsAdd2(x), Hold::Add2, 5);
        let op = |tag| Op::Mask { tag, dom: Dom::Ring(8), shape: vec![1, N], groups: 0 };
        let (mask, other) = (b.must(op(0)), b.must(op(1)));
        let opened = b.round(Op::OpenMasked { x: t, mask }, Hold::Dup);
        let lanes = b.ty(mask).lanes();
        let (circuit, encoded) = b.finish();
        let recorded = recorded(&circuit, encoded, 900 + run).recorded.unwrap();
        let values = values(&recorded);
        for r in 0..3 {
            let [low, high, ..] = mask_words(&values[r][&mask], lanes, r).map(|x| bytes(&x));
            let [low2, high2, ..] = mask_words(&values[r][&other], lanes, r).map(|x| bytes(&x));
            count("a", minus(&high, &low.iter().map(|x| x.wrapping_neg()).collect::<Vec<_>>()));
            count("difference", minus(&high, &low));
            count("first of two masks", minus(&low2, &low));
            count("second of two masks", minus(&high2, &high));
            // As r + 1: the message of the other, next to the word that this party holds.
            let p = next(r);
            let got = message(&recorded[p], "open_masked", Direction::Received, next(p));
            count("opened, next to the own word", minus(got, &high));
            count("opened, next to another mask", minus(got, &high2));
            // The simulator: from the output and the own message.
            let sent = message(&recorded[p], "open_masked", Direction::Sent, next(p));
            let Held::One(out) = &values[p][&opened] else { panic!("replicated") };
            let out = bytes(&out.slice(complement(lanes, p).0));
            assert_eq!(got, minus(&out, sent));
        }
        assert!(recorded.iter().flat_map(|p| &p.messages).all(|m| m.op == "open_masked"));
    }
    for (name, h) in &seen {
        let chi = chi_squared(h);
        assert!(chi < LIMIT, "{name}: chi-squared {chi}");
    }
}

/// What arrives is a word of the output: the simulator has nothing to add.
#[test]
fn a_dealt_mask_is_its_own_simulator() {
    let mut b = Builder::new();
    let x = b.secret(8, &[1, N], &[5; N as usize]);
    let own = b.must(Op::Own(x));
    let mask = b.round(Op::DealMask(own), Hold::Mask);
    let lanes = b.ty(mask).lanes();
    let (circuit, encoded) = b.finish();
    let recorded = recorded(&circuit, encoded, 5).recorded.unwrap();
    let values = values(&recorded);
    for p in 0..3 {
        let [.., after] = mask_words(&values[p][&mask], lanes, p);
        assert_eq!(message(&recorded[p], "deal_mask", Direction::Received, next(p)), bytes(&after));
    }
}

/// A whole comparison: every message is uniform whatever the secret, and so is the sum of any two that
/// a party gets, as they are masked by different words.
#[test]
fn comparison_view() {
    let runs = RUNS / 5;
    for groups in [0, 3] {
        let histograms = |value: u128, seed: u64| {
            let mut out: BTreeMap<String, Histogram> = BTreeMap::new();
            for run in 0..runs {
                let mut b = Builder::new();
                let x = b.secret(32, &[1, N], &[value; N as usize]);
                let c = carry(&mut b, x, 32, groups, 4, 4);
                b.round(Op::ReshareTwo(c), Hold::Rep);
                let (circuit, encoded) = b.finish();
                let recorded = recorded(&circuit, encoded, seed + run).recorded.unwrap();
                for (i, party) in recorded.iter().enumerate() {
                    let got: Vec<_> = party
                        .messages
                        .iter()
                        .filter(|m| m.direction == Direction::Received)
                        .collect();
                    for (j, m) in got.iter().enumerate() {
                        let key = format!("party {i}, {} of {}", m.op, m.peer);
                        let h = out.entry(key.clone()).or_insert([0; 256]);
                        m.bytes.iter().for_each(|&x| h[x as usize] += 1);
                        for other in &got[..j] {
                            let h =
                                out.entry(format!("{key} and {}", other.op)).or_insert([0; 256]);
                            let both = m.bytes.iter().zip(&other.bytes);
                            both.for_each(|(x, y)| h[(x ^ y) as usize] += 1);
                        }
                    }
                }
            }
            out
        };
        let (a, b) = (histograms(0, 70_000), histograms(0x89ab_cdef, 80_000));
        // Tables, products and hidden nodes of both peers, and pairs of them.
        assert!(a.len() >= 30, "{:?}", a.keys());
        for (key, h) in a.iter().chain(&b) {
            let chi = chi_squared(h);
            assert!(chi < LIMIT, "{key}: chi-squared {chi}");
        }
        for (key, h) in &a {
            let chi = two_samples(h, &b[key]);
            assert!(chi < LIMIT, "{key}: two inputs give chi-squared {chi}");
        }
    }
}

#[test]
fn open_view() {
    uniform_and_independent("open");
}

#[test]
fn open_sum_view() {
    uniform_and_independent("open_sum");
}

/// The two words that a party gets are tied by the output alone: their difference is uniform, and the
/// simulator computes one from the other, the own word and the output.
#[test]
fn an_opened_sum_tells_no_more() {
    let mut differences: BTreeMap<usize, Histogram> = BTreeMap::new();
    for run in 0..RUNS {
        let mut b = Builder::new();
        let x = b.secret(8, &[1, N], &[5; N as usize]);
        let z = bare(&mut b, x, Op::AsAdd3(x), Hold::Add3, 5);
        let out = b.round(Op::OpenSum(z), Hold::Public);
        let (circuit, encoded) = b.finish();
        let recorded = recorded(&circuit, encoded, 3000 + run).recorded.unwrap();
        let values = values(&recorded);
        for (p, party) in recorded.iter().enumerate() {
            let got = |peer| message(party, "open_sum", Direction::Received, peer);
            let sent = |peer| message(party, "open_sum", Direction::Sent, peer);
            let (one, other) = (got(next(p)), got(prev(p)));
            assert_eq!(sent(next(p)), sent(prev(p)));
            let Held::One(out) = &values[p][&out] else { panic!("replicated") };
            let words = bytes(out).into_iter().zip(one).zip(other).zip(sent(next(p)));
            let h = differences.entry(p).or_insert([0; 256]);
            for (((out, &one), &other), own) in words {
                assert_eq!((out, one), (5, out.wrapping_sub(other).wrapping_sub(*own)));
                h[one.wrapping_sub(other) as usize] += 1;
            }
        }
    }
    for (p, h) in &differences {
        let chi = chi_squared(h);
        assert!(chi < LIMIT, "party {p}: chi-squared {chi}");
    }
}

#[test]
fn open_to_view() {
    uniform_and_independent("open_to");
}

#[test]
fn coin_view() {
    uniform_and_independent("coin");
}

/// The same test on a broken protocol: the run's id is not fresh, so the mask is constant.
#[test]
fn a_constant_mask_is_found() {
    let histogram = |fresh: bool, value: u128| {
        let mut h = [0u64; 256];
        let v = Data::from_u128s(Dom::Ring(8), &[value; 64]);
        let seeds = PairSeeds { next: Seed::new([1; 16]), prev: Seed::new([2; 16]) };
        for run in 0..4 * RUNS {
            let id = if fresh { run } else { 0 };
            let prss = Prss::new(0, &seeds, RunId(u128::from(id).to_le_bytes()));
            let sent = {
                let lanes = Lanes { n: N as usize, groups: 0 };
                input::message(Context { prss: &prss, instr: 3 }, &v, lanes)
            };
            let words = sent.to_next.unwrap().to_u128s();
            words.iter().for_each(|&x| h[x as usize] += 1);
        }
        h
    };
    assert!(chi_squared(&histogram(true, 5)) < LIMIT);
    assert!(chi_squared(&histogram(false, 5)) > 2.0 * LIMIT);
    assert!(two_samples(&histogram(false, 5), &histogram(false, 6)) > 2.0 * LIMIT);
}

#[test]
fn no_share_in_debug_output() {
    let mut b = Builder::new();
    let x = b.secret(8, &[1, N], &[201; N as usize]);
    b.round(Op::Open(x), Hold::Public);
    let (circuit, encoded) = b.finish();
    let shown = format!("{encoded:?}");
    let mut report = recorded(&circuit, encoded, 1);
    // A time may have any digits.
    report.seconds = 0.0;
    let shown = format!("{shown} {report:?} {:?}", report.recorded.as_ref().unwrap()[0].values);
    assert!(!shown.contains("201"), "{shown}");
    // A dump of elements is a long list of numbers.
    assert!(shown.len() < 2000, "{shown}");
}
