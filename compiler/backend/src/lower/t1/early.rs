//! Signs of truncated values before their truncation is done.
//!
//! What one party and what the other two know of a truncated value is right in its low bits without the
//! wrap, which takes two rounds ([`truncation::low`]). A comparison that reads no more bits need not wait.

use super::{comparison, truncation};
use crate::lower::Emit;
use crate::lower::common::words::ring_for;
use crate::lower::form::Values;
use crate::lower::task::{Linear, Sum, Task, task};
use slvr_circuit::{Op as C, ValueId};
use slvr_graph::graph::NodeId;
use std::collections::BTreeMap;

/// The sign of a gate's value, from what there is of it early.
pub fn sign(l: &mut Values<'_>, v: NodeId, s: NodeId) -> Option<ValueId> {
    let s = l.facts.cheaper_sign(v, s);
    let width = l.facts.ranges.bits(s);
    let parts = parts(l, s, width)?;
    Some(comparison::negative_of(&mut l.emit, parts, width))
}

/// What is found of nodes: a number that is used again and again in sums is looked at once.
type Found<T> = BTreeMap<NodeId, Option<T>>;

/// What is known of a node, or else found now.
fn once<T: Copy>(
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

/// A truncated value, or a sum of some and of others, in any shape, right in its low `width` bits, from what the owner of
/// each truncated value inputs of it in any case ([`truncation::exact`]). In the ring that holds so many.
pub fn replicated(l: &mut Values<'_>, id: NodeId, width: u32) -> Option<ValueId> {
    new_replicated(l, id, width, &mut Found::new())
}

fn new_replicated(
    l: &mut Values<'_>,
    id: NodeId,
    width: u32,
    all: &mut Found<ValueId>,
) -> Option<ValueId> {
    let (facts, g) = (l.facts, l.facts.graph);
    if !facts.is_secret(id) || facts.rings.fixed().is_some() || !l.emit.proven {
        return None;
    }
    let ring = ring_for(width.max(8));
    match task(g, id) {
        Task::Truncation(by) => {
            let k = facts.operand_ring(id, 0);
            if width > k - by || !facts.is_secret(g.arg(id, 0)) {
                return None;
            }
            let x = l.operand(id, 0);
            let e = &mut l.emit;
            let (a, b) = truncation::low(e, x, by);
            let (a, b) = (e.add(C::Input(a)), e.add(C::Trivial(b)));
            let sum = e.add(C::Add(a, b));
            Some(if ring < k { e.add(C::Narrow(sum, ring)) } else { sum })
        }
        Task::Sum(how @ (Sum::Add | Sum::Sub)) => {
            let sides = [g.arg(id, 0), g.arg(id, 1)];
            let found = sides.map(|x| once(all, x, |all| new_replicated(l, x, width, all)));
            let late = |(x, f): (NodeId, &Option<_>)| f.is_none() && facts.rings.of(x) < ring;
            if found.iter().all(Option::is_none) || sides.into_iter().zip(&found).any(late) {
                return None;
            }
            let both = [0, 1].map(|i| found[i].unwrap_or_else(|| l.in_ring(sides[i], ring)));
            let [x, y] = both.map(|v| l.emit.broadcast(v, g.shape(id)));
            Some(l.emit.add(how.instruction(x, y)))
        }
        Task::Linear(Linear::Reshape(shape)) => {
            let x = g.arg(id, 0);
            let x = once(all, x, |all| new_replicated(l, x, width, all))?;
            Some(l.emit.add(C::Reshape(x, shape.to_vec())))
        }
        _ => None,
    }
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
    if let Task::Truncation(by) = task(g, id) {
        let k = facts.operand_ring(id, 0);
        if width > k - by || !facts.is_secret(g.arg(id, 0)) {
            return None;
        }
        let x = l.operand(id, 0);
        let (a, b) = truncation::low(&mut l.emit, x, by);
        let narrow = |e: &mut Emit, v| if ring < k { e.add(C::Narrow(v, ring)) } else { v };
        return Some((narrow(&mut l.emit, a), narrow(&mut l.emit, b)));
    }
    // Of a sum of what an owner knows of several numbers there is a statement if it has input each.
    if l.emit.proven {
        let x = replicated(l, id, width)?;
        return Some((l.emit.add(C::Own(x)), l.emit.add(C::Dup(x))));
    }
    let Task::Sum(how @ (Sum::Add | Sum::Sub)) = task(g, id) else { return None };
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
    let own = match (a, b) {
        (Some(a), Some(b)) => l.emit.add(how.instruction(a, b)),
        (Some(a), None) => a,
        (None, Some(b)) if how == Sum::Sub => l.emit.add(C::Neg(b)),
        (None, b) => b?,
    };
    Some((own, l.emit.add(how.instruction(c, d))))
}
