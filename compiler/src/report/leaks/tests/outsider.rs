//! More of the attacker's list: what somebody found who had read only the book.

use super::LeakKind::{MaskedSum, OneClient, Order, PerClient, SecretDivisor};
use super::attacks::{attack, noted};
use super::{LeakKind, found, leaks_in, report};

const Y: &str = "input y: secret fix in -8..8 from each Client";
const XY: &str = "input x: secret fix[2] in -8..8 from each Client; input y: secret fix in -8..8 from each Client";
const XYB: &str = "input x: secret fix[2] in -8..8 from each Client; input y: secret fix in -8..8 from each Client; \
                   input b: secret bit from each Client";
const ID: &str = "let id = [sum(1 for j in Client if j < i) for i in Client]";

#[test]
fn the_order_of_clients_by_their_indices() {
    attack("argsort", 5, Y, "reveal argsort(y) to Server as a");
    attack("argsort_of_twenty", 20, Y, "reveal argsort(y) to Server as a");
    attack("the_smallest_by_argsort", 5, Y, "let s = argsort(y); reveal s[0] to Server as a");
    attack("argsort_is", 5, Y, "let s = argsort(y); reveal s[0] == 3 to Server as a");
    attack(
        "a_place_in_argsort",
        5,
        Y,
        "let s = argsort(y); reveal [s[t] == 2 for t in m] to Server as a",
    );
    attack(
        "argsort_of_norms",
        5,
        XY,
        "reveal argsort([norm(x[i]) for i in Client]) to Server as a",
    );
    attack(
        "place_of_one_by_hand",
        5,
        Y,
        "let first = sum(y[i] for i in Client if i == 0); reveal sum(y[i] < first for i in Client) to Server as a",
    );
}

/// What a party gives that is not the receiver takes part on both sides of all comparisons.
#[test]
fn an_order_by_somebody_elses_reference() {
    let of = |value: &str| {
        let text = format!(
            "use std::{{argsort, norm, top_k, sum}};\npredicate Order[m]() {{\n\
             parties Client[m]; parties Guide; parties Server;\n\
             {XY}; input ref: secret fix[2] in -8..8 from Guide;\n\
             let d = [norm(x[i] - ref) for i in Client]; let s = argsort(d); let t = top_k[2](d);\n\
             reveal sum(y) to Server as used; reveal {value} to Server as a;\n}}\n"
        );
        leaks_in(&found(&text, &[("m", "5")]))
    };
    assert_eq!(of("s"), [Order]);
    assert_eq!(of("s[0] == 3"), [Order]);
    assert_eq!(of("sum(t)"), []);
    assert_eq!(of("sum(d[i] < norm(ref) for i in Client)"), []);
}

#[test]
fn several_bits_in_several_reveals() {
    attack(
        "bits_of_two_reveals_by_xor",
        5,
        Y,
        "reveal [(y[i] < 1) != (y[i] < 2) for i in Client] to Server as a; reveal [y[i] > 3 for i in Client] to Server as c",
    );
    attack(
        "bits_by_multiples_of_the_median",
        5,
        Y,
        "let mid = median(y); reveal [y[i] < mid for i in Client] to Server as a; \
         reveal [y[i] < 2 * mid for i in Client] to Server as b; reveal [y[i] < 3 * mid for i in Client] to Server as c",
    );
}

#[test]
fn sums_in_which_fewer_than_two_may_count() {
    noted(
        "enough_and_a_part_of_the_clients",
        4,
        XYB,
        &format!(
            "{ID}; let e = sum(b) >= 2; reveal sum((b[i] && e) * (id[i] < 2) * x[i] for i in Client) to Server as a"
        ),
        &[MaskedSum],
    );
    noted(
        "top_k_and_a_part_of_the_clients",
        4,
        XYB,
        &format!(
            "{ID}; let t = top_k[3](y); reveal sum(t[i] * (id[i] < 2) * x[i] for i in Client) to Server as a"
        ),
        &[MaskedSum],
    );
    noted(
        "top_k_and_secret_weights",
        4,
        XYB,
        "let t = top_k[2](y); reveal sum(t[i] * y[i] * x[i] for i in Client) to Server as a",
        &[MaskedSum],
    );
    noted(
        "mean_by_top_k_and_secret_weights",
        4,
        XYB,
        "let t = top_k[2](y); \
         reveal sum(t[i] * y[i] * x[i] for i in Client) / sum(t[i] * y[i] for i in Client) to Server as a",
        &[MaskedSum, SecretDivisor],
    );
    noted(
        "those_that_are_kept_times_a_sum",
        4,
        XYB,
        "reveal sum((y[i] < 1) * y[i] for i in Client) * sum(x) to Server as a",
        &[MaskedSum],
    );
    noted(
        "one_of_them_or_all",
        4,
        XYB,
        "reveal select(sum(y) > 1, sum(y[i] for i in Client if i == 0), sum(y)) to Server as a",
        &[MaskedSum],
    );
    noted(
        "norms_of_those_that_are_kept",
        4,
        XYB,
        "reveal sum((y[i] < 1) * norm(x[i]) for i in Client) to Server as a",
        &[MaskedSum],
    );
    noted(
        "top_k_and_a_check",
        4,
        XYB,
        "let t = top_k[2](y); reveal sum((norm(x[i]) < 1) * (t[i] * x[i]) for i in Client) to Server as a",
        &[MaskedSum],
    );
}

/// The program's warnings and notes.
fn all(m: u64, inputs: &str, body: &str) -> Vec<super::LeakWarning> {
    let text = format!(
        "use std::{{abs, clamp, max, min, relu, select, sum}};\n\
         predicate Fine[m]() {{ parties Client[m]; parties Server;\n{inputs};\n{body};\n}}\n"
    );
    found(&text, &[("m", &m.to_string())])
}

#[test]
fn every_term_of_a_clamp_counts() {
    let clamp = "reveal sum(clamp(x[i], -1, 1) for i in Client) to Server as a";
    assert_eq!(all(10, XY, clamp), []);
    // The note is of the second reveal, in which those above 1 do not count.
    let two = all(
        10,
        XY,
        &format!("{clamp}; reveal sum((x[i] < 1) * x[i] for i in Client) to Server as c"),
    );
    let of: Vec<_> = two.iter().map(|w| (w.kind, w.reveals.join(" "))).collect();
    assert_eq!(of, [(MaskedSum, "c".to_string())]);
    for term in [
        "select(y[i] < 1, y[i], 1)",
        "select(y[i] < 0, 0, y[i])",
        "select(y[i] >= 2, 2, y[i])",
        "select(y[i] < 1, y[i], y[i] / 2 + 0.5)",
        "max([y[i], 0.5])",
    ] {
        let found = all(10, Y, &format!("reveal sum({term} for i in Client) to Server as a"));
        assert_eq!(found, [], "{term}");
    }
    // A choice by another bit leaves some out.
    for term in ["select(b[i], y[i], 0)", "select(b[i], y[i], 1)", "select(y[i] < 1, y[i], 0)"] {
        let found = all(10, XYB, &format!("reveal sum({term} for i in Client) to Server as a"));
        assert_eq!(found.iter().map(|w| w.kind).collect::<Vec<_>>(), [MaskedSum], "{term}");
        let zeros = found[0].why.contains("it is zeros");
        assert_eq!(zeros, !term.contains("1)"), "{term}: {}", found[0].why);
    }
    // One bit for all hides or shows the whole sum.
    let gate = "let e = sum(b) > 2; reveal sum(e * x[i] for i in Client) to Server as a";
    assert!(leaks_in(&all(10, XYB, gate)).is_empty());
    assert_eq!(all(10, XYB, gate), []);
}

/// What is said of a masked sum is said of what is computed from it: a function hides nothing that it does not change.
#[test]
fn a_masked_sum_is_found_behind_functions() {
    let notes = |value: &str| {
        let text = format!(
            "use std::{{abs, clamp, exp, min, norm, relu, select, sum, tanh}};\n\
             predicate A[m]() {{ parties Client[m]; parties Server; input x: secret fix[2] in -8..8 from each Client;\n\
             let k = [norm(x[i]) < 3 for i in Client]; let s = sum(k[i] * x[i] for i in Client);\n\
             reveal {value} to Server as v; }}\n"
        );
        found(&text, &[("m", "5")]).iter().any(|w| w.kind == MaskedSum)
    };
    for value in [
        "s",
        "clamp(s, -1000, 1000)",
        "tanh(s)",
        "[s[e] * s[e] * s[e] for e in 2]",
        "[relu(s[e]) for e in 2]",
        "[abs(s[e]) for e in 2]",
        "[min([s[e], 8]) for e in 2]",
        "[exp(s[e]) for e in 2]",
        "norm(s)",
        "[select(sum(k) >= 1, s[e], 0) for e in 2]",
    ] {
        assert!(notes(value), "{value}");
    }
    // How many pass, or whether a statistic is above a threshold, is none.
    for value in ["sum(k)", "norm(s) < 4", "sum([norm(x[i] - s) < 4 for i in Client])"] {
        assert!(!notes(value), "{value}");
    }
}

/// Weights that the receiver knows are no one number along the sums of a product of matrices.
#[test]
fn a_layer_of_the_receivers_own_weights() {
    let of = |value: &str| {
        let text = format!(
            "use std::sum;\n\
             model Net(x: fix[6]) -> fix[3] {{ head: linear[6, 3]; x |> head }}\n\
             predicate A[m]() {{ parties Client[m]; parties Server; input w: secret weights Net in -1..1 from Server;\n\
             input x: secret fix[6] in 0..1 from each Client; reveal {value} to Server as v; }}\n"
        );
        leaks_in(&found(&text, &[("m", "5")]))
    };
    assert_ne!(of("[Net(w, x[i]) for i in Client]"), []);
    assert_ne!(of("sum(Net(w, x[i]) for i in Client if i < 1)"), []);
    assert_eq!(of("sum(Net(w, x[i]) for i in Client)"), []);
}

/// By a divisor or a factor that is another for each client, whatever is divided or weighed has an entry for each.
#[test]
fn what_differs_by_a_factor_only_is_beside_others() {
    for value in [
        "[sum(y) / (10 + y[i]) for i in Client]",
        "[sum(y[i] * x[j][0] for j in Client) for i in Client]",
    ] {
        let found = all(5, XY, &format!("reveal {value} to Server as a"));
        assert_eq!(leaks_in(&found), [PerClient], "{value}: {found:#?}");
    }
}

/// How many are selected is not said of counts of comparisons that are no ranks, nor of sums of several selections.
#[test]
fn as_many_are_selected_as_is_said() {
    let of = |body: &str| {
        let text = format!(
            "use std::{{first_argmax, first_argmin, sum, top_k_of_groups}};\n\
             predicate A[m]() {{ parties Client[m]; parties Server; {XY}; input group: public int[m] in 0..5;\n\
             let used = sum(group) + sum(y) + sum(sum(x[i]) for i in Client);\n{body} reveal used to Server as u; }}\n"
        );
        let found = found(&text, &[("m", "5")]);
        found.into_iter().map(|w| w.kind).collect::<Vec<_>>()
    };
    let kept = "reveal sum(t[i] * x[i] for i in Client) to Server as a;";
    let few =
        "let t = [sum(y[j] > y[i] && group[j] == group[i] for j in Client) < 1 for i in Client];";
    assert_eq!(
        of(&format!("let t = [sum(y[j] > y[i] for j in Client) < 1 for i in Client]; {kept}")),
        [OneClient]
    );
    assert_eq!(of(&format!("{few} {kept}")), [MaskedSum]);
    assert_eq!(of(&format!("let t = top_k_of_groups[1](y, group); {kept}")), [MaskedSum]);
    let two = "let s = first_argmin(y); let t = first_argmax(y); \
               reveal sum(t[i] * x[i] for i in Client) + sum(s[i] * x[i] for i in Client) to Server as a;";
    assert_eq!(of(two), [MaskedSum]);
}

/// What is revealed in one round, and beside it in the next one, has two names.
#[test]
fn rounds_are_told_apart() {
    let text = "use std::sum;\npredicate P[m]() { parties Client[m]; parties Server; input y: secret fix in -1..1 from each Client;\n\
                state before: secret fix in -64..64 = 0; store sum(y) as before;\n\
                reveal sum(y[i] for i in Client if i > 0) to Server as a; reveal before to Server as b; }\n";
    let found = report(text, &[("m", "5")]).warnings;
    let said: Vec<_> = found.iter().map(|w| (w.kind, w.reveals.join(", "), w.line)).collect();
    assert_eq!(said, [(LeakKind::Determined, "a, b of the next round".into(), 4)]);
    assert!(found[0].why.contains("Client 0"), "{}", found[0].why);
}
