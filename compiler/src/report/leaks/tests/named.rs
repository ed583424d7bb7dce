//! Everybody of whom something follows is named in a warning, whatever else is said of the same reveals.

use super::super::combinations::tests::rank;
use super::{LeakKind, LeakWarning, Lines, built, rounds, views, warnings};
use crate::report::testing::{Random, setting};
use std::collections::BTreeSet;

/// What is said of `x` of m clients: also that reveals were not looked at together.
fn said(m: u64, body: &str) -> Vec<LeakWarning> {
    let text = format!(
        "use std::{{dot, max, sum}};\npredicate P[m]() {{ parties Client[m]; parties Server; parties Other;\n\
         input x: secret fix in -8..8 from each Client;\n{body}\nreveal sum(x) to Other as used; }}\n"
    );
    let (program, graph) = built(&text, &[("m", &m.to_string())]);
    let lines = Lines { program: &program, graph: &graph };
    warnings(&views(&rounds::in_a_row(&graph)), &|name| lines.of(name).1)
}

/// The warning of that kind and these reveals, if there is one, as the clients that it is of.
#[track_caller]
fn of(found: &[LeakWarning], kind: LeakKind, reveals: &[&str]) -> Vec<String> {
    let mut of = found.iter().filter(|w| w.kind == kind && w.reveals == reveals);
    let (Some(w), None) = (of.next(), of.next()) else {
        panic!("{kind:?} {reveals:?}: {found:#?}")
    };
    w.clients.iter().map(|name| name.replace("Client ", "")).collect()
}

#[test]
fn a_part_that_is_one_client_s_hides_no_combination() {
    let body = "reveal [sum(x[i] for i in Client if i == 0), sum(x), sum(x[i] for i in Client if i != 3)] to Server as a;";
    let found = said(5, body);
    assert_eq!(of(&found, LeakKind::Determined, &["a"]), ["0", "3"]);
    let why = &found[0].why;
    assert!(
        why.contains("every entry of a part of it is") && why.ends_with("of Client 3"),
        "{why}"
    );
}

#[test]
fn all_parts_of_a_list_are_named() {
    let body = "reveal [sum(x[i] for i in Client if i == 0), sum(x[i] for i in Client if i == 1), sum(x)] to Server as a;";
    assert_eq!(of(&said(3, body), LeakKind::Determined, &["a"]), ["0", "1", "2"]);
    let found = said(12, "reveal x to Server as a;");
    assert_eq!(of(&found, LeakKind::Determined, &["a"]).len(), 12);
    assert!(found[0].why.ends_with("of Client 0, Client 1, Client 2 and 9 others"), "{found:?}");
}

#[test]
fn what_a_state_adds_hides_nothing_that_one_round_tells() {
    let body = "state s: secret fix in -64..64 = 0; store sum(x[i] for i in Client if i > 2) as s;\n\
                reveal [sum(x[i] for i in Client if i == 0), s, sum(x[i] for i in Client if i > 1)] to Server as a;";
    let found = said(5, body);
    assert_eq!(of(&found, LeakKind::Determined, &["a"]), ["0"]);
    assert_eq!(of(&found, LeakKind::Determined, &["a", "a of the next round"]), ["2"]);
}

#[test]
fn members_who_learn_of_different_clients_are_all_named() {
    let body = "let z = [sum(x[j] for j in Client if i + j == 3) for i in Client]; reveal z[i] to Client[i] as a;";
    assert_eq!(of(&said(4, body), LeakKind::Determined, &["a"]), ["0", "1", "2", "3"]);
}

/// A reveal that is too large is left out, and no other.
#[test]
fn only_what_is_too_large_is_left_out() {
    let body = "input y: secret fix[400000] in -1..1 from each Client; input p: public fix[400000] in -1..1;\n\
                reveal sum(dot(y[i], p) for i in Client) to Server as large;\n\
                reveal sum(x) to Server as a; reveal sum(x[i] for i in Client if i != 2) to Server as b;";
    let found = said(5, body);
    assert_eq!(of(&found, LeakKind::Determined, &["a", "b"]), ["2"]);
    assert_eq!(of(&found, LeakKind::NotTogether, &["large"]), [""; 0]);
}

/// Sums over some clients, and the largest: as text, and as factors of each client and of the largest.
fn entry(r: &mut Random, m: u64) -> (String, Vec<u64>) {
    let t = r.below(m);
    let (when, counts): (_, Box<dyn Fn(u64) -> bool>) = match r.below(8) {
        0 => (format!(" if i == {t}"), Box::new(move |i| i == t)),
        1 | 2 => (format!(" if i != {t}"), Box::new(move |i| i != t)),
        3 => (format!(" if i <= {t}"), Box::new(move |i| i <= t)),
        4 => (format!(" if i >= {t}"), Box::new(move |i| i >= t)),
        _ => (String::new(), Box::new(|_| true)),
    };
    let (by, largest) = (1 + r.below(3), r.below(8) == 0);
    let mut row: Vec<u64> = (0..m).map(|i| by * u64::from(counts(i))).collect();
    row.push(largest.into());
    let text = format!("{by} * sum(x[i] for i in Client{when})");
    (if largest { format!("{text} + max(x)") } else { text }, row)
}

#[test]
fn whoever_follows_from_random_reveals_is_named_in_the_report() {
    let (first, programs) = (setting("SLVR_SEED", 0), setting("SLVR_COUNT", 200));
    let (mut telling, mut several) = (0, 0);
    for seed in first..first + programs {
        let mut r = Random::of(seed);
        let m = 2 + r.below(3);
        let (mut body, mut rows) = (String::new(), Vec::new());
        for o in 0..1 + r.below(3) {
            let parts: Vec<(String, Vec<u64>)> =
                (0..1 + r.below(3)).map(|_| entry(&mut r, m)).collect();
            let texts: Vec<&str> = parts.iter().map(|p| p.0.as_str()).collect();
            body += &format!("reveal [{}] to Server as a{o};\n", texts.join(", "));
            rows.extend(parts.into_iter().map(|p| p.1));
        }
        let without = |i: u64| {
            let mut rows = rows.clone();
            rows.iter_mut().for_each(|row| row[i as usize] = 0);
            rank(rows)
        };
        let all = rank(rows.clone());
        let expected: BTreeSet<String> =
            (0..m).filter(|&i| without(i) < all).map(|i| format!("Client {i}")).collect();
        let found = said(m, &body);
        let named: BTreeSet<String> = found.iter().flat_map(|w| w.clients.clone()).collect();
        assert_eq!(named, expected, "seed {seed}\n{body}{found:#?}");
        let told = |name: &String| found.iter().any(|w| w.why.contains(name.as_str()));
        assert!(expected.iter().all(told), "seed {seed}\n{body}{found:#?}");
        telling += usize::from(!expected.is_empty());
        several += usize::from(expected.len() > 1);
    }
    assert!(programs < 100 || telling < programs as usize && several > 10, "{telling} {several}");
}
