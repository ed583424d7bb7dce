//! Models that are chains of layers: forward and backward pass over a batch, in f32.
//!
//! This is the fast way for convolutions, linear layers, batch normalisation, ReLU, pooling, sums and expressions that
//! only put entries in places. What else a model can contain is differentiated by [`super::reverse`], which these passes
//! are tested against.
//!
//! Weights are one flat vector in the model's layout, gradients too. [`Chain::new`] checks a
//! [`Model`] once and resolves every shape and offset; after that the passes cannot fail.
//!
//! Batch normalisation works as in inference: running mean and variance are constants, the
//! gradient reaches its operand, its scale and its shift, and an update leaves them alone. That is
//! what a predicate computes, and it keeps a client's update a function of the weight vector only.

use super::error::NetError;
use super::fill::slot;
use super::kernels::{self, LANES, Lanes, Scratch, Window, flat_mut, matrix};
use super::loss::cross_entropy;
use super::number::{Matrix, Number};
use super::outline::Outline;
use slvr_compiler::types::Conv;
use slvr_compiler::types::eval::{Placed, Placement};
use slvr_compiler::types::layer::Layer;
use slvr_compiler::types::model::{Model, StepId, StepKind};
use std::ops::Range;

/// A model ready to be evaluated and differentiated.
#[derive(Clone, Debug)]
pub struct Chain {
    nodes: Vec<Node>,
    pub(super) outline: Outline,
}

/// A step with its sizes. Its results are stored `[lead, area]`, of [`LANES`] images side by side.
#[derive(Clone, Debug)]
struct Node {
    op: Op,
    shape: Vec<usize>,
    /// First dimension: channels, or the length of a vector.
    lead: usize,
    /// Product of the other dimensions.
    area: usize,
}

#[derive(Clone, Debug)]
enum Op {
    Input,
    Conv { x: StepId, weight: Range<usize>, bias: Option<Range<usize>>, window: Window },
    Linear { x: StepId, weight: Range<usize>, bias: Option<Range<usize>>, inputs: usize },
    Norm { x: StepId, weight: usize, bias: usize, mean: usize, var: usize, eps: f32 },
    Relu(StepId),
    Avg(StepId, Window),
    Max(StepId, Window),
    GlobalAvg(StepId),
    Flatten(StepId),
    Add(StepId, StepId),
    Place(Placement),
}

/// Buffers of a pass, to be reused from batch to batch.
#[derive(Default)]
pub struct Workspace {
    /// Results of the steps.
    values: Vec<Vec<Lanes>>,
    /// Gradients by them.
    grads: Vec<Vec<Lanes>>,
    scratch: Scratch,
}

impl Chain {
    /// Checks a model and resolves its shapes and offsets. `placement` is that of an expression of the model
    /// ([`slvr_compiler::types::eval::placement`]).
    pub fn new(
        model: &Model,
        placement: impl Fn(StepId) -> Option<Placement>,
    ) -> Result<Chain, NetError> {
        let mut nodes: Vec<Node> = Vec::with_capacity(model.steps.len());
        for (index, step) in model.steps.iter().enumerate() {
            let placed = placement(index);
            if !trains(&nodes, &step.kind) && placed.is_none() {
                return Err(NetError::Untrained { step: index, name: step.name.clone() });
            }
            let node = sizes(&step.shape).and_then(|shape| {
                let op = match placed {
                    Some(placed) => place(&nodes, placed, &shape)?,
                    None => resolve(model, &nodes, &step.kind, &shape)?,
                };
                let area = elements(shape.get(1..)?)?;
                Some(Node { op, lead: shape[0], area, shape })
            });
            nodes
                .push(node.ok_or_else(|| NetError::Step { step: index, name: step.name.clone() })?);
        }
        let (first, last) = nodes.first().zip(nodes.last()).ok_or(NetError::Ends)?;
        let inputs = nodes.iter().filter(|node| matches!(node.op, Op::Input)).count();
        if inputs != 1 || !matches!(first.op, Op::Input) || last.area != 1 {
            return Err(NetError::Ends);
        }
        let outline = Outline::new(model, first.shape.clone(), last.lead)?;
        Ok(Chain { nodes, outline })
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
                Op::Conv { x, weight, bias, window } => {
                    let dw = &mut gradient[weight.clone()];
                    kernels::add_weights(window, &values[*x], dy, dw, scratch);
                    add_rows(dy, node.area, bias, gradient);
                    // The images' own gradient is nobody's.
                    if !matches!(self.nodes[*x].op, Op::Input) {
                        let w = &weights[weight.clone()];
                        kernels::add_inputs(window, w, dy, &mut before[*x], scratch);
                    }
                }
                Op::Linear { x, weight, bias, inputs } => {
                    let (out, dy_matrix) = (node.lead, matrix(dy));
                    let dw = &mut gradient[weight.clone()];
                    let transposed = matrix(&values[*x]).transposed();
                    f32::gemm([out, labels.len(), *inputs], dy_matrix, transposed, 1.0, dw);
                    add_rows(dy, 1, bias, gradient);
                    if !matches!(self.nodes[*x].op, Op::Input) {
                        let w = Matrix::new(&weights[weight.clone()], *inputs).transposed();
                        let dx = flat_mut(&mut before[*x]);
                        f32::gemm([*inputs, out, LANES], w, dy_matrix, 1.0, dx);
                    }
                }
                Op::Norm { x, .. } => {
                    let x = (&values[*x][..], &mut before[*x][..]);
                    norm_back(node, weights, x, dy, gradient);
                }
                Op::Relu(x) => {
                    for ((dx, d), y) in before[*x].iter_mut().zip(dy).zip(&values[index]) {
                        for ((dx, d), y) in dx.0.iter_mut().zip(&d.0).zip(&y.0) {
                            // A mask, because a branch on such data is mispredicted half the time.
                            let mask = u32::from(*y > 0.0).wrapping_neg();
                            *dx += f32::from_bits(d.to_bits() & mask);
                        }
                    }
                }
                Op::Avg(x, window) => kernels::add_average(window, dy, &mut before[*x]),
                Op::Max(x, window) => {
                    kernels::add_maximum(window, &values[*x], dy, &mut before[*x]);
                }
                Op::GlobalAvg(x) => {
                    let area = self.nodes[*x].area;
                    for (plane, d) in before[*x].chunks_exact_mut(area).zip(dy) {
                        let d = Lanes(d.0.map(|d| d / area as f32));
                        plane.iter_mut().for_each(|dx| dx.add(&d));
                    }
                }
                Op::Flatten(x) => add_all(&mut before[*x], dy),
                Op::Add(a, b) => [*a, *b].iter().for_each(|x| add_all(&mut before[*x], dy)),
                Op::Place(Placement { of, entries }) => {
                    for (placed, d) in entries.iter().zip(dy) {
                        if let Placed::Entry(at) = placed {
                            before[*of][*at].add(d);
                        }
                    }
                }
            }
        }
        loss
    }

    /// Results of all steps for at most [`LANES`] images.
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
                Op::Norm { x, weight, bias, mean, var, eps } => {
                    for c in 0..node.lead {
                        let slope = weights[weight + c] / (weights[var + c] + eps).sqrt();
                        let shift = weights[bias + c] - weights[mean + c] * slope;
                        let row = c * node.area..(c + 1) * node.area;
                        for (y, x) in y[row.clone()].iter_mut().zip(&before[*x][row]) {
                            *y = Lanes(x.0.map(|x| x * slope + shift));
                        }
                    }
                }
                Op::Relu(x) => {
                    let xs = before[*x].iter();
                    y.iter_mut().zip(xs).for_each(|(y, x)| *y = Lanes(x.0.map(|x| x.max(0.0))));
                }
                Op::Avg(x, window) => kernels::average(window, &before[*x], y),
                Op::Max(x, window) => kernels::maximum(window, &before[*x], y),
                Op::GlobalAvg(x) => {
                    let area = self.nodes[*x].area;
                    for (y, plane) in y.iter_mut().zip(before[*x].chunks_exact(area)) {
                        let mut sum = Lanes::default();
                        plane.iter().for_each(|x| sum.add(x));
                        *y = Lanes(sum.0.map(|s| s / area as f32));
                    }
                }
                Op::Flatten(x) => y.copy_from_slice(&before[*x]),
                Op::Add(a, b) => {
                    y.copy_from_slice(&before[*a]);
                    add_all(y, &before[*b]);
                }
                Op::Place(Placement { of, entries }) => {
                    for (y, placed) in y.iter_mut().zip(entries) {
                        *y = match placed {
                            Placed::Entry(at) => before[*of][*at],
                            Placed::Number(number) => Lanes::all(*number as f32),
                        };
                    }
                }
            }
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

/// Whether the derivative of a step is known.
fn trains(nodes: &[Node], kind: &StepKind) -> bool {
    match kind {
        StepKind::Input | StepKind::Add(..) => true,
        StepKind::Compute { .. } => false,
        StepKind::Layer { layer, x, .. } => match layer {
            Layer::Conv2d { kernel: [h, w], conv, pad_w, .. } => h == w && conv.pad == *pad_w,
            Layer::Linear { .. } => nodes.get(*x).is_none_or(|node| node.shape.len() == 1),
            Layer::BatchNorm { .. }
            | Layer::Relu
            | Layer::AvgPool { .. }
            | Layer::MaxPool { .. }
            | Layer::GlobalAvgPool
            | Layer::Flatten
            | Layer::Identity => true,
        },
    }
}

/// A placement whose places are there; `None` if one is not.
fn place(nodes: &[Node], placed: Placement, shape: &[usize]) -> Option<Op> {
    let len = elements(&nodes.get(placed.of)?.shape)?;
    let inside = |placed: &Placed| match placed {
        Placed::Entry(at) => *at < len,
        Placed::Number(_) => true,
    };
    let fits = placed.entries.len() == elements(shape)? && placed.entries.iter().all(inside);
    fits.then_some(Op::Place(placed))
}

/// A step's kind with operands, parameters and result shape checked; `None` if they do not fit.
fn resolve(model: &Model, nodes: &[Node], kind: &StepKind, shape: &[usize]) -> Option<Op> {
    let (layer, x, params) = match kind {
        StepKind::Input => return (sizes(&model.input)? == shape).then_some(Op::Input),
        StepKind::Add(a, b) => {
            let same = |x: &StepId| nodes.get(*x).is_some_and(|node| node.shape == shape);
            return (same(a) && same(b)).then_some(Op::Add(*a, *b));
        }
        // Refused before, with its name.
        StepKind::Compute { .. } => return None,
        StepKind::Layer { layer, x, params } => (layer, *x, params),
    };
    let from = nodes.get(x)?;
    let image = || <[usize; 3]>::try_from(from.shape.as_slice()).ok();
    let slot = |at: usize, shape: &[usize]| {
        let param = model.params.get(*params.get(at)?)?;
        slot(model, param).filter(|_| sizes(&param.shape).is_some_and(|found| found == shape))
    };
    let bias = |there: bool, out: usize| match there {
        true => slot(1, &[out]).map(Some),
        false => Some(None),
    };
    let same = from.shape == shape;
    let pooled = |k, stride| {
        let [c, h, w] = image()?;
        let k = usize::try_from(k).ok()?;
        Window::new([c, h, w], k, &Conv::new(stride, 0)).filter(|win| [c, win.oh, win.ow] == shape)
    };
    Some(match *layer {
        Layer::Conv2d { kernel: [k, _], conv, bias: with_bias, .. } => {
            let [c, h, w] = image()?;
            let &[out, oh, ow] = shape else { return None };
            let k = usize::try_from(k).ok()?;
            let window = Window::new([c, h, w], k, &conv)?;
            ([oh, ow] == [window.oh, window.ow]).then_some(())?;
            let depth = conv.kernel_channels(c as u64, out as u64)? as usize;
            let weight = slot(0, &[out, depth, k, k])?;
            let bias = bias(with_bias, out)?;
            Op::Conv { x, weight, bias, window }
        }
        Layer::Linear { bias: with_bias, .. } => {
            let (&[inputs], &[out]) = (from.shape.as_slice(), shape) else { return None };
            let weight = slot(0, &[out, inputs])?;
            let bias = bias(with_bias, out)?;
            Op::Linear { x, weight, bias, inputs }
        }
        Layer::BatchNorm { eps, .. } => {
            same.then_some(())?;
            let starts = |at| Some(slot(at, &shape[..1])?.start);
            let (weight, bias, mean, var) = (starts(0)?, starts(1)?, starts(2)?, starts(3)?);
            Op::Norm { x, weight, bias, mean, var, eps: eps as f32 }
        }
        Layer::Relu => same.then_some(Op::Relu(x))?,
        Layer::AvgPool { k, stride } => Op::Avg(x, pooled(k, stride)?),
        Layer::MaxPool { k, stride } => Op::Max(x, pooled(k, stride)?),
        Layer::GlobalAvgPool => {
            let [c, _, _] = image()?;
            (shape == [c]).then_some(Op::GlobalAvg(x))?
        }
        Layer::Flatten => (shape == [from.lead * from.area]).then_some(Op::Flatten(x))?,
        Layer::Identity => return None,
    })
}
