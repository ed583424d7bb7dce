//! The operations of the graph, and each fact about them once.
//!
//! | file | says of every operation |
//! |---|---|
//! | `data.rs` | what it computes, and its attributes as data |
//! | `table.rs` | class, name, number of operands, element, scale, when the parties talk |
//! | `function.rs` | of each elementary function: value, direction, sign, bounds, domain |
//! | `conv.rs` | attributes of a convolution, and its shape |
//! | `attributes.rs` | the attributes in the text form |
//! | `shape.rs` | the shape of its result |
//!
//! How an operation is evaluated stands in [`super::eval`], which is generic over words. What may
//! not live here: what a protocol does for it, and what it costs.

mod attributes;
mod conv;
mod data;
mod function;
mod shape;
mod table;

pub(crate) use attributes::Visitor;
pub use conv::Conv;
pub use data::{Op, Table};
pub use function::{Function, FunctionFacts};
pub(crate) use shape::shape_of;
pub use shape::{align, without};
pub use table::{Class, ElemRule, Facts, ScaleRule, Talk};
