//! Results as lines with commas: one for each round, and one for each class at the end.

use super::results::{Done, Results, key};
use std::fmt::Write;

fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
    }
}

/// The cells that are done, with the beginning of their lines.
fn cells(results: &Results) -> impl Iterator<Item = (String, &Done)> {
    results.predicates.iter().flat_map(move |p| {
        let pairs =
            results.ran(p).into_iter().flat_map(|a| results.seeds.iter().map(move |s| (a, s)));
        pairs.filter_map(move |(attack, seed)| {
            let begin = format!("{},{},{seed}", field(p), field(attack));
            Some((begin, results.cells.get(&key(p, attack, *seed))?))
        })
    })
}

/// Accuracy, who counted, and whether three parties agreed, round by round. What is not known is empty.
pub fn rounds(results: &Results) -> String {
    let mut out = String::from(
        "predicate,attack,seed,round,accuracy,honest counted,malicious counted,malicious share,parties agreed\n",
    );
    for (begin, done) in cells(results) {
        for (i, accuracy) in done.curve.accuracy.iter().enumerate() {
            let _ = write!(out, "{begin},{},{accuracy}", i + 1);
            match done.curve.counted.get(i).copied().flatten() {
                Some(c) => _ = write!(out, ",{},{},{}", c.honest, c.malicious, c.share),
                None => out += ",,,",
            }
            let check = done.checks.iter().find(|c| c.round == i);
            let agreed = check.and_then(|c| c.agrees);
            let agreed = agreed.map_or("", |agrees| if agrees { "yes" } else { "no" });
            let _ = writeln!(out, ",{agreed}");
        }
    }
    out
}

/// Accuracy of every class after the last round; nothing for one without tests.
pub fn classes(results: &Results) -> String {
    let mut out = String::from("predicate,attack,seed,class,accuracy\n");
    for (begin, done) in cells(results) {
        for (class, accuracy) in done.curve.classes.iter().enumerate() {
            let accuracy = accuracy.map(|a| a.to_string()).unwrap_or_default();
            let _ = writeln!(out, "{begin},{class},{accuracy}");
        }
    }
    out
}
