//! The checks of the gallery that keep a state or draw coins, each against its formula written out in plain Rust: over
//! four rounds in floating point, from five seeds, and among three parties over the same rounds.

use super::gallery::{Proven, SPREADS};
use super::intervals::Check;
use super::vectors::{dot, norm, times};
use slvr_circuit::Lots;
use slvr_compiler::syntax::embedded;
use slvr_compiler::types::eval::{EvalInputs, Tensor, trace};
use slvr_runtime::party::session::{self, Options};
use slvr_runtime::protocol::committee::lots;
use slvr_runtime::share::encode::{RawData, RawTensor};
use slvr_tests::long::part;
use slvr_tests::{Case, committees, compile, random_inputs};
use std::collections::BTreeMap;

type Vector = Vec<f64>;

/// Seeds of histories: 20 inputs in all.
const SEEDS: u64 = 5;
const ROUNDS: u64 = 4;
/// Histories that three parties run.
const RUNS: u64 = 2;

const MODEL: (&str, &str) = ("M", "Mlp[2, 2, 2]");

/// Holds a check against a reference, which gets the updates of a round and its coins. `near` is how far off three
/// parties may be.
fn check<S: Default>(
    name: &str,
    sizes: &[(&str, &str)],
    near: f64,
    reference: impl Fn(&mut S, &[Vector], &[u128]) -> Vector,
) {
    let text =
        embedded::get(&format!("gallery/{name}.slvr")).unwrap_or_else(|| panic!("no {name}"));
    let case = compile(text, sizes);
    spread_out(name, &case);
    for seed in 0..SEEDS {
        let (mut plain, mut own, mut kept) = (BTreeMap::new(), S::default(), None);
        for round in 0..ROUNDS {
            let inputs = random_inputs(case.circuit(), 100 * seed + round, 0.1);
            let coins = session::coins(case.circuit(), seed + round);
            let updates: Vec<Vector> = inputs.sets[0].iter().map(|m| reals(&m["update"])).collect();
            let found = floating(&case, &inputs.sets, &coins, std::mem::take(&mut plain));
            let wanted = reference(&mut own, &updates, &coins);
            let value = &found.reveals[0].1.data;
            let off = distance(value, &wanted);
            assert!(off < 1e-9, "{name}, seed {seed}, round {round}: {value:?}, not {wanted:?}");
            plain = found.states.into_iter().collect();
            if seed < RUNS {
                let state = kept.take();
                let options = Options {
                    seed: Some(seed + round),
                    state: state.as_ref(),
                    ..Options::default()
                };
                let report = session::run_local(case.circuit(), &inputs, &options).expect("a run");
                assert_eq!(report.coins, coins);
                let off = distance(&report.outputs[0].values, &wanted);
                assert!(
                    off < near,
                    "{name}, seed {seed}, round {round}: three parties off by {off}"
                );
                let traffic = slvr_circuit::traffic::Traffic::of(case.circuit());
                assert_eq!((report.rounds, report.bytes_sent), (traffic.rounds, traffic.bytes));
                kept = report.kept;
            }
        }
    }
}

/// The first round, from inputs all over their declared ranges: the circuit keeps to its certificate.
fn spread_out(name: &str, case: &Case) {
    let (mut clear, mut given, mut check) = (0, Proven::default(), Check::new(case, [0; 2]));
    for (spread, seed) in SPREADS.into_iter().flat_map(|s| (0..part(10, 20)).map(move |n| (s, n))) {
        let inputs = random_inputs(case.circuit(), seed, spread);
        let check = check.drawing([u128::from(seed) << 64 | 7, 11]);
        let held = given.see(check, &inputs, seed).and_then(|()| check.hold(&inputs, seed));
        let held = held.unwrap_or_else(|e| panic!("{name}, spread {spread}, seed {seed}: {e}"));
        clear += u64::from(held);
        if held {
            given.clear(check, &inputs);
        }
    }
    println!("{name}: {clear} runs are clear; {given}");
    assert!(given.is_useful(), "{name}: nothing useful is proven: {given}");
}

fn reals(t: &RawTensor) -> Vector {
    t.data.to_f64()
}

fn floating(
    case: &Case,
    sets: &[Vec<BTreeMap<String, RawTensor>>],
    coins: &[u128],
    states: BTreeMap<String, Tensor>,
) -> slvr_compiler::types::eval::Trace {
    let member = |m: &BTreeMap<String, RawTensor>| {
        let tensor = |t: &RawTensor| Tensor { shape: t.shape.clone(), data: reals(t) };
        m.iter().map(|(n, t)| (n.clone(), tensor(t))).collect()
    };
    let sets = sets.iter().map(|s| s.iter().map(member).collect()).collect();
    let given = EvalInputs { sets, states, ..EvalInputs::default() };
    trace(&case.program, &given, &committees(coins)).expect("a value")
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

fn plus(x: &[f64], c: f64, y: &[f64]) -> Vector {
    x.iter().zip(y).map(|(x, y)| x + c * y).collect()
}

/// The sum of vectors with weights.
fn weighted(weights: &[f64], all: &[Vector]) -> Vector {
    let zeros = vec![0.0; all[0].len()];
    weights.iter().zip(all).fold(zeros, |sum, (w, x)| plus(&sum, *w, x))
}

/// 1 for each of the k smallest; of equal ones the first.
fn smallest(k: usize, of: &[f64]) -> Vector {
    let mut order: Vec<usize> = (0..of.len()).collect();
    order.sort_by(|&a, &b| of[a].total_cmp(&of[b]).then(a.cmp(&b)));
    let mut out = vec![0.0; of.len()];
    order.into_iter().take(k).for_each(|i| out[i] = 1.0);
    out
}

#[test]
fn foolsgold() {
    for kappa in ["1", "0.3"] {
        foolsgold_of(kappa);
    }
}

fn foolsgold_of(kappa: &str) {
    let k: f64 = kappa.parse().expect("a number");
    let sizes = [MODEL, ("m", "4"), ("kappa", kappa)];
    check("foolsgold", &sizes, 0.02, |history: &mut Vec<Vector>, u, _| {
        if history.is_empty() {
            *history = vec![vec![0.0; u[0].len()]; 4];
        }
        for (h, u) in history.iter_mut().zip(u) {
            *h = plus(h, 1.0, u);
        }
        let like = |i: usize, j: usize| {
            dot(&history[i], &history[j]) / (norm(&history[i]) * norm(&history[j]))
        };
        let others = |i: usize| (0..4).filter(move |&j| j != i);
        let most: Vector =
            (0..4).map(|i| others(i).map(|j| like(i, j)).fold(f64::MIN, f64::max)).collect();
        let pardoned = |i: usize, j: usize| {
            let pardon = if most[i] < most[j] { (most[i] / most[j]).clamp(0.0, 1.0) } else { 1.0 };
            like(i, j) * pardon
        };
        let alone: Vector = (0..4)
            .map(|i| {
                let most = others(i).map(|j| pardoned(i, j)).fold(f64::MIN, f64::max);
                (1.0 - most).clamp(0.0, 1.0)
            })
            .collect();
        let top = alone.iter().copied().fold(0.0, f64::max);
        let weight: Vector = (alone.iter())
            .map(|a| {
                let share = (a / top).clamp(0.01, 0.99);
                (k * ((share / (1.0 - share)).ln() + 0.5)).clamp(0.0, 1.0)
            })
            .collect();
        times(0.25, &weighted(&weight, u))
    });
}

/// The reputations after a round, and its aggregate, as the paper has them: shares, of which those below a third of the
/// average are left out for good. `u` is cut to the median length.
fn reputations(r: &[f64], u: &[Vector]) -> (Vector, Vector) {
    let total: f64 = r.iter().sum();
    let share = times(1.0 / total, r);
    let mut sizes: Vector = u.iter().map(|x| norm(x)).collect();
    sizes.sort_by(f64::total_cmp);
    let bound = (sizes[(u.len() - 1) / 2] + sizes[u.len() / 2]) / 2.0;
    let cut: Vec<Vector> = u.iter().map(|x| times((bound / norm(x)).min(1.0), x)).collect();
    let aggregate = weighted(&share, &cut);
    let next: Vector = (share.iter().zip(&cut))
        .map(|(s, x)| {
            let agrees = dot(x, &aggregate) / (norm(x) * norm(&aggregate));
            if *s > 0.0 { 0.8 * s + 0.2 * agrees.max(0.0) } else { 0.0 }
        })
        .collect();
    let (all, members) = (next.iter().sum::<f64>(), share.iter().filter(|s| **s > 0.0).count());
    let stays = |n: &f64| if n / all >= 0.333 / members as f64 { n / all } else { 0.0 };
    (next.iter().map(stays).collect(), aggregate)
}

#[test]
fn reputation() {
    check("reputation", &[MODEL, ("m", "4")], 0.02, |r: &mut Vector, u, _| {
        if r.is_empty() {
            *r = vec![1.0; 4];
        }
        let (next, aggregate) = reputations(r, u);
        *r = next;
        aggregate
    });
}

#[test]
fn a_client_with_long_updates_is_not_the_aggregate_of_the_reputations() {
    // Nine clients agree up to noise, and one sends twenty times as much of something else.
    let text = embedded::get("gallery/reputation.slvr").expect("a file");
    let case = compile(text, &[MODEL, ("m", "10")]);
    let (mut states, mut reputation) = (BTreeMap::new(), vec![1.0; 10]);
    for round in 0..12 {
        let mut inputs = random_inputs(case.circuit(), round, 0.01);
        for (i, member) in inputs.sets[0].iter_mut().enumerate() {
            if let Some(RawData::F64(v)) = member.get_mut("update").map(|t| &mut t.data) {
                for (j, x) in v.iter_mut().enumerate() {
                    *x += if i == 9 { if j % 2 == 0 { 4.0 } else { -4.0 } } else { 0.2 };
                }
            }
        }
        let updates: Vec<Vector> = inputs.sets[0].iter().map(|m| reals(&m["update"])).collect();
        let found = floating(&case, &inputs.sets, &[], std::mem::take(&mut states));
        let (next, aggregate) = reputations(&reputation, &updates);
        assert!(distance(&found.reveals[0].1.data, &aggregate) < 1e-9, "round {round}");
        states = found.states.into_iter().collect();
        reputation = next;
    }
    assert_eq!(reputation[9], 0.0, "the long one is left out");
    assert!(reputation[..9].iter().all(|r| *r > 0.05), "{reputation:?}");
}

#[derive(Default)]
struct Clipping {
    momentum: Vec<Vector>,
    centre: Vector,
}

#[test]
fn momentum() {
    check("momentum", &[MODEL, ("m", "4")], 0.01, |s: &mut Clipping, u, _| {
        if s.momentum.is_empty() {
            s.momentum = vec![vec![0.0; u[0].len()]; 4];
            s.centre = vec![0.0; u[0].len()];
        }
        for (m, u) in s.momentum.iter_mut().zip(u) {
            *m = plus(&times(0.9, m), 0.1, u);
        }
        let off: Vec<Vector> = s.momentum.iter().map(|m| plus(m, -1.0, &s.centre)).collect();
        let cut: Vector = off.iter().map(|o| (1.0 / norm(o)).min(1.0) / 4.0).collect();
        s.centre = plus(&s.centre, 1.0, &weighted(&cut, &off));
        s.centre.clone()
    });
}

#[test]
fn norm_bound_of_the_last_round() {
    check("norm_bound_last", &[MODEL, ("m", "4")], 0.01, |bound: &mut Option<f64>, u, _| {
        let sizes: Vector = u.iter().map(|x| norm(x)).collect();
        let kept: Vector =
            sizes.iter().map(|n| f64::from(u8::from(*n < bound.unwrap_or(4096.0)))).collect();
        let mut sorted = sizes;
        sorted.sort_by(f64::total_cmp);
        *bound = Some(1.5 * sorted[1]);
        times(0.25, &weighted(&kept, u))
    });
}

#[derive(Default)]
struct Drifting {
    before: Vec<Vector>,
    drift: Vector,
}

#[test]
fn drift() {
    check("drift", &[MODEL, ("m", "5"), ("drop", "1")], 0.01, |s: &mut Drifting, u, _| {
        if s.before.is_empty() {
            s.before = vec![vec![0.0; u[0].len()]; 5];
            s.drift = vec![0.0; 5];
        }
        let off: Vector = u.iter().zip(&s.before).map(|(u, b)| norm(&plus(u, -1.0, b))).collect();
        let all: f64 = off.iter().sum();
        s.drift = s.drift.iter().zip(&off).map(|(d, o)| 0.5 * d + 0.5 * o / all).collect();
        s.before = u.to_vec();
        let kept = smallest(4, &s.drift);
        times(0.25, &weighted(&kept, u))
    });
}

#[test]
fn divide_and_conquer() {
    let sizes = [MODEL, ("m", "5"), ("drop", "1"), ("b", "5"), ("times", "2"), ("steps", "3")];
    check("dnc", &sizes, 0.01, |_: &mut (), u, coins| {
        let d = u[0].len() as u64;
        let drawn = lots(coins[0], &Lots { rows: 2, n: d, k: 5, others: false });
        let mut keep = vec![1.0; 5];
        for coordinates in drawn.chunks(5) {
            let x: Vec<Vector> =
                (u.iter()).map(|u| coordinates.iter().map(|&j| u[j as usize]).collect()).collect();
            let mean = weighted(&[0.2; 5], &x);
            let off: Vec<Vector> = x.iter().map(|x| plus(x, -1.0, &mean)).collect();
            let mut v = vec![5f64.powf(-0.5); 5];
            for _ in 0..3 {
                let along: Vector = off.iter().map(|o| dot(o, &v)).collect();
                let next = weighted(&along, &off);
                v = times(1.0 / norm(&next), &next);
            }
            let scores: Vector = off.iter().map(|o| dot(o, &v).powi(2)).collect();
            keep = keep.iter().zip(smallest(4, &scores)).map(|(a, b)| a * b).collect();
        }
        times(1.0 / keep.iter().sum::<f64>(), &weighted(&keep, u))
    });
}
