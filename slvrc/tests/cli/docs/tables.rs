//! Tables that pages contain between `<!-- table NAME -->` and `<!-- end -->`.

use slvr_circuit::Circuit;
use slvr_circuit::traffic::Traffic;
use slvr_compiler::diagnostic::{self, render};
use slvr_compiler::pipeline;
use slvr_compiler::syntax::{Sources, embedded};
use slvr_compiler::types::{Checked, Options, check};
use std::fmt::Write;

/// A page with its tables computed; counts them.
pub fn filled(page: &str, count: &mut usize) -> String {
    let mut out = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once("<!-- table ") {
        let (name, body) = after.split_once(" -->\n").expect("a name");
        let (old, behind) = body.split_once("<!-- end -->").expect("an end");
        *count += 1;
        let new = super::figures::table(name, old).unwrap_or_else(|| table(name));
        let _ = write!(out, "{before}<!-- table {name} -->\n{new}<!-- end -->");
        rest = behind;
    }
    out + rest
}

fn table(name: &str) -> String {
    match name {
        "elements" => elements(),
        "sizes" => sizes(),
        "forms" => forms(),
        "codes" => codes(),
        _ => panic!("no table `{name}`"),
    }
}

fn codes() -> String {
    let mut out = String::from("| code | |\n|---|---|\n");
    for (code, title) in diagnostic::codes::ALL {
        let _ = writeln!(out, "| {code} | {title} |");
    }
    out
}

fn compile(text: &str, bindings: &[(&str, u64)]) -> Circuit {
    let mut sources = Sources::new();
    let file = sources.add("table.slvr", text);
    let mut bindings: Vec<(String, String)> =
        bindings.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    if text.contains("[M: model") {
        bindings.push(("M".into(), "DigitsNet".into()));
    }
    let options = Options { bindings, ..Options::default() };
    let fail = |d: &[_], s: &Sources| -> ! { panic!("{}\n{text}", render::render(d, s, false)) };
    let program = match check(&mut sources, file, &options, &mut embedded::Embedded) {
        Ok(Checked { program, .. }) => program,
        Err(d) => fail(&d, &sources),
    };
    match pipeline::compile(&program, &sources) {
        Ok(compiled) => compiled.circuit,
        Err(d) => fail(&d, &sources),
    }
}

/// Elements of every operand: a multiple of what makes shards even.
const N: u64 = 1 << 12;

/// One statement over vectors x, y, z of one client, numbers k of whole range 0..8, and a public p.
fn line(value: &str) -> Circuit {
    let names = "abs, argmax, cosine, exp, log, max, median, norm, recip, relu, select, sigmoid, \
                 softmax, sort, sqrt, sum, tanh, top_k";
    let (inputs, value) = value.split_once(": ").map_or(("xyz", value), |(i, v)| (i, v));
    let mut declared = String::new();
    for i in inputs.chars() {
        let (name, ty) = match i {
            'k' => ("k", "secret int[n] in 0..8"),
            'j' => ("j", "secret int[n] in 0..8"),
            'c' => ("c", "secret bit[n]"),
            'd' => ("d", "secret bit[n]"),
            'p' => ("p", "public fix[n] in -8..8"),
            'r' => ("r", "secret fix[n, q] in -8..8"),
            'x' => ("x", "secret fix[n] in -8..8"),
            'y' => ("y", "secret fix[n] in -8..8"),
            _ => ("z", "secret fix[n] in -8..8"),
        };
        let from = if ty.starts_with("secret") { " from Client" } else { "" };
        let _ = writeln!(declared, "    input {name}: {ty}{from};");
    }
    let (size, q) = if inputs.contains('r') { ("n, q", 10) } else { ("n", 0) };
    let text = format!(
        "use std::{{{names}}};\n\npredicate Line[{size}]() {{\n    parties Client;\n    \
         parties Server;\n{declared}    reveal {value} to Server as out;\n}}\n"
    );
    let bindings: &[(&str, u64)] = if q > 0 { &[("n", N), ("q", q)] } else { &[("n", N)] };
    compile(&text, bindings)
}

/// Rounds before the reveal, and bits sent by each party (mean) for each of `n` elements, the
/// reveal aside.
fn cost(circuit: &Circuit, n: u64) -> (usize, String) {
    let t = Traffic::of(circuit);
    let bytes: u64 = t.bytes.iter().zip(&t.revealed).map(|(all, r)| all - r).sum();
    let bits = (bytes * 8) as f64 / 3.0 / n as f64;
    let bits = if bits < 0.05 {
        "0".to_owned()
    } else if bits < 10.0 {
        format!("{bits:.1}")
    } else {
        format!("{bits:.0}")
    };
    (t.rounds - 1, bits)
}

/// What is done to each element of a vector.
fn elements() -> String {
    let rows: &[(&str, &str)] = &[
        ("xyp: 2 * x - y + p", "linear in secrets"),
        ("xy: sum(x[i] * y[i] for i in n)", "a sum of products, rounded and revealed"),
        ("cx: sum(c[i] * x[i] for i in n)", "a sum chosen by bits, revealed"),
        ("cx: [c[i] * x[i] for i in n]", "numbers chosen by bits, revealed"),
        ("xy: x * y", "a product of reals, rounded"),
        ("xyz: x * y * z", "two of them"),
        ("cd: c && d", "and of bits, revealed as a bit"),
        ("xy: x < y", "comparison"),
        ("x: x < 1", "comparison with a public number"),
        ("kj: k < j", "comparison of integers in 0..8"),
        ("kj: k == j", "equality of integers in 0..8"),
        ("xyz: select(x < y, y, z)", "comparison and choice"),
        ("x: relu(x)", "ReLU"),
        ("x: abs(x)", "absolute value"),
        ("x: exp(x)", "exponential"),
        ("x: recip(x)", "reciprocal"),
        ("xy: x / y", "division by secrets, one each"),
        ("xy: x / sum(y)", "division of all by one secret"),
        ("xp: x / p", "division by public inputs"),
        ("x: sqrt(x)", "square root"),
        ("x: log(x)", "logarithm"),
        ("x: tanh(x)", "hyperbolic tangent"),
        ("x: [sigmoid(x[i]) for i in n]", "logistic function"),
    ];
    let mut out = String::from("| revealed | | rounds | bits per element |\n|---|---|---|---|\n");
    for (value, about) in rows {
        let (rounds, bits) = cost(&line(value), N);
        let shown = value.split_once(": ").map_or(*value, |(_, v)| v).replace('|', "\\|");
        let _ = writeln!(out, "| `{shown}` | {about} | {rounds} | {bits} |");
    }
    out
}

/// What is done to rows of q numbers, per row.
fn sizes() -> String {
    let rows = [
        ("max(r[i])", "largest of a row"),
        ("argmax(r[i])", "its index"),
        ("argmax(r[i]) == 3", "is it entry 3"),
        ("softmax(r[i])", "all probabilities"),
        ("max(softmax(r[i]))", "the largest probability"),
        ("sort(r[i])", "a row in order"),
        ("median(r[i])", "its median"),
        ("top_k[2](r[i])", "its two largest, as bits"),
        ("norm(r[i])", "its length"),
    ];
    let qs = [4u64, 10, 40];
    let mut out = String::from("| of every row of q numbers | |");
    qs.iter().for_each(|q| _ = write!(out, " q = {q} |"));
    out += "\n|---|---|---|---|---|\n";
    const ROWS: u64 = 192;
    for (value, about) in rows {
        let _ = write!(out, "| `{value}` | {about} |");
        for q in qs {
            let name = value.split(['(', '[']).next().unwrap_or("");
            let also = if value.starts_with("max(s") { ", softmax" } else { "" };
            let text = format!(
                "use std::{{{name}{also}}};\n\npredicate Rows[n, q]() {{\n    parties Client;\n    \
                 parties Server;\n    input r: secret fix[n, q] in -8..8 from Client;\n    \
                 reveal [{value} for i in n] to Server as out;\n}}\n"
            );
            let (rounds, bits) = cost(&compile(&text, &[("n", ROWS), ("q", q)]), ROWS);
            let _ = write!(out, " {rounds} rounds, {bits} bits |");
        }
        out.push('\n');
    }
    out
}

/// The same said in two ways.
fn forms() -> String {
    let rows = [
        ("x: sqrt(x * x) < 3", "x: x * x < 9"),
        ("xy: x / y < 2", "xy: x < 2 * y"),
        ("r: [max(r[i]) < 1 for i in n]", "r: [max(r[i]) for i in n]"),
        ("x: select(x < 0, 0, x)", "x: relu(x)"),
        ("x: relu(x / 10)", "x: relu(x)"),
        ("xy: [x[i] / y[i] for i in n]", "xy: [x[i] * recip(y[0]) for i in n]"),
    ];
    let mut out =
        String::from("| written | rounds, bits | or | rounds, bits |\n|---|---|---|---|\n");
    for (a, b) in rows {
        let shown = |v: &'static str| v.split_once(": ").map_or(v, |(_, v)| v);
        let ((ra, ba), (rb, bb)) = (cost(&line(a), N), cost(&line(b), N));
        let _ = writeln!(out, "| `{}` | {ra}, {ba} | `{}` | {rb}, {bb} |", shown(a), shown(b));
    }
    out
}
