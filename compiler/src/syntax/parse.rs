//! Drives the grammar: text to tree, with every error that can be told apart.
//!
//! Two things stand between the grammar and a good message. A missing `;` is the commonest mistake,
//! and recovery by skipping to the next `;` would swallow the statement behind it with all that is
//! wrong in it. So where one token put in or replaced lets the parse go on ([`Mend`]), it is reported,
//! done, and the parse starts again; at most [`MAX_DIAGNOSTICS`] times. And doc comments are no tokens:
//! they are attached afterwards, by line.

use super::ast::*;
use super::lexer::{self, Comment, Lexed, Token};
use crate::source::{line_of, line_starts};
use super::{depth, grammar, message};
use crate::diagnostic::{Diagnostic, codes};
use lalrpop_util::{ErrorRecovery, ParseError};

/// Longest source text accepted, in bytes.
pub const MAX_SOURCE: usize = 4 << 20;

/// Most messages reported for one file; a last one then says that there are more.
pub const MAX_DIAGNOSTICS: usize = 20;

/// Most tokens read again after mends, all parses together: some tenths of a second.
const MAX_MENDED: usize = 1 << 21;

/// Parses one file. Never panics, whatever the text, and always returns a tree: what could not be
/// read is left out of it ([`StmtKind::Error`] within a predicate, nothing elsewhere). The program is
/// syntactically right exactly if there are no diagnostics; they are in the order of the text.
pub fn parse(file: FileId, text: &str) -> (File, Vec<Diagnostic>) {
    if text.len() > MAX_SOURCE {
        let at = Span { file, start: 0, end: 0 };
        let title = format!("source text longer than {} MiB", MAX_SOURCE >> 20);
        return (File::default(), vec![Diagnostic::error(codes::SYNTAX, title, at, "too long")]);
    }
    let Lexed { mut tokens, comments, mut diagnostics } = lexer::lex(file, text);
    if let Some(too_deep) = depth::check(file, &tokens) {
        diagnostics.push(too_deep);
        return (File::default(), ordered(diagnostics, file));
    }
    // Each mend costs a parse of the whole text.
    let mut budget = MAX_MENDED;
    let mut tree = loop {
        let mut errors = Recovered::default();
        let parser = grammar::FileParser::new();
        let tree = match parser.parse(file, &mut errors, tokens.iter().cloned()) {
            Ok(tree) => tree,
            Err(error) => {
                errors.list.push(error);
                File::default()
            }
        };
        let context = message::Context { file, text, tokens: &tokens };
        budget = budget.saturating_sub(tokens.len());
        if budget > 0
            && diagnostics.len() < MAX_DIAGNOSTICS
            && let Some((mend, diagnostic)) = errors.list.iter().find_map(|e| context.mend(e))
        {
            diagnostics.push(diagnostic);
            mend.apply(&mut tokens);
            continue;
        }
        diagnostics.extend(errors.list.iter().filter_map(|e| context.describe(e)));
        break tree;
    };
    Docs::new(text, &comments).attach(&mut tree);
    (tree, ordered(diagnostics, file))
}

/// In the order of the text, each once, and at most [`MAX_DIAGNOSTICS`].
fn ordered(mut diagnostics: Vec<Diagnostic>, file: FileId) -> Vec<Diagnostic> {
    let start = |d: &Diagnostic| d.labels.first().map_or(0, |(span, _)| span.start);
    diagnostics.sort_by_key(start);
    diagnostics.dedup_by(|b, a| start(a) == start(b) && a.title == b.title);
    if diagnostics.len() > MAX_DIAGNOSTICS {
        let at = diagnostics.get(MAX_DIAGNOSTICS).map_or(0, start);
        diagnostics.truncate(MAX_DIAGNOSTICS);
        let at = Span { file, start: at, end: at };
        diagnostics.push(Diagnostic::error(
            codes::SYNTAX,
            "more errors follow",
            at,
            "this one and what is behind it is not shown",
        ));
    }
    diagnostics
}

/// A parse error as the generated parser makes it.
pub(super) type Failure<'s> = ParseError<usize, Token<'s>, TooMany>;

/// The parser gave up: more errors than anyone reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

/// Errors that the parser recovered from, in order.
#[derive(Debug, Default)]
pub struct Recovered<'s> {
    list: Vec<Failure<'s>>,
}

impl<'s> Recovered<'s> {
    /// Notes an error. Each carries a list of words: a text of a million errors must not fill memory.
    pub fn add(
        &mut self,
        error: ErrorRecovery<usize, Token<'s>, TooMany>,
    ) -> Result<(), Failure<'s>> {
        self.list.push(error.error);
        if self.list.len() > MAX_DIAGNOSTICS {
            return Err(ParseError::User { error: TooMany });
        }
        Ok(())
    }
}

/// A change of one token, by its index, that lets the parse go on.
pub(super) enum Mend<'s> {
    /// Put a token before it.
    Insert(usize, Token<'s>),
    /// Put a token in its place.
    Replace(usize, Token<'s>),
    /// Leave it out.
    Delete(usize),
}

impl<'s> Mend<'s> {
    fn apply(self, tokens: &mut Vec<(usize, Token<'s>, usize)>) {
        match self {
            Mend::Insert(at, token) => {
                let at = at.min(tokens.len());
                // It stands right behind the token before it, and has no length.
                let place = at.checked_sub(1).and_then(|i| tokens.get(i)).map_or(0, |t| t.2);
                tokens.insert(at, (place, token, place));
            }
            Mend::Replace(at, token) => {
                if let Some(old) = tokens.get_mut(at) {
                    old.1 = token;
                }
            }
            Mend::Delete(at) if at < tokens.len() => drop(tokens.remove(at)),
            Mend::Delete(_) => {}
        }
    }
}

/// Span of a byte range.
pub(super) fn span(file: FileId, start: usize, end: usize) -> Span {
    // Texts are at most MAX_SOURCE long.
    Span { file, start: start as u32, end: end as u32 }
}

/// `a op b`.
pub(super) fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    let span = a.span.to(b.span);
    Expr { kind: ExprKind::Binary(op, Box::new(a), Box::new(b)), span }
}

/// `op a`; the operator begins at byte `start`.
pub(super) fn unary(op: UnaryOp, start: usize, a: Expr) -> Expr {
    let span = Span { start: start as u32, ..a.span };
    Expr { kind: ExprKind::Unary(op, Box::new(a)), span }
}

/// An expression with a suffix that ends at byte `end`.
pub(super) fn suffix(a: Expr, end: usize, kind: impl FnOnce(Box<Expr>) -> ExprKind) -> Expr {
    let span = Span { end: end as u32, ..a.span };
    Expr { kind: kind(Box::new(a)), span }
}

/// Finds the comment block right above a line.
struct Docs<'s> {
    text: &'s str,
    starts: Vec<usize>,
    /// Comments that have their line to themselves, with its index.
    own: Vec<(usize, Comment<'s>)>,
}

impl<'s> Docs<'s> {
    fn new(text: &'s str, comments: &[Comment<'s>]) -> Self {
        let starts = line_starts(text);
        let own = comments.iter().filter_map(|c| {
            let line = line_of(&starts, c.start);
            text.get(*starts.get(line)?..c.start)?.trim().is_empty().then_some((line, *c))
        });
        let own = own.collect();
        Docs { text, starts, own }
    }

    fn attach(&self, file: &mut File) {
        for item in &mut file.items {
            item.doc = self.above(item.span);
            if let ItemKind::Predicate(predicate) = &mut item.kind {
                for stmt in &mut predicate.body {
                    stmt.doc = self.above(stmt.span);
                }
            }
        }
    }

    /// The comment block above what begins at a span and is first on its line.
    fn above(&self, at: Span) -> String {
        let start = at.start as usize;
        let line = line_of(&self.starts, start);
        let before = self.starts.get(line).and_then(|&l| self.text.get(l..start));
        if !before.is_some_and(|b| b.trim().is_empty()) {
            return String::new();
        }
        let end = self.own.partition_point(|(l, _)| *l < line);
        let mut first = end;
        while let Some((above, _)) = first.checked_sub(1).and_then(|i| self.own.get(i))
            && above + (end - first) + 1 == line
        {
            first -= 1;
        }
        let block = self.own.get(first..end).unwrap_or(&[]);
        let lines: Vec<&str> = block.iter().map(|(_, c)| c.body()).collect();
        lines.join("\n")
    }
}
