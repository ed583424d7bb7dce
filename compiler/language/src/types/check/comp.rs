//! Comprehensions and conditions.

use super::checker::Checker;
use super::index::{count_entries, decided};
use super::value::{Env, IntVal, Loop, R, Reported, Val, in_place, typed};
use crate::diagnostic::{Edit, codes};
use crate::syntax::ast::{self, Secrecy, Span};
use crate::types::{BinOp, Cond, Dim, Domain, Elem, Expr, ExprKind, Gen, Index, Ty};

/// How hints begin that say to choose by a bit.
const SELECT: &str = "write `select(c, a, b)`";

impl Checker<'_> {
    /// A comprehension. Its first dimension may be uneven or empty: see [`Self::even`].
    #[inline(never)]
    pub(super) fn comp(
        &mut self,
        env: &mut Env,
        body: &ast::Expr,
        gens: &[ast::Gen],
        span: Span,
    ) -> R<Expr> {
        if let Some(model) = self.over_tensors(env, gens, span)? {
            return self.list_of_tensors(env, model, &gens[0], body, span);
        }
        let (names, loops) = (env.names.len(), env.loops.len());
        let typed_gens = self.generators(env, gens);
        let (value, defined) = self.scoped(|this| this.value(env, body));
        let inner = env.loops.split_off(loops);
        env.names.truncate(names);
        let (gens, value) = (typed_gens?, value?);
        let value = in_place(defined, value);
        let Some((fewest, most)) = count_entries(&inner, &env.loops) else {
            return codes::SIZE
                .error("a comprehension has too many entries to count")
                .label(span, "its conditions cannot be tried for all loop variables")
                .refuse(self);
        };
        let set = match gens.as_slice() {
            [Gen { domain: Domain::Set(set), cond: None, .. }] => Some(*set),
            _ => None,
        };
        let mut ty = value.ty.clone();
        ty.dims.insert(0, Dim { size: most, set, fewest });
        self.limit(&ty, span)?;
        Ok(typed(ExprKind::Comp(gens, Box::new(value)), ty, span))
    }

    /// Generators, each in the scope of those before it. Their variables and loops stay in the scope.
    pub(super) fn generators(&mut self, env: &mut Env, gens: &[ast::Gen]) -> R<Vec<Gen>> {
        let mut typed_gens = Ok(Vec::new());
        for g in gens {
            match self.generator(env, g) {
                Ok(g) => {
                    if let Ok(all) = &mut typed_gens {
                        all.push(g);
                    }
                }
                Err(Reported) => {
                    env.set(&g.var.name, Val::Poison);
                    typed_gens = Err(Reported);
                }
            }
        }
        typed_gens
    }

    fn generator(&mut self, env: &mut Env, g: &ast::Gen) -> R<Gen> {
        let domain = self.expr(env, &g.domain)?;
        let at = g.domain.span;
        let (domain, set, members, sampled) = match domain {
            Val::Set(set) => (Domain::Set(set), Some(set), self.set_size(set), false),
            Val::Members(s, at) => {
                let domain = Domain::Sampled { sample: s.var, at, count: s.count };
                (domain, Some(s.of), self.set_size(s.of), true)
            }
            Val::Range(lo, hi) => (Domain::Range(lo, hi), None, 0, false),
            Val::Int(n) if !n.sampled => (Domain::Range(Index::Const(0), n.index), None, 0, false),
            // Drawn once, and not for each member of a set.
            Val::Sample(s) if s.each.is_none() => {
                let domain = Domain::Sampled { sample: s.var, at: Index::Const(0), count: s.count };
                (domain, Some(s.of), self.set_size(s.of), true)
            }
            Val::Sample(_) => {
                return codes::KIND
                    .error("a loop needs one committee")
                    .label(at, "one committee per member: whose?")
                    .hint("write `committee[i]`")
                    .refuse(self);
            }
            Val::Expr(e) if e.ty.dims.is_empty() => {
                let what = e.ty.secrecy.word();
                return codes::SECRET_CONDITION
                    .error("a loop needs bounds known at compile time")
                    .label(at, format!("a {what} value of the run"))
                    .hint(
                        "loop over all that may occur and let the others count nothing: \
                         `sum(select(j < k, x[j], 0) for j in n)`",
                    )
                    .refuse(self);
            }
            Val::Expr(e) => {
                let n = e.ty.dims[0];
                let over = self.range_text(&n);
                return codes::KIND
                    .error("a loop runs over indices, not over the entries of a tensor")
                    .label(at, format!("this is {}", self.ty(&e.ty)))
                    .hint(format!(
                        "write `for {v} in {over}` and index with `[{v}]`",
                        v = g.var.name
                    ))
                    .refuse(self);
            }
            other => {
                return codes::KIND
                    .error("a loop runs over a party set, a committee, a range or a size")
                    .label(at, format!("this is {}", other.describe()))
                    .hint(
                        "for example `for i in Client`, `for j in 1..n`, `for j in n`, `for t in M`",
                    )
                    .refuse(self);
            }
        };
        let var = self.var(&g.var.name, Ty::scalar(Elem::Int, Secrecy::Public), g.var.span);
        let index = Index::Var(var);
        let between = match &domain {
            Domain::Range(lo, hi) => {
                let (lo, hi) = (self.bounds_of_index(lo), self.bounds_of_index(hi));
                lo.zip(hi).map(|(lo, hi)| (lo.0, hi.1.saturating_sub(1)))
            }
            Domain::Set(_) | Domain::Sampled { .. } => Some((0, members as i64 - 1)),
        };
        if let Some(between) = between {
            self.bounds.insert(var, between);
        }
        env.set(&g.var.name, Val::Int(IntVal { set, sampled, ..IntVal::of(index) }));
        env.loops.push(Loop { var, domain: domain.clone(), members, cond: None, steps: false });
        let cond = match &g.cond {
            None => None,
            Some(c) => match self.expr(env, c)? {
                Val::Bool(true) => None,
                Val::Bool(false) => {
                    Some(Cond::Compare(BinOp::Ne, Index::Const(0), Index::Const(0)))
                }
                Val::Cond(cond) => Some(cond),
                other => return Err(self.not_a_condition(&other, c.span, true)),
            },
        };
        if let Some(last) = env.loops.last_mut() {
            last.cond.clone_from(&cond);
        }
        Ok(Gen { var, domain, cond })
    }

    /// `if` in a loop or expression whose condition is known at run time only.
    pub(super) fn not_a_condition(&mut self, val: &Val, span: Span, in_loop: bool) -> Reported {
        match val {
            Val::Poison => Reported,
            Val::Expr(e) if e.ty.elem == Elem::Bit => {
                let what = e.ty.secrecy.word();
                let error = codes::SECRET_CONDITION
                    .error("the condition of an `if` must be known at compile time")
                    .label(span, format!("a {what} bit"));
                self.fail(if in_loop {
                    error.hint(
                        "let the other entries count nothing: `sum(select(c[i], x[i], \
                         0) for i in n)`, or multiply by the bit",
                    )
                } else {
                    error.hint(format!("{SELECT}: a where c holds, else b")).hint(
                        "both sides are computed, whatever the condition: nobody may \
                         see which one counts",
                    )
                })
            }
            other => {
                let what = match other {
                    Val::Expr(e) => self.ty(&e.ty),
                    other => other.describe().to_owned(),
                };
                self.fail(
                    codes::ELEMENT
                        .error("a condition is a comparison")
                        .label(span, format!("this is {what}"))
                        .hint("for example `i != j`, `n > 1`"),
                )
            }
        }
    }

    /// Evaluates the condition of an `if`.
    pub(super) fn condition(&mut self, env: &mut Env, c: &ast::Expr) -> R<bool> {
        match self.expr(env, c)? {
            Val::Bool(b) => Ok(b),
            Val::Cond(cond) => match decided(&cond, &env.loops) {
                Some(b) => Ok(b),
                None => codes::SECRET_CONDITION
                    .error("the condition of an `if` must be the same for all loop variables")
                    .label(c.span, "true for some, false for others")
                    .hint(format!("{SELECT}: both sides are computed for each"))
                    .hint("or put the condition into the loop: `for j in n if j != i`")
                    .refuse(self),
            },
            other => Err(self.not_a_condition(&other, c.span, false)),
        }
    }

    #[inline(never)]
    pub(super) fn choose(
        &mut self,
        env: &mut Env,
        whole: Span,
        [c, a, b]: [&ast::Expr; 3],
    ) -> R<Val> {
        let said = self.diags.len();
        // Only the side taken is checked: the other may not even have a shape for these sizes.
        match self.condition(env, c) {
            Ok(true) => self.expr(env, a),
            Ok(false) => self.expr(env, b),
            Err(Reported) => {
                let new = self.diags.get_mut(said..).unwrap_or_default().iter_mut();
                let mut hints =
                    new.filter(|d| d.code == codes::SECRET_CONDITION).flat_map(|d| &mut d.hints);
                if let Some(hint) = hints.find(|h| h.text.starts_with(SELECT)) {
                    let [c, a, b] = [c, a, b].map(|e| self.sources.snippet(e.span));
                    let local = env.get("select").is_some();
                    let (select, import) =
                        self.world.written(env.module, env.block, local, "select");
                    hint.edits.extend(import);
                    hint.edits.push(Edit::replace(whole, format!("{select}({c}, {a}, {b})")));
                }
                Err(Reported)
            }
        }
    }
}
