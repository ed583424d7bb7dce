//! A model applied to weights and images that each have batch axes of their own.
//!
//! Inside, what layers make and their sums are `[G, N, ..]`: G ranges over the axes of the weights, N over the axes
//! that only the images have. So one convolution serves all clients, committee members and samples.

use super::builder::{Builder, Result, Val};
use super::layer::Batch;
use crate::graph::{NodeId, Op};
use slvr_language::types::model::Model;
use slvr_language::types::{BinOp, Expr, ExprKind, ModelId, Source, VarId};
use std::collections::BTreeMap;

/// A model that is being applied.
struct Applied<'a> {
    model: &'a Model,
    weights: &'a Val,
    batch: Batch,
    /// Values of its variables, `[G, N, ..]`.
    done: BTreeMap<VarId, NodeId>,
}

impl Applied<'_> {
    /// The value of an expression that is a variable.
    fn value(&self, e: &Expr) -> Option<NodeId> {
        if let ExprKind::Var(v) = e.kind { self.done.get(&v).copied() } else { None }
    }
}

impl Builder<'_> {
    pub(super) fn apply(&mut self, model: ModelId, weights: &Val, x: &Val) -> Result<Val> {
        let program = self.program;
        let model = &program.models[model.0 as usize];
        let batch = self.batch(weights.axes.clone(), x);
        let done = BTreeMap::from([(model.x, self.batched(&batch, x))]);
        let mut of = Applied { model, weights, batch, done };
        let (depth, outside) = (self.path.len(), self.call);
        self.networks += 1;
        // The input has a site, though it makes nothing.
        self.at(program.vars[model.x.0 as usize].span);
        for definition in &model.body.lets {
            let ([var], Source::Value(value)) = (&definition.vars[..], &definition.source) else {
                unreachable!("in a model the checker defines one value at a time")
            };
            let at = &program.vars[var.0 as usize];
            self.call = Some(at.span).filter(|s| !self.in_library(*s)).or(outside);
            let name = at.name.rsplit_once('.').map_or(at.name.as_str(), |(_, last)| last);
            self.path.extend(Some(name.to_owned()).filter(|name| !name.is_empty()));
            self.at(at.span);
            let node = match self.batched_value(&of, value) {
                Some(node) => node,
                None => {
                    let value = self.unbatched_value(&of, value)?;
                    self.at(at.span);
                    let value = self.as_number(value);
                    self.batched(&of.batch, &value)
                }
            };
            of.done.insert(*var, node);
            self.path.truncate(depth);
        }
        self.call = outside;
        self.networks -= 1;
        let Some(last) = of.value(&model.body.values[0]) else {
            unreachable!("the checker gives the result of a model a name")
        };
        Ok(self.unbatched(&of.batch, last))
    }

    /// What a layer makes of a variable, and the sum of two variables; `None` for any other expression.
    fn batched_value(&mut self, of: &Applied, value: &Expr) -> Option<NodeId> {
        match &value.kind {
            ExprKind::Layer(layer, args) => {
                let (x, params) = args.split_first()?;
                let x = of.value(x)?;
                let param = |e: &Expr| match e.kind {
                    ExprKind::Var(v) => of.model.read.get(&v).map(|p| &of.model.params[*p]),
                    _ => None,
                };
                let params = params.iter().map(param).collect::<Option<Vec<_>>>()?;
                let mut param = |b: &mut Self, at: usize, shape: &[u64]| {
                    let v = b.field(of.weights, params[at].offset, &params[at].shape);
                    b.reshape(v.node, [&[of.batch.g], shape].concat())
                };
                Some(self.layer(layer, x, &mut param))
            }
            ExprKind::Binary(BinOp::Add, a, b) if a.ty.dims == b.ty.dims => {
                let args = [of.value(a)?, of.value(b)?];
                Some(self.add(Op::Add, &args))
            }
            _ => None,
        }
    }

    /// The value of an expression of a model, with its batch axes.
    fn unbatched_value(&mut self, of: &Applied, value: &Expr) -> Result<Val> {
        for var in value.reads() {
            if let Some(node) = of.done.get(&var) {
                let val = self.unbatched(&of.batch, *node);
                self.values.insert(var, val);
            } else if let Some(p) = of.model.read.get(&var) {
                let p = &of.model.params[*p];
                let val = self.field(of.weights, p.offset, &p.shape);
                self.values.insert(var, val);
            }
        }
        self.expr(value)
    }
}
