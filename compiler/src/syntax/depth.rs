//! Refuses text that would nest too deep.
//!
//! Trees are walked by recursion: printing, typing, even dropping one. A line of 100,000 opening
//! brackets, of minus signs, or of `+ 1` would overflow the stack of the first such walk, and a program
//! cannot recover from that. So depth is bounded here once, on tokens, before any tree exists.
//!
//! The bound: within one pair of brackets, between two separators, every operator, dot and bracket
//! may put the tree one level deeper (`a + b + c` leans left, `- - a` leans right); what stands
//! between inner brackets comes on top. So the depth at a token is at most the sum, over the brackets
//! open around it, of such tokens since the last separator.

use super::token::Token;
use crate::diagnostic::{Diagnostic, codes};
use crate::source::{FileId, Span};

/// Largest depth of a tree: brackets and operators one inside the other.
pub const MAX_DEPTH: usize = 256;

/// An error at the first token that may be deeper than [`MAX_DEPTH`].
pub fn check(file: FileId, tokens: &[(usize, Token<'_>, usize)]) -> Option<Diagnostic> {
    use Token::*;
    // Count of each open bracket; `total` is their sum.
    let mut open = vec![0usize];
    let mut total = 0usize;
    for (start, token, end) in tokens {
        let deeper = match token {
            LParen | LBracket | LBrace => true,
            // Their heads may hold others of their kind without a bracket.
            If | Iterate => true,
            Pipe | Path | DotDot | And | Or | EqEq | Ne | Le | Ge | Lt | Gt | Plus | Minus
            | Star | Slash | Percent | Caret | Bang | Dot => true,
            RParen | RBracket | RBrace => {
                if open.len() > 1 {
                    total -= open.pop().unwrap_or(0);
                }
                false
            }
            // Items begin here, whatever an unfinished one left open.
            Use | Const | Fn | Block | Predicate => {
                open = vec![0];
                total = 0;
                false
            }
            // In brackets `model` is the kind of a size; outside, the next item.
            Model if open.len() == 1 => {
                open = vec![0];
                total = 0;
                false
            }
            Comma | Semi => {
                if let Some(top) = open.last_mut() {
                    total -= *top;
                    *top = 0;
                }
                false
            }
            _ => false,
        };
        if !deeper {
            continue;
        }
        if let Some(top) = open.last_mut() {
            *top += 1;
            total += 1;
        }
        if matches!(token, LParen | LBracket | LBrace) {
            open.push(0);
        }
        if total > MAX_DEPTH {
            let span = Span { file, start: *start as u32, end: *end as u32 };
            return Some(
                Diagnostic::error(
                    codes::SYNTAX,
                    format!("more than {MAX_DEPTH} operators and brackets one inside the other"),
                    span,
                    "too deep",
                )
                .hint("name a part of it with `let`"),
            );
        }
    }
    None
}
