//! The instruction set. Few instructions, each with one meaning; everything else (comparison,
//! truncation, bit injection, ...) is a macro that the compiler expands, so that its scheduler sees
//! through it. A product and its reshare are two instructions: what is added to products is added before the reshare, a
//! product that is only revealed takes none, and each message has the form that proofs are about.
//!
//! Types are written as in [`Type`](super::Type)'s text. `+` on bits is xor, `*` on bits is and.
//! "Aligned" operands have the same rank, and each axis has the same size or size 1 in one of them
//! (which is repeated, never materialised).

use crate::conv::Conv;
use crate::multi_and::MultiAnd;
use crate::pairs::PairTable;
use crate::{Dom, Shape, SplitPart, ValueId};
use serde::{Deserialize, Serialize};

/// An instruction: one operation, one result.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Instr {
    /// The value it defines. [`Op::OpenTo`], [`Op::Keep`], [`Op::Prove`] and [`Op::BeginProof`] define none.
    pub out: Option<ValueId>,
    pub op: Op,
    /// Index into [`super::Circuit::sites`].
    pub site: u32,
}

/// Operations. Those with a row in the table of interactions ([`crate::interaction`]) take a round each; all others are
/// local.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Op {
    // ---- local, any domain -----------------------------------------------------------------
    /// a + b, aligned (xor on bits). Same holder; or one `Public` (not with `Mask`); or `Add3 + Rep`,
    /// `Add2 + Dup`. On values stored in shards the shapes must be equal, or the other operand a public
    /// scalar; cut between groups, axes other than the leading one may be repeated too.
    Add(ValueId, ValueId),
    /// a - b; as [`Op::Add`], rings only. `Rep - Add3` and `Dup - Add2` too.
    Sub(ValueId, ValueId),
    /// a * b, aligned (and on bits), local: `Rep * Rep -> Add3`, `Add2 * Dup -> Add2`,
    /// `Own * Own -> Own`, `Dup * Dup -> Dup`, `Public * h -> h`. Shapes as for `Add`. On bits, an
    /// operand of one plane is repeated over the planes of the other.
    Mul(ValueId, ValueId),

    // ---- local, rings ----------------------------------------------------------------------
    /// -a.
    Neg(ValueId),
    /// c * a for a constant c mod 2^k.
    Scale(ValueId, u128),
    /// a + c for a constant c mod 2^k, on every element; not of a mask.
    Offset(ValueId, u128),
    /// `[B, M, K] * [B, K, N] -> [B, M, N]` (with `trans_b`: `[B, N, K]`), the sums over K; a batch
    /// axis B of size 1 is repeated. `Rep * Rep -> Add3`, `Public * Public -> Public`, one `Public` and
    /// the other held in any way but `Add3`. Of values stored in shards, cut between groups, also the
    /// other products of [`Op::Mul`]: batch by batch, or a public B of 1 with batches or rows of A.
    MatMul {
        a: ValueId,
        b: ValueId,
        /// Whether b is given with its last two axes exchanged.
        trans_b: bool,
    },
    /// Cross-correlation as in PyTorch: x `[G, N, C, H, W]`, w `[G, O, C / groups, kh, kw]` ->
    /// `[G, N, O, (H + 2 pad - dilation (kh - 1) - 1) / stride + 1, ..]`, the last axis likewise of W and
    /// kw. G of w or of x may be 1 (repeated). Dilation and groups are left out where they are 1. Holders
    /// as for `MatMul`.
    Conv2d {
        /// Images.
        x: ValueId,
        /// Kernels.
        w: ValueId,
        conv: Conv,
    },
    /// Sum over the listed axes (ascending), which disappear. Holders as for layouts.
    Sum {
        x: ValueId,
        #[serde(deserialize_with = "crate::bounded::shape")]
        axes: Vec<u64>,
    },
    /// The low k' bits of each word as a word of Z_2^k', k' <= k. Exact on shares.
    Narrow(ValueId, u32),
    /// 2^(k' - k) x as a word of Z_2^k', k' >= k. Linear, exact on shares, any holder: what is known
    /// of x modulo 2^k is known of the product modulo 2^k'.
    Raise(ValueId, u32),
    /// Zero extension to k' >= k bits. `Own`, `Dup`, `Public` only: it is not linear.
    Extend(ValueId, u32),
    /// Logical shift right. `Own`, `Dup`, `Public` only.
    Shr(ValueId, u32),
    /// Bits lo .. lo + w of each word, as bits. `Own`, `Dup`, `Public` only.
    ToBits {
        /// Operand, over a ring.
        x: ValueId,
        /// First bit.
        lo: u32,
        /// Number of bits.
        w: u32,
    },
    /// The w bits of each element as a word of Z_2^k, k >= w. `Own`, `Dup`, `Public` only.
    FromBits(ValueId, u32),

    // ---- local, bits -----------------------------------------------------------------------
    /// Complement of every bit, of at most 128 planes.
    Not(ValueId),
    /// Planes start, start + step, ... (count of them) of x.
    Planes {
        /// Operand, over bits.
        x: ValueId,
        /// First plane.
        start: u32,
        step: u32,
        count: u32,
    },
    /// Some planes, in this order, at least one.
    SelectPlanes(ValueId, #[serde(deserialize_with = "crate::bounded::planes")] Vec<u32>),
    /// The planes of all operands one after another, first operand lowest. Same holder and shape.
    Stack(#[serde(deserialize_with = "crate::bounded::planes")] Vec<ValueId>),

    // ---- local, layout: `Rep`, `Add3`, `Public`; `Reshape` on every holder. Of values cut between
    // groups also the others, if the leading axis stays the leading one and whole. --------------
    /// Same elements in the same order under another shape.
    Reshape(ValueId, #[serde(deserialize_with = "crate::bounded::shape")] Shape),
    /// Axes in another order: result axis i is operand axis `perm[i]`.
    Transpose(ValueId, #[serde(deserialize_with = "crate::bounded::shape")] Vec<u64>),
    /// Every `step`-th of the indices start, start + step, ... (len of them) along one axis.
    Slice {
        x: ValueId,
        axis: u64,
        start: u64,
        len: u64,
        /// Distance, at least 1.
        step: u64,
    },
    /// Operands one after another along one axis.
    Concat {
        /// Operands, at least one; all other axes are equal.
        #[serde(deserialize_with = "crate::bounded::values")]
        xs: Vec<ValueId>,
        axis: u64,
    },
    /// Axes of size 1 repeated to the given shape (same rank).
    Broadcast(ValueId, #[serde(deserialize_with = "crate::bounded::shape")] Shape),
    /// x `[B.., P.., n, R..]`, index `[B.., K..]` (public words) -> `[B.., P.., K.., R..]`:
    /// `out[b, p, k, r] = x[b, p, index[b, k], r]`. The first `batch` axes B are shared; n is axis
    /// `axis` of x. An index must be below n.
    Gather {
        x: ValueId,
        /// `Public`, over a ring.
        index: ValueId,
        /// Axis of x that is indexed, at least `batch`.
        axis: u64,
        /// Number of leading axes shared by x and index.
        batch: u64,
    },

    // ---- local, between holders ------------------------------------------------------------
    /// The part a of the split x = a + b: `Rep -> Own`, `Mask -> Own`; of a sum of three words the one of party r: `Add3 -> Own`.
    Own(ValueId),
    /// The part b of the split x = a + b: `Rep -> Dup`.
    Dup(ValueId),
    /// x as a sum of two words of the parties that hold b: `Rep -> Add2`, `Dup -> Add2`; of the part a its
    /// words: `Mask -> Add2`; of a sum of three words those of these two: `Add3 -> Add2`.
    AsAdd2(ValueId),
    /// x as a sum of three words: `Rep -> Add3`, `Own -> Add3`, `Add2 -> Add3`.
    AsAdd3(ValueId),
    /// A value that two parties or all know, as a replicated one, without communication:
    /// `Dup -> Rep` (it is the share of those two), `Public -> Rep` (it is x0).
    Trivial(ValueId),
    /// The part a of the split, shared, with shards cut between groups: `Rep -> Mask`.
    /// [`Op::Own`] and [`Op::AsAdd2`] apply to it.
    MaskOf(ValueId, u32),
    /// The part a of the split, with shards cut between groups: `Rep -> Own`; of a sum of three words the one of party r:
    /// `Add3 -> Own`.
    OwnOf(ValueId, u32),
    /// The part b of the split, with shards cut between groups: `Rep -> Dup`.
    DupOf(ValueId, u32),
    /// a + b: `Mask, Dup -> Rep`.
    Join {
        /// The part a.
        mask: ValueId,
        /// The part b.
        dup: ValueId,
    },
    /// A fresh uniform value, from pairwise randomness: `-> Mask`. Local: party r derives both words,
    /// each of the others one.
    Mask {
        /// Tells one mask from another; nothing else depends on it.
        tag: u32,
        dom: Dom,
        #[serde(deserialize_with = "crate::bounded::shape")]
        shape: Shape,
        /// As [`super::Type::groups`].
        groups: u32,
    },

    // ---- local, bits of comparisons -----------------------------------------------------------
    /// Each block of consecutive planes, as a number n of b bits, becomes 2^b - 1 planes: `[n >= v]` for
    /// v = 1, 2, ... `Own`, `Dup`, `Public`.
    Thermometer {
        /// Operand, over bits.
        x: ValueId,
        /// Planes of each block, 1 to 8, lowest first; all planes.
        #[serde(deserialize_with = "crate::bounded::planes")]
        blocks: Vec<u32>,
    },
    /// Whether the sum of two numbers generates and propagates a carry in each block of bits: `Add2 table`
    /// from [`Op::Thermometer`] of one number, `Dup index` bits of the other. With n and i the two numbers of a block of b bits, the result
    /// is `Add2`: first `[n + i >= 2^b]` of every block (it generates a carry), then `[n + i = 2^b - 1]`
    /// of every block but the first (it propagates one).
    Pick {
        /// 2^b - 1 planes for each block.
        table: ValueId,
        /// The other number.
        index: ValueId,
        /// Planes of each block of the index, as in the table.
        #[serde(deserialize_with = "crate::bounded::planes")]
        blocks: Vec<u32>,
    },
    /// Whether each block propagates a carry, as [`Op::Pick`] says it, but of the first block too: `Add2
    /// table`, `Dup index` -> `Add2`. The table may have more planes than those of these blocks.
    Propagate {
        /// `skip` planes, and 2^b - 1 planes for each block.
        table: ValueId,
        /// The other number.
        index: ValueId,
        /// Planes of each block of the index, as in the table.
        #[serde(deserialize_with = "crate::bounded::planes")]
        blocks: Vec<u32>,
        /// Planes of the table before the first of these blocks.
        skip: u32,
    },
    /// The products of masks that an [`Op::AndMany`] needs: `Own` bits -> `Own` bits, in the order of
    /// [`MultiAnd`].
    MaskProducts {
        /// The masks, over bits.
        x: ValueId,
        gates: MultiAnd,
    },
    /// Products of many bits at once: `Dup open, Add2 mask, Add2 products` -> `Add2`. Each factor is m xor l,
    /// with m known to two parties (`open`) and l shared (`mask`); `products` are the products of the l. Where
    /// [`MultiAnd::is_linear_in_some`], there are also `Add2 nodes`, of which some are only added.
    /// This is the AND of many inputs of ABY2.0 (Patra et al., USENIX Security 2021, section 5).
    AndMany {
        /// m.
        open: ValueId,
        /// l.
        mask: ValueId,
        /// [`Op::MaskProducts`] of the l.
        products: ValueId,
        /// All nodes, of which the factors are opened.
        nodes: Option<ValueId>,
        gates: MultiAnd,
    },
    /// A lookup table for each element, rotated by x: `Own` x and a `Public` table of 2^n entries, n 1 to 12, one for
    /// all elements. x is a number of n bits, words (modulo 2^n) or n planes. Entry v of the result is the
    /// table's entry at x + v modulo 2^n, for planes at x xor v. Of words `A<k>[2^n]` the result is `Own`
    /// `A<k>[.., 2^n]`, cut between groups; of bits `B1[2^n]` it has 2^n planes, plane v for entry v.
    Table {
        /// The part of the argument that the owner knows.
        x: ValueId,
        /// The function, `Public`.
        table: ValueId,
    },
    /// The entry of each element's table at its index: `Add2 table` from [`Op::Table`], `Dup index` words
    /// (modulo 2^n) or n planes -> `Add2` words without the table's axis, or one plane. So with `index` the
    /// other part of the argument, it is the function of the sum; a `deal` of the table is all it takes.
    Entry {
        /// 2^n words in the last axis, or 2^n planes.
        table: ValueId,
        index: ValueId,
    },
    /// The last axis becomes planes: bits `[.., c]` with w planes -> `[.., 1]` with w c planes, plane w
    /// j + i from plane i at index j.
    ToPlanes(ValueId),

    // ---- local, public ---------------------------------------------------------------------
    /// From public coins (`Public A128[]`), for each of n members k distinct others, uniformly:
    /// `Public A32[n, k]`.
    Committee {
        coin: ValueId,
        /// Members of the set.
        n: u64,
        /// Drawn for each, at most n - 1.
        k: u64,
    },
    /// Which members' inputs are admitted, as far as that is known: `Public B1[members]`. All ones until
    /// the bits of the check are opened; if they are not all ones the parties go back and repeat with the
    /// bits ([`super::speculation`]).
    Admitted {
        /// Index into [`super::Circuit::checks`].
        check: u32,
        /// Members of the check's party set.
        members: u64,
    },

    // ---- local, by public coins ------------------------------------------------------------
    /// Random inner products: x `[m, d]` over a ring, any but `Add3` -> `[m, tests]`, held alike:
    /// `out[i, t] = sum_j chi[t, j] * x[i, j]` with lazy signs chi, which are -1, 0, 1 with
    /// probabilities 1/4, 1/2, 1/4, drawn from public coins (`Public A128[]`), the same for every i
    /// (the runtime's `protocol::signs` says how). Linear in x. Of a `Rep` x it also gives one part of the split of
    /// the result, without that of x in memory.
    Project {
        x: ValueId,
        /// The coins. They must be drawn after x is fixed.
        coin: ValueId,
        /// Inner products of each row, 1 to 1024.
        tests: u64,
        /// Which part of x is projected.
        part: SplitPart,
    },

    // ---- interactive -----------------------------------------------------------------------
    /// `Add3 -> Rep`. P_i adds a share of zero and sends its word to P_{i-1}: k bits per element
    /// each. Together with a local product this is the multiplication of Araki et al. (2016).
    Reshare(ValueId),
    /// `Own -> Rep`: k bits per element by the owner.
    Input(ValueId),
    /// `Own -> Add2`: the owner sends x - rho to one of the other two, who share rho with it or
    /// know the rest: k bits per element by the owner.
    Deal(ValueId),
    /// `Add2 -> Rep`: the two exchange masked words: k bits per element each.
    ReshareTwo(ValueId),
    /// `Rep -> Public`: k bits per element each. Reveals to all parties; the verifier admits it and
    /// [`Op::OpenSum`] only where they define a check.
    Open(ValueId),
    /// `Add3 -> Public`. Each party sends its word, masked by a share of zero, to both others: k bits per
    /// element to each. Reveals to all parties, as [`Op::Open`], one round earlier: for few bits.
    OpenSum(ValueId),
    /// `Add3 ->` the receiver of output number `output`: each party sends its word, masked by a
    /// share of zero: k bits per element each.
    OpenTo {
        x: ValueId,
        /// Index into [`super::Circuit::outputs`].
        output: u32,
    },
    /// `Own -> Mask`: the owner sends x - rho to party r+2; rho is known to party r+1: k bits per element
    /// by the owner. As [`Op::Deal`], and the owner keeps both words.
    DealMask(ValueId),
    /// `Add2, Mask -> Dup`: the two holders of x exchange their words less their words of the mask, and
    /// both learn x - a: k bits per element each. A mask is used once, by one such instruction,
    /// and x does not depend on it.
    OpenMasked {
        x: ValueId,
        /// A result of [`Op::Mask`].
        mask: ValueId,
    },
    /// Public coins, `Public A128[]`: an open of pseudorandom shares, 16 bytes each.
    Coin,

    // New operations stand last: an artifact names an operation by its place here.
    // ---- local, public ---------------------------------------------------------------------
    /// A table of the pairs of n members, 2 to 2^16, by its rule: `Public` words. The rules are those of
    /// [`PairTable`]; -1 is the largest word.
    Pairs {
        table: PairTable,
        /// Members.
        n: u64,
        dom: Dom,
    },
    // ---- local, any domain -----------------------------------------------------------------
    /// A fresh uniform value that nobody knows, from pairwise randomness: `-> Rep`. Local: P_i derives x_i with
    /// P_{i-1} and x_{i+1} with P_{i+1}. Any three words are shares of some value, so a party that derives another
    /// word than its neighbour is one whose shares do not fit, as anywhere else.
    Random {
        /// Tells one from another; nothing else depends on it.
        tag: u32,
        dom: Dom,
        #[serde(deserialize_with = "crate::bounded::shape")]
        shape: Shape,
    },
    // ---- local, bits -----------------------------------------------------------------------
    /// Exclusive ors of planes. Each plane of the result has a row of ceil(w / 32) words for the w planes of x; bit i
    /// of a row, counted from the lowest bit of its first word, says whether plane i is in it. Linear, so any holder.
    Xors {
        /// Operand, over bits.
        x: ValueId,
        /// The rows, one after another.
        #[serde(deserialize_with = "crate::bounded::planes")]
        rows: Vec<u32>,
    },
    /// From public coins (`Public A128[]`), rows of k distinct numbers below n, each uniformly and independently:
    /// `Public A32[rows, k]`.
    Draw {
        coin: ValueId,
        /// How often.
        rows: u64,
        /// Below which number.
        n: u64,
        /// How many at a time, at most n.
        k: u64,
    },
    /// Where a public index has each number below n: `Public` words `[.., k]` -> `Public` words `[.., n]`, of each
    /// number the last of its places, and k where it has none.
    Places {
        index: ValueId,
        /// Numbers from this one on are nowhere.
        n: u64,
    },
    // ---- local, without a result ---------------------------------------------------------------
    /// The parties keep a `Rep` value as the state that an input declares: it is the value of that input in the next
    /// round. Defines no value, and reveals nothing.
    Keep {
        /// What is kept.
        x: ValueId,
        /// Index into [`super::Circuit::inputs`].
        input: u32,
    },
    /// Against a malicious party: before the exchange of this layer the parties prove all that they have sent since the
    /// last proof, as they do before an opening, but for what is about values that are made later, so that what is kept
    /// for it can be forgotten. Reads and defines no value.
    Prove,
    // ---- local, between holders ------------------------------------------------------------
    /// As [`Op::AsAdd2`], with shards cut between groups: `Rep -> Add2`, `Add3 -> Add2`.
    AsAdd2Of(ValueId, u32),
    // ---- local, of inputs ----------------------------------------------------------------------
    /// What the members start, start + 1, ... (len of them) of its party set gave for a secret input: `Rep` `[m, ..] ->
    /// [len, ..]`. The input is read by loads alone, and is not held: a party makes each part of what it got of these
    /// members. A part may be loaded again.
    Load {
        /// The value of the input.
        x: ValueId,
        start: u64,
        len: u64,
    },
    // ---- local, of proofs ----------------------------------------------------------------------
    /// As [`Op::Prove`], but nobody waits for the proof: it begins in this layer and takes a round of each layer with an
    /// exchange from then on. Its last rounds are beside those of the next proof that is waited for, before which it
    /// ends. Where none comes, it is waited for itself.
    BeginProof,
}
