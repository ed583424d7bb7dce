//! What the elements of a tensor are, and how much room they take in a message.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What the elements of a tensor are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Dom {
    /// Words of Z_2^k, k in 8, 16, 32, 64, 128. Sharing is additive.
    Ring(u32),
    /// w bits per element, 1 <= w <= 128, bit-sliced: plane j holds bit j of every element.
    /// Sharing is by xor.
    Bits(u32),
}

impl Dom {
    /// Bits per element: k or w.
    pub fn bits(self) -> u32 {
        match self {
            Dom::Ring(k) | Dom::Bits(k) => k,
        }
    }

    /// Whether the elements are bits.
    pub fn is_bits(self) -> bool {
        matches!(self, Dom::Bits(_))
    }

    /// Memory of n elements: words, or planes of whole 64-bit words.
    pub fn bytes(self, n: u64) -> u64 {
        match self {
            Dom::Ring(k) => n.saturating_mul(u64::from(k / 8)),
            Dom::Bits(w) => n.div_ceil(64).saturating_mul(8 * u64::from(w)),
        }
    }
}

impl fmt::Display for Dom {
    /// `A64` for words of 64 bits, `B5` for five bits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dom::Ring(k) => write!(f, "A{k}"),
            Dom::Bits(w) => write!(f, "B{w}"),
        }
    }
}

/// 2^k - 1, k <= 128.
#[inline]
pub fn low_mask(k: u32) -> u128 {
    if k >= 128 { u128::MAX } else { (1 << k) - 1 }
}

/// Bytes that n elements take in a message: n k / 8 for words, ceil(w n / 8) for bits.
pub fn wire_len(dom: Dom, n: usize) -> usize {
    match dom {
        Dom::Ring(k) => n * (k as usize / 8),
        Dom::Bits(w) => (n * w as usize).div_ceil(8),
    }
}
