//! Words of Z_2^k: which ring holds how many bits, local steps on words of any holding, and shapes.

use crate::lower::Emit;
use slvr_circuit::low_mask;
use slvr_circuit::{Op, ValueId, lead};

/// Smallest ring width that holds `bits` bits.
pub fn ring_for(bits: u32) -> u32 {
    [8, 16, 32, 64, 128].into_iter().find(|&k| k >= bits).unwrap_or(128)
}

/// Bits of a number.
pub(crate) fn bits_for(n: u64) -> u32 {
    64 - n.leading_zeros()
}

/// A whole number as a word of Z_2^k.
pub(crate) fn word(x: f64, k: u32) -> u128 {
    (x as i128) as u128 & low_mask(k)
}

/// So many parts of n, the first as large as any.
pub(crate) fn even(n: u32, parts: u32) -> Vec<u32> {
    (0..parts).map(|i| n / parts + u32::from(i < n % parts)).collect()
}

/// 1 - 2 v.
pub(crate) fn one_minus_twice(e: &mut Emit, v: ValueId, k: u32) -> ValueId {
    let minus = e.add(Op::Scale(v, 2u128.wrapping_neg() & low_mask(k)));
    e.add(Op::Offset(minus, 1))
}

/// a + b or a - b, where none is 0.
pub(crate) fn sum_of(
    e: &mut Emit,
    a: Option<ValueId>,
    b: Option<ValueId>,
    minus: bool,
) -> Option<ValueId> {
    match (a, b) {
        (Some(a), Some(b)) => Some(e.add(if minus { Op::Sub(a, b) } else { Op::Add(a, b) })),
        (None, Some(b)) if minus => Some(e.add(Op::Neg(b))),
        (a, b) => a.or(b),
    }
}

/// 2^shift x in Z_2^to, of a word of a ring of at least `to - shift` bits.
pub fn raise(e: &mut Emit, x: ValueId, to: u32, shift: u32) -> ValueId {
    let own = e.ty(x).bits();
    let (x, more) = if own < to {
        // Raising multiplies by 2^(to - own), and own >= to - shift.
        (e.add(Op::Raise(x, to)), shift + own - to)
    } else {
        (x, shift)
    };
    if more > 0 { e.add(Op::Scale(x, (1u128 << more) & low_mask(to))) } else { x }
}

/// (not msb a)(not msb b) in Z_2^ring, a known to the owner and b to the other two: before the exchange of these.
pub fn no_wrap(e: &mut Emit, a: ValueId, b: ValueId, ring: u32) -> ValueId {
    let lo = e.ty(a).bits() - 1;
    let not_top = |e: &mut Emit, x| {
        let top = e.add(Op::ToBits { x, lo, w: 1 });
        let top = e.add(Op::Not(top));
        e.add(Op::FromBits(top, ring))
    };
    let (u, v) = (not_top(e, a), not_top(e, b));
    let u = e.add(Op::Deal(u));
    e.add(Op::Mul(u, v))
}

/// A shape that is repeated along the leading axis of a result that has its rank.
pub fn aligned(shape: &[u64], out: &[u64]) -> Vec<u64> {
    let mut shape = shape.to_vec();
    let axis = lead(out);
    if let (true, Some(size)) = (shape.len() == out.len(), shape.get_mut(axis)) {
        *size = out[axis];
    }
    shape
}
