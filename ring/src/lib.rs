//! Words, bit planes and tensors: the arithmetic of SLVR's runtime.
//!
//! Everything here is a pure function of public shapes and plain words. A share is a plain word to this
//! crate, which is why no `Debug` output of it shows an element. May not live here: shares, parties,
//! randomness, I/O.
//!
//! # Map
//!
//! | module | holds |
//! |---|---|
//! | `word` | [`Word`], an element of Z_2^k, and [`Words`], a vector of words of one width |
//! | `planes`, `plane_writer`, `bits` | [`Planes`], bit-sliced bits, and how they are written and copied |
//! | `data`, `elementwise`, `wire` | [`Data`], words or bits; arithmetic of each element; the packing of messages |
//! | [`layout`] | transposition, slices, gathers, sums over axes, arithmetic on aligned shapes |
//! | [`kernels`] | matrix products, convolutions, random inner products |
//! | `grid`, `xors` | polynomials of degree 1 on blocks; matrices of bits times planes |
//! | [`carry`], [`lookup`] | the local parts of comparisons and of lookup tables |
//! | [`gf64`], [`galois`] | a field of 2^64 elements, and Galois rings over Z_2^64 and Z_2^128 with vectors of their elements |
//! | [`prime`] | fields of a prime that is drawn at random, with vectors |
//! | [`threads`] | work on several threads |
//! | [`machine`] | what a machine can do at best, for benches |
//! | `simd` | the innermost loops, for each instruction set |
//!
//! # Features
//!
//! `avx2` and `avx512` (both on) compile the kernels for these instruction sets of x86-64. Which of them a
//! machine can run is found out when the program runs; the portable code is always there.
//!
//! # Secrets and time
//!
//! No branch depends on a word of a share, and neither does an address, with one exception: the lookups
//! ([`lookup::table`], [`lookup::entry`]) index memory by the part of a split that the party
//! itself knows. A party could not hide this part from itself, but a process that shares its caches could
//! learn of it. Nothing in this crate is claimed to take constant time.
//!
//! # Panics
//!
//! Operations on two tensors require equal domains and lengths, and shapes that match the number of
//! elements. The circuit verifier establishes both for every instruction, so a mismatch here is a
//! programming error and panics. What comes from a file or a peer enters through
//! [`Data::from_wire`], which returns `None` instead, and [`layout::gather`], whose index may be
//! data.
//!
//! # Code for every width
//!
//! Write it once, generic over [`Word`], and dispatch with the crate's macros: `each_word!` (the
//! vector inside a [`Words`]), `zip_words!` (two of equal width) and `with_width!` (a type from a
//! number of bits).

mod bits;
pub mod carry;
mod data;
mod elementwise;
pub mod galois;
pub mod gf64;
mod grid;
pub mod kernels;
pub mod layout;
pub mod lookup;
pub mod machine;
mod plane_writer;
mod planes;
pub mod prime;
mod simd;
#[cfg(test)]
mod testing;
pub mod threads;
mod wire;
mod word;
mod xors;

pub use data::Data;
pub use planes::Planes;
pub use word::{Run, Word, Words};

/// A vector in so many blocks of one length.
///
/// # Panics
///
/// If its length is no multiple of their number.
pub fn cut<T>(x: &[T], blocks: usize) -> Vec<&[T]> {
    let n = x.len() / blocks;
    assert_eq!(n * blocks, x.len(), "blocks of one length");
    (0..blocks).map(|b| &x[b * n..(b + 1) * n]).collect()
}

/// The same of words.
///
/// # Panics
///
/// As [`cut`].
pub fn cut_runs(x: &[u64], blocks: usize) -> Vec<Run<'_>> {
    cut(x, blocks).into_iter().map(Run::W64).collect()
}

/// Number of elements from which an operation is worth spreading over threads.
pub(crate) const PARALLEL: usize = 1 << 16;
const _: () = assert!(PARALLEL.is_multiple_of(256), "a quarter of it is whole words of a plane");
