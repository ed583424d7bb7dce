//! Selection: bit injection, bits to words, and the test `argmax(z) == label`.
//!
//! A shared bit c is split like a word: c = u xor v, u known to one party, v to the other two. Then
//! c = u + v - 2 u v, and products of what one party knows with what the other two know need one
//! `deal` and one `reshare_two` (docs/src/protocols.md "Bit injection").
//!
//! | macro | rounds | bits in all |
//! |---|---|---|
//! | [`to_word`] | 2 | 3 k |
//! | [`inject`] | 2 | 4 k |
//! | [`negative_word`], w bits | 2 | 2^w k (deal; twice that with a factor) + 2 k (reshare_two) |
//!
//! **Simulation.** Every message is a `deal` or a `reshare_two`, uniform to its receiver; nothing is opened.

use super::{comparison, gates, truncation};
use crate::lower::common::labels::beyond;
use crate::lower::common::lookup;
use crate::lower::common::masked;
use crate::lower::common::words::{one_minus_twice, ring_for};
use crate::lower::{Emit, Target, malicious};
use slvr_circuit::{Hold, Op, ValueId};
use slvr_graph::analysis::truth_tables::MOST_BITS;

/// A bit as a word of Z_2^k.
pub fn to_word(e: &mut Emit, c: ValueId, k: u32) -> ValueId {
    if e.ty(c).hold == Hold::Public {
        return e.add(Op::FromBits(c, k));
    }
    let u = e.add(Op::Own(c));
    let u = e.add(Op::FromBits(u, k));
    let v = e.add(Op::Dup(c));
    let v = e.add(Op::FromBits(v, k));
    let u = e.add(Op::Deal(u));
    let sign = one_minus_twice(e, v, k);
    let t = e.add(Op::Mul(u, sign));
    let t = e.add(Op::Add(t, v));
    e.add(Op::ReshareTwo(t))
}

/// c x for a shared bit c and a shared word x of the same shape:
/// c x = v x + (1 - 2 v)(u a + u b), with x = a + b.
pub fn inject(e: &mut Emit, c: ValueId, x: ValueId) -> ValueId {
    let k = e.ty(x).bits();
    if e.ty(c).hold == Hold::Public || e.ty(x).hold == Hold::Public {
        let word = to_word(e, c, k);
        return e.add(Op::Mul(word, x));
    }
    let t = injected(e, c, x);
    e.add(Op::ReshareTwo(t))
}

/// [`inject`] before the exchange.
pub fn injected(e: &mut Emit, c: ValueId, x: ValueId) -> ValueId {
    let k = e.ty(x).bits();
    let u = e.add(Op::Own(c));
    let u = e.add(Op::FromBits(u, k));
    let v = e.add(Op::Dup(c));
    let v = e.add(Op::FromBits(v, k));
    let a = e.add(Op::Own(x));
    let b = e.add(Op::Dup(x));
    let ua = e.add(Op::Mul(u, a));
    let u = e.add(Op::Deal(u));
    let ua = e.add(Op::Deal(ua));
    let ub = e.add(Op::Mul(u, b));
    let ux = e.add(Op::Add(ua, ub));
    let sign = one_minus_twice(e, v, k);
    let flipped = e.add(Op::Mul(ux, sign));
    let whole = e.add(Op::AsAdd2(x));
    let kept = e.add(Op::Mul(whole, v));
    e.add(Op::Add(kept, flipped))
}

/// 1 where the first largest entry of z along the last axis is the one that the one-hot label marks: z_y >= z_j for
/// every j, and strictly for j < y. With g_j = 1 where y > j, which is linear in the label, that is z_y - z_j - g_j >=
/// 0 in raw words: one inner product, C comparisons beside one another, and a tree of ands, or, of few classes and
/// elements, a table of all their bits. No index is formed. `width` bits hold every margin. The result is a bit, or a
/// word of Z_2^k.
pub fn argmax_is(
    e: &mut Emit,
    z: ValueId,
    label: ValueId,
    width: u32,
    word: Option<u32>,
) -> ValueId {
    let (mut outer, k) = (e.ty(z).shape.clone(), e.ty(z).bits());
    let classes = outer.pop().unwrap_or(1);
    let n: u64 = outer.iter().product();
    let own = malicious::selection::marked(e, z, label, [n, classes]).unwrap_or_else(|| {
        let [left, right] = [z, label].map(|x| e.add(Op::Reshape(x, vec![n, 1, classes])));
        let own = e.add(Op::MatMul { a: left, b: right, trans_b: true });
        if e.ty(own).hold == Hold::Add3 { e.add(Op::Reshare(own)) } else { own }
    });
    let own = e.add(Op::Reshape(own, vec![n, 1]));
    let beyond = beyond(e, label, n, classes, k);
    let others = e.add(Op::Reshape(z, vec![n, classes]));
    let margin = e.add(Op::Sub(own, others));
    let margin = e.add(Op::Sub(margin, beyond));
    let at_once = match e.target {
        _ if e.ty(margin).hold == Hold::Public => None,
        Target::SemiHonest(_) => looked_up(e, margin, width, word),
        Target::Malicious(_) => malicious::selection::none_negative(e, margin, width, word),
    };
    let hit = at_once.unwrap_or_else(|| {
        // Classes first, as the tree takes them.
        let margin = e.add(Op::Transpose(margin, vec![1, 0]));
        let good = not_negative(e, margin, width);
        gates::and_rows(e, good)
    });
    let hit = e.add(Op::Reshape(hit, outer));
    match word {
        Some(k) if e.ty(hit).dom.is_bits() => to_word(e, hit, k),
        _ => hit,
    }
}

/// 1 where x >= 0.
pub fn not_negative(e: &mut Emit, x: ValueId, width: u32) -> ValueId {
    let negative = comparison::negative(e, x, width);
    e.add(Op::Not(negative))
}

/// Whether no number of each row is negative, from a table, if it is small.
fn looked_up(e: &mut Emit, x: ValueId, width: u32, word: Option<u32>) -> Option<ValueId> {
    let [n, classes] = e.ty(x).shape[..] else { return None };
    is_small_table(classes, n, word.unwrap_or(1)).then(|| {
        let good = not_negative(e, x, width);
        let good = masked::split(e, good, 1);
        let good = masked::to_planes(e, &good);
        let hit = lookup::lookup(e, &good, &lookup::all_ones(classes as u32), word);
        e.add(Op::ReshareTwo(hit.add2))
    })
}

/// 1 where x < 0, for |x| < 2^(w-1), as a word of Z_2^k in one step, where tables of 2^w words are few; times
/// a word y = a + b, if there is one: the owner deals its table times a, too.
pub fn negative_word(
    e: &mut Emit,
    x: ValueId,
    w: u32,
    k: u32,
    times: Option<ValueId>,
) -> Option<ValueId> {
    if e.ty(x).hold == Hold::Public {
        return None;
    }
    if let Target::Malicious(_) = e.target {
        return malicious::selection::negative_word(e, x, w, k, times);
    }
    if !is_small_table(w.into(), e.ty(x).elements(), k) {
        return None;
    }
    let x = truncation::at_most(e, x, ring_for(w));
    let x = masked::split(e, x, 1);
    let data = (0..1u128 << w).map(|v| v >> (w - 1)).collect();
    let table = e.constant(false, k, &[1 << w], data);
    let own = e.add(Op::Table { x: x.own, table });
    let entry = |e: &mut Emit, own| {
        let table = e.add(Op::Deal(own));
        e.add(Op::Entry { table, index: x.dup })
    };
    let chosen = entry(e, own);
    let Some(y) = times else { return Some(e.add(Op::ReshareTwo(chosen))) };
    let y = masked::split(e, y, 1);
    let column = [&e.ty(y.own).shape[..], &[1]].concat();
    let a = e.add(Op::Reshape(y.own, column));
    let with_a = e.add(Op::Mul(own, a));
    let with_a = entry(e, with_a);
    let with_b = e.add(Op::Mul(chosen, y.dup));
    let sum = e.add(Op::Add(with_a, with_b));
    Some(e.add(Op::ReshareTwo(sum)))
}

/// Whether tables of 2^bits entries of so many bits, one for each element, are small beside the rounds that
/// they save: at most half a megabyte.
fn is_small_table(bits: u64, elements: u64, entry: u32) -> bool {
    (2..=MOST_BITS as u64).contains(&bits)
        && (u64::from(entry) << bits).saturating_mul(elements) <= comparison::ROUND_IN_TABLE_BITS
}
