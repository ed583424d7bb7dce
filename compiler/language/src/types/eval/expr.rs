//! Expressions, one at a time.

use super::value::Value;
use super::{EvalError, Machine};
use crate::types::domain;
use crate::types::{
    BinOp, Body, Cond, Domain, Expr, ExprKind, FnId, Gen, Index, IndexOp, Intrinsic, Iterate, Rank,
    Source, UnOp, VarId,
};

type Result<T> = std::result::Result<T, EvalError>;

const SHAPES: EvalError = EvalError::Malformed("shapes do not fit");

impl Machine<'_> {
    /// A sum of two counts, if it is the rank of an entry.
    fn rank(&mut self, a: &Expr, b: &Expr) -> Option<f64> {
        let rank = Rank::of(a, b)?;
        let values = self.values.get(rank.values.0 as usize)?.as_ref()?;
        self.ranked.of(&rank, values, *self.indices.get(rank.own.0 as usize)?)
    }

    pub(super) fn expr(&mut self, e: &Expr) -> Result<Value> {
        match &e.kind {
            ExprKind::Const(c) => {
                let shape = e.ty.shape();
                let len = shape.iter().product::<u64>() as usize;
                Ok(Value::new(shape, vec![*c; len]))
            }
            ExprKind::Index(i) => Ok(Value::scalar(self.index(i)? as f64)),
            ExprKind::Var(v) => self.var(*v),
            ExprKind::Unary(op, a) => {
                let a = self.expr(a)?;
                Ok(map(&a, |x| match op {
                    UnOp::Neg => -x,
                    UnOp::Not => 1.0 - x,
                }))
            }
            ExprKind::Binary(op, a, b) => {
                if *op == BinOp::Add
                    && let Some(rank) = self.rank(a, b)
                {
                    return Ok(Value::scalar(rank));
                }
                let divide = self.division(b);
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                zip(&a, &b, |x, y| match op {
                    BinOp::Div => divide(x, y),
                    _ => binary(*op, x, y),
                })
            }
            ExprKind::Call(f, args) => one(self.call(*f, args)?),
            ExprKind::Apply(m, w, x) => {
                let (w, x) = (self.expr(w)?, self.expr(x)?);
                let program = self.program;
                let model = program.models.get(m.0 as usize);
                let model = model.ok_or(EvalError::Malformed("no such model"))?;
                self.apply(model, &w, x)
            }
            ExprKind::Layer(layer, args) => {
                let values = args.iter().map(|a| self.expr(a)).collect::<Result<Vec<Value>>>()?;
                let (x, params) = values.split_first().ok_or(SHAPES)?;
                super::model::layer(layer, x, params, &e.ty.shape())
            }
            ExprKind::Intrinsic(which, args) => self.intrinsic(*which, args, e),
            ExprKind::List(all) | ExprKind::Record(all) => {
                let mut data = Vec::new();
                for one in all {
                    data.extend_from_slice(self.expr(one)?.entries());
                }
                Ok(Value::new(e.ty.shape(), data))
            }
            ExprKind::Comp(gens, body) => {
                let (mut count, mut data) = (0, Vec::new());
                self.each(gens, &mut |this| {
                    data.extend_from_slice(this.expr(body)?.entries());
                    count += 1;
                    Ok(())
                })?;
                let mut shape = e.ty.shape();
                *shape.first_mut().ok_or(SHAPES)? = count;
                Ok(Value::new(shape, data))
            }
            ExprKind::At(base, indices) => {
                let mut value = self.expr(base)?;
                for i in indices {
                    let i = self.index(i)?;
                    value = take(&value, i)?;
                }
                Ok(value)
            }
            ExprKind::Pick(base, index) => {
                let (value, index) = (self.expr(base)?, self.expr(index)?);
                take(&value, index.entries().first().copied().ok_or(SHAPES)? as i64)
            }
            ExprKind::Field(base, offset) => {
                let value = self.expr(base)?;
                self.field(&value, *offset, e)
            }
            ExprKind::Let(body) => one(self.body(body)?),
        }
    }

    /// The values of a body.
    pub(super) fn body(&mut self, body: &Body) -> Result<Vec<Value>> {
        for definition in &body.lets {
            let (fixed, values) = match &definition.source {
                Source::Value(value) => (self.fixed(value), vec![self.expr(value)?]),
                Source::Call(f, args) => (false, self.call(*f, args)?),
                Source::Iterate(i) => (false, self.iterate(i)?),
            };
            for (var, value) in definition.vars.iter().zip(values) {
                self.define(*var, value, fixed)?;
            }
        }
        body.values.iter().map(|value| self.expr(value)).collect()
    }

    /// What a loop ends with.
    fn iterate(&mut self, i: &Iterate) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(i.carried.len());
        for c in &i.carried {
            values.push(self.expr(&c.start)?.within(c.range));
        }
        self.each(&i.gens, &mut |this| {
            for (c, value) in i.carried.iter().zip(&values) {
                this.set(c.var, value.clone())?;
            }
            let next = this.body(&i.body)?;
            values = next.into_iter().zip(&i.carried).map(|(v, c)| v.within(c.range)).collect();
            Ok(())
        })?;
        Ok(values)
    }

    fn var(&self, v: VarId) -> Result<Value> {
        let slot = self.values.get(v.0 as usize).and_then(Option::clone);
        slot.ok_or(EvalError::Malformed("a variable is read before it has a value"))
    }

    /// Parameters `offset ..` of a record, whatever dimensions come before.
    fn field(&self, record: &Value, offset: u64, e: &Expr) -> Result<Value> {
        let shape = e.ty.shape();
        let len = *record.shape.last().ok_or(SHAPES)? as usize;
        let outer = record.shape.len() - 1;
        let size = shape.get(outer..).ok_or(SHAPES)?.iter().product::<u64>() as usize;
        let offset = offset as usize;
        if outer == 0 {
            if offset + size > len {
                return Err(SHAPES);
            }
            return Ok(Value { data: record.data.clone(), start: record.start + offset, shape });
        }
        let mut data = Vec::new();
        for one in record.entries().chunks(len) {
            data.extend_from_slice(one.get(offset..offset + size).ok_or(SHAPES)?);
        }
        Ok(Value::new(shape, data))
    }

    fn call(&mut self, f: FnId, args: &[Expr]) -> Result<Vec<Value>> {
        let program = self.program;
        let function = program.functions.get(f.0 as usize);
        let function = function.ok_or(EvalError::Malformed("no such function"))?;
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push((self.expr(arg)?, self.fixed(arg)));
        }
        for (param, (value, fixed)) in function.params.iter().zip(values) {
            self.define(*param, value, fixed)?;
        }
        self.body(&function.body)
    }

    fn intrinsic(&mut self, which: Intrinsic, args: &[Expr], e: &Expr) -> Result<Value> {
        let values = args.iter().map(|a| self.expr(a)).collect::<Result<Vec<Value>>>()?;
        match (which, values.as_slice()) {
            (Intrinsic::Sum, [x]) => reduce(x, e, 0.0, |a, b| a + b),
            (Intrinsic::Max, [x]) => reduce(x, e, f64::NEG_INFINITY, f64::max),
            (Intrinsic::Min, [x]) => reduce(x, e, f64::INFINITY, f64::min),
            (Intrinsic::Dot, [x, y]) => {
                let products = x.entries().iter().zip(y.entries()).map(|(a, b)| a * b);
                Ok(Value::scalar(products.sum()))
            }
            (Intrinsic::ArgMax, [x]) => {
                let mut best = (0, f64::NEG_INFINITY);
                for (i, &v) in x.entries().iter().enumerate() {
                    if v > best.1 {
                        best = (i, v);
                    }
                }
                Ok(Value::scalar(best.0 as f64))
            }
            (Intrinsic::Sort, [x]) => {
                let mut data = x.entries().to_vec();
                data.sort_by(f64::total_cmp);
                Ok(Value::new(x.shape.clone(), data))
            }
            (Intrinsic::Flat, [x]) => Ok(Value { shape: vec![x.len() as u64], ..x.clone() }),
            (Intrinsic::Reshape, [x]) => Ok(Value { shape: e.ty.shape(), ..x.clone() }),
            (Intrinsic::Places, [x]) => {
                let n = *e.ty.shape().last().ok_or(SHAPES)? as usize;
                let mut out = vec![x.len() as f64; n];
                for (place, &number) in x.entries().iter().enumerate() {
                    if let Some(at) = out.get_mut(number as usize).filter(|_| number >= 0.0) {
                        *at = place as f64;
                    }
                }
                Ok(Value::new(e.ty.shape(), out))
            }
            (Intrinsic::Concat, [x, y]) => {
                Ok(Value::new(e.ty.shape(), [x.entries(), y.entries()].concat()))
            }
            (Intrinsic::Select, [c, a, b]) => {
                let size = e.ty.shape();
                let len = size.iter().product::<u64>() as usize;
                let at = |v: &Value, i: usize| {
                    let all = v.entries();
                    all.get(if all.len() == 1 { 0 } else { i }).copied().ok_or(SHAPES)
                };
                let mut data = Vec::with_capacity(len);
                for i in 0..len {
                    data.push(if at(c, i)? != 0.0 { at(a, i)? } else { at(b, i)? });
                }
                Ok(Value::new(size, data))
            }
            (Intrinsic::Elementwise(f), [x]) => {
                let rule = f.rule();
                Ok(map(x, if self.ieee { rule.ieee } else { rule.value }))
            }
            _ => Err(EvalError::Malformed("an intrinsic with wrong arguments")),
        }
    }

    /// Calls `f` for every choice of the generators' variables, the last one fastest.
    fn each(&mut self, gens: &[Gen], f: &mut dyn FnMut(&mut Self) -> Result<()>) -> Result<()> {
        let Some((first, rest)) = gens.split_first() else { return f(self) };
        let values: Box<dyn Iterator<Item = i64>> = match &first.domain {
            Domain::Set(set) => {
                let set = self.program.parties.get(set.0 as usize);
                Box::new(0..set.ok_or(EvalError::Malformed("no such party set"))?.size as i64)
            }
            Domain::Range(lo, hi) => Box::new(self.index(lo)?..self.index(hi)?),
            Domain::Sampled { sample, at, .. } => {
                let members = take(&self.var(*sample)?, self.index(at)?)?;
                let members = members.entries().to_vec();
                Box::new(members.into_iter().map(|j| j as i64))
            }
        };
        for value in values {
            let slot = self.indices.get_mut(first.var.0 as usize);
            *slot.ok_or(EvalError::Malformed("no such variable"))? = value;
            if first.cond.as_ref().map_or(Ok(true), |cond| self.holds(cond))? {
                self.each(rest, f)?;
            }
        }
        Ok(())
    }

    fn index(&self, index: &Index) -> Result<i64> {
        match index {
            Index::Const(c) => Ok(*c),
            Index::Var(v) => self
                .indices
                .get(v.0 as usize)
                .copied()
                .ok_or(EvalError::Malformed("no such variable")),
            Index::Binary(op, a, b) => {
                let (a, b) = (self.index(a)?, self.index(b)?);
                match op {
                    IndexOp::Add => a.checked_add(b),
                    IndexOp::Sub => a.checked_sub(b),
                    IndexOp::Mul => a.checked_mul(b),
                    // Towards minus infinity, whatever the signs.
                    IndexOp::Div => a.checked_div_euclid(b).map(|q| {
                        let exact = a.wrapping_sub(b.wrapping_mul(q)) == 0;
                        if b < 0 && !exact { q - 1 } else { q }
                    }),
                    IndexOp::Rem => {
                        a.checked_rem_euclid(b).map(|r| if b < 0 && r != 0 { r + b } else { r })
                    }
                }
                .ok_or(EvalError::Malformed("index arithmetic fails"))
            }
        }
    }

    /// How numbers are divided by this one. A quotient by one constant is a product, which nothing cuts.
    fn division(&self, by: &Expr) -> fn(f64, f64) -> f64 {
        if self.ieee {
            |x, y| x / y
        } else if by.ty.dims.is_empty() && self.fixed(by) {
            |x, y| if y == 0.0 { domain::div(x, y) } else { x / y }
        } else {
            domain::div
        }
    }

    /// Whether a value is the same whatever is given, as the graph's constants are.
    pub(super) fn fixed(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Const(_) | ExprKind::Index(Index::Const(_)) => true,
            ExprKind::Var(v) => self.fixed.get(v.0 as usize) == Some(&true),
            ExprKind::Unary(_, a) => self.fixed(a),
            ExprKind::Binary(_, a, b) => self.fixed(a) && self.fixed(b),
            ExprKind::At(base, indices) => {
                self.fixed(base) && indices.iter().all(|i| matches!(i, Index::Const(_)))
            }
            ExprKind::Call(_, all) | ExprKind::Intrinsic(_, all) | ExprKind::List(all) => {
                all.iter().all(|e| self.fixed(e))
            }
            ExprKind::Index(_)
            | ExprKind::Apply(..)
            | ExprKind::Layer(..)
            | ExprKind::Comp(..)
            | ExprKind::Pick(..)
            | ExprKind::Field(..)
            | ExprKind::Record(_)
            | ExprKind::Let(_) => false,
        }
    }

    fn holds(&self, cond: &Cond) -> Result<bool> {
        Ok(match cond {
            Cond::Compare(op, a, b) => op.holds(self.index(a)?, self.index(b)?),
            Cond::Not(a) => !self.holds(a)?,
            Cond::And(a, b) => self.holds(a)? && self.holds(b)?,
            Cond::Or(a, b) => self.holds(a)? || self.holds(b)?,
        })
    }
}

/// The only one of some values.
fn one(values: Vec<Value>) -> Result<Value> {
    let found = <[Value; 1]>::try_from(values);
    found.map(|[value]| value).map_err(|_| EvalError::Malformed("several values for one"))
}

/// Entry i of the first dimension.
fn take(value: &Value, i: i64) -> Result<Value> {
    let (&first, rest) = value.shape.split_first().ok_or(SHAPES)?;
    let i = u64::try_from(i).ok().filter(|&i| i < first);
    let i = i.ok_or(EvalError::Malformed("an index is out of bounds"))?;
    let size = rest.iter().product::<u64>() as usize;
    let start = value.start + i as usize * size;
    Ok(Value { data: value.data.clone(), start, shape: rest.to_vec() })
}

fn map(x: &Value, f: impl Fn(f64) -> f64) -> Value {
    Value::new(x.shape.clone(), x.entries().iter().map(|&x| f(x)).collect())
}

/// Entry by entry; one of the two may be a scalar.
fn zip(a: &Value, b: &Value, f: impl Fn(f64, f64) -> f64) -> Result<Value> {
    let (x, y) = (a.entries(), b.entries());
    Ok(match (a.shape.as_slice(), b.shape.as_slice()) {
        ([], _) => {
            let x = *x.first().ok_or(SHAPES)?;
            map(b, |y| f(x, y))
        }
        (_, []) => {
            let y = *y.first().ok_or(SHAPES)?;
            map(a, |x| f(x, y))
        }
        (p, q) if p == q => {
            Value::new(p.to_vec(), x.iter().zip(y).map(|(&x, &y)| f(x, y)).collect())
        }
        _ => return Err(SHAPES),
    })
}

fn reduce(x: &Value, e: &Expr, start: f64, f: impl Fn(f64, f64) -> f64) -> Result<Value> {
    let shape = e.ty.shape();
    let size = shape.iter().product::<u64>() as usize;
    let mut out = vec![start; size];
    for one in x.entries().chunks(size.max(1)) {
        for (a, b) in out.iter_mut().zip(one) {
            *a = f(*a, *b);
        }
    }
    Ok(Value::new(shape, out))
}

fn binary(op: BinOp, x: f64, y: f64) -> f64 {
    let bit = |b: bool| f64::from(u8::from(b));
    match op {
        BinOp::Add => x + y,
        BinOp::Sub => x - y,
        BinOp::Mul => x * y,
        BinOp::Div => unreachable!("quotients are of the arithmetic that is asked for"),
        BinOp::Eq => bit(x == y),
        BinOp::Ne => bit(x != y),
        BinOp::Lt => bit(x < y),
        BinOp::Le => bit(x <= y),
        BinOp::Gt => bit(x > y),
        BinOp::Ge => bit(x >= y),
        BinOp::And => bit(x != 0.0 && y != 0.0),
        BinOp::Or => bit(x != 0.0 || y != 0.0),
    }
}
