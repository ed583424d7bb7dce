//! What a party sees is uniform and does not depend on the inputs, for each interactive instruction.
//!
//! Runs are seeded, so the tests cannot flake. A chi-squared statistic with 255 degrees of freedom
//! exceeds 400 with probability below 1e-7.

use crate::build::Builder;
use slvr_runtime::circuit::{Hold, Op, ValueId};
use slvr_runtime::party::session::{Options, run_outcome};
use slvr_runtime::party::{Direction, Held};
use slvr_runtime::protocol::{Context, input};
use slvr_runtime::ring::{Data, Dom};
use slvr_runtime::share::{PairSeeds, Prss, RunId, Seed};
use std::collections::BTreeMap;

const LIMIT: f64 = 400.0;
const RUNS: u64 = 150;
/// Three full shards of words of 8 bits.
const N: u64 = 192;

type Histogram = [u64; 256];

fn chi_squared(h: &Histogram) -> f64 {
    let expected = h.iter().sum::<u64>() as f64 / 256.0;
    h.iter().map(|&c| (c as f64 - expected).powi(2) / expected).sum()
}

fn two_samples(a: &Histogram, b: &Histogram) -> f64 {
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
            "xchg" => {
                let t = bare(&mut b, x, Op::AsAdd2(x), Hold::Add2, value);
                b.round(Op::Xchg(t), Hold::Rep);
            }
            "open" => {
                b.round(Op::Open(x), Hold::Public);
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
        let options = Options { seed: Some(seed + run), record: true, ..Options::default() };
        let outcome = run_outcome(&circuit, encoded, &options).unwrap();
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
fn xchg_view() {
    uniform_and_independent("xchg");
}

#[test]
fn open_view() {
    uniform_and_independent("open");
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
            let sent = input::message(Context { prss: &prss, instr: 3 }, &v, N as usize);
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
    let options = Options { seed: Some(1), record: true, ..Options::default() };
    let outcome = run_outcome(&circuit, encoded, &options).unwrap();
    let shown = format!("{shown} {outcome:?} {:?}", outcome.recorded.as_ref().unwrap()[0].values);
    assert!(!shown.contains("201"), "{shown}");
    // A dump of elements is a long list of numbers.
    assert!(shown.len() < 2000, "{shown}");
}
