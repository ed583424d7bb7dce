//! Signs of truncated values before their truncation is done.
//!
//! What one party and what the other two know of a truncated value is right in its low bits without the
//! wrap, which takes two rounds ([`truncation::low`]). A comparison that reads no more bits need not wait.

use super::{comparison, truncation};
use crate::lower::common::words::{ring_for, sum_of};
use crate::lower::form::Values;
use crate::lower::instruction::instruction;
use crate::lower::{Target, malicious};
use slvr_circuit::{Op as C, ValueId};
use slvr_graph::graph::{NodeId, Op};
use std::collections::BTreeMap;

/// The sign of a gate's value, from what there is of it early.
pub fn sign(l: &mut Values<'_>, v: NodeId, s: NodeId) -> Option<ValueId> {
    let s = l.facts.cheaper_sign(v, s);
    let width = l.facts.ranges.bits(s);
    let parts = parts(l, s, width)?;
    Some(comparison::negative_of(&mut l.emit, parts, width))
}

/// What is found of nodes: a number that is used again and again in sums is looked at once.
pub type Found<T> = BTreeMap<NodeId, Option<T>>;

/// What is known of a node, or else found now.
pub fn once<T: Copy>(
    found: &mut Found<T>,
    id: NodeId,
    find: impl FnOnce(&mut Found<T>) -> Option<T>,
) -> Option<T> {
    if let Some(known) = found.get(&id) {
        return *known;
    }
    let new = find(found);
    found.insert(id, new);
    new
}

/// What one party and what the other two know of a number, right in its low `width` bits, two rounds
/// before the truncation is done that it or what is added to it comes from. In the ring that holds so many.
pub fn parts(l: &mut Values<'_>, id: NodeId, width: u32) -> Option<(ValueId, ValueId)> {
    new_parts(l, id, width, &mut Found::new())
}

fn new_parts(
    l: &mut Values<'_>,
    id: NodeId,
    width: u32,
    all: &mut Found<(ValueId, ValueId)>,
) -> Option<(ValueId, ValueId)> {
    let facts = l.facts;
    if !facts.is_secret(id) || facts.rings.fixed().is_some() {
        return None;
    }
    let ring = ring_for(width.max(8));
    let g = facts.graph;
    if let Op::Trunc(by) = *g.op(id) {
        let (a, b) = of_truncation(l, id, by, width)?;
        let [a, b] = [a, b].map(|v| truncation::at_most(&mut l.emit, v, ring));
        return Some((a, b));
    }
    // Of a sum of what an owner knows of several numbers there is a statement if it has input each.
    if let Target::Malicious(_) = l.emit.target {
        let x = malicious::truncation::replicated(l, id, width)?;
        return Some((l.emit.add(C::Own(x)), l.emit.add(C::Dup(x))));
    }
    let how = g.op(id);
    if !matches!(how, Op::Add | Op::Sub) {
        return None;
    }
    let sides = [g.arg(id, 0), g.arg(id, 1)];
    let found = sides.map(|x| match g.shape(x) == g.shape(id) {
        true => once(all, x, |all| new_parts(l, x, width, all)),
        false => None,
    });
    let late = |(x, f): (NodeId, &Option<_>)| f.is_none() && facts.rings.of(x) < ring;
    if found.iter().all(Option::is_none) || sides.into_iter().zip(&found).any(late) {
        return None;
    }
    let [(a, c), (b, d)] = [0, 1].map(|i| match found[i] {
        Some((a, b)) => (Some(a), b),
        None => {
            let v = l.in_ring(sides[i], ring);
            let v = l.emit.broadcast(v, g.shape(id));
            match facts.is_secret(sides[i]) {
                true => (Some(l.emit.add(C::Own(v))), l.emit.add(C::Dup(v))),
                false => (None, v),
            }
        }
    });
    let own = sum_of(&mut l.emit, a, b, *how == Op::Sub)?;
    Some((own, l.emit.add(instruction(how, c, d, ring))))
}

/// Both parts of a truncated value, as far as they are right in its low `width` bits.
pub fn of_truncation(
    l: &mut Values<'_>,
    id: NodeId,
    by: u32,
    width: u32,
) -> Option<(ValueId, ValueId)> {
    let fits = width + by <= l.facts.operand_ring(id, 0);
    if !fits || !l.facts.is_secret(l.facts.graph.arg(id, 0)) {
        return None;
    }
    let x = l.operand(id, 0);
    Some(truncation::low(&mut l.emit, x, by))
}

/// The same as a replicated value, shared again in one round, where the truncation takes two.
pub fn replicated(l: &mut Values<'_>, id: NodeId, width: u32) -> Option<ValueId> {
    let truncated = matches!(l.facts.graph.op(id), Op::Trunc(_));
    if let (Target::Malicious(_), false) = (l.emit.target, truncated) {
        return malicious::truncation::replicated(l, id, width);
    }
    let (a, b) = parts(l, id, width)?;
    let (a, b) = (l.emit.add(C::Input(a)), l.emit.add(C::Trivial(b)));
    Some(l.emit.add(C::Add(a, b)))
}
