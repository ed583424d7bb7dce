//! Models that are chains of layers: forward and backward pass over a batch, in f32. `read` says which models are, and
//! `layers` holds the layers that have weights.
//!
//! This is the fast way for convolutions with square kernels, linear layers, batch normalisation, ReLU, pooling, sums
//! and expressions that only put entries in places. What else a model can contain is differentiated by
//! [`super::reverse`], which these passes are tested against.
//!
//! Weights are one flat vector in the model's layout, gradients too. [`Chain::new`] resolves every shape and offset of
//! a model once; after that the passes cannot fail.
//!
//! Batch normalisation works as in inference: running mean and variance are constants, the
//! gradient reaches its operand, its scale and its shift, and an update leaves them alone. That is
//! what a predicate computes, and it keeps a client's update a function of the weight vector only.

mod layers;
mod read;
#[cfg(test)]
mod tests;

use super::kernels::{self, LANES, Lanes, Scratch, Window, flat_mut};
use super::loss::{Strides, cross_entropy};
use super::outline::Outline;
use layers::{Conv, Linear, Norm};
use slvr_compiler::types::Program;
use slvr_compiler::types::eval::Placed;

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

/// A small model has no more values than these for each image: for [`LANES`] images they take 32 MiB, and so do their
/// gradients.
const SMALL: usize = 1 << 19;

/// Index of a value in its chain.
type NodeId = usize;

#[derive(Clone, Debug)]
enum Op {
    Input,
    Conv(NodeId, Conv),
    Linear(NodeId, Linear),
    Norm(NodeId, Norm),
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
        let nodes = read::nodes(program, model)?;
        let (first, last) = (nodes.first()?, nodes.last()?);
        (last.area == 1).then_some(())?;
        let outline = Outline::new(model, first.shape.clone(), last.lead).ok()?;
        Some(Chain { nodes, outline })
    }

    /// Samples for one thread: as many as are computed side by side, or twice as many where the model is small.
    pub fn piece(&self) -> usize {
        let each: usize = self.nodes.iter().map(|node| node.lead * node.area).sum();
        if each > SMALL { LANES } else { 2 * LANES }
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
        let z = (z, Strides { class: LANES, image: 1 });
        let loss = cross_entropy(z, labels, self.outline.classes, count, dz);
        for (index, node) in self.nodes.iter().enumerate().skip(1).rev() {
            let (before, rest) = grads.split_at_mut(index);
            let dy = &rest[0][..];
            match &node.op {
                Op::Input => {}
                Op::Conv(x, conv) => {
                    let x = (&values[*x][..], self.wanted(*x, before));
                    conv.back(weights, x, dy, gradient, scratch);
                }
                Op::Linear(x, linear) => {
                    let x = (&values[*x][..], self.wanted(*x, before));
                    linear.back(weights, x, (dy, labels.len()), gradient);
                }
                Op::Norm(x, norm) => {
                    norm.back(weights, (&values[*x], &mut before[*x]), dy, gradient);
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

    /// Where the derivative by an operand goes. That by the images is nobody's, and of these layers it would cost as
    /// much as their value.
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
                Op::Conv(x, conv) => conv.forward(weights, &before[*x], y, scratch),
                Op::Linear(x, linear) => linear.forward(weights, &before[*x], y),
                Op::Norm(x, norm) => norm.forward(weights, &before[*x], y),
                Op::Relu(x) => {
                    // What is not a number stays so, as in a graph.
                    let relu = |x: f32| if x < 0.0 { 0.0 } else { x };
                    y.iter_mut().zip(&before[*x]).for_each(|(y, x)| *y = Lanes(x.0.map(relu)));
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
