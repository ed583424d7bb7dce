//! The text form. [`print()`] and [`parse`] are inverses: what is printed reads back as the same
//! circuit, and prints as the same text again.
//!
//! ```text
//! circuit "demo"
//! size "m" = "2"
//! party "Client" 2
//! party "Server" 1
//! input %0 "x" from 0 fixed(16, -8.0, 8.0) [3] : A64[2,3]
//! const %1 : pub.A64[8] = 0..3 7x4 9
//! output 0 "sum" to 1 [3] ring 64 frac 16 factor 1.0 divisor 2.0
//! site 0 "sum" line 4
//! layer 0:
//!   %2 = sum %0 axes [0] : A64[3] @0
//!   %3 = as_add3 %2 : add3.A64[3] @0
//!   exchange:
//!   open_to %3 output 0 @0
//!   drop %2 %3
//! ```
//!
//! One statement per line; the declarations in this order, then the layers, numbered from 0. An
//! instruction ends with the type of its result and `@` its site. Constants are words `7`, ranges
//! `0..3` (0, 1, 2) and repetitions `7x4` (7, four times). A record's fields follow the shape:
//! `[5] fields "w"[2,2] "b"[1]`. `check 0 %17`, between outputs and sites, says that %17 holds the
//! bits of which members of party set 0 were admitted. Strings are quoted, with `\"`, `\\` and `\u{a}`. Floating-point
//! numbers have as many digits as they need to read back exactly. Blank lines and lines that start
//! with `#` are skipped.
//!
//! An operation's line is its name, operands and parameters in the order of the table in `forms`, from
//! which both directions are made.
//!
//! Parsing checks the text only: the result is whatever circuit it describes. Verify it before use.

pub(crate) mod forms;
mod lex;
pub(crate) mod param;
mod parse;
mod print;
pub(crate) mod tokens;

pub use parse::{TextError, parse};
pub use print::print;

#[cfg(test)]
mod tests;
