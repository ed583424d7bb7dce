//! Truncation of masked values, and lifts to a larger ring.
//!
//! **Functionality.** As of [`crate::lower::t1::truncation`]: x / 2^f is one of the two integers next to
//! it, without bias and without a failure probability.
//!
//! **Cost.** No round and no bits where the result has at most k - f bits; else one round, and the ring of
//! the bits above by the dealer and by each of the other two. A lift costs the latter.

use crate::lower::Emit;
use crate::lower::common::masked::{Pair, Split, settle};
use crate::lower::common::words::{no_wrap, raise, ring_for};
use slvr_circuit::low_mask;
use slvr_circuit::{Op, ValueId};

#[derive(Clone, Copy, Debug)]
pub struct Truncated {
    /// In Z_2^k'.
    pub whole: Split,
    /// The same modulo 2^(k-f) only, in no round, where `whole` takes one.
    pub low: Option<Split>,
}

/// x / 2^f in Z_2^k', as [`crate::lower::t1::truncation::exact`]: one of the two integers next to it. |x| <
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

/// x / 2^s as a word of a larger ring, as [`crate::lower::t1::truncation::lift`]; `to` > k.
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
    let add2 = no_wrap(e, a, b, ring_for(bits));
    settle(e, Pair { own: None, add2 })
}
