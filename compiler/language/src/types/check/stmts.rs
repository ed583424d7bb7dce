//! Statements of a predicate.

use super::checker::Checker;
use super::value::{Env, IntVal, R, Reported, Val, in_place, typed};
use crate::diagnostic::{Diagnostic, codes};
use crate::syntax::ast::{self, BinaryOp, Ident, Predicate, Span, StmtKind};
use crate::types::{Body, Bounded, Demand, Expr, ExprKind, Index, PartySet, SetId, Stmt, VarId};
use std::collections::{BTreeMap, BTreeSet};

/// Party sets have at most this many members.
const MAX_MEMBERS: u64 = 1 << 20;

/// `require error(x) <= ..`, until `x` is defined.
struct ErrorDemand {
    name: Ident,
    bound: f64,
    span: Span,
}

impl Checker<'_> {
    /// Checks the body of a predicate in a scope that has its sizes and parameters.
    ///
    /// A statement that fails has been reported; those after it are checked all the same.
    pub(super) fn body(&mut self, env: &mut Env, p: &Predicate) -> R<(Vec<Stmt>, Vec<Demand>)> {
        let mut failed = false;
        let (mut body, mut demands, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        let mut reveals: BTreeMap<&str, Span> = BTreeMap::new();
        for s in &p.body {
            let done = match &s.kind {
                StmtKind::Require { cond, why } => self
                    .require(env, cond, why.as_deref(), &mut demands, &mut errors)
                    .map(|()| None),
                StmtKind::Parties { name, size } => {
                    self.parties_stmt(env, name, size.as_ref()).map(|()| None)
                }
                StmtKind::Input { name, ty, range, from } => {
                    self.input(env, name, ty, range.as_ref(), from.as_ref()).map(Some)
                }
                StmtKind::Let(l) => self
                    .define(env, l)
                    .map(|new| new.map(|(vars, body)| defined(vars, body, l.value.span))),
                StmtKind::State { name, ty, range, start } => {
                    self.state(env, name, (ty, range.as_ref()), start).map(Some)
                }
                StmtKind::Noise { name, ty, law, scale } => {
                    self.noise(env, name, ty, law, scale).map(Some)
                }
                StmtKind::Store { value, name } => self.store(env, value, name, s.span).map(Some),
                StmtKind::Sample { name, counts, of, each } => {
                    self.sample(env, name, counts, of, each.as_ref()).map(Some)
                }
                StmtKind::Reveal { value, to, member, name } => {
                    if let Some(&first) = reveals.get(name.name.as_str()) {
                        self.fail(
                            Diagnostic::error(
                                codes::DUPLICATE,
                                format!("`{}` is revealed twice", name.name),
                                name.span,
                                "revealed again here",
                            )
                            .label(first, "first revealed here")
                            .hint(
                                "each reveal has a name of its own: it names a tensor of \
                                the output file",
                            ),
                        );
                    }
                    reveals.entry(&name.name).or_insert(name.span);
                    match member {
                        Some(member) => self
                            .reveal_to_each(env, value, (to, member), name, s.span)
                            .map(|reveal| {
                                body.push(reveal);
                                None
                            }),
                        None => self.reveal(env, value, to, name, s.span, &mut body).map(|()| None),
                    }
                }
                StmtKind::Error => Err(Reported),
            };
            match done {
                Ok(Some(stmt)) => body.push(stmt),
                Ok(None) => {}
                Err(Reported) => {
                    failed = true;
                    if let StmtKind::Parties { name, .. }
                    | StmtKind::Input { name, .. }
                    | StmtKind::State { name, .. }
                    | StmtKind::Sample { name, .. }
                    | StmtKind::Noise { name, .. } = &s.kind
                        && env.get(&name.name).is_none()
                    {
                        env.set(&name.name, Val::Poison);
                    }
                }
            }
        }
        failed |= self.unstored().is_err();
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
                Diagnostic::error(
                    codes::REVEAL,
                    format!("`{}` reveals nothing", p.name.name),
                    p.name.span,
                    "no `reveal` in this predicate",
                )
                .hint("end it with `reveal x to Server as x;`"),
            );
        }
        if failed { Err(Reported) } else { Ok((body, demands)) }
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
            for value in values {
                value.walk(&mut |e| {
                    if let ExprKind::Var(v) = e.kind {
                        read.insert(v);
                    }
                });
            }
        }
        for s in body {
            if let Stmt::Input { var, .. } = s
                && !read.contains(var)
            {
                let (name, span, secret) = {
                    let v = &self.vars[var.0 as usize];
                    (v.name.clone(), v.span, v.ty.secrecy == ast::Secrecy::Secret)
                };
                let hint = match secret {
                    true => "delete it: everybody who gives it uploads it for nothing",
                    false => "delete it: whoever runs the check has to find a value for it",
                };
                self.warn(
                    Diagnostic::warning(
                        codes::UNUSED,
                        format!("input `{name}` is never read"),
                        span,
                        "nothing depends on it",
                    )
                    .hint(hint),
                );
            }
        }
    }

    fn require(
        &mut self,
        env: &mut Env,
        cond: &ast::Expr,
        why: Option<&str>,
        demands: &mut Vec<Demand>,
        errors: &mut Vec<ErrorDemand>,
    ) -> R<()> {
        if let ast::ExprKind::Binary(op, left, right) = &cond.kind {
            if matches!(&left.kind, ast::ExprKind::Name(n) if n == "cut" && env.get(n).is_none()) {
                demands.push(self.cut_demand(env, (*op, right), cond.span)?);
                return Ok(());
            }
            let called = match &left.kind {
                ast::ExprKind::Call(f, args) => (&f.kind, args.as_slice()),
                other => (other, [].as_slice()),
            };
            if matches!(called.0, ast::ExprKind::Name(n) if n == "epsilon" && env.get(n).is_none())
            {
                let sides = (left.span, called.1, right.as_ref());
                demands.push(self.epsilon_demand(env, *op, sides, cond.span)?);
                return Ok(());
            }
            let what = match &left.kind {
                ast::ExprKind::Name(n) if n == "failure" && env.get(n).is_none() => Some(None),
                ast::ExprKind::Call(f, args) if matches!(&f.kind, ast::ExprKind::Name(n) if n == "error") => {
                    Some(Some(args))
                }
                _ => None,
            };
            if let Some(what) = what {
                let title = "a demand on the certificate is an upper bound";
                if !matches!(op, BinaryOp::Le | BinaryOp::Lt) {
                    return Err(self.fail(
                        Diagnostic::error(codes::REQUIRE, title, cond.span, "not an upper bound")
                            .hint(
                                "write `require failure <= 2^-40;` or `require error(x) <= 2^-8;`",
                            ),
                    ));
                }
                let bound = match self.real(env, right)? {
                    bound if bound > 0.0 => bound,
                    bound => {
                        return Err(self.fail(
                            Diagnostic::error(
                                codes::REQUIRE,
                                title,
                                right.span,
                                format!("is {bound}"),
                            )
                            .hint(
                                "nothing is certain and nothing exact: demand a small \
                                    positive number, such as `2^-40`",
                            ),
                        ));
                    }
                };
                match what.map(Vec::as_slice) {
                    None => demands.push(Demand { what: Bounded::Failure, bound, span: cond.span }),
                    Some([ast::Expr { kind: ast::ExprKind::Name(name), span }]) => {
                        let name = Ident { name: name.clone(), span: *span };
                        errors.push(ErrorDemand { name, bound, span: cond.span });
                    }
                    Some(_) => {
                        return Err(self.fail(
                            Diagnostic::error(
                                codes::REQUIRE,
                                "`error` takes one name",
                                left.span,
                                "not one name",
                            )
                            .hint(
                                "give the value a name with `let` and write `require \
                                    error(name) <= ..;`",
                            ),
                        ));
                    }
                }
                return Ok(());
            }
        }
        self.holds(env, cond, why, "the predicate")
    }

    /// `require cut >= 16`.
    fn cut_demand(
        &mut self,
        env: &mut Env,
        (op, right): (BinaryOp, &ast::Expr),
        span: Span,
    ) -> R<Demand> {
        let title = "a demand on cuts is a positive lower bound";
        let hint =
            "write `require cut >= 16;`: values that have to be cut are cut at this or beyond";
        if !matches!(op, BinaryOp::Ge | BinaryOp::Gt) {
            let d = Diagnostic::error(codes::REQUIRE, title, span, "not a lower bound");
            return Err(self.fail(d.hint(hint)));
        }
        let bound = self.real(env, right)?;
        if bound > 0.0 {
            return Ok(Demand { what: Bounded::Cut, bound, span });
        }
        let d = Diagnostic::error(codes::REQUIRE, title, right.span, format!("is {bound}"));
        Err(self.fail(d.hint(hint)))
    }

    /// `require epsilon(1e-5, 100) <= 8`.
    fn epsilon_demand(
        &mut self,
        env: &mut Env,
        op: BinaryOp,
        (left, args, right): (Span, &[ast::Expr], &ast::Expr),
        span: Span,
    ) -> R<Demand> {
        let hint = "write `require epsilon(1e-5, 100) <= 8;`: at a delta of 1e-5 a hundred rounds let through at most 8; \
                    with one number, `epsilon(1e-5)`, it is of one round";
        let mut refuse = |title: &str, at: Span, label: String| {
            Err(self.fail(Diagnostic::error(codes::REQUIRE, title, at, label).hint(hint)))
        };
        if !matches!(op, BinaryOp::Le | BinaryOp::Lt) {
            let title = "a demand on epsilon is an upper bound";
            return refuse(title, span, "not an upper bound".into());
        }
        let (delta_at, rounds_at) = match args {
            [delta] => (delta, None),
            [delta, rounds] => (delta, Some(rounds)),
            _ => {
                let title = "`epsilon` takes a delta and a number of rounds";
                return refuse(title, left, format!("takes 1 or 2 numbers, not {}", args.len()));
            }
        };
        let delta = self.real(env, delta_at)?;
        if !(delta > 0.0 && delta < 1.0) {
            let title = "delta is a probability above 0 and below 1";
            let d = Diagnostic::error(codes::REQUIRE, title, delta_at.span, format!("is {delta}"));
            return Err(self.fail(d.hint(hint)));
        }
        let rounds = rounds_at.map_or(Ok(1), |e| self.whole(env, e))?;
        let bound = self.real(env, right)?;
        let wrong = if let (Some(at), true) = (rounds_at, rounds < 1) {
            Some(("the number of rounds is at least 1", at.span, rounds as f64))
        } else if bound <= 0.0 || bound.is_nan() {
            Some(("an epsilon that can be kept is above 0", right.span, bound))
        } else {
            None
        };
        if let Some((title, at, x)) = wrong {
            let d = Diagnostic::error(codes::REQUIRE, title, at, format!("is {x}"));
            return Err(self.fail(d.hint(hint)));
        }
        let rounds = u64::try_from(rounds).unwrap_or(1);
        Ok(Demand { what: Bounded::Epsilon { delta, rounds }, bound, span })
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
            Some(other) => {
                let what = other.describe();
                Err(self.fail(Diagnostic::error(
                    codes::KIND,
                    "`error` takes the name of a value",
                    demand.name.span,
                    format!("this is {what}"),
                )))
            }
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
                        return Err(self.fail(Diagnostic::error(
                            codes::PARTIES,
                            format!("`{}` has at least 1 member and at most 2^20", name.name),
                            e.span,
                            format!("is {n} here"),
                        )));
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
            Some(other) => {
                let what = other.describe();
                Err(self.fail(
                    Diagnostic::error(
                        codes::KIND,
                        format!("`{}` is not a party set", name.name),
                        name.span,
                        format!("this is {what}"),
                    )
                    .hint("party sets are declared with `parties`, as in `parties Client[m];`"),
                ))
            }
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
            other => {
                let what = other.describe();
                Err(self.fail(Diagnostic::error(
                    codes::RANGE,
                    "a bound is a number known at compile time",
                    e.span,
                    format!("this is {what}"),
                )))
            }
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
                    Err(self.fail(
                        Diagnostic::error(
                            codes::REVEAL,
                            "a value is revealed to one party",
                            to.span,
                            format!("`{}` has {members} members", to.name),
                        )
                        .label(place, "declared here")
                        .hint(format!(
                            "each member gets one value with `to {0}[i]`, as in `reveal x[i] to {0}[i] as x;`; a receiver \
                             of all is a party of its own: `parties Server;`",
                            to.name
                        )),
                    ))
                }
            }
            Some(Val::Poison) | None => Err(Reported),
            Some(other) => {
                let what = other.describe();
                Err(self.fail(
                    Diagnostic::error(
                        codes::REVEAL,
                        "a value is revealed to a party",
                        to.span,
                        format!("this is {what}"),
                    )
                    .hint("declare the receiver: `parties Server;`"),
                ))
            }
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
}

impl Checker<'_> {
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
            let mut ty = all.ty.clone();
            ty.dims.remove(0);
            if ty.dims.is_empty() {
                ty.record = None;
            }
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
