//! Reciprocal, square root, reciprocal of the root, logarithm and quotient, for operands of any size that a word holds
//! ([`slvr_graph::graph::domain`]), written once for both families ([`Arithmetic`]).
//!
//! **Normalisation.** The position j of the operand's top bit is found one-hot ([`Arithmetic::position`]), and with it
//! any table of j as a word ([`Arithmetic::weighted`]): u = y 2^-(j+1) lies in [1/2, 1], and every function of y is one
//! of u times or plus a table of j. Positions that the operand's interval excludes are left out.
//!
//! **The function of u** ([`Arithmetic::smooth`]). In family T1 its Chebyshev series of degree 8 in w = 4 u - 3, in [-1,
//! 1]; T_2, then T_3 and T_4, then T_5 to T_8 by T_(a+b) = 2 T_a T_b - T_|a-b|: 3 products deep, 29 fraction bits. In
//! family T2 polynomials on pieces of [1/2, 1], of which the dealer deals the coefficients: one exchange, or two.
//!
//! | macro, 16 fraction bits, operands of 47 bits | error |
//! |---|---|
//! | `recip` | 1 ulp and 2^-20 relative |
//! | [`divide`] | 2 ulp and 2^-19 relative |
//! | `sqrt` | 1 ulp and 2^-23 relative; of operands above 46 bits 1.5 ulp and 2^-21 |
//! | `recip_sqrt` | 1.5 ulp and 2^-20 relative |
//! | `log` | 1.5 ulp |
//!
//! With an operand of fewer bits known by its range, rounds and bits are fewer; every candidate position costs a word.
//! Where a product needs more than a word of 64 bits, it has 128, and takes more rounds. In family T1 everything is
//! local on public operands.
//!
//! **Quotients** x / y. The reciprocal of y has s fraction bits more than y takes off. A product has |x| 2^s / y
//! < 2^62 in a word, and it is exact enough if either a unit of the reciprocal is at most 2^-21 of it, which is
//! s >= 21 + the bits of y, or at most a unit of the quotient, which is s >= the bits of x + the fraction bits of y. So
//! words of 64 bits are enough if one of the two holds for the largest s; otherwise x and the reciprocal are lifted to
//! 128. A divisor of which 0 is not excluded costs two more signs of the dividend, and a quotient that may be beyond its
//! end two signs of the quotient.
//!
//! **Simulation.** Composition of the family's macros; nothing is opened.

use crate::lower::common::words;
use slvr_circuit::{Op, ValueId};
use slvr_graph::analysis::rings::quotient_scale;
use slvr_graph::graph::{Function, domain};
use std::f64::consts::{LN_2, SQRT_2};

/// Words and planes of bits as a family holds them, and what it makes of them. Words of one operation have the same ring.
pub trait Arithmetic {
    /// Numbers, or planes of bits.
    type Value: Copy;

    /// Ring of u.
    const UNIT: u32;
    /// Fraction bits of what [`Arithmetic::smooth`] rounds last, and so of what is added before.
    const SUM: u32;

    /// The same linear operation on all parts.
    fn linear(&mut self, x: Self::Value, op: impl Fn(ValueId) -> Op) -> Self::Value;
    /// The sum with a public word.
    fn offset(&mut self, x: Self::Value, by: u128) -> Self::Value;
    fn sum(&mut self, x: Self::Value, y: Self::Value) -> Self::Value;
    /// Of words, or of planes.
    fn multiply(&mut self, x: Self::Value, y: Self::Value) -> Self::Value;
    /// x 2^-by, to one of the integers next to it, in Z_2^ring.
    fn truncate(&mut self, x: Self::Value, by: u32, ring: u32) -> Self::Value;
    /// The same number in Z_2^ring.
    fn convert(&mut self, x: Self::Value, ring: u32) -> Self::Value;
    /// A number of so many bits with its sign, cut at -2^end and 2^end, in Z_2^[`K`].
    fn cut(&mut self, x: Self::Value, end: u32, bits: u32) -> Self::Value;
    /// Whether a number of so many bits with its sign is negative.
    fn negative(&mut self, x: Self::Value, bits: u32) -> Self::Value;
    /// One of the planes.
    fn plane(&mut self, x: Self::Value, i: u32) -> Self::Value;
    /// Planes of several values, lowest first.
    fn stack(&mut self, all: Vec<Self::Value>) -> Self::Value;
    /// The sum of weights (modulo 2^ring) of the bits that are set.
    fn weighted(&mut self, bits: Self::Value, weights: &[u128], ring: u32) -> Self::Value;
    /// Where the top bit of an operand is.
    fn position(&mut self, y: &Operand<Self::Value>, among: Among) -> Position<Self::Value>;
    /// A function of u with `frac` fraction bits, in Z_2^ring; `more`, with [`Arithmetic::SUM`], is added before it
    /// is rounded.
    fn smooth(
        &mut self,
        u: Self::Value,
        f: &Smooth,
        more: Option<Self::Value>,
        to: Scale,
    ) -> Self::Value;
}

/// Fraction bits of a result, and its ring.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    pub frac: u32,
    pub ring: u32,
}

/// Which positions a top bit may have, and what is made of a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Among {
    /// The lowest position; a size below is 0.
    pub lo: u32,
    /// Positions from here on are not told apart, and have no plane.
    pub hi: u32,
    /// No size has a bit from here on.
    pub top: u32,
    pub sign: Sign,
}

/// What a top bit's position is found as.
pub struct Position<V> {
    /// One-hot: the positions from lo to hi - 1; then 0; then -2^lo, of which the complement is smaller, if an operand
    /// may be negative and its size counts.
    pub hot: V,
    /// The operand's size, or the operand where a negative one counts as 0.
    pub size: V,
    /// -1 where y is negative and 1 elsewhere, if y may be negative and its size counts.
    pub signed: Option<V>,
}

/// A function on [1/2, 1].
pub struct Smooth {
    /// Chebyshev coefficients in 4 u - 3.
    pub series: [f64; 9],
    pub value: fn(f64) -> f64,
    /// What an approximation is off by at most, beside its rounding.
    pub tolerance: f64,
}

/// 1 / u.
pub const RECIP: Smooth = Smooth {
    series: [
        SQRT_2,
        -0.485281374239,
        0.0832611206852,
        -0.0142853498728,
        0.00245097855169,
        -0.000420521437298,
        7.21500721028e-05,
        -1.23789953202e-05,
        2.1238998194e-06,
    ],
    value: f64::recip,
    tolerance: 5e-7,
};
/// sqrt u.
pub const SQRT: Smooth = Smooth {
    series: [
        0.859846600102,
        0.14590573485,
        -0.00623512359834,
        0.000533890215777,
        -5.7186330329e-05,
        6.86297971954e-06,
        -8.82651604032e-07,
        1.18939867362e-07,
        -1.65753657609e-08,
    ],
    value: f64::sqrt,
    tolerance: 1e-8,
};
/// 1 / sqrt u.
pub const RECIP_SQRT: Smooth = Smooth {
    series: [
        1.18034059902,
        -0.203270793279,
        0.0261894404373,
        -0.00374683813185,
        0.000562710079999,
        -8.69129907843e-05,
        1.36717024596e-05,
        -2.17843680533e-06,
        3.50437311151e-07,
    ],
    value: |u| u.sqrt().recip(),
    tolerance: 7e-8,
};
/// ln u.
pub const LOG: Smooth = Smooth {
    series: [
        -0.316694367641,
        0.343145750508,
        -0.0294372515229,
        0.00336708925556,
        -0.00043327588861,
        5.94707119896e-05,
        -8.50296754118e-06,
        1.25046736214e-06,
        -1.87727995565e-07,
    ],
    value: f64::ln,
    tolerance: 4e-8,
};

/// Bits of the words here. What does not fit one is computed in words of twice as many.
pub const K: u32 = 64;
/// Fraction bits of u.
pub const FRAC: u32 = 29;

/// Bits that a word of 64 holds before it is truncated, without its sign.
const ROOM: u32 = 61;

/// What is known of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand<W> {
    pub value: W,
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

impl<W> Operand<W> {
    /// The same of a value.
    pub fn with<V>(self, value: V) -> Operand<V> {
        let Operand { frac, bits, least, not_negative, vanishes, .. } = self;
        Operand { value, frac, bits, least, not_negative, vanishes }
    }

    /// The lowest position that its top bit can have.
    fn lowest(&self) -> u32 {
        self.least.max(1).ilog2()
    }
}

/// What to do with a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sign {
    /// A negative operand counts as 0.
    Cut,
    /// The magnitude is normalised.
    Keep,
}

/// An operand y with |y| in [2^lo, 2^bits) raw, or 0, in two parts.
struct Normal<A: Arithmetic> {
    /// In [1/2, 1], with [`FRAC`] fraction bits; 1/2 if |y| is 0 or at least 2^hi.
    u: A::Value,
    at: Position<A::Value>,
    lo: u32,
    hi: u32,
}

impl<A: Arithmetic> Normal<A> {
    /// Normalises y, of which sizes from 2^hi on are not told apart: they count as 0.
    fn new(a: &mut A, y: &Operand<A::Value>, hi: u32, sign: Sign) -> Normal<A> {
        let top = y.bits.max(1);
        let (lo, hi) = (y.lowest().min(top - 1), hi.min(top));
        let lo = lo.min(hi - 1);
        let at = a.position(y, Among { lo, hi, top, sign });
        let mut normal = Normal { u: at.size, at, lo, hi };
        let power = normal.power(a, K);
        // u has hi bits, or FRAC if these are more.
        let raised =
            if hi < FRAC { a.linear(power, |v| Op::Scale(v, 1 << (FRAC - hi))) } else { power };
        let u = a.multiply(normal.at.size, raised);
        let u = a.truncate(u, hi.saturating_sub(FRAC), A::UNIT);
        // 1/2 where power is 0.
        let half = f64::from(FRAC - 1).exp2();
        let known = normal.table(a, &|_| -half, (0.0, -half), K);
        let half = a.offset(known, word(half));
        let half = a.convert(half, A::UNIT);
        normal.u = a.sum(u, half);
        normal
    }

    /// A word of a ring that depends on the top bit: an entry for each position j, for 0, and for -2^lo.
    fn table(
        &self,
        a: &mut A,
        entry: &dyn Fn(u32) -> f64,
        (none, low): (f64, f64),
        ring: u32,
    ) -> A::Value {
        let others = [Some(none), self.at.signed.map(|_| low)].into_iter().flatten();
        let all = (self.lo..self.hi).map(entry).chain(others);
        let all: Vec<u128> = all.map(|x| words::word(x.round(), ring)).collect();
        a.weighted(self.at.hot, &all, ring)
    }

    /// 2^(hi-1-j) for the top bit j, for -2^lo twice what it is for 2^lo, so that u is 1; 0 for 0.
    fn power(&self, a: &mut A, ring: u32) -> A::Value {
        let low = f64::from(self.hi - self.lo).exp2();
        self.table(a, &|j| f64::from(self.hi - 1 - j).exp2(), (0.0, low), ring)
    }

    /// Fraction bits of 1 / u where a word of `room` bits holds its product with a power.
    fn precision(&self, room: u32) -> u32 {
        // 1 / u is at most 2, and the power of -2^lo at most 2^(hi - lo).
        (room - 1 - (self.hi - self.lo)).min(28)
    }

    /// 2^scale / y in raw words of a ring, with the sign of y; 0 for 0. In Z_2^to.
    fn inverse(&self, a: &mut A, scale: u32, ring: u32, to: u32) -> A::Value {
        // 1 / y = power / (u 2^hi)
        let fraction = self.precision(if ring > K { 2 * K - 3 } else { ROOM });
        debug_assert!(fraction >= 22, "{} to {}", self.lo, self.hi);
        let r = a.smooth(self.u, &RECIP, None, Scale { frac: fraction, ring });
        let power = self.power(a, ring);
        let power = match self.at.signed {
            Some(factor) => {
                let factor = a.convert(factor, ring);
                a.multiply(power, factor)
            }
            None => power,
        };
        let product = a.multiply(r, power);
        shift_down(a, product, i64::from(fraction + self.hi) - i64::from(scale), to)
    }
}

/// The nearest integer as a word.
fn word(x: f64) -> u128 {
    words::word(x.round(), K)
}

/// x 2^-by, or with a negative `by` x 2^|by|, in Z_2^to.
fn shift_down<A: Arithmetic>(a: &mut A, x: A::Value, by: i64, to: u32) -> A::Value {
    if by >= 0 {
        return a.truncate(x, by as u32, to);
    }
    let x = a.linear(x, |v| Op::Scale(v, 1 << -by));
    a.convert(x, to)
}

/// A function of one number in Z_2^to; `None` for exponentials and the tangent, which are not made by normalisation.
pub fn function<A: Arithmetic>(
    a: &mut A,
    function: Function,
    y: &Operand<A::Value>,
    to: u32,
) -> Option<A::Value> {
    Some(match function {
        Function::Recip => recip(a, y, to),
        Function::Sqrt => sqrt(a, y, to),
        Function::RecipSqrt => recip_sqrt(a, y, to),
        Function::Log => log(a, y, to),
        Function::Exp | Function::ExpNonPositive | Function::Tanh => return None,
    })
}

/// 1 / y, and 2^31 for y = 0. The fraction bits are y's.
fn recip<A: Arithmetic>(a: &mut A, y: &Operand<A::Value>, to: u32) -> A::Value {
    // Reciprocals of more are less than half a unit.
    let normal = Normal::new(a, y, 2 * y.frac + 2, Sign::Keep);
    let quotient = normal.inverse(a, 2 * y.frac, K, to);
    if y.least > 0 {
        return quotient;
    }
    let end = f64::from(domain::QUOTIENT_TOP + y.frac).exp2();
    let end = normal.table(a, &|_| 0.0, (end, 0.0), to);
    a.sum(quotient, end)
}

/// x / y, aligned, as [`domain::div`], in Z_2^to. The fraction bits are x's.
///
/// The reciprocal of y, as large as y is, costs as above; beside it one product and one truncation
/// for every quotient.
pub fn divide<A: Arithmetic>(
    a: &mut A,
    x: &Operand<A::Value>,
    y: &Operand<A::Value>,
    to: u32,
) -> A::Value {
    // Larger divisors leave less than half a unit.
    let hi = (x.bits + y.frac + 1).min(y.bits.max(1));
    // Bits of |x| / |y| as integers.
    let ratio = x.bits - y.lowest().min(x.bits);
    // So that the product is exact enough, and 1 / u has 22 fraction bits.
    let enough = quotient_scale(x.bits, y.frac, hi);
    let fits = ratio + enough.max(y.frac) <= ROOM && hi - y.lowest().min(hi - 1) <= ROOM - 23;
    let (ring, most) = if fits { (K, ROOM - ratio) } else { (2 * K, enough) };
    let scale = most.min(hi + 22);
    let normal = Normal::new(a, y, hi, Sign::Keep);
    let reciprocal = normal.inverse(a, scale, ring, ring);
    let dividend = a.convert(x.value, ring);
    let product = a.multiply(dividend, reciprocal);
    let down = i64::from(scale) - i64::from(y.frac);
    let end = domain::QUOTIENT_TOP + x.frac;
    // What a quotient by a size of 1 raw has at most, and whether it may be beyond the end.
    let width = ratio + y.frac;
    let quotient = if y.lowest() < y.frac && width > end {
        let quotient = shift_down(a, product, down, ring);
        let quotient = a.cut(quotient, end, width + 2);
        a.convert(quotient, to)
    } else {
        shift_down(a, product, down, to)
    };
    if y.least > 0 || x.vanishes {
        return quotient;
    }
    let by_zero = ends(a, x, &normal, end, to);
    a.sum(quotient, by_zero)
}

/// Where the divisor is 0: 2^end with the sign of x, and 0 for 0.
fn ends<A: Arithmetic>(
    a: &mut A,
    x: &Operand<A::Value>,
    divisor: &Normal<A>,
    end: u32,
    to: u32,
) -> A::Value {
    let zero = a.plane(divisor.at.hot, divisor.hi - divisor.lo);
    let minus = a.linear(x.value, Op::Neg);
    let above = a.negative(minus, x.bits + 1);
    let above = a.multiply(above, zero);
    let most = f64::from(end).exp2();
    if x.not_negative {
        return a.weighted(above, &[words::word(most, to)], to);
    }
    let below = a.negative(x.value, x.bits + 1);
    let below = a.multiply(below, zero);
    let both = a.stack(vec![above, below]);
    a.weighted(both, &[most, -most].map(|end| words::word(end, to)), to)
}

/// The square root of y, in Z_2^to; 0 for y <= 0. The fraction bits are y's.
fn sqrt<A: Arithmetic>(a: &mut A, y: &Operand<A::Value>, to: u32) -> A::Value {
    let hi = y.bits.max(1);
    let normal = Normal::new(a, y, hi, Sign::Cut);
    // The largest root has this many bits; its factor has `guard` more.
    let largest = (hi + y.frac).div_ceil(2);
    let (fraction, guard) = match ROOM.checked_sub(24 + 6 + largest) {
        Some(_) => (24, 6),
        None => (22, i64::from(ROOM) - 22 - i64::from(largest)),
    };
    let root = a.smooth(normal.u, &SQRT, None, Scale { frac: fraction, ring: K });
    // sqrt y = sqrt u 2^((j + 1 - frac) / 2)
    let half = |j: u32| (f64::from(j + 1) + f64::from(y.frac)) / 2.0 + guard as f64;
    let scale = normal.table(a, &|j| half(j).exp2(), (0.0, 0.0), K);
    let product = a.multiply(root, scale);
    shift_down(a, product, i64::from(fraction) + guard, to)
}

/// 1 / sqrt y for y > 0, in Z_2^to. The fraction bits are y's.
fn recip_sqrt<A: Arithmetic>(a: &mut A, y: &Operand<A::Value>, to: u32) -> A::Value {
    let y = Operand { not_negative: true, ..*y };
    let hi = y.bits.max(1);
    let normal = Normal::new(a, &y, hi, Sign::Cut);
    // 1 / sqrt y = 1 / sqrt u 2^((frac - j - 1) / 2), of which the exponent is largest for the least top bit.
    let exponent = |j: u32| (3.0 * f64::from(y.frac) - f64::from(j + 1)) / 2.0;
    let largest = exponent(normal.lo).max(0.0).ceil() as u32 + 1;
    // The factor has `guard` bits more than the result: its own error is a part of a unit.
    let (ring, frac, guard) = match ROOM.checked_sub(largest) {
        Some(spare) if spare >= 24 => {
            let guard = (spare - 22).min(6);
            (K, (spare - guard).min(24), guard)
        }
        _ => (2 * K, 24, 6),
    };
    let root = a.smooth(normal.u, &RECIP_SQRT, None, Scale { frac, ring });
    let entry = |j: u32| (exponent(j) + f64::from(guard)).exp2();
    let scale = normal.table(a, &entry, (0.0, 0.0), ring);
    let product = a.multiply(root, scale);
    a.truncate(product, frac + guard, to)
}

/// The natural logarithm of y, in Z_2^to; that of half a unit for y <= 0. The fraction bits are y's, at most 28.
fn log<A: Arithmetic>(a: &mut A, y: &Operand<A::Value>, to: u32) -> A::Value {
    let normal = Normal::new(a, y, y.bits.max(1), Sign::Cut);
    // ln y = ln u + (j + 1 - frac) ln 2
    let unit = f64::from(A::SUM).exp2() * LN_2;
    let frac = f64::from(y.frac);
    let octave = normal.table(a, &|j| (f64::from(j + 1) - frac) * unit, (-frac * unit, 0.0), K);
    a.smooth(normal.u, &LOG, Some(octave), Scale { frac: y.frac, ring: to })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables are the series they claim to be, and no further off than what is tolerated.
    #[test]
    fn series_are_close() {
        let worst = |f: &Smooth| {
            let error = |i: u32| {
                let w = f64::from(i) / 500.0 - 1.0;
                let mut t = vec![1.0, w];
                for k in 2..9 {
                    t.push(2.0 * w * t[k - 1] - t[k - 2]);
                }
                let sum: f64 = t.iter().zip(&f.series).map(|(t, c)| t * c).sum();
                (sum - (f.value)((w + 3.0) / 4.0)).abs()
            };
            (0..=1000).map(error).fold(0.0, f64::max)
        };
        for f in [&RECIP, &SQRT, &RECIP_SQRT, &LOG] {
            assert!(worst(f) < f.tolerance, "{:?}", f.series);
        }
    }
}
