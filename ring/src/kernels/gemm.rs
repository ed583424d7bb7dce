//! A blocked product of a row-major matrix and a matrix that the caller packs block by block, as in
//! Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008).
//!
//! The right operand is cut into blocks, which a caller packs into
//! panels of NR columns; the left one into blocks packed into panels of MR rows. A
//! panel of the right block stays in the first-level cache while all panels of a left block pass it
//! from the second level. A convolution packs image patches straight into panels and never builds
//! the matrix of patches.

use crate::simd::{Kernel, Rows, Tile, interleave};
use std::cell::Cell;
use std::ops::Range;

/// Bytes of a packed block of the left operand.
const LEFT_BYTES: usize = 384 << 10;
/// Bytes of a packed block of the right operand.
const BLOCK_BYTES: usize = 2 << 20;
/// Columns from which the left operand is packed: each of its elements is read once for NR columns.
const PACK_LEFT: usize = 48;

/// Rows of a packed block of the right operand. A panel's row is 128 bytes in the widest registers:
/// with 256 rows it is 32 KiB; words of 128 bits leave half of that to the left operand's panel.
const fn steps<T>() -> usize {
    if size_of::<T>() > 8 { 128 } else { 256 }
}

/// Columns of a packed block.
pub(super) const fn columns<T>() -> usize {
    BLOCK_BYTES / size_of::<T>() / steps::<T>()
}

/// Buffers of one thread.
pub(super) struct Scratch<T> {
    block: Vec<T>,
    left: Vec<T>,
    /// For images with padding.
    pub image: Vec<T>,
    tile: Vec<T>,
}

impl<T> Default for Scratch<T> {
    fn default() -> Self {
        Scratch { block: Vec::new(), left: Vec::new(), image: Vec::new(), tile: Vec::new() }
    }
}

/// Buffers that a thread keeps from one product to the next: new pages cost more than they hold.
pub(super) trait Keep: Tile {
    /// Calls f with this thread's buffers.
    fn with_scratch<R>(f: impl FnOnce(&mut Scratch<Self>) -> R) -> R;
}

macro_rules! keep {
    ($($t:ty)*) => { $(
        impl Keep for $t {
            fn with_scratch<R>(f: impl FnOnce(&mut Scratch<Self>) -> R) -> R {
                thread_local!(static KEPT: Cell<Scratch<$t>> = Cell::default());
                KEPT.with(|kept| {
                    let mut scratch = kept.take();
                    let out = f(&mut scratch);
                    kept.set(scratch);
                    out
                })
            }
        }
    )* };
}
keep!(u8 u16 u32 u64 u128);

/// A block to pack: rows k0 .. k0 + kc and columns j0 .. j0 + nb of the right operand.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub k0: usize,
    pub kc: usize,
    pub j0: usize,
    pub nb: usize,
}

/// The right operand of a product.
pub(super) trait Right<T>: Sync {
    /// Packs a block: column j of its row p to `(j / nr) kc nr + p nr + j % nr`. The buffer has
    /// whole panels; what is beyond the last column may be anything.
    fn pack(&self, nr: usize, part: Part, block: &mut [T]);

    /// The operand as rows at a distance, if packing is not worth it for so many rows of the left
    /// one.
    fn rows(&self, _left: usize) -> Option<(&[T], usize)> {
        None
    }
}

/// Where the result goes.
pub(super) trait Out<T> {
    /// From the place of a tile's first element on, and the distance of its rows, if its columns lie
    /// together.
    fn place(&mut self, at: At) -> Option<(&mut [T], usize)>;

    /// Adds a tile, whose rows are at the distance nr.
    fn add(&mut self, at: At, nr: usize, tile: &[T]);
}

/// A tile's place in the result: rows i0 .. i0 + mr and columns j0 .. j0 + nc.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub i0: usize,
    pub mr: usize,
    pub j0: usize,
    pub nc: usize,
}

/// A row-major result.
pub(super) struct Matrix<'a, T> {
    pub data: &'a mut [T],
    /// Distance of its rows.
    pub stride: usize,
    /// The product's column that is its first.
    pub first: usize,
}

impl<T: Tile> Out<T> for Matrix<'_, T> {
    #[inline(always)]
    fn place(&mut self, at: At) -> Option<(&mut [T], usize)> {
        let first = at.i0 * self.stride + at.j0 - self.first;
        Some((&mut self.data[first..], self.stride))
    }

    #[inline(always)]
    fn add(&mut self, at: At, nr: usize, tile: &[T]) {
        for (i, row) in tile.chunks_exact(nr).enumerate().take(at.mr) {
            let out = &mut self.data[(at.i0 + i) * self.stride + at.j0 - self.first..][..at.nc];
            out.iter_mut().zip(row).for_each(|(o, &x)| *o = o.wadd(x));
        }
    }
}

/// A row-major left operand.
#[derive(Clone, Copy)]
pub(super) struct Left<'a, T> {
    pub data: &'a [T],
    /// Distance of its rows.
    pub stride: usize,
    pub rows: usize,
}

/// out += a b, over the sums `ks` and the columns `cols`.
pub(super) fn gemm<T: Tile, K: Kernel<T>>(
    kernel: K,
    out: &mut impl Out<T>,
    a: Left<'_, T>,
    b: &impl Right<T>,
    ks: Range<usize>,
    cols: Range<usize>,
    scratch: &mut Scratch<T>,
) {
    let nr = K::NR;
    scratch.tile.resize((K::MR * nr).max(scratch.tile.len()), T::ZERO);
    let direct = b.rows(a.rows);
    for j0 in cols.clone().step_by(columns::<T>()) {
        let nb = columns::<T>().min(cols.end - j0);
        // Whole panels are read in place when the operand allows it; the last one is packed.
        let packed = if direct.is_some() { nb % nr } else { nb };
        for k0 in ks.clone().step_by(steps::<T>()) {
            let kc = steps::<T>().min(ks.end - k0);
            let len = kc * packed.next_multiple_of(nr);
            if scratch.block.len() < len {
                scratch.block.resize(len, T::ZERO);
            }
            let block = &mut scratch.block[..len];
            if packed > 0 {
                b.pack(nr, Part { k0, kc, j0: j0 + nb - packed, nb: packed }, block);
            }
            let most = LEFT_BYTES / size_of::<T>() / steps::<T>();
            for ic in (0..a.rows).step_by(most) {
                let rows = most.min(a.rows - ic);
                let from = &a.data[ic * a.stride + k0..];
                let pack = nb >= PACK_LEFT;
                if pack {
                    pack_left::<T, K>(&mut scratch.left, from, a.stride, rows, kc);
                }
                for j in (0..nb).step_by(nr) {
                    let nc = nr.min(nb - j);
                    let (panel, step) = match direct {
                        Some((data, step)) if nc == nr => (&data[k0 * step + j0 + j..], step),
                        _ => (&block[(j + packed - nb) * kc..], nr),
                    };
                    for i in (0..rows).step_by(K::MR) {
                        let mr = K::MR.min(rows - i);
                        let left = if pack {
                            Rows::Packed(&scratch.left[i * kc..])
                        } else {
                            Rows::Apart(&from[i * a.stride..], a.stride)
                        };
                        let at = At { i0: ic + i, mr, j0: j0 + j, nc };
                        let whole = if nc == nr { out.place(at) } else { None };
                        if let Some(c) = whole {
                            kernel.tile(mr, kc, left, (panel, step), c);
                        } else {
                            let tile = &mut scratch.tile[..mr * nr];
                            tile.fill(T::ZERO);
                            kernel.tile(mr, kc, left, (panel, step), (tile, nr));
                            out.add(at, nr, tile);
                        }
                    }
                }
            }
        }
    }
}

/// Interleaves MR rows at a time.
fn pack_left<T: Tile, K: Kernel<T>>(
    left: &mut Vec<T>,
    from: &[T],
    stride: usize,
    rows: usize,
    kc: usize,
) {
    if left.len() < rows * kc {
        left.resize(rows * kc, T::ZERO);
    }
    for i in (0..rows).step_by(K::MR) {
        let mr = K::MR.min(rows - i);
        let panel = &mut left[i * kc..][..mr * kc];
        interleave(panel, mr, mr, &from[i * stride..], stride, kc);
    }
}
