//! Expressions to nodes.

use super::builder::{Axis, Builder, IndexValue, Result, Val, ascending, union};
use super::index::Counts;
use crate::graph::{NodeId, Op, Table};
use slvr_language::syntax::ast::Span;
use slvr_language::syntax::embedded;
use slvr_language::types::{
    BinOp, Elem, Elementwise, Expr, ExprKind, FnId, Gen, Intrinsic, Ty, UnOp, VarId,
};

/// Which entries of a ragged list count, for every position of some axes: bits over these axes
/// (ascending) and the list's first dimension, row-major.
struct Mask {
    over: Vec<Axis>,
    data: Vec<bool>,
}

/// All entries in one dimension.
fn flat(own: &[u64]) -> Vec<u64> {
    vec![own.iter().product()]
}

/// The only one of some values.
pub(super) fn only(vals: Vec<Val>) -> Val {
    match <[Val; 1]>::try_from(vals) {
        Ok([val]) => val,
        Err(_) => unreachable!("the checker refuses a tuple as one value"),
    }
}

/// Whether a node of an element may stand for an expression that the checker gave one: what reads a value
/// decides by the checker's element whether it is a bit. A real number may happen to be an integer.
fn holds(node: Elem, checked: Elem) -> bool {
    node == checked || (node, checked) == (Elem::Int, Elem::Fix)
}

impl Builder<'_> {
    /// The value of an expression that is not ragged.
    pub(super) fn expr(&mut self, e: &Expr) -> Result<Val> {
        match self.list(e)? {
            (v, None) => Ok(v),
            // The checker refuses an uneven comprehension outside of a reduction. The inner ones of several generators
            // may be uneven all the same.
            (v, Some(mask)) => self.counted(&v, mask),
        }
    }

    /// The value of an expression, and for a ragged comprehension which entries of its first
    /// dimension count.
    fn list(&mut self, e: &Expr) -> Result<(Val, Option<Mask>)> {
        self.at(e.span);
        self.affordable_step(e.span)?;
        let v = match &e.kind {
            ExprKind::Comp(gens, body) => return self.comprehension(gens, body),
            ExprKind::Const(c) => {
                let shape = e.ty.shape();
                Val { node: self.constant(Table::splat(*c, shape), e.ty.elem), axes: vec![] }
            }
            ExprKind::Index(i) => {
                let i = self.index(i, e.span)?;
                self.index_value(&i)?
            }
            ExprKind::Var(v) => match self.indices.get(v).cloned() {
                Some(i) => self.index_value(&i)?,
                None => self.values[v].clone(),
            },
            ExprKind::Unary(op, a) => {
                let (op, elem) = match op {
                    UnOp::Neg => (Op::Neg, Elem::Fix),
                    UnOp::Not => (Op::Not, Elem::Bit),
                };
                let a = self.typed(a, elem)?;
                self.at(e.span);
                self.unary(op, a)
            }
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, e.span)?,
            ExprKind::Call(f, args) => {
                let vals = self.call(*f, args)?;
                only(vals)
            }
            ExprKind::Apply(m, w, x) => {
                let w = self.number(w)?;
                let x = self.number(x)?;
                self.apply(*m, &w, &x)?
            }
            ExprKind::Intrinsic(i, args) => self.intrinsic(*i, args, &e.ty, e.span)?,
            ExprKind::Layer(layer, args) => self.layer_expr(layer, args)?,
            ExprKind::List(items) => {
                let vals = self.all_typed(items, e.ty.elem)?;
                self.beside(&vals, |own| [&[1], own].concat())
            }
            ExprKind::At(base, indices) => {
                let mut v = self.expr(base)?;
                for i in indices {
                    let i = self.index(i, e.span)?;
                    v = self.take(&v, &i)?;
                }
                v
            }
            ExprKind::Pick(base, index) => {
                let v = self.expr(base)?;
                let at = self.expr(index)?;
                self.at(e.span);
                self.take(&v, &IndexValue::Known(at))?
            }
            ExprKind::Field(base, offset) => {
                let v = self.expr(base)?;
                let shape = e.ty.shape();
                self.field(&v, *offset, &shape)
            }
            ExprKind::Record(tensors) => {
                let vals = self.all_typed(tensors, e.ty.elem)?;
                self.at(e.span);
                self.beside(&vals, flat)
            }
            ExprKind::Let(body) => {
                let vals = self.body(body)?;
                only(vals)
            }
        };
        let elem = self.graph.ty(v.node).elem;
        debug_assert!(
            holds(elem, e.ty.elem),
            "a node of {elem:?} for an expression of {:?} at {:?}: {:?}",
            e.ty.elem,
            self.sources.line_col(e.span),
            e.kind
        );
        Ok((v, None))
    }

    /// Values one after another along their first own dimension, with own dimensions as `to` makes them.
    fn beside(&mut self, vals: &[Val], to: impl Fn(&[u64]) -> Vec<u64>) -> Val {
        let axes = union(vals);
        let mut parts = Vec::new();
        for v in vals {
            let node = self.expand(v, &axes);
            let (outer, own) = self.graph.shape(node).split_at(axes.len());
            let shape = [outer, &to(own)].concat();
            parts.push(self.reshape(node, shape));
        }
        let node = match parts[..] {
            [one] => one,
            _ => self.add(Op::Concat(axes.len() as u64), &parts),
        };
        Val { node, axes }
    }

    /// An expression of an element: unless that is a bit, bits are taken as integers.
    fn typed(&mut self, e: &Expr, elem: Elem) -> Result<Val> {
        if elem == Elem::Bit { self.expr(e) } else { self.number(e) }
    }

    fn all_typed(&mut self, all: &[Expr], elem: Elem) -> Result<Vec<Val>> {
        all.iter().map(|e| self.typed(e, elem)).collect()
    }

    /// An expression whose bits, if it has any, are taken as integers.
    fn number(&mut self, e: &Expr) -> Result<Val> {
        let v = self.expr(e)?;
        Ok(self.as_number(v))
    }

    pub(super) fn as_number(&mut self, v: Val) -> Val {
        if self.graph.ty(v.node).elem == Elem::Bit { self.unary(Op::ToInt, v) } else { v }
    }

    fn unary(&mut self, op: Op, v: Val) -> Val {
        Val { node: self.add(op, &[v.node]), axes: v.axes }
    }

    /// Two values brought to the same axes and rank; a scalar beside a tensor gets size-1
    /// dimensions.
    fn aligned(&mut self, a: &Val, b: &Val) -> (NodeId, NodeId, Vec<Axis>) {
        let axes = union([a, b]);
        let rank = self.own(a).len().max(self.own(b).len());
        (self.spread(a, &axes, rank), self.spread(b, &axes, rank), axes)
    }

    pub(super) fn elementwise(&mut self, op: Op, a: &Val, b: &Val) -> Val {
        let (x, y, axes) = self.aligned(a, b);
        Val { node: self.add(op, &[x, y]), axes }
    }

    pub(super) fn constant_of(&self, v: &Val) -> Option<f64> {
        match self.graph.op(v.node) {
            Op::Const(table, ..) if v.axes.is_empty() && self.own(v).is_empty() => table.as_splat(),
            _ => None,
        }
    }

    fn binary(&mut self, op: BinOp, a: &Expr, b: &Expr, span: Span) -> Result<Val> {
        let bits = a.ty.elem == Elem::Bit && b.ty.elem == Elem::Bit;
        if op == BinOp::Add
            && let Some(ranks) = self.ranks(a, b, span)
        {
            return Ok(ranks);
        }
        let logical =
            matches!(op, BinOp::And | BinOp::Or) || (bits && matches!(op, BinOp::Eq | BinOp::Ne));
        let elem = if logical { Elem::Bit } else { Elem::Fix };
        let (x, y) = (self.typed(a, elem)?, self.typed(b, elem)?);
        self.at(span);
        let v = match op {
            BinOp::And => self.elementwise(Op::And, &x, &y),
            BinOp::Or => {
                let (x, y) = (self.unary(Op::Not, x), self.unary(Op::Not, y));
                let neither = self.elementwise(Op::And, &x, &y);
                self.unary(Op::Not, neither)
            }
            BinOp::Eq | BinOp::Ne => {
                let negate = bits == (op == BinOp::Eq);
                let v = self.elementwise(if bits { Op::Xor } else { Op::Eq }, &x, &y);
                if negate { self.unary(Op::Not, v) } else { v }
            }
            BinOp::Lt => self.elementwise(Op::Lt, &x, &y),
            BinOp::Gt => self.elementwise(Op::Lt, &y, &x),
            BinOp::Le => {
                let v = self.elementwise(Op::Lt, &y, &x);
                self.unary(Op::Not, v)
            }
            BinOp::Ge => {
                let v = self.elementwise(Op::Lt, &x, &y);
                self.unary(Op::Not, v)
            }
            BinOp::Add => self.elementwise(Op::Add, &x, &y),
            BinOp::Sub => self.elementwise(Op::Sub, &x, &y),
            BinOp::Mul => match (self.constant_of(&x), self.constant_of(&y)) {
                (Some(c), _) => self.unary(Op::Scale(c), y),
                (_, Some(c)) => self.unary(Op::Scale(c), x),
                _ => self.elementwise(Op::Mul, &x, &y),
            },
            BinOp::Div => match self.constant_of(&y) {
                Some(c) if c != 0.0 => self.unary(Op::Scale(1.0 / c), x),
                _ => self.elementwise(Op::Div, &x, &y),
            },
        };
        Ok(v)
    }

    /// Whether a place is in the library.
    pub(super) fn in_library(&self, span: Span) -> bool {
        embedded::get(self.sources.name(span.file)).is_some()
    }

    pub(super) fn call(&mut self, f: FnId, args: &[Expr]) -> Result<Vec<Val>> {
        let function = &self.program.functions[f.0 as usize];
        let outside = self.call;
        if !self.in_library(self.span) {
            self.call = Some(self.span);
        }
        let mut vals = Vec::new();
        for a in args {
            vals.push(self.expr(a)?);
        }
        for (&p, v) in function.params.iter().zip(vals) {
            let v = self.as_declared(p, v);
            self.values.insert(p, v);
        }
        self.path.push(function.name.clone());
        let vals = self.body(&function.body)?;
        self.path.pop();
        self.call = outside;
        Ok(vals)
    }

    /// A value as a variable holds it: bits as integers, unless the variable has bits.
    pub(super) fn as_declared(&mut self, var: VarId, v: Val) -> Val {
        match self.program.vars[var.0 as usize].ty.elem {
            Elem::Bit => v,
            Elem::Int | Elem::Fix => self.as_number(v),
        }
    }

    fn intrinsic(&mut self, op: Intrinsic, args: &[Expr], ty: &Ty, span: Span) -> Result<Val> {
        match op {
            Intrinsic::Sum => {
                let (v, mask) = self.list(&args[0])?;
                self.at(span);
                let v = match mask {
                    Some(mask) => self.masked(&v, mask),
                    None => v,
                };
                let v = self.as_number(v);
                let axis = v.axes.len();
                let mut shape = self.graph.shape(v.node).to_vec();
                if shape[axis] == 0 {
                    // Of nothing: no later part has to know what the range of no numbers is.
                    shape.remove(axis);
                    let elem = self.graph.ty(v.node).elem;
                    let node = self.constant(Table::splat(0.0, shape), elem);
                    return Ok(Val { node, axes: v.axes });
                }
                Ok(self.unary(Op::Sum(vec![axis as u64]), v))
            }
            Intrinsic::Dot => {
                let (a, b) = (self.number(&args[0])?, self.number(&args[1])?);
                self.at(span);
                let product = self.elementwise(Op::Mul, &a, &b);
                let rank = self.shape(&product).len() as u64;
                let axes = (product.axes.len() as u64..rank).collect();
                Ok(self.unary(Op::Sum(axes), product))
            }
            Intrinsic::Select => {
                let c = self.expr(&args[0])?;
                let (a, b) = (self.typed(&args[1], ty.elem)?, self.typed(&args[2], ty.elem)?);
                self.at(span);
                Ok(self.choose(&c, &a, &b))
            }
            Intrinsic::Max | Intrinsic::Min => {
                let (v, mask) = self.list(&args[0])?;
                self.at(span);
                let v = match mask {
                    Some(mask) => self.compacted(&v, &mask)?,
                    None => v,
                };
                if ty.elem == Elem::Bit {
                    let n = self.own(&v)[0];
                    let place = if op == Intrinsic::Max { n - 1 } else { 0 };
                    return Ok(self.sorted_bits(v, &Table::splat(place as f64, Vec::new())));
                }
                let v = self.as_number(v);
                let axis = v.axes.len() as u64;
                let op = if op == Intrinsic::Max { Op::Max(axis) } else { Op::Min(axis) };
                Ok(self.unary(op, v))
            }
            Intrinsic::Flat => {
                let v = self.expr(&args[0])?;
                self.at(span);
                Ok(self.beside(&[v], flat))
            }
            Intrinsic::Reshape => {
                let v = self.expr(&args[0])?;
                self.at(span);
                let shape = self.graph.shape(v.node)[..v.axes.len()].to_vec();
                let node = self.reshape(v.node, [shape, ty.shape()].concat());
                Ok(Val { node, axes: v.axes })
            }
            Intrinsic::Places => {
                let v = self.expr(&args[0])?;
                self.at(span);
                let n = ty.dims.last().map_or(1, |d| d.size);
                Ok(self.unary(Op::Places(n), v))
            }
            Intrinsic::Concat => {
                let vals = self.all_typed(args, ty.elem)?;
                self.at(span);
                Ok(self.beside(&vals, <[u64]>::to_vec))
            }
            Intrinsic::ArgMax => self.function(Op::ArgMax, &args[0], span),
            Intrinsic::Sort if ty.elem == Elem::Bit => {
                let v = self.expr(&args[0])?;
                self.at(span);
                let shape = self.own(&v);
                let data = (0..shape[0]).map(|place| place as f64).collect();
                Ok(self.sorted_bits(v, &Table { shape, data }))
            }
            Intrinsic::Sort => self.function(Op::Sort, &args[0], span),
            Intrinsic::Elementwise(f) => {
                let op = match f {
                    Elementwise::Relu => Op::Relu,
                    Elementwise::Function(f) => Op::Function(f),
                    Elementwise::Abs => Op::Abs,
                };
                self.function(op, &args[0], span)
            }
        }
    }

    /// Bits in ascending order along their first dimension, at these places. Ones come last, so there is a one where
    /// enough of them are ones: the largest is whether any is, the smallest whether all are. A count and one
    /// comparison tell it, where a sort of numbers would compare pairs, and give no bit.
    fn sorted_bits(&mut self, v: Val, places: &Table) -> Val {
        let n = self.own(&v)[0] as f64;
        let v = self.as_number(v);
        let axis = v.axes.len() as u64;
        let ones = self.unary(Op::Sum(vec![axis]), v);
        let data = places.data.iter().map(|place| n - 1.0 - place).collect();
        let most = self.constant(Table { shape: places.shape.clone(), data }, Elem::Int);
        self.elementwise(Op::Lt, &Val { node: most, axes: Vec::new() }, &ones)
    }

    /// An operation of one operand.
    fn function(&mut self, op: Op, x: &Expr, span: Span) -> Result<Val> {
        let v = self.number(x)?;
        self.at(span);
        Ok(self.unary(op, v))
    }

    /// A list with zeros where its mask says that an entry does not count.
    fn masked(&mut self, v: &Val, mask: Mask) -> Val {
        let mut shape: Vec<u64> = mask.over.iter().map(|&a| self.size(a)).collect();
        shape.push(self.own(v)[0]);
        let data = mask.data.iter().map(|&x| f64::from(x)).collect();
        let bits = self.graph.ty(v.node).elem == Elem::Bit;
        let elem = if bits { Elem::Bit } else { Elem::Int };
        let node = self.constant(Table { shape: shape.clone(), data }, elem);
        let mask = Val { node, axes: mask.over };
        let axes = union([v, &mask]);
        let own = self.own(v).len();
        let x = self.spread(v, &axes, own);
        // The mask has one own dimension, which is v's first.
        shape.extend(std::iter::repeat_n(1, own - 1));
        let node = self.reshape(mask.node, shape);
        let m = self.spread(&Val { node, axes: mask.axes }, &axes, own);
        Val { node: self.add(if bits { Op::And } else { Op::Mul }, &[x, m]), axes }
    }

    /// A list of only the entries that count, as many for every position: where there are fewer, the
    /// first is repeated, which changes no extremum.
    fn compacted(&mut self, v: &Val, mask: &Mask) -> Result<Val> {
        let rows: Vec<Vec<i64>> = mask
            .data
            .chunks(self.own(v)[0] as usize)
            .map(|row| (0..).zip(row).filter(|&(_, &counts)| counts).map(|(i, _)| i).collect())
            .collect();
        let most = rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut data = Vec::with_capacity(rows.len() * most);
        for row in &rows {
            let Some(&first) = row.first() else {
                unreachable!("the checker refuses the extremum of no entries");
            };
            data.extend(row);
            data.extend(std::iter::repeat_n(first, most - row.len()));
        }
        let axis = self.open(most as u64);
        let mut axes = mask.over.clone();
        axes.push(axis);
        let taken = self.take(v, &IndexValue::Table { axes, data })?;
        Ok(self.close(&taken, &[axis]))
    }

    fn comprehension(&mut self, gens: &[Gen], body: &Expr) -> Result<(Val, Option<Mask>)> {
        let mut axes = Vec::new();
        let mut masks = Vec::new();
        for g in gens {
            let opened = self.open_gen(g, body.span)?;
            axes.push(opened.axis);
            masks.extend(opened.mask);
        }
        let v = self.expr(body)?;
        self.forget(&gens.iter().map(|g| g.var).collect::<Vec<_>>());
        let v = self.close(&v, &axes);
        let mask = if masks.is_empty() { None } else { Some(self.mask(&masks, &axes, body.span)?) };
        Ok((v, mask))
    }

    /// The entries of a list that count, of which there are as many everywhere.
    fn counted(&mut self, list: &Val, mask: Mask) -> Result<Val> {
        let entries = self.own(list).first().copied().unwrap_or(1).max(1) as usize;
        let rows = mask.data.chunks(entries);
        let data: Vec<f64> =
            rows.flat_map(|row| (0..row.len()).filter(|&i| row[i]).map(|i| i as f64)).collect();
        let mut shape: Vec<u64> = mask.over.iter().map(|&a| self.size(a)).collect();
        shape.push(data.len() as u64 / shape.iter().product::<u64>().max(1));
        let node = self.constant(Table { shape, data: data.into() }, Elem::Int);
        self.gather(list, &Val { node, axes: mask.over })
    }

    /// The masks of a comprehension's generators as one.
    fn mask(&self, masks: &[Counts], gens: &[Axis], span: Span) -> Result<Mask> {
        let mut over: Vec<Axis> = masks.iter().flat_map(|(over, _)| over.iter().copied()).collect();
        over.retain(|a| !gens.contains(a));
        let over = ascending(over);
        let all = [over.as_slice(), gens].concat();
        self.affordable(&all, 1, span)?;
        let data = self
            .positions(&all)
            .iter()
            .map(|p| {
                let at = |a: Axis| all.iter().position(|&x| x == a).map_or(0, |i| p[i] as usize);
                masks.iter().all(|(over, data)| {
                    data[over.iter().fold(0, |i, &a| i * self.size(a) as usize + at(a))]
                })
            })
            .collect();
        Ok(Mask { over, data })
    }

    /// Leaves generators: their axes, which are the youngest, become one first own dimension.
    fn close(&mut self, v: &Val, gens: &[Axis]) -> Val {
        let mut all = ascending([&v.axes[..], gens].concat());
        let node = self.expand(v, &all);
        all.truncate(all.len() - gens.len());
        let shape = self.graph.shape(node).to_vec();
        let mut to = shape[..all.len()].to_vec();
        to.push(gens.iter().map(|&g| self.size(g)).product());
        to.extend(&shape[all.len() + gens.len()..]);
        Val { node: self.reshape(node, to), axes: all }
    }

    /// Parameters `offset ..` of a record as a tensor.
    pub(super) fn field(&mut self, w: &Val, offset: u64, shape: &[u64]) -> Val {
        let axis = self.graph.shape(w.node).len() as u64 - 1;
        let len = shape.iter().product();
        let node = if offset == 0 && len == self.graph.shape(w.node)[axis as usize] {
            w.node
        } else {
            self.add(Op::Slice { axis, start: offset, len, step: 1 }, &[w.node])
        };
        let mut to: Vec<u64> = self.graph.shape(node)[..axis as usize].to_vec();
        to.extend(shape);
        Val { node: self.reshape(node, to), axes: w.axes.clone() }
    }
}
