//! e^x from the two parts of the split, and tanh x, which is made of it.
//!
//! **Functionality.** [`non_positive`]: e^x for x <= 0 (and rounding errors above), 0 below -11.875;
//! [`any`]: e^x, 0 below -11.875, 2^29 above 29 ln 2 ([`slvr_graph::graph::domain`]); [`tanh`]: tanh x, 1 or -1 for
//! |x| >= 8.
//!
//! **Protocol** (derived for this project). Let t in [0, T) with T = 2^i, n = i + frac raw bits, and
//! t = a + b modulo 2 T with a known to one party and b to the other two; a = a' + T h_a with a' < T,
//! and so b. Then a' + b' is t if h_a = h_b, and t + T if not. So with F(v) = e^(T/2 - v)
//!
//! ```text
//! e^-t = F(a') F(b') e^-T   if h_a = h_b,     F(a') F(b')   if not.
//! ```
//!
//! The owner of a computes F(a') locally and deals it twice, gated by h_a and by its complement; the
//! other two multiply by their factor for either case, which h_b chooses, and exchange once; the
//! product is truncated. Beside it, the sign of x + 11.875 (and of 29 ln 2 - x) gates the result.
//!
//! **Local exponentials** are products in Z_2^128 over the bits of v, and a Taylor polynomial for
//! those below 2^-4, with 62 fraction bits or more and 42 significant ones per factor.
//!
//! | macro | T | ring | rounds | bits in all | error |
//! |---|---|---|---|---|---|
//! | [`non_positive`] | 16 | 64 | 8 | 512, a sign, an injection (256) | 1.5 ulp |
//! | [`any`] | 32 | 128 | 9 | 1024, two signs, an injection, a bit to word | 1.5 ulp, and 2^-30 relative |
//! | [`tanh`] | 16, twice | 64 | 21 | 5415 | 1.5 ulp |
//!
//! The error of the first two also has half a unit of what is cut below -11.875. Public operands: local.
//!
//! **Hyperbolic tangent.** With t = e^(-2|x|), tanh |x| = (1 - t) / (1 + t), a polynomial of degree 8 in t,
//! 3 products deep. Both e^(-2x) and e^(2x) are computed while three signs are: that of x, and whether |x| is
//! below 8 on either side. One of the two exponentials is kept, or none, and then t = 0 and the polynomial is
//! exactly 1. At the end, the sign of x is injected. Error: 1 ulp of the last truncation, 0.03 ulp of the
//! polynomial, and 0.37 ulp because the factors of t are rounded: 2^-30 e^8 at most in t, and the slope of the
//! polynomial is at most 2.
//!
//! **Simulation.** Every message is a `deal`, a `reshare_two` or part of a truncation or sign, each
//! uniform to its receiver; nothing is opened.

use super::{comparison, selection, truncation};
use crate::lower::common::elementary::K;
use crate::lower::common::words;
use crate::lower::{Emit, Target, malicious};
use slvr_circuit::{Hold, Op, ValueId};
use slvr_graph::graph::domain;
use std::f64::consts::{LN_2, LOG2_E};

/// Fraction bits of local exponentials.
const LOCAL: u32 = 62;
/// Significant bits of a factor: with T = 32 the product has 86 more.
const FACTOR: u32 = 42;

/// Coefficients of (1 - t) / (1 + t) - 1, from t to t^8, for t in 0..1.
const TANH: [f64; 8] = [
    -1.9999536305,
    1.9983496952,
    -1.9796367701,
    1.8750646525,
    -1.5540899885,
    0.9831410348,
    -0.3965683298,
    0.0736937484,
];

/// The window 0 <= t < T in which an exponential is made of the two parts of t.
pub(crate) struct Window {
    /// T = 2^whole.
    pub whole: u32,
    /// Fraction bits of the two factors that are multiplied: of the one that the owner of a deals, and of the
    /// other. In the ring their sum is below the modulus by two bits.
    pub scales: (u32, u32),
    /// Ring in which they are.
    pub ring: u32,
    /// Fraction bits of the result.
    pub frac: u32,
}

/// Below 2^126, exact where the number is.
fn wide(x: f64) -> u128 {
    x.round() as u128
}

/// start e^-v for v the low n bits of x, with `frac` fraction bits; the result has `fraction`.
fn local(e: &mut Emit, x: ValueId, (n, frac): (u32, u32), start: f64, fraction: u32) -> ValueId {
    let word = |e: &mut Emit, lo: u32, w: u32| {
        let bits = e.add(Op::ToBits { x, lo, w });
        e.add(Op::FromBits(bits, 128))
    };
    let low = frac.saturating_sub(4).max(1);
    let v = word(e, 0, low);
    // Horner from the term v^7 / 7! on: below 2^-47 is left out.
    let unit = f64::from(FACTOR).exp2();
    let coefficient = |k: u32| wide(unit / (1..=k).map(f64::from).product::<f64>());
    let mut sum = e.add(Op::Scale(v, coefficient(7)));
    for k in (0..7).rev() {
        let term = e.add(Op::Shr(sum, frac));
        let term = e.add(Op::Neg(term));
        sum = e.add(Op::Offset(term, coefficient(k)));
        if k > 0 {
            sum = e.add(Op::Mul(v, sum));
        }
    }
    let product = e.add(Op::Scale(sum, wide(start * f64::from(fraction).exp2())));
    let mut product = e.add(Op::Shr(product, FACTOR));
    for i in low..n {
        let bit = word(e, i, 1);
        let exponent = (f64::from(i) - f64::from(frac)).exp2();
        // As many fraction bits as give the factor FACTOR significant ones.
        let digits = FACTOR + (exponent * LOG2_E) as u32;
        let factor = wide((-exponent).exp() * f64::from(digits).exp2());
        let next = e.add(Op::Scale(product, factor));
        let next = e.add(Op::Shr(next, digits));
        let loss = e.add(Op::Sub(product, next));
        let loss = e.add(Op::Mul(bit, loss));
        product = e.add(Op::Sub(product, loss));
    }
    product
}

/// From `digits` to `scale` fraction bits, rounded, in a ring.
fn rounded(e: &mut Emit, x: ValueId, digits: u32, scale: u32, ring: u32) -> ValueId {
    let x = match digits.checked_sub(scale) {
        None => e.add(Op::Scale(x, 1 << (scale - digits))),
        Some(0) => x,
        Some(by) => {
            let half = e.add(Op::Offset(x, 1 << (by - 1)));
            e.add(Op::Shr(half, by))
        }
    };
    if ring == 128 { x } else { e.add(Op::Narrow(x, ring)) }
}

/// factor e^-t for t in [0, T) with `frac` fraction bits.
fn windowed(e: &mut Emit, t: ValueId, frac: u32, factor: f64, how: &Window) -> ValueId {
    if e.ty(t).hold == Hold::Public {
        let n = frac + how.whole;
        let product = local(e, t, (n, frac), factor, LOCAL);
        return rounded(e, product, LOCAL, how.frac, K);
    }
    if let Target::Malicious(_) = e.target {
        return malicious::exponential::by_bits(e, t, frac, factor, how);
    }
    let a = e.add(Op::Own(t));
    let b = e.add(Op::Dup(t));
    let [own_zero, own_one, for_zero, for_one] = factors(e, [a, b], frac, factor, how);
    let own_one = e.add(Op::Deal(own_one));
    let own_zero = e.add(Op::Deal(own_zero));
    let zero = e.add(Op::Mul(own_zero, for_zero));
    let one = e.add(Op::Mul(own_one, for_one));
    let product = e.add(Op::Add(zero, one));
    let product = e.add(Op::ReshareTwo(product));
    let done = truncation::exact(e, product, how.scales.0 + how.scales.1 - how.frac);
    if how.ring == K { done } else { e.add(Op::Narrow(done, K)) }
}

/// Of the parts of t: what the owner of a deals for h_a = 0 and for h_a = 1, and what the others multiply
/// the two by.
pub(crate) fn factors(
    e: &mut Emit,
    [a, b]: [ValueId; 2],
    frac: u32,
    factor: f64,
    how: &Window,
) -> [ValueId; 4] {
    let n = frac + how.whole;
    let whole = f64::from(how.whole).exp2();
    let top = |e: &mut Emit, x: ValueId| {
        let bit = e.add(Op::ToBits { x, lo: n, w: 1 });
        e.add(Op::FromBits(bit, how.ring))
    };
    let (own_scale, scale) = how.scales;
    let own = local(e, a, (n, frac), (whole / 2.0).exp(), LOCAL);
    let own = rounded(e, own, LOCAL, own_scale, how.ring);
    let top_a = top(e, a);
    let own_one = e.add(Op::Mul(top_a, own));
    let own_zero = e.add(Op::Sub(own, own_one));

    let side = |e: &mut Emit, start: f64, digits: u32| {
        let x = local(e, b, (n, frac), start, digits);
        rounded(e, x, digits, scale, how.ring)
    };
    let differ = side(e, factor * (whole / 2.0).exp(), LOCAL);
    // This one is small, and multiplied by what may be large.
    let same = side(e, factor * (-whole / 2.0).exp(), LOCAL.max(scale + 10));
    let top_b = top(e, b);
    // For h_a = 0: `same` if h_b = 0; for h_a = 1 the other way round.
    let gap = e.add(Op::Sub(differ, same));
    let gap = e.add(Op::Mul(top_b, gap));
    let for_zero = e.add(Op::Add(same, gap));
    let for_one = e.add(Op::Sub(differ, gap));
    [own_zero, own_one, for_zero, for_one]
}

/// 1 where x < -11.875.
fn vanishes(e: &mut Emit, x: ValueId, frac: u32) -> ValueId {
    let above = -domain::EXP_LOW * f64::from(frac).exp2();
    let shifted = e.add(Op::Offset(x, wide(above)));
    comparison::negative(e, shifted, K)
}

/// e^x for x <= 0, with the fraction bits of x.
pub fn non_positive(e: &mut Emit, x: ValueId, frac: u32) -> ValueId {
    // Moved by 1/4, so that an x that rounding made a few units positive still is inside.
    const MARGIN: f64 = 0.25;
    let t = e.add(Op::Neg(x));
    let t = e.add(Op::Offset(t, wide(MARGIN * f64::from(frac).exp2())));
    let how = Window { whole: 4, scales: (29, 29), ring: 64, frac };
    let value = windowed(e, t, frac, MARGIN.exp(), &how);
    let gone = vanishes(e, x, frac);
    let keep = e.add(Op::Not(gone));
    selection::inject(e, keep, value)
}

/// e^x, with the fraction bits of x.
pub fn any(e: &mut Emit, x: ValueId, frac: u32) -> ValueId {
    // e^x = 2^29 e^-(29 ln 2 - x); the constant's rounding goes into the factor. It is rounded down: the largest x for
    // which e^x is at most 2^29, as every larger one saturates.
    let unit = f64::from(frac).exp2();
    let top = (f64::from(domain::EXP_TOP) * LN_2 * unit).floor();
    let t = e.add(Op::Neg(x));
    let t = e.add(Op::Offset(t, wide(top)));
    // The larger factor is at most e^16 < 2^24. The first is off by 2^-55, of a product near 1 by 2^-31 of it; the
    // second by 2^-71, of a product near 0 by 2^-47, which is 2^-18 of the result.
    let how = Window { whole: 5, scales: (54, 70), ring: 128, frac: frac + domain::EXP_TOP };
    let factor = (top / unit - f64::from(domain::EXP_TOP) * LN_2).exp();
    let value = windowed(e, t, frac, factor, &how);
    let gone = vanishes(e, x, frac);
    let over = comparison::negative(e, t, K);
    // Never both.
    let outside = e.add(Op::Add(gone, over));
    let keep = e.add(Op::Not(outside));
    let value = selection::inject(e, keep, value);
    let over = selection::to_word(e, over, K);
    let saturated = e.add(Op::Scale(over, 1 << (frac + domain::EXP_TOP)));
    e.add(Op::Add(value, saturated))
}

/// tanh x, with the fraction bits of x, for |x| < 2^bits raw.
pub fn tanh(e: &mut Emit, x: ValueId, frac: u32, bits: u32) -> ValueId {
    // Fraction bits of t and its powers, and of the coefficients.
    const POWER: u32 = 28;
    const COEFFICIENT: u32 = 26;
    let how = Window { whole: 4, scales: (29, 29), ring: K, frac: POWER };
    // |x| < 8, and 2|x| < 16 is |x| with one fraction bit less.
    let top = frac - 1 + how.whole;
    let width = if bits > top { (bits + 2).min(K) } else { bits + 1 };
    let negative = comparison::negative(e, x, width);
    let positive = e.add(Op::Not(negative));
    let minus = e.add(Op::Neg(x));
    let sides = [(x, positive, negative), (minus, negative, positive)];
    let [above, below] = sides.map(|(side, own, other)| {
        let t = windowed(e, side, frac - 1, 1.0, &how);
        let keep = if bits > top {
            // What is on the other side is below 8.
            let less = e.add(Op::Offset(side, words::word(-f64::from(top).exp2(), K)));
            let less = comparison::negative(e, less, width);
            e.add(Op::Add(less, other))
        } else {
            own
        };
        selection::inject(e, keep, t)
    });
    let t = e.add(Op::Add(above, below));
    // powers[k - 1] is t^k.
    let mut powers = vec![t];
    for k in 2..=TANH.len() {
        let product = e.multiply(powers[k / 2 - 1], powers[k.div_ceil(2) - 1]);
        powers.push(truncation::truncate(e, product, POWER));
    }
    let unit = f64::from(COEFFICIENT).exp2();
    let terms = powers.into_iter().zip(TANH);
    let terms: Vec<ValueId> = terms
        .map(|(power, c)| e.add(Op::Scale(power, words::word((c * unit).round(), K))))
        .collect();
    let sum = terms.into_iter().reduce(|sum, term| e.add(Op::Add(sum, term))).unwrap_or(t);
    let sum = e.add(Op::Offset(sum, 1 << (POWER + COEFFICIENT)));
    let size = truncation::truncate(e, sum, POWER + COEFFICIENT - frac);
    let twice = selection::inject(e, negative, size);
    let twice = e.add(Op::Scale(twice, 2));
    e.add(Op::Sub(size, twice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomial_of_the_tangent_is_close() {
        for i in 0..=1000 {
            let t = f64::from(i) / 1000.0;
            let sum = TANH.iter().rev().fold(0.0, |sum, c| (sum + c) * t) + 1.0;
            assert!((sum - (1.0 - t) / (1.0 + t)).abs() < 5e-7, "{sum} for {t}");
        }
    }
}
