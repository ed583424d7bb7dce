//! Models that are chains of layers: forward and backward pass over a batch, in f32.
//!
//! This is the fast way for convolutions, linear layers, batch normalisation, ReLU, pooling, sums and expressions that
//! only put entries in places. What else a model can contain is differentiated by [`super::reverse`], which these passes
//! are tested against.
//!
//! Weights are one flat vector in the model's layout, gradients too. [`Chain::new`] resolves every shape and offset of a
//! model once; after that the passes cannot fail.
//!
//! Batch normalisation works as in inference: running mean and variance are constants, the
//! gradient reaches its operand, its scale and its shift, and an update leaves them alone. That is
//! what a predicate computes, and it keeps a client's update a function of the weight vector only.

use super::fill::slot;
use super::kernels::{self, LANES, Lanes, Scratch, Window, flat_mut, matrix};
use super::loss::cross_entropy;
use super::number::{Matrix, Number};
use super::outline::Outline;
use slvr_compiler::types::eval::{Placed, placement};
use slvr_compiler::types::layer::Layer;
use slvr_compiler::types::model::Model;
use slvr_compiler::types::{BinOp, Body, Conv, Expr, ExprKind, Program, Source, VarId};
use std::collections::HashMap;
use std::ops::Range;

/// A model ready to be evaluated and differentiated.
#[derive(Clone, Debug)]
pub struct Chain {
    nodes: Vec<Node>,
    pub(super) outline: Outline,
}

/// A value with its sizes. Its entries are stored `[lead, area]`, of [`LANES`] images side by side.
#[derive(Clone, Debug)]
struct Node {
    op: Op,
    shape: Vec<usize>,
    /// First dimension: channels, or the length of a vector.
    lead: usize,
    /// Product of the other dimensions.
    area: usize,
}

/// Index of a value in its chain.
type NodeId = usize;

#[derive(Clone, Debug)]
enum Op {
    Input,
    Conv { x: NodeId, weight: Range<usize>, bias: Option<Range<usize>>, window: Window },
    Linear { x: NodeId, weight: Range<usize>, bias: Option<Range<usize>>, inputs: usize },
    Norm { x: NodeId, weight: usize, bias: usize, mean: usize, var: usize, eps: f32 },
    Relu(NodeId),
    Avg(NodeId, Window),
    Max(NodeId, Window),
    GlobalAvg(NodeId),
    Flatten(NodeId),
    Add(NodeId, NodeId),
    Place(NodeId, Vec<Placed>),
}

/// Buffers of a pass, to be reused from batch to batch.
#[derive(Default)]
pub struct Workspace {
    /// Values of the nodes.
    values: Vec<Vec<Lanes>>,
    /// Gradients by them.
    grads: Vec<Vec<Lanes>>,
    scratch: Scratch,
}

impl Chain {
    /// The first model of a program, if it is a chain.
    pub fn new(program: &Program) -> Option<Chain> {
        let model = program.models.first()?;
        let mut reader = Reader { program, model, nodes: Vec::new(), of: HashMap::new() };
        let x = reader.push(Op::Input, &model.input)?;
        reader.of.insert(model.x, x);
        let last = reader.body(&model.body)?;
        let mut nodes = reader.nodes;
        nodes.truncate(last + 1);
        let (first, last) = (nodes.first()?, nodes.last()?);
        (last.area == 1).then_some(())?;
        let outline = Outline::new(model, first.shape.clone(), last.lead).ok()?;
        Some(Chain { nodes, outline })
    }

    /// Samples for one thread: as many as are computed side by side, or twice as many where the model is small.
    pub fn piece(&self) -> usize {
        let each: usize = self.nodes.iter().map(|node| node.lead * node.area).sum();
        if each > 1 << 19 { LANES } else { 2 * LANES }
    }

    /// The outputs of a batch, one row for each image.
    pub fn logits(&self, weights: &[f32], images: &[f32], space: &mut Workspace) -> Vec<f32> {
        let (one, classes) = (self.outline.input_len(), self.outline.classes);
        let mut rows = Vec::with_capacity(images.len() / one * classes);
        for part in images.chunks(LANES * one) {
            self.forward(weights, part, space);
            let last = &space.values[self.nodes.len() - 1];
            for lane in 0..part.len() / one {
                rows.extend(last.iter().map(|z| z.0[lane]));
            }
        }
        rows
    }

    /// As [`super::net::Net::gradient`].
    pub fn gradient(
        &self,
        weights: &[f32],
        (images, labels): (&[f32], &[u8]),
        count: usize,
        gradient: &mut [f32],
        space: &mut Workspace,
    ) -> f64 {
        let parts = images.chunks(LANES * self.outline.input_len()).zip(labels.chunks(LANES));
        parts.map(|part| self.part_gradient(weights, part, count, gradient, space)).sum()
    }

    /// [`Self::gradient`] of at most [`LANES`] images.
    fn part_gradient(
        &self,
        weights: &[f32],
        (images, labels): (&[f32], &[u8]),
        count: usize,
        gradient: &mut [f32],
        space: &mut Workspace,
    ) -> f64 {
        self.forward(weights, images, space);
        let Workspace { values, grads, scratch } = space;
        grads.resize_with(self.nodes.len(), Vec::new);
        for (grad, value) in grads.iter_mut().zip(values.iter()) {
            grad.clear();
            grad.resize(value.len(), Lanes::default());
        }
        let last = self.nodes.len() - 1;
        let (z, dz) = (kernels::flat(&values[last]), flat_mut(&mut grads[last]));
        let loss = cross_entropy(z, labels, self.outline.classes, count, dz);
        for (index, node) in self.nodes.iter().enumerate().skip(1).rev() {
            let (before, rest) = grads.split_at_mut(index);
            let dy = &rest[0][..];
            match &node.op {
                Op::Input => {}
                Op::Conv { x, .. } => {
                    let x = (&values[*x][..], self.wanted(*x, before));
                    conv_back(node, weights, x, dy, gradient, scratch);
                }
                Op::Linear { x, .. } => {
                    let x = (&values[*x][..], self.wanted(*x, before));
                    linear_back(node, weights, x, (dy, labels.len()), gradient);
                }
                Op::Norm { x, .. } => {
                    let x = (&values[*x][..], &mut before[*x][..]);
                    norm_back(node, weights, x, dy, gradient);
                }
                Op::Relu(x) => relu_back(&mut before[*x], dy, &values[index]),
                Op::Avg(x, window) => kernels::add_average(window, dy, &mut before[*x]),
                Op::Max(x, window) => {
                    kernels::add_maximum(window, &values[*x], dy, &mut before[*x]);
                }
                Op::GlobalAvg(x) => means_back(&mut before[*x], dy, self.nodes[*x].area),
                Op::Flatten(x) => add_all(&mut before[*x], dy),
                Op::Add(a, b) => [*a, *b].iter().for_each(|x| add_all(&mut before[*x], dy)),
                Op::Place(of, entries) => place_back(&mut before[*of], entries, dy),
            }
        }
        loss
    }

    /// Where the derivative by an operand goes; that by the images is nobody's.
    fn wanted<'a>(&self, x: NodeId, before: &'a mut [Vec<Lanes>]) -> Option<&'a mut [Lanes]> {
        (!matches!(self.nodes[x].op, Op::Input)).then(|| &mut before[x][..])
    }

    /// Values of all nodes for at most [`LANES`] images.
    fn forward(&self, weights: &[f32], images: &[f32], space: &mut Workspace) {
        let Workspace { values, scratch, .. } = space;
        values.resize_with(self.nodes.len(), Vec::new);
        for (index, node) in self.nodes.iter().enumerate() {
            let (before, rest) = values.split_at_mut(index);
            let y = &mut rest[0];
            y.resize(node.lead * node.area, Lanes::default());
            match &node.op {
                Op::Input => kernels::gather(images, self.outline.input_len(), y),
                Op::Conv { x, weight, bias, window } => {
                    fill_rows(y, node.area, bias, weights);
                    kernels::convolve(window, &weights[weight.clone()], &before[*x], y, scratch);
                }
                Op::Linear { x, weight, bias, inputs } => {
                    fill_rows(y, 1, bias, weights);
                    let w = Matrix::new(&weights[weight.clone()], *inputs);
                    let x = matrix(&before[*x]);
                    f32::gemm([node.lead, *inputs, LANES], w, x, 1.0, flat_mut(y));
                }
                Op::Norm { x, .. } => norm(node, weights, &before[*x], y),
                Op::Relu(x) => {
                    let xs = before[*x].iter();
                    y.iter_mut().zip(xs).for_each(|(y, x)| *y = Lanes(x.0.map(|x| x.max(0.0))));
                }
                Op::Avg(x, window) => kernels::average(window, &before[*x], y),
                Op::Max(x, window) => kernels::maximum(window, &before[*x], y),
                Op::GlobalAvg(x) => means(&before[*x], self.nodes[*x].area, y),
                Op::Flatten(x) => y.copy_from_slice(&before[*x]),
                Op::Add(a, b) => {
                    y.copy_from_slice(&before[*a]);
                    add_all(y, &before[*b]);
                }
                Op::Place(of, entries) => place(&before[*of], entries, y),
            }
        }
    }
}

/// The derivatives of a convolution by its weights, its biases and its operand.
fn conv_back(
    node: &Node,
    weights: &[f32],
    (x, dx): (&[Lanes], Option<&mut [Lanes]>),
    dy: &[Lanes],
    gradient: &mut [f32],
    scratch: &mut Scratch,
) {
    let Op::Conv { weight, bias, window, .. } = &node.op else { return };
    kernels::add_weights(window, x, dy, &mut gradient[weight.clone()], scratch);
    add_rows(dy, node.area, bias, gradient);
    if let Some(dx) = dx {
        kernels::add_inputs(window, &weights[weight.clone()], dy, dx, scratch);
    }
}

/// The derivatives of a linear layer by its weights, its biases and its operand, of so many images.
fn linear_back(
    node: &Node,
    weights: &[f32],
    (x, dx): (&[Lanes], Option<&mut [Lanes]>),
    (dy, images): (&[Lanes], usize),
    gradient: &mut [f32],
) {
    let Op::Linear { weight, bias, inputs, .. } = &node.op else { return };
    let (out, by) = (node.lead, matrix(dy));
    let dw = &mut gradient[weight.clone()];
    f32::gemm([out, images, *inputs], by, matrix(x).transposed(), 1.0, dw);
    add_rows(dy, 1, bias, gradient);
    if let Some(dx) = dx {
        let w = Matrix::new(&weights[weight.clone()], *inputs).transposed();
        f32::gemm([*inputs, out, LANES], w, by, 1.0, flat_mut(dx));
    }
}

/// A normalisation.
fn norm(node: &Node, weights: &[f32], x: &[Lanes], y: &mut [Lanes]) {
    let Op::Norm { weight, bias, mean, var, eps, .. } = &node.op else { return };
    for c in 0..node.lead {
        let slope = weights[weight + c] / (weights[var + c] + eps).sqrt();
        let shift = weights[bias + c] - weights[mean + c] * slope;
        let row = c * node.area..(c + 1) * node.area;
        for (y, x) in y[row.clone()].iter_mut().zip(&x[row]) {
            *y = Lanes(x.0.map(|x| x * slope + shift));
        }
    }
}

/// The derivatives of a normalisation by its scale, its shift and its operand; mean and variance are constants.
fn norm_back(
    node: &Node,
    weights: &[f32],
    (xs, dxs): (&[Lanes], &mut [Lanes]),
    dy: &[Lanes],
    gradient: &mut [f32],
) {
    let Op::Norm { weight, bias, mean, var, eps, .. } = &node.op else { return };
    for c in 0..node.lead {
        let deviation = (weights[var + c] + eps).sqrt();
        let slope = weights[weight + c] / deviation;
        let row = c * node.area..(c + 1) * node.area;
        let (mut by_scale, mut by_shift) = (Lanes::default(), Lanes::default());
        let pairs = xs[row.clone()].iter().zip(&mut dxs[row.clone()]);
        for (d, (x, dx)) in dy[row].iter().zip(pairs) {
            for lane in 0..LANES {
                by_scale.0[lane] += d.0[lane] * (x.0[lane] - weights[mean + c]);
                by_shift.0[lane] += d.0[lane];
                dx.0[lane] += d.0[lane] * slope;
            }
        }
        gradient[weight + c] += by_scale.sum() / deviation;
        gradient[bias + c] += by_shift.sum();
    }
}

/// Where the value y is above 0, the derivative by it.
fn relu_back(dx: &mut [Lanes], dy: &[Lanes], y: &[Lanes]) {
    for ((dx, d), y) in dx.iter_mut().zip(dy).zip(y) {
        for ((dx, d), y) in dx.0.iter_mut().zip(&d.0).zip(&y.0) {
            // A mask, because a branch on such data is mispredicted half the time.
            let mask = u32::from(*y > 0.0).wrapping_neg();
            *dx += f32::from_bits(d.to_bits() & mask);
        }
    }
}

/// The mean of each plane.
fn means(x: &[Lanes], area: usize, y: &mut [Lanes]) {
    for (y, plane) in y.iter_mut().zip(x.chunks_exact(area)) {
        let mut sum = Lanes::default();
        plane.iter().for_each(|x| sum.add(x));
        *y = Lanes(sum.0.map(|s| s / area as f32));
    }
}

fn means_back(dx: &mut [Lanes], dy: &[Lanes], area: usize) {
    for (plane, d) in dx.chunks_exact_mut(area).zip(dy) {
        let d = Lanes(d.0.map(|d| d / area as f32));
        plane.iter_mut().for_each(|dx| dx.add(&d));
    }
}

/// Entries and numbers where a step puts them.
fn place(x: &[Lanes], entries: &[Placed], y: &mut [Lanes]) {
    for (y, placed) in y.iter_mut().zip(entries) {
        *y = match placed {
            Placed::Entry(at) => x[*at],
            Placed::Number(number) => Lanes::all(*number as f32),
        };
    }
}

fn place_back(dx: &mut [Lanes], entries: &[Placed], dy: &[Lanes]) {
    for (placed, d) in entries.iter().zip(dy) {
        if let Placed::Entry(at) = placed {
            dx[*at].add(d);
        }
    }
}

fn add_all(to: &mut [Lanes], x: &[Lanes]) {
    to.iter_mut().zip(x).for_each(|(to, x)| to.add(x));
}

/// Each row set to its bias, or to zero.
fn fill_rows(y: &mut [Lanes], width: usize, bias: &Option<Range<usize>>, weights: &[f32]) {
    match bias {
        Some(bias) => {
            let rows = y.chunks_exact_mut(width.max(1));
            rows.zip(&weights[bias.clone()]).for_each(|(row, b)| row.fill(Lanes::all(*b)));
        }
        None => y.fill(Lanes::default()),
    }
}

/// The sum of each row added to the gradient of its bias.
fn add_rows(dy: &[Lanes], width: usize, bias: &Option<Range<usize>>, gradient: &mut [f32]) {
    if let Some(bias) = bias {
        let rows = dy.chunks_exact(width.max(1));
        for (g, row) in gradient[bias.clone()].iter_mut().zip(rows) {
            let mut sum = Lanes::default();
            row.iter().for_each(|d| sum.add(d));
            *g += sum.sum();
        }
    }
}

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
                match layer {
                    Layer::Identity => Some(x),
                    _ => self.layer(layer, x, &params).and_then(|op| self.push(op, &shape)),
                }
            }
            _ => None,
        }
    }

    /// A layer of a value, with the places of its parameters among the weights.
    fn layer(&self, layer: &Layer, x: NodeId, params: &[Range<usize>]) -> Option<Op> {
        let from = &self.nodes[x];
        let pooled = |k: u64, stride| {
            let image = <[usize; 3]>::try_from(from.shape.as_slice()).ok()?;
            Window::new(image, usize::try_from(k).ok()?, &Conv::new(stride, 0))
        };
        let weight = || params.first().cloned();
        Some(match *layer {
            Layer::Conv2d { kernel: [k, wide], conv, pad_w, .. } => {
                (k == wide && conv.pad == pad_w).then_some(())?;
                let image = <[usize; 3]>::try_from(from.shape.as_slice()).ok()?;
                let window = Window::new(image, usize::try_from(k).ok()?, &conv)?;
                Op::Conv { x, weight: weight()?, bias: params.get(1).cloned(), window }
            }
            Layer::Linear { .. } => {
                let &[inputs] = from.shape.as_slice() else { return None };
                Op::Linear { x, weight: weight()?, bias: params.get(1).cloned(), inputs }
            }
            Layer::BatchNorm { eps, .. } => {
                let [weight, bias, mean, var] = params else { return None };
                let [weight, bias, mean, var] = [weight, bias, mean, var].map(|p| p.start);
                Op::Norm { x, weight, bias, mean, var, eps: eps as f32 }
            }
            Layer::Relu => Op::Relu(x),
            Layer::AvgPool { k, stride } => Op::Avg(x, pooled(k, stride)?),
            Layer::MaxPool { k, stride } => Op::Max(x, pooled(k, stride)?),
            Layer::GlobalAvgPool => Op::GlobalAvg(x),
            Layer::Flatten => Op::Flatten(x),
            Layer::Identity => return None,
        })
    }
}
