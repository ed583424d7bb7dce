//! What predicates, functions and blocks require of their sizes.

use super::checker::Checker;
use super::ops::comparison;
use super::value::{Env, IntVal, R, Val};
use crate::diagnostic::codes;
use crate::syntax::ast::{self, BinaryOp, Block, Require};
use crate::types::Index;

impl Checker<'_> {
    /// Checks what the function or block that is being checked requires, in the scope of one instance.
    pub(super) fn requirements<'r>(
        &mut self,
        env: &mut Env,
        all: impl IntoIterator<Item = &'r Require>,
    ) -> R<()> {
        let of = self.stack.last().map(|frame| format!("`{}`", self.world.name(frame.item)));
        let of = of.unwrap_or_default();
        // Of several the first: a later one may divide by what an earlier one excludes.
        all.into_iter().try_for_each(|r| self.holds(env, &r.cond, r.why.as_deref(), &of))
    }

    /// Checks a condition on sizes that a predicate, function or block requires.
    pub(super) fn holds(
        &mut self,
        env: &mut Env,
        cond: &ast::Expr,
        why: Option<&str>,
        of: &str,
    ) -> R<()> {
        match self.expr(env, cond)? {
            Val::Bool(true) => Ok(()),
            Val::Bool(false) => {
                let label = match self.sides(env, cond) {
                    Some((op, x, y)) => format!("{x} {op} {y} does not hold"),
                    None => "does not hold".to_owned(),
                };
                let in_std = self.in_std(cond.span);
                let title = match why {
                    Some(why) if in_std => format!("a requirement of {of} does not hold: {why}"),
                    Some(why) => format!("a requirement does not hold: {why}"),
                    None => format!("a requirement of {of} does not hold"),
                };
                let mut error = codes::REQUIRE.error(title).label(cond.span, label);
                let mut names = Vec::new();
                int_names(cond, env, &mut names);
                if !names.is_empty() {
                    error =
                        error.hint(format!("the sizes are {}: choose others", names.join(", ")));
                }
                error.refuse(self)
            }
            Val::Expr(e) => {
                let what = e.ty.secrecy.word();
                codes::SECRET_CONDITION
                    .error("`require` is about sizes and the certificate, decided at compile time")
                    .label(cond.span, format!("a {what} value of the run"))
                    .hint(
                        "an input's range is declared with `in lo..hi`; to leave out \
                         members, multiply by a bit: `keep[i] * update[i]`",
                    )
                    .refuse(self)
            }
            other => Err(self.not_a_condition(&other, cond.span, false)),
        }
    }

    /// The two sides of a comparison of sizes that does not hold, as numbers. Of two conditions that is the first
    /// which does not.
    fn sides(&mut self, env: &mut Env, cond: &ast::Expr) -> Option<(&'static str, String, String)> {
        let ast::ExprKind::Binary(op, x, y) = &cond.kind else { return None };
        if *op == BinaryOp::And {
            let first = matches!(self.expr(env, x), Ok(Val::Bool(false)));
            return self.sides(env, if first { x } else { y });
        }
        comparison(*op)?;
        let mut side = |e: &ast::Expr| match self.expr(env, e) {
            Ok(Val::Int(IntVal { index: Index::Const(i), .. })) => Some(i.to_string()),
            Ok(Val::Real(x)) => Some(x.to_string()),
            _ => None,
        };
        Some((op.symbol(), side(x)?, side(y)?))
    }
}

/// What a block requires of its sizes alone (`of_inputs` is false), which has to hold before its layers are made, or of
/// its inputs, which are known where it is applied.
pub(super) fn required(block: &Block, of_inputs: bool) -> impl Iterator<Item = &Require> {
    let input = |e: &ast::Expr| block.params.iter().any(|p| e.reads(&p.name.name));
    block.body.requires.iter().filter(move |r| input(&r.cond) == of_inputs)
}

/// `c = 2` for each size a condition mentions, once.
fn int_names(e: &ast::Expr, env: &Env, out: &mut Vec<String>) {
    match &e.kind {
        ast::ExprKind::Name(name) => {
            if let Some(Val::Int(IntVal { index: Index::Const(i), .. })) = env.get(name) {
                let text = format!("{name} = {i}");
                if !out.contains(&text) {
                    out.push(text);
                }
            }
        }
        ast::ExprKind::Unary(_, a) => int_names(a, env, out),
        ast::ExprKind::Binary(_, a, b) => {
            int_names(a, env, out);
            int_names(b, env, out);
        }
        _ => {}
    }
}
