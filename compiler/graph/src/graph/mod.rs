//! The graph: a pure dataflow graph of tensor operations.
//!
//! It knows shapes, secrecy and (after the pass `scales`) fixed-point scales; it knows nothing of
//! shares or rounds. Batch axes are ordinary axes: a comprehension over clients, committee members
//! or samples becomes a leading axis of every tensor computed inside it, so the graph does not grow
//! with the number of clients or samples.
//!
//! Lives here: the data structure ([`Graph`]), the operations and the table of facts about them ([`Op`]), the typing
//! rule ([`infer`]), the builder from a typed program ([`build`]), text ([`text`]), the verifier ([`verify`]) and
//! evaluation ([`eval`]). May not: rewriting ([`crate::passes`]), protocols (`slvr_backend::lower`).
//!
//! Node ids ascend in topological order, always: a pass makes a new graph by walking an old one
//! ([`Graph::rewrite`]) and a node can only be added after its operands.

pub mod build;
mod data;
mod edit;
pub mod eval;
pub mod infer;
mod op;
pub mod ranks;
pub mod text;
pub mod verify;

pub use data::{
    FRACTION, Giver, Graph, InRange, Input, Node, NodeId, Output, Place, Places, Selection, Site,
    Type,
};
pub use op::{
    AT_ONE, Class, Conv, ElemRule, Facts, Function, FunctionFacts, Key, Op, ScaleRule, Table, Talk,
};
pub use slvr_language::types::domain;
