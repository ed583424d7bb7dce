//! Which tables a law takes, and the sum of bits that makes a value of what they give.

use super::exact::Exact;
use super::law::{Law, Noise};
use super::table::{PRECISION, Table};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Bits of an outcome of a table of bits of a geometric variable: each further bit doubles the cells, and six at a time
/// take the fewest ands.
const GEOMETRIC: u32 = 6;
/// Bits of an outcome of a table of magnitudes: which takes the least depends on the width that is wanted.
const MAGNITUDES: std::ops::RangeInclusive<u32> = 5..=8;
/// A table of 2^c magnitudes has a width of at most 2^c over this: larger ones have a probability of about 2^-64.
const TAIL: f64 = 9.4;
/// Least s1 s2 / sqrt(s1^2 + k^2 s2^2) of a sum x1 + k x2: its error is about 2^-60.
const SMOOTH: f64 = 1.47;
/// Most summands.
const MOST: usize = 12;
/// Bits that a product of two bits costs.
const AND: u64 = 3;
/// Ands of choosing between the outcomes of a cell.
const CHOICE: u64 = 140;
/// Bits that a bit takes to become a word.
const WORD: u64 = 64;

/// A bit of what the tables give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Plane {
    pub draw: usize,
    /// Which bit: of the outcome, and after these the sign.
    pub bit: u32,
}

/// A summand of a value: a weight times the exclusive or of bits.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The weight, in units of the grid.
    pub weight: i64,
    /// One bit, or two.
    pub planes: Vec<Plane>,
}

/// A sampler as data.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampler {
    pub tables: Vec<Table>,
    /// By draw its table. Draws are independent, and all tables have as many bits.
    pub draws: Vec<usize>,
    /// Whether each draw has a uniform bit more, its sign.
    pub signed: bool,
    /// The value is their sum.
    pub terms: Vec<Term>,
    /// No value is larger, in units of the grid.
    pub bound: i64,
    /// The statistical distance of a value from its law.
    pub distance: f64,
    /// Of a Gaussian, its width in units of the grid: at least what was asked for, and more by roundings only.
    pub width: f64,
}

impl Noise {
    /// The sampler. It is made once for each noise.
    pub fn sampler(&self) -> Arc<Sampler> {
        type Known = BTreeMap<(Law, u64, u32), Arc<Sampler>>;
        static KNOWN: Mutex<Known> = Mutex::new(BTreeMap::new());
        let key = (self.law, self.scale.to_bits(), self.frac);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(key).or_insert_with(|| Arc::new(Sampler::new(self))))
    }

    /// So many values, of words by their places.
    pub fn values(&self, n: usize, word: &dyn Fn(usize) -> u128) -> Vec<f64> {
        let (sampler, unit) = (self.sampler(), f64::from(self.frac).exp2());
        (0..n).map(|at| sampler.value(n, at, word) as f64 / unit).collect()
    }

    /// No value is larger than this.
    pub fn bound(&self) -> f64 {
        self.sampler().bound as f64 / f64::from(self.frac).exp2()
    }
}

impl Sampler {
    fn new(noise: &Noise) -> Sampler {
        match noise.law {
            Law::Gaussian => gaussian(noise.units()),
            Law::Laplace => laplace(noise.units()),
        }
    }

    /// Bits of the outcomes.
    pub fn bits(&self) -> u32 {
        self.tables.first().map_or(0, |t| t.bits)
    }

    /// Uniform bits of a draw: 64 that choose, those of the cell, and the sign.
    pub fn width_of_words(&self) -> u32 {
        PRECISION + self.bits() + u32::from(self.signed)
    }

    /// Words for so many values.
    pub fn words(&self, values: usize) -> usize {
        self.draws.len() * values
    }

    /// The value number `at` of so many: draw d takes word d * values + at.
    pub fn value(&self, values: usize, at: usize, word: &dyn Fn(usize) -> u128) -> i64 {
        let bits = self.bits();
        let drawn = self.draws.iter().enumerate().map(|(d, &table)| {
            let word = word(d * values + at);
            let sign = (word >> (PRECISION + bits)) as u32 & u32::from(self.signed);
            self.tables[table].outcome(word) | sign << bits
        });
        let drawn: Vec<u32> = drawn.collect();
        let bit = |p: &Plane| i64::from(drawn[p.draw] >> p.bit & 1);
        self.terms.iter().map(|t| t.weight * t.planes.iter().fold(0, |x, p| x ^ bit(p))).sum()
    }
}

/// The two-sided geometric distribution with p = e^(-1 / units).
fn laplace(units: f64) -> Sampler {
    let p = Exact::one().over(&Exact::of(units)).exp_neg();
    // P(bit i of G is 1), and p^(2^i), until no larger G is likely.
    let mut power = p;
    let mut chances = vec![odds(&power)];
    let limit = Exact::of_units(1, u64::from(PRECISION) + 2);
    while power > limit {
        chances.push(odds(&power));
        power = power.times(&power);
    }
    // The sign first, then the bits of G.
    let tables: Vec<Table> = chances.chunks(GEOMETRIC as usize).map(independent).collect();
    let plane =
        |i: usize| Plane { draw: i / GEOMETRIC as usize, bit: (i % GEOMETRIC as usize) as u32 };
    let width = chances.len() - 1;
    let mut terms: Vec<Term> =
        (0..width).map(|i| Term { weight: 1 << i, planes: vec![plane(i + 1), plane(0)] }).collect();
    terms.push(Term { weight: -(1 << width), planes: vec![plane(0)] });
    let distance = tables.iter().map(|t| t.distance).sum::<f64>() + power.above();
    Sampler {
        draws: (0..tables.len()).collect(),
        tables,
        signed: false,
        terms,
        bound: 1 << width,
        distance,
        width: units,
    }
}

/// x / (1 + x).
fn odds(x: &Exact) -> Exact {
    x.over(&Exact::one().plus(x))
}

/// A table of independent bits.
fn independent(chances: &[Exact]) -> Table {
    let mut all = vec![Exact::one()];
    for chance in chances {
        let rest = Exact::one().apart(chance);
        let ones: Vec<Exact> = all.iter().map(|p| p.times(chance)).collect();
        all = all.iter().map(|p| p.times(&rest)).chain(ones).collect();
    }
    Table::new(GEOMETRIC, &all, &Exact::zero())
}

/// x1 + k1 (x2 + k2 (x3 + ...)): the width of each x, and the k, first the outermost.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sum {
    pub bits: u32,
    pub width: f64,
    pub factors: Vec<i64>,
}

impl Sum {
    /// The cheapest one of a width.
    pub fn of(units: f64) -> Sum {
        let cost = |s: &Sum| {
            let ands = (1u64 << s.bits) + CHOICE;
            (s.factors.len() as u64 + 1) * (AND * ands + u64::from(s.bits + 1) * WORD)
        };
        let all = MAGNITUDES.flat_map(|bits| (0..MOST).map(move |n| (bits, n)));
        let fits = all.flat_map(|(bits, n)| {
            let factors = (1..=(1i64 << bits)).flat_map(move |k| {
                (0..=n).map(move |larger| {
                    let factor = |i: usize| if i < larger { k + 1 } else { k };
                    (0..n).map(factor).collect::<Vec<i64>>()
                })
            });
            factors
                .take(if n == 0 { 1 } else { usize::MAX })
                .filter_map(move |f| fit(bits, units, f))
        });
        // Of equal cost, the one with the smallest error.
        let best = fits.min_by(|a, b| {
            (cost(a), a.error()).partial_cmp(&(cost(b), b.error())).unwrap_or(Ordering::Equal)
        });
        // There is one for every width of a grid.
        best.unwrap_or(Sum { bits: *MAGNITUDES.end(), width: units, factors: Vec::new() })
    }

    /// s1 s2 / sqrt(s1^2 + k^2 s2^2) of each sum, first the innermost, and the width of all.
    fn sums(&self) -> (Vec<f64>, f64) {
        let mut inner = self.width;
        let mut found = Vec::new();
        for &k in self.factors.iter().rev() {
            let all = self.width.hypot(k as f64 * inner);
            found.push(self.width * inner / all);
            inner = all;
        }
        (found, inner)
    }

    /// The distance of all sums from their laws, that of the x aside.
    pub fn error(&self) -> f64 {
        self.sums().0.into_iter().map(smoothing).sum()
    }

    /// The weights of the x.
    fn weights(&self) -> Vec<i64> {
        let mut weights = vec![1];
        self.factors.iter().fold(1, |w, k| {
            weights.push(w * k);
            w * k
        });
        weights
    }
}

/// How far x1 + k x2 is from its law at most, with t as in [`SMOOTH`].
///
/// P(y) is in proportion to e^(-y^2 / 2 s^2) times the sum of e^(-(x - c)^2 / 2 t^2) over all whole x, for some c that
/// depends on y. By Poisson's summation formula this sum is a constant times 1 + e, where abs e is at most d = the sum
/// of 2 e^(-2 pi^2 t^2 j^2) over j > 0, whatever c is. So each probability is off by a factor of at most
/// (1 + d) / (1 - d), and the distance is at most d / (1 - d).
fn smoothing(t: f64) -> f64 {
    let rate = 2.0 * (std::f64::consts::PI * t).powi(2);
    let d: f64 = (1..4).map(|j| 2.0 * (-rate * f64::from(j * j)).exp()).sum();
    // Upwards, for what the floats round off.
    d / (1.0 - d) * (1.0 + 1e-9)
}

/// A sum of a width with these factors, if it is smooth enough and its table not too wide.
fn fit(bits: u32, units: f64, factors: Vec<i64>) -> Option<Sum> {
    let square = factors.iter().rev().fold(1.0, |s, &k| 1.0 + (k as f64).powi(2) * s);
    // Rounded up, so that no width is less than what was asked for.
    let width = units / square.sqrt() * (1.0 + 2f64.powi(-50));
    let sum = Sum { bits, width, factors };
    let narrow = width <= f64::from(1u32 << bits) / TAIL;
    (narrow && sum.sums().0.iter().all(|&t| t >= SMOOTH)).then_some(sum)
}

/// The discrete Gaussian of a width.
fn gaussian(units: f64) -> Sampler {
    let sum = Sum::of(units);
    let table = magnitudes(sum.bits, sum.width);
    let (weights, bits) = (sum.weights(), sum.bits);
    let mut terms = Vec::new();
    for (draw, &weight) in weights.iter().enumerate() {
        let sign = Plane { draw, bit: bits };
        // m where the sign is 0; of (m xor 1...1) + 1 - 2^c = -m where it is 1.
        terms.extend(
            (0..bits)
                .map(|bit| Term { weight: weight << bit, planes: vec![Plane { draw, bit }, sign] }),
        );
        terms.push(Term { weight: weight * (1 - (1 << bits)), planes: vec![sign] });
    }
    let largest = (1i64 << bits) - 1;
    Sampler {
        distance: table.distance * weights.len() as f64 + sum.error(),
        draws: vec![0; weights.len()],
        tables: vec![table],
        signed: true,
        terms,
        bound: largest * weights.iter().sum::<i64>(),
        width: sum.sums().1,
    }
}

/// A table of the magnitudes of the discrete Gaussian of a width.
fn magnitudes(bits: u32, width: f64) -> Table {
    // q^(x^2) one after another, each from the one before by q^(2 x + 1).
    let width = Exact::of(width);
    let q = Exact::one().over(&width.times(&width).twice()).exp_neg();
    let (mut weight, mut step, twice) = (Exact::one(), q.clone(), q.times(&q));
    let mut weights = vec![weight.clone()];
    loop {
        weight = weight.times(&step);
        if weight.is_zero() {
            break;
        }
        step = step.times(&twice);
        // Either sign.
        weights.push(weight.twice());
    }
    let all = weights.iter().fold(Exact::zero(), |sum, w| sum.plus(w));
    let chances: Vec<Exact> = weights.iter().map(|w| w.over(&all)).collect();
    let kept = chances.len().min(1 << bits);
    let left = chances[kept..].iter().fold(Exact::zero(), |sum, p| sum.plus(p));
    Table::new(bits, &chances[..kept], &left)
}
