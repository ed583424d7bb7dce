//! Results as Markdown.

use super::paper;
use super::results::{About, Done, Results};
use crate::lab::sizes;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Mean and standard deviation over seeds of the accuracy after the last round.
pub fn last(done: &[&Done]) -> Option<(f64, f64)> {
    let values: Vec<f64> = done.iter().filter_map(|d| d.accuracy.last().copied()).collect();
    spread(&values)
}

/// Mean and standard deviation (of a sample).
pub fn spread(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let square = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (!values.is_empty()).then_some((mean, square.sqrt()))
}

/// A predicate without its folder and ending, and what is bound for it alone.
pub fn short(predicate: &str) -> String {
    let (file, own) = sizes::parts(predicate);
    let name = file.rsplit('/').next().unwrap_or(file);
    let name = name.strip_suffix(".slvr").unwrap_or(name);
    own.into_iter().fold(name.to_string(), |all, binding| format!("{all}, {binding}"))
}

/// As it may stand in a cell of a table, in a plot and on a terminal.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect::<String>()
}

/// What each predicate is called in tables and plots: its short name, or all of it where two would be called alike.
pub fn labels(results: &Results) -> Vec<String> {
    let all: Vec<String> = results.predicates.iter().map(|p| short(p)).collect();
    let one = |(name, label): (&String, &String)| {
        let alike = all.iter().filter(|l| *l == label).count() > 1;
        plain(if alike { name } else { label })
    };
    results.predicates.iter().zip(&all).map(one).collect()
}

/// Rows of a table: predicates with their labels.
fn rows(results: &Results) -> impl Iterator<Item = (&String, String)> {
    let labels = labels(results).into_iter().map(|l| l.replace('|', "\\|"));
    results.predicates.iter().zip(labels)
}

/// What was simulated, in one line.
pub fn setting(results: &Results) -> String {
    let said = results.setting.iter().filter(|(_, v)| !v.is_empty());
    said.map(|(n, v)| plain(&format!("{n} {v}"))).collect::<Vec<_>>().join("; ")
}

/// How each predicate was put to the test.
pub fn about(results: &Results) -> String {
    let mut out = String::from(
        "| predicate | sizes and parameters | what is applied to the model | adaptive attack | what its attackers know |\n\
         |---|---|---|---|---|\n",
    );
    for (predicate, label) in rows(results) {
        let Some(about) = results.about.get(predicate) else { continue };
        let About { sizes, aggregate, adaptive, told } = about;
        let row = format!("| {label} | {sizes} | {aggregate} | `{adaptive}` | {told} |");
        let _ = writeln!(out, "{}", plain(&row));
    }
    out
}

/// Predicate x attack: test accuracy in percent after the last round, mean ± standard deviation; with `paper` beside the
/// paper's figure, where it has one.
pub fn table(results: &Results, with_paper: bool) -> String {
    let mut out = String::from("| predicate |");
    for attack in &results.attacks {
        let _ = write!(out, " {attack} |");
    }
    out += "\n|---|";
    results.attacks.iter().for_each(|_| out += "---|");
    out.push('\n');
    for (predicate, label) in rows(results) {
        let _ = write!(out, "| {label} |");
        for attack in &results.attacks {
            let done: Vec<&Done> = results.of(predicate, attack).collect();
            let cell = match last(&done) {
                None => "–".to_string(),
                Some((mean, _)) if done.len() == 1 => format!("{:.1}", 100.0 * mean),
                Some((mean, sd)) => format!("{:.1} ± {:.1}", 100.0 * mean, 100.0 * sd),
            };
            let theirs = paper::figure(results, predicate, attack).filter(|_| with_paper);
            let _ = match theirs {
                Some(x) => write!(out, " {cell} ({:.1}) |", 100.0 * x),
                None => write!(out, " {cell} |"),
            };
        }
        out.push('\n');
    }
    out
}

/// What the backdoor reached, where there was one.
pub fn backdoors(results: &Results) -> Option<String> {
    let column = results.attacks.iter().find(|a| *a == "backdoor")?;
    let mut out = String::from(
        "| predicate | triggered images labelled as the backdoor wants, % |\n|---|---|\n",
    );
    for (predicate, label) in rows(results) {
        let values: Vec<f64> = results.of(predicate, column).map(|d| d.backdoor).collect();
        let Some((mean, sd)) = spread(&values) else { continue };
        let _ = match values.len() {
            1 => writeln!(out, "| {label} | {:.1} |", 100.0 * mean),
            _ => writeln!(out, "| {label} | {:.1} ± {:.1} |", 100.0 * mean, 100.0 * sd),
        };
    }
    Some(out)
}

/// What had to be brought into its range, in sentences.
pub fn notes(results: &Results) -> Vec<String> {
    let mut notes = Vec::new();
    for (predicate, label) in rows(results) {
        let done = || results.attacks.iter().flat_map(|a| results.of(predicate, a));
        let cut: usize = done().map(|d| d.cut).sum();
        if cut > 0 {
            notes.push(format!(
                "{label}: {cut} updates of honest clients left the declared range or length and were cut to it: training diverged, \
                 or the range is too narrow; try a smaller --rate"
            ));
        }
        let mut squeezed: BTreeMap<&str, usize> = BTreeMap::new();
        let all = done().flat_map(|d| &d.squeezed);
        all.for_each(|(name, rounds)| *squeezed.entry(name).or_default() += rounds);
        for (name, rounds) in squeezed {
            notes.push(format!(
                "{label}: `{name}` left its declared range in {rounds} rounds and was cut to it; a run refuses it then"
            ));
        }
    }
    notes
}

/// The runs among three parties: how many agreed, and by how much they differed.
pub fn checks(results: &Results) -> String {
    let mut out = String::from(
        "| predicate | runs | judged | agree | largest difference | proven tolerance |\n|---|---|---|---|---|---|\n",
    );
    for (predicate, label) in rows(results) {
        let all: Vec<_> = results
            .attacks
            .iter()
            .flat_map(|a| results.of(predicate, a).flat_map(|d| &d.checks))
            .collect();
        if all.is_empty() {
            continue;
        }
        let difference = all.iter().map(|c| c.difference).fold(0.0, f64::max);
        let tolerance =
            all.iter().map(|c| c.tolerance.unwrap_or(f64::INFINITY)).fold(0.0, f64::max);
        let tolerance = match tolerance.is_finite() {
            true => format!("{tolerance:.1e}"),
            false => "nothing is proven".to_string(),
        };
        let _ = writeln!(
            out,
            "| {label} | {} | {} | {} | {difference:.1e} | {tolerance} |",
            all.len(),
            all.iter().filter(|c| c.tolerance.is_some()).count(),
            all.iter().filter(|c| c.agrees).count(),
        );
    }
    out
}
