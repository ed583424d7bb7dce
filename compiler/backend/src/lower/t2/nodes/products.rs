//! Products of two operands, and which of several ways they go.

use super::conjunctions::conjunction;
use super::pair;
use crate::cost::Tuning;
use crate::lower::common::masked::{self, Pair, Split};
use crate::lower::form::{Form, Forms, Values};
use crate::lower::groups::ONE_DEALER;
use crate::lower::instruction::instruction;
use crate::lower::t2::{gates, product as protocol, selection};
use slvr_circuit::{Op as C, ValueId, lead};
use slvr_graph::graph::{NodeId, Op};

/// A product of any kind.
pub fn product(l: &mut Values<'_>, id: NodeId, tuning: Tuning) -> Option<Forms> {
    let (g, k) = (l.facts.graph, l.facts.rings.of(id));
    let (how, args) = (g.op(id), [g.arg(id, 0), g.arg(id, 1)]);
    if let Some((bits, groups)) = all_bits(l, id) {
        let x = l.split(bits, groups);
        let x = masked::to_planes(&mut l.emit, &x);
        return pair(gates::all_planes(&mut l.emit, &x, tuning));
    }
    if *how == (Op::MatMul { trans_b: true })
        && let Some(made) = entries(l, id)
    {
        return pair(made);
    }
    let elementwise = matches!(how, Op::Mul | Op::And);
    let op = instruction(how, ValueId(0), ValueId(1), k);
    let secret = args.map(|x| l.facts.is_secret(x));
    let any = args.iter().any(|&x| l.groups(x).is_some());
    if secret != [true; 2] {
        // Public times secret is linear.
        if !any && elementwise {
            return None;
        }
        let groups = l.common(id, &args, &op)?;
        return Some(times_public(l, id, usize::from(!secret[0]), groups));
    }
    // What is only opened need not be reshared, and large replicated values stay as they are.
    let most = args.iter().map(|&x| g.elements(x)).max().unwrap_or(0);
    if is_only_opened(l, id) || !any && most > 64 * g.elements(id) {
        return None;
    }
    if let Some(groups) = shared_weights(l, id) {
        return pair(with_copies(l, id, groups));
    }
    // What a product takes of its operands' new dealers is shared already, so here values that will be
    // combined across clients get one dealer for all in no round; a comparison would wait for it.
    let small = most.max(g.elements(id)) <= ONE_DEALER;
    let groups = match small && l.fits(&args, 1, &op) {
        true => 1,
        false => l.common(id, &args, &op)?,
    };
    let [x, y] = l.split_operands(id, groups, elementwise);
    pair(protocol::product(&mut l.emit, &x, &y, |a, b| instruction(how, a, b, k)))
}

/// A product of which operand number `i` is secret and the other one is public.
fn times_public(l: &mut Values<'_>, id: NodeId, i: usize, groups: u32) -> Forms {
    let (g, k) = (l.facts.graph, l.facts.operand_ring(id, i));
    let (how, x) = (g.op(id), g.arg(id, i));
    let public = l.operand(id, 1 - i);
    let op = |v| match i {
        0 => instruction(how, v, public, k),
        _ => instruction(how, public, v, k),
    };
    if let Some(p) = l.take_pair(x, id, k, groups) {
        return Form::Pair(masked::linear_of_pair(&mut l.emit, p, op)).into();
    }
    // The shares of part a are rarely read: they are dealt again if they are.
    let s = Split { mask: None, ..l.split_in(x, k, groups) };
    Form::Split(masked::linear(&mut l.emit, &s, op)).into()
}

/// Groups for a product of many samples with one secret matrix or kernel: a divisor of the samples, at
/// least 3, so that each shard has a dealer of its own.
fn shared_weights(l: &Values<'_>, id: NodeId) -> Option<u32> {
    let g = l.facts.graph;
    let (x, w) = (g.arg(id, 0), g.arg(id, 1));
    let (sx, sw) = (g.shape(x), g.shape(w));
    let is_shared = matches!(g.op(id), Op::MatMul { .. } | Op::Conv2d(_))
        && sx.first() == Some(&1)
        && sw.first() == Some(&1);
    let samples = *sx.get(1).filter(|_| is_shared)?;
    let small = g.elements(id).max(g.elements(x)) <= ONE_DEALER;
    let own = l.groups(x).filter(|&k| k >= 3 && samples.is_multiple_of(k.into()));
    let new = (3..=8).find(|&k| !small && samples.is_multiple_of(u64::from(k)));
    // Copies of the weights must stay small beside what they are for.
    own.filter(|&k| k <= 8).or(new)
}

/// The product with a copy of the right operand for each group of samples of the left one.
fn with_copies(l: &mut Values<'_>, id: NodeId, groups: u32) -> Pair {
    let (g, k) = (l.facts.graph, l.facts.rings.of(id));
    let (how, count) = (g.op(id), u64::from(groups));
    let x = l.split_operand(id, 0, groups);
    let mut shape = g.shape(g.arg(id, 0)).to_vec();
    (shape[0], shape[1]) = (count, shape[1] / count);
    let x = masked::linear(&mut l.emit, &x, |v| C::Reshape(v, shape.clone()));
    let mut copies = g.shape(g.arg(id, 1)).to_vec();
    copies[0] = count;
    let w = l.operand(id, 1);
    let e = &mut l.emit;
    let w = e.add(C::Broadcast(w, copies));
    let w = masked::split(e, w, groups);
    let p = protocol::product(e, &x, &w, |a, b| instruction(how, a, b, k));
    masked::linear_of_pair(e, p, |v| C::Reshape(v, g.shape(id).to_vec()))
}

/// Whether all that is made of a node is linear and revealed.
fn is_only_opened(l: &Values<'_>, id: NodeId) -> bool {
    let g = l.facts.graph;
    let users = g.users(id);
    (l.facts.graph.is_output(id) || !users.is_empty())
        && users.iter().all(|&u| {
            let linear = matches!(
                g.op(u),
                Op::Neg
                    | Op::Scale(_)
                    | Op::Shift(_)
                    | Op::Sum(_)
                    | Op::Reshape(_)
                    | Op::Slice { .. }
            );
            linear && is_only_opened(l, u)
        })
}

/// Of the last of a tree of ands over the last axis of some bits, these bits: their product is made of all at once.
fn all_bits(l: &Values<'_>, id: NodeId) -> Option<(NodeId, u32)> {
    let g = l.facts.graph;
    if !l.facts.is_bit(id) {
        return None;
    }
    let shape = g.shape(id);
    let bits = conjunction(g, id)?;
    let groups = l.groups(bits)?;
    let last = shape.len().checked_sub(1)?;
    let mixes = groups > 1 && (lead(shape) >= last || g.elements(id) == 1);
    (g.shape(bits)[..last] == shape[..last] && !mixes).then_some((bits, groups))
}

/// Inner products of rows with bits as words: a choice of each entry instead of words of the bits.
fn entries(l: &mut Values<'_>, id: NodeId) -> Option<Pair> {
    let g = l.facts.graph;
    let (x, z) = (g.arg(id, 0), g.arg(id, 1));
    let shape = g.shape(x);
    let [n, 1, _] = *shape else { return None };
    // The conversion of bits to words that x is, but for its shape.
    let mut word = x;
    while let Op::Reshape(_) = g.op(word) {
        word = g.arg(word, 0);
    }
    let is_choice = *g.op(word) == Op::ToInt
        && g.elements(word) == g.elements(x)
        && g.shape(z) == shape
        && l.facts.is_secret(z);
    if !is_choice {
        return None;
    }
    let bits = g.arg(word, 0);
    let groups = l.groups(bits)?;
    // Rows are what shards are parts of, or there is one shard.
    let rows = groups == 1 || groups > 1 && n.is_multiple_of(groups.into()) && n > 1;
    let mixes = g.shape(bits).first() == Some(&1) && groups > 1;
    if !rows || mixes {
        return None;
    }
    let chosen = l.split(bits, groups);
    let values = l.split_in(z, l.facts.rings.of(id), groups);
    let e = &mut l.emit;
    let chosen = masked::linear(e, &chosen, |v| C::Reshape(v, shape.to_vec()));
    let chosen = selection::inject(e, &chosen, &values);
    Some(masked::each_of_pair(chosen, |x| {
        let sum = e.add(C::Sum { x, axes: vec![2] });
        e.add(C::Reshape(sum, vec![n, 1, 1]))
    }))
}
