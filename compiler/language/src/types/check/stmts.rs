//! Statements of a predicate.

use super::checker::Checker;
use super::value::{Env, IntVal, R, Reported, Val, in_place, typed};
use crate::diagnostic::codes;
use crate::syntax::ast::{
    self, BinaryOp, Demanded, Ident, Predicate, Require, Secrecy, Span, StmtKind,
};
use crate::types::{
    Body, Bounded, Demand, Expr, ExprKind, Index, PartySet, SetId, Stmt, Var, VarId,
};
use slvr_circuit::verify::MAX_MEMBERS;
use std::collections::{BTreeMap, BTreeSet};

/// `require error(x) <= ..`, until `x` is defined.
struct ErrorDemand {
    name: Ident,
    bound: f64,
    span: Span,
}

/// What the statements so far have given.
#[derive(Default)]
struct Found<'s> {
    body: Vec<Stmt>,
    demands: Vec<Demand>,
    errors: Vec<ErrorDemand>,
    /// Where each name is revealed.
    reveals: BTreeMap<&'s str, Span>,
}

impl Checker<'_> {
    /// Checks the body of a predicate in a scope that has its sizes and parameters.
    ///
    /// A statement that fails has been reported; those after it are checked all the same.
    pub(super) fn body(&mut self, env: &mut Env, p: &Predicate) -> R<(Vec<Stmt>, Vec<Demand>)> {
        let mut failed = false;
        let mut found = Found::default();
        for s in &p.body {
            if self.stmt(env, s, &mut found).is_err() {
                failed = true;
                for name in s.kind.defines() {
                    if env.get(&name.name).is_none() {
                        env.set(&name.name, Val::Poison);
                    }
                }
            }
        }
        failed |= self.unstored().is_err();
        let Found { body, mut demands, errors, reveals } = found;
        for demand in errors {
            match self.error_demand(env, &demand) {
                Ok(Some(var)) => {
                    let what = Bounded::Error(var);
                    demands.push(Demand { what, bound: demand.bound, span: demand.span });
                }
                Ok(None) => {}
                Err(Reported) => failed = true,
            }
        }
        if reveals.is_empty() {
            self.fail(
                codes::REVEAL
                    .error(format!("`{}` reveals nothing", p.name.name))
                    .label(p.name.span, "no `reveal` in this predicate")
                    .hint("end it with `reveal x to Server as x;`"),
            );
        }
        if failed { Err(Reported) } else { Ok((body, demands)) }
    }

    fn stmt<'s>(&mut self, env: &mut Env, s: &'s ast::Stmt, found: &mut Found<'s>) -> R<()> {
        let stmt = match &s.kind {
            StmtKind::Require(r) => return self.require(env, r, found),
            StmtKind::Parties { name, size } => {
                return self.parties_stmt(env, name, size.as_ref());
            }
            StmtKind::Input { name, ty, range, from } => {
                self.input(env, name, ty, range.as_ref(), from.as_ref())?
            }
            StmtKind::Let(l) => match self.define(env, l)? {
                Some((vars, body)) => defined(vars, body, l.value.span),
                None => return Ok(()),
            },
            StmtKind::State { name, ty, range, start } => {
                self.state(env, name, (ty, range.as_ref()), start)?
            }
            StmtKind::Noise { name, ty, law, scale } => self.noise(env, name, ty, law, scale)?,
            StmtKind::Store { value, name } => self.store(env, value, name, s.span)?,
            StmtKind::Sample { name, counts, of, each } => {
                self.sample(env, name, counts, of, each.as_ref())?
            }
            StmtKind::Reveal { value, to, member, name } => {
                if let Some(&first) = found.reveals.get(name.name.as_str()) {
                    self.fail(
                        codes::DUPLICATE
                            .error(format!("`{}` is revealed twice", name.name))
                            .label(name.span, "revealed again here")
                            .label(first, "first revealed here")
                            .hint(
                                "each reveal has a name of its own: it names a tensor of \
                                 the output file",
                            ),
                    );
                }
                found.reveals.entry(&name.name).or_insert(name.span);
                match member {
                    Some(member) => self.reveal_to_each(env, value, (to, member), name, s.span)?,
                    None => return self.reveal(env, value, to, name, s.span, &mut found.body),
                }
            }
            StmtKind::Error => return Err(Reported),
        };
        found.body.push(stmt);
        Ok(())
    }

    /// Warns of inputs that nothing reads.
    pub(super) fn unused(&mut self, body: &[Stmt]) {
        let mut read: BTreeSet<VarId> = BTreeSet::new();
        for s in body {
            let values = match s {
                Stmt::Let { value, .. }
                | Stmt::Store { value, .. }
                | Stmt::Reveal { value, .. } => {
                    vec![value]
                }
                Stmt::Tuple { body, .. } => body.children(),
                Stmt::Input { .. }
                | Stmt::State { .. }
                | Stmt::Sample { .. }
                | Stmt::Noise { .. } => Vec::new(),
            };
            read.extend(values.into_iter().flat_map(Expr::reads));
        }
        for s in body {
            if let Stmt::Input { var, .. } = s
                && !read.contains(var)
            {
                let Var { name, ty, span } = &self.vars[var.0 as usize];
                self.warn(
                    codes::UNUSED
                        .warning(format!("input `{name}` is never read"))
                        .label(*span, "nothing depends on it")
                        .hint(match ty.secrecy {
                            Secrecy::Secret => {
                                "delete it: everybody who gives it uploads it for nothing"
                            }
                            Secrecy::Public => {
                                "delete it: whoever runs the check has to find a value for it"
                            }
                        }),
                );
            }
        }
    }

    fn require(&mut self, env: &mut Env, r: &Require, found: &mut Found) -> R<()> {
        let Some(demand) = r.demand(|name| env.get(name).is_some()) else {
            return self.holds(env, &r.cond, r.why.as_deref(), "the predicate");
        };
        let (span, right) = (r.cond.span, demand.bound);
        match demand.of {
            Demanded::Cut => {
                found.demands.push(self.cut_demand(env, &demand, span)?);
                return Ok(());
            }
            Demanded::Epsilon => {
                found.demands.push(self.epsilon_demand(env, &demand, span)?);
                return Ok(());
            }
            Demanded::Failure | Demanded::Error => {}
        }
        let title = "a demand on the certificate is an upper bound";
        if !matches!(demand.op, BinaryOp::Le | BinaryOp::Lt) {
            return codes::REQUIRE
                .error(title)
                .label(span, "not an upper bound")
                .hint("write `require failure <= 2^-40;` or `require error(x) <= 2^-8;`")
                .refuse(self);
        }
        let bound = self.real(env, right)?;
        if bound <= 0.0 || bound.is_nan() {
            return codes::REQUIRE
                .error(title)
                .label(right.span, format!("is {bound}"))
                .hint(
                    "nothing is certain and nothing exact: demand a small \
                     positive number, such as `2^-40`",
                )
                .refuse(self);
        }
        match (demand.of, demand.args) {
            (Demanded::Failure, _) => {
                found.demands.push(Demand { what: Bounded::Failure, bound, span });
            }
            (_, [ast::Expr { kind: ast::ExprKind::Name(name), span: at }]) => {
                let name = Ident { name: name.clone(), span: *at };
                found.errors.push(ErrorDemand { name, bound, span });
            }
            _ => {
                return codes::REQUIRE
                    .error("`error` takes one name")
                    .label(demand.left.span, "not one name")
                    .hint("give the value a name with `let` and write `require error(name) <= ..;`")
                    .refuse(self);
            }
        }
        Ok(())
    }

    /// `require cut >= 16`.
    fn cut_demand(
        &mut self,
        env: &mut Env,
        &ast::Demand { op, bound: right, .. }: &ast::Demand<'_>,
        span: Span,
    ) -> R<Demand> {
        let wrong = |at, label: String| {
            codes::REQUIRE.error("a demand on cuts is a positive lower bound").label(at, label).hint(
                "write `require cut >= 16;`: values that have to be cut are cut at this or beyond",
            )
        };
        if !matches!(op, BinaryOp::Ge | BinaryOp::Gt) {
            return wrong(span, "not a lower bound".into()).refuse(self);
        }
        match self.real(env, right)? {
            bound if bound > 0.0 => Ok(Demand { what: Bounded::Cut, bound, span }),
            bound => wrong(right.span, format!("is {bound}")).refuse(self),
        }
    }

    /// `require epsilon(1e-5, 100) <= 8`.
    fn epsilon_demand(
        &mut self,
        env: &mut Env,
        &ast::Demand { op, left, args, bound: right, .. }: &ast::Demand<'_>,
        span: Span,
    ) -> R<Demand> {
        let wrong = |title: &str, at, label: String| {
            codes::REQUIRE.error(title).label(at, label).hint(
                "write `require epsilon(1e-5, 100) <= 8;`: at a delta of 1e-5 a hundred rounds let through at most 8; \
                 with one number, `epsilon(1e-5)`, it is of one round",
            )
        };
        if !matches!(op, BinaryOp::Le | BinaryOp::Lt) {
            let title = "a demand on epsilon is an upper bound";
            return wrong(title, span, "not an upper bound".into()).refuse(self);
        }
        let (delta_at, rounds_at) = match args {
            [delta] => (delta, None),
            [delta, rounds] => (delta, Some(rounds)),
            _ => {
                let title = "`epsilon` takes a delta and a number of rounds";
                let label = format!("takes 1 or 2 numbers, not {}", args.len());
                return wrong(title, left.span, label).refuse(self);
            }
        };
        let delta = self.real(env, delta_at)?;
        if !(delta > 0.0 && delta < 1.0) {
            let title = "delta is a probability above 0 and below 1";
            return wrong(title, delta_at.span, format!("is {delta}")).refuse(self);
        }
        let rounds = rounds_at.map_or(Ok(1), |e| self.whole(env, e))?;
        let bound = self.real(env, right)?;
        match (u64::try_from(rounds), rounds_at) {
            (Err(_) | Ok(0), Some(at)) => {
                let title = "the number of rounds is at least 1";
                wrong(title, at.span, format!("is {rounds}")).refuse(self)
            }
            (Ok(rounds), _) if bound > 0.0 => {
                Ok(Demand { what: Bounded::Epsilon { delta, rounds }, bound, span })
            }
            _ => {
                let title = "an epsilon that can be kept is above 0";
                wrong(title, right.span, format!("is {bound}")).refuse(self)
            }
        }
    }

    fn error_demand(&mut self, env: &Env, demand: &ErrorDemand) -> R<Option<VarId>> {
        match env.get(&demand.name.name) {
            Some(Val::Expr(e)) => match &e.kind {
                ExprKind::Var(v) => Ok(Some(*v)),
                ExprKind::At(base, _) => match base.kind {
                    ExprKind::Var(v) => Ok(Some(v)),
                    _ => Err(Reported),
                },
                _ => Err(Reported),
            },
            // Known at compile time: exact.
            Some(Val::Int(_) | Val::Real(_) | Val::Bool(_)) => Ok(None),
            Some(Val::Poison) | None => Err(Reported),
            Some(other) => codes::KIND
                .error("`error` takes the name of a value")
                .label(demand.name.span, other.this_is())
                .refuse(self),
        }
    }

    fn parties_stmt(&mut self, env: &mut Env, name: &Ident, size: Option<&ast::Expr>) -> R<()> {
        let members = match size {
            None => 1,
            Some(e) => {
                let n = self.whole(env, e)?;
                match u64::try_from(n) {
                    Ok(n) if (1..=MAX_MEMBERS).contains(&n) => n,
                    _ => {
                        return codes::PARTIES
                            .error(format!(
                                "`{}` has at least 1 member and at most 2^20",
                                name.name
                            ))
                            .label(e.span, format!("is {n} here"))
                            .refuse(self);
                    }
                }
            }
        };
        let id = SetId(self.parties.len() as u32);
        let named = match size.map(|e| &e.kind) {
            Some(ast::ExprKind::Name(size)) => Some(size.clone()),
            _ => None,
        };
        let set = PartySet { name: name.name.clone(), size: members, named, span: name.span };
        self.parties.push(set);
        env.set(&name.name, Val::Set(id));
        Ok(())
    }

    /// The party set a name stands for.
    pub(super) fn party(&mut self, env: &Env, name: &Ident) -> R<SetId> {
        match env.get(&name.name) {
            Some(Val::Set(set)) => Ok(*set),
            Some(Val::Poison) => Err(Reported),
            Some(other) => codes::KIND
                .error(format!("`{}` is not a party set", name.name))
                .label(name.span, other.this_is())
                .hint("party sets are declared with `parties`, as in `parties Client[m];`")
                .refuse(self),
            // Reported with the names.
            None => Err(Reported),
        }
    }

    /// A number known at compile time.
    pub(super) fn real(&mut self, env: &mut Env, e: &ast::Expr) -> R<f64> {
        match self.expr(env, e)? {
            Val::Real(x) => {
                let value = x.float();
                self.number(value, e.span)
            }
            Val::Int(IntVal { index: Index::Const(i), rounded: false, .. }) => Ok(i as f64),
            val @ Val::Int(_) => Err(self.at_run_time(val, e.span).err().unwrap_or(Reported)),
            other => codes::RANGE
                .error("a bound is a number known at compile time")
                .label(e.span, other.this_is())
                .refuse(self),
        }
    }

    fn reveal(
        &mut self,
        env: &mut Env,
        value: &ast::Expr,
        to: &Ident,
        name: &Ident,
        span: Span,
        out: &mut Vec<Stmt>,
    ) -> R<()> {
        let (checked, lets) = self.scoped(|this| this.argument(env, value));
        let receiver = match env.get(&to.name) {
            Some(Val::Set(set)) => {
                let (set, members) = (*set, self.set_size(*set));
                if members == 1 {
                    Ok(set)
                } else {
                    let place = self.parties[set.0 as usize].span;
                    codes::REVEAL
                        .error("a value is revealed to one party")
                        .label(to.span, format!("`{}` has {members} members", to.name))
                        .label(place, "declared here")
                        .hint(format!(
                            "each member gets one value with `to {0}[i]`, as in `reveal x[i] to {0}[i] as x;`; a receiver \
                             of all is a party of its own: `parties Server;`",
                            to.name
                        ))
                        .refuse(self)
                }
            }
            Some(Val::Poison) | None => Err(Reported),
            Some(other) => codes::REVEAL
                .error("a value is revealed to a party")
                .label(to.span, other.this_is())
                .hint("declare the receiver: `parties Server;`")
                .refuse(self),
        };
        let ((val, at), to) = (checked?, receiver?);
        match val {
            Val::Expr(value) => {
                self.even(&value)?;
                let (value, name) = (in_place(lets, value), name.name.clone());
                out.push(Stmt::Reveal { value, to, name, span });
            }
            // The parts of a tuple, each under a name of its own.
            val => {
                let mut parts = Vec::new();
                self.named(&name.name, name.span, val, at, &mut parts)?;
                let (vars, values): (Vec<VarId>, Vec<Expr>) = parts.into_iter().unzip();
                let names = vars.iter().zip(&values).map(|(var, value)| {
                    let name = self.vars[var.0 as usize].name.clone();
                    (name, typed(ExprKind::Var(*var), value.ty.clone(), value.span))
                });
                let names: Vec<(String, Expr)> = names.collect();
                out.push(Stmt::Tuple { vars, body: Body { lets, values }, span: at });
                for (name, value) in names {
                    out.push(Stmt::Reveal { value, to, name, span });
                }
            }
        }
        Ok(())
    }

    /// `reveal x[i] to Client[i] as mine;`: each member of a set gets one value.
    #[inline(never)]
    fn reveal_to_each(
        &mut self,
        env: &mut Env,
        value: &ast::Expr,
        (to, member): (&Ident, &Ident),
        name: &Ident,
        span: Span,
    ) -> R<Stmt> {
        let set = self.party(env, to)?;
        let domain = ast::Expr { kind: ast::ExprKind::Name(to.name.clone()), span: to.span };
        let gens = [ast::Gen { var: member.clone(), domain, cond: None }];
        let (checked, lets) = self.scoped(|this| this.comp(env, value, &gens, value.span));
        let mut all = in_place(lets, checked?);
        self.even(&all)?;
        if self.set_size(set) == 1 {
            // One receiver, as without a member.
            let ty = all.ty.entry(1);
            all = typed(ExprKind::At(Box::new(all), vec![Index::Const(0)]), ty, value.span);
        }
        Ok(Stmt::Reveal { value: all, to: set, name: name.name.clone(), span })
    }
}

/// The statement that defines some variables.
fn defined(vars: Vec<VarId>, mut body: Body, span: Span) -> Stmt {
    match (vars.as_slice(), body.values.len()) {
        (&[var], 1) => {
            let value = body.values.remove(0);
            Stmt::Let { var, value: in_place(body.lets, value) }
        }
        _ => Stmt::Tuple { vars, body, span },
    }
}
