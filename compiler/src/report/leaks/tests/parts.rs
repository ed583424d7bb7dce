//! Sums of which a part is taken away, values beside each other, and order statistics that are moved or computed on:
//! what an attacker found who had read only the book.

use super::LeakKind::{MaskedSum, OneClient, OrderStatistic};
use super::attacks::{attack, noted};
use super::{LeakKind, found};

const Y: &str = "input y: secret fix in -8..8 from each Client";
const X: &str = "input x: secret fix[4] in -8..8 from each Client";

/// All but the selected count: it may be one.
#[test]
fn what_counts_where_a_bit_is_0() {
    attack(
        "all_but_the_six_largest",
        7,
        Y,
        "let k = top_k[6](y); reveal sum(select(k[i], 0, y[i]) for i in Client) to Server as a",
    );
    noted(
        "all_but_enough",
        7,
        Y,
        "let k = [y[i] < 1 for i in Client]; let e = sum(k) >= 3; \
         reveal sum(select(k[i] && e, 0, y[i]) for i in Client) to Server as a",
        &[MaskedSum],
    );
}

#[test]
fn what_is_taken_away_from_a_sum() {
    let some = |name: &str, body: &str| noted(name, 7, Y, body, &[MaskedSum]);
    some(
        "all_but_all_but_one",
        "let k = top_k[m - 1](y); reveal sum(y) - sum(k[i] * y[i] for i in Client) to Server as a",
    );
    some(
        "three_but_two_in_one_reveal",
        "let k = top_k[2](y); let l = top_k[3](y); \
         reveal sum(l[i] * y[i] for i in Client) - sum(k[i] * y[i] for i in Client) to Server as a",
    );
    some(
        "sum_and_difference",
        "let k = top_k[3](y); let l = top_k[4](y); let a = sum(l[i] * y[i] for i in Client); \
         let b = sum(k[i] * y[i] for i in Client); reveal [a + b, a - b] to Server as a",
    );
}

/// A list is no better than its parts one by one.
#[test]
fn values_beside_each_other() {
    let ordered = |name: &str, body: &str| noted(name, 7, Y, body, &[OrderStatistic]);
    ordered("median_beside_mean", "reveal [median(y), mean(y)] to Server as a");
    ordered("smallest_beside_sum", "let s = sort(y); reveal [s[0], sum(s)] to Server as a");
    ordered(
        "twice_median_and_mean",
        "let l = [median(y), mean(y)]; reveal [2 * l[k] for k in 2] to Server as a",
    );
    ordered(
        "median_and_mean_moved",
        "let l = [mean(y), median(y)]; reveal [l[1 - k] / 4 + 1 for k in 2] to Server as a",
    );
    ordered(
        "median_or_mean_by_place",
        "reveal [select(k == 0, median(y), mean(y)) for k in 2] to Server as a",
    );
    let body = "let k = top_k[1]([norm(x[i]) for i in Client]); let t = sum(k[i] * x[i] for i in Client); \
                reveal [t[0], sum(x)[1]] to Server as a";
    noted("one_client_beside_a_sum", 7, X, body, &[OneClient]);
}

#[test]
fn order_statistics_that_are_moved_or_computed_on() {
    let ordered = |name: &str, of: &str, body: &str| noted(name, 9, of, body, &[OrderStatistic]);
    ordered("sorted_backwards", Y, "let s = sort(y); reveal [s[2 - j] for j in 3] to Server as a");
    ordered(
        "median_of_medians",
        Y,
        "reveal median([median([y[i] for i in Client if i / 3 == t]) for t in 0..3]) to Server as a",
    );
    ordered(
        "largest_of_largest",
        Y,
        "reveal max([max([y[i] for i in Client if i < 4]), max([y[i] for i in Client if i >= 4])]) to Server as a",
    );
    ordered(
        "the_root_of_the_largest",
        X,
        "reveal sqrt(max([norm_sq(x[i]) for i in Client])) to Server as a",
    );
    ordered("largest_if", Y, "reveal select(sum(y) > 0, max(y), 0) to Server as a");
}

/// What a reveal beside it tells stays told, once.
#[test]
fn parts_say_nothing_twice() {
    attack("each_of_two_in_a_list", 5, Y, "reveal [y[i] for i in Client if i < 2] to Server as a");
}

/// Whose data a value is made of is known wherever they have been moved to.
#[test]
fn functions_of_what_was_moved() {
    let two = "input x: secret fix[2] in -8..8 from each Client";
    attack(
        "functions_of_a_flat_list",
        3,
        two,
        "let f = flat([x[i] for i in Client]); let v = [relu(f[k]) for k in 2 * m]; \
         reveal sum(v) to Server as a; reveal sum(v[k] for k in 2..2 * m) to Server as b",
    );
    attack(
        "functions_backwards",
        5,
        Y,
        "let xs = reshape[m](flat([y[i] for i in Client])); let v = [relu(xs[m - 1 - t]) for t in m]; \
         reveal sum(v) to Server as a; reveal sum(v[t] for t in 1..m) to Server as b",
    );
    attack(
        "functions_of_two_lists",
        5,
        Y,
        "let z = flat([[y[i]] for i in Client]); let c = concat(z, [z[m - 1 - t] for t in m]); let v = [relu(c[t] - 1) for t in 2 * m]; \
         reveal sum(v) to Server as a; reveal sum(v[t] for t in 1..2 * m - 1) to Server as b",
    );
}

/// Bits that another reveal is only computed of do not select what it adds up.
#[test]
fn bits_of_order_in_a_threshold() {
    attack(
        "the_smallest_in_a_threshold",
        7,
        Y,
        "let t = first_argmin(y); reveal t to Server as a; \
         reveal sum((y[i] < sum(t)) * y[i] for i in Client) to Server as b",
    );
}

/// What is said of a reveal is no reason to say less of it beside others.
#[test]
fn reveals_of_which_something_is_said_beside_others() {
    let kinds = [LeakKind::SeveralBits, LeakKind::Order];
    let body =
        "reveal top_k[2](y) to Server as a; reveal [y[i] < 0 for i in Client] to Server as b";
    noted("the_largest_and_the_negative", 7, Y, body, &kinds);
    let body = "let keep = [y[i] < 1 for i in Client]; reveal sum(keep[i] * y[i] for i in Client) to Server as a; \
                reveal sum(y) to Server as b; reveal sum(y[i] for i in Client if i > 0) to Server as c";
    let found = noted("kept_beside_all_and_all_but_one", 7, Y, body, &[LeakKind::Determined]);
    assert!(found.iter().any(|w| w.reveals == ["a", "b"]), "{found:?}");
}

/// A factor for each client is no factor of all of them, even if others' data are in what it multiplies.
#[test]
fn bits_times_differences_from_a_statistic() {
    let list = |name: &str, of: &str, entry: &str| {
        let body = format!("reveal [{entry} for i in Client] to Server as a");
        let body = body.replace("K[", "(y[i] < 0)[").replace("K", "(y[i] < 0)");
        noted(name, 5, of, &body, &[LeakKind::PerClient]);
    };
    list("a_bit_times_a_difference", Y, "K * (y[i] - mean(y))");
    list("a_difference_if", Y, "select(K, y[i] - mean(y), 0)");
    let g = format!("parties Guide; input g: secret bit from Guide; {Y}");
    list("a_bit_of_another_times_differences", &g, "g * (y[i] - mean(y))");
    let body = "reveal sum((y[i] < 0) * (y[i] - mean(y)) for i in Client) to Server as a";
    noted("sum_of_differences_of_some", 5, Y, body, &[MaskedSum]);
}

/// Where it was not found out whose bits are, they may be one client's.
#[test]
fn bits_that_are_computed_in_many_steps() {
    let text = format!(
        "use std::{{concat, flat, sum}};\npredicate P[m]() {{ parties Client[m]; parties Server; {Y};\n\
         let z = flat([[y[i]] for i in Client]); let c = concat([z[t] for t in 3], [z[4 - t] for t in 2]);\n\
         let v = iterate a = c for t in 40 {{ [a[k] / 2 + 0.1 for k in 5] }};\n\
         reveal [v[k] < 0 for k in 5] to Server as a; reveal [v[k] < 0.1 for k in 5] to Server as b; }}\n"
    );
    let found = found(&text, &[("m", "5")]);
    assert!(found.iter().any(|w| w.kind == LeakKind::SeveralBits), "{found:#?}");
}

/// What one client decides of a sum is said wherever its factor stands.
#[test]
fn sums_that_one_client_decides() {
    let text = |body: &str| {
        format!(
            "use std::{{flat, reshape, sum}};\npredicate P[m]() {{ parties Client[m]; parties Server; {Y};\n\
             let ys = reshape[m](flat([y[i] for i in Client])); let b = ys[0] > 0;\n{body} }}\n"
        )
    };
    let kinds =
        |body: &str| found(&text(body), &[("m", "5")]).iter().map(|w| w.kind).collect::<Vec<_>>();
    for body in [
        "reveal sum(y) * b to Server as a;",
        "reveal sum(b * y[i] for i in Client) to Server as a;",
        "reveal (sum(y) > 0) * (sum(y) * b) to Server as a;",
        "reveal sum(y) to Server as a; reveal ys[0] * sum(y) to Server as b;",
    ] {
        assert_eq!(kinds(body), [LeakKind::Selection], "{body}");
    }
    assert_eq!(kinds("reveal sum(y) * sum(y) + 0 * b to Server as a;"), []);
}

/// Of members that each learn their neighbour's value all of these are named.
#[test]
fn members_that_learn_of_others_are_told_of() {
    let clients = |others: &str| {
        let text = format!(
            "use std::sum;\npredicate P[m]() {{ parties Client[m]; {Y};\n\
             let z = [sum(y[j] for j in Client if {others}) for i in Client]; let t = [sum(y) for i in Client];\n\
             reveal z[i] to Client[i] as a; reveal t[i] to Client[i] as b; }}\n"
        );
        let found = found(&text, &[("m", "4")]);
        let both = found.iter().find(|w| w.reveals.len() == 2);
        both.map(|w| w.clients.len()).unwrap_or_else(|| panic!("{found:#?}"))
    };
    assert_eq!(clients("j != i + 1 && (j != 0 || i != m - 1)"), 4);
    assert_eq!(clients("i != 3 || j != 0"), 1);
}

/// Bits are counted by whose they are.
#[test]
fn several_bits_of_few_clients() {
    let bits =
        |name: &str, of: &str, body: &str| noted(name, 5, of, body, &[LeakKind::SeveralBits]);
    bits(
        "thresholds_of_one_client",
        Y,
        "let f = sum(y[i] for i in Client if i == 0); reveal [f < 0.1 * v for v in 5] to Server as a",
    );
    bits(
        "two_bits_of_each_in_a_list",
        &format!("parties Judge[20]; input t: secret fix in -1..1 from each Judge; {Y}"),
        "let s = sum(t); reveal [[y[i] < s + v for v in 2] for i in Client] to Server as a",
    );
}

/// What is computed of one entry of an order, and of bits or what is public, is still one client's.
#[test]
fn order_statistics_times_what_hides_nothing() {
    let ordered = |name: &str, entry: &str| {
        let body = format!("let t = max(y); reveal {entry} to Server as a");
        noted(name, 5, Y, &body, &[OrderStatistic]);
    };
    ordered("largest_times_a_bit", "(sum(y) > 0) * t");
    ordered("largest_squared", "t * t");
    ordered("largest_times_the_largest", "max(y) * max(y)");
    ordered("one_over_the_largest", "1 / t");
}

/// Two entries that are selected may be one client's.
#[test]
fn entries_that_are_selected_are_no_clients() {
    let two = "input x: secret fix[2] in -8..8 from each Client";
    let body = |entries: &str| {
        format!(
            "let f = {entries}; let t = top_k[2](f); reveal sum(t[j] * f[j] for j in f.len) to Server as a"
        )
    };
    noted("two_largest_entries", 5, two, &body("flat([x[i] for i in Client])"), &[MaskedSum]);
    // Each entry is another client's.
    let text = format!(
        "use std::{{flat, sum, top_k}};\npredicate P[m]() {{ parties Client[m]; parties Server; {two};\nlet used = sum(x);\n{}; }}\n",
        body("flat([[x[i][0]] for i in Client])")
    );
    assert_eq!(found(&text, &[("m", "5")]), []);
}

/// One number is equal to one of different numbers at most.
#[test]
fn a_place_that_selects() {
    let body = "let b = argmax(y); reveal sum((b == i) * y[i] for i in Client) to Server as a";
    noted("the_client_at_a_place", 5, Y, body, &[OneClient]);
}

/// What is put beside itself twenty times is one part, and not a million.
#[test]
fn a_list_beside_itself_is_looked_at_once() {
    let mut text = "graph T\nparties Client[2]\nparties Server[1]\nfrac 16\n\
        input 0 x : secret fix[2] in -8..8 from each Client\nsite 0 \"x\" line 1\n\
        %0 = input 0 : secret fix.16[2,2] @0\n"
        .to_string();
    for i in 1..=20 {
        let (from, rows) = (i - 1, 2u64 << i);
        text += &format!("%{i} = concat %{from} %{from} axis=0 : secret fix.16[{rows},2] @0\n");
    }
    text += "reveal %20 to Server as a @0\n";
    let graph = crate::graph::text::parse(&text).expect("a graph");
    let view = &super::super::views(&graph)[0];
    assert_eq!(super::super::parts::parts(view, view.output(0)).len(), 2);
}

/// A function is what it does, whatever it is called.
#[test]
fn ranks_by_what_is_counted() {
    let program = |rank: &str| {
        format!(
            "use std::{{rank, sum}};\n\nfn top_k[k, n](x: fix[n]) -> bit[n] {{\n    [{rank} < k for i in n]\n}}\n\n\
             predicate Own[m]() {{\n    parties Client[m];\n    parties Server;\n    {Y};\n    let k = top_k[3](y);\n    \
             reveal sum(k[i] * y[i] for i in Client) to Server as a;\n}}\n"
        )
    };
    let kinds = |rank: &str| {
        found(&program(rank), &[("m", "7")]).iter().map(|w| w.kind).collect::<Vec<_>>()
    };
    // Of ascending values all are 6, and of others one may be below 3.
    assert_eq!(kinds("rank(x)[i] * 0 + i + sum(x[j] > x[i] for j in n)"), [MaskedSum]);
    // Of equal values all are 0.
    assert_eq!(kinds("rank(x)[i] * 0 + sum(x[j] > x[i] for j in n)"), [MaskedSum]);
    // Equal ones by their index, in either order.
    let own = [
        "sum(x[j] >= x[i] for j in 0..i) + sum(x[j] > x[i] for j in i + 1..n)",
        "sum(x[j] > x[i] for j in 0..i) + sum(x[j] >= x[i] for j in i + 1..n)",
        "rank(x)[i]",
    ];
    for rank in own {
        assert_eq!(kinds(rank), [], "{rank}");
    }
}

/// Enough of the bits, and not a bit counted often enough.
#[test]
fn bits_that_are_counted_twice() {
    let body = |count: &str| {
        format!(
            "let k = [y[i] < 1 for i in Client]; let e = {count} >= 2; \
             reveal sum((k[i] && e) * y[i] for i in Client) to Server as a"
        )
    };
    let twice = body("sum(k[i] for i in Client for j in 2)");
    noted("enough_of_bits_counted_twice", 7, Y, &twice, &[MaskedSum]);
}
