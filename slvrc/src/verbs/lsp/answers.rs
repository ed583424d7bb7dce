//! Answers to requests.

use super::convert::{edit, from, location, range};
use super::params;
use super::protocol::{
    AtPosition, EXPLAIN, Execute, FIX_ALL, InRange, MESSAGE_INFO, OfDocument, Position, QUICK_FIX,
    Query, Range, Rename, SOURCE, Selections, completion, method, symbol_kind,
};
use super::state::Shared;
use super::{costs, library};
use crate::memory::STACK;
use lsp_server::{ErrorCode, Request};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};
use slvr_compiler::ide::{
    self, CompletionKind, Document, Place, Symbol, SymbolKind, TokenKind, Typed, Where,
};
use slvr_compiler::syntax::{embedded, fixes::apart};
use std::sync::Arc;
use std::thread;

type Answer = Result<Value, (ErrorCode, String)>;

pub fn answer(shared: &Arc<Shared>, request: Request) -> Answer {
    let Request { method, params: given, .. } = request;
    match method.as_str() {
        method::HOVER => of(shared, given, hover),
        method::DEFINITION => of(shared, given, definition),
        method::REFERENCES => of(shared, given, references),
        method::HIGHLIGHT => of(shared, given, highlights),
        method::PREPARE_RENAME => about(shared, given, renamable),
        method::RENAME => about(shared, given, |f, p| rename(shared, f, p)),
        method::COMPLETION => of(shared, given, complete),
        method::SIGNATURE => of(shared, given, signature),
        method::FORMATTING => of(shared, given, |f, _: &Whole| {
            // Syntax errors are shown already: no edits rather than an error for each save.
            let edits: Vec<_> = f.document.format().iter().map(edit).collect();
            json!(edits)
        }),
        method::SYMBOLS => {
            of(shared, given, |f, _: &Whole| f.document.symbols().iter().map(symbol).collect())
        }
        method::ALL_SYMBOLS => {
            let query: Query = params(given)?;
            Ok(all_symbols(shared, &query.query))
        }
        method::TOKENS => of(shared, given, |f, _: &Whole| tokens(&f.document)),
        method::FOLDS => of(shared, given, |f, _: &Whole| {
            let one = |f: ide::Fold| {
                let kind = if f.comment { "comment" } else { "region" };
                json!({ "startLine": f.first, "endLine": f.last, "kind": kind })
            };
            f.document.folds().into_iter().map(one).collect()
        }),
        method::SELECTIONS => of(shared, given, |f, p: &Selections| {
            p.positions.iter().map(|at| selection(&f.document, *at)).collect()
        }),
        method::ACTIONS => of(shared, given, actions),
        method::HINTS => of(shared, given, hints),
        method::LENSES => of(shared, given, lenses),
        method::EXECUTE => execute(shared, params(given)?),
        _ => Err((ErrorCode::MethodNotFound, format!("`{method}` is not supported"))),
    }
}

/// An open file and what is known of it.
struct File {
    uri: String,
    document: Arc<Document>,
    typed: Option<Arc<Typed>>,
    costs: Option<Arc<costs::Costs>>,
}

fn file(shared: &Shared, uri: &str) -> Option<File> {
    shared.file(uri, |f| File {
        uri: uri.to_owned(),
        document: Arc::clone(&f.document),
        typed: f.typed.clone(),
        costs: f.costs.clone(),
    })
}

/// What is asked about all of a file.
type Whole = IgnoredAny;

/// The answer to what is asked about a file; nothing of one that is not open.
fn about<P: DeserializeOwned>(
    shared: &Shared,
    given: Value,
    answer: impl FnOnce(&File, &P) -> Answer,
) -> Answer {
    let OfDocument { text_document } = params(given.clone())?;
    let p = params(given)?;
    file(shared, &text_document.uri).map_or(Ok(Value::Null), |f| answer(&f, &p))
}

/// The same where there is always one.
fn of<P: DeserializeOwned>(
    shared: &Shared,
    given: Value,
    answer: impl FnOnce(&File, &P) -> Value,
) -> Answer {
    about(shared, given, |f, p| Ok(answer(f, p)))
}

fn hover(f: &File, p: &AtPosition) -> Value {
    let hover = f.document.hover(from(p.position), f.typed.as_deref()).map(|h| {
        let contents = json!({ "kind": "markdown", "value": h.text });
        json!({ "contents": contents, "range": range(h.range) })
    });
    hover.unwrap_or(Value::Null)
}

fn complete(f: &File, p: &AtPosition) -> Value {
    let one = |c: ide::Completion| {
        let kind = match c.kind {
            CompletionKind::Name => completion::VARIABLE,
            CompletionKind::Function => completion::FUNCTION,
            CompletionKind::Layer => completion::CONSTRUCTOR,
            CompletionKind::Type => completion::CLASS,
            CompletionKind::Field => completion::FIELD,
            CompletionKind::Keyword => completion::KEYWORD,
        };
        json!({
            "label": c.label, "kind": kind, "detail": c.detail, "insertText": c.insert,
            "documentation": { "kind": "markdown", "value": c.doc },
        })
    };
    f.document.complete(from(p.position)).into_iter().map(one).collect()
}

fn definition(f: &File, p: &AtPosition) -> Value {
    let place = f.document.definition(from(p.position));
    place.and_then(|place| location(&f.uri, place)).map_or(Value::Null, |l| json!(l))
}

fn references(f: &File, p: &AtPosition) -> Value {
    let place = |u: ide::Usage| location(&f.uri, Place { file: Where::Here, range: u.range });
    let all = f.document.usages(from(p.position)).into_iter().filter_map(place);
    all.map(|l| json!(l)).collect()
}

fn highlights(f: &File, p: &AtPosition) -> Value {
    // `DocumentHighlightKind`: what is read is 2, what is written 3.
    let one =
        |u: ide::Usage| json!({ "range": range(u.range), "kind": if u.defines { 3 } else { 2 } });
    f.document.usages(from(p.position)).into_iter().map(one).collect()
}

fn renamable(f: &File, p: &AtPosition) -> Answer {
    match f.document.renamable(from(p.position)) {
        Ok((place, _)) => Ok(json!(range(place))),
        Err(None) => Ok(Value::Null),
        Err(Some(why)) => Err((ErrorCode::RequestFailed, why)),
    }
}

fn rename(shared: &Shared, f: &File, p: &Rename) -> Answer {
    let found = f.document.rename(from(p.position), &p.new_name);
    let found = found.map_err(|why| (ErrorCode::RequestFailed, why))?;
    if let Some(outside) = &found.outside {
        shared.tell(MESSAGE_INFO, outside);
    }
    Ok(changes(&f.uri, &found.edits))
}

/// A `WorkspaceEdit` of one file.
fn changes<'e>(uri: &str, edits: impl IntoIterator<Item = &'e ide::Edit>) -> Value {
    let edits: Vec<_> = edits.into_iter().map(edit).collect();
    json!({ "changes": { uri: edits } })
}

fn signature(f: &File, p: &AtPosition) -> Value {
    let Some(s) = f.document.signature(from(p.position)) else { return Value::Null };
    let params: Vec<Value> = s.params.iter().map(|p| json!({ "label": p })).collect();
    let doc = json!({ "kind": "markdown", "value": s.doc });
    json!({
        "signatures": [{ "label": s.label, "documentation": doc, "parameters": params }],
        "activeSignature": 0,
        "activeParameter": s.active,
    })
}

/// `SymbolKind` of the protocol.
fn number(kind: SymbolKind) -> u8 {
    match kind {
        SymbolKind::Predicate => symbol_kind::CLASS,
        SymbolKind::Model => symbol_kind::STRUCT,
        SymbolKind::Function => symbol_kind::FUNCTION,
        SymbolKind::Constant => symbol_kind::CONSTANT,
        SymbolKind::Value => symbol_kind::VARIABLE,
        SymbolKind::Parties => symbol_kind::ENUM,
        SymbolKind::Layer => symbol_kind::FIELD,
        SymbolKind::Reveal => symbol_kind::EVENT,
    }
}

fn symbol(s: &Symbol) -> Value {
    let inside: Vec<Value> = s.inside.iter().map(symbol).collect();
    json!({
        "name": s.name, "kind": number(s.kind), "detail": s.detail, "range": range(s.whole),
        "selectionRange": range(s.at), "children": inside,
    })
}

/// Symbols of the open files and of the library whose names hold a text.
fn all_symbols(shared: &Shared, query: &str) -> Value {
    let wanted = query.to_lowercase();
    let found = |s: &Symbol| s.name.to_lowercase().contains(&wanted);
    let mut out = Vec::new();
    for (uri, document) in shared.documents() {
        for s in document.symbols() {
            let all = std::iter::once(&s).chain(&s.inside).filter(|s| found(s));
            out.extend(all.map(|i| {
                let at = json!({ "uri": uri, "range": range(i.at) });
                let inside = (i.name != s.name).then_some(&s.name);
                json!({ "name": i.name, "kind": number(i.kind), "location": at, "containerName": inside })
            }));
        }
    }
    for (name, text) in [embedded::STD, embedded::MODELS].into_iter().flatten() {
        let named = Document::new(name, text).symbols().into_iter().filter(found);
        out.extend(named.filter_map(|s| {
            let place = Place { file: Where::Library(name), range: s.at };
            let at = location("", place)?;
            Some(json!({ "name": s.name, "kind": number(s.kind), "location": at, "containerName": name }))
        }));
    }
    Value::Array(out)
}

/// Five numbers for each word: lines and units from the one before, its length, its kind, nothing.
fn tokens(document: &Document) -> Value {
    let mut data: Vec<u32> = Vec::new();
    let mut last = Position { line: 0, character: 0 };
    for token in document.tokens() {
        let Range { start, end } = range(token.range);
        let kind = TokenKind::ALL.iter().position(|(kind, _)| *kind == token.kind);
        let down = start.line - last.line;
        let right = if down == 0 { start.character - last.character } else { start.character };
        data.extend([down, right, end.character - start.character, kind.unwrap_or(0) as u32, 0]);
        last = start;
    }
    json!({ "data": data })
}

fn selection(document: &Document, at: Position) -> Value {
    let outwards = document.selections(from(at)).into_iter().rev();
    outwards.fold(Value::Null, |parent, r| match parent {
        Value::Null => json!({ "range": range(r) }),
        parent => json!({ "range": range(r), "parent": parent }),
    })
}

/// What can be done about the problems in a range, and about all of the file.
fn actions(f: &File, p: &InRange) -> Value {
    let wants = |kind: &str| {
        let only = p.context.only.as_ref();
        only.is_none_or(|all| all.iter().any(|o| kind == o || kind.starts_with(&format!("{o}."))))
    };
    let problems = f.document.problems(f.typed.as_deref());
    let (start, end) = (from(p.range.start), from(p.range.end));
    let mut out = Vec::new();
    let here = problems.iter().filter(|q| q.range.start <= end && start <= q.range.end);
    for (problem, fix) in here.flat_map(|q| q.fixes.iter().map(move |fix| (q, fix))) {
        let diagnostic = json!({
            "range": range(problem.range), "message": problem.message, "code": problem.code, "source": SOURCE,
        });
        out.push(json!({
            "title": fix.title, "kind": QUICK_FIX, "diagnostics": [diagnostic],
            "edit": changes(&f.uri, &fix.edits),
        }));
    }
    out.retain(|_| wants(QUICK_FIX));
    let first = problems.iter().filter_map(|q| Some(q.fixes.first()?.edits.as_slice()));
    let (all, _) = apart(first, |e| e.range.start..e.range.end);
    if wants(FIX_ALL) && !all.is_empty() {
        let title = "Do what all hints of this file say";
        out.push(json!({ "title": title, "kind": FIX_ALL, "edit": changes(&f.uri, all) }));
    }
    Value::Array(out)
}

/// What stands behind lines. What is of an earlier text is marked, and stays until it is computed anew.
fn hints(f: &File, p: &InRange) -> Value {
    let Some(costs) = &f.costs else { return json!([]) };
    let stale = !Arc::ptr_eq(&costs.of, &f.document);
    let moved = costs.moved(&f.document);
    let lines: Vec<&str> = f.document.text().lines().collect();
    let hint = |(line, label, about): &(u32, String, String)| {
        let line = moved(*line).filter(|l| (p.range.start.line..=p.range.end.line).contains(l))?;
        let end = lines.get(line as usize)?.encode_utf16().count();
        let (mark, said) = if stale { ("~ ", "of the text before; ") } else { ("", "") };
        Some(json!({
            "position": { "line": line, "character": end }, "label": format!("{mark}{label}"),
            "tooltip": format!("{said}{about}"), "paddingLeft": true,
        }))
    };
    costs.lines.iter().filter_map(hint).collect()
}

fn lenses(f: &File, _: &Whole) -> Value {
    let Some(costs) = &f.costs else { return json!([]) };
    let stale = !Arc::ptr_eq(&costs.of, &f.document);
    let moved = costs.moved(&f.document);
    let lens = |l: &costs::Lens| {
        let at = Position { line: moved(l.line)?, character: 0 };
        let title = if stale { format!("~ {}", l.title) } else { l.title.clone() };
        let command =
            json!({ "title": title, "command": EXPLAIN, "arguments": [f.uri, l.predicate] });
        Some(json!({ "range": Range { start: at, end: at }, "command": command }))
    };
    costs.lenses.iter().filter_map(lens).collect()
}

/// Makes a page and shows it, once it is there: a compilation may take longer than an editor waits.
fn execute(shared: &Arc<Shared>, p: Execute) -> Answer {
    let wrong = |why: &str| (ErrorCode::InvalidParams, why.to_owned());
    let text = |i: usize| p.arguments.get(i).and_then(Value::as_str);
    if p.command != EXPLAIN {
        return Err(wrong("no such command"));
    }
    let (Some(uri), Some(predicate)) = (text(0), text(1)) else {
        return Err(wrong("a file and a predicate"));
    };
    let Some(f) = file(shared, uri) else { return Err(wrong("the file is not open")) };
    let sizes = shared.sizes(&f.document);
    let Some(typed) = f.typed else { return Err(wrong("the predicate is not right")) };
    let (shared, predicate) = (Arc::clone(shared), predicate.to_owned());
    let make = move || {
        let page = costs::page(&typed, &sizes, &predicate);
        if let Some(uri) = page.and_then(|page| library::page(&predicate, &page)) {
            shared.ask(method::SHOW, json!({ "uri": uri, "external": true }));
        }
    };
    let thread = thread::Builder::new().name("page".into()).stack_size(STACK);
    thread.spawn(make).map_err(|_| wrong("no thread"))?;
    Ok(Value::Null)
}
