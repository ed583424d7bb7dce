//! Matrix products, windows of images: the inner loops of [`super::net`].
//!
//! A batch of n images with C channels is stored channel-major, `[C, n, H, W]`: a convolution of
//! the whole batch is then one matrix product for each group of channels, and its result is again
//! channel-major.

use slvr_compiler::types::Conv;

/// A matrix in a slice, with the distances between its rows and between its columns.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a> {
    data: &'a [f32],
    row: usize,
    column: usize,
}

impl<'a> Matrix<'a> {
    /// Row-major with this many columns.
    pub(super) fn new(data: &'a [f32], columns: usize) -> Self {
        Matrix { data, row: columns, column: 1 }
    }

    /// The transpose of a row-major matrix with this many columns.
    pub(super) fn transposed(data: &'a [f32], columns: usize) -> Self {
        Matrix { data, row: 1, column: columns }
    }

    /// Whether the slice holds that many rows and columns.
    fn holds(&self, rows: usize, columns: usize) -> bool {
        rows == 0
            || columns == 0
            || (rows - 1) * self.row + (columns - 1) * self.column < self.data.len()
    }
}

/// c = beta c + a b, where a is m x k, b is k x n and c is m x n row-major.
///
/// # Panics
/// If a slice is too short.
pub(super) fn gemm([m, k, n]: [usize; 3], a: Matrix<'_>, b: Matrix<'_>, beta: f32, c: &mut [f32]) {
    assert!(a.holds(m, k) && b.holds(k, n) && m * n <= c.len(), "matrix out of bounds");
    // SAFETY: all elements the strides reach lie in their slices, as just asserted; c is borrowed
    // mutably, so it overlaps neither a nor b, and its rows do not overlap each other.
    unsafe {
        matrixmultiply::sgemm(
            m,
            k,
            n,
            1.0,
            a.data.as_ptr(),
            a.row as isize,
            a.column as isize,
            b.data.as_ptr(),
            b.row as isize,
            b.column as isize,
            beta,
            c.as_mut_ptr(),
            n as isize,
            1,
        );
    }
}

/// Square windows over images of c channels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Channels.
    pub c: usize,
    /// Height of the image.
    pub h: usize,
    /// Width of the image.
    pub w: usize,
    /// Side of the window.
    pub k: usize,
    /// Distance between windows.
    pub stride: usize,
    /// Zeros on each side of the image.
    pub pad: usize,
    /// Distance of neighbouring entries of a window in the image.
    pub dilation: usize,
    /// Groups of channels, each with windows of its own.
    pub groups: usize,
    /// Windows from top to bottom.
    pub oh: usize,
    /// Windows from left to right.
    pub ow: usize,
}

impl Window {
    /// `None` if no window fits, or a size is zero or does not fit a machine word.
    pub(super) fn new([c, h, w]: [usize; 3], k: usize, conv: &Conv) -> Option<Window> {
        let count = |len: usize| usize::try_from(conv.output(len as u64, k as u64)?).ok();
        let (oh, ow) = (count(h)?, count(w)?);
        let size = |n: u64| usize::try_from(n).ok();
        let (stride, pad, dilation) = (size(conv.stride)?, size(conv.pad)?, size(conv.dilation)?);
        let groups = size(conv.groups)?;
        Some(Window { c, h, w, k, stride, pad, dilation, groups, oh, ow })
    }

    /// Entries of one window over all channels.
    pub(super) fn depth(&self) -> usize {
        self.c * self.k * self.k
    }

    /// Windows of one image.
    pub(super) fn area(&self) -> usize {
        self.oh * self.ow
    }

    /// Which windows have offset `at` inside an image side of length `len`.
    fn inside(&self, at: usize, len: usize, count: usize) -> std::ops::Range<usize> {
        // 0 <= o * stride + at - pad < len
        let first = self.pad.saturating_sub(at).div_ceil(self.stride);
        let end = (len + self.pad).saturating_sub(at).div_ceil(self.stride).min(count);
        first.min(end)..end
    }

    /// Calls `visit(row of the columns matrix, start in x, start in that row, count)` for every
    /// run of window entries that lie in the image; entries of a run are `stride` apart in x.
    fn runs(&self, n: usize, mut visit: impl FnMut(usize, usize, usize, usize)) {
        for row in 0..self.depth() {
            let (c, ky, kx) = (row / (self.k * self.k), row / self.k % self.k, row % self.k);
            let (ky, kx) = (ky * self.dilation, kx * self.dilation);
            let ys = self.inside(ky, self.h, self.oh);
            let xs = self.inside(kx, self.w, self.ow);
            if xs.is_empty() {
                continue;
            }
            for image in 0..n {
                for oy in ys.clone() {
                    let y = oy * self.stride + ky - self.pad;
                    let x = xs.start * self.stride + kx - self.pad;
                    let from = ((c * n + image) * self.h + y) * self.w + x;
                    let to = (image * self.oh + oy) * self.ow + xs.start;
                    visit(row, from, to, xs.len());
                }
            }
        }
    }

    /// Windows as columns: `[C, n, H, W]` to `[C k k, n oh ow]`.
    pub(super) fn columns(&self, x: &[f32], n: usize, columns: &mut Vec<f32>) {
        let width = n * self.area();
        columns.clear();
        columns.resize(self.depth() * width, 0.0);
        self.runs(n, |row, from, to, count| {
            let to = &mut columns[row * width + to..][..count];
            if self.stride == 1 {
                to.copy_from_slice(&x[from..from + count]);
            } else {
                for (to, x) in to.iter_mut().zip(x[from..].iter().step_by(self.stride)) {
                    *to = *x;
                }
            }
        });
    }

    /// The transpose of [`Self::columns`]: adds each column's entries to where they came from.
    pub(super) fn add_columns(&self, columns: &[f32], n: usize, x: &mut [f32]) {
        let width = n * self.area();
        self.runs(n, |row, from, to, count| {
            let to = &columns[row * width + to..][..count];
            if self.stride == 1 {
                for (x, d) in x[from..from + count].iter_mut().zip(to) {
                    *x += *d;
                }
            } else {
                for (x, d) in x[from..].iter_mut().step_by(self.stride).zip(to) {
                    *x += *d;
                }
            }
        });
    }

    /// The mean of each window: `[C, n, H, W]` to `[C, n, oh, ow]`. Without padding.
    pub(super) fn average(&self, x: &[f32], y: &mut [f32]) {
        let share = 1.0 / (self.k * self.k) as f32;
        for (row, y) in y.chunks_exact_mut(self.ow).enumerate() {
            y.fill(0.0);
            for dy in 0..self.k {
                let x = self.row(x, row, dy);
                for (i, y) in y.iter_mut().enumerate() {
                    *y += x[i * self.stride..][..self.k].iter().sum::<f32>();
                }
            }
            y.iter_mut().for_each(|y| *y *= share);
        }
    }

    /// The transpose of [`Self::average`], added to `x`.
    pub(super) fn add_average(&self, y: &[f32], x: &mut [f32]) {
        let share = 1.0 / (self.k * self.k) as f32;
        for (row, y) in y.chunks_exact(self.ow).enumerate() {
            for dy in 0..self.k {
                let from = self.row_start(row, dy);
                let x = &mut x[from..from + self.w];
                for (i, y) in y.iter().enumerate() {
                    x[i * self.stride..][..self.k].iter_mut().for_each(|x| *x += y * share);
                }
            }
        }
    }

    /// Start of the row of pixels that is row `dy` of the windows in row `row` of all results.
    fn row_start(&self, row: usize, dy: usize) -> usize {
        (row / self.oh * self.h + row % self.oh * self.stride + dy) * self.w
    }

    fn row<'a>(&self, x: &'a [f32], row: usize, dy: usize) -> &'a [f32] {
        &x[self.row_start(row, dy)..][..self.w]
    }

    /// Start, in `[C, n, H, W]`, of each window of each plane, in the order of the results
    /// `[C, n, oh, ow]`. Without padding, as pooling has it.
    pub(super) fn corners(&self, n: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.c * n).flat_map(move |plane| {
            (0..self.oh).flat_map(move |oy| {
                (0..self.ow)
                    .map(move |ox| (plane * self.h + oy * self.stride) * self.w + ox * self.stride)
            })
        })
    }

    /// Distances of a window's entries from its corner, row by row.
    pub(super) fn offsets(&self) -> Vec<usize> {
        (0..self.k).flat_map(|y| (0..self.k).map(move |x| y * self.w + x)).collect()
    }
}

/// `[a, b, area]` to `[b, a, area]`, written over or added to `out`.
pub(super) fn swap_axes(x: &[f32], [a, b, area]: [usize; 3], add: bool, out: &mut [f32]) {
    for i in 0..a {
        for j in 0..b {
            let from = &x[(i * b + j) * area..][..area];
            let to = &mut out[(j * a + i) * area..][..area];
            if add {
                to.iter_mut().zip(from).for_each(|(t, f)| *t += *f);
            } else {
                to.copy_from_slice(from);
            }
        }
    }
}

/// The sum of all entries, in eight interleaved partial sums: the order of additions is fixed, and
/// they need not wait for each other.
pub(super) fn sum(x: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 8];
    let chunks = x.chunks_exact(8);
    let rest: f32 = chunks.remainder().iter().sum();
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, x)| *lane += x);
    }
    lanes.iter().sum::<f32>() + rest
}
