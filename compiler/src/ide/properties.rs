//! What must hold of the answers about every program that comes with the compiler: at each word of it, not at chosen
//! ones.

use super::names::{DefKind, Target};
use super::*;
use crate::pipeline;
use crate::source::FileId;
use crate::syntax::ast::{Arg, Expr, ExprKind, Item, ItemKind};
use crate::syntax::embedded;
use crate::syntax::lexer::lex;
use crate::syntax::token::Token as Word;
use rand_chacha::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};
use slvr_circuit::{artifact, text as circuit_text};
use std::collections::BTreeSet;

/// Predicates, the gallery, models and the library.
fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lists = [embedded::PREDICATES, embedded::GALLERY, embedded::MODELS, embedded::STD];
    lists.into_iter().flatten().copied()
}

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// The names of a text as the lexer has them: first byte and text.
fn names_in(text: &str) -> Vec<(usize, &str)> {
    let tokens = lex(FileId(0), text).tokens;
    let names = tokens.iter().filter(|(_, word, _)| matches!(word, Word::Ident(_)));
    names.map(|(start, _, end)| (*start, &text[*start..*end])).collect()
}

fn bytes(d: &Document, r: Range) -> std::ops::Range<usize> {
    d.offset(r.start)..d.offset(r.end)
}

/// Words follow one another, do not overlap, and each name of the text is one of them, whose kind is that of its
/// definition.
#[test]
fn every_name_is_coloured_once_as_what_it_is() {
    for (name, text) in files() {
        let d = Document::new(name, text);
        let tokens = d.tokens();
        let mut last = 0;
        let mut coloured = BTreeSet::new();
        for t in &tokens {
            let at = bytes(&d, t.range);
            assert!(last <= at.start && at.start < at.end, "{name}: {t:?}");
            last = at.end;
            coloured.insert(at.start);
            let (span, target) = match d.names.at(at.start) {
                Some(found) if found.0.range() == at => found,
                _ => continue,
            };
            assert_eq!(span.range(), at, "{name}");
            if let Target::Here(def) = target {
                let at = d.names.defs[def].at;
                let whole = tokens.iter().find(|t| bytes(&d, t.range) == at.range());
                assert_eq!(whole.map(|w| w.kind), Some(t.kind), "{name}: {}", &text[at.range()]);
            }
        }
        for (at, word) in names_in(text) {
            assert!(coloured.contains(&at), "{name}: `{word}` at {:?}", d.lines.position(text, at));
        }
    }
}

/// From each place of a name the same places are found, and they are those that mean the same.
#[test]
fn references_are_the_same_from_everywhere() {
    for (name, text) in files() {
        let d = Document::new(name, text);
        for (at, word) in names_in(text) {
            let here = d.lines.position(text, at);
            let found = d.usages(here);
            let Some((_, target)) = d.names.at(at) else { panic!("{name}: `{word}`") };
            if let Target::Word(_) = target {
                assert_eq!(found, [], "{name}: `{word}`");
                continue;
            }
            assert!(found.iter().any(|u| u.range.start == here), "{name}: `{word}`");
            for use_ in &found {
                let place = bytes(&d, use_.range);
                assert_eq!(&text[place], word, "{name}");
                assert_eq!(d.usages(use_.range.start), found, "{name}: `{word}`");
            }
            let defined = found.iter().filter(|u| u.defines).count();
            assert_eq!(defined, usize::from(matches!(target, Target::Here(_))), "{name}: `{word}`");
        }
    }
}

#[test]
fn selections_grow_until_they_are_all() {
    for (name, text) in files() {
        let d = Document::new(name, text);
        let whole =
            d.range(crate::source::Span { file: FileId(0), start: 0, end: text.len() as u32 });
        for at in (0..=text.len()).filter(|i| text.is_char_boundary(*i)).step_by(5) {
            let here = d.lines.position(text, at);
            let ranges = d.selections(here);
            assert_eq!(ranges.last(), Some(&whole), "{name}");
            let mut inner: Option<Range> = None;
            for r in ranges {
                assert!(r.start <= here && here <= r.end, "{name}: {r:?} at {here:?}");
                if let Some(i) = inner {
                    assert!(r != i && r.start <= i.start && i.end <= r.end, "{name}: {i:?} {r:?}");
                }
                inner = Some(r);
            }
        }
    }
}

/// A symbol's name stands where it says, within all of it, and what is inside of it is.
#[test]
fn symbols_are_where_they_say() {
    fn check(name: &str, d: &Document, all: &[Symbol], around: Option<Range>) {
        for s in all {
            let written = &d.text[bytes(d, s.at)];
            assert!(written.trim_matches('`') == s.name, "{name}: {written} is not {}", s.name);
            let inside = |i: Range, o: Range| o.start <= i.start && i.end <= o.end;
            assert!(inside(s.at, s.whole), "{name}: {s:?}");
            assert!(around.is_none_or(|o| inside(s.whole, o)), "{name}: {s:?}");
            check(name, d, &s.inside, Some(s.whole));
        }
        assert!(all.is_sorted_by_key(|s| s.at), "{name}");
    }
    for (name, text) in files() {
        let d = Document::new(name, text);
        let symbols = d.symbols();
        let items = d.tree.items.iter().filter(|i| i.name().is_some()).count();
        assert_eq!(symbols.len(), items, "{name}");
        check(name, &d, &symbols, None);
    }
}

/// Each call in an expression: what is called, the bracket, and where its arguments begin, with the name of a size.
type Called<'e> = (&'e str, &'static str, Vec<(usize, Option<&'e str>)>);

fn calls<'e>(e: &'e Expr, out: &mut Vec<Called<'e>>) {
    let begins = |a: &Expr| a.span.start as usize;
    let named = |e: &'e Expr| match &e.kind {
        ExprKind::Name(name) => Some(name.as_str()),
        ExprKind::At(f, _) => match &f.kind {
            ExprKind::Name(name) => Some(name.as_str()),
            _ => None,
        },
        _ => None,
    };
    match &e.kind {
        ExprKind::Call(f, args) => {
            out.extend(
                named(f).map(|n| (n, "(", args.iter().map(|a| (begins(a), None)).collect())),
            );
        }
        ExprKind::CallGen(f, body, _) => {
            out.extend(named(f).map(|n| (n, "(", vec![(begins(body), None)])));
        }
        ExprKind::At(f, args) => {
            let one = |a: &'e Arg| (begins(&a.value), a.name.as_ref().map(|n| n.name.as_str()));
            out.extend(named(f).map(|n| (n, "[", args.iter().map(one).collect())));
        }
        _ => {}
    }
    e.children().into_iter().for_each(|c| calls(c, out));
}

fn expressions(item: &Item) -> Vec<&Expr> {
    match &item.kind {
        ItemKind::Fn(f) => f.body.iter().flat_map(|b| b.children()).collect(),
        ItemKind::Block(b) => b.layers.iter().map(|l| &l.value).chain(b.body.children()).collect(),
        ItemKind::Predicate(p) => p.body.iter().flat_map(|s| s.kind.exprs()).collect(),
        ItemKind::Use(_) | ItemKind::Const { .. } => Vec::new(),
    }
}

/// At the beginning of each argument of each call: its function, and the parameter that it is, also by a name, behind a
/// pipe, and where the text ends there.
#[test]
fn signatures_say_which_argument_it_is() {
    let mut seen = 0;
    for (name, text) in files() {
        let d = Document::new(name, text);
        let mut all = Vec::new();
        d.tree.items.iter().flat_map(expressions).for_each(|e| calls(e, &mut all));
        for (callee, bracket, args) in all {
            // Values are indexed, and weights applied: these are no functions.
            let item = d.tree.items.iter().find(|i| i.name().is_some_and(|n| n.name == callee));
            let std = library::get(library::Shelf::Std, callee);
            let local = |k: DefKind| !matches!(k, DefKind::Item(_));
            if d.names.defs.iter().any(|def| def.name == callee && local(def.kind)) {
                continue;
            }
            let Some(item) = item.or(std.map(|s| s.item)) else { continue };
            let sizes = match &item.kind {
                ItemKind::Fn(f) => &f.sizes,
                ItemKind::Block(b) => &b.sizes,
                _ => continue,
            };
            if names::builtin(callee).is_some() {
                continue;
            }
            for (i, (at, size)) in args.iter().enumerate() {
                let place = d.lines.position(text, *at);
                let found = d.signature(place);
                let Some(found) = found else { panic!("{name}: nothing of {callee} at {place:?}") };
                assert!(found.label.contains(callee), "{name}: {callee} is not {}", found.label);
                let wanted = match size {
                    Some(size) => sizes.iter().position(|s| s.name.name == **size).expect("a size"),
                    None => i,
                };
                assert_eq!(found.active as usize, wanted, "{name}: {callee}{bracket} at {place:?}");
                // A list of one expression per size may be given by one name.
                if bracket == "[" && !sizes.is_empty() {
                    assert!(found.params.len() == sizes.len(), "{name}: {found:?}");
                }
                // What stands behind is not needed, unless the function does.
                let above = |i: &Item| i.span.end as usize <= *at;
                if d.tree.items.iter().any(|i| std::ptr::eq(i, item) && !above(i)) {
                    continue;
                }
                let half = Document::new(name, &text[..*at]);
                let half = half.signature(place).map(|s| (s.label, s.active));
                assert_eq!(half, Some((found.label, found.active)), "{name}: {callee}, half");
                seen += 1;
            }
        }
    }
    assert!(seen > 900, "only {seen}");
}

/// The circuits of the predicates of a text, as text, and their hashes without the names of their steps.
fn built(name: &str, text: &str) -> Vec<(String, [u8; 32])> {
    let d = Document::new(name, text);
    let typed = d.types(&[], &mut embedded::Embedded);
    let errors: Vec<&Problem> = typed
        .problems
        .iter()
        .filter(|p| p.severity == crate::diagnostic::Severity::Error)
        .collect();
    assert!(errors.is_empty(), "{name}: {errors:#?}\n{text}");
    let build = |p: &Predicate| {
        let mut c = pipeline::compile(&p.program, &p.sources).expect("it compiles").circuit;
        let text = circuit_text::print(&c);
        // Two steps may come to have one name.
        let lines: Vec<u32> = c.sites.drain(..).map(|s| s.line).collect();
        for i in c.layers.iter_mut().flat_map(|l| l.local.iter_mut().chain(&mut l.exchange)) {
            i.site = lines.get(i.site as usize).copied().unwrap_or_default();
        }
        (text, artifact::hash(&c))
    };
    typed.predicates.iter().map(build).collect()
}

fn edited(d: &Document, edits: &[Edit]) -> String {
    let mut out = d.text().to_owned();
    let mut places: Vec<_> = edits.iter().map(|e| (bytes(d, e.range), &e.text)).collect();
    places.sort_by_key(|(at, _)| at.start);
    places.into_iter().rev().for_each(|(at, new)| out.replace_range(at, new));
    out
}

/// A definition that is renamed, or not and why: what is renamed builds to the same circuit, in which, where the rename
/// says so, the one name stands in the place of the other. Names are new ones, and names that the text has.
#[test]
fn renamed_programs_are_the_same_or_it_is_said_why_not() {
    let (count, seed) = (number("SLVR_COUNT", 30), number("SLVR_SEED", 1));
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    let mut below = |n: usize| (rng.next_u64() % n.max(1) as u64) as usize;
    let all: Vec<_> = embedded::PREDICATES.iter().chain(embedded::GALLERY).collect();
    let (mut done, mut refused) = (0, 0);
    for _ in 0..count {
        let (name, text) = *all[below(all.len())];
        // A comment of sizes follows, too.
        let sizes = Document::new(name, text).symbols();
        let first = sizes.iter().flat_map(|s| &s.inside).find(|s| s.kind == SymbolKind::Constant);
        let said = first.map_or(String::new(), |s| format!("// slvr: {}=3\n", s.name));
        let text = format!("{said}{text}");
        let d = Document::new(name, &text);
        let words = names_in(&text);
        let (at, old) = words[below(words.len())];
        let fresh = below(3) > 0;
        let new = if fresh { "renamed_0" } else { words[below(words.len())].1 };
        let found = match d.rename(d.lines.position(&text, at), new) {
            Ok(found) => found,
            Err(why) => {
                assert!(why.len() > 10, "{why}");
                refused += 1;
                continue;
            }
        };
        let renamed = edited(&d, &found.edits);
        let (before, after) = (built(name, &text), built(name, &renamed));
        assert_eq!(before.len(), after.len(), "{name}: {old} to {new}");
        for ((a, a_hash), (b, b_hash)) in before.iter().zip(&after) {
            if found.outside.is_none() {
                assert_eq!(a_hash, b_hash, "{name}: {old} to {new}, seed {seed}");
            }
            if fresh {
                assert!(b.replace(new, old) == *a, "{name}: {old} to {new}, seed {seed}");
            }
        }
        done += 1;
    }
    println!("{done} renamed, {refused} refused, seed {seed}");
    assert!(done > count / 5, "only {done} of {count}");
}
