//! Operators: on numbers known at compile time, and the typing of the others.

use super::checker::Checker;
use super::index::{combine, divisor_may_vanish};
use super::value::{Between, Env, IntVal, R, Reported, Val, constant, join_elem, typed};
use crate::diagnostic::codes;
use crate::syntax::ast::{self, BinaryOp, Span, UnaryOp};
use crate::types::number::{Number, NumberError, REACH};
use crate::types::{BinOp, Cond, Dim, Elem, Expr, ExprKind, Index, IndexOp, ModelId, Ty, UnOp};

/// A power with a larger exponent would be a very long product.
const MAX_EXPONENT: i64 = 16;
/// Exponents of values of the run: 1 is divided by a power with a negative one.
const RUN_EXPONENTS: Option<(i64, i64)> = Some((-MAX_EXPONENT, MAX_EXPONENT));

/// Most operations of a power written out.
const MAX_PRODUCT: u64 = 4096;

impl Checker<'_> {
    #[inline(never)]
    pub(super) fn unary(
        &mut self,
        env: &mut Env,
        op: UnaryOp,
        a: &ast::Expr,
        span: Span,
    ) -> R<Val> {
        let val = self.expr(env, a)?;
        match (op, val) {
            (UnaryOp::Neg, Val::Int(i)) if !i.sampled => {
                let index = self.number(combine(IndexOp::Sub, Index::Const(0), i.index), span)?;
                Ok(Val::Int(IntVal { rounded: i.rounded, ..IntVal::of(index) }))
            }
            (UnaryOp::Neg, Val::Real(x)) => Ok(Val::Real(x.negative().into())),
            (UnaryOp::Not, Val::Bool(b)) => Ok(Val::Bool(!b)),
            (UnaryOp::Not, Val::Cond(c)) => Ok(Val::Cond(Cond::Not(Box::new(c)))),
            (op, val) => {
                let x = self.at_run_time(val, a.span)?;
                self.even(&x)?;
                let mut ty = x.ty.clone();
                let op = match op {
                    UnaryOp::Neg => {
                        ty.elem = join_elem(ty.elem, Elem::Int);
                        UnOp::Neg
                    }
                    UnaryOp::Not => {
                        self.bits("!", &x)?;
                        UnOp::Not
                    }
                };
                Ok(Val::Expr(typed(ExprKind::Unary(op, Box::new(x)), ty, span)))
            }
        }
    }

    #[inline(never)]
    pub(super) fn binary(
        &mut self,
        env: &mut Env,
        op: BinaryOp,
        a: &ast::Expr,
        b: &ast::Expr,
        span: Span,
    ) -> R<Val> {
        if op == BinaryOp::Pipe {
            return self.call(env, b, std::slice::from_ref(a), span);
        }
        // Both sides first: each may have an error of its own.
        let (x, y) = (self.expr(env, a), self.expr(env, b));
        self.combined(env, op, (x, a.span), (y, b.span), span)
    }

    /// An operator on both sides. Not part of the function that recurses, whose frames would grow by it.
    #[inline(never)]
    fn combined(
        &mut self,
        env: &Env,
        op: BinaryOp,
        (x, left): (R<Val>, Span),
        (y, right): (R<Val>, Span),
        span: Span,
    ) -> R<Val> {
        let (x, y) = (x?, y?);
        if let Some(val) = self.fold(env, op, &x, &y, right, span)? {
            return Ok(val);
        }
        if op == BinaryOp::Pow {
            return self.power(x, &y, left, right, span);
        }
        let (x, y) = (self.at_run_time(x, left), self.at_run_time(y, right));
        let (x, y) = (x?, y?);
        self.even(&x)?;
        self.even(&y)?;
        self.run_time(op, x, y, span).map(Val::Expr)
    }

    /// The value if both operands are known at compile time.
    fn fold(
        &mut self,
        env: &Env,
        op: BinaryOp,
        x: &Val,
        y: &Val,
        right: Span,
        span: Span,
    ) -> R<Option<Val>> {
        use BinaryOp::*;
        Ok(match (x, y) {
            (Val::Int(x), Val::Int(y)) if x.sampled || y.sampled => match op {
                Range | Eq | Ne | Lt | Le | Gt | Ge | Add | Sub | Mul | Div | Rem | Pow => {
                    return codes::KIND
                        .error("a sampled member can only be an index")
                        .label(span, "drawn at run time: nothing to compute with at compile time")
                        .hint("use it alone in brackets, as in `image[j]`")
                        .refuse(self);
                }
                _ => None,
            },
            (Val::Int(x), Val::Int(y)) => {
                let rounded = x.rounded || y.rounded;
                let index_op = match op {
                    Range => return Ok(Some(Val::Range(x.index.clone(), y.index.clone()))),
                    Add => IndexOp::Add,
                    Sub => IndexOp::Sub,
                    Mul => IndexOp::Mul,
                    Div => IndexOp::Div,
                    Rem => IndexOp::Rem,
                    Pow => return self.int_power(x, y, span),
                    _ => {
                        let Some(op) = comparison(op) else { return Ok(None) };
                        return Ok(Some(match (&x.index, &y.index) {
                            (Index::Const(x), Index::Const(y)) => Val::Bool(op.holds(x, y)),
                            (x, y) => Val::Cond(Cond::Compare(op, x.clone(), y.clone())),
                        }));
                    }
                };
                let nonzero = |(lo, hi): Between| lo > 0 || hi < 0;
                if matches!(index_op, IndexOp::Div | IndexOp::Rem)
                    && !self.bounds_of_index(&y.index).is_some_and(nonzero)
                    && divisor_may_vanish(&y.index, &env.loops)
                {
                    return self.number(Err(NumberError::DivisionByZero), right);
                }
                let exact = match (index_op, &x.index, &y.index) {
                    (IndexOp::Div, Index::Const(x), Index::Const(y)) => {
                        x.checked_rem(*y) == Some(0)
                    }
                    (IndexOp::Div, ..) => y.index == Index::Const(1),
                    _ => true,
                };
                let index =
                    self.number(combine(index_op, x.index.clone(), y.index.clone()), span)?;
                Some(Val::Int(IntVal { rounded: rounded || !exact, ..IntVal::of(index) }))
            }
            (Val::Bool(x), Val::Bool(y)) => match op {
                And => Some(Val::Bool(*x && *y)),
                Or => Some(Val::Bool(*x || *y)),
                _ => None,
            },
            (Val::Bool(k), Val::Cond(c)) | (Val::Cond(c), Val::Bool(k)) => match (op, k) {
                (And, true) | (Or, false) => Some(Val::Cond(c.clone())),
                (And, false) => Some(Val::Bool(false)),
                (Or, true) => Some(Val::Bool(true)),
                _ => None,
            },
            (Val::Cond(x), Val::Cond(y)) => match op {
                And => Some(Val::Cond(Cond::And(Box::new(x.clone()), Box::new(y.clone())))),
                Or => Some(Val::Cond(Cond::Or(Box::new(x.clone()), Box::new(y.clone())))),
                _ => None,
            },
            _ => return self.fold_reals(op, x, y, right, span),
        })
    }

    /// The same of real numbers.
    #[inline(never)]
    fn fold_reals(
        &mut self,
        op: BinaryOp,
        x: &Val,
        y: &Val,
        right: Span,
        span: Span,
    ) -> R<Option<Val>> {
        use BinaryOp::*;
        let (Some(x), Some(y)) = (known_real(x), known_real(y)) else { return Ok(None) };
        let value = match op {
            Add => x.plus(&y),
            Sub => x.minus(&y),
            Mul => x.times(&y),
            Div => x.over(&y),
            Pow => x.power(&y),
            _ => return Ok(comparison(op).map(|op| Val::Bool(op.holds(x, y)))),
        };
        let at = if op == Div { right } else { span };
        Ok(Some(Val::Real(self.number(value, at)?.into())))
    }

    /// Reports a computation on numbers known at compile time that has no result.
    pub(super) fn number<T>(&mut self, result: Result<T, NumberError>, span: Span) -> R<T> {
        result.map_err(|e| {
            self.fail(match e {
                NumberError::DivisionByZero => codes::CONST_EVAL
                    .error("division by zero")
                    .label(span, "is 0 here")
                    .hint("exclude these sizes with `require`"),
                e => codes::CONST_EVAL
                    .error("a computation at compile time fails")
                    .label(span, e.to_string()),
            })
        })
    }

    /// A number known at compile time as a constant of the run.
    pub(super) fn held(&mut self, x: &Number, elem: Elem, span: Span) -> R<Expr> {
        let value = if elem == Elem::Int { x.whole() } else { x.value() };
        match value {
            Ok(value) => Ok(constant(value, elem, span)),
            Err(e) => {
                // What has no number to show is shown as the reason why.
                let label = match x.float() {
                    Ok(_) => format!("is {x}: {e}"),
                    Err(_) => e.to_string(),
                };
                let hint = match (e, x.value()) {
                    (NumberError::NotExact, Ok(near)) => {
                        format!(
                            "whole numbers are all exact up to 2^53, and beyond it multiples of powers of two: {near} is near, and \
                             is one"
                        )
                    }
                    _ => format!(
                        "a constant is 0, or its absolute value is between 2^-{REACH} and 2^{REACH}"
                    ),
                };
                let title = "a constant is beyond what a run can hold";
                codes::CONSTANT.error(title).label(span, label).hint(hint).refuse(self)
            }
        }
    }

    fn int_power(&mut self, x: &IntVal, y: &IntVal, span: Span) -> R<Option<Val>> {
        let of_size = matches!(x.index, Index::Const(_));
        let range = (!of_size).then_some((0, MAX_EXPONENT));
        let (Index::Const(n), false) = (&y.index, y.rounded) else {
            return Err(self.exponent(range, span));
        };
        let n = *n;
        match (&x.index, u32::try_from(n)) {
            (Index::Const(x), Ok(n)) => {
                let value = self.number(x.checked_pow(n).ok_or(NumberError::TooLarge), span)?;
                Ok(Some(Val::int(value)))
            }
            (Index::Const(x), Err(_)) => {
                let value = Number::from(*x).power(&Number::from(n));
                Ok(Some(Val::Real(self.number(value, span)?.into())))
            }
            (index, Ok(n)) if i64::from(n) <= MAX_EXPONENT => {
                let mut value = Index::Const(1);
                for _ in 0..n {
                    value = self.number(combine(IndexOp::Mul, value, index.clone()), span)?;
                }
                Ok(Some(Val::Int(IntVal { rounded: x.rounded, ..IntVal::of(value) })))
            }
            _ => Err(self.exponent(range, span)),
        }
    }

    /// Refuses an exponent that is none, or that is not in a range, if there is one.
    fn exponent(&mut self, range: Option<(i64, i64)>, span: Span) -> Reported {
        let range = range.map_or(String::new(), |(lo, hi)| format!(" from {lo} to {hi}"));
        self.fail(
            codes::CONST_EVAL
                .error(format!("an exponent is a whole number{range}, known at compile time"))
                .label(span, "not such a number")
                .hint(
                    "a power is a product written short; for roots and general powers use \
                     `sqrt`, `exp` and `log`",
                ),
        )
    }

    /// A run-time value to a constant power: a product, by halves so that it is shallow.
    fn power(&mut self, x: Val, y: &Val, left: Span, right: Span, span: Span) -> R<Val> {
        let Val::Int(IntVal { index: Index::Const(n), rounded: false, .. }) = y else {
            return Err(self.exponent(RUN_EXPONENTS, right));
        };
        let x = self.at_run_time(x, left)?;
        self.even(&x)?;
        let size = n.unsigned_abs();
        if size > MAX_EXPONENT as u64 {
            return Err(self.exponent(RUN_EXPONENTS, right));
        }
        // The base is written out n times; bases of bases would grow without end.
        let mut nodes = 0u64;
        x.walk(&mut |_| nodes += 1);
        if nodes * size > MAX_PRODUCT {
            return codes::CONST_EVAL
                .error("a power is a product written short, and this one is very long")
                .label(span, format!("{size} times {nodes} operations"))
                .hint("give the base a name with `let`")
                .refuse(self);
        }
        let value = self.product(&x, size, span)?;
        if *n >= 0 {
            return Ok(Val::Expr(value));
        }
        let one = constant(1.0, Elem::Int, span);
        self.run_time(BinaryOp::Div, one, value, span).map(Val::Expr)
    }

    fn product(&mut self, x: &Expr, n: u64, span: Span) -> R<Expr> {
        match n {
            0 => Ok(constant(1.0, Elem::Int, span)),
            1 => Ok(x.clone()),
            n => {
                let (a, b) = (self.product(x, n / 2, span)?, self.product(x, n - n / 2, span)?);
                self.run_time(BinaryOp::Mul, a, b, span)
            }
        }
    }

    /// Types an operator on values of the run.
    fn run_time(&mut self, op: BinaryOp, x: Expr, y: Expr, span: Span) -> R<Expr> {
        use BinaryOp::*;
        let weights = x.ty.record.is_some() || y.ty.record.is_some();
        let elem = join_elem(x.ty.elem, y.ty.elem);
        let numeric = join_elem(elem, Elem::Int);
        let (new, elem) = match op {
            Add => (BinOp::Add, numeric),
            Sub => (BinOp::Sub, numeric),
            Mul => (BinOp::Mul, numeric),
            Div => (BinOp::Div, Elem::Fix),
            And | Or => {
                self.bits(op.symbol(), &x)?;
                self.bits(op.symbol(), &y)?;
                (if op == And { BinOp::And } else { BinOp::Or }, Elem::Bit)
            }
            Eq | Ne if elem == Elem::Fix => {
                let (a, b) = (self.text(x.span), self.text(y.span));
                return codes::ELEMENT
                    .error(format!("`{}` compares integers and bits, not `fix`", op.symbol()))
                    .label(span, "real numbers are rounded: equal ones may differ in the last bit")
                    .hint(tolerance(&a, &b))
                    .refuse(self);
            }
            Rem => {
                return codes::ELEMENT
                    .error("`%` is for sizes and indices, not for values of the run")
                    .label(span, "no remainder of a value")
                    .refuse(self);
            }
            Range if let Some((value, at)) = real_end(&x, &y) => {
                return codes::KIND
                    .error("the ends of a range that a loop goes over are `int`, not `fix`")
                    .label(at, format!("is {value}, and of the type `fix`"))
                    .hint(
                        "name it in the brackets of the predicate or function, or give the parameter the type \
                         `int`",
                    )
                    .refuse(self);
            }
            Range => {
                let at = if matches!(x.kind, ExprKind::Const(_)) { y.span } else { x.span };
                return codes::SECRET_CONDITION
                    .error("the bounds of a range must be known at compile time")
                    .label(at, "not known at compile time")
                    .hint(
                        "loop over all that may occur and let the others count nothing: \
                         `sum(select(j < k, x[j], 0) for j in n)`",
                    )
                    .refuse(self);
            }
            _ => match comparison(op) {
                Some(op) => (op, Elem::Bit),
                None => return Err(Reported),
            },
        };
        if matches!(y.kind, ExprKind::Const(c) if c == 0.0) && op == Div {
            return self.number(Err(NumberError::DivisionByZero), y.span);
        }
        let (dims, record) = if weights {
            self.weights_op(op, &x, &y, span)?
        } else {
            (self.joint_dims(op.symbol(), &x, &y, span)?, None)
        };
        let secrecy = x.ty.secrecy.max(y.ty.secrecy);
        let ty = Ty { elem, dims, secrecy, record };
        Ok(typed(ExprKind::Binary(new, Box::new(x), Box::new(y)), ty, span))
    }

    /// Weights go with weights of the same model, or with a single number, entry by entry.
    fn weights_op(
        &mut self,
        op: BinaryOp,
        x: &Expr,
        y: &Expr,
        span: Span,
    ) -> R<(Vec<Dim>, Option<ModelId>)> {
        let record = match (x.ty.record, y.ty.record) {
            (Some(a), Some(b)) if a == b => a,
            (Some(m), None) if y.ty.dims.is_empty() => m,
            (None, Some(m)) if x.ty.dims.is_empty() => m,
            (a, b) => {
                let title = match (a, b) {
                    (Some(_), Some(_)) => "weights of two models do not fit together",
                    _ => "weights go with weights of the same model, or with a single number",
                };
                let (weights, tensor) = if a.is_some() { (x, y) } else { (y, x) };
                let all = weights.ty.dims.last().map(|d| vec![d.size]);
                let hint = a.xor(b).map(|m| match Some(tensor.ty.shape()) == all {
                    true => format!(
                        "a vector of all its weights becomes weights of {} by `weights M({})`",
                        self.model_of(m).name,
                        self.text(tensor.span)
                    ),
                    false => {
                        "one tensor of weights is `w.conv1.weight`, or `w[t]` in a loop `for t in M`"
                            .to_owned()
                    }
                });
                return codes::SHAPE
                    .error(title)
                    .label(y.span, self.this_is(&y.ty))
                    .label(x.span, self.this_is(&x.ty))
                    .hints(hint)
                    .refuse(self);
            }
        };
        Ok((self.joint_dims(op.symbol(), x, y, span)?, Some(record)))
    }

    /// Dimensions of an entry-by-entry operation: the same, or one operand is a scalar.
    pub(super) fn joint_dims(&mut self, what: &str, x: &Expr, y: &Expr, span: Span) -> R<Vec<Dim>> {
        if x.ty.dims.is_empty() {
            return Ok(y.ty.dims.clone());
        }
        if y.ty.dims.is_empty() {
            return Ok(x.ty.dims.clone());
        }
        if x.ty.shape() != y.ty.shape() {
            let (left, right) = (self.text(x.span), self.text(y.span));
            let over = |long: &Ty, short: &Ty| {
                let first = long.dims.first()?;
                (long.shape()[1..] == short.shape()).then(|| self.range_text(first))
            };
            let one = over(&x.ty, &y.ty).map(|over| (format!("{left}[i] {what} {right}"), over));
            let one = one.or_else(|| {
                over(&y.ty, &x.ty).map(|over| (format!("{left} {what} {right}[i]"), over))
            });
            return codes::SHAPE
                .error(format!(
                    "`{what}` works entry by entry on equal shapes, or with a single number"
                ))
                .label(y.span, self.this_is(&y.ty))
                .label(x.span, self.this_is(&x.ty))
                .hints(one.map(|(one, over)| format!("one at a time: `[{one} for i in {over}]`")))
                .refuse(self);
        }
        let mut dims = Vec::with_capacity(x.ty.dims.len());
        for (a, b) in x.ty.dims.iter().zip(&y.ty.dims) {
            if let (Some(s), Some(t)) = (a.set, b.set)
                && s != t
            {
                let (s, t) = (self.set_name(s), self.set_name(t));
                return codes::INDEX_SET
                    .error("entries of different party sets do not belong together")
                    .label(span, format!("`{what}` would pair {s} with {t}"))
                    .label(x.span, self.this_is(&x.ty))
                    .label(y.span, self.this_is(&y.ty))
                    .refuse(self);
            }
            dims.push(Dim { set: a.set.or(b.set), ..*a });
        }
        Ok(dims)
    }

    /// Refuses operands of `!`, `&&` and `||` that are not bits.
    pub(super) fn bits(&mut self, what: &str, x: &Expr) -> R<()> {
        if x.ty.elem == Elem::Bit {
            return Ok(());
        }
        codes::ELEMENT
            .error(format!("`{what}` works on bits"))
            .label(x.span, self.this_is(&x.ty))
            .hint("a comparison gives a bit: `x > 0`")
            .refuse(self)
    }
}

fn known_real(val: &Val) -> Option<Number> {
    match val {
        Val::Real(x) => Some(Number::clone(x)),
        // A rounded quotient is refused when it becomes a value.
        Val::Int(IntVal { index: Index::Const(i), rounded: false, .. }) => Some((*i).into()),
        _ => None,
    }
}

/// The comparison an operator stands for.
pub(super) fn comparison(op: BinaryOp) -> Option<BinOp> {
    Some(match op {
        BinaryOp::Eq => BinOp::Eq,
        BinaryOp::Ne => BinOp::Ne,
        BinaryOp::Lt => BinOp::Lt,
        BinaryOp::Le => BinOp::Le,
        BinaryOp::Gt => BinOp::Gt,
        BinaryOp::Ge => BinOp::Ge,
        _ => return None,
    })
}

/// What to write instead of an equality of real numbers.
fn tolerance(a: &str, b: &str) -> String {
    format!("compare with a tolerance: `abs({} - {}) <= 0.001`", grouped(a), grouped(b))
}

/// The text of an operand as it may stand beside a minus: in parentheses if it is more than a product.
fn grouped(text: &str) -> String {
    let mut depth = 0;
    let loose = text.chars().any(|c| {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        depth == 0 && "+-<>=!&|".contains(c)
    });
    if loose || text.starts_with("if ") { format!("({text})") } else { text.to_owned() }
}

/// The end of a range that is known and a `fix`, where both ends are known.
fn real_end(x: &Expr, y: &Expr) -> Option<(f64, Span)> {
    let known = |e: &Expr| match e.kind {
        ExprKind::Const(c) => Some((c, e.span)),
        _ => None,
    };
    let (a, b) = (known(x)?, known(y)?);
    if x.ty.elem == Elem::Fix { Some(a) } else { Some(b).filter(|_| y.ty.elem == Elem::Fix) }
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn a_hint_keeps_the_parentheses_of_an_operand() {
        for (text, beside) in [
            ("y[i]", "y[i]"),
            ("y[i + 1]", "y[i + 1]"),
            ("2 * y", "2 * y"),
            ("norm(a - b)", "norm(a - b)"),
            ("1 + y[i]", "(1 + y[i])"),
            ("y - 0.5", "(y - 0.5)"),
            ("(a) - (b)", "((a) - (b))"),
            ("-y", "(-y)"),
            ("if a { b } else { c }", "(if a { b } else { c })"),
        ] {
            assert_eq!(grouped(text), beside);
        }
    }
}
