//! Bodies, and loops: their steps are written out, one after the other.

use super::builder::{Axis, Builder, IndexValue, Result, Val, union};
use crate::graph::{InRange, Op, Table};
use slvr_language::syntax::ast::Span;
use slvr_language::types::{Body, Domain, Gen, Index, Iterate, Source, Var, VarId};

impl Builder<'_> {
    /// The values of a body.
    pub(super) fn body(&mut self, body: &Body) -> Result<Vec<Val>> {
        for definition in &body.lets {
            let vals = match &definition.source {
                Source::Value(value) => vec![self.expr(value)?],
                Source::Call(f, args) => self.call(*f, args)?,
                Source::Iterate(i) => self.iterate(i)?,
            };
            self.values.extend(definition.vars.iter().copied().zip(vals));
        }
        body.values.iter().map(|value| self.expr(value)).collect()
    }

    /// What a loop ends with.
    fn iterate(&mut self, i: &Iterate) -> Result<Vec<Val>> {
        let mut vals = Vec::with_capacity(i.carried.len());
        for c in &i.carried {
            vals.push(self.expr(&c.start)?);
        }
        let vars: Vec<VarId> = i.carried.iter().map(|c| c.var).collect();
        let names = self.names(&vars);
        self.enter(&names, i.span);
        self.keep(i, &mut vals);
        self.each_step(&i.gens, i, &mut vals)?;
        self.leave();
        self.forget(&i.gens.iter().map(|g| g.var).collect::<Vec<_>>());
        Ok(vals)
    }

    /// All steps, or those with the variables of the outer generators as they are.
    fn each_step(&mut self, gens: &[Gen], i: &Iterate, vals: &mut Vec<Val>) -> Result<()> {
        let Some((first, rest)) = gens.split_first() else {
            for (c, val) in i.carried.iter().zip(vals.iter()) {
                self.values.insert(c.var, val.clone());
            }
            *vals = self.body(&i.body)?;
            self.keep(i, vals);
            return Ok(());
        };
        let (lo, hi) = match &first.domain {
            Domain::Set(set) => (0, self.program.parties[set.0 as usize].size as i64),
            Domain::Range(lo, hi) => (self.step_at(lo, i.span)?, self.step_at(hi, i.span)?),
            Domain::Sampled { .. } => unreachable!("the checker refuses steps over a sample"),
        };
        for step in lo..hi {
            self.affordable_step(i.span)?;
            let value = IndexValue::Affine { axis: None, step: 0, offset: step };
            self.indices.insert(first.var, value);
            let counts = match &first.cond {
                Some(cond) => match self.cond_at(cond, &no_axis) {
                    Some(counts) => counts,
                    None => return self.beyond(i.span),
                },
                None => true,
            };
            if counts {
                self.each_step(rest, i, vals)?;
            }
        }
        Ok(())
    }

    /// An index that depends on steps alone.
    fn step_at(&self, index: &Index, span: Span) -> Result<i64> {
        match self.index_at(index, &no_axis) {
            Some(i) => Ok(i),
            None => self.beyond(span),
        }
    }

    /// Carried values as their variables hold them, in their ranges.
    fn keep(&mut self, i: &Iterate, vals: &mut [Val]) {
        for (c, val) in i.carried.iter().zip(vals) {
            let v = self.as_declared(c.var, val.clone());
            *val = match c.range {
                Some(range) => self.within(v, range, c.var, i.span),
                None => v,
            };
        }
    }

    /// A value, or the nearer end of a range. Both ends are compared with the value at one time.
    pub(super) fn within(&mut self, v: Val, (lo, hi): (f64, f64), var: VarId, span: Span) -> Val {
        if let Op::Const(table, ..) = self.graph.op(v.node)
            && table.data.iter().all(|x| (lo..=hi).contains(x))
        {
            return v;
        }
        let Var { name, ty, .. } = &self.program.vars[var.0 as usize];
        let elem = ty.elem;
        let compares = format!("{name} beside {lo}..{hi}");
        self.enter_in_range(&compares, InRange::Compares, span);
        let mut end = |x: f64| {
            let node = self.constant(Table::splat(x, Vec::new()), elem);
            Val { node, axes: Vec::new() }
        };
        let (least, most) = (end(lo), end(hi));
        let below = self.elementwise(Op::Lt, &v, &least);
        let above = self.elementwise(Op::Lt, &most, &v);
        let v = self.choose(&above, &most, &v);
        self.leave();
        let keeps = InRange::Keeps { name: name.clone(), range: (lo, hi) };
        self.enter_in_range(&format!("{name} kept in {lo}..{hi}"), keeps, span);
        let kept = self.choose(&below, &least, &v);
        self.leave();
        kept
    }

    /// One of two values by a bit, entry by entry.
    pub(super) fn choose(&mut self, c: &Val, a: &Val, b: &Val) -> Val {
        let axes: Vec<Axis> = union([c, a, b]);
        let rank = self.own(c).len().max(self.own(a).len()).max(self.own(b).len());
        let nodes = [c, a, b].map(|v| self.spread(v, &axes, rank));
        Val { node: self.add(Op::Select, &nodes), axes }
    }
}

/// Steps have no axes.
fn no_axis(_: Axis) -> i64 {
    0
}
