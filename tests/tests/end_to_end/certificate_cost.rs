//! What the compiler predicts of a run is what the run counts: rounds, bytes, uploads and peak memory,
//! for every predicate that comes with the compiler.

use slvr_compiler::cost::{Cost, Kind, LineRow, NetProfile, places, rows_by_line, rows_by_step};
use slvr_compiler::lower::{Family, Target};
use slvr_compiler::pipeline::Options;
use slvr_compiler::syntax::embedded::PREDICATES;
use slvr_tests::{compile, compile_with, predicate, random_inputs};

/// Sizes small enough for a test, not divisible by anything that shards or planes are cut by.
fn sizes(name: &str) -> Vec<(&'static str, &'static str)> {
    let model = ("M", "Mlp[9,hidden=4]");
    match name {
        "coordinate_trimmed_mean" => vec![("d", "211"), ("m", "5"), ("c", "1")],
        "coordinate_median" => vec![("d", "7"), ("m", "6")],
        "krum" => vec![model, ("m", "6"), ("f", "1")],
        "multi_krum" => vec![model, ("m", "6"), ("f", "1"), ("k", "3")],
        "slvr_accuracy" | "slvr_confidence" => vec![model, ("m", "5"), ("c", "1"), ("b", "2")],
        "validation_loss" => vec![model, ("m", "5"), ("c", "2"), ("b", "3")],
        _ => vec![model, ("m", "5")],
    }
}

fn hold(name: &str, sizes: &[(&str, &str)], target: Target) {
    let options = Options { target, ..Options::default() };
    let case = compile_with(predicate(name), sizes, options);
    let circuit = case.circuit();
    let cost = Cost::of(circuit);
    let report = case.parties(&random_inputs(circuit, 1, 0.1), 1);
    assert_eq!(cost.rounds, report.rounds, "{name}: rounds");
    assert_eq!(cost.bytes, report.bytes_sent, "{name}: bytes");
    assert_eq!(cost.peak_memory, report.peak_memory, "{name}: memory");
    for (set, uploads) in report.upload_bytes.iter().enumerate() {
        assert!(uploads.iter().all(|u| *u == cost.upload[set]), "{name}: uploads of set {set}");
    }

    // The parts add up.
    let by_kind: u64 = cost.layers.iter().flat_map(|l| l.kinds).sum();
    assert_eq!(by_kind, cost.bytes.iter().sum::<u64>(), "{name}: {:?}", Kind::ALL);
    assert_eq!(cost.layers.iter().map(|l| l.rounds).sum::<usize>(), cost.rounds);
    let peak = cost.layers.iter().map(|l| l.peak_memory);
    let peak = peak.fold([0; 3], |a, b| [0, 1, 2].map(|i: usize| a[i].max(b[i])));
    assert_eq!(peak, cost.peak_memory, "{name}: some layer has the peak");
    let places = places(&case.program, &case.compiled.optimised, &case.sources);
    for rows in
        [rows_by_line(&cost, &places, predicate(name)), rows_by_step(circuit, &cost, &places)]
    {
        let sent = |r: &LineRow| r.bytes.iter().sum::<u64>();
        assert_eq!(rows.iter().map(sent).sum::<u64>(), by_kind, "{name}");
        assert_eq!(rows.iter().map(|r| r.critical).sum::<usize>(), cost.rounds, "{name}");
        assert!(rows.iter().all(|r| r.line > 0), "{name}: {rows:?}");
    }
}

#[test]
fn a_run_counts_what_was_predicted() {
    for (file, _) in PREDICATES {
        let name = file.trim_end_matches(".slvr");
        hold(name, &sizes(name), Options::default().target);
    }
}

#[test]
fn a_run_of_the_symmetric_family_counts_what_was_predicted() {
    for (file, _) in PREDICATES {
        let name = file.trim_end_matches(".slvr");
        hold(name, &sizes(name), Target::SemiHonest(Family::T1));
    }
}

#[test]
fn a_run_against_a_malicious_party_counts_what_was_predicted() {
    for (file, _) in PREDICATES {
        let name = file.trim_end_matches(".slvr");
        hold(name, &sizes(name), Target::Malicious(Family::T1));
    }
}

#[test]
fn with_a_real_model_too() {
    hold(
        "slvr_accuracy",
        &[("M", "DigitsNet"), ("m", "5"), ("c", "1"), ("b", "2")],
        Options::default().target,
    );
}

/// On a slower network a run does not get faster, and each term is what the model says.
#[test]
fn predicted_time() {
    let case = compile(predicate("slvr_accuracy"), &sizes("slvr_accuracy"));
    let cost = Cost::of(case.circuit());
    let [loopback, lan, wan] = NetProfile::all().map(|n| cost.seconds(&n));
    assert!(loopback.total < lan.total && lan.total < wan.total);
    assert_eq!((loopback.compute, lan.compute), (wan.compute, wan.compute));
    assert!((wan.latency - cost.rounds as f64 * 0.01).abs() < 1e-12);
    let busiest: u64 = cost.layers.iter().map(|l| l.busiest).sum();
    assert!((lan.transfer - busiest as f64 * 8e-9).abs() < 1e-12);
    // Nobody is busier than the three together, nor idler than a third of them.
    let sent: u64 = cost.bytes.iter().sum();
    assert!(busiest <= sent && 3 * busiest >= sent);
}
