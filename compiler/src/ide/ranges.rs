//! What folds, and what is selected next.

use super::document::Document;
use super::position::{Position, Range};
use crate::source::{FileId, Span};
use crate::syntax::lexer::{Lexed, lex};

/// Lines that fold into their first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fold {
    /// The line that stays.
    pub first: u32,
    /// The last that goes.
    pub last: u32,
    pub comment: bool,
}

impl Document {
    /// What folds: brackets over several lines, and blocks of comments.
    pub fn folds(&self) -> Vec<Fold> {
        let lexed = lex(FileId(0), &self.text);
        let line = |at: usize| self.lines.line(at);
        let mut out = Vec::new();
        for (start, end) in self.brackets(&lexed) {
            let (first, last) = (line(start), line(end.saturating_sub(1)));
            // The line with the closing bracket stays.
            if last > first + 1 {
                out.push(Fold { first, last: last - 1, comment: false });
            }
        }
        let mut block: Option<(u32, u32)> = None;
        let mut end = |block: Option<(u32, u32)>| {
            if let Some((first, last)) = block.filter(|(first, last)| last > first) {
                out.push(Fold { first, last, comment: true });
            }
        };
        for comment in &lexed.comments {
            let at = line(comment.start);
            match &mut block {
                Some((_, last)) if at == *last + 1 => *last = at,
                _ => {
                    end(block);
                    block = Some((at, at));
                }
            }
        }
        end(block);
        out.sort_unstable();
        out.dedup_by_key(|f| f.first);
        out
    }

    /// What is selected from a place outwards: the name, what is in brackets, these with the brackets, the item, all.
    pub fn selections(&self, at: Position) -> Vec<Range> {
        let byte = self.offset(at);
        let mut spans: Vec<Span> = self.names.at(byte).into_iter().map(|(span, _)| span).collect();
        let brackets = self.brackets(&lex(FileId(0), &self.text));
        let around = brackets.into_iter().filter(|(start, end)| (*start..=*end).contains(&byte));
        for (start, end) in around {
            spans.extend([here(start + 1, end - 1), here(start, end)]);
        }
        let holds = |s: &Span| (s.start as usize..=s.end as usize).contains(&byte);
        spans.extend(self.names.defs.iter().map(|d| d.whole).filter(holds));
        spans.extend(self.tree.items.iter().map(|i| i.span).filter(holds));
        spans.push(here(0, self.text.len()));
        spans.retain(holds);
        spans.sort_by_key(|s| (s.end - s.start, s.start));
        // Each holds the one before.
        let mut out: Vec<Span> = Vec::new();
        for span in spans {
            let larger =
                |o: &Span| span.start <= o.start && o.end <= span.end && span.range() != o.range();
            if out.last().is_none_or(larger) {
                out.push(span);
            }
        }
        out.into_iter().map(|s| self.range(s)).collect()
    }

    /// Where pairs of brackets begin and end.
    fn brackets(&self, lexed: &Lexed<'_>) -> Vec<(usize, usize)> {
        let (mut open, mut out) = (Vec::new(), Vec::new());
        for &(start, _, end) in &lexed.tokens {
            match self.text.get(start..end) {
                Some("(" | "[" | "{") => open.push(start),
                Some(")" | "]" | "}") => out.extend(open.pop().map(|o| (o, end))),
                _ => {}
            }
        }
        out
    }
}

fn here(start: usize, end: usize) -> Span {
    Span { file: FileId(0), start: start as u32, end: end as u32 }
}
