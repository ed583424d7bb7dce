//! The inner loops of [`super::chain`]: convolutions and pooling.
//!
//! [`LANES`] images are computed side by side. What one step gives for them is `[C, H, W]` of [`Lanes`], where a lane
//! holds the value of one image. So every loop over pixels works on whole vectors, whatever the width of an image, and
//! windows need not be copied into columns. Lanes without an image hold what the model says of an image of zeros, and
//! their gradients are 0.
//!
//! | file | holds |
//! |---|---|
//! | `window` | where windows lie |
//! | `conv` | convolutions and their transposes |
//! | `pool` | means and maxima of windows |
//!
//! Loops that cost time are compiled twice, for processors with AVX2 and for all.

mod conv;
mod pool;
mod window;

use super::number::Matrix;

pub(super) use conv::{Scratch, add_inputs, add_weights, convolve};
pub(super) use pool::{add_average, add_maximum, average, maximum};
pub(super) use window::Window;

/// Images that are computed side by side.
pub(super) const LANES: usize = 16;

/// One value of each image.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(64))]
pub(super) struct Lanes(pub [f32; LANES]);

impl Lanes {
    /// The same in each.
    pub(super) fn all(x: f32) -> Lanes {
        Lanes([x; LANES])
    }

    /// The sum over all images, in an order that is fixed.
    pub(super) fn sum(&self) -> f32 {
        self.0.iter().sum()
    }

    #[inline(always)]
    pub(super) fn add(&mut self, x: &Lanes) {
        for (a, x) in self.0.iter_mut().zip(&x.0) {
            *a += *x;
        }
    }

    /// Adds x times a number.
    #[inline(always)]
    fn add_product<const FUSED: bool>(&mut self, w: f32, x: &Lanes) {
        for (a, x) in self.0.iter_mut().zip(&x.0) {
            *a = if FUSED { w.mul_add(*x, *a) } else { *a + w * x };
        }
    }

    /// Adds x times y, entry by entry.
    #[inline(always)]
    fn add_products<const FUSED: bool>(&mut self, x: &Lanes, y: &Lanes) {
        for (a, (x, y)) in self.0.iter_mut().zip(x.0.iter().zip(&y.0)) {
            *a = if FUSED { x.mul_add(*y, *a) } else { *a + x * y };
        }
    }
}

/// `fn name<FUSED, ...>(...)`: a function compiled for AVX2 with fused products, and for all processors. The constant `FUSED` says
/// whether products are fused.
macro_rules! versions {
    (
        $(#[$doc:meta])*
        $vis:vis fn $name:ident<$fused:ident $(, $c:ident)*>($($arg:ident: $ty:ty),* $(,)?) $body:block
    ) => {
        $(#[$doc])*
        $vis fn $name<$(const $c: usize),*>($($arg: $ty),*) {
            #[inline(always)]
            fn body<const $fused: bool $(, const $c: usize)*>($($arg: $ty),*) $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn avx2<$(const $c: usize),*>($($arg: $ty),*) {
                    body::<true $(, $c)*>($($arg),*);
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    // SAFETY: the processor has the features that the function is compiled for.
                    return unsafe { avx2::<$($c),*>($($arg),*) };
                }
            }
            body::<{ cfg!(target_arch = "aarch64") } $(, $c)*>($($arg),*);
        }
    };
}
use versions;

/// Images one after another, at most [`LANES`], side by side.
pub(super) fn gather(images: &[f32], size: usize, out: &mut Vec<Lanes>) {
    out.clear();
    out.resize(size, Lanes::default());
    for (lane, image) in images.chunks_exact(size).enumerate() {
        for (to, x) in out.iter_mut().zip(image) {
            to.0[lane] = *x;
        }
    }
}

/// Their entries one after another.
pub(super) fn flat(x: &[Lanes]) -> &[f32] {
    // SAFETY: lanes are arrays of LANES entries without anything between or behind them.
    unsafe { std::slice::from_raw_parts(x.as_ptr().cast(), x.len() * LANES) }
}

/// A row for each entry, a column for each image.
pub(super) fn matrix(x: &[Lanes]) -> Matrix<'_, f32> {
    Matrix::new(flat(x), LANES)
}

/// The same to be written.
pub(super) fn flat_mut(x: &mut [Lanes]) -> &mut [f32] {
    // SAFETY: as above, and the borrow is as exclusive.
    unsafe { std::slice::from_raw_parts_mut(x.as_mut_ptr().cast(), x.len() * LANES) }
}
