//! The operations as data. Semantics are those of real numbers until `scales` has run; then every `Fix` and
//! `Int` is an element of Z_2^64 that stands for raw / 2^frac, and operations act on raw values.
//!
//! "Aligned" operands have the same rank, and each axis has the same size or size 1 in one of them.

use slvr_language::noise::Noise;
use slvr_language::types::function::Function;
use slvr_language::types::{Conv, Elem, Lots, PairTable};
use std::sync::Arc;

/// A constant tensor, or one number repeated.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub shape: Vec<u64>,
    /// One entry, or as many as the shape has, row-major. Copies of a graph share it: every pass makes one.
    pub data: Arc<[f64]>,
}

impl Table {
    /// One number under a shape.
    pub fn splat(value: f64, shape: Vec<u64>) -> Table {
        Table { shape, data: Arc::new([value]) }
    }

    pub fn at(&self, i: usize) -> f64 {
        if self.data.len() == 1 { self.data[0] } else { self.data[i] }
    }

    pub fn len(&self) -> usize {
        self.shape.iter().product::<u64>() as usize
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The one number, if all entries are equal.
    pub fn as_splat(&self) -> Option<f64> {
        let first = *self.data.first()?;
        self.data.iter().all(|&x| x == first).then_some(first)
    }
}

/// The top of a cut at 1, which is of what is at most 1 in real numbers: it takes away nothing but errors. What is cut
/// to fit a ring is cut at more ([`crate::passes::saturation::TOPS`]).
pub const AT_ONE: u32 = 0;

/// An operation. Operands are edges of the graph; their number and order is in each comment.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// (): input number i.
    Input(u32),
    /// (): a constant of an element type, with its scale once scales are known.
    Const(Table, Elem, Option<u32>),
    /// (): public coins: rows of k distinct numbers, uniformly; int `[rows, k]`.
    Draw(Lots),
    /// (): a table of the pairs of n members, by its rule.
    Pairs {
        table: PairTable,
        /// Members.
        n: u64,
    },

    /// (index): of a public index int `[.., k]`, for each number below n the last of its places, k where it has none:
    /// int `[.., n]`.
    Places(u64),
    /// (): noise that nobody knows, each entry by itself, on its grid.
    Noise {
        noise: Noise,
        /// Tells it from others of the same distribution.
        number: u32,
        shape: Vec<u64>,
    },

    /// (a, b): a + b, aligned.
    Add,
    /// (a, b): a - b, aligned.
    Sub,
    /// (a, b): a * b, aligned.
    Mul,
    /// (a, b): a / b, aligned.
    Div,
    /// (a): -a.
    Neg,
    /// (a): c * a.
    Scale(f64),
    /// (a, b): 1 where a < b, aligned.
    Lt,
    /// (a, b): 1 where a = b, aligned.
    Eq,
    /// (a): complement of bits.
    Not,
    /// (a, b): and of bits, aligned.
    And,
    /// (a, b): exclusive or of bits, aligned.
    Xor,
    /// (a): bits as integers.
    ToInt,
    /// (c, a, b): a where the bit c is 1, else b, aligned.
    Select,
    /// (a): max(a, 0).
    Relu,
    /// (v, s): v where s >= 0, else 0; equal shapes. What `relu(trunc(x))` becomes, with v =
    /// trunc(x) and s = x: the sign is taken beside the truncation.
    Gate,
    /// (a): a where |a| <= 2^top, else the nearer of -2^top and 2^top: where a range could not be
    /// proven otherwise. In floating point a is as it is. See also [`AT_ONE`].
    Saturate(u32),
    /// (a): an elementary function of a.
    Function(Function),
    /// (a): absolute value.
    Abs,

    /// (a): sum over the axes (ascending), which disappear.
    Sum(Vec<u64>),
    /// (a): largest along an axis, which disappears.
    Max(u64),
    /// (a): smallest along an axis, which disappears.
    Min(u64),
    /// (a): index of the largest along the last axis, which disappears; of equal ones the first.
    ArgMax,
    /// (a): the last axis in ascending order.
    Sort,
    /// (a): sum of the entries lo .. hi of the last axis in ascending order; the axis disappears.
    SortSum {
        lo: u64,
        /// One past the last.
        hi: u64,
    },
    /// (label): one-hot vector of an integer in 0 .. classes, as integers along a new last axis.
    OneHot(u64),
    /// (z, onehot): 1 where the first largest entry of z along the last axis is the label; equal
    /// shapes, the last axis disappears. What `argmax(z) == label` becomes.
    ArgMaxIs,

    /// (a, b): `[B, M, K] * [B, K, N] -> [B, M, N]`, or with `trans_b` b is `[B, N, K]`; a batch
    /// axis of size 1 is repeated.
    MatMul {
        /// Whether b's last two axes are exchanged.
        trans_b: bool,
    },
    /// (x, w): images and kernels, of the shapes that [`Conv::shape`] takes.
    Conv2d(Conv),
    /// (x): maximum over k x k windows of the last two axes.
    MaxPool { k: u64, stride: u64 },

    /// (a): same elements, other shape.
    Reshape(Vec<u64>),
    /// (a): result axis i is operand axis `perm[i]`.
    Transpose(Vec<u64>),
    /// (a): indices start, start + step, ... along an axis.
    Slice { axis: u64, start: u64, len: u64, step: u64 },
    /// (a, ...): one after another along an axis.
    Concat(u64),
    /// (a): axes of size 1 repeated.
    Broadcast(Vec<u64>),
    /// (x, index): x `[B.., P.., n, R..]`, index `[B.., K..]` -> `[B.., P.., K.., R..]`; n is axis
    /// `axis`, B are the first `batch` axes.
    Gather {
        /// Indexed axis of x.
        axis: u64,
        /// Shared leading axes.
        batch: u64,
    },

    /// (a): the same value with `by` fewer fraction bits, rounded: within one unit in the last
    /// place. Secret operands take the exact truncation protocol.
    Trunc(u32),
    /// (a): the same value with `by` more fraction bits (raw shifted left).
    Shift(u32),
    /// (a): 2^-by times the value, by raising the fraction bits; raw unchanged.
    DivPow2(u32),
    /// (a): 2^by times the value, by lowering the fraction bits; raw unchanged.
    MulPow2(u32),
}
