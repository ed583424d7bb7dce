//! What a hint says to write, as edits of a text.

use super::Diagnostic;
use crate::source::{FileId, Span};
use std::ops::Range;

/// What to write instead, or other help.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hint {
    /// In words; empty where the label says it.
    pub text: String,
    /// Edits that do it; none where the words leave a choice.
    pub edits: Vec<Edit>,
}

/// A place and what is written there instead.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Edit {
    /// What is replaced; where something is put in, it is empty.
    pub at: Span,
    /// The text in its place.
    pub text: String,
}

impl Edit {
    /// Writes a text over a place.
    pub fn replace(at: Span, text: impl Into<String>) -> Edit {
        Edit { at, text: text.into() }
    }

    /// Writes a text before a place.
    pub fn before(at: Span, text: impl Into<String>) -> Edit {
        Edit::replace(Span { end: at.start, ..at }, text)
    }

    /// Writes a text behind a place.
    pub fn after(at: Span, text: impl Into<String>) -> Edit {
        Edit::replace(Span { start: at.end, ..at }, text)
    }
}

impl Hint {
    /// With edits that do what it says.
    pub fn edit(mut self, edits: impl IntoIterator<Item = Edit>) -> Hint {
        self.edits.extend(edits);
        self
    }
}

impl<T: Into<String>> From<T> for Hint {
    fn from(text: T) -> Hint {
        Hint { text: text.into(), edits: Vec::new() }
    }
}

impl Diagnostic {
    /// Its hints that can be done by edits of one file, each with what it does in words.
    pub fn fixes(&self, file: FileId) -> impl Iterator<Item = (&str, &[Edit])> {
        let here =
            move |h: &&Hint| !h.edits.is_empty() && h.edits.iter().all(|e| e.at.file == file);
        let label = self.labels.first().map_or(self.title.as_str(), |(_, text)| text);
        let said = move |h: &Hint| h.text.is_empty();
        self.hints
            .iter()
            .filter(here)
            .map(move |h| (if said(h) { label } else { h.text.as_str() }, h.edits.as_slice()))
    }
}

/// The edits of groups, and how many groups: one that overlaps an earlier one is left out as a whole. `at` is where an edit
/// is.
pub fn apart<'e, E, P: PartialOrd>(
    groups: impl IntoIterator<Item = &'e [E]>,
    at: impl Fn(&E) -> Range<P>,
) -> (Vec<&'e E>, usize) {
    let mut done: Vec<&E> = Vec::new();
    let mut count = 0;
    for group in groups {
        let clear = |e: &E| {
            let e = at(e);
            let apart = |d: Range<P>| (d.end <= e.start || e.end <= d.start) && d != e;
            done.iter().all(|d| apart(at(d)))
        };
        if group.iter().all(clear) {
            done.extend(group);
            count += 1;
        }
    }
    (done, count)
}

/// A text with those edits of it done that are [`apart`], and how many groups of them were.
pub fn apply<'e>(text: &str, groups: impl IntoIterator<Item = &'e [Edit]>) -> (String, usize) {
    let inside = |group: &&[Edit]| group.iter().all(|e| text.get(e.at.range()).is_some());
    let (mut done, count) = apart(groups.into_iter().filter(inside), |e| e.at.range());
    done.sort_by_key(|e| (e.at.start, e.at.end));
    let mut out = String::new();
    let mut at = 0;
    for edit in done {
        out += text.get(at..edit.at.start as usize).unwrap_or_default();
        out += &edit.text;
        at = edit.at.end as usize;
    }
    out += text.get(at..).unwrap_or_default();
    (out, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(start: u32, end: u32) -> Span {
        Span { file: FileId(0), start, end }
    }

    #[test]
    fn edits_that_overlap_earlier_ones_are_left_out() {
        let first = [Edit::replace(at(0, 3), "one"), Edit::after(at(4, 7), "!")];
        let second = [Edit::replace(at(2, 5), "no")];
        let third = [Edit::before(at(4, 7), "<")];
        let groups = [&first[..], &second[..], &third[..]];
        assert_eq!(apply("abc def", groups), ("one <def!".into(), 2));
        assert_eq!(apply("abc", [&[Edit::replace(at(9, 12), "x")][..]]), ("abc".into(), 0));
    }
}
