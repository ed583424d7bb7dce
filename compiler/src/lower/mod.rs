//! Lowering: graph operations to protocol macros made of circuit instructions.
//!
//! The only place that knows both. One file per family: [`bilinear`] (products, convolutions),
//! [`truncation`], [`comparison`] (signs, equality), [`selection`] (bit injection, bits to words,
//! argmax tests), [`bits`] (all bits of a word, the position of the top one), [`elementary`]
//! (reciprocal, quotient, square root, logarithm), [`exponential`]; [`Emit`] builds instructions. Macros here are family T1 of the protocols: multiply
//! and reshare, input of own values, and the exchange of a value that is additive between two.
//!
//! What may not live here: rewriting that graph semantics can express ([`crate::passes`]), and
//! layers ([`crate::schedule`]).
//!
//! Numbers are words of Z_2^64, bits are `B1`. A product stays additive among the three (`Held`)
//! until something needs it replicated: sums, biases and reveals take it as it is.

pub mod bilinear;
pub mod bits;
pub mod comparison;
pub mod elementary;
mod emit;
pub mod exponential;
pub mod selection;
pub mod truncation;

pub use emit::{Draft, Emit};

use crate::certify::ranges::{Interval, integer_ranges, signed_bits};
use crate::certify::signs;
use crate::diagnostic::Diagnostic;
use crate::graph::{Graph, NodeId, Op, Table};
use crate::syntax::ast::Secrecy;
use crate::types::Elem;
use slvr_runtime::circuit::{self, Dom, Encoding, Op as C, ValueId};

/// Ring width of numbers, in bits.
pub const RING: u32 = 64;

/// How the value of a node is held.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    /// Additive among the three: a product not yet reshared.
    add3: Option<ValueId>,
    /// Replicated, or public if the node is.
    full: Option<ValueId>,
}

struct Lowering<'a> {
    graph: &'a Graph,
    emit: Emit,
    held: Vec<Held>,
    ranges: Vec<Option<Interval>>,
    inputs: Vec<circuit::Input>,
}

type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// Lowers a graph with scales to instructions without layers.
pub fn lower(graph: &Graph) -> std::result::Result<Draft, Vec<Diagnostic>> {
    let mut l = Lowering {
        graph,
        emit: Emit::default(),
        held: vec![Held::default(); graph.len()],
        ranges: integer_ranges(graph),
        inputs: Vec::new(),
    };
    let mut refused: Vec<Diagnostic> = Vec::new();
    for id in graph.ids() {
        l.emit.site = graph.node(id).site;
        match l.node(id) {
            Ok(held) => l.held[id.index()] = held,
            Err(d) => {
                // What reads a refused value would be refused too: say only the first.
                refused.push(*d);
                break;
            }
        }
    }
    if !refused.is_empty() {
        return Err(refused);
    }
    let mut outputs = Vec::new();
    for (i, o) in graph.outputs.iter().enumerate() {
        l.emit.site = o.site;
        let x = l.additive(o.node);
        l.emit.open_to(x, i as u32);
        outputs.push(circuit::Output {
            name: o.name.clone(),
            to: o.to,
            shape: graph.shape(o.node).to_vec(),
            ring: RING,
            frac: graph.ty(o.node).frac.unwrap_or(0),
            factor: o.factor,
            divisor: o.divisor,
            fields: fields(&o.fields),
        });
    }
    Ok(Draft { emit: l.emit, inputs: l.inputs, outputs })
}

fn fields(fields: &[(String, Vec<u64>)]) -> Vec<circuit::Field> {
    let field = |(name, shape): &(String, Vec<u64>)| circuit::Field {
        name: name.clone(),
        shape: shape.clone(),
    };
    fields.iter().map(field).collect()
}

fn additive(x: ValueId) -> Held {
    Held { add3: Some(x), full: None }
}

fn full(x: ValueId) -> Held {
    Held { add3: None, full: Some(x) }
}

impl Lowering<'_> {
    fn secret(&self, id: NodeId) -> bool {
        self.graph.ty(id).secrecy == Secrecy::Secret
    }

    /// The node's value replicated (public if the node is): reshared where it was not yet.
    fn full(&mut self, id: NodeId) -> ValueId {
        let held = self.held[id.index()];
        match (held.full, held.add3) {
            (Some(x), _) => x,
            (None, Some(x)) => {
                let site = std::mem::replace(&mut self.emit.site, self.graph.node(id).site);
                let y = self.emit.add(C::Reshare(x));
                self.emit.site = site;
                self.held[id.index()].full = Some(y);
                y
            }
            (None, None) => unreachable!("operands are lowered before their users"),
        }
    }

    /// The node's value additive among the three, as an opening to a receiver takes it.
    fn additive(&mut self, id: NodeId) -> ValueId {
        let held = self.held[id.index()];
        match held.add3 {
            // Once replicated, the shares say the same; either will do.
            Some(x) => x,
            None => {
                let x = self.full(id);
                let x = if self.secret(id) { x } else { self.emit.share_public(x) };
                self.emit.add(C::AsAdd3(x))
            }
        }
    }

    /// The additive form, where the node has only that and nothing else will reshare it.
    fn pending(&self, id: NodeId) -> Option<ValueId> {
        let held = self.held[id.index()];
        if held.full.is_some() {
            return None;
        }
        let alone =
            self.graph.users(id).len() == 1 && !self.graph.outputs.iter().any(|o| o.node == id);
        held.add3.filter(|_| alone)
    }

    /// A linear operation of one operand: on the additive form if that is all there is and the
    /// result is not larger.
    fn linear(&mut self, id: NodeId, x: NodeId, op: impl Fn(ValueId) -> C) -> Held {
        match self.pending(x) {
            Some(p) if self.graph.elements(id) <= self.graph.elements(x) => {
                additive(self.emit.add(op(p)))
            }
            _ => {
                let x = self.full(x);
                full(self.emit.add(op(x)))
            }
        }
    }

    fn node(&mut self, id: NodeId) -> Result<Held> {
        let g = self.graph;
        let args = g.args(id);
        let bits = g.ty(id).elem == Elem::Bit;
        Ok(match g.op(id) {
            Op::Input(i) => full(self.input(*i, id)),
            Op::Const(table, elem, frac) => full(self.constant(table, *elem, frac.unwrap_or(0))),
            Op::Committee { n, k } => {
                let coin = self.emit.coin();
                full(self.emit.add(C::Committee { coin, n: *n, k: *k }))
            }
            Op::Add | Op::Sub => self.sum(id, args[0], args[1]),
            Op::Neg => self.linear(id, args[0], C::Neg),
            Op::Scale(c) => {
                let c = word(*c);
                self.linear(id, args[0], |x| C::Scale(x, c))
            }
            Op::Shift(by) => {
                let c = 1u128 << by;
                self.linear(id, args[0], |x| C::Scale(x, c))
            }
            Op::Halve(_) => self.held[args[0].index()],
            Op::Sum(axes) => {
                let axes = axes.clone();
                self.linear(id, args[0], |x| C::Sum { x, axes: axes.clone() })
            }
            Op::Reshape(to) => self.linear(id, args[0], |x| C::Reshape(x, to.clone())),
            Op::Transpose(perm) => self.linear(id, args[0], |x| C::Transpose(x, perm.clone())),
            Op::Slice { axis, start, len, step } => {
                let (axis, start, len, step) = (*axis, *start, *len, *step);
                self.linear(id, args[0], |x| C::Slice { x, axis, start, len, step })
            }
            Op::Broadcast(to) => self.linear(id, args[0], |x| C::Broadcast(x, to.clone())),
            Op::Gather { axis, batch } => {
                let index = self.full(args[1]);
                let (axis, batch) = (*axis, *batch);
                self.linear(id, args[0], |x| C::Gather { x, index, axis, batch })
            }
            Op::Concat(axis) => {
                let secret = self.secret(id);
                let mut xs = Vec::new();
                for &a in &args {
                    let x = self.full(a);
                    let public = secret && !self.secret(a);
                    xs.push(if public { self.emit.share_public(x) } else { x });
                }
                full(self.emit.add(C::Concat { xs, axis: *axis }))
            }
            Op::Mul => self.product(args[0], args[1]),
            Op::MatMul { trans_b } => self.matmul(args[0], args[1], *trans_b),
            Op::Conv2d { stride, pad } => self.conv2d(args[0], args[1], *stride, *pad),
            Op::Trunc(by) => {
                let x = self.full(args[0]);
                full(if self.secret(id) {
                    truncation::exact(&mut self.emit, x, *by)
                } else {
                    truncation::public(&mut self.emit, x, *by)
                })
            }
            Op::Lt => {
                let x = self.difference(args[0], args[1]);
                let width = self.difference_bits(args[0], args[1]);
                full(comparison::negative(&mut self.emit, x, width))
            }
            Op::Eq => {
                let x = self.difference(args[0], args[1]);
                let width = self.difference_bits(args[0], args[1]);
                full(comparison::zero(&mut self.emit, x, width))
            }
            Op::Not => {
                let x = self.full(args[0]);
                full(self.emit.add(C::Not(x)))
            }
            Op::Xor => {
                let (a, b) = (self.full(args[0]), self.full(args[1]));
                full(self.emit.add(C::Add(a, b)))
            }
            Op::And => self.product(args[0], args[1]),
            Op::ToInt => {
                let x = self.full(args[0]);
                full(selection::to_word(&mut self.emit, x, RING))
            }
            Op::Gate => {
                let (v, s) = (self.full(args[0]), self.full(args[1]));
                let width = self.ranges[args[1].index()].map_or(RING, signed_bits);
                let negative = comparison::negative(&mut self.emit, s, width);
                let keep = self.emit.add(C::Not(negative));
                full(selection::inject(&mut self.emit, keep, v))
            }
            Op::Select if !bits => {
                let (c, a, b) = (self.full(args[0]), args[1], args[2]);
                let d = self.difference(a, b);
                let shape = g.shape(id).to_vec();
                let d = self.emit.broadcast(d, &shape);
                let c = self.emit.broadcast(c, &shape);
                let chosen = selection::inject(&mut self.emit, c, d);
                let b = self.full(b);
                full(self.emit.add(C::Add(chosen, b)))
            }
            Op::Exp => {
                let (x, frac) = (self.full(args[0]), g.ty(args[0]).frac.unwrap_or(0));
                full(exponential::any(&mut self.emit, x, frac))
            }
            Op::ExpNonPositive => {
                let (x, frac) = (self.full(args[0]), g.ty(args[0]).frac.unwrap_or(0));
                full(exponential::non_positive(&mut self.emit, x, frac))
            }
            Op::Recip => {
                let x = self.operand(args[0]);
                full(elementary::recip(&mut self.emit, x))
            }
            Op::Sqrt => {
                let x = self.operand(args[0]);
                full(elementary::sqrt(&mut self.emit, x))
            }
            Op::Log => {
                let x = self.operand(args[0]);
                full(elementary::log(&mut self.emit, x))
            }
            Op::Div => {
                let (x, y) = (self.full(args[0]), self.operand(args[1]));
                full(elementary::divide(&mut self.emit, x, y))
            }
            Op::Hit => {
                let (z, y) = (self.full(args[0]), self.full(args[1]));
                full(selection::hit(&mut self.emit, z, y, RING))
            }
            _ => return self.refuse(id),
        })
    }

    fn refuse<T>(&self, id: NodeId) -> Result<T> {
        let (what, span) = (self.graph.op(id).name(), self.graph.site(id).span);
        Err(Box::new(Diagnostic::not_lowered(what, span)))
    }

    /// A number with what is proven of it.
    fn operand(&mut self, id: NodeId) -> elementary::Operand {
        let range = self.ranges[id.index()];
        let positive = range.is_some_and(|(lo, _)| lo >= 0.0);
        elementary::Operand {
            value: self.full(id),
            frac: self.graph.ty(id).frac.unwrap_or(0),
            bits: range.map(|r| signed_bits(r) - 1),
            not_negative: positive || signs::not_negative(self.graph, id),
        }
    }

    fn input(&mut self, index: u32, id: NodeId) -> ValueId {
        let input = &self.graph.inputs[index as usize];
        let shape = self.graph.shape(id).to_vec();
        let secret = self.secret(id);
        let bits = input.elem == Elem::Bit;
        let value =
            self.emit.input(secret, if bits { Dom::Bits(1) } else { Dom::Ring(RING) }, shape);
        let encoding = match (input.one_hot, input.elem) {
            (Some(classes), _) => Encoding::OneHot { classes },
            (None, Elem::Fix) => Encoding::Fixed {
                frac: self.graph.frac.unwrap_or(0),
                lo: input.range.0,
                hi: input.range.1,
            },
            (None, _) => Encoding::Int {
                lo: input.range.0 as i64,
                // A public integer may have no range: then all words are in it.
                hi: (input.range.1 as i64).saturating_add(1),
            },
        };
        self.inputs.push(circuit::Input {
            name: input.name.clone(),
            from: input.from.map_or(circuit::From::Public, circuit::From::Each),
            encoding,
            shape: input.shape.clone(),
            fields: fields(&input.fields),
            value,
        });
        value
    }

    fn constant(&mut self, table: &Table, elem: Elem, frac: u32) -> ValueId {
        let data = table.data.iter().map(|&x| match elem {
            Elem::Bit => u128::from(x != 0.0),
            Elem::Int | Elem::Fix => word((x * 2f64.powi(frac as i32)).round()),
        });
        self.emit.constant(elem == Elem::Bit, RING, &table.shape, data.collect())
    }

    /// a - b, replicated or public.
    fn difference(&mut self, a: NodeId, b: NodeId) -> ValueId {
        let (x, y) = (self.full(a), self.full(b));
        self.emit.add(C::Sub(x, y))
    }

    /// Bits that hold every difference of two values: all of the ring where nothing is proven.
    fn difference_bits(&self, a: NodeId, b: NodeId) -> u32 {
        match (self.ranges[a.index()], self.ranges[b.index()]) {
            (Some(a), Some(b)) => signed_bits((a.0 - b.1, a.1 - b.0)),
            _ => RING,
        }
    }
}

/// A whole number as a word of Z_2^64.
fn word(x: f64) -> u128 {
    u128::from(x as i64 as u64)
}
