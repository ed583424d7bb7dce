//! What a tree does not hold: comments and blank lines of the source it was read from.

use super::super::lexer::Comment;
use crate::source::{line_of, line_starts};

/// Comments of a source, handed out in order, each once.
pub struct Trivia<'s> {
    source: &'s str,
    starts: Vec<usize>,
    comments: Vec<Comment<'s>>,
    next: usize,
}

impl<'s> Trivia<'s> {
    pub fn new(source: &'s str, comments: Vec<Comment<'s>>) -> Self {
        Trivia { source, starts: line_starts(source), comments, next: 0 }
    }

    /// Does a byte begin its line, and is the line above blank?
    pub fn blank_above(&self, at: usize) -> bool {
        let line = line_of(&self.starts, at);
        let above = line.checked_sub(1).and_then(|l| self.starts.get(l..=line));
        let Some(&[start, end]) = above else { return false };
        let blank = |start, end| self.source.get(start..end).is_some_and(|t| t.trim().is_empty());
        blank(start, end) && blank(end, at)
    }

    /// The next comment that begins before a byte, and whether a blank line stands above it.
    pub fn next_until(&mut self, end: usize) -> Option<(&'s str, bool)> {
        let comment = *self.comments.get(self.next).filter(|c| c.start < end)?;
        self.next += 1;
        Some((comment.body(), self.blank_above(comment.start)))
    }

    /// The next comment, if it stands on the line on which a node ends and is the last thing there.
    pub fn trailing(&mut self, end: usize) -> Option<&'s str> {
        let comment = *self.comments.get(self.next)?;
        let between = self.source.get(end..comment.start)?;
        // A definition's span ends before its semicolon.
        if !between.chars().all(|c| matches!(c, ' ' | '\t' | ';')) {
            return None;
        }
        self.next += 1;
        Some(comment.body())
    }

    /// Does the node from `start` to `stop` follow one that ends at `end` without a blank line or a
    /// comment of its own between them?
    pub fn adjacent(&self, end: usize, start: usize, stop: usize) -> bool {
        let first = self.comments.partition_point(|c| c.start < end);
        let commented =
            self.comments.get(first..).unwrap_or(&[]).iter().take_while(|c| c.start < stop);
        let above = commented
            .filter(|c| self.source.get(end..c.start).is_none_or(|gap| gap.contains('\n')));
        above.count() == 0 && !self.blank_above(start)
    }
}
