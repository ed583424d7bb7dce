//! Nodes that compare and choose: gates, selections, saturation, argmax tests.

use crate::cost::Tuning;
use crate::lower::Emit;
use crate::lower::common::labels::beyond;
use crate::lower::common::lookup::{all_ones, lookup, pays};
use crate::lower::common::masked::{self, Pair, Split};
use crate::lower::common::words::{raise, ring_for};
use crate::lower::form::{Form, Values};
use crate::lower::groups::{DIFFERENCE, ONE_DEALER, PRODUCT};
use crate::lower::t2::saturation::{Ends, Located, locate};
use crate::lower::t2::{comparison, gates, product, selection};
use slvr_circuit::{Dom, Hold, Op as C, Type, ValueId, verify};
use slvr_graph::analysis::truth_tables::MOST_BITS;
use slvr_graph::graph::{NodeId, Op};

/// v where s >= 0, else 0.
pub fn gate(l: &mut Values<'_>, id: NodeId, tuning: Tuning) -> Option<Pair> {
    let (g, k) = (l.facts.graph, l.facts.rings.of(id));
    let groups = l.common(id, g.args(id), &PRODUCT)?;
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
    Some(selection::inject(&mut l.emit, &keep, &v))
}

/// One word or the other.
pub fn selection(l: &mut Values<'_>, id: NodeId) -> Option<Pair> {
    let (g, k) = (l.facts.graph, l.facts.rings.of(id));
    let args = g.args(id);
    if !args.iter().all(|&x| l.facts.is_secret(x)) {
        return None;
    }
    let groups = l.common(id, &args[1..], &DIFFERENCE)?;
    let whole = C::Broadcast(ValueId(0), g.shape(id).to_vec());
    if !l.fits(&args[..1], groups, &whole) {
        return None;
    }
    let [a, b] = [args[1], args[2]].map(|x| l.split_aligned(x, k, groups, g.shape(id)));
    let c = l.split(args[0], groups);
    let e = &mut l.emit;
    let d = masked::sum(e, &a, &b, true);
    let d = masked::broadcast(e, &d, g.shape(id));
    let c = masked::broadcast(e, &c, g.shape(id));
    let b = masked::broadcast(e, &b, g.shape(id));
    let chosen = selection::inject(e, &c, &d);
    let add2 = e.add(C::Add(chosen.add2, b.dup));
    let own = chosen.own.map_or(b.own, |own| e.add(C::Add(own, b.own)));
    Some(Pair { own: Some(own), add2 })
}

/// As [`crate::lower::t1::saturation::saturate`].
pub fn saturation(l: &mut Values<'_>, id: NodeId, top: u32, tuning: Tuning) -> Option<Pair> {
    let (g, k) = (l.facts.graph, l.facts.rings.of(id));
    let arg = g.arg(id, 0);
    let compared = l.facts.compared(arg);
    let groups = match compared {
        Some((s, _)) => l.common(id, &[g.arg(arg, 0), s], &PRODUCT)?,
        None => l.groups_or_default(arg),
    };
    let most = top + l.facts.graph.frac_of(id);
    let Some((s, width)) = compared else {
        let width = l.facts.ranges.beside_ends(arg, f64::from(most).exp2());
        let ring = l.facts.operand_ring(id, 0);
        let x = l.split_low(arg, ring, groups, width);
        let ends = Ends::of(&mut l.emit, &x, (width, most), tuning);
        let v = l.split_in(arg, k, groups);
        return Some(ends.cut(&mut l.emit, &v, most));
    };
    // What is cut off becomes 2^most: only the bits of its word that this leaves are read.
    let small = ring_for(k.saturating_sub(most)).min(k);
    let (v, exponent) = (g.arg(arg, 0), top + l.facts.graph.frac_of(s));
    let ring = ring_for(width.max(8));
    let x = l.split_low(s, ring, groups, width);
    let Located { inside, large } = locate(&mut l.emit, &x, (width, exponent), tuning);
    let v = l.split_in(v, k, groups);
    let e = &mut l.emit;
    let inner = selection::inject(e, &inside, &v);
    let outer = selection::to_word(e, &large, small);
    let outer = masked::each_of_pair(outer, |v| raise(e, v, k, most));
    Some(masked::sum_of_pairs(e, inner, outer))
}

/// As [`crate::lower::t1::selection::argmax_is`]: margins, their signs, and one product of all of an
/// element's bits.
pub fn argmax_is(l: &mut Values<'_>, id: NodeId, tuning: Tuning) -> Option<Pair> {
    let g = l.facts.graph;
    let (z, y) = (g.arg(id, 0), g.arg(id, 1));
    if !l.facts.is_secret(z) || !l.facts.is_secret(y) {
        return None;
    }
    let (&classes, outer) = g.shape(z).split_last()?;
    let n: u64 = outer.iter().product();
    // Few logits get one dealer for all here, where it is free: what is made of them is combined across
    // samples and clients soon.
    let groups = if g.elements(z) <= ONE_DEALER { 1 } else { l.groups_or_default(z) };
    // Classes become planes, so samples must be what shards are parts of.
    let is_cut = |shape: &[u64]| {
        let ty = Type::new(Hold::Own, Dom::Ring(64), shape.to_vec()).grouped(groups);
        verify::check_type(&ty).is_ok()
    };
    if !is_cut(&[n, 1, classes]) || !is_cut(&[n, 1]) || n == 1 && groups > 1 {
        return None;
    }
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
    let flat = |v| C::Reshape(v, g.shape(id).to_vec());
    // What is only counted becomes a word in the same step.
    if let [reader] = g.users(id)[..]
        && *g.op(reader) == Op::ToInt
        && !l.facts.graph.is_output(id)
        && classes <= MOST_BITS as u64
        && pays(u64::from(l.facts.rings.of(reader)) << classes, n, 1.0, tuning)
    {
        let hits = lookup(e, &good, &all_ones(classes as u32), Some(l.facts.rings.of(reader)));
        let hits = masked::linear_of_pair(e, hits, flat);
        l.record(reader, Form::Pair(hits));
    }
    let e = &mut l.emit;
    let all = gates::all_planes(e, &good, tuning);
    Some(masked::linear_of_pair(e, all, flat))
}
