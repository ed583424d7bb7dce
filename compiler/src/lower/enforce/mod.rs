//! Checks of what clients give: whatever a client deals, a value behind these is in its range.
//!
//! A client may deal any words. Three means hold an input to its declaration:
//!
//! - *by what it is*: a shared bit is a bit, and an exactly lifted word of a small ring is small
//!   ([`lift`]);
//! - *by a test* ([`one_hot`], [`in_range`], [`short`]): one secret bit per client, 1 if it passes;
//! - then the conjunction of a client's bits ([`and_all`]) is opened ([`admit`]), and the inputs of a
//!   client that failed become zeros ([`gate`]).
//!
//! With m clients and n elements of each:
//!
//! | macro | rounds | bits in all | wrong |
//! |---|---|---|---|
//! | [`one_hot`], c classes | 4, tree over labels | 24 for each class, 2^w + 1 for each label | never |
//! | [`in_range`] | 6, tree over 2 n | 746 for each element | never |
//! | [`short`], N tests | 7 with the coin, tree over 2 N | 746 for each test | see [`crate::analysis::projection`] |
//! | [`and_all`] | ceil(log2 n), at most 8 | 3 (n - 1), or 3 k n with k = 8, 16 or 32 | never |
//! | [`lift`], k' bits to k, less s | 2 | k + 3 r, r the ring of k - k' + s bits | never |
//! | [`admit`] | 1 | 3 | never |
//! | [`gate`] | 0 | 0 | never |
//!
//! The rounds of tests and of [`admit`] are off the longest chain where the circuit speculates
//! ([`slvr_circuit::speculation`]).
//!
//! w = ceil(log2 c); a tree over n is [`and_all`]; words have 64 bits.
//!
//! **Simulation.** All but [`admit`] are made of messages that are uniform to their receiver. The bit
//! that [`admit`] opens is public by the language's rule for inputs and stands in the leak report. An
//! honest client's is 1 (but for [`short`]'s failure probability, a constant of the plan), so it says
//! nothing of its input.

use super::comparison::{negative, zero};
use super::truncation::{self, ring_for};
use super::{Emit, selection};
use slvr_circuit::low_mask;
use slvr_circuit::{Dom, Hold, Op, SplitPart, ValueId};

/// For each client whether every row of its bits (the last axis, the classes) has exactly one 1:
/// `Rep B1[m, .., classes]` -> `Rep B1[m]`.
///
/// **Functionality.** Exact for every sharing, since a shared bit is 0 or 1 whoever dealt it.
///
/// **Protocol.** As [`one_hot_words`], with words of the smallest ring that holds a sum.
pub fn one_hot(e: &mut Emit, bits: ValueId) -> ValueId {
    one_hot_words(e, bits, 8).1
}

/// The bits as words of Z_2^k, and for each client whether every row is one-hot, as [`one_hot`]:
/// `Rep B1[m, .., classes]` -> (`Rep A<k>[m, .., classes]`, `Rep B1[m]`). Sums for the test are taken
/// of the same words, narrowed, so the test costs no conversion of its own.
///
/// **Protocol.** A row's sum is in 0 ..= classes, exact in a ring of more than that; sum - 1, in -1
/// ..= classes - 1, is 0 modulo 2^w only if it is 0, with w = ceil(log2 classes), at least 1. Words
/// are of at least the ring that holds the sum: `k` is raised to it.
pub fn one_hot_words(e: &mut Emit, bits: ValueId, k: u32) -> (ValueId, ValueId) {
    let shape = e.ty(bits).shape.clone();
    let (m, classes) = (shape[0], shape[shape.len() - 1]);
    let rows: u64 = shape[1..shape.len() - 1].iter().product();
    let sums = ring_for(bits_for(classes));
    let k = k.max(sums);
    let words = selection::to_word(e, bits, k);
    let narrow = if k > sums { e.add(Op::Narrow(words, sums)) } else { words };
    let flat = e.add(Op::Reshape(narrow, vec![m, rows, classes]));
    let sum = e.add(Op::Sum { x: flat, axes: vec![2] });
    let less = e.add(Op::Offset(sum, low_mask(sums)));
    let one = zero(e, less, bits_for(classes - 1).max(1));
    (words, and_all(e, one))
}

/// Bits of a number.
fn bits_for(n: u64) -> u32 {
    64 - n.leading_zeros()
}

/// For each client whether all its words are in lo ..= hi, as signed words of Z_2^k: `Rep A<k>[m, ..]`
/// -> `Rep B1[m]`. `lo` and `hi` are given modulo 2^k; hi - lo < 2^(k-1).
///
/// **Functionality.** Exact for every word. Let w = hi - lo, in 0 .. 2^(k-1), and v = x - lo modulo
/// 2^k, as a signed word. x is in the range exactly if v, counted without sign, is at most w.
/// 1. v < 0: then v without sign is at least 2^(k-1) > w. Rejected, by the sign of v.
/// 2. v >= 0: then w - v is between -2^(k-1) + 1 and 2^(k-1) - 1: it does not wrap, and its sign says
///    whether v > w.
///
/// So a word is good exactly if neither v nor w - v is negative, and both signs are taken on all k
/// bits. (The sign of x - lo and of hi - x would do only if neither wrapped.)
pub fn in_range(e: &mut Emit, x: ValueId, lo: u128, hi: u128) -> ValueId {
    let (k, shape) = (e.ty(x).bits(), e.ty(x).shape.clone());
    let width = hi.wrapping_sub(lo) & low_mask(k);
    assert!(width >> (k - 1) == 0, "a range of less than half the ring");
    let each: u64 = shape[1..].iter().product();
    let flat = e.add(Op::Reshape(x, vec![shape[0], each]));
    let above = e.add(Op::Offset(flat, 0u128.wrapping_sub(lo) & low_mask(k)));
    let below = e.add(Op::Neg(above));
    let below = e.add(Op::Offset(below, width));
    let both = e.add(Op::Concat { xs: vec![above, below], axis: 1 });
    let bad = negative(e, both, k);
    let good = e.add(Op::Not(bad));
    and_all(e, good)
}

/// For each client whether random inner products of its vector are short: `Rep A64[m, ..]` -> `Rep
/// B1[m]`, 1 where abs(<chi_t, x> mod 2^64) <= bound for all t < tests.
///
/// **Functionality.** Exact for the signs that the coins give. What it proves of the vector, and how
/// often an honest one fails, is argued in [`crate::analysis::projection`]; `coin` must be public coins
/// ([`Emit::coin`]), which are drawn when all inputs have been dealt. Several inputs may share coins:
/// the argument is for one vector, and the failures of several add up (union bound).
///
/// **Protocol.** The inner products are linear, so local; then [`in_range`].
pub fn short(e: &mut Emit, x: ValueId, coin: ValueId, tests: u64, bound: u128) -> ValueId {
    let (k, shape) = (e.ty(x).bits(), e.ty(x).shape.clone());
    let flat = e.add(Op::Reshape(x, vec![shape[0], shape[1..].iter().product()]));
    let products = e.add(Op::Project { x: flat, coin, tests, part: SplitPart::Whole });
    in_range(e, products, 0u128.wrapping_sub(bound) & low_mask(k), bound)
}

/// Rows of at most this many bits are combined by a tree of ands; longer ones are counted.
const FEW: u64 = 64;

/// And of every row: `Rep B1[m, n]` -> `Rep B1[m]`. A tree of ceil(log2 n) rounds; of more than 64 bits
/// the zeros are counted, in 4 + ceil(log2 (w / 8)) rounds with w = ceil(log2 (n + 1)): 5 rounds for up to
/// 65535 bits, of few rows.
pub fn and_all(e: &mut Emit, bits: ValueId) -> ValueId {
    let (m, n) = match e.ty(bits).shape[..] {
        [m, n] => (m, n),
        _ => unreachable!("rows of bits"),
    };
    if n == 0 {
        let ones = e.constant(true, 1, &[m], vec![1]);
        return e.share_public(ones);
    }
    if n > FEW {
        // The number of zeros, as a word, is zero.
        let bad = e.add(Op::Not(bits));
        let words = selection::to_word(e, bad, ring_for(bits_for(n)));
        let count = e.add(Op::Sum { x: words, axes: vec![1] });
        return zero(e, count, bits_for(n));
    }
    let good = match n {
        1 => bits,
        _ => {
            let columns = e.add(Op::Transpose(bits, vec![1, 0]));
            selection::and_rows(e, columns)
        }
    };
    e.add(Op::Reshape(good, vec![m]))
}

/// A word of Z_2^k' divided by 2^s, as a word of Z_2^k: `Rep A<k'>[..]` -> `Rep A<k>[..]`, s < k' - 2.
///
/// **Functionality.** For -2^(k'-2) <= x <= 2^(k'-2) - 2^s the result is one of the two integers next to x
/// / 2^s, x / 2^s itself if that is an integer, and the mean is exactly x / 2^s. With s = 0 it is x.
/// For k > k', **and any word x**, it is between -3 2^(k'-2-s) and 3 2^(k'-2-s) - 2: this is what makes
/// a small upload ring an enforcement of a range. (Which value a word outside the first range
/// becomes depends on the shares that were dealt; it is fixed by them.) The same holds for k = k' if s > 0.
///
/// **Protocol** (derived for this project, docs/src/protocols.md "lift"; as [`truncation::exact`]).
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
/// **Simulation.** Every message is an `input`, a `deal` or an `reshare_two`, uniform to its receiver.
pub fn lift(e: &mut Emit, x: ValueId, s: u32, k: u32) -> ValueId {
    let own = e.ty(x).bits();
    if e.ty(x).hold == Hold::Public {
        let y = if s > 0 { truncation::public(e, x, s) } else { x };
        return e.convert(y, k);
    }
    if k <= own {
        let y = if s > 0 { truncation::exact(e, x, s) } else { x };
        return if k < own { e.add(Op::Narrow(y, k)) } else { y };
    }
    let need = k - own + s;
    let small = ring_for(need);
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

    let not_top = |e: &mut Emit, part| {
        let top = e.add(Op::ToBits { x: part, lo: own - 1, w: 1 });
        let top = e.add(Op::Not(top));
        e.add(Op::FromBits(top, small))
    };
    let (u, v) = (not_top(e, a), not_top(e, b));
    let u = e.add(Op::Deal(u));
    let both = e.add(Op::Mul(u, v));
    let both = e.add(Op::ReshareTwo(both));
    // 2^(k'-s) times it: raising to k bits multiplies by 2^(k-small).
    let both = if small < k { e.add(Op::Raise(both, k)) } else { both };
    let both = if small > need { e.add(Op::Scale(both, 1 << (small - need))) } else { both };

    let sum = e.add(Op::Add(high_a, high_b));
    let sum = e.add(Op::Add(sum, both));
    let constant = 0u128.wrapping_sub(1 << (own - s)).wrapping_sub(1 << (own - 2 - s));
    e.add(Op::Offset(sum, constant & low_mask(k)))
}

/// Opens which clients passed: `Rep B1[m]` -> `Public B1[m]`. One round.
///
/// **Leakage.** One bit per client, to all three parties; name it in
/// [`slvr_circuit::Circuit::checks`].
pub fn admit(e: &mut Emit, valid: ValueId) -> ValueId {
    e.add(Op::Open(valid))
}

/// Zeros in place of what a client gave that was not admitted: x `Rep [m, ..]` over words or bits,
/// admitted `Public B1[m]`. Local.
pub fn gate(e: &mut Emit, x: ValueId, admitted: ValueId) -> ValueId {
    let (dom, rank) = (e.ty(x).dom, e.ty(x).shape.len());
    let factor = match dom {
        Dom::Ring(k) => e.add(Op::FromBits(admitted, k)),
        Dom::Bits(_) => admitted,
    };
    let mut shape = vec![1; rank];
    shape[0] = e.ty(admitted).shape[0];
    let factor = e.add(Op::Reshape(factor, shape));
    e.add(Op::Mul(x, factor))
}

/// What [`gate`] gives, plus `row` for a client that was not admitted: words `Rep A<k>[m, .., n]` or
/// `Rep A<k>[m]`, `row` of n words or of one. For inputs of which zeros are not in range, so that whatever is
/// computed with stays in the range that is proven: class 0 of a label, the end nearest to 0. Local.
pub fn stand_in(e: &mut Emit, kept: ValueId, admitted: ValueId, row: Vec<u128>) -> ValueId {
    let (k, shape) = (e.ty(kept).bits(), e.ty(kept).shape.clone());
    let out = e.add(Op::Not(admitted));
    let out = e.add(Op::FromBits(out, k));
    let mut rows = vec![1; shape.len()];
    rows[0] = shape[0];
    let out = e.add(Op::Reshape(out, rows));
    let mut columns = vec![1; shape.len()];
    if let (Some(last), true) = (columns.last_mut(), row.len() > 1) {
        *last = row.len() as u64;
    }
    let row = e.constant(false, k, &columns, row.into_iter().map(|w| w & low_mask(k)).collect());
    let row = e.add(Op::Mul(out, row));
    e.add(Op::Add(kept, row))
}

pub mod dealer;

#[cfg(test)]
mod tests;
