//! Signs of truncated values before their truncation is done.
//!
//! What one party and what the other two know of a truncated value is right in its low bits without the
//! wrap, which takes two rounds ([`truncation::low`]). A comparison that reads no more bits need not wait.

use super::{comparison, truncation};
use crate::graph::NodeId;
use crate::lower::Emit;
use crate::lower::common::words::ring_for;
use crate::lower::form::Values;
use crate::lower::task::{Sum, Task, task};
use slvr_circuit::{Op as C, ValueId};

/// The sign of a gate's value, from what there is of it early.
pub fn sign(l: &mut Values<'_>, v: NodeId, s: NodeId) -> Option<ValueId> {
    let s = l.facts.cheaper_sign(v, s);
    let width = l.facts.ranges.bits(s);
    let parts = parts(l, s, width)?;
    Some(comparison::negative_of(&mut l.emit, parts, width))
}

/// What one party and what the other two know of a number, right in its low `width` bits, two rounds
/// before the truncation is done that it or what is added to it comes from. In the ring that holds so many.
pub fn parts(l: &mut Values<'_>, id: NodeId, width: u32) -> Option<(ValueId, ValueId)> {
    let facts = l.facts;
    if !facts.is_secret(id) || facts.rings.fixed().is_some() || (l.emit.simple && !l.emit.proven) {
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
    // Of a sum of what an owner knows of several numbers there is no statement.
    if l.emit.proven {
        return None;
    }
    let Task::Sum(how @ (Sum::Add | Sum::Sub)) = task(g, id) else { return None };
    let sides = [g.arg(id, 0), g.arg(id, 1)];
    let found = sides.map(|x| match g.shape(x) == g.shape(id) {
        true => parts(l, x, width),
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
