//! The Galois rings of degree [`DEGREE`] over Z_2^64 and Z_2^128: polynomials over Z_2^k modulo X^56 + X^7 + X^4 +
//! X^2 + 1, which is irreducible modulo 2.
//!
//! An element is a unit exactly if one of its coefficients is odd. The polynomials with coefficients 0 and 1 are
//! 2^56 *exceptional* points ([`point`]): the difference of any two of them is a unit, so values at such points
//! determine a polynomial.
//!
//! Vectors ([`Vector`]) hold each coefficient of all elements in one row, so that sums of products are
//! products of matrices of words.
//!
//! Words that are multiplied by coefficients with coordinates 0 and 1 only ([`Points`]) take additions in place
//! of products ([`Grid`], [`Factors`], [`sum_words`]).

mod degree;
mod vector;
mod words;

pub use degree::DEGREE;
pub use vector::{Vector, cross, products};
pub use words::{Factors, Grid, Points, fold_words, sum_words};

use super::kernels::{self, MatMulDims};
use super::simd::subsets::Picked;
use super::simd::versions;

/// The places of the modulus below its top.
const TAPS: [usize; 4] = [0, 2, 4, 7];

/// An element, the coefficient of X^0 first.
pub type Element<T = u64> = [T; DEGREE];

/// Words over which there is a ring.
pub trait Scalar: Picked {
    /// out += the product of matrices.
    #[doc(hidden)]
    fn product_acc(out: &mut [Self], a: &[Self], b: &[Self], dims: MatMulDims);
}

impl Scalar for u64 {
    fn product_acc(out: &mut [u64], a: &[u64], b: &[u64], dims: MatMulDims) {
        kernels::product_acc(out, a, b, dims);
    }
}

impl Scalar for u128 {
    fn product_acc(out: &mut [u128], a: &[u128], b: &[u128], dims: MatMulDims) {
        kernels::product_acc(out, a, b, dims);
    }
}

pub const fn zero<T: Scalar>() -> Element<T> {
    [T::ZERO; DEGREE]
}

/// A word as an element.
pub fn word<T: Scalar>(x: T) -> Element<T> {
    let mut out = zero();
    out[0] = x;
    out
}

/// The exceptional point of a number: bit j is the coefficient of X^j. Bits from [`DEGREE`] on are dropped.
pub fn point<T: Scalar>(i: u64) -> Element<T> {
    std::array::from_fn(|j| T::from_u64(i >> j & 1))
}

pub fn add<T: Scalar>(a: &Element<T>, b: &Element<T>) -> Element<T> {
    std::array::from_fn(|i| a[i].wadd(b[i]))
}

pub fn sub<T: Scalar>(a: &Element<T>, b: &Element<T>) -> Element<T> {
    std::array::from_fn(|i| a[i].wsub(b[i]))
}

versions! {
    pub fn mul<[T] [T: Scalar]>(a: &Element<T>, b: &Element<T>) -> Element<T> {
        let mut wide = [T::ZERO; 2 * DEGREE];
        for (i, &x) in a.iter().enumerate() {
            if let Some(out) = wide[i..].first_chunk_mut::<DEGREE>() {
                for (out, &y) in out.iter_mut().zip(b) {
                    *out = out.wadd(x.wmul(y));
                }
            }
        }
        reduce(&mut wide);
        std::array::from_fn(|i| wide[i])
    }
}

/// Modulo X^56 + X^7 + X^4 + X^2 + 1, from the top down.
#[inline(always)]
fn reduce<T: Scalar>(wide: &mut [T; 2 * DEGREE]) {
    for i in (DEGREE..2 * DEGREE).rev() {
        let top = std::mem::take(&mut wide[i]);
        for tap in TAPS {
            wide[i - DEGREE + tap] = wide[i - DEGREE + tap].wsub(top);
        }
    }
}

/// The inverse of a unit; of anything else no meaningful element.
pub fn inverse<T: Scalar>(a: &Element<T>) -> Element<T> {
    // Modulo 2 it is a^(2^56 - 2); each step of Newton's doubles the bits that are right.
    let mut power = *a;
    let mut out = word(T::ONE);
    for _ in 1..DEGREE {
        power = mul(&power, &power);
        out = mul(&out, &power);
    }
    for _ in 0..T::BITS.ilog2() {
        out = mul(&out, &sub(&word(T::ONE.wadd(T::ONE)), &mul(a, &out)));
    }
    out
}

fn times_x<T: Scalar>(a: &Element<T>) -> Element<T> {
    let top = a[DEGREE - 1];
    let mut out: Element<T> = std::array::from_fn(|i| if i == 0 { T::ZERO } else { a[i - 1] });
    for tap in TAPS {
        out[tap] = out[tap].wsub(top);
    }
    out
}

#[cfg(test)]
mod tests;
