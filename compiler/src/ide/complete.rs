//! What may stand at a place of a text that is being written.
//!
//! The text before the place decides, token by token: what is being written seldom parses. What is offered is what fits
//! there: words of statements where a statement begins, layers where a block declares one, otherwise names in scope,
//! functions and words of expressions.

use super::document::Document;
use super::library::{self, LibraryItem, Shelf};
use super::position::Position;
use crate::noise::Law;
use crate::source::FileId;
use crate::syntax::ast::ItemKind;
use crate::syntax::lexer::lex;
use crate::syntax::signature;
use crate::syntax::token::{ITEM_WORDS, STATEMENT_WORDS, Token};
use crate::types::{layer, model};
use std::collections::BTreeSet;

/// What a completion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CompletionKind {
    /// A name that is defined above.
    Name,
    Function,
    Layer,
    /// A type, a model or a block.
    Type,
    /// A field of a model or tensor.
    Field,
    /// A word of the language.
    Keyword,
}

/// Something that may stand at a place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Completion {
    pub kind: CompletionKind,
    /// What it is found by, and what is shown.
    pub label: String,
    /// What is put in: `std::norm` for a function that is not imported.
    pub insert: String,
    /// A signature, or what kind of name it is.
    pub detail: String,
    /// Documentation in Markdown; empty if there is none.
    pub doc: String,
}

const EXPRESSIONS: &[&str] = &["for", "if", "in", "iterate", "weights"];
const TYPES: &[&str] = &["bit", "fix", "int", "public", "secret", "weights"];

/// What is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Between items.
    Item,
    /// A statement of a predicate.
    Statement,
    /// The first word of a definition or of the result of a function.
    Body,
    /// The same in a block, where layers are declared before.
    Declaration,
    /// A layer that a block declares.
    Layer,
    Type,
    Field,
    /// A name that is imported.
    Import,
    Party,
    /// A distribution of noise.
    Law,
    /// A new name: nothing is known of it.
    New,
    /// Anything in an expression.
    Expression,
}

#[derive(Clone, Copy)]
struct Word<'t> {
    text: &'t str,
    /// Neither a word of the language nor a sign.
    is_name: bool,
}

/// What stands around a place besides its last word.
struct Around<'t> {
    /// The first words of the item and of the statement.
    item: &'t str,
    statement: &'t str,
    /// In braces of the item.
    in_body: bool,
    /// How many brackets are open.
    depth: usize,
}

impl Around<'_> {
    fn is_block(&self) -> bool {
        matches!(self.item, "block" | "model")
    }
}

/// What may stand behind some words.
struct Row {
    /// Behind one of these, or behind any word if there are none.
    after: &'static [&'static str],
    when: fn(&Around<'_>) -> bool,
    place: Place,
}

const fn row(after: &'static [&'static str], when: fn(&Around<'_>) -> bool, place: Place) -> Row {
    Row { after, when, place }
}

const ALWAYS: fn(&Around<'_>) -> bool = |_| true;

/// Words that a new name follows.
const NEW: &[&str] = &[
    "as",
    "const",
    "fn",
    "predicate",
    "parties",
    "input",
    "state",
    "sample",
    "let",
    "for",
    "iterate",
];

/// What may stand where: the first row that fits, or else [`ANYWHERE`].
#[rustfmt::skip]
static PLACES: &[Row] = &[
    row(&[], |a| a.item.is_empty(), Place::Item),
    row(&[], |a| a.item == "use", Place::Import),
    row(&["."], ALWAYS, Place::Field),
    // A state that is there already.
    row(&["as"], |a| a.statement == "store", Place::Expression),
    row(NEW, ALWAYS, Place::New),
    row(&["model", "block"], |a| !a.in_body, Place::New),
    row(&["from"], |a| a.statement == "sample", Place::Law),
    row(&["from", "each", "to"], ALWAYS, Place::Party),
    row(&["::"], ALWAYS, Place::Expression),
    row(&["->"], ALWAYS, Place::Type),
    row(&[":"], |a| a.in_body && a.depth == 1 && a.is_block(), Place::Layer),
    row(&[":"], ALWAYS, Place::Type),
    row(&["{", ";"], |a| a.depth == 1 && a.item == "predicate", Place::Statement),
    row(&["{", ";"], |a| a.depth == 1 && a.is_block(), Place::Declaration),
    row(&["{", ";"], |a| a.depth == 1 && a.item == "fn", Place::Body),
    row(&["[", "(", ","], |a| a.depth == 1 && !a.in_body, Place::New),
    row(&[], |a| a.depth == 0, Place::New),
];

static ANYWHERE: Row = row(&[], ALWAYS, Place::Expression);

/// What stands before a place.
struct Before<'t> {
    words: Vec<Word<'t>>,
    /// Which row says what may stand there.
    row: &'static Row,
    /// In a block or model.
    block: bool,
}

impl Document {
    /// What may stand at a place, in alphabetical order of what is found first: names, functions, words.
    pub fn complete(&self, at: Position) -> Vec<Completion> {
        let at = self.offset(at);
        let text = self.text.get(..at).unwrap_or(&self.text);
        let start = text.rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let start = start.map_or(0, |i| i + text[i..].chars().next().map_or(1, char::len_utf8));
        let (text, prefix) = text.split_at(start);
        let before = before(text);
        let mut out = Vec::new();
        match before.row.place {
            Place::New => {}
            // Only the library has an `extern fn`.
            Place::Item => words(ITEM_WORDS.iter().filter(|w| **w != "extern"), &mut out),
            Place::Statement => words(STATEMENT_WORDS, &mut out),
            Place::Type => {
                words(TYPES, &mut out);
                self.items(&|kind| kind == CompletionKind::Type, &mut out);
            }
            Place::Field => out.extend(model::FIELDS.iter().map(|(name, about)| {
                entry(CompletionKind::Field, name, about.to_string(), String::new())
            })),
            Place::Import => imports(&before.words, &mut out),
            Place::Party => names(&before.words, &|word| word == "parties", &mut out),
            Place::Law => out.extend(Law::ALL.iter().map(|law| {
                let usage = format!("{}({})", law.name(), law.scale_name());
                entry(CompletionKind::Function, law.name(), usage, String::new())
            })),
            Place::Layer => layers(&mut out),
            Place::Body | Place::Declaration | Place::Expression => {
                names(&before.words, &|_| true, &mut out);
                self.items(&|_| true, &mut out);
                self.functions(before.block, &mut out);
                if before.block {
                    layers(&mut out);
                }
                words(EXPRESSIONS, &mut out);
                if before.row.place != Place::Expression {
                    words(&["let"], &mut out);
                }
            }
        }
        let wanted = prefix.to_ascii_lowercase();
        out.retain(|c| c.label.to_ascii_lowercase().starts_with(&wanted) && c.label != prefix);
        out.sort();
        out.dedup_by(|a, b| a.label == b.label);
        out
    }

    /// Items of the file.
    fn items(&self, which: &dyn Fn(CompletionKind) -> bool, out: &mut Vec<Completion>) {
        for item in &self.tree.items {
            let kind = match &item.kind {
                ItemKind::Fn(_) => CompletionKind::Function,
                ItemKind::Const { .. } => CompletionKind::Name,
                ItemKind::Block(_) => CompletionKind::Type,
                ItemKind::Use(_) | ItemKind::Predicate(_) => continue,
            };
            if let Some(name) = item.name().filter(|_| which(kind)) {
                out.push(entry(kind, &name.name, signature(item), item.doc.clone()));
            }
        }
    }

    /// Functions of `std`. One that is not imported is written with its path; blocks know all of them.
    fn functions(&self, block: bool, out: &mut Vec<Completion>) {
        let imports = self.tree.items.iter().filter_map(|item| match &item.kind {
            ItemKind::Use(tree) => Some(tree.names()),
            _ => None,
        });
        let imported: BTreeSet<&str> = imports.flatten().map(|n| n.name.as_str()).collect();
        for item in functions() {
            let name = item.name.name.as_str();
            let mut new =
                entry(CompletionKind::Function, name, signature(item.item), item.item.doc.clone());
            if !block && !self.library && !imported.contains(name) {
                new.insert = format!("std::{name}");
            }
            out.push(new);
        }
    }
}

/// The functions of `std`.
fn functions() -> impl Iterator<Item = LibraryItem> {
    let all = library::files().iter().filter(|f| f.shelf() == Shelf::Std).flat_map(|f| f.items());
    all.filter(|i| matches!(i.item.kind, ItemKind::Fn(_)))
}

fn entry(kind: CompletionKind, name: &str, detail: String, doc: String) -> Completion {
    Completion { kind, label: name.to_owned(), insert: name.to_owned(), detail, doc }
}

fn words<'w>(all: impl IntoIterator<Item = &'w &'w str>, out: &mut Vec<Completion>) {
    let word = |w: &&str| {
        entry(CompletionKind::Keyword, w, "a word of the language".into(), String::new())
    };
    out.extend(all.into_iter().map(word));
}

/// Layers of the compiler, and blocks of `std`.
fn layers(out: &mut Vec<Completion>) {
    for rule in layer::LAYERS {
        out.push(entry(CompletionKind::Layer, rule.name, rule.usage(), rule.about.to_owned()));
    }
    let param = "a parameter of this shape".to_owned();
    out.push(entry(CompletionKind::Layer, "param", "param[SIZES]".into(), param));
    let all = library::files().iter().filter(|f| f.shelf() == Shelf::Std).flat_map(|f| f.items());
    for item in all.filter(|i| matches!(&i.item.kind, ItemKind::Block(b) if !b.is_model)) {
        let (name, doc) = (&item.name.name, item.item.doc.clone());
        out.push(entry(CompletionKind::Layer, name, signature(item.item), doc));
    }
}

/// What a `use` may name.
fn imports(before: &[Word<'_>], out: &mut Vec<Completion>) {
    let line = before.iter().rposition(|w| w.text == "use").unwrap_or(0);
    let path: Vec<&str> = before[line..].iter().map(|w| w.text).collect();
    match path.get(1).copied().filter(|_| path.contains(&"::")) {
        Some("std") => {
            for item in functions().filter(|i| !path.contains(&i.name.name.as_str())) {
                let (name, doc) = (&item.name.name, item.item.doc.clone());
                out.push(entry(CompletionKind::Function, name, signature(item.item), doc));
            }
        }
        Some("models") => {
            let all = library::files().iter().filter(|f| f.shelf() == Shelf::Models);
            for item in all.flat_map(|f| f.items()) {
                let (name, doc) = (&item.name.name, item.item.doc.clone());
                out.push(entry(CompletionKind::Type, name, signature(item.item), doc));
            }
        }
        Some(_) => {}
        None => {
            for (name, what) in [("std", "the standard library"), ("models", "models")] {
                out.push(entry(CompletionKind::Name, name, what.into(), String::new()));
            }
        }
    }
}

/// Names that the item defines before the place: each with the word that defines it.
fn names(before: &[Word<'_>], which: &dyn Fn(&str) -> bool, out: &mut Vec<Completion>) {
    let mut name = |word: &Word<'_>, by: &str| {
        if word.is_name && which(by) {
            let detail = match by {
                "for" => "a loop variable",
                "let" => "a value",
                "(" => "a parameter",
                "[" => "a size",
                ":" => "a layer",
                "input" => "an input",
                "state" => "a state",
                "sample" => "drawn by public coins",
                "parties" => "a party set",
                _ => "a carried value",
            };
            out.push(entry(CompletionKind::Name, word.text, detail.into(), String::new()));
        }
    };
    // The head of the item, up to its brace: sizes in brackets, parameters in parentheses.
    let body = before.iter().position(|w| w.text == "{").unwrap_or(before.len());
    let mut bracket = "";
    let mut depth = 0;
    for pair in before[..body].windows(2) {
        match pair[0].text {
            open @ ("[" | "(") => {
                depth += 1;
                if depth == 1 {
                    bracket = open;
                }
            }
            "]" | ")" => depth -= 1,
            _ => {}
        }
        if depth == 1 && matches!(pair[0].text, "[" | "(" | ",") {
            name(&pair[1], bracket);
        }
    }
    let rest = &before[body..];
    for (i, word) in rest.iter().enumerate() {
        let next = rest.get(i + 1);
        match word.text {
            "let" if next.is_some_and(|n| n.text == "(") => {
                let all = rest[i + 2..].iter().take_while(|w| w.text != ")");
                all.for_each(|w| name(w, "let"));
            }
            by @ ("let" | "for" | "input" | "state" | "sample" | "parties" | "iterate") => {
                next.into_iter().for_each(|n| name(n, by));
            }
            // `fc: linear[..]`, behind a `{` or a `;`.
            ":" if i >= 2 && matches!(rest[i - 2].text, "{" | ";") => name(&rest[i - 1], ":"),
            _ => {}
        }
    }
}

/// The words of the item at the end of a text, and what comes next.
fn before(text: &str) -> Before<'_> {
    let tokens = lex(FileId(0), text).tokens;
    let word = |(start, token, end): &(usize, Token<'_>, usize)| Word {
        text: text.get(*start..*end).unwrap_or(""),
        is_name: matches!(token, Token::Ident(_)),
    };
    let all: Vec<Word<'_>> = tokens.iter().map(word).collect();
    let mut depth = 0i32;
    let mut start = 0;
    let mut open: Vec<usize> = Vec::new();
    for (i, word) in all.iter().enumerate() {
        match word.text {
            "{" | "(" | "[" => {
                depth += 1;
                open.push(i);
            }
            "}" | ")" | "]" => {
                depth -= 1;
                open.pop();
                if depth == 0 && word.text == "}" {
                    start = i + 1;
                }
            }
            ";" if depth == 0 => start = i + 1,
            _ => {}
        }
    }
    let words: Vec<Word<'_>> = all[start.min(all.len())..].to_vec();
    // Brackets that are open, from the item's own.
    let inside: Vec<&str> = open.iter().filter_map(|&i| all.get(i)).map(|w| w.text).collect();
    let begins = words.iter().rposition(|w| matches!(w.text, ";" | "{")).map_or(0, |i| i + 1);
    let around = Around {
        item: words.first().map_or("", |w| w.text),
        statement: words.get(begins).map_or("", |w| w.text),
        in_body: inside.first() == Some(&"{"),
        depth: inside.len(),
    };
    let last = words.last().map_or("", |w| w.text);
    let fits =
        |row: &&Row| (row.after.is_empty() || row.after.contains(&last)) && (row.when)(&around);
    let row = PLACES.iter().find(fits).unwrap_or(&ANYWHERE);
    Before { row, block: around.is_block(), words }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts that end where these may stand.
    #[rustfmt::skip]
    const EXAMPLES: &[(&str, Place)] = &[
        ("const N = 3;", Place::Item),
        ("use std::", Place::Import),
        ("predicate P[M: model]() { require M.", Place::Field),
        ("predicate P() { store x as", Place::Expression),
        ("predicate P() { reveal x to Server as", Place::New),
        ("const", Place::New),
        ("fn", Place::New),
        ("predicate", Place::New),
        ("block", Place::New),
        ("predicate P() { parties", Place::New),
        ("predicate P() { input", Place::New),
        ("predicate P() { state", Place::New),
        ("predicate P() { sample", Place::New),
        ("fn f() -> fix { let", Place::New),
        ("fn f() -> fix { sum(1 for", Place::New),
        ("fn f() -> fix { iterate", Place::New),
        ("predicate P() { sample z: fix from", Place::Law),
        ("predicate P() { input x: fix from", Place::Party),
        ("predicate P() { input x: fix from each", Place::Party),
        ("predicate P() { reveal x to", Place::Party),
        ("fn f() -> fix { std::", Place::Expression),
        ("fn f() ->", Place::Type),
        ("block B(x: fix) -> fix { fc:", Place::Layer),
        ("fn f(x:", Place::Type),
        ("predicate P() {", Place::Statement),
        ("block B(x: fix) -> fix {", Place::Declaration),
        ("fn f() -> fix {", Place::Body),
        ("fn f[", Place::New),
        ("fn f", Place::New),
        ("fn f() -> fix { x +", Place::Expression),
    ];

    #[test]
    fn every_row_is_found_by_an_example() {
        let mut found: Vec<*const Row> = Vec::new();
        for (text, place) in EXAMPLES {
            let before = before(text);
            assert_eq!(before.row.place, *place, "{text}");
            found.push(before.row);
        }
        for (i, row) in PLACES.iter().chain([&ANYWHERE]).enumerate() {
            assert!(found.contains(&std::ptr::from_ref(row)), "row {i} has no example");
        }
    }
}
