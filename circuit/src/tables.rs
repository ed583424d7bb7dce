//! How large the tables of comparisons are.

/// Most planes of a block.
pub const MAX_BLOCK: u32 = 8;

/// Planes of the thermometer codes of blocks of 1 to [`MAX_BLOCK`] planes.
pub fn thermometer_planes(blocks: &[u32]) -> u32 {
    blocks.iter().fold(0, |n, &b| n.saturating_add((1 << b) - 1))
}
