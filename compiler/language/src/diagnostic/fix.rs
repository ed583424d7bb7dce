//! What a hint says to write, as edits of a text.
//!
//! A hint that spells out what to write in a place is made together with the edit that writes it ([`Hint::write`],
//! [`Hint::meant`]), so that neither says what the other does not. Hints without edits are advice: an example, or a
//! choice that is the author's.

use crate::source::Span;

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
    /// What to write in a place, and why.
    pub fn write(at: Span, text: impl Into<String>, why: &str) -> Hint {
        let text = text.into();
        Hint { text: format!("write `{text}`{why}"), edits: vec![Edit::replace(at, text)] }
    }

    /// The name that was most likely meant.
    pub fn meant(at: Span, name: &str) -> Hint {
        Hint::from(format!("did you mean `{name}`?")).edit([Edit::replace(at, name)])
    }

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
