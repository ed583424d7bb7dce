//! The limits of invariant 1 and of the parameters of operations.

/// Largest number of elements of a value.
pub const MAX_ELEMENTS: u64 = 1 << 34;
/// Largest number of planes of a value over bits.
pub const MAX_PLANES: u32 = 4096;
/// Largest number of axes of a value.
pub const MAX_RANK: usize = 12;
/// Largest number of values, instructions, and sites.
pub const MAX_VALUES: usize = 1 << 22;
/// Largest number of layers.
pub const MAX_LAYERS: usize = 1 << 18;
/// Largest number of inputs, outputs, party sets, sizes, and fields of all records together.
pub const MAX_DECLARATIONS: usize = 1 << 16;
/// Largest number of members of a party set.
pub const MAX_MEMBERS: u64 = 1 << 20;
/// Most entries of a lookup table: as many as planes.
pub const MAX_TABLE: u64 = 1 << 12;
/// Largest set that committees are drawn from: drawing takes time quadratic in it.
pub const MAX_COMMITTEE: u64 = 1 << 15;
/// Largest number below which is drawn: drawing takes as many words of memory.
pub const MAX_DRAWN: u64 = 1 << 26;
/// Largest number of random inner products of a row.
pub const MAX_TESTS: u64 = 1024;
/// Largest number of words of all constants together.
pub const MAX_CONSTS: usize = 1 << 25;
