//! Tree to text.
//!
//! One canonical text per tree: indented by four spaces, at most 100 columns where it can be broken,
//! colons and equals signs of neighbouring lines aligned. `doc.rs` breaks lines, `expr.rs` has
//! expressions and types, `givers.rs` sets the `from`s of inputs, `trivia.rs` has the comments and blank
//! lines of a source, this file items and statements.

mod doc;
mod expr;
mod givers;
mod trivia;

use super::ast::*;
use super::{lexer, parse};
use crate::diagnostic::Diagnostic;
use doc::{Doc, layout, list, text};
use expr::{Style, equally_wide};
use trivia::Trivia;

/// The canonical text of a file, with documentation as comments. `parse(print(x))` is `x` without
/// diagnostics, for every tree that a parse without diagnostics can give.
pub fn print(file: &File) -> String {
    Printer { out: String::new(), trivia: None, style: Style { source: None } }.file(file)
}

/// The canonical text of an expression; several lines if it is long.
pub fn print_expr(expr: &Expr) -> String {
    flat(&Style { source: None }.expr(expr), 0)
}

/// The canonical text of a type.
pub fn print_type(ty: &Type) -> String {
    flat(&Style { source: None }.ty(ty), 0)
}

/// What an item looks like from outside: `fn mean[n](x: fix[n]) -> fix`, without a body. Constants
/// and imports, which have none, whole.
pub fn signature(item: &Item) -> String {
    let mut printer = Printer { out: String::new(), trivia: None, style: Style { source: None } };
    match &item.kind {
        ItemKind::Use(_) | ItemKind::Const { .. } => {
            printer.item(item);
            printer.out
        }
        _ => flat(&printer.item_head(item), 0),
    }
}

/// A source text formatted: as [`print()`], but all comments and single blank lines are kept, and
/// where the author broke an expression, or moved the `from`s of neighbouring inputs to one column
/// further right, that stays. A comment inside a statement moves above it.
///
/// # Errors
///
/// The text has syntax errors.
pub fn format(file: FileId, source: &str) -> Result<String, Vec<Diagnostic>> {
    let (tree, diagnostics) = parse(file, source);
    if !diagnostics.is_empty() {
        return Err(diagnostics);
    }
    let comments = lexer::lex(file, source).comments;
    let trivia = Some(Trivia::new(source, comments));
    Ok(Printer { out: String::new(), trivia, style: Style { source: Some(source) } }.file(&tree))
}

/// A document on its own.
fn flat(doc: &Doc, column: usize) -> String {
    let mut out = String::new();
    layout(doc, 0, column, &mut out);
    out
}

/// What stands on lines of its own: where it is in the source, and its documentation.
struct Place<'a> {
    span: Span,
    doc: &'a str,
    kind: Kind,
}

/// Neighbours of one kind stand together and are aligned, except items with braces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Use,
    Const,
    Extern,
    Braces,
    Require,
    Parties,
    Input,
    Layer,
    Let,
    State,
    Store,
    Sample,
    Reveal,
    /// The result of a body without `let`s.
    Value,
    Error,
}

impl Kind {
    fn of(stmt: &StmtKind) -> Kind {
        match stmt {
            StmtKind::Require(_) => Kind::Require,
            StmtKind::Parties { .. } => Kind::Parties,
            StmtKind::Input { .. } => Kind::Input,
            StmtKind::Let(_) => Kind::Let,
            StmtKind::State { .. } => Kind::State,
            StmtKind::Store { .. } => Kind::Store,
            StmtKind::Sample { .. } | StmtKind::Noise { .. } => Kind::Sample,
            StmtKind::Reveal { .. } => Kind::Reveal,
            StmtKind::Error => Kind::Error,
        }
    }
}

struct Printer<'s> {
    out: String,
    trivia: Option<Trivia<'s>>,
    style: Style<'s>,
}

impl Printer<'_> {
    fn file(mut self, file: &File) -> String {
        let mut last: Option<Place> = None;
        for item in &file.items {
            let kind = match &item.kind {
                ItemKind::Use(_) => Kind::Use,
                ItemKind::Const { .. } => Kind::Const,
                ItemKind::Fn(Function { body: None, .. }) => Kind::Extern,
                _ => Kind::Braces,
            };
            let place = Place { span: item.span, doc: &item.doc, kind };
            self.open(&place, last.as_ref(), 0, kind != Kind::Braces);
            self.item(item);
            self.close(item.span);
            last = Some(place);
        }
        self.comments_until(u32::MAX, 0, last.is_none());
        self.out
    }

    /// What stands above a node: a blank line where one belongs, comments. With `whole`, the comments
    /// inside the node come here, too.
    fn open(&mut self, node: &Place, last: Option<&Place>, indent: usize, whole: bool) {
        let apart = last.is_some_and(|l| l.kind == Kind::Braces || l.kind != node.kind);
        if self.trivia.is_some() {
            // Items stand apart even where the source has them without a blank line.
            if indent == 0 && apart {
                self.blank();
            }
            let end = if whole { node.span.end } else { node.span.start };
            let any = self.comments_until(end, indent, last.is_none());
            let blank =
                self.trivia.as_ref().is_some_and(|t| t.blank_above(node.span.start as usize));
            if blank && (any || last.is_some()) {
                self.blank();
            }
        } else {
            if apart || last.is_some() && !node.doc.is_empty() {
                self.blank();
            }
            if !node.doc.is_empty() {
                node.doc.split('\n').for_each(|line| self.comment(line, indent));
            }
        }
        self.indent(indent);
    }

    /// Ends the line of a node, with the comment behind it if the source has one.
    fn close(&mut self, span: Span) {
        if let Some(comment) = self.trivia.as_mut().and_then(|t| t.trailing(span.end as usize)) {
            self.out.push(' ');
            self.comment(comment, 0);
        } else {
            self.out.push('\n');
        }
    }

    /// Comments that are still due before a place, each on its line; whether there were any.
    fn comments_until(&mut self, end: u32, indent: usize, mut first: bool) -> bool {
        let mut any = false;
        while let Some(trivia) = &mut self.trivia
            && let Some((comment, blank)) = trivia.next_until(end as usize)
        {
            if blank && !first {
                self.blank();
            }
            self.comment(comment, indent);
            (any, first) = (true, false);
        }
        any
    }

    fn blank(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") && !self.out.ends_with("{\n") {
            self.out.push('\n');
        }
    }

    fn comment(&mut self, body: &str, indent: usize) {
        self.indent(indent);
        self.out.push_str(if body.is_empty() { "//" } else { "// " });
        self.out.push_str(body);
        self.out.push('\n');
    }

    fn indent(&mut self, by: usize) {
        self.out.extend(std::iter::repeat_n(' ', by));
    }

    /// A document behind what stands on the line already.
    fn doc(&mut self, doc: Doc, indent: usize) {
        let line = self.out.rsplit('\n').next().unwrap_or("");
        let column = line.chars().count();
        layout(&doc, indent, column, &mut self.out);
    }

    fn item(&mut self, item: &Item) {
        match &item.kind {
            ItemKind::Use(tree) => {
                self.doc(Doc::Seq(vec![text("use "), use_tree(tree), text(";")]), 0);
            }
            ItemKind::Const { name, value } => {
                let head = text(format!("const {} = ", name.written()));
                self.doc(Doc::Seq(vec![head, self.style.whole(value), text(";")]), 0);
            }
            ItemKind::Fn(Function { body: None, .. }) => {
                self.doc(Doc::Seq(vec![self.item_head(item), text(";")]), 0);
            }
            kind => {
                self.doc(Doc::Seq(vec![self.item_head(item), text(" {\n")]), 0);
                match kind {
                    ItemKind::Fn(f) => {
                        f.body.iter().for_each(|body| self.body(&[], body));
                    }
                    ItemKind::Block(b) => self.body(&b.layers, &b.body),
                    ItemKind::Predicate(p) => self.stmts(&p.body),
                    ItemKind::Use(_) | ItemKind::Const { .. } => {}
                }
                self.comments_until(item.span.end, 4, false);
                self.out.push('}');
            }
        }
    }

    /// What stands before the braces of an item.
    fn item_head(&self, item: &Item) -> Doc {
        match &item.kind {
            ItemKind::Use(_) | ItemKind::Const { .. } => text(""),
            ItemKind::Fn(f) => {
                let word = if f.body.is_some() { "fn" } else { "extern fn" };
                self.head(word, &f.name, &f.sizes, &f.params, Some(&f.result))
            }
            ItemKind::Block(b) => {
                let word = if b.is_model { "model" } else { "block" };
                self.head(word, &b.name, &b.sizes, &b.params, b.result.as_ref())
            }
            ItemKind::Predicate(p) => self.head("predicate", &p.name, &p.sizes, &p.params, None),
        }
    }

    fn head(
        &self,
        word: &str,
        name: &Ident,
        sizes: &[Size],
        params: &[Param],
        result: Option<&Type>,
    ) -> Doc {
        let style = self.style;
        let default = |e: &Option<Expr>| match e {
            Some(e) => Doc::Seq(vec![text(" = "), style.expr(e)]),
            None => text(""),
        };
        let mut parts = vec![text(format!("{word} {}", name.written()))];
        if !sizes.is_empty() {
            let sizes = sizes.iter().map(|s| {
                let kind = if s.is_model { ": model" } else { "" };
                Doc::Seq(vec![text(format!("{}{kind}", s.name.written())), default(&s.default)])
            });
            parts.push(list("[", sizes.collect(), "]"));
        }
        let params = params.iter().map(|p| {
            let ty = match &p.ty {
                Some(ty) => Doc::Seq(vec![text(": "), style.ty(ty)]),
                None => text(""),
            };
            Doc::Seq(vec![text(p.name.written()), ty, default(&p.default)])
        });
        parts.push(list("(", params.collect(), ")"));
        if let Some(result) = result {
            parts.extend([text(" -> "), style.ty(result)]);
        }
        Doc::Seq(parts)
    }

    /// `require cond, "why"`, without the sign at its end.
    fn require(&self, r: &Require) -> Doc {
        let mut parts = vec![text("require "), self.style.whole(&r.cond)];
        if let Some(why) = &r.why {
            let why = vec![doc::nest(4, vec![Doc::Line, text(lexer::escape(why))])];
            parts.extend([text(","), doc::group(why)]);
        }
        Doc::Seq(parts)
    }

    /// Requirements, layers, definitions and the result.
    fn body(&mut self, layers: &[Let], body: &Body) {
        let layers = layers.iter().map(|l| (l, Kind::Layer));
        let lets: Vec<(&Let, Kind)> =
            layers.chain(body.lets.iter().map(|l| (l, Kind::Let))).collect();
        let places = lets.iter().map(|(l, kind)| Place { span: l.span(), doc: "", kind: *kind });
        let places: Vec<Place> = places.collect();
        let names: Vec<usize> = lets.iter().map(|(l, _)| l.pattern().chars().count()).collect();
        let pads = self.aligned(&places, &names);
        let mut last: Option<Place> = None;
        for r in &body.requires {
            let place = Place { span: r.span, doc: "", kind: Kind::Require };
            self.open(&place, last.as_ref(), 4, true);
            self.doc(Doc::Seq(vec![self.require(r), text(";")]), 4);
            self.close(place.span);
            last = Some(place);
        }
        for (((l, kind), place), pad) in lets.into_iter().zip(places).zip(pads) {
            if last.as_ref().is_some_and(|last: &Place| last.kind != kind) {
                self.blank();
            }
            self.open(&place, last.as_ref(), 4, true);
            self.definition(kind, l, pad);
            self.close(place.span);
            last = Some(place);
        }
        // Layers and the result stand apart, `let`s and the result do not.
        let kind = if body.lets.is_empty() { Kind::Value } else { Kind::Let };
        let value = &body.value;
        let place = Place { span: value.span, doc: "", kind };
        if last.as_ref().is_some_and(|last| last.kind == Kind::Require) {
            self.blank();
        }
        self.open(&place, last.as_ref(), 4, true);
        self.doc(self.style.whole(value), 4);
        self.close(value.span);
    }

    /// `name: value;` for a layer, otherwise `let name = value;`, the value `pad` columns further right.
    fn definition(&mut self, kind: Kind, l: &Let, pad: usize) {
        // A colon stays with its name, an equals sign with its value.
        let head = match kind {
            Kind::Layer => format!("{}:{:pad$} ", l.pattern(), ""),
            _ => format!("let {}{:pad$} = ", l.pattern(), ""),
        };
        self.doc(Doc::Seq(vec![text(head), self.style.whole(&l.value), text(";")]), 4);
    }

    /// Padding that makes names of neighbouring lines equally wide. A run ends at a blank line, a
    /// comment, and a statement of another kind.
    fn aligned(&self, places: &[Place], widths: &[usize]) -> Vec<usize> {
        let mut pads = Vec::with_capacity(places.len());
        while pads.len() < places.len() {
            let start = pads.len();
            let mut end = start + 1;
            while end < places.len() && self.neighbours(&places[end - 1], &places[end]) {
                end += 1;
            }
            pads.extend(equally_wide(&widths[start..end]));
        }
        pads
    }

    fn neighbours(&self, a: &Place, b: &Place) -> bool {
        a.kind == b.kind
            && match &self.trivia {
                Some(t) => {
                    t.adjacent(a.span.end as usize, b.span.start as usize, b.span.end as usize)
                }
                None => b.doc.is_empty(),
            }
    }

    fn stmts(&mut self, body: &[Stmt]) {
        let places =
            body.iter().map(|s| Place { span: s.span, doc: &s.doc, kind: Kind::of(&s.kind) });
        let places: Vec<Place> = places.collect();
        let names = body.iter().map(|s| match &s.kind {
            StmtKind::Let(l) => l.pattern().chars().count(),
            StmtKind::Input { name, .. } | StmtKind::State { name, .. } => {
                name.written().chars().count()
            }
            _ => 0,
        });
        let pads = self.aligned(&places, &names.collect::<Vec<_>>());
        let heads: Vec<Option<String>> =
            body.iter().zip(&pads).map(|(s, pad)| self.input_head(s, *pad)).collect();
        let widths: Vec<usize> =
            heads.iter().map(|h| h.as_ref().map_or(0, |h| h.chars().count())).collect();
        let mut last = None;
        for (i, (stmt, place)) in body.iter().zip(places).enumerate() {
            self.open(&place, last.as_ref(), 4, true);
            let pad = pads.get(i).copied().unwrap_or(0);
            match (heads.get(i), &stmt.kind) {
                (Some(Some(head)), StmtKind::Input { from, .. }) => {
                    self.input(head, from.as_ref(), self.giver_column(&heads, &widths, body, i));
                }
                _ => self.stmt(&stmt.kind, pad),
            }
            self.close(stmt.span);
            last = Some(place);
        }
    }

    fn stmt(&mut self, kind: &StmtKind, pad: usize) {
        let style = self.style;
        let mut parts = Vec::new();
        match kind {
            StmtKind::Require(r) => parts.push(self.require(r)),
            StmtKind::Parties { name, size } => {
                parts.push(text(format!("parties {}", name.written())));
                if let Some(size) = size {
                    parts.extend([text("["), style.expr(size), text("]")]);
                }
            }
            StmtKind::Input { name, ty, range, from } => {
                parts = self.input_parts(name, ty, range.as_ref(), pad);
                if let Some(giver) = from {
                    parts.push(text(givers::giver_text(giver)));
                }
            }
            StmtKind::Let(l) => return self.definition(Kind::Let, l, pad),
            StmtKind::Noise { name, ty, law, scale } => parts.extend([
                text(format!("sample {}: ", name.written())),
                style.ty(ty),
                text(format!(" from {}(", law.written())),
                style.expr(scale),
                text(")"),
            ]),
            StmtKind::State { name, ty, range, start } => {
                parts
                    .extend([text(format!("state {}:{:pad$} ", name.written(), "")), style.ty(ty)]);
                if let Some(range) = range {
                    parts.extend([text(" in "), style.between(range)]);
                }
                parts.extend([text(" = "), style.whole(start)]);
            }
            StmtKind::Store { value, name } => parts.extend([
                text("store "),
                style.whole(value),
                text(format!(" as {}", name.written())),
            ]),
            StmtKind::Sample { name, counts, of, each } => {
                parts.push(text(format!("sample {}", name.written())));
                parts.push(list("[", counts.iter().map(|e| style.expr(e)).collect(), "]"));
                parts.extend([text(" of "), style.expr(of)]);
                if let Some(each) = each {
                    parts.push(text(format!(" for each {}", each.written())));
                }
            }
            StmtKind::Reveal { value, to, member, name } => {
                let member =
                    member.as_ref().map_or(String::new(), |m| format!("[{}]", m.written()));
                parts.extend([
                    text("reveal "),
                    style.whole(value),
                    text(format!(" to {}{member} as {}", to.written(), name.written())),
                ]);
            }
            // Nothing can stand for what was skipped; this does not parse.
            StmtKind::Error => parts.push(text("…")),
        }
        parts.push(text(";"));
        self.doc(Doc::Seq(parts), 4);
    }
}

fn use_tree(tree: &UseTree) -> Doc {
    let mut parts = Vec::new();
    let mut tree = tree;
    loop {
        match tree {
            UseTree::Path(name, inner) => {
                parts.push(text(format!("{}::", name.written())));
                tree = inner;
            }
            UseTree::Name(name) => {
                parts.push(text(name.written()));
                return Doc::Seq(parts);
            }
            UseTree::Group(names) => {
                parts.push(list("{", names.iter().map(|n| text(n.written())).collect(), "}"));
                return Doc::Seq(parts);
            }
        }
    }
}
