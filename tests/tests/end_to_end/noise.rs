//! Noise that nobody knows: every evaluation computes the same of the same uniform bits, three parties draw other
//! bits in every run, and certificates say what the noise promises.

use super::gallery::{Proven, SPREADS};
use super::intervals::Check;
use slvr_circuit::Security;
use slvr_compiler::lower::{Family, Target};
use slvr_compiler::noise::{Law, Noise, Words};
use slvr_compiler::pipeline::Options as How;
use slvr_compiler::report::certificate::Certificate;
use slvr_compiler::report::leaks::leaks;
use slvr_compiler::syntax::embedded;
use slvr_runtime::party::session::{self, Options, Report};
use slvr_runtime::share::encode::Inputs;
use slvr_tests::{Case, Random, compile, compile_with, distance, keep_in_range, random_inputs};

const DP: [(&str, &str); 2] = [("M", "Mlp[4, 3, 2]"), ("m", "6")];

fn dp_fedavg() -> &'static str {
    embedded::get("gallery/dp_fedavg.slvr").expect("a file of the gallery")
}

/// Nothing but noise of three kinds and shapes.
fn only_noise() -> String {
    "predicate Noisy() { parties Client[3]; parties Server; input x: secret fix in 0..1 from each Client; \
     sample a: fix[40] from gaussian(0.75); sample b: fix[5, 3] from laplace(0.25); sample c: fix from gaussian(0.002); \
     reveal a to Server as a; reveal b to Server as b; reveal c + 0 * sum(x) to Server as c; }"
        .replace("predicate", "use std::sum; predicate")
}

fn malicious() -> How {
    How { target: Target::Malicious(Family::T1), ..How::default() }
}

fn run(case: &Case, inputs: &Inputs, seed: Option<u64>) -> Report {
    let options = Options { seed, record: true, ..Options::default() };
    session::run_local(case.circuit(), inputs, &options).expect("a run of three parties")
}

fn outputs(report: &Report) -> Vec<Vec<f64>> {
    report.outputs.iter().map(|o| o.values.clone()).collect()
}

/// Floating point, the graph, the circuit in the clear and three parties, of the same bits.
#[test]
fn all_evaluations_draw_the_same_noise_from_the_same_bits() {
    for how in [How::default(), malicious()] {
        let mut case = compile_with(&only_noise(), &[], how);
        let inputs = random_inputs(case.circuit(), 1, 1.0);
        for seed in 0..3 {
            case.noise = Words::of(seed);
            let float = case.floating(&inputs, &[]);
            assert!(float.iter().flatten().filter(|x| **x != 0.0).count() > 50, "noise");
            assert_eq!(
                case.graph_real(&case.compiled.optimised, &inputs, &[]),
                float,
                "seed {seed}"
            );
            assert_eq!(case.graph_exact(&inputs, &[]), float, "seed {seed}");
            assert_eq!(case.circuit_clear(&inputs, &[], seed), float, "seed {seed}");
        }
        let report = run(&case, &inputs, Some(5));
        case.noise =
            Words { seed: 0, given: report.drawn(case.circuit()).expect("a recorded run") };
        assert_eq!(case.floating(&inputs, &[]), outputs(&report));
    }
}

/// On all cells, with the first 1 at every place: the circuit has the exact probabilities of its table.
#[test]
fn the_circuit_has_each_outcome_with_the_probability_of_the_table() {
    let noise = Noise::new(Law::Gaussian, 2f64.powi(-20)).expect("noise");
    let sampler = noise.sampler();
    let bits = sampler.bits();
    assert_eq!(sampler.draws.len(), 1, "one draw: outcomes are values");
    let table = &sampler.tables[0];
    let places = 65usize;
    let n = places << bits;
    let text = format!(
        "use std::sum; predicate One() {{ parties Client[3]; parties Server; input x: secret fix in 0..1 from each Client; \
         sample a: fix[{n}] from gaussian({}); reveal a to Server as a; reveal sum(x) to Server as s; }}",
        noise.scale
    );
    let mut case = compile(&text, &[]);
    let inputs = random_inputs(case.circuit(), 1, 1.0);
    let mut random = Random::new(7);
    let words = (0..n).map(|i| {
        let (cell, place) = ((i / places) as u128, i % places);
        // Bits behind the first 1 do not matter.
        let behind = (random.unit() * 2f64.powi(63)) as u64;
        let low = if place == 64 {
            0
        } else {
            1 << place | behind.checked_shl(place as u32 + 1).unwrap_or(0)
        };
        cell << 64 | u128::from(low)
    });
    case.noise = Words { seed: 0, given: vec![words.collect()] };
    let found = case.circuit_clear(&inputs, &[], 3).remove(0);
    let mut units = vec![0u128; 1 << bits];
    for (i, value) in found.iter().enumerate() {
        let outcome = (value * f64::from(noise.frac).exp2()) as usize;
        units[outcome] += 1 << (63 - (i % places).min(63));
    }
    let wanted: Vec<u128> = (0..1 << bits).map(|o| table.units(o)).collect();
    assert_eq!(units, wanted);
}

/// 20,000 values of the circuit's own bits with a fixed seed, in 50 classes: chi-square.
#[test]
fn values_of_a_run_are_spread_as_their_law() {
    let (classes, n, sigma) = (50usize, 20_000usize, 0.75);
    let text = format!(
        "use std::sum; predicate Many() {{ parties Client[3]; parties Server; input x: secret fix in 0..1 from each Client; \
         sample a: fix[{n}] from gaussian({sigma}); reveal a to Server as a; reveal sum(x) to Server as s; }}"
    );
    let case = compile(&text, &[]);
    let inputs = random_inputs(case.circuit(), 1, 1.0);
    let report = case.parties(&inputs, 11);
    // Ends of classes of equal probability, by Newton's method on the error function's series.
    let density = |x: f64| (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let cumulated = |x: f64| {
        let (mut term, mut sum) = (x, x);
        for i in 1..200 {
            term *= x * x / f64::from(2 * i + 1);
            sum += term;
        }
        0.5 + sum * density(x)
    };
    let mut ends = Vec::new();
    for i in 1..classes {
        let mut x = 0.0;
        for _ in 0..50 {
            x -= (cumulated(x) - i as f64 / classes as f64) / density(x);
        }
        ends.push(x * sigma);
    }
    let mut counts = vec![0.0; classes];
    for x in &report.outputs[0].values {
        counts[ends.partition_point(|end| end < x)] += 1.0;
    }
    let each = n as f64 / classes as f64;
    let chi: f64 = counts.iter().map(|c| (c - each).powi(2) / each).sum();
    // With 49 degrees of freedom it is above 95 with a probability of less than 1 in 10,000.
    assert!(chi < 95.0, "{chi}");
}

#[test]
fn noise_differs_from_run_to_run_and_a_seed_repeats_it() {
    let case = compile(dp_fedavg(), &DP);
    let inputs = random_inputs(case.circuit(), 3, 0.1);
    let [a, b, c, d] =
        [Some(1), Some(1), Some(2), None].map(|seed| outputs(&run(&case, &inputs, seed)));
    let e = outputs(&run(&case, &inputs, None));
    assert_eq!(a, b);
    assert!(distance(&a, &c) > 0.1 && distance(&a, &d) > 0.1 && distance(&d, &e) > 0.1);
}

/// The noisy mean is the mean of the clipped updates and the noise that the bits of the run make.
#[test]
fn dp_fedavg_is_the_noisy_mean_of_clipped_updates() {
    let mut case = compile(dp_fedavg(), &DP);
    for seed in 1..=20 {
        let spread = [0.01, 0.1, 0.5, 1.0][seed as usize % 4];
        let inputs = random_inputs(case.circuit(), seed, spread);
        // Three parties draw noise that nobody knows; in the clear it comes from a seed.
        let found = if seed <= 3 {
            let report = run(&case, &inputs, Some(seed));
            let traffic = slvr_circuit::traffic::Traffic::of_run(case.circuit(), &report.admitted);
            assert_eq!((report.rounds, report.bytes_sent), (traffic.rounds, traffic.bytes));
            let given = report.drawn(case.circuit()).expect("a recorded run");
            case.noise = Words { seed: 0, given };
            outputs(&report)
        } else {
            case.noise = Words { seed, given: Vec::new() };
            case.circuit_clear(&inputs, &[], seed)
        };
        let wanted = case.floating(&inputs, &[]);
        let off = distance(&found, &wanted);
        assert!(off < 1e-3, "seed {seed}: off by {off}");
        // The reference, by hand.
        let noise = Noise::new(Law::Gaussian, 7.0).expect("noise");
        let n = wanted[0].len();
        let drawn = noise.values(n, &|i| case.noise.word(0, i));
        let mut sum = drawn;
        for member in &inputs.sets[0] {
            let update = member["update"].data.to_f64();
            let norm = update.iter().map(|x| x * x).sum::<f64>().sqrt();
            let factor = (1.0 / norm).min(1.0);
            sum.iter_mut().zip(&update).for_each(|(s, x)| *s += factor * x);
        }
        let mean: Vec<f64> = sum.iter().map(|s| s / 6.0).collect();
        assert!(distance(&[mean], &wanted) < 1e-9, "seed {seed}");
    }
}

/// A client whose inputs are refused counts as zeros, in the part of the run that is repeated, too.
#[test]
fn refused_clients_count_as_zeros_beside_the_noise() {
    let mut case = compile(dp_fedavg(), &DP);
    let mut inputs = random_inputs(case.circuit(), 4, 0.5);
    let bad = inputs.sets[0][2].get_mut("update").expect("an update");
    let slvr_runtime::share::encode::RawData::F64(v) = &mut bad.data else { panic!("reals") };
    v[3] = 1e6;
    let options =
        Options { seed: Some(4), record: true, submit_unchecked: true, ..Options::default() };
    let report = session::run_local(case.circuit(), &inputs, &options).expect("a run");
    assert!(report.admitted.iter().any(|(_, bits)| bits.iter().any(|b| !b)), "one is refused");
    case.noise = Words { seed: 0, given: report.drawn(case.circuit()).expect("a recorded run") };
    let bad = inputs.sets[0][2].get_mut("update").expect("an update");
    let slvr_runtime::share::encode::RawData::F64(v) = &mut bad.data else { panic!("reals") };
    v.fill(0.0);
    let off = distance(&outputs(&report), &case.floating(&inputs, &[]));
    assert!(off < 1e-3, "off by {off}");
}

/// Against a malicious party everything that makes noise is proven. (The quotients of clipping have no proof yet.)
#[test]
fn noisy_sums_have_proofs_against_a_malicious_party() {
    let text = "use std::sum; predicate Sums() { parties Client[4]; parties Server; \
        input x: secret fix[30] in -1..1 from each Client; sample z: fix[30] from gaussian(2); \
        sample y: fix[30] from laplace(3); reveal sum(x) + z to Server as a; reveal sum(x) + y to Server as b; }";
    let mut case = compile_with(text, &[], malicious());
    assert_eq!(case.circuit().security, Security::Malicious);
    let inputs = random_inputs(case.circuit(), 3, 1.0);
    let report = run(&case, &inputs, Some(9));
    let traffic = slvr_circuit::traffic::Traffic::of_run(case.circuit(), &report.admitted);
    assert_eq!((report.rounds, report.bytes_sent), (traffic.rounds, traffic.bytes));
    case.noise = Words { seed: 0, given: report.drawn(case.circuit()).expect("a recorded run") };
    assert!(distance(&outputs(&report), &case.floating(&inputs, &[])) < 1e-3);
    assert!(distance(&outputs(&report), &[vec![0.0; 30], vec![0.0; 30]]) > 1.0);
}

fn certificate(case: &Case) -> Certificate {
    let places =
        slvr_compiler::cost::places(&case.program, &case.compiled.optimised, &case.sources);
    Certificate::of(&case.compiled, &places)
}

/// With z = 7 a hundred rounds are (8, 1e-5)-private, and the certificate says so.
#[test]
fn dp_fedavg_states_epsilon_and_delta() {
    for m in ["6", "40"] {
        let case = compile(dp_fedavg(), &[DP[0], ("m", m)]);
        let privacy = certificate(&case).privacy.expect("noise");
        assert_eq!(privacy.unbounded, Vec::<String>::new());
        let noise = &privacy.noises[0];
        let sensitivity = noise.sensitivity.expect("a clipped sum");
        assert!(sensitivity > 1.0 && sensitivity < 1.01, "{sensitivity}");
        assert!(noise.all_distance_log2 < -50.0, "{}", noise.all_distance_log2);
        let at =
            |rounds| privacy.rounds.iter().find(|r| r.rounds == rounds).and_then(|r| r.epsilon);
        let (one, hundred) = (at(1).expect("one"), at(100).expect("a hundred"));
        assert!(one < 0.7 && hundred > 7.1 && hundred < 8.0, "{one} {hundred}");
        // Who learns what says that the aggregate is noisy.
        let report = leaks(&case.program, &case.compiled.graph, case.circuit());
        let text = report.text();
        assert!(text.contains("noise that nobody knows: discrete gaussian with sigma 7"), "{text}");
    }
}

/// Bits below the grid of the noise are rounded off before it is added: all that is revealed is on the grid.
#[test]
fn noisy_values_are_on_the_grid_of_the_noise() {
    let text = "use std::sum; predicate Fine() { parties Client[3]; parties Server; \
        input x: secret fix[4] in -1..1 from each Client; sample z: fix[4] from gaussian(1); \
        reveal sum(x[i] * x[i] * x[i] for i in Client) + z to Server as s; }";
    let case = compile(text, &[]);
    let output = &case.circuit().outputs[0];
    assert_eq!(output.frac, 16);
    let privacy = certificate(&case).privacy.expect("noise");
    assert!(privacy.loss.is_some(), "{:?}", privacy.unbounded);
    // At most one unit for each entry on top of the range.
    let sensitivity = privacy.noises[0].sensitivity.expect("a range");
    assert!(sensitivity > 2.0 && sensitivity < 2.001, "{sensitivity}");
}

/// As the rest of the gallery: with the same noise the circuit is as near to floating point as is proven for its inputs.
#[test]
fn dp_fedavg_keeps_to_what_is_proven_for_its_inputs() {
    let case = compile(dp_fedavg(), &DP);
    let (mut proven, check) = (Proven::default(), Check::new(&case, [0, 0]));
    for (spread, seed) in SPREADS.into_iter().flat_map(|s| (0..5).map(move |n| (s, n))) {
        let mut inputs = random_inputs(case.circuit(), seed, spread);
        keep_in_range(case.circuit(), &mut inputs);
        let seen = proven.see(&check, &inputs, seed);
        seen.unwrap_or_else(|e| panic!("spread {spread}, seed {seed}: {e}"));
    }
    println!("{proven}");
    assert!(proven.is_useful(), "{proven}");
}
