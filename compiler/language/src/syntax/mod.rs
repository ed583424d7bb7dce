//! From text to tree and back: [`lexer`], grammar, [`ast`], and [`print()`].
//!
//! Lives here: everything that knows how a program is *written*. [`parse`] turns text into an
//! [`ast::File`] and collects every syntax error; [`print()`] turns a tree into its canonical text, so
//! that `parse(print(x)) == x`; [`format()`] does the same and keeps comments and blank lines where
//! they stood. [`embedded`] is what the binary carries. Places and texts are in [`crate::source`].
//!
//! May not live here: what a name means, sizes, shapes, types (see [`crate::types`]), and I/O.
//!
//! | file | does |
//! |---|---|
//! | `limits.rs` | how long a text may be, how many messages are shown |
//! | `token.rs` | tokens and keywords |
//! | `lexer.rs` | text to tokens; comments aside |
//! | `depth.rs` | refuses text that would nest too deep for the stack, before any tree exists |
//! | `grammar.lalrpop` | tokens to tree |
//! | `ast.rs` | the tree |
//! | `actions.rs` | what the rules of the grammar call |
//! | `parse.rs` | drives the grammar |
//! | `message.rs` | what a syntax error says |
//! | `mend.rs` | common mistakes that a change of one token repairs |
//! | `fixes.rs` | edits that do what hints say, and leave comments and lines as they are |
//! | `sizes.rs` | the comment that says for which sizes an editor looks at a file |
//! | `comments.rs` | attaches doc comments to the tree |
//! | `walk.rs` | the expressions inside an expression |
//! | `scopes.rs` | which names are known where |
//! | `print/` | tree to text |
//! | `embedded.rs` | the files that come with the compiler |

mod actions;
pub mod ast;
mod comments;
mod depth;
pub mod embedded;
pub mod fixes;
pub mod lexer;
mod limits;
mod mend;
mod message;
mod parse;
mod print;
pub mod scopes;
mod sizes;
pub mod token;
mod walk;

#[cfg(test)]
mod tests;

pub use limits::{MAX_DIAGNOSTICS, MAX_SOURCE};
pub use parse::parse;
pub use print::{format, print, print_expr, print_type, signature};
pub use sizes::{Given, SIZES, given};
pub use token::{KEYWORDS, is_name};

/// Source of the parser, which the page of the grammar shows.
pub const GRAMMAR: &str = include_str!("grammar.lalrpop");

/// Source of the tokens. The same page shows those before the first blank line of [`token::Token`].
pub const LEXER: &str = include_str!("token.rs");

lalrpop_util::lalrpop_mod!(
    // Generated code follows its generator's style, not ours.
    #[allow(clippy::all, unused_imports)]
    grammar,
    "/syntax/grammar.rs"
);
