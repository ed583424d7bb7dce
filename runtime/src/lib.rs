//! Evaluates a layered SLVR circuit among three parties under replicated secret sharing.
//!
//! The runtime owns the circuit format, as a machine owns its instruction set; a compiler targets
//! it. A node operator can audit and run this crate without a parser of the language in sight.
//!
//! # Map
//!
//! | room | holds | may use |
//! |---|---|---|
//! | [`ring`] | words of Z_2^k, bit planes, tensors of them, fixed-point encoding, kernels | nothing of ours |
//! | [`circuit`] | the format: values, instructions, layers, verifier, text, artifact file | `ring` |
//! | [`share`] | replicated shares, seeds and PRSS, encoding and dealing by a client, reconstruction | `ring`, `circuit`'s types |
//! | [`protocol`] | one file per interactive instruction; committees and signs from coins | `share`, `ring` |
//! | [`link`] | how bytes reach the two peers | nothing of ours |
//! | [`party`] | the layer loop, and a session of three parties on this machine | all above |
//! | [`clear`] | the same circuit on plain values; `party` uses its local operations | `circuit`, `ring`, `share`, committees, signs |
//!
//! # Adversary
//!
//! Semi-honest, at most one of the three parties corrupt. Parties that deviate are *not* detected,
//! except where a message is late, short, long or out of order. See `docs/src/security.md`.

pub mod clear;
pub mod link;
pub mod party;
pub mod protocol;
pub mod share;
