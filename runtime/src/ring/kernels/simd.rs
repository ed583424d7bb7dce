//! The innermost loops, compiled several times and picked by what the processor can do.
//!
//! The loops are plain Rust that vectorises; only the permission to use wider registers differs. A
//! 64-bit product is one instruction with AVX-512 DQ and several without.

use crate::ring::Word;

macro_rules! versions {
    (
        $(#[$doc:meta])*
        fn $name:ident<T: Word $(, const $c:ident: usize)*>($($arg:ident: $ty:ty),* $(,)?)
            $(-> $ret:ty)? $body:block
    ) => {
        $(#[$doc])*
        pub(super) fn $name<T: Word $(, const $c: usize)*>($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn body<T: Word $(, const $c: usize)*>($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
                fn avx512<T: Word $(, const $c: usize)*>($($arg: $ty),*) $(-> $ret)? {
                    body::<T $(, $c)*>($($arg),*)
                }
                #[target_feature(enable = "avx2")]
                fn avx2<T: Word $(, const $c: usize)*>($($arg: $ty),*) $(-> $ret)? {
                    body::<T $(, $c)*>($($arg),*)
                }
                if is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
                {
                    // SAFETY: the processor has the features that the function is compiled for.
                    return unsafe { avx512::<T $(, $c)*>($($arg),*) };
                }
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: as above.
                    return unsafe { avx2::<T $(, $c)*>($($arg),*) };
                }
            }
            body::<T $(, $c)*>($($arg),*)
        }
    };
}

/// A row-major left operand.
#[derive(Clone, Copy)]
pub(super) struct Left<'a, T> {
    /// Its elements, from the first of the sum on.
    pub data: &'a [T],
    /// Distance of its rows.
    pub stride: usize,
    /// Number of rows.
    pub rows: usize,
}

/// A packed block of the right operand: panels of NR columns, each kc x NR, the last one filled up.
#[derive(Clone, Copy)]
pub(super) struct Right<'a, T> {
    /// Its panels.
    pub data: &'a [T],
    /// Rows, the length of the sums.
    pub kc: usize,
    /// Columns.
    pub nb: usize,
}

versions! {
    /// c += a b, in tiles of MR x NR. Row i of c starts at i ldc. `panel` is scratch of kc MR words.
    fn block<T: Word, const MR: usize, const NR: usize>(
        c: &mut [T], ldc: usize, a: Left<'_, T>, b: Right<'_, T>, panel: &mut [T],
    ) {
        let (rows, kc, nb) = (a.rows, b.kc, b.nb);
        for i0 in (0..rows).step_by(MR) {
            let mr = MR.min(rows - i0);
            // Interleave MR rows, so that the loop below reads both operands in order.
            for i in 0..MR {
                if i < mr {
                    let row = &a.data[(i0 + i) * a.stride..][..kc];
                    for (p, &x) in panel.chunks_exact_mut(MR).zip(row) {
                        p[i] = x;
                    }
                } else {
                    panel.chunks_exact_mut(MR).for_each(|p| p[i] = T::ZERO);
                }
            }
            let (ap, _) = panel.as_chunks::<MR>();
            for (jp, bp) in b.data.chunks_exact(kc * NR).enumerate() {
                let (bp, _) = bp.as_chunks::<NR>();
                let mut acc = [[T::ZERO; NR]; MR];
                for (x, y) in ap.iter().zip(bp) {
                    for i in 0..MR {
                        for j in 0..NR {
                            acc[i][j] = acc[i][j].wadd(x[i].wmul(y[j]));
                        }
                    }
                }
                let nr = NR.min(nb - jp * NR);
                for (i, acc) in acc.iter().enumerate().take(mr) {
                    let out = &mut c[(i0 + i) * ldc + jp * NR..][..nr];
                    for (o, &s) in out.iter_mut().zip(acc) {
                        *o = o.wadd(s);
                    }
                }
            }
        }
    }
}

versions! {
    /// The sum of a[i] b[i].
    fn dot<T: Word>(a: &[T], b: &[T]) -> T {
        a.iter().zip(b).fold(T::ZERO, |s, (&x, &y)| s.wadd(x.wmul(y)))
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
    fn signed_sums<T: Word, const R: usize>(work: &mut [[T; R]], x: &[[T; R]], signs: &[u8]) {
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
    /// c[i] += x b[i].
    fn axpy<T: Word>(c: &mut [T], x: T, b: &[T]) {
        for (c, &y) in c.iter_mut().zip(b) {
            *c = c.wadd(x.wmul(y));
        }
    }
}
