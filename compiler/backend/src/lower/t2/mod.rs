//! Family T2, dealer-style: in each shard one party knows the part a of every value before the other two
//! know the part b, deals what they need of it ahead, and never receives.
//!
//! A value is a [`Split`] x = a + b: a known to the dealer (`Own`), b to the other two (`Dup`). What a local
//! step leaves is a [`Pair`]: a part of the dealer plus words of the other two (`Add2`); [`settle`] makes a
//! split of it, by one exchange between these two. All that the dealer sends depends on masks only, so the
//! scheduler puts it one layer before its use, and the rounds are those of the other two parties. Masks are values of
//! the circuit, so no party runs ahead in a thread of its own, and no preprocessing is stored.
//!
//! Files have the names of their counterparts in [`super::t1`]: `nodes` lowers nodes,
//! [`functions`] is the table of functions of one number. This family alone has [`product`], [`pieces`]
//! (smooth functions by polynomials on pieces of an interval), [`position`] (the top bit of a value), `carry` and
//! `carry_trees`.
//!
//! With k-bit words, over all three parties:
//!
//! | macro | rounds of the two | bits of the dealer | bits of each other |
//! |---|---|---|---|
//! | [`settle`] | 1 | 0 | k |
//! | [`product::product`], sums of products | 0 | k for each operand whose part a is not shared yet | 0 |
//! | [`truncation::truncate`] to k' bits, k' <= k - f | 0 | 0 | 0 |
//! | [`truncation::truncate`], else | 1 | k'' (f bits rounded up to a ring) | k'' |
//! | [`comparison::negative`], w bits | levels | bits of the dealer of [`comparison::fastest`] | its bits of each other |
//! | [`saturation::locate`], w bits | levels + 2 | those of the nodes of [`saturation::Plan`] and of the last level | the same, 2 |
//! | [`selection::inject`] | 0 | 2 k | 0 |
//! | [`selection::to_word`] | 0 | k | 0 |
//! | [`lookup`] of n bits, as a word | 0 | k 2^n | 0 |
//! | [`gates::all_planes`] of w bits | levels - 1 | 2^s - s - 1 and s for each group of s | 1 for each group |
//! | [`position::top_bit`], of functions of operands of any size | levels of both prefixes and 1 | those of the radix that takes least time | the same |
//!
//! A [`Pair`] of a result that is read further costs a [`settle`] on top.
//!
//! **Functionality.** Each macro computes exactly what its counterpart in [`super::t1`] does, on any sharing; functions of
//! reals are within the same stated errors.
//!
//! [`Split`]: super::common::masked::Split
//! [`Pair`]: super::common::masked::Pair
//! [`settle`]: super::common::masked::settle
//! [`lookup`]: super::common::lookup::lookup
//!
//! **Source.** The dealer's role: ASTRA (CCSW 2019), Trio. Thermometer tables and the truncation by parts:
//! derived for this project (docs/src/protocols.md), as are tables times an opened bit ([`carry_trees`]). Products of many
//! bits: ABY2.0 (USENIX Security 2021).
//!
//! **Simulation.** Parties exchange `deal`, `deal_mask` and `open_masked` messages only, each uniform to its
//! receiver given all it holds: a dealt word is masked by a pseudorandom word that the receiver does not
//! hold, and every exchange has a fresh mask of which each of the two holds one word. The dealer receives
//! nothing. Local steps of the others act on what they know. So a simulator draws all messages.
//! Semi-honest security, one corrupt party.

mod carry;
pub mod carry_trees;
pub mod comparison;
pub mod elementary;
pub mod exponential;
pub mod functions;
pub mod gates;
pub mod input_checks;
mod nodes;
pub mod pieces;
pub mod position;
pub mod product;
pub mod saturation;
pub mod selection;
pub mod truncation;

pub use input_checks::T2;
pub(super) use nodes::node;
