//! Nodes that compare and choose: gates, selections, saturation, argmax tests, inner products with bits.

use crate::cost::Tuning;
use crate::lower::Emit;
use crate::lower::choose::{Way, words_of};
use crate::lower::common::labels::beyond;
use crate::lower::common::lookup::{all_ones, lookup};
use crate::lower::common::masked::{self, Pair, Split};
use crate::lower::common::words::{raise, ring_for, word};
use crate::lower::form::{Form, Forms, Values};
use crate::lower::t2::saturation::{Located, locate};
use crate::lower::t2::{comparison, gates, product, selection};
use slvr_circuit::{Op as C, ValueId};
use slvr_graph::graph::NodeId;

/// v where s >= 0, else 0.
pub fn gate(l: &mut Values<'_>, id: NodeId, tuning: Tuning) -> Pair {
    let (g, k, groups) = (l.facts.graph, l.facts.rings.of(id), l.plan.of(id).groups);
    let v = g.arg(id, 0);
    let s = l.facts.cheaper_sign(v, g.arg(id, 1));
    let width = l.facts.ranges.bits(s);
    let ring = l.facts.rings.of(s).min(ring_for(width.max(8)));
    let x = l.split_low(s, ring, groups, width);
    let e = &mut l.emit;
    let negative = comparison::negative(e, &x, width, tuning);
    let keep = masked::not(e, negative);
    let keep = masked::settle(e, keep);
    let v = l.split_in(v, k, groups);
    selection::inject(&mut l.emit, &keep, &v)
}

/// One word or the other.
pub fn selection(l: &mut Values<'_>, id: NodeId) -> Pair {
    let (g, k, groups) = (l.facts.graph, l.facts.rings.of(id), l.plan.of(id).groups);
    let args = g.args(id);
    let [a, b] = [args[1], args[2]].map(|x| l.split_aligned(x, k, groups, g.shape(id)));
    let c = l.split(args[0], groups);
    let e = &mut l.emit;
    let d = masked::sum(e, &a, &b, true);
    let d = masked::broadcast(e, &d, g.shape(id));
    let c = masked::broadcast(e, &c, g.shape(id));
    let b = masked::broadcast(e, &b, g.shape(id));
    let chosen = selection::inject(e, &c, &d);
    let add2 = e.add(C::Add(chosen.add2, b.dup));
    let own = match chosen.own {
        Some(own) => e.add(C::Add(own, b.own)),
        None => b.own,
    };
    Pair { own: Some(own), add2 }
}

/// As [`crate::lower::t1::saturation::saturate`].
pub fn saturation(l: &mut Values<'_>, id: NodeId, top: u32, tuning: Tuning) -> Pair {
    let (g, k, groups) = (l.facts.graph, l.facts.rings.of(id), l.plan.of(id).groups);
    let arg = g.arg(id, 0);
    // What is cut off becomes 2^most: only the bits of its word that this leaves are read.
    let most = top + l.facts.frac(id);
    let small = ring_for(k.saturating_sub(most)).min(k);
    let (inner, outer) = if let Some((s, width)) = l.facts.compared(arg) {
        let (v, exponent) = (g.arg(arg, 0), top + l.facts.frac(s));
        let ring = ring_for(width.max(8));
        let x = l.split_low(s, ring, groups, width);
        let Located { inside, large } = locate(&mut l.emit, &x, (width, exponent), tuning);
        let v = l.split_in(v, k, groups);
        let inner = selection::inject(&mut l.emit, &inside, &v);
        (inner, selection::to_word(&mut l.emit, &large, small))
    } else {
        let width = l.facts.ranges.beside_ends(arg, f64::from(most).exp2());
        let ring = l.facts.operand_ring(id, 0);
        let x = l.split_low(arg, ring, groups, width);
        let e = &mut l.emit;
        // From -c to c is from 0 to 2 c.
        let c = word(f64::from(most).exp2(), ring);
        let up = Split { dup: e.add(C::Offset(x.dup, c)), ..x };
        let Located { inside, large: high } = locate(e, &up, (width, most + 1), tuning);
        let low = masked::sum(e, &inside, &high, false);
        let low = Split { dup: e.add(C::Not(low.dup)), mask: None, ..low };
        let v = l.split_in(arg, k, groups);
        let e = &mut l.emit;
        let inner = selection::inject(e, &inside, &v);
        let low = selection::to_word(e, &low, small);
        let high = selection::to_word(e, &high, small);
        let own = match (high.own, low.own) {
            (Some(a), Some(b)) => Some(e.add(C::Sub(a, b))),
            _ => None,
        };
        (inner, Pair { own, add2: e.add(C::Sub(high.add2, low.add2)) })
    };
    let e = &mut l.emit;
    let own = outer.own.map(|v| raise(e, v, k, most));
    let outer = Pair { own, add2: raise(e, outer.add2, k, most) };
    let own = match (inner.own, outer.own) {
        (Some(a), Some(b)) => Some(e.add(C::Add(a, b))),
        (a, b) => a.or(b),
    };
    Pair { own, add2: e.add(C::Add(inner.add2, outer.add2)) }
}

/// As [`crate::lower::t1::selection::argmax_is`]: margins, their signs, and one product of all of an
/// element's bits.
pub fn argmax_is(l: &mut Values<'_>, id: NodeId, tuning: Tuning) -> Pair {
    let choice = l.plan.of(id).clone();
    let (g, groups) = (l.facts.graph, choice.groups);
    let z = g.arg(id, 0);
    let shape = g.shape(z);
    let classes = shape.last().copied().unwrap_or(1);
    let n: u64 = shape[..shape.len() - 1].iter().product();
    let width = l.facts.ranges.difference_bits(z, z) + 1;
    let label = l.operand(id, 1);
    let k = l.facts.operand_ring(id, 0);
    let zs = l.split_low(z, k, groups, width);
    let e = &mut l.emit;
    let to = |e: &mut Emit, x: &Split, shape: &[u64]| {
        masked::linear(e, x, |v| C::Reshape(v, shape.to_vec()))
    };
    let left = to(e, &zs, &[n, 1, classes]);
    let flat = e.add(C::Reshape(label, vec![n, 1, classes]));
    let right = masked::split(e, flat, groups);
    let own = product::product(e, &left, &right, |a, b| C::MatMul { a, b, trans_b: true });
    let own = masked::settle(e, own);
    let own = to(e, &own, &[n, 1]);

    let beyond = beyond(e, label, n, classes, k);
    let beyond = masked::split(e, beyond, groups);
    let others = to(e, &zs, &[n, classes]);
    let own = masked::broadcast(e, &own, &[n, classes]);
    let margin = masked::sum(e, &own, &others, true);
    let margin = masked::sum(e, &margin, &beyond, true);
    let worse = comparison::negative(e, &margin, width, tuning);
    let good = masked::not(e, worse);
    let good = masked::settle(e, good);
    let good = masked::to_planes(e, &good);
    let outer = g.shape(id);
    if let Way::Counted(reader) = choice.way {
        let k = l.facts.rings.of(reader);
        let hits = lookup(e, &good, &all_ones(classes as u32), Some(k));
        let add2 = e.add(C::Reshape(hits.add2, outer.to_vec()));
        l.record(reader, Form::Pair(Pair { own: None, add2 }).into());
    }
    let e = &mut l.emit;
    let all = gates::all_planes(e, &good, tuning);
    masked::linear_of_pair(e, all, |v| C::Reshape(v, outer.to_vec()))
}

/// Inner products of rows with bits as words: a choice of each entry instead of words of the bits.
pub fn entries(l: &mut Values<'_>, id: NodeId) -> Forms {
    let (g, k, groups) = (l.facts.graph, l.facts.rings.of(id), l.plan.of(id).groups);
    let (x, z) = (g.arg(id, 0), g.arg(id, 1));
    let shape = g.shape(x).to_vec();
    let Some(word) = words_of(&l.facts, x) else { unreachable!("chosen for words of bits only") };
    let chosen = l.split(g.arg(word, 0), groups);
    let values = l.split_in(z, k, groups);
    let e = &mut l.emit;
    let chosen = masked::linear(e, &chosen, |v| C::Reshape(v, shape.clone()));
    let Pair { own, add2 } = selection::inject(e, &chosen, &values);
    let mut summed = |x: ValueId| {
        let sum = e.add(C::Sum { x, axes: vec![2] });
        e.add(C::Reshape(sum, vec![shape[0], 1, 1]))
    };
    Form::Pair(Pair { own: own.map(&mut summed), add2: summed(add2) }).into()
}
