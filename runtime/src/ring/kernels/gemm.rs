//! A blocked product of a row-major matrix and a matrix that the caller packs block by block.
//!
//! The right operand is cut into blocks of [`KC`] rows and [`Tile::columns`] columns that stay in
//! the second-level cache; a block is packed in panels of NR columns, so that an MR x NR tile of
//! the result stays in registers. A convolution packs image patches straight into panels and never
//! builds the whole patch matrix.

use super::simd::{self, Left, Right};
use crate::ring::Word;

/// Rows of a packed block.
pub(super) const KC: usize = 256;

/// Bytes of a packed block.
const BLOCK_BYTES: usize = 256 << 10;

/// The register tile for a word type.
pub(super) trait Tile: Word {
    /// Rows of a tile.
    const MR: usize;
    /// Columns of a tile.
    const NR: usize;

    /// Columns of a packed block.
    fn columns() -> usize {
        BLOCK_BYTES / size_of::<Self>() / KC
    }

    /// [`simd::block`] with this tile.
    fn block(c: &mut [Self], ldc: usize, a: Left<'_, Self>, b: Right<'_, Self>, panel: &mut [Self]);
}

macro_rules! tile {
    ($t:ty, $mr:literal, $nr:literal) => {
        impl Tile for $t {
            const MR: usize = $mr;
            const NR: usize = $nr;
            fn block(
                c: &mut [Self],
                ldc: usize,
                a: Left<'_, Self>,
                b: Right<'_, Self>,
                panel: &mut [Self],
            ) {
                simd::block::<$t, $mr, $nr>(c, ldc, a, b, panel);
            }
        }
    };
}

tile!(u8, 4, 32);
tile!(u16, 4, 32);
tile!(u32, 4, 16);
tile!(u64, 4, 8);
tile!(u128, 2, 4);

/// Buffers of one thread.
pub(super) struct Scratch<T> {
    block: Vec<T>,
    panel: Vec<T>,
}

impl<T: Tile> Scratch<T> {
    /// Buffers for products with sums of length k over n columns.
    pub fn new(k: usize, n: usize) -> Self {
        let (kc, nb) = (k.min(KC), n.min(T::columns()).next_multiple_of(T::NR));
        Scratch { block: vec![T::ZERO; kc * nb], panel: vec![T::ZERO; kc * T::MR] }
    }
}

/// A block to pack: rows k0 .. k0 + kc and columns j0 .. j0 + nb of the right operand. Element
/// (p, j) of the block goes to [`Part::at`].
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub k0: usize,
    pub kc: usize,
    pub j0: usize,
    pub nb: usize,
}

impl Part {
    /// Where row p, column j of the block is in its buffer.
    #[inline(always)]
    pub fn at<T: Tile>(&self, p: usize, j: usize) -> usize {
        j / T::NR * self.kc * T::NR + p * T::NR + j % T::NR
    }
}

/// c += a b: `rows` rows of a (row stride `lda`), over the sums `ks`; c has n columns. `pack` fills
/// a zeroed buffer with a block of b.
pub(super) fn gemm<T: Tile>(
    c: &mut [T],
    n: usize,
    a: &[T],
    lda: usize,
    ks: std::ops::Range<usize>,
    scratch: &mut Scratch<T>,
    pack: impl Fn(Part, &mut [T]),
) {
    if n == 0 || ks.is_empty() {
        return;
    }
    let rows = c.len() / n;
    for k0 in ks.clone().step_by(KC) {
        let kc = KC.min(ks.end - k0);
        for j0 in (0..n).step_by(T::columns()) {
            let nb = T::columns().min(n - j0);
            let block = &mut scratch.block[..kc * nb.next_multiple_of(T::NR)];
            block.fill(T::ZERO);
            pack(Part { k0, kc, j0, nb }, block);
            let panel = &mut scratch.panel[..kc * T::MR];
            let left = Left { data: &a[k0..], stride: lda, rows };
            T::block(&mut c[j0..], n, left, Right { data: block, kc, nb }, panel);
        }
    }
}
