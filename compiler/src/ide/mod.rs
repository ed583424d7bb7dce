//! What editors and readers ask of a text: what is wrong with it, what is under the cursor, where it
//! is defined, its documentation.
//!
//! Lives here: pure functions from texts to answers, for text that is being written: half a statement
//! is the rule, so nothing here fails or panics because of what a text says. May not live here: the
//! language server protocol and I/O (the binary's `lsp` verb), and rules of the language.
//!
//! A [`Document`] is what parsing alone tells, at once. [`Document::types`] types the predicates and models in it,
//! which takes longer, and [`Typed::certify`] learns from the compiled ones, which takes longest; what they find makes
//! answers better but is not needed for them.
//!
//! | file | does |
//! |---|---|
//! | `position.rs` | bytes to lines and UTF-16 units, and back |
//! | `library.rs` | the embedded library, parsed once |
//! | `names.rs` | what each name refers to |
//! | `problem.rs` | what is wrong, and where |
//! | `typed.rs` | what a check tells of each definition |
//! | `document.rs` | a text and what parsing tells of it |
//! | `given.rs` | what is wrong with the comment of sizes |
//! | `check.rs` | types, for the smallest sizes that fit |
//! | `hover.rs` | what is said of a name |
//! | `complete.rs` | what may stand at a place |
//! | `usages.rs` | where a name is used, and what renames it |
//! | `symbols.rs` | what a file defines |
//! | `signature.rs` | the parameters of the function that is being called |
//! | `tokens.rs` | what each word is, for highlighting |
//! | `ranges.rs` | what folds, and what is selected next |
//! | `doc/` | Markdown pages of the library and of predicates |

mod check;
mod complete;
pub mod doc;
mod document;
mod given;
mod hover;
pub mod library;
mod names;
mod position;
mod problem;
mod ranges;
mod signature;
mod symbols;
mod tokens;
mod typed;
mod usages;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use complete::{Completion, CompletionKind};
pub use document::{Document, Edit};
pub use hover::Hover;
pub use position::{Lines, Position, Range};
pub use problem::{Fix, Place, Problem, Where};
pub use ranges::Fold;
pub use signature::Signature;
pub use symbols::{Symbol, SymbolKind};
pub use tokens::{Token, TokenKind};
pub use typed::{Predicate, Typed};
pub use usages::{Renaming, Usage};

/// What is wrong with a text.
pub fn diagnostics(name: &str, text: &str) -> Vec<Problem> {
    let document = Document::new(name, text);
    let typed = document.check();
    document.problems(Some(&typed))
}

/// What is said of the name at a place.
pub fn hover(name: &str, text: &str, at: Position) -> Option<Hover> {
    let document = Document::new(name, text);
    let typed = document.check();
    document.hover(at, Some(&typed))
}

/// Where the name at a place is defined.
pub fn definition(name: &str, text: &str, at: Position) -> Option<Place> {
    Document::new(name, text).definition(at)
}

/// The edit that formats a text; none if it is formatted or has syntax errors.
pub fn format(text: &str) -> Option<Edit> {
    Document::new("", text).format()
}
