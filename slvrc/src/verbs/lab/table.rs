//! Results as Markdown.

use super::paper;
use super::results::{About, Done, NONE, ROUNDS, Results, spread};
use crate::lab::sizes;
use slvr_simulation::lab::attacks::{Attack, name_of};
use std::collections::BTreeMap;
use std::fmt::Write;

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
pub(super) fn rows(results: &Results) -> impl Iterator<Item = (&String, String)> {
    let labels = labels(results).into_iter().map(|l| l.replace('|', "\\|"));
    results.predicates.iter().zip(labels)
}

/// What was simulated, in one line.
pub fn setting(results: &Results) -> String {
    let said = results.setting.iter().filter(|(_, v)| !v.is_empty());
    said.map(|(n, v)| plain(&format!("{n} {v}"))).collect::<Vec<_>>().join("; ")
}

/// What the figures of a table are.
pub fn measure(results: &Results) -> String {
    let rounds = results.said(ROUNDS);
    let when = match results.last {
        1 => format!("after {rounds} rounds"),
        n => format!("in the last {n} of {rounds} rounds"),
    };
    let seeds = results.seeds.len();
    format!("test accuracy in percent {when}, mean ± standard deviation over {seeds} seeds")
}

/// How each predicate was put to the test.
pub fn about(results: &Results) -> String {
    let mut out = String::from(
        "| predicate | sizes and parameters | what is applied to the model | adaptive attacks | what its attackers know |\n\
         |---|---|---|---|---|\n",
    );
    for (predicate, label) in rows(results) {
        let Some(about) = results.about.get(predicate) else { continue };
        let About { sizes, aggregate, adaptive, told } = about;
        let row = format!("| {label} | {sizes} | {aggregate} | {} | {told} |", adaptive.join(", "));
        let _ = writeln!(out, "{}", plain(&row));
    }
    out
}

/// More attacks than this are rows, and predicates columns.
const BESIDE: usize = 8;

/// Says in a cell that an attack helped.
const ABOVE: &str = " ↑";

/// Predicate x attack: test accuracy in percent at the end, mean ± standard deviation, and the worst of each row; with `paper`
/// beside the paper's figure, where it has one.
pub fn table(results: &Results, with_paper: bool) -> String {
    let mut columns: Vec<String> = results.attacks.clone();
    let attacked = results.attacks.iter().any(|a| a != NONE);
    columns.extend(attacked.then(|| "worst".to_string()));
    let (mut names, mut lines) = (Vec::new(), Vec::new());
    for (predicate, label) in rows(results) {
        let own = results.last(&results.of(predicate, NONE)).map(|(mean, _)| mean);
        let cell = |attack: &String| {
            let cell = figure(results, &results.of(predicate, attack), own);
            let theirs = paper::figure(results, predicate, attack).filter(|_| with_paper);
            theirs.map_or(cell.clone(), |x| format!("{cell} ({:.1})", 100.0 * x))
        };
        let mut line: Vec<String> = results.attacks.iter().map(cell).collect();
        if attacked {
            let worst = results.worst(predicate);
            let one = worst.map(|(a, done)| format!("**{}** {a}", figure(results, &done, own)));
            line.push(one.unwrap_or_else(|| "–".into()));
        }
        names.push(label);
        lines.push(line);
    }
    if columns.len() <= BESIDE {
        return markdown(("predicate", &columns), (&names, &lines));
    }
    let turned: Vec<Vec<String>> =
        (0..columns.len()).map(|i| lines.iter().map(|line| line[i].clone()).collect()).collect();
    markdown(("attack", &names), (&columns, &turned))
}

/// A table with a name before each line.
fn markdown(
    (corner, heads): (&str, &[String]),
    (names, lines): (&[String], &[Vec<String>]),
) -> String {
    let row = |cells: &[String]| cells.iter().map(|c| format!(" {c} |")).collect::<String>();
    let mut out = format!("| {corner} |{}\n|---|{}\n", row(heads), "---|".repeat(heads.len()));
    for (name, line) in names.iter().zip(lines) {
        let _ = writeln!(out, "| {name} |{}", row(line));
    }
    out
}

/// A figure of a table, where `none` is what it is compared with.
fn figure(results: &Results, done: &[&Done], none: Option<f64>) -> String {
    let Some((mean, sd)) = results.last(done) else { return "–".into() };
    let seeds = match (done.len(), results.seeds.len()) {
        (n, all) if n < all => format!(" ({n} of {all} seeds)"),
        _ => String::new(),
    };
    let sd = if done.len() > 1 { format!(" ± {:.1}", 100.0 * sd) } else { String::new() };
    let above = if none.is_some_and(|none| mean > none) { ABOVE } else { "" };
    format!("{:.1}{sd}{above}{seeds}", 100.0 * mean)
}

/// What the marks of a table mean, if it has one.
pub fn legend(table: &str) -> &'static str {
    match table.contains(ABOVE) {
        true => "\n↑ above `none`: the attack did no harm.\n",
        false => "",
    }
}

/// What the backdoors reached, where there was one.
pub fn backdoors(results: &Results) -> Option<String> {
    let triggers = |name: &str| Attack::named(name_of(name)).is_some_and(|a| a.triggers);
    let columns: Vec<String> = results.attacks.iter().filter(|a| triggers(a)).cloned().collect();
    let (mut names, mut lines) = (Vec::new(), Vec::new());
    for (predicate, label) in rows(results) {
        let cell = |column: &String| {
            let all: Vec<f64> =
                results.of(predicate, column).iter().map(|d| d.curve.backdoor).collect();
            match spread(&all) {
                None => "–".into(),
                Some((mean, _)) if all.len() == 1 => format!("{:.1}", 100.0 * mean),
                Some((mean, sd)) => format!("{:.1} ± {:.1}", 100.0 * mean, 100.0 * sd),
            }
        };
        names.push(label);
        lines.push(columns.iter().map(cell).collect());
    }
    const CORNER: &str = "triggered images labelled as the backdoor wants, %";
    (!columns.is_empty()).then(|| markdown((CORNER, &columns), (&names, &lines)))
}

/// What a reader has to know of some cells, in sentences that say of which.
pub fn notes(results: &Results) -> Vec<String> {
    let mut notes = Vec::new();
    for (predicate, label) in rows(results) {
        let of = |holds: &dyn Fn(&Done) -> bool| -> String {
            let some = |attack: &&str| results.of(predicate, attack).iter().any(|d| holds(d));
            results.ran(predicate).into_iter().filter(some).collect::<Vec<_>>().join(", ")
        };
        let done = || results.ran(predicate).into_iter().flat_map(|a| results.of(predicate, a));
        let cut: usize = done().map(|d| d.curve.cut).sum();
        if cut > 0 {
            notes.push(format!(
                "{label}, under {}: {cut} updates of honest clients left the declared range or length and were cut to it: training \
                 diverged, or the range is too narrow; try a smaller --rate",
                of(&|d| d.curve.cut > 0)
            ));
        }
        let mut squeezed: BTreeMap<&str, usize> = BTreeMap::new();
        let all = done().flat_map(|d| &d.curve.squeezed);
        all.for_each(|(name, rounds)| *squeezed.entry(name).or_default() += rounds);
        for (name, rounds) in squeezed {
            notes.push(format!(
                "{label}, under {}: `{name}` left its declared range in {rounds} rounds and was cut to it; a run refuses it then",
                of(&|d| d.curve.squeezed.contains_key(name))
            ));
        }
        let absent: Vec<&str> = results
            .ran(predicate)
            .into_iter()
            .filter(|attack| *attack != NONE)
            .filter(|attack| {
                results.of(predicate, attack).iter().any(|d| d.curve.attacked == Some(0))
            })
            .collect();
        if !absent.is_empty() {
            notes.push(format!(
                "{label}, under {}: in a run of all rounds no malicious client took part after the attack had begun",
                absent.join(", ")
            ));
        }
        let same = |d: &Done| match d.curve.accuracy.as_slice() {
            [first, rest @ ..] => rest.len() > 1 && rest.iter().all(|a| a == first),
            [] => false,
        };
        if results.of(predicate, NONE).into_iter().any(same) {
            notes.push(format!(
                "{label}, under {NONE}: accuracy is the same after every round of a run: nothing was learnt; try a smaller --rate"
            ));
        }
        let nothing = of(&|d| d.curve.kept_nothing());
        if !nothing.is_empty() {
            notes.push(format!(
                "{label}, under {nothing}: nothing was ever kept in a run of all rounds"
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
        let done = results.ran(predicate).into_iter().flat_map(|a| results.of(predicate, a));
        let all: Vec<_> = done.flat_map(|d| &d.checks).collect();
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
            all.iter().filter(|c| c.agrees == Some(true)).count(),
        );
    }
    out
}
