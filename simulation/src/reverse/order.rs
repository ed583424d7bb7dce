//! Sorting and extrema, with the places that the results come from.

use super::walk::lines;
use crate::number::Number;

/// The places of a row's entries in ascending order; of equal entries the earlier first.
pub(super) fn ascending<T: Number>(row: &[T]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..row.len()).collect();
    order.sort_by(|&i, &j| row[i].real().total_cmp(&row[j].real()));
    order
}

/// For each result of an extremum along an axis the place of the entry that it is; the first of equal ones.
pub(super) fn extrema<T: Number>(
    x: &[T],
    shape: &[usize],
    axis: usize,
    better: impl Fn(T, T) -> bool,
) -> Vec<usize> {
    let best = |best: usize, i: usize| if better(x[i], x[best]) { i } else { best };
    lines(shape, axis).filter_map(|line| line.reduce(best)).collect()
}

/// For each result of a maximum over windows of planes the place of the entry that it is.
pub(super) fn windows<T: Number>(
    x: &[T],
    [height, width]: [usize; 2],
    [out_h, out_w]: [usize; 2],
    (k, stride): (usize, usize),
) -> Vec<usize> {
    let planes = x.len() / (height * width).max(1);
    let mut out = Vec::with_capacity(planes * out_h * out_w);
    for plane in 0..planes {
        for (oy, ox) in (0..out_h).flat_map(|y| (0..out_w).map(move |z| (y, z))) {
            let first = (plane * height + oy * stride) * width + ox * stride;
            let places = (0..k).flat_map(|y| (0..k).map(move |z| first + y * width + z));
            out.push(
                places.reduce(|best, i| if x[i] > x[best] { i } else { best }).unwrap_or(first),
            );
        }
    }
    out
}
