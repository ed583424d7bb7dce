//! The library under `slvrc`: from a `.slvr` file, or its text, to what a run reveals.
//!
//! A [`Build`] names a program and says how it is compiled. [`program::load`] makes its circuit, [`explain`] says what
//! it costs and leaks, [`eval`] computes it in the clear, [`certify`] says what is proven for given inputs, [`run`]
//! runs it among three parties, and [`deployment`] submits to nodes that do. Nothing here prints: what is said beside a
//! result goes to [`notes::Notes`].
//!
//! | room | does |
//! |---|---|
//! | `error` | what can go wrong, as one enum |
//! | `notes` | what is said beside a result |
//! | `files` | bounded reads, whole writes |
//! | `units` | numbers for people |
//! | `svg` | what charts share |
//! | `memory` | how much is free |
//! | `net` | network profiles by name or file |
//! | `clients` | how many clients a round may have |
//! | `build` | which program, and how it is compiled |
//! | `checked` | from these to a checked program |
//! | `numbers` | a checked program for every number of clients |
//! | `program` | from a checked program to a circuit |
//! | `about` | what a folder of inputs says of itself |
//! | `tensors` | inputs and outputs as files of tensors |
//! | `states` | what parties keep from round to round |
//! | `clear_states` | states of evaluations in the clear |
//! | `coins` | public coins of evaluations in the clear |
//! | `cohort` | whose inputs a circuit is for |
//! | `report` | the report of a run |
//! | `explain` | costs and leaks before a run |
//! | `eval` | evaluation in the clear |
//! | `certify` | what is proven for given inputs |
//! | `run` | a run among three parties |
//! | `deployment` | calls to the nodes of a deployment (feature `node`) |
//! | `tasks` | circuits of the tasks of nodes (feature `server`) |

pub mod about;
pub mod build;
pub mod certify;
mod checked;
pub mod clear_states;
pub mod clients;
pub mod cohort;
pub mod coins;
#[cfg(feature = "node")]
pub mod deployment;
pub mod error;
pub mod eval;
pub mod explain;
pub mod files;
pub mod memory;
pub mod net;
pub mod notes;
pub mod numbers;
pub mod program;
pub mod report;
pub mod run;
pub mod states;
pub mod svg;
#[cfg(feature = "server")]
pub mod tasks;
pub mod tensors;
pub mod units;

pub use build::Build;
pub use error::{Error, Rejected, Result, Usage};
