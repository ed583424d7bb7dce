//! From a file to a [`Program`]: sizes bound, names resolved, shapes and secrecy known.
//!
//! Checking is by instantiation: a function is checked once for each choice of its size arguments and argument types,
//! with every size a number. So messages name real shapes, and conditions on loop variables are decided by trying all
//! values. An error inside an instance also points at the call that created the instance. A pass over the names of all
//! items runs first, so that unknown names are also reported in code that is never called.
//!
//! | file | does |
//! |---|---|
//! | `session.rs` | one choice of sizes, or a search for the smallest that fit |
//! | `checker.rs` | the state of checking, errors with the calls that led to them |
//! | `world.rs`, `imports.rs` | files as modules, `use`; what is put into a file and never used |
//! | `names.rs` | names of every item, recursion |
//! | `bind.rs` | NAME=VALUE |
//! | `stmts.rs`, `inputs.rs`, `states.rs` | statements of the predicate |
//! | `requirements.rs` | what is required of sizes |
//! | `noise.rs` | noise: its type and its distribution |
//! | `chosen.rs` | what coins choose, and entries by numbers that are known at run time |
//! | `expr.rs`, `indexing.rs`, `comp.rs`, `ops.rs` | expressions |
//! | `iterate.rs` | loops that carry values |
//! | `tuples.rs` | several values under one name |
//! | `weights.rs` | weights tensor by tensor |
//! | `call.rs`, `unify.rs`, `parts.rs`, `intrinsics.rs` | calls |
//! | `layers.rs`, `placed.rs` | what a block declares |
//! | `flow.rs` | models: a definition for each layer and each expression between layers |
//! | `applied.rs` | layers applied in expressions |
//! | `index.rs` | integers that depend on nothing but loop variables |
//! | `tys.rs`, `value.rs`, `scope.rs` | types, values and names of the checker |
//!
//! What may not live here: parsing, I/O, anything about circuits.

mod applied;
mod bind;
mod call;
mod checker;
mod chosen;
mod comp;
mod expr;
mod flow;
mod imports;
mod index;
mod indexing;
mod inputs;
mod intrinsics;
mod iterate;
mod layers;
mod names;
mod noise;
mod ops;
mod parts;
mod placed;
mod requirements;
mod scope;
mod session;
mod states;
mod stmts;
mod tuples;
mod tys;
mod unify;
mod value;
mod weights;
mod world;

#[cfg(test)]
pub(crate) mod tests;

pub use session::{Checked, Options, check, check_given};
pub(crate) use value::ty_text;
