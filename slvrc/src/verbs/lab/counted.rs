//! Whose updates counted: how many of the honest and of the malicious moved the aggregate in a round, and how much.

use super::results::{Done, NONE, Results};
use super::table::rows;
use slvr_simulation::lab::federation::Counted;
use std::fmt::Write;

const HEAD: &str = "\
| predicate | attack | honest updates that counted | malicious updates that counted | part of the influence that the malicious have, % |
|---|---|---|---|---|
";

/// Means over rounds and seeds; `None` where it is not known of any round.
fn mean(done: &[&Done]) -> Option<(f64, f64, f64)> {
    let all: Vec<&Counted> = done.iter().flat_map(|d| &d.curve.counted).flatten().collect();
    let n = all.len() as f64;
    let mean = |of: fn(&Counted) -> f64| all.iter().map(|c| of(c)).sum::<f64>() / n;
    let all_of = (mean(|c| c.honest as f64), mean(|c| c.malicious as f64), mean(|c| c.share));
    (n > 0.0).then_some(all_of)
}

fn row(out: &mut String, label: &str, attack: &str, done: &[&Done]) {
    if let Some((honest, malicious, share)) = mean(done) {
        let share = 100.0 * share;
        let _ = writeln!(out, "| {label} | {attack} | {honest:.1} | {malicious:.1} | {share:.0} |");
    }
}

/// Of every predicate under every attack, the means over rounds and seeds.
pub fn all(results: &Results) -> String {
    let mut out = HEAD.to_string();
    for (predicate, label) in rows(results) {
        for attack in results.ran(predicate) {
            row(&mut out, &label, attack, &results.of(predicate, attack));
        }
    }
    out
}

/// The same without attackers, and under the worst attack.
pub fn worst(results: &Results) -> String {
    let mut out = HEAD.to_string();
    for (predicate, label) in rows(results) {
        row(&mut out, &label, NONE, &results.of(predicate, NONE));
        if let Some((attack, done)) = results.worst(predicate) {
            row(&mut out, &label, attack, &done);
        }
    }
    out
}
