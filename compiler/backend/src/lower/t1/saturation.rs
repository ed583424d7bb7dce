//! A value cut at -2^top and 2^top: both comparisons side by side, and for a gate its own as one of them.
//!
//! Against a malicious party, where owners know their parts ahead, both questions of a gate are one comparison ([`locate`]), and all
//! that is cut is one exchange ([`selection::cut`]).
//!
//! **Functionality.** Exact. **Rounds.** Those of a sign, a bit injection and a bit to word side by side.
//! **Bits.** Two signs, a bit injection, and a bit to word for each end that is cut.

use super::ends::Ends;
use super::location::locate;
use super::{comparison, early, selection};
use crate::lower::common::words::{ring_for, word};
use crate::lower::form::Values;
use slvr_circuit::{Op as C, ValueId};
use slvr_graph::graph::NodeId;

/// The saturated value.
pub fn saturate(l: &mut Values<'_>, id: NodeId, top: u32) -> ValueId {
    let (g, k) = (l.facts.graph, l.facts.rings.of(id));
    let arg = g.arg(id, 0);
    let power = top + l.facts.frac(id);
    let most = f64::from(power).exp2();
    if let Some(compared) = l.facts.compared(arg) {
        return gated(l, id, arg, top, compared);
    }
    let (x, width) = (l.operand(id, 0), l.facts.ranges.beside_ends(arg, most));
    let ends = Ends::of(&mut l.emit, x, most, width);
    let x = l.in_ring(arg, k);
    ends.cut(&mut l.emit, x, power)
}

/// Of a gate, which is not negative.
fn gated(
    l: &mut Values<'_>,
    id: NodeId,
    gate: NodeId,
    top: u32,
    (s, width): (NodeId, u32),
) -> ValueId {
    let (k, power) = (l.facts.rings.of(id), top + l.facts.frac(id));
    let v = l.facts.graph.arg(gate, 0);
    let edge = f64::from(top + l.facts.frac(s)).exp2();
    let ring = ring_for(width.max(8));
    let parts = early::parts(l, s, width);
    let own = l.facts.rings.of(s);
    if parts.is_none() && own < ring && l.facts.ranges.bits(s) >= own {
        // A lift takes values that leave the top bit of their ring unused. Of one that does not the sign is taken in its own
        // ring, and where it is not negative, the edge can be taken off there, too.
        debug_assert!(top + l.facts.frac(s) < own, "an edge that the number reaches");
        let (s, v) = (l.in_ring(s, own), l.in_ring(v, k));
        let e = &mut l.emit;
        let above = e.add(C::Offset(s, word(-edge, own)));
        let negative = comparison::negative(e, s, own);
        let small = comparison::negative(e, above, own);
        let positive = e.add(C::Not(negative));
        let inside = e.multiply(positive, small);
        let large = e.add(C::Add(positive, inside));
        return selection::cut(e, (inside, v), large, None, power);
    }
    let located = {
        let parts = parts.or_else(|| {
            let s = l.emit.ahead.map(|_| l.in_ring(s, ring))?;
            Some((l.emit.add(C::Own(s)), l.emit.add(C::Dup(s))))
        });
        parts.and_then(|parts| locate(&mut l.emit, parts, width, top + l.facts.frac(s)))
    };
    if let Some([inside, large]) = located {
        let v = l.in_ring(v, k);
        return selection::cut(&mut l.emit, (inside, v), large, None, power);
    }
    let (negative, small) = match parts {
        Some((a, b)) => {
            let e = &mut l.emit;
            let above = e.add(C::Offset(b, word(-edge, ring)));
            let negative = comparison::negative_of(e, (a, b), width);
            (negative, comparison::negative_of(e, (a, above), width))
        }
        None => {
            let s = l.in_ring(s, ring);
            let above = l.emit.add(C::Offset(s, word(-edge, ring)));
            let negative = comparison::negative(&mut l.emit, s, width);
            (negative, comparison::negative(&mut l.emit, above, width))
        }
    };
    let v = l.in_ring(v, k);
    let e = &mut l.emit;
    // Negative is small, too.
    let inside = e.add(C::Add(small, negative));
    let large = e.add(C::Not(small));
    selection::cut(e, (inside, v), large, None, power)
}
