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

use super::{comparison, gates, one_hots};
use crate::lower::Emit;
use crate::lower::common::labels::beyond;
use crate::lower::common::lookup;
use crate::lower::common::masked;
use crate::lower::common::words::{one_minus_twice, raise, ring_for};
use slvr_circuit::{Dom, Hold, Op, Type, ValueId, low_mask};
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
fn injected(e: &mut Emit, c: ValueId, x: ValueId) -> ValueId {
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

/// What is left of a value that is cut at both ends, which are `most` = 2^top from 0: x where it is `inside`, `most` where it
/// is `high`, and -`most` where it is `low`. If x has no bits that 2^top reaches, the cut is superfluous, and nothing is at an end.
///
/// Against a malicious party all of it is exchanged at once, and the words of the ends have as many bits as are left of
/// 2^top times them.
pub fn cut(
    e: &mut Emit,
    (inside, x): (ValueId, ValueId),
    high: ValueId,
    low: Option<ValueId>,
    top: u32,
) -> ValueId {
    let k = e.ty(x).bits();
    let most = 1u128.checked_shl(top).unwrap_or(0) & low_mask(k);
    if e.proven && most == 0 {
        return inject(e, inside, x);
    }
    let all = [inside, x, high].into_iter().chain(low);
    let public = all.into_iter().any(|v| e.ty(v).hold == Hold::Public);
    if !e.proven || public {
        let inner = inject(e, inside, x);
        let low = low.map(|low| to_word(e, low, k));
        let high = to_word(e, high, k);
        let outer = low.map_or(high, |low| e.add(Op::Sub(high, low)));
        let outer = e.add(Op::Scale(outer, most));
        return e.add(Op::Add(inner, outer));
    }
    let mut sum = injected(e, inside, x);
    let high = raised(e, high, k, top);
    sum = e.add(Op::Add(sum, high));
    if let Some(low) = low {
        let low = raised(e, low, k, top);
        sum = e.add(Op::Sub(sum, low));
    }
    e.add(Op::ReshareTwo(sum))
}

/// 2^shift c as a word of Z_2^k, before the exchange.
fn raised(e: &mut Emit, c: ValueId, k: u32, shift: u32) -> ValueId {
    let u = e.add(Op::Own(c));
    let u = e.add(Op::FromBits(u, ring_for((k - shift).max(8))));
    let u = e.add(Op::Deal(u));
    let u = raise(e, u, k, shift);
    let v = e.add(Op::Dup(c));
    let v = e.add(Op::FromBits(v, k));
    let sign = one_minus_twice(e, v, k);
    let t = e.add(Op::Mul(u, sign));
    let v = e.add(Op::Scale(v, 1 << shift));
    e.add(Op::Add(t, v))
}

/// 1 where the first largest entry of z along the last axis is the one that the one-hot label
/// marks: z_y >= z_j for every j, and strictly for j < y. With g_j = 1 where y > j, which is linear
/// in the label, that is z_y - z_j - g_j >= 0 in raw words: one inner product, or products that are added up where that saves a
/// round, C comparisons beside one another, and a tree of ands, or, of few classes and elements, a table of all their bits. No index is
/// formed. `width` bits hold every margin. The result is a bit, or a word of Z_2^k.
pub fn argmax_is(
    e: &mut Emit,
    z: ValueId,
    label: ValueId,
    width: u32,
    word: Option<u32>,
) -> ValueId {
    let k = e.ty(z).bits();
    let shape = e.ty(z).shape.clone();
    let classes = shape.last().copied().unwrap_or(1);
    let outer: Vec<u64> = shape[..shape.len() - 1].to_vec();
    let n: u64 = outer.iter().product();

    // The owner of a product of each entry knows its part ahead, and so that of their sum: more bits, and a round less.
    let apart = e.ahead.is_some_and(|tuning| {
        tuning.time(0.0, f64::from(3 * k) * (classes - 1) as f64, n) <= tuning.time(1.0, 0.0, 0)
    });
    let own = if apart {
        let [left, right] = [z, label].map(|x| e.add(Op::Reshape(x, vec![n, classes])));
        let own = e.multiply(left, right);
        e.add(Op::Sum { x: own, axes: vec![1] })
    } else {
        let [left, right] = [z, label].map(|x| e.add(Op::Reshape(x, vec![n, 1, classes])));
        let own = e.add(Op::MatMul { a: left, b: right, trans_b: true });
        if e.ty(own).hold == Hold::Add3 { e.add(Op::Reshare(own)) } else { own }
    };
    let own = e.add(Op::Reshape(own, vec![n, 1]));

    let beyond = beyond(e, label, n, classes, k);
    let others = e.add(Op::Reshape(z, vec![n, classes]));
    let margin = e.add(Op::Sub(own, others));
    let margin = e.add(Op::Sub(margin, beyond));
    let secret = e.ty(margin).hold != Hold::Public;
    if secret && is_small_table(e, classes, n, word.unwrap_or(1), false) {
        let worse = comparison::negative(e, margin, width);
        let good = e.add(Op::Not(worse));
        let all = lookup::all_ones(classes as u32);
        let hit = if e.proven {
            let good = e.add(Op::ToPlanes(good));
            let parts = (e.add(Op::Own(good)), e.add(Op::Dup(good)));
            one_hots::entry(e, parts, &all, word, None)
        } else {
            let good = masked::split(e, good, 1);
            let good = masked::to_planes(e, &good);
            let hit = lookup::lookup(e, &good, &all, word);
            e.add(Op::ReshareTwo(hit.add2))
        };
        return e.add(Op::Reshape(hit, outer));
    }
    if e.ahead.is_some() && secret && classes <= gates::MOST_PLANES.into() {
        let worse = comparison::negative(e, margin, width);
        let good = e.add(Op::Not(worse));
        let good = e.add(Op::ToPlanes(good));
        let good = gates::all_planes(e, good);
        let good = e.add(Op::Reshape(good, outer));
        return match word {
            Some(k) => to_word(e, good, k),
            None => good,
        };
    }
    // Classes first, as the tree takes them.
    let margin = e.add(Op::Transpose(margin, vec![1, 0]));
    let worse = comparison::negative(e, margin, width);
    let good = e.add(Op::Not(worse));
    let good = gates::and_rows(e, good);
    debug_assert_eq!(*e.ty(good), Type::new(e.ty(good).hold, Dom::Bits(1), vec![1, n]));
    let good = e.add(Op::Reshape(good, outer));
    match word {
        Some(k) => to_word(e, good, k),
        None => good,
    }
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
    if e.ty(x).hold == Hold::Public
        || !is_small_table(e, w.into(), e.ty(x).elements(), k, times.is_some())
    {
        return None;
    }
    let ring = ring_for(w);
    let x = if ring < e.ty(x).bits() { e.add(Op::Narrow(x, ring)) } else { x };
    if e.proven {
        let parts = (e.add(Op::Own(x)), e.add(Op::Dup(x)));
        let table: Vec<bool> = (0..1u32 << w).map(|v| v >> (w - 1) == 1).collect();
        return Some(one_hots::entry(e, parts, &table, Some(k), times));
    }
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
/// they save: at most half a megabyte where they are dealt, fewer where their owner proves its position ([`one_hots`]).
fn is_small_table(e: &Emit, bits: u64, elements: u64, entry: u32, times: bool) -> bool {
    let small = (2..=MOST_BITS as u64).contains(&bits);
    if e.proven {
        return small && one_hots::pays(e, bits, elements, entry, times);
    }
    small && (u64::from(entry) << bits).saturating_mul(elements) <= comparison::ROUND_IN_TABLE_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of public bits and words a cut is local, and ends beyond the ring are left out, as 2^top is 0 there.
    #[test]
    fn cuts_of_public_values_and_superfluous_ones_are_made() {
        for proven in [false, true] {
            let mut e = Emit::default();
            e.proven = proven;
            let mut input = |secret, dom| e.input(secret, dom, vec![4]);
            let [x, word] = [true, false].map(|secret| input(secret, Dom::Ring(32)));
            let [c, bit] = [true, false].map(|secret| input(secret, Dom::Bits(1)));
            let public = cut(&mut e, (bit, word), bit, Some(bit), 5);
            assert_eq!(e.ty(public).hold, Hold::Public);
            for (c, x) in [(c, word), (bit, x)] {
                let mixed = cut(&mut e, (c, x), c, None, 5);
                assert_eq!(e.ty(mixed).hold, Hold::Rep);
            }
            for top in [32, 51, 200] {
                let kept = cut(&mut e, (c, x), c, Some(c), top);
                assert_eq!(*e.ty(kept), Type::new(Hold::Rep, Dom::Ring(32), [4]), "{top}");
                assert!(!proven || kept == inject(&mut e, c, x));
            }
        }
    }
}
