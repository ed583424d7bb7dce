//! Words to all their bits, the position of the top bit, and weighted sums of bits as words.
//!
//! | macro | rounds | bits in all, per element |
//! |---|---|---|
//! | [`of_word`], w bits | 2 + ceil(log2(w - 1)) | w + 3 n + 3 ((n - d) + max(n - 2 d, 0)) for each d = 1, 2, 4, ... < n, n = w - 1 |
//! | [`one_hot`], n bits | ceil(log2 n) | 3 (n - d) for each d = 1, 2, 4, ... < n |
//! | [`weighted`], n bits | 2 | n k (deal) + 2 k (reshare_two); further sums of the same bits 2 k each |
//!
//! **Protocol.** A word is x = a + b with a known to one party and b to the other two; its bits are
//! those of the sum, with all carries from a parallel prefix (Kogge and Stone 1973) over (generate,
//! propagate) pairs. A bit is c = u xor v, u known to one party, v to the other two, so c = u (1 - 2
//! v) + v: the owner deals every u as a word, the others combine and exchange once per sum.
//!
//! **Simulation.** Every message is an `input`, a `reshare`, a `deal` or a `reshare_two`, each uniform to
//! its receiver; nothing is opened. On public words all of it is local.

use super::comparison::parts;
use crate::lower::Emit;
use crate::lower::common::words::one_minus_twice;
use slvr_circuit::{Hold, Op, ValueId};

/// Bits 0 .. w of a word, as w planes.
pub fn of_word(e: &mut Emit, x: ValueId, w: u32) -> ValueId {
    if e.ty(x).hold == Hold::Public {
        return e.add(Op::ToBits { x, lo: 0, w });
    }
    let (a, b) = parts(e, x, w, false);
    let a = e.add(Op::ToBits { x: a, lo: 0, w });
    let a = e.add(Op::Input(a));
    let b = e.add(Op::ToBits { x: b, lo: 0, w });
    let b = e.add(Op::Trivial(b));
    let sum = e.add(Op::Add(a, b));
    let n = w - 1;
    if n == 0 {
        return sum;
    }
    // generate[i]: a carry out of bit i; complete once it spans all bits below. propagate[i] is kept
    // for the bits i >= d that still need it.
    let (a, b) = (e.planes(a, 0, 1, n), e.planes(b, 0, 1, n));
    let mut generate = e.multiply(a, b);
    let mut propagate = sum;
    let mut first = 0;
    let mut d = 1;
    while d < n {
        let high = e.planes(propagate, d - first, 1, n - d);
        let low = e.planes(generate, 0, 1, n - d);
        let rest = n.saturating_sub(2 * d);
        let (left, right) = if rest > 0 {
            let p_high = e.planes(propagate, 2 * d - first, 1, rest);
            let p_low = e.planes(propagate, d - first, 1, rest);
            (e.stack(vec![high, p_high]), e.stack(vec![low, p_low]))
        } else {
            (high, low)
        };
        let products = e.multiply(left, right);
        let done = e.planes(generate, 0, 1, d);
        let more = e.planes(generate, d, 1, n - d);
        let lifted = e.planes(products, 0, 1, n - d);
        let more = e.add(Op::Add(more, lifted));
        generate = e.stack(vec![done, more]);
        if rest > 0 {
            propagate = e.planes(products, n - d, 1, rest);
            first = 2 * d;
        }
        d *= 2;
    }
    let lowest = e.planes(sum, 0, 1, 1);
    let others = e.planes(sum, 1, 1, n);
    let others = e.add(Op::Add(others, generate));
    e.stack(vec![lowest, others])
}

/// The highest bit that is set, one-hot: plane j for bit j, and plane n for none of the n bits.
pub fn one_hot(e: &mut Emit, bits: ValueId) -> ValueId {
    let n = e.ty(bits).bits();
    // clear[j]: no bit at or above j.
    let mut clear = e.add(Op::Not(bits));
    let mut d = 1;
    while d < n {
        let (low, high) = (e.planes(clear, 0, 1, n - d), e.planes(clear, d, 1, n - d));
        let both = e.multiply(low, high);
        let rest = e.planes(clear, n - d, 1, d);
        clear = e.stack(vec![both, rest]);
        d *= 2;
    }
    let top = e.planes(clear, n - 1, 1, 1);
    let top = e.add(Op::Not(top));
    let none = e.planes(clear, 0, 1, 1);
    if n == 1 {
        return e.stack(vec![top, none]);
    }
    let (low, high) = (e.planes(clear, 0, 1, n - 1), e.planes(clear, 1, 1, n - 1));
    let inner = e.add(Op::Add(low, high));
    e.stack(vec![inner, top, none])
}

/// The sum of weights (modulo 2^k) of the bits that are set, as a word of Z_2^k.
pub fn weighted(e: &mut Emit, bits: ValueId, weights: &[u128], k: u32) -> ValueId {
    let public = e.ty(bits).hold == Hold::Public;
    let (u, v) = if public { (bits, bits) } else { (e.add(Op::Own(bits)), e.add(Op::Dup(bits))) };
    let mut sum = None;
    for (i, &weight) in (0u32..).zip(weights).filter(|&(_, &w)| w != 0) {
        let word = |e: &mut Emit, x: ValueId| {
            let plane = e.planes(x, i, 1, 1);
            e.add(Op::FromBits(plane, k))
        };
        let u = word(e, u);
        let term = if public {
            u
        } else {
            let u = e.add(Op::Deal(u));
            let v = word(e, v);
            let sign = one_minus_twice(e, v, k);
            let flipped = e.add(Op::Mul(u, sign));
            e.add(Op::Add(flipped, v))
        };
        let term = if weight == 1 { term } else { e.add(Op::Scale(term, weight)) };
        sum = Some(match sum {
            None => term,
            Some(s) => e.add(Op::Add(s, term)),
        });
    }
    match sum {
        Some(s) if public => s,
        Some(s) => e.add(Op::ReshareTwo(s)),
        // All weights are zero.
        None => {
            let shape = e.ty(bits).shape.clone();
            let zero = e.constant(false, k, &shape, vec![0]);
            if public { zero } else { e.share_public(zero) }
        }
    }
}
