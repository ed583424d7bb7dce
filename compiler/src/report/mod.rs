//! What is said of a compiled predicate: its certificate and who learns what. Editors and the command
//! line read it.
//!
//! May not live here: anything that changes what is compiled, or decides it.

pub mod certificate;
pub mod confidence;
pub mod given;
pub mod leaks;
pub mod precision;
mod saturations;
#[cfg(test)]
mod testing;
