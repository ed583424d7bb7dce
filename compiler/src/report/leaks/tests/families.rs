//! Random programs of the same kind as an attack, and harmless ones beside them: what is said of a leak is said of it in
//! any clothes, and not of what only looks like it.

use super::random::Random;
use super::{LeakKind, LeakWarning, found, leaks_in};
use std::collections::BTreeSet;

fn said(m: u64, more: &str, body: &str) -> Vec<LeakWarning> {
    let text = format!(
        "use std::{{abs, argsort, clamp, exp, log, max, median, rank, recip, relu, select, sqrt, sum, top_k}};\n\
         predicate Random[m]() {{ parties Client[m]; parties Server;\n\
         input x: secret fix in -8..8 from each Client; input y: secret fix in -8..8 from each Client;\n\
         input k: secret int in 0..100 from each Client; input b: secret bit from each Client;\n{more}\n\
         let id = [sum(1 for j in Client if j < i) for i in Client];\n{body} }}\n"
    );
    found(&text, &[("m", &m.to_string())])
}

fn pick<'a>(r: &mut Random, of: &[&'a str]) -> &'a str {
    of[r.below(of.len() as u64) as usize]
}

/// A value that tells z, or tells it where a bit is 1.
fn wrapped(r: &mut Random, z: &str) -> String {
    let around = pick(
        r,
        &[
            "relu(Z)",
            "abs(Z)",
            "(Z) * (Z)",
            "sqrt(abs(Z))",
            "log(1 + abs(Z))",
            "recip(1 + abs(Z))",
            "exp((Z) / -100)",
            "max([Z, 3])",
            "3 * (Z) - 1",
            "clamp(Z, 2, 1000)",
            "select(sum(k) > 9, Z, 0)",
            "select(sum(k) > 9, 7, Z)",
            "(sum(k) > 9) * (Z)",
        ],
    );
    around.replace('Z', z)
}

#[test]
fn packed_sums_are_found_behind_functions_and_choices() {
    let packed = [
        "iterate z = 0 for i in Client { 2 * z + b[i] }",
        "iterate z = 0 for i in Client { 100 * z + k[i] }",
        "sum(b[i] * (1 + id[i]) for i in Client)",
    ];
    for seed in 0..120 {
        let mut r = Random(seed);
        let inner =
            if seed % 2 == 0 { pick(&mut r, &packed) } else { pick(&mut r, &["sum(b)", "sum(k)"]) };
        let mut value = "z".to_string();
        for _ in 0..=r.below(2) {
            value = wrapped(&mut r, &value);
        }
        let m = if seed % 2 == 0 { 2 + r.below(2) } else { 5 };
        let body = format!("let z = {inner}; reveal {value} to Server as a;");
        let all = said(m, "", &body);
        let (warned, leak) = (!leaks_in(&all).is_empty(), seed % 2 == 0);
        assert_eq!(warned, leak, "seed {seed}, m = {m}: {body}\n{all:#?}");
    }
}

/// A bit of client i, of comparisons with different thresholds, numbered from `first`.
fn bit(r: &mut Random, first: u64) -> String {
    let atom = |k: u64| format!("(y[i] < {})", pick_threshold(k));
    let one = atom(first);
    match r.below(5) {
        0 => one,
        1 => format!("({one} && {})", atom(first + 1)),
        2 => format!("({one} || {})", atom(first + 1)),
        3 => format!("({one} != {})", atom(first + 1)),
        _ => format!("(!{one})"),
    }
}

fn pick_threshold(k: u64) -> String {
    if k % 4 < 2 { format!("{k}") } else { format!("{k} * mid") }
}

#[test]
fn several_bits_are_several_in_one_reveal_and_in_two() {
    for seed in 0..80 {
        let mut r = Random(seed);
        let first = bit(&mut r, 1 + seed % 3);
        let again = seed % 4 == 0;
        let second = if !again {
            bit(&mut r, 5 + seed % 3)
        } else if r.below(2) == 0 {
            first.clone()
        } else {
            format!("(!{first})")
        };
        let body = format!(
            "let mid = median(y); reveal [{first} for i in Client] to Server as a;\n\
             reveal [{second} for i in Client] to Server as c;"
        );
        let all = said(5, "", &body);
        let several = all.iter().any(|w| w.kind == LeakKind::SeveralBits);
        assert_eq!(several, !again, "seed {seed}: {body}\n{all:#?}");
    }
}

/// A factor, and what it may be for four clients.
struct Factor {
    text: &'static str,
    may_be: Vec<[bool; 4]>,
}

fn factors() -> Vec<Factor> {
    let all: Vec<[bool; 4]> = (0..16u32).map(|n| [0, 1, 2, 3].map(|i| n >> i & 1 == 1)).collect();
    let ones = |n: usize| -> Vec<[bool; 4]> {
        all.iter().copied().filter(|s| s.iter().filter(|x| **x).count() == n).collect()
    };
    let enough =
        all.iter().map(|s| if s.iter().filter(|x| **x).count() >= 2 { *s } else { [false; 4] });
    let of = |text, may_be| Factor { text, may_be };
    vec![
        of("b[i]", all.clone()),
        of("(b[i] && e)", enough.collect()),
        of("t[i]", ones(3)),
        of("(y[i] < 1)", all.clone()),
        of("y[i]", all.clone()),
        of("(id[i] < 2)", vec![[true, true, false, false]]),
        of("(id[i] != 1)", vec![[true, false, true, true]]),
        of("(1 + id[i])", vec![[true; 4]]),
    ]
}

/// Where one client may be all that is left of a sum, this is noted.
#[test]
fn sums_that_may_hold_one_client_are_noted() {
    let all = factors();
    let (mut may, mut never, mut silent) = (0, 0, 0);
    for seed in 0..200 {
        let mut r = Random(seed);
        let chosen: BTreeSet<usize> =
            (0..1 + r.below(3)).map(|_| r.below(all.len() as u64) as usize).collect();
        let mut order: Vec<&str> = chosen.iter().map(|&f| all[f].text).collect();
        order.insert(r.below(order.len() as u64 + 1) as usize, "x[i]");
        let shift = r.below(order.len() as u64) as usize;
        order.rotate_left(shift);
        let term = match &order[..] {
            [a, rest @ ..] if r.below(2) == 0 => format!("{a} * ({})", rest.join(" * ")),
            _ => order.join(" * "),
        };
        // Whose terms are left, for all that the factors may be: `b` and `y` are independent of one another.
        let mut left: BTreeSet<[bool; 4]> = [[true; 4]].into();
        for &f in &chosen {
            let both = |s: &[bool; 4]| {
                all[f].may_be.iter().map(|t| [0, 1, 2, 3].map(|i| s[i] && t[i])).collect::<Vec<_>>()
            };
            left = left.iter().flat_map(both).collect();
        }
        let one = left.iter().any(|s| s.iter().filter(|x| **x).count() == 1);
        let body = format!(
            "let e = sum(b) >= 2; let t = top_k[3](y); reveal sum({term} for i in Client) to Server as a;"
        );
        let found = said(4, "", &body);
        assert!(!one || !found.is_empty(), "seed {seed}: {body}");
        may += u32::from(one);
        never += u32::from(!one);
        silent += u32::from(found.is_empty());
    }
    assert!(may > 50 && never > 30 && silent > 20, "{may} {never} {silent}");
}

#[test]
fn weights_that_may_vanish_single_out_a_client() {
    let mut chosen = 0;
    for seed in 0..40 {
        let mut r = Random(seed);
        let strong = seed % 2 == 0;
        let m = 3 + r.below(3);
        let (fast, slow) = (["6", "10", "40"], ["0.1", "0.3", "0.5"]);
        let by = pick(&mut r, if strong { &fast } else { &slow });
        let term = match r.below(3) {
            0 => format!("y[i] * exp(-g[0] * {by} * id[i])"),
            1 => format!("y[i] * exp(g[1] * g[1] * {by} * -id[i])"),
            _ if strong => format!("y[i] / (1 + {by}0000 * abs(g[1]) * id[i])"),
            _ => format!("y[i] / (1 + {by} * abs(g[1]) * id[i])"),
        };
        let body = format!("reveal sum({term} for i in Client) to Server as a;");
        let all = said(m, "input g: public fix[2] in -2..2;", &body);
        // Where they vanish at most points, nobody has to choose one.
        let warned = !leaks_in(&all).is_empty();
        assert_eq!(warned, strong, "seed {seed}, m = {m}: {body}\n{all:#?}");
        chosen += u32::from(all.iter().any(|w| w.kind == LeakKind::Chosen));
    }
    assert!(chosen >= 5, "{chosen}");
}

#[test]
fn who_has_a_place_is_named_and_how_many_do_is_not() {
    for seed in 0..60 {
        let mut r = Random(seed);
        let m = 4 + r.below(5);
        let place = pick(
            &mut r,
            &["rank(y)", "rank([-y[i] for i in Client])", "rank([y[i] + x[i] for i in Client])"],
        );
        let k = r.below(m);
        let names = [
            format!("argsort(y)[{k}]"),
            format!("argsort([y[i] * x[i] for i in Client])[{k}] == 1"),
            format!("sum(select(p[i] == {k}, id[i], 0) for i in Client)"),
            format!("sum((p[i] < {k} + 1) * (3 + id[i]) for i in Client) < 9"),
            format!("max([(p[i] == {k}) * id[i] for i in Client])"),
        ];
        let counts = [
            format!("sum(p[i] < {k} for i in Client)"),
            format!("sum((p[i] == {k}) * 3 for i in Client)"),
            "sum(select(p[i] == 1, 5, 2) for i in Client)".to_string(),
        ];
        let named = seed % 2 == 0;
        let value = if named { &names[r.below(5) as usize] } else { &counts[r.below(3) as usize] };
        let body = format!(
            "let p = {place}; let s = argsort(y); let q = argsort([y[i] * x[i] for i in Client]); reveal {} to Server as a;",
            value.replace("argsort(y)", "s").replace("argsort([y[i] * x[i] for i in Client])", "q")
        );
        let all = said(m, "", &body);
        let warned = !leaks_in(&all).is_empty();
        assert_eq!(warned, named, "seed {seed}, m = {m}: {body}\n{all:#?}");
    }
}
