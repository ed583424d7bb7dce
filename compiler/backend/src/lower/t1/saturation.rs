//! A value cut at -2^top and 2^top: both comparisons side by side, and for a gate its own as one of them.
//!
//! Against a malicious party all that is cut is one exchange, and where owners know their parts ahead, both questions
//! of a gate are one comparison ([`locate`]).
//!
//! **Functionality.** Exact. **Rounds.** Those of a sign, a bit injection and a bit to word side by side.
//! **Bits.** Two signs, a bit injection, and a bit to word for each end that is cut.

use super::selection::{inject, to_word};
use super::{comparison, early_signs};
use crate::lower::common::words::{ring_for, word};
use crate::lower::form::Values;
use crate::lower::malicious::location::locate;
use crate::lower::{Emit, Target, malicious};
use slvr_circuit::{Op as C, ValueId, low_mask};
use slvr_graph::graph::NodeId;

/// Where a value is of -2^top and 2^top: a bit for each answer.
pub struct Ends {
    pub inside: ValueId,
    /// Not below 2^top.
    pub high: ValueId,
    /// Below -2^top, if it may be.
    pub low: Option<ValueId>,
}

impl Ends {
    /// Of a value whose sum with `most` has at most `width` bits.
    pub(super) fn of(e: &mut Emit, x: ValueId, most: f64, width: u32) -> Ends {
        let ring = e.ty(x).bits();
        let (up, down) = (word(most, ring), word(-most, ring));
        let low = e.add(C::Offset(x, up));
        let low = comparison::negative(e, low, width);
        let high = e.add(C::Offset(x, down));
        let not_high = comparison::negative(e, high, width);
        let inside = e.add(C::Add(low, not_high));
        Ends { inside, high: e.add(C::Not(not_high)), low: Some(low) }
    }

    /// What is left of a value, now in the ring of the result. If it has no bits that 2^top reaches, the cut is
    /// superfluous, and nothing is at an end.
    pub fn cut(&self, e: &mut Emit, x: ValueId, top: u32) -> ValueId {
        let k = e.ty(x).bits();
        let most = 1u128.checked_shl(top).unwrap_or(0) & low_mask(k);
        if let Target::Malicious(_) = e.target
            && let Some(x) = malicious::selection::cut(e, x, self, (top, most))
        {
            return x;
        }
        let inner = inject(e, self.inside, x);
        let low = self.low.map(|low| to_word(e, low, k));
        let high = to_word(e, self.high, k);
        let outer = low.map_or(high, |low| e.add(C::Sub(high, low)));
        let outer = e.add(C::Scale(outer, most));
        e.add(C::Add(inner, outer))
    }
}

pub fn saturate(l: &mut Values<'_>, id: NodeId, top: u32) -> ValueId {
    let (g, k) = (l.facts.graph, l.facts.rings.of(id));
    let arg = g.arg(id, 0);
    let power = top + l.facts.graph.frac_of(id);
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
    let (k, power) = (l.facts.rings.of(id), top + l.facts.graph.frac_of(id));
    let v = l.facts.graph.arg(gate, 0);
    let edge = f64::from(top + l.facts.graph.frac_of(s)).exp2();
    let ring = ring_for(width.max(8));
    let parts = early_signs::parts(l, s, width);
    let own = l.facts.rings.of(s);
    if parts.is_none() && own < ring && l.facts.ranges.bits(s) >= own {
        // A lift takes values that leave the top bit of their ring unused. Of one that does not the sign is taken in
        // its own ring, and where it is not negative, the edge can be taken off there, too.
        debug_assert!(top + l.facts.graph.frac_of(s) < own, "an edge that the number reaches");
        let (s, v) = (l.in_ring(s, own), l.in_ring(v, k));
        let e = &mut l.emit;
        let above = e.add(C::Offset(s, word(-edge, own)));
        let negative = comparison::negative(e, s, own);
        let small = comparison::negative(e, above, own);
        let positive = e.add(C::Not(negative));
        let inside = e.multiply(positive, small);
        let large = e.add(C::Add(positive, inside));
        return Ends { inside, high: large, low: None }.cut(e, v, power);
    }
    let known = parts.or_else(|| {
        let s = l.emit.target.masked().map(|_| l.in_ring(s, ring))?;
        Some((l.emit.add(C::Own(s)), l.emit.add(C::Dup(s))))
    });
    let located = known.and_then(|x| locate(&mut l.emit, x, width, top + l.facts.graph.frac_of(s)));
    if let Some([inside, large]) = located {
        let v = l.in_ring(v, k);
        return Ends { inside, high: large, low: None }.cut(&mut l.emit, v, power);
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
    Ends { inside, high: large, low: None }.cut(e, v, power)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::Family;
    use slvr_circuit::{Dom, Hold, Type};

    /// Of public bits and words a cut is local, and ends beyond the ring are left out, as 2^top is 0 there.
    #[test]
    fn cuts_of_public_values_and_superfluous_ones_are_made() {
        for target in [Target::SemiHonest, Target::Malicious].map(|of| of(Family::T1)) {
            let mut e = Emit::new(target);
            let mut input = |secret, dom| e.input(secret, dom, vec![4]);
            let [x, word] = [true, false].map(|secret| input(secret, Dom::Ring(32)));
            let [c, bit] = [true, false].map(|secret| input(secret, Dom::Bits(1)));
            let public = Ends { inside: bit, high: bit, low: Some(bit) }.cut(&mut e, word, 5);
            assert_eq!(e.ty(public).hold, Hold::Public);
            for (c, x) in [(c, word), (bit, x)] {
                let mixed = Ends { inside: c, high: c, low: None }.cut(&mut e, x, 5);
                assert_eq!(e.ty(mixed).hold, Hold::Rep);
            }
            for top in [32, 51, 200] {
                let kept = Ends { inside: c, high: c, low: Some(c) }.cut(&mut e, x, top);
                assert_eq!(*e.ty(kept), Type::new(Hold::Rep, Dom::Ring(32), [4]), "{top}");
                let is_kept = kept == inject(&mut e, c, x);
                assert!(is_kept || matches!(target, Target::SemiHonest(_)), "{top}");
            }
        }
    }
}
