//! Any smooth function of a masked value on an interval, by polynomials on pieces of it.
//!
//! | macro | rounds of the two | bits of the dealer | bits of each other | error |
//! |---|---|---|---|---|
//! | [`Pieces::eval`], settled | 1 | (degree + 1) 2^n K | K | below 1 ulp and the tolerance of [`Pieces::fit`] |
//!
//! K is the ring of the sums: 64 for a result of 32 bits if these are precise enough, else 128.
//!
//! **Functionality.** f on the interval that pieces were fitted to, and any word beyond.
//!
//! **Pieces** (derived for this project). Let y = x - lo + 2^p >= 2^p, y = a + b modulo 2^k, both parts cut
//! into high and p low bits. Then the integers a_lo + b_lo and i = a_hi + b_hi mod 2^n satisfy
//!
//! ```text
//! y = 2^p i + a_lo + b_lo,     0 <= i < 2^n,     0 <= a_lo + b_lo < 2^(p+1)
//! ```
//!
//! because the carry that the low parts may have is left in them, and y >= 2^p keeps i from falling below 0.
//! Around each 2^p i the function is a polynomial in u = (a_lo + b_lo) 2^-p; with alpha and beta the two
//! terms of u
//!
//! ```text
//! sum_m c_m[i] (alpha + beta)^m  =  sum_j T_j[b_hi] beta^j,
//!                            T_j[v] = sum_(m >= j) binom(m, j) c_m[a_hi + v mod 2^n] alpha^(m-j).
//! ```
//!
//! The dealer computes the tables T_j and deals them; the others take the entries at b_hi and multiply them
//! by powers that they know. What is left is additive between them: one exchange, and a truncation that is
//! local because the ring has room for it.
//!
//! **Error of pieces.** Interpolation in Chebyshev nodes, measured densely on every piece; (degree + 2) / 2
//! units of the last of the guard bits, for entries rounded to them (the shift by alpha is computed with 8
//! bits more: at most 2^degree units of those); j 2^-B T_j for each power of beta, rounded down j times.
//! [`Pieces::fit`] adds these up for every piece and takes the cheapest tables for which the sum is below
//! what is tolerated at every point. The truncation takes less than one unit more.
//!
//! **Simulation.** `deal` and `open_masked` messages only, as all of [`super`].

use super::truncation::truncate;
use crate::lower::Emit;
use crate::lower::common::masked::{Pair, Split, settle};
use crate::lower::common::words::word;
use slvr_circuit::low_mask;
use slvr_circuit::{Op, ValueId};
use std::f64::consts::PI;

/// Most bits of the index of a piece.
const MOST_PIECES: u32 = 10;

/// Largest degree of a piece.
const MOST_DEGREE: usize = 7;

/// Bits of a shifted table beyond those that are dealt.
const SHIFTED: u32 = 8;

/// A function on an interval, as polynomials on pieces of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Pieces {
    /// Bits of the index.
    pub n: u32,
    /// A piece is 2^shift long.
    pub shift: u32,
    /// Where the interval begins.
    lo: i64,
    /// By degree, for each piece, in units of the result.
    coefficients: Vec<Vec<f64>>,
    /// Fraction bits of tables and of powers.
    guard: u32,
    power: u32,
    /// Ring of the sums.
    ring: u32,
    /// Ring of the result.
    to: u32,
}

/// What is approximated.
pub struct Smooth<'a> {
    /// Raw operands are from here...
    pub lo: i64,
    /// ... to here.
    pub hi: i64,
    /// From raw operands to raw results.
    pub value: &'a dyn Fn(f64) -> f64,
    /// What may be missing of it, in raw units, beside the rounding of the result.
    pub tolerance: &'a dyn Fn(f64) -> f64,
}

impl Pieces {
    /// The cheapest pieces that are close enough, for a result in Z_2^to that has less than 2^(to-1) raw;
    /// `None` if there are none.
    pub fn fit(f: &Smooth<'_>, to: u32) -> Option<Pieces> {
        let rings = if to <= 32 { &[64, 128][..] } else { &[128] };
        rings.iter().find_map(|&ring| Pieces::fit_in(f, to, ring))
    }

    fn fit_in(f: &Smooth<'_>, to: u32, ring: u32) -> Option<Pieces> {
        // The truncation is local if what is cut and what is kept fit the ring.
        let cut = (ring - to).min(44);
        let room = f64::from(ring - 2 - cut).exp2() - 1.0;
        let wide = ((f.hi - f.lo).max(1) as u64).ilog2() + 1;
        let of = |guard: u32, degree: usize| {
            (1..=MOST_PIECES).find_map(|n| {
                let shift = (wide.saturating_sub(n)..=wide).find(|p| fits(f, n, *p))?;
                let close = (0..1 << n).all(|i| {
                    let piece = Piece::new(f, i, shift, degree);
                    piece.is_below(f, room) && piece.is_close(f, guard, cut - guard)
                });
                close.then_some((n, shift, degree, guard))
            })
        };
        // Where much is tolerated, few bits below a unit are enough, and powers may be finer.
        let guards = [(cut / 3).max(8), 6, 3];
        let ways = guards.into_iter().flat_map(|guard| (1..=MOST_DEGREE).map(move |d| (guard, d)));
        let (n, shift, degree, guard) = ways
            .filter_map(|(guard, degree)| of(guard, degree))
            .min_by_key(|&(n, _, degree, _)| (degree as u64 + 1) << n)?;
        let pieces: Vec<Piece> = (0..1 << n).map(|i| Piece::new(f, i, shift, degree)).collect();
        let coefficients = (0..=degree).map(|m| pieces.iter().map(|p| p.coefficients[m]).collect());
        let coefficients = coefficients.collect();
        Some(Pieces { n, shift, lo: f.lo, coefficients, guard, power: cut - guard, ring, to })
    }

    /// Bits of all tables of an element.
    pub fn dealt(&self) -> u64 {
        (self.coefficients.len() as u64 * u64::from(self.ring)) << self.n
    }

    /// Their function of x, settled.
    pub fn eval(&self, e: &mut Emit, x: &Split) -> Split {
        let (k, p) = (e.ty(x.own).bits(), self.shift);
        let from = (1i128 << p) - i128::from(self.lo);
        let b = e.add(Op::Offset(x.dup, from as u128 & low_mask(k)));
        let local = self.local();
        let low = |e: &mut Emit, v: ValueId, ring: u32| {
            let bits = e.add(Op::ToBits { x: v, lo: 0, w: p });
            e.add(Op::FromBits(bits, ring))
        };
        let mut tables = self.tables(e, x.own, local);
        if p == 0 {
            // u is 0.
            tables.truncate(1);
        }
        let index = e.add(Op::Shr(b, p));
        let beta = if p > 0 { Some(low(e, b, self.ring)) } else { None };
        let mut power = None;
        let mut sum = None;
        for (j, table) in tables.into_iter().enumerate() {
            let table = e.add(Op::Deal(table));
            let entry = e.add(Op::Entry { table, index });
            let term = match (j, beta) {
                (1.., Some(beta)) => {
                    let next = self.next_power(e, power, beta);
                    power = Some(next);
                    e.add(Op::Mul(entry, next))
                }
                _ => e.add(Op::Scale(entry, 1 << self.power)),
            };
            sum = Some(match sum {
                None => term,
                Some(sum) => e.add(Op::Add(sum, term)),
            });
        }
        let Some(add2) = sum else { return *x };
        let sum = settle(e, Pair { own: None, add2 });
        truncate(e, &sum, self.guard + self.power, self.to).whole
    }

    /// The ring of the dealer's own arithmetic.
    fn local(&self) -> u32 {
        let largest = self.coefficients.iter().flatten().fold(1.0f64, |m, c| m.max(c.abs()));
        let bits = largest.log2() + f64::from(self.guard + SHIFTED + self.shift + 10);
        if bits <= f64::from(self.ring) { self.ring } else { 128 }
    }

    /// beta^j with `power` fraction bits from beta^(j-1), rounded down.
    fn next_power(&self, e: &mut Emit, last: Option<ValueId>, beta: ValueId) -> ValueId {
        let p = self.shift;
        match last {
            None if p <= self.power => e.add(Op::Scale(beta, 1 << (self.power - p))),
            None => e.add(Op::Shr(beta, p - self.power)),
            Some(last) => {
                let product = e.add(Op::Mul(last, beta));
                e.add(Op::Shr(product, p))
            }
        }
    }

    /// T_0, T_1, ... of the dealer, with `guard` fraction bits.
    fn tables(&self, e: &mut Emit, own: ValueId, local: u32) -> Vec<ValueId> {
        let p = self.shift;
        let unit = f64::from(self.guard + SHIFTED).exp2();
        let at = e.add(Op::Shr(own, p));
        let mut t: Vec<ValueId> = Vec::new();
        for c in &self.coefficients {
            let data = c.iter().map(|c| word((c * unit).round(), local)).collect();
            let table = e.constant(false, local, &[1 << self.n], data);
            t.push(e.add(Op::Table { x: at, table }));
        }
        if p > 0 {
            let alpha = e.add(Op::ToBits { x: own, lo: 0, w: p });
            let alpha = e.add(Op::FromBits(alpha, local));
            let shape = [&e.ty(own).shape[..], &[1]].concat();
            let alpha = e.add(Op::Reshape(alpha, shape));
            // p(u) at alpha + beta as a polynomial in beta: Horner's scheme, once per coefficient.
            for j in 0..t.len() {
                for m in (j..t.len() - 1).rev() {
                    let term = e.add(Op::Mul(t[m + 1], alpha));
                    let term = signed_shr(e, term, p);
                    t[m] = e.add(Op::Add(t[m], term));
                }
            }
        }
        let round = |e: &mut Emit, v: ValueId| {
            let half = e.add(Op::Offset(v, 1 << (SHIFTED - 1)));
            let v = signed_shr(e, half, SHIFTED);
            if local > self.ring { e.add(Op::Narrow(v, self.ring)) } else { v }
        };
        t.into_iter().map(|v| round(e, v)).collect()
    }
}

/// Whether an interval has at most 2^n pieces.
fn fits(f: &Smooth<'_>, n: u32, shift: u32) -> bool {
    ((f.hi - f.lo) >> shift) + 1 < 1 << n
}

/// The floor of x / 2^by, for |x| < 2^(k-2).
fn signed_shr(e: &mut Emit, x: ValueId, by: u32) -> ValueId {
    let k = e.ty(x).bits();
    let x = e.add(Op::Offset(x, 1 << (k - 2)));
    let x = e.add(Op::Shr(x, by));
    e.add(Op::Offset(x, 0u128.wrapping_sub(1 << (k - 2 - by)) & low_mask(k)))
}

/// A polynomial in u in 0..2.
struct Piece {
    coefficients: Vec<f64>,
    /// Of raw numbers: where u is 0, and the length of 1.
    start: f64,
    length: f64,
    /// Where in it numbers are; none if nowhere.
    inside: Option<(f64, f64)>,
}

impl Piece {
    fn new(f: &Smooth<'_>, i: u64, shift: u32, degree: usize) -> Piece {
        let length = f64::from(shift).exp2();
        let start = f.lo as f64 + (i as f64 - 1.0) * length;
        let from = ((f.lo as f64 - start) / length).max(0.0);
        let to = ((f.hi as f64 - start) / length).min(2.0);
        let mut piece = Piece { coefficients: vec![0.0; degree + 1], start, length, inside: None };
        if from > to {
            return piece;
        }
        piece.inside = Some((from, to));
        let n = degree + 1;
        // Nodes must differ: of a single point any interval around it will do that is not too small for differences.
        let half = if to - from < 2e-3 { 0.25 } else { (to - from) / 2.0 };
        let node =
            |j: usize| (from + to) / 2.0 + half * ((2 * j + 1) as f64 * PI / (2 * n) as f64).cos();
        let u: Vec<f64> = (0..n).map(node).collect();
        let mut c: Vec<f64> = u.iter().map(|&u| (f.value)(start + u * length)).collect();
        for level in 1..n {
            for j in (level..n).rev() {
                c[j] = (c[j] - c[j - 1]) / (u[j] - u[j - level]);
            }
        }
        // From Newton's form to powers of u.
        for j in (0..n - 1).rev() {
            for m in j..n - 1 {
                c[m] -= u[j] * c[m + 1];
            }
        }
        piece.coefficients = c;
        piece
    }

    /// Whether results are smaller, at both ends of the piece.
    fn is_below(&self, f: &Smooth<'_>, room: f64) -> bool {
        let at = |u: f64| (f.value)(self.start + u * self.length).abs() < room;
        self.inside.is_none_or(|(from, to)| at(from) && at(to))
    }

    /// Whether all errors but that of the result's rounding are tolerated everywhere.
    fn is_close(&self, f: &Smooth<'_>, guard: u32, power: u32) -> bool {
        let Some((from, to)) = self.inside else { return true };
        let c = &self.coefficients;
        let mut rounding = (c.len() + 1) as f64 / 2.0 * (-f64::from(guard)).exp2();
        for j in 1..c.len() {
            let mut binomial = 1.0;
            for (m, c) in c.iter().enumerate().skip(j) {
                rounding += j as f64 * (-f64::from(power)).exp2() * binomial * c.abs();
                binomial *= (m + 1) as f64 / (m + 1 - j) as f64;
            }
        }
        let steps = 8 * c.len();
        (0..=steps).all(|s| {
            let u = from + (to - from) * s as f64 / steps as f64;
            let x = self.start + u * self.length;
            let p = c.iter().rev().fold(0.0, |p, c| p * u + c);
            // Between two points the error is hardly larger.
            1.05 * (p - (f.value)(x)).abs() + rounding <= (f.tolerance)(x)
        })
    }
}

/// 1 / x for x in lo..hi, lo > 0, with the fraction bits of x: 1 ulp and 2^-20 relative.
pub fn recip(lo: f64, hi: f64, frac: u32, to: u32) -> Option<Pieces> {
    let one = f64::from(2 * frac).exp2();
    Pieces::fit(
        &Smooth {
            lo: lo as i64,
            hi: hi as i64,
            value: &|x| one / x,
            tolerance: &|x| one / x * (-20f64).exp2(),
        },
        to,
    )
}

#[cfg(test)]
mod tests;
