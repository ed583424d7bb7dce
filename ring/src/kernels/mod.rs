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
mod dims;
mod gemm;
mod matmul;
mod project;

pub use super::simd::multiply_adds;
pub use dims::{ConvDims, MatMulDims};
pub use project::{Row, project, project_rows};

use super::simd::Isa;
use super::{Words, zip_words};

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

/// The product of a and b, which are borrowed.
pub fn product(a: &[u64], b: &[u64], dims: MatMulDims) -> Vec<u64> {
    let mut out = vec![0; dims.lens()[2]];
    product_acc(&mut out, a, b, dims);
    out
}

/// out += the product of a and b, which are borrowed.
#[allow(private_bounds)]
pub(crate) fn product_acc<T: gemm::Keep>(out: &mut [T], a: &[T], b: &[T], dims: MatMulDims) {
    assert_eq!([a.len(), b.len(), out.len()], dims.lens(), "operands do not fit the dimensions");
    matmul::run(out, a, b, dims, Isa::best());
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

#[cfg(test)]
mod tests;
