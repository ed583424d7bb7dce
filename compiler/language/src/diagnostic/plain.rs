//! Text of a stranger, fit for a terminal: no character that moves the cursor, changes colours or turns the
//! direction of writing, and no line that fills the screen.

use crate::source::{floor_boundary, line_of, line_starts};
use std::borrow::Cow;
use std::ops::Range;

/// A longer line is shown around what a message points at.
const MAX_LINE: usize = 400;
/// So much of it stands before that place.
const BEFORE: usize = 120;
/// A longer title, label or hint is cut.
const MAX_TEXT: usize = 2000;
/// A longer name is cut.
const MAX_NAME: usize = 100;

/// Whether a character does something to a terminal instead of being shown.
pub(crate) fn controls(c: char) -> bool {
    let direction = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}');
    let line = matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}');
    (c.is_control() && !matches!(c, '\n' | '\t')) || direction || line
}

/// The text with a mark in place of every control character but line ends and tabs. It is as long as before,
/// in bytes, so that places in it stay the same.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(controls) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let ends_line = c == '\r' && text[at + 1..].starts_with('\n');
        out.push(match c.len_utf8() {
            _ if !controls(c) || ends_line => c,
            1 => '?',
            2 => '¿',
            _ => char::REPLACEMENT_CHARACTER,
        });
    }
    out.into()
}

/// As [`plain`], of a message, and not longer than one can read.
pub fn message(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_TEXT {
        return plain(text);
    }
    let end = floor_boundary(text, MAX_TEXT);
    format!("{}…", plain(&text[..end])).into()
}

/// A text of which long lines are cut around the places that a message points at, with these places in it.
pub struct Excerpt {
    /// As many lines as before.
    pub text: String,
    pub places: Vec<Range<usize>>,
}

/// As [`plain`], of a name that stands within a line: it has no line ends, and not more characters than one can read.
pub fn name(text: &str) -> String {
    let end = floor_boundary(text, MAX_NAME.min(text.len()));
    let shown = plain(&text[..end]).replace(['\n', '\r', '\t'], "?");
    if end < text.len() { format!("{shown}…") } else { shown }
}

/// The excerpt of a text for these places; `None` if none of them is on a long line.
pub fn excerpt(text: &str, places: &[Range<usize>]) -> Option<Excerpt> {
    let starts = line_starts(text);
    let line = |at: usize| {
        let line = line_of(&starts, at);
        let end = starts.get(line + 1).map_or(text.len(), |next| next - 1);
        starts[line]..end
    };
    // The first place of a line decides what is shown of it.
    let mut cuts: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    for at in places.iter().flat_map(|place| [place.start, place.end]) {
        let line = line(at);
        if line.len() > MAX_LINE && !cuts.iter().any(|(cut, _)| *cut == line) {
            let from = floor_boundary(text, at.saturating_sub(BEFORE).max(line.start));
            let to = floor_boundary(text, (from + MAX_LINE).min(line.end));
            cuts.push((line, from..to));
        }
    }
    if cuts.is_empty() {
        return None;
    }
    cuts.sort_by_key(|(line, _)| line.start);
    // Pieces that stay, and where they begin in the excerpt.
    let mut out = String::new();
    let mut pieces: Vec<(Range<usize>, usize)> = Vec::new();
    let mut done = 0;
    for (line, shown) in &cuts {
        pieces.push((done..line.start, out.len()));
        out.push_str(&text[done..line.start]);
        if shown.start > line.start {
            out.push('…');
        }
        pieces.push((shown.clone(), out.len()));
        out.push_str(&text[shown.clone()]);
        if shown.end < line.end {
            out.push('…');
        }
        done = line.end;
    }
    pieces.push((done..text.len(), out.len()));
    out.push_str(&text[done..]);
    // What was cut away is at the end of what is shown before it.
    let moved = |at: usize| {
        let piece = pieces.partition_point(|(from, _)| from.start <= at).saturating_sub(1);
        let (from, to) = &pieces[piece];
        to + at.clamp(from.start, from.end) - from.start
    };
    let places = places.iter().map(|p| moved(p.start)..moved(p.end)).collect();
    Some(Excerpt { text: out, places })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_marked_and_places_stay() {
        let text = "a\u{1b}[31m\u{9b}2J\u{202e}b\rc\r\n\td\u{7f}";
        let shown = plain(text);
        assert_eq!(shown, "a?[31m¿2J\u{fffd}b?c\r\n\td?");
        assert_eq!(shown.len(), text.len());
        assert!(matches!(plain("let é = a;\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn long_lines_are_cut_around_the_first_place() {
        let long = "x".repeat(5000);
        let text = format!("short\n{long}é{long}\nlast\n");
        let at = 6 + 5000;
        let found =
            excerpt(&text, &[at..at + 2, 0..5, text.len() - 5..text.len() - 1]).expect("long");
        assert_eq!(&found.text[found.places[0].clone()], "é");
        assert_eq!(&found.text[found.places[1].clone()], "short");
        assert_eq!(&found.text[found.places[2].clone()], "last");
        assert_eq!(found.text.lines().count(), 3);
        assert!(found.text.lines().all(|line| line.len() < MAX_LINE + 10), "{}", found.text);
        // The second place of a line that is cut elsewhere is moved to where the line ends.
        let found = excerpt(&text, &[at..at + 2, at + 4000..at + 4001]).expect("long");
        assert!(found.text.is_char_boundary(found.places[1].start));
        assert!(excerpt("short\nlines\n", std::slice::from_ref(&(0..3))).is_none());
    }
}
