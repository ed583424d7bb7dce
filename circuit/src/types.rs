//! Types of values: who holds what, over which domain, in which shape.

use crate::Dom;
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

/// Who holds what of a value. See the module docs of [the crate](crate) for roles and shards.
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
    /// The part a of a split, shared: in shard r party r knows both words of a = y_r + y_{r+1}, party
    /// r+1 knows y_{r+1} and party r+2 knows y_r. With a `Dup` part it makes a `Rep` value.
    Mask,
}

impl Hold {
    pub const ALL: [Hold; 7] =
        [Hold::Public, Hold::Rep, Hold::Add3, Hold::Own, Hold::Dup, Hold::Add2, Hold::Mask];

    /// Name in the text form, where `rep` goes without saying.
    pub fn name(self) -> &'static str {
        match self {
            Hold::Public => "pub",
            Hold::Rep => "rep",
            Hold::Add3 => "add3",
            Hold::Own => "own",
            Hold::Dup => "dup",
            Hold::Add2 => "add2",
            Hold::Mask => "mask",
        }
    }

    /// Whether parties store only the shards in which they play a role.
    pub fn is_sharded(self) -> bool {
        matches!(self, Hold::Own | Hold::Dup | Hold::Add2 | Hold::Mask)
    }
}

/// A whole value, or a part of the split x = a + b of a replicated one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SplitPart {
    /// x.
    Whole,
    /// a, with shards cut between so many groups of rows, as [`Op::OwnOf`](crate::Op::OwnOf).
    Own(u32),
    /// b, as [`Op::DupOf`](crate::Op::DupOf).
    Dup(u32),
}

/// Ring widths there are, in bits.
pub const RING_WIDTHS: [u32; 5] = [8, 16, 32, 64, 128];

/// Type of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Type {
    pub hold: Hold,
    pub dom: Dom,
    #[serde(deserialize_with = "crate::bounded::shape")]
    pub shape: Shape,
    /// Where shards of a value that is [stored in shards](Hold::is_sharded) may be cut: between equal
    /// groups of elements, this many. 0, and for all other values: every 64 elements.
    pub groups: u32,
}

impl Type {
    /// A type from its parts, cut every 64 elements.
    pub fn new(hold: Hold, dom: Dom, shape: impl Into<Shape>) -> Self {
        Type { hold, dom, shape: shape.into(), groups: 0 }
    }

    /// Elements of each tensor that party `me` keeps of a value: of its components, or of the stored part.
    pub fn stored(&self, me: usize) -> Vec<u64> {
        let (n, len) = (self.elements(), |r: usize| self.lanes().len(r % 3) as u64);
        match self.hold {
            Hold::Public | Hold::Add3 => vec![n],
            Hold::Rep => vec![n, n],
            Hold::Own => vec![len(me)],
            Hold::Dup | Hold::Add2 => vec![n - len(me)],
            Hold::Mask => vec![len(me) + len(me + 2), len(me) + len(me + 1)],
        }
    }

    /// Memory of a value at party `me`.
    pub fn bytes(&self, me: usize) -> u64 {
        self.stored(me).into_iter().fold(0, |sum, n| sum.saturating_add(self.dom.bytes(n)))
    }

    /// The same, cut between groups.
    pub fn grouped(self, groups: u32) -> Self {
        Type { groups, ..self }
    }

    /// Where its shards lie.
    pub fn lanes(&self) -> Lanes {
        Lanes { n: self.elements() as usize, groups: self.groups }
    }

    /// The axis that groups are parts of: the first whose size is not 1.
    pub fn lead(&self) -> usize {
        lead(&self.shape)
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
    /// `A64[10,3]` and `B5[7]` for replicated values; otherwise the holder
    /// stands in front: `pub.A64[]`, `own.B64[30]`, `add3.A64[2,2]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.hold != Hold::Rep {
            write!(f, "{}.", self.hold.name())?;
        }
        if self.groups > 0 {
            write!(f, "g{}.", self.groups)?;
        }
        write!(f, "{}[", self.dom)?;
        for (i, d) in self.shape.iter().enumerate() {
            if i > 0 {
                write!(f, ",")?;
            }
            write!(f, "{d}")?;
        }
        write!(f, "]")
    }
}

/// The first axis whose size is not 1; the last one if there is none.
pub fn lead(shape: &[u64]) -> usize {
    shape.iter().position(|&d| d != 1).unwrap_or(shape.len().saturating_sub(1))
}

/// From so many groups on, shards begin at multiples of 64 of them: a percent more or less.
const MANY_GROUPS: u32 = 1 << 14;

/// Where the three shards of a tensor lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// Elements of all shards.
    pub n: usize,
    /// As [`Type::groups`].
    pub groups: u32,
}

impl Lanes {
    /// Elements of each shard. With groups, each shard has a third of them, rounded (of 2^14 groups and
    /// more, to a multiple of 64); without,
    /// boundaries are multiples of 64, so that a shard of a bit plane starts at a word, and tiny
    /// tensors fall into the first shards only.
    pub fn ranges(self) -> [Range<usize>; 3] {
        let Lanes { n, groups } = self;
        let cut = |i: u32| match groups {
            0 => (n.div_ceil(3).next_multiple_of(64) * i as usize).min(n),
            g => self.cut(i) as usize * (n / g as usize),
        };
        [0..cut(1), cut(1)..cut(2), cut(2)..n]
    }

    /// The first group of shard i.
    fn cut(self, i: u32) -> u32 {
        // Below 2^32, since i is at most 3.
        let cut = ((u64::from(self.groups) * u64::from(i) + 1) / 3) as u32;
        // Of many groups 64 are little, and where shards of bits begin at a word nothing is shifted.
        if i < 3 && self.groups >= MANY_GROUPS { cut / 64 * 64 } else { cut }
    }

    /// Groups of one shard; 0 where it is not cut between groups.
    pub fn groups_in(self, shard: usize) -> u32 {
        let shard = shard as u32;
        self.cut(shard + 1) - self.cut(shard)
    }

    /// Elements of one shard.
    pub fn len(self, shard: usize) -> usize {
        self.ranges()[shard].len()
    }

    /// Whether there are no elements at all.
    pub fn is_empty(self) -> bool {
        self.n == 0
    }

    /// The part of a pseudorandom stream that masks a shard: streams are cut at multiples of 64.
    pub fn stream(self, shard: usize) -> Range<usize> {
        let [a, b, _] = self.ranges().map(|r| r.len().next_multiple_of(64));
        let start = [0, a, a + b][shard];
        start..start + self.len(shard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_not_cut() {
        for (n, groups, want) in [
            (70, 10, [0..21, 21..49, 49..70]),
            (12, 3, [0..4, 4..8, 8..12]),
            (5, 1, [0..0, 0..5, 5..5]),
            (1_000_000, 1_000_000, [0..333_312, 333_312..666_624, 666_624..1_000_000]),
            (32_768, 16_384, [0..10_880, 10_880..21_760, 21_760..32_768]),
        ] {
            let lanes = Lanes { n, groups };
            assert_eq!(lanes.ranges(), want);
            let counts = [0, 1, 2].map(|r| lanes.groups_in(r) as usize * n / groups as usize);
            assert_eq!(counts, want.map(|w| w.len()));
            let streams = [0, 1, 2].map(|r| lanes.stream(r));
            assert!(streams.iter().all(|s| s.start % 64 == 0));
            assert!(streams[0].end <= streams[1].start && streams[1].end <= streams[2].start);
        }
    }

    #[test]
    fn shards_cover_without_overlap() {
        for n in [0, 1, 63, 64, 65, 192, 193, 1000, 100_000] {
            let lanes = Lanes { n, groups: 0 };
            let [a, b, c] = lanes.ranges();
            assert_eq!((a.start, a.end, b.end, c.end), (0, b.start, c.start, n));
            assert!(b.start % 64 == 0 || b.is_empty());
            assert!(c.start % 64 == 0 || c.is_empty());
            for (r, range) in lanes.ranges().into_iter().enumerate() {
                assert!(range.is_empty() || lanes.stream(r) == range, "streams are as the shards");
            }
        }
    }
}
