//! What typing tells of a document.

use super::problem::Problem;
use crate::source::{FileId, Sources, Span};
use crate::types::Program;
use std::collections::BTreeMap;

/// What typing tells of a document.
#[derive(Clone, Debug, Default)]
pub struct Typed {
    pub(super) problems: Vec<Problem>,
    /// By the place of the name: what is known of a definition, one entry per instance.
    pub(super) facts: BTreeMap<(u32, u32), Facts>,
    /// The predicates of the file that are right, in its order.
    pub predicates: Vec<Predicate>,
}

/// A predicate of a document, for some sizes.
#[derive(Clone, Debug)]
pub struct Predicate {
    pub program: Program,
    /// What it is made of.
    pub sources: Sources,
    /// The document among them.
    pub file: FileId,
    /// Some size was not given.
    pub chosen: bool,
}

/// What is known of a definition.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// Its types, each once: a function has one per choice of its sizes.
    pub types: Vec<String>,
    /// Of an input: the values that it may have.
    pub range: Option<String>,
    /// Of a statement: what is proven of the values of its line.
    pub proven: Option<String>,
    /// Of a statement: what its line costs.
    pub cost: Option<String>,
    /// Of a layer: its parameters. Of a model: its shapes.
    pub notes: Vec<String>,
    /// For which sizes.
    pub sizes: String,
}

/// What facts are found by.
pub(super) fn key(span: Span) -> (u32, u32) {
    (span.start, span.end)
}
