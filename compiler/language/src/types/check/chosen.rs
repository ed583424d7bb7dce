//! What public coins choose, and entries that are read by a number that is known at run time only.
//!
//! Such a number is public, and an entry that it may name is proven to be there: of every variable of public integers
//! the checker keeps an interval ([`Checker::bounds`](super::checker::Checker)).

use super::checker::Checker;
use super::value::{Between, Env, IntVal, R, Reported, SampleVal, Val, count, typed};
use crate::diagnostic::codes;
use crate::syntax::ast::{self, Ident, Secrecy, Span};
use crate::types::{
    BinOp, Dim, Elem, Expr, ExprKind, Index, IndexOp, Intrinsic, Lots, SetId, Stmt, Ty, UnOp, VarId,
};
use slvr_circuit::verify::{MAX_COMMITTEE, MAX_DRAWN, MAX_ELEMENTS};

/// From what is drawn.
enum Urn {
    /// From a party set.
    Members(SetId),
    /// From the numbers below this one.
    Numbers(u64),
}

impl Checker<'_> {
    /// `sample committee[k] of Client for each Client;` or `sample coordinates[rounds, k] of d;`
    pub(super) fn sample(
        &mut self,
        env: &mut Env,
        name: &Ident,
        counts: &[ast::Expr],
        of: &ast::Expr,
        each: Option<&Ident>,
    ) -> R<Stmt> {
        let urn = self.urn(env, of);
        let each = each.map(|each| self.party(env, each)).transpose();
        let sizes: R<Vec<u64>> = counts.iter().map(|e| self.positive(env, e)).collect();
        let (urn, each, sizes) = (urn?, each?, sizes?);
        let (Some((&k, times)), Some(last)) = (sizes.split_last(), counts.last()) else {
            return codes::SIZE
                .error(format!("`{}` does not say how many are drawn", name.name))
                .label(name.span, "how many?")
                .hint(format!("write `sample {}[k] of ..`", name.name))
                .refuse(self);
        };
        let (n, of_set) = match urn {
            Urn::Members(set) => (self.set_size(set), Some(set)),
            Urn::Numbers(n) => (n, None),
        };
        let others = of_set.is_some() && of_set == each;
        if k > n || others && k == n {
            return Err(self.too_many(last, of, (k, n), of_set.filter(|_| others)));
        }
        if others && n > MAX_COMMITTEE {
            return codes::SIZE
                .error(format!("committees are drawn of at most {MAX_COMMITTEE} members"))
                .label(of.span, format!("{n} in all"))
                .refuse(self);
        }
        let owners = each.map(|set| self.set_size(set));
        let rows = times.iter().chain(&owners).try_fold(1u64, |all, &n| all.checked_mul(n));
        let Some(rows) = rows.filter(|r| r.checked_mul(k).is_some_and(|all| all <= MAX_ELEMENTS))
        else {
            return codes::SIZE
                .error("too many numbers are drawn")
                .label(name.span, format!("at most {MAX_ELEMENTS} in all"))
                .refuse(self);
        };
        let mut dims = Vec::new();
        dims.extend(each.map(|set| Dim::of_set(set, self.set_size(set))));
        if let Some(set) = of_set {
            if let Some(extra) = counts.first().filter(|_| !times.is_empty()) {
                return codes::SIZE
                    .error("members are drawn once")
                    .label(extra.span, "one size too many")
                    .hint("a `sample` for each time draws anew")
                    .refuse(self);
            }
            if each.is_none() {
                dims.push(Dim::plain(1));
            }
            dims.push(Dim::plain(k));
            let ty = Ty { elem: Elem::Int, dims, secrecy: Secrecy::Public, record: None };
            let var = self.var(&name.name, ty, name.span);
            env.set(&name.name, Val::Sample(SampleVal { var, count: k, of: set, each }));
            return Ok(Stmt::Sample { var, lots: Lots { rows, n, k, others } });
        }
        dims.extend(sizes.iter().copied().map(Dim::plain));
        let ty = Ty { elem: Elem::Int, dims, secrecy: Secrecy::Public, record: None };
        let var = self.declare(env, name, ty)?;
        self.bounds.insert(var, (0, n as i64 - 1));
        if k == n && rows == 1 {
            self.orders.insert(var);
        }
        Ok(Stmt::Sample { var, lots: Lots { rows, n, k, others } })
    }

    fn urn(&mut self, env: &mut Env, of: &ast::Expr) -> R<Urn> {
        match self.expr(env, of)? {
            Val::Set(set) => Ok(Urn::Members(set)),
            Val::Int(IntVal { index: Index::Const(n), .. }) => match u64::try_from(n) {
                Ok(n) if (1..=MAX_DRAWN).contains(&n) => Ok(Urn::Numbers(n)),
                _ => codes::SIZE
                    .error("numbers are drawn below 1 to 2^26")
                    .label(of.span, format!("is {n} here"))
                    .refuse(self),
            },
            Val::Poison => Err(Reported),
            other => codes::KIND
                .error("a sample is drawn from a party set, or from the numbers below a size")
                .label(of.span, other.this_is())
                .hint("for example `sample picks[k] of Client;` or `sample order[n] of n;`")
                .refuse(self),
        }
    }

    /// Reports that more are drawn than there are.
    fn too_many(
        &mut self,
        number: &ast::Expr,
        of: &ast::Expr,
        (k, n): (u64, u64),
        others: Option<SetId>,
    ) -> Reported {
        let Some(set) = others else {
            let (text, all) = (self.text(number.span), self.text(of.span));
            return self.fail(
                codes::COMMITTEE
                    .error(format!("{k} different ones cannot be drawn of {n}"))
                    .label(number.span, format!("is {k} here"))
                    .label(of.span, format!("{n} in all"))
                    .hint(format!("say so where sizes are chosen: `require {text} <= {all};`")),
            );
        };
        let others = count(n as usize - 1, "other", "others");
        let (text, all, name) = (self.text(number.span), self.size_text(set), self.set_name(set));
        self.fail(
            codes::COMMITTEE
                .error(format!("a committee of {k} cannot be drawn: each {name} has {others}"))
                .label(number.span, format!("is {k} here"))
                .label(self.parties[set.0 as usize].span, format!("{n} in all"))
                .hint(format!("say so where sizes are chosen: `require {text} < {all};`")),
        )
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

    /// Keeps the interval of a variable, if its value is public integers of which one is known.
    pub(super) fn note(&mut self, var: VarId, value: &Expr) {
        if let Some(bounds) = self.bounds_of(value) {
            self.bounds.insert(var, bounds);
        }
    }

    /// Smallest and largest entry of public integers, as far as that is known before the run.
    pub(super) fn bounds_of(&self, e: &Expr) -> Option<Between> {
        if e.ty.secrecy != Secrecy::Public || e.ty.elem != Elem::Int {
            return None;
        }
        let of = |e: &Expr| self.bounds_of(e);
        let joint = |all: &[Expr]| {
            let mut all = all.iter().map(|e| self.bounds_of(e));
            let first = all.next()??;
            all.try_fold(first, |(lo, hi), next| next.map(|(a, b)| (lo.min(a), hi.max(b))))
        };
        match &e.kind {
            ExprKind::Const(c) => (c.abs() < 2f64.powi(53)).then_some((*c as i64, *c as i64)),
            ExprKind::Index(i) => self.bounds_of_index(i),
            ExprKind::Var(v) => self.bounds.get(v).copied(),
            ExprKind::Unary(UnOp::Neg, a) => {
                let (lo, hi) = of(a)?;
                Some((hi.checked_neg()?, lo.checked_neg()?))
            }
            ExprKind::Binary(op, a, b) => {
                let op = match op {
                    BinOp::Add => IndexOp::Add,
                    BinOp::Sub => IndexOp::Sub,
                    BinOp::Mul => IndexOp::Mul,
                    _ => return None,
                };
                corners(op, of(a)?, of(b)?)
            }
            ExprKind::Call(f, _) => self.results_between.get(f).copied(),
            ExprKind::List(all) => joint(all),
            ExprKind::Comp(_, a) | ExprKind::At(a, _) | ExprKind::Pick(a, _) => of(a),
            ExprKind::Let(body) => of(body.values.first()?),
            ExprKind::Intrinsic(which, args) => match which {
                Intrinsic::Places => {
                    let index = args.first()?;
                    let places = i64::try_from(index.ty.dims.last()?.size).ok()?;
                    // A permutation has every number.
                    let order = matches!(&index.kind, ExprKind::Var(v) if self.orders.contains(v));
                    let all = order && e.ty.dims.last()?.size <= index.ty.dims.last()?.size;
                    Some((0, if all { places - 1 } else { places }))
                }
                Intrinsic::ArgMax => {
                    let n = args.first()?.ty.dims.last()?.size;
                    Some((0, i64::try_from(n).ok()?.checked_sub(1)?))
                }
                Intrinsic::Max | Intrinsic::Min => match args.as_slice() {
                    // `max([k - 1, 0])` is at least 0.
                    [Expr { kind: ExprKind::List(all), .. }]
                        if all.iter().all(|e| e.ty.dims.is_empty()) =>
                    {
                        let all: Option<Vec<Between>> = all.iter().map(of).collect();
                        let further = match which {
                            Intrinsic::Max => i64::max,
                            _ => i64::min,
                        };
                        all?.into_iter().reduce(|a, b| (further(a.0, b.0), further(a.1, b.1)))
                    }
                    all => joint(all),
                },
                Intrinsic::Sort | Intrinsic::Flat | Intrinsic::Reshape | Intrinsic::Concat => {
                    joint(args)
                }
                Intrinsic::Select => joint(args.get(1..)?),
                Intrinsic::Sum | Intrinsic::Dot | Intrinsic::Elementwise(_) => None,
            },
            ExprKind::Unary(UnOp::Not, _)
            | ExprKind::Apply(..)
            | ExprKind::Layer(..)
            | ExprKind::Field(..)
            | ExprKind::Record(_) => None,
        }
    }

    /// The same of an index.
    pub(super) fn bounds_of_index(&self, index: &Index) -> Option<Between> {
        match index {
            Index::Const(c) => Some((*c, *c)),
            Index::Var(v) => self.bounds.get(v).copied(),
            Index::Binary(op, a, b) => {
                let (a, b) = (self.bounds_of_index(a)?, self.bounds_of_index(b)?);
                match op {
                    IndexOp::Rem if b.0 == b.1 && b.0 > 0 => Some((0, b.0 - 1)),
                    IndexOp::Rem => None,
                    IndexOp::Div if b.0 <= 0 && b.1 >= 0 => None,
                    op => corners(*op, a, b),
                }
            }
        }
    }

    /// An entry of the first dimension by a public number that is known at run time.
    pub(super) fn picked(&mut self, e: Expr, index: Expr, base: Span, span: Span) -> R<Expr> {
        let at = index.span;
        let found = self.ty(&index.ty);
        let Some(first) = e.ty.dims.first().copied() else {
            return codes::SHAPE
                .error("a single number has no entries to index")
                .label(span, format!("`{}` is {}", self.text(base), self.ty(&e.ty)))
                .refuse(self);
        };
        if index.ty.secrecy != Secrecy::Public {
            return codes::KIND
                .error("an index must be known at compile time, or public")
                .label(at, format!("a secret {found}"))
                .hint(
                    "which entry is read would show: read all, `sum(select(k == j, \
                     x[j], 0) for j in n)`",
                )
                .refuse(self);
        }
        if index.ty.elem != Elem::Int || !index.ty.dims.is_empty() {
            let (text, name) = (self.text(at), self.text(base));
            let hint = match (index.ty.dims.as_slice(), index.ty.elem) {
                ([n], Elem::Int) => {
                    Some(format!("one at a time: `[{name}[{text}[j]] for j in {}]`", n.size))
                }
                ([_], Elem::Bit) => Some(format!(
                    "bits choose entries by `select({text}[j], {name}[j], 0)`: how many there are is not known before a run"
                )),
                _ => None,
            };
            return codes::KIND
                .error("an index is a whole number")
                .label(at, format!("a public {found}"))
                .hints(hint)
                .refuse(self);
        }
        if let Some(set) = first.set {
            let (name, wanted) = (self.text(base), self.set_name(set));
            return codes::INDEX_SET
                .error(format!("`{name}` is indexed by {wanted}"))
                .label(at, "a plain number")
                .hint(format!("draw members: `sample picks[k] of {wanted};`, and `for i in picks`"))
                .refuse(self);
        }
        let last = i64::try_from(first.size).unwrap_or(i64::MAX) - 1;
        let label = match self.bounds_of(&index) {
            Some((lo, hi)) if lo >= 0 && hi <= last => {
                let ty = e.ty.entry(1);
                return Ok(typed(ExprKind::Pick(Box::new(e), Box::new(index)), ty, span));
            }
            Some((lo, hi)) => format!("may be {lo} to {hi}"),
            None => "may be any number".to_owned(),
        };
        let (name, index) = (self.text(base), self.text(at));
        codes::INDEX
            .error("an index is not seen to stay in bounds")
            .label(at, label)
            .label(base, format!("`{name}` has indices 0 to {last} here"))
            .hint(format!("a list of two bounds it: `{name}[min([max([{index}, 0]), {last}])]`"))
            .hint(format!(
                "what it may be follows from its declaration: `input j: public int in 0..{};`, `sample j[k] of {};`",
                first.size, first.size
            ))
            .refuse(self)
    }

    /// `places[n](index)`.
    pub(super) fn places(&mut self, n: i64, index: Expr, span: Span) -> R<Expr> {
        self.even(&index)?;
        let size = u64::try_from(n).ok().filter(|n| (1..=MAX_ELEMENTS).contains(n));
        let plain = index.ty.secrecy == Secrecy::Public && index.ty.elem == Elem::Int;
        let (Some(size), true, [_]) = (size, plain, index.ty.dims.as_slice()) else {
            return codes::KIND
                .error("`places[n]` takes a vector of public integers")
                .label(index.span, self.this_is(&index.ty))
                .hint("for example of what is drawn: `sample order[n] of n;`")
                .refuse(self);
        };
        let ty = Ty { dims: vec![Dim::plain(size)], ..index.ty.clone() };
        Ok(typed(ExprKind::Intrinsic(Intrinsic::Places, vec![index]), ty, span))
    }
}

/// The interval of an operation that is monotone in both operands.
fn corners(op: IndexOp, a: Between, b: Between) -> Option<Between> {
    let mut all = [0; 4];
    for (out, (x, y)) in all.iter_mut().zip([(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)]) {
        *out = op.apply(x, y)?;
    }
    Some((all.into_iter().min()?, all.into_iter().max()?))
}
