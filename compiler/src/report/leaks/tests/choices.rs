//! Choices by bits of single clients: what each tells, and what looks like it and tells nothing.

use super::{LeakKind, LeakWarning, Level, found, leaks_in};

fn text(body: &str) -> String {
    format!(
        "use std::{{flat, max, reshape, scatter, select, sign, sum}};\n\
         predicate Choice[m]() {{ parties Client[m]; parties Server;\n\
         input x: secret fix in -8..8 from each Client; input k: secret int in 0..10 from each Client;\n\
         let xs = reshape[m](flat([x[i] for i in Client])); let y = reshape[m](flat([k[i] for i in Client]));\n\
         {body} }}\n"
    )
}

fn said(body: &str) -> Vec<LeakWarning> {
    found(&text(body), &[("m", "4")])
}

/// Kinds of warnings, of whatever is revealed as `z`.
fn of_z(found: &[LeakWarning]) -> Vec<LeakKind> {
    let z = found.iter().filter(|w| w.reveals.iter().any(|r| r == "z"));
    z.filter(|w| w.level == Level::Warning).map(|w| w.kind).collect()
}

#[test]
fn a_choice_among_numbers_of_clients_says_which_client() {
    let largest = |x: &str, i: &str, over: &str| {
        format!(
            "let (h, a) = iterate (h = -8.0, a = 0) for {over} {{ (max([{x}, h]), select({x} > h, {i}, a)) }};"
        )
    };
    let of = |over: &str| largest("x[i]", "i", over);
    for body in [
        format!("{} reveal a to Server as z;", of("i in Client")),
        format!("{} reveal a to Server as z;", largest("xs[t]", "t", "t in m")),
        format!("{} reveal a to Server as z; reveal h to Server as w;", of("i in Client")),
        format!("{} reveal a == 2 to Server as z;", of("i in Client")),
        format!("{} reveal 3 * a + 1 to Server as z;", of("i in Client")),
        "reveal (iterate a = 0 for i in Client { select(x[i] > 3, i, a) }) to Server as z;".into(),
        "reveal (iterate a = 0 for i in Client { select(x[i] <= 3, a, i) }) to Server as z;".into(),
        "reveal (iterate a = 0 for i in Client { select(k[i] == 3, i + 7, a) }) to Server as z;".into(),
        "let mu = sum(x) / m; reveal (iterate a = 9 for i in Client { select(x[i] > mu, i, a) }) to Server as z;".into(),
        "reveal max([select(x[i] > 3, i, 0) for i in Client]) to Server as z;".into(),
    ] {
        let found = said(&body);
        assert!(!of_z(&found).is_empty(), "{body}: {found:#?}");
    }
}

#[test]
fn a_choice_that_does_not_tell_clients_apart_is_fine() {
    for body in [
        "reveal (iterate a = 0 for i in Client { select(x[i] > 3, 1, a) }) to Server as z;",
        "reveal (iterate a = 0 for i in Client { select(x[i] > 3, 2, select(x[i] > 1 && a < 2, 1, a)) }) to Server as z;",
        "reveal (iterate a = 0 for i in Client { select(x[i] > 3, a + 1, a) }) to Server as z;",
        "reveal sum(select(x[i] < -1, -1, select(x[i] > 1, 1, x[i])) for i in Client) to Server as z;",
        "reveal sum(select(x[i] < -1, 3, select(x[i] > 1, 5, 4)) for i in Client) to Server as z;",
        "reveal (iterate s = 0.0 for t in m { s + select(xs[t] < -1, -1, select(xs[t] > 1, 1, xs[t])) }) to Server as z;",
        "let s = sum(x); reveal select(s > 3, 1, select(s > 2, 2, select(s > 1, 3, 4))) to Server as z;",
        "reveal max([x[i] > 3 for i in Client]) to Server as z;",
    ] {
        let found = said(body);
        assert!(leaks_in(&found).is_empty(), "{body}: {found:#?}");
    }
}

#[test]
fn one_value_that_bits_choose_is_one_client_s() {
    for body in [
        "reveal (iterate w = 0.0 for i in Client { select(x[i] > 0, x[i], w) }) to Server as z;",
        "reveal (iterate w = 0.0 for i in Client { select(k[i] > 3, 2 * x[i], w) }) to Server as z;",
    ] {
        assert_eq!(of_z(&said(body)), [LeakKind::OneClient], "{body}: {:#?}", said(body));
    }
    let added = "let w = iterate w = 0.0 for i in Client { select(x[i] > 0, x[i], w) }; reveal w + sum(x) to Server as z;";
    assert!(!of_z(&said(added)).contains(&LeakKind::OneClient), "{:#?}", said(added));
}

#[test]
fn a_sum_that_one_client_s_bit_hides_is_noted() {
    let noted = |body: &str| said(body).iter().any(|w| w.kind == LeakKind::Selection);
    assert!(noted("reveal sum(xs) * (xs[0] > 0) to Server as z;"));
    assert!(!noted("reveal sum(xs) * (sum(xs) > 0) to Server as z;"));
}

#[test]
fn products_powers_and_placed_values_are_not_values_of_one_client() {
    for body in [
        "reveal (iterate s = 1.0 for i in Client { s * x[i] }) to Server as z;",
        "let o = [sum(x[j] for j in Client if j != i) for i in Client]; reveal o[i] to Client[i] as z;",
        "reveal sum(scatter[4]([0, 1, 3], [x[i], 2 * x[i], x[i]]) for i in Client) to Server as z;",
    ] {
        let found = said(body);
        assert!(leaks_in(&found).is_empty(), "{body}: {found:#?}");
    }
    for power in ["x[i]^2", "x[i]^3", "x[i] * x[i] * x[i] * x[i]"] {
        let body = format!("reveal sum({power} for i in Client) to Server as z;");
        assert!(said(&body).is_empty(), "{body}: {:#?}", said(&body));
    }
}
