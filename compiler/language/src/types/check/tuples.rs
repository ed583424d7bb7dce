//! Tuples: several values under one name. They exist while a program is checked; the program itself has the parts.

use super::checker::Checker;
use super::value::{Env, R, Reported, Val, count, typed};
use crate::diagnostic::codes;
use crate::syntax::ast::{self, Function, Ident, Param, Span, TypeKind};
use crate::syntax::print_type;
use crate::types::{Definition, Expr, ExprKind, FnId, Source, Ty, VarId};

/// A part of an argument that is no tuple, and the type that its parameter declares for it.
pub(super) struct Leaf<'t> {
    /// The parameter, and the part of it: `x`, `x.0`.
    pub name: String,
    pub ty: &'t ast::Type,
    pub arg: Expr,
}

impl Checker<'_> {
    /// `(a, b)`.
    #[inline(never)]
    pub(super) fn tuple(&mut self, env: &mut Env, items: &[ast::Expr]) -> R<Val> {
        let parts: Vec<R<Val>> = items
            .iter()
            .map(|e| match self.expr(env, e)? {
                // A name without a value of its own has no place in a tuple.
                val @ (Val::Int(_) | Val::Real(_) | Val::Bool(_) | Val::Tuple(_)) => Ok(val),
                val => self.at_run_time(val, e.span).map(Val::Expr),
            })
            .collect();
        parts.into_iter().collect::<R<Vec<Val>>>().map(Val::Tuple)
    }

    /// `a.0`.
    #[inline(never)]
    pub(super) fn part(&mut self, env: &mut Env, a: &ast::Expr, at: i64, span: Span) -> R<Val> {
        match self.expr(env, a)? {
            Val::Tuple(mut parts) => match usize::try_from(at).ok().filter(|&i| i < parts.len()) {
                Some(i) => Ok(parts.swap_remove(i)),
                None => {
                    let last = parts.len() - 1;
                    codes::INDEX
                        .error(format!("the tuple has no part {at}"))
                        .label(span, format!("its parts are 0 to {last}"))
                        .refuse(self)
                }
            },
            Val::Poison => Err(Reported),
            // A layer whose name is a number, as those of a list.
            of if has_layers(&of) => {
                let start = span.end - at.to_string().len() as u32;
                let name = ast::Ident { name: at.to_string(), span: Span { start, ..span } };
                self.field_of(env, of, a.span, &name, span)
            }
            other => codes::KIND
                .error("only tuples have numbered parts")
                .label(a.span, format!("this is {}", self.tree_text(&other)))
                .hint(format!("an index stands in brackets: `x[{at}]`"))
                .refuse(self),
        }
    }

    /// An argument: a value of the run, or a tuple of them.
    pub(super) fn argument(&mut self, env: &mut Env, e: &ast::Expr) -> R<(Val, Span)> {
        let val = self.expr(env, e)?;
        Ok((self.settled(val, e.span)?, e.span))
    }

    /// A value with everything in it a value of the run.
    pub(super) fn settled(&mut self, val: Val, span: Span) -> R<Val> {
        match val {
            Val::Tuple(parts) => {
                let parts = parts.into_iter().map(|p| self.settled(p, span));
                parts.collect::<R<Vec<Val>>>().map(Val::Tuple)
            }
            val => self.at_run_time(val, span).map(Val::Expr),
        }
    }

    /// Arguments of what takes no tuples.
    pub(super) fn plain(&mut self, args: Vec<(Val, Span)>) -> R<Vec<Expr>> {
        args.into_iter().map(|(val, span)| self.at_run_time(val, span)).collect()
    }

    /// The type of a parameter of a function.
    pub(super) fn declared<'p>(&mut self, param: &'p Param) -> R<&'p ast::Type> {
        param.ty.as_ref().ok_or_else(|| {
            self.fail(
                codes::ELEMENT
                    .error("a parameter of a function has a type")
                    .label(param.name.span, "which type?")
                    .hint(format!("for example `{}: fix[n]`", param.name.name)),
            )
        })
    }

    /// Refuses `secret (a, b)`.
    pub(super) fn no_secrecy(&mut self, ty: &ast::Type) -> R<()> {
        if ty.secrecy.is_none() {
            return Ok(());
        }
        codes::SECRECY
            .error("a tuple as a whole is neither public nor secret")
            .label(ty.span, "each part is")
            .hint("write the secrecy of a part before its type: `(public fix, secret fix[n])`")
            .refuse(self)
    }

    /// The parts of an argument beside the types that a parameter declares for them.
    #[inline(never)]
    pub(super) fn leaves<'t>(
        &mut self,
        f: &Function,
        ty: &'t ast::Type,
        name: String,
        arg: Val,
        span: Span,
        out: &mut Vec<Leaf<'t>>,
    ) -> R<()> {
        match (&ty.kind, arg) {
            (TypeKind::Tuple(types), Val::Tuple(parts)) if types.len() == parts.len() => {
                self.no_secrecy(ty)?;
                for (i, (ty, part)) in types.iter().zip(parts).enumerate() {
                    self.leaves(f, ty, format!("{name}.{i}"), part, span, out)?;
                }
                Ok(())
            }
            (TypeKind::Tensor { .. } | TypeKind::Weights { .. }, Val::Expr(arg)) => {
                out.push(Leaf { name, ty, arg });
                Ok(())
            }
            (_, arg) => {
                let (found, written) = (self.tree_text(&arg), print_type(ty));
                codes::SHAPE
                    .error(format!("`{}` wants `{name}: {written}`", f.name.name))
                    .label(span, format!("this is {found}"))
                    .label(ty.span, "declared here")
                    .refuse(self)
            }
        }
    }

    /// The value of a parameter in an instance: variables for its parts.
    pub(super) fn parameter(
        &mut self,
        ty: &ast::Type,
        name: &Ident,
        types: &mut dyn Iterator<Item = Ty>,
        params: &mut Vec<VarId>,
    ) -> R<Val> {
        if let TypeKind::Tuple(parts) = &ty.kind {
            let parts = parts.iter().map(|ty| self.parameter(ty, name, types, params));
            return parts.collect::<R<Vec<Val>>>().map(Val::Tuple);
        }
        let ty = types.next().ok_or(Reported)?;
        let var = self.var(&name.name, ty.clone(), name.span);
        params.push(var);
        Ok(Val::Expr(typed(ExprKind::Var(var), ty, name.span)))
    }

    /// What a call of an instance gives.
    #[inline(never)]
    pub(super) fn results(
        &mut self,
        id: FnId,
        f: &Function,
        args: Vec<Expr>,
        span: Span,
    ) -> R<Val> {
        let types: Vec<Ty> =
            self.functions[id.0 as usize].body.values.iter().map(|e| e.ty.clone()).collect();
        if !matches!(f.result.kind, TypeKind::Tuple(_)) {
            let [ty] = <[Ty; 1]>::try_from(types).map_err(|_| Reported)?;
            return Ok(Val::Expr(typed(ExprKind::Call(id, args), ty, span)));
        }
        let name = Ident { name: f.name.name.clone(), span };
        let mut vars = Vec::new();
        let val = self.parameter(&f.result, &name, &mut types.into_iter(), &mut vars)?;
        self.pending.push(Definition { vars, source: Source::Call(id, args) });
        Ok(val)
    }

    /// A value under a name: a variable for each part that is known at run time only, added to `out` with what it is
    /// defined as.
    pub(super) fn named(
        &mut self,
        name: &str,
        at: Span,
        val: Val,
        span: Span,
        out: &mut Vec<(VarId, Expr)>,
    ) -> R<Val> {
        match val {
            Val::Int(_) | Val::Real(_) | Val::Bool(_) | Val::Model(_) | Val::Shape(_) => Ok(val),
            Val::Tuple(parts) => {
                let mut all = Vec::with_capacity(parts.len());
                for (i, part) in parts.into_iter().enumerate() {
                    all.push(self.named(&format!("{name}.{i}"), at, part, span, out)?);
                }
                Ok(Val::Tuple(all))
            }
            val => {
                let value = self.at_run_time(val, span)?;
                self.even(&value)?;
                let var = self.var(name, value.ty.clone(), at);
                let known = typed(ExprKind::Var(var), value.ty.clone(), at);
                self.note(var, &value);
                out.push((var, value));
                Ok(Val::Expr(known))
            }
        }
    }

    /// The parts of a value for the names of a pattern.
    pub(super) fn matched(&mut self, names: &[Ident], val: Val, span: Span) -> R<Vec<Val>> {
        match val {
            val if names.len() == 1 => Ok(vec![val]),
            Val::Tuple(parts) if parts.len() == names.len() => Ok(parts),
            other => codes::SHAPE
                .error(format!(
                    "{} for what is no tuple of as many",
                    count(names.len(), "name", "names")
                ))
                .label(span, format!("this is {}", self.tree_text(&other)))
                .refuse(self),
        }
    }

    /// The type of a value, or what it is: `fix[3]`, `(fix, fix[3])`, `a number`.
    pub(super) fn tree_text(&self, val: &Val) -> String {
        match val {
            Val::Expr(e) => self.ty(&e.ty),
            Val::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|p| self.tree_text(p)).collect();
                format!("({})", parts.join(", "))
            }
            other => other.describe().to_owned(),
        }
    }
}

/// Whether parts of a value are layers, or parameters of a model.
fn has_layers(val: &Val) -> bool {
    match val {
        Val::Fields(..) | Val::Layer(_) => true,
        Val::Expr(e) => e.ty.record.is_some(),
        _ => false,
    }
}
