//! What the compiler makes, byte for byte: the hash of the artifact of every predicate and of the programs
//! that are measured, at several sizes, for several networks and both families of protocols, beside rounds
//! and bytes. A change of the compiler that is not meant to change circuits leaves this table as it is.
//!
//! A change that is meant: `INSTA_UPDATE=always cargo test -p slvr-tests --test artifacts`, then read which
//! rows moved. `SLVR_EFFORT=full` adds the rows of deep models (about a minute in a release build).

use slvr_circuit::artifact;
use slvr_compiler::cost::{Cost, NetProfile};
use slvr_compiler::lower::{Family, Target};
use slvr_compiler::pipeline::Options;
use slvr_compiler::syntax::embedded::{self, PREDICATES};
use slvr_tests::{compile_with_files, sizes};
use std::fmt::Write;

/// Names of ways to build, in the order of the table.
const WAYS: [&str; 6] =
    ["t2 lan", "t2 wan", "t2 loopback", "t1", "t2 lan trusting", "t2 lan waiting"];

fn way(name: &str) -> Options {
    let dealer = |net: NetProfile| Target::SemiHonest(Family::T2(net.tuning()));
    let target = match name {
        "t2 wan" => dealer(NetProfile::wan()),
        "t2 loopback" => dealer(NetProfile::loopback()),
        "t1" => Target::SemiHonest(Family::T1),
        _ => dealer(NetProfile::lan()),
    };
    Options {
        target,
        enforce: name != "t2 lan trusting",
        speculate: name != "t2 lan waiting",
        ..Options::default()
    }
}

/// A row of the table.
fn row(out: &mut String, file: &str, sizes: &[(&str, &str)], way_name: &str, options: Options) {
    let text = embedded::get(file).unwrap_or_else(|| panic!("{file} is not embedded"));
    let lenet_max = embedded::get("bench/lenet5_max.slvr").unwrap_or_default();
    let case = compile_with_files(text, sizes, &[("lenet5_max.slvr", lenet_max)], options);
    let circuit = case.circuit();
    let hash = artifact::hash(circuit);
    let hex: String = hash.iter().map(|b| format!("{b:02x}")).collect();
    let bytes: u64 = Cost::of(circuit).bytes.iter().sum();
    let at: Vec<String> = sizes.iter().map(|(n, v)| format!("{n}={v}")).collect();
    let (name, at) = (file.trim_end_matches(".slvr"), at.join(" "));
    writeln!(out, "{name} {at} | {way_name} | {} rounds, {bytes} bytes | {hex}", circuit.rounds())
        .unwrap_or_default();
}

fn check(name: &str, table: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_snapshot_path("snapshots/artifacts");
    settings.bind(|| insta::assert_snapshot!(name, table));
}

#[test]
fn predicates() {
    let mut table = String::new();
    for (file, _) in PREDICATES {
        let (sizes, _) = sizes(file.trim_end_matches(".slvr"));
        for name in WAYS {
            row(&mut table, file, &sizes, name, way(name));
        }
    }
    check("predicates", &table);
}

/// The programs of the bench, and whole rounds.
fn measured(table: &mut String, model: &str, clients: &[(&str, &str)], ways: &[&str]) {
    for (m, c) in clients {
        for name in ways {
            let options = way(name);
            let scores = [("M", model), ("c", c), ("b", "10")];
            row(table, "bench/norm.slvr", &[("M", model), ("m", m)], name, options);
            row(table, "bench/accuracy_secret.slvr", &scores, name, options);
            row(table, "bench/accuracy.slvr", &scores, name, options);
            row(table, "bench/confidence.slvr", &scores, name, options);
            let round = [("M", model), ("m", m), ("c", c), ("b", "10")];
            row(table, "slvr_accuracy.slvr", &round, name, options);
            row(table, "slvr_confidence.slvr", &round, name, options);
            let trusting = Options { enforce: false, ..options };
            row(table, "bench/top_k.slvr", &[("m", m), ("c", c)], name, trusting);
        }
    }
}

#[test]
fn bench_programs() {
    let mut table = String::new();
    measured(&mut table, "DigitsNet", &[("10", "1"), ("20", "2")], &WAYS[..4]);
    measured(&mut table, "LeNet5", &[("10", "1")], &WAYS[..3]);
    measured(&mut table, "lenet5_max.slvr:LeNet5Max", &[("10", "1")], &WAYS[..1]);
    check("bench_programs", &table);
}

#[test]
fn deep_models() {
    if !slvr_tests::long::is_full() {
        println!("skipped: set SLVR_EFFORT=full for the circuits of deep models");
        return;
    }
    let mut table = String::new();
    measured(&mut table, "LeNet5", &[("10", "1"), ("20", "2")], &["t1"]);
    for name in ["t2 lan", "t2 wan"] {
        let options = way(name);
        let scores = [("M", "ResNet18"), ("c", "1"), ("b", "10")];
        row(&mut table, "bench/norm.slvr", &[("M", "ResNet18"), ("m", "10")], name, options);
        row(&mut table, "bench/accuracy_secret.slvr", &scores, name, options);
        row(&mut table, "bench/accuracy.slvr", &scores, name, options);
        let blocks = Options { memory: Some(4800 << 20), ..options };
        let round = [("M", "ResNet18"), ("m", "10"), ("c", "1"), ("b", "10")];
        row(&mut table, "slvr_accuracy.slvr", &round, name, blocks);
    }
    check("deep_models", &table);
}
