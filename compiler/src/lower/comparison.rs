//! Comparisons: the sign of a difference, and equality to zero.
//!
//! **Sign of x on w bits** (docs/src/protocols.md "Sign", T1 simple). x = a + b mod 2^w, a known to
//! one party, b to the other two, so the bits of a are shared in one round (`input`) and those of b
//! in none. The top bit of the sum is a_top + b_top + carry, and the carry of the low n = w - 1 bits
//! comes from a tree of (generate, propagate) pairs of valency two: one round for the n generates,
//! ceil(log2 n) for the tree; 3 n - 2 - ceil(log2 n) and gates, because the lowest node of every
//! level needs no propagate. w = 64: 8 rounds, 181 gates.
//!
//! **Narrowing.** If |x| < 2^(w-1) is proven, shares are reduced modulo 2^w locally: exact and free.
//!
//! **Leakage.** None: nothing is opened.

use super::Emit;
use super::truncation::ring_for;
use slvr_runtime::circuit::{Hold, Op, ValueId};

/// The two parts of the split of x as bits: replicated bits of a and of b, `w` planes each.
pub(super) fn split(e: &mut Emit, x: ValueId, w: u32, negate_b: bool) -> (ValueId, ValueId) {
    let ring = ring_for(w);
    let x = if ring < e.ty(x).bits() { e.add(Op::Narrow(x, ring)) } else { x };
    let a = e.add(Op::Own(x));
    let a = e.add(Op::ToBits { x: a, lo: 0, w });
    let a = e.add(Op::Input(a));
    let b = e.add(Op::Dup(x));
    let b = if negate_b { e.add(Op::Neg(b)) } else { b };
    let b = e.add(Op::ToBits { x: b, lo: 0, w });
    let b = e.add(Op::Trivial(b));
    (a, b)
}

/// 1 where x < 0, for |x| < 2^(w-1).
pub fn negative(e: &mut Emit, x: ValueId, w: u32) -> ValueId {
    if e.ty(x).hold == Hold::Public {
        let lo = e.ty(x).bits() - 1;
        return e.add(Op::ToBits { x, lo, w: 1 });
    }
    let (a, b) = split(e, x, w, false);
    let sum = e.add(Op::Add(a, b));
    let top = e.planes(sum, w - 1, 1, 1);
    let n = w - 1;
    if n == 0 {
        return top;
    }
    let carry = carry(e, a, b, sum, n);
    e.add(Op::Add(top, carry))
}

/// Carry out of the low n bits of a + b, given sum = a xor b.
fn carry(e: &mut Emit, a: ValueId, b: ValueId, sum: ValueId, n: u32) -> ValueId {
    let (a, b) = (e.planes(a, 0, 1, n), e.planes(b, 0, 1, n));
    let mut g = e.multiply(a, b);
    // Propagates of nodes 1 .. n: node 0 never needs one.
    let mut p = if n > 1 { Some(e.planes(sum, 1, 1, n - 1)) } else { None };
    let mut nodes = n;
    while let Some(prop) = p {
        let pairs = nodes / 2;
        let g_low = e.planes(g, 0, 2, pairs);
        let g_high = e.planes(g, 1, 2, pairs);
        let p_high = e.planes(prop, 0, 2, pairs);
        // Pair j joins nodes 2j and 2j + 1; plane i of `prop` belongs to node i + 1.
        let (left, right) = if pairs > 1 {
            let p_high_rest = e.planes(prop, 2, 2, pairs - 1);
            let p_low_rest = e.planes(prop, 1, 2, pairs - 1);
            (e.stack(vec![p_high, p_high_rest]), e.stack(vec![g_low, p_low_rest]))
        } else {
            (p_high, g_low)
        };
        let products = e.multiply(left, right);
        let lifted = e.planes(products, 0, 1, pairs);
        let mut next_g = vec![e.add(Op::Add(g_high, lifted))];
        let mut next_p = Vec::new();
        if pairs > 1 {
            next_p.push(e.planes(products, pairs, 1, pairs - 1));
        }
        if nodes % 2 == 1 {
            // The odd node at the top goes on as it is.
            next_g.push(e.planes(g, nodes - 1, 1, 1));
            next_p.push(e.planes(prop, nodes - 2, 1, 1));
        }
        g = e.stack(next_g);
        nodes = nodes.div_ceil(2);
        p = if next_p.is_empty() { None } else { Some(e.stack(next_p)) };
    }
    g
}

/// 1 where x = 0, for |x| < 2^(w-1): a = -b bit by bit, and a tree of ands. 1 + ceil(log2 w) rounds.
pub fn zero(e: &mut Emit, x: ValueId, w: u32) -> ValueId {
    let differ = if e.ty(x).hold == Hold::Public {
        let w = e.ty(x).bits();
        e.add(Op::ToBits { x, lo: 0, w })
    } else {
        let (a, b) = split(e, x, w, true);
        e.add(Op::Add(a, b))
    };
    let equal = e.add(Op::Not(differ));
    all_planes(e, equal)
}

/// And of all planes of a value.
fn all_planes(e: &mut Emit, mut x: ValueId) -> ValueId {
    loop {
        let w = e.ty(x).bits();
        if w == 1 {
            return x;
        }
        let half = w / 2;
        let (low, high) = (e.planes(x, 0, 1, half), e.planes(x, half, 1, half));
        let both = e.multiply(low, high);
        x = if w % 2 == 1 {
            let last = e.planes(x, w - 1, 1, 1);
            e.stack(vec![both, last])
        } else {
            both
        };
    }
}
