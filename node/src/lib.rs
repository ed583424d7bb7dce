//! A node of a SLVR deployment. Three organisations run one each.
//!
//! Clients upload shares to the three nodes. A coordinator opens rounds. When a round closes, the nodes agree whose
//! submissions count, run the circuit among themselves, and keep what the receiver gets until it is collected.
//!
//! # Map
//!
//! Each module may use those above it, and the crates of circuits, rings and the runtime. What calls nodes is there without
//! the feature `server`: configurations, submissions, what is signed and what is read of a result.
//!
//! | module | holds |
//! |---|---|
//! | `draws` | numbers for tests |
//! | [`hex`] | hexadecimal digits, hashes |
//! | [`clock`] | the clock of this machine |
//! | `locks` | locks that outlive a panic |
//! | [`names`] | names of tasks and clients |
//! | [`codes`] | one word by which a program tells what a node refuses |
//! | [`state`] | where a round stands, and which step may follow which |
//! | [`opening`] | what a coordinator signs: openings of rounds, and orders |
//! | [`config`] | what a node, a client and a coordinator are told, as TOML files |
//! | [`submission`] | what a client signs, commits to and sends to each node |
//! | [`words`] | what nodes say to the receivers of a round, as bytes |
//! | [`trust`] | TLS: whose certificate is accepted where |
//! | [`client`] | calls to nodes: submit, open, watch, collect |
//! | | **With the feature `server`:** |
//! | [`threads`] | threads of a node, and what they hold |
//! | [`redaction`] | what others than a node's operator are told: no paths of files |
//! | [`keys`] | makes keys, certificates and configurations of a deployment |
//! | [`vault`] | sealed files: secrets at rest |
//! | [`store`] | what survives a crash: rounds, submissions, results |
//! | [`ledger`] | the rounds of a node in memory |
//! | [`wire`] | frames and messages between nodes |
//! | [`peers`] | connections between nodes |
//! | [`status`] | what a node shows of itself: progress, who waits for whom |
//! | [`metrics`] | what a node counts and measures |
//! | [`tasks`] | the circuits that a node may run |
//! | [`worker`] | a worker of a node: computes ranges of layers |
//! | [`node`] | a running node: what its threads share |
//! | [`round`] | what a node does in a round: follow, lead, run |
//! | [`http`] | the interface for clients, the coordinator and the operator |
//! | [`service`] | starts and stops a node |
//! | [`check`] | looks at a configuration before a node is started |
//!
//! # Who is trusted with what
//!
//! A node is whoever holds the key of the certificate that the other two have pinned. Which circuits a node runs is
//! in its own configuration: neither a coordinator nor another node can make it run anything else. What a round is the
//! coordinator says, and signs it for each node. Node 0 leads rounds: it asks the others to close one once its time is
//! over, and proposes whose submissions count. The others check that against what they hold themselves, and nothing is
//! released unless all three have finished the same attempt.
//!
//! A worker belongs to its node's party, and is as trusted as the node with what it is handed: the pair seeds of a run, shares that
//! a range reads, and parts of members. It has no key of the node. Only its node may order it to compute.
//!
//! # What survives
//!
//! A submission is acknowledged once its file, its folder and its record are on disk. Each step of a round is on disk
//! before anybody is told of it. After a crash the leader asks where everybody stands, and repeats the run with fresh
//! randomness unless all three have computed.

pub mod client;
pub mod clock;
pub mod codes;
pub mod config;
pub mod hex;
mod locks;
pub mod names;
pub mod opening;
pub mod state;
pub mod submission;
pub mod trust;
pub mod words;

#[cfg(feature = "server")]
pub mod check;
#[cfg(feature = "server")]
pub mod http;
#[cfg(feature = "server")]
pub mod keys;
#[cfg(feature = "server")]
pub mod ledger;
#[cfg(feature = "server")]
pub mod metrics;
#[cfg(feature = "server")]
pub mod node;
#[cfg(feature = "server")]
pub mod peers;
#[cfg(feature = "server")]
pub mod redaction;
#[cfg(feature = "server")]
pub mod round;
#[cfg(feature = "server")]
pub mod service;
#[cfg(feature = "server")]
pub mod status;
#[cfg(feature = "server")]
pub mod store;
#[cfg(feature = "server")]
pub mod tasks;
#[cfg(feature = "server")]
pub mod threads;
#[cfg(feature = "server")]
pub mod vault;
#[cfg(feature = "server")]
pub mod wire;
#[cfg(feature = "server")]
pub mod worker;

#[cfg(test)]
mod draws;

#[cfg(feature = "server")]
pub use service::Service;
#[cfg(feature = "server")]
pub use tasks::{Circuits, Compile, Compiled, Divided, Summary};
