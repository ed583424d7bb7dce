//! Vectors of words, with coefficients whose coordinates are 0 and 1.

use super::vector::{self, plain};
use super::{DEGREE, Element, Scalar, Vector};
use crate::grid::{COLUMNS, LEAF, Visit, in_shares, load, points, walk};
use crate::simd::subsets::{self, GROUPS, LANES, Picks, Tables};
use crate::simd::{interleave, nine_products, subtracted};
use crate::threads;
use std::ops::Range;

/// Exceptional points by their numbers: bit j of entry t is the coefficient of X^j of element t. Bits from
/// [`DEGREE`] on are dropped.
pub type Points = [u64];

impl<T: Scalar> Vector<T> {
    /// Exceptional points.
    pub fn of_points(points: &Points) -> Vector<T> {
        let n = points.len();
        let mut rows = Vec::with_capacity(n * DEGREE);
        for i in 0..DEGREE {
            rows.extend(points.iter().map(|x| T::from_u64(x >> i & 1)));
        }
        Vector { n, rows }
    }

    /// The products of elements and points at equal places.
    ///
    /// # Panics
    ///
    /// On another number of points.
    pub fn weighed(&self, points: &Points) -> Vector<T> {
        assert_eq!(self.n, points.len(), "vectors of one length");
        self.times_by(&|at, out| {
            let mut some = [0u64; vector::LANES];
            some.iter_mut().zip(&points[at..]).for_each(|(o, x)| *o = *x);
            for (j, out) in out.iter_mut().enumerate() {
                out.iter_mut().zip(&some).for_each(|(o, x)| *o = T::from_u64(x >> j & 1));
            }
        })
    }
}

/// For each place of the points, which of the next columns have a 1 there.
fn picks(c: &Points, at: usize) -> Picks {
    let mut some = [0; COLUMNS];
    some.iter_mut().zip(c.get(at..).unwrap_or(&[])).for_each(|(o, x)| *o = *x);
    let (groups, _) = some.as_chunks::<4>();
    let mut out = [[0; GROUPS]; DEGREE];
    for (i, out) in out.iter_mut().enumerate() {
        for (o, x) in out.iter_mut().zip(groups) {
            *o = (0..4).fold(0, |s, j| s | ((x[j] >> i & 1) as u8) << j);
        }
    }
    out
}

/// What is summed: for each place of the points, so many words side by side.
type Sums<T> = [[T; LANES]; DEGREE];

/// Adds for each of the rows the sum over all columns of its words, times points. `scratch` has as many words.
fn add_weighted<T: Scalar>(
    sums: &mut [Sums<T>],
    picks: &Picks,
    rows: &[[T; COLUMNS]],
    scratch: &mut [T],
    tables: &mut Tables<T>,
) {
    let lanes = rows.len();
    interleave(scratch, lanes, lanes, rows.as_flattened(), COLUMNS, COLUMNS);
    for (sums, at) in sums.iter_mut().zip((0..).step_by(LANES)) {
        subsets::add(sums, &scratch[at..], lanes, picks, tables);
    }
}

/// Rows for so many vectors: as many as are summed side by side.
fn rows<T: Scalar>(n: usize) -> Vec<[T; COLUMNS]> {
    vec![[T::ZERO; COLUMNS]; n.next_multiple_of(LANES)]
}

/// No sums yet of so many rows.
fn sums<T: Scalar>(n: usize) -> Vec<Sums<T>> {
    vec![[[T::ZERO; LANES]; DEGREE]; n.div_ceil(LANES)]
}

/// The first n of them as elements.
fn elements<T: Scalar>(sums: &[Sums<T>], n: usize) -> Vec<Element<T>> {
    (0..n).map(|b| std::array::from_fn(|i| sums[b / LANES][i][b % LANES])).collect()
}

fn plus<T: Scalar>(to: &mut Sums<T>, x: &Sums<T>) {
    to.iter_mut().flatten().zip(x.iter().flatten()).for_each(|(s, x)| *s = s.wadd(*x));
}

/// The values at the points of a grid of inner products of vectors of words with coefficients, added up over several
/// vectors.
///
/// A vector of 2^m blocks is read as the values of polynomials in m variables, of degree 1 in each: block b is the
/// value where the variables are the bits of b, the highest bit the first variable. Products of two such polynomials
/// are known from 3^m *points*, where each variable is 0, 1 or high: where it is high, the coefficient of its highest
/// power counts. Points are numbered in base 3, with the digits 0, 1, and 2 for high, the first variable in the highest
/// place.
pub struct Grid<T = u64> {
    variables: u32,
    sums: Vec<Sums<T>>,
}

impl<T> std::fmt::Debug for Grid<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Grid<{} variables>", self.variables)
    }
}

/// The products at all points, of some columns.
struct Products<'a, T>(&'a mut [[T; COLUMNS]]);

impl<T: Scalar> Visit<[T; COLUMNS], 2> for Products<'_, T> {
    fn minus(&mut self, out: &mut [[T; COLUMNS]], a: &[[T; COLUMNS]], b: &[[T; COLUMNS]]) {
        subtracted(out.as_flattened_mut(), a.as_flattened(), b.as_flattened());
    }
    fn leaf(&mut self, point: usize, [u, v]: [&[[T; COLUMNS]; LEAF]; 2]) {
        if let Some(out) = self.0[point..].first_chunk_mut::<9>() {
            nine_products(out, u, v);
        }
    }
}

impl<T: Scalar> Grid<T> {
    /// Of vectors of 2^m blocks, m at least 2.
    pub fn new(variables: u32) -> Grid<T> {
        Grid { variables, sums: sums(points(variables)) }
    }

    /// Adds the inner products of all u and v. They have the same n coefficients c.
    ///
    /// # Panics
    ///
    /// If the words are not 2^m blocks of as many as there are coefficients.
    pub fn add(&mut self, c: &Points, terms: &[[&[&[T]]; 2]]) {
        let (n, blocks) = (c.len(), 1 << self.variables);
        let fits = |x: &&[&[T]]| x.len() == blocks && x.iter().all(|block| block.len() == n);
        assert!(terms.iter().flatten().all(fits), "blocks of one length");
        let all = points(self.variables);
        let part = |sums: &mut [Sums<T>], columns: Range<usize>| {
            let mut blocks = [(); 4].map(|()| vec![[T::ZERO; COLUMNS]; blocks]);
            let mut products = rows::<T>(all);
            let mut scratch = vec![T::ZERO; products.len() * COLUMNS];
            let mut tables = Tables::default();
            for at in columns.clone().step_by(COLUMNS) {
                let some = at..columns.end.min(at + COLUMNS);
                products.as_flattened_mut().fill(T::ZERO);
                for [u, v] in terms {
                    let [a, b, su, sv] = &mut blocks;
                    load(a, u.iter().copied(), &some);
                    load(b, v.iter().copied(), &some);
                    walk(&mut Products(&mut products), 0, [a, b], [su, sv]);
                }
                // What stands behind the last column takes coefficients 0.
                add_weighted(
                    sums,
                    &picks(&c[..some.end], at),
                    &products,
                    &mut scratch,
                    &mut tables,
                );
            }
        };
        in_shares(n, &mut self.sums, &[[T::ZERO; LANES]; DEGREE], &part, &plus);
    }

    /// Adds what another one has.
    ///
    /// # Panics
    ///
    /// On another number of variables.
    pub fn join(&mut self, other: &Grid<T>) {
        assert_eq!(self.variables, other.variables, "grids of one size");
        self.sums.iter_mut().zip(&other.sums).for_each(|(to, x)| plus(to, x));
    }

    /// The values, in the order of the points.
    pub fn elements(&self) -> Vec<Element<T>> {
        elements(&self.sums, points(self.variables))
    }
}

/// Points by which rows of words are multiplied, in the order in which tables of sums take them.
pub struct Factors(Vec<Picks>);

/// Words side by side for which sums are kept at a time.
const WIDE: usize = 16 * LANES;
/// Words that are copied at once where a few lie side by side.
const SHORT: usize = 8;

impl Factors {
    pub fn new(points: &Points) -> Factors {
        Factors((0..points.len()).step_by(COLUMNS).map(|at| picks(points, at)).collect())
    }

    /// For each column the sum over all rows of their points times `x[row + column]`.
    ///
    /// # Panics
    ///
    /// If there is no such word, or not a row for each point.
    pub fn sums<T: Scalar>(&self, x: &[T], rows: &[usize], columns: &[usize]) -> Vector<T> {
        assert_eq!(self.0.len(), rows.len().div_ceil(COLUMNS), "a row for each point");
        let parts = threads::map(columns.chunks(WIDE), &|columns| {
            let stride = columns.len().next_multiple_of(LANES);
            let run = run(columns);
            let mut words = vec![T::ZERO; COLUMNS * stride + SHORT];
            let (mut all, mut tables) = (sums::<T>(columns.len()), Tables::default());
            for (picks, rows) in self.0.iter().zip(rows.chunks(COLUMNS)) {
                gather(&mut words, stride, x, rows, (columns, run));
                // What stands behind the last row takes coefficients 0, and behind the last column it is left out.
                for (sums, at) in all.iter_mut().zip((0..).step_by(LANES)) {
                    subsets::add(sums, &words[at..], stride, picks, &mut tables);
                }
            }
            let mut out = Vector::zeros(columns.len());
            for (i, row) in out.rows.chunks_exact_mut(columns.len()).enumerate() {
                let lanes = row.chunks_mut(LANES).zip(&all);
                lanes.for_each(|(to, sums)| to.copy_from_slice(&sums[i][..to.len()]));
            }
            out
        });
        Vector::concat(&parts.iter().collect::<Vec<_>>(), 0)
    }
}

/// So many columns in a row lie side by side, all along.
fn run(columns: &[usize]) -> usize {
    let steps = columns.iter().zip(columns.iter().skip(1));
    let is_break = |(a, b): (&usize, &usize)| *b != a + 1;
    let run = 1 + steps.take_while(|x| !is_break(*x)).count();
    let whole = columns.chunks(run).all(|some| {
        let ends = some.first().zip(some.last());
        ends.is_some_and(|(a, b)| a + some.len() == b + 1 && some.is_sorted_by(|a, b| a < b))
    });
    if whole { run } else { 1 }
}

/// Rows of words, `stride` apart.
fn gather<T: Scalar>(
    to: &mut [T],
    stride: usize,
    x: &[T],
    rows: &[usize],
    (columns, run): (&[usize], usize),
) {
    if run == 1 {
        // Rows may lie side by side.
        for (j, column) in columns.iter().enumerate() {
            rows.iter().enumerate().for_each(|(t, row)| to[t * stride + j] = x[row + column]);
        }
        return;
    }
    for (t, row) in rows.iter().enumerate() {
        for (j, some) in (0..).step_by(run).zip(columns.chunks(run)) {
            let (from, to) = (&x[row + some[0]..], &mut to[t * stride + j..]);
            // What is copied too much is overwritten by what comes next.
            let all = from.first_chunk::<SHORT>().filter(|_| run <= SHORT);
            match all.zip(to.first_chunk_mut::<SHORT>()) {
                Some((from, to)) => *to = *from,
                None => to[..some.len()].copy_from_slice(&from[..some.len()]),
            }
        }
    }
}

/// The sum over blocks b of c_b times block b of words.
///
/// # Panics
///
/// If the number of words is no multiple of the number of factors.
pub fn fold_words<T: Scalar>(c: &[Element<T>], words: &[T]) -> Vector<T> {
    let n = words.len() / c.len();
    assert_eq!(n * c.len(), words.len(), "blocks of one length");
    let left: Vec<T> = (0..DEGREE).flat_map(|i| c.iter().map(move |c| c[i])).collect();
    let rows = plain(&left, words, DEGREE, c.len(), n);
    Vector { n, rows }
}

/// For each block the sum of its words times their coefficients.
///
/// # Panics
///
/// If the words are not `blocks` blocks of as many as there are coefficients.
pub fn sum_words<T: Scalar>(c: &Points, words: &[T], blocks: usize) -> Vec<Element<T>> {
    let n = c.len();
    assert_eq!(words.len(), n * blocks, "blocks of one length");
    let mut all = sums(blocks);
    let part = |sums: &mut [Sums<T>], columns: Range<usize>| {
        let mut some = rows::<T>(blocks);
        let mut scratch = vec![T::ZERO; some.len() * COLUMNS];
        let mut tables = Tables::default();
        for at in columns.clone().step_by(COLUMNS) {
            let end = columns.end.min(at + COLUMNS);
            load(&mut some, words.chunks_exact(n.max(1)), &(at..end));
            add_weighted(sums, &picks(&c[..end], at), &some, &mut scratch, &mut tables);
        }
    };
    in_shares(n, &mut all, &[[T::ZERO; LANES]; DEGREE], &part, &plus);
    elements(&all, blocks)
}
