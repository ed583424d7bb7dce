//! Register tiles: the sums of products of MR rows and NR columns, for each width and instruction
//! set.
//!
//! A step reads one element of each row and NR neighbouring elements of the right operand. The sums
//! stay in registers over all steps, so a step costs one load per row, one per register of columns,
//! and a product and a sum per tile register.

use super::isa::{Avx2, Avx512, Portable};
use crate::Word;

/// Rows of the left operand of a tile.
#[derive(Clone, Copy)]
pub(crate) enum Rows<'a, T> {
    /// Interleaved: element p of row i at `p rows + i`.
    Packed(&'a [T]),
    /// Each contiguous, at this distance.
    Apart(&'a [T], usize),
}

/// Computes tiles for words of one width with one instruction set.
pub(crate) trait Kernel<T>: Copy + Send + Sync {
    /// Most rows of a tile.
    const MR: usize;
    /// Columns of a tile.
    const NR: usize;

    /// Adds to `c[i apart + j]` the sum over p below `kc` of `a[i, p] b[p step + j]`, for i below
    /// `rows` (1 to MR) and j below NR.
    fn tile(self, rows: usize, kc: usize, a: Rows<'_, T>, b: (&[T], usize), c: (&mut [T], usize));
}

/// The kernels of a width.
pub(crate) trait Tile: Word {
    type Avx512: Kernel<Self> + From<Avx512>;
    type Avx2: Kernel<Self> + From<Avx2>;
    type Portable: Kernel<Self> + From<Portable>;
}

macro_rules! tile {
    ($($t:ty: $avx512:ty, $avx2:ty;)*) => { $(
        impl Tile for $t {
            type Avx512 = $avx512;
            type Avx2 = $avx2;
            type Portable = Portable;
        }
    )* };
}

#[cfg(all(target_arch = "x86_64", feature = "avx512"))]
type Wide = Avx512;
#[cfg(not(all(target_arch = "x86_64", feature = "avx512")))]
type Wide = Portable;
#[cfg(all(target_arch = "x86_64", feature = "avx2"))]
type Middle = Avx2;
#[cfg(not(all(target_arch = "x86_64", feature = "avx2")))]
type Middle = Portable;

tile! {
    u8: Wide, Middle;
    u16: Wide, Middle;
    u32: Wide, Middle;
    u64: Wide, Middle;
    u128: Wide, Portable;
}

/// Panics unless a tile stays inside its operands; the loops below read without further checks.
#[inline(always)]
fn check<T>(
    (rows, most, nr): (usize, usize, usize),
    kc: usize,
    a: Rows<'_, T>,
    b: (&[T], usize),
    c: (&[T], usize),
) {
    assert!((1..=most).contains(&rows) && kc > 0, "an empty tile");
    let reach = |steps: usize, step: usize, more: usize| {
        steps.checked_mul(step).and_then(|x| x.checked_add(more)).unwrap_or(usize::MAX)
    };
    let a_fits = match a {
        Rows::Packed(a) => a.len() >= reach(kc, rows, 0),
        Rows::Apart(a, stride) => a.len() >= reach(rows - 1, stride, kc),
    };
    let b_fits = b.0.len() >= reach(kc - 1, b.1, nr);
    // Rows of the result that overlap would be added to twice.
    let c_fits = c.1 >= nr && c.0.len() >= reach(rows - 1, c.1, nr);
    assert!(a_fits && b_fits, "a tile reaches beyond its operands");
    assert!(c_fits, "a tile reaches beyond its result");
}

/// Picks the instance for a number of rows and a layout of the left operand.
#[cfg(all(target_arch = "x86_64", any(feature = "avx2", feature = "avx512")))]
macro_rules! pick {
    ($name:ident, $rows:expr, $a:expr, $args:tt, [$($n:literal)*]) => {
        match ($rows, $a) {
            $(
                ($n, Rows::Packed(a)) => pick!(@call $name, $n, true, a, 0, $args),
                ($n, Rows::Apart(a, stride)) => pick!(@call $name, $n, false, a, stride, $args),
            )*
            _ => unreachable!("checked"),
        }
    };
    (@call $name:ident, $n:literal, $packed:literal, $a:expr, $stride:expr,
        ($kc:expr, $b:expr, $c:expr)) => {
        $name::<$n, $packed>($kc, ($a.as_ptr(), $stride), ($b.0.as_ptr(), $b.1), $c)
    };
}

/// A kernel of an instruction set: its tile, and the loop over its steps.
#[cfg(all(target_arch = "x86_64", any(feature = "avx2", feature = "avx512")))]
macro_rules! kernel {
    (
        $isa:ident, $t:ty, $name:ident, $features:literal, $nr:literal columns, $rows:tt,
        |$b:ident| $columns:expr,
        |$a:ident| $left:expr,
        |$acc:ident: $accs:literal, $x:ident, $y:ident| $step:expr,
        |$sum:ident, $o:ident| $store:expr $(,)?
    ) => {
        /// # Safety
        ///
        /// The processor has the features, and the operands are as long as `check` asks.
        #[target_feature(enable = $features)]
        unsafe fn $name<const MR: usize, const PACKED: bool>(
            kc: usize,
            (a, stride): (*const $t, usize),
            (b, step): (*const $t, usize),
            (c, apart): (*mut $t, usize),
        ) {
            // SAFETY: `check` has established that every address below is inside its operand.
            unsafe {
                let mut acc = [[zero!($isa); $accs]; MR];
                for p in 0..kc {
                    let $b = b.add(p * step);
                    let $y = $columns;
                    for (i, $acc) in acc.iter_mut().enumerate() {
                        let $a = if PACKED { a.add(p * MR + i) } else { a.add(i * stride + p) };
                        let $x = $left;
                        $step;
                    }
                }
                for (i, $sum) in acc.iter().enumerate() {
                    let $o = c.add(i * apart);
                    $store;
                }
            }
        }

        impl Kernel<$t> for $isa {
            const MR: usize = last!($rows);
            const NR: usize = $nr;
            #[inline(always)]
            fn tile(
                self,
                rows: usize,
                kc: usize,
                a: Rows<'_, $t>,
                b: (&[$t], usize),
                c: (&mut [$t], usize),
            ) {
                check((rows, <Self as Kernel<$t>>::MR, $nr), kc, a, b, (c.0, c.1));
                let c = (c.0.as_mut_ptr(), c.1);
                // SAFETY: a value of this type exists only where the processor has the features;
                // `check` has compared the lengths.
                unsafe { pick!($name, rows, a, (kc, b, c), $rows) }
            }
        }
    };
}

#[cfg(all(target_arch = "x86_64", any(feature = "avx2", feature = "avx512")))]
macro_rules! zero {
    (Avx512) => {
        _mm512_setzero_si512()
    };
    (Avx2) => {
        _mm256_setzero_si256()
    };
}

#[cfg(all(target_arch = "x86_64", any(feature = "avx2", feature = "avx512")))]
macro_rules! last {
    ([$first:literal]) => { $first };
    ([$first:literal $($rest:literal)+]) => { last!([$($rest)+]) };
}

#[cfg(all(target_arch = "x86_64", any(feature = "avx2", feature = "avx512")))]
mod x86 {
    #[cfg(feature = "avx2")]
    use super::super::isa::Avx2;
    #[cfg(feature = "avx512")]
    use super::super::isa::Avx512;
    use super::{Kernel, Rows, check};
    use std::arch::x86_64::*;

    #[cfg(feature = "avx512")]
    kernel! {
        Avx512, u64, q512, "avx512f,avx512dq", 16 columns, [1 2 3 4 5 6 7 8],
        |b| [_mm512_loadu_si512(b.cast()), _mm512_loadu_si512(b.add(8).cast())],
        |a| _mm512_set1_epi64(a.read() as i64),
        |acc: 2, x, y| for (s, y) in acc.iter_mut().zip(y) {
            *s = _mm512_add_epi64(*s, _mm512_mullo_epi64(x, y));
        },
        |sum, o| for (v, &s) in sum.iter().enumerate() {
            let o = o.add(8 * v).cast();
            _mm512_storeu_si512(o, _mm512_add_epi64(_mm512_loadu_si512(o), s));
        },
    }

    #[cfg(feature = "avx512")]
    kernel! {
        Avx512, u32, d512, "avx512f,avx512dq", 32 columns, [1 2 3 4 5 6 7 8],
        |b| [_mm512_loadu_si512(b.cast()), _mm512_loadu_si512(b.add(16).cast())],
        |a| _mm512_set1_epi32(a.read() as i32),
        |acc: 2, x, y| for (s, y) in acc.iter_mut().zip(y) {
            *s = _mm512_add_epi32(*s, _mm512_mullo_epi32(x, y));
        },
        |sum, o| for (v, &s) in sum.iter().enumerate() {
            let o = o.add(16 * v).cast();
            _mm512_storeu_si512(o, _mm512_add_epi32(_mm512_loadu_si512(o), s));
        },
    }

    #[cfg(feature = "avx512")]
    kernel! {
        Avx512, u16, w512, "avx512f,avx512bw", 64 columns, [1 2 3 4 5 6 7 8],
        |b| [_mm512_loadu_si512(b.cast()), _mm512_loadu_si512(b.add(32).cast())],
        |a| _mm512_set1_epi16(a.read() as i16),
        |acc: 2, x, y| for (s, y) in acc.iter_mut().zip(y) {
            *s = _mm512_add_epi16(*s, _mm512_mullo_epi16(x, y));
        },
        |sum, o| for (v, &s) in sum.iter().enumerate() {
            let o = o.add(32 * v).cast();
            _mm512_storeu_si512(o, _mm512_add_epi16(_mm512_loadu_si512(o), s));
        },
    }

    // There is no product of bytes. Even and odd columns are summed in 16-bit lanes whose low bytes
    // are right, whatever is in the high ones.
    #[cfg(feature = "avx512")]
    kernel! {
        Avx512, u8, b512, "avx512f,avx512bw", 64 columns, [1 2 3 4 5 6 7 8],
        |b| {
            let even = _mm512_loadu_si512(b.cast());
            [even, _mm512_srli_epi16::<8>(even)]
        },
        |a| _mm512_set1_epi16(i16::from(a.read())),
        |acc: 2, x, y| for (s, y) in acc.iter_mut().zip(y) {
            *s = _mm512_add_epi16(*s, _mm512_mullo_epi16(x, y));
        },
        |sum, o| {
            let even = _mm512_and_si512(sum[0], _mm512_set1_epi16(0xff));
            let odd = _mm512_slli_epi16::<8>(sum[1]);
            let all = _mm512_or_si512(even, odd);
            _mm512_storeu_si512(o.cast(), _mm512_add_epi8(_mm512_loadu_si512(o.cast()), all));
        },
    }

    // Limbs of 52, 52 and 24 bits; the products read no more than 52 bits of a lane. A step adds at
    // most 3 numbers below 2^52 to the middle sum, which bounds the steps of a block by 2^12 / 3;
    // of the last sum only 24 bits count.
    #[cfg(feature = "avx512")]
    kernel! {
        Avx512, u128, o512, "avx512f,avx512ifma,avx512vbmi2", 8 columns, [1 2 3 4 5 6 7 8],
        |b| {
            let (x, y) = (_mm512_loadu_si512(b.cast()), _mm512_loadu_si512(b.add(4).cast()));
            let even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
            let odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
            let low = _mm512_permutex2var_epi64(x, even, y);
            let high = _mm512_permutex2var_epi64(x, odd, y);
            [low, _mm512_shrdi_epi64::<52>(low, high), _mm512_srli_epi64::<40>(high)]
        },
        |a| {
            let a = a.cast::<i64>();
            let (low, high) = (_mm512_set1_epi64(a.read()), _mm512_set1_epi64(a.add(1).read()));
            [low, _mm512_shrdi_epi64::<52>(low, high), _mm512_srli_epi64::<40>(high)]
        },
        |acc: 3, x, y| {
            acc[0] = _mm512_madd52lo_epu64(acc[0], x[0], y[0]);
            acc[1] = _mm512_madd52hi_epu64(acc[1], x[0], y[0]);
            acc[2] = _mm512_madd52hi_epu64(acc[2], x[0], y[1]);
            acc[1] = _mm512_madd52lo_epu64(acc[1], x[0], y[1]);
            acc[2] = _mm512_madd52hi_epu64(acc[2], x[1], y[0]);
            acc[1] = _mm512_madd52lo_epu64(acc[1], x[1], y[0]);
            acc[2] = _mm512_madd52lo_epu64(acc[2], x[0], y[2]);
            acc[2] = _mm512_madd52lo_epu64(acc[2], x[1], y[1]);
            acc[2] = _mm512_madd52lo_epu64(acc[2], x[2], y[0]);
        },
        |sum, o| {
            let mut limbs = [[0u64; 8]; 3];
            for (l, &s) in limbs.iter_mut().zip(sum) {
                _mm512_storeu_si512(l.as_mut_ptr().cast(), s);
            }
            for j in 0..8 {
                let [x, y, z] = limbs.map(|l| u128::from(l[j]));
                let sum = x.wrapping_add(y << 52).wrapping_add(z << 104);
                o.add(j).write(o.add(j).read().wrapping_add(sum));
            }
        },
    }

    // A product modulo 2^64 is low low + 2^32 (low high + high low). The second part is summed in
    // 32-bit lanes against the swapped halves of b, and shifted once at the end.
    #[cfg(feature = "avx2")]
    kernel! {
        Avx2, u64, q256, "avx2", 4 columns, [1 2 3 4 5 6],
        |b| {
            let y = _mm256_loadu_si256(b.cast());
            [y, _mm256_shuffle_epi32::<0xb1>(y)]
        },
        |a| _mm256_set1_epi64x(a.read() as i64),
        |acc: 2, x, y| {
            acc[0] = _mm256_add_epi64(acc[0], _mm256_mul_epu32(x, y[0]));
            acc[1] = _mm256_add_epi32(acc[1], _mm256_mullo_epi32(x, y[1]));
        },
        |sum, o| {
            let cross = _mm256_add_epi32(sum[1], _mm256_shuffle_epi32::<0xb1>(sum[1]));
            let all = _mm256_add_epi64(sum[0], _mm256_slli_epi64::<32>(cross));
            _mm256_storeu_si256(o.cast(), _mm256_add_epi64(_mm256_loadu_si256(o.cast()), all));
        },
    }

    #[cfg(feature = "avx2")]
    kernel! {
        Avx2, u32, d256, "avx2", 16 columns, [1 2 3 4 5 6],
        |b| [_mm256_loadu_si256(b.cast()), _mm256_loadu_si256(b.add(8).cast())],
        |a| _mm256_set1_epi32(a.read() as i32),
        |acc: 2, x, y| for (s, y) in acc.iter_mut().zip(y) {
            *s = _mm256_add_epi32(*s, _mm256_mullo_epi32(x, y));
        },
        |sum, o| for (v, &s) in sum.iter().enumerate() {
            let o = o.add(8 * v).cast();
            _mm256_storeu_si256(o, _mm256_add_epi32(_mm256_loadu_si256(o), s));
        },
    }

    #[cfg(feature = "avx2")]
    kernel! {
        Avx2, u16, w256, "avx2", 32 columns, [1 2 3 4 5 6],
        |b| [_mm256_loadu_si256(b.cast()), _mm256_loadu_si256(b.add(16).cast())],
        |a| _mm256_set1_epi16(a.read() as i16),
        |acc: 2, x, y| for (s, y) in acc.iter_mut().zip(y) {
            *s = _mm256_add_epi16(*s, _mm256_mullo_epi16(x, y));
        },
        |sum, o| for (v, &s) in sum.iter().enumerate() {
            let o = o.add(16 * v).cast();
            _mm256_storeu_si256(o, _mm256_add_epi16(_mm256_loadu_si256(o), s));
        },
    }

    #[cfg(feature = "avx2")]
    kernel! {
        Avx2, u8, b256, "avx2", 32 columns, [1 2 3 4 5 6],
        |b| {
            let even = _mm256_loadu_si256(b.cast());
            [even, _mm256_srli_epi16::<8>(even)]
        },
        |a| _mm256_set1_epi16(i16::from(a.read())),
        |acc: 2, x, y| for (s, y) in acc.iter_mut().zip(y) {
            *s = _mm256_add_epi16(*s, _mm256_mullo_epi16(x, y));
        },
        |sum, o| {
            let even = _mm256_and_si256(sum[0], _mm256_set1_epi16(0xff));
            let odd = _mm256_slli_epi16::<8>(sum[1]);
            let all = _mm256_or_si256(even, odd);
            _mm256_storeu_si256(o.cast(), _mm256_add_epi8(_mm256_loadu_si256(o.cast()), all));
        },
    }
}

/// Columns of a portable tile.
const PORTABLE: usize = 8;

impl<T: Word> Kernel<T> for Portable {
    const MR: usize = 4;
    const NR: usize = PORTABLE;

    fn tile(self, rows: usize, kc: usize, a: Rows<'_, T>, b: (&[T], usize), c: (&mut [T], usize)) {
        check((rows, 4, PORTABLE), kc, a, b, (c.0, c.1));
        match rows {
            1 => portable::<T, 1>(kc, a, b, c),
            2 => portable::<T, 2>(kc, a, b, c),
            3 => portable::<T, 3>(kc, a, b, c),
            _ => portable::<T, 4>(kc, a, b, c),
        }
    }
}

fn portable<T: Word, const MR: usize>(
    kc: usize,
    a: Rows<'_, T>,
    (b, step): (&[T], usize),
    (c, apart): (&mut [T], usize),
) {
    let mut acc = [[T::ZERO; PORTABLE]; MR];
    for p in 0..kc {
        let y = &b[p * step..][..PORTABLE];
        for (i, acc) in acc.iter_mut().enumerate() {
            let x = match a {
                Rows::Packed(a) => a[p * MR + i],
                Rows::Apart(a, stride) => a[i * stride + p],
            };
            for (s, &y) in acc.iter_mut().zip(y) {
                *s = s.wadd(x.wmul(y));
            }
        }
    }
    for (c, acc) in c.chunks_mut(apart).zip(acc) {
        c.iter_mut().zip(acc).for_each(|(c, s)| *c = c.wadd(s));
    }
}
