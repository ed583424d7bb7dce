//! Selections ([`crate::lower::t1::selection`]) of which every message has a proof.

use super::{multi_and, one_hots};
use crate::lower::Emit;
use crate::lower::common::lookup;
use crate::lower::common::words::{one_minus_twice, raise, ring_for};
use crate::lower::t1::saturation::Ends;
use crate::lower::t1::{gates, selection, truncation};
use slvr_circuit::{Hold, Op, ValueId};

/// As [`Ends::cut`], where `most` is 2^top in the ring of x. Of replicated values all of it is exchanged at once, and
/// the words of the ends have as many bits as are left of 2^top times them.
pub fn cut(e: &mut Emit, x: ValueId, ends: &Ends, (top, most): (u32, u128)) -> Option<ValueId> {
    let (k, &Ends { inside, high, low }) = (e.ty(x).bits(), ends);
    if most == 0 {
        return Some(selection::inject(e, inside, x));
    }
    if [inside, x, high].into_iter().chain(low).any(|v| e.ty(v).hold == Hold::Public) {
        return None;
    }
    let sum = selection::injected(e, inside, x);
    let high = raised(e, high, k, top);
    let mut sum = e.add(Op::Add(sum, high));
    if let Some(low) = low {
        let low = raised(e, low, k, top);
        sum = e.add(Op::Sub(sum, low));
    }
    Some(e.add(Op::ReshareTwo(sum)))
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

/// The entry that the label marks, as a sum of products, where that takes less time than an inner product: the owner of
/// a product of each entry knows its part ahead, and so that of their sum. More bits, and a round less.
pub fn marked(e: &mut Emit, z: ValueId, label: ValueId, [n, classes]: [u64; 2]) -> Option<ValueId> {
    let tuning = e.target.masked()?;
    let bits = f64::from(3 * e.ty(z).bits()) * (classes - 1) as f64;
    (tuning.time(0.0, bits, n) <= tuning.time(1.0, 0.0, 0)).then(|| {
        let [left, right] = [z, label].map(|x| e.add(Op::Reshape(x, vec![n, classes])));
        let x = e.multiply(left, right);
        e.add(Op::Sum { x, axes: vec![1] })
    })
}

/// Whether no number of each row is negative, from a table, or in family T2 by products of several bits at once.
pub fn none_negative(e: &mut Emit, x: ValueId, width: u32, word: Option<u32>) -> Option<ValueId> {
    let [n, classes] = e.ty(x).shape[..] else { return None };
    let from_table = one_hots::pays(e, classes, n, word.unwrap_or(1), false);
    let is_product = e.target.masked().is_some() && classes <= multi_and::MOST_PLANES.into();
    (from_table || is_product).then(|| {
        let good = selection::not_negative(e, x, width);
        let good = e.add(Op::ToPlanes(good));
        if !from_table {
            return gates::all_planes(e, good);
        }
        let parts = (e.add(Op::Own(good)), e.add(Op::Dup(good)));
        one_hots::entry(e, parts, &lookup::all_ones(classes as u32), word, None)
    })
}

/// As [`selection::negative_word`], of a secret number.
pub fn negative_word(
    e: &mut Emit,
    x: ValueId,
    w: u32,
    k: u32,
    times: Option<ValueId>,
) -> Option<ValueId> {
    one_hots::pays(e, w.into(), e.ty(x).elements(), k, times.is_some()).then(|| {
        let x = truncation::at_most(e, x, ring_for(w));
        let parts = (e.add(Op::Own(x)), e.add(Op::Dup(x)));
        let table: Vec<bool> = (0..1u32 << w).map(|v| v >> (w - 1) == 1).collect();
        one_hots::entry(e, parts, &table, Some(k), times)
    })
}
