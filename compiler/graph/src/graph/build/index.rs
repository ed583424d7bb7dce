//! Loop variables and index expressions: which entries of an axis they stand for.

use super::builder::{Axis, Builder, IndexValue, Result, Val, ascending};
use crate::graph::{NodeId, Op, Table, ranks};
use slvr_circuit::verify::MAX_CONSTS;
use slvr_language::diagnostic::{Diagnostic, codes};
use slvr_language::syntax::ast::Span;
use slvr_language::types::{BinOp, Cond, Domain, Elem, Gen, Index, PairTable, VarId};

/// Entries of a table of indices or of a mask.
const MAX_TABLE: u64 = 1 << 24;

/// Which entries count, over these axes (ascending) in order.
pub(super) type Counts = (Vec<Axis>, Vec<bool>);

/// An opened generator: its axis, and which combinations of enclosing positions count.
pub(super) struct Opened {
    pub axis: Axis,
    /// `None` if all do.
    pub mask: Option<Counts>,
}

impl Builder<'_> {
    /// The axes on which a compile-time index depends.
    fn index_axes(&self, index: &Index, out: &mut Vec<Axis>) {
        match index {
            Index::Const(_) => {}
            Index::Var(v) => match &self.indices[v] {
                IndexValue::Affine { axis, .. } => out.extend(axis),
                IndexValue::Table { axes, .. } => out.extend(axes),
                IndexValue::Others { of, axis } => out.extend([of, axis]),
                IndexValue::Known(v) => out.extend(&v.axes),
            },
            Index::Binary(_, a, b) => {
                self.index_axes(a, out);
                self.index_axes(b, out);
            }
        }
    }

    /// The axes on which indices and a condition depend, ascending, each once.
    fn axes_of(&self, indices: &[&Index], cond: Option<&Cond>) -> Vec<Axis> {
        let mut axes = Vec::new();
        indices.iter().for_each(|index| self.index_axes(index, &mut axes));
        cond.into_iter().for_each(|cond| self.cond_axes(cond, &mut axes));
        ascending(axes)
    }

    fn cond_axes(&self, cond: &Cond, out: &mut Vec<Axis>) {
        match cond {
            Cond::Compare(_, a, b) => {
                self.index_axes(a, out);
                self.index_axes(b, out);
            }
            Cond::Not(a) => self.cond_axes(a, out),
            Cond::And(a, b) | Cond::Or(a, b) => {
                self.cond_axes(a, out);
                self.cond_axes(b, out);
            }
        }
    }

    /// Value of a compile-time index at a position of each axis; `None` if 64 bits do not hold it.
    pub(super) fn index_at(&self, index: &Index, at: &dyn Fn(Axis) -> i64) -> Option<i64> {
        Some(match index {
            Index::Const(c) => *c,
            Index::Var(v) => match &self.indices[v] {
                IndexValue::Affine { axis, step, offset } => {
                    offset.checked_add(axis.map_or(Some(0), |a| step.checked_mul(at(a)))?)?
                }
                IndexValue::Table { axes, data } => {
                    let flat =
                        axes.iter().fold(0, |i, &a| i * self.size(a) as usize + at(a) as usize);
                    data[flat]
                }
                IndexValue::Others { of, axis } => {
                    let (own, place) = (at(*of), at(*axis));
                    if place < own { place } else { place + 1 }
                }
                // The checker keeps sampled indices out of arithmetic and conditions.
                IndexValue::Known(_) => 0,
            },
            Index::Binary(op, a, b) => op.apply(self.index_at(a, at)?, self.index_at(b, at)?)?,
        })
    }

    pub(super) fn cond_at(&self, cond: &Cond, at: &dyn Fn(Axis) -> i64) -> Option<bool> {
        Some(match cond {
            Cond::Compare(op, a, b) => op.holds(self.index_at(a, at)?, self.index_at(b, at)?),
            Cond::Not(a) => !self.cond_at(a, at)?,
            Cond::And(a, b) => self.cond_at(a, at)? && self.cond_at(b, at)?,
            Cond::Or(a, b) => self.cond_at(a, at)? || self.cond_at(b, at)?,
        })
    }

    /// All positions of some axes, row-major, as functions of the axis.
    pub(super) fn positions(&self, axes: &[Axis]) -> Vec<Vec<i64>> {
        let mut all = vec![Vec::new()];
        for &a in axes {
            all = all
                .into_iter()
                .flat_map(|p: Vec<i64>| {
                    (0..self.size(a) as i64).map(move |i| [p.as_slice(), &[i]].concat())
                })
                .collect();
        }
        all
    }

    /// Opens a generator: a new axis, and the value of its loop variable.
    pub(super) fn open_gen(&mut self, generator: &Gen, span: Span) -> Result<Opened> {
        let (value, opened) = match &generator.domain {
            Domain::Sampled { sample, at, count } => {
                let sample = self.values[sample].clone();
                let row = self.index(at, span)?;
                let row = self.take(&sample, &row)?;
                let axis = self.open(*count);
                let mut axes = row.axes.clone();
                axes.push(axis);
                let mask = match &generator.cond {
                    Some(cond) => self.mask_of_all(cond, axis, span)?,
                    None => None,
                };
                (IndexValue::Known(Val { node: row.node, axes }), Opened { axis, mask })
            }
            Domain::Set(set) => {
                let n = self.program.parties[set.0 as usize].size as i64;
                self.open_static(generator, &Index::Const(0), &Index::Const(n), span)?
            }
            Domain::Range(lo, hi) => self.open_static(generator, lo, hi, span)?,
        };
        self.indices.insert(generator.var, value);
        Ok(opened)
    }

    /// The mask of a condition on enclosing loops, where it does not always hold: all of an axis, or nothing.
    fn mask_of_all(&mut self, cond: &Cond, axis: Axis, span: Span) -> Result<Option<Counts>> {
        let mut over = self.axes_of(&[], Some(cond));
        let count = self.size(axis);
        self.affordable(&over, count, span)?;
        let mut data = Vec::new();
        for p in self.positions(&over) {
            let at = |a: Axis| over.iter().position(|&x| x == a).map_or(0, |i| p[i]);
            let Some(holds) = self.cond_at(cond, &at) else { return self.beyond(span) };
            data.extend((0..count).map(|_| holds));
        }
        if data.iter().all(|counts| *counts) {
            return Ok(None);
        }
        over.push(axis);
        Ok(Some((over, data)))
    }

    /// A generator whose members are known at build: equally many for every enclosing position
    /// (an affine axis or a table), or ragged (an affine axis over all that occur, and a mask).
    fn open_static(
        &mut self,
        generator: &Gen,
        lo: &Index,
        hi: &Index,
        span: Span,
    ) -> Result<(IndexValue, Opened)> {
        if let Some((of, n)) = self.others(generator, lo, hi) {
            let axis = self.open(n - 1);
            return Ok((IndexValue::Others { of, axis }, Opened { axis, mask: None }));
        }
        // The variable itself may occur in the condition: bind it to a provisional constant.
        let var = generator.var;
        self.indices.insert(var, IndexValue::Affine { axis: None, step: 0, offset: 0 });
        let axes = self.axes_of(&[lo, hi], generator.cond.as_ref());
        self.affordable(&axes, 1, span)?;
        if axes.is_empty() && generator.cond.is_none() {
            // A plain range costs nothing, however long.
            let at = |_: Axis| 0;
            let ends = self.index_at(lo, &at).zip(self.index_at(hi, &at));
            let Some((from, to)) = ends else { return self.beyond(span) };
            let axis = self.open(to.max(from).abs_diff(from));
            let value = IndexValue::Affine { axis: Some(axis), step: 1, offset: from };
            return Ok((value, Opened { axis, mask: None }));
        }
        let mut rows: Vec<Vec<i64>> = Vec::new();
        let mut entries = 0u64;
        for p in self.positions(&axes) {
            let at = |a: Axis| axes.iter().position(|&x| x == a).map_or(0, |i| p[i]);
            let ends = self.index_at(lo, &at).zip(self.index_at(hi, &at));
            let Some((from, to)) = ends else { return self.beyond(span) };
            let mut row = Vec::new();
            for i in from..to.max(from) {
                self.indices.insert(var, IndexValue::Affine { axis: None, step: 0, offset: i });
                let at = |a: Axis| axes.iter().position(|&x| x == a).map_or(0, |i| p[i]);
                match generator.cond.as_ref().map_or(Some(true), |c| self.cond_at(c, &at)) {
                    Some(true) => row.push(i),
                    Some(false) => {}
                    None => return self.beyond(span),
                }
            }
            entries += row.len() as u64;
            if entries > MAX_TABLE {
                return self.too_large(span);
            }
            rows.push(row);
        }
        let len = rows.first().map_or(0, Vec::len);
        if rows.iter().all(|r| r.len() == len) {
            let axis = self.open(len as u64);
            let first = rows[0].first().copied().unwrap_or(0);
            let plain =
                rows.iter().all(|r| r.iter().enumerate().all(|(i, &x)| x == first + i as i64));
            let value = if plain {
                IndexValue::Affine { axis: Some(axis), step: 1, offset: first }
            } else {
                let mut over = axes;
                over.push(axis);
                IndexValue::Table { axes: over, data: rows.concat() }
            };
            return Ok((value, Opened { axis, mask: None }));
        }
        self.affordable(&axes, rows.iter().map(Vec::len).max().unwrap_or(0) as u64, span)?;
        let first = rows.iter().flatten().copied().min().unwrap_or(0);
        let last = rows.iter().flatten().copied().max().unwrap_or(0);
        let axis = self.open((last - first + 1) as u64);
        let mask = rows
            .iter()
            .flat_map(|r| (first..=last).map(move |i| r.binary_search(&i).is_ok()))
            .collect();
        let mut over = axes;
        over.push(axis);
        Ok((
            IndexValue::Affine { axis: Some(axis), step: 1, offset: first },
            Opened { axis, mask: Some((over, mask)) },
        ))
    }

    /// The axis of another loop over the same many members, if a generator leaves out only its position: what it
    /// ranges over is told by a rule then.
    fn others(&self, generator: &Gen, lo: &Index, hi: &Index) -> Option<(Axis, u64)> {
        let (Index::Const(0), &Index::Const(n)) = (lo, hi) else { return None };
        let (a, b) = match generator.cond.as_ref()? {
            Cond::Compare(BinOp::Ne, a, b) => (a, b),
            Cond::Not(c) => match &**c {
                Cond::Compare(BinOp::Eq, a, b) => (a, b),
                _ => return None,
            },
            _ => return None,
        };
        let other = match (a, b) {
            (Index::Var(j), Index::Var(i)) if *j == generator.var => i,
            (Index::Var(i), Index::Var(j)) if *j == generator.var => i,
            _ => return None,
        };
        let &IndexValue::Affine { axis: Some(of), step: 1, offset: 0 } = self.indices.get(other)?
        else {
            return None;
        };
        let n = u64::try_from(n).ok()?;
        (ranks::by_rule(n) && self.size(of) == n).then_some((of, n))
    }

    /// Refuses tables over some axes, times `each`, that would not fit a compiler's memory.
    pub(super) fn affordable(&self, axes: &[Axis], each: u64, span: Span) -> Result<()> {
        let total = axes.iter().try_fold(each, |n, &a| n.checked_mul(self.size(a)));
        if total.is_some_and(|n| n <= MAX_TABLE) { Ok(()) } else { self.too_large(span) }
    }

    /// Refuses an index that 64 bits do not hold, or that is no exact number of the run.
    pub(super) fn beyond<T>(&self, span: Span) -> Result<T> {
        Err(Box::new(Diagnostic::error(
            codes::CONST_EVAL,
            "a computation at compile time fails",
            span,
            "for some loop variables: too large a number, or a division by zero",
        )))
    }

    fn too_large<T>(&self, span: Span) -> Result<T> {
        Err(Box::new(
            Diagnostic::error(
                codes::SIZE,
                format!("a table of more than {MAX_TABLE} entries would be needed"),
                span,
                "its loops run over too many combinations",
            )
            .hint("bounds and conditions that depend on another loop variable become tables: use smaller sizes, or a loop without them"),
        ))
    }

    /// Refuses a loop variable as a value of more numbers than a circuit has constants, before they are written out.
    fn too_many_constants<T>(&self, n: u64) -> Result<T> {
        Err(Box::new(
            Diagnostic::error(
                codes::SIZE,
                format!("a program has at most {MAX_CONSTS} constants"),
                self.span,
                format!("the loop variable is read as a number here, and takes {n} values"),
            )
            .hint(
                "each of them would be written down: use smaller sizes, or a formula; `n * (n - 1) / 2` is the sum of all \
                 numbers below n",
            ),
        ))
    }

    /// What an index expression is worth.
    pub(super) fn index(&mut self, index: &Index, span: Span) -> Result<IndexValue> {
        match index {
            Index::Var(v) => return Ok(self.indices[v].clone()),
            Index::Const(c) => {
                return Ok(IndexValue::Affine { axis: None, step: 0, offset: *c });
            }
            Index::Binary(..) => {}
        }
        let axes = self.axes_of(&[index], None);
        self.affordable(&axes, 1, span)?;
        let data: Option<Vec<i64>> = self
            .positions(&axes)
            .iter()
            .map(|p| {
                let at = |a: Axis| axes.iter().position(|&x| x == a).map_or(0, |i| p[i]);
                self.index_at(index, &at)
            })
            .collect();
        let Some(data) = data else { return self.beyond(span) };
        if axes.is_empty() {
            return Ok(IndexValue::Affine { axis: None, step: 0, offset: data[0] });
        }
        if let [axis] = axes[..] {
            let step = if data.len() > 1 { data[1].checked_sub(data[0]) } else { Some(1) };
            let affine = |step: i64| data.windows(2).all(|w| w[0].checked_add(step) == Some(w[1]));
            if let Some(step) = step.filter(|&step| step != 0 && affine(step)) {
                return Ok(IndexValue::Affine { axis: Some(axis), step, offset: data[0] });
            }
        }
        Ok(IndexValue::Table { axes, data })
    }

    /// An index as a public integer value.
    pub(super) fn index_value(&mut self, value: &IndexValue) -> Result<Val> {
        let exact = |x: i64| x.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS;
        let fits = match value {
            IndexValue::Known(_) | IndexValue::Others { .. } => true,
            IndexValue::Affine { axis, step, offset } => {
                let last = axis.map_or(0, |a| self.size(a).saturating_sub(1) as i64);
                let last = step.checked_mul(last).and_then(|x| x.checked_add(*offset));
                exact(*offset) && last.is_some_and(exact)
            }
            IndexValue::Table { data, .. } => data.iter().all(|&x| exact(x)),
        };
        if let IndexValue::Affine { axis: Some(axis), .. } = value
            && self.size(*axis) > MAX_CONSTS as u64
        {
            return self.too_many_constants(self.size(*axis));
        }
        if !fits {
            return self.beyond(self.graph.sites[self.site as usize].span);
        }
        Ok(match value {
            IndexValue::Known(v) => v.clone(),
            IndexValue::Others { of, axis } => {
                let rule = Op::Pairs { table: PairTable::Other, n: self.size(*of) };
                Val { node: self.add(rule, &[]), axes: vec![*of, *axis] }
            }
            IndexValue::Affine { axis: None, offset, .. } => {
                let table = Table::splat(*offset as f64, vec![]);
                Val { node: self.constant(table, Elem::Int), axes: vec![] }
            }
            IndexValue::Affine { axis: Some(axis), step, offset } => {
                let n = self.size(*axis);
                let data = (0..n as i64).map(|i| (offset + step * i) as f64).collect();
                let table = Table { shape: vec![n], data };
                Val { node: self.constant(table, Elem::Int), axes: vec![*axis] }
            }
            IndexValue::Table { axes, data } => {
                let shape = axes.iter().map(|&a| self.size(a)).collect();
                let table = Table { shape, data: data.iter().map(|&x| x as f64).collect() };
                Val { node: self.constant(table, Elem::Int), axes: axes.clone() }
            }
        })
    }

    /// The leading own dimension of a value at an index.
    pub(super) fn take(&mut self, v: &Val, index: &IndexValue) -> Result<Val> {
        let dim = v.axes.len() as u64;
        let n = self.own(v)[0];
        match index {
            IndexValue::Affine { axis: None, offset, .. } => {
                let op = Op::Slice { axis: dim, start: *offset as u64, len: 1, step: 1 };
                let sliced = self.add(op, &[v.node]);
                let mut shape = self.graph.shape(sliced).to_vec();
                shape.remove(dim as usize);
                Ok(Val { node: self.reshape(sliced, shape), axes: v.axes.clone() })
            }
            // A whole axis, or an evenly spaced part of it, renamed: no copies.
            IndexValue::Affine { axis: Some(axis), step, offset }
                if *step > 0 && !v.axes.contains(axis) && self.fits(*axis, *step, *offset, n) =>
            {
                let len = self.size(*axis);
                let mut node = v.node;
                if !(*offset == 0 && *step == 1 && len == n) {
                    let (start, step) = (*offset as u64, *step as u64);
                    node = self.add(Op::Slice { axis: dim, start, len, step }, &[node]);
                }
                Ok(self.rename(node, &v.axes, *axis))
            }
            _ => {
                let at = self.index_value(index)?;
                let at = self.clamp(at, n);
                self.gather(v, &at)
            }
        }
    }

    fn fits(&self, axis: Axis, step: i64, offset: i64, n: u64) -> bool {
        let last = offset + step * (self.size(axis) as i64 - 1);
        offset >= 0 && last >= 0 && (last as u64) < n
    }

    /// Entries that a mask excludes may lie outside the dimension; they are moved inside.
    fn clamp(&mut self, at: Val, n: u64) -> Val {
        let Op::Const(table, elem, frac) = self.graph.op(at.node).clone() else { return at };
        let inside = |x: f64| x.clamp(0.0, n as f64 - 1.0);
        if table.data.iter().all(|&x| inside(x) == x) {
            return at;
        }
        let data = table.data.iter().map(|&x| inside(x)).collect();
        let op = Op::Const(Table { data, ..table }, elem, frac);
        Val { node: self.add(op, &[]), axes: at.axes }
    }

    /// A tensor whose batch axes `axes` are followed by the dimension of `axis`: that dimension
    /// becomes a batch axis in its place in the order.
    fn rename(&mut self, node: NodeId, axes: &[Axis], axis: Axis) -> Val {
        let rank = self.graph.shape(node).len();
        let place = axes.iter().filter(|&&a| a < axis).count();
        let from = axes.len();
        let mut perm: Vec<u64> = (0..rank as u64).collect();
        perm.remove(from);
        perm.insert(place, from as u64);
        let mut axes = axes.to_vec();
        axes.insert(place, axis);
        Val { node: self.transpose(node, perm), axes }
    }

    /// General indexing of the leading own dimension by a public integer tensor.
    pub(super) fn gather(&mut self, v: &Val, at: &Val) -> Result<Val> {
        // Shared batch axes come first on both sides; axes of v alone stay before the dimension.
        let shared: Vec<Axis> = v.axes.iter().copied().filter(|a| at.axes.contains(a)).collect();
        let lone: Vec<Axis> = v.axes.iter().copied().filter(|a| !at.axes.contains(a)).collect();
        let fresh: Vec<Axis> = at.axes.iter().copied().filter(|a| !v.axes.contains(a)).collect();
        let x = self.permute(v.node, &v.axes, &[shared.clone(), lone.clone()].concat());
        let index = self.permute(at.node, &at.axes, &[shared.clone(), fresh.clone()].concat());
        let op = Op::Gather { axis: v.axes.len() as u64, batch: shared.len() as u64 };
        let out = self.add(op, &[x, index]);
        // Axes now: shared, lone, fresh; bring them into ascending order.
        let have = [shared, lone, fresh].concat();
        let axes = ascending(have.clone());
        Ok(Val { node: self.permute(out, &have, &axes), axes })
    }

    /// Forgets loop variables of closed generators.
    pub(super) fn forget(&mut self, vars: &[VarId]) {
        for v in vars {
            self.indices.remove(v);
        }
    }
}
