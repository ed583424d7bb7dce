//! Reciprocal, square root, logarithm and quotient, on operands of any size in their domain
//! ([`crate::graph::domain`]).
//!
//! **Normalisation.** The operand's bits ([`bits::of_word`]) give the position j of its top bit
//! one-hot, and with it any table of j as a word ([`bits::weighted`]): u = y 2^-(j+1) lies in [1/2,
//! 1], and every function of y is one of u times or plus a table of j.
//!
//! **Polynomial.** The function of u is its Chebyshev series of degree 8 in w = 4 u - 3, in [-1, 1];
//! T_2, then T_3 and T_4, then T_5 to T_8 by T_(a+b) = 2 T_a T_b - T_|a-b|: 3 products deep, 29
//! fraction bits. The series is off by 5e-7 (1 / u), 3e-9 (sqrt u), 4e-8 (ln u).
//!
//! | macro, 16 fraction bits | rounds | bits in all | error |
//! |---|---|---|---|
//! | [`recip`] | 33 | 7065 | 1 ulp and 2^-20 relative |
//! | [`divide`] | 35 | 7945, for equal divisors 448 per dividend | 1 ulp and 2^-20 + abs y 2^-34 relative |
//! | [`sqrt`] | 34 | 8825 | 1 ulp and 2^-23 relative |
//! | [`log`] | 31 | 8569 | 1.5 ulp |
//!
//! One round less for the first, third and fourth if the operand cannot be negative.
//! With an operand of fewer bits known by its range, rounds are fewer: position and carry cost
//! ceil(log2) of the number of bits each, and every candidate position 64 bits. On public operands
//! everything is local.
//!
//! **Simulation.** Composition of [`bits`], products and exact truncations; nothing is opened.

use super::{bits, truncation};
use crate::graph::domain;
use crate::lower::Emit;
use crate::lower::common::words;
use slvr_circuit::{Hold, Op, ValueId};
use std::f64::consts::{LN_2, SQRT_2};

/// Chebyshev coefficients of 1 / u for u = (w + 3) / 4.
const RECIP: [f64; 9] = [
    SQRT_2,
    -0.485281374239,
    0.0832611206852,
    -0.0142853498728,
    0.00245097855169,
    -0.000420521437298,
    7.21500721028e-05,
    -1.23789953202e-05,
    2.1238998194e-06,
];
/// Of sqrt u.
const SQRT: [f64; 9] = [
    0.859846600102,
    0.14590573485,
    -0.00623512359834,
    0.000533890215777,
    -5.7186330329e-05,
    6.86297971954e-06,
    -8.82651604032e-07,
    1.18939867362e-07,
    -1.65753657609e-08,
];
/// Of ln u.
const LOG: [f64; 9] = [
    -0.316694367641,
    0.343145750508,
    -0.0294372515229,
    0.00336708925556,
    -0.00043327588861,
    5.94707119896e-05,
    -8.50296754118e-06,
    1.25046736214e-06,
    -1.87727995565e-07,
];

/// Ring of all words here.
const K: u32 = 64;
/// Fraction bits of u and of Chebyshev polynomials: a product of two has 58.
const FRAC: u32 = 29;
/// Fraction bits of the coefficients.
const COEFFICIENT: u32 = 26;

/// What is known of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Its word.
    pub value: ValueId,
    /// Its fraction bits.
    pub frac: u32,
    /// |raw| < 2^bits, if something is proven.
    pub bits: Option<u32>,
    /// Whether it cannot be negative.
    pub not_negative: bool,
}

impl Operand {
    /// Bits of the raw magnitude: as proven, or those of the domain.
    fn top(&self, domain: u32) -> u32 {
        let most = self.frac + domain;
        self.bits.map_or(most, |b| b.clamp(1, most))
    }
}

/// What to do with a sign.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// A negative operand counts as 0.
    Cut,
    /// The magnitude is normalised.
    Keep,
}

/// An operand y with |y| in [2^lo, 2^hi) raw, in two parts.
struct Normal {
    /// In [1/2, 1], with [`FRAC`] fraction bits; 1/2 if |y| is below.
    u: ValueId,
    /// Position of the top bit from lo on; the last plane for none.
    hot: ValueId,
    /// 2^(hi-1-j) for the top bit j; 0 for none; with y's sign under [`Sign::Keep`].
    power: ValueId,
    lo: u32,
    hi: u32,
}

impl Normal {
    /// A table of the position j of the top bit, and its entry for none.
    fn table(&self, e: &mut Emit, entry: impl Fn(u32) -> f64, none: f64) -> ValueId {
        let all: Vec<u128> =
            (self.lo..self.hi).map(|j| word(entry(j))).chain([word(none)]).collect();
        bits::weighted(e, self.hot, &all, K)
    }
}

/// The nearest integer as a word.
fn word(x: f64) -> u128 {
    words::word(x.round(), K)
}

fn truncate(e: &mut Emit, x: ValueId, by: u32) -> ValueId {
    match (by, e.ty(x).hold) {
        (0, _) => x,
        (_, Hold::Public) => truncation::public(e, x, by),
        _ => truncation::exact(e, x, by),
    }
}

/// x 2^-by, or with a negative `by` x 2^|by|.
fn shift_down(e: &mut Emit, x: ValueId, by: i64) -> ValueId {
    if by >= 0 { truncate(e, x, by as u32) } else { e.add(Op::Scale(x, 1 << -by)) }
}

fn normalise(e: &mut Emit, y: Operand, lo: u32, hi: u32, sign: Sign) -> Normal {
    debug_assert!(lo < hi, "{y:?}");
    let n = hi - lo;
    let all = bits::of_word(e, y.value, if y.not_negative { hi } else { hi + 1 });
    let mut magnitude = e.planes(all, lo, 1, n);
    let mut size = y.value;
    let mut signed = None;
    if !y.not_negative {
        let negative = e.planes(all, hi, 1, 1);
        if sign == Sign::Cut {
            let keep = e.add(Op::Not(negative));
            magnitude = e.multiply(magnitude, keep);
        } else {
            // The complement of y is |y| - 1: its top bit is that of |y| unless |y| is a power of
            // two, and then u is 1.
            let mask = e.stack(vec![negative; n as usize]);
            magnitude = e.add(Op::Add(magnitude, mask));
            // 1 - 2 [y < 0]
            let minus = bits::weighted(e, negative, &[word(-2.0)], K);
            let factor = e.add(Op::Offset(minus, 1));
            size = e.multiply(y.value, factor);
            signed = Some(factor);
        }
    }
    let hot = bits::one_hot(e, magnitude);
    let mut normal = Normal { u: size, hot, power: size, lo, hi };
    let power = normal.table(e, |j| f64::from(hi - 1 - j).exp2(), 0.0);
    // u has hi bits, or FRAC if these are more.
    let raised = if hi < FRAC { e.add(Op::Scale(power, 1 << (FRAC - hi))) } else { power };
    let u = e.multiply(size, raised);
    let u = truncate(e, u, hi.saturating_sub(FRAC));
    let half = normal.table(e, |_| 0.0, f64::from(FRAC - 1).exp2());
    normal.u = e.add(Op::Add(u, half));
    normal.power = match signed {
        Some(factor) => e.multiply(power, factor),
        None => power,
    };
    normal
}

/// The Chebyshev series at u with `frac` fraction bits; `more`, with [`FRAC`] + [`COEFFICIENT`], is
/// added before it is rounded.
fn series(
    e: &mut Emit,
    u: ValueId,
    coefficients: &[f64; 9],
    more: Option<ValueId>,
    frac: u32,
) -> ValueId {
    let w = e.add(Op::Scale(u, 4));
    let w = e.add(Op::Offset(w, word(-3.0 * f64::from(FRAC).exp2())));
    // t[k - 1] is T_k.
    let mut t = vec![w];
    for k in 2..coefficients.len() {
        let (a, b) = (t[k / 2 - 1], t[k.div_ceil(2) - 1]);
        let product = e.multiply(a, b);
        let twice = truncate(e, product, FRAC - 1);
        t.push(if k % 2 == 0 {
            e.add(Op::Offset(twice, word(-f64::from(FRAC).exp2())))
        } else {
            e.add(Op::Sub(twice, w))
        });
    }
    let unit = f64::from(COEFFICIENT).exp2();
    let mut sum = more;
    for (&t, c) in t.iter().zip(&coefficients[1..]) {
        let term = e.add(Op::Scale(t, word(c * unit)));
        sum = Some(match sum {
            None => term,
            Some(s) => e.add(Op::Add(s, term)),
        });
    }
    let constant = word(coefficients[0] * f64::from(FRAC + COEFFICIENT).exp2());
    let sum = e.add(Op::Offset(sum.unwrap_or(w), constant));
    truncate(e, sum, FRAC + COEFFICIENT - frac)
}

/// 2^scale / y in raw words, 0 for y below 2^lo: with [`Sign::Keep`] of either sign.
fn inverse(e: &mut Emit, y: Operand, normal: &Normal, scale: u32) -> ValueId {
    // 1 / y = power / (u 2^hi); 28 fraction bits leave room for a power of 31 bits.
    const R: u32 = 28;
    debug_assert!(normal.hi - normal.lo <= 32, "{y:?}");
    let r = series(e, normal.u, &RECIP, None, R);
    let product = e.multiply(r, normal.power);
    shift_down(e, product, i64::from(R + normal.hi) - i64::from(scale))
}

/// 1 / y for y > 0; 2^12 for y below 2^-12. The fraction bits are y's.
pub fn recip(e: &mut Emit, y: Operand) -> ValueId {
    let lo = y.frac.saturating_sub(domain::DIVISOR_LOW);
    let hi = y.top(domain::DIVISOR_TOP).max(lo + 1);
    let normal = normalise(e, y, lo, hi, Sign::Cut);
    let quotient = inverse(e, y, &normal, 2 * y.frac);
    let most = f64::from(domain::DIVISOR_LOW + y.frac).exp2();
    let saturated = normal.table(e, |_| 0.0, most);
    e.add(Op::Add(quotient, saturated))
}

/// x / y, aligned; 0 for |y| below 2^-12. The fraction bits are x's.
///
/// The reciprocal of y, as large as y is, costs as above; beside it one product and one truncation
/// for every quotient.
pub fn divide(e: &mut Emit, x: ValueId, y: Operand) -> ValueId {
    let lo = y.frac.saturating_sub(domain::DIVISOR_LOW);
    let hi = y.top(domain::DIVISOR_TOP).max(lo + 1);
    let normal = normalise(e, y, lo, hi, Sign::Keep);
    // A word holds 62 bits: of x / y with its fraction bits (16), and of what the reciprocal has
    // more. At least 14 significant bits of it are left for the largest divisor.
    let most = 62 - 16 - domain::QUOTIENT_TOP + y.frac;
    let scale = (hi + 22).min(most);
    let reciprocal = inverse(e, y, &normal, scale);
    let product = e.multiply(x, reciprocal);
    shift_down(e, product, i64::from(scale) - i64::from(y.frac))
}

/// The square root of y; 0 for y <= 0. The fraction bits are y's.
pub fn sqrt(e: &mut Emit, y: Operand) -> ValueId {
    let hi = y.top(domain::ROOT_TOP);
    let normal = normalise(e, y, 0, hi, Sign::Cut);
    const R: u32 = 24;
    const GUARD: u32 = 6;
    let root = series(e, normal.u, &SQRT, None, R);
    // sqrt y = sqrt u 2^((j + 1 - frac) / 2)
    let half = |j: u32| (f64::from(j + 1) + f64::from(y.frac)) / 2.0 + f64::from(GUARD);
    let scale = normal.table(e, |j| half(j).exp2(), 0.0);
    let product = e.multiply(root, scale);
    truncate(e, product, R + GUARD)
}

/// The natural logarithm of y; that of half a unit for y <= 0. The fraction bits are y's.
pub fn log(e: &mut Emit, y: Operand) -> ValueId {
    let hi = y.top(domain::ROOT_TOP);
    let normal = normalise(e, y, 0, hi, Sign::Cut);
    // ln y = ln u + (j + 1 - frac) ln 2
    let unit = f64::from(FRAC + COEFFICIENT).exp2() * LN_2;
    let frac = f64::from(y.frac);
    let octave = normal.table(e, |j| (f64::from(j + 1) - frac) * unit, -frac * unit);
    series(e, normal.u, &LOG, Some(octave), y.frac)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables are the series they claim to be.
    #[test]
    fn series_are_close() {
        let worst = |c: &[f64; 9], f: fn(f64) -> f64| {
            let error = |i: u32| {
                let w = f64::from(i) / 500.0 - 1.0;
                let mut t = vec![1.0, w];
                for k in 2..9 {
                    t.push(2.0 * w * t[k - 1] - t[k - 2]);
                }
                let sum: f64 = t.iter().zip(c).map(|(t, c)| t * c).sum();
                (sum - f((w + 3.0) / 4.0)).abs()
            };
            (0..=1000).map(error).fold(0.0, f64::max)
        };
        assert!(worst(&RECIP, f64::recip) < 5e-7);
        assert!(worst(&SQRT, f64::sqrt) < 3e-9);
        assert!(worst(&LOG, f64::ln) < 4e-8);
    }
}
