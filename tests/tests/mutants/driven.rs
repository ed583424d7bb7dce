//! Files of the library as a part of a program that calls their functions, so that what still type-checks is compiled
//! to a circuit.

use slvr_compiler::ide::doc::examples;
use slvr_compiler::ide::library::LibraryItem;
use slvr_compiler::syntax::ast::{Expr, ExprKind, FileId, ItemKind, Secrecy, TypeKind, UnaryOp};
use slvr_compiler::syntax::lexer::lex;
use slvr_compiler::syntax::parse;
use slvr_compiler::syntax::token::Token;
use std::collections::BTreeSet;
use std::fmt::Write;

/// A file without what the compiler implements itself, and the program that follows it.
pub struct Driven {
    pub text: String,
    pub program: String,
}

/// The sizes of a literal; `None` of what is none.
fn shape(e: &Expr) -> Option<Vec<usize>> {
    match &e.kind {
        ExprKind::Int(_) | ExprKind::Real(_) => Some(Vec::new()),
        ExprKind::Unary(UnaryOp::Neg, a) => shape(a),
        ExprKind::List(all) => {
            let mut sizes = shape(all.first()?)?;
            sizes.insert(0, all.len());
            Some(sizes)
        }
        _ => None,
    }
}

/// Inputs for one call of a function as an example writes it, and its reveal.
fn call(item: LibraryItem, k: usize) -> Option<[String; 2]> {
    let ItemKind::Fn(f) = &item.item.kind else { return None };
    let example = examples::of(item).into_iter().next()?;
    let written = example.split([' ']).next()?;
    // The call ends before the sign that says what it gives.
    let end = example.find(" == ").or(example.find(" ≈ ")).unwrap_or(written.len());
    let source = format!("const X = {};", &example[..end]);
    let (file, _) = parse(FileId(0), &source);
    let Some(ItemKind::Const { value, .. }) = file.items.into_iter().next().map(|i| i.kind) else {
        return None;
    };
    let (value, part) = match value.kind {
        ExprKind::Part(inner, part) => (*inner, format!(".{part}")),
        _ => (value, String::new()),
    };
    let ExprKind::Call(callee, args) = &value.kind else { return None };
    let mut inputs = String::new();
    let mut names = Vec::new();
    for (a, (arg, param)) in args.iter().zip(&f.params).enumerate() {
        let TypeKind::Tensor { base, .. } = &param.ty.as_ref()?.kind else { return None };
        let (base, sizes) = (base.name.as_str(), shape(arg)?);
        let range = match base {
            "fix" => " in 0.25..4",
            "int" => " in 0..3",
            _ => "",
        };
        let public = param.ty.as_ref().and_then(|t| t.secrecy) == Some(Secrecy::Public);
        let (secrecy, from) = if public { ("public", "") } else { ("secret", " from Client") };
        let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
        let sizes =
            if sizes.is_empty() { String::new() } else { format!("[{}]", sizes.join(", ")) };
        let _ = writeln!(inputs, "    input x{k}_{a}: {secrecy} {base}{sizes}{range}{from};");
        names.push(format!("x{k}_{a}"));
    }
    let called = &source[callee.span.range()];
    Some([inputs, format!("    reveal {called}({}){part} to Server as y{k};\n", names.join(", "))])
}

/// A file of `std` with a program that calls each of its functions; `None` if none is written in the language.
pub fn driven(name: &str, text: &str) -> Option<Driven> {
    let own = |item: &LibraryItem| item.file.name.ends_with(name);
    let calls: Vec<[String; 2]> = examples::functions()
        .filter(own)
        .filter(|item| text.contains(&format!("\nfn {}", item.name.name)))
        .enumerate()
        .filter_map(|(k, item)| call(item, k))
        .collect();
    if calls.is_empty() {
        return None;
    }
    let lines = text.lines().filter(|line| !line.starts_with("extern "));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    let words = |text: &str| -> BTreeSet<String> {
        let tokens = lex(FileId::default(), text).tokens;
        let names = tokens.iter().filter(|t| matches!(t.1, Token::Ident(_)));
        names.map(|t| text[t.0..t.2].to_owned()).collect()
    };
    let used = words(&text);
    let imported: Vec<&str> = examples::functions()
        .map(|item| item.name.name.as_str())
        .filter(|n| used.contains(*n))
        .filter(|n| !["(", "["].iter().any(|open| text.contains(&format!("\nfn {n}{open}"))))
        .collect();
    let import = match &imported[..] {
        [] => String::new(),
        names => format!("use std::{{{}}};\n", names.join(", ")),
    };
    let [inputs, reveals] = [0, 1].map(|i| calls.iter().map(|c| c[i].as_str()).collect::<String>());
    let program = format!(
        "\n{import}predicate Driven() {{\n    parties Client;\n    parties Server;\n{inputs}{reveals}}}\n"
    );
    Some(Driven { text, program })
}
