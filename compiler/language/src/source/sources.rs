//! The source texts of one compilation.

use super::span::{FileId, Span};

/// A loaded source file.
#[derive(Clone, Debug)]
struct Source {
    /// As shown in messages.
    name: String,
    text: String,
    /// Byte offset of the start of each line; the first is 0.
    lines: Vec<usize>,
}

/// All source texts of one compilation; [`Span`]s point into them.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<Source>,
}

impl Sources {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file. The name is what messages show; it need not be a path.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        let text = text.into();
        let lines = line_starts(&text);
        self.files.push(Source { name: name.into(), text, lines });
        FileId(self.files.len() as u32 - 1)
    }

    /// Number of files; their ids are `0..len`.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// No file was added yet.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The file added under this name, if any.
    pub fn find(&self, name: &str) -> Option<FileId> {
        self.files.iter().position(|f| f.name == name).map(|i| FileId(i as u32))
    }

    /// Name of a file; empty for an id that is not of this collection.
    pub fn name(&self, id: FileId) -> &str {
        self.files.get(id.0 as usize).map_or("", |f| &f.name)
    }

    /// Text of a file; empty for an id that is not of this collection.
    pub fn text(&self, id: FileId) -> &str {
        self.files.get(id.0 as usize).map_or("", |f| &f.text)
    }

    /// Line and column where a span begins, both from 1; columns count characters.
    pub fn line_col(&self, span: Span) -> (usize, usize) {
        let Some(file) = self.files.get(span.file.0 as usize) else { return (1, 1) };
        let at = floor_boundary(&file.text, span.start as usize);
        let line = line_of(&file.lines, at);
        let start = file.lines.get(line).copied().unwrap_or(0);
        let column = file.text.get(start..at).map_or(0, |s| s.chars().count());
        (line + 1, column + 1)
    }

    /// The text a span covers; empty if it points outside its file.
    pub fn snippet(&self, span: Span) -> &str {
        self.text(span.file).get(span.range()).unwrap_or("")
    }
}

/// Byte offsets of line starts; the first is 0.
pub(crate) fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect()
}

/// Index of the line that holds a byte, given [`line_starts`].
pub(crate) fn line_of(starts: &[usize], at: usize) -> usize {
    starts.partition_point(|&s| s <= at).saturating_sub(1)
}

/// The largest character boundary that is not after `at`.
pub fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns() {
        let mut sources = Sources::new();
        sources.add("first", "");
        let id = sources.add("a.slvr", "let\n  é = 1;\n");
        let at = |start| sources.line_col(Span { file: id, start, end: start });
        assert_eq!(at(0), (1, 1));
        assert_eq!(at(3), (1, 4));
        assert_eq!(at(4), (2, 1));
        assert_eq!(at(9), (2, 5), "é counts as one column");
        assert_eq!(at(7), (2, 3), "inside é: its start");
        assert_eq!(at(1000), (3, 1), "past the end: the end");
        assert_eq!(sources.name(FileId(9)), "");
        assert_eq!(sources.find("a.slvr"), Some(id));
    }
}
