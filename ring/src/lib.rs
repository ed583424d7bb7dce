//! Words, bit planes and tensors: the arithmetic that every other room stands on.
//!
//! Lives here: [`Word`] (Z_2^k), [`Words`] (a vector of words of one width), [`Planes`] (bit-sliced
//! bits), [`Data`] (either), their packing on the wire, layout operations, kernels (matrix product,
//! convolution, 64 x 64 bit transpose), fixed-point encoding. May not: shares, parties, randomness,
//! I/O. Everything here is a pure function of public shapes and plain words; a share is a plain
//! word to this room, which is why no `Debug` output of it shows an element.
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
pub mod kernels;
pub mod layout;
pub mod lookup;
mod plane_writer;
mod planes;
mod simd;
pub mod threads;
mod wire;
mod word;

pub use data::Data;
pub use planes::Planes;
pub use word::{Word, Words};

/// Number of elements from which an operation is worth spreading over threads.
pub(crate) const PARALLEL: usize = 1 << 16;
const _: () = assert!(PARALLEL.is_multiple_of(256), "a quarter of it is whole words of a plane");
