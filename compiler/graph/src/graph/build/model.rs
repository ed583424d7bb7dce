//! A model applied to weights and images that each have batch axes of their own.
//!
//! Inside, every activation is `[G, N, ..]`: G ranges over the axes of the weights, N over the axes
//! that only the images have. So one convolution serves all clients, committee members and samples.

use super::builder::{Axis, Builder, Result, Val};
use super::expr::only;
use super::layer::Batch;
use crate::graph::{NodeId, Op};
use slvr_language::types::ModelId;
use slvr_language::types::model::{Model, Operand, Step, StepKind};

impl Builder<'_> {
    pub(super) fn apply(&mut self, model: ModelId, w: &Val, x: &Val) -> Result<Val> {
        let model = &self.program.models[model.0 as usize];
        let lone: Vec<Axis> = x.axes.iter().copied().filter(|a| !w.axes.contains(a)).collect();
        let g: u64 = w.axes.iter().map(|&a| self.size(a)).product();
        let n: u64 = lone.iter().map(|&a| self.size(a)).product();

        // Images as [G or 1, N, ..]: axes of the weights first.
        let shares_axes = x.axes.iter().any(|a| w.axes.contains(a));
        let order = [w.axes.clone(), lone.clone()].concat();
        let (node, have) = if shares_axes {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            (self.expand(x, &sorted), sorted)
        } else {
            (x.node, x.axes.clone())
        };
        let want: Vec<Axis> = order.iter().copied().filter(|a| have.contains(a)).collect();
        let node = self.permute(node, &have, &want);
        let mut shape = vec![if shares_axes { g } else { 1 }, n];
        shape.extend(&model.input);
        let image = self.reshape(node, shape);

        let batch = Batch { of_weights: w.axes.clone(), alone: lone, g, n };
        let out = self.steps(model, w, &batch, image)?;
        let out = if self.graph.shape(out)[..2] == [g, n] {
            out
        } else {
            let mut to = self.graph.shape(out).to_vec();
            (to[0], to[1]) = (g, n);
            self.add(Op::Broadcast(to), &[out])
        };
        let mut shape: Vec<u64> = order.iter().map(|&a| self.size(a)).collect();
        shape.extend(&model.output);
        let out = self.reshape(out, shape);
        let mut axes = order.clone();
        axes.sort_unstable();
        let node = self.permute(out, &order, &axes);
        Ok(Val { node, axes })
    }

    fn steps(&mut self, model: &Model, w: &Val, batch: &Batch, image: NodeId) -> Result<NodeId> {
        let mut done: Vec<NodeId> = Vec::new();
        let (depth, outside) = (self.path.len(), self.call);
        self.networks += 1;
        for step in &model.steps {
            self.path.truncate(depth);
            self.call = step.applied.filter(|at| !self.in_library(*at)).or(outside);
            self.path.extend(
                step.name
                    .rsplit_once('.')
                    .map_or(step.name.as_str(), |(_, last)| last)
                    .split('.')
                    .filter(|s| !s.is_empty())
                    .map(str::to_string),
            );
            self.at(step.span);
            let node = self.step(model, w, batch, image, step, &done)?;
            done.push(node);
        }
        self.path.truncate(depth);
        self.call = outside;
        self.networks -= 1;
        Ok(done.last().copied().unwrap_or(image))
    }

    fn step(
        &mut self,
        model: &Model,
        w: &Val,
        batch: &Batch,
        image: NodeId,
        step: &Step,
        done: &[NodeId],
    ) -> Result<NodeId> {
        Ok(match &step.kind {
            StepKind::Input => image,
            StepKind::Layer { layer, x, params } => {
                let mut param = |b: &mut Self, at: usize, shape: &[u64]| {
                    let p = &model.params[params[at]];
                    let v = b.field(w, p.offset, &p.shape);
                    b.reshape(v.node, [&[batch.g], shape].concat())
                };
                self.layer(layer, done[*x], &mut param)
            }
            StepKind::Add(a, b) => self.add(Op::Add, &[done[*a], done[*b]]),
            StepKind::Compute { operands, body } => {
                for (var, operand) in operands {
                    let value = match operand {
                        Operand::Step(step) => self.unbatched(batch, done[*step]),
                        Operand::Param(p) => {
                            let p = &model.params[*p];
                            self.field(w, p.offset, &p.shape)
                        }
                    };
                    self.values.insert(*var, value);
                }
                let vals = self.body(body)?;
                let value = only(vals);
                self.at(step.span);
                let value = self.as_number(value);
                self.batched(batch, &value)
            }
        })
    }
}
