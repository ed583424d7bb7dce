//! Family T2, dealer-style: in each shard one party knows the part a of every value before the other two
//! know the part b, deals what they need of it ahead, and never receives.
//!
//! A value is a [`Split`] x = a + b: a known to the dealer (`Own`), b to the other two (`Dup`). What a local
//! step leaves is a [`Pair`]: a part of the dealer plus words of the other two (`Add2`); [`settle`] makes a
//! split of it, by one exchange between these two. All that the dealer sends depends on masks only, so the
//! scheduler puts it one layer before its use, and the rounds are those of the other two parties.
//!
//! With k-bit words, over all three parties:
//!
//! | macro | rounds of the two | bits of the dealer | bits of each other |
//! |---|---|---|---|
//! | [`settle`] | 1 | 0 | k |
//! | [`product`], sums of products | 0 | k for each operand whose part a is not shared yet | 0 |
//! | [`truncate`] to k' bits, k' <= k - f | 0 | 0 | 0 |
//! | [`truncate`], else | 1 | k'' (f bits rounded up to a ring) | k'' |
//! | [`negative`], w bits | levels + 1 | tables and products of [`Plan`] | opened bits of [`Plan`] |
//! | [`cut::cut`], w bits | levels + 2 | tables and products of [`cut::Plan`] | opened bits of [`cut::Plan`], 2 |
//! | [`inject`] | 0 | 2 k | 0 |
//! | [`to_word`] | 0 | k | 0 |
//! | [`lookup`] of n bits, as a word | 0 | k 2^n | 0 |
//! | [`all_planes`] of w bits | levels - 1 | 2^s - s - 1 and s for each group of s | 1 for each group |
//!
//! A [`Pair`] of a result that is read further costs a [`settle`] on top.
//!
//! **Functionality.** Each macro computes exactly what its T1 counterpart does
//! ([`super::truncation`], [`super::comparison`], [`super::selection`]), on any sharing.
//!
//! **Source.** The dealer's role: ASTRA (CCSW 2019), Trio. Thermometer tables and the truncation by parts:
//! derived for this project (docs/src/protocols.md). Products of many bits: ABY2.0 (USENIX Security 2021).
//!
//! **Simulation.** Parties exchange `deal`, `deal_mask` and `open_masked` messages only, each uniform to its
//! receiver given all it holds: a dealt word is masked by a pseudorandom word that the receiver does not
//! hold, and every meet has a fresh mask of which each of the two holds one word. The dealer receives
//! nothing. Local steps of the others act on what they know. So a simulator draws all messages.
//! Semi-honest security, one corrupt party.

pub mod cut;
pub mod functions;

use super::Emit;
use super::truncation::ring_for;
use crate::cost::Tuning;
use slvr_circuit::low_mask;
use slvr_circuit::multi_and::MultiAnd;
use slvr_circuit::tables::{MAX_BLOCK, thermometer_planes};
use slvr_circuit::{Op, ValueId};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// x = a + b.
#[derive(Clone, Copy, Debug)]
pub struct Split {
    /// a, `Own`.
    pub own: ValueId,
    /// b, `Dup`.
    pub dup: ValueId,
    /// a as shares of the other two, `Mask`, if it is shared.
    pub mask: Option<ValueId>,
}

/// x = a + t.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// a, `Own`; none for 0.
    pub own: Option<ValueId>,
    /// t, `Add2`.
    pub add2: ValueId,
}

/// The split of a replicated value, cut between `groups` groups.
pub fn split(e: &mut Emit, x: ValueId, groups: u32) -> Split {
    // What is not read of it is pruned before scheduling.
    let mask = e.add(Op::MaskOf(x, groups));
    let (own, dup) = (e.add(Op::OwnOf(x, groups)), e.add(Op::DupOf(x, groups)));
    Split { own, dup, mask: Some(mask) }
}

/// Part a as a mask: dealt, if it is not shared.
pub fn mask(e: &mut Emit, x: &Split) -> ValueId {
    match x.mask {
        Some(mask) => mask,
        None => e.add(Op::DealMask(x.own)),
    }
}

/// Part a as words of the other two.
pub fn shares(e: &mut Emit, x: &Split) -> ValueId {
    let mask = mask(e, x);
    e.add(Op::AsAdd2(mask))
}

/// A replicated value.
pub fn join(e: &mut Emit, x: &Split) -> ValueId {
    let mask = mask(e, x);
    e.add(Op::Join { mask, dup: x.dup })
}

/// One exchange.
pub fn settle(e: &mut Emit, x: Pair) -> Split {
    let mask = e.mask_like(x.add2);
    let dup = e.add(Op::OpenMasked { x: x.add2, mask });
    let own = e.add(Op::Own(mask));
    match x.own {
        None => Split { own, dup, mask: Some(mask) },
        Some(a) => Split { own: e.add(Op::Add(a, own)), dup, mask: None },
    }
}

/// The same linear operation on both parts of a split, and on the shares of a if there are any.
pub fn linear(e: &mut Emit, x: &Split, op: impl Fn(ValueId) -> Op) -> Split {
    let mask = x.mask.map(|m| e.add(op(m)));
    Split { own: e.add(op(x.own)), dup: e.add(op(x.dup)), mask }
}

/// x + y or x - y.
pub fn sum(e: &mut Emit, x: &Split, y: &Split, minus: bool) -> Split {
    let op = |a, b| if minus { Op::Sub(a, b) } else { Op::Add(a, b) };
    let mask = match (x.mask, y.mask) {
        (Some(a), Some(b)) => Some(e.add(op(a, b))),
        _ => None,
    };
    Split { own: e.add(op(x.own, y.own)), dup: e.add(op(x.dup, y.dup)), mask }
}

/// A bilinear operation: own times own, and b_x (a_y + b_y) + a_x b_y.
pub fn product(e: &mut Emit, x: &Split, y: &Split, op: impl Fn(ValueId, ValueId) -> Op) -> Pair {
    let own = e.add(op(x.own, y.own));
    let (ax, ay) = (shares(e, x), shares(e, y));
    let small = |e: &Emit, v: ValueId| e.ty(v).elements();
    let (left, right) = if small(e, y.own) <= small(e, x.own) {
        let both = e.add(Op::Add(ay, y.dup));
        (e.add(op(x.dup, both)), e.add(op(ax, y.dup)))
    } else {
        let both = e.add(Op::Add(ax, x.dup));
        (e.add(op(both, y.dup)), e.add(op(x.dup, ay)))
    };
    Pair { own: Some(own), add2: e.add(Op::Add(left, right)) }
}

/// A truncated value.
#[derive(Clone, Copy, Debug)]
pub struct Truncated {
    /// In Z_2^k'.
    pub whole: Split,
    /// The same modulo 2^(k-f) only, in no round, where `whole` takes one.
    pub low: Option<Split>,
}

/// x / 2^f in Z_2^k', as [`super::truncation::exact`]: one of the two integers next to it. |x| <
/// 2^(k-2) - 2^f.
///
/// Modulo 2^(k-f) the shifted parts add up to the result by themselves; only what is above needs the
/// product of two bits, modulo 2^(k'-k+f).
pub fn truncate(e: &mut Emit, x: &Split, f: u32, to: u32) -> Truncated {
    let k = e.ty(x.own).bits();
    let b = e.add(Op::Offset(x.dup, (1 << (k - 2)) + (1 << f) - 1));
    let high_a = e.add(Op::Shr(x.own, f));
    let high_b = e.add(Op::Shr(b, f));
    let minus = 0u128.wrapping_sub(1 << (k - 2 - f));
    let narrow = |e: &mut Emit, v| if to < k { e.add(Op::Narrow(v, to)) } else { v };
    let (own, dup) = (narrow(e, high_a), narrow(e, high_b));
    let low = Split { own, dup: e.add(Op::Offset(dup, minus & low_mask(to))), mask: None };
    if to <= k - f {
        return Truncated { whole: low, low: None };
    }
    let wraps = wrap(e, x.own, b, to - (k - f));
    let (own_wrap, dup_wrap) = (raise(e, wraps.own, to, k - f), raise(e, wraps.dup, to, k - f));
    let own = e.add(Op::Add(own, own_wrap));
    let dup = e.add(Op::Add(dup, dup_wrap));
    let constant = minus.wrapping_sub(1 << (k - f)) & low_mask(to);
    let whole = Split { own, dup: e.add(Op::Offset(dup, constant)), mask: None };
    Truncated { whole, low: Some(low) }
}

/// x / 2^s as a word of a larger ring, as [`super::enforce::lift`]; `to` > k.
pub fn lift(e: &mut Emit, x: &Split, s: u32, to: u32) -> Split {
    let k = e.ty(x.own).bits();
    let b = e.add(Op::Offset(x.dup, (1 << (k - 2)) + (1 << s) - 1));
    let high = |e: &mut Emit, v| {
        let v = if s > 0 { e.add(Op::Shr(v, s)) } else { v };
        e.add(Op::Extend(v, to))
    };
    let (own, dup) = (high(e, x.own), high(e, b));
    let wraps = wrap(e, x.own, b, to - k + s);
    let (own_wrap, dup_wrap) = (raise(e, wraps.own, to, k - s), raise(e, wraps.dup, to, k - s));
    let own = e.add(Op::Add(own, own_wrap));
    let dup = e.add(Op::Add(dup, dup_wrap));
    let constant = 0u128.wrapping_sub(1 << (k - s)).wrapping_sub(1 << (k - 2 - s));
    Split { own, dup: e.add(Op::Offset(dup, constant & low_mask(to))), mask: None }
}

/// (not msb a)(not msb b), needed modulo 2^bits.
fn wrap(e: &mut Emit, a: ValueId, b: ValueId, bits: u32) -> Split {
    let (k, ring) = (e.ty(a).bits(), ring_for(bits));
    let not_top = |e: &mut Emit, v| {
        let top = e.add(Op::ToBits { x: v, lo: k - 1, w: 1 });
        let top = e.add(Op::Not(top));
        e.add(Op::FromBits(top, ring))
    };
    let (u, v) = (not_top(e, a), not_top(e, b));
    let u = e.add(Op::Deal(u));
    let add2 = e.add(Op::Mul(u, v));
    settle(e, Pair { own: None, add2 })
}

/// 2^shift x in Z_2^to, of a word of a ring of at least `to - shift` bits.
pub fn raise(e: &mut Emit, x: ValueId, to: u32, shift: u32) -> ValueId {
    let own = e.ty(x).bits();
    let (x, more) = if own < to {
        // Raising multiplies by 2^(to - own), and own >= to - shift.
        (e.add(Op::Raise(x, to)), shift + own - to)
    } else {
        (x, shift)
    };
    if more > 0 { e.add(Op::Scale(x, (1u128 << more) & low_mask(to))) } else { x }
}

/// How the carry of n bits is computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Bits of each leaf.
    pub blocks: Vec<u32>,
    /// Nodes that become one, level by level.
    pub levels: Vec<Vec<u32>>,
    /// Bits of the dealer.
    pub dealt: u64,
    /// Bits of each of the other two, the carry not counted.
    pub opened: u64,
}

/// How much longer than the fastest plan a shallower one may take.
const NEARLY: f64 = 1.15;

/// Most levels of a tree.
const MOST_LEVELS: u32 = 6;

impl Plan {
    /// The plan of fewest bits with at most so many levels, `None` if there is none.
    fn with_levels(n: u32, most: u32) -> Option<Plan> {
        let plans = (n.div_ceil(MAX_BLOCK)..=n).filter_map(|leaves| {
            let (levels, (dealt, opened)) = tree(Joined::Carry, leaves, 1, most)?;
            let blocks = even(n, leaves);
            let table = u64::from(thermometer_planes(&blocks));
            Some(Plan { blocks, levels, dealt: table + dealt, opened })
        });
        plans.min_by_key(|p| p.dealt + 2 * p.opened)
    }

    /// The plan that takes least time for so many elements.
    pub fn new(n: u32, elements: u64, tuning: Tuning) -> Plan {
        let time = |p: &Plan| {
            tuning.time(p.levels.len() as f64, (p.dealt + 2 * p.opened) as f64, elements)
        };
        let plans = (0..=MOST_LEVELS).filter_map(|most| Plan::with_levels(n, most));
        let plans: Vec<Plan> = plans.collect();
        let best = plans.iter().map(time).fold(f64::INFINITY, f64::min);
        // A level is more than its latency: every party waits for the slowest there. The shallowest of the
        // plans that are nearly as fast. There is always one of six levels: 10^6 leaves.
        plans.into_iter().find(|p| time(p) <= NEARLY * best).unwrap_or_else(|| Plan {
            blocks: vec![n],
            levels: Vec::new(),
            dealt: 0,
            opened: 0,
        })
    }
}

/// So many parts of n, the first as large as any.
pub(super) fn even(n: u32, parts: u32) -> Vec<u32> {
    (0..parts).map(|i| n / parts + u32::from(i < n % parts)).collect()
}

/// Bits of the dealer and of each other.
type Bits = (u64, u64);

fn total((dealt, opened): Bits) -> u64 {
    dealt + 2 * opened
}

/// Nodes that become one, level by level, and bits; none if there is no such tree.
type Tree = Option<(Vec<Vec<u32>>, Bits)>;

/// What the nodes of a level are joined to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Joined {
    /// Their carry.
    Carry,
    /// Their carry, of nodes above others, and whether all are zero.
    CarryAndZero,
}

impl Joined {
    /// Bits of a level of groups of these sizes; none if a group is too large.
    fn bits(self, sizes: &[u32]) -> Option<Bits> {
        let of = |gates: MultiAnd| {
            gates.is_valid().then(|| (u64::from(gates.mask_products()), u64::from(gates.inputs())))
        };
        match self {
            Joined::Carry => of(MultiAnd::Carry(sizes.to_vec())),
            Joined::CarryAndZero => {
                // The lowest node of all is one below.
                let carry = of(MultiAnd::Carry([&[1], sizes].concat()))?;
                let zero = of(MultiAnd::And(sizes.to_vec()))?;
                Some((carry.0 + zero.0, carry.1 + zero.1))
            }
        }
    }
}

/// The levels from so many nodes to so many, at most `most`, of fewest bits.
fn tree(joined: Joined, nodes: u32, to: u32, most: u32) -> Tree {
    type Known = BTreeMap<(Joined, u32, u32, u32), Tree>;
    thread_local! {
        /// Few trees are asked for often: every comparison of a program asks for the same ones.
        static KNOWN: RefCell<Known> = const { RefCell::new(BTreeMap::new()) };
    }
    if nodes <= to {
        return Some((Vec::new(), (0, 0)));
    }
    if most == 0 {
        return None;
    }
    let key = (joined, nodes, to, most);
    if let Some(known) = KNOWN.with_borrow(|known| known.get(&key).cloned()) {
        return known;
    }
    let ways = (to..nodes).filter_map(|groups| {
        let sizes = even(nodes, groups);
        let level = joined.bits(&sizes)?;
        let (levels, (dealt, opened)) = tree(joined, groups, to, most - 1)?;
        let levels = std::iter::once(sizes).chain(levels).collect();
        Some((levels, (dealt + level.0, opened + level.1)))
    });
    let best = ways.min_by_key(|way| total(way.1));
    KNOWN.with_borrow_mut(|known| known.insert(key, best.clone()));
    best
}

/// One level of products of shared bits: opens the factors, deals the products of their masks. What is only
/// added, or passes, is neither opened nor masked.
fn level(e: &mut Emit, nodes: ValueId, gates: MultiAnd) -> ValueId {
    let factors = e.select(nodes, gates.factors());
    let x = settle(e, Pair { own: None, add2: factors });
    products(e, &x, gates.is_linear_in_some().then_some(nodes), gates)
}

/// Products of factors of which part b is known, of these nodes.
fn products(e: &mut Emit, x: &Split, nodes: Option<ValueId>, gates: MultiAnd) -> ValueId {
    let mask = shares(e, x);
    let own = e.add(Op::MaskProducts { x: x.own, gates: gates.clone() });
    let products = e.add(Op::Deal(own));
    e.add(Op::AndMany { open: x.dup, mask, products, nodes, gates })
}

/// The sign of x as a bit: 1 where x < 0, for |x| < 2^(w-1).
///
/// The top bit of a + b is the two top bits and the carry into them. The dealer sends, for each block of
/// its low bits, its thermometer code; the others, who know b, choose the entries that say whether the
/// block generates or propagates a carry; a tree of products of many bits makes one carry of all.
pub fn negative(e: &mut Emit, x: &Split, w: u32, tuning: Tuning) -> Pair {
    let top = |e: &mut Emit, v| e.add(Op::ToBits { x: v, lo: w - 1, w: 1 });
    let (top_a, top_b) = (top(e, x.own), top(e, x.dup));
    let n = w - 1;
    if n == 0 {
        return Pair { own: Some(top_a), add2: e.add(Op::AsAdd2(top_b)) };
    }
    let plan = Plan::new(n, e.ty(x.own).elements(), tuning);
    let low = |e: &mut Emit, v| e.add(Op::ToBits { x: v, lo: 0, w: n });
    let (a, b) = (low(e, x.own), low(e, x.dup));
    let code = e.add(Op::Thermometer { x: a, blocks: plan.blocks.clone() });
    let table = e.add(Op::Deal(code));
    let mut carry = e.add(Op::Pick { table, index: b, blocks: plan.blocks });
    for sizes in plan.levels {
        carry = level(e, carry, MultiAnd::Carry(sizes));
    }
    Pair { own: Some(top_a), add2: e.add(Op::Add(carry, top_b)) }
}

/// Groups of a product of n bits over some levels, of each at most [`Plan`]'s gates.
fn and_levels(n: u32, elements: u64, tuning: Tuning) -> Vec<Vec<u32>> {
    fn ways(n: u32, most: u32) -> Option<(Vec<Vec<u32>>, u64)> {
        if n <= 1 {
            return Some((Vec::new(), 0));
        }
        if most == 0 {
            return None;
        }
        let each = (1..n).filter_map(|groups| {
            let sizes = even(n, groups);
            let gates = MultiAnd::And(sizes.clone());
            if !gates.is_valid() {
                return None;
            }
            let (rest, bits) = ways(groups, most - 1)?;
            // What the next level opens, at last the result.
            let opened =
                rest.first().map_or(1, |sizes: &Vec<u32>| MultiAnd::And(sizes.clone()).inputs());
            let bits = bits + u64::from(gates.mask_products()) + 2 * u64::from(opened);
            Some((std::iter::once(sizes).chain(rest).collect::<Vec<_>>(), bits))
        });
        each.min_by_key(|(_, bits)| *bits)
    }
    let time = |(levels, bits): &(Vec<Vec<u32>>, u64)| {
        tuning.time(levels.len() as f64, *bits as f64, elements)
    };
    let all = (0..=4).filter_map(|most| ways(n, most));
    all.min_by(|a, b| time(a).total_cmp(&time(b))).map_or(Vec::new(), |(levels, _)| levels)
}

/// And of all planes of bits whose part b is known.
pub fn all_planes(e: &mut Emit, x: &Split, tuning: Tuning) -> Pair {
    let ty = e.ty(x.own).clone();
    let mut levels = and_levels(ty.bits(), ty.elements(), tuning).into_iter();
    let Some(first) = levels.next() else {
        return Pair { own: Some(x.own), add2: e.add(Op::AsAdd2(x.dup)) };
    };
    let gates = MultiAnd::And(first);
    let x = Split { mask: Some(mask(e, x)), ..*x };
    let nodes = gates.is_linear_in_some().then(|| {
        let shares = shares(e, &x);
        e.add(Op::Add(shares, x.dup))
    });
    let factors = Split {
        own: e.select(x.own, gates.factors()),
        dup: e.select(x.dup, gates.factors()),
        mask: x.mask.map(|m| e.select(m, gates.factors())),
    };
    let mut add2 = products(e, &factors, nodes, gates);
    for sizes in levels {
        add2 = level(e, add2, MultiAnd::And(sizes));
    }
    Pair { own: None, add2 }
}

/// A function of the n bits of planes whose part b is known, as a bit or as a word of Z_2^k: the dealer deals
/// its table at a xor v for all v.
pub fn lookup(e: &mut Emit, x: &Split, table: &[bool], words: Option<u32>) -> Pair {
    let data = table.iter().map(|&v| u128::from(v)).collect();
    let ring = words.unwrap_or(1);
    let table = e.constant(words.is_none(), ring, &[table.len() as u64], data);
    let own = e.add(Op::Table { x: x.own, table });
    let dealt = e.add(Op::Deal(own));
    Pair { own: None, add2: e.add(Op::Entry { table: dealt, index: x.dup }) }
}

/// 1 where x = 0, for |x| < 2^(w-1): a and -b are equal bit by bit.
pub fn zero(e: &mut Emit, x: &Split, w: u32, tuning: Tuning) -> Pair {
    let own = e.add(Op::ToBits { x: x.own, lo: 0, w });
    let b = e.add(Op::Neg(x.dup));
    let b = e.add(Op::ToBits { x: b, lo: 0, w });
    let dup = e.add(Op::Not(b));
    all_planes(e, &Split { own, dup, mask: None }, tuning)
}

/// A bit as a word of Z_2^k: u + v - 2 u v, u known to the dealer, v to the others.
pub fn to_word(e: &mut Emit, c: &Split, k: u32) -> Pair {
    let u = e.add(Op::FromBits(c.own, k));
    let v = e.add(Op::FromBits(c.dup, k));
    let shares = e.add(Op::Deal(u));
    let minus = e.add(Op::Scale(v, 2u128.wrapping_neg() & low_mask(k)));
    let twice = e.add(Op::Mul(shares, minus));
    Pair { own: Some(u), add2: e.add(Op::Add(twice, v)) }
}

/// c x for a bit c = u xor v and a word x = a + b. If part a is shared: v (a + b) + (1 - 2 v)(u a + u b). If not,
/// u a stays with the dealer, who deals (1 - 2 u) a: v (1 - 2 u) a + (v + u - 2 u v) b is the rest.
pub fn inject(e: &mut Emit, c: &Split, x: &Split) -> Pair {
    let k = e.ty(x.own).bits();
    let u = e.add(Op::FromBits(c.own, k));
    let v = e.add(Op::FromBits(c.dup, k));
    let ua = e.add(Op::Mul(u, x.own));
    let sign = super::selection::one_minus_twice(e, v, k);
    if x.mask.is_none() {
        let twice = e.add(Op::Add(ua, ua));
        let rest = e.add(Op::Sub(x.own, twice));
        let (u, rest) = (e.add(Op::Deal(u)), e.add(Op::Deal(rest)));
        let rest = e.add(Op::Mul(rest, v));
        let signed = e.add(Op::Mul(x.dup, sign));
        let ub = e.add(Op::Mul(u, signed));
        let vb = e.add(Op::Mul(x.dup, v));
        let sum = e.add(Op::Add(rest, ub));
        return Pair { own: Some(ua), add2: e.add(Op::Add(sum, vb)) };
    }
    let (u, ua) = (e.add(Op::Deal(u)), e.add(Op::Deal(ua)));
    let ub = e.add(Op::Mul(u, x.dup));
    let ux = e.add(Op::Add(ua, ub));
    let flipped = e.add(Op::Mul(ux, sign));
    let a = shares(e, x);
    let whole = e.add(Op::Add(a, x.dup));
    let kept = e.add(Op::Mul(whole, v));
    Pair { own: None, add2: e.add(Op::Add(kept, flipped)) }
}

/// Bits `[.., c]` as c planes of `[.., 1]`.
pub fn to_planes(e: &mut Emit, x: &Split) -> Split {
    linear(e, x, Op::ToPlanes)
}

/// Complement: of part b.
pub fn not(e: &mut Emit, x: Pair) -> Pair {
    Pair { own: x.own, add2: e.add(Op::Not(x.add2)) }
}

/// Size-1 axes repeated.
pub fn broadcast(e: &mut Emit, x: &Split, shape: &[u64]) -> Split {
    if e.ty(x.own).shape == shape {
        return *x;
    }
    linear(e, x, |v| Op::Broadcast(v, shape.to_vec()))
}

impl Emit {
    /// A fresh mask for an exchange of `x`.
    fn mask_like(&mut self, x: ValueId) -> ValueId {
        let ty = self.ty(x).clone();
        self.fresh_mask(ty.dom, ty.shape, ty.groups)
    }
}

#[cfg(test)]
mod tests;
