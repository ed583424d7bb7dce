//! Evaluates a layered SLVR circuit among three parties under replicated secret sharing.
//!
//! A node operator can audit and run this crate, with [`slvr_circuit`] and [`slvr_ring`], without a parser of
//! the language in sight: a compiler targets the circuit format, as it would target a machine.
//!
//! # Map
//!
//! Each module may use those above it, and the two crates.
//!
//! | module | holds |
//! |---|---|
//! | [`slvr_circuit`] | the format: values, instructions, layers, verifier, text, artifact file |
//! | [`slvr_ring`] | words of Z_2^k, bit planes, tensors of them, kernels |
//! | [`share`] | replicated shares, seeds and pseudorandomness, encoding and dealing by a client, reconstruction |
//! | [`link`] | how bytes reach the other parties; nothing of shares or circuits |
//! | [`protocol`] | one file for each interactive instruction, and one function that finds it; committees and signs from coins |
//! | [`proof`] | proofs that all that a party sent was right, against a malicious party |
//! | [`clear`] | the same circuit on plain values; `party` uses its local operations |
//! | [`party`] | the layer loop of a party, and sessions of three parties on this machine |
//!
//! How values are held, and the names of these ways in the literature on ASTRA and ABY, is in the docs of
//! [`slvr_circuit`].
//!
//! # Features
//!
//! `tls` (on): connections between parties over TLS 1.3. Without it there are only connections in the clear.
//!
//! # Adversary
//!
//! At most one of the three parties corrupt. A circuit names what this party may do
//! ([`slvr_circuit::Security`]). Semi-honest: parties that deviate are *not* detected, except where a message is
//! late, short, long or out of order. Malicious: they are, before anything that they could have changed is opened
//! ([`proof`]). See `docs/src/security.md`.

#[cfg(test)]
extern crate self as slvr_runtime;

pub mod clear;
pub mod link;
pub mod party;
pub mod proof;
pub mod protocol;
pub mod share;
