//! What hints say to write, as edits that leave everything else of a text as it is.
//!
//! What reads a text to say what is wrong with it sees tokens; who edits it sees comments, lines and their ends, too.
//! Here edits are made fit for that: no comment is lost, and what is taken out leaves no hole.

use super::lexer::lex;
use crate::diagnostic::{Diagnostic, Edit, Hint};
use crate::source::{FileId, Span};
use std::ops::Range;

/// The hints of a message that can be done by edits of one file, whose text this is: each with what it does in words.
/// One whose edits would take a comment away is left out.
pub fn fixes<'d>(d: &'d Diagnostic, file: FileId, text: &str) -> Vec<(&'d str, Vec<Edit>)> {
    let here = |h: &&Hint| !h.edits.is_empty() && h.edits.iter().all(|e| e.at.file == file);
    let hints: Vec<&Hint> = d.hints.iter().filter(here).collect();
    if hints.is_empty() {
        return Vec::new();
    }
    let comments = lex(file, text).comments;
    let kept = |e: &Edit| {
        let at = e.at.range();
        // A word of a comment may be wrong, too.
        let within = |start: usize, end: usize| start < at.start && at.end <= end;
        let lost =
            |start: usize, end: usize| start < at.end && at.start < end && !within(start, end);
        let mut lost = comments.iter().filter(|c| lost(c.start, c.start + c.text.len()));
        lost.all(|c| e.text.contains(c.text.trim_end()))
    };
    let label = d.labels.first().map_or(d.title.as_str(), |(_, text)| text);
    let hints = hints.into_iter().filter(|h| h.edits.iter().all(kept));
    let one = |h: &'d Hint| {
        let title = if h.text.is_empty() { label } else { h.text.as_str() };
        (title, h.edits.iter().map(|e| fitted(text, e)).collect())
    };
    hints.map(one).collect()
}

/// An edit with the line ends of its text; one that leaves nothing of a line takes the line.
fn fitted(text: &str, edit: &Edit) -> Edit {
    let crlf = text.find('\n').is_some_and(|i| text.get(..i).is_some_and(|t| t.ends_with('\r')));
    if !edit.text.is_empty() {
        let lines = edit.text.replace("\r\n", "\n");
        let text = if crlf { lines.replace('\n', "\r\n") } else { lines };
        return Edit { at: edit.at, text };
    }
    let Range { start, end } = edit.at.range();
    let (Some(before), Some(behind)) = (text.get(..start), text.get(end..)) else {
        return edit.clone();
    };
    let line = before.rfind('\n').map_or(0, |i| i + 1);
    let rest = behind.find('\n').map_or(behind.len(), |i| i + 1);
    let blank = |from: usize, to: usize| text.get(from..to).unwrap_or("").trim().is_empty();
    let (mut start, mut end) = (start, end);
    if blank(end, end + rest) {
        if blank(line, start) {
            (start, end) = (line, end + rest);
            // Of blank lines above and below one is enough, and at the beginning none is.
            let above = before.get(..line.saturating_sub(1)).unwrap_or("");
            let above = above.rfind('\n').map_or(0, |i| i + 1);
            let next = text.get(end..).unwrap_or("");
            let next = next.find('\n').map_or(0, |i| i + 1);
            if blank(above, line) && next > 0 && blank(end, end + next) {
                end += next;
            }
        } else {
            start = before.trim_end_matches([' ', '\t']).len();
        }
    }
    let at = Span { start: start as u32, end: end as u32, ..edit.at };
    Edit { at, text: String::new() }
}

/// The edits of groups, and how many groups: one that overlaps an earlier one is left out as a whole. `at` is where an
/// edit is.
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
    use crate::diagnostic::codes;

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

    fn done(text: &str, hint: Hint) -> Option<String> {
        let d = codes::UNUSED.warning("").label(at(0, 1), "").hint(hint);
        let fixes = fixes(&d, FileId(0), text);
        let (_, edits) = fixes.first()?;
        Some(apply(text, [edits.as_slice()]).0)
    }

    fn span(text: &str, what: &str) -> Span {
        let start = text.find(what).expect("it is there") as u32;
        at(start, start + what.len() as u32)
    }

    #[test]
    fn comments_stay_or_nothing_is_offered() {
        let text = "let a = 1 // why\n + 2;";
        let whole = span(text, "1 // why\n + 2");
        assert_eq!(done(text, Hint::write(whole, "3", "")), None);
        let kept = done(text, Hint::write(whole, "sum([1, // why\n 2])", ""));
        assert_eq!(kept.as_deref(), Some("let a = sum([1, // why\n 2]);"));
        // In a text between quotes stands no comment.
        let text = "require a, \"b // c\";";
        assert!(done(text, Hint::write(span(text, "\"b // c\""), "x", "")).is_some());
    }

    #[test]
    fn what_is_taken_out_leaves_no_hole_and_lines_end_as_in_the_text() {
        let out = |text: &str, what: &str| done(text, Hint::write(span(text, what), "", ""));
        assert_eq!(out("a\nb;\nc", "b;").as_deref(), Some("a\nc"));
        assert_eq!(out("a\n\n  b; \n\nc", "b;").as_deref(), Some("a\n\nc"));
        assert_eq!(out("b;\r\n\r\nc", "b;").as_deref(), Some("c"));
        assert_eq!(out("a b;\nc", "b;").as_deref(), Some("a\nc"));
        assert_eq!(out("a\nb; // d\nc", "b;").as_deref(), Some("a\n // d\nc"));
        let put =
            |text: &str| done(text, Hint::from("").edit([Edit::after(span(text, "a"), "\nb")]));
        assert_eq!(put("a\r\nc").as_deref(), Some("a\r\nb\r\nc"));
        assert_eq!(put("a\nc").as_deref(), Some("a\nb\nc"));
    }
}
