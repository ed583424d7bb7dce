//! Nodes of the dealer-style family that are functions: exponentials, reciprocals, and what maxima are
//! made of.

use super::super::dealer::{self, Pair, functions};
use super::super::{Held, Lowering};
use super::{default_groups, pair, split};
use crate::cost::Tuning;
use crate::graph::{Function, Graph, NodeId, Op};
use crate::types::Elem;
use slvr_circuit::{Op as C, lead};

/// Rounds and bits of a reciprocal in family T1.
const SYMMETRIC: (f64, f64) = (33.0, 7065.0);

impl Lowering<'_> {
    /// As [`super::super::exponential::non_positive`].
    pub(super) fn split_exponential(&mut self, id: NodeId, tuning: Tuning) -> Option<Held> {
        let (g, k) = (self.graph, self.rings.of(id));
        let arg = g.arg(id, 0);
        let frac = g.ty(arg).frac.unwrap_or(0);
        if self.rings.fixed().is_some() || !(5..=24).contains(&frac) {
            return None;
        }
        let groups = self.groups(arg).unwrap_or_else(|| default_groups(g.shape(arg)));
        // With its sign and what is added, and the window's twice 16.
        let w = (self.ranges.bits(arg) + 1).max(frac + 7);
        let own = self.rings.of(arg);
        let x = self.split_in(arg, if w > own { 64 } else { own }, groups);
        if w > self.emit.ty(x.own).bits() {
            return None;
        }
        let (least, _) = self.ranges.raw[arg.index()];
        Some(pair(functions::exp_non_positive(&mut self.emit, &x, (frac, least, w), k, tuning)))
    }

    /// As [`super::super::elementary::recip`], where the operand is known to be in an interval that takes few pieces,
    /// and their tables less time than rounds.
    pub(super) fn split_reciprocal(&mut self, id: NodeId, tuning: Tuning) -> Option<Held> {
        let (g, k) = (self.graph, self.rings.of(id));
        let arg = g.arg(id, 0);
        let frac = g.ty(arg).frac.unwrap_or(0);
        let one = f64::from(frac).exp2();
        let (lo, hi) = self.ranges.raw[arg.index()];
        let lo = if has_largest(g, arg) { lo.max(one - 8.0) } else { lo };
        // Beyond, pieces are not the way.
        if self.rings.fixed().is_some() || lo < one / 16.0 || hi > 256.0 * lo {
            return None;
        }
        let time = |rounds: f64, bits: f64| {
            let sent = bits / 24.0 * g.elements(id) as f64;
            rounds * tuning.latency + sent / tuning.bandwidth
        };
        // In the largest ring that it is read in, where that costs less than a lift.
        let asked = g.users(id).into_iter().map(|u| self.rings.of(u)).fold(k, u32::max).min(64);
        let ways = [(k, if asked > k { 2.0 } else { 1.0 }), (asked, 1.0)];
        let fitted = ways.into_iter().filter_map(|(to, rounds)| {
            let pieces = functions::recip(lo, hi, frac, to)?;
            let time = time(rounds, pieces.dealt() as f64);
            Some((pieces, to, time))
        });
        let (pieces, to, least) = fitted.min_by(|a, b| a.2.total_cmp(&b.2))?;
        if least > time(SYMMETRIC.0, SYMMETRIC.1) {
            return None;
        }
        let groups = self.groups(arg).unwrap_or_else(|| default_groups(g.shape(arg)));
        let x = self.split(arg, groups);
        let y = pieces.eval(&mut self.emit, &x);
        if to == k {
            return Some(split(y));
        }
        self.lifted.insert((id, to, groups), y);
        Some(split(dealer::linear(&mut self.emit, &y, |v| C::Narrow(v, k))))
    }

    /// The last of a tree of ands over the last axis of some bits: a product of all of them at once.
    pub(super) fn split_all(&mut self, id: NodeId, tuning: Tuning) -> Option<Held> {
        let g = self.graph;
        let shape = g.shape(id).to_vec();
        let n = g.elements(id);
        let bits = conjunction(g, id)?;
        let groups = self.groups(bits)?;
        let last = shape.len().checked_sub(1)?;
        if g.shape(bits)[..last] != shape[..last] || groups > 1 && (lead(&shape) >= last || n == 1)
        {
            return None;
        }
        let x = self.split(bits, groups);
        let x = dealer::to_planes(&mut self.emit, &x);
        Some(pair(dealer::all_planes(&mut self.emit, &x, tuning)))
    }

    /// Inner products of rows with bits as words: a choice of each entry instead of words of the bits.
    pub(super) fn split_choice(&mut self, id: NodeId, trans_b: bool) -> Option<Held> {
        let (g, k) = (self.graph, self.rings.of(id));
        let (x, z) = (g.arg(id, 0), g.arg(id, 1));
        let mut word = x;
        while let Op::Reshape(_) = g.op(word) {
            word = g.arg(word, 0);
        }
        let [n, 1, c] = *g.shape(x) else { return None };
        let shape = vec![n, 1, c];
        let words = *g.op(word) == Op::ToInt && g.elements(word) == g.elements(x);
        if !trans_b || !words || g.shape(z) != shape || !self.secret(z) {
            return None;
        }
        let bits = g.arg(word, 0);
        let groups = self.groups(bits)?;
        // Rows are what shards are parts of, or there is one shard.
        let rows = groups == 1 || groups > 1 && n.is_multiple_of(groups.into()) && n > 1;
        if !rows || g.ty(bits).elem != Elem::Bit || g.shape(bits).first() == Some(&1) && groups > 1
        {
            return None;
        }
        let chosen = self.split(bits, groups);
        let values = self.split_in(z, k, groups);
        let e = &mut self.emit;
        let chosen = dealer::linear(e, &chosen, |v| C::Reshape(v, shape.clone()));
        let Pair { own, add2 } = dealer::inject(e, &chosen, &values);
        let mut summed = |x| {
            let sum = e.add(C::Sum { x, axes: vec![2] });
            e.add(C::Reshape(sum, vec![n, 1, 1]))
        };
        Some(pair(Pair { own: own.map(&mut summed), add2: summed(add2) }))
    }
}

/// Whether a value is a sum of e^(x - max x) over the axis of the maximum: then it is at least 1, less the
/// error of an exponential.
fn has_largest(g: &Graph, sum: NodeId) -> bool {
    let mut sum = sum;
    while let Op::Reshape(_) = g.op(sum) {
        sum = g.arg(sum, 0);
    }
    let Op::Sum(axes) = g.op(sum) else { return false };
    let exp = g.arg(sum, 0);
    if *g.op(exp) != Op::Function(Function::ExpNonPositive) {
        return false;
    }
    let mut x = g.arg(exp, 0);
    while let Op::Trunc(_) | Op::Shift(_) = g.op(x) {
        x = g.arg(x, 0);
    }
    if *g.op(x) != Op::Sub {
        return false;
    }
    // An exponential of this kind is made of x - max x only, and the maximum is repeated along the one axis
    // that it was taken over.
    let (all, most) = (g.shape(g.arg(x, 0)), g.shape(g.arg(x, 1)));
    let repeated =
        |(d, (&n, &m)): (usize, (&u64, &u64))| n == m || m == 1 && axes.contains(&(d as u64));
    all.len() == most.len() && all.iter().zip(most).enumerate().all(repeated)
}

/// Most bits of a product at once.
const MOST: usize = 64;
/// Most nodes that are looked at for one.
const STEPS: u32 = 4096;

/// The bits of which a node is the and along their whole last axis.
fn conjunction(g: &Graph, id: NodeId) -> Option<NodeId> {
    if g.shape(id).last() != Some(&1) {
        return None;
    }
    let (base, mut places) = places(g, id, &mut { STEPS })?;
    let mut found = places.pop()?;
    found.sort_unstable();
    found.dedup();
    let n = *g.shape(base).last()?;
    (n > 2 && found.into_iter().eq(0..n)).then_some(base)
}

/// Some bits, and for each index of a node's last axis, the indices of these bits that it is the and of.
fn places(g: &Graph, id: NodeId, left: &mut u32) -> Option<(NodeId, Vec<Vec<u64>>)> {
    let args = g.args(id);
    let last = (g.shape(id).len() as u64).checked_sub(1)?;
    let n = *g.shape(id).last()?;
    *left = left.checked_sub(1)?;
    let merged = |parts: Vec<(NodeId, Vec<Vec<u64>>)>| {
        let base = parts.first()?.0;
        let same = parts.iter().all(|p| p.0 == base);
        same.then(|| (base, parts.into_iter().map(|p| p.1).collect::<Vec<_>>()))
    };
    match g.op(id) {
        Op::And if g.shape(args[0]) == g.shape(args[1]) => {
            let parts = vec![places(g, args[0], left)?, places(g, args[1], left)?];
            let (base, parts) = merged(parts)?;
            let mut parts = parts.into_iter();
            let (a, b) = (parts.next()?, parts.next()?);
            let both = a.into_iter().zip(b).map(|(a, b)| [a, b].concat()).collect();
            Some((base, both))
        }
        Op::Slice { axis, start, len, step } if *axis == last => {
            let (base, all) = places(g, args[0], left)?;
            let kept = all.into_iter().skip(*start as usize).step_by(*step as usize);
            Some((base, kept.take(*len as usize).collect()))
        }
        Op::Concat(axis) if *axis == last => {
            let parts: Option<Vec<_>> = args.iter().map(|&a| places(g, a, left)).collect();
            let (base, parts) = merged(parts?)?;
            Some((base, parts.concat()))
        }
        _ if n as usize <= MOST => Some((id, (0..n).map(|i| vec![i]).collect())),
        _ => None,
    }
}
