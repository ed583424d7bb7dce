//! The Galois ring of degree [`DEGREE`] over Z_2^64: polynomials over Z_2^64 modulo X^56 + X^7 + X^4 + X^2 + 1,
//! which is irreducible modulo 2.
//!
//! An element is a unit exactly if one of its coefficients is odd. The polynomials with coefficients 0 and 1 are
//! 2^56 *exceptional* points ([`point`]): the difference of any two of them is a unit, so values at such points
//! determine a polynomial.
//!
//! Vectors ([`Vector`]) hold each coefficient of all elements in one row, so that sums of products are
//! products of matrices of words.

use super::kernels::{MatMulDims, matmul};
use super::simd::versions;
use super::{Word, Words, threads};

/// Coefficients of an element.
pub const DEGREE: usize = 56;

/// The places of the modulus below its top.
const TAPS: [usize; 4] = [0, 2, 4, 7];

/// An element, the coefficient of X^0 first.
pub type Element = [u64; DEGREE];

/// 0.
pub const ZERO: Element = [0; DEGREE];

/// A word as an element.
pub fn word(x: u64) -> Element {
    let mut out = ZERO;
    out[0] = x;
    out
}

/// The exceptional point of a number: bit j is the coefficient of X^j. Bits from [`DEGREE`] on are dropped.
pub fn point(i: u64) -> Element {
    std::array::from_fn(|j| i >> j & 1)
}

/// a + b.
pub fn add(a: &Element, b: &Element) -> Element {
    std::array::from_fn(|i| a[i].wrapping_add(b[i]))
}

/// a - b.
pub fn sub(a: &Element, b: &Element) -> Element {
    std::array::from_fn(|i| a[i].wrapping_sub(b[i]))
}

/// a b.
pub fn mul(a: &Element, b: &Element) -> Element {
    let mut wide = [0u64; 2 * DEGREE];
    for (i, &x) in a.iter().enumerate() {
        for (out, &y) in wide[i..].iter_mut().zip(b) {
            *out = out.wrapping_add(x.wrapping_mul(y));
        }
    }
    reduce(&mut wide);
    std::array::from_fn(|i| wide[i])
}

/// Modulo X^56 + X^7 + X^4 + X^2 + 1, from the top down.
fn reduce(wide: &mut [u64; 2 * DEGREE]) {
    for i in (DEGREE..2 * DEGREE).rev() {
        let top = std::mem::take(&mut wide[i]);
        for tap in TAPS {
            wide[i - DEGREE + tap] = wide[i - DEGREE + tap].wrapping_sub(top);
        }
    }
}

/// The inverse of a unit; of anything else no meaningful element.
pub fn inverse(a: &Element) -> Element {
    // Modulo 2 it is a^(2^56 - 2); each step of Newton's doubles the bits that are right.
    let mut power = *a;
    let mut out = word(1);
    for _ in 1..DEGREE {
        power = mul(&power, &power);
        out = mul(&out, &power);
    }
    for _ in 0..6 {
        out = mul(&out, &sub(&word(2), &mul(a, &out)));
    }
    out
}

/// A vector of elements: row i holds the coefficients of X^i of all of them.
#[derive(Clone, PartialEq, Eq)]
pub struct Vector {
    n: usize,
    rows: Vec<u64>,
}

impl std::fmt::Debug for Vector {
    /// Length only: the elements may be a share.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vector<{} elements>", self.n)
    }
}

impl Vector {
    /// Zeros.
    pub fn zeros(n: usize) -> Vector {
        Vector { n, rows: vec![0; n * DEGREE] }
    }

    /// From the rows, one after another; `None` if they are not [`DEGREE`] rows of one length.
    pub fn from_rows(n: usize, rows: Vec<u64>) -> Option<Vector> {
        (rows.len() == n.checked_mul(DEGREE)?).then_some(Vector { n, rows })
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Row i: the coefficients of X^i.
    pub fn row(&self, i: usize) -> &[u64] {
        &self.rows[i * self.n..(i + 1) * self.n]
    }

    /// All rows, one after another.
    pub fn rows(&self) -> &[u64] {
        &self.rows
    }

    /// Element t.
    pub fn get(&self, t: usize) -> Element {
        std::array::from_fn(|i| self.rows[i * self.n + t])
    }

    /// Sets element t.
    pub fn set(&mut self, t: usize, x: &Element) {
        x.iter().enumerate().for_each(|(i, &x)| self.rows[i * self.n + t] = x);
    }

    /// Vectors one after another, and zeros up to n elements.
    pub fn concat(parts: &[&Vector], n: usize) -> Vector {
        let all = parts.iter().map(|p| p.n).sum::<usize>();
        let n = n.max(all);
        let mut rows = Vec::with_capacity(n * DEGREE);
        for i in 0..DEGREE {
            parts.iter().for_each(|p| rows.extend_from_slice(p.row(i)));
            rows.resize((i + 1) * n, 0);
        }
        Vector { n, rows }
    }

    /// The products of elements at equal places.
    pub fn times(&self, other: &Vector) -> Vector {
        assert_eq!(self.n, other.n, "vectors of one length");
        let mut out = Vector::zeros(self.n);
        let parts: Vec<usize> = (0..self.n).step_by(PART).collect();
        let done = threads::map(parts.iter().copied(), &|at| {
            let len = PART.min(self.n - at);
            let gather = |v: &Vector| {
                let rows = (0..DEGREE).flat_map(|i| v.row(i)[at..at + len].iter().copied());
                rows.collect::<Vec<u64>>()
            };
            let mut wide = vec![0; 2 * DEGREE * len];
            convolve(&mut wide, &gather(self), &gather(other), len);
            wide
        });
        for (&at, wide) in parts.iter().zip(&done) {
            let len = PART.min(self.n - at);
            for i in 0..DEGREE {
                out.rows[i * self.n + at..][..len].copy_from_slice(&wide[i * len..][..len]);
            }
        }
        out
    }

    /// The sum over blocks b of c_b times block b, of as many blocks as there are factors, which are of one
    /// length.
    ///
    /// # Panics
    ///
    /// If the number of elements is no multiple of the number of factors.
    pub fn fold(&self, c: &[Element]) -> Vector {
        let blocks = c.len();
        let n = self.n / blocks;
        assert_eq!(n * blocks, self.n, "blocks of one length");
        // Entry (k, (i, b)): what c[b] X^i has at X^k.
        let mut left = vec![0; DEGREE * DEGREE * blocks];
        for (b, c) in c.iter().enumerate() {
            let mut power = *c;
            for i in 0..DEGREE {
                for (k, &x) in power.iter().enumerate() {
                    left[k * DEGREE * blocks + i * blocks + b] = x;
                }
                power = times_x(&power);
            }
        }
        let rows = product(left, self.rows.clone(), DEGREE, DEGREE * blocks, n, false);
        Vector { n, rows }
    }
}

/// X times a.
fn times_x(a: &Element) -> Element {
    let top = a[DEGREE - 1];
    let mut out: Element = std::array::from_fn(|i| if i == 0 { 0 } else { a[i - 1] });
    for tap in TAPS {
        out[tap] = out[tap].wrapping_sub(top);
    }
    out
}

/// `[m, k] * [k, n]`, the second one given as `[n, k]` if it is transposed.
fn product(a: Vec<u64>, b: Vec<u64>, m: usize, k: usize, n: usize, trans_b: bool) -> Vec<u64> {
    let dims = MatMulDims { batch: 1, a_batched: true, b_batched: true, m, k, n, trans_b };
    match matmul(&Words::W64(a), &Words::W64(b), dims) {
        Words::W64(out) => out,
        _ => unreachable!("products have the width of their factors"),
    }
}

/// The inner products of all pairs of blocks: entry a blocks + b is the sum over t of block a of u and block b
/// of v at t.
///
/// # Panics
///
/// If the vectors are not of one length, or this is no multiple of `blocks`.
pub fn cross(u: &Vector, v: &Vector, blocks: usize) -> Vec<Element> {
    let n = u.n / blocks;
    assert!(u.n == v.n && n * blocks == u.n, "blocks of one length");
    let side = DEGREE * blocks;
    let all = product(u.rows.clone(), v.rows.clone(), side, n, side, true);
    let mut out = Vec::with_capacity(blocks * blocks);
    for a in 0..blocks {
        for b in 0..blocks {
            let mut wide = [0u64; 2 * DEGREE];
            for i in 0..DEGREE {
                for j in 0..DEGREE {
                    let x = all[(i * blocks + a) * side + j * blocks + b];
                    wide[i + j] = wide[i + j].wrapping_add(x);
                }
            }
            reduce(&mut wide);
            out.push(std::array::from_fn(|i| wide[i]));
        }
    }
    out
}

/// The inner products of all pairs of blocks of words with factors: entry a blocks + b is the sum over t of
/// ``c[t] u[a n + t] v[b n + t]``, with n the length of c.
///
/// # Panics
///
/// If the words are not `blocks` blocks of the length of c.
pub fn cross_words(c: &Vector, u: &[u64], v: &[u64], blocks: usize) -> Vec<Element> {
    let n = c.n;
    assert!(u.len() == n * blocks && v.len() == n * blocks, "blocks of one length");
    let pairs = blocks * blocks;
    let mut out = vec![ZERO; pairs];
    // So many at a time that the products stay in the cache.
    for at in (0..n).step_by(PART) {
        let len = PART.min(n - at);
        let mut products = Vec::with_capacity(pairs * len);
        for a in u.chunks(n) {
            for b in v.chunks(n) {
                let (a, b) = (&a[at..at + len], &b[at..at + len]);
                products.extend(a.iter().zip(b).map(|(a, b)| a.wrapping_mul(*b)));
            }
        }
        let factors = (0..DEGREE).flat_map(|i| c.row(i)[at..at + len].iter().copied()).collect();
        let sums = product(products, factors, pairs, len, DEGREE, true);
        for (out, sum) in out.iter_mut().zip(sums.chunks(DEGREE)) {
            out.iter_mut().zip(sum).for_each(|(o, s)| *o = o.wrapping_add(*s));
        }
    }
    out
}

/// The sum over blocks b of c_b times block b of words.
///
/// # Panics
///
/// If the number of words is no multiple of the number of factors.
pub fn fold_words(c: &[Element], words: &[u64]) -> Vector {
    let n = words.len() / c.len();
    assert_eq!(n * c.len(), words.len(), "blocks of one length");
    let left = (0..DEGREE).flat_map(|i| c.iter().map(move |c| c[i])).collect();
    let rows = product(left, words.to_vec(), DEGREE, c.len(), n, false);
    Vector { n, rows }
}

/// For each block the sum of its words times their factors.
///
/// # Panics
///
/// If the words are not `blocks` blocks of as many as there are factors.
pub fn sum_words(c: &Vector, words: &[u64], blocks: usize) -> Vec<Element> {
    assert_eq!(words.len(), c.n * blocks, "blocks of one length");
    let sums = product(words.to_vec(), c.rows.clone(), blocks, c.n, DEGREE, true);
    (0..blocks).map(|b| std::array::from_fn(|i| sums[b * DEGREE + i])).collect()
}

/// Elements that are worked on at a time.
const PART: usize = 256;

versions! {
    /// wide[i + j] += a_i b_j at each of n places, and the remainder by the modulus in the first rows.
    fn convolve<[] []>(wide: &mut [u64], a: &[u64], b: &[u64], n: usize) {
        for (i, a) in a.chunks_exact(n).enumerate() {
            for (j, b) in b.chunks_exact(n).enumerate() {
                let out = &mut wide[(i + j) * n..][..n];
                for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                    *out = out.wadd(a.wmul(*b));
                }
            }
        }
        for i in (DEGREE..2 * DEGREE).rev() {
            let (low, high) = wide.split_at_mut(i * n);
            for tap in TAPS {
                let out = &mut low[(i - DEGREE + tap) * n..][..n];
                out.iter_mut().zip(&high[..n]).for_each(|(out, x)| *out = out.wsub(*x));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn elements(seed: u64, n: usize) -> Vec<Element> {
        let mut s = seed | 1;
        let mut next = || {
            s = s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            s ^ s >> 31
        };
        (0..n).map(|_| std::array::from_fn(|_| next())).collect()
    }

    fn vector(xs: &[Element]) -> Vector {
        let mut out = Vector::zeros(xs.len());
        xs.iter().enumerate().for_each(|(t, x)| out.set(t, x));
        out
    }

    fn sum(xs: impl Iterator<Item = Element>) -> Element {
        xs.fold(ZERO, |s, x| add(&s, &x))
    }

    #[test]
    fn known_products() {
        // X^55 X = -(X^7 + X^4 + X^2 + 1).
        let mut x55 = ZERO;
        x55[55] = 1;
        let mut want = ZERO;
        TAPS.iter().for_each(|&t| want[t] = u64::MAX);
        assert_eq!(mul(&x55, &point(2)), want);
        assert_eq!(times_x(&x55), want);
        assert_eq!(mul(&word(1 << 63), &word(2)), ZERO);
        assert_eq!(inverse(&word(3)), word(0xaaaa_aaaa_aaaa_aaab));
    }

    /// Modulo 2, X^(2^56) = X, and X^(2^28) - X and X^(2^8) - X are units: 56 has the prime divisors 2 and 7.
    #[test]
    fn the_modulus_is_irreducible() {
        let odd = |x: Element| x.map(|x| x & 1);
        let frobenius = |times| (0..times).fold(point(2), |x, _| odd(mul(&x, &x)));
        assert_eq!(frobenius(56), point(2));
        for times in [28, 8] {
            let difference = sub(&frobenius(times), &point(2));
            assert_eq!(mul(&difference, &inverse(&difference)), word(1));
        }
    }

    #[test]
    fn differences_of_exceptional_points_are_units() {
        let points = [0, 1, 2, 3, 7, 62, 63, 1 << 55, (1 << 56) - 1, 0x5a5a_5a5a_5a5a];
        for (n, &i) in points.iter().enumerate() {
            for &j in &points[..n] {
                let d = sub(&point(i), &point(j));
                assert_eq!(mul(&d, &inverse(&d)), word(1), "{i} - {j}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]
        #[test]
        fn laws_of_a_ring(seed: u64) {
            let [a, b, c]: [Element; 3] = elements(seed, 3).try_into().unwrap();
            prop_assert_eq!(mul(&a, &b), mul(&b, &a));
            prop_assert_eq!(mul(&a, &mul(&b, &c)), mul(&mul(&a, &b), &c));
            prop_assert_eq!(mul(&a, &add(&b, &c)), add(&mul(&a, &b), &mul(&a, &c)));
            prop_assert_eq!(mul(&a, &word(1)), a);
            prop_assert_eq!(times_x(&a), mul(&a, &point(2)));
        }

        #[test]
        fn vectors_are_their_elements(seed: u64, n in 0usize..5, blocks in 1usize..5) {
            let (u, v) = (elements(seed, n * blocks), elements(seed ^ 9, n * blocks));
            let (uu, vv) = (vector(&u), vector(&v));
            let products = uu.times(&vv);
            for t in 0..n * blocks {
                prop_assert_eq!(products.get(t), mul(&u[t], &v[t]));
            }
            let all = cross(&uu, &vv, blocks);
            for a in 0..blocks {
                for b in 0..blocks {
                    let want = sum((0..n).map(|t| mul(&u[a * n + t], &v[b * n + t])));
                    prop_assert_eq!(all[a * blocks + b], want);
                }
            }
            let c = elements(seed ^ 3, blocks);
            let folded = uu.fold(&c);
            for t in 0..n {
                let want = sum((0..blocks).map(|b| mul(&c[b], &u[b * n + t])));
                prop_assert_eq!(folded.get(t), want);
            }
            let joined = Vector::concat(&[&uu, &vv], 3 * n * blocks);
            for t in 0..3 * n * blocks {
                let want = u.iter().chain(&v).nth(t).copied().unwrap_or(ZERO);
                prop_assert_eq!(joined.get(t), want);
            }
        }

        #[test]
        fn words_are_elements(seed: u64, n in 0usize..300, blocks in 1usize..4) {
            let flat = |seed| elements(seed, n * blocks).iter().map(|x| x[7]).collect::<Vec<_>>();
            let (u, v, c) = (flat(seed), flat(seed ^ 5), elements(seed ^ 6, n));
            let all = cross_words(&vector(&c), &u, &v, blocks);
            for a in 0..blocks {
                for b in 0..blocks {
                    let one = |t: usize| u[a * n + t].wrapping_mul(v[b * n + t]);
                    let want = sum((0..n).map(|t| mul(&c[t], &word(one(t)))));
                    prop_assert_eq!(all[a * blocks + b], want);
                }
            }
            let sums = sum_words(&vector(&c), &u, blocks);
            for (b, found) in sums.iter().enumerate() {
                let want = sum((0..n).map(|t| mul(&c[t], &word(u[b * n + t]))));
                prop_assert_eq!(*found, want);
            }
            let c = elements(seed ^ 8, blocks);
            let folded = fold_words(&c, &u);
            for t in 0..n {
                let want = sum((0..blocks).map(|b| mul(&c[b], &word(u[b * n + t]))));
                prop_assert_eq!(folded.get(t), want);
            }
        }
    }
}
