//! The text form of a graph: pleasant to read and to diff, and it reads back.
//!
//! `print(&parse(&print(g))?) == print(g)`. Only the spans of sites are not part of the text.
//!
//! ```text
//! graph SlvrAccuracy
//! size M = LeNet5
//! parties Client[10]
//! parties Server[1]
//! frac 16
//! input 0 global : public fix[61706] in -8..8
//!     fields conv1.weight[6,1,5,5] conv1.bias[6] ...
//! input 1 label : secret int[10] in 0..9 one_hot 10 from each Client
//! site 0 "global" line 12
//! site 1 "gain/conv1" line 30
//!
//! %0 = input 0 : public fix.16[61706] @0
//! %1 = const [1, 0, 3x2, 0..10] : public int.0[15] @1
//! %2 = slice %0 axis=0 start=0 len=150 : public fix.16[150] @1
//!
//! reveal %2 to Server as aggregate / 9 @0
//!     fields conv1.weight[6,1,5,5]
//! ```
//!
//! - One item per line; a line that starts with a blank continues the one before; `//` starts a
//!   comment.
//! - Names are bare when they consist of ASCII letters, digits, `_`, `.`, `-`, `+`; otherwise they
//!   stand in quotes, with `\"`, `\\`, `\n`, `\u{..}` as escapes.
//! - A type is secrecy, element, `.` and fraction bits once scales are known, and the shape, which
//!   a scalar does not have.
//! - A table is one number (repeated), or a list in which `3x2` is three times 2 and `0..10` are the
//!   ten integers from 0. Numbers are the shortest decimals that read back exactly.
//! - `const`, `reshape` and `broadcast` take shape (and element and scale) from the type.
//!   `step=1` is left out, as are factor and divisor 1.
//! - The range of an input includes both ends; `from each SET` is there exactly if it is secret.
//!
//! Lives here: [`print()`] and [`parse()`]. The parser checks what the text
//! form itself needs: every node has the type that [`super::infer`] gives, operands precede users,
//! and indices are in range. The other invariants are [`super::verify`]'s.

mod cursor;
mod lex;
mod parse;
mod print;
#[cfg(test)]
mod tests;

pub use parse::parse;
pub use print::print;
pub(crate) use print::type_text;

/// Why a text is not a graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct TextError {
    /// 1-based.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

type Result<T> = std::result::Result<T, TextError>;
