//! Comparisons: the sign of a difference, and equality to zero.
//!
//! **Sign of x on w bits** (docs/src/protocols.md "Sign", T1). x = a + b mod 2^w, a known to one party, b to
//! the other two. The top bit of the sum is a_top + b_top + carry; a_top is shared (`input`). For the carry
//! of the low n = w - 1 bits the owner deals the thermometer code of each block of a, the others pick by
//! their block of b whether it generates and propagates a carry, exchange these bits, and a tree of valency
//! two joins the blocks: 2 rounds, and one for each level. Blocks have 4 bits, or up to 8 where elements
//! are few. w = 64: 6 rounds.
//!
//! Against a malicious party ([`Emit::proven`]) the owner inputs the code of each block, and what the others
//! would pick is a sum of products of the code and what they know, in one `reshare_two`. Blocks are as large as takes least
//! time, up to 8 bits.
//!
//! **Simulation.** Every message is an `input`, a `deal`, a `reshare_two` or a `reshare`, each uniform to
//! its receiver; picking is local, in what both others know and words of the table that are uniform to
//! each.
//!
//! **Narrowing.** If |x| < 2^(w-1) is proven, shares are reduced modulo 2^w locally: exact and free.
//!
//! **Leakage.** None: nothing is opened.

use super::{fans, gates};
use crate::lower::Emit;
use crate::lower::common::words::{even, ring_for};
use slvr_circuit::tables::{MAX_BLOCK, thermometer_planes};
use slvr_circuit::{Hold, Op, ValueId};

/// The two parts of the split of x, in a ring that holds w bits.
pub(super) fn parts(e: &mut Emit, x: ValueId, w: u32, negate_b: bool) -> (ValueId, ValueId) {
    let ring = ring_for(w);
    let x = if ring < e.ty(x).bits() { e.add(Op::Narrow(x, ring)) } else { x };
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
fn blocks_of_at_most(n: u32, most: u32) -> u32 {
    let least = n.div_ceil(most);
    least.next_power_of_two().min(n.div_ceil(3)).max(least)
}

/// Blocks of n bits where owners prove their codes: as many as of 3 bits, or fewer where these take less time with the tree
/// of so many nodes after them. Smaller ones would have fewer columns to prove, but take more rounds and bits.
pub(super) fn proven_leaves(
    e: &Emit,
    n: u32,
    elements: u64,
    tree: &dyn Fn(u32) -> f64,
) -> Vec<u32> {
    let ways = (n.div_ceil(MAX_BLOCK)..=blocks_of_at_most(n, 3)).map(|count| even(n, count));
    let time = |blocks: &Vec<u32>| fans::code_time(blocks, elements, e) + tree(blocks.len() as u32);
    ways.min_by(|a, b| time(a).total_cmp(&time(b))).unwrap_or_else(|| vec![n])
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
    let elements = e.ty(a).elements();
    let blocks = match e.proven {
        true => proven_leaves(e, n, elements, &|nodes| gates::carry_time(e, nodes, elements)),
        false => leaves(n, elements),
    };
    let nodes = blocks.len() as u32;
    let (a, index) = (bits(e, a, 0, n), bits(e, b, 0, n));
    let picked = if e.proven {
        let code = coded(e, a, &blocks);
        multiplied(e, code, index, &blocks, true)
    } else {
        let code = e.add(Op::Thermometer { x: a, blocks: blocks.clone() });
        let table = e.add(Op::Deal(code));
        let picked = e.add(Op::Pick { table, index, blocks });
        e.add(Op::ReshareTwo(picked))
    };
    let generate = e.planes(picked, 0, 1, nodes);
    let propagate = if nodes > 1 { Some(e.planes(picked, nodes, 1, nodes - 1)) } else { None };
    let carry = gates::carry(e, generate, propagate, nodes);
    e.add(Op::Add(top, carry))
}

/// The code of an owner's bits, as it inputs it.
pub(super) fn coded(e: &mut Emit, a: ValueId, blocks: &[u32]) -> ValueId {
    let code = e.add(Op::Thermometer { x: a, blocks: blocks.to_vec() });
    e.add(Op::Input(code))
}

/// As [`Op::Pick`], or without `generate` [`Op::Propagate`], with replicated bits: what the owner has input is its code T, and the
/// other two multiply it by what they know, in one `reshare_two`. With n the other number and S its code,
/// a block generates a carry where T at 2^b - n is set, and propagates one where this and T at 2^b - 1 - n differ;
/// [n = j] is S_j + S_(j+1).
pub(super) fn multiplied(
    e: &mut Emit,
    table: ValueId,
    index: ValueId,
    blocks: &[u32],
    generate: bool,
) -> ValueId {
    let other = e.add(Op::Thermometer { x: index, blocks: blocks.to_vec() });
    let zero = e.zero_plane(other);
    let one = e.add(Op::Not(zero));
    let all = e.stack(vec![other, zero, one]);
    let (zero, one) = (thermometer_planes(blocks), thermometer_planes(blocks) + 1);
    // For each plane of the result its block's first plane and size, and whether it is a generate.
    let mut from = 0;
    let mut starts = Vec::new();
    for &b in blocks {
        starts.push((from, 1u32 << b));
        from += (1 << b) - 1;
    }
    let generates = starts.iter().filter(|_| generate).map(|&(at, size)| (at, size, true));
    let propagates = starts.iter().skip(usize::from(generate)).map(|&(at, size)| (at, size, false));
    let planes: Vec<(u32, u32, bool)> = generates.chain(propagates).collect();
    let s = |at: u32, size: u32, j: u32| match j {
        0 => one,
        j if j == size => zero,
        j => at + j - 1,
    };
    let known = |e: &mut Emit, of: &dyn Fn(u32, u32, bool) -> [u32; 2]| {
        let sides =
            [0, 1].map(|i| planes.iter().map(|&(at, size, g)| of(at, size, g)[i]).collect());
        let [left, right] = sides.map(|planes| e.select(all, planes));
        e.add(Op::Add(left, right))
    };
    let largest = blocks.iter().max().map_or(0, |b| 1u32 << b);
    let mut sum: Option<ValueId> = None;
    for v in 1..largest {
        // A smaller block has no such entry.
        let entries = planes.iter().map(|&(at, size, _)| if v < size { at + v - 1 } else { at });
        let entry = e.select(table, entries.collect());
        let factor = known(e, &|at, size, generate| {
            if v >= size {
                return [zero, zero];
            }
            let near = if generate { size - v } else { size - 1 - v };
            [s(at, size, near), s(at, size, size - v + 1)]
        });
        let entry = e.add(Op::AsAdd2(entry));
        let product = e.add(Op::Mul(entry, factor));
        sum = Some(match sum {
            Some(sum) => e.add(Op::Add(sum, product)),
            None => product,
        });
    }
    let rest = known(e, &|at, size, generate| {
        if generate { [zero, zero] } else { [s(at, size, size - 1), zero] }
    });
    let rest = e.add(Op::Trivial(rest));
    match sum {
        Some(sum) => {
            let sum = e.add(Op::ReshareTwo(sum));
            e.add(Op::Add(sum, rest))
        }
        None => rest,
    }
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
    let elements = e.ty(x).elements();
    let blocks = match e.proven {
        true => proven_leaves(e, w, elements, &|nodes| gates::product_time(e, nodes, elements)),
        false => leaves(w, elements),
    };
    let a = e.add(Op::ToBits { x: a, lo: 0, w });
    let b = e.add(Op::ToBits { x: b, lo: 0, w });
    let index = e.add(Op::Not(b));
    if e.proven {
        let code = coded(e, a, &blocks);
        let equal = multiplied(e, code, index, &blocks, false);
        return gates::all_planes(e, equal);
    }
    let code = e.add(Op::Thermometer { x: a, blocks: blocks.clone() });
    let table = e.add(Op::Deal(code));
    let equal = e.add(Op::Propagate { table, index, blocks, skip: 0 });
    let equal = e.add(Op::ReshareTwo(equal));
    gates::all_planes(e, equal)
}
