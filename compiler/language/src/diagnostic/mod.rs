//! One small structure renders every message of the compiler: a code, a title, labels that point at
//! the source, and hints that say what to write instead.
//!
//! Lives here: [`Diagnostic`], the edits that hints name ([`fix`]), the table of error codes ([`codes`]), what each of
//! them means ([`explain`]), near names ([`near`]), text fit for a terminal ([`plain`]) and rendering ([`render`]). May
//! not live here: the decision what is an error. Each room makes its own diagnostics.

pub mod codes;
pub mod explain;
pub mod fix;
pub mod near;
pub mod plain;
pub mod render;
pub mod rounding;

pub use codes::Code;
pub use fix::{Edit, Hint};

use crate::source::Span;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The program is rejected.
    Error,
    /// The program is accepted.
    Warning,
}

/// A message to the author of a `.slvr` file.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    pub severity: Severity,
    pub code: Code,
    /// The rule broken, in the language's own terms, in one line.
    pub title: String,
    /// Places; the first is where the mistake is.
    pub labels: Vec<(Span, String)>,
    /// What to write instead, and other help, in order.
    pub hints: Vec<Hint>,
}

impl Code {
    /// An error, still without a place. The first label says where the mistake is.
    pub fn error(self, title: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            code: self,
            title: title.into(),
            labels: Vec::new(),
            hints: Vec::new(),
        }
    }

    pub fn warning(self, title: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..self.error(title) }
    }
}

impl Diagnostic {
    /// As [`Code::error`].
    pub fn error(code: Code, title: impl Into<String>, at: Span, label: impl Into<String>) -> Self {
        code.error(title).label(at, label)
    }

    /// As [`Code::warning`].
    pub fn warning(
        code: Code,
        title: impl Into<String>,
        at: Span,
        label: impl Into<String>,
    ) -> Self {
        code.warning(title).label(at, label)
    }

    /// With another place pointed at.
    pub fn label(mut self, at: Span, text: impl Into<String>) -> Self {
        self.labels.push((at, text.into()));
        self
    }

    pub fn hint(mut self, hint: impl Into<Hint>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// With a hint if there is one.
    pub fn hints(mut self, hint: Option<impl Into<Hint>>) -> Self {
        self.hints.extend(hint.map(Into::into));
        self
    }

    /// With edits that do what the last hint says, or, if there is none, what the label says.
    pub fn edit(mut self, edits: impl IntoIterator<Item = Edit>) -> Self {
        if self.hints.is_empty() {
            self.hints.push(String::new().into());
        }
        if let Some(last) = self.hints.last_mut() {
            last.edits.extend(edits);
        }
        self
    }
}
