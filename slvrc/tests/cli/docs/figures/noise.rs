//! Tables of what noise costs, and how close it is to its law.

use super::build::{Built, build};
use slvr_compiler::diagnostic::rounding::at_most;
use slvr_compiler::noise::{Law, Noise};
use slvr_compiler::pipeline::Options;
use slvr_compiler::syntax::embedded;
use std::fmt::Write;

/// Weights of LeNet-5.
const WEIGHTS: u64 = 61_706;

/// One noise for all weights of LeNet-5, and nothing else.
pub fn costs() -> String {
    let mut out = String::from(
        "| noise | distance of an entry | rounds | bits per entry, all parties | MB sent per party |\n\
         |---|---|---|---|---|\n",
    );
    for (law, scale) in [
        (Law::Gaussian, 0.01),
        (Law::Gaussian, 1.0),
        (Law::Gaussian, 7.0),
        (Law::Laplace, 0.01),
        (Law::Laplace, 1.0),
    ] {
        let name = format!("{}({scale})", law.name());
        let text = format!(
            "predicate Alone() {{\n    parties Client;\n    parties Server;\n    \
             sample z: fix[{WEIGHTS}] from {name};\n    reveal z to Server as z;\n}}\n"
        );
        let t = build(&text, "", Options::default()).traffic();
        let bytes: u64 = t.bytes.iter().zip(&t.revealed).map(|(all, r)| all - r).sum();
        let sampler = Noise::new(law, scale).expect("a scale").sampler();
        let _ = writeln!(
            out,
            "| `{name}` | 2^{} | {} | {:.0} | {:.1} |",
            at_most(sampler.distance.log2(), 1),
            t.rounds - 1,
            bytes as f64 * 8.0 / WEIGHTS as f64,
            bytes as f64 / 3e6,
        );
    }
    out
}

/// DP-FedAvg with its noise and without it.
pub fn rounds() -> String {
    let text = embedded::get("gallery/dp_fedavg.slvr").expect("a file of the gallery");
    let plain: Vec<&str> = text.lines().filter(|l| !l.contains("sample noise")).collect();
    let plain = plain.join("\n").replace("(total + noise)", "total");
    let mut out = String::from(
        "| model | m | rounds, without noise | MB sent per party, without noise | sensitivity | epsilon of 1, 100 rounds \
         | distance of all entries |\n|---|---|---|---|---|---|---|\n",
    );
    for (model, m) in [("DigitsNet", 10), ("LeNet5", 10), ("LeNet5", 100)] {
        let sizes = format!("M={model} m={m}");
        let of = |text: &str| build(text, &sizes, Options::default());
        let (noisy, alone): (Built, Built) = (of(text), of(&plain));
        let privacy = noisy.certificate().privacy.expect("noise");
        let epsilon = |rounds| {
            let row = privacy.rounds.iter().find(|r| r.rounds == rounds);
            at_most(row.and_then(|r| r.epsilon).expect("an epsilon"), 3)
        };
        let noise = &privacy.noises[0];
        let _ = writeln!(
            out,
            "| {model} | {m} | {}, {} | {:.1}, {:.1} | {} | {}, {} | 2^{} |",
            noisy.traffic().rounds,
            alone.traffic().rounds,
            noisy.megabytes(),
            alone.megabytes(),
            at_most(noise.sensitivity.expect("a clipped sum"), 4),
            epsilon(1),
            epsilon(100),
            at_most(noise.all_distance_log2, 1),
        );
    }
    out
}
