//! What the parties prove to each other in a circuit against a malicious party, and what it costs.
//!
//! Every word that a party P_i sends in `reshare`, `input`, `reshare_two` and `open_masked` is a function of words of
//! which its neighbours P_{i-1} and P_{i+1} each know a part. So that it was right is a statement about what these two
//! hold: a sum of products u v, with u known to P_{i-1} and v to P_{i+1}, equals a word of the one plus a word of the
//! other ([`Claim`] says which). P_i knows all of it and proves all its statements at once, to both, before anything is
//! opened: a *barrier* stands before every layer that opens something ([`Barrier`]). More of them stand where the
//! circuit says so ([`Op::Prove`](crate::Op::Prove), [`Op::BeginProof`](crate::Op::BeginProof)), because values are
//! kept until they are proven.
//!
//! Lives here: which statement belongs to which instruction ([`barriers`], which is also what refuses a circuit that
//! has an instruction without one), the carries that statements take ([`Carries`]), and the lengths of the messages of
//! a proof ([`Lengths`]), so that rounds and bytes are known before a run, and when they travel ([`proofs`]). May not:
//! arithmetic on shares; the runtime's `proof` has the proofs.
//!
//! # Protocol
//!
//! Fully linear proofs: Boneh, Boyle, Corrigan-Gibbs, Gilboa, Ishai, "Zero-Knowledge Proofs on Secret-Shared Data via
//! Fully Linear PCPs" (CRYPTO 2019); among three parties of whom one is malicious Boyle, Gilboa, Ishai, Nof, "Practical
//! Fully Secure Three-Party Computation via Sublinear Distributed Zero-Knowledge Proofs" (CCS 2019). The runtime's
//! `proof` describes folds and coins and says why the proofs are sound, and its `argument.md` why a run can be
//! simulated.
//!
//! # Splits
//!
//! A replicated value x = x_0 + x_1 + x_2, of which P_i holds x_i and x_(i+1), lies in three shards, and is *split* in
//! shard r into x = a + b. Its *part a*, x_r + x_(r+1), is what party r knows, the *owner*
//! ([`Hold::Own`](crate::Hold::Own), or [`Hold::Mask`](crate::Hold::Mask) while the others know one word of it each).
//! Its *part b*, x_(r+2), is what the two others know ([`Hold::Dup`](crate::Hold::Dup)). In names here the *split
//! value* of a part is x.

mod barriers;
mod carries;
mod claim;
mod folds;
mod index;
mod input;
mod items;
mod kept;
mod lengths;
mod matrices;
mod owners;
mod sums;
#[cfg(test)]
pub(crate) mod tests;
mod turns;
mod unproven;

pub use barriers::{Barrier, barriers};
pub use carries::{Carries, Sent, SentAs};
pub use claim::{Claim, Cut, Inner, Parted, Pooled, Statement, Term};
pub use folds::{
    ELEMENT_BITS, ELEMENT_MATRICES, ELEMENT_WIDE, ELEMENT_WORDS, FirstFold, Folds, KINDS, Kind,
    LIFT, LIFT_WORDS, corners, folds,
};
pub use index::is_linear;
pub use input::{Bits, Own, code_bits, steps};
pub use items::{Item, dots, items, products};
pub use kept::{kept, opened, picked, words};
pub use lengths::{HASH, Lengths, OPENING_ROUNDS, check, error};
pub use turns::{Proof, memory, proofs, under_way, vectors};
pub use unproven::{MOST_ERROR_LOG2, Source, Unproven, WIDE_PRODUCT};
