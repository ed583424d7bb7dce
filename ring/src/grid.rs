//! Vectors of 2^m blocks as values of polynomials in m variables, of degree 1 in each: block b is the value where the
//! variables are the bits of b, the highest bit the first variable. The product of two such polynomials has degree 2 in
//! each variable, so it is known from its values at 3^m points, where each variable is 0, 1 or *high*: there the
//! coefficient of its highest power counts. A value with a variable at high is the difference of those at 1 and at 0. So
//! values at all points take no products (Karatsuba and Ofman 1962, in each variable).
//!
//! Points are numbered in base 3, with digits 0, 1 and 2 for high, the first variable in the highest place.

use super::threads;
use std::ops::Range;

/// Blocks that are left to [`Visit::leaf`]: two variables.
pub(crate) const LEAF: usize = 4;

/// Columns that are worked on at a time: all values of a column at all points stay in the second cache.
pub(crate) const COLUMNS: usize = 32;

/// Columns from which on they are shared among threads.
const MANY: usize = 8 * COLUMNS;

/// Points of so many variables.
pub(crate) const fn points(variables: u32) -> usize {
    3usize.pow(variables)
}

/// What is done with the differences and with four blocks of each vector.
pub(crate) trait Visit<R> {
    /// out = high - low, of all rows.
    fn minus(&mut self, out: &mut [R], high: &[R], low: &[R]);
    /// The blocks of the last two variables, of the nine points from `point` on.
    fn leaf(&mut self, point: usize, u: &[R; LEAF], v: &[R; LEAF]);
}

/// Visits all points of the blocks of u and v, at least four. `scratch` has as many blocks for each.
pub(crate) fn walk<R>(
    visit: &mut impl Visit<R>,
    point: usize,
    [u, v]: [&[R]; 2],
    [su, sv]: [&mut [R]; 2],
) {
    if let (Ok(u), Ok(v)) = (<&[R; LEAF]>::try_from(u), <&[R; LEAF]>::try_from(v)) {
        return visit.leaf(point, u, v);
    }
    let half = u.len() / 2;
    let ((low_u, high_u), (low_v, high_v)) = (u.split_at(half), v.split_at(half));
    let third = points(half.ilog2());
    walk(visit, point, [low_u, low_v], [&mut *su, &mut *sv]);
    walk(visit, point + third, [high_u, high_v], [&mut *su, &mut *sv]);
    let ((du, su), (dv, sv)) = (su.split_at_mut(half), sv.split_at_mut(half));
    visit.minus(du, high_u, low_u);
    visit.minus(dv, high_v, low_v);
    walk(visit, point + 2 * third, [du, dv], [su, sv]);
}

/// Adds what `part` adds for all n columns, which threads share.
pub(crate) fn in_shares<S: Clone + Send + Sync>(
    n: usize,
    sums: &mut [S],
    zero: &S,
    part: &(dyn Fn(&mut [S], Range<usize>) + Sync),
    add: &dyn Fn(&mut S, &S),
) {
    let share = n.div_ceil(threads::count()).next_multiple_of(COLUMNS);
    if n < MANY || share >= n {
        return part(sums, 0..n);
    }
    let all = (0..n).step_by(share).collect::<Vec<_>>();
    let done = threads::map(all.into_iter(), &|from| {
        let mut some = vec![zero.clone(); sums.len()];
        part(&mut some, from..n.min(from + share));
        some
    });
    done.iter().flatten().zip((0..sums.len()).cycle()).for_each(|(x, i)| add(&mut sums[i], x));
}

/// Columns of all blocks from one on, up to [`COLUMNS`] of them: a row for each block. What stands behind the last one
/// is left as it was.
pub(crate) fn load<'a, T: Copy + 'a>(
    rows: &mut [[T; COLUMNS]],
    blocks: impl Iterator<Item = &'a [T]>,
    columns: &Range<usize>,
) {
    for (row, block) in rows.iter_mut().zip(blocks) {
        let some = &block[columns.clone()];
        // Of a known length it is no call.
        match <&[T; COLUMNS]>::try_from(some) {
            Ok(some) => *row = *some,
            Err(_) => row[..some.len()].copy_from_slice(some),
        }
    }
}
