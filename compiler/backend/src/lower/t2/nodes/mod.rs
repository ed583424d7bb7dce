//! Nodes by family T2.
//!
//! A function first asks whether the family has a protocol for the node, and whether something speaks for it: the forms
//! in which the operands were made, and the time that protocols take ([`crate::cost::Tuning`]). If not, it has made
//! nothing, and the node is lowered by family T1. If so, it asks for the operands as splits in the groups of the
//! operation.

mod choices;
mod conjunctions;
mod products;
mod sums;
mod tables;

use super::elementary::Masked;
use super::functions::{self, Protocol};
use super::{comparison, exponential, selection, truncation};
use crate::cost::Tuning;
use crate::lower::common::elementary::{self, K, Operand};
use crate::lower::common::masked::{self, Pair, Split};
use crate::lower::form::{Form, Forms, LowBits, Values};
use crate::lower::groups::DIFFERENCE;
use crate::lower::instruction::{instruction, is_linear};
use slvr_circuit::{Op as C, ValueId};
use slvr_graph::analysis::zeros::vanishes;
use slvr_graph::graph::{Function, NodeId, Op};

/// A secret value of a node; none where the family has no protocol for it, or nothing speaks for it.
pub fn node(l: &mut Values<'_>, id: NodeId, tuning: Tuning) -> Option<Forms> {
    let g = l.facts.graph;
    if let Some(found) = tables::bits(l, id, tuning) {
        return pair(found);
    }
    match g.op(id) {
        Op::DivPow2(_) | Op::MulPow2(_) => linear(l, id, &Op::Reshape(g.shape(id).to_vec())),
        Op::Add | Op::Sub | Op::Xor => sums::sum(l, id),
        Op::Mul | Op::And | Op::MatMul { .. } | Op::Conv2d(_) => products::product(l, id, tuning),
        Op::Not => not(l, id),
        Op::Trunc(by) => Some(truncation(l, id, *by)),
        Op::Lt | Op::Eq => pair(comparison(l, id, tuning)?),
        Op::ToInt => pair(bits_to_words(l, id, tuning)),
        Op::Gate => pair(choices::gate(l, id, tuning)?),
        Op::Saturate(top) => pair(choices::saturation(l, id, *top, tuning)?),
        Op::Select => pair(choices::selection(l, id)?),
        Op::ArgMaxIs => pair(choices::argmax_is(l, id, tuning)?),
        Op::Function(f) => function(l, id, *f, tuning),
        Op::Div => quotient(l, id, tuning),
        op if is_linear(op) => linear(l, id, op),
        _ => None,
    }
}

fn pair(x: Pair) -> Option<Forms> {
    Some(Form::Pair(x).into())
}

/// A linear operation of an operand that is split already.
fn linear(l: &mut Values<'_>, id: NodeId, how: &Op) -> Option<Forms> {
    let (g, k) = (l.facts.graph, l.facts.rings.of(id));
    let x = g.arg(id, 0);
    let groups = l.groups(x)?;
    if !l.fits(g.args(id), groups, &instruction(how, ValueId(0), ValueId(1), k)) {
        return None;
    }
    let index = g.args(id).get(1).map(|&index| l.replicated(index));
    let op = |v| instruction(how, v, index, k);
    if let Some(p) = l.take_pair(x, id, k, groups) {
        return pair(masked::linear_of_pair(&mut l.emit, p, op));
    }
    let s = l.split_in(x, k, groups);
    let low = l.low_bits(x, k, groups);
    let e = &mut l.emit;
    let low = low.map(|low| LowBits { split: masked::linear(e, &low.split, op), ..low });
    Some(Forms::split(masked::linear(e, &s, op), low))
}

fn not(l: &mut Values<'_>, id: NodeId) -> Option<Forms> {
    let x = l.facts.graph.arg(id, 0);
    let groups = l.groups(x)?;
    if let Some(p) = l.take_pair(x, id, 1, groups) {
        return pair(masked::not(&mut l.emit, p));
    }
    let s = l.split(x, groups);
    Some(Form::Split(Split { dup: l.emit.add(C::Not(s.dup)), ..s }).into())
}

fn truncation(l: &mut Values<'_>, id: NodeId, by: u32) -> Forms {
    let groups = l.groups_or_default(l.facts.graph.arg(id, 0));
    let x = l.split_operand(id, 0, groups);
    let bits = l.emit.ty(x.own).bits() - by;
    let truncated = truncation::truncate(&mut l.emit, &x, by, l.facts.rings.of(id));
    let low = truncated.low.map(|split| LowBits { split, bits });
    Forms::split(truncated.whole, low)
}

fn comparison(l: &mut Values<'_>, id: NodeId, tuning: Tuning) -> Option<Pair> {
    let g = l.facts.graph;
    let groups = l.common(id, g.args(id), &DIFFERENCE)?;
    let (x, width) = sums::difference(l, id, groups);
    Some(match g.op(id) {
        Op::Eq => comparison::zero(&mut l.emit, &x, width, tuning),
        _ => comparison::negative(&mut l.emit, &x, width, tuning),
    })
}

fn bits_to_words(l: &mut Values<'_>, id: NodeId, tuning: Tuning) -> Pair {
    tables::words(l, id, tuning).unwrap_or_else(|| {
        let bit = l.facts.graph.arg(id, 0);
        let c = l.split(bit, l.groups_or_default(bit));
        selection::to_word(&mut l.emit, &c, l.facts.rings.of(id))
    })
}

fn function(l: &mut Values<'_>, id: NodeId, f: Function, tuning: Tuning) -> Option<Forms> {
    let (ring, protocol) = functions::choose(&l.facts, id, f, tuning)?;
    let (arg, k) = (l.facts.graph.arg(id, 0), l.facts.rings.of(id));
    let x = l.split_in(arg, ring, l.groups_or_default(arg));
    let e = &mut l.emit;
    let y = match protocol {
        Protocol::Exponential(operand) => {
            return pair(exponential::exp_non_positive(e, &x, operand, k, tuning));
        }
        Protocol::Pieces(pieces) => pieces.eval(e, &x),
        Protocol::Normalised => {
            let x = l.facts.operand(arg, x);
            elementary::function(&mut Masked { emit: e, tuning }, f, &x, k)?
        }
    };
    if e.ty(y.own).bits() == k {
        return Some(Form::Split(y).into());
    }
    let narrow = masked::linear(e, &y, |v| C::Narrow(v, k));
    Some([Form::Split(narrow), Form::Split(y)].into())
}

/// Dividend and divisor each in the groups that they have: their product finds those that it needs.
fn quotient(l: &mut Values<'_>, id: NodeId, tuning: Tuning) -> Option<Forms> {
    let (g, to) = (l.facts.graph, l.facts.rings.of(id));
    let (x, y) = (g.arg(id, 0), g.arg(id, 1));
    let by_t1 = l.facts.rings.fixed().is_some() || !l.facts.is_secret(y);
    if by_t1 || !functions::divides(&l.facts, id, tuning) {
        return None;
    }
    let dividend = if l.facts.is_secret(x) {
        l.split_in(x, K, l.groups_or_default(x))
    } else {
        let x = l.in_ring(x, K);
        let x = l.emit.share_public(x);
        masked::split(&mut l.emit, x, 1)
    };
    let divisor = l.split_in(y, K, l.groups_or_default(y));
    let vanishes = vanishes(g, x, y);
    let dividend = Operand { vanishes, ..l.facts.operand(x, dividend) };
    let divisor = l.facts.operand(y, divisor);
    let of = &mut Masked { emit: &mut l.emit, tuning };
    Some(Form::Split(elementary::divide(of, &dividend, &divisor, to)).into())
}
