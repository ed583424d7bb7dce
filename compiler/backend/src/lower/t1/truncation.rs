//! Truncation: x / 2^f, within one unit in the last place, always.
//!
//! **Functionality.** x in Z_2^64 with |x| < 2^62 - 2^f; the result is one of the two integers next to
//! x / 2^f, and x / 2^f itself if that is an integer. The mean is exactly x / 2^f. No failure
//! probability.
//!
//! **Protocol** (derived for this project, docs/src/protocols.md "Exact truncation"). x = a + b with
//! a known to one party and b to the other two. Let b' = b + 2^62 + 2^f - 1, so that a + b' mod 2^64
//! is s = x + 2^62 + 2^f - 1 in [0, 2^63). Then the sum of the integers a and b' exceeds 2^64 exactly
//! when not both top bits are 0: wrap = 1 - (not msb a)(not msb b'). So
//!
//! ```text
//! (a >> f) + (b' >> f) - 2^(64-f) wrap - 2^(62-f)  =  ceil(x / 2^f) - c,   c = carry out of the low
//!                                                     f bits of a + b'
//! ```
//!
//! If 2^f divides x, the low bits of s are all ones, which no sum with a carry can have: c = 0. If
//! not, c = 1 with probability ceil(x / 2^f) - x / 2^f over the uniform a: rounding is unbiased.
//! The product of the two top bits is needed only modulo 2^f, because it is multiplied by 2^(64-f).
//!
//! **Cost.** 2 rounds; 64 bits (input of a >> f) + k' (deal) by the party that knows a, k' by each of
//! the other two (exchange), k' the ring of at least f bits: 112 bits in all for f = 16.
//!
//! **Simulation.** Every message is one of `input`, `deal`, `reshare_two`, each uniform to its receiver;
//! nothing is opened.

use crate::lower::Emit;
use crate::lower::common::words::{no_wrap, raise, ring_for};
use slvr_circuit::low_mask;
use slvr_circuit::{Hold, Op, ValueId};

/// A replicated value truncated by `f` bits, 0 < f < 62.
pub fn exact(e: &mut Emit, x: ValueId, f: u32) -> ValueId {
    let k = e.ty(x).bits();
    let small = ring_for(f);
    let a = e.add(Op::Own(x));
    let b = e.add(Op::Dup(x));
    let b = e.add(Op::Offset(b, (1 << (k - 2)) + (1 << f) - 1));

    let high = e.add(Op::Shr(a, f));
    let high_a = e.add(Op::Input(high));
    let high = e.add(Op::Shr(b, f));
    let high_b = e.add(Op::Trivial(high));

    let both = no_wrap(e, a, b, small);
    let both = e.add(Op::ReshareTwo(both));
    // 2^(k-f) (both - 1): raising to k bits multiplies by 2^(k-small).
    let both = e.add(Op::Raise(both, k));
    let both = if small > f { e.add(Op::Scale(both, 1 << (small - f))) } else { both };

    let sum = e.add(Op::Add(high_a, high_b));
    let sum = e.add(Op::Add(sum, both));
    let constant = 0u128.wrapping_sub(1 << (k - f)).wrapping_sub(1 << (k - 2 - f)) & low_mask(k);
    e.add(Op::Offset(sum, constant))
}

/// What one party and what the other two know of the result of [`exact`], right modulo 2^(k-f): what is above
/// needs the wrap, and two rounds. Local.
pub fn low(e: &mut Emit, x: ValueId, f: u32) -> (ValueId, ValueId) {
    let k = e.ty(x).bits();
    let (a, b) = (e.add(Op::Own(x)), e.add(Op::Dup(x)));
    let b = e.add(Op::Offset(b, (1 << (k - 2)) + (1 << f) - 1));
    let (a, b) = (e.add(Op::Shr(a, f)), e.add(Op::Shr(b, f)));
    let minus = 0u128.wrapping_sub(1 << (k - 2 - f)) & low_mask(k);
    (a, e.add(Op::Offset(b, minus)))
}

/// A public value truncated by `f` bits, to the nearest. Local.
pub fn public(e: &mut Emit, x: ValueId, f: u32) -> ValueId {
    let k = e.ty(x).bits();
    let lifted = e.add(Op::Offset(x, (1 << (k - 2)) + (1 << (f - 1))));
    let high = e.add(Op::Shr(lifted, f));
    e.add(Op::Offset(high, 0u128.wrapping_sub(1 << (k - 2 - f)) & low_mask(k)))
}

/// A value truncated by `f` bits, if there are any.
pub fn truncate(e: &mut Emit, x: ValueId, f: u32) -> ValueId {
    match (f, e.ty(x).hold) {
        (0, _) => x,
        (_, Hold::Public) => public(e, x, f),
        _ => exact(e, x, f),
    }
}

/// A word of Z_2^k' divided by 2^s, as a word of Z_2^k: `Rep A<k'>[..]` -> `Rep A<k>[..]`, s < k' - 2.
///
/// **Functionality.** For -2^(k'-2) <= x <= 2^(k'-2) - 2^s the result is one of the two integers next to x
/// / 2^s, x / 2^s itself if that is an integer, and the mean is exactly x / 2^s. With s = 0 it is x.
/// For k > k', **and any word x**, it is between -3 2^(k'-2-s) and 3 2^(k'-2-s) - 2: this is what makes
/// a small upload ring an enforcement of a range. (Which value a word outside the first range
/// becomes depends on the shares that were dealt; it is fixed by them.) The same holds for k = k' if s > 0.
///
/// **Protocol** (derived for this project, docs/src/protocols.md "lift"; as [`exact`]).
/// x = a + b mod 2^k', a known to one party and b to the others, 0 <= a, b < 2^k'. Let b' = b + 2^(k'-2)
/// + 2^s - 1 mod 2^k', and wrap = 1 - (not msb a)(not msb b'). The result is, in Z_2^k,
///
/// ```text
/// (a >> s) + (b' >> s) - 2^(k'-s) wrap - 2^(k'-2-s)
/// ```
///
/// In the first range a + b' mod 2^k' has its top bit clear, so wrap is the carry out of a + b', and
/// the rest is as for truncation. For any word: if both top bits are 0, the two shifts add up to 0 ..=
/// 2^(k'-s) - 2 and wrap = 0; otherwise to 2^(k'-1-s) ..= 2^(k'+1-s) - 2 and wrap = 1. In both cases the
/// result is within the stated bounds. The product in wrap is multiplied by 2^(k'-s), so it is needed
/// modulo 2^(k-k'+s) only.
///
/// **Cost.** 2 rounds; k bits (input of a >> s) + r (deal) by the party that knows a, r by each of the
/// others (exchange), r the ring of k - k' + s bits: 64 to 128 bits takes (192, 64, 64).
///
/// **Simulation.** Every message is an `input`, a `deal` or a `reshare_two`, uniform to its receiver.
pub fn lift(e: &mut Emit, x: ValueId, s: u32, k: u32) -> ValueId {
    let own = e.ty(x).bits();
    if e.ty(x).hold == Hold::Public || k <= own {
        let y = truncate(e, x, s);
        return convert(e, y, k);
    }
    let a = e.add(Op::Own(x));
    let b = e.add(Op::Dup(x));
    let b = e.add(Op::Offset(b, (1 << (own - 2)) + (1 << s) - 1));
    let high = |e: &mut Emit, part| {
        let high = if s > 0 { e.add(Op::Shr(part, s)) } else { part };
        e.add(Op::Extend(high, k))
    };
    let high_a = high(e, a);
    let high_a = e.add(Op::Input(high_a));
    let high_b = high(e, b);
    let high_b = e.add(Op::Trivial(high_b));

    let both = no_wrap(e, a, b, ring_for(k - own + s));
    let both = e.add(Op::ReshareTwo(both));
    let both = raise(e, both, k, own - s);

    let sum = e.add(Op::Add(high_a, high_b));
    let sum = e.add(Op::Add(sum, both));
    let constant = 0u128.wrapping_sub(1 << (own - s)).wrapping_sub(1 << (own - 2 - s));
    e.add(Op::Offset(sum, constant & low_mask(k)))
}

/// A word in a ring of at most k bits. Local.
pub fn at_most(e: &mut Emit, x: ValueId, k: u32) -> ValueId {
    if k < e.ty(x).bits() { e.add(Op::Narrow(x, k)) } else { x }
}

/// A word in a ring of k bits, from whatever ring.
pub fn convert(e: &mut Emit, x: ValueId, k: u32) -> ValueId {
    match e.ty(x).bits() {
        own if own == k => x,
        own if own > k => e.add(Op::Narrow(x, k)),
        _ if e.ty(x).hold == Hold::Public => e.sign_extend(x, k),
        _ => lift(e, x, 0, k),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::tests::trial::{Answer, run};
    use slvr_circuit::Dom;

    /// Numbers truncated among three parties, and in the clear with several splits.
    fn truncated(xs: &[i64], f: u32) -> Vec<Vec<i64>> {
        let words: Vec<u128> = xs.iter().map(|&x| u128::from(x as u64)).collect();
        let make = |e: &mut Emit, x| Answer::Words(exact(e, x, f));
        let made = run(Dom::Ring(64), &[1, xs.len() as u64], &words, false, make);
        let all = made.clear.into_iter().chain([made.words]);
        all.map(|words| words.into_iter().map(|w| w as u64 as i64).collect()).collect()
    }

    #[test]
    fn error_is_below_one_unit_and_exact_values_stay_exact() {
        let edge = (1i64 << 62) - (1 << 34);
        for f in [1, 7, 16, 18, 34] {
            let unit = 1i64 << f;
            let mut xs =
                vec![0, 1, -1, unit, -unit, unit - 1, 1 - unit, edge, -edge, 7 * unit, -3 * unit];
            let mut x = 1i64;
            for _ in 0..4000 {
                x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                xs.push(x >> (2 + (x & 31)));
            }
            for found in truncated(&xs, f) {
                for (&x, y) in xs.iter().zip(found) {
                    let floor = x >> f;
                    let ceil = floor + i64::from(x & (unit - 1) != 0);
                    assert!(y == floor || y == ceil, "{x} >> {f} gave {y}");
                }
            }
        }
    }

    #[test]
    fn rounding_is_unbiased() {
        // 3/4 of a unit: up three times in four. 4000 copies, standard deviation 0.007.
        let xs = vec![3 << 14; 4000];
        for found in truncated(&xs, 16) {
            let ups: i64 = found.iter().sum();
            assert!((2800..3200).contains(&ups), "{ups} of 4000 up");
        }
    }
}
