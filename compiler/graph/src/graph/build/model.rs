//! A model applied to weights and images that each have batch axes of their own.
//!
//! Inside, every activation is `[G, N, ..]`: G ranges over the axes of the weights, N over the axes
//! that only the images have. So one convolution serves all clients, committee members and samples.

use super::builder::{Builder, Result, Val};
use super::expr::only;
use super::layer::Batch;
use crate::graph::{NodeId, Op};
use slvr_language::types::ModelId;
use slvr_language::types::model::{Model, Operand, Step, StepKind};

impl Builder<'_> {
    pub(super) fn apply(&mut self, model: ModelId, w: &Val, x: &Val) -> Result<Val> {
        let model = &self.program.models[model.0 as usize];
        let batch = self.batch(w.axes.clone(), x);
        let image = self.batched(&batch, x);
        let out = self.steps(model, w, &batch, image)?;
        Ok(self.unbatched(&batch, out))
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
