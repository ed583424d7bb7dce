//! Bits that become words, and bits that gate words, of masked values.
//!
//! | macro | rounds of the two | bits of the dealer | bits of each other |
//! |---|---|---|---|
//! | [`to_word`] | 0 | k | 0 |
//! | [`inject`] | 0 | 2 k | 0 |
//!
//! Results are pairs; both are exact.

use crate::lower::Emit;
use crate::lower::common::masked::{Pair, Split, shares};
use crate::lower::common::words::one_minus_twice;
use slvr_circuit::Op;
use slvr_circuit::low_mask;

/// A bit as a word of Z_2^k: u + v - 2 u v, u known to the dealer, v to the others.
pub fn to_word(e: &mut Emit, c: &Split, k: u32) -> Pair {
    let u = e.add(Op::FromBits(c.own, k));
    let v = e.add(Op::FromBits(c.dup, k));
    let shares = e.add(Op::Deal(u));
    let minus = e.add(Op::Scale(v, 2u128.wrapping_neg() & low_mask(k)));
    let twice = e.add(Op::Mul(shares, minus));
    Pair { own: Some(u), add2: e.add(Op::Add(twice, v)) }
}

/// c x for a bit c = u xor v and a word x = a + b. If part a is shared: v (a + b) + (1 - 2 v)(u a + u b).
/// If not, u a stays with the dealer, who deals (1 - 2 u) a: v (1 - 2 u) a + (v + u - 2 u v) b is the rest.
pub fn inject(e: &mut Emit, c: &Split, x: &Split) -> Pair {
    let k = e.ty(x.own).bits();
    let u = e.add(Op::FromBits(c.own, k));
    let v = e.add(Op::FromBits(c.dup, k));
    let ua = e.add(Op::Mul(u, x.own));
    let sign = one_minus_twice(e, v, k);
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
