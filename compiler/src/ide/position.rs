//! Places in a text as editors count them: lines, and UTF-16 units within a line.

use crate::source::{Span, floor_boundary};

/// A place in a text, both from 0. Editors count UTF-16 units: `é` is one, `𝒳` is two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: u32,
    /// UTF-16 units before it on its line.
    pub character: u32,
}

/// From one place up to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Range {
    pub start: Position,
    /// The place behind the last.
    pub end: Position,
}

/// Where the lines of a text begin.
#[derive(Clone, Debug)]
pub struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    /// Of a text. A line ends at `\n`, `\r\n` or `\r`.
    pub fn new(text: &str) -> Lines {
        let bytes = text.as_bytes();
        let ends = |i: &usize| match bytes.get(*i) {
            Some(b'\n') => true,
            Some(b'\r') => bytes.get(i + 1) != Some(&b'\n'),
            _ => false,
        };
        let starts = std::iter::once(0).chain((0..bytes.len()).filter(ends).map(|i| i + 1));
        Lines { starts: starts.collect() }
    }

    /// The line of a byte.
    pub(super) fn line(&self, at: usize) -> u32 {
        self.starts.partition_point(|&s| s <= at).saturating_sub(1) as u32
    }

    /// The place of a byte; that of the end for one past it, that of the character it is in.
    pub fn position(&self, text: &str, at: usize) -> Position {
        let at = floor_boundary(text, at);
        let line = self.line(at);
        let start = self.starts.get(line as usize).copied().unwrap_or(0);
        let units = text.get(start..at).map_or(0, |t| t.encode_utf16().count());
        Position { line, character: units as u32 }
    }

    /// The byte at a place: the end of the line for one past it, the end of the text for a line past
    /// it, the character's beginning for one within it.
    pub fn offset(&self, text: &str, at: Position) -> usize {
        let Some(&start) = self.starts.get(at.line as usize) else { return text.len() };
        let next = self.starts.get(at.line as usize + 1).copied().unwrap_or(text.len());
        let line = text.get(start..next).unwrap_or("").trim_end_matches(['\r', '\n']);
        let mut units = at.character as usize;
        for (i, c) in line.char_indices() {
            if units < c.len_utf16() {
                return start + i;
            }
            units -= c.len_utf16();
        }
        start + line.len()
    }

    /// The places of a span.
    pub fn range(&self, text: &str, span: Span) -> Range {
        let (start, end) = (span.start as usize, span.end.max(span.start) as usize);
        Range { start: self.position(text, start), end: self.position(text, end) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    #[test]
    fn units_are_utf16() {
        let text = "a\r\né𝒳b\n\rend";
        let lines = Lines::new(text);
        assert_eq!(lines.position(text, 0), at(0, 0));
        assert_eq!(lines.position(text, 3), at(1, 0));
        assert_eq!(lines.position(text, 5), at(1, 1), "behind é");
        assert_eq!(lines.position(text, 7), at(1, 1), "within 𝒳: before it");
        assert_eq!(lines.position(text, 9), at(1, 3), "behind 𝒳, which is two units");
        assert_eq!(lines.position(text, 11), at(2, 0));
        assert_eq!(lines.position(text, 12), at(3, 0), "a lone carriage return ends a line");
        assert_eq!(lines.position(text, 1000), at(3, 3));
        assert_eq!(lines.offset(text, at(1, 3)), 9);
        assert_eq!(lines.offset(text, at(1, 2)), 5, "within 𝒳");
        assert_eq!(lines.offset(text, at(0, 99)), 1, "not the line break");
        assert_eq!(lines.offset(text, at(99, 0)), text.len());
    }

    proptest! {
        #[test]
        fn places_are_bytes(text in "[ab\u{e9}\u{1d4b3}\r\n]{0,30}") {
            let lines = Lines::new(&text);
            for (byte, c) in text.char_indices() {
                let position = lines.position(&text, byte);
                // Within `\r\n` there is no place.
                let inside = c == '\n' && text[..byte].ends_with('\r');
                if !inside {
                    prop_assert_eq!(lines.offset(&text, position), byte);
                }
            }
        }
    }
}
