//! Statements of a predicate.

use super::Checker;
use super::expr::secrecy_word;
use super::ops::comparison;
use super::unify::element;
use super::value::{Env, IntVal, R, Reported, SampleVal, Val, count, typed};
use crate::diagnostic::{Diagnostic, codes};
use crate::syntax::ast::{
    self, BinaryOp, Giver, Ident, Predicate, Secrecy, Span, StmtKind, TypeKind,
};
use crate::types::{Bounded, Demand, Dim, Elem, ExprKind, Index, PartySet, SetId, Stmt, Ty, VarId};
use std::collections::BTreeSet;

/// Party sets have at most this many members.
const MAX_MEMBERS: u64 = 1 << 20;

/// Assumed where a secret `fix` input has no range.
const DEFAULT_RANGE: (f64, f64) = (-8.0, 8.0);

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
        let mut reveals: Vec<&Ident> = Vec::new();
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
                StmtKind::Let(l) => {
                    self.define(env, l).map(|new| new.map(|(var, value)| Stmt::Let { var, value }))
                }
                StmtKind::Sample { name, count, of, each } => {
                    self.sample(env, name, count, of, each).map(Some)
                }
                StmtKind::Reveal { value, to, name } => {
                    if let Some(first) = reveals.iter().find(|n| n.name == name.name) {
                        let first = first.span;
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
                    reveals.push(name);
                    self.reveal(env, value, to, name, s.span).map(Some)
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
                    | StmtKind::Sample { name, .. } = &s.kind
                        && env.get(&name.name).is_none()
                    {
                        env.set(&name.name, Val::Poison);
                    }
                }
            }
        }
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
            if let Stmt::Let { value, .. } | Stmt::Reveal { value, .. } = s {
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
                let (name, span) = {
                    let v = &self.vars[var.0 as usize];
                    (v.name.clone(), v.span)
                };
                self.warn(
                    Diagnostic::warning(
                        codes::UNUSED,
                        format!("input `{name}` is never read"),
                        span,
                        "nothing depends on it",
                    )
                    .hint("delete it: everybody who gives it uploads it for nothing"),
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
        match self.expr(env, cond)? {
            Val::Bool(true) => Ok(()),
            Val::Bool(false) => {
                let label = match self.sides(env, cond) {
                    Some((op, x, y)) => format!("{x} {op} {y} does not hold"),
                    None => "does not hold".to_owned(),
                };
                let title = match why {
                    Some(why) => format!("a requirement does not hold: {why}"),
                    None => "a requirement of the predicate does not hold".to_owned(),
                };
                let mut error = Diagnostic::error(codes::REQUIRE, title, cond.span, label);
                let mut names = Vec::new();
                int_names(cond, env, &mut names);
                if !names.is_empty() {
                    error =
                        error.hint(format!("the sizes are {}: choose others", names.join(", ")));
                }
                Err(self.fail(error))
            }
            Val::Expr(e) => {
                let what = secrecy_word(e.ty.secrecy);
                Err(self.fail(
                    Diagnostic::error(
                        codes::SECRET_CONDITION,
                        "`require` is about sizes and the certificate, decided at compile time",
                        cond.span,
                        format!("a {what} value of the run"),
                    )
                    .hint(
                        "an input's range is declared with `in lo..hi`; to leave out \
                        members, multiply by a bit: `keep[i] * update[i]`",
                    ),
                ))
            }
            other => Err(self.not_a_condition(&other, cond.span, false)),
        }
    }

    /// The two sides of a comparison of sizes, as numbers.
    fn sides(&mut self, env: &mut Env, cond: &ast::Expr) -> Option<(&'static str, String, String)> {
        let ast::ExprKind::Binary(op, x, y) = &cond.kind else { return None };
        comparison(*op)?;
        let mut side = |e: &ast::Expr| match self.expr(env, e) {
            Ok(Val::Int(IntVal { index: Index::Const(i), .. })) => Some(i.to_string()),
            Ok(Val::Real(x)) => Some(x.to_string()),
            _ => None,
        };
        Some((op.symbol(), side(x)?, side(y)?))
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
        self.parties.push(PartySet { name: name.name.clone(), size: members, span: name.span });
        env.set(&name.name, Val::Set(id));
        Ok(())
    }

    /// The party set a name stands for.
    fn party(&mut self, env: &Env, name: &Ident) -> R<SetId> {
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

    fn input(
        &mut self,
        env: &mut Env,
        name: &Ident,
        ty: &ast::Type,
        range: Option<&ast::Expr>,
        from: Option<&Giver>,
    ) -> R<Stmt> {
        let title = || format!("input `{}` does not say who may know it", name.name);
        let secrecy = match ty.secrecy {
            Some(s) => s,
            None => {
                let write = if from.is_some() { "secret" } else { "public" };
                self.fail(
                    Diagnostic::error(codes::SECRECY, title(), ty.span, "`public` or `secret`?")
                        .hint(format!("write `{}: {write} {}`", name.name, self.text(ty.span))),
                );
                if from.is_some() { Secrecy::Secret } else { Secrecy::Public }
            }
        };
        // Every part is checked before giving up, so that one run reports all.
        let set = self.giver(env, name, secrecy, from);
        let shape = self.input_ty(env, ty, secrecy);
        let elem = match &shape {
            Ok(ty) => Some(ty.elem),
            Err(Reported) => None,
        };
        let range = self.input_range(env, name, elem, secrecy, range);
        let (set, mut ty, range) = (set?, shape?, range?);
        if let Some((set, _)) = set {
            let size = self.set_size(set);
            ty.dims.insert(0, Dim { size, set: Some(set), ragged: false });
        }
        self.limit(&ty, name.span)?;
        let var = self.var(&name.name, ty.clone(), name.span);
        let mut value = typed(ExprKind::Var(var), ty, name.span);
        if let Some((_, false)) = set {
            // `from Server`: one tensor, though the variable has a dimension for the set.
            let mut ty = value.ty.clone();
            ty.dims.remove(0);
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
        from: Option<&Giver>,
    ) -> R<Option<(SetId, bool)>> {
        match (secrecy, from) {
            (Secrecy::Public, None) => Ok(None),
            (Secrecy::Public, Some(giver)) => Err(self.fail(
                Diagnostic::error(
                    codes::PARTIES,
                    format!("public input `{}` comes from nobody in particular", name.name),
                    giver.set.span,
                    "everybody knows it",
                )
                .hint("leave out `from`, or make it `secret`"),
            )),
            (Secrecy::Secret, None) => {
                let sets: Vec<String> = self.parties.iter().map(|p| p.name.clone()).collect();
                let set = sets.first().map_or("Client", String::as_str);
                let error = Diagnostic::error(
                    codes::PARTIES,
                    format!("secret input `{}` does not say who gives it", name.name),
                    name.span,
                    "from whom?",
                );
                Err(self.fail(error.hint(format!("add `from each {set}`"))))
            }
            (Secrecy::Secret, Some(giver)) => {
                let set = self.party(env, &giver.set)?;
                let members = self.set_size(set);
                if !giver.each && members > 1 {
                    let set = &giver.set.name;
                    return Err(self.fail(
                        Diagnostic::error(
                            codes::PARTIES,
                            format!(
                                "`{set}` has {members} members: which of them gives `{}`?",
                                name.name
                            ),
                            giver.set.span,
                            "more than one party",
                        )
                        .hint(format!("write `from each {set}`: one from each member")),
                    ));
                }
                Ok(Some((set, giver.each)))
            }
        }
    }

    fn input_ty(&mut self, env: &mut Env, ty: &ast::Type, secrecy: Secrecy) -> R<Ty> {
        match &ty.kind {
            TypeKind::Weights(model) => {
                let m = self.named_model(env, model)?;
                let len = self.models[m.0 as usize].len;
                Ok(Ty { elem: Elem::Fix, dims: vec![Dim::plain(len)], secrecy, record: Some(m) })
            }
            TypeKind::Tensor { base, dims } => {
                let dims = self.dims(env, dims)?.into_iter().map(Dim::plain).collect();
                let elem = element(&base.name).ok_or(Reported)?;
                Ok(Ty { elem, dims, secrecy, record: None })
            }
        }
    }

    /// The range of an input, both ends included. Unlimited for a public one that states none.
    fn input_range(
        &mut self,
        env: &mut Env,
        name: &Ident,
        elem: Option<Elem>,
        secrecy: Secrecy,
        range: Option<&ast::Expr>,
    ) -> R<(f64, f64)> {
        let Some(range) = range else {
            return match (elem, secrecy) {
                (Some(Elem::Bit), _) => Ok((0.0, 1.0)),
                (None, _) => Err(Reported),
                (_, Secrecy::Public) => Ok((f64::NEG_INFINITY, f64::INFINITY)),
                (Some(Elem::Fix), Secrecy::Secret) => {
                    let (lo, hi) = DEFAULT_RANGE;
                    self.warn(
                        Diagnostic::warning(
                            codes::RANGE_MISSING,
                            format!("secret input `{}` has no range", name.name),
                            name.span,
                            format!("{lo}..{hi} is assumed and enforced"),
                        )
                        .hint(format!(
                            "write `in {lo}..{hi}` or another range: a client \
                            outside it counts as zero"
                        )),
                    );
                    Ok(DEFAULT_RANGE)
                }
                (Some(Elem::Int), Secrecy::Secret) => Err(self.fail(
                    Diagnostic::error(
                        codes::RANGE_MISSING,
                        format!("secret integer `{}` has no range", name.name),
                        name.span,
                        "which values may it have?",
                    )
                    .hint(
                        "write for example `in 0..10` (the end is excluded): the range \
                        decides how many bits it is compared on",
                    ),
                )),
            };
        };
        if elem == Some(Elem::Bit) {
            return Err(self.fail(
                Diagnostic::error(codes::RANGE, "a bit has no range", range.span, "it is 0 or 1")
                    .hint("leave out `in`"),
            ));
        }
        let ast::ExprKind::Binary(BinaryOp::Range, lo, hi) = &range.kind else {
            return Err(self.fail(
                Diagnostic::error(codes::RANGE, "a range has two ends", range.span, "not a range")
                    .hint("write `in -8..8`"),
            ));
        };
        let (lo_value, hi_value) = (self.real(env, lo), self.real(env, hi));
        let (lo_value, hi_value) = (lo_value?, hi_value?);
        let empty = |this: &mut Self, hint: &str| {
            let text = format!("from {lo_value} to {hi_value}");
            Err(this.fail(
                Diagnostic::error(
                    codes::RANGE,
                    format!("the range of `{}` is empty", name.name),
                    range.span,
                    text,
                )
                .hint(hint),
            ))
        };
        match elem {
            Some(Elem::Int) => {
                for (value, e) in [(lo_value, lo), (hi_value, hi)] {
                    if value.fract() != 0.0 {
                        return Err(self.fail(Diagnostic::error(
                            codes::RANGE,
                            format!("the range of integer `{}` has whole ends", name.name),
                            e.span,
                            format!("is {value}"),
                        )));
                    }
                }
                if lo_value >= hi_value {
                    return empty(self, "of integers the end is excluded: `in 0..10` is 0 to 9");
                }
                Ok((lo_value, hi_value - 1.0))
            }
            _ if lo_value > hi_value => empty(self, "the smaller end comes first"),
            _ => Ok((lo_value, hi_value)),
        }
    }

    /// A number known at compile time.
    pub(super) fn real(&mut self, env: &mut Env, e: &ast::Expr) -> R<f64> {
        match self.expr(env, e)? {
            Val::Real(x) => Ok(x),
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

    fn sample(
        &mut self,
        env: &mut Env,
        name: &Ident,
        number: &ast::Expr,
        of: &Ident,
        each: &Ident,
    ) -> R<Stmt> {
        let (of_set, each_set) = (self.party(env, of), self.party(env, each));
        let n = self.positive(env, number);
        let (of_set, each_set, n) = (of_set?, each_set?, n?);
        if of_set != each_set {
            return Err(self.fail(
                Diagnostic::error(
                    codes::PARTIES,
                    "a committee is drawn from the set it is drawn for",
                    each.span,
                    format!("not `{}`", of.name),
                )
                .label(of.span, "the members come from here")
                .hint(format!(
                    "write `of {0} for each {0}`: each gets others of its own set",
                    of.name
                )),
            ));
        }
        let size = self.set_size(of_set);
        if n >= size {
            let others = count(size as usize - 1, "other", "others");
            let (text, all) = (self.text(number.span), self.size_text(of_set));
            return Err(self.fail(
                Diagnostic::error(
                    codes::COMMITTEE,
                    format!("a committee of {n} cannot be drawn: each {} has {others}", of.name),
                    number.span,
                    format!("is {n} here"),
                )
                .label(self.parties[of_set.0 as usize].span, format!("{size} in all"))
                .hint(format!("say so where sizes are chosen: `require {text} < {all};`")),
            ));
        }
        let dims = vec![
            Dim { size: self.set_size(each_set), set: Some(each_set), ragged: false },
            Dim::plain(n),
        ];
        let ty = Ty { elem: Elem::Int, dims, secrecy: Secrecy::Public, record: None };
        let var = self.var(&name.name, ty, name.span);
        let sample = SampleVal { var, count: n, of: of_set, each: each_set };
        env.set(&name.name, Val::Sample(sample));
        Ok(Stmt::Sample { var, count: n, of: of_set, each: each_set })
    }

    /// The size of a set as its declaration writes it: `m` of `Client[m]`.
    fn size_text(&self, set: SetId) -> String {
        let party = &self.parties[set.0 as usize];
        let rest = self.sources.text(party.span.file).get(party.span.end as usize..).unwrap_or("");
        match rest.trim_start().strip_prefix('[').and_then(|r| r.split_once(']')) {
            Some((size, _)) => size.trim().to_owned(),
            None => party.size.to_string(),
        }
    }

    fn reveal(
        &mut self,
        env: &mut Env,
        value: &ast::Expr,
        to: &Ident,
        name: &Ident,
        span: Span,
    ) -> R<Stmt> {
        let checked = self.value(env, value);
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
                        .hint("declare the receiver as a party of its own: `parties Server;`"),
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
        let (value, to) = (checked?, receiver?);
        Ok(Stmt::Reveal { value, to, name: name.name.clone(), span })
    }
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
