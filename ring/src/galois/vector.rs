//! Vectors of elements.

use super::{DEGREE, Element, Scalar, TAPS, reduce, times_x, zero};
use crate::kernels::MatMulDims;
use crate::simd::versions;
use crate::threads;
use std::borrow::Cow;

/// A vector of elements: row i holds the coefficients of X^i of all of them.
#[derive(Clone, PartialEq, Eq)]
pub struct Vector<T = u64> {
    pub(super) n: usize,
    pub(super) rows: Vec<T>,
}

impl<T> std::fmt::Debug for Vector<T> {
    /// Length only: the elements may be a share.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vector<{} elements>", self.n)
    }
}

impl<T: Scalar> Vector<T> {
    pub fn zeros(n: usize) -> Vector<T> {
        Vector { n, rows: vec![T::ZERO; n * DEGREE] }
    }

    /// The sum with a vector of the same length.
    pub fn plus(&self, other: &Vector<T>) -> Vector<T> {
        self.with(other, T::wadd)
    }

    /// The difference from a vector of the same length.
    pub fn minus(&self, other: &Vector<T>) -> Vector<T> {
        self.with(other, T::wsub)
    }

    fn with(&self, other: &Vector<T>, f: impl Fn(T, T) -> T) -> Vector<T> {
        debug_assert_eq!(self.n, other.n, "vectors of one length");
        let rows = self.rows.iter().zip(&other.rows).map(|(&a, &b)| f(a, b)).collect();
        Vector { n: self.n, rows }
    }

    /// From the rows, one after another; `None` if they are not [`DEGREE`] rows of one length.
    pub fn from_rows(n: usize, rows: Vec<T>) -> Option<Vector<T>> {
        (rows.len() == n.checked_mul(DEGREE)?).then_some(Vector { n, rows })
    }

    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Row i: the coefficients of X^i.
    pub fn row(&self, i: usize) -> &[T] {
        &self.rows[i * self.n..(i + 1) * self.n]
    }

    /// All rows, one after another.
    pub fn rows(&self) -> &[T] {
        &self.rows
    }

    pub fn get(&self, t: usize) -> Element<T> {
        std::array::from_fn(|i| self.rows[i * self.n + t])
    }

    pub fn set(&mut self, t: usize, x: &Element<T>) {
        x.iter().enumerate().for_each(|(i, &x)| self.rows[i * self.n + t] = x);
    }

    /// Vectors one after another, and zeros up to n elements.
    pub fn concat(parts: &[&Vector<T>], n: usize) -> Vector<T> {
        let all = parts.iter().map(|p| p.n).sum::<usize>();
        let n = n.max(all);
        let mut rows = Vec::with_capacity(n * DEGREE);
        for i in 0..DEGREE {
            parts.iter().for_each(|p| rows.extend_from_slice(p.row(i)));
            rows.resize((i + 1) * n, T::ZERO);
        }
        Vector { n, rows }
    }

    /// Writes a vector from element `at` on.
    ///
    /// # Panics
    ///
    /// If it does not fit.
    pub fn place(&mut self, at: usize, from: &Vector<T>) {
        for (i, row) in self.rows.chunks_exact_mut(self.n.max(1)).enumerate() {
            row[at..at + from.n].copy_from_slice(from.row(i));
        }
    }

    /// The products of elements at equal places.
    pub fn times(&self, other: &Vector<T>) -> Vector<T> {
        assert_eq!(self.n, other.n, "vectors of one length");
        self.times_by(&|at, out| {
            for (j, out) in out.iter_mut().enumerate() {
                let row = &other.rows[j * self.n + at..(j + 1) * self.n];
                out.iter_mut().zip(row).for_each(|(o, x)| *o = *x);
            }
        })
    }

    /// The products with the elements that `factors` gives, [`LANES`] from a place on.
    pub(super) fn times_by(&self, factors: &(dyn Fn(usize, &mut Lanes<T>) + Sync)) -> Vector<T> {
        let n = self.n;
        let parts: Vec<usize> = (0..n).step_by(PART).collect();
        let done = threads::map(parts.iter().copied(), &|at| {
            let len = PART.min(n - at);
            let mut rows = vec![T::ZERO; DEGREE * len];
            let (mut a, mut b, mut wide) = (
                [[T::ZERO; LANES]; DEGREE],
                [[T::ZERO; LANES]; DEGREE],
                [[T::ZERO; LANES]; 2 * DEGREE],
            );
            for t in (0..len).step_by(LANES) {
                let some = LANES.min(len - t);
                for (i, a) in a.iter_mut().enumerate() {
                    a[..some].copy_from_slice(&self.rows[i * n + at + t..][..some]);
                }
                factors(at + t, &mut b);
                convolve(&mut wide, &a, &b);
                for (i, wide) in wide.iter().enumerate().take(DEGREE) {
                    rows[i * len + t..][..some].copy_from_slice(&wide[..some]);
                }
            }
            rows
        });
        let mut out = Vector::zeros(n);
        for (&at, rows) in parts.iter().zip(&done) {
            let len = PART.min(n - at);
            for i in 0..DEGREE {
                out.rows[i * n + at..][..len].copy_from_slice(&rows[i * len..][..len]);
            }
        }
        out
    }

    /// The sum of some quarters of the rows.
    fn part(&self, quarters: &[usize]) -> Cow<'_, [T]> {
        let len = QUARTER * self.n;
        let quarter = |i: usize| &self.rows[i * len..(i + 1) * len];
        let mut out = Cow::Borrowed(quarter(quarters[0]));
        for i in &quarters[1..] {
            out.to_mut().iter_mut().zip(quarter(*i)).for_each(|(o, x)| *o = o.wadd(*x));
        }
        out
    }

    /// The sum over blocks b of c_b times block b, of as many blocks as there are factors, which are of one
    /// length.
    ///
    /// # Panics
    ///
    /// If the number of elements is no multiple of the number of factors.
    pub fn fold(&self, c: &[Element<T>]) -> Vector<T> {
        let blocks = c.len();
        let n = self.n / blocks;
        assert_eq!(n * blocks, self.n, "blocks of one length");
        // Entry (k, (i, b)): what c[b] X^i has at X^k.
        let mut left = vec![T::ZERO; DEGREE * DEGREE * blocks];
        for (b, c) in c.iter().enumerate() {
            let mut power = *c;
            for i in 0..DEGREE {
                for (k, &x) in power.iter().enumerate() {
                    left[k * DEGREE * blocks + i * blocks + b] = x;
                }
                power = times_x(&power);
            }
        }
        let rows = plain(&left, &self.rows, DEGREE, DEGREE * blocks, n);
        Vector { n, rows }
    }
}

/// `[m, k] * [k, n]`.
pub(super) fn plain<T: Scalar>(a: &[T], b: &[T], m: usize, k: usize, n: usize) -> Vec<T> {
    let mut out = vec![T::ZERO; m * n];
    plain_acc(&mut out, a, b, [m, k, n], false);
    out
}

/// out += `[m, k] * [k, n]`, the second one given as `[n, k]` if it is transposed.
fn plain_acc<T: Scalar>(out: &mut [T], a: &[T], b: &[T], [m, k, n]: [usize; 3], trans_b: bool) {
    let dims = MatMulDims { batch: 1, a_batched: true, b_batched: true, m, k, n, trans_b };
    T::product_acc(out, a, b, dims);
}

/// Rows of a part of a vector: a vector has four of them.
const QUARTER: usize = DEGREE / 4;

/// The parts of a polynomial of which products are taken: of its two halves and their sum, the same of each (Karatsuba
/// and Ofman 1962). Nine products of rows in place of sixteen.
const PARTS: [&[usize]; 9] =
    [&[0], &[1], &[0, 1], &[2], &[3], &[2, 3], &[0, 2], &[1, 3], &[0, 1, 2, 3]];

/// Rows of one factor that are multiplied at a time: what comes out stays in the second cache.
const ROWS: usize = 160;

/// Entry a blocks + b is the inner product of block a of u and block b of v.
///
/// # Panics
///
/// If the vectors are not of one length, or this is no multiple of the number of blocks.
pub fn cross<T: Scalar>(u: &Vector<T>, v: &Vector<T>, blocks: usize) -> Vec<Element<T>> {
    let n = u.n / blocks;
    assert!(u.n == v.n && n * blocks == u.n, "blocks of one length");
    let all = (0..blocks * blocks).map(|i| (i / blocks, i % blocks));
    if n == 0 {
        return vec![zero(); blocks * blocks];
    }
    if n == 1 {
        let (u, v) = all.map(|(a, b)| (u.get(a), v.get(b))).unzip::<_, _, Vec<_>, Vec<_>>();
        return products(&u, &v);
    }
    // Of each part and each block of u, for each block of v in turn the coefficient of X^0, then for each that of X^1:
    // so a row is added as it stands.
    let each = 2 * QUARTER * blocks;
    let mut sums = vec![T::ZERO; PARTS.len() * blocks * each];
    let columns = QUARTER * blocks;
    let mut left = Vec::new();
    let mut found = Vec::new();
    for (part, sums) in PARTS.iter().zip(sums.chunks_exact_mut(blocks * each)) {
        let (u, v) = (u.part(part), v.part(part));
        let some = (ROWS / QUARTER).min(blocks);
        for (from, sums) in (0..blocks).step_by(some).zip(sums.chunks_mut(some * each)) {
            let some = some.min(blocks - from);
            left.clear();
            for row in u.chunks_exact(blocks * n) {
                left.extend_from_slice(&row[from * n..(from + some) * n]);
            }
            found.clear();
            found.resize(QUARTER * some * columns, T::ZERO);
            plain_acc(&mut found, &left, &v, [QUARTER * some, n, columns], true);
            for (k, row) in found.chunks_exact(columns).enumerate() {
                let (i, a) = (k / some, k % some);
                let to = &mut sums[a * each + i * blocks..][..columns];
                to.iter_mut().zip(row).for_each(|(s, x)| *s = s.wadd(*x));
            }
        }
    }
    let of = |(a, b): (usize, usize)| {
        let part = |p: usize| {
            let sums = &sums[(p * blocks + a) * each..][..each];
            std::array::from_fn(|i| sums[i * blocks + b])
        };
        element(&std::array::from_fn(part))
    };
    all.map(of).collect()
}

/// The products of elements at equal places.
///
/// # Panics
///
/// If there are not as many of both.
pub fn products<T: Scalar>(a: &[Element<T>], b: &[Element<T>]) -> Vec<Element<T>> {
    assert_eq!(a.len(), b.len(), "as many of both");
    let mut out = Vec::with_capacity(a.len());
    let new = || [[T::ZERO; LANES]; DEGREE];
    let (mut lanes, mut wide) = ([new(), new()], [[T::ZERO; LANES]; 2 * DEGREE]);
    for (a, b) in a.chunks(LANES).zip(b.chunks(LANES)) {
        for (to, from) in lanes.iter_mut().zip([a, b]) {
            for (r, x) in from.iter().enumerate() {
                to.iter_mut().zip(x).for_each(|(to, x)| to[r] = *x);
            }
        }
        convolve(&mut wide, &lanes[0], &lanes[1]);
        out.extend((0..a.len()).map(|r| std::array::from_fn(|i| wide[i][r])));
    }
    out
}

/// From the products of [`PARTS`].
fn element<T: Scalar>(parts: &[[T; 2 * QUARTER]; PARTS.len()]) -> Element<T> {
    let (threes, _) = parts.as_chunks::<3>();
    let mut halves = [[T::ZERO; 4 * QUARTER]; 3];
    halves.iter_mut().zip(threes).for_each(|(out, parts)| joined(out, parts));
    let mut wide = [T::ZERO; 2 * DEGREE];
    joined(&mut wide, &halves);
    reduce(&mut wide);
    std::array::from_fn(|i| wide[i])
}

/// The product of two polynomials from those of their lower halves, of their higher halves, and of the sums of both.
fn joined<T: Scalar, const N: usize>(out: &mut [T], [low, high, both]: &[[T; N]; 3]) {
    for i in 0..N {
        out[i] = out[i].wadd(low[i]);
        out[i + N / 2] = out[i + N / 2].wadd(both[i].wsub(low[i]).wsub(high[i]));
        out[i + N] = out[i + N].wadd(high[i]);
    }
}

/// Elements that a thread works on at a time.
const PART: usize = 512;

/// Elements side by side.
pub(super) const LANES: usize = 8;

/// Elements side by side, the coefficients of X^i in row i.
pub(super) type Lanes<T> = [[T; LANES]; DEGREE];

/// Coefficients of a tile of a product.
const TILE: usize = 4;

versions! {
    /// wide = a b in each lane, reduced in the first rows.
    fn convolve<[T] [T: Scalar]>(wide: &mut [[T; LANES]; 2 * DEGREE], a: &Lanes<T>, b: &Lanes<T>) {
        const TILES: usize = DEGREE / TILE;
        *wide = [[T::ZERO; LANES]; 2 * DEGREE];
        let ((a, _), (b, _)) = (a.as_chunks::<TILE>(), b.as_chunks::<TILE>());
        // Along a diagonal of tiles the sums stay in registers.
        for band in 0..2 * TILES - 1 {
            let mut sums = [[T::ZERO; LANES]; 2 * TILE - 1];
            let first = (band + 1).saturating_sub(TILES);
            for i in first..=band.min(TILES - 1) {
                let (a, b) = (&a[i], &b[band - i]);
                for p in 0..TILE {
                    for q in 0..TILE {
                        for r in 0..LANES {
                            sums[p + q][r] = sums[p + q][r].wadd(a[p][r].wmul(b[q][r]));
                        }
                    }
                }
            }
            for (out, sum) in wide[TILE * band..].iter_mut().zip(&sums) {
                out.iter_mut().zip(sum).for_each(|(o, s)| *o = o.wadd(*s));
            }
        }
        for i in (DEGREE..2 * DEGREE).rev() {
            let top = wide[i];
            for tap in TAPS {
                let out = &mut wide[i - DEGREE + tap];
                out.iter_mut().zip(&top).for_each(|(o, x)| *o = o.wsub(*x));
            }
        }
    }
}
