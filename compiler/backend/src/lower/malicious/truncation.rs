//! Truncations ([`crate::lower::t1::truncation`]) in one round, where what is read of them needs no wrap: what an owner
//! inputs of them has a statement.

use crate::lower::Emit;
use crate::lower::common::words::ring_for;
use crate::lower::form::Values;
use crate::lower::instruction::instruction;
use crate::lower::t1::early_signs::{Found, of_truncation, once};
use crate::lower::t1::truncation;
use slvr_circuit::{Op as C, ValueId};
use slvr_graph::graph::{NodeId, Op};

/// A replicated value truncated by `f` bits. In Z_2^k, k at most its bits less f, no wrap reaches it: one round, k
/// bits.
pub fn truncated(e: &mut Emit, x: ValueId, f: u32, k: u32) -> ValueId {
    if k > e.ty(x).bits() - f {
        return truncation::exact(e, x, f);
    }
    let (a, b) = truncation::low(e, x, f);
    let [a, b] = [a, b].map(|part| truncation::at_most(e, part, k));
    let (a, b) = (e.add(C::Input(a)), e.add(C::Trivial(b)));
    e.add(C::Add(a, b))
}

/// A truncated value, or a sum of some and of others, in any shape, right in its low `width` bits, from what the owner
/// of each truncated value inputs of it in any case ([`truncation::exact`]). In the ring that holds so many bits.
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
    if !facts.is_secret(id) || facts.rings.fixed().is_some() {
        return None;
    }
    let ring = ring_for(width.max(8));
    match *g.op(id) {
        Op::Trunc(by) => {
            let (a, b) = of_truncation(l, id, by, width)?;
            let e = &mut l.emit;
            let (a, b) = (e.add(C::Input(a)), e.add(C::Trivial(b)));
            let sum = e.add(C::Add(a, b));
            Some(truncation::at_most(e, sum, ring))
        }
        Op::Add | Op::Sub => {
            let sides = [g.arg(id, 0), g.arg(id, 1)];
            let found = sides.map(|x| once(all, x, |all| new_replicated(l, x, width, all)));
            let late = |(x, f): (NodeId, &Option<_>)| f.is_none() && facts.rings.of(x) < ring;
            if found.iter().all(Option::is_none) || sides.into_iter().zip(&found).any(late) {
                return None;
            }
            let both = [0, 1].map(|i| found[i].unwrap_or_else(|| l.in_ring(sides[i], ring)));
            let [x, y] = both.map(|v| l.emit.broadcast(v, g.shape(id)));
            Some(l.emit.add(instruction(g.op(id), x, y, ring)))
        }
        Op::Reshape(ref shape) => {
            let x = g.arg(id, 0);
            let x = once(all, x, |all| new_replicated(l, x, width, all))?;
            Some(l.emit.add(C::Reshape(x, shape.clone())))
        }
        _ => None,
    }
}
