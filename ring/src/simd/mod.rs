//! The innermost loops, compiled several times and picked by what the processor can do: besides
//! `plane_writer` the only code of this crate with `unsafe`.
//!
//! There are three levels: [`Avx512`] (Ice Lake, Zen 4 and later), [`Avx2`] and [`Portable`]. The crate's
//! features `avx512` and `avx2` say which of the first two are compiled. Products of matrices are written in
//! vector instructions (`tile`). The other loops are plain Rust that the compiler vectorises, and only the
//! permission to use wider registers differs.

mod clmul;
mod isa;
mod matrix;
mod peak;
pub(crate) mod subsets;
mod tile;
mod transpose;

pub(crate) use clmul::{Clmul, Products, reduce, summed};
pub(crate) use isa::{Avx2, Avx512, Isa};
pub(crate) use matrix::{FACTORS, Matrix};
pub use peak::multiply_adds;
pub(super) use tile::{Kernel, Rows, Tile};
pub(super) use transpose::{slice, unslice};

use crate::Word;

/// `with_kernel!(isa, T, k => body)`: body with k the kernel of T for an instruction set.
macro_rules! with_kernel {
    ($isa:expr, $t:ty, $k:ident => $body:expr) => {
        match $isa {
            $crate::simd::Isa::Avx512(x) => {
                let $k = <$t as $crate::simd::Tile>::Avx512::from(x);
                $body
            }
            $crate::simd::Isa::Avx2(x) => {
                let $k = <$t as $crate::simd::Tile>::Avx2::from(x);
                $body
            }
            $crate::simd::Isa::Portable(x) => {
                let $k = <$t as $crate::simd::Tile>::Portable::from(x);
                $body
            }
        }
    };
}
pub(super) use with_kernel;

/// `fn name<[T, ...] [T: Bound, ...]>(...)`: a function compiled for each level; the parameters once
/// as arguments and once with their bounds.
macro_rules! versions {
    (
        $(#[$doc:meta])*
        $vis:vis fn $name:ident<[$($use:tt)*] [$($decl:tt)*]>($($arg:ident: $ty:ty),* $(,)?)
            $(-> $ret:ty)? $body:block
    ) => {
        $(#[$doc])*
        $vis fn $name<$($decl)*>($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn body<$($decl)*>($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
                fn avx512<$($decl)*>($($arg: $ty),*) $(-> $ret)? {
                    body::<$($use)*>($($arg),*)
                }
                if $crate::simd::Avx512::detect().is_some() {
                    // SAFETY: the processor has the features that the function is compiled for.
                    return unsafe { avx512::<$($use)*>($($arg),*) };
                }
            }
            #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
            {
                #[target_feature(enable = "avx2")]
                fn avx2<$($decl)*>($($arg: $ty),*) $(-> $ret)? {
                    body::<$($use)*>($($arg),*)
                }
                if $crate::simd::Avx2::detect().is_some() {
                    // SAFETY: as above.
                    return unsafe { avx2::<$($use)*>($($arg),*) };
                }
            }
            body::<$($use)*>($($arg),*)
        }
    };
}
pub(crate) use versions;

versions! {
    /// The sum of a[i] b[i].
    pub(super) fn dot<[T] [T: Word]>(a: &[T], b: &[T]) -> T {
        a.iter().zip(b).fold(T::ZERO, |s, (&x, &y)| s.wadd(x.wmul(y)))
    }
}

versions! {
    /// The sum of a[i] (a[i] + 2 b[i]).
    pub(super) fn square<[T] [T: Word]>(a: &[T], b: &[T]) -> T {
        let term = |x: T, y: T| x.wmul(x.wadd(y).wadd(y));
        a.iter().zip(b).fold(T::ZERO, |s, (&x, &y)| s.wadd(term(x, y)))
    }
}

versions! {
    /// Panels of R N columns of a matrix of patches, R of which are neighbours: row p, column j is
    /// `x[rows[p] + cols[j]]`.
    pub(super) fn runs<[T, R, N] [T: Word, const R: usize, const N: usize]>(
        panel: &mut [T], x: &[T], rows: &[usize], cols: &[usize],
    ) {
        let cols: [usize; N] = std::array::from_fn(|i| cols[i * R]);
        let most = |at: &[usize]| at.iter().copied().max().unwrap_or(0);
        let end = most(rows).checked_add(most(&cols)).and_then(|x| x.checked_add(R));
        assert!(end.is_some_and(|end| end <= x.len()), "a patch reaches beyond its image");
        let (panel, _) = panel.as_chunks_mut::<R>();
        let (panel, _) = panel.as_chunks_mut::<N>();
        for (out, &row) in panel.iter_mut().zip(rows) {
            for (out, &col) in out.iter_mut().zip(&cols) {
                // SAFETY: no row and no column is above the largest, from which R words are left.
                *out = unsafe { x.as_ptr().add(row + col).cast::<[T; R]>().read() };
            }
        }
    }
}

versions! {
    /// A panel of nr columns or the first of them: row p, column j is `x[rows[p] + cols[j]]`.
    pub(super) fn pick<[T] [T: Word]>(panel: &mut [T], nr: usize, x: &[T], rows: &[usize], cols: &[usize]) {
        for (out, &row) in panel.chunks_exact_mut(nr).zip(rows) {
            out.iter_mut().zip(cols).for_each(|(o, &col)| *o = x[row + col]);
        }
    }
}

versions! {
    /// Cuts a row to pieces of nr words that go to places `apart` from each other.
    pub(super) fn spread<[T] [T: Word]>(to: &mut [T], apart: usize, nr: usize, row: &[T]) {
        for (to, piece) in to.chunks_mut(apart).zip(row.chunks(nr)) {
            // Of known length these are loads and stores, not calls.
            let to = &mut to[..piece.len()];
            if let (Ok(to), Ok(piece)) =
                (<&mut [T; 16]>::try_from(&mut *to), <&[T; 16]>::try_from(piece))
            {
                *to = *piece;
            } else if let (Ok(to), Ok(piece)) =
                (<&mut [T; 32]>::try_from(&mut *to), <&[T; 32]>::try_from(piece))
            {
                *to = *piece;
            } else {
                to.copy_from_slice(piece);
            }
        }
    }
}

versions! {
    /// Element p of row i to `p width + i`, for `rows` rows, which lie `stride` apart.
    pub(crate) fn interleave<[T] [T: Word]>(
        panel: &mut [T], width: usize, rows: usize, from: &[T], stride: usize, kc: usize,
    ) {
        let mut i = 0;
        // Eight rows at a time, so that a cache line of the result is written at once.
        while i + 8 <= rows {
            let from: [&[T]; 8] = std::array::from_fn(|r| &from[(i + r) * stride..][..kc]);
            for (p, out) in panel.chunks_exact_mut(width).enumerate().take(kc) {
                if let Some(out) = out[i..].first_chunk_mut::<8>() {
                    *out = std::array::from_fn(|r| from[r][p]);
                }
            }
            i += 8;
        }
        for i in i..rows {
            let row = &from[i * stride..][..kc];
            for (out, &x) in panel.chunks_exact_mut(width).zip(row) {
                out[i] = x;
            }
        }
    }
}

versions! {
    /// Of four blocks of two vectors, values of polynomials in two variables, adds the products at the nine points of
    /// the grid.
    pub(crate) fn nine_products<[T, N] [T: Word, const N: usize]>(
        out: &mut [[T; N]; 9], u: &[[T; N]; 4], v: &[[T; N]; 4],
    ) {
        for i in 0..N {
            let at = |x: &[[T; N]; 4]| {
                let (a, b, c, d) = (x[0][i], x[1][i], x[2][i], x[3][i]);
                let (e, f) = (b.wsub(a), d.wsub(c));
                [a, b, e, c, d, f, c.wsub(a), d.wsub(b), f.wsub(e)]
            };
            let (u, v) = (at(u), at(v));
            for j in 0..9 {
                out[j][i] = out[j][i].wadd(u[j].wmul(v[j]));
            }
        }
    }
}

versions! {
    /// out = a - b.
    pub(crate) fn subtracted<[T] [T: Word]>(out: &mut [T], a: &[T], b: &[T]) {
        out.iter_mut().zip(a.iter().zip(b)).for_each(|(o, (a, b))| *o = a.wsub(*b));
    }
}

versions! {
    /// out = a xor b.
    pub(crate) fn xored<[] []>(out: &mut [u64], a: &[u64], b: &[u64]) {
        out.iter_mut().zip(a.iter().zip(b)).for_each(|(o, (a, b))| *o = a ^ b);
    }
}

versions! {
    /// out = a - b modulo p, of numbers below p, which is below 2^63.
    pub(crate) fn minus_modulo<[] []>(out: &mut [u64], a: &[u64], b: &[u64], p: u64) {
        for (o, (a, b)) in out.iter_mut().zip(a.iter().zip(b)) {
            let less = a.wrapping_sub(*b);
            *o = less.min(less.wrapping_add(p));
        }
    }
}

versions! {
    /// All modulo p, which is between 2^60 and 2^61.
    pub(crate) fn modulo<[] []>(all: &mut [u64], p: u64) {
        for x in all {
            // Below 16 p.
            for i in (0..4).rev() {
                *x = (*x).min(x.wrapping_sub(p << i));
            }
        }
    }
}

/// Tables in front of the sums in [`signed_sums`].
pub(super) const TABLES: usize = 32;

/// The sums of all subsets of four vectors.
#[inline(always)]
fn subsets<T: Word, const R: usize>(sums: &mut [[T; R]; 16], x: &[[T; R]]) {
    for (j, x) in x.iter().enumerate().take(4) {
        for i in 0..1 << j {
            for r in 0..R {
                sums[i | 1 << j][r] = sums[i][r].wadd(x[r]);
            }
        }
    }
}

versions! {
    /// work[32 + t] += the sum of signs times columns of x (R rows side by side; a multiple of 8
    /// columns). Two bytes of signs for each block of 8 columns and each t: see
    /// [`crate::protocol::signs`]. The first 32 entries of `work` are scratch.
    ///
    /// Tables and sums are one argument so that the compiler, not knowing them apart, does not turn
    /// the loop over t into gathers: it then finds the R words side by side.
    pub(super) fn signed_sums<[T, R] [T: Word, const R: usize]>(work: &mut [[T; R]], x: &[[T; R]], signs: &[u8]) {
        let Some((tables, sums)) = work.split_first_chunk_mut::<TABLES>() else { return };
        let (tables, _) = tables.as_chunks_mut::<16>();
        let [low, high] = tables else { return };
        (low[0], high[0]) = ([T::ZERO; R], [T::ZERO; R]);
        let (blocks, _) = x.as_chunks::<8>();
        for (x, signs) in blocks.iter().zip(signs.chunks_exact(2 * sums.len())) {
            subsets(low, &x[..4]);
            subsets(high, &x[4..]);
            let (signs, _) = signs.as_chunks::<2>();
            for (sum, &[s, t]) in sums.iter_mut().zip(signs) {
                let (a, b) = (&low[usize::from(s & 15)], &low[usize::from(s >> 4)]);
                let (c, d) = (&high[usize::from(t & 15)], &high[usize::from(t >> 4)]);
                let mut new = *sum;
                for r in 0..R {
                    new[r] = new[r].wadd(a[r].wsub(b[r])).wadd(c[r].wsub(d[r]));
                }
                *sum = new;
            }
        }
    }
}

versions! {
    /// a[i] = f(a[i], b[i]).
    pub(super) fn zip<[T, F] [T: Word, F: Fn(T, T) -> T]>(a: &mut [T], b: &[T], f: F) {
        for (x, &y) in a.iter_mut().zip(b) {
            *x = f(*x, y);
        }
    }
}

versions! {
    pub(super) fn map<[T, F] [T: Word, F: Fn(T) -> T]>(a: &mut [T], f: F) {
        a.iter_mut().for_each(|x| *x = f(*x));
    }
}

versions! {
    pub(super) fn convert<[T, U, F] [T: Word, U: Word, F: Fn(T) -> U]>(out: &mut [U], a: &[T], f: F) {
        for (o, &x) in out.iter_mut().zip(a) {
            *o = f(x);
        }
    }
}

versions! {
    /// c[i] += x b[i].
    pub(super) fn axpy<[T] [T: Word]>(c: &mut [T], x: T, b: &[T]) {
        for (c, &y) in c.iter_mut().zip(b) {
            *c = c.wadd(x.wmul(y));
        }
    }
}
