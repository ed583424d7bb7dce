//! Documentation comments. They are no tokens, so the grammar does not see them: they are attached to the
//! tree afterwards, by line.

use super::ast::{File, ItemKind, Span};
use super::lexer::Comment;
use crate::source::{line_of, line_starts};

/// Gives each item and statement the comment block right above it.
pub(super) fn attach(text: &str, comments: &[Comment<'_>], file: &mut File) {
    let starts = line_starts(text);
    let own = comments.iter().filter_map(|c| {
        let line = line_of(&starts, c.start);
        text.get(*starts.get(line)?..c.start)?.trim().is_empty().then_some((line, *c))
    });
    let docs = Docs { text, own: own.collect(), starts: &starts };
    for item in &mut file.items {
        item.doc = docs.above(item.span);
        if let ItemKind::Predicate(predicate) = &mut item.kind {
            for stmt in &mut predicate.body {
                stmt.doc = docs.above(stmt.span);
            }
        }
    }
}

/// Finds the comment block right above a line.
struct Docs<'s> {
    text: &'s str,
    starts: &'s [usize],
    /// Comments that have their line to themselves, with its index.
    own: Vec<(usize, Comment<'s>)>,
}

impl Docs<'_> {
    /// The comment block above what begins at a span and is first on its line.
    fn above(&self, at: Span) -> String {
        let start = at.start as usize;
        let line = line_of(self.starts, start);
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
