//! Functions of one number, and quotients, within what is stated of them.

use super::{MACROS, ULP, encoded, function, hold, inputs, numbers, spread};
use slvr_circuit::traffic::Traffic;
use slvr_compiler::analysis::stated::{Function, Stated};
use slvr_compiler::graph::domain;
use slvr_compiler::lower::stated::STATED;
use slvr_compiler::lower::{Family, Target};
use slvr_compiler::pipeline::Options;
use slvr_runtime::share::encode::{Inputs, RawData, RawTensor};
use slvr_tests::long::slice;
use slvr_tests::{Random, attempt, compile_with};

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
    function("exp", &x, domain::exp, STATED.of(Function::Exp), 7);
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
    function("recip", &x, domain::recip, STATED.of(Function::Recip), 34);
}

#[test]
fn square_root() {
    let edges = [0.0, 3.0 * ULP, 1e9, 2e9, -ULP, -1.0, -1e9];
    let x = numbers(3, 400, &[&edges[..], &powers(false)].concat(), |r| spread(r, -16.0, 30.8));
    function("sqrt", &x, domain::sqrt, STATED.of(Function::Sqrt), 34);
}

/// An eps is kept where what it is added to is 0, however small it is, and where it is not known what that is. What is too
/// small for its fraction bits has the end of reciprocals.
#[test]
fn reciprocals_of_roots_keep_what_is_added() {
    let values = [0.0, 1.0 / 4096.0, 0.25, 1.0];
    for (of, range) in [("x", "0..1"), ("relu(x)", "-1..1"), ("x * x", "-1..1"), ("x", "-1..1")] {
        for eps in ["0.001", "0.000001", "0.000000001", "0.000000000001"] {
            let text = format!(
                "use std::{{recip, relu, sqrt}};\npredicate E[n]() {{ parties Client; parties Server;\n\
                 input x: secret fix[n] in {range} from Client;\n\
                 reveal recip(sqrt({of} + {eps})) to Server as y; }}\n"
            );
            let case = compile_with(&text, &[("n", &values.len().to_string())], MACROS);
            let inputs = inputs(case.circuit(), &[("x", &values)]);
            let report = case.parties(&inputs, 3);
            let all = [case.graph_exact(&inputs, &[]).remove(0), report.outputs[0].values.clone()];
            let wanted = case.floating(&inputs, &[]).remove(0);
            for (found, of_x) in all.iter().flat_map(|found| found.iter().zip(&wanted)) {
                let off = (found - of_x).abs() / of_x;
                assert!(off < 1.0 / 512.0, "{of} in {range}, eps {eps}: {found}, not {of_x}");
            }
        }
    }
    let text = "use std::{recip, relu, sqrt};\npredicate E() { parties Client; parties Server;\n\
         input x: secret fix in -8..8 from Client;\nlet b = relu(x) + 0.0001;\n\
         reveal recip(sqrt(b * b * b * b)) to Server as y; }\n";
    let case = compile_with(text, &[], MACROS);
    let inputs = inputs(case.circuit(), &[("x", &[0.0])]);
    let end = domain::recip(0.0);
    assert_eq!(case.parties(&inputs, 3).outputs[0].values, [end]);
}

#[test]
fn logarithm() {
    let edges = [1.0, 1.0 + ULP, 1.0 - ULP, 0.5, 2.0, 10.0, 1e9, ULP, 0.0, -ULP, -5.0];
    let x = numbers(4, 400, &[&edges[..], &powers(false)].concat(), |r| spread(r, -16.0, 30.8));
    function("log", &x, domain::log, STATED.of(Function::Log), 31);
}

#[test]
fn hyperbolic_tangent() {
    let edges = [0.0, ULP, -ULP, 8.0 - ULP, 8.0, -8.0, ULP - 8.0, 6.2, -6.2, 40.0, 2e9, -2e9];
    let x = numbers(5, 400, &edges, |r| r.between(-9.0, 9.0));
    function("tanh", &x, f64::tanh, STATED.of(Function::Tanh), 20);
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
        target: Target::SemiHonest(Family::T2(net.tuning())),
        ..Options::default()
    };
    let case = compile_with(text, &[("n", &N.to_string())], options);
    let s = numbers(6, N, &[0.0, ULP, -ULP, 8.0, -8.0], |r| r.between(-8.0, 8.0));
    let of = |factor: f64| -> Vec<(f64, f64)> {
        let bound = STATED.of(Function::Tanh).units * ULP;
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
        (q, STATED.div.of(q / ULP) * ULP)
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
        let quotient = each(&domain::div, STATED.div);
        let want = [
            quotient.clone(),
            quotient.clone(),
            quotient,
            each(&|_, y| domain::recip(y), STATED.of(Function::Recip)),
            each(&|_, y| domain::div(1.0, y), STATED.div),
            each(&|x, _| domain::sqrt(x), STATED.of(Function::Sqrt)),
            each(&|x, _| domain::log(x), STATED.of(Function::Log)),
        ];
        hold(&case, &[("x", &x), ("y", &y), ("p", &x), ("q", &y)], &want);
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

/// Functions and quotients of operands of any shape and range compile on every network: of few elements and of so many
/// that shards are cut between clients, repeated along either axis, public or secret, with one position of the top bit
/// or many.
#[test]
fn operands_of_any_shape_and_range_compile() {
    use slvr_compiler::cost::NetProfile;
    const RANGES: [(&str, &str); 10] = [
        ("1", "1.5"),
        ("0.5", "0.75"),
        ("-3", "-2"),
        ("0", "0"),
        ("3", "3"),
        ("0", "1"),
        ("-8", "8"),
        ("0.001", "1000"),
        ("-0.0000001", "0.0000001"),
        ("-100000", "100000"),
    ];
    // Entry i of client j: of a client's vector, of one vector for all, of a client's number, and of one number.
    const ENTRIES: [&str; 6] = ["x[j][i]", "w[i]", "s[j]", "t", "p[i]", "3"];
    for seed in slice(40) {
        let mut random = Random::new(seed);
        let mut pick = |n: usize| random.between(0.0, n as f64) as usize;
        let (lo, hi) = RANGES[pick(RANGES.len())];
        let (x, y) = (ENTRIES[pick(6)], ENTRIES[pick(5)]);
        let value = match pick(6) {
            0 => format!("recip({y})"),
            1 => format!("sqrt({y})"),
            2 => format!("log({y})"),
            _ => format!("{x} / {y}"),
        };
        let d = ["1", "7", "6000"][pick(3)];
        let net = &[NetProfile::loopback(), NetProfile::lan(), NetProfile::wan()][pick(3)];
        let text = format!(
            "use std::{{log, recip, sqrt}};
predicate Any[m, d]() {{
    parties Client[m];
    parties Server;
    input x: secret fix[d] in {lo}..{hi} from each Client;
    input s: secret fix in {lo}..{hi} from each Client;
    input w: secret fix[d] in {lo}..{hi} from Server;
    input t: secret fix in {lo}..{hi} from Server;
    input p: public fix[d] in 1..2;
    reveal [[{value} for i in d] for j in Client] to Server as all;
}}
"
        );
        println!("seed {seed}: d = {d}, {value} in {lo}..{hi}, {}", net.name);
        let target = Target::SemiHonest(Family::T2(net.tuning()));
        let how = Options { target, ..Options::default() };
        // Some are refused; none panics.
        let _ = attempt(&text, &[("m", "3"), ("d", d)], how);
    }
}
