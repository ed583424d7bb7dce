//! Functions and order statistics, each in a small program: floating point, the graph after every
//! pass, ring arithmetic of graph and circuit, and three parties, with errors within what the macros
//! state. Operands are secret and public, random, at the edges of their domain and beyond.

use slvr_circuit::traffic::Traffic;
use slvr_circuit::{Circuit, From};
use slvr_compiler::analysis::stated::Stated;
use slvr_compiler::graph::domain;
use slvr_compiler::lower::Protocols;
use slvr_compiler::lower::stated::{DEALER, SYMMETRIC};
use slvr_compiler::pipeline::Options;
use slvr_runtime::share::encode::{Inputs, RawData, RawTensor};
use slvr_tests::{Case, Random, compile, compile_with};

const ULP: f64 = 1.0 / 65536.0;

/// The macros of family T1 alone, on words of 64 bits.
const MACROS: Options = Options {
    enforce: false,
    ring: Some(64),
    protocols: Protocols::Symmetric,
    memory: None,
    speculate: false,
    fine: slvr_compiler::pipeline::Fine::Nothing,
    security: slvr_circuit::Security::SemiHonest,
};

/// The reals that the ring holds for these.
fn encoded(x: &[f64]) -> Vec<f64> {
    x.iter().map(|x| (x / ULP).round_ties_even() * ULP).collect()
}

/// Random numbers, after some given ones; all as the ring holds them.
fn numbers(seed: u64, n: usize, edges: &[f64], draw: impl Fn(&mut Random) -> f64) -> Vec<f64> {
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let rest = n.saturating_sub(edges.len());
    let all: Vec<f64> = edges.iter().copied().chain((0..rest).map(|_| draw(&mut random))).collect();
    encoded(&all)
}

/// A magnitude between 2^lo and 2^hi, all orders alike.
fn spread(random: &mut Random, lo: f64, hi: f64) -> f64 {
    random.between(lo, hi).exp2()
}

/// Every input of a circuit by name; secret ones from the only member of their set.
fn inputs(circuit: &Circuit, given: &[(&str, &[f64])]) -> Inputs {
    let mut all = Inputs {
        public: Default::default(),
        sets: circuit.parties.iter().map(|_| Vec::new()).collect(),
    };
    for input in &circuit.inputs {
        let found = given.iter().find(|(name, _)| *name == input.name);
        let (_, x) = found.unwrap_or_else(|| panic!("no input {}", input.name));
        let real = matches!(input.encoding, slvr_circuit::Encoding::Fixed { .. });
        let data = if real {
            RawData::F64(x.to_vec())
        } else {
            RawData::I64(x.iter().map(|&x| x as i64).collect())
        };
        let tensor = RawTensor { shape: input.shape.clone(), data };
        match input.from {
            From::Public => drop(all.public.insert(input.name.clone(), tensor)),
            From::Each(set) => {
                let members = &mut all.sets[set as usize];
                if members.is_empty() {
                    members.push(Default::default());
                }
                members[0].insert(input.name.clone(), tensor);
            }
        }
    }
    all
}

/// Evaluates a program in all ways and holds every output against what is wanted: a value and the
/// error it may have, in the order of the outputs. The graph in floating point must agree with the
/// program after every pass, wherever both have a value.
fn hold(case: &Case, given: &[(&str, &[f64])], want: &[Vec<(f64, f64)>]) {
    let inputs = inputs(case.circuit(), given);
    let floating = case.floating(&inputs, &[]);
    slvr_compiler::passes::run(&case.compiled.graph, |pass, graph| {
        let after = case.graph_real(graph, &inputs, &[]);
        for (a, b) in floating.iter().flatten().zip(after.iter().flatten()) {
            let d = (a - b).abs() / a.abs().max(1.0);
            assert!(!a.is_finite() || d < 1e-9, "after {}: {a} became {b}", pass.name);
        }
    });
    let check = |what: &str, found: &[Vec<f64>]| {
        assert_eq!(found.len(), want.len(), "outputs");
        let mut worst: f64 = 0.0;
        for (o, (found, want)) in found.iter().zip(want).enumerate() {
            assert_eq!(found.len(), want.len(), "entries of output {o}");
            for (i, (x, (y, bound))) in found.iter().zip(want).enumerate() {
                let d = (x - y).abs();
                assert!(
                    d <= *bound,
                    "{what}, output {o}, entry {i}: {x} for {y}, off {d} > {bound}"
                );
                worst = worst.max(d / bound.max(1e-30));
            }
        }
        println!("{what}: worst error {worst:.2} of the bound");
    };
    check("graph in ring arithmetic", &case.graph_exact(&inputs, &[]));
    for seed in 0..3 {
        check("circuit", &case.circuit_clear(&inputs, &[], seed));
    }
    let report = case.parties(&inputs, 5);
    let parties: Vec<Vec<f64>> = report.outputs.iter().map(|o| o.values.clone()).collect();
    check("three parties", &parties);
    assert_eq!(report.rounds, case.circuit().rounds(), "rounds");
}

/// A program of one secret vector s and one public vector p.
fn program(names: &str, reveals: &str, n: usize) -> Case {
    let text = format!(
        "use std::{{{names}}};\npredicate F[n]() {{\n    parties Client;\n    parties Server;\n    \
         input s: secret fix[n] in -2000000000..2000000000 from Client;\n    \
         input p: public fix[n] in -2000000000..2000000000;\n{reveals}}}\n"
    );
    compile_with(&text, &[("n", &n.to_string())], MACROS)
}

/// One function of a secret and of a public number, within what is stated of its value.
fn function(name: &str, x: &[f64], value: impl Fn(f64) -> f64, stated: Stated, rounds: usize) {
    let reveals = format!(
        "    reveal {name}(s) to Server as of_secret;\n    reveal {name}(p) to Server as of_public;\n"
    );
    let case = program(name, &reveals, x.len());
    let want: Vec<(f64, f64)> =
        x.iter().map(|&x| (value(x), stated.of(value(x) / ULP) * ULP)).collect();
    hold(&case, &[("s", x), ("p", x)], &[want.clone(), want]);
    // The last round opens.
    assert_eq!(case.circuit().rounds(), rounds + 1, "rounds of {name}");
}

#[test]
fn exponential() {
    let edges = [0.0, ULP, -ULP, 1.0, -1.0, -11.9, -12.0, -12.1, -16.0, -18.2, -40.0, -1e6, 13.1];
    let top = f64::from(domain::EXP_TOP) * std::f64::consts::LN_2;
    // The last operand that does not saturate, and its neighbours.
    let last = (top / ULP).floor() * ULP;
    let beyond = [
        last - ULP,
        last,
        last + ULP,
        last + 2.0 * ULP,
        top + 0.01,
        top - 0.01,
        13.86,
        20.0,
        40.0,
        1e6,
        2e9,
        -2e9,
    ];
    let x = numbers(1, 300, &[&edges[..], &beyond].concat(), |r| r.between(-14.0, 21.0));
    function("exp", &x, domain::exp, SYMMETRIC.exp, 7);
}

/// Powers of two and what is next to them, of both signs if asked for.
fn powers(negative: bool) -> Vec<f64> {
    let next = |i: i32| [f64::from(i).exp2(), f64::from(i).exp2() + ULP, f64::from(i).exp2() - ULP];
    let all = (-16..31).flat_map(next);
    all.flat_map(|x| if negative { vec![x, -x] } else { vec![x] }).collect()
}

#[test]
fn reciprocal() {
    let edges = [10.0, 3.0, 7.25, 0.0, -1000.0, 15.0 * ULP, 17.0 * ULP, 1048575.9, 2e9, -2e9];
    let x = numbers(2, 500, &[&edges[..], &powers(true)].concat(), |r| {
        spread(r, -16.0, 30.0) * if r.unit() < 0.3 { -1.0 } else { 1.0 }
    });
    function("recip", &x, domain::recip, SYMMETRIC.recip, 34);
}

#[test]
fn square_root() {
    let edges = [0.0, 3.0 * ULP, 1e9, 2e9, -ULP, -1.0, -1e9];
    let x = numbers(3, 400, &[&edges[..], &powers(false)].concat(), |r| spread(r, -16.0, 30.8));
    function("sqrt", &x, domain::sqrt, SYMMETRIC.sqrt, 34);
}

#[test]
fn logarithm() {
    let edges = [1.0, 1.0 + ULP, 1.0 - ULP, 0.5, 2.0, 10.0, 1e9, ULP, 0.0, -ULP, -5.0];
    let x = numbers(4, 400, &[&edges[..], &powers(false)].concat(), |r| spread(r, -16.0, 30.8));
    function("log", &x, domain::log, SYMMETRIC.log, 31);
}

#[test]
fn hyperbolic_tangent() {
    let edges = [0.0, ULP, -ULP, 8.0 - ULP, 8.0, -8.0, ULP - 8.0, 6.2, -6.2, 40.0, 2e9, -2e9];
    let x = numbers(5, 400, &edges, |r| r.between(-9.0, 9.0));
    function("tanh", &x, f64::tanh, SYMMETRIC.tanh, 20);
}

/// Operands of a known small range: polynomials on pieces, whose sign is not looked at.
#[test]
fn hyperbolic_tangent_in_a_range() {
    const N: usize = 300;
    let text = "use std::{tanh};
predicate T[n]() {
    parties Client;
    parties Server;
    input s: secret fix[n] in -8..8 from Client;
    input p: public fix[n] in -8..8;
    reveal tanh(s) to Server as of_secret;
    reveal tanh(p) to Server as of_public;
    reveal tanh(3 * s) to Server as of_more;
}
";
    let net = slvr_compiler::cost::NetProfile::wan();
    let options = Options {
        enforce: false,
        protocols: Protocols::Dealer(net.tuning()),
        ..Options::default()
    };
    let case = compile_with(text, &[("n", &N.to_string())], options);
    let s = numbers(6, N, &[0.0, ULP, -ULP, 8.0, -8.0], |r| r.between(-8.0, 8.0));
    let of = |factor: f64| -> Vec<(f64, f64)> {
        let bound = DEALER.tanh.units * ULP;
        s.iter().map(|x| ((factor * x).tanh(), bound)).collect()
    };
    hold(&case, &[("s", &s), ("p", &s)], &[of(1.0), of(1.0), of(3.0)]);
    let report = case.parties(&inputs(case.circuit(), &[("s", &s), ("p", &s)]), 1);
    let traffic = Traffic::of(case.circuit());
    assert_eq!((report.rounds, report.bytes_sent), (traffic.rounds, traffic.bytes));
    let small = text.replace("    reveal tanh(3 * s) to Server as of_more;\n", "");
    let case = compile_with(&small, &[("n", &N.to_string())], options);
    assert_eq!(case.circuit().rounds(), 3, "dealt, exchanged, opened");
}

/// x / y for secret and public operands of either sign, and by a secret count.
#[test]
fn quotients() {
    const N: usize = 300;
    let text = "use std::{sum};
predicate Q[n, k]() {
    parties Client;
    parties Server;
    input x: secret fix[n] in -2000000000..2000000000 from Client;
    input y: secret fix[n] in -2000000000..2000000000 from Client;
    input p: public fix[n] in -2000000000..2000000000;
    input q: public fix[n] in -2000000000..2000000000;
    input b: secret bit[k] from Client;
    reveal x / y to Server as xy;
    reveal x / q to Server as xq;
    reveal p / y to Server as py;
    reveal p / q to Server as pq;
    reveal x / sum(b) to Server as mean;
}
";
    let case = compile_with(text, &[("n", &N.to_string()), ("k", "10")], MACROS);
    let edges = [1.0, -1.0, 0.0, ULP, -ULP, -15.0 * ULP, 17.0 * ULP, 1048575.0, -3.0, 2e9, -2e9];
    let y = numbers(11, N, &edges, |r| {
        spread(r, -16.0, 30.8) * if r.unit() < 0.5 { -1.0 } else { 1.0 }
    });
    // Dividends of all sizes, 0 and the ends by every edge.
    let mut random = Random::new(12);
    let special = [0.0, ULP, -ULP, 7.5, -2e9];
    let x: Vec<f64> = (0..N)
        .map(|i| match special.get(i % 7) {
            Some(&x) => x,
            None => spread(&mut random, -16.0, 30.8) * if i % 2 == 0 { -1.0 } else { 1.0 },
        })
        .collect();
    let x = encoded(&x);
    let y = (0..N).map(|i| if i % 11 < 3 { edges[(i / 11) % edges.len()] } else { y[i] });
    let y = encoded(&y.collect::<Vec<f64>>());
    let bound = |x: f64, y: f64| {
        let q = domain::div(x, y);
        (q, SYMMETRIC.div.of(q / ULP) * ULP)
    };
    for ones in [0, 1, 3, 7, 10] {
        let b: Vec<f64> = (0..10).map(|i| f64::from(i < ones)).collect();
        let each: Vec<(f64, f64)> = x.iter().zip(&y).map(|(&x, &y)| bound(x, y)).collect();
        let mean = x.iter().map(|&x| bound(x, f64::from(ones))).collect();
        let want = [each.clone(), each.clone(), each.clone(), each, mean];
        hold(&case, &[("x", &x), ("y", &y), ("p", &x), ("q", &y), ("b", &b)], &want);
    }
    assert_eq!(case.circuit().rounds(), 48, "rounds");
}

/// Functions and quotients of operands of declared ranges: words of 64 and of 128 bits, divisors that cannot be 0,
/// quotients that are cut, and operands of which positions are left out.
#[test]
fn declared_ranges() {
    const N: usize = 160;
    let ranges = [
        ("-100..100", "0..100"),
        ("0..1", "1..16"),
        ("-1000000..1000000", "-4..4"),
        ("1..1000000", "1..1000000"),
        ("-40000..40000", "0..0.001"),
        ("0..3", "-0.5..-0.0001"),
        ("-0.001..0.001", "-2000000000..2000000000"),
        ("1000000..2000000000", "3..2000000000"),
        ("-8..8", "-1000..-3"),
    ];
    let mut seed = 60;
    for (dividends, divisors) in ranges {
        println!("{dividends} by {divisors}");
        let text = format!(
            "use std::{{recip, sqrt, log}};
predicate Q[n]() {{
    parties Client;
    parties Server;
    input x: secret fix[n] in {dividends} from Client;
    input y: secret fix[n] in {divisors} from Client;
    input p: public fix[n] in {dividends};
    input q: public fix[n] in {divisors};
    reveal x / y to Server as xy;
    reveal x / q to Server as xq;
    reveal p / y to Server as py;
    reveal recip(y) to Server as one;
    reveal 1 / y to Server as quotient;
    reveal sqrt(x) to Server as root;
    reveal log(x) to Server as logarithm;
}}
"
        );
        let case = compile_with(
            &text,
            &[("n", &N.to_string())],
            Options { enforce: false, ..Options::default() },
        );
        let mut of = |range: &str| {
            let (lo, hi) = range.split_once("..").expect("a range");
            let (lo, hi): (f64, f64) =
                (lo.parse().expect("a number"), hi.parse().expect("a number"));
            let ends =
                [lo, hi, 0.0, ULP, -ULP, 2.0 * ULP, -3.0 * ULP, 1.0, -1.0, lo + ULP, hi - ULP];
            let most = lo.abs().max(hi.abs()).log2();
            seed += 1;
            let all = numbers(seed, N, &ends, |r| {
                spread(r, most.min(-4.0) - 12.0, most) * if r.unit() < 0.5 { -1.0 } else { 1.0 }
            });
            let (lo, hi) = ((lo / ULP).ceil() * ULP, (hi / ULP).floor() * ULP);
            let mut all: Vec<f64> = encoded(&all).into_iter().map(|x| x.clamp(lo, hi)).collect();
            // Each end meets every other one.
            all.rotate_right((seed % 13) as usize);
            encoded(&all)
        };
        let (x, y) = (of(dividends), of(divisors));
        let each = |f: &dyn Fn(f64, f64) -> f64, stated: Stated| -> Vec<(f64, f64)> {
            let one = |(&x, &y): (&f64, &f64)| (f(x, y), stated.of(f(x, y) / ULP) * ULP);
            x.iter().zip(&y).map(one).collect()
        };
        let quotient = each(&domain::div, SYMMETRIC.div);
        let want = [
            quotient.clone(),
            quotient.clone(),
            quotient,
            each(&|_, y| domain::recip(y), SYMMETRIC.recip),
            each(&|_, y| domain::div(1.0, y), SYMMETRIC.div),
            each(&|x, _| domain::sqrt(x), SYMMETRIC.sqrt),
            each(&|x, _| domain::log(x), SYMMETRIC.log),
        ];
        hold(&case, &[("x", &x), ("y", &y), ("p", &x), ("q", &y)], &want);
    }
}

/// Rows in random order, many with equal entries: all of row 0, pairs in the others.
fn rows(seed: u64, rows: usize, n: usize) -> Vec<f64> {
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let all: Vec<f64> = (0..rows * n)
        .map(|i| match i / n {
            0 => -1.5,
            r if r % 2 == 0 => (random.between(-3.0, 3.0)).floor() / 2.0,
            _ => random.between(-8.0, 8.0),
        })
        .collect();
    encoded(&all)
}

fn exactly(x: Vec<f64>) -> Vec<(f64, f64)> {
    x.into_iter().map(|x| (x, 0.0)).collect()
}

fn first_largest(row: &[f64]) -> f64 {
    (0..row.len()).fold(0, |best, i| if row[i] > row[best] { i } else { best }) as f64
}

/// Largest, smallest, first largest and sorted entries, of few (all pairs) and of more.
#[test]
fn order_of_rows() {
    for n in [1, 2, 3, 7, 16, 17, 33] {
        const ROWS: usize = 30;
        let body = |x: &str, name: &str| {
            format!(
                "    reveal [max({x}[i]) for i in k] to Server as largest_{name};
    reveal [min({x}[i]) for i in k] to Server as smallest_{name};
    reveal [argmax({x}[i]) for i in k] to Server as first_{name};
    reveal [sort({x}[i]) for i in k] to Server as sorted_{name};
    reveal abs({x}) to Server as size_{name};
    reveal [max({x}[i] * p[i]) for i in k] to Server as product_{name};
"
            )
        };
        let text = format!(
            "use std::{{abs, argmax, max, min, sort}};
predicate O[k, n]() {{
    parties Client;
    parties Server;
    input s: secret fix[k, n] in -8..8 from Client;
    input p: public fix[k, n] in -2000000000..2000000000;
{}{}}}
",
            body("s", "s"),
            body("p", "p")
        );
        let case = compile(&text, &[("n", &n.to_string()), ("k", &ROWS.to_string())]);
        let x = rows(100 + n as u64, ROWS, n);
        let each = |f: &dyn Fn(&[f64]) -> f64| x.chunks(n).map(f).collect::<Vec<f64>>();
        let sorted = x.chunks(n).flat_map(|row| {
            let mut row = row.to_vec();
            row.sort_by(f64::total_cmp);
            row
        });
        let largest = |row: &[f64]| row.iter().copied().fold(f64::MIN, f64::max);
        let products: Vec<f64> = x.iter().map(|x| x * x).collect();
        let one = [
            exactly(each(&largest)),
            exactly(each(&|row| row.iter().copied().fold(f64::MAX, f64::min))),
            exactly(each(&first_largest)),
            exactly(sorted.collect()),
            exactly(x.iter().map(|x| x.abs()).collect()),
            products.chunks(n).map(|row| (largest(row), ULP)).collect(),
        ];
        hold(&case, &[("s", &x), ("p", &x)], &[one.clone(), one].concat());
    }
}

/// Equality of integers, choices between bits and between numbers, by secret and public bits.
#[test]
fn equality_and_choice() {
    const N: usize = 240;
    let text = "use std::{select};
predicate E[n]() {
    parties Client;
    parties Server;
    input x: secret fix[n] in -8..8 from Client;
    input y: secret fix[n] in -8..8 from Client;
    input i: secret int[n] in -2000000000000..2000000000000 from Client;
    input j: secret int[n] in -2000000000000..2000000000000 from Client;
    input p: public fix[n] in -2000000000..2000000000;
    input q: public int[n] in -9000000000000..9000000000000;
    reveal [i[e] == j[e] for e in n] to Server as equal;
    reveal [i[e] != q[e] for e in n] to Server as differ;
    reveal [q[e] * 2 == q[e] + q[e] for e in n] to Server as always;
    reveal [select(x[e] < y[e], y[e] < 1.0, i[e] == q[e]) for e in n] to Server as bits;
    reveal [select(p[e] < 0.5, y[e] < 1.0, p[e] < 3.0) for e in n] to Server as mixed;
    reveal [select(x[e] < p[e], p[e], y[e]) for e in n] to Server as numbers;
}
";
    let case = compile(text, &[("n", &N.to_string())]);
    let pick =
        |r: &mut Random| r.between(-4.0, 4.0).floor() * if r.unit() < 0.5 { 1.0 } else { ULP };
    let x = numbers(21, N, &[0.0, ULP, -ULP, 8.0, -8.0], pick);
    let y = numbers(22, N, &[0.0, -ULP, -ULP, -8.0, -8.0], pick);
    let p = numbers(23, N, &[0.0, ULP, 0.0, 8.0, 8.0], pick);
    let whole =
        |r: &mut Random| r.between(-2.0, 2.0).floor() * if r.unit() < 0.5 { 1.0 } else { 4e11 };
    let i = numbers(24, N, &[0.0, 1e12, -1e12, 1.0, -1.0], whole);
    let j = numbers(25, N, &[0.0, 1e12, 1e12, -1.0, -1.0], whole);
    let q = numbers(26, N, &[0.0, -1e12, -1e12, 1.0, 0.0], whole);
    let all = |f: &dyn Fn(usize) -> f64| exactly((0..N).map(f).collect());
    let bit = f64::from;
    let want = [
        all(&|e| bit(i[e] == j[e])),
        all(&|e| bit(i[e] != q[e])),
        all(&|_| 1.0),
        all(&|e| bit(if x[e] < y[e] { y[e] < 1.0 } else { i[e] == q[e] })),
        all(&|e| bit(if p[e] < 0.5 { y[e] < 1.0 } else { p[e] < 3.0 })),
        all(&|e| if x[e] < p[e] { p[e] } else { y[e] }),
    ];
    let given: [(&str, &[f64]); 6] =
        [("x", &x), ("y", &y), ("p", &p), ("i", &i), ("j", &j), ("q", &q)];
    hold(&case, &given, &want);
}

/// Softmax, its largest entry, cross entropy and sigmoid.
#[test]
fn softmax_and_losses() {
    const ROWS: usize = 60;
    const N: usize = 10;
    let body = |x: &str, name: &str| {
        format!(
            "    reveal [max(softmax({x}[i])) for i in k] to Server as largest_{name};
    reveal [softmax({x}[i]) for i in k] to Server as all_{name};
    reveal [cross_entropy({x}[i], label[i]) for i in k] to Server as loss_{name};
    reveal [sigmoid({x}[i][0]) for i in k] to Server as sigmoid_{name};
"
        )
    };
    let text = format!(
        "use std::{{cross_entropy, max, sigmoid, softmax}};
predicate S[k, n]() {{
    parties Client;
    parties Server;
    input s: secret fix[k, n] in -40..40 from Client;
    input label: secret int[k] in 0..10 from Client;
    input p: public fix[k, n] in -2000000000..2000000000;
{}{}}}
",
        body("s", "s"),
        body("p", "p")
    );
    let case = compile(&text, &[("n", &N.to_string()), ("k", &ROWS.to_string())]);
    let mut random = Random::new(31);
    println!("seed 31");
    let z: Vec<f64> = (0..ROWS * N)
        .map(|i| match i / N {
            0 => 2.5,
            1 => f64::from(i as u32 % 2) * ULP,
            2 => f64::from(i as u32 % 10) * -4.0,
            r if r % 2 == 0 => random.between(-3.0, 3.0).floor(),
            _ => random.between(-15.0, 15.0),
        })
        .collect();
    let z = encoded(&z);
    let label: Vec<f64> = (0..ROWS).map(|i| f64::from(i as u32 % 10)).collect();
    let (mut largest, mut all, mut loss, mut sigmoid) = (vec![], vec![], vec![], vec![]);
    for (row, &label) in z.chunks(N).zip(&label) {
        let max = row.iter().copied().fold(f64::MIN, f64::max);
        let e: Vec<f64> = row.iter().map(|x| (x - max).exp()).collect();
        let sum: f64 = e.iter().sum();
        // Ten exponentials, each within 1.5 units and half a unit where it is cut.
        let off = 2.0 * ULP * N as f64;
        largest.push((1.0 / sum, 1.1 * ULP + off / (sum * sum)));
        all.extend(e.iter().map(|e| (e / sum, 4.0 * ULP + off * e / (sum * sum))));
        let nll = sum.ln() + max - row[label as usize];
        loss.push((nll, 2.0 * ULP + off / sum));
        let odds = domain::exp(-row[0]);
        sigmoid.push((1.0 / (1.0 + odds), 3.0 * ULP));
    }
    let one = [largest, all, loss, sigmoid];
    let given: [(&str, &[f64]); 3] = [("s", &z), ("p", &z), ("label", &label)];
    hold(&case, &given, &[one.clone(), one].concat());
    let count = |name: &str| {
        let g = &case.compiled.optimised;
        g.ids().filter(|&id| g.op(id).name() == name).count()
    };
    assert_eq!(count("recip"), 2, "the largest softmax is a reciprocal");
    assert_eq!((count("exp"), count("exp_non_positive")), (2, 2), "sigmoid, softmax");
}

/// Thresholds of maxima and of quotients compare and do not compute them.
#[test]
fn thresholds() {
    const ROWS: usize = 40;
    const N: usize = 6;
    let text = "use std::{abs, cosine, inf_norm, max, min, softmax};
predicate T[k, n](tau: fix = 0.3) {
    parties Client;
    parties Server;
    input s: secret fix[k, n] in -8..8 from Client;
    input p: public fix[n];
    reveal [inf_norm(s[i]) <= 2.5 for i in k] to Server as short;
    reveal [max(s[i]) > p[0] for i in k] to Server as high;
    reveal [min(s[i]) < s[i][1] for i in k] to Server as low;
    reveal [min(s[i]) >= -2.0 for i in k] to Server as bounded;
    reveal [cosine(s[i], p) >= tau for i in k] to Server as along;
    reveal [cosine(s[i], p) >= 0.0 for i in k] to Server as acute;
    reveal [max(softmax(s[i])) > 0.5 for i in k] to Server as confident;
}
";
    let case = compile(text, &[("n", &N.to_string()), ("k", &ROWS.to_string())]);
    let s: Vec<f64> = rows(41, ROWS, N).iter().map(|x| x / 2.0).collect();
    let s = encoded(&s);
    let p = numbers(42, N, &[], |r| r.between(-2.0, 2.0));
    let each = |f: &dyn Fn(&[f64]) -> bool| exactly(s.chunks(N).map(|r| f64::from(f(r))).collect());
    let max = |r: &[f64]| r.iter().copied().fold(f64::MIN, f64::max);
    let min = |r: &[f64]| r.iter().copied().fold(f64::MAX, f64::min);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let cosine = |r: &[f64]| dot(r, &p) / (dot(r, r) * dot(&p, &p)).sqrt();
    let odds = |r: &[f64]| r.iter().map(|x| (x - max(r)).exp()).sum::<f64>();
    // No row is so close that rounding decides.
    assert!(s.chunks(N).all(|r| (cosine(r) - 0.3).abs() > 1e-3 && cosine(r).abs() > 1e-3));
    assert!(s.chunks(N).all(|r| (odds(r) - 2.0).abs() > 1e-3));
    let want = [
        each(&|r| max(r) <= 2.5 && min(r) >= -2.5),
        each(&|r| max(r) > p[0]),
        each(&|r| min(r) < r[1]),
        each(&|r| min(r) >= -2.0),
        each(&|r| cosine(r) >= 0.3),
        each(&|r| cosine(r) >= 0.0),
        each(&|r| odds(r) < 2.0),
    ];
    hold(&case, &[("s", &s), ("p", &p)], &want);
    let g = &case.compiled.optimised;
    let quotient = |name| name == "div" || name == "recip";
    assert!(g.ids().all(|id| !quotient(g.op(id).name())), "no quotient is computed");
}

/// Windows that overlap or not, before and after a relu, of few and of many images.
#[test]
fn pooling() {
    let text = "
model Pool(x: fix[1, 6, 6]) -> fix[8] {
    conv: conv2d[1, 2, kernel = 1];

    x |> conv |> relu |> max_pool[3, stride = 2] |> flatten
}
model Plain(x: fix[1, 6, 6]) -> fix[18] {
    conv: conv2d[1, 2, kernel = 1];

    x |> conv |> max_pool[2] |> flatten
}
predicate P[n]() {
    parties Client;
    parties Server;
    input net: public weights Pool;
    input other: secret weights Plain in -2..2 from Client;
    input image: secret fix[n, 1, 6, 6] in -8..8 from Client;
    reveal [Pool(net, image[i]) for i in n] to Server as pooled;
    reveal [Plain(other, image[i]) for i in n] to Server as plain;
}
";
    let weights = [0.75, -1.25, 0.5, -0.125];
    for n in [4, 120] {
        let case = compile(text, &[("n", &n.to_string())]);
        let image = numbers(51, n * 36, &[1.0, 1.0, -1.0, 0.0], |r| r.between(-8.0, 8.0).floor());
        let (mut pooled, mut plain) = (Vec::new(), Vec::new());
        for x in image.chunks(36) {
            for c in 0..2 {
                let y: Vec<f64> = x.iter().map(|x| weights[c] * x + weights[2 + c]).collect();
                let window = |k: usize, stride: usize, side: usize| {
                    let y = &y;
                    let corner =
                        (0..side * side).map(move |w| (w / side * stride, w % side * stride));
                    corner.map(move |(r, c)| {
                        let all = (0..k * k).map(|i| y[(r + i / k) * 6 + c + i % k]);
                        all.fold(f64::MIN, f64::max)
                    })
                };
                pooled.extend(window(3, 2, 2).map(|m| (m.max(0.0), ULP)));
                plain.extend(window(2, 2, 3).map(|m| (m, ULP)));
            }
        }
        hold(&case, &[("net", &weights), ("other", &weights), ("image", &image)], &[pooled, plain]);
        // The relu is after the pooling: on a quarter of the values or less.
        let g = &case.compiled.optimised;
        let gate = g.ids().find(|&id| g.op(id).name() == "gate").expect("a relu");
        assert_eq!(g.elements(gate), n as u64 * 8);
    }
}

/// Normalisation by a secret and by a public variance: the reciprocal of a root.
#[test]
fn batch_norm() {
    let text = "
model Norm(x: fix[2, 2, 2]) -> fix[8] {
    norm: batch_norm[2];

    x |> norm |> flatten
}
predicate B[n]() {
    parties Client;
    parties Server;
    input net: public weights Norm;
    input own: secret weights Norm in -8..8 from Client;
    input image: secret fix[n, 2, 2, 2] in -8..8 from Client;
    reveal [Norm(net, image[i]) for i in n] to Server as a;
    reveal [Norm(own, image[i]) for i in n] to Server as b;
}
";
    let case = compile(text, &[("n", "40")]);
    // weight, bias, running_mean, running_var.
    let net = encoded(&[1.5, -0.75, 0.25, 1.0, 0.5, -1.0, 0.8, 3.0]);
    let image = numbers(61, 320, &[], |r| r.between(-8.0, 8.0));
    let one: Vec<(f64, f64)> = (image.iter().enumerate())
        .map(|(i, x)| {
            let c = i / 4 % 2;
            let y = (x - net[4 + c]) / (net[6 + c] + 1e-5).sqrt() * net[c] + net[2 + c];
            (y, 64.0 * ULP)
        })
        .collect();
    let given: [(&str, &[f64]); 3] = [("net", &net), ("own", &net), ("image", &image)];
    hold(&case, &given, &[one.clone(), one]);
}

/// What the documentation of each macro states, of full secret operands: rounds, and bits in all per
/// element where every element has its own.
#[test]
fn rounds_and_bits() {
    const N: usize = 3840;
    let table = [
        ("exp(s)", "exp", 8, Some(2218)),
        ("recip(s)", "recip", 34, Some(8545)),
        ("sqrt(s)", "sqrt", 34, Some(8979)),
        ("log(s)", "log", 31, Some(8691)),
        ("tanh(s)", "tanh", 20, None),
        ("s / s", "abs", 47, Some(20489)),
        ("abs(s)", "abs", 8, Some(629)),
        ("max([s[i] for i in 10])", "max", 11, None),
        ("max([s[i] for i in 17])", "max", 17, None),
        ("[s[i] for i in 10] |> argmax", "argmax", 11, None),
        ("[s[i] for i in 10] |> sort", "sort", 11, None),
        ("[s[i] for i in 10] |> softmax |> max", "max, softmax", 46, None),
    ];
    for (expression, names, rounds, bits) in table {
        let text = format!(
            "use std::{{{names}}};\npredicate F[n]() {{\n    parties Client;\n    parties Server;\n    \
             input s: secret fix[n] in -2000000000..2000000000 from Client;\n    reveal {expression} to Server as y;\n}}\n"
        );
        let case = {
            // Ranks and counts are compared on as many bits as they have.
            let ring = if expression.contains('[') { None } else { MACROS.ring };
            compile_with(&text, &[("n", &N.to_string())], Options { ring, ..MACROS })
        };
        let traffic = Traffic::of(case.circuit());
        // The last round opens.
        assert_eq!(traffic.rounds, rounds + 1, "rounds of {expression}");
        let sent: u64 = (0..3).map(|i| traffic.bytes[i] - traffic.revealed[i]).sum();
        if let Some(bits) = bits {
            assert_eq!(sent * 8, bits * N as u64, "bits of {expression}");
        }
    }
}

/// Family T2 where rounds count: a sign takes two, and nothing else of a maximum, of exponentials or of a
/// reciprocal more than one.
#[test]
fn rounds_of_the_dealer_style_family() {
    const N: usize = 30;
    let net = slvr_compiler::cost::NetProfile::wan();
    let options = Options {
        enforce: false,
        protocols: Protocols::Dealer(net.tuning()),
        ..Options::default()
    };
    // The dealing, the signs, the winners, whose choice is opened; or differences with it, their signs with the
    // exponentials, the sum, the reciprocal.
    for (expression, names, rounds) in
        [("max(s[i])", "max", 4), ("max(softmax(s[i]))", "max, softmax", 9)]
    {
        let text = format!(
            "use std::{{{names}}};\npredicate F[k, n]() {{\n    parties Client;\n    parties Server;\n    \
             input s: secret fix[k, n] in -100000..100000 from Client;\n    \
             reveal [{expression} for i in k] to Server as y;\n}}\n"
        );
        let case = compile_with(&text, &[("k", &N.to_string()), ("n", "10")], options);
        let mut random = Random::new(3);
        let s: Vec<f64> = (0..10 * N).map(|_| random.between(-8.0, 8.0)).collect();
        let s = encoded(&s);
        let report = case.parties(&inputs(case.circuit(), &[("s", &s)]), 1);
        let traffic = Traffic::of(case.circuit());
        assert_eq!((report.rounds, report.bytes_sent), (traffic.rounds, traffic.bytes));
        assert_eq!(traffic.rounds, rounds + 1, "rounds of {expression}");
        for (row, &word) in s.chunks(10).zip(&report.outputs[0].words.to_u128s()) {
            let most = row.iter().copied().fold(f64::MIN, f64::max);
            let sum: f64 = row.iter().map(|x| (x - most).exp()).sum();
            let (want, error) = if rounds == 4 { (most, 0.0) } else { (1.0 / sum, 18.0 * ULP) };
            let found = word as u64 as u32 as i32 as f64 * ULP;
            assert!((found - want).abs() <= error, "{found} is not {want}");
        }
    }
}

/// A client whose leave-one-out deviation is so small that no word holds its z-score is not kept: quotients saturate
/// with the right sign and never wrap.
#[test]
fn a_divisor_near_zero_keeps_no_attacker() {
    let text = "use std::{abs, select, sqrt, sum};
predicate Z[m]() {
    parties Client[m];
    parties Server;
    input s: secret fix in 0..100 from each Client;
    let mean = [sum(select(i == j, 0, s[j]) for j in Client) / (m - 1) for i in Client];
    let off = [[select(i == j, 0, s[j] - mean[i]) for j in Client] for i in Client];
    let deviation = [sqrt(sum(off[i][j] * off[i][j] for j in Client) / (m - 1)) for i in Client];
    reveal [abs((s[i] - mean[i]) / deviation[i]) < 3 for i in Client] to Server as kept;
    reveal [(s[i] - mean[i]) / deviation[i] > 3 for i in Client] to Server as above;
}
";
    let case = compile_with(text, &[("m", "5")], Options::default());
    let equal = 7.25;
    for s in [[3.0, 3.002, 2.999, 3.001, 24.0], [equal, equal, equal, equal, 0.0], [equal; 5]] {
        let one = |x: f64| {
            let tensor = RawTensor { shape: Vec::new(), data: RawData::F64(vec![x]) };
            [("s".to_string(), tensor)].into()
        };
        let clients = s.iter().map(|&x| one(x)).collect();
        let inputs =
            Inputs { public: Default::default(), sets: vec![clients, vec![Default::default()]] };
        // All are equal: 0 / 0 is 0, which is kept.
        let kept: Vec<f64> =
            s.iter().map(|&x| f64::from(x == s[0] || (x - 3.0).abs() < 0.1)).collect();
        let above: Vec<f64> = s.iter().map(|&x| f64::from(x == 24.0)).collect();
        let want = vec![kept, above];
        assert_eq!(case.floating(&inputs, &[]), want, "floating point");
        assert_eq!(case.graph_exact(&inputs, &[]), want, "the graph, exactly");
        assert_eq!(case.circuit_clear(&inputs, &[], 3), want, "the circuit");
        let report = case.parties(&inputs, 5);
        let parties: Vec<Vec<f64>> = report.outputs.iter().map(|o| o.values.clone()).collect();
        assert_eq!(parties, want, "three parties");
    }
}
