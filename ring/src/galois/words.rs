//! Vectors of words, with coefficients whose coordinates are 0 and 1.

use super::vector::{LANES, plain};
use super::{DEGREE, Element, Scalar, Vector, add, zero};
use crate::simd::interleave;
use crate::simd::subsets::{self, COLUMNS, GROUPS, Tables};
use crate::threads;

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
            let mut some = [0u64; LANES];
            some.iter_mut().zip(&points[at..]).for_each(|(o, x)| *o = *x);
            for (j, out) in out.iter_mut().enumerate() {
                out.iter_mut().zip(&some).for_each(|(o, x)| *o = T::from_u64(x >> j & 1));
            }
        })
    }
}

/// Columns that a thread takes apart at a time.
const PART: usize = 4 * COLUMNS;

/// Rows of `lanes` words each, of all blocks at the columns from `at` on: word r of row t is that of block
/// r modulo `blocks`.
fn rows<T: Scalar>(out: &mut [T], lanes: usize, words: &[T], blocks: usize, at: usize, len: usize) {
    let n = words.len() / blocks;
    interleave(out, lanes, blocks, &words[at..], n, len);
    for row in out.chunks_exact_mut(lanes) {
        for r in blocks..lanes {
            row[r] = row[r - blocks];
        }
    }
}

/// For each place of the points, which of the next columns have a 1 there.
fn picks(c: &Points, at: usize) -> [[u8; GROUPS]; DEGREE] {
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
type Sums<T> = [[T; subsets::LANES]; DEGREE];

/// The vectors of a step.
type Step<T> = [[T; subsets::LANES]; COLUMNS];

/// Writes the vectors of a task, from the rows of each operand from a column on.
type Fill<'a, T, const N: usize> = dyn Fn(usize, [&[T]; N], &mut Step<T>) + Sync + 'a;

/// Adds for each task the sum over all columns of the vectors that `fill` makes, times points. Of each operand it reads
/// the words of all blocks at a column, side by side in a row of `lanes` words ([`rows`]).
fn add_weighted<T: Scalar, const N: usize>(
    sums: &mut [Sums<T>],
    c: &Points,
    operands: [&[T]; N],
    [blocks, lanes]: [usize; 2],
    fill: &Fill<'_, T, N>,
) {
    let n = c.len();
    assert!(operands.iter().all(|x| x.len() == n * blocks), "blocks of one length");
    // Tasks apart: what they read is made once for all threads, and each adds to sums of its own.
    let threads = if n < COLUMNS { 1 } else { threads::count() };
    let share = sums.len().div_ceil(threads).max(1);
    let padded = PART.min(n).next_multiple_of(COLUMNS);
    let mut all = operands.map(|_| vec![T::ZERO; padded * lanes]);
    for at in (0..n).step_by(PART) {
        let len = PART.min(n - at);
        // What stands behind the last column takes coefficients 0.
        for (row, words) in all.iter_mut().zip(operands) {
            rows(&mut row[..len * lanes], lanes, words, blocks, at, len);
        }
        let steps: Vec<usize> = (0..len).step_by(COLUMNS).collect();
        let picks: Vec<_> = steps.iter().map(|t| picks(c, at + t)).collect();
        threads::each(sums.chunks_mut(share).enumerate(), &|(i, sums)| {
            let mut tables = Tables::default();
            let mut some = [[T::ZERO; subsets::LANES]; COLUMNS];
            for (task, sums) in (i * share..).zip(sums) {
                for (&t, picks) in steps.iter().zip(&picks) {
                    fill(task, all.each_ref().map(|x| &x[t * lanes..]), &mut some);
                    subsets::add(sums, &some, picks, &mut tables);
                }
            }
        });
    }
}

/// Inner products of pairs of blocks of words with coefficients, added up over several vectors.
///
/// Pairs of a block and the one that is `far` after it, around a circle; every pair of different blocks is met once, or
/// twice at half of the circle. A task is one `far` and as many first blocks as a vector has lanes.
pub struct WordPairs<T = u64> {
    blocks: usize,
    /// For each task.
    sums: Vec<Sums<T>>,
}

impl<T> std::fmt::Debug for WordPairs<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WordPairs<{} blocks>", self.blocks)
    }
}

impl<T: Scalar> WordPairs<T> {
    /// Of vectors of so many blocks.
    pub fn new(blocks: usize) -> WordPairs<T> {
        let tasks = blocks.div_ceil(subsets::LANES) * (blocks / 2 + 1);
        WordPairs { blocks, sums: vec![[[T::ZERO; subsets::LANES]; DEGREE]; tasks] }
    }

    /// Distances around the circle.
    fn fars(&self) -> usize {
        self.blocks / 2 + 1
    }

    /// Adds the inner products of the blocks of u and v, with n coefficients c.
    ///
    /// # Panics
    ///
    /// If the words are not as many blocks of as many as there are coefficients.
    pub fn add(&mut self, c: &Points, u: &[T], v: &[T]) {
        let (blocks, fars) = (self.blocks, self.fars());
        let lanes = blocks.next_multiple_of(subsets::LANES) + blocks / 2;
        add_weighted(&mut self.sums, c, [u, v], [blocks, lanes], &|task, [u, v], x| {
            let place = [task / fars * subsets::LANES, task % fars];
            subsets::pairs(x, u, v, lanes, place);
        });
    }

    /// Entry a blocks + b, for a < b, is the sum over t of ``c[t] (u[a n + t] v[b n + t] + u[b n + t] v[a n + t])``, for
    /// a = b that of ``c[t] u[a n + t] v[a n + t]``, and 0 for a > b.
    pub fn elements(&self) -> Vec<Element<T>> {
        let (blocks, fars) = (self.blocks, self.fars());
        let mut out = vec![zero(); blocks * blocks];
        for (task, sums) in self.sums.iter().enumerate() {
            let far = task % fars;
            for (r, a) in (task / fars * subsets::LANES..).take(subsets::LANES).enumerate() {
                let twice = far > 0 && 2 * far == blocks && a >= far;
                if a < blocks && !twice {
                    let b = (a + far) % blocks;
                    let out = &mut out[a.min(b) * blocks + a.max(b)];
                    *out = add(out, &std::array::from_fn(|i| sums[i][r]));
                }
            }
        }
        out
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
    let groups = blocks.div_ceil(subsets::LANES);
    let lanes = groups * subsets::LANES;
    let mut sums = vec![[[T::ZERO; subsets::LANES]; DEGREE]; groups];
    add_weighted(&mut sums, c, [words], [blocks, lanes], &|task, [words], x| {
        for (x, row) in x.iter_mut().zip(words.chunks_exact(lanes)) {
            x.copy_from_slice(&row[task * subsets::LANES..][..subsets::LANES]);
        }
    });
    let of = |b: usize| std::array::from_fn(|i| sums[b / subsets::LANES][i][b % subsets::LANES]);
    (0..blocks).map(of).collect()
}
