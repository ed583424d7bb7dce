//! Sums and differences of values of which some are splits, some pairs and some public.

use crate::lower::common::masked::{self, Pair, Split};
use crate::lower::form::{Form, Forms, LowBits, Values};
use crate::lower::task::Sum;
use slvr_circuit::{Hold, Op as C, ValueId};
use slvr_graph::graph::NodeId;

/// a + b, a - b, a xor b.
pub fn sum(l: &mut Values<'_>, id: NodeId, how: Sum) -> Forms {
    let (g, k, groups) = (l.facts.graph, l.facts.rings.of(id), l.plan.of(id).groups);
    let args = [g.arg(id, 0), g.arg(id, 1)];
    let pairs = args.map(|x| {
        let fits = args[0] != args[1] && g.elements(id) <= g.elements(x);
        if fits { l.take_pair(x, k, groups) } else { None }
    });
    if pairs.iter().all(Option::is_none) && args.iter().all(|&x| l.facts.is_secret(x)) {
        return of_splits(l, id, args, how);
    }
    of_parts(l, id, args, pairs, how)
}

fn of_splits(l: &mut Values<'_>, id: NodeId, args: [NodeId; 2], how: Sum) -> Forms {
    let (g, k, groups) = (l.facts.graph, l.facts.rings.of(id), l.plan.of(id).groups);
    let out = g.shape(id).to_vec();
    let minus = how == Sum::Sub;
    let splits = args.map(|x| l.split_aligned(x, k, groups, &out));
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
fn of_parts(
    l: &mut Values<'_>,
    id: NodeId,
    args: [NodeId; 2],
    pairs: [Option<Pair>; 2],
    how: Sum,
) -> Forms {
    let (g, k, groups) = (l.facts.graph, l.facts.rings.of(id), l.plan.of(id).groups);
    let (shape, minus) = (g.shape(id).to_vec(), how == Sum::Sub);
    let [(a, x), (b, y)] = [0, 1].map(|i| match pairs[i] {
        Some(p) => (p.own, p.add2),
        None if l.facts.is_secret(args[i]) => {
            let s = l.split_aligned(args[i], k, groups, &shape);
            (Some(s.own), s.dup)
        }
        None => (None, l.in_ring(args[i], k)),
    });
    let e = &mut l.emit;
    let own = match (a, b) {
        (Some(a), Some(b)) => Some(e.add(how.instruction(a, b))),
        (Some(a), None) => Some(e.broadcast(a, &shape)),
        (None, Some(b)) => {
            let b = e.broadcast(b, &shape);
            Some(if minus { e.add(C::Neg(b)) } else { b })
        }
        (None, None) => None,
    };
    // A difference of what the two hold and what both know: the verifier has no rule for Add2 - Dup.
    if minus && e.ty(y).hold == Hold::Dup && e.ty(x).hold == Hold::Add2 {
        let y = e.add(C::Neg(y));
        return Form::Pair(Pair { own, add2: e.add(C::Add(x, y)) }).into();
    }
    let rest = e.add(how.instruction(x, y));
    match own {
        Some(own) if l.emit.ty(rest).hold != Hold::Add2 => {
            let mask = mask_beside_public(l, args, own, minus);
            let low = low_beside_public(l, id, args, how);
            Forms::split(Split { own, dup: rest, mask }, low)
        }
        _ => Form::Pair(Pair { own, add2: rest }).into(),
    }
}

/// A public addend leaves part a, and its shares, as they are.
fn mask_beside_public(
    l: &Values<'_>,
    [a, b]: [NodeId; 2],
    own: ValueId,
    minus: bool,
) -> Option<ValueId> {
    [(a, b, false), (b, a, minus)].into_iter().find_map(|(x, other, negated)| {
        let s = l.own_split(x)?;
        let same = s.own == own && !l.facts.is_secret(other) && !negated;
        if same { s.mask } else { None }
    })
}

/// The low bits of a value plus or minus a public one. A public minuend is rare: it has none.
fn low_beside_public(
    l: &mut Values<'_>,
    id: NodeId,
    [a, b]: [NodeId; 2],
    how: Sum,
) -> Option<LowBits> {
    let (g, k, groups) = (l.facts.graph, l.facts.rings.of(id), l.plan.of(id).groups);
    let (x, public) = match [a, b].map(|x| l.facts.is_secret(x)) {
        [true, false] => (a, b),
        [false, true] if how != Sum::Sub => (b, a),
        _ => return None,
    };
    if g.shape(x) != g.shape(id) {
        return None;
    }
    let low = l.low_bits(x, k, groups)?;
    let c = l.in_ring(public, k);
    let dup = l.emit.add(how.instruction(low.split.dup, c));
    Some(LowBits { split: Split { own: low.split.own, dup, mask: None }, ..low })
}

/// The difference of a comparison's operands, and the bits that hold it.
pub fn difference(l: &mut Values<'_>, id: NodeId) -> (Split, u32) {
    let (g, groups) = (l.facts.graph, l.plan.of(id).groups);
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
