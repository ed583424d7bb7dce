//! The checks of [`crate::lower::t1::input_checks`] on masked values: the same functionality in fewer rounds.
//!
//! | macro | rounds until the bit is a [`Pair`] |
//! |---|---|
//! | [`one_hot_words`] | 1, and [`and_all`] |
//! | [`in_range`] | levels of the comparison (2 for 64 bits), and [`and_all`] |
//! | [`and_all`] of n bits | 1 and the levels of a product of n bits; of more than 64, 2 and the levels of the bits of n |
//!
//! [`admit`] opens the bits in one more round.
//!
//! **Simulation.** Messages of the [family](super), and the opened bits.

use super::{comparison, gates, selection};
use crate::cost::Tuning;
use crate::lower::Emit;
use crate::lower::common::admission::MOST_GATED;
use crate::lower::common::masked::{self, Pair, Split};
use crate::lower::common::words::{bits_for, ring_for};
use crate::lower::inputs::InputChecks;
use slvr_circuit::low_mask;
use slvr_circuit::{Op, SplitPart, ValueId};

/// The checks of this family, for a network.
pub struct T2 {
    pub tuning: Tuning,
}

impl T2 {
    /// The groups of what clients give: with three or more clients, each client's value is in one shard.
    fn client_groups(e: &Emit, x: ValueId) -> u32 {
        let clients = e.ty(x).shape.first().copied().unwrap_or(1);
        if clients >= 3 { clients as u32 } else { 1 }
    }
}

impl InputChecks for T2 {
    type Good = Pair;

    fn one_hot_words(&self, e: &mut Emit, bits: ValueId, k: u32) -> (ValueId, Pair) {
        one_hot_words(e, bits, k, T2::client_groups(e, bits), self.tuning)
    }

    fn in_range(&self, e: &mut Emit, x: ValueId, range: (u128, u128)) -> Pair {
        in_range(e, x, range, T2::client_groups(e, x), self.tuning)
    }

    fn short(&self, e: &mut Emit, x: ValueId, coin: ValueId, tests: (u64, u128)) -> Pair {
        short(e, x, coin, tests, T2::client_groups(e, x), self.tuning)
    }

    fn admit(&self, e: &mut Emit, good: Vec<Pair>) -> ValueId {
        admit(e, good, self.tuning)
    }
}

/// As [`crate::lower::t1::input_checks::one_hot_words`]: the words, and for each client whether its rows
/// are one-hot.
pub fn one_hot_words(
    e: &mut Emit,
    bits: ValueId,
    k: u32,
    groups: u32,
    tuning: Tuning,
) -> (ValueId, Pair) {
    let shape = e.ty(bits).shape.clone();
    let (m, classes) = (shape[0], shape[shape.len() - 1]);
    let rows: u64 = shape[1..shape.len() - 1].iter().product();
    let sums = ring_for(bits_for(classes));
    let k = k.max(sums);
    let bits = masked::split(e, bits, groups);
    let words = selection::to_word(e, &bits, k);
    let words = masked::settle(e, words);
    let narrow = masked::linear(e, &words, |v| Op::Narrow(v, sums));
    let flat = masked::linear(e, &narrow, |v| Op::Reshape(v, vec![m, rows, classes]));
    let sum = masked::linear(e, &flat, |v| Op::Sum { x: v, axes: vec![2] });
    let less = Split { dup: e.add(Op::Offset(sum.dup, low_mask(sums))), ..sum };
    let one = comparison::zero(e, &less, bits_for(classes - 1).max(1), tuning);
    let all = and_all(e, one, tuning);
    (masked::join(e, &words), all)
}

/// As [`crate::lower::t1::input_checks::in_range`].
pub fn in_range(
    e: &mut Emit,
    x: ValueId,
    (lo, hi): (u128, u128),
    groups: u32,
    tuning: Tuning,
) -> Pair {
    let (k, shape) = (e.ty(x).bits(), e.ty(x).shape.clone());
    let width = hi.wrapping_sub(lo) & low_mask(k);
    assert!(width >> (k - 1) == 0, "a range of less than half the ring");
    let each: u64 = shape[1..].iter().product();
    let flat = e.add(Op::Reshape(x, vec![shape[0], each]));
    let x = masked::split(e, flat, groups);
    within(e, x, (lo, width), tuning)
}

/// For each client whether all its words less lo, counted without sign, are at most `width`.
fn within(e: &mut Emit, x: Split, (lo, width): (u128, u128), tuning: Tuning) -> Pair {
    let k = e.ty(x.own).bits();
    let above = Split { dup: e.add(Op::Offset(x.dup, 0u128.wrapping_sub(lo) & low_mask(k))), ..x };
    let below = masked::linear(e, &above, Op::Neg);
    let below = Split { dup: e.add(Op::Offset(below.dup, width)), ..below };
    let both = masked::both(|part| {
        let xs = vec![part(&above), part(&below)];
        e.add(Op::Concat { xs, axis: 1 })
    });
    let bad = comparison::negative(e, &both, k, tuning);
    let good = masked::not(e, bad);
    and_all(e, good, tuning)
}

/// As [`crate::lower::t1::input_checks::short`].
pub fn short(
    e: &mut Emit,
    x: ValueId,
    coin: ValueId,
    (tests, bound): (u64, u128),
    groups: u32,
    tuning: Tuning,
) -> Pair {
    let (k, shape) = (e.ty(x).bits(), e.ty(x).shape.clone());
    let flat = e.add(Op::Reshape(x, vec![shape[0], shape[1..].iter().product()]));
    // Of the split: each party projects one tensor instead of two, and never has the split itself.
    let part = |part| Op::Project { x: flat, coin, tests, part };
    let own = e.add(part(SplitPart::Own(groups)));
    let products = Split { own, dup: e.add(part(SplitPart::Dup(groups))), mask: None };
    within(e, products, (0u128.wrapping_sub(bound) & low_mask(k), 2 * bound), tuning)
}

/// And of every row: `B1[m, n]` -> `B1[m]`. Of more than 64 bits the zeros are counted, and the count
/// compared with zero.
pub fn and_all(e: &mut Emit, bits: Pair, tuning: Tuning) -> Pair {
    let shape = e.ty(bits.add2).shape.clone();
    let (m, n) = (shape[0], shape.get(1).copied().unwrap_or(1));
    if n == 1 {
        return flat(e, bits, m);
    }
    let bits = masked::settle(e, bits);
    all_of_rows(e, bits, tuning)
}

/// As [`and_all`], of several bits that are settled.
fn all_of_rows(e: &mut Emit, bits: Split, tuning: Tuning) -> Pair {
    let shape = e.ty(bits.own).shape.clone();
    let (m, n) = (shape[0], shape[1]);
    if n <= MOST_GATED {
        let planes = masked::to_planes(e, &bits);
        let all = gates::all_planes(e, &planes, tuning);
        return flat(e, all, m);
    }
    let bad = Split { dup: e.add(Op::Not(bits.dup)), ..bits };
    let words = selection::to_word(e, &bad, ring_for(bits_for(n)));
    let count = masked::linear_of_pair(e, words, |x| Op::Sum { x, axes: vec![1] });
    let count = masked::settle(e, count);
    comparison::zero(e, &count, bits_for(n), tuning)
}

/// One bit for each client.
fn flat(e: &mut Emit, x: Pair, m: u64) -> Pair {
    masked::linear_of_pair(e, x, |v| Op::Reshape(v, vec![m]))
}

/// As [`crate::lower::t1::input_checks::admit`], of all of a client's bits: 1 where every one is 1.
pub fn admit(e: &mut Emit, valid: Vec<Pair>, tuning: Tuning) -> ValueId {
    let all = match valid[..] {
        [one] => one,
        _ => all_of_several(e, &valid, tuning),
    };
    let words = masked::as_add3(e, all);
    e.add(Op::OpenSum(words))
}

fn all_of_several(e: &mut Emit, valid: &[Pair], tuning: Tuning) -> Pair {
    let m = e.ty(valid[0].add2).elements();
    let splits: Vec<Split> = valid.iter().map(|&p| masked::settle(e, p)).collect();
    if valid.len() as u64 <= MOST_GATED {
        let planes = masked::both(|part| e.add(Op::Stack(splits.iter().map(part).collect())));
        return gates::all_planes(e, &planes, tuning);
    }
    // As columns of one row for each client, which are counted: gates of many bits have a product of
    // masks for every choice of them.
    let columns = masked::both(|part| {
        let column = |s| Op::Reshape(part(s), vec![m, 1]);
        let xs = splits.iter().map(|s| e.add(column(s))).collect();
        e.add(Op::Concat { xs, axis: 1 })
    });
    all_of_rows(e, columns, tuning)
}
