//! The SLVR compiler: from a `.slvr` file to a layered circuit for three parties.
//!
//! # Map
//!
//! The compiler is four crates, and this one is what callers use: it passes on the rooms of the other three.
//!
//! | crate | room | holds |
//! |---|---|---|
//! | [`slvr_language`] | [`source`] | the texts of a compilation and places in them |
//! | | [`diagnostic`] | one small structure renders every message: code, label, hint |
//! | | [`noise`] | distributions of noise and their samplers, made of uniform bits |
//! | | [`syntax`] | lexer, grammar, AST, and its text |
//! | | [`types`] | the typed program: sizes bound, names resolved, shapes and secrecy known; its evaluation in floating point |
//! | [`slvr_graph`] | [`graph`] | a pure dataflow graph of tensor operations, its text, verifier and evaluation |
//! | | [`analysis`] | what is known of every value: interval, sign, ring, error |
//! | | [`passes`] | named rewrites of the graph, one file each |
//! | [`slvr_backend`] | [`cost`] | rounds, bytes, memory and predicted time, per source line |
//! | | [`lower`] | graph operations to protocol macros made of circuit instructions |
//! | | [`schedule`] | instructions to layers; liveness |
//! | | [`pipeline`] | everything in a row: source to circuit |
//! | this one | [`report`] | the certificate, and who learns what |
//! | | [`ide`] | what editors ask of a text: problems, what is under the cursor, documentation |
//!
//! There are three representations: [`types::Program`], [`graph::Graph`] and `slvr_circuit::Circuit`. Each
//! prints as text (those of graphs and circuits read back), and each can be evaluated in the clear. Tests compare each
//! with the next. Only the binary does I/O: the library asks a [`source::Loader`] for text.

pub mod ide;
pub mod report;

pub use slvr_backend::{cost, lower, pipeline, schedule};
pub use slvr_graph::{analysis, graph, passes};
pub use slvr_language::{diagnostic, noise, source, syntax, types};
