//! Federated learning around a predicate, as the verbs `lab` and `demo` do it.
//!
//! | file | does |
//! |---|---|
//! | `data.rs` | data sets |
//! | `attack.rs` | attacks by their names, and those of the user's own |
//! | `sizes.rs` | which sizes of a predicate follow from options |
//! | `subject.rs` | predicates and the model, bound and compiled |
//! | `rule.rs` | aggregates in floating point, in the circuit's arithmetic, and among three parties |

pub mod attack;
pub mod data;
pub mod rule;
pub mod sizes;
pub mod subject;
