//! Exponentials ([`crate::lower::t1::exponential`]) of which every message has a proof: nothing is dealt that only its
//! owner can compute. All bits of t are shared, each two neighbours u and v of them choose one of four factors, c0 + c1
//! u + c2 v + c3 u v, and a tree of products with 29 fraction bits (61 in words of 128) multiplies the factors.

use crate::lower::Emit;
use crate::lower::common::elementary::K;
use crate::lower::common::words;
use crate::lower::t1::exponential::Window;
use crate::lower::t1::{bits, truncation};
use slvr_circuit::{Op, ValueId};

/// factor e^-t for t in [0, T) with `frac` fraction bits.
pub(in crate::lower) fn by_bits(
    e: &mut Emit,
    t: ValueId,
    frac: u32,
    factor: f64,
    how: &Window,
) -> ValueId {
    let n = frac + how.whole;
    // Fraction bits of all factors, which are below 2: a product of two, and what a truncation adds, fits.
    let digits = how.ring / 2 - 3;
    let shared = bits::of_word(e, t, n);
    let unit = f64::from(digits).exp2();
    let mut factors = Vec::new();
    for i in (0..n).step_by(2) {
        let start = if i == 0 { factor } else { 1.0 };
        // e^-v - 1 of a bit, without what the difference would lose.
        let less = |j: u32| (-(f64::from(j) - f64::from(frac)).exp2()).exp_m1();
        let word = |x: f64| words::word((x * start * unit).round(), how.ring);
        let (planes, weights) = if i + 1 < n {
            let low = e.planes(shared, i, 1, 1);
            let high = e.planes(shared, i + 1, 1, 1);
            let both = e.multiply(low, high);
            let (u, v) = (less(i), less(i + 1));
            (e.stack(vec![low, high, both]), vec![word(u), word(v), word(u * v)])
        } else {
            (e.planes(shared, i, 1, 1), vec![word(less(i))])
        };
        let sum = bits::weighted(e, planes, &weights, how.ring);
        factors.push(e.add(Op::Offset(sum, word(1.0))));
    }
    while factors.len() > 1 {
        let last = factors.len() == 2;
        let cut = if last { 2 * digits - how.frac } else { digits };
        let joined = |pair: &[ValueId]| match *pair {
            [a, b] => {
                let product = e.multiply(a, b);
                truncation::exact(e, product, cut)
            }
            _ => pair[0],
        };
        factors = factors.chunks(2).map(joined).collect();
    }
    truncation::at_most(e, factors[0], K)
}
