//! Sums, extrema and order statistics.

use super::walk::{Walk, aligned, folded, folded_len, lines, strides};
use super::word::Word;
use rayon::prelude::*;
use std::cmp::Ordering;

pub(super) fn sum<W: Word>(x: &[W], shape: &[usize], axes: &[u64]) -> Vec<W> {
    let to = folded(shape, axes);
    let walk = Walk::new(shape, [&strides(shape), &to]);
    let mut out = vec![W::ZERO; folded_len(shape, axes)];
    let [s, t] = walk.step;
    walk.rows(|[i, o]| match t {
        _ if walk.len == 0 => {}
        0 => out[o] = (0..walk.len).fold(out[o], |sum, k| sum.add(x[i + k * s])),
        _ => (0..walk.len).for_each(|k| out[o + k * t] = out[o + k * t].add(x[i + k * s])),
    });
    out
}

/// Sum over axes of a product of aligned operands, which is never stored.
pub(super) fn sum_of_products<W: Word>(
    (a, a_shape): (&[W], &[usize]),
    (b, b_shape): (&[W], &[usize]),
    shape: &[usize],
    axes: &[u64],
) -> Vec<W> {
    let to = folded(shape, axes);
    let walk = Walk::new(shape, [&aligned(a_shape, shape), &aligned(b_shape, shape), &to]);
    let mut out = vec![W::ZERO; folded_len(shape, axes)];
    let [r, s, t] = walk.step;
    walk.rows(|[i, j, o]| match [r, s, t] {
        _ if walk.len == 0 => {}
        [1, 1, 0] => {
            let (a, b) = (&a[i..i + walk.len], &b[j..j + walk.len]);
            out[o] = a.iter().zip(b).fold(out[o], |sum, (&x, &y)| sum.add(x.mul(y)));
        }
        [.., 0] => {
            out[o] = (0..walk.len).fold(out[o], |sum, k| sum.add(a[i + k * r].mul(b[j + k * s])));
        }
        _ => (0..walk.len).for_each(|k| {
            let product = a[i + k * r].mul(b[j + k * s]);
            out[o + k * t] = out[o + k * t].add(product);
        }),
    });
    out
}

/// Fold along an axis that is not empty.
pub(super) fn fold<W: Word>(
    x: &[W],
    shape: &[usize],
    axis: usize,
    f: impl Fn(W, W) -> W,
) -> Vec<W> {
    let results = lines(shape, axis);
    results.filter_map(|line| line.map(|i| x[i]).reduce(&f)).collect()
}

/// Index of the first largest entry of a row that is not empty.
pub fn first_largest<W: Word>(row: &[W]) -> usize {
    (1..row.len()).fold(0, |best, k| if row[best].less(row[k]) { k } else { best })
}

/// Index of the first largest entry of each row of n.
pub(super) fn argmax<W: Word>(x: &[W], n: usize) -> impl Iterator<Item = usize> {
    x.chunks_exact(n.max(1)).map(first_largest)
}

/// For each row of n whether the label is at the first largest entry.
pub(super) fn hit<W: Word>(z: &[W], label: &[W], n: usize) -> Vec<W> {
    argmax(z, n)
        .zip(label.chunks_exact(n.max(1)))
        .map(|(best, label)| W::bit(label[best] != W::ZERO))
        .collect()
}

/// Each row of n in ascending order.
pub(super) fn sort<W: Word>(x: &[W], n: usize) -> Vec<W> {
    let mut out = x.to_vec();
    out.par_chunks_mut(n.max(1)).for_each(|row| row.sort_unstable_by(W::order));
    out
}

/// The sum of entries lo .. hi of each row of n in ascending order.
pub(super) fn sort_sum<W: Word>(x: &[W], n: usize, lo: usize, hi: usize) -> Vec<W> {
    x.par_chunks_exact(n.max(1))
        .map_init(Vec::new, |row: &mut Vec<W>, chunk| {
            row.clear();
            row.extend_from_slice(chunk);
            row.sort_unstable_by(W::order);
            row[lo..hi].iter().fold(W::ZERO, |sum, &x| sum.add(x))
        })
        .collect()
}

/// The rank of each entry of each row of n: of equal ones the earlier comes first.
pub(super) fn ranks<W: Word>(x: &[W], n: usize, largest: bool) -> Vec<usize> {
    // Zeros of both signs are equal.
    let compare = |a: &W, b: &W| if a == b { Ordering::Equal } else { a.order(b) };
    let mut out = vec![0; x.len()];
    out.par_chunks_mut(n.max(1)).zip(x.par_chunks(n.max(1))).for_each(|(out, row)| {
        let mut order: Vec<usize> = (0..row.len()).collect();
        order.sort_by(|&i, &j| {
            let (a, b) = if largest { (j, i) } else { (i, j) };
            compare(&row[a], &row[b])
        });
        order.into_iter().enumerate().for_each(|(rank, i)| out[i] = rank);
    });
    out
}
