//! The two kinds of numbers, and products of matrices of them.

use matrixmultiply::{dgemm, sgemm};
use slvr_compiler::graph::eval::Word;
use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// `f32` or `f64`.
pub trait Number:
    Word
    + Debug
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + Sum
{
    /// The nearest number.
    fn of(x: f64) -> Self;

    fn real(self) -> f64 {
        self.decode(0)
    }

    /// c = beta c + a b; a is m x k and b is k x n, each with the distances of its rows and columns, c is m x n
    /// row-major.
    ///
    /// # Panics
    /// If a slice is too short.
    fn gemm(size: [usize; 3], a: Matrix<'_, Self>, b: Matrix<'_, Self>, beta: Self, c: &mut [Self]);
}

/// A matrix in a slice, with the distances between its rows and between its columns.
#[derive(Clone, Copy)]
pub struct Matrix<'a, T> {
    data: &'a [T],
    row: usize,
    column: usize,
}

impl<'a, T> Matrix<'a, T> {
    /// Row-major with this many columns.
    pub(crate) fn new(data: &'a [T], columns: usize) -> Self {
        Matrix { data, row: columns, column: 1 }
    }

    pub(crate) fn transposed(self) -> Self {
        Matrix { row: self.column, column: self.row, ..self }
    }

    /// Whether the slice holds that many rows and columns.
    fn holds(&self, rows: usize, columns: usize) -> bool {
        let (Some(rows), Some(columns)) = (rows.checked_sub(1), columns.checked_sub(1)) else {
            return true;
        };
        let last = rows.checked_mul(self.row).zip(columns.checked_mul(self.column));
        last.and_then(|(row, column)| row.checked_add(column)).is_some_and(|i| i < self.data.len())
    }
}

macro_rules! number {
    ($number:ty, $gemm:ident) => {
        impl Number for $number {
            fn of(x: f64) -> $number {
                x as $number
            }

            fn gemm(
                [m, k, n]: [usize; 3],
                a: Matrix<'_, $number>,
                b: Matrix<'_, $number>,
                beta: $number,
                c: &mut [$number],
            ) {
                let fits = m.checked_mul(n).is_some_and(|size| size <= c.len());
                assert!(fits && a.holds(m, k) && b.holds(k, n), "matrix out of bounds");
                let strides = |x: &Matrix<'_, $number>| (x.row as isize, x.column as isize);
                let ((ar, ac), (br, bc)) = (strides(&a), strides(&b));
                let (pa, pb, pc) = (a.data.as_ptr(), b.data.as_ptr(), c.as_mut_ptr());
                // SAFETY: all elements that the strides reach lie in their slices, as just asserted; c is borrowed
                // mutably, so it overlaps neither a nor b, and its rows do not overlap each other.
                unsafe {
                    $gemm(m, k, n, 1.0, pa, ar, ac, pb, br, bc, beta, pc, n as isize, 1);
                }
            }
        }
    };
}

number!(f32, sgemm);
number!(f64, dgemm);

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of the bits of a size: a square of so many is one more than a size can be.
    const HALF: usize = 1 << (usize::BITS / 2);

    #[test]
    fn no_slice_holds_matrices_whose_sizes_wrap() {
        let data = [1.0; 4];
        assert!(Matrix::new(&data, 2).holds(2, 2) && !Matrix::new(&data, 2).holds(3, 2));
        assert!(!Matrix::new(&data, HALF).holds(HALF + 1, 1));
        assert!(!Matrix::new(&data, HALF).transposed().holds(1, HALF + 1));
        assert!(!Matrix::new(&data, usize::MAX).holds(2, 2));
    }

    #[test]
    #[should_panic(expected = "matrix out of bounds")]
    fn a_product_whose_size_wraps_is_refused() {
        let none = Matrix::new(&[], 1);
        f64::gemm([HALF, 0, HALF], none, none, 0.0, &mut []);
    }
}
