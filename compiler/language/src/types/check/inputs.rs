//! Inputs: who gives them, their type and range.

use super::checker::Checker;
use super::value::{Env, R, Reported, Val, typed};
use crate::diagnostic::{Edit, codes};
use crate::syntax::ast::{self, BinaryOp, Giver, Ident, Secrecy, Span, TypeKind};
use crate::types::{Dim, Elem, ExprKind, Index, SetId, Stmt, Ty};

/// Taken where a `fix` input has no range.
const DEFAULT_RANGE: (f64, f64) = (-8.0, 8.0);
/// Taken where a public `int` input has no range.
const DEFAULT_INTEGERS: (f64, f64) = (-2147483648.0, 2147483647.0);

impl Checker<'_> {
    pub(super) fn input(
        &mut self,
        env: &mut Env,
        name: &Ident,
        ty: &ast::Type,
        range: Option<&ast::Expr>,
        from: Option<&Giver>,
    ) -> R<Stmt> {
        let secrecy = ty.secrecy.unwrap_or_else(|| {
            let meant = if from.is_some() { Secrecy::Secret } else { Secrecy::Public };
            let write = meant.word();
            self.fail(
                codes::SECRECY
                    .error(format!("input `{}` does not say who may know it", name.name))
                    .label(ty.span, "`public` or `secret`?")
                    .hint(format!("write `{}: {write} {}`", name.name, self.text(ty.span)))
                    .edit([Edit::before(ty.span, format!("{write} "))]),
            );
            meant
        });
        // Every part is checked before giving up, so that one run reports all.
        let set = self.giver(env, name, secrecy, (ty, range, from));
        let shape = self.input_ty(env, ty, secrecy);
        let elem = shape.as_ref().ok().map(|ty| ty.elem);
        if let (Secrecy::Public, Some(giver), Ok(shape)) = (secrecy, from, &shape)
            && (shape.elem != Elem::Bit || !shape.dims.is_empty() || !giver.each)
        {
            let set = &giver.set.name;
            return codes::PARTIES
                .error(format!("public input `{}` comes from nobody in particular", name.name))
                .label(giver.set.span, "everybody knows it")
                .hint("leave out `from`, or make it `secret`")
                .hint(format!(
                    "whether a member takes part is `{}: public bit from each {set}`",
                    name.name
                ))
                .refuse(self);
        }
        let range = self.input_range(env, name, elem, secrecy, (ty.span, range));
        let (set, mut ty, range) = (set?, shape?, range?);
        if let Some((set, _)) = set {
            ty.dims.insert(0, Dim::of_set(set, self.set_size(set)));
        }
        self.limit(&ty, name.span)?;
        let var = self.var(&name.name, ty.clone(), name.span);
        if secrecy == Secrecy::Public && ty.elem == Elem::Int {
            self.bounds.insert(var, (range.0 as i64, range.1 as i64));
        }
        let mut value = typed(ExprKind::Var(var), ty, name.span);
        if let Some((_, false)) = set {
            // `from Server`: one tensor, though the variable has a dimension for the set.
            let ty = value.ty.entry(1);
            value = typed(ExprKind::At(Box::new(value), vec![Index::Const(0)]), ty, name.span);
        }
        env.set(&name.name, Val::Expr(value));
        Ok(Stmt::Input { var, range, from: set.map(|(s, _)| s) })
    }

    /// Who gives an input, and whether each member gives one.
    fn giver(
        &mut self,
        env: &Env,
        name: &Ident,
        secrecy: Secrecy,
        (ty, range, from): (&ast::Type, Option<&ast::Expr>, Option<&Giver>),
    ) -> R<Option<(SetId, bool)>> {
        match (secrecy, from) {
            (Secrecy::Public, None) => Ok(None),
            // Whether each member takes part.
            (Secrecy::Public, Some(giver)) => Ok(Some((self.party(env, &giver.set)?, giver.each))),
            (Secrecy::Secret, None) => {
                let first = self.parties.first().map(|p| p.name.clone());
                let set = first.as_deref().unwrap_or("Client");
                let error = codes::PARTIES
                    .error(format!("secret input `{}` does not say who gives it", name.name))
                    .label(name.span, "from whom?");
                let end = range.map_or(ty.span, |r| r.span);
                let add = first.is_some().then(|| Edit::after(end, format!(" from each {set}")));
                error.hint(format!("add `from each {set}`")).edit(add).refuse(self)
            }
            (Secrecy::Secret, Some(giver)) => {
                let set = self.party(env, &giver.set)?;
                let members = self.set_size(set);
                if !giver.each && members > 1 {
                    let set = &giver.set.name;
                    return codes::PARTIES
                        .error(format!(
                            "`{set}` has {members} members: which of them gives `{}`?",
                            name.name
                        ))
                        .label(giver.set.span, "more than one party")
                        .hint(format!("write `from each {set}`: one from each member"))
                        .edit([Edit::before(giver.set.span, "each ")])
                        .refuse(self);
                }
                Ok(Some((set, giver.each)))
            }
        }
    }

    fn input_ty(&mut self, env: &mut Env, ty: &ast::Type, secrecy: Secrecy) -> R<Ty> {
        if let TypeKind::Weights { model, dims } = &ty.kind
            && !dims.is_empty()
        {
            return codes::KIND
                .error("an input is one tensor, or the weights of one model")
                .label(ty.span, "a list of weights")
                .hint(format!(
                    "from one giver a list is a matrix, `secret fix[n, {0}.len]`; weights from each member of a set are one \
                     list already: `input update: secret weights {0} in -8..8 from each Client;`",
                    model.name
                ))
                .refuse(self);
        }
        Ok(Ty { secrecy, ..self.written_ty(env, ty)? })
    }

    /// The range of an input, both ends included. A public one that states none has
    /// a default, which is checked before the run.
    pub(super) fn input_range(
        &mut self,
        env: &mut Env,
        name: &Ident,
        elem: Option<Elem>,
        secrecy: Secrecy,
        (ty, range): (Span, Option<&ast::Expr>),
    ) -> R<(f64, f64)> {
        let Some(range) = range else { return self.default_range(name, elem, secrecy, ty) };
        if elem == Some(Elem::Bit) {
            return codes::RANGE
                .error("a bit has no range")
                .label(range.span, "it is 0 or 1")
                .hint("leave out `in`")
                .edit([Edit::replace(Span { start: ty.end, ..range.span }, "")])
                .refuse(self);
        }
        let ast::ExprKind::Binary(BinaryOp::Range, lo, hi) = &range.kind else {
            return codes::RANGE
                .error("a range has two ends")
                .label(range.span, "not a range")
                .hint("write `in -8..8`")
                .refuse(self);
        };
        let whole = elem == Some(Elem::Int);
        let ends = [lo, hi].map(|e| (self.real(env, e), e.span));
        for (value, at) in &ends {
            self.end_of_range(name, whole, *value, *at)?;
        }
        let [lo, hi] = ends.map(|(value, _)| value);
        let (lo, hi) = (lo?, hi?);
        let (empty, hint) = match whole {
            true => (lo >= hi, "of integers the end is excluded: `in 0..10` is 0 to 9"),
            false => (lo > hi, "the smaller end comes first"),
        };
        if empty {
            return codes::RANGE
                .error(format!("the range of `{}` is empty", name.name))
                .label(range.span, format!("from {lo} to {hi}"))
                .hint(hint)
                .refuse(self);
        }
        Ok((lo, if whole { hi - 1.0 } else { hi }))
    }

    /// The range of an input that states none.
    fn default_range(
        &mut self,
        name: &Ident,
        elem: Option<Elem>,
        secrecy: Secrecy,
        ty: Span,
    ) -> R<(f64, f64)> {
        match (elem, secrecy) {
            (Some(Elem::Bit), _) => Ok((0.0, 1.0)),
            (None, _) => Err(Reported),
            (Some(Elem::Int), Secrecy::Public) => Ok(DEFAULT_INTEGERS),
            (Some(Elem::Fix), Secrecy::Public) => Ok(DEFAULT_RANGE),
            (Some(Elem::Fix), Secrecy::Secret) => {
                let (lo, hi) = DEFAULT_RANGE;
                self.warn(
                    codes::RANGE_MISSING
                        .warning(format!("secret input `{}` has no range", name.name))
                        .label(name.span, format!("{lo}..{hi} is assumed and enforced"))
                        .hint(format!(
                            "write `in {lo}..{hi}` or another range: a client \
                             outside it counts as zero"
                        ))
                        .edit([Edit::after(ty, format!(" in {lo}..{hi}"))]),
                );
                Ok(DEFAULT_RANGE)
            }
            (Some(Elem::Int), Secrecy::Secret) => codes::RANGE_MISSING
                .error(format!("secret integer `{}` has no range", name.name))
                .label(name.span, "which values may it have?")
                .hint(
                    "write for example `in 0..10` (the end is excluded): the range \
                     decides how many bits it is compared on",
                )
                .edit([Edit::after(ty, " in 0..10")])
                .refuse(self),
        }
    }

    /// Beyond 2^45 units the words of a range of real numbers are more than half of a ring, and no comparison tells
    /// them apart. From 2^53 on two integers are one number here, and a range would be off by one.
    fn end_of_range(&mut self, name: &Ident, whole: bool, end: R<f64>, at: Span) -> R<()> {
        let end = end?;
        let (wide, hint) = match whole {
            true => (end.abs() >= 53f64.exp2(), "an end of integers is below 2^53"),
            false => (end.abs() > 45f64.exp2(), "an end is at most 2^45"),
        };
        if wide {
            return codes::RANGE
                .error(format!("the range of `{}` is too wide to be checked", name.name))
                .label(at, format!("is {end:e}"))
                .hint(hint)
                .refuse(self);
        }
        if whole && end.fract() != 0.0 {
            return codes::RANGE
                .error(format!("the range of integer `{}` has whole ends", name.name))
                .label(at, format!("is {end}"))
                .refuse(self);
        }
        Ok(())
    }
}
