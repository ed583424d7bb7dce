//! Chooses for each node, before anything is emitted, the family that computes it, the groups that its
//! shards are cut between, and the form that its value is made in.
//!
//! A choice depends on the graph, on what is proven of its values, on the choices for earlier nodes, and on
//! the one cost model of the compiler ([`crate::cost::Tuning`]); never on instructions. What is emitted is
//! compared with it in debug builds ([`super::nodes`]).
//!
//! **Families.** Without a network to choose for, all nodes are of T1. With one, a node is of T2 where
//! its operation has a protocol there and something speaks for it. Values stay split with the same dealers
//! as long as operations go shard by shard, because the dealer of what is made of a replicated value learns
//! its part only when the value is there.
//!
//! **Groups.** An operation takes those of its largest operand that is split. Values of few elements have
//! one dealer for all, because they are soon combined across clients.
//!
//! From the bottom: [`plan`] says what a choice is, [`groups`] in which groups operations go, [`products`]
//! how products are made, [`tables`] where a truth table is faster, and [`nodes`] chooses for each task.

mod groups;
mod nodes;
mod plan;
mod products;
mod search;
mod tables;

pub use nodes::plan;
pub use plan::{Made, Plan, Way};
pub use products::words_of;
