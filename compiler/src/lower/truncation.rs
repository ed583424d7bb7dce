//! Truncation: x / 2^f, within one unit in the last place, always.
//!
//! **Functionality.** x in Z_2^64 with |x| < 2^62; the result is x / 2^f rounded to one of the two
//! nearest integers. No failure probability.
//!
//! **Protocol** (derived for this project, docs/src/protocols.md "Exact truncation"). x = a + b with
//! a known to one party and b to the other two. Let b' = b + 2^62, so that a + b' mod 2^64 is s =
//! x + 2^62 in [0, 2^63). Then the sum of the integers a and b' exceeds 2^64 exactly when not both
//! top bits are 0: wrap = 1 - (not msb a)(not msb b'). So
//!
//! ```text
//! (a >> f) + (b' >> f) - 2^(64-f) wrap - 2^(62-f)  =  floor(x / 2^f) - c,   c = no carry out of the
//!                                                     low f bits ? 0 : 1
//! ```
//!
//! and adding 1 makes the error (in units) lie in (-1, 1], with mean about zero. The product of the
//! two top bits is needed only modulo 2^f, because it is multiplied by 2^(64-f).
//!
//! **Cost.** 2 rounds; 64 bits (input of a >> f) + k' (deal) by the party that knows a, k' by each of
//! the other two (exchange), k' the ring of at least f bits: 96 bits in all for f = 16.
//!
//! **Simulation.** Every message is one of `input`, `deal`, `xchg`, each uniform to its receiver;
//! nothing is opened.

use super::Emit;
use slvr_runtime::circuit::{Op, ValueId};

/// Smallest ring width that holds `bits` bits.
pub fn ring_for(bits: u32) -> u32 {
    [8, 16, 32, 64, 128].into_iter().find(|&k| k >= bits).unwrap_or(128)
}

/// A replicated value truncated by `f` bits, 0 < f < 62.
pub fn exact(e: &mut Emit, x: ValueId, f: u32) -> ValueId {
    let k = e.ty(x).bits();
    let small = ring_for(f);
    let a = e.add(Op::Own(x));
    let b = e.add(Op::Dup(x));
    let b = e.add(Op::Offset(b, 1 << (k - 2)));

    let high = e.add(Op::Shr(a, f));
    let high_a = e.add(Op::Input(high));
    let high = e.add(Op::Shr(b, f));
    let high_b = e.add(Op::Trivial(high));

    let u = not_top(e, a, k, small);
    let v = not_top(e, b, k, small);
    let u = e.add(Op::Deal(u));
    let both = e.add(Op::Mul(u, v));
    let both = e.add(Op::Xchg(both));
    // 2^(k-f) (both - 1): raising to k bits multiplies by 2^(k-small).
    let both = e.add(Op::Raise(both, k));
    let both = if small > f { e.add(Op::Scale(both, 1 << (small - f))) } else { both };

    let sum = e.add(Op::Add(high_a, high_b));
    let sum = e.add(Op::Add(sum, both));
    let mask = if k == 128 { u128::MAX } else { (1u128 << k) - 1 };
    let constant = 1u128.wrapping_sub(1 << (k - f)).wrapping_sub(1 << (k - 2 - f)) & mask;
    e.add(Op::Offset(sum, constant))
}

/// Complement of the top bit as a word.
fn not_top(e: &mut Emit, x: ValueId, k: u32, ring: u32) -> ValueId {
    let top = e.add(Op::ToBits { x, lo: k - 1, w: 1 });
    let top = e.add(Op::Not(top));
    e.add(Op::FromBits(top, ring))
}

/// A public value truncated by `f` bits, to the nearest. Local.
pub fn public(e: &mut Emit, x: ValueId, f: u32) -> ValueId {
    let k = e.ty(x).bits();
    let lifted = e.add(Op::Offset(x, (1 << (k - 2)) + (1 << (f - 1))));
    let high = e.add(Op::Shr(lifted, f));
    let mask = if k == 128 { u128::MAX } else { (1u128 << k) - 1 };
    e.add(Op::Offset(high, 0u128.wrapping_sub(1 << (k - 2 - f)) & mask))
}
