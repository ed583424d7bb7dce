//! Nodes by family T1, and public values.
//!
//! A product stays additive among the three ([`Form::Additive`]) until something needs it replicated: sums,
//! layouts, biases and reveals take it as it is. Secret times secret is a local product and one reshare
//! later (Araki et al. 2016): 1 round, k bits per entry of the *result* and party. Public times anything is
//! local.

use super::elementary::Replicated;
use super::functions;
use super::truncation::convert;
use super::{comparison, early_signs, noise, saturation, selection, truncation};
use crate::lower::common::elementary::{K, Operand, divide};
use crate::lower::common::words::word;
use crate::lower::form::{Form, Forms, Values};
use crate::lower::instruction::instruction;
use crate::lower::{Target, malicious};
use slvr_circuit::{Dom, Op as C, ValueId};
use slvr_graph::analysis::zeros::vanishes;
use slvr_graph::graph::{NodeId, Op, Table};
use slvr_language::types::{Elem, Lots};

/// The value of a node.
pub fn node(l: &mut Values<'_>, id: NodeId) -> Forms {
    let (g, k) = (l.facts.graph, l.facts.rings.of(id));
    let op = g.op(id);
    let value = match op {
        Op::Input(i) => l.given.dealt[*i as usize],
        Op::Const(table, elem, frac) => constant(l, table, *elem, frac.unwrap_or(0), k),
        Op::Draw(Lots { rows, n, k: drawn, others }) => {
            let coin = l.given.coins[&id];
            let drawn = l.emit.add(match others {
                true => C::Committee { coin, n: *n, k: *drawn },
                false => C::Draw { coin, rows: *rows, n: *n, k: *drawn },
            });
            convert(&mut l.emit, drawn, k)
        }
        Op::Places(n) => {
            let index = l.operand(id, 0);
            let places = l.emit.add(C::Places { index, n: *n });
            convert(&mut l.emit, places, k)
        }
        Op::Noise { noise, number, .. } => {
            noise::draw(&mut l.emit, &noise.sampler(), *number, g.shape(id), k)
        }
        Op::Pairs { table, n } => l.emit.add(C::Pairs { table: *table, n: *n, dom: Dom::Ring(k) }),
        Op::Concat(axis) => concat(l, id, *axis),
        Op::Neg
        | Op::Scale(_)
        | Op::Shift(_)
        | Op::Sum(_)
        | Op::Reshape(_)
        | Op::Transpose(_)
        | Op::Slice { .. }
        | Op::Broadcast(_)
        | Op::Gather { .. } => return linear(l, id),
        Op::DivPow2(_) | Op::MulPow2(_) => return rescale(l, id),
        Op::Add | Op::Sub | Op::Xor => return sum(l, id),
        Op::Mul | Op::And | Op::MatMul { .. } | Op::Conv2d(_) => return product(l, id),
        Op::Not => {
            let x = l.replicated(g.arg(id, 0));
            l.emit.add(C::Not(x))
        }
        Op::Trunc(by) => truncation(l, id, *by),
        Op::Lt => {
            let (x, width) = difference(l, id);
            comparison::negative(&mut l.emit, x, width)
        }
        Op::Eq => {
            let (x, width) = difference(l, id);
            comparison::zero(&mut l.emit, x, width)
        }
        Op::ToInt => {
            let bit = g.arg(id, 0);
            word_at_once(l, bit, k).unwrap_or_else(|| {
                let x = l.replicated(bit);
                selection::to_word(&mut l.emit, x, k)
            })
        }
        Op::Gate => gate(l, id),
        Op::Saturate(top) => saturation::saturate(l, id, *top),
        Op::Select if !l.facts.is_bit(id) => selection(l, id),
        Op::ArgMaxIs => argmax_is(l, id, None),
        Op::Function(f) => {
            let x = operand(l, g.arg(id, 0));
            let y = functions::emit(&mut l.emit, *f, x);
            convert(&mut l.emit, y, k)
        }
        Op::Div => {
            let (x, y) = (g.arg(id, 0), g.arg(id, 1));
            let (dividend, divisor) = (operand(l, x), operand(l, y));
            let dividend = Operand { vanishes: vanishes(g, x, y), ..dividend };
            let quotient = divide(&mut Replicated(&mut l.emit), &dividend, &divisor, K);
            convert(&mut l.emit, quotient, k)
        }
        Op::Select
        | Op::Relu
        | Op::Abs
        | Op::Max(_)
        | Op::Min(_)
        | Op::ArgMax
        | Op::Sort
        | Op::SortSum { .. }
        | Op::OneHot(_)
        | Op::MaxPool { .. } => unreachable!("passes replace `{}`", op.name()),
    };
    l.whole(id, value).into()
}

fn constant(l: &mut Values<'_>, table: &Table, elem: Elem, frac: u32, k: u32) -> ValueId {
    let data = table.data.iter().map(|&x| match elem {
        Elem::Bit => u128::from(x != 0.0),
        Elem::Int | Elem::Fix => word((x * 2f64.powi(frac as i32)).round_ties_even(), k),
    });
    l.emit.constant(elem == Elem::Bit, k, &table.shape, data.collect())
}

/// Parts one after another: public ones are shared first if others are secret.
fn concat(l: &mut Values<'_>, id: NodeId, axis: u64) -> ValueId {
    let k = l.facts.rings.of(id);
    let secret = l.facts.is_secret(id);
    let mut xs = Vec::new();
    for &a in l.facts.graph.args(id) {
        let x = l.in_ring(a, k);
        let public = secret && !l.facts.is_secret(a);
        xs.push(if public { l.emit.share_public(x) } else { x });
    }
    l.emit.add(C::Concat { xs, axis })
}

/// On the additive form if that is all there is and the result is not larger.
fn linear(l: &mut Values<'_>, id: NodeId) -> Forms {
    let (g, k) = (l.facts.graph, l.facts.rings.of(id));
    let x = g.arg(id, 0);
    let index = g.args(id).get(1).map(|&index| l.replicated(index));
    if let Some(p) = l.take_additive(x, id, k) {
        return Form::Additive(l.emit.add(instruction(g.op(id), p, index, k))).into();
    }
    let x = l.in_ring(x, k);
    let y = l.emit.add(instruction(g.op(id), x, index, k));
    l.whole(id, y).into()
}

/// The same raw words with more fraction bits.
fn rescale(l: &mut Values<'_>, id: NodeId) -> Forms {
    let (x, k) = (l.facts.graph.arg(id, 0), l.facts.rings.of(id));
    if let Some(p) = l.take_additive(x, id, k) {
        return Form::Additive(p).into();
    }
    if l.facts.rings.of(x) == k {
        return l.unsplit(x);
    }
    let y = l.in_ring(x, k);
    l.whole(id, y).into()
}

/// Added before the reshare where one of both is a product.
fn sum(l: &mut Values<'_>, id: NodeId) -> Forms {
    let (g, k) = (l.facts.graph, l.facts.rings.of(id));
    let (a, b) = (g.arg(id, 0), g.arg(id, 1));
    let mut additive = |x: NodeId| match *g.op(id) == Op::Xor || a == b {
        true => None,
        false => l.take_additive(x, id, k),
    };
    let (x, y) = (additive(a), additive(b));
    let is_additive = x.is_some() || y.is_some();
    let x = x.unwrap_or_else(|| l.in_ring(a, k));
    let y = y.unwrap_or_else(|| l.in_ring(b, k));
    let sum = l.emit.add(instruction(g.op(id), x, y, k));
    let form = if is_additive { Form::Additive(sum) } else { l.whole(id, sum) };
    form.into()
}

fn product(l: &mut Values<'_>, id: NodeId) -> Forms {
    let (g, k) = (l.facts.graph, l.facts.rings.of(id));
    let (x, y) = (l.operand(id, 0), l.operand(id, 1));
    let product = l.emit.add(instruction(g.op(id), x, y, k));
    let both = g.args(id).iter().all(|&x| l.facts.is_secret(x));
    let form = if both { Form::Additive(product) } else { l.whole(id, product) };
    form.into()
}

fn truncation(l: &mut Values<'_>, id: NodeId, by: u32) -> ValueId {
    let (x, k) = (l.operand(id, 0), l.facts.rings.of(id));
    let (is_secret, e) = (l.facts.is_secret(id), &mut l.emit);
    let y = match e.target {
        _ if !is_secret => truncation::public(e, x, by),
        Target::SemiHonest(_) => truncation::exact(e, x, by),
        Target::Malicious(_) => malicious::truncation::truncated(e, x, by, k),
    };
    convert(e, y, k)
}

/// v where s >= 0, else 0.
fn gate(l: &mut Values<'_>, id: NodeId) -> ValueId {
    let (g, k) = (l.facts.graph, l.facts.rings.of(id));
    let (v, s) = (g.arg(id, 0), g.arg(id, 1));
    let value = l.in_ring(v, k);
    let negative = early_signs::sign(l, v, s).unwrap_or_else(|| {
        let x = l.operand(id, 1);
        comparison::negative(&mut l.emit, x, l.facts.ranges.bits(s))
    });
    let keep = l.emit.add(C::Not(negative));
    selection::inject(&mut l.emit, keep, value)
}

/// One word or the other.
fn selection(l: &mut Values<'_>, id: NodeId) -> ValueId {
    let (g, k) = (l.facts.graph, l.facts.rings.of(id));
    let args = g.args(id);
    let (c, a, b) = (l.replicated(args[0]), l.in_ring(args[1], k), l.in_ring(args[2], k));
    let e = &mut l.emit;
    let d = e.add(C::Sub(a, b));
    let d = e.broadcast(d, g.shape(id));
    let c = e.broadcast(c, g.shape(id));
    let chosen = selection::inject(e, c, d);
    e.add(C::Add(chosen, b))
}

/// A number in the ring of functions, with what is proven of it.
fn operand(l: &mut Values<'_>, id: NodeId) -> Operand<ValueId> {
    let value = l.in_ring(id, K);
    l.facts.operand(id, value)
}

/// The difference of a comparison's operands, and the bits that hold it.
fn difference(l: &mut Values<'_>, id: NodeId) -> (ValueId, u32) {
    let (x, y) = (l.operand(id, 0), l.operand(id, 1));
    (l.emit.add(C::Sub(x, y)), l.facts.difference_bits(id))
}

/// An argmax test as a bit, or as a word of Z_2^k.
fn argmax_is(l: &mut Values<'_>, id: NodeId, word: Option<u32>) -> ValueId {
    let (logits, label) = (l.facts.graph.arg(id, 0), l.facts.graph.arg(id, 1));
    let width = l.facts.ranges.difference_bits(logits, logits) + 1;
    let (z, y) = match early_signs::replicated(l, logits, width) {
        Some(z) => (z, l.in_ring(label, l.emit.ty(z).bits())),
        None => (l.operand(id, 0), l.operand(id, 1)),
    };
    selection::argmax_is(&mut l.emit, z, y, width, word)
}

/// A bit as a word of Z_2^k, where one step makes it of what the bit is made of.
fn word_at_once(l: &mut Values<'_>, bit: NodeId, k: u32) -> Option<ValueId> {
    let g = l.facts.graph;
    let args = g.args(bit);
    if !l.facts.is_secret(bit) || l.facts.rings.fixed().is_some() {
        return None;
    }
    // Ranks that nothing reads are not made.
    if [bit].iter().chain(args).any(|&x| l.searches.at(x).is_some()) {
        return None;
    }
    match g.op(bit) {
        Op::Lt => {
            let (x, width) = difference(l, bit);
            selection::negative_word(&mut l.emit, x, width, k, None)
        }
        Op::ArgMaxIs => Some(argmax_is(l, bit, Some(k))),
        // A comparison of earlier bits' sums, and another condition that was there before: one table.
        Op::And => {
            let (first, last) = (args[0].min(args[1]), args[0].max(args[1]));
            let fits = |x: NodeId| l.facts.is_secret(x) && g.shape(x) == g.shape(bit);
            if *g.op(last) != Op::Lt || !fits(first) || !fits(last) {
                return None;
            }
            let (x, width) = difference(l, last);
            let first = l.replicated(first);
            let word = selection::to_word(&mut l.emit, first, k);
            selection::negative_word(&mut l.emit, x, width, k, Some(word))
        }
        _ => None,
    }
}
