//! Family T1, symmetric: values are replicated among three parties, x = x0 + x1 + x2 with two of the three
//! parts at each party (Araki et al. 2016).
//!
//! Macros are made of multiply and reshare, the input of own values, and the exchange of a value that is
//! additive between two. For macros that are not products a replicated value is read as x = a + b, part a
//! known to one party and part b to the other two, which takes no message.
//!
//! Files have the names of their counterparts in [`super::t2`]: `nodes` lowers nodes, with macros of [`truncation`]
//! (and lifts to a larger ring), [`comparison`] (signs, equality), [`gates`] (trees of ands and of carries),
//! [`selection`] (bit injection, bits to words, argmax tests), [`saturation`], [`functions`] (the table of functions of
//! one number), [`elementary`] (arithmetic for functions of operands of any size) and [`input_checks`] (what clients
//! give). This family alone has [`search`] (which entries come first), [`bits`] (all bits of a word, the position of the
//! top one), [`noise`], `early_signs` (signs before a truncation is done). A product is one instruction and a reshare,
//! so it has no file. A macro that is another one against a malicious party asks
//! [`Emit::target`](super::Emit::target) once, and calls the one in [`super::malicious`].

pub mod bits;
pub mod comparison;
pub(super) mod early_signs;
pub mod elementary;
pub mod exponential;
pub mod functions;
pub mod gates;
pub mod input_checks;
mod nodes;
pub mod noise;
pub mod saturation;
pub mod search;
pub mod selection;
pub mod truncation;

pub use input_checks::T1;
pub(super) use nodes::node;
