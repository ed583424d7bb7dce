//! Moving elements.

use super::walk::{Walk, aligned, strides};

/// Elements of `x` from `start` on, by the strides of a walk.
fn copy<T: Copy>(x: &[T], start: usize, dims: &[usize], strides: &[usize]) -> Vec<T> {
    let walk = Walk::new(dims, [strides]);
    let mut out = Vec::with_capacity(dims.iter().product());
    walk.rows(|[at]| match walk.step {
        _ if walk.len == 0 => {}
        [1] => out.extend_from_slice(&x[start + at..start + at + walk.len]),
        [step] => out.extend((0..walk.len).map(|k| x[start + at + k * step])),
    });
    out
}

pub(crate) fn broadcast<T: Copy>(x: &[T], shape: &[usize], to: &[usize]) -> Vec<T> {
    copy(x, 0, to, &aligned(shape, to))
}

pub(crate) fn transpose<T: Copy>(x: &[T], shape: &[usize], perm: &[u64]) -> Vec<T> {
    let own = strides(shape);
    let dims: Vec<usize> = perm.iter().map(|&p| shape[p as usize]).collect();
    let strides: Vec<usize> = perm.iter().map(|&p| own[p as usize]).collect();
    copy(x, 0, &dims, &strides)
}

/// Indices start, start + step, ... (`len` of them) along an axis.
pub(crate) fn slice<T: Copy>(
    x: &[T],
    shape: &[usize],
    axis: usize,
    (start, len, step): (usize, usize, usize),
) -> Vec<T> {
    let mut strides = strides(shape);
    let start = start * strides[axis];
    strides[axis] *= step;
    let mut dims = shape.to_vec();
    dims[axis] = len;
    copy(x, start, &dims, &strides)
}

/// Parts one after another along an axis: of each the data, and the number of elements of the axis
/// and all inside it.
pub(crate) fn concat<T: Copy>(parts: &[(&[T], usize)], outer: usize) -> Vec<T> {
    let mut out = Vec::with_capacity(parts.iter().map(|(x, _)| x.len()).sum());
    for o in 0..outer {
        for (x, inner) in parts {
            out.extend_from_slice(&x[o * inner..(o + 1) * inner]);
        }
    }
    out
}

/// Entries of one axis by index; `None` if an index is beyond it. Shapes as for
/// [`Op::Gather`](crate::graph::Op::Gather).
pub(crate) fn gather<T: Copy>(
    (x, shape): (&[T], &[usize]),
    (index, index_shape): (&[usize], &[usize]),
    axis: usize,
    batch: usize,
) -> Option<Vec<T>> {
    let n = shape[axis];
    if index.iter().any(|&i| i >= n) {
        return None;
    }
    let batches: usize = shape[..batch].iter().product();
    let middle: usize = shape[batch..axis].iter().product();
    let inner: usize = shape[axis + 1..].iter().product();
    let k: usize = index_shape[batch..].iter().product();
    let mut out = Vec::with_capacity(batches * middle * k * inner);
    for b in 0..batches {
        let index = &index[b * k..(b + 1) * k];
        for p in 0..middle {
            let base = (b * middle + p) * n;
            match inner {
                1 => out.extend(index.iter().map(|&i| x[base + i])),
                _ => {
                    for &i in index {
                        out.extend_from_slice(&x[(base + i) * inner..(base + i + 1) * inner]);
                    }
                }
            }
        }
    }
    Some(out)
}
