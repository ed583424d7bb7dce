//! Visiting strided operands in the row-major order of a result, a whole inner row at a time.

use std::ops::Range;

/// Row-major strides, in elements.
pub(super) fn strides(dims: &[usize]) -> Vec<usize> {
    let mut out = vec![1; dims.len()];
    for i in (1..dims.len()).rev() {
        out[i - 1] = out[i] * dims[i];
    }
    out
}

/// Strides of a row-major operand of sizes `dims` when its axes of size 1 are repeated to `to`.
pub(super) fn repeated(dims: &[usize], to: &[usize]) -> Vec<usize> {
    assert_eq!(dims.len(), to.len(), "operands of different ranks");
    let mut out = strides(dims);
    for (s, (&d, &t)) in out.iter_mut().zip(dims.iter().zip(to)) {
        assert!(d == t || d == 1, "shapes are not aligned");
        if d != t {
            *s = 0;
        }
    }
    out
}

/// N operands walked together. Axes of size 1 are dropped, and neighbouring axes that are
/// contiguous in every operand are one; there is always an innermost axis.
pub(super) struct Walk<const N: usize> {
    dims: Vec<usize>,
    strides: Vec<[usize; N]>,
    offset: [usize; N],
}

impl<const N: usize> Walk<N> {
    /// The result's sizes, and where in each operand its elements come from.
    pub fn new<S: AsRef<[usize]>>(dims: &[usize], strides: [S; N], offset: [usize; N]) -> Self {
        let mut w = Walk { dims: Vec::new(), strides: Vec::new(), offset };
        for (i, &d) in dims.iter().enumerate() {
            let here: [usize; N] = std::array::from_fn(|o| strides[o].as_ref()[i]);
            if d == 1 {
                continue;
            }
            match (w.dims.last_mut(), w.strides.last_mut()) {
                (Some(n), Some(s)) if (0..N).all(|o| s[o] == here[o] * d) => {
                    *n *= d;
                    *s = here;
                }
                _ => {
                    w.dims.push(d);
                    w.strides.push(here);
                }
            }
        }
        if w.dims.is_empty() {
            w.dims.push(1);
            w.strides.push([1; N]);
        }
        w
    }

    /// Number of elements visited.
    pub fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// The merged axes: sizes, and strides in each operand.
    pub fn axes(&self) -> (&[usize], &[[usize; N]]) {
        (&self.dims, &self.strides)
    }

    /// Where the first row starts in each operand.
    pub fn offset(&self) -> [usize; N] {
        self.offset
    }

    /// Length of a row, and the distance of its elements in each operand.
    pub fn inner(&self) -> (usize, [usize; N]) {
        let last = self.dims.len() - 1;
        (self.dims[last], self.strides[last])
    }

    pub fn rows(&self) -> usize {
        self.dims[..self.dims.len() - 1].iter().product()
    }

    /// Calls f with the operands' offsets of each row of a range, in order.
    pub fn for_rows(&self, range: Range<usize>, mut f: impl FnMut([usize; N])) {
        if range.is_empty() || self.len() == 0 {
            return;
        }
        let outer = self.dims.len() - 1;
        let mut at = vec![0; outer];
        let mut offset = self.offset;
        let mut rest = range.start;
        for i in (0..outer).rev() {
            at[i] = rest % self.dims[i];
            rest /= self.dims[i];
            for (o, s) in offset.iter_mut().zip(self.strides[i]) {
                *o += at[i] * s;
            }
        }
        for _ in range {
            f(offset);
            for i in (0..outer).rev() {
                at[i] += 1;
                if at[i] < self.dims[i] {
                    for (o, s) in offset.iter_mut().zip(self.strides[i]) {
                        *o += s;
                    }
                    break;
                }
                at[i] = 0;
                for (o, s) in offset.iter_mut().zip(self.strides[i]) {
                    *o -= (self.dims[i] - 1) * s;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguous_axes_merge() {
        let dims = [2, 1, 3, 4];
        let w = Walk::new(&dims, [strides(&dims)], [0]);
        assert_eq!((w.rows(), w.inner()), (1, (24, [1])));
        // [2, 3, 4] + [1, 1, 4]: the first two axes merge in both.
        let w = Walk::new(&[2, 3, 4], [vec![12, 4, 1], vec![0, 0, 1]], [0, 0]);
        assert_eq!((w.rows(), w.inner()), (6, (4, [1, 1])));
    }

    #[test]
    fn rows_from_the_middle() {
        let w = Walk::new(&[2, 3, 2], [vec![100, 10, 2]], [5]);
        let mut seen = Vec::new();
        w.for_rows(1..5, |[o]| seen.push(o));
        assert_eq!(seen, [15, 25, 105, 115]);
    }
}
