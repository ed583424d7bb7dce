//! What is known of whole SLVR rounds before they run: rounds, bytes, ring widths, errors, failure
//! probability, predicted times. Prints a Markdown table.
//! `cargo bench -p slvr-tests --bench certificates`.

use slvr_compiler::cost::{Cost, NetProfile, places};
use slvr_compiler::report::certificate::Certificate;
use slvr_tests::{compile, predicate};

fn main() {
    println!(
        "| model | m | rounds | MB sent per party | GB in a party | ring widths, % of words | saturates at | \
         error of the aggregate: proven, by rounding inputs | failure | LAN, s | WAN, s | built in, s |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for model in ["LeNet5", "ResNet18"] {
        for m in [10, 20, 50, 100] {
            row(model, m);
        }
    }
}

fn row(model: &str, m: u64) {
    let ms = m.to_string();
    let start = std::time::Instant::now();
    let case =
        compile(predicate("slvr_accuracy"), &[("M", model), ("m", &ms), ("c", "1"), ("b", "10")]);
    let built = start.elapsed().as_secs_f64();
    let c = &case.compiled;
    let lines = places(&case.program, &c.optimised, &case.sources);
    let known = Certificate::of(c, &lines);
    let cost = Cost::of(&c.circuit);
    let all: u64 = known.rings.values().sum();
    let rings: Vec<String> = known
        .rings
        .iter()
        .map(|(k, n)| (k, 100.0 * *n as f64 / all as f64))
        .filter(|(_, share)| *share >= 0.5)
        .map(|(k, share)| format!("{k}: {share:.0}"))
        .collect();
    let aggregate = &known.error[0];
    println!(
        "| {model} | {m} | {} | {:.0} | {:.2} | {} | {} | {:.1e}, {:.1e} | {} | {:.1} | {:.1} | {built:.2} |",
        cost.rounds,
        cost.bytes.iter().sum::<u64>() as f64 / 3e6,
        cost.peak_memory.iter().max().copied().unwrap_or(0) as f64 / 1e9,
        rings.join(", "),
        known.saturates_at.map_or("-".into(), |x| x.to_string()),
        aggregate.proven,
        aggregate.rounding_inputs,
        known.failure_log2.map_or("0".into(), |p| format!("2^{p:.1}")),
        cost.seconds(&NetProfile::lan()).total,
        cost.seconds(&NetProfile::wan()).total,
    );
}
