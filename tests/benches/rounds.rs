//! Whole checks among three parties on this machine: rounds, bytes, seconds, memory. Prints a
//! Markdown table. `cargo bench -p slvr-tests --bench rounds`.
//!
//! Weights and images are random; LeNet-5's images are MNIST's where the folder that
//! `SLVR_DATA` names (default: `data` at the root of the checkout) has them.

use slvr_circuit::traffic::Traffic;
use slvr_runtime::share::encode::RawData;
use slvr_tests::{compile, mnist, predicate, random_inputs};

fn main() {
    println!(
        "| check | m | rounds | MB sent per party | MB uploaded per client | MB in a party | s (median of {RUNS}) |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (model, m, b) in [("DigitsNet", 10, 10), ("DigitsNet", 20, 10), ("LeNet5", 10, 10)] {
        row(model, m, b);
    }
}

const RUNS: usize = 5;

fn row(model: &str, m: u64, b: u64) {
    let (ms, bs) = (m.to_string(), b.to_string());
    let case =
        compile(predicate("slvr_accuracy"), &[("M", model), ("m", &ms), ("c", "1"), ("b", &bs)]);
    let mut inputs = random_inputs(case.circuit(), 1, 0.01);
    let mut images = "random";
    if let (Some((pixels, _)), "LeNet5") = (mnist((m * b) as usize), model) {
        images = "MNIST";
        let mut pixels = pixels.into_iter();
        for member in inputs.sets.iter_mut().flatten() {
            if let Some(RawData::F64(v)) = member.get_mut("image").map(|t| &mut t.data) {
                v.iter_mut().zip(&mut pixels).for_each(|(to, x)| *to = x);
            }
        }
    }
    let mut seconds = Vec::new();
    let mut last = None;
    for _ in 0..RUNS {
        let report = case.parties(&inputs, 1);
        seconds.push(report.seconds);
        last = Some(report);
    }
    let Some(report) = last else { return };
    assert_eq!(report.bytes_sent, Traffic::of(case.circuit()).bytes, "predicted = counted");
    seconds.sort_by(f64::total_cmp);
    let mb = |x: u64| x as f64 / 1e6;
    println!(
        "| slvr_accuracy, {model}, {images} images, c = 1, b = {b} | {m} | {} | {:.1} | {:.2} | {:.0} | {:.2} |",
        report.rounds,
        mb(report.bytes_sent.iter().sum::<u64>() / 3),
        mb(report.upload_bytes.iter().flatten().max().copied().unwrap_or(0)),
        mb(report.peak_memory.iter().max().copied().unwrap_or(0)),
        seconds[RUNS / 2],
    );
}
