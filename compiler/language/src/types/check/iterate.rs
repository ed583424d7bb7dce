//! Loops that carry values from step to step.
//!
//! A step is checked once, for all steps. What is carried has one type: that of its start, or a larger one where a
//! step makes it larger (an integer a real number, a public value a secret one); then the step is checked again.

use super::checker::Checker;
use super::index::{cond_vars, count_entries, index_vars};
use super::value::{Env, R, Reported, Val, count, fits, join_elem, typed};
use crate::diagnostic::codes;
use crate::syntax::ast::{self, Span};
use crate::types::{
    Body, Carried, Definition, Domain, Elem, Expr, ExprKind, Gen, Iterate, Source, Ty, VarId,
};

/// Loops one inside the other: each may be checked a few times.
const MAX_NESTED: usize = 6;

/// Most steps of one loop.
const MAX_STEPS: u64 = 1 << 16;

impl Checker<'_> {
    /// `iterate v = start for t in n { next }`.
    #[inline(never)]
    pub(super) fn iterate(&mut self, env: &mut Env, i: &ast::Iterate, span: Span) -> R<Val> {
        if self.iterations == MAX_NESTED {
            return codes::CONST_EVAL
                .error(format!("more than {MAX_NESTED} loops one inside the other"))
                .label(span, "too deep")
                .hint("one loop may have several variables: `for t in 10 for i in Client`")
                .refuse(self);
        }
        let starts: Vec<R<Expr>> = i.carried.iter().map(|c| self.start(env, c)).collect();
        let (names, loops) = (env.names.len(), env.loops.len());
        let gens = self.step_generators(env, &i.gens, span);
        let mut starts = starts.into_iter().collect::<R<Vec<Expr>>>();
        let made = match (gens, &mut starts) {
            (Ok(gens), Ok(starts)) => {
                self.iterations += 1;
                let made = self.settle_types(env, i, starts, span);
                self.iterations -= 1;
                made.map(|(vars, body)| (gens, vars, body))
            }
            _ => Err(Reported),
        };
        env.loops.truncate(loops);
        env.names.truncate(names);
        let (gens, vars, body) = made?;
        let mut carried = Vec::with_capacity(vars.len());
        for ((c, start), var) in i.carried.iter().zip(starts?).zip(vars) {
            let elem = self.vars[var.0 as usize].ty.elem;
            let range = c.range.as_ref().map(|range| {
                let places = (c.name.span, Some(range));
                self.input_range(env, &c.name, Some(elem), ast::Secrecy::Public, places)
            });
            let range = range.transpose()?;
            carried.push(Carried { var, start, range });
        }
        // What the loop ends with has names of its own: within a step the names are those of the step.
        let mut ends = Vec::with_capacity(carried.len());
        let mut vars = Vec::with_capacity(carried.len());
        for c in &carried {
            let var = self.vars[c.var.0 as usize].clone();
            let end = self.var(&var.name, var.ty.clone(), var.span);
            vars.push(end);
            ends.push(Val::Expr(typed(ExprKind::Var(end), var.ty, span)));
        }
        let source = Source::Iterate(Box::new(Iterate { gens, carried, body, span }));
        self.pending.push(Definition { vars, source });
        Ok(match <[Val; 1]>::try_from(ends) {
            Ok([one]) => one,
            Err(ends) => Val::Tuple(ends),
        })
    }

    /// The value before the first step, with the type that is declared.
    #[inline(never)]
    fn start(&mut self, env: &mut Env, c: &ast::Carried) -> R<Expr> {
        let mut start = self.value(env, &c.start)?;
        let Some(declared) = &c.ty else { return Ok(start) };
        let wanted = self.written_ty(env, declared)?;
        let same = wanted.is_shape_of(&start.ty);
        if !same || !fits(start.ty.elem, wanted.elem) {
            let (wanted, found) = (self.ty(&wanted), self.ty(&start.ty));
            let code = if same { codes::ELEMENT } else { codes::SHAPE };
            let list = start.ty.dims.is_empty() && !same;
            return code
                .error(format!("`{}` is declared {wanted}", c.name.name))
                .label(start.span, format!("begins as {found}"))
                .label(declared.span, "declared here")
                .hints(
                    list.then_some("a list of equal numbers is a comprehension: `[0 for j in n]`"),
                )
                .refuse(self);
        }
        if declared.secrecy == Some(ast::Secrecy::Public)
            && start.ty.secrecy == ast::Secrecy::Secret
        {
            return codes::SECRECY
                .error(format!("`{}` is declared public", c.name.name))
                .label(start.span, "begins as a secret")
                .label(declared.span, "declared here")
                .refuse(self);
        }
        start.ty.elem = wanted.elem;
        start.ty.secrecy = start.ty.secrecy.max(wanted.secrecy);
        start.ty.record = wanted.record;
        Ok(start)
    }

    /// The generators of steps: how many there are depends on nothing but steps.
    #[inline(never)]
    fn step_generators(&mut self, env: &mut Env, gens: &[ast::Gen], span: Span) -> R<Vec<Gen>> {
        if self.over_tensors(env, &gens[..1], span)?.is_some() {
            return codes::KIND
                .error("steps do not go over the tensors of a model")
                .label(gens[0].domain.span, "tensors have different shapes")
                .hint(
                    "take what is needed of each first: `let size = [norm(flat(w[t])) for t in M];`",
                )
                .refuse(self);
        }
        let outside = env.loops.len();
        let typed = self.generators(env, gens)?;
        let of_steps: Vec<VarId> = env.loops[..outside]
            .iter()
            .filter(|l| l.steps)
            .map(|l| l.var)
            .chain(env.loops[outside..].iter().map(|l| l.var))
            .collect();
        for (g, written) in typed.iter().zip(gens) {
            let mut vars = match &g.domain {
                Domain::Set(_) => Vec::new(),
                Domain::Range(lo, hi) => [index_vars(lo), index_vars(hi)].concat(),
                Domain::Sampled { .. } => {
                    return codes::SECRET_CONDITION
                        .error("steps do not go over a sampled committee")
                        .label(written.domain.span, "drawn at run time")
                        .hint(
                            "gather first, `let drawn = [x[j] for j in committee[i]];`, then step \
                             over the numbers below its length",
                        )
                        .refuse(self);
                }
            };
            vars.extend(g.cond.iter().flat_map(cond_vars));
            if let Some(outer) = vars.iter().find(|v| !of_steps.contains(v)) {
                let name = self.vars[outer.0 as usize].name.clone();
                return codes::RAGGED
                    .error("all entries of a list take the same steps")
                    .label(
                        written.domain.span,
                        format!("which steps there are depends on `{name}`"),
                    )
                    .hint(format!(
                        "step over all, and keep the value where a step does not count: \
                         `select(t < {name}, next, v)`"
                    ))
                    .refuse(self);
            }
        }
        env.loops[outside..].iter_mut().for_each(|l| l.steps = true);
        let (outer, inner) = env.loops.split_at(outside);
        match count_entries(inner, outer) {
            Some((_, most)) if most <= MAX_STEPS => Ok(typed),
            _ => codes::SIZE
                .error(format!("a loop has at most {MAX_STEPS} steps"))
                .label(gens[0].domain.span, "too many steps")
                .refuse(self),
        }
    }

    /// The variables within a step, with types that no step changes, and the step. The types of the starts grow to
    /// them.
    #[inline(never)]
    fn settle_types(
        &mut self,
        env: &mut Env,
        i: &ast::Iterate,
        starts: &mut [Expr],
        span: Span,
    ) -> R<(Vec<VarId>, Body)> {
        let mut vars = Vec::with_capacity(starts.len());
        for (c, start) in i.carried.iter().zip(starts.iter()) {
            let mut ty = start.ty.clone();
            // A range makes a number of a bit.
            if c.range.is_some() {
                ty.elem = join_elem(ty.elem, Elem::Int);
            }
            vars.push(self.var(&c.name.name, ty, c.name.span));
        }
        let outside = env.names.len();
        // Each round but the last makes an element or a secrecy larger.
        for _ in 0..3 * vars.len() + 1 {
            for (c, var) in i.carried.iter().zip(&vars) {
                let ty = self.vars[var.0 as usize].ty.clone();
                env.set(&c.name.name, Val::Expr(typed(ExprKind::Var(*var), ty, c.name.span)));
            }
            let step = self.body_of(env, &i.body);
            env.names.truncate(outside);
            let (lets, value) = step?;
            let values = self.next(i, value, span)?;
            let mut grown = false;
            for ((c, var), next) in i.carried.iter().zip(&vars).zip(&values) {
                self.even(next)?;
                let ty = self.vars[var.0 as usize].ty.clone();
                grown |= self.grow(c, *var, ty, next)?;
            }
            if !grown {
                for (start, var) in starts.iter_mut().zip(&vars) {
                    let ty = &self.vars[var.0 as usize].ty;
                    start.ty.elem = join_elem(start.ty.elem, ty.elem);
                    start.ty.secrecy = start.ty.secrecy.max(ty.secrecy);
                }
                return Ok((vars, Body { lets, values }));
            }
        }
        Err(Reported)
    }

    /// The results of a step, one for each carried value.
    fn next(&mut self, i: &ast::Iterate, value: Val, span: Span) -> R<Vec<Expr>> {
        let at = i.body.value.span;
        let parts = match value {
            Val::Tuple(parts) if i.carried.len() > 1 && parts.len() == i.carried.len() => parts,
            value @ Val::Expr(_) if i.carried.len() == 1 => vec![value],
            other => {
                let names: Vec<&str> = i.carried.iter().map(|c| c.name.name.as_str()).collect();
                let wanted = count(names.len(), "value", "values");
                return codes::SHAPE
                    .error(format!(
                        "a step of this loop ends with {wanted}: the next {}",
                        names.join(", ")
                    ))
                    .label(at, format!("this is {}", self.tree_text(&other)))
                    .label(span, "this loop")
                    .refuse(self);
            }
        };
        parts.into_iter().map(|p| self.at_run_time(p, at)).collect()
    }

    /// Makes the type of a carried value as large as what a step makes of it; whether it was smaller.
    fn grow(&mut self, c: &ast::Carried, var: VarId, ty: Ty, next: &Expr) -> R<bool> {
        let name = &c.name.name;
        if !ty.is_shape_of(&next.ty) {
            let (was, is) = (self.ty(&ty), self.ty(&next.ty));
            return codes::SHAPE
                .error(format!("`{name}` has the same shape in every step"))
                .label(next.span, format!("this is {is}"))
                .label(c.start.span, format!("begins as {was}"))
                .refuse(self);
        }
        let elem = join_elem(ty.elem, next.ty.elem);
        let secrecy = ty.secrecy.max(next.ty.secrecy);
        if let Some(declared) = &c.ty {
            let public = declared.secrecy == Some(ast::Secrecy::Public);
            let wrong = if elem != ty.elem {
                Some((codes::ELEMENT, self.ty(&ty), self.ty(&next.ty)))
            } else if public && secrecy != ty.secrecy {
                Some((codes::SECRECY, "public".to_owned(), "secret".to_owned()))
            } else {
                None
            };
            if let Some((code, wanted, what)) = wrong {
                return code
                    .error(format!("`{name}` is declared {wanted}"))
                    .label(next.span, format!("a step makes it {what}"))
                    .label(declared.span, "declared here")
                    .refuse(self);
            }
        }
        let grown = elem != ty.elem || secrecy != ty.secrecy;
        self.vars[var.0 as usize].ty = Ty { elem, secrecy, ..ty };
        Ok(grown)
    }
}
