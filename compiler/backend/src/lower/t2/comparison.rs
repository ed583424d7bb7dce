//! The sign of a masked value, and whether it is zero.
//!
//! | macro, w bits | rounds of the two | bits of the dealer | bits of each other |
//! |---|---|---|---|
//! | [`negative`] | levels | tables and products of [`Plan`] | opened bits of [`Plan`] |
//! | [`zero`] | levels of [`gates::all_planes`] of w bits, less 1 | its products and w | its opened bits |
//!
//! Results are pairs. **Functionality.** Exact on any sharing.

use super::gates::{self, Bits, Joined, level, total, tree};
use crate::cost::Tuning;
use crate::lower::Emit;
use crate::lower::common::masked::{Pair, Split};
use crate::lower::common::words::even;
use slvr_circuit::Op;
use slvr_circuit::multi_and::MultiAnd;
use slvr_circuit::tables::{MAX_BLOCK, thermometer_planes};

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
pub(crate) const NEARLY: f64 = 1.15;

/// Most levels of a tree.
pub(crate) const MOST_LEVELS: u32 = 6;

impl Plan {
    /// The plan of fewest bits with at most so many levels, `None` if there is none.
    pub(crate) fn with_levels(n: u32, most: u32) -> Option<Plan> {
        let (blocks, levels, (dealt, opened)) = blocks(Joined::Carry, n, 1, most)?;
        Some(Plan { blocks, levels, dealt, opened })
    }

    /// The plan that takes least time for so many elements.
    pub fn new(n: u32, elements: u64, tuning: Tuning) -> Plan {
        let time = |p: &Plan| {
            tuning.time(p.levels.len() as f64, (p.dealt + 2 * p.opened) as f64, elements)
        };
        // There is always one of six levels: 10^6 leaves.
        shallow(|most| Plan::with_levels(n, most), time).unwrap_or_else(|| Plan {
            blocks: vec![n],
            levels: Vec::new(),
            dealt: 0,
            opened: 0,
        })
    }
}

/// The shallowest of plans, given by their most levels, that is nearly as fast as the fastest. A level is more than its
/// latency: every party waits for the slowest there.
pub(crate) fn shallow<P>(plan: impl Fn(u32) -> Option<P>, time: impl Fn(&P) -> f64) -> Option<P> {
    let plans: Vec<P> = (0..=MOST_LEVELS).filter_map(plan).collect();
    let best = plans.iter().map(&time).fold(f64::INFINITY, f64::min);
    plans.into_iter().find(|p| time(p) <= NEARLY * best)
}

/// The blocks of n bits, the levels from these to so many nodes, at most `most`, and the bits of both: of fewest bits.
pub(crate) fn blocks(joined: Joined, n: u32, to: u32, most: u32) -> Option<Blocks> {
    let ways = (n.div_ceil(MAX_BLOCK).max(to)..=n).filter_map(|leaves| {
        let blocks = even(n, leaves);
        let (levels, (dealt, opened)) = tree(joined, leaves, to, most)?;
        let dealt = dealt + u64::from(thermometer_planes(&blocks));
        Some((blocks, levels, (dealt, opened)))
    });
    ways.min_by_key(|way| total(way.2))
}

/// Bits of each leaf, nodes that become one, level by level, and the bits that all take.
type Blocks = (Vec<u32>, Vec<Vec<u32>>, Bits);

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

/// 1 where x = 0, for |x| < 2^(w-1): a and -b are equal bit by bit.
pub fn zero(e: &mut Emit, x: &Split, w: u32, tuning: Tuning) -> Pair {
    let own = e.add(Op::ToBits { x: x.own, lo: 0, w });
    let b = e.add(Op::Neg(x.dup));
    let b = e.add(Op::ToBits { x: b, lo: 0, w });
    let dup = e.add(Op::Not(b));
    gates::all_planes(e, &Split { own, dup, mask: None }, tuning)
}
