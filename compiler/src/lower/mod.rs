//! Lowering: graph operations to protocol macros made of circuit instructions.
//!
//! The only place that knows both. One file per family: [`bilinear`] (products, convolutions),
//! [`truncation`], [`comparison`] (signs, equality), [`selection`] (bit injection, bits to words,
//! argmax tests), [`bits`] (all bits of a word, the position of the top one), [`elementary`]
//! (reciprocal, quotient, square root, logarithm), [`exponential`], [`enforce`] (checks of what clients give);
//! `symmetric` has nodes that are more than one macro, `inputs` deals and checks inputs, [`crate::analysis::rings`] chooses the
//! ring of each value; [`Emit`] builds instructions. Macros here are family T1 of the protocols: multiply and
//! reshare, input of own values, and the exchange of a value that is additive between two; those of T2 are in
//! [`dealer`], and the nodes that take them in `split`.
//!
//! What may not live here: rewriting that graph semantics can express ([`crate::passes`]), and
//! layers ([`crate::schedule`]).
//!
//! Numbers are words of Z_2^k, k the smallest that holds them, bits are `B1`. A product stays additive among the three (`Held`)
//! until something needs it replicated: sums, biases and reveals take it as it is.

mod bilinear;
pub mod common;
mod emit;
mod few;
mod inputs;
mod split;
mod symmetric;
pub mod t1;
pub mod t2;
#[cfg(test)]
mod tests;

mod dealer {
    pub use super::common::lookup::lookup;
    pub use super::common::masked::*;
    pub use super::common::words::raise;
    pub use super::t2::{
        comparison::{negative, zero},
        gates::all_planes,
        product::product,
        selection::{inject, to_word},
        truncation::{lift, truncate},
    };
    pub mod functions {
        pub use super::super::t2::{exponential::*, pieces::*};
    }
    pub mod cut {
        pub use super::super::t2::saturation::{Located as Cut, locate as cut};
    }
}
mod enforce {
    pub use super::common::admission::*;
    pub use super::t1::{input_checks::*, truncation::lift};
    pub mod dealer {
        pub use super::super::t2::input_checks::*;
    }
}
mod selection {
    pub use super::common::labels::beyond;
    pub use super::t1::selection::{argmax_is as hit, *};
}
mod truncation {
    pub use super::common::words::ring_for;
    pub use super::t1::truncation::*;
}
use common::words::word;
use t1::{comparison, elementary, exponential};

pub use emit::{Draft, Emit};

use crate::analysis::guard::Guard;
use crate::analysis::ranges::Ranges;
use crate::analysis::rings::Rings;
use crate::analysis::signs;
use crate::cost::Tuning;
use crate::diagnostic::Diagnostic;
use crate::graph::{Graph, NodeId, Op, Table};
use crate::syntax::ast::Secrecy;
use crate::types::Elem;
use dealer::{Pair, Split};
use slvr_circuit::{Check, Op as C, ValueId};
use std::collections::BTreeMap;

/// Ring of elementary functions, in bits.
const FUNCTIONS: u32 = 64;

/// How the value of a node is held.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    /// Additive among the three: a product not yet reshared.
    add3: Option<ValueId>,
    /// Replicated, or public if the node is.
    full: Option<ValueId>,
    /// Parts a and b, in the dealer-style family.
    split: Option<Split>,
    /// Part a, and words of the other two that they have not exchanged.
    pair: Option<Pair>,
    /// Parts that add up to the value modulo 2^bits only, one round before `split`.
    low: Option<Low>,
}

/// A split that is right in its low bits.
#[derive(Clone, Copy, Debug)]
struct Low {
    split: Split,
    bits: u32,
}

struct Lowering<'a> {
    graph: &'a Graph,
    emit: Emit,
    held: Vec<Held>,
    /// Values in a ring other than the node's own.
    converted: BTreeMap<(NodeId, u32), ValueId>,
    /// Splits of replicated values, by groups.
    resplit: BTreeMap<(NodeId, u32), Split>,
    /// Splits in a larger ring, by ring and groups.
    lifted: BTreeMap<(NodeId, u32, u32), Split>,
    /// What protocols of the dealer-style family are chosen by; none for family T1.
    tuning: Option<Tuning>,
    /// Bits that only a conversion to words reads, as these words.
    words: BTreeMap<NodeId, Pair>,
    /// What bits are of earlier bits.
    functions: few::Functions<'a>,
    ranges: &'a Ranges,
    rings: &'a Rings,
    /// By index of the input, its dealt value after checks.
    dealt: Vec<Option<ValueId>>,
    inputs: Vec<slvr_circuit::Input>,
    checks: Vec<Check>,
    /// The coins of each committee.
    coins: BTreeMap<NodeId, ValueId>,
}

/// Which protocols values go through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Protocols {
    /// T2, dealer-style, chosen for a network.
    Dealer(Tuning),
    /// T1, symmetric.
    Symmetric,
    /// T1 with comparisons that begin at bits, without tables: a baseline.
    Simple,
}

type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// Lowers a graph with scales to instructions without layers.
///
/// `block` is the block of each node ([`crate::passes::blocks`]).
///
/// # Errors
///
/// An operation that no protocol here computes.
pub fn lower(
    graph: &Graph,
    block: &[u32],
    ranges: &Ranges,
    rings: &Rings,
    guards: &[Guard],
    protocols: Protocols,
) -> std::result::Result<Draft, Vec<Diagnostic>> {
    let tuning = match protocols {
        Protocols::Dealer(tuning) => Some(tuning),
        Protocols::Symmetric | Protocols::Simple => None,
    };
    let mut l = Lowering {
        graph,
        emit: Emit::default(),
        held: vec![Held::default(); graph.len()],
        converted: BTreeMap::new(),
        resplit: BTreeMap::new(),
        lifted: BTreeMap::new(),
        tuning,
        words: BTreeMap::new(),
        functions: few::Functions::new(graph),
        ranges,
        rings,
        dealt: vec![None; graph.inputs.len()],
        inputs: Vec::new(),
        checks: Vec::new(),
        coins: BTreeMap::new(),
    };
    l.emit.simple = protocols == Protocols::Simple;
    // Before the coins of checks: evaluations in the clear take the first coins for committees.
    for id in graph.ids().filter(|&id| matches!(graph.op(id), Op::Committee { .. })) {
        l.emit.site = graph.node(id).site;
        let coin = l.emit.coin();
        l.coins.insert(id, coin);
    }
    l.deal(guards);
    let mut blocks = vec![0; l.emit.instrs.len()];
    let mut refused: Vec<Diagnostic> = Vec::new();
    for id in graph.ids() {
        l.emit.site = graph.node(id).site;
        let held = match l.split_node(id) {
            Some(held) => Ok(held),
            None => l.node(id),
        };
        match held {
            Ok(held) => {
                let ring = |x: ValueId| l.emit.ty(x).bits() == rings.of(id);
                let word = graph.ty(id).elem != Elem::Bit;
                debug_assert!(
                    !word || held.full.is_none_or(ring) && held.add3.is_none_or(ring),
                    "{} is not in its ring",
                    graph.op(id).name()
                );
                l.held[id.index()] = held;
                let number = block.get(id.index()).copied().unwrap_or(0);
                blocks.resize(l.emit.instrs.len(), number);
            }
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
        outputs.push(slvr_circuit::Output {
            name: o.name.clone(),
            to: o.to,
            shape: graph.shape(o.node).to_vec(),
            ring: l.rings.of(o.node),
            frac: graph.ty(o.node).frac.unwrap_or(0),
            factor: o.factor,
            divisor: o.divisor,
            fields: fields(&o.fields),
        });
    }
    blocks.resize(l.emit.instrs.len(), 0);
    let mut draft = Draft { emit: l.emit, blocks, inputs: l.inputs, outputs, checks: l.checks };
    draft.prune();
    Ok(draft)
}

fn fields(fields: &[(String, Vec<u64>)]) -> Vec<slvr_circuit::Field> {
    let field = |(name, shape): &(String, Vec<u64>)| slvr_circuit::Field {
        name: name.clone(),
        shape: shape.clone(),
    };
    fields.iter().map(field).collect()
}

fn additive(x: ValueId) -> Held {
    Held { add3: Some(x), ..Held::default() }
}

fn full(x: ValueId) -> Held {
    Held { full: Some(x), ..Held::default() }
}

impl Lowering<'_> {
    fn secret(&self, id: NodeId) -> bool {
        self.graph.ty(id).secrecy == Secrecy::Secret
    }

    /// The node's value replicated (public if the node is): reshared where it was not yet.
    fn full(&mut self, id: NodeId) -> ValueId {
        let held = self.held[id.index()];
        if held.full.is_none() && (held.split.is_some() || held.pair.is_some()) {
            let of = held.split.map(|s| s.own).or(held.pair.map(|p| p.add2));
            let groups = of.map_or(1, |v| self.emit.ty(v).groups);
            let s = self.split(id, groups);
            let site = std::mem::replace(&mut self.emit.site, self.graph.node(id).site);
            let x = dealer::join(&mut self.emit, &s);
            self.emit.site = site;
            self.held[id.index()].full = Some(x);
            return x;
        }
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

    /// The node's value in a ring of k bits.
    fn at(&mut self, id: NodeId, k: u32) -> ValueId {
        let own = self.full(id);
        if self.graph.ty(id).elem == Elem::Bit || self.emit.ty(own).bits() == k {
            return own;
        }
        if let Some(&x) = self.converted.get(&(id, k)) {
            return x;
        }
        let site = std::mem::replace(&mut self.emit.site, self.graph.node(id).site);
        let x = match (self.emit.ty(own).bits() > k, self.secret(id)) {
            (true, _) => self.emit.add(C::Narrow(own, k)),
            (false, true) => enforce::lift(&mut self.emit, own, 0, k),
            (false, false) => self.emit.sign_extend(own, k),
        };
        self.emit.site = site;
        self.converted.insert((id, k), x);
        x
    }

    /// Operand number `i` of a node, in the ring that the node reads it in.
    fn operand_of(&mut self, id: NodeId, i: usize) -> ValueId {
        let k = self.rings.operand(self.graph, self.ranges, id, i);
        self.at(self.graph.arg(id, i), k)
    }

    /// The node's value additive among the three, as an opening to a receiver takes it.
    fn additive(&mut self, id: NodeId) -> ValueId {
        let held = self.held[id.index()];
        match (held.pair, held.split) {
            (Some(p), None) => return self.pair_as_add3(p),
            (_, Some(s)) if held.full.is_none() => {
                let add2 = self.emit.add(C::AsAdd2(s.dup));
                return self.pair_as_add3(Pair { own: Some(s.own), add2 });
            }
            _ => {}
        }
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

    /// The additive form in a ring of k bits, where the node has only that, in a ring as large, and
    /// nothing else will reshare it.
    fn pending(&mut self, id: NodeId, k: u32) -> Option<ValueId> {
        let held = self.held[id.index()];
        if held.full.is_some() {
            return None;
        }
        let alone =
            self.graph.users(id).len() == 1 && !self.graph.outputs.iter().any(|o| o.node == id);
        let bits = self.graph.ty(id).elem == Elem::Bit;
        let x = held.add3.filter(|&x| alone && (bits || self.emit.ty(x).bits() >= k))?;
        let wide = !bits && self.emit.ty(x).bits() > k;
        Some(if wide { self.emit.add(C::Narrow(x, k)) } else { x })
    }

    /// A linear operation of one operand: on the additive form if that is all there is and the
    /// result is not larger.
    fn linear(&mut self, id: NodeId, x: NodeId, op: impl Fn(ValueId) -> C) -> Held {
        let k = self.rings.of(id);
        let fits = self.graph.elements(id) <= self.graph.elements(x);
        match if fits { self.pending(x, k) } else { None } {
            Some(p) => additive(self.emit.add(op(p))),
            None => {
                let x = self.at(x, k);
                full(self.emit.add(op(x)))
            }
        }
    }

    fn node(&mut self, id: NodeId) -> Result<Held> {
        let g = self.graph;
        let args = g.args(id);
        let bits = g.ty(id).elem == Elem::Bit;
        let k = self.rings.of(id);
        Ok(match g.op(id) {
            Op::Input(i) => match self.dealt[*i as usize] {
                Some(x) => full(x),
                None => unreachable!("every input is dealt before the first node"),
            },
            Op::Const(table, elem, frac) => full(self.constant(table, *elem, frac.unwrap_or(0), k)),
            Op::Committee { n, k: members } => {
                let coin = self.coins[&id];
                let drawn = self.emit.add(C::Committee { coin, n: *n, k: *members });
                full(t1::truncation::convert(&mut self.emit, drawn, k))
            }
            Op::Add | Op::Sub => self.sum(id, args[0], args[1]),
            Op::Neg => self.linear(id, args[0], C::Neg),
            Op::Scale(c) => {
                let c = word(*c, k);
                self.linear(id, args[0], |x| C::Scale(x, c))
            }
            Op::Shift(by) => {
                let c = word(f64::from(*by).exp2(), k);
                self.linear(id, args[0], |x| C::Scale(x, c))
            }
            Op::DivPow2(_) => match (self.pending(args[0], k), self.rings.of(args[0]) == k) {
                (Some(x), _) => additive(x),
                (None, true) => self.held[args[0].index()],
                (None, false) => full(self.at(args[0], k)),
            },
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
                    let x = self.at(a, k);
                    let public = secret && !self.secret(a);
                    xs.push(if public { self.emit.share_public(x) } else { x });
                }
                full(self.emit.add(C::Concat { xs, axis: *axis }))
            }
            Op::Mul => self.product(id),
            Op::MatMul { trans_b } => self.matmul(id, *trans_b),
            Op::Conv2d { stride, pad } => self.conv2d(id, *stride, *pad),
            Op::Trunc(by) => {
                let x = self.operand_of(id, 0);
                let y = if self.secret(id) {
                    truncation::exact(&mut self.emit, x, *by)
                } else {
                    truncation::public(&mut self.emit, x, *by)
                };
                full(t1::truncation::convert(&mut self.emit, y, k))
            }
            Op::Lt => {
                let (x, width) = self.difference(id);
                full(comparison::negative(&mut self.emit, x, width))
            }
            Op::Eq => {
                let (x, width) = self.difference(id);
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
            Op::And => self.product(id),
            Op::ToInt => match self.word_of(args[0], k) {
                Some(word) => full(word),
                None => {
                    let x = self.full(args[0]);
                    full(selection::to_word(&mut self.emit, x, k))
                }
            },
            // Lowered with what cuts it.
            Op::Gate if self.cut(id) => Held::default(),
            Op::Gate => {
                let v = self.at(args[0], k);
                let negative = match self.early_sign(args[0], args[1]) {
                    Some(negative) => negative,
                    None => {
                        let s = self.operand_of(id, 1);
                        comparison::negative(&mut self.emit, s, self.ranges.bits(args[1]))
                    }
                };
                let keep = self.emit.add(C::Not(negative));
                full(selection::inject(&mut self.emit, keep, v))
            }
            Op::Saturate(top) => full(self.saturate(id, *top)),
            Op::Select if !bits => {
                let (c, a, b) = (self.full(args[0]), self.at(args[1], k), self.at(args[2], k));
                let d = self.emit.add(C::Sub(a, b));
                let shape = g.shape(id).to_vec();
                let d = self.emit.broadcast(d, &shape);
                let c = self.emit.broadcast(c, &shape);
                let chosen = selection::inject(&mut self.emit, c, d);
                full(self.emit.add(C::Add(chosen, b)))
            }
            Op::Exp => {
                let (x, frac) = (self.at(args[0], FUNCTIONS), g.ty(args[0]).frac.unwrap_or(0));
                let y = exponential::any(&mut self.emit, x, frac);
                full(t1::truncation::convert(&mut self.emit, y, k))
            }
            Op::ExpNonPositive => {
                let (x, frac) = (self.at(args[0], FUNCTIONS), g.ty(args[0]).frac.unwrap_or(0));
                let y = exponential::non_positive(&mut self.emit, x, frac);
                full(t1::truncation::convert(&mut self.emit, y, k))
            }
            Op::Recip => {
                let x = self.operand(args[0]);
                let y = elementary::recip(&mut self.emit, x);
                full(t1::truncation::convert(&mut self.emit, y, k))
            }
            Op::Sqrt => {
                let x = self.operand(args[0]);
                let y = elementary::sqrt(&mut self.emit, x);
                full(t1::truncation::convert(&mut self.emit, y, k))
            }
            Op::Log => {
                let x = self.operand(args[0]);
                let y = elementary::log(&mut self.emit, x);
                full(t1::truncation::convert(&mut self.emit, y, k))
            }
            Op::Div => {
                let (x, y) = (self.at(args[0], FUNCTIONS), self.operand(args[1]));
                let y = elementary::divide(&mut self.emit, x, y);
                full(t1::truncation::convert(&mut self.emit, y, k))
            }
            Op::ArgMaxIs => full(self.hit(id, None)),
            _ => return self.refuse(id),
        })
    }

    fn refuse<T>(&self, id: NodeId) -> Result<T> {
        let (what, span) = (self.graph.op(id).name(), self.graph.site(id).span);
        Err(Box::new(Diagnostic::not_lowered(what, span)))
    }

    /// A number with what is proven of it.
    fn operand(&mut self, id: NodeId) -> elementary::Operand {
        let (lo, _) = self.ranges.raw[id.index()];
        elementary::Operand {
            value: self.at(id, FUNCTIONS),
            frac: self.graph.ty(id).frac.unwrap_or(0),
            bits: Some(self.ranges.bits(id) - 1),
            not_negative: lo >= 0.0 || signs::not_negative(self.graph, id),
        }
    }

    fn constant(&mut self, table: &Table, elem: Elem, frac: u32, k: u32) -> ValueId {
        let data = table.data.iter().map(|&x| match elem {
            Elem::Bit => u128::from(x != 0.0),
            Elem::Int | Elem::Fix => word((x * 2f64.powi(frac as i32)).round(), k),
        });
        self.emit.constant(elem == Elem::Bit, k, &table.shape, data.collect())
    }

    /// The difference of a comparison's operands, and the bits that hold it.
    fn difference(&mut self, id: NodeId) -> (ValueId, u32) {
        let (x, y) = (self.operand_of(id, 0), self.operand_of(id, 1));
        let (a, b) = (self.graph.arg(id, 0), self.graph.arg(id, 1));
        let width = match self.rings.fixed() {
            Some(k) => k,
            None => self.ranges.difference_bits(a, b),
        };
        (self.emit.add(C::Sub(x, y)), width)
    }
}
