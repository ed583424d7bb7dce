//! Comparisons: the sign of a difference, and equality to zero.
//!
//! **Sign of x on w bits** (docs/src/protocols.md "Sign", T1). x = a + b mod 2^w, a known to one party, b to
//! the other two. The top bit of the sum is a_top + b_top + carry; a_top is shared (`input`). For the carry
//! of the low n = w - 1 bits the owner deals the thermometer code of each block of a, the others pick by
//! their block of b whether it generates and propagates a carry, exchange these bits, and a tree of valency
//! two joins the blocks: 2 rounds, and one for each level. Blocks have 4 bits, or up to 8 where elements
//! are few. w = 64: 6 rounds.
//!
//! Against a malicious party the blocks are compared by [`malicious::comparison`].
//!
//! **Simulation.** Every message is an `input`, a `deal`, a `reshare_two` or a `reshare`, each uniform to
//! its receiver; picking is local, in what both others know and words of the table that are uniform to
//! each.
//!
//! **Narrowing.** If |x| < 2^(w-1) is proven, shares are reduced modulo 2^w locally: exact and free.
//!
//! **Leakage.** None: nothing is opened.

use super::{gates, truncation};
use crate::lower::common::words::{even, ring_for};
use crate::lower::{Emit, Target, malicious};
use slvr_circuit::tables::{MAX_BLOCK, thermometer_planes};
use slvr_circuit::{Hold, Op, ValueId};

/// The two parts of the split of x, in a ring that holds w bits.
pub(super) fn parts(e: &mut Emit, x: ValueId, w: u32, negate_b: bool) -> (ValueId, ValueId) {
    let x = truncation::at_most(e, x, ring_for(w));
    let (a, b) = (e.add(Op::Own(x)), e.add(Op::Dup(x)));
    (a, if negate_b { e.add(Op::Neg(b)) } else { b })
}

/// Bits of tables that a saved round is worth.
pub(crate) const ROUND_IN_TABLE_BITS: u64 = 1 << 22;

/// Blocks of a carry of n bits: of at most 4 bits, or 8 where the tables of all elements are few bits, that
/// take the fewest levels; of these the smallest, down to 3 bits, below which blocks are not cheaper.
fn leaves(n: u32, elements: u64) -> Vec<u32> {
    let with = |most| even(n, blocks_of_at_most(n, most));
    let large = with(MAX_BLOCK);
    let is_small =
        u64::from(thermometer_planes(&large)).saturating_mul(elements) <= ROUND_IN_TABLE_BITS;
    if is_small { large } else { with(4) }
}

/// How many blocks of at most so many bits.
pub fn blocks_of_at_most(n: u32, most: u32) -> u32 {
    let least = n.div_ceil(most);
    least.next_power_of_two().min(n.div_ceil(3)).max(least)
}

/// Rounds of [`negative`], and bits of all parties for each of so many elements.
pub fn price(w: u32, elements: u64) -> (f64, f64) {
    let n = w - 1;
    if n == 0 {
        return (1.0, 2.0);
    }
    let blocks = leaves(n, elements);
    let nodes = blocks.len() as f64;
    let levels = nodes.log2().ceil();
    let bits = f64::from(thermometer_planes(&blocks))
        + 2.0
        + 2.0 * (2.0 * nodes - 1.0)
        + 3.0 * (2.0 * nodes - 2.0 - levels);
    (2.0 + levels, bits)
}

/// 1 where x < 0, for |x| < 2^(w-1).
pub fn negative(e: &mut Emit, x: ValueId, w: u32) -> ValueId {
    if e.ty(x).hold == Hold::Public {
        let lo = e.ty(x).bits() - 1;
        return e.add(Op::ToBits { x, lo, w: 1 });
    }
    let parts = parts(e, x, w, false);
    negative_of(e, parts, w)
}

/// The same of a + b, a known to one party and b to the other two, in words of at least w bits.
pub fn negative_of(e: &mut Emit, (a, b): (ValueId, ValueId), w: u32) -> ValueId {
    let n = w - 1;
    let bits = |e: &mut Emit, x, lo, w| e.add(Op::ToBits { x, lo, w });
    let top = bits(e, a, n, 1);
    let top = e.add(Op::Input(top));
    let other = bits(e, b, n, 1);
    let other = e.add(Op::Trivial(other));
    let top = e.add(Op::Add(top, other));
    if n == 0 {
        return top;
    }
    let (a, index) = (bits(e, a, 0, n), bits(e, b, 0, n));
    let (picked, nodes) = compared(e, a, index, true);
    let generate = e.planes(picked, 0, 1, nodes);
    let propagate = if nodes > 1 { Some(e.planes(picked, nodes, 1, nodes - 1)) } else { None };
    let carry = gates::carry(e, generate, propagate, nodes);
    e.add(Op::Add(top, carry))
}

/// Of the bits of two numbers whether each block propagates a carry, or, with `carries`, whether each generates one and
/// whether all but the lowest propagate one; and how many blocks there are.
fn compared(e: &mut Emit, a: ValueId, index: ValueId, carries: bool) -> (ValueId, u32) {
    if let Target::Malicious(_) = e.target {
        return malicious::comparison::compared(e, a, index, carries);
    }
    let blocks = leaves(e.ty(a).bits(), e.ty(a).elements());
    let nodes = blocks.len() as u32;
    let code = e.add(Op::Thermometer { x: a, blocks: blocks.clone() });
    let table = e.add(Op::Deal(code));
    let picked = e.add(match carries {
        true => Op::Pick { table, index, blocks },
        false => Op::Propagate { table, index, blocks, skip: 0 },
    });
    (e.add(Op::ReshareTwo(picked)), nodes)
}

/// 1 where x = 0, for |x| < 2^(w-1): a = -b, that is, a and the complement of -b add up to ones in every
/// block. Then a tree of ands.
pub fn zero(e: &mut Emit, x: ValueId, w: u32) -> ValueId {
    if e.ty(x).hold == Hold::Public {
        let w = e.ty(x).bits();
        let bits = e.add(Op::ToBits { x, lo: 0, w });
        let clear = e.add(Op::Not(bits));
        return gates::all_planes(e, clear);
    }
    let (a, b) = parts(e, x, w, true);
    let a = e.add(Op::ToBits { x: a, lo: 0, w });
    let b = e.add(Op::ToBits { x: b, lo: 0, w });
    let index = e.add(Op::Not(b));
    let (equal, _) = compared(e, a, index, false);
    gates::all_planes(e, equal)
}
