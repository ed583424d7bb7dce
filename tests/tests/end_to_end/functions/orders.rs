//! Maxima, ranks, sorted entries, choices by them, and thresholds.

use super::{ULP, encoded, hold, numbers};
use slvr_tests::{Random, compile};

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
