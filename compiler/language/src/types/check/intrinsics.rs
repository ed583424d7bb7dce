//! Typing of intrinsics. Their `extern fn` declarations in `std` document them. The rules that the
//! types of the language cannot express (`sum` of any tensor, `relu` of any shape) are implemented here.

use super::checker::Checker;
use super::index::count_entries;
use super::value::{
    Env, Loop, R, Reported, SizeArg, SizeVal, Val, constant, join_elem, join_secrecy, shape_text,
    typed,
};
use super::world::{ItemId, STD};
use crate::diagnostic::{Diagnostic, codes};
use crate::syntax::ast::{Function, Span};
use crate::types::number::Number;
use crate::types::{Dim, Domain, Elem, Elementwise, Expr, ExprKind, Gen, Intrinsic, Ty};

impl Checker<'_> {
    pub(super) fn intrinsic(
        &mut self,
        env: &Env,
        id: ItemId,
        f: &Function,
        args: Vec<Expr>,
        callee: Span,
        span: Span,
    ) -> R<Val> {
        use Intrinsic::*;
        let name = f.name.name.as_str();
        let known = Intrinsic::named(name).filter(|_| self.world.items[id.0].module == STD);
        let Some(which) = known else {
            return Err(self.fail(
                Diagnostic::error(
                    codes::KIND,
                    format!("the compiler has no intrinsic `{name}`"),
                    callee,
                    "declared without a body",
                )
                .label(f.name.span, "declared here")
                .hint(
                    "give the function a body; `extern fn` is for the compiler's own \
                    operations",
                ),
            ));
        };
        self.arity(f, args.len(), span)?;
        if !matches!(which, Sum | Max | Min) {
            for arg in &args {
                self.even(arg)?;
            }
        }
        match (which, <[Expr; 1]>::try_from(args)) {
            (Sum | Max | Min, Ok([x])) => self.reduce(env, which, name, x, span).map(Val::Expr),
            (ArgMax | Sort, Ok([x])) => {
                self.vector(name, |x| format!("{name}({x})"), &x)?;
                let ty = if which == ArgMax {
                    Ty::scalar(Elem::Int, x.ty.secrecy)
                } else {
                    Ty { dims: vec![Dim::plain(x.ty.dims[0].size)], record: None, ..x.ty.clone() }
                };
                Ok(Val::Expr(typed(ExprKind::Intrinsic(which, vec![x]), ty, span)))
            }
            (Flat, Ok([x])) => {
                let n = x.ty.dims.iter().map(|d| d.size).product();
                let ty = Ty { dims: vec![Dim::plain(n)], record: None, ..x.ty.clone() };
                Ok(Val::Expr(typed(ExprKind::Intrinsic(which, vec![x]), ty, span)))
            }
            (Elementwise(f), Ok([x])) => self.elementwise(f, x, span),
            (Concat, Err(args)) => self.concat(name, args, span).map(Val::Expr),
            (Dot, Err(args)) => self.dot(name, args, span).map(Val::Expr),
            (Select, Err(args)) => self.select(name, args, span).map(Val::Expr),
            // `std` declares them with the numbers of parameters above.
            // `places` without its size.
            (Places, _) => Err(self.fail(
                Diagnostic::error(
                    codes::ARGUMENTS,
                    "`places` takes a size",
                    callee,
                    "below which number?",
                )
                .hint("write `places[n](index)`"),
            )),
            (Dot | Select | Concat | Reshape, Ok(_))
            | (Sum | Max | Min | ArgMax | Sort | Flat | Reshape | Elementwise(_), Err(_)) => {
                Err(Reported)
            }
        }
    }

    /// `sum`, `max`, `min` over the first dimension.
    fn reduce(&mut self, env: &Env, which: Intrinsic, name: &str, x: Expr, span: Span) -> R<Expr> {
        let Some(first) = x.ty.dims.first().copied() else {
            let ty = self.ty(&x.ty);
            return Err(self.fail(
                Diagnostic::error(
                    codes::SHAPE,
                    format!("`{name}` goes over the entries of a tensor"),
                    x.span,
                    format!("this is one {ty}"),
                )
                .hint(format!("a comprehension makes a tensor: `{name}(x[i] for i in n)`")),
            ));
        };
        let fewest = match &x.kind {
            ExprKind::Comp(gens, _) if first.ragged || first.size == 0 => {
                self.fewest_entries(gens, env)
            }
            _ => first.size,
        };
        let mut ty = x.ty.clone();
        ty.dims.remove(0);
        if ty.dims.is_empty() {
            ty.record = None;
        }
        if which == Intrinsic::Sum {
            ty.elem = join_elem(ty.elem, Elem::Int);
            if first.size == 0 && ty.dims.is_empty() {
                return Ok(constant(0.0, ty.elem, span));
            }
        }
        if first.size == 0 || (fewest == 0 && which != Intrinsic::Sum) {
            let some = if first.size == 0 {
                "it has none"
            } else {
                "for some loop variables it has \
                    none"
            };
            return Err(self.fail(
                Diagnostic::error(
                    codes::SIZE,
                    format!("`{name}` needs at least one entry"),
                    x.span,
                    some,
                )
                .hint(
                    "look at the sizes it ranges over; `require` can exclude sizes that \
                    make no sense",
                ),
            ));
        }
        Ok(typed(ExprKind::Intrinsic(which, vec![x]), ty, span))
    }

    fn fewest_entries(&self, gens: &[Gen], env: &Env) -> u64 {
        let inner: Vec<Loop> = gens
            .iter()
            .map(|g| {
                let members = match &g.domain {
                    Domain::Set(set) => self.set_size(*set),
                    Domain::Sampled { count, .. } => *count,
                    Domain::Range(..) => 0,
                };
                let (var, domain, cond) = (g.var, g.domain.clone(), g.cond.clone());
                Loop { var, domain, members, cond, steps: false }
            })
            .collect();
        count_entries(&inner, &env.loops).map_or(0, |(fewest, _)| fewest)
    }

    /// Whether it is a vector; `call` writes the call of another argument in its place.
    fn vector(&mut self, name: &str, call: impl Fn(&str) -> String, x: &Expr) -> R<()> {
        if x.ty.dims.len() == 1 {
            return Ok(());
        }
        let ty = self.ty(&x.ty);
        let error = Diagnostic::error(
            codes::SHAPE,
            format!("`{name}` takes a vector"),
            x.span,
            format!("this is {ty}"),
        );
        let hint = self.of_parts(name, true, call, 1, x);
        Err(self.fail(match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }))
    }

    /// A function of each entry; its value if the argument is known at compile time.
    fn elementwise(&mut self, f: Elementwise, x: Expr, span: Span) -> R<Val> {
        let rule = f.rule();
        let name = rule.name;
        if let ExprKind::Const(c) = x.kind {
            let value = (rule.value)(c);
            if !(rule.defined)(c) || !value.is_finite() {
                return Err(self.fail(Diagnostic::error(
                    codes::CONST_EVAL,
                    format!("`{name}` of {c} is no real number"),
                    x.span,
                    format!("is {c} here"),
                )));
            }
            return Ok(if rule.integral && x.ty.elem != Elem::Fix {
                Val::Expr(constant(value, Elem::Int, span))
            } else {
                Val::Real(self.number(Number::of(value), span)?.into())
            });
        }
        let elem = if rule.integral { join_elem(x.ty.elem, Elem::Int) } else { Elem::Fix };
        let ty = Ty { elem, ..x.ty.clone() };
        Ok(Val::Expr(typed(ExprKind::Intrinsic(Intrinsic::Elementwise(f), vec![x]), ty, span)))
    }

    fn dot(&mut self, name: &str, args: Vec<Expr>, span: Span) -> R<Expr> {
        let [x, y] = self.exactly::<2>(name, args, span)?;
        self.vector(name, |x| format!("{name}({x}, ..)"), &x)?;
        self.vector(name, |y| format!("{name}(.., {y})"), &y)?;
        if x.ty.shape() != y.ty.shape() {
            let (tx, ty) = (self.ty(&x.ty), self.ty(&y.ty));
            return Err(self.fail(
                Diagnostic::error(
                    codes::SHAPE,
                    "`dot` takes two vectors of one length",
                    y.span,
                    format!("this is {ty}"),
                )
                .label(x.span, format!("this is {tx}")),
            ));
        }
        let elem = join_elem(join_elem(x.ty.elem, y.ty.elem), Elem::Int);
        let ty = Ty::scalar(elem, join_secrecy(x.ty.secrecy, y.ty.secrecy));
        Ok(typed(ExprKind::Intrinsic(Intrinsic::Dot, vec![x, y]), ty, span))
    }

    fn select(&mut self, name: &str, args: Vec<Expr>, span: Span) -> R<Expr> {
        let [c, a, b] = self.exactly::<3>(name, args, span)?;
        if c.ty.elem != Elem::Bit {
            let ty = self.ty(&c.ty);
            return Err(self.fail(
                Diagnostic::error(
                    codes::ELEMENT,
                    "`select(c, a, b)` chooses by a bit",
                    c.span,
                    format!("this is {ty}"),
                )
                .hint("a comparison gives a bit: `select(x > 0, a, b)`"),
            ));
        }
        let mut dims = self.joint_dims(name, &a, &b, span)?;
        if !c.ty.dims.is_empty() {
            let sides = Expr { ty: Ty { dims, ..a.ty.clone() }, ..a.clone() };
            dims = self.joint_dims(name, &sides, &c, span)?;
        }
        // Shaped as the model if all that is no single number is; chosen by a vector of bits if both sides are.
        let all = [&a, &b, &c];
        let record = a.ty.record.or(b.ty.record).or(c.ty.record).filter(|m| {
            let plain = |e: &Expr| e.ty.record.is_none() && !e.ty.dims.is_empty();
            !plain(&a) && !plain(&b) && all.iter().all(|e| e.ty.record.is_none_or(|n| *m == n))
        });
        let secrecy = join_secrecy(c.ty.secrecy, join_secrecy(a.ty.secrecy, b.ty.secrecy));
        let ty = Ty { elem: join_elem(a.ty.elem, b.ty.elem), dims, secrecy, record };
        Ok(typed(ExprKind::Intrinsic(Intrinsic::Select, vec![c, a, b]), ty, span))
    }

    /// `reshape[2, 3](x)`.
    #[inline(never)]
    pub(super) fn reshaped(
        &mut self,
        f: &Function,
        sizes: &[SizeArg],
        args: Vec<Expr>,
        span: Span,
    ) -> R<Expr> {
        self.arity(f, args.len(), span)?;
        let [x] = self.exactly::<1>(&f.name.name, args, span)?;
        self.even(&x)?;
        let mut shape = Vec::with_capacity(sizes.len());
        for (name, size, at) in sizes {
            match size {
                SizeVal::Int(n) | SizeVal::Rounded(n) if *n > 0 && name.is_none() => {
                    shape.push(*n as u64)
                }
                _ => {
                    return Err(self.fail(
                        Diagnostic::error(
                            codes::SIZE,
                            "`reshape` takes the sizes of the new shape",
                            *at,
                            "not a size of at least 1",
                        )
                        .hint("for example `reshape[2, 3](x)`, or `reshape[y.shape](x)`"),
                    ));
                }
            }
        }
        let count = |shape: &[u64]| shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d));
        let from = x.ty.shape();
        if count(&shape) != count(&from) {
            let entries = count(&from).unwrap_or(0);
            let found = self.ty(&x.ty);
            return Err(self.fail(
                Diagnostic::error(
                    codes::SHAPE,
                    format!("{} has another number of entries", shape_text(&shape)),
                    span,
                    format!("of {found}, which has {entries}"),
                )
                .hint("the sizes in the brackets are those of the new shape: `reshape[2, 3](x)`"),
            ));
        }
        let dims = shape.into_iter().map(Dim::plain).collect();
        let ty = Ty { dims, record: None, ..x.ty.clone() };
        self.limit(&ty, span)?;
        Ok(typed(ExprKind::Intrinsic(Intrinsic::Reshape, vec![x]), ty, span))
    }

    /// `concat(x, y)`.
    fn concat(&mut self, name: &str, args: Vec<Expr>, span: Span) -> R<Expr> {
        let [x, y] = self.exactly::<2>(name, args, span)?;
        let (a, b) = (x.ty.shape(), y.ty.shape());
        let (Some((first, rest)), Some((second, others))) = (a.split_first(), b.split_first())
        else {
            return Err(self.fail(
                Diagnostic::error(
                    codes::SHAPE,
                    format!("`{name}` takes two tensors"),
                    if a.is_empty() { x.span } else { y.span },
                    "a single number",
                )
                .hint("a list has the entries that stand in it: `[a, b]`"),
            ));
        };
        if rest != others {
            let (one, two) = (self.ty(&x.ty), self.ty(&y.ty));
            return Err(self.fail(
                Diagnostic::error(
                    codes::SHAPE,
                    format!("`{name}` takes two tensors that differ in the first dimension only"),
                    y.span,
                    format!("this is {two}"),
                )
                .label(x.span, format!("this is {one}")),
            ));
        }
        let mut dims = vec![Dim::plain(first + second)];
        dims.extend(rest.iter().copied().map(Dim::plain));
        let elem = join_elem(x.ty.elem, y.ty.elem);
        let secrecy = join_secrecy(x.ty.secrecy, y.ty.secrecy);
        let ty = Ty { elem, dims, secrecy, record: None };
        self.limit(&ty, span)?;
        Ok(typed(ExprKind::Intrinsic(Intrinsic::Concat, vec![x, y]), ty, span))
    }

    fn exactly<const N: usize>(&mut self, name: &str, args: Vec<Expr>, span: Span) -> R<[Expr; N]> {
        <[Expr; N]>::try_from(args).map_err(|args| {
            self.fail(Diagnostic::error(
                codes::ARGUMENTS,
                format!("`{name}` takes {N} arguments, not {}", args.len()),
                span,
                "wrong number of arguments",
            ))
        })
    }
}
