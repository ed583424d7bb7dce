//! Typing of intrinsics. Their `extern fn` declarations in `std` document them. The rules that the
//! types of the language cannot express (`sum` of any tensor, `relu` of any shape) are implemented here.

use super::call::Callee;
use super::checker::Checker;
use super::value::{R, Reported, SizeArg, SizeVal, Val, constant, join_elem, shape_text, typed};
use super::world::STD;
use crate::diagnostic::codes;
use crate::syntax::ast::Span;
use crate::types::number::Number;
use crate::types::{Elem, Elementwise, Expr, ExprKind, Intrinsic, Ty};

impl Checker<'_> {
    #[inline(never)]
    pub(super) fn intrinsic(
        &mut self,
        callee: Callee,
        args: Vec<(Val, Span)>,
        span: Span,
    ) -> R<Val> {
        use Intrinsic::*;
        let (f, sizes) = (callee.function, callee.sizes);
        let name = f.name.name.as_str();
        let known = Intrinsic::named(name).filter(|_| self.world.items[callee.id.0].module == STD);
        let Some(which) = known else {
            return codes::KIND
                .error(format!("the compiler has no intrinsic `{name}`"))
                .label(callee.name, "declared without a body")
                .label(f.name.span, "declared here")
                .hint("give the function a body; `extern fn` is for the compiler's own operations")
                .refuse(self);
        };
        let sized = match which {
            Reshape => true,
            Places => matches!(sizes, [(None, SizeVal::Int(_) | SizeVal::Rounded(_), _)]),
            _ => false,
        };
        if let (Some((_, _, at)), false) = (sizes.first(), sized) {
            return codes::ARGUMENTS
                .error(format!("the sizes of `{name}` follow from its arguments"))
                .label(*at, "leave the brackets out")
                .refuse(self);
        }
        let args = self.plain(args)?;
        self.arity(f, args.len(), span)?;
        if !matches!(which, Sum | Max | Min) {
            for arg in &args {
                self.even(arg)?;
            }
        }
        // `std` declares as many parameters as are taken here.
        let mut args = args.into_iter();
        let mut next = || args.next().ok_or(Reported);
        let x = next()?;
        let value = match which {
            Elementwise(f) => return self.elementwise(f, x, span),
            Sum | Max | Min => self.reduce(which, name, x, span)?,
            ArgMax | Sort => {
                self.vector(name, |x| format!("{name}({x})"), &x)?;
                let ty = match which {
                    ArgMax => Ty::scalar(Elem::Int, x.ty.secrecy),
                    _ => x.ty.shaped(x.ty.shape()),
                };
                typed(ExprKind::Intrinsic(which, vec![x]), ty, span)
            }
            Flat => {
                let ty = x.ty.shaped([x.ty.shape().iter().product()]);
                typed(ExprKind::Intrinsic(which, vec![x]), ty, span)
            }
            Dot => self.dot(name, x, next()?, span)?,
            Select => self.select(name, [x, next()?, next()?], span)?,
            Concat => self.concat(name, x, next()?, span)?,
            Reshape => self.reshaped(sizes, x, span)?,
            Places => match sizes {
                [(_, SizeVal::Int(n) | SizeVal::Rounded(n), _)] => self.places(*n, x, span)?,
                _ => {
                    return codes::ARGUMENTS
                        .error("`places` takes a size")
                        .label(callee.name, "below which number?")
                        .hint("write `places[n](index)`")
                        .refuse(self);
                }
            },
        };
        Ok(Val::Expr(value))
    }

    /// `sum`, `max`, `min` over the first dimension.
    fn reduce(&mut self, which: Intrinsic, name: &str, x: Expr, span: Span) -> R<Expr> {
        let Some(first) = x.ty.dims.first().copied() else {
            let ty = self.ty(&x.ty);
            return codes::SHAPE
                .error(format!("`{name}` goes over the entries of a tensor"))
                .label(x.span, format!("this is one {ty}"))
                .hint(format!("a comprehension makes a tensor: `{name}(x[i] for i in n)`"))
                .refuse(self);
        };
        let mut ty = x.ty.entry(1);
        if which == Intrinsic::Sum {
            ty.elem = join_elem(ty.elem, Elem::Int);
            if first.size == 0 && ty.dims.is_empty() {
                return Ok(constant(0.0, ty.elem, span));
            }
        }
        if first.size == 0 || (first.fewest == 0 && which != Intrinsic::Sum) {
            let some = match first.size {
                0 => "it has none",
                _ => "for some loop variables it has none",
            };
            return codes::SIZE
                .error(format!("`{name}` needs at least one entry"))
                .label(x.span, some)
                .hint(
                    "look at the sizes it ranges over; `require` can exclude sizes that \
                     make no sense",
                )
                .refuse(self);
        }
        Ok(typed(ExprKind::Intrinsic(which, vec![x]), ty, span))
    }

    /// Whether it is a vector; `call` writes the call of another argument in its place.
    fn vector(&mut self, name: &str, call: impl Fn(&str) -> String, x: &Expr) -> R<()> {
        if x.ty.dims.len() == 1 {
            return Ok(());
        }
        codes::SHAPE
            .error(format!("`{name}` takes a vector"))
            .label(x.span, self.this_is(&x.ty))
            .hints(self.of_parts(name, true, call, 1, x))
            .refuse(self)
    }

    /// A function of each entry; its value if the argument is known at compile time.
    fn elementwise(&mut self, f: Elementwise, x: Expr, span: Span) -> R<Val> {
        let rule = f.rule();
        let name = rule.name;
        if let ExprKind::Const(c) = x.kind {
            let value = (rule.value)(c);
            if !(rule.defined)(c) || !value.is_finite() {
                return codes::CONST_EVAL
                    .error(format!("`{name}` of {c} is no real number"))
                    .label(x.span, format!("is {c} here"))
                    .refuse(self);
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

    fn dot(&mut self, name: &str, x: Expr, y: Expr, span: Span) -> R<Expr> {
        self.vector(name, |x| format!("{name}({x}, ..)"), &x)?;
        self.vector(name, |y| format!("{name}(.., {y})"), &y)?;
        if x.ty.shape() != y.ty.shape() {
            return codes::SHAPE
                .error("`dot` takes two vectors of one length")
                .label(y.span, self.this_is(&y.ty))
                .label(x.span, self.this_is(&x.ty))
                .refuse(self);
        }
        let elem = join_elem(join_elem(x.ty.elem, y.ty.elem), Elem::Int);
        let ty = Ty::scalar(elem, x.ty.secrecy.max(y.ty.secrecy));
        Ok(typed(ExprKind::Intrinsic(Intrinsic::Dot, vec![x, y]), ty, span))
    }

    fn select(&mut self, name: &str, [c, a, b]: [Expr; 3], span: Span) -> R<Expr> {
        if c.ty.elem != Elem::Bit {
            return codes::ELEMENT
                .error("`select(c, a, b)` chooses by a bit")
                .label(c.span, self.this_is(&c.ty))
                .hint("a comparison gives a bit: `select(x > 0, a, b)`")
                .refuse(self);
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
        let secrecy = c.ty.secrecy.max(a.ty.secrecy).max(b.ty.secrecy);
        let ty = Ty { elem: join_elem(a.ty.elem, b.ty.elem), dims, secrecy, record };
        Ok(typed(ExprKind::Intrinsic(Intrinsic::Select, vec![c, a, b]), ty, span))
    }

    /// `reshape[2, 3](x)`.
    #[inline(never)]
    fn reshaped(&mut self, sizes: &[SizeArg], x: Expr, span: Span) -> R<Expr> {
        let mut shape = Vec::with_capacity(sizes.len());
        for (name, size, at) in sizes {
            match size {
                SizeVal::Int(n) | SizeVal::Rounded(n) if *n > 0 && name.is_none() => {
                    shape.push(*n as u64)
                }
                _ => {
                    return codes::SIZE
                        .error("`reshape` takes the sizes of the new shape")
                        .label(*at, "not a size of at least 1")
                        .hint("for example `reshape[2, 3](x)`, or `reshape[y.shape](x)`")
                        .refuse(self);
                }
            }
        }
        let count = |shape: &[u64]| shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d));
        let from = x.ty.shape();
        if count(&shape) != count(&from) {
            let entries = count(&from).unwrap_or(0);
            let found = self.ty(&x.ty);
            return codes::SHAPE
                .error(format!("{} has another number of entries", shape_text(&shape)))
                .label(span, format!("of {found}, which has {entries}"))
                .hint("the sizes in the brackets are those of the new shape: `reshape[2, 3](x)`")
                .refuse(self);
        }
        let ty = x.ty.shaped(shape);
        self.limit(&ty, span)?;
        Ok(typed(ExprKind::Intrinsic(Intrinsic::Reshape, vec![x]), ty, span))
    }

    /// `concat(x, y)`.
    fn concat(&mut self, name: &str, x: Expr, y: Expr, span: Span) -> R<Expr> {
        let (a, b) = (x.ty.shape(), y.ty.shape());
        let (Some((first, rest)), Some((second, others))) = (a.split_first(), b.split_first())
        else {
            return codes::SHAPE
                .error(format!("`{name}` takes two tensors"))
                .label(if a.is_empty() { x.span } else { y.span }, "a single number")
                .hint("a list has the entries that stand in it: `[a, b]`")
                .refuse(self);
        };
        if rest != others {
            return codes::SHAPE
                .error(format!(
                    "`{name}` takes two tensors that differ in the first dimension only"
                ))
                .label(y.span, self.this_is(&y.ty))
                .label(x.span, self.this_is(&x.ty))
                .refuse(self);
        }
        let shape = std::iter::once(first + second).chain(rest.iter().copied());
        let elem = join_elem(x.ty.elem, y.ty.elem);
        let ty = Ty::tensor(elem, shape, x.ty.secrecy.max(y.ty.secrecy));
        self.limit(&ty, span)?;
        Ok(typed(ExprKind::Intrinsic(Intrinsic::Concat, vec![x, y]), ty, span))
    }
}
