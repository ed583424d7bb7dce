//! Parsing and printing, held against each other.

mod errors;
mod generate;

use super::ast::*;
use super::{embedded, format, parse, print};
use crate::diagnostic::Diagnostic;
use generate::file;
use proptest::prelude::*;

fn embedded_files() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let all = [embedded::STD, embedded::MODELS, embedded::PREDICATES, embedded::BENCH];
    all.into_iter().flatten()
}

fn titles(diagnostics: &[Diagnostic]) -> Vec<&str> {
    diagnostics.iter().map(|d| d.title.as_str()).collect()
}

/// The tree of a text that must have no errors.
fn tree(text: &str) -> File {
    let (tree, diagnostics) = parse(FileId(0), text);
    assert!(diagnostics.is_empty(), "{:?} in\n{text}", titles(&diagnostics));
    tree
}

fn snapshot(name: &str, text: &str) {
    insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(name, text) });
}

fn without_docs(mut file: File) -> File {
    for item in &mut file.items {
        item.doc.clear();
        if let ItemKind::Predicate(p) = &mut item.kind {
            p.body.iter_mut().for_each(|s| s.doc.clear());
        }
    }
    file
}

fn comments(text: &str) -> Vec<String> {
    let comments = super::lexer::lex(FileId(0), text).comments;
    comments.iter().map(|c| c.body().to_owned()).collect()
}

#[test]
fn embedded_files_parse_and_print() {
    assert!(embedded::get("std/stats.slvr").is_some());
    assert!(embedded::get("models/lenet5.slvr").is_some());
    assert!(embedded::get("krum.slvr").is_some());
    for (name, text) in embedded_files() {
        let read = tree(text);
        assert!(!read.items.is_empty(), "{name}");
        let printed = print(&read);
        assert_eq!(tree(&printed), read, "{name}:\n{printed}");
        assert_eq!(print(&tree(&printed)), printed, "{name}");
    }
}

#[test]
fn formatting_embedded_files_keeps_their_comments() {
    for (name, text) in embedded_files() {
        let formatted = format(FileId(0), text).expect("parses");
        assert_eq!(tree(&formatted), tree(text), "{name}:\n{formatted}");
        assert_eq!(comments(&formatted), comments(text), "{name}");
        assert_eq!(format(FileId(0), &formatted).expect("parses"), formatted, "{name}");
        // Comments are the author's; code can be broken.
        let code = formatted.lines().filter(|l| !l.contains("//"));
        let longest = code.map(|l| l.chars().count()).max().unwrap_or(0);
        assert!(longest <= 100, "{name}: {longest} columns");
    }
}

#[test]
fn spans_point_at_the_source() {
    let text = "predicate P() {\n    // why\n    let x = (a + b) * f(c)[1];\n}";
    let file = tree(text);
    let ItemKind::Predicate(p) = &file.items[0].kind else { panic!("a predicate") };
    assert_eq!(p.body[0].doc, "why");
    assert_eq!(&text[p.body[0].span.range()], "let x = (a + b) * f(c)[1];");
    let StmtKind::Let(Let { value, .. }) = &p.body[0].kind else { panic!("a let") };
    assert_eq!(&text[value.span.range()], "(a + b) * f(c)[1]");
    let ExprKind::Binary(BinaryOp::Mul, a, b) = &value.kind else { panic!("a product") };
    assert_eq!(&text[a.span.range()], "(a + b)");
    assert_eq!(&text[b.span.range()], "f(c)[1]");
}

#[test]
fn precedence() {
    let show = |text: &str| {
        let file = tree(&format!("const X = {text};"));
        let ItemKind::Const { value, .. } = &file.items[0].kind else { panic!("a constant") };
        explicit(value)
    };
    assert_eq!(show("a + b * c - d"), "((a + (b * c)) - d)");
    assert_eq!(show("-x^2 * !y"), "((-(x ^ 2)) * (!y))");
    assert_eq!(show("2^-40^n"), "((2 ^ (-40)) ^ n)");
    assert_eq!(show("0..n - 1 == a || b && c"), "(((0 .. (n - 1)) == a) || (b && c))");
    assert_eq!(show("x |> f + g |> h"), "((x |> (f + g)) |> h)");
    assert_eq!(show("a - b - c"), "((a - b) - c)");
    assert_eq!(show("a % b / c"), "((a % b) / c)");
}

/// With all brackets; only names, integers and operators.
fn explicit(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Name(name) => name.clone(),
        ExprKind::Int(value) => value.to_string(),
        ExprKind::Unary(UnaryOp::Neg, a) => format!("(-{})", explicit(a)),
        ExprKind::Unary(UnaryOp::Not, a) => format!("(!{})", explicit(a)),
        ExprKind::Binary(op, a, b) => {
            format!("({} {} {})", explicit(a), op.symbol(), explicit(b))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn docs_are_the_block_right_above() {
    let file =
        tree("// far\n\n// one\n//  two \nuse a; // beside\nuse b;\n\nuse c; use d;\n// end\n");
    let docs: Vec<_> = file.items.iter().map(|i| i.doc.as_str()).collect();
    assert_eq!(docs, ["one\n two", "", "", ""]);
}

#[test]
fn canonical_text() {
    let text = "\
// Doc.
predicate P[M:model,n=2*m](lambda:fix=1.5){require n<m,\"why\\n\";require failure<=2^-40;
parties Client[m];parties Server;input g:public weights M;
input update: secret weights M in -8..8 from each Client;input x:secret fix[n,..M.shape] in 0..1 from each Client;
let a=1; // beside a
let long=a+b; /* no */
}";
    let text = text.replace("/* no */", "");
    let formatted = format(FileId(0), &text).expect("parses");
    snapshot("canonical_text", &format!("{}\n----\n{formatted}", print(&tree(&text))));
}

#[test]
fn long_lines_are_broken() {
    let name = "a_rather_long_name";
    let sum = [name; 8].join(" + ");
    let calls = ["layer[3]"; 16].join(" |> ");
    let text = format!(
        "fn f(x: fix) -> fix {{ let s = [[{name}[i][j] * {name}[j][i] - {name}[i] for j in {name} \
         if i != j] for i in {name}]; let t = {sum}; let u = g([{name}[i][j] for i in {name} for j in \
         {name}], {name}, {name}, h(s[k] for k in 0..n)); let v = if {name} == {name} {{ {name} + 1 }} \
         else {{ {name} + {name} }}; {calls} }}"
    );
    let printed = print(&tree(&text));
    assert_eq!(tree(&printed), tree(&text));
    snapshot("long_lines_are_broken", &printed);
}

#[test]
fn comments_are_kept() {
    let text = "\
// Head.

// Of the import.
use a; // beside


use b;
fn f[n /* */](x: fix) -> fix {
    // first
    let s = x // inside
        + 1; // behind

    // result
    s // last
    // and after
}
// between
predicate P() {
    // nothing but this
}
// end";
    let text = text.replace(" /* */", "");
    let formatted = format(FileId(0), &text).expect("parses");
    assert_eq!(comments(&formatted), comments(&text));
    assert_eq!(format(FileId(0), &formatted).expect("parses"), formatted);
    snapshot("comments_are_kept", &formatted);
}

#[test]
fn deep_texts_are_refused_not_overflown() {
    let n = 100_000;
    let deep = [
        "(".repeat(n),
        format!("const A = {}1{};", "(".repeat(n), ")".repeat(n)),
        format!("const A = {}1{};", "[".repeat(n), "]".repeat(n)),
        format!("const A = {}1;", "-".repeat(n)),
        format!("const A = {}1;", "!".repeat(n)),
        format!("const A = 1{};", " + 1".repeat(n)),
        format!("const A = x{};", "(1)".repeat(n)),
        format!("const A = x{};", "[1]".repeat(n)),
        format!("const A = x{};", ".a".repeat(n)),
        format!("const A = x{};", "^2".repeat(n)),
        format!("const A = {}1{};", "f(a, -".repeat(n), ")".repeat(n)),
        format!("const A = {}1{};", "if a { ".repeat(n), " } else { 0 }".repeat(n)),
        format!("use {}a;", "a::".repeat(n)),
        "f[f{f(".repeat(n),
        "([)]".repeat(n),
        "model M(x: fix) -> fix { (".repeat(n),
    ];
    for text in deep {
        let (tree, diagnostics) = parse(FileId(0), &text);
        assert!(!diagnostics.is_empty(), "{:.40}", text);
        drop(tree);
    }
    // What is just within the bound parses, prints and reads back.
    let text = format!("const A = {}1{};", "(-".repeat(127), ")".repeat(127));
    assert_eq!(tree(&print(&tree(&text))), tree(&text));
    // Long is not deep.
    tree(&"model M(x: fix[1]) -> fix { x }\n".repeat(1000));
    tree(&format!("const A = [{}];", "a + 1, ".repeat(10_000)));
    tree(&format!("predicate P() {{ {} }}", "let a = b[1](2);".repeat(10_000)));
}

#[test]
fn long_texts_are_refused() {
    let (file, diagnostics) = parse(FileId(0), &" ".repeat(super::MAX_SOURCE + 1));
    assert!(file.items.is_empty());
    assert_eq!(titles(&diagnostics), ["source text longer than 4 MiB"]);
}

/// What every text must bear: diagnostics within the text, and if there are none, a tree that prints
/// as what it was read from.
fn robust(text: &str) -> Result<(), TestCaseError> {
    let (read, diagnostics) = parse(FileId(0), text);
    prop_assert!(diagnostics.len() <= super::MAX_DIAGNOSTICS + 1);
    for (span, _) in diagnostics.iter().flat_map(|d| &d.labels) {
        prop_assert!(text.get(span.range()).is_some(), "{:?}", diagnostics);
    }
    if diagnostics.is_empty() {
        let printed = print(&read);
        let (again, errors) = parse(FileId(0), &printed);
        prop_assert!(errors.is_empty(), "{:?} in\n{}", titles(&errors), printed);
        prop_assert_eq!(&again, &read);
        let formatted = format(FileId(0), text).map_err(|_| TestCaseError::fail("format"))?;
        prop_assert_eq!(without_docs(tree(&formatted)), without_docs(read));
        prop_assert_eq!(comments(&formatted), comments(text));
        let twice = format(FileId(0), &formatted).map_err(|_| TestCaseError::fail("format"))?;
        prop_assert_eq!(twice, formatted);
    }
    let mut sources = crate::source::Sources::new();
    sources.add("x.slvr", text);
    crate::diagnostic::render::render(&diagnostics, &sources, false);
    Ok(())
}

proptest! {
    #[test]
    fn printed_trees_read_back(file in file()) {
        let printed = print(&file);
        let (again, diagnostics) = parse(FileId(0), &printed);
        prop_assert!(diagnostics.is_empty(), "{:?} in\n{}", titles(&diagnostics), printed);
        prop_assert_eq!(&again, &file, "{}", printed);
        prop_assert_eq!(print(&again), printed);
    }

    #[test]
    fn any_text_is_survived(text in any::<String>()) {
        robust(&text)?;
    }

    #[test]
    fn any_tokens_are_survived(
        tokens in prop::collection::vec(prop::sample::select(generate::vocabulary()), 0..120)
    ) {
        robust(&tokens.join(" "))?;
    }

    #[test]
    fn any_damage_is_survived(
        file in prop::sample::select(embedded_files().map(|f| f.1).collect::<Vec<_>>()),
        damage in prop::collection::vec(
            (any::<prop::sample::Index>(), 0..4usize, prop::sample::select(generate::vocabulary())),
            0..4,
        ),
    ) {
        let mut text = file.to_owned();
        for (at, what, word) in damage {
            let tokens = super::lexer::lex(FileId(0), &text).tokens;
            if tokens.is_empty() {
                break;
            }
            let (start, _, end) = &tokens[at.index(tokens.len())];
            let (start, end) = (*start, *end);
            drop(tokens);
            match what {
                0 => text.replace_range(start..end, ""),
                1 => text.replace_range(start..end, word),
                2 => text.insert_str(end, &format!(" {word} ")),
                _ => text.insert_str(end, " // a comment\n"),
            }
        }
        robust(&text)?;
    }
}

/// A sum is as deep as it has terms, whatever stands in each of them.
#[test]
fn flat_sums_have_as_many_terms_as_trees_have_levels() {
    let sum = |terms: usize| {
        let all: Vec<String> = (0..terms).map(|i| format!("f(x[{i}], 2)")).collect();
        parse(FileId(0), &format!("const A = {};", all.join(" + "))).1
    };
    assert_eq!(titles(&sum(250)), Vec::<&str>::new());
    let errors = sum(300);
    assert_eq!(titles(&errors), ["more than 256 operators and brackets one inside the other"]);
    assert!(errors[0].hints[0].text.contains("sum([a, b, c])"), "{:?}", errors[0].hints);
}
