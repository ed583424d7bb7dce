//! An attacker's list: programs that look like statistics and tell of single clients. What each is warned of stands in
//! `attacks.txt`, and of one program for each kind of warning the text is a snapshot.

use super::{LeakKind, LeakReport, LeakWarning, Level, built, found, leaks_in, views};
use crate::graph::{Graph, NodeId, Op, Table};
use crate::types::Elem;

/// A line for each program: what is said of which reveals.
const SAID: &str = include_str!("attacks.txt");

/// Programs whose warnings are told in full.
const TOLD: [&str; 9] = [
    "a_place_in_argsort",
    "all_inner_products",
    "all_pairs_compared",
    "an_entry_of_a_long_vector",
    "bits_by_multiples_of_the_median",
    "enough_and_a_part_of_the_clients",
    "largest_and_mean_of_two",
    "mean_by_top_k_and_secret_weights",
    "third_by_hand",
];

/// Checks one program of m clients and a server, and its warnings against the table.
pub(super) fn attack(name: &str, m: u64, inputs: &str, body: &str) {
    let report = said(name, m, inputs, body);
    let text = report.text();
    assert!(!leaks_in(&report.warnings).is_empty(), "{name} is not warned of: {body}\n{text}");
}

/// The same of a program of which there has to be a note of these kinds.
pub(super) fn noted(
    name: &str,
    m: u64,
    inputs: &str,
    body: &str,
    kinds: &[LeakKind],
) -> Vec<LeakWarning> {
    let report = said(name, m, inputs, body);
    for kind in kinds {
        let found = report.warnings.iter().any(|w| w.kind == *kind);
        assert!(found, "{name} has no {kind:?}: {body}\n{}", report.text());
    }
    report.warnings
}

fn said(name: &str, m: u64, inputs: &str, body: &str) -> LeakReport {
    let model = inputs.contains("M.") || inputs.contains("weights M");
    let text = format!(
        "use std::{{abs, argmax, argsort, clamp, concat, cosine, cross_entropy, dot, exp, first_argmax, first_argmin, flat, log, lower_median, max, mean, \
         median, min, norm, norm_sq, rank, recip, relu, reshape, select, sigmoid, smallest, softmax, sort, sqrt, sum, tanh, top_k, trimmed_mean, \
         variance}};\n\n\
         predicate Attack[m{}]() {{\n    parties Client[m];\n    parties Server;\n{}{}}}\n",
        if model { ", M: model" } else { "" },
        lines(inputs),
        lines(body)
    );
    let size = m.to_string();
    let bound = [("m", size.as_str()), ("M", "Mlp[9,hidden=4]")];
    let warnings = found(&text, if model { &bound } else { &bound[..1] });
    let graph = built(&text, if model { &bound } else { &bound[..1] }).1;
    for (how, rewritten) in REWRITTEN.map(|(how, rewritten)| (how, rewritten(&graph))) {
        let again = super::super::warnings(&views(&rewritten), &|_| 0);
        let note = |of: &[LeakWarning]| of.iter().any(|w| w.kind != LeakKind::NotTogether);
        let same = note(&warnings) <= note(&again)
            && leaks_in(&warnings).is_empty() >= leaks_in(&again).is_empty();
        assert!(same, "{name}, {how}: {body}\n{warnings:#?}\n{again:#?}");
    }
    let report = LeakReport { warnings, ..LeakReport::default() };
    let one = |w: &super::LeakWarning| {
        let level = if w.level == Level::Warning { "warning" } else { "note" };
        format!("{level} {} (line {}) {:?}", w.reveals.join(", "), w.line, w.kind)
    };
    let all: Vec<String> = report.warnings.iter().map(one).collect();
    let row = format!("{name}: {}", all.join("; "));
    assert!(SAID.lines().any(|l| l == row), "attacks.txt has no line `{row}`");
    if TOLD.contains(&name) {
        let said = report.text();
        let said = said.split_once('\n').map_or("", |s| s.1);
        insta::assert_snapshot!(
            format!("attack_{name}"),
            format!("m={m}\n{}{}\n{said}", lines(inputs), lines(body))
        );
    }
    report
}

/// How a graph is written otherwise.
type Rewrite = fn(&Graph) -> Graph;

/// What is computed, or what receivers get of it, written otherwise: it tells them as much.
const REWRITTEN: [(&str, Rewrite); 7] = [
    ("the other way round", |g| {
        g.replace(|new, id, args| {
            let commutes = matches!(g.op(id), Op::Add | Op::Mul | Op::Eq | Op::And | Op::Xor);
            commutes.then(|| new.add(g.op(id).clone(), &[args[1], args[0]], g.node(id).site))
        })
    }),
    ("twice", |g| each(g, |g, id| number(g, id).map(|id| g.add(Op::Scale(2.0), &[id], 0)))),
    ("less one", |g| {
        each(g, |g, id| {
            let (id, shape) = (number(g, id)?, g.shape(id).to_vec());
            let one = g.add(Op::Const(Table::splat(1.0, shape), Elem::Fix, None), &[], 0);
            Some(g.add(Op::Sub, &[id, one], 0))
        })
    }),
    ("in a list", |g| {
        each(g, |g, id| {
            let (id, n) = (number(g, id)?, g.elements(id));
            let flat = g.add(Op::Reshape(vec![n]), &[id], 0);
            let one = g.add(Op::Const(Table::splat(1.0, vec![2]), Elem::Fix, None), &[], 0);
            Some(g.add(Op::Concat(0), &[one, flat], 0))
        })
    }),
    ("backwards", |g| {
        each(g, |g, id| {
            let n = g.elements(id);
            let flat = g.add(Op::Reshape(vec![n]), &[id], 0);
            let data = (0..n).rev().map(|k| k as f64).collect();
            let places = Op::Const(Table { shape: vec![n], data }, Elem::Int, None);
            let places = g.add(places, &[], 0);
            Some(g.add(Op::Gather { axis: 0, batch: 0 }, &[flat, places], 0))
        })
    }),
    ("as a row", |g| {
        each(g, |g, id| Some(g.add(Op::Reshape(vec![1, g.elements(id), 1]), &[id], 0)))
    }),
    ("entry by entry", |g| {
        each(g, |g, id| {
            let n = g.elements(id);
            if n > 64 {
                return None;
            }
            let flat = g.add(Op::Reshape(vec![n]), &[id], 0);
            let entry = |start| Op::Slice { axis: 0, start, len: 1, step: 1 };
            let parts: Vec<NodeId> = (0..n).map(|k| g.add(entry(k), &[flat], 0)).collect();
            Some(g.add(Op::Concat(0), &parts, 0))
        })
    }),
];

/// A graph with something else in place of what is revealed.
fn each(graph: &Graph, otherwise: impl Fn(&mut Graph, NodeId) -> Option<NodeId>) -> Graph {
    let mut new = graph.clone();
    // What each member of a set gets is a part, by its place.
    let whole = |at: &usize| graph.parties[graph.outputs[*at].to as usize].1 == 1;
    for at in (0..graph.outputs.len()).filter(whole) {
        let node = new.outputs[at].node;
        new.outputs[at].node = otherwise(&mut new, node).unwrap_or(node);
    }
    new
}

/// A value as numbers.
fn number(g: &mut Graph, id: NodeId) -> Option<NodeId> {
    let is_bit = g.ty(id).elem == Elem::Bit;
    Some(if is_bit { g.add(Op::ToInt, &[id], 0) } else { id })
}

/// One statement a line, indented.
fn lines(text: &str) -> String {
    text.split("; ").map(|l| format!("    {};\n", l.trim_end_matches(';'))).collect()
}

const Y: &str = "input y: secret fix in -1..1 from each Client";
const X: &str = "input x: secret fix[4] in -1..1 from each Client";
const XY: &str = "input x: secret fix[4] in -1..1 from each Client; input y: secret fix in -1..1 from each Client";

#[test]
fn orders_over_clients() {
    attack("sort", 5, Y, "reveal sort(y) to Server as a");
    attack("rank", 5, Y, "reveal rank(y) to Server as a");
    for (name, bit) in [
        ("one_by_rank", "(2 == r[i])"),
        ("first_by_rank", "(r[i] <= 0)"),
        ("last_by_rank", "(r[i] >= m - 1)"),
        ("last_above_a_rank", "(m - 2 < r[i])"),
    ] {
        let body =
            format!("let r = rank(y); reveal sum({bit} * y[i] for i in Client) to Server as a");
        attack(name, 5, Y, &body);
    }
    for (name, of) in [
        ("power_of_the_largest", "t * t * t"),
        ("polynomial_of_the_largest", "t * t + t"),
        ("sum_of_functions_of_the_largest", "exp(t) + exp(t)"),
    ] {
        attack(name, 5, Y, &format!("let t = max(y); reveal {of} to Server as a"));
    }
    let of_two = "input y: secret fix in -1..1 from each Client; input z: secret fix in -1..1 from each Client";
    let body = "let s = sum((z[i] < 0) * y[i] for i in Client); let t = top_k[3](y); \
                let g = sum(t[i] * y[i] for i in Client); reveal relu(g) + relu(s) to Server as a";
    noted("functions_of_two_masked_sums", 5, of_two, body, &[LeakKind::MaskedSum]);
    let body = "let t = sort(flat([x[i] for i in Client]))[3]; \
                let v = [[(x[i][j] <= t) * x[i][j] for j in 2] for i in Client]; \
                reveal sum(v) to Server as a";
    let x = "input x: secret fix[2] in -1..1 from each Client";
    noted("small_entries_of_each_column", 5, x, body, &[LeakKind::MaskedSum]);
    let b = "input b: secret bit from each Client";
    let body =
        "reveal sum(b) to Server as a; reveal sum(b[i] != (i == 0) for i in Client) to Server as c";
    attack("a_bit_turned_by_place", 5, b, body);
    attack(
        "rank_of_one",
        5,
        Y,
        "let r = rank(y); reveal sum(r[i] for i in Client if i == 2) to Server as a",
    );
    attack(
        "rank_of_scores",
        5,
        X,
        "let s = [sum(norm_sq(x[i] - x[j]) for j in Client) for i in Client]; reveal rank(s) to Server as a",
    );
    attack(
        "ranks_added_up_by_weights",
        5,
        Y,
        "let r = rank(y); reveal sum(r[i] * i for i in Client) to Server as a",
    );
    attack("trimmed_to_the_minimum", 5, Y, "reveal trimmed_mean[0, m - 1](y) to Server as a");
    attack(
        "median_of_norms",
        5,
        X,
        "reveal lower_median([norm(x[i]) for i in Client]) to Server as a",
    );
    attack("argmax_of_norms", 5, X, "reveal argmax([norm(x[i]) for i in Client]) to Server as a");
    attack("argmin_of_norms", 5, X, "reveal argmax([-norm(x[i]) for i in Client]) to Server as a");
    attack("argmax_is", 5, Y, "reveal argmax(y) == 3 to Server as a");
    attack(
        "argmax_as_a_sum",
        5,
        Y,
        "let best = argmax(y); reveal sum((best == i) * i for i in m) to Server as a",
    );
    attack(
        "argmax_as_a_choice",
        5,
        Y,
        "let best = argmax(y); reveal select(best == 3, 7, 1) to Server as a",
    );
    attack("first_argmin", 5, Y, "reveal first_argmin(y) to Server as a");
    attack("top_k_bits", 5, Y, "reveal top_k[2](y) to Server as a");
    attack(
        "two_compared",
        5,
        Y,
        "reveal sum(y) to Server as s; reveal sum(y[i] for i in Client if i == 0) < sum(y[i] for i in Client if i == 1) to Server as a",
    );
    attack(
        "all_pairs_compared",
        4,
        Y,
        "reveal [[y[i] < y[j] for j in Client] for i in Client] to Server as a",
    );
}

#[test]
fn several_bits_of_each() {
    attack(
        "thermometer",
        5,
        Y,
        "reveal [[10 * y[i] < v for v in 10] for i in Client] to Server as a",
    );
    attack(
        "two_bits_of_each",
        5,
        Y,
        "reveal [y[i] < 0 for i in Client] to Server as a; reveal [y[i] < 0.5 for i in Client] to Server as b",
    );
}

#[test]
fn reveals_that_say_more_together() {
    attack(
        "total_and_all_but_one",
        5,
        X,
        "reveal sum(x[i] for i in Client if i != 2) to Server as a; reveal sum(x) to Server as b",
    );
    attack(
        "sums_of_pairs",
        3,
        Y,
        "reveal sum(y[i] for i in Client if i == 0) + sum(y[i] for i in Client if i == 1) to Server as a; reveal sum(y[i] for i in Client if i == 1) + sum(y[i] for i in Client if i == 2) to Server as b; reveal sum(y[i] for i in Client if i == 0) + sum(y[i] for i in Client if i == 2) to Server as c",
    );
    for (name, f) in [
        ("squares", "y[i] * y[i]"),
        ("exponentials", "exp(y[i])"),
        ("sizes", "abs(2 * y[i] + 1)"),
        ("bits_by_a_bound", "(y[i] > 0)"),
        ("values_behind_bits", "(y[i] > 0) * exp(y[i])"),
        ("norms", "norm(x[i])"),
        ("largest_of_each", "max(x[i])"),
        ("products_of_entries", "x[i][0] * x[i][1]"),
        ("sizes_of_sums", "abs(y[i] + x[i][2])"),
        ("largest_of_products", "max(x[i] * y[i])"),
    ] {
        let text = format!(
            "reveal sum({f} for i in Client) to Server as a; reveal sum({f} for i in Client if i != 2) to Server as b"
        );
        attack(&format!("{name}_with_and_without_one"), 5, XY, &text);
    }
    attack(
        "squares_less_all_but_one",
        5,
        Y,
        "reveal sum(y[i] * y[i] for i in Client) - sum(y[i] * y[i] for i in Client if i != 2) to Server as a",
    );
    attack(
        "weights_and_their_product",
        2,
        XY,
        "reveal sum(y) to Server as a; reveal sum(y[i] for i in Client if i == 0) - sum(y[i] for i in Client if i == 1) to Server as b; \
         reveal sum(y[i] * x[i] for i in Client) to Server as c",
    );
}

#[test]
fn values_of_single_clients_behind_the_receivers_secrets() {
    let server = |more: &str| {
        format!(
            "{X}; input ref: secret fix[4] in -1..1 from Server; input off: secret fix[4] in -1..1 from Server{more}"
        )
    };
    attack(
        "norms_of_differences",
        5,
        &server(""),
        "reveal [norm(x[i] - ref - off) for i in Client] to Server as a",
    );
    attack(
        "zenos_scores",
        5,
        &server(""),
        "reveal [dot(ref, x[i]) + dot(off, x[i]) - 0.1 * norm_sq(x[i]) for i in Client] to Server as a",
    );
    let samples = "input x: secret fix[4] in -1..1 from each Client; input good: secret fix[3, 4] in -1..1 from Server; \
                   input bad: secret fix[3, 4] in -1..1 from Server";
    attack(
        "area_under_the_curve",
        5,
        samples,
        "reveal [sum(dot(x[i], good[s]) > dot(x[i], bad[t]) for s in 3 for t in 3) / 9 for i in Client] to Server as a",
    );
    attack(
        "recall",
        5,
        samples,
        "let hit = [sum(dot(x[i], good[s]) > 0 for s in 3) for i in Client]; let wrong = [sum(dot(x[i], bad[s]) > 0 for s in 3) for i in Client]; \
         reveal [hit[i] / (hit[i] + wrong[i] + 1) for i in Client] to Server as a",
    );
    attack(
        "hits_of_each_hospital",
        5,
        "input image: secret fix[3, 4] in 0..1 from each Client; input label: secret bit[3] from each Client; input w: secret fix[4] in -1..1 from Server; input bias: secret fix in -1..1 from Server",
        "reveal [sum((dot(image[i][s], w) + bias > 0) == label[i][s] for s in 3) for i in Client] to Server as a",
    );
    attack(
        "hits_of_each_hospital_by_a_model",
        4,
        "input net: secret weights M in -8..8 from Server; \
         input image: secret fix[2, ..M.shape] in 0..1 from each Client; \
         input label: secret int[2] in 0..M.classes from each Client",
        "reveal [sum(argmax(M(net, image[i][s])) == label[i][s] for s in 2) for i in Client] to Server as a",
    );
    attack(
        "scaled_by_a_secret",
        5,
        "input y: secret fix in -1..1 from each Client; input r: secret fix in -1..1 from Server",
        "reveal [r * y[i] for i in Client] to Server as a",
    );
    attack("share_of_the_total", 5, Y, "reveal softmax(y) to Server as a");
    attack(
        "distance_from_the_mean",
        5,
        Y,
        "reveal [y[i] - mean(y) for i in Client] to Server as a",
    );
    attack(
        "ratio_of_two",
        5,
        Y,
        "reveal sum(y) to Server as s; reveal sum(y[i] for i in Client if i == 0) / (2 + sum(y[i] for i in Client if i == 1)) to Server as a; reveal sum(y[i] for i in Client if i == 0) * sum(y[i] for i in Client if i == 1) to Server as b",
    );
}

#[test]
fn the_same_in_other_words() {
    attack(
        "argmax_as_bits",
        5,
        "input y: secret fix in -1..1 from each Client",
        "let b = argmax(y); reveal [b == i for i in m] to Server as a",
    );
    attack(
        "all_inner_products",
        4,
        "input x: secret fix[4] in -1..1 from each Client",
        "reveal [[dot(x[i], x[j]) for j in Client] for i in Client] to Server as a",
    );
    attack(
        "third_by_hand",
        5,
        "input y: secret fix in -1..1 from each Client",
        "let r = rank(y); reveal sum((r[i] == 2) * y[i] for i in Client) to Server as a",
    );
    attack(
        "top_k_bits_with_places",
        5,
        "input y: secret fix in -1..1 from each Client",
        "let t = top_k[2](y); reveal sum(t[i] * i for i in Client) to Server as a",
    );
    attack(
        "confusions_of_each",
        5,
        "input s: secret fix[6] in -1..1 from each Client; input t: secret bit[6] from each Client",
        "reveal [sum((s[i][k] > 0) && t[i][k] for k in 6) for i in Client] to Server as a",
    );
    attack(
        "areas_under_own_curves",
        5,
        "input s: secret fix[4] in -1..1 from each Client; input t: secret fix[4] in -1..1 from each Client",
        "reveal [sum(s[i][a] < t[i][b] for a in 4 for b in 4) for i in Client] to Server as a",
    );
    attack(
        "largest_and_mean_of_two",
        2,
        "input y: secret fix in -1..1 from each Client",
        "reveal max(y) to Server as a; reveal mean(y) to Server as b",
    );
    attack(
        "losses_on_the_servers_data",
        4,
        "input net: secret weights M in -8..8 from Server; input u: secret weights M in -8..8 from each Client; input image: secret fix[2, ..M.shape] in 0..1 from Server; input label: secret int[2] in 0..M.classes from Server",
        "reveal [sum(cross_entropy(M(net + u[i], image[s]), label[s]) for s in 2) for i in Client] to Server as a",
    );
    attack(
        "masked_by_the_receiver",
        5,
        "input x: secret fix[4] in -1..1 from each Client; input off: secret fix[4] in -8..8 from Server",
        "reveal sum(x) to Server as s; reveal [x[i] + off for i in Client] to Server as a",
    );
}

#[test]
fn members_in_the_middle() {
    const X: &str = "input x: secret fix in -8..8 from each Client";
    for (name, m, of) in [
        ("sums_of_those_before", 4, "x[j] for j in Client if j <= i"),
        ("sums_of_those_behind", 40, "x[j] for j in Client if j >= i"),
        ("one_member_is_told_more", 6, "x[j] for j in Client if i != 3 || j == 0"),
    ] {
        let body = format!("let z = [sum({of}) for i in Client]; reveal z[i] to Client[i] as a");
        attack(name, m, X, &body);
    }
}
