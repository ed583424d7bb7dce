//! Tables that pages contain between `<!-- table NAME -->` and `<!-- end -->`.

use slvr_circuit::Circuit;
use slvr_circuit::traffic::Traffic;
use slvr_compiler::diagnostic::{codes, render};
use slvr_compiler::pipeline;
use slvr_compiler::source::Sources;
use slvr_compiler::syntax::embedded;
use slvr_compiler::types::{Checked, Options, check};
use slvr_simulation::lab::attacks::Attack;
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
        "attacks" => attacks(),
        "codes" => codes(),
        _ => panic!("no table `{name}`"),
    }
}

fn codes() -> String {
    let mut out = String::from("| code | rule |\n|---|---|\n");
    for (code, rule) in codes::ALL {
        let _ = writeln!(out, "| {code} | {rule} |");
    }
    out
}

fn attacks() -> String {
    let mut out = String::from(
        "| name | what the malicious do | source | made for checks in which this decides |\n|---|---|---|---|\n",
    );
    for Attack { name, about, source, against, .. } in Attack::ALL {
        let _ = writeln!(out, "| `{name}` | {about} | {source} | {against} |");
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
    let names = "exp, log, recip, relu, select, sigmoid, sqrt, sum, tanh";
    let (inputs, value) = value.split_once(": ").map_or(("xyz", value), |(i, v)| (i, v));
    let mut declared = String::new();
    for i in inputs.chars() {
        let (name, ty) = match i {
            'k' => ("k", "secret int[n] in 0..8"),
            'j' => ("j", "secret int[n] in 0..8"),
            'c' => ("c", "secret bit[n]"),
            'd' => ("d", "secret bit[n]"),
            'p' => ("p", "public fix[n] in -8..8"),
            'x' => ("x", "secret fix[n] in -8..8"),
            'y' => ("y", "secret fix[n] in -8..8"),
            _ => ("z", "secret fix[n] in -8..8"),
        };
        let from = if ty.starts_with("secret") { " from Client" } else { "" };
        let _ = writeln!(declared, "    input {name}: {ty}{from};");
    }
    let text = format!(
        "use std::{{{names}}};\n\npredicate Line[n]() {{\n    parties Client;\n    \
         parties Server;\n{declared}    reveal {value} to Server as out;\n}}\n"
    );
    compile(&text, &[("n", N)])
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
    let rows = [
        "xyp: 2 * x - y + p",
        "xy: sum(x[i] * y[i] for i in n)",
        "cx: sum(c[i] * x[i] for i in n)",
        "cx: [c[i] * x[i] for i in n]",
        "xy: x * y",
        "cd: c && d",
        "xy: x < y",
        "kj: k < j",
        "xyz: select(x < y, y, z)",
        "x: relu(x)",
        "x: exp(x)",
        "x: recip(x)",
        "xy: x / y",
        "xy: x / sum(y)",
        "xp: x / p",
        "x: sqrt(x)",
        "x: recip(sqrt(relu(x) + 0.01))",
        "x: log(x)",
        "x: tanh(x)",
        "x: [sigmoid(x[i]) for i in n]",
    ];
    let mut out = String::from("| revealed | rounds | bits per element |\n|---|---|---|\n");
    for value in rows {
        let (rounds, bits) = cost(&line(value), N);
        let shown = value.split_once(": ").map_or(value, |(_, v)| v).replace('|', "\\|");
        let _ = writeln!(out, "| `{shown}` | {rounds} | {bits} |");
    }
    out
}

/// What is done to rows of q numbers, per row.
fn sizes() -> String {
    let rows = [
        "max(r[i])",
        "argmax(r[i])",
        "argmax(r[i]) == 3",
        "softmax(r[i])",
        "max(softmax(r[i]))",
        "sort(r[i])",
        "median(r[i])",
        "top_k[2](r[i])",
        "norm(r[i])",
    ];
    let qs = [10u64, 40];
    let mut out = String::from("| of every row of q numbers |");
    qs.iter().for_each(|q| _ = write!(out, " q = {q}: rounds | bits |"));
    out += "\n|---|---|---|---|---|\n";
    const ROWS: u64 = 192;
    for value in rows {
        let _ = write!(out, "| `{value}` |");
        for q in qs {
            let name = value.split(['(', '[']).next().unwrap_or("");
            let also = if value.starts_with("max(s") { ", softmax" } else { "" };
            let text = format!(
                "use std::{{{name}{also}}};\n\npredicate Rows[n, q]() {{\n    parties Client;\n    \
                 parties Server;\n    input r: secret fix[n, q] in -8..8 from Client;\n    \
                 reveal [{value} for i in n] to Server as out;\n}}\n"
            );
            let (rounds, bits) = cost(&compile(&text, &[("n", ROWS), ("q", q)]), ROWS);
            let _ = write!(out, " {rounds} | {bits} |");
        }
        out.push('\n');
    }
    out
}
