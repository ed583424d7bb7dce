//! Reciprocal, square root, reciprocal of the root, logarithm and quotient, for operands of any size that a word holds
//! ([`slvr_graph::graph::domain`]).
//!
//! **Normalisation.** The operand's bits ([`bits::of_word`]) give the position j of its top bit
//! one-hot, and with it any table of j as a word ([`bits::weighted`]): u = y 2^-(j+1) lies in [1/2,
//! 1], and every function of y is one of u times or plus a table of j. Positions that the operand's interval
//! excludes are left out.
//!
//! **Polynomial.** The function of u is its Chebyshev series of degree 8 in w = 4 u - 3, in [-1, 1];
//! T_2, then T_3 and T_4, then T_5 to T_8 by T_(a+b) = 2 T_a T_b - T_|a-b|: 3 products deep, 29
//! fraction bits. The series is off by 5e-7 (1 / u), 3e-9 (sqrt u), 7e-8 (1 / sqrt u), 4e-8 (ln u).
//!
//! | macro, 16 fraction bits, operands of 47 bits | rounds | bits in all | error |
//! |---|---|---|---|
//! | [`recip`] | 34 | 8545 | 1 ulp and 2^-20 relative |
//! | [`divide`] | 47 | 20489 | 2 ulp and 2^-19 relative |
//! | [`sqrt`] | 34 | 8979 | 1 ulp and 2^-23 relative; of operands above 46 bits 1.5 ulp and 2^-21 |
//! | [`log`] | 31 | 8691 | 1.5 ulp |
//!
//! [`recip_sqrt`] takes the rounds of [`sqrt`], and its error is 1.5 ulp and 2^-20 relative. Where the product with its
//! table needs more than a word of 64 bits, that product has 128, and takes four rounds more.
//!
//! One round less for the third and fourth if the operand cannot be negative, two for the first.
//! With an operand of fewer bits known by its range, rounds are fewer: position and carry cost
//! ceil(log2) of the number of bits each, and every candidate position 64 bits. On public operands
//! everything is local.
//!
//! **Quotients** x / y. The reciprocal of y has s fraction bits more than y takes off. A product has |x| 2^s / y
//! < 2^62 in a word, and it is exact enough if either a unit of the reciprocal is at most 2^-21 of it, which is
//! s >= 21 + the bits of y, or at most a unit of the quotient, which is s >= the bits of x + the fraction bits of y. So
//! words of 64 bits are enough if one of the two holds for the largest s; otherwise x and the reciprocal are lifted to
//! 128. A divisor of which 0 is not excluded costs two more signs of the dividend, and a quotient that may be beyond its
//! end two signs of the quotient.
//!
//! **Simulation.** Composition of [`bits`], [`comparison`], products, exact truncations and lifts; nothing is opened.

use super::saturation::Ends;
use super::truncation::{self, truncate};
use super::{bits, comparison};
use crate::lower::Emit;
use crate::lower::common::words;
use slvr_circuit::{Op, ValueId};
use slvr_graph::analysis::rings::quotient_scale;
use slvr_graph::graph::domain;
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
/// Of 1 / sqrt u.
const RECIP_SQRT: [f64; 9] = [
    1.18034059902,
    -0.203270793279,
    0.0261894404373,
    -0.00374683813185,
    0.000562710079999,
    -8.69129907843e-05,
    1.36717024596e-05,
    -2.17843680533e-06,
    3.50437311151e-07,
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

/// Bits that a word of 64 holds before it is truncated, without its sign.
const ROOM: u32 = 61;

/// What is known of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    pub value: ValueId,
    /// Its fraction bits.
    pub frac: u32,
    /// |raw| < 2^bits, at most 61.
    pub bits: u32,
    /// No raw size is smaller.
    pub least: u64,
    /// Whether it cannot be negative.
    pub not_negative: bool,
    /// Whether it is a dividend that is 0 wherever its divisor is.
    pub vanishes: bool,
}

impl Operand {
    /// The lowest position that its top bit can have.
    fn lowest(&self) -> u32 {
        self.least.max(1).ilog2()
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

/// An operand y with |y| in [2^lo, 2^bits) raw, or 0, in two parts.
struct Normal {
    /// In [1/2, 1], with [`FRAC`] fraction bits; 1/2 if |y| is 0 or at least 2^hi.
    u: ValueId,
    /// One-hot: the position of the top bit from lo to hi - 1; then 0; then -2^lo, of which the complement is
    /// smaller.
    hot: ValueId,
    /// 1 - 2 [y < 0] as a word, if y may be negative.
    signed: Option<ValueId>,
    lo: u32,
    hi: u32,
}

impl Normal {
    /// A word of a ring that depends on the top bit: an entry for each position j, for 0, and for -2^lo.
    fn table(
        &self,
        e: &mut Emit,
        entry: &dyn Fn(u32) -> f64,
        (none, low): (f64, f64),
        ring: u32,
    ) -> ValueId {
        let others = [Some(none), self.signed.map(|_| low)].into_iter().flatten();
        let all = (self.lo..self.hi).map(entry).chain(others);
        let all: Vec<u128> = all.map(|x| words::word(x.round(), ring)).collect();
        bits::weighted(e, self.hot, &all, ring)
    }

    /// 2^(hi-1-j) for the top bit j, for -2^lo twice what it is for 2^lo, so that u is 1; 0 for 0.
    fn power(&self, e: &mut Emit, ring: u32) -> ValueId {
        let low = f64::from(self.hi - self.lo).exp2();
        self.table(e, &|j| f64::from(self.hi - 1 - j).exp2(), (0.0, low), ring)
    }
}

/// The nearest integer as a word.
fn word(x: f64) -> u128 {
    words::word(x.round(), K)
}

/// x 2^-by, or with a negative `by` x 2^|by|.
fn shift_down(e: &mut Emit, x: ValueId, by: i64) -> ValueId {
    if by >= 0 { truncate(e, x, by as u32) } else { e.add(Op::Scale(x, 1 << -by)) }
}

/// Normalises y, of which sizes from 2^hi on are not told apart: they count as 0.
fn normalise(e: &mut Emit, y: Operand, hi: u32, sign: Sign) -> Normal {
    let top = y.bits.max(1);
    let (lo, hi) = (y.lowest().min(top - 1), hi.min(top));
    let lo = lo.min(hi - 1);
    let all = bits::of_word(e, y.value, if y.not_negative { top } else { top + 1 });
    let mut magnitude = e.planes(all, lo, 1, top - lo);
    let mut size = y.value;
    let mut signed = None;
    let mut negative = None;
    if !y.not_negative {
        let minus = e.planes(all, top, 1, 1);
        if sign == Sign::Cut {
            let keep = e.add(Op::Not(minus));
            magnitude = e.multiply(magnitude, keep);
        } else {
            // The complement of y is |y| - 1: its top bit is that of |y| unless |y| is a power of
            // two, and then u is 1.
            let mask = e.stack(vec![minus; (top - lo) as usize]);
            magnitude = e.add(Op::Add(magnitude, mask));
            let twice = bits::weighted(e, minus, &[word(-2.0)], K);
            let factor = e.add(Op::Offset(twice, 1));
            size = e.multiply(y.value, factor);
            signed = Some(factor);
            negative = Some(minus);
        }
    }
    let hot = bits::one_hot(e, magnitude);
    let (known, none) = (e.planes(hot, 0, 1, hi - lo), e.planes(hot, top - lo, 1, 1));
    let hot = match negative {
        None => e.stack(vec![known, none]),
        // No bit is set of the complement of -2^lo, and none of 0.
        Some(minus) if y.least == 0 => {
            let low = e.multiply(none, minus);
            let none = e.add(Op::Add(none, low));
            e.stack(vec![known, none, low])
        }
        Some(_) => {
            let zero = e.add(Op::Add(none, none));
            e.stack(vec![known, zero, none])
        }
    };
    let mut normal = Normal { u: size, hot, signed, lo, hi };
    let power = normal.power(e, K);
    // u has hi bits, or FRAC if these are more.
    let raised = if hi < FRAC { e.add(Op::Scale(power, 1 << (FRAC - hi))) } else { power };
    let u = e.multiply(size, raised);
    let u = truncate(e, u, hi.saturating_sub(FRAC));
    // 1/2 where power is 0.
    let half = f64::from(FRAC - 1).exp2();
    let known = normal.table(e, &|_| -half, (0.0, -half), K);
    let half = e.add(Op::Offset(known, word(half)));
    normal.u = e.add(Op::Add(u, half));
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

/// Fraction bits of 1 / u where a word of `room` bits holds its product with a power.
fn precision(normal: &Normal, room: u32) -> u32 {
    // 1 / u is at most 2, and the power of -2^lo at most 2^(hi - lo).
    (room - 1 - (normal.hi - normal.lo)).min(28)
}

/// 2^scale / y in raw words, with the sign of y; 0 for 0.
fn inverse(e: &mut Emit, normal: &Normal, scale: u32, ring: u32) -> ValueId {
    // 1 / y = power / (u 2^hi)
    let fraction = precision(normal, if ring > K { 2 * K - 3 } else { ROOM });
    debug_assert!(fraction >= 20, "{} to {}", normal.lo, normal.hi);
    let r = series(e, normal.u, &RECIP, None, fraction);
    let r = truncation::convert(e, r, ring);
    let power = normal.power(e, ring);
    let power = match normal.signed {
        Some(factor) => {
            let factor = truncation::convert(e, factor, ring);
            e.multiply(power, factor)
        }
        None => power,
    };
    let product = e.multiply(r, power);
    shift_down(e, product, i64::from(fraction + normal.hi) - i64::from(scale))
}

/// 1 / y, and 2^31 for y = 0. The fraction bits are y's.
pub fn recip(e: &mut Emit, y: Operand) -> ValueId {
    // Reciprocals of more are less than half a unit.
    let normal = normalise(e, y, 2 * y.frac + 2, Sign::Keep);
    let quotient = inverse(e, &normal, 2 * y.frac, K);
    if y.least > 0 {
        return quotient;
    }
    let end = f64::from(domain::QUOTIENT_TOP + y.frac).exp2();
    let end = normal.table(e, &|_| 0.0, (end, 0.0), K);
    e.add(Op::Add(quotient, end))
}

/// x / y, aligned, as [`domain::div`]. The fraction bits are x's.
///
/// The reciprocal of y, as large as y is, costs as above; beside it one product and one truncation
/// for every quotient.
pub fn divide(e: &mut Emit, x: Operand, y: Operand) -> ValueId {
    // Larger divisors leave less than half a unit.
    let hi = (x.bits + y.frac + 1).min(y.bits.max(1));
    // Bits of |x| / |y| as integers.
    let ratio = x.bits - y.lowest().min(x.bits);
    // So that the product is exact enough, and 1 / u has 22 fraction bits.
    let enough = quotient_scale(x.bits, y.frac, hi);
    let fits = ratio + enough.max(y.frac) <= ROOM && hi - y.lowest().min(hi - 1) <= ROOM - 23;
    let (ring, most) = if fits { (K, ROOM - ratio) } else { (2 * K, enough) };
    let scale = most.min(hi + 22);
    let normal = normalise(e, y, hi, Sign::Keep);
    let reciprocal = inverse(e, &normal, scale, ring);
    let dividend = truncation::convert(e, x.value, ring);
    let product = e.multiply(dividend, reciprocal);
    let mut quotient = shift_down(e, product, i64::from(scale) - i64::from(y.frac));
    let end = domain::QUOTIENT_TOP + x.frac;
    // What a quotient by a size of 1 raw has at most, and whether it may be beyond the end.
    let width = ratio + y.frac;
    if y.lowest() < y.frac && width > end {
        quotient = clamp(e, quotient, end, width + 2);
    }
    let quotient = truncation::convert(e, quotient, K);
    if y.least > 0 || x.vanishes {
        return quotient;
    }
    let by_zero = ends(e, x, &normal, end);
    e.add(Op::Add(quotient, by_zero))
}

/// A value of so many bits with its sign, cut at -2^end and 2^end.
fn clamp(e: &mut Emit, x: ValueId, end: u32, bits: u32) -> ValueId {
    let ends = Ends::of(e, x, f64::from(end).exp2(), bits + 1);
    let x = truncation::convert(e, x, K.min(e.ty(x).bits()));
    ends.cut(e, x, end)
}

/// Where the divisor is 0: 2^end with the sign of x, and 0 for 0.
fn ends(e: &mut Emit, x: Operand, divisor: &Normal, end: u32) -> ValueId {
    let zero = e.planes(divisor.hot, divisor.hi - divisor.lo, 1, 1);
    let minus = e.add(Op::Neg(x.value));
    let above = comparison::negative(e, minus, x.bits + 1);
    let above = e.multiply(above, zero);
    let most = f64::from(end).exp2();
    if x.not_negative {
        return bits::weighted(e, above, &[word(most)], K);
    }
    let below = comparison::negative(e, x.value, x.bits + 1);
    let below = e.multiply(below, zero);
    let both = e.stack(vec![above, below]);
    bits::weighted(e, both, &[word(most), word(-most)], K)
}

/// The square root of y; 0 for y <= 0. The fraction bits are y's.
pub fn sqrt(e: &mut Emit, y: Operand) -> ValueId {
    let hi = y.bits.max(1);
    let normal = normalise(e, y, hi, Sign::Cut);
    // The largest root has this many bits; its factor has `guard` more.
    let largest = (hi + y.frac).div_ceil(2);
    let (fraction, guard) = match ROOM.checked_sub(24 + 6 + largest) {
        Some(_) => (24, 6),
        None => (22, i64::from(ROOM) - 22 - i64::from(largest)),
    };
    let root = series(e, normal.u, &SQRT, None, fraction);
    // sqrt y = sqrt u 2^((j + 1 - frac) / 2)
    let half = |j: u32| (f64::from(j + 1) + f64::from(y.frac)) / 2.0 + guard as f64;
    let scale = normal.table(e, &|j| half(j).exp2(), (0.0, 0.0), K);
    let product = e.multiply(root, scale);
    shift_down(e, product, i64::from(fraction) + guard)
}

/// 1 / sqrt y for y > 0. The fraction bits are y's.
pub fn recip_sqrt(e: &mut Emit, y: Operand) -> ValueId {
    let y = Operand { not_negative: true, ..y };
    let hi = y.bits.max(1);
    let normal = normalise(e, y, hi, Sign::Cut);
    // 1 / sqrt y = 1 / sqrt u 2^((frac - j - 1) / 2), of which the exponent is largest for the least top bit.
    let exponent = |j: u32| (3.0 * f64::from(y.frac) - f64::from(j + 1)) / 2.0;
    let largest = exponent(normal.lo).max(0.0).ceil() as u32 + 1;
    // The factor has `guard` bits more than the result: its own error is a part of a unit.
    let (ring, fraction, guard) = match ROOM.checked_sub(largest) {
        Some(spare) if spare >= 24 => {
            let guard = (spare - 22).min(6);
            (K, (spare - guard).min(24), guard)
        }
        _ => (2 * K, 24, 6),
    };
    let root = series(e, normal.u, &RECIP_SQRT, None, fraction);
    let root = truncation::convert(e, root, ring);
    let entry = |j: u32| (exponent(j) + f64::from(guard)).exp2();
    let scale = normal.table(e, &entry, (0.0, 0.0), ring);
    let product = e.multiply(root, scale);
    let product = truncate(e, product, fraction + guard);
    truncation::convert(e, product, K)
}

/// The natural logarithm of y; that of half a unit for y <= 0. The fraction bits are y's.
pub fn log(e: &mut Emit, y: Operand) -> ValueId {
    let normal = normalise(e, y, y.bits.max(1), Sign::Cut);
    // ln y = ln u + (j + 1 - frac) ln 2
    let unit = f64::from(FRAC + COEFFICIENT).exp2() * LN_2;
    let frac = f64::from(y.frac);
    let octave = normal.table(e, &|j| (f64::from(j + 1) - frac) * unit, (-frac * unit, 0.0), K);
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
        assert!(worst(&RECIP_SQRT, |u| u.sqrt().recip()) < 7e-8);
        assert!(worst(&LOG, f64::ln) < 4e-8);
    }
}
