//! Where a value lies: below 0, from 0 up to a power of two, or above. What an activation that saturates
//! asks.
//!
//! Lives here: both answers from one comparison ([`locate`]), and how it is cut into levels ([`Plan`]). May
//! not: what is made of the bits (the nodes of the family).
//!
//! With x = a + b on w bits and the edge 2^e, let c be the carry of the low e bits and h = a_hi + b_hi + c
//! the signed high part: x < 0 where h < 0, x is inside where h = 0, large where h > 0. The low bits of
//! both questions are the same, so one tree makes c. Above, let (G, P) be whether a_hi and b_hi generate
//! and propagate a carry into the top bit, and E whether a_hi + b_hi = 0 modulo 2^(w-1-e). Then
//!
//! ```text
//! negative = top_a + top_b + G + P c,    inside = E (1 + c) + P c,    large = 1 + negative + inside
//! ```
//!
//! Where there is little above the edge, c need not be known before: with (G, P) as the top node the carry
//! of all nodes is G + P c, and with (E, E + P) in its place it is E + (E + P) c, the second line. So both
//! are the last level of one tree, twice.
//!
//! The top bit needs no test of its own: x - 2^e has w bits, too, so h is not the least number of its bits.
//! E is P for b_hi - 1, so the leaves of both are entries of the one thermometer table that the dealer
//! sends.
//!
//! **Functionality.** On any sharing of x with x and x - 2^e in w bits, both bits exactly; the sum
//! with `negative` is 1.
//!
//! **Simulation.** As of [`negative`]: the messages are the dealt table, dealt products of masks, and
//! opened factors, each with a mask of its own; that c is a factor of two products opens it once.

use super::carry::{Parts, gather, known};
use super::carry_trees::{Node, Role, Trees};
use super::comparison::{self, negative};
use super::gates::{Bits, part, products, total};
use super::selection;
use crate::cost::Tuning;
use crate::lower::Emit;
use crate::lower::common::masked::{self, Pair, Split, settle, shares};
use crate::lower::common::words::{raise, ring_for, sum_of};
use slvr_circuit::low_mask;
use slvr_circuit::multi_and::MultiAnd;
use slvr_circuit::{Op, ValueId};

/// Most nodes above the edge that the last level joins with the carry of the low bits, and the reverse.
const MOST_LAST: u32 = 4;

/// Two of the three answers as bits; the third is the complement of their sum.
#[derive(Clone, Copy, Debug)]
pub struct Located {
    /// 0 <= x < 2^e.
    pub inside: Split,
    /// 2^e <= x.
    pub large: Split,
}

/// How both answers are computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Below the edge, lowest first.
    pub low: Vec<Node>,
    /// Above.
    pub high: Vec<Node>,
}

/// The last level, of k nodes below the edge and m above it.
fn last(k: u32, m: u32) -> Bits {
    if k > 1 {
        // Both answers are carries over the same nodes below: only the top propagates differ.
        return (2 * u64::from(MultiAnd::Carry(vec![k + 1]).mask_products()), (2 * k + 1).into());
    }
    let (carry, zero) = (MultiAnd::Carry(vec![m + 1]), MultiAnd::And(vec![m + 1]));
    let dealt = carry.mask_products() + zero.mask_products();
    // The carry of the low bits is a factor of both.
    (dealt.into(), (carry.inputs() + m).into())
}

impl Plan {
    /// Bits of all three, of the plan of fewest with at most so many levels before the last, and how many nodes below
    /// and above the edge it has for this one; for the edge 2^e among n bits below the top one. `None` if there is none.
    fn fewest(n: u32, e: u32, most: u32) -> Option<(u64, (u32, u32))> {
        if e == 0 || e >= n {
            return None;
        }
        let trees = Trees::of(n);
        // One node below and some above, or some below and one above.
        let ends = (1..=MOST_LAST).flat_map(|n| [(1, n), (n, 1)]);
        let each = ends.filter_map(|(k, m)| {
            let below = trees.total(Role::Lowest, e, k, most)?;
            let above = trees.total(Role::Tested, n - e, m, most)?;
            Some((below + above + total(last(k, m)), (k, m)))
        });
        each.min_by_key(|way| way.0)
    }

    /// This plan.
    pub fn with_levels(n: u32, e: u32, most: u32) -> Option<Plan> {
        let (_, (k, m)) = Plan::fewest(n, e, most)?;
        let trees = Trees::of(n);
        let low = trees.nodes(Role::Lowest, e, k, most);
        let high = trees.nodes(Role::Tested, n - e, m, most);
        Some(Plan { low, high })
    }

    /// The plan that takes least time for so many elements; none where two comparisons take less.
    pub fn new(n: u32, e: u32, elements: u64, tuning: Tuning) -> Option<Plan> {
        let (least, most) = Trees::of(n).fastest(|most| {
            let (bits, _) = Plan::fewest(n, e, most)?;
            Some(tuning.time((most + 1).into(), bits as f64, elements))
        })?;
        // They share the tables.
        let sign = comparison::fastest(n, elements, tuning);
        let bits = 2 * total(sign.bits(Role::Lowest)) - sign.tables();
        let other = tuning.time(sign.levels().into(), bits as f64, elements);
        if least <= other { Plan::with_levels(n, e, most) } else { None }
    }
}

/// Where x lies, for x and x - 2^e in w bits.
pub fn locate(e: &mut Emit, x: &Split, (w, edge): (u32, u32), tuning: Tuning) -> Located {
    let elements = e.ty(x.own).elements();
    if let Some(plan) = Plan::new(w - 1, edge, elements, tuning) {
        return by_plan(e, x, edge, &plan);
    }
    let below = below(e, x, edge);
    let less = negative(e, x, w, tuning);
    let small = negative(e, &Split { dup: below, ..*x }, w, tuning);
    let (less, small) = (settle(e, less), settle(e, small));
    // Negative is small, too.
    let inside = masked::sum(e, &small, &less, false);
    let large = Split { dup: e.add(Op::Not(small.dup)), mask: None, ..small };
    Located { inside, large }
}

/// Where a value is of -2^top and 2^top.
pub struct Ends {
    inside: Split,
    low: Split,
    high: Split,
}

impl Ends {
    /// Of a value whose sum and difference with 2^top have w bits.
    pub fn of(e: &mut Emit, x: &Split, (w, top): (u32, u32), tuning: Tuning) -> Ends {
        let ring = e.ty(x.own).bits();
        // From -2^top to 2^top is from 0 to twice that.
        let most = 1u128.checked_shl(top).unwrap_or(0) & low_mask(ring);
        let up = Split { dup: e.add(Op::Offset(x.dup, most)), ..*x };
        let Located { inside, large: high } = locate(e, &up, (w, top + 1), tuning);
        let low = masked::sum(e, &inside, &high, false);
        let low = Split { dup: e.add(Op::Not(low.dup)), mask: None, ..low };
        Ends { inside, low, high }
    }

    /// What is left of a value, in its ring.
    pub fn cut(&self, e: &mut Emit, x: &Split, top: u32) -> Pair {
        let k = e.ty(x.own).bits();
        let inner = selection::inject(e, &self.inside, x);
        // What is cut off becomes 2^top: only the bits of its word that this leaves are read.
        let small = ring_for(k.saturating_sub(top)).min(k);
        let low = selection::to_word(e, &self.low, small);
        let high = selection::to_word(e, &self.high, small);
        let own = sum_of(e, high.own, low.own, true);
        let outer = Pair { own, add2: e.add(Op::Sub(high.add2, low.add2)) };
        let outer = masked::each_of_pair(outer, |v| raise(e, v, k, top));
        masked::sum_of_pairs(e, inner, outer)
    }
}

/// Part b of x - 2^e.
fn below(e: &mut Emit, x: &Split, edge: u32) -> ValueId {
    let k = e.ty(x.dup).bits();
    let less = 1u128.checked_shl(edge).unwrap_or(0).wrapping_neg() & low_mask(k);
    e.add(Op::Offset(x.dup, less))
}

/// Both answers from one comparison.
pub fn by_plan(e: &mut Emit, x: &Split, edge: u32, plan: &Plan) -> Located {
    let n = plan.low.iter().chain(&plan.high).map(Node::width).sum::<u32>();
    let below = below(e, x, edge);
    let bits = |e: &mut Emit, x, lo, w| e.add(Op::ToBits { x, lo, w });
    let (top_a, top_b) = (bits(e, x.own, n, 1), bits(e, x.dup, n, 1));
    let (a, b) = (bits(e, x.own, 0, n), bits(e, x.dup, 0, n));
    let less = bits(e, below, edge, n - edge);
    let parts = Parts { own: a, dup: b, less: Some((less, edge)) };
    let (k, m) = (plan.low.len() as u32, plan.high.len() as u32);
    let all = known(e, &parts, &plan.low.iter().chain(&plan.high).collect::<Vec<_>>());
    let generate = all.iter().map(|node| node.generate);
    let nodes = gather(e, generate.chain(all.iter().filter_map(|node| node.propagate)));
    let zero = gather(e, all.iter().filter_map(|node| node.zero));
    let (inside, same) = if k > 1 {
        let (carry, inside) = join_below(e, nodes, zero, k);
        (inside, e.add(Op::Add(carry, inside)))
    } else {
        let (carry, generate, zero) = join(e, nodes, zero, m);
        let same = e.add(Op::Add(generate, zero));
        (e.add(Op::Add(same, carry)), same)
    };
    let inside = Pair { own: None, add2: inside };
    let large = e.add(Op::Add(same, top_b));
    let large = Pair { own: Some(top_a), add2: e.add(Op::Not(large)) };
    Located { inside: settle(e, inside), large: settle(e, large) }
}

/// The last level for k nodes below the edge and one above: the carry of all, and the same with (E, E + P)
/// for the node (G, P) above, which is E (1 + c) + P c.
fn join_below(e: &mut Emit, nodes: ValueId, zero: ValueId, k: u32) -> (ValueId, ValueId) {
    let gates = MultiAnd::Carry(vec![k + 1]);
    // k of the g, k of the p, of which the last is P.
    let factors = e.select(nodes, gates.factors());
    let top = e.select(nodes, vec![2 * k]);
    let other = e.add(Op::Add(top, zero));
    let all = e.stack(vec![factors, other]);
    let x = settle(e, Pair { own: None, add2: all });
    let first: Vec<u32> = (0..2 * k).collect();
    let second: Vec<u32> = (0..2 * k - 1).chain([2 * k]).collect();
    let (below, between) = ((0..k).collect(), (k + 1..2 * k).collect());
    let (below, between) = (e.select(nodes, below), e.select(nodes, between));
    let others = e.stack(vec![below, zero, between, other]);
    let of_first = part(e, &x, &first);
    let of_second = part(e, &x, &second);
    let carry = products(e, &of_first, Some(nodes), gates.clone());
    (carry, products(e, &of_second, Some(others), gates))
}

/// The last level: of nodes c and (g, p) for m nodes above, and m tests for zero, the carry of all, G of
/// those above, and the product of all tests and 1 + c.
fn join(e: &mut Emit, nodes: ValueId, zero: ValueId, m: u32) -> (ValueId, ValueId, ValueId) {
    let gates = MultiAnd::Carry(vec![m + 1]);
    // c, m - 1 of the g, m of the p, m tests.
    let factors = e.select(nodes, gates.factors());
    let all = e.stack(vec![factors, zero]);
    let x = settle(e, Pair { own: None, add2: all });
    let ours = part(e, &x, &(0..2 * m).collect::<Vec<_>>());
    let mask = shares(e, &ours);
    let own = e.add(Op::MaskProducts { x: ours.own, gates: gates.clone() });
    let dealt = e.add(Op::Deal(own));
    let (open, products) = (ours.dup, dealt);
    let carry = e.add(Op::AndMany { open, mask, products, nodes: Some(nodes), gates });

    let generate = if m == 1 {
        e.select(nodes, vec![1])
    } else {
        // Without c and the lowest p: of what is dealt already, products of neither.
        let gates = MultiAnd::Carry(vec![m]);
        let factors: Vec<u32> = (1..m).chain(m + 1..2 * m).collect();
        let (open, mask) = (e.select(open, factors.clone()), e.select(mask, factors));
        let products = e.select(dealt, without_lowest(m));
        let above: Vec<u32> = (1..=m).chain(m + 2..=2 * m).collect();
        let nodes = Some(e.select(nodes, above));
        e.add(Op::AndMany { open, mask, products, nodes, gates })
    };

    let tests: Vec<u32> = (2 * m..3 * m).collect();
    let chosen = part(e, &x, &[&[0], &tests[..]].concat());
    let c = e.select(x.dup, vec![0]);
    let (c, tests) = (e.add(Op::Not(c)), e.select(x.dup, tests));
    let zeros = Split { dup: e.stack(vec![c, tests]), ..chosen };
    (carry, generate, products_of(e, &zeros, m + 1))
}

fn products_of(e: &mut Emit, x: &Split, n: u32) -> ValueId {
    products(e, x, None, MultiAnd::And(vec![n]))
}

/// Of the products of masks of a carry of 1 + m nodes those of the upper m nodes.
fn without_lowest(m: u32) -> Vec<u32> {
    let sets = (1u32..1 << m).filter(|s| s.count_ones() >= 2).zip(0..);
    let without = sets.clone().filter(|(s, _)| s & 1 == 0).map(|(_, at)| at);
    let with_g = (sets.count() as u32 + (1 << m) - 1)..MultiAnd::Carry(vec![m + 1]).mask_products();
    without.chain(with_g).collect()
}

#[cfg(test)]
mod tests;
