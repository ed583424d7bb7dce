//! Tables of rounds and bytes: macros, checks, and what is known of whole rounds.

use super::build::predicate;
use super::macros::{self, MACROS, families, rounds};
use crate::folder::is_full;
use slvr_circuit::traffic::Traffic;
use slvr_compiler::cost::{Cost, NetProfile, busiest_party};
use slvr_compiler::diagnostic::rounding::at_most;
use slvr_compiler::pipeline::Options;
use slvr_compiler::syntax::embedded;
use std::fmt::Write;

/// Each macro alone, as the bench of protocols measures them.
pub fn protocol_macros() -> String {
    const N: u64 = 1_000_000;
    let mut out = String::from(
        "| macro | family | rounds | bits per element, all parties |\n|---|---|---|---|\n",
    );
    for of in &MACROS {
        for (label, family) in families(of) {
            let (circuit, _) = macros::circuit(of, N, family, N as u32);
            let bytes: u64 = Traffic::of(&circuit).bytes.iter().sum();
            let bits = (bytes * 8) as f64 / N as f64;
            let _ = writeln!(out, "| {} | {label} | {} | {bits:.0} |", of.name, rounds(&circuit));
        }
    }
    out
}

/// Every check that comes with the compiler.
pub fn checks() -> String {
    let rows = [
        ("secure_aggregation", "M=DigitsNet m=10"),
        ("weighted_aggregation", "M=DigitsNet m=10"),
        ("norm_bound_public", "M=DigitsNet m=10"),
        ("norm_bound", "M=DigitsNet m=10"),
        ("norm_bound", "M=ResNet20 m=10"),
        ("norm_bound", "M=ResNet20 m=100"),
        ("krum", "M=DigitsNet m=10 f=1"),
        ("multi_krum", "M=DigitsNet m=10 f=1 k=5"),
        ("cosine_similarity", "M=DigitsNet m=10"),
        ("norm_ball", "M=DigitsNet m=10"),
        ("fltrust", "M=DigitsNet m=10"),
        ("linf_bound", "M=DigitsNet m=10"),
        ("coordinate_trimmed_mean", "d=1000 m=10 c=1"),
        ("coordinate_median", "d=1000 m=10"),
        ("validation_loss", "M=DigitsNet m=10 c=1 b=10"),
        ("slvr_confidence", "M=DigitsNet m=10 c=1 b=10"),
        ("slvr_accuracy", "M=DigitsNet m=10 c=1 b=10"),
    ];
    let all = embedded::PREDICATES.iter().map(|(f, _)| f.trim_end_matches(".slvr"));
    all.for_each(|f| assert!(rows.iter().any(|(n, _)| *n == f), "{f} is not in the table"));
    let mut out = String::from(
        "| check | other sizes | rounds | MB sent per party | MB in a party |\n|---|---|---|---|---|\n",
    );
    for (name, sizes) in rows {
        let built = predicate(name, sizes, Options::default());
        let (rounds, mb) = (built.traffic().rounds, built.megabytes());
        let memory = busiest_party(Cost::of(&built.compiled.circuit).peak_memory) as f64 / 1e6;
        let others = sizes.split(' ').filter(|s| !["M=DigitsNet", "m=10"].contains(s));
        let others = others.collect::<Vec<_>>().join(" ");
        let _ = writeln!(out, "| `{name}` | {others} | {rounds} | {mb:.3} | {memory:.1} |");
    }
    out
}

/// What is known of whole rounds before they run. Rows of deep models stay as they are unless these are asked
/// for.
pub fn certificates(old: &str) -> String {
    let mut out = String::from(
        "| model | m | rounds | MB sent per party | GB in a party | saturates at | failure | LAN, s | WAN, s |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    let deep = is_full();
    for model in ["LeNet5", "ResNet18"] {
        for m in [10, 100] {
            if model == "ResNet18" && !deep {
                let head = format!("| {model} | {m} |");
                let row = old.lines().find(|l| l.starts_with(&head));
                row.iter().for_each(|row| _ = writeln!(out, "{row}"));
                continue;
            }
            let sizes = format!("M={model} m={m} c=1 b=10");
            let built = predicate("slvr_accuracy", &sizes, Options::default());
            let (known, cost) = (built.certificate(), Cost::of(&built.compiled.circuit));
            let _ = writeln!(
                out,
                "| {model} | {m} | {} | {:.0} | {:.2} | {} | {} | {:.1} | {:.1} |",
                cost.rounds,
                built.megabytes(),
                busiest_party(cost.peak_memory) as f64 / 1e9,
                known.saturates_at.map_or("-".into(), |x| x.to_string()),
                known.failure_log2.map_or("0".into(), |p| format!("2^{}", at_most(p, 1))),
                cost.seconds(&NetProfile::lan()).total,
                cost.seconds(&NetProfile::wan()).total,
            );
        }
    }
    out
}
