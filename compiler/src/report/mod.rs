//! What is said of a compiled predicate: its certificate and who learns what. Above the pipeline, read by
//! editors and the command line.
//!
//! May not: change what is compiled, or decide anything of it.

pub mod certificate;
pub mod leaks;
