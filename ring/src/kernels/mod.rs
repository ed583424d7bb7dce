//! Matrix product and convolution over Z_2^k, wrapping: the bulk of a party's local work.
//!
//! Lives here: the two public products ([`matmul`], [`conv2d`], and forms that add to a result), and
//! random inner products ([`project`]), squares of rows ([`squares`]),
//! and below them one blocked product of a matrix and a packed block (`gemm`), compiled for the
//! vector instructions that the machine has (`simd`). May not: shares; a caller adds up its own
//! cross terms with the accumulating forms.
//!
//! Operands are row-major and flat. Lengths that do not fit the dimensions, and operands of
//! different widths, panic; the circuit verifier excludes them.

mod conv;
mod gemm;
mod matmul;
mod project;

pub use super::simd::multiply_adds;
pub use project::{Row, project, project_rows};

use super::simd::Isa;
use super::{Words, zip_words};

/// Dimensions of `[B, M, K] * [B, K, N] -> [B, M, N]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatMulDims {
    /// B, of the result.
    pub batch: usize,
    /// Whether a has the batch axis; otherwise its one matrix is used for every batch.
    pub a_batched: bool,
    /// Whether b has the batch axis.
    pub b_batched: bool,
    /// Rows of the result.
    pub m: usize,
    /// Length of the sums.
    pub k: usize,
    /// Columns of the result.
    pub n: usize,
    /// Whether b is given as `[B, N, K]`.
    pub trans_b: bool,
}

impl MatMulDims {
    /// For operands of shapes `[B, M, K]` and `[B, K, N]` (with `trans_b`: `[B, N, K]`), where a
    /// batch axis of size 1 is repeated. `None` if they do not fit.
    pub fn of(a: &[u64], b: &[u64], trans_b: bool) -> Option<Self> {
        let (&[ga, m, k], &[gb, p, q]) = (a, b) else { return None };
        let (kb, n) = if trans_b { (q, p) } else { (p, q) };
        if k != kb || !(ga == gb || ga == 1 || gb == 1) {
            return None;
        }
        let batch = if ga == 1 { gb } else { ga };
        let (m, k, n) = (m as usize, k as usize, n as usize);
        let batched = |g: u64| g == batch;
        let (a_batched, b_batched) = (batched(ga), batched(gb));
        Some(MatMulDims { batch: batch as usize, a_batched, b_batched, m, k, n, trans_b })
    }

    /// Elements of a, b and the result.
    pub fn lens(&self) -> [usize; 3] {
        let times = |batched: bool| if batched { self.batch } else { 1 };
        [
            times(self.a_batched) * self.m * self.k,
            times(self.b_batched) * self.k * self.n,
            self.batch * self.m * self.n,
        ]
    }
}

/// Dimensions of x `[G, N, C, H, W]`, w `[G, O, C, kh, kw]` -> `[G, N, O, H', W']`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvDims {
    /// G, of the result.
    pub g: usize,
    /// Whether x has the axis G; otherwise its images are used for every g.
    pub x_batched: bool,
    /// Whether w has the axis G.
    pub w_batched: bool,
    /// N, images.
    pub n: usize,
    /// C, input channels.
    pub c: usize,
    /// H, input rows.
    pub h: usize,
    /// W, input columns.
    pub w: usize,
    /// O, output channels.
    pub o: usize,
    /// Kernel rows.
    pub kh: usize,
    /// Kernel columns.
    pub kw: usize,
    /// Step in both directions, at least 1.
    pub stride: usize,
    /// Zeros added on each side.
    pub pad: usize,
}

impl ConvDims {
    /// For images `[G, N, C, H, W]` and kernels `[G, O, C, kh, kw]`, where a G of size 1 is
    /// repeated. `None` if they do not fit, or the stride is 0.
    pub fn of(x: &[u64], w: &[u64], stride: u64, pad: u64) -> Option<Self> {
        let (&[gx, n, cx, h, width], &[gw, o, cw, kh, kw]) = (x, w) else { return None };
        if cx != cw || !(gx == gw || gx == 1 || gw == 1) || stride == 0 {
            return None;
        }
        let g = if gx == 1 { gw } else { gx };
        let size = |x: u64| x as usize;
        Some(ConvDims {
            g: size(g),
            x_batched: gx == g,
            w_batched: gw == g,
            n: size(n),
            c: size(cx),
            h: size(h),
            w: size(width),
            o: size(o),
            kh: size(kh),
            kw: size(kw),
            stride: size(stride),
            pad: size(pad),
        })
    }

    /// H', output rows: (H + 2 pad - kh) / stride + 1, and 0 if the kernel does not fit.
    pub fn out_h(&self) -> usize {
        (self.h + 2 * self.pad).checked_sub(self.kh).map_or(0, |r| r / self.stride + 1)
    }

    /// W', output columns: (W + 2 pad - kw) / stride + 1, and 0 if the kernel does not fit.
    pub fn out_w(&self) -> usize {
        (self.w + 2 * self.pad).checked_sub(self.kw).map_or(0, |r| r / self.stride + 1)
    }

    /// Elements of x, w and the result.
    pub fn lens(&self) -> [usize; 3] {
        let times = |batched: bool| if batched { self.g } else { 1 };
        [
            times(self.x_batched) * self.n * self.c * self.h * self.w,
            times(self.w_batched) * self.o * self.c * self.kh * self.kw,
            self.g * self.n * self.o * self.out_h() * self.out_w(),
        ]
    }
}

/// Rows of two tensors `[rows, d]`, with x = a + b + c the sum of three of which a party knows a and b: its
/// part a (a + 2 b) of the inner product of each row of x with itself -> `[rows]`. Reads both once.
///
/// # Panics
///
/// On lengths that do not fit.
pub fn squares(a: &Words, b: &Words, rows: usize) -> Words {
    zip_words!((a, b), (a, b) => matmul::squares(a, b, rows))
}

/// The product of a and b.
pub fn matmul(a: &Words, b: &Words, dims: MatMulDims) -> Words {
    let mut out = Words::zeros(a.bits(), dims.lens()[2]);
    matmul_acc(&mut out, a, b, dims);
    out
}

/// out += the product of a and b.
pub fn matmul_acc(out: &mut Words, a: &Words, b: &Words, dims: MatMulDims) {
    assert_eq!([a.len(), b.len(), out.len()], dims.lens(), "operands do not fit the dimensions");
    zip_words!((a, b), (a, b) => matmul::run(same_width(out, a), a, b, dims, Isa::best()));
}

/// The cross-correlation of images x with kernels w, as in PyTorch.
pub fn conv2d(x: &Words, w: &Words, dims: ConvDims) -> Words {
    let mut out = Words::zeros(x.bits(), dims.lens()[2]);
    conv2d_acc(&mut out, x, w, dims);
    out
}

/// out += the cross-correlation of images x with kernels w.
pub fn conv2d_acc(out: &mut Words, x: &Words, w: &Words, dims: ConvDims) {
    assert_eq!([x.len(), w.len(), out.len()], dims.lens(), "operands do not fit the dimensions");
    zip_words!((x, w), (x, w) => conv::run(same_width(out, x), x, w, dims, Isa::best()));
}

/// The words of out, which have the type of `_like`'s.
fn same_width<'a, T: super::Word>(out: &'a mut Words, _like: &[T]) -> &'a mut [T] {
    match T::of_mut(out) {
        Some(v) => v,
        None => panic!("operands of different ring widths"),
    }
}

/// Multiply-accumulates below which threads cost more than they bring.
const SERIAL: usize = 1 << 19;

#[cfg(test)]
mod tests;
