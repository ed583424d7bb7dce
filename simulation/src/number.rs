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
        rows == 0
            || columns == 0
            || (rows - 1) * self.row + (columns - 1) * self.column < self.data.len()
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
                assert!(a.holds(m, k) && b.holds(k, n) && m * n <= c.len(), "matrix out of bounds");
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
