//! Federated learning around a predicate, as the verbs `lab` and `demo` do it.
//!
//! | file | does |
//! |---|---|
//! | `data.rs` | data sets |
//! | `attack.rs` | attacks by their names, and those of the user's own |
//! | `sizes.rs` | which sizes of a predicate follow from options |
//! | `subject.rs` | predicates and the model, bound and compiled |
//! | `exact.rs` | a round in the circuit's own arithmetic, in the clear and among three parties |
//! | `rule.rs` | aggregates in floating point or that arithmetic, and what a run among three parties says of them |

pub mod attack;
pub mod data;
pub mod exact;
pub mod rule;
pub mod sizes;
pub mod subject;
