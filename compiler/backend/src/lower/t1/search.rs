//! Which entries of a row come first, without ranks: a search for the last of them.
//!
//! The c entries that come first are those below the c-th smallest, and of those that equal it the first ones. The
//! c-th smallest is found from its top bits down, some bits at a time: all thresholds that the next bits may make
//! are compared with all entries at once, and the largest one with fewer than c entries below it is taken. The
//! thresholds that have fewer are the first ones, so their number is the next bits. Then every entry is compared
//! with what was found, and equal ones are counted along the row, which is local.
//!
//! Ranks of n entries take n (n - 1) / 2 comparisons at one depth; n entries of w bits, d bits at a time, take
//! n (2^d - 1) w / d of them, at w / d depths ([`price`]).
//!
//! **Functionality.** Exactly the entries of which [`slvr_graph::graph::ranks`] says so: of equal ones those with a
//! smaller index come first.
//!
//! **Simulation.** Signs, products and words of bits, as their own macros; nothing is opened.

use super::{comparison, selection};
use crate::lower::Emit;
use crate::lower::common::words::{bits_for, ring_for};
use slvr_circuit::{Op, ValueId, low_mask};
use slvr_graph::graph::ranks::First;

/// Entries by rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Those of ranks below this.
    Before(u64),
    /// The one of this rank.
    At(u64),
}

/// What is searched for along the last axis, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    pub wanted: Wanted,
    pub first: First,
    /// The raw range of the entries.
    pub range: (i128, i128),
    /// How many bits are found in one step.
    pub digit: u32,
}

impl Search {
    /// Bits of an entry's distance from the end that comes first.
    fn bits(&self) -> u32 {
        let (lo, hi) = self.range;
        (128 - hi.abs_diff(lo).leading_zeros()).max(1)
    }

    /// The ring that the search computes in, if one holds it.
    pub fn ring(&self) -> Option<u32> {
        let bits = self.bits() + 1;
        (bits <= 128).then(|| ring_for(bits))
    }

    /// How many bits are found in each step, first the top ones.
    fn digits(&self) -> Vec<u32> {
        let bits = self.bits();
        let steps = bits.div_ceil(self.digit.max(1));
        (0..steps).map(|i| bits / steps + u32::from(i < bits % steps)).collect()
    }
}

/// Bits of the numbers up to n twice, with a sign.
fn counting(n: u64) -> u32 {
    bits_for(2 * n) + 1
}

/// 1 at the wanted entries of every row, x in the search's ring.
pub fn search(e: &mut Emit, x: ValueId, s: &Search) -> ValueId {
    let shape = e.ty(x).shape.clone();
    let k = e.ty(x).bits();
    let n = shape.last().copied().unwrap_or(1);
    let rows = shape.iter().product::<u64>() / n;
    let x = e.add(Op::Reshape(x, vec![rows, n]));
    let word = |x: i128| x as u128 & low_mask(k);
    let mut above = match s.first {
        First::Smallest => e.add(Op::Offset(x, word(-s.range.0))),
        First::Largest => {
            let x = e.add(Op::Neg(x));
            e.add(Op::Offset(x, word(s.range.1)))
        }
    };
    let width = s.bits() + 1;
    let (count, wc) = match s.wanted {
        Wanted::Before(c) => (c, counting(n)),
        Wanted::At(c) => (c + 1, counting(n)),
    };
    let kc = ring_for(wc);
    let less_than = |e: &mut Emit, x, limit: u64| {
        let off = e.add(Op::Offset(x, u128::from(limit).wrapping_neg() & low_mask(kc)));
        comparison::negative(e, off, wc)
    };
    let mut top = s.bits();
    for digit in s.digits() {
        top -= digit;
        let steps = (1..1u128 << digit).map(|j| j << top).collect();
        let below = below(e, above, steps, width);
        let below = selection::to_word(e, below, kc);
        let below = e.add(Op::Sum { x: below, axes: vec![2] });
        let few = less_than(e, below, count);
        let few = selection::to_word(e, few, k);
        let next = e.add(Op::Sum { x: few, axes: vec![0] });
        let next = e.add(Op::Scale(next, 1 << top));
        let next = e.add(Op::Reshape(next, vec![rows, 1]));
        above = e.add(Op::Sub(above, next));
    }
    let part = |e: &mut Emit, x, start| {
        let part = e.add(Op::Slice { x, axis: 0, start, len: 1, step: 1 });
        e.add(Op::Reshape(part, vec![rows, n]))
    };
    // Below what was found, and not above it.
    let below = below(e, above, vec![0, 1], width);
    let words = selection::to_word(e, below, kc);
    let (less, less_words) = (part(e, below, 0), part(e, words, 0));
    let (most, most_words) = (part(e, below, 1), part(e, words, 1));
    let equal = e.add(Op::Add(less, most));
    let equal_words = e.add(Op::Sub(most_words, less_words));
    // The rank of an equal one: how many are below it, and how many equal ones stand before it.
    let less_words = e.add(Op::Sum { x: less_words, axes: vec![1] });
    let less_words = e.add(Op::Reshape(less_words, vec![rows, 1]));
    let earlier = earlier(e, equal_words, n);
    let rank = e.add(Op::Add(earlier, less_words));
    let found = match s.wanted {
        Wanted::Before(c) => {
            let early = less_than(e, rank, c);
            let last = e.multiply(equal, early);
            e.add(Op::Add(less, last))
        }
        Wanted::At(c) => {
            let off = e.add(Op::Offset(rank, u128::from(c).wrapping_neg() & low_mask(kc)));
            let here = comparison::zero(e, off, wc);
            e.multiply(equal, here)
        }
    };
    e.add(Op::Reshape(found, shape))
}

/// Whether each entry of `[rows, n]` is below each of some steps: `[steps, rows, n]`.
fn below(e: &mut Emit, x: ValueId, steps: Vec<u128>, width: u32) -> ValueId {
    let (k, count) = (e.ty(x).bits(), steps.len() as u64);
    let mut shape = e.ty(x).shape.clone();
    shape.insert(0, 1);
    let x = e.add(Op::Reshape(x, shape.clone()));
    shape[0] = count;
    let x = e.broadcast(x, &shape);
    let steps = e.constant(false, k, &[count, 1, 1], steps);
    let off = e.add(Op::Sub(x, steps));
    comparison::negative(e, off, width)
}

/// The sum of all earlier entries of a row, at each of n. Local.
fn earlier(e: &mut Emit, x: ValueId, n: u64) -> ValueId {
    let (mut sum, mut step) = (x, 1);
    while step < n {
        let part =
            |e: &mut Emit, start, len| e.add(Op::Slice { x: sum, axis: 1, start, len, step: 1 });
        let (first, last, moved) =
            (part(e, 0, step), part(e, step, n - step), part(e, 0, n - step));
        let last = e.add(Op::Add(last, moved));
        sum = e.add(Op::Concat { xs: vec![first, last], axis: 1 });
        step *= 2;
    }
    e.add(Op::Sub(sum, x))
}

/// Rounds of a search among rows of n entries, and bits of all parties for each entry.
pub fn price(s: &Search, rows: u64, n: u64) -> (f64, f64) {
    let (width, wc) = (s.bits() + 1, counting(n));
    let to_word = |k: u32| (2.0, 3.0 * f64::from(k));
    let (mut rounds, mut bits) = (0.0, 0.0);
    let mut pay = |(r, b): (f64, f64), times: f64| {
        rounds += r;
        bits += b * times;
    };
    let each = 1.0 / n as f64;
    for digit in s.digits() {
        let steps = f64::from((1u32 << digit) - 1);
        pay(comparison::price(width, rows * n * steps as u64), steps);
        pay(to_word(ring_for(wc)), steps);
        pay(comparison::price(wc, rows * steps as u64), steps * each);
        pay(to_word(ring_for(width)), steps * each);
    }
    pay(comparison::price(width, 2 * rows * n), 2.0);
    pay(to_word(ring_for(wc)), 2.0);
    pay(comparison::price(wc, rows * n), 1.0);
    pay((1.0, 3.0), 1.0);
    (rounds, bits)
}
