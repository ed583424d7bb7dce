//! Choices between a sum and what tells of one client, and sums that are cut at a bound: each branch is revealed some of
//! the time.

use super::attacks::attack;
use super::{LeakKind, found, leaks_in};

const X: &str = "input x: secret fix in -8..8 from each Client";
const XY: &str =
    "input x: secret fix in -8..8 from each Client; input y: secret fix in -8..8 from each Client";
const U: &str =
    "input u: secret fix[3] in -8..8 from each Client; input k: secret bit from each Client";
const ONE: &str = "let one = sum(x[i] for i in Client if i == 1); let s = sum(x)";

fn chosen(name: &str, inputs: &str, z: &str) {
    attack(name, 4, inputs, &format!("{ONE}; reveal {z} to Server as a"));
}

#[test]
fn a_choice_between_a_sum_and_one_client() {
    chosen("fallback_to_one", X, "select(s > 0, s, one)");
    chosen("fallback_to_one_by_another_input", XY, "select(sum(y) > 2, s, one)");
    chosen("fallback_by_arithmetic", X, "(s > 0) * s + (1 - (s > 0)) * one");
    chosen("fallback_in_two_choices", XY, "select(sum(y) > 2, s, 0) + select(sum(y) > 2, 0, one)");
    chosen("fallback_to_a_sum_of_others", XY, "select(s > 0, one, sum(y))");
    chosen("fallback_to_the_largest", XY, "select(sum(y) > 0, max(x), s)");
    chosen("fallback_below_relu", X, "relu(s) + one * (s < 0)");
    chosen("fallback_within_a_choice", XY, "select(s > 0, s, select(sum(y) > 0, sum(y), one))");
    chosen("fallback_by_a_soft_gate", X, "sigmoid(10 * s) * s + (1 - sigmoid(10 * s)) * one");
    attack(
        "fallback_and_its_condition",
        4,
        X,
        &format!(
            "{ONE}; reveal s > 0 to Server as ok; reveal select(s > 0, s, one) to Server as a"
        ),
    );
    attack(
        "fallback_to_the_smallest_update",
        6,
        U,
        "let pick = first_argmin([norm(u[i]) for i in Client]); \
         reveal select(sum(k) >= 3, sum(u), sum(pick[i] * u[i] for i in Client)) to Server as a",
    );
    attack(
        "fallback_to_the_largest_coordinates",
        6,
        U,
        "reveal select(sum(k) >= 3, sum(u), [max([u[i][j] for i in Client]) for j in 3]) to Server as a",
    );
}

/// Below 0 the absolute value of a total has the other sign.
#[test]
fn both_signs_of_an_absolute_value() {
    for (name, sign) in [("plus", '+'), ("minus", '-')] {
        attack(
            &format!("total_{name}_the_absolute_value_of_others"),
            4,
            X,
            &format!(
                "let t = sum(x[i] for i in Client if i != 0); reveal sum(x) {sign} abs(t) to Server as a"
            ),
        );
    }
}

#[test]
fn a_coin_that_chooses_one_client() {
    for of in [2, 10, 100] {
        attack(
            &format!("coin_of_{of}"),
            4,
            X,
            &format!(
                "{ONE}; sample coin[1] of {of}; reveal select(coin[0] == 1, s, one) to Server as a"
            ),
        );
    }
    attack(
        "coin_that_leaves_one_out",
        4,
        X,
        "sample coin[1] of 2; let heads = coin[0] == 1; reveal sum(x) to Server as all; \
         reveal heads * sum(x) + (1 - heads) * sum(x[i] for i in Client if i != 1) to Server as some",
    );
    attack(
        "coin_that_picks_weights",
        6,
        "input w: secret weights M in -8..8 from each Client",
        "sample coin[1] of 2; reveal select(coin[0] < 1, sum(w), sum(w[i] for i in Client if i == 2)) to Server as a",
    );
}

#[test]
fn a_total_that_is_cut_is_the_total_for_some_inputs() {
    const OTHERS: &str = "reveal sum(x[i] for i in Client if i > 0) to Server as b";
    for (name, z) in [
        ("relu", "relu(sum(x))"),
        ("clamp", "clamp(sum(x), -8, 8)"),
        ("a_wide_clamp", "clamp(sum(x), -30, 30)"),
        ("max", "max([sum(x), -20])"),
        ("abs", "abs(sum(x))"),
    ] {
        let body = format!("reveal {z} to Server as a; {OTHERS}");
        attack(&format!("total_through_{name}"), 4, X, &body);
    }
    attack(
        "total_unless_it_is_long",
        4,
        U,
        "let s = sum(u); reveal select(norm(s) < 10, s, 0 * s) to Server as a; \
         reveal sum(u[i] for i in Client if i > 0) to Server as b",
    );
    attack(
        "vector_total_through_clamp",
        4,
        U,
        "reveal clamp(sum(u), -10, 10) to Server as a; reveal sum(u[i] for i in Client if i > 0) to Server as b",
    );
}

#[test]
fn sums_of_what_is_cut_of_each_client_are_fine() {
    for cut in [
        "clamp(u[i], -0.1, 0.1)",
        "clamp(u[i], -1, 1) / m",
        "tanh(20 * u[i])",
        "sigmoid(20 * u[i])",
        "6 - relu(6 - relu(u[i]))",
        "relu(-u[i])",
        "u[i] - clamp(u[i], -7, 7)",
        "relu(abs(u[i]) - 7.5)",
    ] {
        let body = format!("reveal sum({cut} for i in Client) to Server as a;");
        for d in ["10", "3"] {
            let text = format!(
                "use std::{{abs, clamp, relu, sigmoid, sum, tanh}};\n\
                 predicate Cut[m, d]() {{ parties Client[m]; parties Server;\n\
                 input u: secret fix[d] in -8..8 from each Client;\n{body} }}\n"
            );
            for m in ["3", "8"] {
                assert_eq!(
                    leaks_in(&found(&text, &[("m", m), ("d", d)])),
                    [],
                    "m={m} d={d} {body}"
                );
            }
        }
    }
    for body in [
        "reveal relu(sum(x)) to Server as a; reveal sum(y) to Server as b;",
        "reveal clamp(sum(u), -10, 10) to Server as a;",
        "reveal sum(u) to Server as a; reveal max(sum(u)) to Server as b;",
        "reveal sum(x) * min([1, 1 / sqrt(1 + sum(y))]) to Server as a;",
    ] {
        assert_eq!(kinds(body), [], "{body}");
    }
}

fn kinds(body: &str) -> Vec<LeakKind> {
    let text = format!(
        "use std::{{abs, clamp, lower_median, max, min, norm, relu, select, sigmoid, sqrt, sum, tanh, top_k}};\n\
         predicate Choice[m]() {{ parties Client[m]; parties Server; {XY}; {U};\n\
         let used = sum(x) + sum(y);\n{body} }}\n"
    );
    leaks_in(&found(&text, &[("m", "5")]))
}

#[test]
fn a_choice_among_sums_is_fine() {
    for body in [
        "reveal select(sum(y) > 0, sum(x), 0) to Server as a;",
        "reveal select(sum(y) > 0, sum(x), sum(y)) to Server as a;",
        "let s = sum(y); reveal select(s > 3, sum(x), select(s > 2, 2 * sum(x), 0)) to Server as a;",
        "let ok = sum(k) >= 3; reveal ok to Server as ok; reveal ok * sum(u) to Server as a;",
        "let keep = [norm(u[i]) < 1 for i in Client]; let ok = sum(keep) >= 3; \
         reveal select(ok, sum(keep[i] * u[i] for i in Client), 0 * sum(u)) to Server as a;",
        "reveal (iterate s = 0.0 for i in Client { s + select(x[i] > 0, x[i], 0) }) to Server as a;",
        "let s = [norm(u[i]) for i in Client]; let keep = [s[i] <= lower_median(s) for i in Client]; \
         reveal (iterate t = 0.0 for i in Client { t + select(s[i] <= lower_median(s), x[i], 0) }) to Server as a;",
        "sample coin[1] of 2; reveal select(coin[0] == 1, sum(x), sum(y)) to Server as a;",
        "sample two[2] of 5; reveal sum((two[0] == t || two[1] == t) * t for t in 5) + sum(x) to Server as a;",
        "reveal sigmoid(sum(y)) * sum(x) to Server as a;",
    ] {
        assert_eq!(kinds(body), [], "{body}");
    }
}

/// A factor that is the same for all clients stands inside of the sum as well as outside of it.
#[test]
fn a_choice_inside_of_a_sum() {
    const C: &str = "let c = sum(y) > 2";
    for (name, z) in [
        ("a_bit", "sum(c * x[i] for i in Client if i != 1)"),
        ("a_select", "sum(select(c, x[i], 0) for i in Client if i != 1)"),
        ("an_iteration", "(iterate s = 0.0 for i in Client if i != 1 { s + c * x[i] })"),
    ] {
        let body = format!("{C}; reveal {z} to Server as a; reveal sum(x) to Server as b");
        attack(&format!("choice_within_a_sum_by_{name}"), 6, XY, &body);
    }
    for (name, z) in [
        ("or", "sum((c || i == 0) * x[i] for i in Client)"),
        ("select_of_weights", "sum(select(c, 1, i == 0) * x[i] for i in Client)"),
        ("complement", "sum((1 - c * (i != 0)) * x[i] for i in Client)"),
        ("dot", "dot([select(c, 1, i == 0) for i in Client], x)"),
    ] {
        attack(&format!("weights_by_{name}"), 6, XY, &format!("{C}; reveal {z} to Server as a"));
    }
}

#[test]
fn choices_of_groups() {
    const G: &str = "let g = [sum(x[i] for i in Client if i < 3), sum(x[i] for i in Client if i >= 3 && i < 5), \
                     sum(x[i] for i in Client if i == 5)]";
    attack(
        "the_largest_group",
        6,
        XY,
        &format!(
            "{G}; let w = argmax([sum(y), 0, 1]); reveal sum((w == k) * g[k] for k in 0..3) to Server as a"
        ),
    );
    attack(
        "groups_by_how_many",
        6,
        &format!("{X}; input v: secret bit from each Client"),
        "let n = sum(v); let t = [sum(x[i] for i in Client if i >= k) for k in 0..6]; \
         reveal sum((n == k) * t[k] for k in 0..6) to Server as a",
    );
    attack(
        "groups_that_are_cut_apart",
        6,
        X,
        "let g = [sum(x[i] for i in Client if i < 3), sum(x[i] for i in Client if i >= 3)]; \
         reveal sum([relu(g[k]) for k in 0..2]) to Server as a; \
         reveal sum(x[i] for i in Client if i >= 4) to Server as b",
    );
    attack(
        "groups_with_a_bit_each",
        9,
        XY,
        "let ok = [sum(y[i] for i in Client if i % 3 == k) >= 2 for k in 0..3]; \
         let g = [sum(x[i] for i in Client if i % 3 == k) for k in 0..3]; \
         reveal ok[0] * g[0] + ok[1] * g[1] + ok[2] * g[2] to Server as a; \
         reveal sum(x[i] for i in Client if i % 3 == 1 && i > 2) to Server as b",
    );
}

/// A count is 0 some of the time.
#[test]
fn gates_that_are_counts() {
    for (name, gate) in [
        ("min", "let w = min([n, 1]); reveal w * s + (1 - w) * one"),
        ("relu", "let none = relu(1 - n); reveal (1 - none) * s + none * one"),
    ] {
        attack(
            &format!("gate_by_{name}_of_a_count"),
            6,
            &format!("{X}; input k: secret bit from each Client"),
            &format!("{ONE}; let n = sum(k); {gate} to Server as a"),
        );
    }
}

/// A clip is the same however it is written, and one at 0 leaves nothing.
#[test]
fn clips_however_they_are_written() {
    const OTHERS: &str = "for i in Client if i != 1) to Server as b";
    for (name, clip) in [
        ("max_of_min", "max([min([x[i], 1]), -1])"),
        ("min_of_max", "min([max([x[i], -1]), 1])"),
        ("a_scaled_clip", "2 * clamp(x[i] / 2, -0.5, 0.5)"),
    ] {
        let body = format!(
            "reveal sum(clamp(x[i], -1, 1) for i in Client) to Server as a; reveal sum({clip} {OTHERS}"
        );
        attack(&format!("clip_as_{name}"), 5, X, &body);
    }
    attack(
        "chosen_bounds_of_clips",
        5,
        &format!("{X}; input b: secret fix[m] in 0..8 from Server"),
        "reveal sum(clamp(x[i], -b[i], b[i]) for i in Client) to Server as a",
    );
}

#[test]
fn functions_of_totals_tell_them_where_they_move() {
    const OTHERS: &str = "reveal sum(x[i] for i in Client if i != 1) to Server as b";
    for (name, z) in [
        ("sqrt_of_relu", "sqrt(relu(sum(x)))"),
        ("sqrt", "sqrt(sum(x))"),
        ("log_of_max", "log(max([sum(x), 0.01]))"),
        ("tanh_of_relu", "tanh(relu(sum(x)))"),
    ] {
        attack(
            &format!("total_through_{name}"),
            5,
            X,
            &format!("reveal {z} to Server as a; {OTHERS}"),
        );
    }
    attack(
        "others_through_sigmoid",
        5,
        X,
        "reveal sum(x) to Server as a; reveal sigmoid(sum(x[i] for i in Client if i != 2)) to Server as b",
    );
}

#[test]
fn a_coin_that_is_an_index() {
    attack(
        "coin_that_picks_an_entry",
        4,
        X,
        &format!(
            "{ONE}; sample t[2] of 4; let v = [s, s / 2, one, s / 3]; reveal v[t[0]] to Server as a"
        ),
    );
}

#[test]
fn lists_over_groups_are_no_lists_over_clients() {
    for body in [
        "reveal [sum(x[i] for i in Client if i % 4 == g) / 3 for g in 0..4] to Server as a;",
        "reveal [sum(x[i] for i in Client if i / 4 == g) for g in 0..3] to Server as a;",
        "reveal [sum(x[i] for i in Client if i >= 2 * g && i < 2 * g + 4) for g in 0..5] to Server as a;",
        "reveal [norm(sum(u[i] for i in Client if i % 4 == g)) for g in 0..4] to Server as a;",
        "let h = [sum(u[i] for i in Client if i % 3 == g) / 4 for g in 0..3]; \
         reveal [median([h[g][j] for g in 0..3]) for j in 0..3] to Server as a;",
        "reveal max([sum(x[i] for i in Client if i % 3 == g) for g in 0..3]) to Server as a;",
        "reveal argmax([sum(x[i] for i in Client if i % 3 == g) for g in 0..3]) to Server as a;",
        "reveal [sum(x[i] for i in Client if i % 3 == g) > 0 for g in 0..3] to Server as a;",
        "reveal [[sum(x[i] > v for i in Client if i % 3 == g) for v in 5] for g in 3] to Server as a;",
        "sample order[m] of Client; let d = [x[i] for i in order]; \
         reveal median([d[0] + d[1] + d[2] + d[3], d[4] + d[5] + d[6], d[7] + d[8] + d[9]]) to Server as a;",
    ] {
        let text = format!(
            "use std::{{argmax, max, median, norm, sum}};\n\
             predicate Groups[m]() {{ parties Client[m]; parties Server; {X}; {U};\n\
             let used = sum(x) + sum(k);\n{body} }}\n"
        );
        let found = found(&text, &[("m", "12")]);
        assert!(found.is_empty(), "{body}: {found:#?}");
    }
}

#[test]
fn lists_that_leave_one_out_are_lists_over_clients() {
    for (name, z) in [
        ("one_left_out_of_each", "[norm(sum(u[j] for j in Client if j != i)) for i in Client]"),
        (
            "two_groups_of_which_one_is_a_client",
            "[norm(sum(u[i] for i in Client if i / 3 == g)) for g in 0..2]",
        ),
    ] {
        attack(name, 4, U, &format!("reveal {z} to Server as a"));
    }
}
