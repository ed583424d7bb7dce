//! Fields of p elements, for a prime p between 2^60 and 2^61 that is found at random, and vectors over them.
//!
//! An element is a number below p. A [`Weight`] is what elements and words are multiplied by: the number times 2^64, so
//! that a product is one reduction (Montgomery 1985).

use super::grid::{COLUMNS, LEAF, Visit, in_shares, points, walk};
use super::simd::{minus_modulo, modulo, versions};
use super::word::each_run;
use super::{Run, Word, threads};
use std::ops::Range;

/// Bits of p.
pub const BITS: u32 = 61;

/// Elements of a vector that are worked on at a time.
const PART: usize = 256;

/// Most blocks of a vector that is folded: sums of as many products of limbs are below 2^63.
const MOST_BLOCKS: usize = 1 << 10;

/// A factor in three numbers, of 21, 20 and 20 bits.
type Limbs = [u64; 3];

/// Bits below each.
const AT: [u32; 3] = [0, 21, 41];

/// Sums of products of each of these with the lower and with the upper 32 bits of words.
type Sums = [[[u64; PART]; 3]; 2];

versions! {
    /// Adds the products of words and one factor.
    fn add_products<[T] [T: Word]>(sums: &mut Sums, x: &[T], c: &Limbs) {
        let low = |x: u64| x & u64::from(u32::MAX);
        let [lower, upper] = sums;
        for (sums, c) in lower.iter_mut().zip(c) {
            sums.iter_mut().zip(x).for_each(|(s, x)| *s += low(*c) * low(x.to_u64()));
        }
        if T::BITS > 32 {
            for (sums, c) in upper.iter_mut().zip(c) {
                sums.iter_mut().zip(x).for_each(|(s, x)| *s += low(*c) * (x.to_u64() >> 32));
            }
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weight(u64);

/// The field of a prime number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prime {
    p: u64,
    /// Modulo 2^64 the inverse of p.
    inverse: u64,
    /// 2^128 modulo p.
    square: u64,
}

impl Prime {
    /// A uniform prime between 2^60 and 2^61, from uniform words.
    pub fn draw(mut words: impl FnMut() -> u64) -> Prime {
        loop {
            // Even numbers are none, so that they need not be drawn.
            let n = (words() >> (65 - BITS)) << 1 | 1 | 1 << (BITS - 1);
            if is_prime(n) {
                return Prime::of(n);
            }
        }
    }

    fn of(p: u64) -> Prime {
        // Newton's step doubles the bits that are right: three of an odd number, which is its own inverse modulo 8.
        let step = |x: u64, _| x.wrapping_mul(2u64.wrapping_sub(p.wrapping_mul(x)));
        let inverse = (0..5).fold(p, step);
        let once = (1u128 << 64) % u128::from(p);
        Prime { p, inverse, square: (once * once % u128::from(p)) as u64 }
    }

    pub fn modulus(&self) -> u64 {
        self.p
    }

    /// x / 2^64, of an x below 2^64 p.
    #[inline]
    fn reduce(&self, x: u128) -> u64 {
        let multiple = (x as u64).wrapping_mul(self.inverse);
        let high = ((u128::from(multiple) * u128::from(self.p)) >> 64) as u64;
        let less = ((x >> 64) as u64).wrapping_sub(high);
        less.min(less.wrapping_add(self.p))
    }

    /// A uniform element, from uniform words.
    pub fn element(&self, mut words: impl FnMut() -> u64) -> u64 {
        loop {
            let x = words() >> (64 - BITS);
            if x < self.p {
                return x;
            }
        }
    }

    /// The element of bytes, if it is one.
    pub fn get(&self, bytes: [u8; 8]) -> Option<u64> {
        Some(u64::from_le_bytes(bytes)).filter(|x| *x < self.p)
    }

    #[inline]
    pub fn add(&self, a: u64, b: u64) -> u64 {
        let sum = a + b;
        sum.min(sum.wrapping_sub(self.p))
    }

    #[inline]
    pub fn sub(&self, a: u64, b: u64) -> u64 {
        let less = a.wrapping_sub(b);
        less.min(less.wrapping_add(self.p))
    }

    #[inline]
    pub fn mul(&self, a: u64, b: u64) -> u64 {
        self.times(self.weight(a), b)
    }

    /// An element, or a word, as a factor.
    #[inline]
    pub fn weight(&self, a: u64) -> Weight {
        Weight(self.reduce(u128::from(a) * u128::from(self.square)))
    }

    /// w x, of an element or of a word.
    #[inline]
    pub fn times(&self, w: Weight, x: u64) -> u64 {
        self.reduce(u128::from(w.0) * u128::from(x))
    }

    /// The product of two factors as a factor.
    #[inline]
    pub fn both(&self, a: Weight, b: Weight) -> Weight {
        Weight(self.reduce(u128::from(a.0) * u128::from(b.0)))
    }

    /// The sum of two factors as a factor.
    #[inline]
    pub fn either(&self, a: Weight, b: Weight) -> Weight {
        Weight(self.add(a.0, b.0))
    }

    /// Words modulo p.
    pub fn reduced(&self, words: &[u64]) -> Vec<u64> {
        let mut out = words.to_vec();
        modulo(&mut out, self.p);
        out
    }

    /// The products of words and factors at equal places.
    ///
    /// # Panics
    ///
    /// On vectors of different lengths.
    pub fn weigh(&self, words: &mut [u64], w: &[Weight]) {
        assert_eq!(words.len(), w.len(), "vectors of one length");
        words.iter_mut().zip(w).for_each(|(x, w)| *x = self.times(*w, *x));
    }

    /// The sum of the products of words and factors at equal places.
    ///
    /// # Panics
    ///
    /// On vectors of different lengths.
    pub fn dot(&self, words: &[u64], w: &[Weight]) -> u64 {
        assert_eq!(words.len(), w.len(), "vectors of one length");
        words.iter().zip(w).fold(0, |s, (x, w)| self.add(s, self.times(*w, *x)))
    }

    /// The sum over blocks b of c_b times block b, of words.
    ///
    /// # Panics
    ///
    /// If there are not as many blocks as factors, or too many, or they are not of one length.
    pub fn fold(&self, blocks: &[Run<'_>], c: &[Weight]) -> Vec<u64> {
        let n = blocks.first().map_or(0, |block| block.len());
        let fits = blocks.len() == c.len() && blocks.iter().all(|b| b.len() == n);
        assert!(fits && c.len() <= MOST_BLOCKS, "blocks of one length");
        let limbs =
            |c: &Weight| [c.0 & ((1 << AT[1]) - 1), c.0 >> AT[1] & ((1 << 20) - 1), c.0 >> AT[2]];
        let limbs: Vec<Limbs> = c.iter().map(limbs).collect();
        let upper = self.weight(1 << 32);
        let mut out = vec![0; n];
        threads::each(out.chunks_mut(PART).enumerate(), &|(part, out)| {
            let mut sums: Sums = [[[0; PART]; 3]; 2];
            let some = part * PART..part * PART + out.len();
            for (block, c) in blocks.iter().zip(&limbs) {
                each_run!(block, x => add_products(&mut sums, &x[some.clone()], c));
            }
            for (i, out) in out.iter_mut().enumerate() {
                let [lower, high] = sums.each_ref().map(|sums| {
                    let limbs = sums.iter().zip(AT);
                    self.reduce(limbs.fold(0, |s, (x, at)| s + (u128::from(x[i]) << at)))
                });
                *out = self.add(lower, self.times(upper, high));
            }
        });
        out
    }
}

/// Whether an odd number above 3 is a prime: no witness against it among these, which say it of all below 2^64
/// (Sinclair 2011).
fn is_prime(n: u64) -> bool {
    const BASES: [u64; 7] = [2, 325, 9375, 28178, 450_775, 9_780_504, 1_795_265_022];
    let mul = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(n)) as u64;
    let (twos, odd) = ((n - 1).trailing_zeros(), (n - 1) >> (n - 1).trailing_zeros());
    BASES.iter().all(|base| {
        let bits = (0..u64::BITS - odd.leading_zeros()).rev();
        let power = bits.fold(1, |x, i| {
            let x = mul(x, x);
            if odd >> i & 1 == 1 { mul(x, base % n) } else { x }
        });
        let mut squares = (0..twos).scan(power, |x, _| Some(std::mem::replace(x, mul(*x, *x))));
        base % n == 0 || power == 1 || squares.any(|x| x == n - 1)
    })
}

/// The inner products of vectors at the points of a [grid](super::galois::Grid), added up over several vectors.
#[derive(Clone, Debug)]
pub struct Grid {
    prime: Prime,
    variables: u32,
    /// Over 2^64.
    sums: Vec<u64>,
}

/// The inner products at all points, of some columns.
struct Products<'a> {
    prime: &'a Prime,
    sums: &'a mut [u64],
    /// Room for the differences of four blocks.
    less: [[Row; 5]; 2],
}

type Row = [u64; COLUMNS];

/// The values of four blocks at nine points, with room for the differences.
fn nine<'a>(x: &'a [Row; LEAF], less: &'a mut [Row; 5], p: u64) -> [&'a Row; 9] {
    for (to, [a, b]) in [[1, 0], [3, 2], [2, 0], [3, 1]].into_iter().enumerate() {
        minus_modulo(&mut less[to], &x[a], &x[b], p);
    }
    let (ends, last) = less.split_at_mut(4);
    minus_modulo(&mut last[0], &ends[1], &ends[0], p);
    let ([a, b, c, d], [e, f, g, h, i]) = (x, &*less);
    [a, b, e, c, d, f, g, h, i]
}

impl Visit<Row, 2> for Products<'_> {
    fn minus(&mut self, out: &mut [Row], a: &[Row], b: &[Row]) {
        minus_modulo(out.as_flattened_mut(), a.as_flattened(), b.as_flattened(), self.prime.p);
    }
    fn leaf(&mut self, point: usize, [u, v]: [&[Row; LEAF]; 2]) {
        let p = self.prime;
        let [of_u, of_v] = &mut self.less;
        let (u, v) = (nine(u, of_u, p.p), nine(v, of_v, p.p));
        for ((out, u), v) in self.sums[point..].iter_mut().zip(u).zip(v) {
            let products = u.iter().zip(v).map(|(u, v)| u128::from(*u) * u128::from(*v));
            // The upper word of 32 of them is below 2^63, so less than 8 p.
            let sum: u128 = products.sum();
            let high = (sum >> 64) as u64;
            let high = (0..4).rev().fold(high, |x, i| x.min(x.wrapping_sub(p.p << i)));
            *out = p.add(*out, p.reduce(u128::from(high) << 64 | u128::from(sum as u64)));
        }
    }
}

impl Grid {
    /// Of vectors of 2^m blocks, m at least 2.
    pub fn new(prime: Prime, variables: u32) -> Grid {
        Grid { prime, variables, sums: vec![0; points(variables)] }
    }

    /// Adds the inner products of all u and v, words in blocks. If there are factors, those of blocks and those of the
    /// elements of a block, then each word of u is multiplied by both of its own before.
    ///
    /// # Panics
    ///
    /// If there are not 2^m blocks of one length, and as many factors.
    pub fn add(&mut self, terms: &[[Vec<Run<'_>>; 2]], factors: Option<[&[Weight]; 2]>) {
        let blocks = 1 << self.variables;
        let n = terms.first().and_then(|[u, _]| u.first()).map_or(0, |block| block.len());
        let fits = |x: &Vec<Run<'_>>| x.len() == blocks && x.iter().all(|b| b.len() == n);
        let weighed = factors.is_none_or(|[b, e]| b.len() == blocks && e.len() == n);
        assert!(terms.iter().flatten().all(fits) && weighed, "blocks of one length");
        let prime = self.prime;
        let part = |sums: &mut [u64], columns: Range<usize>| {
            let mut rows = [(); 4].map(|()| vec![[0u64; COLUMNS]; blocks]);
            let mut weights = vec![[Weight::default(); COLUMNS]; blocks];
            let less = [[[0; COLUMNS]; 5]; 2];
            let mut products = Products { prime: &prime, sums, less };
            for at in columns.clone().step_by(COLUMNS) {
                let some = at..columns.end.min(at + COLUMNS);
                if let Some([blocks, elements]) = factors {
                    for (row, block) in weights.iter_mut().zip(blocks) {
                        let both = row.iter_mut().zip(&elements[some.clone()]);
                        both.for_each(|(w, e)| *w = prime.both(*block, *e));
                    }
                }
                for [u, v] in terms {
                    let [a, b, su, sv] = &mut rows;
                    for (rows, x) in [(&mut *a, u), (&mut *b, v)] {
                        for (row, x) in rows.iter_mut().zip(x) {
                            // What stands behind the last column is multiplied, too.
                            row[some.len()..].fill(0);
                            x.widen(at, &mut row[..some.len()]);
                        }
                    }
                    match factors {
                        None => modulo(a.as_flattened_mut(), prime.p),
                        Some(_) => {
                            let all = a.as_flattened_mut().iter_mut().zip(weights.as_flattened());
                            all.for_each(|(x, w)| *x = prime.times(*w, *x));
                        }
                    }
                    modulo(b.as_flattened_mut(), prime.p);
                    walk(&mut products, 0, [a, b], [su, sv]);
                }
            }
        };
        let add = |to: &mut u64, x: &u64| *to = prime.add(*to, *x);
        in_shares(n, &mut self.sums, &0, &part, &add);
    }

    /// Adds what another one has, of the same field and as many variables.
    ///
    /// # Panics
    ///
    /// On others.
    pub fn join(&mut self, other: &Grid) {
        assert!(
            self.prime == other.prime && self.variables == other.variables,
            "grids of one size"
        );
        let prime = self.prime;
        self.sums.iter_mut().zip(&other.sums).for_each(|(s, x)| *s = prime.add(*s, *x));
    }

    /// The values, in the order of the points.
    pub fn elements(&self) -> Vec<u64> {
        let whole = Weight(self.prime.square);
        self.sums.iter().map(|x| self.prime.times(whole, *x)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cut_runs;
    use crate::testing::words;
    use proptest::prelude::*;

    #[test]
    fn primes_are_told_from_other_numbers() {
        let divided =
            |n: u64| (3..).step_by(2).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d));
        for n in (5..20_000).step_by(2) {
            assert_eq!(is_prime(n), divided(n), "{n}");
        }
        // The largest primes below 2^61 and 2^64; strong pseudoprimes to small bases, and a square of a prime.
        for prime in [(1 << 61) - 1, u64::MAX - 58] {
            assert!(is_prime(prime));
        }
        for other in [
            3_215_031_751,
            341_550_071_728_321,
            3_825_123_056_546_413_051,
            1_073_676_289 * 1_073_676_289,
        ] {
            assert!(!is_prime(other), "{other}");
        }
    }

    #[test]
    fn drawn_primes_are_in_their_range_and_differ() {
        let all: Vec<u64> = (0..50).map(|seed| Prime::draw(words(seed)).modulus()).collect();
        for p in &all {
            assert!((1 << 60..1 << 61).contains(p) && is_prime(*p));
        }
        let different: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
    }

    /// Folds of lifted statements have up to 1,024 blocks; sums of as many of the largest words stay in their numbers.
    #[test]
    fn many_blocks_of_the_largest_words_are_summed_as_numbers() {
        const M: u32 = 10;
        let (blocks, n) = (1usize << M, 5);
        let f = Prime::draw(words(11));
        let mut next = words(12);
        for word in [u64::MAX, f.modulus() - 1, f.modulus(), 1 << 63] {
            let x = vec![word; n * blocks];
            let weights: Vec<Weight> =
                (0..blocks).map(|i| f.weight(if i % 7 == 0 { next() } else { u64::MAX })).collect();
            let reduced = f.reduced(&[word])[0];
            let want = weights.iter().fold(0, |s, w| f.add(s, f.times(*w, reduced)));
            assert_eq!(f.fold(&cut_runs(&x, blocks), &weights), vec![want; n], "{word}");
            let mut grid = Grid::new(f, M);
            grid.add(&[[cut_runs(&x, blocks), cut_runs(&x, blocks)]], None);
            // All blocks have the same word: at a point it is 0 where a digit is high, and the word elsewhere.
            let square = f.mul(reduced, reduced);
            let square = (0..n).fold(0, |s, _| f.add(s, square));
            for (point, value) in grid.elements().into_iter().enumerate() {
                let high = (0..M).any(|j| point / 3usize.pow(j) % 3 == 2);
                assert_eq!(value, if high { 0 } else { square }, "{word} at point {point}");
            }
        }
    }

    proptest! {
        #[test]
        fn operations_are_those_of_numbers(seed: u64, a: u64, b: u64) {
            let f = Prime::draw(words(seed));
            let p = u128::from(f.modulus());
            let wide = |x: u64| u128::from(x);
            prop_assert_eq!(wide(f.times(f.weight(a), b)), wide(a) * wide(b) % p);
            prop_assert_eq!(f.reduced(&[a, b]), [(wide(a) % p) as u64, (wide(b) % p) as u64]);
            let (x, y) = (f.reduced(&[a])[0], f.reduced(&[b])[0]);
            prop_assert_eq!(wide(f.add(x, y)), (wide(x) + wide(y)) % p);
            prop_assert_eq!(wide(f.sub(x, y)), (wide(x) + p - wide(y)) % p);
            prop_assert_eq!(wide(f.mul(x, y)), wide(x) * wide(y) % p);
            let (v, w) = (f.weight(a), f.weight(b));
            prop_assert_eq!(f.times(f.both(v, w), 1), f.mul(x, y));
            prop_assert_eq!(f.times(f.either(v, w), 1), f.add(x, y));
            for edge in [0, 1, f.modulus() - 1] {
                prop_assert_eq!(f.get(edge.to_le_bytes()), Some(edge));
            }
            prop_assert_eq!(f.get(f.modulus().to_le_bytes()), None);
        }

        #[test]
        fn vectors_are_what_their_elements_are(
            seed: u64, m in 2u32..5, n in 1usize..70, extreme: bool,
        ) {
            let mut next = words(seed);
            let f = Prime::draw(&mut next);
            let mut word = || if extreme { u64::MAX - (next() & 1) } else { next() };
            let blocks = 1 << m;
            let (u, v): (Vec<u64>, Vec<u64>) = (0..n * blocks).map(|_| (word(), word())).unzip();
            let c: Vec<Weight> = (0..n * blocks).map(|_| f.weight(word())).collect();
            let (mut a, b) = (u.clone(), f.reduced(&v));
            f.weigh(&mut a, &c);
            let sum = |all: &mut dyn Iterator<Item = u64>| all.fold(0, |s, x| f.add(s, x));
            for i in 0..a.len() {
                prop_assert_eq!(a[i], f.times(c[i], u[i]));
            }
            prop_assert_eq!(f.dot(&u, &c), sum(&mut a.iter().copied()));
            let weights = &c[..blocks];
            let folded = f.fold(&cut_runs(&v, blocks), weights);
            for t in 0..n {
                let want = sum(&mut (0..blocks).map(|i| f.times(weights[i], b[i * n + t])));
                prop_assert_eq!(folded[t], want);
            }
            // At a point of digits 0, 1 and high.
            let mut grid = Grid::new(f, m);
            grid.add(&[[cut_runs(&a, blocks), cut_runs(&v, blocks)]], None);
            let values = grid.elements();
            for (point, value) in values.iter().enumerate() {
                let digit = |j: u32| point / 3usize.pow(j) % 3;
                let at = |x: &[u64], t: usize| {
                    (0..blocks).fold(0, |s, i| {
                        let term = |j: u32| match (digit(j), i >> j & 1) {
                            (0, 0) | (1, 1) | (2, 1) => 1,
                            (2, 0) => f.modulus() - 1,
                            _ => 0,
                        };
                        let scale = (0..m).fold(1, |p, j| f.mul(p, term(j)));
                        f.add(s, f.mul(scale, x[i * n + t]))
                    })
                };
                let want = sum(&mut (0..n).map(|t| f.mul(at(&a, t), at(&b, t))));
                prop_assert_eq!(*value, want, "point {}", point);
            }
            let mut twice = Grid::new(f, m);
            twice.add(&[[cut_runs(&a, blocks), cut_runs(&b, blocks)]], None);
            twice.join(&grid);
            for (x, value) in twice.elements().iter().zip(&values) {
                prop_assert_eq!(*x, f.add(*value, *value));
            }
            // With factors of blocks and of the elements of each.
            let (of_blocks, elements) = (&c[..blocks], &c[c.len() - n..]);
            let all: Vec<Weight> =
                of_blocks.iter().flat_map(|b| elements.iter().map(|e| f.both(*b, *e))).collect();
            let mut weighed = u.clone();
            f.weigh(&mut weighed, &all);
            let (mut found, mut want) = (Grid::new(f, m), Grid::new(f, m));
            found.add(&[[cut_runs(&u, blocks), cut_runs(&v, blocks)]], Some([of_blocks, elements]));
            want.add(&[[cut_runs(&weighed, blocks), cut_runs(&v, blocks)]], None);
            prop_assert_eq!(found.elements(), want.elements());
        }
    }
}
