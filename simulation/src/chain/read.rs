//! Which models are chains: their values, layer by layer, with every shape and offset resolved.

use super::layers::{Conv, Linear, Norm};
use super::{Node, NodeId, Op};
use crate::fill::slot;
use crate::kernels::Window;
use slvr_compiler::types::eval::placement;
use slvr_compiler::types::layer::Layer;
use slvr_compiler::types::model::Model;
use slvr_compiler::types::{self, BinOp, Body, Expr, ExprKind, Program, Source, VarId};
use std::collections::HashMap;
use std::ops::Range;

/// Sizes that fit a machine word, none of them zero, at least one.
fn sizes(shape: &[u64]) -> Option<Vec<usize>> {
    let shape: Vec<usize> =
        shape.iter().map(|&d| usize::try_from(d).ok()).collect::<Option<_>>()?;
    (!shape.is_empty() && elements(&shape)? > 0).then_some(shape)
}

fn elements(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d))
}

/// A model whose values are being resolved.
struct Reader<'a> {
    program: &'a Program,
    model: &'a Model,
    nodes: Vec<Node>,
    of: HashMap<VarId, NodeId>,
}

/// The values of a model, if they are those of a chain. The last one is its result.
pub(super) fn nodes(program: &Program, model: &Model) -> Option<Vec<Node>> {
    let mut reader = Reader { program, model, nodes: Vec::new(), of: HashMap::new() };
    let x = reader.push(Op::Input, &model.input)?;
    reader.of.insert(model.x, x);
    let last = reader.body(&model.body)?;
    let mut nodes = reader.nodes;
    nodes.truncate(last + 1);
    Some(nodes)
}

impl Reader<'_> {
    fn push(&mut self, op: Op, shape: &[u64]) -> Option<NodeId> {
        let shape = sizes(shape)?;
        let area = elements(&shape[1..])?;
        self.nodes.push(Node { op, lead: shape[0], area, shape });
        Some(self.nodes.len() - 1)
    }

    /// The one value of a body.
    fn body(&mut self, body: &Body) -> Option<NodeId> {
        for definition in &body.lets {
            let ([var], Source::Value(value)) = (&definition.vars[..], &definition.source) else {
                return None;
            };
            let node = self.value(value)?;
            self.of.insert(*var, node);
        }
        let [value] = &body.values[..] else { return None };
        self.value(value)
    }

    /// The value of an expression, unless its derivative is not known here.
    fn value(&mut self, e: &Expr) -> Option<NodeId> {
        let shape = e.ty.shape();
        if let ExprKind::Var(var) = &e.kind {
            return self.of.get(var).copied();
        }
        if let Some(placed) = placement(self.program, e) {
            let of = *self.of.get(&placed.of)?;
            return self.push(Op::Place(of, placed.entries), &shape);
        }
        match &e.kind {
            ExprKind::Let(body) => self.body(body),
            ExprKind::Binary(BinOp::Add, a, b) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                let same = |x: NodeId| {
                    self.nodes[x].shape.iter().map(|&d| d as u64).eq(shape.iter().copied())
                };
                (same(a) && same(b)).then_some(())?;
                self.push(Op::Add(a, b), &shape)
            }
            ExprKind::Layer(layer, args) => {
                let (x, params) = args.split_first()?;
                let x = self.value(x)?;
                let param = |e: &Expr| match e.kind {
                    ExprKind::Var(var) => {
                        slot(self.model, &self.model.params[*self.model.read.get(&var)?])
                    }
                    _ => None,
                };
                let params = params.iter().map(param).collect::<Option<Vec<_>>>()?;
                self.layer(layer, x, &params, &shape)
            }
            _ => None,
        }
    }

    /// A layer of a value, with the places of its parameters among the weights and the shape of its result.
    fn layer(
        &mut self,
        layer: &Layer,
        x: NodeId,
        params: &[Range<usize>],
        shape: &[u64],
    ) -> Option<NodeId> {
        let from = &self.nodes[x];
        let pooled = |k: u64, stride| {
            let image = <[usize; 3]>::try_from(from.shape.as_slice()).ok()?;
            Window::new(image, usize::try_from(k).ok()?, &types::Conv::new(stride, 0))
        };
        let weight = || params.first().cloned();
        let op = match *layer {
            // Kernels are square here, and images padded alike in height and width.
            Layer::Conv2d { kernel: [k, wide], conv, pad_w, .. } => {
                (k == wide && conv.pad == pad_w).then_some(())?;
                let image = <[usize; 3]>::try_from(from.shape.as_slice()).ok()?;
                let window = Window::new(image, usize::try_from(k).ok()?, &conv)?;
                Op::Conv(x, Conv { weight: weight()?, bias: params.get(1).cloned(), window })
            }
            Layer::Linear { .. } => {
                let &[inputs] = from.shape.as_slice() else { return None };
                Op::Linear(x, Linear { weight: weight()?, bias: params.get(1).cloned(), inputs })
            }
            Layer::BatchNorm { eps, .. } => {
                let [weight, bias, mean, var] = params else { return None };
                let [weight, bias, mean, var] = [weight, bias, mean, var].map(|p| p.start);
                let (eps, channels) = (eps as f32, from.lead);
                Op::Norm(x, Norm { weight, bias, mean, var, eps, channels })
            }
            Layer::Relu => Op::Relu(x),
            Layer::AvgPool { k, stride } => Op::Avg(x, pooled(k, stride)?),
            Layer::MaxPool { k, stride } => Op::Max(x, pooled(k, stride)?),
            Layer::GlobalAvgPool => Op::GlobalAvg(x),
            Layer::Flatten => Op::Flatten(x),
            Layer::Identity => return Some(x),
        };
        self.push(op, shape)
    }
}
