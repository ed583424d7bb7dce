//! Sums and differences of values of which some are splits, some pairs and some public.

use crate::lower::common::masked::{self, Pair, Split};
use crate::lower::common::words::sum_of;
use crate::lower::form::{Form, Forms, LowBits, Values};
use crate::lower::instruction::instruction;
use slvr_circuit::{Hold, Op as C, ValueId};
use slvr_graph::graph::{NodeId, Op};

/// a + b, a - b, a xor b, where one of both is split already.
pub fn sum(l: &mut Values<'_>, id: NodeId) -> Option<Forms> {
    let (g, k) = (l.facts.graph, l.facts.rings.of(id));
    let args = [g.arg(id, 0), g.arg(id, 1)];
    if args.iter().all(|&x| l.groups(x).is_none()) {
        return None;
    }
    let op = instruction(g.op(id), ValueId(0), ValueId(1), k);
    let groups = l.common(id, &args, &op)?;
    let pairs = args.map(|x| match args[0] == args[1] {
        true => None,
        false => l.take_pair(x, id, k, groups),
    });
    if pairs.iter().all(Option::is_none) && args.iter().all(|&x| l.facts.is_secret(x)) {
        return Some(of_splits(l, id, groups));
    }
    Some(of_parts(l, id, groups, pairs))
}

fn of_splits(l: &mut Values<'_>, id: NodeId, groups: u32) -> Forms {
    let (g, k) = (l.facts.graph, l.facts.rings.of(id));
    let (args, out) = ([g.arg(id, 0), g.arg(id, 1)], g.shape(id));
    let minus = *g.op(id) == Op::Sub;
    let splits = args.map(|x| l.split_aligned(x, k, groups, out));
    // The low bits of both, if those of one are there early and nothing is repeated.
    let lows = args.map(|x| match g.shape(x) == out {
        true => l.low_bits(x, k, groups),
        false => None,
    });
    let e = &mut l.emit;
    let low = lows.iter().flatten().map(|low| low.bits).min().map(|bits| {
        let [x, y] = [0, 1].map(|i| lows[i].map_or(splits[i], |low| low.split));
        LowBits { split: masked::sum(e, &x, &y, minus), bits }
    });
    Forms::split(masked::sum(e, &splits[0], &splits[1], minus), low)
}

/// Each operand as a part of the dealer, if it has one, and one of the others.
fn of_parts(l: &mut Values<'_>, id: NodeId, groups: u32, pairs: [Option<Pair>; 2]) -> Forms {
    let (g, k) = (l.facts.graph, l.facts.rings.of(id));
    let (shape, minus) = (g.shape(id), *g.op(id) == Op::Sub);
    let [(a, x), (b, y)] = [0, 1].map(|i| match pairs[i] {
        Some(p) => (p.own, p.add2),
        None if l.facts.is_secret(g.arg(id, i)) => {
            let s = l.split_aligned(g.arg(id, i), k, groups, shape);
            (Some(s.own), s.dup)
        }
        None => (None, l.in_ring(g.arg(id, i), k)),
    });
    let e = &mut l.emit;
    let (a, b) = match (a, b) {
        (Some(a), None) => (Some(e.broadcast(a, shape)), None),
        (None, Some(b)) => (None, Some(e.broadcast(b, shape))),
        both => both,
    };
    let own = sum_of(e, a, b, minus);
    // A difference of what the two hold and what both know: the verifier has no rule for Add2 - Dup.
    if minus && e.ty(y).hold == Hold::Dup && e.ty(x).hold == Hold::Add2 {
        let y = e.add(C::Neg(y));
        return Form::Pair(Pair { own, add2: e.add(C::Add(x, y)) }).into();
    }
    let rest = e.add(instruction(g.op(id), x, y, k));
    match own {
        Some(own) if l.emit.ty(rest).hold != Hold::Add2 => {
            let (mask, low) = beside_public(l, id, own, groups).unwrap_or_default();
            Forms::split(Split { own, dup: rest, mask }, low)
        }
        _ => Form::Pair(Pair { own, add2: rest }).into(),
    }
}

/// Of a sum with a public addend: the shares of part a, where it is left as it was, and low bits. A public minuend is
/// rare: its sum has neither.
fn beside_public(
    l: &mut Values<'_>,
    id: NodeId,
    own: ValueId,
    groups: u32,
) -> Option<(Option<ValueId>, Option<LowBits>)> {
    let (g, k) = (l.facts.graph, l.facts.rings.of(id));
    let (a, b) = (g.arg(id, 0), g.arg(id, 1));
    let (x, public) = match [a, b].map(|x| l.facts.is_secret(x)) {
        [true, false] => (a, b),
        [false, true] if *g.op(id) != Op::Sub => (b, a),
        _ => return None,
    };
    let mask = l.own_split(x).filter(|s| s.own == own).and_then(|s| s.mask);
    let low = if g.shape(x) == g.shape(id) { l.low_bits(x, k, groups) } else { None };
    let low = low.map(|low| {
        let c = l.in_ring(public, k);
        let dup = l.emit.add(instruction(g.op(id), low.split.dup, c, k));
        LowBits { split: Split { own: low.split.own, dup, mask: None }, ..low }
    });
    Some((mask, low))
}

/// The difference of a comparison's operands, and the bits that hold it.
pub fn difference(l: &mut Values<'_>, id: NodeId, groups: u32) -> (Split, u32) {
    let g = l.facts.graph;
    let args = [g.arg(id, 0), g.arg(id, 1)];
    let width = l.facts.difference_bits(id);
    let out = g.shape(id).to_vec();
    // What is repeated along the axis that shards are parts of is repeated before it is split.
    let split = |l: &mut Values<'_>, i: usize| {
        let k = l.facts.operand_ring(id, i);
        match groups == 1 || g.shape(args[i]) == out {
            true => l.split_low(args[i], k, groups, width),
            false => l.split_aligned(args[i], k, groups, &out),
        }
    };
    let x = match args.map(|x| l.facts.is_secret(x)) {
        [true, true] => {
            let [x, y] = [split(l, 0), split(l, 1)];
            masked::sum(&mut l.emit, &x, &y, true)
        }
        [true, false] => {
            let (x, y) = (split(l, 0), l.operand(id, 1));
            let x = masked::broadcast(&mut l.emit, &x, &out);
            Split { dup: l.emit.add(C::Sub(x.dup, y)), ..x }
        }
        _ => {
            let (x, y) = (l.operand(id, 0), split(l, 1));
            let y = masked::broadcast(&mut l.emit, &y, &out);
            let y = masked::linear(&mut l.emit, &y, C::Neg);
            Split { dup: l.emit.add(C::Add(x, y.dup)), ..y }
        }
    };
    (x, width)
}
