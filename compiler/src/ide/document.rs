//! A text and what parsing alone tells of it.

use super::names::{self, Names, Target};
use super::position::{Lines, Position, Range};
use super::problem::{Fix, Place, Problem, Where};
use super::typed::Typed;
use crate::diagnostic::{self, Diagnostic};
use crate::source::{FileId, Span};
use crate::syntax::ast::File;
use crate::syntax::{self, Given, embedded, parse};

/// A text and what parsing tells of it.
#[derive(Clone, Debug)]
pub struct Document {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) lines: Lines,
    pub(super) tree: File,
    syntax: Vec<Diagnostic>,
    pub(super) names: Names,
    /// Whether it is a file of `std`. Such files see each other's items and have no predicate.
    pub(super) library: bool,
    /// What a comment `// slvr: M=DigitsNet m=10 net=lan` says, in which every word is a name, `=` and a value: for
    /// which sizes and which network the file is looked at.
    pub given: Vec<Given>,
}

/// A replacement of a range by another text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The range that is replaced.
    pub range: Range,
    /// The text that replaces it.
    pub text: String,
}

impl Document {
    /// Parses a text. A file whose name ends with that of a library file (`std/stats.slvr`) is treated as
    /// that file.
    pub fn new(name: &str, text: &str) -> Document {
        let library = embedded::STD.iter().any(|(std, _)| {
            name.strip_suffix(std)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with(['/', '\\']))
        });
        let (tree, syntax) = parse(FileId(0), text);
        let given = syntax::given(FileId(0), text);
        let names = names::resolve(&tree, library, &given);
        let lines = Lines::new(text);
        let (name, text) = (name.into(), text.into());
        Document { name, text, lines, tree, syntax, names, library, given }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The byte at a place.
    pub(super) fn offset(&self, at: Position) -> usize {
        self.lines.offset(&self.text, at)
    }

    /// Whether the text has syntax errors: [`Document::check`] then finds nothing else.
    pub fn has_syntax_errors(&self) -> bool {
        !self.syntax.is_empty()
    }

    /// What is wrong: syntax errors, or else what a check found.
    pub fn problems(&self, typed: Option<&Typed>) -> Vec<Problem> {
        match typed {
            _ if self.has_syntax_errors() => self.syntax.iter().map(|d| self.problem(d)).collect(),
            Some(typed) => typed.problems.clone(),
            None => Vec::new(),
        }
    }

    /// A diagnostic of this file alone.
    pub(super) fn problem(&self, d: &Diagnostic) -> Problem {
        self.problem_in(d, |span| Some(Place { file: Where::Here, range: self.range(span) }))
    }

    /// A diagnostic whose labels point into several files. The first label in this one is where the
    /// problem is shown; there may be none.
    pub(super) fn problem_in(
        &self,
        d: &Diagnostic,
        place: impl Fn(Span) -> Option<Place>,
    ) -> Problem {
        let mut message = d.title.clone();
        let mut range = None;
        let mut related = Vec::new();
        for (span, text) in &d.labels {
            let Some(at) = place(*span) else { continue };
            if range.is_none() && at.file == Where::Here {
                range = Some(at.range);
                if !text.is_empty() {
                    message = format!("{message}\n{text}");
                }
            } else {
                related.push((at, text.clone()));
            }
        }
        for hint in d.hints.iter().filter(|h| !h.text.is_empty()) {
            message = format!("{message}\nhint: {}", hint.text);
        }
        let here = |e: &diagnostic::Edit| {
            let at = place(e.at).filter(|p| p.file == Where::Here)?;
            Some(Edit { range: at.range, text: e.text.clone() })
        };
        let file = d.labels.first().map_or(FileId(0), |(span, _)| span.file);
        let fixes =
            syntax::fixes::fixes(d, file, &self.text).into_iter().filter_map(|(title, edits)| {
                let edits = edits.iter().map(here).collect::<Option<Vec<Edit>>>()?;
                Some(Fix { title: title.to_owned(), edits })
            });
        let fixes = fixes.collect();
        let range = range.unwrap_or_default();
        Problem { range, severity: d.severity, code: d.code.to_string(), message, related, fixes }
    }

    pub(super) fn range(&self, span: Span) -> Range {
        self.lines.range(&self.text, span)
    }

    pub(super) fn target(&self, at: Position) -> Option<(Span, Target)> {
        self.names.at(self.lines.offset(&self.text, at))
    }

    /// Where the name at a place is defined; none for names of the compiler.
    pub fn definition(&self, at: Position) -> Option<Place> {
        match self.target(at)?.1 {
            Target::Here(def) => {
                let at = self.names.defs.get(def)?.at;
                Some(Place { file: Where::Here, range: self.range(at) })
            }
            Target::Library(item) => {
                let range = Lines::new(item.file.text).range(item.file.text, item.name.span);
                // A library file that is open is its own definition.
                let here = self.library && self.text == item.file.text;
                let file = if here { Where::Here } else { Where::Library(item.file.name) };
                Some(Place { file, range })
            }
            Target::Builtin(_) | Target::Word(_) => None,
        }
    }

    /// The edit that formats the text; none if it is formatted or has syntax errors. Lines that stay
    /// as they are at its beginning and end are not part of it, so that cursors there do not move.
    pub fn format(&self) -> Option<Edit> {
        let new = syntax::format(FileId(0), &self.text).ok().filter(|new| *new != self.text)?;
        let common = |a: &str, b: &str| {
            let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
            a.get(..same).map_or(0, |same| same.rfind('\n').map_or(0, |i| i + 1))
        };
        let start = common(&self.text, &new);
        let (old_rest, new_rest) = (self.text.get(start..)?, new.get(start..)?);
        let same = old_rest.bytes().rev().zip(new_rest.bytes().rev());
        let same = same.take_while(|(a, b)| a == b).count();
        // Whole lines only: behind the first line break of what is the same.
        let tail = old_rest.len() - same;
        let tail =
            old_rest.as_bytes().get(tail..)?.iter().position(|b| *b == b'\n').map(|i| same - i - 1);
        let tail = tail.unwrap_or(0);
        let span =
            Span { file: FileId(0), start: start as u32, end: (self.text.len() - tail) as u32 };
        let text = new_rest.get(..new_rest.len() - tail)?.to_owned();
        Some(Edit { range: self.range(span), text })
    }
}
