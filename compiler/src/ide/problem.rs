//! What is wrong with a text, as an editor shows it.

use super::document::Edit;
use super::position::Range;
use crate::diagnostic::Severity;

/// A problem, as an editor shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub range: Range,
    /// How bad it is.
    pub severity: Severity,
    /// Its code: `E0007`.
    pub code: String,
    /// What is wrong and what to write instead, in lines.
    pub message: String,
    /// Other places, and what they have to do with it.
    pub related: Vec<(Place, String)>,
    /// What can be done about it in this file.
    pub fixes: Vec<Fix>,
}

/// Edits that do what a hint says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    pub title: String,
    /// All of them at once.
    pub edits: Vec<Edit>,
}

/// A place in some file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub file: Where,
    /// The place in it.
    pub range: Range,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Where {
    /// The one asked about.
    Here,
    /// One of the library, e.g. `std/stats.slvr`; [`crate::syntax::embedded::get`] has its text.
    Library(&'static str),
}
