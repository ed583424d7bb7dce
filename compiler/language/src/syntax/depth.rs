//! Refuses text that would nest too deep.
//!
//! Trees are walked by recursion: printing, typing, even dropping one. A line of 100,000 opening
//! brackets, of minus signs, or of `+ 1` would overflow the stack of the first such walk, and a program
//! cannot recover from that. So depth is bounded here once, on tokens, before any tree exists.
//!
//! The bound: between two separators within one pair of brackets, every operator may put all operands before it one
//! level deeper (`a + b + c` leans left, `- - a` leans right), and every bracket, dot and power what it follows
//! (`f(a)(b)`). So what stands there is at most as deep as there are operators, and as its deepest operand on top.

use super::token::Token;
use crate::diagnostic::{Diagnostic, codes};
use crate::source::{FileId, Span};

/// Largest depth of a tree: brackets and operators one inside the other.
pub const MAX_DEPTH: usize = 256;

/// What is known of the text since an open bracket.
#[derive(Clone, Copy, Default)]
struct Level {
    /// Operators since the last separator.
    operators: usize,
    /// Depth of the deepest operand before the last of them.
    operand: usize,
    /// Depth of the operand at hand.
    current: usize,
    /// Depth of the deepest part before the last separator.
    part: usize,
}

impl Level {
    fn operator(&mut self) {
        self.operators += 1;
        self.operand = self.operand.max(self.current);
        self.current = 0;
    }

    fn separator(&mut self) {
        *self = Level { part: self.depth(), ..Level::default() };
    }

    fn depth(&self) -> usize {
        self.part.max(self.operators + self.operand.max(self.current))
    }
}

/// An error at the first token that may be deeper than [`MAX_DEPTH`].
pub fn check(file: FileId, tokens: &[(usize, Token<'_>, usize)]) -> Option<Diagnostic> {
    use Token::*;
    // The innermost level, and those around it with the depth at which each begins.
    let mut level = Level::default();
    let mut around: Vec<(usize, Level)> = Vec::new();
    let mut begin = 0;
    for (start, token, end) in tokens {
        match token {
            LParen | LBracket | LBrace => {
                level.current += 1;
                around.push((begin, level));
                begin += level.operators + level.current;
                level = Level::default();
            }
            RParen | RBracket | RBrace => {
                if let Some((outer, mut open)) = around.pop() {
                    open.current += level.depth();
                    (begin, level) = (outer, open);
                }
            }
            // Heads of the first two may hold others of their kind without a bracket.
            If | Iterate | Path | Caret | Bang | Dot => level.current += 1,
            Pipe | DotDot | And | Or | EqEq | Ne | Le | Ge | Lt | Gt | Plus | Minus | Star
            | Slash | Percent => level.operator(),
            // Items begin here, whatever an unfinished one left open.
            Use | Const | Fn | Block | Predicate => {
                (begin, level) = (0, Level::default());
                around.clear();
            }
            // In brackets `model` is the kind of a size; outside, the next item.
            Model if around.is_empty() => (begin, level) = (0, Level::default()),
            Comma | Semi => level.separator(),
            _ => {}
        }
        if begin + level.depth() > MAX_DEPTH {
            let span = Span { file, start: *start as u32, end: *end as u32 };
            return Some(
                codes::SYNTAX
                    .error(format!(
                        "more than {MAX_DEPTH} operators and brackets one inside the other"
                    ))
                    .label(span, "too deep")
                    .hint(
                        "name a part of it with `let`; a long sum is written as one of a list, `sum([a, b, c])`",
                    ),
            );
        }
    }
    None
}
