//! Nodes in the form of the dealer-style family ([`super::dealer`]): which of them are, in how many groups
//! their shards are cut, and the nodes that know both forms.
//!
//! A node's value may be replicated, a [`Split`] or a [`Pair`]; each form is made when it is asked for
//! ([`Lowering::full`], [`Lowering::split`]). Going from a split to a replicated value takes no round, but the dealer of
//! what is made of a replicated value learns its part only when the value is there: so values stay
//! split, with the same dealers, as long as operations go shard by shard.

use super::dealer::{self, Pair, Split};
use super::{Held, Low, Lowering, word};
use crate::graph::{NodeId, Op};
use crate::types::Elem;
use slvr_circuit::{Conv, Dom, Hold, Op as C, Type, ValueId, lead, verify};

/// Values of at most so many elements have one dealer for all: they are soon combined across clients.
pub(super) const FEW: u64 = 1 << 14;

mod choices;
mod functions;

fn split(x: Split) -> Held {
    Held { split: Some(x), ..Held::default() }
}

fn pair(x: Pair) -> Held {
    Held { pair: Some(x), ..Held::default() }
}

/// How many groups a value's shards are cut between if nothing else decides.
fn default_groups(shape: &[u64]) -> u32 {
    let elements: u64 = shape.iter().product();
    let size = shape.get(lead(shape)).copied().unwrap_or(1);
    match u32::try_from(size) {
        Ok(groups) if elements > FEW && groups >= 3 => groups,
        _ => 1,
    }
}

/// A shape that is repeated along the leading axis of a result that has its rank.
fn aligned(shape: &[u64], out: &[u64]) -> Vec<u64> {
    let mut shape = shape.to_vec();
    let axis = lead(out);
    if let (true, Some(size)) = (shape.len() == out.len(), shape.get_mut(axis)) {
        *size = out[axis];
    }
    shape
}

impl Lowering<'_> {
    /// The groups of a value that is in a form of this family.
    pub(super) fn groups(&self, id: NodeId) -> Option<u32> {
        let held = &self.held[id.index()];
        let value = held.split.map(|s| s.own).or(held.pair.map(|p| p.add2))?;
        Some(self.emit.ty(value).groups)
    }

    fn is_split(&self, id: NodeId) -> bool {
        self.groups(id).is_some()
    }

    /// The node's value split with its own groups, or as `groups` says.
    pub(super) fn split(&mut self, id: NodeId, groups: u32) -> Split {
        let held = self.held[id.index()];
        let own = match (held.split, held.pair) {
            (Some(s), _) => Some(s),
            (None, Some(p)) => {
                let site = std::mem::replace(&mut self.emit.site, self.graph.node(id).site);
                let s = dealer::settle(&mut self.emit, p);
                self.emit.site = site;
                self.held[id.index()].split = Some(s);
                Some(s)
            }
            (None, None) => None,
        };
        if let Some(s) = own.filter(|s| self.emit.ty(s.own).groups == groups) {
            return s;
        }
        if let Some(&s) = self.resplit.get(&(id, groups)) {
            return s;
        }
        let x = self.full(id);
        let s = dealer::split(&mut self.emit, x, groups);
        self.resplit.insert((id, groups), s);
        s
    }

    /// The same in a ring of k bits.
    fn split_in(&mut self, id: NodeId, k: u32, groups: u32) -> Split {
        let x = self.split(id, groups);
        let own = self.emit.ty(x.own).bits();
        if self.graph.ty(id).elem == Elem::Bit || own == k {
            return x;
        }
        if own > k {
            // What is above these bits is cut off: where it takes an exchange of its own, it is not waited
            // for, and if nothing else reads it, not made.
            if let Some(low) = self.low_in(id, k, groups).filter(|low| low.bits == k) {
                return low.split;
            }
            return dealer::linear(&mut self.emit, &x, |v| C::Narrow(v, k));
        }
        if let Some(&s) = self.lifted.get(&(id, k, groups)) {
            return s;
        }
        let s = dealer::lift(&mut self.emit, &x, 0, k);
        self.lifted.insert((id, k, groups), s);
        s
    }

    /// The same for what reads its low `width` bits only: these may be there a round earlier.
    fn split_low(&mut self, id: NodeId, k: u32, groups: u32, width: u32) -> Split {
        match self.low_in(id, k, groups) {
            Some(low) if width <= low.bits => low.split,
            _ => self.split_in(id, k, groups),
        }
    }

    /// What there is of a node's low bits in a ring of k bits.
    fn low_in(&mut self, id: NodeId, k: u32, groups: u32) -> Option<Low> {
        let low = self.held[id.index()].low?;
        let ty = self.emit.ty(low.split.own);
        let (own, same) = (ty.bits(), ty.groups == groups);
        if own < k {
            return None;
        }
        let split = match own == k {
            true => low.split,
            false => dealer::linear(&mut self.emit, &low.split, |v| C::Narrow(v, k)),
        };
        let split = match same {
            true => split,
            false => {
                let x = dealer::join(&mut self.emit, &split);
                dealer::split(&mut self.emit, x, groups)
            }
        };
        Some(Low { split, bits: low.bits.min(k) })
    }

    /// An operand of an elementwise operation. One that is repeated along the axis that shards are parts of
    /// is repeated before it is split: each dealer needs a part of its own.
    fn split_aligned(&mut self, id: NodeId, k: u32, groups: u32, out: &[u64]) -> Split {
        let shape = aligned(self.graph.shape(id), out);
        if groups == 1 || shape == self.graph.shape(id) {
            return self.split_in(id, k, groups);
        }
        let x = self.at(id, k);
        let x = self.emit.broadcast(x, &shape);
        dealer::split(&mut self.emit, x, groups)
    }

    /// A split operand in the ring that the node reads it in.
    fn split_operand(&mut self, id: NodeId, i: usize, groups: u32) -> Split {
        let k = self.rings.operand(self.graph, self.ranges, id, i);
        self.split_in(self.graph.arg(id, i), k, groups)
    }

    /// Both operands, aligned if the operation is elementwise.
    fn split_operands(&mut self, id: NodeId, groups: u32, elementwise: bool) -> [Split; 2] {
        let out = self.graph.shape(id).to_vec();
        [0, 1].map(|i| {
            let k = self.rings.operand(self.graph, self.ranges, id, i);
            match elementwise {
                true => self.split_aligned(self.graph.arg(id, i), k, groups, &out),
                false => self.split_operand(id, i, groups),
            }
        })
    }

    /// The pair of a node in a ring of k bits, if it has only that and nothing else will settle it.
    fn pending_pair(&mut self, id: NodeId, k: u32, groups: u32) -> Option<Pair> {
        let held = self.held[id.index()];
        if held.split.is_some() || held.full.is_some() || self.groups(id) != Some(groups) {
            return None;
        }
        let alone =
            self.graph.users(id).len() == 1 && !self.graph.outputs.iter().any(|o| o.node == id);
        let bits = self.graph.ty(id).elem == Elem::Bit;
        let own = held.pair.map(|p| self.emit.ty(p.add2).bits())?;
        let x = held.pair.filter(|_| alone && (bits || own >= k))?;
        if bits || own == k {
            return Some(x);
        }
        let own = x.own.map(|v| self.emit.add(C::Narrow(v, k)));
        Some(Pair { own, add2: self.emit.add(C::Narrow(x.add2, k)) })
    }

    /// Whether an operation applies to operands held so, cut between so many groups.
    fn fits(&self, ids: &[NodeId], hold: Hold, groups: u32, op: &C) -> bool {
        let elementwise = matches!(op, C::Add(..) | C::Sub(..) | C::Mul(..)) && groups > 1;
        // The shape that operands are aligned to.
        let most = ids.iter().copied().max_by_key(|&id| self.graph.elements(id));
        let types: Vec<Type> = ids
            .iter()
            .map(|&id| {
                let dom = match self.graph.ty(id).elem {
                    Elem::Bit => Dom::Bits(1),
                    _ => Dom::Ring(64),
                };
                let mut shape = self.graph.shape(id).to_vec();
                if let (true, true, Some(most)) = (elementwise, self.secret(id), most) {
                    shape = aligned(&shape, self.graph.shape(most));
                }
                match self.secret(id) {
                    true => Type::new(hold, dom, shape).grouped(groups),
                    false => Type::new(Hold::Public, dom, shape),
                }
            })
            .collect();
        let sound = types.iter().all(|t| verify::check_type(t).is_ok());
        sound && verify::infer(op, &|v| &types[v.index()]).is_ok()
    }

    /// The groups in which an operation on these operands goes shard by shard: those of the largest operand
    /// that is split already, if they do.
    fn common(&self, id: NodeId, ids: &[NodeId], op: &C) -> Option<u32> {
        let mut split: Vec<NodeId> = ids.iter().copied().filter(|&i| self.is_split(i)).collect();
        split.sort_by_key(|&i| std::cmp::Reverse(self.graph.elements(i)));
        let mut ways: Vec<u32> = split.into_iter().filter_map(|i| self.groups(i)).collect();
        if ways.is_empty() {
            let most = ids.iter().copied().chain([id]).max_by_key(|&i| self.graph.elements(i));
            ways.extend(most.map(|i| default_groups(self.graph.shape(i))));
            ways.push(1);
        }
        ways.into_iter().find(|&g| self.fits(ids, Hold::Own, g, op))
    }

    /// A linear operation of one operand, and public ones that the operation already names.
    fn split_linear(&mut self, id: NodeId, x: NodeId, op: &dyn Fn(ValueId) -> C) -> Option<Held> {
        let groups = self.groups(x)?;
        let k = self.rings.of(id);
        let shrinks = self.graph.elements(id) <= self.graph.elements(x);
        let bits = self.graph.ty(x).elem == Elem::Bit;
        let dom = if bits { Dom::Bits(1) } else { Dom::Ring(k) };
        let ty = Type::new(Hold::Own, dom, self.graph.shape(x).to_vec()).grouped(groups);
        let next = ValueId(self.emit.types.len() as u32);
        let types = |v: ValueId| if v == next { &ty } else { self.emit.ty(v) };
        verify::infer(&op(next), &types).ok()?;
        if let Some(p) = if shrinks { self.pending_pair(x, k, groups) } else { None } {
            let own = p.own.map(|v| self.emit.add(op(v)));
            return Some(pair(Pair { own, add2: self.emit.add(op(p.add2)) }));
        }
        let s = self.split_in(x, k, groups);
        let low = self.low_in(x, k, groups);
        let low = low.map(|l| Low { split: dealer::linear(&mut self.emit, &l.split, op), ..l });
        let s = dealer::linear(&mut self.emit, &s, op);
        Some(Held { split: Some(s), low, ..Held::default() })
    }

    /// A node in this family; `None` where it is not, or where nothing speaks for it.
    pub(super) fn split_node(&mut self, id: NodeId) -> Option<Held> {
        let tuning = self.tuning?;
        if !self.secret(id) {
            return None;
        }
        let g = self.graph;
        let args = g.args(id);
        let k = self.rings.of(id);
        if g.ty(id).elem == Elem::Bit
            && let Some(p) = self.table_of(id, None)
        {
            return Some(pair(p));
        }
        match g.op(id) {
            Op::Neg => self.split_linear(id, args[0], &C::Neg),
            Op::Scale(c) => {
                let c = word(*c, k);
                self.split_linear(id, args[0], &|x| C::Scale(x, c))
            }
            Op::Shift(by) => {
                let c = word(f64::from(*by).exp2(), k);
                self.split_linear(id, args[0], &|x| C::Scale(x, c))
            }
            Op::DivPow2(_) => {
                let to = g.shape(id).to_vec();
                self.split_linear(id, args[0], &|x| C::Reshape(x, to.clone()))
            }
            Op::Sum(axes) => self.split_linear(id, args[0], &|x| C::Sum { x, axes: axes.clone() }),
            Op::Reshape(to) => self.split_linear(id, args[0], &|x| C::Reshape(x, to.clone())),
            Op::Transpose(p) => self.split_linear(id, args[0], &|x| C::Transpose(x, p.clone())),
            Op::Slice { axis, start, len, step } => {
                let (axis, start, len, step) = (*axis, *start, *len, *step);
                self.split_linear(id, args[0], &|x| C::Slice { x, axis, start, len, step })
            }
            Op::Broadcast(to) => self.split_linear(id, args[0], &|x| C::Broadcast(x, to.clone())),
            Op::Gather { axis, batch } => {
                self.groups(args[0])?;
                let index = self.full(args[1]);
                let (axis, batch) = (*axis, *batch);
                self.split_linear(id, args[0], &|x| C::Gather { x, index, axis, batch })
            }
            Op::Not => {
                let p = match self.groups(args[0]) {
                    Some(groups) => self.pending_pair(args[0], 1, groups),
                    None => return None,
                };
                if let Some(p) = p {
                    return Some(pair(dealer::not(&mut self.emit, p)));
                }
                let groups = self.groups(args[0])?;
                let s = self.split(args[0], groups);
                Some(split(Split { dup: self.emit.add(C::Not(s.dup)), ..s }))
            }
            Op::Add | Op::Sub | Op::Xor => self.split_sum(id, args[0], args[1]),
            Op::And => match self.split_all(id, tuning) {
                Some(all) => Some(all),
                None => self.split_product(id, &C::Mul),
            },
            Op::Mul => self.split_product(id, &C::Mul),
            Op::MatMul { trans_b } => {
                let trans_b = *trans_b;
                if let Some(chosen) = self.split_choice(id, trans_b) {
                    return Some(chosen);
                }
                self.split_product(id, &|a, b| C::MatMul { a, b, trans_b })
            }
            Op::Conv2d { stride, pad } => {
                let conv = Conv { stride: *stride, pad: *pad };
                self.split_product(id, &|x, w| C::Conv2d { x, w, conv })
            }
            Op::Trunc(by) => {
                let groups =
                    self.groups(args[0]).unwrap_or_else(|| default_groups(g.shape(args[0])));
                let x = self.split_operand(id, 0, groups);
                let bits = self.emit.ty(x.own).bits() - by;
                let cut = dealer::truncate(&mut self.emit, &x, *by, k);
                let low = cut.low.map(|split| Low { split, bits });
                Some(Held { split: Some(cut.whole), low, ..Held::default() })
            }
            Op::Lt | Op::Eq => {
                let (x, width) = self.split_difference(id)?;
                let sign = match g.op(id) {
                    Op::Lt => dealer::negative(&mut self.emit, &x, width, tuning),
                    _ => dealer::zero(&mut self.emit, &x, width, tuning),
                };
                Some(pair(sign))
            }
            Op::ToInt => {
                if let Some(&p) = self.words.get(&args[0]) {
                    return Some(pair(p));
                }
                if let Some(p) = self.table_of(args[0], Some(k)) {
                    return Some(pair(p));
                }
                let groups =
                    self.groups(args[0]).unwrap_or_else(|| default_groups(g.shape(args[0])));
                let c = self.split(args[0], groups);
                Some(pair(dealer::to_word(&mut self.emit, &c, k)))
            }
            Op::Gate if self.cut(id) => Some(Held::default()),
            Op::Gate => {
                let groups = self.common(id, &args, &C::Mul(ValueId(0), ValueId(1)))?;
                let s = self.signed(args[0], args[1]);
                let width = self.ranges.bits(s);
                let ring = self.rings.of(s).min(super::truncation::ring_for(width.max(8)));
                let s = self.split_low(s, ring, groups, width);
                let negative = dealer::negative(&mut self.emit, &s, width, tuning);
                let keep = dealer::not(&mut self.emit, negative);
                let keep = dealer::settle(&mut self.emit, keep);
                let v = self.split_in(args[0], k, groups);
                Some(pair(dealer::inject(&mut self.emit, &keep, &v)))
            }
            Op::Saturate(top) => self.split_saturate(id, *top, tuning),
            Op::Select if g.ty(id).elem != Elem::Bit => self.split_select(id),
            Op::ArgMaxIs => self.split_hit(id, tuning),
            Op::ExpNonPositive => self.split_exponential(id, tuning),
            Op::Recip => self.split_reciprocal(id, tuning),
            _ => None,
        }
    }

    /// a + b, a - b, a xor b.
    fn split_sum(&mut self, id: NodeId, a: NodeId, b: NodeId) -> Option<Held> {
        if !self.is_split(a) && !self.is_split(b) {
            return None;
        }
        let minus = *self.graph.op(id) == Op::Sub;
        let op = |x, y| if minus { C::Sub(x, y) } else { C::Add(x, y) };
        let groups = self.common(id, &[a, b], &op(ValueId(0), ValueId(1)))?;
        let k = self.rings.of(id);
        let n = self.graph.elements(id);
        let pending = |l: &mut Self, x: NodeId, other: NodeId| {
            let fits = l.secret(x) && n <= l.graph.elements(x) && x != other;
            if fits { l.pending_pair(x, k, groups) } else { None }
        };
        let (pa, pb) = (pending(self, a, b), pending(self, b, a));
        if pa.is_none() && pb.is_none() && self.secret(a) && self.secret(b) {
            let out = self.graph.shape(id).to_vec();
            let x = self.split_aligned(a, k, groups, &out);
            let y = self.split_aligned(b, k, groups, &out);
            // The low bits of both, if those of one are there early and nothing is repeated.
            let lows = [a, b].map(|i| match self.graph.shape(i) == out {
                true => self.low_in(i, k, groups),
                false => None,
            });
            let low = lows.iter().flatten().map(|l| l.bits).min().map(|bits| {
                let [x, y] = [(lows[0], x), (lows[1], y)].map(|(l, s)| l.map_or(s, |l| l.split));
                Low { split: dealer::sum(&mut self.emit, &x, &y, minus), bits }
            });
            let s = dealer::sum(&mut self.emit, &x, &y, minus);
            return Some(Held { split: Some(s), low, ..Held::default() });
        }
        // Each operand as a part of the dealer, if it has one, and one of the others.
        let mut parts = [(a, pa), (b, pb)].map(|(x, p)| match p {
            Some(p) => (p.own, p.add2),
            None if self.secret(x) => {
                let out = self.graph.shape(id).to_vec();
                let s = self.split_aligned(x, k, groups, &out);
                (Some(s.own), s.dup)
            }
            None => (None, self.at(x, k)),
        });
        let whole = |e: &mut super::Emit, v: ValueId, shape: &[u64]| {
            if e.ty(v).shape == shape { v } else { e.add(C::Broadcast(v, shape.to_vec())) }
        };
        let shape = self.graph.shape(id).to_vec();
        let own = match (parts[0].0, parts[1].0) {
            (Some(x), Some(y)) => Some(self.emit.add(op(x, y))),
            (Some(x), None) => Some(whole(&mut self.emit, x, &shape)),
            (None, Some(y)) => {
                let y = whole(&mut self.emit, y, &shape);
                Some(if minus { self.emit.add(C::Neg(y)) } else { y })
            }
            (None, None) => None,
        };
        // A difference of what the two hold and what both know: the verifier has no rule for Add2 - Dup.
        if minus
            && self.emit.ty(parts[1].1).hold == Hold::Dup
            && self.emit.ty(parts[0].1).hold == Hold::Add2
        {
            parts[1].1 = self.emit.add(C::Neg(parts[1].1));
            let add2 = self.emit.add(C::Add(parts[0].1, parts[1].1));
            return Some(pair(Pair { own, add2 }));
        }
        let rest = self.emit.add(op(parts[0].1, parts[1].1));
        Some(match self.emit.ty(rest).hold {
            Hold::Add2 => pair(Pair { own, add2: rest }),
            _ => {
                let own = own?;
                // A public addend leaves part a, and its shares, as they are.
                let mask =
                    [(a, b, false), (b, a, minus)].into_iter().find_map(|(x, other, neg)| {
                        let s = self.held[x.index()].split?;
                        let same = s.own == own && !self.secret(other) && !neg;
                        if same { s.mask } else { None }
                    });
                let low = self.low_plus_public(id, [a, b], k, groups, minus);
                Held { split: Some(Split { own, dup: rest, mask }), low, ..Held::default() }
            }
        })
    }

    /// The low bits of a value plus or minus a public one.
    fn low_plus_public(
        &mut self,
        id: NodeId,
        [a, b]: [NodeId; 2],
        k: u32,
        groups: u32,
        minus: bool,
    ) -> Option<Low> {
        if !self.secret(a) || self.secret(b) || self.graph.shape(a) != self.graph.shape(id) {
            // A public minuend is rare.
            let swapped = !minus && !self.secret(a) && self.secret(b);
            return if swapped { self.low_plus_public(id, [b, a], k, groups, minus) } else { None };
        }
        let low = self.low_in(a, k, groups)?;
        let c = self.at(b, k);
        let op = if minus { C::Sub(low.split.dup, c) } else { C::Add(low.split.dup, c) };
        let split = Split { own: low.split.own, dup: self.emit.add(op), mask: None };
        Some(Low { split, ..low })
    }

    /// A product of any kind.
    fn split_product(&mut self, id: NodeId, op: &dyn Fn(ValueId, ValueId) -> C) -> Option<Held> {
        let g = self.graph;
        let args = [g.arg(id, 0), g.arg(id, 1)];
        let secret = args.map(|x| self.secret(x));
        let any = args.iter().any(|&x| self.is_split(x));
        let elementwise = matches!(g.op(id), Op::Mul | Op::And);
        if secret != [true; 2] {
            // Public times secret is linear.
            let x = if secret[0] { args[0] } else { args[1] };
            if !any && elementwise {
                return None;
            }
            let k = self.rings.operand(g, self.ranges, id, usize::from(!secret[0]));
            let groups = self.common(id, &args, &op(ValueId(0), ValueId(1)))?;
            let public = self.operand_of(id, usize::from(secret[0]));
            let op = |v| if secret[0] { op(v, public) } else { op(public, v) };
            let larger = g.elements(id) > g.elements(x);
            if let Some(p) = if larger { None } else { self.pending_pair(x, k, groups) } {
                let own = p.own.map(|v| self.emit.add(op(v)));
                return Some(pair(Pair { own, add2: self.emit.add(op(p.add2)) }));
            }
            // The shares of part a are rarely read: they are dealt again if they are.
            let s = Split { mask: None, ..self.split_in(x, k, groups) };
            return Some(split(dealer::linear(&mut self.emit, &s, op)));
        }
        // What is only opened need not be reshared, and large replicated values stay as they are.
        let most = args.iter().map(|&x| g.elements(x)).max().unwrap_or(0);
        let opened = self.only_opened(id);
        if opened || !any && most > 64 * g.elements(id) {
            return None;
        }
        if let Some(groups) = self.shared_weights(id) {
            return Some(self.product_with_copies(id, groups, op));
        }
        // What a product takes of its operands' new dealers is shared already, so here values that will be
        // combined across clients get one dealer for all in no round; a comparison would wait for it.
        let op0 = op(ValueId(0), ValueId(1));
        let few = most.max(g.elements(id)) <= FEW;
        let groups = match few && self.fits(&args, Hold::Own, 1, &op0) {
            true => 1,
            false => self.common(id, &args, &op0)?,
        };
        let [x, y] = self.split_operands(id, groups, elementwise);
        Some(pair(dealer::product(&mut self.emit, &x, &y, op)))
    }

    /// Groups for a product of many samples with one secret matrix or kernel: a divisor of the samples, at
    /// least 3, so that each shard has a dealer of its own.
    fn shared_weights(&self, id: NodeId) -> Option<u32> {
        let g = self.graph;
        let (x, w) = (g.arg(id, 0), g.arg(id, 1));
        let (sx, sw) = (g.shape(x), g.shape(w));
        let shared = matches!(g.op(id), Op::MatMul { .. } | Op::Conv2d { .. })
            && sx.first() == Some(&1)
            && sw.first() == Some(&1);
        let samples = *sx.get(1).filter(|_| shared)?;
        let few = g.elements(id).max(g.elements(x)) <= FEW;
        let own = self.groups(x).filter(|&k| k >= 3 && samples.is_multiple_of(k.into()));
        let new = (3..=8).find(|&k| !few && samples.is_multiple_of(u64::from(k)));
        // Copies of the weights must stay small beside what they are for.
        own.filter(|&k| k <= 8).or(new)
    }

    /// The product with a copy of the right operand for each group of samples of the left one.
    fn product_with_copies(
        &mut self,
        id: NodeId,
        groups: u32,
        op: &dyn Fn(ValueId, ValueId) -> C,
    ) -> Held {
        let g = self.graph;
        let count = u64::from(groups);
        let x = self.split_operand(id, 0, groups);
        let mut shape = g.shape(g.arg(id, 0)).to_vec();
        (shape[0], shape[1]) = (count, shape[1] / count);
        let x = dealer::linear(&mut self.emit, &x, |v| C::Reshape(v, shape.clone()));
        let mut copies = g.shape(g.arg(id, 1)).to_vec();
        copies[0] = count;
        let w = self.operand_of(id, 1);
        let w = self.emit.add(C::Broadcast(w, copies));
        let w = dealer::split(&mut self.emit, w, groups);
        let p = dealer::product(&mut self.emit, &x, &w, op);
        let to = g.shape(id).to_vec();
        let own = p.own.map(|v| self.emit.add(C::Reshape(v, to.clone())));
        pair(Pair { own, add2: self.emit.add(C::Reshape(p.add2, to)) })
    }

    /// Whether all that is made of a node is linear and revealed.
    fn only_opened(&self, id: NodeId) -> bool {
        let users = self.graph.users(id);
        let opened = self.graph.outputs.iter().any(|o| o.node == id);
        (opened || !users.is_empty())
            && users.iter().all(|&u| {
                let linear = matches!(
                    self.graph.op(u),
                    Op::Neg
                        | Op::Scale(_)
                        | Op::Shift(_)
                        | Op::Sum(_)
                        | Op::Reshape(_)
                        | Op::Slice { .. }
                );
                linear && self.only_opened(u)
            })
    }

    /// The difference of a comparison's operands, and the bits that hold it.
    fn split_difference(&mut self, id: NodeId) -> Option<(Split, u32)> {
        let g = self.graph;
        let args = [g.arg(id, 0), g.arg(id, 1)];
        let width = match self.rings.fixed() {
            Some(k) => k,
            None => self.ranges.difference_bits(args[0], args[1]),
        };
        let sub = C::Sub(ValueId(0), ValueId(1));
        let groups = self.common(id, &args, &sub)?;
        let x = match args.map(|x| self.secret(x)) {
            [true, true] => {
                let out = g.shape(id).to_vec();
                let [x, y] = [0, 1].map(|i| {
                    let k = self.rings.operand(g, self.ranges, id, i);
                    match groups == 1 || g.shape(args[i]) == out {
                        true => self.split_low(args[i], k, groups, width),
                        false => self.split_aligned(args[i], k, groups, &out),
                    }
                });
                dealer::sum(&mut self.emit, &x, &y, true)
            }
            [true, false] => {
                let k = self.rings.operand(g, self.ranges, id, 0);
                let x = self.split_low(args[0], k, groups, width);
                let y = self.operand_of(id, 1);
                let x = dealer::broadcast(&mut self.emit, &x, g.shape(id));
                Split { dup: self.emit.add(C::Sub(x.dup, y)), ..x }
            }
            _ => {
                let k = self.rings.operand(g, self.ranges, id, 1);
                let y = self.split_low(args[1], k, groups, width);
                let x = self.operand_of(id, 0);
                let y = dealer::broadcast(&mut self.emit, &y, g.shape(id));
                let y = dealer::linear(&mut self.emit, &y, C::Neg);
                Split { dup: self.emit.add(C::Add(x, y.dup)), ..y }
            }
        };
        Some((x, width))
    }

    /// The sum of a pair as words of the three.
    pub(super) fn pair_as_add3(&mut self, x: Pair) -> ValueId {
        let rest = self.emit.add(C::AsAdd3(x.add2));
        match x.own {
            None => rest,
            Some(own) => {
                let own = self.emit.add(C::AsAdd3(own));
                self.emit.add(C::Add(own, rest))
            }
        }
    }
}
