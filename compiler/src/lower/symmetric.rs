//! Nodes of family T1 that are more than one macro: activations that saturate, signs from what there is of a
//! truncated value before its truncation is done, tests of a label, bits that become words in one step.

use super::{C, Emit, Lowering, NodeId, Op, ValueId, comparison, selection, truncation, word};
use crate::analysis::ranges::signed_bits;

impl Lowering<'_> {
    pub(super) fn hit(&mut self, id: NodeId, word: Option<u32>) -> ValueId {
        let logits = self.graph.arg(id, 0);
        let width = self.ranges.difference_bits(logits, logits) + 1;
        if let Some((a, b)) = self.early(logits, width) {
            // Shared again in one round, where the truncation takes two.
            let (a, b) = (self.emit.add(C::Input(a)), self.emit.add(C::Trivial(b)));
            let z = self.emit.add(C::Add(a, b));
            let y = self.at(self.graph.arg(id, 1), self.emit.ty(z).bits());
            return selection::hit(&mut self.emit, z, y, width, word);
        }
        let (z, y) = (self.operand_of(id, 0), self.operand_of(id, 1));
        selection::hit(&mut self.emit, z, y, width, word)
    }

    /// The sign of a gate's value, from what there is of it early.
    pub(super) fn early_sign(&mut self, v: NodeId, s: NodeId) -> Option<ValueId> {
        let s = self.signed(v, s);
        let width = self.ranges.bits(s);
        let parts = self.early(s, width)?;
        Some(comparison::negative_of(&mut self.emit, parts, width))
    }

    /// What one party and what the other two know of a number, right in its low `width` bits, two rounds
    /// before the truncation is done that it or what is added to it comes from. In the ring that holds so many.
    pub(super) fn early(&mut self, id: NodeId, width: u32) -> Option<(ValueId, ValueId)> {
        if !self.secret(id) || self.rings.fixed().is_some() || self.emit.simple {
            return None;
        }
        let ring = truncation::ring_for(width.max(8));
        let g = self.graph;
        let minus = match g.op(id) {
            Op::Trunc(by) => {
                let k = self.rings.operand(g, self.ranges, id, 0);
                if width > k - by || !self.secret(g.arg(id, 0)) {
                    return None;
                }
                let x = self.operand_of(id, 0);
                let (a, b) = truncation::low(&mut self.emit, x, *by);
                let narrow = |e: &mut Emit, v| if ring < k { e.add(C::Narrow(v, ring)) } else { v };
                return Some((narrow(&mut self.emit, a), narrow(&mut self.emit, b)));
            }
            Op::Add => false,
            Op::Sub => true,
            _ => return None,
        };
        let sides = [g.arg(id, 0), g.arg(id, 1)];
        let found = sides.map(|x| match g.shape(x) == g.shape(id) {
            true => self.early(x, width),
            false => None,
        });
        let late = |l: &Self, (x, f): (NodeId, &Option<_>)| f.is_none() && l.rings.of(x) < ring;
        if found.iter().all(Option::is_none) || sides.into_iter().zip(&found).any(|p| late(self, p))
        {
            return None;
        }
        let mut parts = [None; 2];
        for (part, (x, found)) in parts.iter_mut().zip(sides.into_iter().zip(found)) {
            *part = Some(match found {
                Some((a, b)) => (Some(a), b),
                None => {
                    let v = self.at(x, ring);
                    let v = self.emit.broadcast(v, g.shape(id));
                    match self.secret(x) {
                        true => (Some(self.emit.add(C::Own(v))), self.emit.add(C::Dup(v))),
                        false => (None, v),
                    }
                }
            });
        }
        let [Some((a, b)), Some((c, d))] = parts else { return None };
        let op = |x, y| if minus { C::Sub(x, y) } else { C::Add(x, y) };
        let own = match (a, c) {
            (Some(a), Some(c)) => self.emit.add(op(a, c)),
            (Some(a), None) => a,
            (None, Some(c)) if minus => self.emit.add(C::Neg(c)),
            (None, c) => c?,
        };
        Some((own, self.emit.add(op(b, d))))
    }

    /// A bit as a word of Z_2^k, where one step makes it of what the bit is made of.
    pub(super) fn word_of(&mut self, bit: NodeId, k: u32) -> Option<ValueId> {
        if !self.secret(bit) || self.rings.fixed().is_some() || self.emit.simple {
            return None;
        }
        match self.graph.op(bit) {
            Op::Lt => {
                let (x, width) = self.difference(bit);
                selection::negative_word(&mut self.emit, x, width, k, None)
            }
            Op::ArgMaxIs => Some(self.hit(bit, Some(k))),
            // A comparison of earlier bits' sums, and another condition that was there before: one table.
            Op::And => {
                let args = [self.graph.arg(bit, 0), self.graph.arg(bit, 1)];
                let (first, last) = (args[0].min(args[1]), args[0].max(args[1]));
                let same = |x: NodeId| self.graph.shape(x) == self.graph.shape(bit);
                let secret = self.secret(first) && self.secret(last);
                if *self.graph.op(last) != Op::Lt || !secret || !same(first) || !same(last) {
                    return None;
                }
                let (x, width) = self.difference(last);
                let first = self.full(first);
                let word = selection::to_word(&mut self.emit, first, k);
                selection::negative_word(&mut self.emit, x, width, k, Some(word))
            }
            _ => None,
        }
    }

    /// Whether a gate is lowered together with the [`Op::Saturate`] that alone reads it.
    pub(super) fn cut(&self, id: NodeId) -> bool {
        let opened = self.graph.outputs.iter().any(|o| o.node == id);
        let users = self.graph.users(id);
        *self.graph.op(id) == Op::Gate
            && !opened
            && matches!(users[..], [one] if matches!(self.graph.op(one), Op::Saturate(_)))
    }

    /// a cut at +-2^top: both comparisons side by side, and for a gate its own as one of them.
    pub(super) fn saturate(&mut self, id: NodeId, top: u32) -> ValueId {
        let k = self.rings.of(id);
        let arg = self.graph.arg(id, 0);
        let scale = |l: &Self, n: NodeId| f64::from(top + l.graph.ty(n).frac.unwrap_or(0)).exp2();
        let most = scale(self, id);
        if self.cut(arg) {
            let (v, s) = (self.graph.arg(arg, 0), self.graph.arg(arg, 1));
            let s = if self.emit.simple { s } else { self.signed(v, s) };
            let edge = scale(self, s);
            let (lo, hi) = self.ranges.raw[s.index()];
            let width = signed_bits((lo.min(lo - edge), hi.max(hi - edge)));
            let ring = truncation::ring_for(width.max(8));
            let (negative, small) = match self.early(s, width) {
                Some((a, b)) => {
                    let e = &mut self.emit;
                    let above = e.add(C::Offset(b, word(-edge, ring)));
                    let negative = comparison::negative_of(e, (a, b), width);
                    (negative, comparison::negative_of(e, (a, above), width))
                }
                None => {
                    let s = self.at(s, ring);
                    let above = self.emit.add(C::Offset(s, word(-edge, ring)));
                    let negative = comparison::negative(&mut self.emit, s, width);
                    (negative, comparison::negative(&mut self.emit, above, width))
                }
            };
            let v = self.at(v, k);
            // Negative is small, too.
            let inside = self.emit.add(C::Add(small, negative));
            let large = self.emit.add(C::Not(small));
            let inner = selection::inject(&mut self.emit, inside, v);
            let large = selection::to_word(&mut self.emit, large, k);
            let large = self.emit.add(C::Scale(large, word(most, k)));
            return self.emit.add(C::Add(inner, large));
        }
        let (x, width) = (self.operand_of(id, 0), self.ranges.bits(arg) + 1);
        let ring = self.emit.ty(x).bits();
        let (up, down) = (word(most, ring), word(-most, ring));
        let low = self.emit.add(C::Offset(x, up));
        let low = comparison::negative(&mut self.emit, low, width);
        let high = self.emit.add(C::Offset(x, down));
        let not_high = comparison::negative(&mut self.emit, high, width);
        let inside = self.emit.add(C::Add(low, not_high));
        let high = self.emit.add(C::Not(not_high));
        let x = self.at(arg, k);
        let inner = selection::inject(&mut self.emit, inside, x);
        let (low, high) = (
            selection::to_word(&mut self.emit, low, k),
            selection::to_word(&mut self.emit, high, k),
        );
        let outer = self.emit.add(C::Sub(high, low));
        let outer = self.emit.add(C::Scale(outer, word(most, k)));
        self.emit.add(C::Add(inner, outer))
    }
}
