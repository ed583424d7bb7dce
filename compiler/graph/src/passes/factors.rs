//! Factors of a convolution's channels move into its weights, where they are computed once for all
//! samples and pixels: batch norm disappears.
//!
//! Before: any graph without scales. After: a convolution or matrix product, shifted or not, is
//! multiplied by what depends on its output channel only (and on the batch axis of its weights) no
//! more, where the weights have fewer elements than the product; weights take one factor. In exact arithmetic
//! `(conv(x, w) - m) * s = conv(x, w * s) - m * s`. Public weights stay public: a secret factor is not
//! moved into them.
//!
//! ```text
//! %3 = conv2d %1 %2 ; %5 = sub %3 %4 ; %7 = mul %5 %6      (%6 : [G, 1, O, 1, 1])
//!   ->   %2' = mul %2 %6' ; %3' = conv2d %1 %2' ; %4' = mul %4 %6 ; %7 = sub %3' %4'
//! ```

use super::promise::{Kept, none};
use crate::graph::{Class, Graph, NodeId, Op};
use slvr_language::syntax::ast::Secrecy;

pub(super) fn run(graph: &Graph) -> Graph {
    let mut map: Vec<NodeId> = Vec::with_capacity(graph.len());
    graph.rewrite(|new, id, args| {
        let to = moved(graph, new, &map, id).unwrap_or_else(|| new.keep(graph, id, args));
        map.push(to);
        to
    })
}

/// What holds after it. Weights that took a factor take no second one.
pub(super) fn after(g: &Graph) -> Kept {
    none(g, "a factor of channels is left outside the weights", |id| {
        let args = g.args(id);
        let outside = |y: NodeId, s: NodeId| {
            channels(g.op(y)).is_some()
                && *g.op(g.arg(y, 1)) != Op::Mul
                && g.shape(y) == g.shape(id)
                && takes(g, y, s)
        };
        *g.op(id) == Op::Mul && (outside(args[0], args[1]) || outside(args[1], args[0]))
    })
}

/// A product without its factor, if that can go to the weights.
fn moved(graph: &Graph, new: &mut Graph, map: &[NodeId], id: NodeId) -> Option<NodeId> {
    if *graph.op(id) != Op::Mul {
        return None;
    }
    let args = graph.args(id);
    let (y, s) = [(args[0], args[1]), (args[1], args[0])]
        .into_iter()
        .find(|&(y, s)| graph.shape(y) == graph.shape(id) && takes(graph, y, s))?;
    Some(Factors { old: graph, new, map, factor: map[s.index()], site: graph.node(id).site }.put(y))
}

/// The axis of output channels of a product.
fn channels(op: &Op) -> Option<usize> {
    (op.class() == Class::Bilinear).then_some(2)
}

/// Whether a value is a product, up to small shifts, into whose weights the factor may go.
fn takes(graph: &Graph, y: NodeId, factor: NodeId) -> bool {
    let args = graph.args(y);
    match graph.op(y) {
        _ if graph.only_user(y).is_none() => false,
        Op::Neg | Op::Scale(_) => takes(graph, args[0], factor),
        Op::Add | Op::Sub => [(args[0], args[1]), (args[1], args[0])]
            .into_iter()
            .any(|(p, t)| is_shift(graph, y, p, t) && takes(graph, p, factor)),
        op => channels(op).is_some_and(|axis| {
            let (w, shape) = (args[1], graph.shape(factor));
            let narrow = (1..shape.len()).all(|d| d == axis || shape[d] == 1);
            let groups = graph.shape(w)[0].max(shape[0]);
            let weights = graph.elements(w) / graph.shape(w)[0].max(1) * groups;
            let secret = |n: NodeId| graph.ty(n).secrecy == Secrecy::Secret;
            let free = !secret(w) && !secret(factor);
            let kept = secret(w) || !secret(factor);
            narrow && kept && (free || weights < graph.elements(y))
        }),
    }
}

/// Whether a term of a sum is the sum's full size, and the other is smaller.
fn is_shift(graph: &Graph, y: NodeId, product: NodeId, shift: NodeId) -> bool {
    graph.shape(product) == graph.shape(y) && graph.elements(shift) < graph.elements(y)
}

struct Factors<'a> {
    old: &'a Graph,
    new: &'a mut Graph,
    map: &'a [NodeId],
    /// In the new graph.
    factor: NodeId,
    site: u32,
}

impl Factors<'_> {
    /// `y` times the factor.
    fn put(&mut self, y: NodeId) -> NodeId {
        let (args, node) = (self.old.args(y), self.old.node(y));
        let (op, site) = (node.op.clone(), node.site);
        let args = match op {
            Op::Neg | Op::Scale(_) => vec![self.put(args[0])],
            Op::Add | Op::Sub => {
                let first = is_shift(self.old, y, args[0], args[1]);
                args.iter()
                    .enumerate()
                    .map(|(i, &a)| if first == (i == 0) { self.put(a) } else { self.times(a) })
                    .collect()
            }
            _ => vec![self.map[args[0].index()], self.weights(&op, args[1])],
        };
        self.new.add(op, &args, site)
    }

    /// A small term times the factor.
    fn times(&mut self, x: NodeId) -> NodeId {
        self.new.add(Op::Mul, &[self.map[x.index()], self.factor], self.site)
    }

    /// Weights times the factor, whose channels are another axis there.
    fn weights(&mut self, op: &Op, w: NodeId) -> NodeId {
        let w = self.map[w.index()];
        let shape = self.new.shape(self.factor).to_vec();
        let (groups, outputs) = (shape[0], shape[2]);
        let to = match op {
            Op::Conv2d { .. } => vec![groups, outputs, 1, 1, 1],
            Op::MatMul { trans_b: true } => vec![groups, outputs, 1],
            _ => vec![groups, 1, outputs],
        };
        let factor = if to == shape {
            self.factor
        } else {
            self.new.add(Op::Reshape(to), &[self.factor], self.site)
        };
        self.new.add(Op::Mul, &[w, factor], self.site)
    }
}
