//! Walking several tensors in step: strides instead of repeated copies. Public for evaluations elsewhere.

/// Row-major strides of a shape, in elements.
pub fn strides(shape: &[usize]) -> Vec<usize> {
    let mut out = vec![1; shape.len()];
    for i in (1..shape.len()).rev() {
        out[i - 1] = out[i] * shape[i];
    }
    out
}

/// Strides of an operand that is aligned to a result: 0 where an axis is repeated.
pub fn aligned(shape: &[usize], result: &[usize]) -> Vec<usize> {
    let mut out = strides(shape);
    for (stride, (&own, &all)) in out.iter_mut().zip(shape.iter().zip(result)) {
        if own != all {
            *stride = 0;
        }
    }
    out
}

/// Strides into a result that is folded along some axes, 0 along those.
pub fn folded(shape: &[usize], axes: &[u64]) -> Vec<usize> {
    let kept: Vec<usize> = folded_shape(shape, axes).collect();
    // An axis of size 1 that stays is walked once, so its stride does not matter.
    aligned(&kept, shape)
}

/// The number of entries of a result that is folded along some axes.
pub fn folded_len(shape: &[usize], axes: &[u64]) -> usize {
    folded_shape(shape, axes).product()
}

fn folded_shape(shape: &[usize], axes: &[u64]) -> impl Iterator<Item = usize> {
    shape.iter().enumerate().map(|(i, &d)| if axes.contains(&(i as u64)) { 1 } else { d })
}

/// Results of a convolution along one axis whose operand, at i * stride + k - pad for result i, is inside 0 .. size.
pub fn inside(
    k: usize,
    [stride, pad]: [usize; 2],
    size: usize,
    results: usize,
) -> std::ops::Range<usize> {
    let start = pad.saturating_sub(k).div_ceil(stride);
    let end = (size + pad).saturating_sub(k).div_ceil(stride).min(results);
    start.min(end)..end
}

/// A walk over a box of indices that keeps an offset into each of N tensors. Axes that follow one
/// another in all tensors are merged; the innermost is left to the caller, as a row.
#[derive(Debug)]
pub struct Walk<const N: usize> {
    outer: Vec<(usize, [usize; N])>,
    /// Length of a row.
    pub len: usize,
    /// Strides inside a row.
    pub step: [usize; N],
}

impl<const N: usize> Walk<N> {
    /// A walk over indices below `dims`, with the strides of each tensor along them.
    pub fn new(dims: &[usize], strides: [&[usize]; N]) -> Walk<N> {
        let mut axes: Vec<(usize, [usize; N])> = Vec::with_capacity(dims.len());
        if dims.contains(&0) {
            axes.push((0, [0; N]));
        } else {
            for (i, &dim) in dims.iter().enumerate().filter(|&(_, &dim)| dim != 1) {
                let step = strides.map(|s| s[i]);
                match axes.last_mut() {
                    Some((n, last)) if (0..N).all(|t| last[t] == step[t] * dim) => {
                        (*n, *last) = (*n * dim, step);
                    }
                    _ => axes.push((dim, step)),
                }
            }
        }
        let (len, step) = axes.pop().unwrap_or((1, [0; N]));
        Walk { outer: axes, len, step }
    }

    /// Calls `row` with the offsets of each row, in row-major order.
    pub fn rows(&self, mut row: impl FnMut([usize; N])) {
        let mut at = [0; N];
        let mut index = vec![0; self.outer.len()];
        loop {
            row(at);
            let mut axis = self.outer.len();
            loop {
                if axis == 0 {
                    return;
                }
                axis -= 1;
                let (n, step) = &self.outer[axis];
                index[axis] += 1;
                for t in 0..N {
                    at[t] += step[t];
                }
                if index[axis] < *n {
                    break;
                }
                index[axis] = 0;
                for t in 0..N {
                    at[t] -= step[t] * n;
                }
            }
        }
    }
}

/// For each result of a fold along an axis the places of the entries that are folded, in order.
pub fn lines(shape: &[usize], axis: usize) -> impl Iterator<Item = impl Iterator<Item = usize>> {
    let (n, inner) = (shape[axis], shape[axis + 1..].iter().product::<usize>());
    let outer: usize = shape[..axis].iter().product();
    (0..outer * inner).map(move |result| {
        let first = result / inner * n * inner + result % inner;
        (0..n).map(move |k| first + k * inner)
    })
}

/// f of two aligned tensors.
pub fn zip<A: Copy, R>(
    (a, a_shape): (&[A], &[usize]),
    (b, b_shape): (&[A], &[usize]),
    result: &[usize],
    f: impl Fn(A, A) -> R,
) -> Vec<R> {
    let walk = Walk::new(result, [&aligned(a_shape, result), &aligned(b_shape, result)]);
    let mut out = Vec::with_capacity(result.iter().product());
    walk.rows(|[i, j]| match walk.step {
        _ if walk.len == 0 => {}
        [1, 1] => {
            let (a, b) = (&a[i..i + walk.len], &b[j..j + walk.len]);
            out.extend(a.iter().zip(b).map(|(&x, &y)| f(x, y)));
        }
        [1, 0] => out.extend(a[i..i + walk.len].iter().map(|&x| f(x, b[j]))),
        [0, 1] => out.extend(b[j..j + walk.len].iter().map(|&y| f(a[i], y))),
        [s, t] => out.extend((0..walk.len).map(|k| f(a[i + k * s], b[j + k * t]))),
    });
    out
}

/// f of three aligned tensors.
pub(super) fn zip3<A: Copy, R>(
    [(a, a_shape), (b, b_shape), (c, c_shape)]: [(&[A], &[usize]); 3],
    result: &[usize],
    f: impl Fn(A, A, A) -> R,
) -> Vec<R> {
    let strides = [a_shape, b_shape, c_shape].map(|s| aligned(s, result));
    let walk = Walk::new(result, [&strides[0], &strides[1], &strides[2]]);
    let [r, s, t] = walk.step;
    let mut out = Vec::with_capacity(result.iter().product());
    walk.rows(|[i, j, k]| {
        out.extend((0..walk.len).map(|n| f(a[i + n * r], b[j + n * s], c[k + n * t])));
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguous_axes_become_one_row() {
        let s = strides(&[2, 3, 4]);
        let walk = Walk::new(&[2, 3, 4], [&s, &s]);
        assert_eq!((walk.len, walk.step, walk.outer.len()), (24, [1, 1], 0));
        let repeated = aligned(&[2, 1, 1], &[2, 3, 4]);
        let walk = Walk::new(&[2, 3, 4], [&s, &repeated]);
        assert_eq!((walk.len, walk.step, walk.outer.len()), (12, [1, 0], 1));
    }

    #[test]
    fn rows_come_in_order_and_none_is_missed() {
        // A transposed tensor: nothing merges.
        let s = strides(&[2, 3, 4]);
        let walk = Walk::new(&[4, 3, 2], [&[s[2], s[1], s[0]]]);
        let mut seen = Vec::new();
        walk.rows(|[at]| seen.extend((0..walk.len).map(|k| at + k * walk.step[0])));
        let expected: Vec<usize> = (0..4)
            .flat_map(|c| (0..3).flat_map(move |b| (0..2).map(move |a| a * 12 + b * 4 + c)))
            .collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn lines_run_along_their_axis() {
        let all = |axis| lines(&[2, 3, 2], axis).map(Vec::from_iter).collect::<Vec<_>>();
        assert_eq!(all(1), [[0, 2, 4], [1, 3, 5], [6, 8, 10], [7, 9, 11]]);
        assert_eq!(all(0)[4], [4, 10]);
        assert_eq!(all(2)[4], [8, 9]);
        assert_eq!(lines(&[2, 3, 0], 1).count(), 0);
    }

    #[test]
    fn empty_and_scalar_boxes() {
        assert!(
            zip((&[] as &[i64], &[0, 2]), (&[5, 6], &[1, 2]), &[0, 2], |a, b| a + b).is_empty()
        );
        assert_eq!(zip((&[3], &[]), (&[4], &[]), &[], |a, b| a * b), [12]);
        assert_eq!(zip((&[3], &[1]), (&[4], &[1]), &[1], |a, b| a * b), [12]);
    }

    #[test]
    fn all_alignments_of_a_pair() {
        let (a, b) = ([1, 2, 3, 4, 5, 6], [10, 20, 30]);
        let add = |x: i64, y: i64| x + y;
        assert_eq!(zip((&a, &[2, 3]), (&b, &[1, 3]), &[2, 3], add), [11, 22, 33, 14, 25, 36]);
        assert_eq!(zip((&a[..2], &[2, 1]), (&b, &[1, 3]), &[2, 3], add), [11, 21, 31, 12, 22, 32]);
        assert_eq!(zip((&a, &[2, 3]), (&b[..2], &[2, 1]), &[2, 3], add), [11, 12, 13, 24, 25, 26]);
        let all = [(&a[..], &[2, 3][..]), (&b, &[1, 3]), (&a[..2], &[2, 1])];
        let out = zip3(all, &[2, 3], |x, y, z| x * y + z);
        assert_eq!(out, [11, 41, 91, 42, 102, 182]);
    }
}
