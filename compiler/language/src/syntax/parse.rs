//! Drives the grammar: text to tree, with every error that can be told apart.
//!
//! Two things stand between the grammar and a good message. A missing `;` is the commonest mistake,
//! and recovery by skipping to the next `;` would swallow the statement behind it with all that is
//! wrong in it. So where one token put in, replaced or taken out lets the parse go on ([`super::mend::Mend`]), it is
//! reported, done, and the parse starts again; at most [`MAX_DIAGNOSTICS`] times. And doc comments are no tokens:
//! they are attached afterwards, by line.

use super::actions::Recovered;
use super::ast::*;
use super::lexer::{self, Lexed};
use super::limits::{MAX_DIAGNOSTICS, MAX_SOURCE};
use super::{comments, depth, grammar, message};
use crate::diagnostic::{Diagnostic, codes};

/// Most tokens read again after mends, all parses together: some tenths of a second.
const MAX_MENDED: usize = 1 << 21;

/// Parses one file. Never panics, whatever the text, and always returns a tree: what could not be
/// read is left out of it ([`StmtKind::Error`] within a predicate, nothing elsewhere). The program is
/// syntactically right exactly if there are no diagnostics; they are in the order of the text.
pub fn parse(file: FileId, text: &str) -> (File, Vec<Diagnostic>) {
    if text.len() > MAX_SOURCE {
        let at = Span { file, start: 0, end: 0 };
        let title = format!("source text longer than {} MiB", MAX_SOURCE >> 20);
        return (File::default(), vec![codes::SYNTAX.error(title).label(at, "too long")]);
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
    comments::attach(text, &comments, &mut tree);
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
        diagnostics.push(
            codes::SYNTAX
                .error("more errors follow")
                .label(at, "this one and what is behind it is not shown"),
        );
    }
    diagnostics
}
