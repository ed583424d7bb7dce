//! Types of values: who holds what, over which domain, in which shape.

pub use crate::ring::Dom;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// Index of a value in a circuit; printed `%7`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ValueId(pub u32);

impl ValueId {
    /// As an index into per-value tables.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ValueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// Sizes of the axes, outermost first; row-major. Empty for a scalar.
pub type Shape = Vec<u64>;

/// Who holds what of a value. See the module docs of [`crate::circuit`] for roles and shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Hold {
    /// Every party knows it.
    Public,
    /// Replicated: x = x0 + x1 + x2, P_i holds (x_i, x_{i+1}).
    Rep,
    /// Additive among the three: x = z0 + z1 + z2, P_i holds z_i. What a local product leaves.
    Add3,
    /// Known to one party: in shard r to party r.
    Own,
    /// Known to two parties: in shard r to parties r+1 and r+2.
    Dup,
    /// Additive between two: in shard r the sum of a word of party r+1 and one of party r+2.
    Add2,
}

/// Ring widths there are, in bits.
pub const RING_WIDTHS: [u32; 5] = [8, 16, 32, 64, 128];

/// Type of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Type {
    /// Who holds what.
    pub hold: Hold,
    /// Over which domain.
    pub dom: Dom,
    /// In which shape.
    pub shape: Shape,
}

impl Type {
    /// A type from its parts.
    pub fn new(hold: Hold, dom: Dom, shape: impl Into<Shape>) -> Self {
        Type { hold, dom, shape: shape.into() }
    }

    /// Number of elements. Saturates, so that a hostile shape cannot wrap to a small one.
    pub fn elements(&self) -> u64 {
        elements(&self.shape)
    }

    /// Bits per element: k or w.
    pub fn bits(&self) -> u32 {
        match self.dom {
            Dom::Ring(k) | Dom::Bits(k) => k,
        }
    }
}

/// Number of elements of a shape; saturating.
pub fn elements(shape: &[u64]) -> u64 {
    shape.iter().fold(1u64, |n, &d| n.saturating_mul(d))
}

impl fmt::Display for Type {
    /// `A64[10,3]` and `B5[7]` for replicated values (as in the design's notation), otherwise
    /// with the holder in front: `pub.A64[]`, `own.B64[30]`, `add3.A64[2,2]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.hold {
            Hold::Rep => {}
            Hold::Public => write!(f, "pub.")?,
            Hold::Add3 => write!(f, "add3.")?,
            Hold::Own => write!(f, "own.")?,
            Hold::Dup => write!(f, "dup.")?,
            Hold::Add2 => write!(f, "add2.")?,
        }
        match self.dom {
            Dom::Ring(k) => write!(f, "A{k}")?,
            Dom::Bits(w) => write!(f, "B{w}")?,
        }
        write!(f, "[")?;
        for (i, d) in self.shape.iter().enumerate() {
            if i > 0 {
                write!(f, ",")?;
            }
            write!(f, "{d}")?;
        }
        write!(f, "]")
    }
}

/// The three shards of `n` elements. Boundaries are multiples of 64, so that a shard of a bit plane
/// starts at a word; tiny tensors fall into the first shards only.
pub fn shards(n: usize) -> [Range<usize>; 3] {
    let block = n.div_ceil(3).next_multiple_of(64);
    let cut = |i: usize| (block * i).min(n);
    [0..cut(1), cut(1)..cut(2), cut(2)..n]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_cover_without_overlap() {
        for n in [0, 1, 63, 64, 65, 192, 193, 1000, 100_000] {
            let [a, b, c] = shards(n);
            assert_eq!((a.start, a.end, b.end, c.end), (0, b.start, c.start, n));
            assert!(b.start % 64 == 0 || b.is_empty());
            assert!(c.start % 64 == 0 || c.is_empty());
        }
    }
}
