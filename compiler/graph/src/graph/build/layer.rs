//! Layers of the compiler. Operands and results are `[G, N, ..]`: G ranges over the axes of the parameters, N over
//! those that only the operand has. Either of the two is 1 where a value does not depend on its axes.

use super::builder::{Axis, Builder, Result, Val, ascending, union};
use crate::graph::{Function, NodeId, Op, Table};
use slvr_language::types::layer::Layer;
use slvr_language::types::{Conv, Elem, Expr};

/// The batch axes of a model or of a layer.
pub(super) struct Batch {
    /// Axes of the parameters.
    pub of_weights: Vec<Axis>,
    /// Axes that only the operand has.
    pub alone: Vec<Axis>,
    /// Product of the sizes of the former.
    pub g: u64,
    /// Product of the sizes of the latter.
    pub n: u64,
}

/// Gives a parameter by its number, with G in front and these dimensions.
type Params<'p, 'b> = &'p mut dyn FnMut(&mut Builder<'b>, usize, &[u64]) -> NodeId;

impl<'b> Builder<'b> {
    /// A layer applied in an expression: to an operand, which comes first, with its parameters.
    pub(super) fn layer_expr(&mut self, layer: &Layer, args: &[Expr]) -> Result<Val> {
        let mut vals = Vec::with_capacity(args.len());
        for arg in args {
            let v = self.expr(arg)?;
            vals.push(self.as_number(v));
        }
        let (x, params) = vals.split_at(1);
        let batch = self.batch(union(params), &x[0]);
        let x = self.batched(&batch, &x[0]);
        let mut param = |b: &mut Self, at: usize, shape: &[u64]| {
            let node = b.expand(&params[at], &batch.of_weights);
            b.reshape(node, [&[batch.g], shape].concat())
        };
        let out = self.layer(layer, x, &mut param);
        Ok(self.unbatched(&batch, out))
    }

    /// The batch of parameters with these axes, and of an operand.
    pub(super) fn batch(&self, of_weights: Vec<Axis>, x: &Val) -> Batch {
        let alone: Vec<Axis> = x.axes.iter().copied().filter(|a| !of_weights.contains(a)).collect();
        let size = |axes: &[Axis]| axes.iter().map(|&a| self.size(a)).product();
        let (g, n) = (size(&of_weights), size(&alone));
        Batch { of_weights, alone, g, n }
    }

    /// A value `[G, N, ..]` with its batch axes.
    pub(super) fn unbatched(&mut self, batch: &Batch, node: NodeId) -> Val {
        let shape = self.graph.shape(node).to_vec();
        let mut order = Vec::new();
        for (axes, (size, found)) in
            [(&batch.of_weights, (batch.g, shape[0])), (&batch.alone, (batch.n, shape[1]))]
        {
            if found == size {
                order.extend(axes);
            }
        }
        let mut to: Vec<u64> = order.iter().map(|&a| self.size(a)).collect();
        to.extend(&shape[2..]);
        let node = self.reshape(node, to);
        let axes = ascending(order.clone());
        Val { node: self.permute(node, &order, &axes), axes }
    }

    /// A value as `[G, N, ..]`, with a 1 for what it does not depend on.
    pub(super) fn batched(&mut self, batch: &Batch, v: &Val) -> NodeId {
        let depends = |axes: &[Axis]| axes.iter().any(|a| v.axes.contains(a));
        let mut order = Vec::new();
        let mut to = Vec::new();
        for (axes, size) in [(&batch.of_weights, batch.g), (&batch.alone, batch.n)] {
            if depends(axes) {
                order.extend(axes);
                to.push(size);
            } else {
                to.push(1);
            }
        }
        let sorted = ascending(order.clone());
        to.extend(self.own(v));
        let node = self.expand(v, &sorted);
        let node = self.permute(node, &sorted, &order);
        self.reshape(node, to)
    }

    /// Batch axes from one order into another.
    pub(super) fn permute(&mut self, node: NodeId, have: &[Axis], want: &[Axis]) -> NodeId {
        let mut perm: Vec<u64> =
            want.iter().map(|a| have.iter().position(|b| b == a).unwrap_or(0) as u64).collect();
        perm.extend(have.len() as u64..self.graph.shape(node).len() as u64);
        self.transpose(node, perm)
    }

    /// What a layer makes of `x`.
    pub(super) fn layer(&mut self, layer: &Layer, x: NodeId, param: Params<'_, 'b>) -> NodeId {
        let shape = self.graph.shape(x).to_vec();
        match layer {
            Layer::Conv2d { cout, conv, pad_w, bias, .. } => {
                let kernel = param(self, 0, &layer.params()[0].1);
                let y = self.conv2d(x, kernel, *conv, *pad_w);
                if *bias {
                    let b = param(self, 1, &[1, *cout, 1, 1]);
                    self.add(Op::Add, &[y, b])
                } else {
                    y
                }
            }
            Layer::Linear { inputs, outputs, bias } => {
                let matrix = param(self, 0, &[*outputs, *inputs]);
                let (first, rest) = shape.split_at(1);
                let rows = rest[..rest.len() - 1].iter().product();
                let x = self.reshape(x, vec![first[0], rows, *inputs]);
                let y = self.add(Op::MatMul { trans_b: true }, &[x, matrix]);
                let y = if *bias {
                    let b = param(self, 1, &[1, *outputs]);
                    self.add(Op::Add, &[y, b])
                } else {
                    y
                };
                let mut to = vec![self.graph.shape(y)[0]];
                to.extend(&rest[..rest.len() - 1]);
                to.push(*outputs);
                self.reshape(y, to)
            }
            Layer::BatchNorm { channels, eps } => {
                // Channels come first, of a vector as of an image.
                let mut wide = vec![1; shape.len() - 1];
                wide[1] = *channels;
                let [weight, bias, mean, var] = [0, 1, 2, 3].map(|at| param(self, at, &wide));
                let eps = self.constant(Table::splat(*eps, vec![1; shape.len()]), Elem::Fix);
                // Who gives the weights may give a negative variance. As 0 it keeps the root away from 0, and the
                // reciprocal small.
                let var = self.add(Op::Relu, &[var]);
                let var = self.add(Op::Add, &[var, eps]);
                let root = self.add(Op::Function(Function::Sqrt), &[var]);
                let inverse = self.add(Op::Function(Function::Recip), &[root]);
                let scale = self.add(Op::Mul, &[weight, inverse]);
                let centred = self.add(Op::Sub, &[x, mean]);
                let scaled = self.add(Op::Mul, &[centred, scale]);
                self.add(Op::Add, &[scaled, bias])
            }
            Layer::Relu => self.add(Op::Relu, &[x]),
            Layer::AvgPool { k, stride } => self.avg_pool(x, *k, *stride),
            Layer::MaxPool { k, stride } => self.add(Op::MaxPool { k: *k, stride: *stride }, &[x]),
            Layer::GlobalAvgPool => {
                let n = shape.len();
                let sum = self.add(Op::Sum(vec![n as u64 - 2, n as u64 - 1]), &[x]);
                let area = (shape[n - 2] * shape[n - 1]) as f64;
                self.add(Op::Scale(1.0 / area), &[sum])
            }
            Layer::Flatten => {
                let to = vec![shape[0], shape[1], shape[2..].iter().product()];
                self.reshape(x, to)
            }
            Layer::Identity => x,
        }
    }

    /// A convolution. The operation pads all four sides alike, so other paddings are written out.
    fn conv2d(&mut self, x: NodeId, kernel: NodeId, conv: Conv, pad_w: u64) -> NodeId {
        if conv.pad == pad_w {
            return self.add(Op::Conv2d(conv), &[x, kernel]);
        }
        let rank = self.graph.shape(x).len() as u64;
        let tall = self.padded(x, rank - 2, conv.pad);
        let wide = self.padded(tall, rank - 1, pad_w);
        self.add(Op::Conv2d(Conv { pad: 0, ..conv }), &[wide, kernel])
    }

    /// Zeros on both sides of an axis.
    fn padded(&mut self, x: NodeId, axis: u64, pad: u64) -> NodeId {
        if pad == 0 {
            return x;
        }
        let mut shape = self.graph.shape(x).to_vec();
        shape[axis as usize] = pad;
        let elem = self.graph.ty(x).elem;
        let zeros = self.constant(Table::splat(0.0, shape), elem);
        self.add(Op::Concat(axis), &[zeros, x, zeros])
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
