//! What the rules of the grammar call: making nodes with their spans, and keeping the errors that the
//! parser recovered from.

use super::ast::{BinaryOp, Expr, ExprKind, FileId, Span, Type, TypeKind, UnaryOp};
use super::limits::MAX_DIAGNOSTICS;
use super::token::Token;
use lalrpop_util::{ErrorRecovery, ParseError};

/// A parse error as the generated parser makes it.
pub(super) type Failure<'s> = ParseError<usize, Token<'s>, TooMany>;

/// The parser stopped because there are more errors than are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

/// Errors that the parser recovered from, in order.
#[derive(Debug, Default)]
pub struct Recovered<'s> {
    pub list: Vec<Failure<'s>>,
}

impl<'s> Recovered<'s> {
    /// Records an error. Each holds a list of expected tokens, so their number is limited to bound the
    /// memory.
    pub fn add(
        &mut self,
        error: ErrorRecovery<usize, Token<'s>, TooMany>,
    ) -> Result<(), Failure<'s>> {
        self.list.push(error.error);
        if self.list.len() > MAX_DIAGNOSTICS {
            return Err(ParseError::User { error: TooMany });
        }
        Ok(())
    }
}

/// Span of a byte range.
pub(super) fn span(file: FileId, start: usize, end: usize) -> Span {
    // Texts are at most MAX_SOURCE long.
    Span { file, start: start as u32, end: end as u32 }
}

/// `a op b`.
pub(super) fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    let span = a.span.to(b.span);
    Expr { kind: ExprKind::Binary(op, Box::new(a), Box::new(b)), span }
}

/// `op a`; the operator begins at byte `start`.
pub(super) fn unary(op: UnaryOp, start: usize, a: Expr) -> Expr {
    let span = Span { start: start as u32, ..a.span };
    Expr { kind: ExprKind::Unary(op, Box::new(a)), span }
}

/// An expression with a suffix that ends at byte `end`.
pub(super) fn suffix(a: Expr, end: usize, kind: impl FnOnce(Box<Expr>) -> ExprKind) -> Expr {
    let span = Span { end: end as u32, ..a.span };
    Expr { kind: kind(Box::new(a)), span }
}

/// A tuple; `(a,)` is `a`.
pub(super) fn tuple(parts: Vec<Expr>) -> ExprKind {
    match <[Expr; 1]>::try_from(parts) {
        Ok([one]) => one.kind,
        Err(parts) => ExprKind::Tuple(parts),
    }
}

/// A type of tuples; `(fix,)` is `fix`.
pub(super) fn tuple_type(parts: Vec<Type>) -> TypeKind {
    match <[Type; 1]>::try_from(parts) {
        Ok([one]) if one.secrecy.is_none() => one.kind,
        Ok([one]) => TypeKind::Tuple(vec![one]),
        Err(parts) => TypeKind::Tuple(parts),
    }
}
