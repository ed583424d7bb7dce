//! Source texts and places in them.
//!
//! Lives here: [`Span`] and [`FileId`], which say where something is written; [`Sources`], the texts
//! that spans point into; and [`Loader`], through which the library asks for another text. May not live
//! here: what a text says (see [`crate::syntax`]) and I/O, which is the binary's.

mod loader;
mod sources;
mod span;

pub use loader::{LoadError, Loader};
pub use sources::Sources;
pub use sources::floor_boundary;
pub(crate) use sources::{line_of, line_starts};
pub use span::{FileId, Span};
