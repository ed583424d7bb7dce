//! Nodes that compare and choose, in the dealer-style family: selections, cuts, tests of a label.

use super::super::dealer::cut::{Cut, cut};
use super::super::dealer::{self, Pair, Split};
use super::super::{Emit, Held, Lowering, few, selection, truncation, word};
use super::{FEW, default_groups, pair};
use crate::analysis::ranges::signed_bits;
use crate::analysis::truth_tables::MOST_BITS;
use crate::cost::Tuning;
use crate::graph::{NodeId, Op};
use slvr_circuit::{Dom, Hold, Op as C, Type, ValueId, verify};

impl Lowering<'_> {
    pub(super) fn split_select(&mut self, id: NodeId) -> Option<Held> {
        let (g, k) = (self.graph, self.rings.of(id));
        let args = g.args(id);
        if !args.iter().all(|&x| self.secret(x)) {
            return None;
        }
        let shape = g.shape(id).to_vec();
        let groups = self.common(id, &args[1..], &C::Sub(ValueId(0), ValueId(1)))?;
        if !self.fits(&args[..1], Hold::Own, groups, &C::Broadcast(ValueId(0), shape.clone())) {
            return None;
        }
        let (a, b) = (self.split_in(args[1], k, groups), self.split_in(args[2], k, groups));
        let c = self.split(args[0], groups);
        let d = dealer::sum(&mut self.emit, &a, &b, true);
        let d = dealer::broadcast(&mut self.emit, &d, &shape);
        let c = dealer::broadcast(&mut self.emit, &c, &shape);
        let b = dealer::broadcast(&mut self.emit, &b, &shape);
        let chosen = dealer::inject(&mut self.emit, &c, &d);
        let add2 = self.emit.add(C::Add(chosen.add2, b.dup));
        let own = match chosen.own {
            Some(own) => self.emit.add(C::Add(own, b.own)),
            None => b.own,
        };
        Some(pair(Pair { own: Some(own), add2 }))
    }

    /// Of a gate's value and condition the one whose sign is cheaper. A truncated value has the sign of what
    /// was truncated or is 0, so it is kept by its own sign exactly where it is kept by the other's; at an
    /// edge both are at it. Its low bits are there as early, and they are fewer.
    pub(in crate::lower) fn signed(&self, v: NodeId, s: NodeId) -> NodeId {
        let truncated = matches!(self.graph.op(v), Op::Trunc(_)) && self.graph.arg(v, 0) == s;
        if truncated { v } else { s }
    }

    /// As [`Lowering::saturate`].
    pub(super) fn split_saturate(&mut self, id: NodeId, top: u32, tuning: Tuning) -> Option<Held> {
        let (g, k) = (self.graph, self.rings.of(id));
        let arg = g.arg(id, 0);
        let scale = |n: NodeId| f64::from(top + g.ty(n).frac.unwrap_or(0)).exp2();
        // What is cut off becomes 2^most: only the bits of its word that this leaves are read.
        let most = top + g.ty(id).frac.unwrap_or(0);
        let few = truncation::ring_for(k.saturating_sub(most)).min(k);
        let (inner, outer) = if self.cut(arg) {
            let v = g.arg(arg, 0);
            let s = self.signed(v, g.arg(arg, 1));
            let edge = scale(s);
            let (lo, hi) = self.ranges.raw[s.index()];
            let width = signed_bits((lo.min(lo - edge), hi.max(hi - edge)));
            let ring = truncation::ring_for(width.max(8));
            let groups = self.common(id, &[v, s], &C::Mul(ValueId(0), ValueId(1)))?;
            let x = self.split_low(s, ring, groups, width);
            let e = &mut self.emit;
            let edge = top + g.ty(s).frac.unwrap_or(0);
            let Cut { inside, large } = cut(e, &x, (width, edge), tuning);
            let v = self.split_in(v, k, groups);
            let inner = dealer::inject(&mut self.emit, &inside, &v);
            (inner, dealer::to_word(&mut self.emit, &large, few))
        } else {
            let width = self.ranges.bits(arg) + 1;
            let groups = self.groups(arg).unwrap_or_else(|| default_groups(g.shape(arg)));
            let ring = self.rings.operand(g, self.ranges, id, 0);
            let x = self.split_low(arg, ring, groups, width);
            let e = &mut self.emit;
            // From -c to c is from 0 to 2 c.
            let up = Split { dup: e.add(C::Offset(x.dup, word(scale(id), ring))), ..x };
            let edge = top + g.ty(id).frac.unwrap_or(0) + 1;
            let Cut { inside, large: high } = cut(e, &up, (width, edge), tuning);
            let low = dealer::sum(e, &inside, &high, false);
            let low = Split { dup: e.add(C::Not(low.dup)), mask: None, ..low };
            let v = self.split_in(arg, k, groups);
            let e = &mut self.emit;
            let inner = dealer::inject(e, &inside, &v);
            let (low, high) = (dealer::to_word(e, &low, few), dealer::to_word(e, &high, few));
            let own = match (high.own, low.own) {
                (Some(a), Some(b)) => Some(e.add(C::Sub(a, b))),
                _ => None,
            };
            (inner, Pair { own, add2: e.add(C::Sub(high.add2, low.add2)) })
        };
        let e = &mut self.emit;
        let outer = Pair {
            own: outer.own.map(|v| dealer::raise(e, v, k, most)),
            add2: dealer::raise(e, outer.add2, k, most),
        };
        let own = match (inner.own, outer.own) {
            (Some(a), Some(b)) => Some(e.add(C::Add(a, b))),
            (a, b) => a.or(b),
        };
        Some(pair(Pair { own, add2: e.add(C::Add(inner.add2, outer.add2)) }))
    }

    /// As [`selection::hit`]: margins, their signs, and one product of all of an element's bits.
    pub(super) fn split_hit(&mut self, id: NodeId, tuning: Tuning) -> Option<Held> {
        let g = self.graph;
        let (z, y) = (g.arg(id, 0), g.arg(id, 1));
        if !self.secret(z) || !self.secret(y) {
            return None;
        }
        let shape = g.shape(z).to_vec();
        let classes = shape.last().copied()?;
        let n: u64 = shape[..shape.len() - 1].iter().product();
        // Few logits get one dealer for all here, where it is free: what is made of them is combined across
        // samples and clients soon.
        let groups = match g.elements(z) <= FEW {
            true => 1,
            false => self.groups(z).unwrap_or_else(|| default_groups(&shape)),
        };
        let whole = Type::new(Hold::Own, Dom::Ring(64), vec![n, 1, classes]).grouped(groups);
        let rows = Type { shape: vec![n, 1], ..whole.clone() };
        // Classes become planes, so samples must be what shards are parts of.
        if ![&whole, &rows].iter().all(|t| verify::check_type(t).is_ok()) || n == 1 && groups > 1 {
            return None;
        }
        let width = self.ranges.difference_bits(z, z) + 1;
        let label = self.operand_of(id, 1);
        let k = self.rings.operand(g, self.ranges, id, 0);
        let zs = self.split_low(z, k, groups, width);
        let e = &mut self.emit;
        let to = |e: &mut Emit, x: &Split, shape: &[u64]| {
            dealer::linear(e, x, |v| C::Reshape(v, shape.to_vec()))
        };
        let left = to(e, &zs, &[n, 1, classes]);
        let flat = e.add(C::Reshape(label, vec![n, 1, classes]));
        let right = dealer::split(e, flat, groups);
        let own = dealer::product(e, &left, &right, |a, b| C::MatMul { a, b, trans_b: true });
        let own = dealer::settle(e, own);
        let own = to(e, &own, &[n, 1]);

        let beyond = selection::beyond(e, label, n, classes, k);
        let beyond = dealer::split(e, beyond, groups);
        let others = to(e, &zs, &[n, classes]);
        let own = dealer::broadcast(e, &own, &[n, classes]);
        let margin = dealer::sum(e, &own, &others, true);
        let margin = dealer::sum(e, &margin, &beyond, true);
        let worse = dealer::negative(e, &margin, width, tuning);
        let good = dealer::not(e, worse);
        let good = dealer::settle(e, good);
        let good = dealer::to_planes(e, &good);
        let outer = g.shape(id).to_vec();
        // What is only counted becomes a word in the same step.
        let opened = g.outputs.iter().any(|o| o.node == id);
        let counted = match g.users(id)[..] {
            [one] if *g.op(one) == Op::ToInt && !opened => Some(self.rings.of(one)),
            _ => None,
        };
        let planes = e.ty(good.own).bits();
        if let Some(k) = counted.filter(|k| {
            planes <= MOST_BITS as u32 && few::pays(u64::from(*k) << planes, n, 1.0, tuning)
        }) {
            let hits = dealer::lookup(e, &good, &few::all_ones(planes), Some(k));
            let add2 = e.add(C::Reshape(hits.add2, outer.clone()));
            self.words.insert(id, Pair { own: None, add2 });
        }
        let e = &mut self.emit;
        let all = dealer::all_planes(e, &good, tuning);
        let own = all.own.map(|v| e.add(C::Reshape(v, outer.clone())));
        Some(pair(Pair { own, add2: e.add(C::Reshape(all.add2, outer)) }))
    }
}
