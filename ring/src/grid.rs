//! Vectors of 2^m blocks as values of polynomials in m variables, of degree 1 in each: block b is the value where the
//! variables are the bits of b, the highest bit the first variable. The product of two such polynomials has degree 2 in
//! each variable, so it is known from its values at 3^m points, where each variable is 0, 1 or *high*: there the
//! coefficient of its highest power counts. A value with a variable at high is the difference of those at 1 and at 0.
//! So values at all points take no products (Karatsuba and Ofman 1962, in each variable).
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

/// What is done with the differences and with four blocks of each of K vectors.
pub(crate) trait Visit<R, const K: usize> {
    /// out = high - low, of all rows.
    fn minus(&mut self, out: &mut [R], high: &[R], low: &[R]);
    /// The blocks of the last two variables, of the nine points from `point` on.
    fn leaf(&mut self, point: usize, blocks: [&[R; LEAF]; K]);
}

/// Visits all points of the blocks of K vectors, at least four of each. `scratch` has as many blocks for each.
pub(crate) fn walk<R, const K: usize>(
    visit: &mut impl Visit<R, K>,
    point: usize,
    blocks: [&[R]; K],
    scratch: [&mut [R]; K],
) {
    let leaf = blocks.map(|x| x.first_chunk::<LEAF>().filter(|_| x.len() == LEAF));
    if leaf.iter().all(Option::is_some) {
        return visit.leaf(point, leaf.map(|x| x.unwrap_or_else(|| unreachable!("four blocks"))));
    }
    let half = blocks.first().map_or(0, |x| x.len() / 2);
    let third = points(half.ilog2());
    let (low, high) = (blocks.map(|x| &x[..half]), blocks.map(|x| &x[half..]));
    let mut scratch = scratch;
    walk(visit, point, low, scratch.each_mut().map(|x| &mut **x));
    walk(visit, point + third, high, scratch.each_mut().map(|x| &mut **x));
    for (x, (high, low)) in scratch.iter_mut().zip(high.into_iter().zip(low)) {
        visit.minus(&mut x[..half], high, low);
    }
    let mut parts = scratch.map(|x| x.split_at_mut(half)).map(|(out, rest)| (&*out, Some(rest)));
    let rests = parts.each_mut().map(|(_, rest)| rest.take().unwrap_or_default());
    walk(visit, point + 2 * third, parts.map(|(out, _)| out), rests);
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

/// Columns of all blocks from one on, up to N of them: a row for each block. What stands behind the last one
/// is left as it was.
pub(crate) fn load<'a, T: Copy + 'a, const N: usize>(
    rows: &mut [[T; N]],
    blocks: impl Iterator<Item = &'a [T]>,
    columns: &Range<usize>,
) {
    for (row, block) in rows.iter_mut().zip(blocks) {
        let some = &block[columns.clone()];
        // Of a known length it is no call.
        match <&[T; N]>::try_from(some) {
            Ok(some) => *row = *some,
            Err(_) => row[..some.len()].copy_from_slice(some),
        }
    }
}
