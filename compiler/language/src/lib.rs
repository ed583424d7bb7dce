//! The language: from the text of a check to a typed program, and its evaluation in floating point.
//!
//! | room | holds |
//! |---|---|
//! | [`source`] | the texts of a compilation and places in them |
//! | [`diagnostic`] | one small structure renders every message: code, label, hint |
//! | [`noise`] | distributions of noise and their samplers, made of uniform bits |
//! | [`syntax`] | lexer, grammar, AST, and its text |
//! | [`types`] | the typed program: sizes bound, names resolved, shapes and secrecy known; its evaluation in floating point |
//!
//! A room imports those above it in this table. No room does I/O: who calls it gives a [`source::Loader`] for texts.

pub mod diagnostic;
pub mod noise;
pub mod source;
pub mod syntax;
pub mod types;
