//! Macros of both families in the clear and among three parties.

pub mod functions;
mod input_checks;
mod search;
pub mod t2;
pub mod trial;
