//! Loops that carry values: what they compute, what they cost, what is known of them and what is refused.

use slvr_circuit::Circuit;
use slvr_circuit::traffic::Traffic;
use slvr_compiler::report::certificate::Certificate;
use slvr_compiler::{cost, pipeline};
use slvr_tests::agree::hold;
use slvr_tests::{Case, attempt, compile, random_inputs};

/// A predicate with the statements given, for three clients with a vector and a number each.
fn predicate(items: &str, body: &str) -> String {
    format!(
        "use std::{{abs, max, min, norm, select, sqrt, sum}};\n\n{items}\n\
         predicate Loops[m, d]() {{\n    parties Client[m];\n    parties Server;\n\
         \x20   input x: secret fix[d] in -2..2 from each Client;\n\
         \x20   input a: secret fix in 0.5..4 from each Client;\n{body}\n}}\n"
    )
}

fn compiled(items: &str, body: &str) -> Case {
    compile(&predicate(items, body), &[("m", "3"), ("d", "2")])
}

/// Why a program is refused.
fn refusal(text: &str, bindings: &[(&str, &str)]) -> String {
    match attempt(text, bindings, pipeline::Options::default()) {
        Ok(_) => panic!("not refused:\n{text}"),
        Err(why) => why.text(),
    }
}

/// Rounds, bytes of each party, the most memory of each, and the number of instructions of each layer.
fn costs(circuit: &Circuit) -> (usize, [u64; 3], Vec<u64>, Vec<usize>) {
    let traffic = Traffic::of(circuit);
    let layers = circuit.layers.iter().map(|l| l.local.len() + l.exchange.len()).collect();
    (traffic.rounds, traffic.bytes, cost::peak_memory(circuit).to_vec(), layers)
}

#[test]
fn a_loop_costs_what_its_steps_written_out_cost() {
    let pairs = [
        (
            "let v = iterate v = [a[i] for i in Client] for t in 3 { [v[i] * v[i] / 4 + t for i in Client] };
             reveal v to Server as v;",
            "let v0 = [a[i] * a[i] / 4 + 0 for i in Client];
             let v1 = [v0[i] * v0[i] / 4 + 1 for i in Client];
             let v2 = [v1[i] * v1[i] / 4 + 2 for i in Client];
             reveal v2 to Server as v;",
        ),
        (
            "let w = iterate w = [0 for j in d] for i in 3 if i != 1 { step(w, plain(x)[i]) };
             reveal sum(w) to Server as w;",
            "let w1 = step([0 for j in d], plain(x)[0]);
             let w2 = step(w1, plain(x)[2]);
             reveal sum(w2) to Server as w;",
        ),
        (
            "let (p, q) = iterate (p = [a[i] for i in Client], q = 1) for t in 2 {
                 let s = [p[i] + q for i in Client];
                 (s, sum(s) / 8)
             };
             reveal p to Server as p;
             reveal q to Server as q;",
            "let p0 = [a[i] + 1 for i in Client];
             let q0 = sum(p0) / 8;
             let p1 = [p0[i] + q0 for i in Client];
             let q1 = sum(p1) / 8;
             reveal p1 to Server as p;
             reveal q1 to Server as q;",
        ),
    ];
    let items = "fn step[d](w: fix[d], x: fix[d]) -> fix[d] { select(norm(w) < 1, w + x, w) }
                 fn plain[n, d](x: fix[n, d]) -> fix[n, d] { x }";
    for (looped, written) in pairs {
        let (with, without) = (compiled(items, looped), compiled(items, written));
        assert_eq!(costs(with.circuit()), costs(without.circuit()), "{looped}");
        let inputs = random_inputs(with.circuit(), 5, 1.0);
        let found = with.circuit_clear(&inputs, &[], 3);
        assert_eq!(found, without.circuit_clear(&inputs, &[], 3), "{looped}");
    }
}

#[test]
fn loops_among_three_parties_are_those_in_floating_point() {
    let items = "\
fn clipped[n](x: fix[n], tau: fix) -> (fix[n], bit) {
    let size = norm(x);
    (x / max([size / tau, 1]), size > tau)
}
fn root(a: fix) -> fix {
    iterate y in 0.1..8 = 1 for t in 5 { (y + a / y) / 2 }
}
fn count(v: (fix, (fix[3], fix))) -> fix {
    v.0 + sum((v.1).0) + (v.1).1
}
";
    let bodies = [
        // A mean that no client moves far.
        "let v = iterate v: fix[d] in -2..2 = [0 for j in d] for t in 3 {
             v + sum(clipped(x[i] - v, 1).0 for i in Client) / m
         };
         reveal v to Server as v;",
        // A loop in a function, for each entry of a tensor.
        "reveal root(a) to Server as roots;
         reveal [root(abs(x[i][0]) + 0.5) for i in Client] to Server as others;",
        // Over the clients, with a condition; an integer becomes a real number, a public value a secret one.
        "let (most, who) = iterate (most = 0, who = 0) for i in Client if i != 0 {
             let more = a[i] > most;
             (select(more, a[i], most), select(more, 7, who) - more)
         };
         reveal (most, who) to Server as both;",
        // Steps within steps, bounds that depend on the outer step, no step at all, one carried bit.
        "reveal iterate q = sum(a) for t in 3 for u in 0..t { q / 2 + u } to Server as q;
         reveal iterate q = 1.5 for t in 0..0 { q * q + sum(a) } to Server as none;
         reveal iterate b = sum(a) > 6 for i in Client { b || a[i] > 3.5 } to Server as b;
         reveal iterate v = sum(a) / 8 for t in 2 { iterate w = v for u in t..2 { w * v } } to Server as v;",
        // Loops inside comprehensions, and comprehensions over steps.
        "reveal [iterate v = a[i] for t in 2 { v + sum(v * a[j] for j in Client if j != i) / 8 } for i in Client]
             to Server as v;
         reveal [iterate s = 0 for t in d { s + x[i][t] * sum(x[i][j] for j in 0..t + 1) } for i in Client]
             to Server as s;",
        // Tuples of tuples.
        "let t = (max(a), ([1, 2, 3], sum(a)));
         let (p, q) = (t.0, (t.1).1);
         reveal count(t) to Server as c;
         reveal (p, q, (t.1).0) to Server as parts;
         let flags = [clipped(x[i], 1).1 for i in Client];
         reveal flags to Server as flags;",
    ];
    for (k, body) in bodies.iter().enumerate() {
        let case = compiled(items, body);
        for seed in 0..4 {
            let inputs = random_inputs(case.circuit(), seed, 1.0);
            assert!(hold(&format!("loop {k}"), &case, &inputs, seed), "{body}: only zeros");
        }
    }
}

/// What a certificate says of the only reveal of a program.
/// Generators of which the inner one has another number of entries for each of the outer one, outside of reductions.
#[test]
fn uneven_generators_make_lists_of_what_counts() {
    let case = compiled(
        "",
        "    reveal [a[i] - a[j] for i in Client for j in Client if j == i + 1] to Server as next;
             reveal [a[i] + a[j] for i in Client for j in Client if j < i] to Server as pairs;
             reveal [[a[i] - a[j] + a[k] for j in Client for k in Client if k < j && k != i] for i in Client if i == 0]
                 to Server as inner;
             reveal [x[j][t] + a[i] for i in Client for j in Client if j >= i for t in d if t <= i] to Server as all;",
    );
    let inputs = random_inputs(case.circuit(), 5, 0.5);
    let of = |name: &str, i: usize| inputs.sets[0][i][name].data.to_f64();
    let (a, x) = (|i: usize| of("a", i)[0], |i: usize| of("x", i));
    let mut all = Vec::new();
    for i in 0..3 {
        for j in i..3 {
            all.extend((0..2).filter(|&t| t <= i).map(|t| x(j)[t] + a(i)));
        }
    }
    let want = [
        vec![a(0) - a(1), a(1) - a(2)],
        vec![a(1) + a(0), a(2) + a(0), a(2) + a(1)],
        vec![a(0) - a(2) + a(1)],
        all,
    ];
    let report = case.parties(&inputs, 4);
    let floating = case.floating(&inputs, &[]);
    for ((got, floating), want) in report.outputs.iter().zip(floating).zip(&want) {
        assert_eq!((got.values.len(), floating.len()), (want.len(), want.len()), "{}", got.name);
        for ((got, floating), want) in got.values.iter().zip(floating).zip(want) {
            assert!((got - want).abs() < 1e-4 && (floating - want).abs() < 1e-9, "{want}");
        }
    }
}

fn certificate(case: &Case) -> Certificate {
    let places = cost::places(&case.program, &case.compiled.optimised, &case.sources);
    Certificate::of(&case.compiled, &places)
}

#[test]
fn a_declared_range_holds_whatever_the_steps_do() {
    // Each step would make it eight times as large, or divides by what may be 0.
    for (step, lo, hi) in
        [("8 * v + a[i]", -3.0, 5.0), ("v / x[i][0]", -1.0, 1.0), ("sqrt(abs(v)) * 9", 0.25, 2.5)]
    {
        let body = format!(
            "reveal [iterate v in {lo}..{hi} = 9 * x[i][1] for t in 6 {{ {step} }} for i in Client] to Server as v;"
        );
        let case = compiled("", &body);
        let known = certificate(&case);
        let row = &known.error[0];
        assert!(row.range.0 >= lo && row.range.1 <= hi, "{step}: proven in {:?}", row.range);
        assert!(row.proven <= hi - lo + 1e-4, "{step}: off by {}", row.proven);
        let said = known.saturations.iter().filter(|s| s.function == "`v`").count();
        assert_eq!(said, 1, "{step}: {:?}", known.saturations);
        for seed in 0..6 {
            let inputs = random_inputs(case.circuit(), seed, 1.0);
            let report = case.parties(&inputs, seed);
            let found: Vec<f64> = report.outputs[0].values.clone();
            assert!(found.iter().all(|v| (lo..=hi).contains(v)), "{step}, seed {seed}: {found:?}");
            let floating = case.floating(&inputs, &[]);
            assert!(floating[0].iter().all(|v| (lo..=hi).contains(v)), "{step}: {floating:?}");
        }
    }
}

#[test]
fn a_constant_start_within_its_range_is_not_compared() {
    let of = |start: &str| {
        let body =
            format!("reveal iterate v in -8..8 = {start} for t in 0..0 {{ v }} to Server as v;");
        compiled("", &body).circuit().rounds()
    };
    assert!(of("1.5") < of("sum(a)"));
}

#[test]
fn what_grows_out_of_every_ring_is_named_with_a_range_that_helps() {
    let with = |range: &str| {
        let step = "(calm + 1, wild * wild + calm)";
        let looped = format!("(iterate (calm = 0, wild{range} = a[i]) for t in 30 {{ {step} }}).1");
        predicate("", &format!("    reveal [{looped} for i in Client] to Server as v;"))
    };
    let message = refusal(&with(""), &[("m", "2"), ("d", "1")]);
    assert!(message.contains("E0028"), "{message}");
    let advice = message.split("`wild in ").nth(1).unwrap_or_else(|| panic!("{message}"));
    let range = advice.split(" = ..`").next().expect("a range");
    assert!(!message.contains("`calm in "), "{message}");
    compile(&with(&format!(" in {range}")), &[("m", "2"), ("d", "1")]);
}

#[test]
fn all_carried_values_are_named_where_one_is_not_enough() {
    let text = predicate(
        "",
        "let v = iterate v = sum(a) for t in 30 { v * v };
         let w = iterate w = sum(a) for t in 30 { w * w };
         reveal v + w to Server as v;",
    );
    let message = refusal(&text, &[("m", "2"), ("d", "1")]);
    assert!(message.contains("`v in ") && message.contains("and `w in "), "{message}");
}

#[test]
fn a_hundred_steps_are_checked_once() {
    // A step whose text is long: as many variables as for one step.
    let of = |steps: u64| {
        let body = format!(
            "reveal iterate v: fix[d] in -2..2 = [0 for j in d] for t in {steps} {{
                 let near = [norm(x[i] - v) for i in Client];
                 let size = max(near);
                 v + sum(select(near[i] < size, x[i], v) for i in Client) / 64
             }} to Server as v;"
        );
        compiled("", &body).program.vars.len()
    };
    assert_eq!(of(1), of(100));
}

/// What is known of a step follows from what it does. Names in backticks may look like those that the compiler gives to what
/// keeps a carried value in its range.
#[test]
fn a_name_says_nothing_of_a_value() {
    let of = |name: &str| {
        compiled(
            "",
            &format!(
                "let `{name}` = [select(a[i] < 2, x[i, 0], x[i, 1]) for i in Client];
                 reveal sum(sqrt(`{name}`[i] + 1) for i in Client) to Server as s;"
            ),
        )
    };
    for (name, plain) in [("v kept in 4", "v held in 4"), ("v beside 4", "v before 4")] {
        let (named, other) = (of(name), of(plain));
        let text = |case: &Case| slvr_compiler::graph::text::print(&case.compiled.optimised);
        assert_eq!(text(&named).replace(name, plain), text(&other), "{name}");
        assert!(named.compiled.optimised.sites.iter().all(|site| site.range.is_none()), "{name}");
        let told = |case: &Case| {
            let found = slvr_compiler::report::leaks::leaks(
                &case.program,
                &case.compiled.optimised,
                case.circuit(),
            );
            serde_json::to_string(&found).expect("JSON").replace(name, plain)
        };
        assert_eq!(told(&named), told(&other), "{name}");
    }
}
