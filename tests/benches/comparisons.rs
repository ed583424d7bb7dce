//! Comparisons of secret numbers, whose differences have 52 bits, added up, against a malicious party and beside it, in
//! turns, among parties that follow the protocol. Prints a Markdown table: seconds are medians of five, after one run that
//! is not counted. `cargo bench -p slvr-tests --bench comparisons`; an argument after `--` is the number of comparisons.

use slvr_circuit::Security;
use slvr_circuit::traffic::Traffic;
use slvr_compiler::cost::NetProfile;
use slvr_compiler::lower::{Family, Target};
use slvr_compiler::pipeline::Options;
use slvr_tests::{Case, compile_with, random_inputs};

const RUNS: usize = 5;

const TEXT: &str = "use std::sum;
predicate Compare[n]() {
    parties A;
    parties B;
    parties Server;
    input a: secret int[n] in -1125899906842624..1125899906842624 from A;
    input b: secret int[n] in -1125899906842624..1125899906842624 from B;
    reveal sum(a[i] < b[i] for i in n) to Server as count;
}";

fn main() {
    slvr_allocator::keep_large_pages();
    let n = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(1_000_000u64);
    let family = Family::T2(NetProfile::loopback().tuning());
    let build = |security| {
        let how =
            Options { target: Target::new(security, family), enforce: false, ..Options::default() };
        compile_with(TEXT, &[("n", &n.to_string())], how)
    };
    let cases: [Case; 2] = Security::ALL.map(build);
    let inputs = random_inputs(cases[0].circuit(), 1, 0.5);
    let mut seconds = [const { Vec::new() }; 2];
    let mut counts = Vec::new();
    for run in 0..=RUNS {
        for (case, seconds) in cases.iter().zip(&mut seconds) {
            let report = case.parties(&inputs, 1);
            assert_eq!(report.bytes_sent, Traffic::of(case.circuit()).bytes, "predicted = counted");
            counts.push(report.outputs[0].values[0]);
            if run > 0 {
                seconds.push(report.seconds);
            }
        }
    }
    assert!(counts.iter().all(|c| *c == counts[0]), "{counts:?}");
    println!("| comparisons | rounds | MB sent by all | s | MB of values in a party |");
    println!("|---|---|---|---|---|");
    for (case, mut seconds) in cases.iter().zip(seconds) {
        seconds.sort_by(f64::total_cmp);
        let traffic = Traffic::of(case.circuit());
        let peak = slvr_compiler::cost::peak_memory(case.circuit());
        println!(
            "| {n}, {:?} | {} | {:.1} | {:.3} | {:.0} |",
            case.circuit().security,
            traffic.rounds,
            traffic.bytes.iter().sum::<u64>() as f64 / 1e6,
            seconds[RUNS / 2],
            peak.iter().max().copied().unwrap_or(0) as f64 / 1e6,
        );
    }
}
