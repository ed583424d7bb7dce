//! What an author sees: programs with syntax errors, and all messages at once.

use super::super::parse;
use crate::diagnostic::render::render;
use crate::source::Sources;

fn messages(text: &str) -> String {
    let mut sources = Sources::new();
    let file = sources.add("check.slvr", text);
    let (_, diagnostics) = parse(file, text);
    format!("{text}\n----\n{}", render(&diagnostics, &sources, false))
}

macro_rules! errors {
    ($($name:ident: $text:literal;)*) => {
        $(#[test]
        fn $name() {
            insta::with_settings!({ omit_expression => true }, {
                insta::assert_snapshot!(messages($text));
            });
        })*
    };
}

errors! {
    missing_semicolons: "\
predicate P[m](lambda: fix = 1.5) {
    parties Client[m]
    parties Server;

    input x: secret fix in 0..1 from each Client
    let a = sum(x[i] for i in Client)
    let b = a + 1 let c = b;
    reveal c to Server as total
}
";
    equals_for_equality: "\
predicate P[m]() {
    require m = 3, \"three\";
    let a = [x[i] = y[i] for i in Client];
    let b = if m = 3 { 1 } else { 2 };
    let c = conv(x, kernel = 5);
}
";
    misspelled_words: "\
import std::{sum};
predicat P[m]() {
    partys Client[m];
    inputs x: secret fix in 0..1 from each Client;
    lett a = sum(x[i] form i in Client);
    assert a and b;
    revel a to Server as total;
}
";
    let_in_the_wrong_place: "\
let n = 3;
fn f(x: fix) -> fix {
    x = x + 1;
    return x;
}
predicate P() {
    let a = let b = 3;
    a = 4;
    let c = 5;
}
";
    brackets: "\
fn f(x: fix) -> fix { sum(x[0) }
fn g(x: fix) -> fix { (x + 1)) }
predicate P() {
    let a = sum(x[i] for i in Client;
    let b = [1, 2;
    let c = (1 + 2
    let d = 3;
}
";
    unclosed_predicate: "\
predicate P() {
    let a = 1;

fn f(x: fix) -> fix { x }

predicate Q() {
    let a = ;
";
    reserved_words: "\
fn from(model: fix) -> fix { model }
predicate P() {
    parties each[3];
    input secret x: fix in 0..1 from each Client;
    let input = 3;
    let a = x.weights;
    reveal input to Server as of;
}
";
    loops: "\
predicate P() {
    for i in Client { let x = 1; }
}
predicate Q() {
    if a { let y = 2; }
}
";
    other_languages: "\
predicate P() {
    let b = x ** 2;
    let c = a => b;
    let d = a < b < c;
    let e = if a { 1 } else if b { 2 } else { 3 };
    let f = 0..;
    let g = 0..n..m;
}
def h(x) { x }
fn k(x: fix) { x }
";
    unknown_characters: "\
# comment
predicate P() {
    let λ = 3 × 4;
    let s = a ≤ b & c;
    let q = 2x + 1_000;
    require a, 'single';
    require b, \"open;
    let ok = 99999999999999999999 + 1e999;
}
";
    misplaced_items: "\
input x: secret fix;
reveal x to Server as y;

predicate P() {
    fn f(x: fix) -> fix { x }
}

const A = 1
const B = 2;;
use std::sum
";
    results: "\
fn f(x: fix) -> fix {
    let s = sort(x)
    s[0];
}
fn g(x: fix) -> fix {
    let s = sort(x);
}
model M(x: fix[1]) -> fix[1] {
    fc: linear[1, 1]
    x |> fc;
}
";
    incomplete_statements: "\
predicate P[m, (lambda: fix = 1.5) {
    let a = ;
}
predicate Q[m]() {
    let = 3;
    let b 3;
    input x secret fix;
    input y: secret;
    sample committee[3] of Client each Client;
    reveal a as b;
    reveal a to Server;
    parties Client[];
    require;
    let c = a +;
    let d = f(a b);
    let e == 3;
}
";
    several_per_item: "\
fn f[n: int](x: fix[n]) -> { x }
fn g(x fix) -> fix { x }
const A 3;
model M(x: fix, y: fix) -> fix { x }
extern fn h(x: fix) -> fix { x }
fn ok(x: fix) -> fix { x }
";
    not_a_program: "hello world, this is no program";
    empty_file_with_a_brace: "}";
}

#[test]
fn errors_do_not_hide_other_items() {
    let text =
        "fn f( -> fix { x }\nfn g(x: fix) -> fix { x }\npredicate P() { let a = ; let b = 1; }";
    let (file, diagnostics) = parse(Default::default(), text);
    assert_eq!(diagnostics.len(), 2);
    assert_eq!(file.items.len(), 2, "g and P");
}

#[test]
fn many_errors_are_cut_short() {
    let text = format!("predicate P() {{ {} }}", "let = ;\n".repeat(10_000));
    let (_, diagnostics) = parse(Default::default(), &text);
    assert_eq!(diagnostics.len(), super::super::MAX_DIAGNOSTICS + 1);
    assert_eq!(diagnostics.last().map(|d| d.title.as_str()), Some("more errors follow"));
}

/// What helps in a statement helps inside brackets.
#[test]
fn hints_are_the_same_in_lists() {
    let hint = |value: &str| {
        let text = format!("predicate P() {{\n    let v = {value};\n}}\n");
        let (_, found) = parse(Sources::new().add("check.slvr", text.as_str()), &text);
        found.first().map(|d| (d.code, d.hints.clone()))
    };
    for value in [
        "a ** b",
        "a => b",
        "a =< b",
        "a < b < c",
        "1..2..3",
        "0..",
        "let x = 3",
        "for i in S",
        "a = b",
        "{a, b}",
    ] {
        let (alone, inside) = (hint(value), hint(&format!("[{value}]")));
        assert_eq!(alone, inside, "{value}");
        assert!(alone.is_some_and(|(_, hints)| !hints.is_empty()), "no hint for {value}");
    }
}
