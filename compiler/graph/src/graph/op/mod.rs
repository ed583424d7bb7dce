//! The operations of the graph, and each fact about them once.
//!
//! | file | says of every operation |
//! |---|---|
//! | `data.rs` | what it computes, and its attributes as data |
//! | `table.rs` | class, name, number of operands, element, scale, when the parties talk |
//! | `attributes.rs` | the attributes in the text form |
//! | `shape.rs` | the shape of its result |
//! | `key.rs` | what tells it from others, in maps |
//!
//! The attributes of a convolution and its shape stand in [`Conv`], which models have, too; the facts
//! about each elementary function in [`Function`], which programs call by name. How an
//! operation is evaluated stands in [`super::eval`], which is generic over words. What may
//! not live here: what a protocol does for it, and what it costs.

mod attributes;
mod data;
mod key;
mod shape;
mod table;
#[cfg(test)]
pub(super) mod tests;

pub(crate) use attributes::Visitor;
pub use data::{AT_ONE, Op, Table};
pub use key::Key;
pub use shape::{align, without};
pub(crate) use shape::{need, shape_of};
pub use slvr_circuit::Conv;
pub use slvr_language::types::function::{Function, FunctionFacts};
pub use table::{Class, ElemRule, Facts, ScaleRule, Talk};
