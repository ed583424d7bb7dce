//! Checks of what clients give: whatever a client deals, a value behind these is in its range.
//!
//! A client may deal any words. Three means hold an input to its declaration:
//!
//! - *by what it is*: a shared bit is a bit, and an exactly lifted word of a small ring is small
//!   ([`lift`](super::truncation::lift));
//! - *by a test* ([`one_hot_words`], [`in_range`], [`short`]): one secret bit per client, 1 if it passes;
//! - then the conjunction of a client's bits ([`and_all`]) is opened ([`admit`]), and the inputs of a
//!   client that failed become zeros ([`gate`](crate::lower::common::admission::gate)).
//!
//! With m clients and n elements of each:
//!
//! | macro | rounds | bits in all | wrong |
//! |---|---|---|---|
//! | [`one_hot_words`], c classes | 4, tree over labels | 24 for each class, 2^w + 1 for each label | never |
//! | [`in_range`] | 6, tree over 2 n | 746 for each element | never |
//! | [`short`], N tests | 7 with the coin, tree over 2 N | 746 for each test | see [`slvr_graph::analysis::projection`] |
//! | [`and_all`] | ceil(log2 n), at most 8 | 3 (n - 1), or 3 k n with k = 8, 16 or 32 | never |
//! | [`lift`](super::truncation::lift), k' bits to k, less s | 2 | k + 3 r, r the ring of k - k' + s bits | never |
//! | [`admit`] | 1 | 3 | never |
//! | [`gate`](crate::lower::common::admission::gate) | 0 | 0 | never |
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
use super::{gates, selection};
use crate::lower::Emit;
use crate::lower::common::admission::MOST_GATED;
use crate::lower::common::words::{bits_for, ring_for};
use crate::lower::inputs::InputChecks;
use slvr_circuit::low_mask;
use slvr_circuit::{Op, SplitPart, ValueId};

/// The checks of this family.
pub struct T1;

impl InputChecks for T1 {
    type Good = ValueId;

    fn one_hot_words(&self, e: &mut Emit, bits: ValueId, k: u32) -> (ValueId, ValueId) {
        one_hot_words(e, bits, k)
    }

    fn in_range(&self, e: &mut Emit, x: ValueId, (lo, hi): (u128, u128)) -> ValueId {
        in_range(e, x, lo, hi)
    }

    fn short(&self, e: &mut Emit, x: ValueId, coin: ValueId, tests: (u64, u128)) -> ValueId {
        short(e, x, coin, tests.0, tests.1)
    }

    fn admit(&self, e: &mut Emit, good: Vec<ValueId>) -> ValueId {
        let mut columns = Vec::new();
        for v in good {
            let clients = e.ty(v).elements();
            columns.push(e.add(Op::Reshape(v, vec![clients, 1])));
        }
        let all = match columns[..] {
            [one] => one,
            _ => e.add(Op::Concat { xs: columns, axis: 1 }),
        };
        let all = and_all(e, all);
        admit(e, all)
    }
}

/// The bits as words of Z_2^k, and for each client whether every row has exactly one 1:
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
/// often an honest one fails, is argued in [`slvr_graph::analysis::projection`]; `coin` must be public coins
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
    if n > MOST_GATED {
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
            gates::and_rows(e, columns)
        }
    };
    e.add(Op::Reshape(good, vec![m]))
}

/// Opens which clients passed: `Rep B1[m]` -> `Public B1[m]`. One round.
///
/// **Leakage.** One bit per client, to all three parties; name it in
/// [`slvr_circuit::Circuit::checks`].
pub fn admit(e: &mut Emit, valid: ValueId) -> ValueId {
    e.add(Op::Open(valid))
}
