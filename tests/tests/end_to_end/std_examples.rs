//! The examples of the library's functions and of layers hold: in floating point, in the circuit's
//! arithmetic and among three parties. Literal operands of a function become inputs, once secret and
//! once public, so that nothing is computed when the program is built.

use slvr_circuit::traffic::Traffic;
use slvr_circuit::{Encoding, From};
use slvr_compiler::analysis::cuts;
use slvr_compiler::ide::doc::examples::{self, ABOUT, LayerExample};
use slvr_compiler::ide::library;
use slvr_compiler::syntax::ast::{Expr, ExprKind, FileId, ItemKind, Secrecy, TypeKind, UnaryOp};
use slvr_compiler::syntax::parse;
use slvr_runtime::share::encode::{Inputs, RawData, RawTensor};
use slvr_tests::{Case, compile};
use std::collections::BTreeMap;

/// A tensor as written: `3`, `[1, -2.5]`, `[[1, 2], [3, 4]]`.
#[derive(Clone, Debug, Default, PartialEq)]
struct Literal {
    shape: Vec<u64>,
    data: Vec<f64>,
}

impl Literal {
    fn of(e: &Expr) -> Option<Literal> {
        let number = |x: f64| Some(Literal { shape: vec![], data: vec![x] });
        match &e.kind {
            ExprKind::Int(i) => number(*i as f64),
            ExprKind::Real(text) => number(text.parse().ok()?),
            ExprKind::Unary(UnaryOp::Neg, a) => {
                let Literal { shape, data } = Literal::of(a)?;
                Some(Literal { shape, data: data.iter().map(|x| -x).collect() })
            }
            ExprKind::List(all) => {
                let all: Vec<Literal> = all.iter().map(Literal::of).collect::<Option<_>>()?;
                let first = all.first()?.shape.clone();
                assert!(all.iter().all(|l| l.shape == first), "rows of one length");
                let shape = [&[all.len() as u64], first.as_slice()].concat();
                Some(Literal { shape, data: all.into_iter().flat_map(|l| l.data).collect() })
            }
            _ => None,
        }
    }

    fn parse(text: &str) -> Literal {
        Literal::of(&expr(text).1).unwrap_or_else(|| panic!("{text} is no tensor"))
    }

    /// `fix[2, 3]`.
    fn ty(&self, base: &str) -> String {
        let dims: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        if dims.is_empty() { base.to_owned() } else { format!("{base}[{}]", dims.join(", ")) }
    }
}

/// An expression, with the text that its spans point into.
fn expr(text: &str) -> (String, Expr) {
    let text = format!("const X = {text};");
    let (file, errors) = parse(FileId(0), &text);
    assert!(errors.is_empty(), "{text}: {errors:?}");
    match file.items.into_iter().next().map(|i| i.kind) {
        Some(ItemKind::Const { value, .. }) => (text, value),
        other => panic!("{text}: {other:?}"),
    }
}

/// One example: a call, what it gives, and how far off that may be.
struct Example {
    call: String,
    want: Literal,
    about: bool,
}

fn example(text: &str) -> Example {
    let about = text.contains(" ≈ ");
    let (call, want) = text
        .split_once(if about { " ≈ " } else { " == " })
        .unwrap_or_else(|| panic!("{text} is no example"));
    Example { call: call.to_owned(), want: Literal::parse(want), about }
}

/// Evaluates a program in every way; output `o` is what example `o` says.
fn hold(case: &Case, inputs: &Inputs, wanted: &[Example]) {
    let report = case.parties(inputs, 7);
    let traffic = Traffic::of(case.circuit());
    assert_eq!((report.rounds, report.bytes_sent), (traffic.rounds, traffic.bytes));
    let reached = cuts::reached(&case.compiled.optimised, &case.compiled.ranges.raw);
    // Its `eps` is an input here, which may be 0: the reciprocal of a root is as large as numbers get then.
    let any = wanted[0].call.starts_with("standardised(");
    assert!(reached.is_empty() || any, "{}: a value is cut", wanted[0].call);
    let parties = report.outputs.iter().map(|o| o.values.clone()).collect();
    for (how, found) in [
        ("floating point", case.floating(inputs, &[])),
        ("graph in ring arithmetic", case.graph_exact(inputs, &[])),
        ("circuit in the clear", case.circuit_clear(inputs, &[], 3)),
        ("three parties", parties),
    ] {
        assert_eq!(found.len(), wanted.len());
        for (found, e) in found.iter().zip(wanted) {
            assert_eq!(found.len(), e.want.data.len(), "{}, {how}: {found:?}", e.call);
            for (x, y) in found.iter().zip(&e.want.data) {
                let most = if e.about { ABOUT * y.abs().max(1.0) } else { 0.0 };
                let off = (x - y).abs();
                assert!(off <= most, "{}, {how}: {found:?}, not {:?}", e.call, e.want.data);
            }
        }
    }
}

/// Inputs by name, secret ones from the only client.
fn inputs(case: &Case, given: &BTreeMap<String, Literal>) -> Inputs {
    let mut client = BTreeMap::new();
    let mut public = BTreeMap::new();
    for input in &case.circuit().inputs {
        let Literal { data, .. } = &given[&input.name];
        let data = match input.encoding {
            Encoding::Fixed { .. } => RawData::F64(data.clone()),
            _ => RawData::I64(data.iter().map(|x| *x as i64).collect()),
        };
        let to = if input.from == From::Public { &mut public } else { &mut client };
        to.insert(input.name.clone(), RawTensor { shape: input.shape.clone(), data });
    }
    let sets = vec![if client.is_empty() { vec![] } else { vec![client] }, vec![]];
    Inputs { public, sets }
}

/// Holds the examples of one function, their operands secret or public.
fn function(item: slvr_compiler::ide::library::LibraryItem, secrecy: &str) {
    let name = &item.name.name;
    let ItemKind::Fn(f) = &item.item.kind else { panic!("{name} is no function") };
    let mut given = BTreeMap::new();
    let (mut declared, mut reveals) = (String::new(), String::new());
    let mut wanted = Vec::new();
    for (k, text) in examples::of(item).into_iter().enumerate() {
        let e = example(text);
        let (source, call) = expr(&e.call);
        // A part of a tuple that the function gives.
        let (call, part) = match call.kind {
            ExprKind::Part(call, part) => (*call, format!(".{part}")),
            _ => (call, String::new()),
        };
        let ExprKind::Call(callee, args) = &call.kind else { panic!("{text}: no call") };
        let called = &source[callee.span.range()];
        assert_eq!(called.split('[').next(), Some(name.as_str()), "{text} is of another function");
        let mut names = Vec::new();
        for (a, (arg, param)) in args.iter().zip(&f.params).enumerate() {
            let value = Literal::of(arg).unwrap_or_else(|| panic!("{text}: operands are numbers"));
            let base = match param.ty.as_ref().map(|t| &t.kind) {
                Some(TypeKind::Tensor { base, .. }) => base.name.as_str(),
                other => panic!("{name}: {other:?}"),
            };
            let range = match base {
                "fix" => " in -1024..1024",
                "int" => " in 0..3",
                _ => "",
            };
            // What is read is no secret.
            let public = param.ty.as_ref().and_then(|t| t.secrecy) == Some(Secrecy::Public);
            let secrecy = if public { "public" } else { secrecy };
            let from = if secrecy == "secret" { " from Client" } else { "" };
            let input = format!("x{k}_{a}");
            let ty = value.ty(base);
            declared += &format!("    input {input}: {secrecy} {ty}{range}{from};\n");
            given.insert(input.clone(), value);
            names.push(input);
        }
        let value = format!("{called}({}){part}", names.join(", "));
        reveals += &format!("    reveal {value} to Server as y{k};\n");
        wanted.push(e);
    }
    assert!(!wanted.is_empty(), "std has no example of `{name}`");
    let text = format!(
        "use std::{{{name}}};\n\npredicate Examples() {{\n    parties Client;\n    parties Server;\n\
         {declared}{reveals}}}\n"
    );
    let case = compile(&text, &[]);
    hold(&case, &inputs(&case, &given), &wanted);
}

#[test]
fn of_secrets() {
    let mut count = 0;
    for item in examples::functions() {
        function(item, "secret");
        count += 1;
    }
    assert!(count >= 30, "only {count} functions");
}

#[test]
fn of_public_values() {
    examples::functions().for_each(|item| function(item, "public"));
}

/// A model needs weights, so each layer stands behind one that changes nothing. All inputs of a layer are the same.
fn layer(name: &str, e: &LayerExample) {
    let x = Literal::parse(&e.input);
    let (tuple, parts) = match e.output.strip_prefix('(').and_then(|o| o.strip_suffix(')')) {
        Some(inside) => (true, Literal::parse(&format!("[{inside}]"))),
        None => (false, Literal::parse(&e.output)),
    };
    let y = match tuple {
        true => Literal { shape: vec![parts.data.len() as u64], data: parts.data },
        false => parts,
    };
    let (n, last) = (x.shape[0], *x.shape.last().expect("a tensor"));
    let (side, before) = match x.shape.len() {
        3 => (n, format!("conv2d[{n}, {n}, kernel = 1, bias = 0]")),
        _ => (last, format!("linear[{last}, {last}, bias = 0]")),
    };
    let unit = (0..side * side).map(|i| f64::from(u8::from(i / side == i % side)));
    let mut weights = unit.collect::<Vec<f64>>();
    for (_, value) in &e.weights {
        weights.extend(Literal::parse(value).data);
    }
    let inputs_of = |name: &str| {
        let all = library::files().iter().flat_map(|f| f.items()).find(|i| i.name.name == name);
        match all.map(|i| &i.item.kind) {
            Some(ItemKind::Block(b)) => b.params.len(),
            _ => 1,
        }
    };
    let ys = vec!["y"; inputs_of(name)].join(", ");
    let value = match ys.as_str() {
        "y" => "x |> same |> layer".to_owned(),
        all if tuple => {
            format!("let y = x |> same;\n    let (a, b) = layer({all});\n    concat(a, b)")
        }
        all => format!("let y = x |> same;\n    layer({all})"),
    };
    let (from, to) = (x.ty("fix"), y.ty("fix"));
    let text = format!(
        "model T(x: {from}) -> {to} {{\n    same: {before};\n    layer: {};\n\n    {value}\n}}\n\n\
         predicate Example() {{\n    parties Client;\n    parties Server;\n\
         \x20   input w: secret weights T in -8..8 from Client;\n\
         \x20   input x: secret {from} in -16..16 from Client;\n\
         \x20   reveal T(w, x) to Server as y;\n}}\n",
        e.layer
    );
    let case = compile(&text, &[]);
    let model = &case.program.models[0];
    let names: Vec<&str> = model.params.iter().map(|p| p.name.as_str()).collect();
    let wanted: Vec<String> = ["same.weight".to_owned()]
        .into_iter()
        .chain(e.weights.iter().map(|(n, _)| format!("layer.{n}")))
        .collect();
    assert_eq!(names, wanted, "parameters of `{}`, in this order", e.layer);
    let w = Literal { shape: vec![weights.len() as u64], data: weights };
    let given = BTreeMap::from([("w".to_owned(), w), ("x".to_owned(), x)]);
    let want = [Example { call: e.layer.clone(), want: y, about: true }];
    hold(&case, &inputs(&case, &given), &want);
}

#[test]
fn of_layers() {
    let mut count = 0;
    for l in examples::layers() {
        assert!(!l.examples.is_empty(), "no example of layer `{}`", l.name);
        for e in &l.examples {
            println!("{}", e.text());
            layer(l.name, e);
        }
        count += 1;
    }
    assert!(count >= 25, "only {count} layers");
}
