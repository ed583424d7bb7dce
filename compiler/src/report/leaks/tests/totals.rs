//! Parts of long vectors, groups that a condition makes, and thresholds: what of them tells of one client.

use super::attacks::{attack, noted};
use super::{LeakKind, found, leaks_in};

const B: &str = "input b: secret bit from each Client";
const X: &str = "input x: secret fix in 0..8 from each Client";
const U: &str = "input u: secret weights M in -8..8 from each Client";

#[test]
fn one_place_of_a_long_vector() {
    let long = "input u: secret fix[200] in -8..8 from each Client";
    attack(
        "an_entry_of_a_long_vector",
        3,
        long,
        "reveal sum(u) to Server as a; reveal sum(u[i][137] for i in Client if i > 0) to Server as b",
    );
    attack(
        "an_entry_of_a_matrix",
        4,
        "input u: secret fix[12, 12] in -8..8 from each Client",
        "reveal sum(u) to Server as a; reveal sum(u[i][3][7] for i in Client if i != 1) to Server as b",
    );
}

/// The last of uneven groups is one client.
#[test]
fn uneven_groups() {
    for (name, z) in
        [("median", "median(g)"), ("largest", "max(g)"), ("norms", "[abs(g[k]) for k in 0..3]")]
    {
        attack(
            &format!("uneven_groups_{name}"),
            5,
            X,
            &format!(
                "let g = [sum(x[i] for i in Client if i / 2 == k) for k in 0..3]; reveal {z} to Server as a"
            ),
        );
    }
    // Each is the one before and a client more.
    noted(
        "growing_groups",
        6,
        B,
        "reveal [sum(b[i] for i in Client if i <= k + 1) >= 1 for k in 0..4] to Server as a",
        &[LeakKind::Selection],
    );
}

#[test]
fn thresholds_of_one_client_s_value() {
    attack(
        "thresholds_of_a_median",
        5,
        X,
        "reveal [median(x) > 0.25 * v for v in 32] to Server as a",
    );
    attack(
        "three_thresholds_of_a_median",
        5,
        X,
        "reveal [median(x) > 0.25, median(x) > 0.5, median(x) > 1] to Server as a",
    );
    attack(
        "thresholds_of_a_median_in_two_reveals",
        5,
        X,
        "reveal median(x) > 0.25 to Server as a; reveal median(x) > 0.5 to Server as b",
    );
    attack(
        "count_of_thresholds_of_a_maximum",
        5,
        X,
        "reveal sum([max(x) > 0.25 * v for v in 32]) to Server as a",
    );
}

#[test]
fn sums_of_those_that_are_kept_beside_all() {
    noted(
        "kept_if_enough_beside_all",
        10,
        U,
        "let keep = [norm(u[i]) < 4 for i in Client]; let enough = sum(keep) >= 5; \
         reveal sum((keep[i] && enough) * u[i] for i in Client) to Server as a; reveal sum(u) to Server as b",
        &[LeakKind::MaskedSum],
    );
    noted(
        "kept_or_nothing",
        6,
        U,
        "reveal sum([select(norm(u[i]) < 4, u[i], 0 * u[i]) for i in Client]) to Server as a",
        &[LeakKind::MaskedSum],
    );
}

#[test]
fn what_looks_like_it_is_fine() {
    for body in [
        "reveal sum(x) > 3 to Server as a;",
        "reveal sum(x[i] for i in Client if i < 3) > sum(x[i] for i in Client if i >= 3) to Server as a;",
        "reveal [sum(x) > 2 * v for v in 4] to Server as a;",
        "let s = [x[i] * x[i] for i in Client]; let keep = [s[i] <= lower_median(s) for i in Client]; \
         reveal sum(keep[i] * x[i] for i in Client) to Server as a;",
        "reveal [sum(x[i] for i in Client if i / 3 == k) for k in 0..2] to Server as a;",
        "let keep = top_k[3](y); reveal sum(keep[i] * x[i] for i in Client) to Server as a; reveal sum(x) to Server as b;",
    ] {
        let text = format!(
            "use std::{{lower_median, sum, top_k}};\n\
             predicate Totals[m]() {{ parties Client[m]; parties Server; {X};\n\
             input y: secret fix in 0..8 from each Client; let used = sum(x) + sum(y);\n{body} }}\n"
        );
        assert_eq!(leaks_in(&found(&text, &[("m", "6")])), [], "{body}");
    }
}
