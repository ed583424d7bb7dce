//! One small program per warning, and the predicates that come with the compiler.

mod attacks;
mod choices;
mod harmless;
mod named;
mod outsider;
mod parts;
mod totals;

use super::*;
use crate::diagnostic::render::render;
use crate::report::testing::{checked, compiled};
use crate::syntax::embedded::PREDICATES;

fn report(text: &str, bound: &[(&str, &str)]) -> LeakReport {
    let (program, sources, all) = compiled(text, bound);
    let mut report = leaks(&program, &all.graph, &all.circuit);
    report.quote(&sources);
    report
}

/// A program and its graph, not compiled further.
pub(super) fn built(text: &str, bound: &[(&str, &str)]) -> (Program, Graph) {
    let (program, sources) = checked(text, bound);
    let graph = crate::graph::build::build(&program, &sources)
        .unwrap_or_else(|d| panic!("{text}{}", render(&d, &sources, false)));
    (program, graph)
}

/// The warnings and notes of a program.
fn found(text: &str, bound: &[(&str, &str)]) -> Vec<LeakWarning> {
    let (program, graph) = built(text, bound);
    let lines = Lines { program: &program, graph: &graph };
    let all = warnings(&views(&graph), &|name| lines.of(name).1);
    assert!(all.iter().all(|w| w.kind != NotTogether), "{text}");
    all
}

/// Those that are no notes.
fn leaks_in(found: &[LeakWarning]) -> Vec<LeakKind> {
    found.iter().filter(|w| w.level == Level::Warning).map(|w| w.kind).collect()
}

/// The report of a predicate over `x: fix[4]`, `y: fix` of m = 5 clients with these statements.
fn small(body: &str) -> LeakReport {
    let text = format!(
        "use std::{{abs, dot, first_argmax, lower_median, max, median, norm_sq, rank, sort, sum, top_k, trimmed_mean}};\n\n\
         predicate Small[m]() {{\n    parties Client[m];\n    parties Server;\n    input x: secret \
         fix[4] in -1..1 from each Client;\n    input y: secret fix in -1..1 from each Client;\n    \
         input w: public fix[4] in -1..1;\n    let used = sum(y) + sum(dot(x[i], w) for i in Client);\n    \
         {body}\n    reveal used to Server as used;\n}}\n"
    );
    report(&text, &[("m", "5")])
}

fn kinds(report: &LeakReport) -> Vec<(LeakKind, Vec<&str>)> {
    let mut out = Vec::new();
    for w in &report.warnings {
        out.push((w.kind, w.reveals.iter().map(String::as_str).collect()));
    }
    out
}

#[track_caller]
fn warns(body: &str, expected: &[LeakKind]) {
    let report = small(body);
    let found: Vec<LeakKind> = report.warnings.iter().map(|w| w.kind).collect();
    assert_eq!(found, expected, "{body}\n{}", report.text());
    for w in &report.warnings {
        assert!(!w.why.is_empty() && !w.help.is_empty());
        assert!(w.line >= 9, "{w:?}");
    }
}

use LeakKind::*;

#[test]
fn sums_over_clients_are_fine() {
    warns("reveal sum(x) to Server as a;", &[]);
    warns("reveal sum(x[i] * w for i in Client) to Server as a;", &[]);
    warns("reveal sum(x[i][j] for i in Client for j in 3) to Server as a;", &[]);
    warns("reveal [sum(x[i][j] for i in Client) / m for j in 4] to Server as a;", &[]);
    warns("reveal sum(x[i] for i in Client if i != 1) to Server as a;", &[]);
    warns("reveal sum([dot(x[i], w) for i in Client]) to Server as a;", &[]);
    warns("reveal w to Server as a;", &[]);
    warns("reveal trimmed_mean[1, 1](y) to Server as a;", &[]);
}

#[test]
fn a_client_s_input_is_found() {
    warns("reveal sum(x[i] for i in Client if i == 2) to Server as a;", &[Determined]);
    warns("reveal x to Server as a;", &[Determined]);
    warns("reveal [dot(x[i], w) for i in Client] to Server as a;", &[Determined]);
    warns("reveal [2 * x[i][j] - w[j] for i in Client for j in 4] to Server as a;", &[Determined]);
    warns(
        "reveal [sum(y[i] for i in Client if i == 0), sum(y[i] for i in Client if i == 1)] to Server as a;",
        &[Determined],
    );
    let why = |body: &str| small(body).warnings[0].why.clone();
    let one = why("reveal sum(x[i] for i in Client if i == 2) to Server as a;");
    assert!(one.contains("`x` of Client 2,") && !one.contains("Client 3"), "{one}");
    let each = why("reveal x to Server as a;");
    assert!(each.contains("`x` of one client"), "{each}");
}

/// Harmless one by one; together they are not.
#[test]
fn equations_add_up() {
    warns(
        "reveal sum(y[i] for i in Client if i != 2) to Server as a; reveal sum(y) to Server as b;",
        &[Determined],
    );
    let report = small(
        "reveal sum(x[i] for i in Client if i != 2) to Server as a; reveal sum(x) to Server as b;",
    );
    assert_eq!(kinds(&report), [(Determined, vec!["a", "b"])]);
    let why = &report.warnings[0].why;
    assert!(why.contains("values of Client 2 that"), "{why}");
    assert!(!why.contains("Client 3"), "{why}");
    // Sums of all rotations determine everything.
    warns(
        "reveal [sum(y[j] for j in Client if j != i) for i in Client] to Server as a;",
        &[Determined],
    );
    warns(
        "reveal sum(y[i] for i in Client if i < 3) to Server as a; reveal sum(y[i] for i in Client if i < 2) to Server as b;",
        &[Determined],
    );
    warns(
        "reveal sum(y[i] for i in Client if i < 3) to Server as a; reveal sum(y[i] for i in Client if i >= 3) to Server as b;",
        &[],
    );
}

#[test]
fn masked_sums() {
    warns(
        "let keep = [norm_sq(x[i]) < 0.5 for i in Client]; reveal sum(keep[i] * x[i] for i in Client) to Server as a;",
        &[MaskedSum],
    );
    warns(
        "let keep = [norm_sq(x[i]) < 0.5 for i in Client]; let best = top_k[3](y); reveal sum((keep[i] && best[i]) * x[i] for i in Client) / 3 to Server as a;",
        &[MaskedSum],
    );
    // Exactly three are summed.
    warns("reveal sum(top_k[3](y)[i] * x[i] for i in Client) / 3 to Server as a;", &[]);
    // A public factor that a run may round to 0 leaves some of them out.
    let weighed = |least: &str| {
        format!(
            "input p: public fix[m] in {least}..1; reveal sum(top_k[3](y)[i] * (p[i] * x[i]) for i in Client) / 3 to Server as a;"
        )
    };
    warns(&weighed("0.5"), &[]);
    warns(&weighed("0.000001"), &[MaskedSum]);
    // A long product of public factors is not followed to its end.
    warns(
        "input p: public fix in 0.5..1; let q = iterate a = p for t in 40 { a * a }; \
         reveal sum(top_k[3](y)[i] * (q * x[i]) for i in Client) / 3 to Server as a;",
        &[MaskedSum],
    );
    // Two or more, or none.
    let least = |c: &str| {
        format!(
            "let keep = [norm_sq(x[i]) < 0.5 for i in Client]; let enough = sum(keep) {c}; reveal sum((keep[i] && enough) * x[i] for i in Client) to Server as a;"
        )
    };
    warns(&least(">= 2"), &[]);
    warns(&least("> 1"), &[]);
    warns(&least(">= 1"), &[MaskedSum]);
    warns(&least("< 4"), &[MaskedSum]);
    let text = small(&least(">= 3")).text();
    assert!(text.contains("none or at least 3 count"), "{text}");
    // Weights.
    warns("reveal sum(abs(y[i]) * x[i] for i in Client) to Server as a;", &[MaskedSum]);
    // A factor of the whole sum hides or shows all of it.
    warns("reveal (sum(y) < 0.5) * sum(x) to Server as a;", &[]);
    // Without a sum.
    warns(
        "let keep = [norm_sq(x[i]) < 0.5 for i in Client]; reveal [keep[i] * x[i] for i in Client] to Server as a;",
        &[PerClient],
    );
}

/// What each member of a set gets is described as it sees it.
#[test]
fn reveals_to_members_are_described() {
    let text = small(
        "let z = [sum(y[j] for j in Client if j != i) for i in Client]; let v = [abs(y[i]) for i in Client]; \
         let c = [sum(v) - v[i] for i in Client]; reveal z[i] to Client[i] as a; reveal sum(v) to Server as b; \
         reveal c[i] to Client[i] as c;",
    );
    let of = |name: &str| {
        let learned = text.learned.iter().find(|l| l.name == name).expect("a reveal");
        learned.text.clone()
    };
    assert!(of("a").contains("linear function of `y`"), "{}", of("a"));
    assert!(!of("b").contains("linear") && of("b").contains("`y`"), "{}", of("b"));
    assert!(!of("c").contains("linear") && of("c").contains("`y`"), "{}", of("c"));
}

#[test]
fn one_client_is_picked() {
    warns("reveal sum(first_argmax(y)[i] * x[i] for i in Client) to Server as a;", &[OneClient]);
    warns("reveal sum(top_k[1](y)[i] * x[i] for i in Client) to Server as a;", &[OneClient]);
}

/// Three of five are not above the median, and three are not below it.
#[test]
fn those_not_above_the_median_are_at_least_half() {
    let sum = |keep: &str| {
        format!(
            "let keep = [{keep} for i in Client]; \
             reveal sum(keep[i] * x[i] for i in Client) / m to Server as a;"
        )
    };
    warns(&sum("y[i] <= lower_median(y)"), &[]);
    warns(&sum("y[i] >= lower_median(y)"), &[]);
    warns(&sum("y[i] < lower_median(y)"), &[MaskedSum]);
    // This keeps the smallest, and others only if they are equal.
    warns(&sum("y[i] <= sort(y)[0]"), &[MaskedSum]);
    warns(&sum("y[i] <= sort(y)[1]"), &[]);
}

/// Counts that are said are at most as many as there are clients.
#[test]
fn no_more_clients_are_counted_than_there_are() {
    let report = small(
        "let keep = [norm_sq(x[i]) < 0.5 * lower_median(y) for i in Client]; let some = sum(keep) >= 1; \
         reveal sum((keep[i] && some) * x[i] for i in Client) to Server as a;",
    );
    let text = report.text();
    assert!(text.contains("inputs of up to 5 clients; it depends on"), "{text}");
    assert!(text.contains("of those of 5 clients") && !text.contains("at most"), "{text}");
}

#[test]
fn bits_of_clients() {
    warns("reveal [y[i] < 0 for i in Client] to Server as a;", &[Selection]);
    warns("reveal top_k[2](y) to Server as a;", &[Order]);
    warns("reveal [[y[i] < y[j] for j in Client] for i in Client] to Server as a;", &[SeveralBits]);
    // How many is one number about all.
    warns("reveal sum(y[i] < 0 for i in Client) to Server as a;", &[]);
    warns("reveal sum(y) < 0 to Server as a;", &[]);
}

#[test]
fn bits_are_counted_against_the_clients_that_they_follow_from() {
    let of_each = |body: &str| {
        let text = format!(
            "use std::sum;\n\npredicate Sets[m, n]() {{\n    parties Client[m];\n    parties Judge[n];\n    parties Server;\n    \
             input x: secret fix in -1..1 from each Client;\n    input y: secret fix in -1..1 from each Judge;\n    \
             {body}\n    reveal sum(y[j] for j in Judge) + sum(x[i] for i in Client) to Server as total;\n}}\n"
        );
        let report = report(&text, &[("m", "4"), ("n", "20")]);
        report.warnings.into_iter().map(|w| (w.kind, w.why)).collect::<Vec<_>>()
    };
    // There are more judges than bits, but they are of four clients.
    let twice = of_each("reveal [[x[i] < v for v in 2] for i in Client] to Server as a;");
    assert_eq!(twice.iter().map(|w| w.0).collect::<Vec<_>>(), [SeveralBits]);
    assert!(twice[0].1.contains("8 bits of 4 clients"), "{}", twice[0].1);
    let once = of_each("reveal [y[j] < 0 for j in Judge] to Server as a;");
    assert_eq!(once.iter().map(|w| w.0).collect::<Vec<_>>(), [Selection]);
}

#[test]
fn values_of_clients() {
    warns("reveal [norm_sq(x[i]) for i in Client] to Server as a;", &[PerClient]);
    warns("reveal [norm_sq(x[i]) for i in Client for j in 2] to Server as a;", &[PerClient]);
    warns("reveal sum(norm_sq(x[i]) for i in Client) to Server as a;", &[]);
}

#[test]
fn order_statistics() {
    warns("reveal lower_median(y) to Server as a;", &[OrderStatistic]);
    warns("reveal max(y) to Server as a;", &[OrderStatistic]);
    warns(
        "reveal [lower_median([x[i][e] for i in Client]) for e in 4] to Server as a;",
        &[OrderStatistic],
    );
    warns(
        "reveal lower_median([norm_sq(x[i]) for i in Client]) to Server as a;",
        &[OrderStatistic],
    );
}

#[test]
fn division_by_a_secret() {
    warns(
        "let keep = [norm_sq(x[i]) < 0.5 for i in Client]; reveal sum(keep[i] * x[i] for i in Client) / sum(keep) to Server as a;",
        &[MaskedSum, SecretDivisor],
    );
    let text = "reveal sum(x) / (1 + sum(abs(y[i]) for i in Client)) to Server as a;";
    warns(text, &[SecretDivisor]);
    let report = small(text);
    let said = &report.learned.iter().find(|l| l.name == "a").expect("a reveal").text;
    assert!(said.contains("with a secret divisor") && !said.contains("linear"), "{said}");
}

#[test]
fn predicates_that_come_with_the_compiler() {
    let model = ("M", "Mlp[9,hidden=4]");
    let of = |name: &str, more: &[(&str, &str)]| {
        let (_, text) =
            PREDICATES.iter().find(|(n, _)| n.trim_end_matches(".slvr") == name).expect(name);
        report(text, more)
    };
    let round = of("slvr_accuracy", &[model, ("m", "5"), ("c", "1"), ("b", "2")]);
    assert_eq!(kinds(&round), [(MaskedSum, vec!["aggregate"])], "{}", round.text());
    assert!(round.warnings[0].why.contains("at most 4 are"), "{}", round.text());
    let learned: Vec<What> =
        round.learned.iter().map(|l| l.what).filter(|w| *w != What::Check).collect();
    use What::{Coins, PublicInput, Reveal, Sizes, Timing};
    assert_eq!(learned, [Reveal, Coins, PublicInput, Sizes, Timing], "{}", round.text());
    let reveal = &round.learned[0];
    assert_eq!(reveal.expression, "sum(keep[i] * update[i] for i in Client) / (m - c)");
    let coins = round.learned.iter().find(|l| l.what == Coins).expect("coins");
    assert!(reveal.line > 0 && coins.line > 0);
    assert!(round.learned.iter().any(|l| l.text.contains("which 3 others each of 5")));

    let m = ("m", "6");
    let krum = of("krum", &[model, m, ("f", "1")]);
    assert_eq!(kinds(&krum), [(OneClient, vec!["chosen"])], "{}", krum.text());
    for (name, more, expected) in [
        ("secure_aggregation", vec![model, m], vec![]),
        ("weighted_aggregation", vec![model, m], vec![MaskedSum]),
        ("multi_krum", vec![model, m, ("f", "1"), ("k", "3")], vec![]),
        ("norm_bound", vec![model, m], vec![MaskedSum]),
        ("norm_ball", vec![model, m], vec![MaskedSum, SecretDivisor]),
        ("fltrust", vec![model, m], vec![MaskedSum, SecretDivisor]),
        ("validation_loss", vec![model, m, ("c", "2"), ("b", "2")], vec![]),
        ("slvr_confidence", vec![model, m, ("c", "1"), ("b", "2")], vec![MaskedSum]),
        ("coordinate_median", vec![("d", "3"), ("m", "5")], vec![OrderStatistic]),
        ("coordinate_trimmed_mean", vec![("d", "3"), ("m", "5"), ("c", "1")], vec![]),
    ] {
        let found = of(name, &more);
        let kinds: Vec<LeakKind> = found.warnings.iter().map(|w| w.kind).collect();
        assert_eq!(kinds, expected, "{name}\n{}", found.text());
    }
}

#[test]
fn the_report_is_plain_json() {
    let report = small("reveal sum(x[i] for i in Client if i == 2) to Server as a;");
    let json = serde_json::to_value(&report).expect("plain data");
    assert_eq!(json["warnings"][0]["kind"], "determined");
    assert_eq!(json["learned"][0]["what"], "reveal");
    assert_eq!(json["learned"][0]["expression"], "sum(x[i] for i in Client if i == 2)");
}
