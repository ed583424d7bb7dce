//! What the parties keep from round to round.

use super::checker::Checker;
use super::value::{Env, R, Reported, Val, first_word, fits, in_place};
use crate::diagnostic::{Edit, codes};
use crate::syntax::ast::{self, Ident, Secrecy, Span, TypeKind};
use crate::types::{Elem, ExprKind, Stmt, VarId};

impl Checker<'_> {
    /// `state history: secret fix[m, d] in -8..8 = 0;`
    pub(super) fn state(
        &mut self,
        env: &mut Env,
        name: &Ident,
        (ty, range): (&ast::Type, Option<&ast::Expr>),
        start: &ast::Expr,
    ) -> R<Stmt> {
        if ty.secrecy != Some(Secrecy::Secret) {
            return self.not_secret(name, ty);
        }
        if let TypeKind::Weights { dims, .. } = &ty.kind
            && !dims.is_empty()
        {
            return codes::KIND
                .error("a state is one tensor, or the weights of one model")
                .label(ty.span, "a list of weights")
                .hint("a list is a matrix: `secret fix[m, M.len]`")
                .refuse(self);
        }
        let shape = self.written_ty(env, ty);
        let elem = shape.as_ref().ok().map(|ty| ty.elem);
        let between = match (range, elem) {
            (None, Some(Elem::Fix | Elem::Int)) => codes::RANGE_MISSING
                .error(format!("state `{}` has no range", name.name))
                .label(name.span, "which values may it have?")
                .hint("write for example `in -8..8`: what is stored beyond becomes the nearer end")
                .refuse(self),
            _ => self.input_range(env, name, elem, Secrecy::Secret, (ty.span, range)),
        };
        let start_at = match (&start.kind, elem) {
            // A bit may begin with a word as well as with a number.
            (ast::ExprKind::Bit(bit), Some(Elem::Bit)) => Ok(f64::from(u8::from(*bit))),
            (ast::ExprKind::Bit(_), Some(_)) => codes::RANGE
                .error(format!("`{}` begins with a number", name.name))
                .label(start.span, "this is a bit")
                .hint("write for example `= 0`")
                .refuse(self),
            _ => self.real(env, start),
        };
        let (shape, between, start_at) = (shape?, between?, start_at?);
        let whole = shape.elem == Elem::Fix || start_at.fract() == 0.0;
        if !(between.0..=between.1).contains(&start_at) || !whole {
            let (lo, hi) = between;
            let hint = match shape.elem {
                Elem::Bit => {
                    let written = self.text(ty.span);
                    format!("a bit is 0 or 1: `state {}: {written} = 0;`", name.name)
                }
                Elem::Int => format!("it is a whole number from {lo} to {hi}"),
                Elem::Fix => format!("it is from {lo} to {hi}"),
            };
            return codes::RANGE
                .error(format!("`{}` begins outside of its range", name.name))
                .label(start.span, format!("is {start_at}"))
                .hint(hint)
                .refuse(self);
        }
        let var = self.declare(env, name, shape)?;
        self.states.push((var, None));
        Ok(Stmt::State { var, range: between, start: start_at })
    }

    fn not_secret<T>(&mut self, name: &Ident, ty: &ast::Type) -> R<T> {
        let written = self.text(ty.span);
        let plain = written.strip_prefix("public ").unwrap_or(&written).to_owned();
        codes::SECRECY
            .error(format!("state `{}` is secret", name.name))
            .label(ty.span, "the parties keep shares of it")
            .hint(format!("write `{}: secret {plain}`", name.name))
            .edit([match ty.secrecy {
                None => Edit::before(ty.span, "secret "),
                Some(_) => Edit::replace(first_word(ty.span, "public"), "secret"),
            }])
            .refuse(self)
    }

    /// `store EXPR as history;`
    pub(super) fn store(
        &mut self,
        env: &mut Env,
        value: &ast::Expr,
        name: &Ident,
        span: Span,
    ) -> R<Stmt> {
        let (checked, lets) = self.scoped(|this| this.value(env, value));
        let state = self.named_state(env, name);
        // It is stored, whatever is wrong with the value.
        if let Ok((state, None)) = state
            && let Some(kept) = self.states.iter_mut().find(|(v, _)| *v == state)
        {
            kept.1 = Some(span);
        }
        let (checked, (state, earlier)) = (checked?, state?);
        self.even(&checked)?;
        if let Some(first) = earlier {
            return codes::DUPLICATE
                .error(format!("`{}` is stored twice", name.name))
                .label(name.span, "stored again here")
                .label(first, "first stored here")
                .hint("a state has one value in the next round")
                .refuse(self);
        }
        let wanted = self.vars[state.0 as usize].ty.clone();
        let bits = wanted.elem == Elem::Bit && checked.ty.elem != Elem::Bit;
        let wrong = if !checked.ty.is_shape_of(&wanted) {
            Some(codes::SHAPE)
        } else {
            (bits || !fits(checked.ty.elem, wanted.elem)).then_some(codes::ELEMENT)
        };
        if let Some(code) = wrong {
            return code
                .error(format!("`{}` is {}", name.name, self.ty(&wanted)))
                .label(checked.span, self.this_is(&checked.ty))
                .label(self.vars[state.0 as usize].span, "declared here")
                .refuse(self);
        }
        Ok(Stmt::Store { state, value: in_place(lets, checked), span })
    }

    /// The state of this name, and where it has been stored.
    fn named_state(&mut self, env: &Env, name: &Ident) -> R<(VarId, Option<Span>)> {
        let found = match env.get(&name.name) {
            Some(Val::Poison) | None => return Err(Reported),
            Some(Val::Expr(e)) => match e.kind {
                ExprKind::Var(v) => self.states.iter().find(|(s, _)| *s == v).copied(),
                _ => None,
            },
            Some(_) => None,
        };
        found.ok_or_else(|| {
            self.fail(
                codes::KIND.error(format!("`{}` is no state", name.name)).label(name.span, "cannot be stored")
                .hint(format!(
                    "declare it: `state {}: secret fix in -8..8 = 0;`; a value has a name by `let`",
                    name.name
                )),
            )
        })
    }

    /// Reports states that are never stored.
    pub(super) fn unstored(&mut self) -> R<()> {
        let mut done = Ok(());
        for (var, _) in self.states.clone().into_iter().filter(|(_, stored)| stored.is_none()) {
            let (name, span) = {
                let v = &self.vars[var.0 as usize];
                (v.name.clone(), v.span)
            };
            done = codes::UNUSED
                .error(format!("state `{name}` is never stored"))
                .label(span, "it would be the same in every round")
                .hint(format!(
                    "end with `store .. as {name};`, which may be `store {name} as {name};`"
                ))
                .refuse(self);
        }
        done
    }
}
