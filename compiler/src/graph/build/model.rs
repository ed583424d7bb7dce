//! A model applied to weights and images that each have batch axes of their own.
//!
//! Inside, every activation is `[G, N, ..]`: G ranges over the axes of the weights, N over the axes
//! that only the images have. So one convolution serves all clients, committee members and samples.

use super::builder::{Axis, Builder, Result, Val};
use crate::graph::{Function, NodeId, Op};
use crate::types::ModelId;
use crate::types::model::{Model, Step, StepKind};

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

        let out = self.steps(model, w, g, image)?;
        let out = if self.graph.shape(out)[0] == g {
            out
        } else {
            let mut to = self.graph.shape(out).to_vec();
            to[0] = g;
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

    /// Batch axes from one order into another.
    fn permute(&mut self, node: NodeId, have: &[Axis], want: &[Axis]) -> NodeId {
        let mut perm: Vec<u64> =
            want.iter().map(|a| have.iter().position(|b| b == a).unwrap_or(0) as u64).collect();
        perm.extend(have.len() as u64..self.graph.shape(node).len() as u64);
        self.transpose(node, perm)
    }

    fn steps(&mut self, model: &Model, w: &Val, g: u64, image: NodeId) -> Result<NodeId> {
        let mut done: Vec<NodeId> = Vec::new();
        let depth = self.path.len();
        for step in &model.steps {
            self.path.truncate(depth);
            self.path.extend(
                step.name
                    .rsplit_once('.')
                    .map_or(step.name.as_str(), |(_, last)| last)
                    .split('.')
                    .filter(|s| !s.is_empty())
                    .map(str::to_string),
            );
            self.at(step.span);
            let node = self.step(model, w, g, image, step, &done)?;
            done.push(node);
        }
        self.path.truncate(depth);
        Ok(done.last().copied().unwrap_or(image))
    }

    fn step(
        &mut self,
        model: &Model,
        w: &Val,
        g: u64,
        image: NodeId,
        step: &Step,
        done: &[NodeId],
    ) -> Result<NodeId> {
        let param = |b: &mut Self, id: usize, shape: &[u64]| -> NodeId {
            let p = &model.params[id];
            let v = b.field(w, p.offset, &p.shape);
            let mut to = vec![g];
            to.extend(shape);
            b.reshape(v.node, to)
        };
        Ok(match &step.kind {
            StepKind::Input => image,
            StepKind::Conv2d { x, weight, bias, conv } => {
                let shape = model.params[*weight].shape.clone();
                let kernel = param(self, *weight, &shape);
                let y = self.add(Op::Conv2d(*conv), &[done[*x], kernel]);
                match bias {
                    Some(b) => {
                        let b = param(self, *b, &[1, shape[0], 1, 1]);
                        self.add(Op::Add, &[y, b])
                    }
                    None => y,
                }
            }
            StepKind::Linear { x, weight, bias } => {
                let shape = model.params[*weight].shape.clone();
                let matrix = param(self, *weight, &shape);
                let y = self.add(Op::MatMul { trans_b: true }, &[done[*x], matrix]);
                match bias {
                    Some(b) => {
                        let b = param(self, *b, &[1, shape[0]]);
                        self.add(Op::Add, &[y, b])
                    }
                    None => y,
                }
            }
            StepKind::BatchNorm { x, weight, bias, mean, var, eps } => {
                // Channels come first, of a vector as of an image.
                let mut shape = vec![1; step.shape.len() + 1];
                shape[1] = model.params[*weight].shape[0];
                let [weight, bias, mean, var] =
                    [weight, bias, mean, var].map(|p| param(self, *p, &shape));
                let eps = self.constant(
                    crate::graph::Table::splat(*eps, vec![1; shape.len() + 1]),
                    crate::types::Elem::Fix,
                );
                // Who gives the weights may give a negative variance. As 0 it keeps the root away from 0, and the
                // reciprocal small.
                let var = self.add(Op::Relu, &[var]);
                let var = self.add(Op::Add, &[var, eps]);
                let root = self.add(Op::Function(Function::Sqrt), &[var]);
                let inverse = self.add(Op::Function(Function::Recip), &[root]);
                let scale = self.add(Op::Mul, &[weight, inverse]);
                let centred = self.add(Op::Sub, &[done[*x], mean]);
                let scaled = self.add(Op::Mul, &[centred, scale]);
                self.add(Op::Add, &[scaled, bias])
            }
            StepKind::Relu(x) => self.add(Op::Relu, &[done[*x]]),
            StepKind::AvgPool { x, k, stride } => self.avg_pool(done[*x], *k, *stride),
            StepKind::MaxPool { x, k, stride } => {
                self.add(Op::MaxPool { k: *k, stride: *stride }, &[done[*x]])
            }
            StepKind::GlobalAvgPool(x) => {
                let shape = self.graph.shape(done[*x]).to_vec();
                let n = shape.len();
                let sum = self.add(Op::Sum(vec![n as u64 - 2, n as u64 - 1]), &[done[*x]]);
                let area = (shape[n - 2] * shape[n - 1]) as f64;
                self.add(Op::Scale(1.0 / area), &[sum])
            }
            StepKind::Flatten(x) => {
                let shape = self.graph.shape(done[*x]).to_vec();
                let to = vec![shape[0], shape[1], shape[2..].iter().product()];
                self.reshape(done[*x], to)
            }
            StepKind::Add(a, b) => self.add(Op::Add, &[done[*a], done[*b]]),
        })
    }

    /// Sum over windows, divided by their area.
    fn avg_pool(&mut self, x: NodeId, k: u64, stride: u64) -> NodeId {
        let shape = self.graph.shape(x).to_vec();
        let r = shape.len();
        let (h, w) = ((shape[r - 2] - k) / stride + 1, (shape[r - 1] - k) / stride + 1);
        let window = |b: &mut Self, dy: u64, dx: u64| {
            let (rows, cols) = (r as u64 - 2, r as u64 - 1);
            let x = b.add(Op::Slice { axis: rows, start: dy, len: h, step: stride }, &[x]);
            b.add(Op::Slice { axis: cols, start: dx, len: w, step: stride }, &[x])
        };
        let sum = if k == stride && shape[r - 2] == h * k && shape[r - 1] == w * k {
            let mut to = shape[..r - 2].to_vec();
            to.extend([h, k, w, k]);
            let tiles = self.reshape(x, to);
            let r = r as u64;
            self.add(Op::Sum(vec![r - 1, r + 1]), &[tiles])
        } else {
            let mut sum = window(self, 0, 0);
            for at in 1..k * k {
                let next = window(self, at / k, at % k);
                sum = self.add(Op::Add, &[sum, next]);
            }
            sum
        };
        self.add(Op::Scale(1.0 / (k * k) as f64), &[sum])
    }
}
