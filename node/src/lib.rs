//! A node of a SLVR deployment. Three organisations run one each.
//!
//! Clients upload shares to the three nodes. A coordinator opens rounds. When a round closes, the nodes agree whose
//! submissions count, run the circuit among themselves, and keep what the receiver gets until it is collected.
//!
//! # Map
//!
//! Each module may use those above it, and the crates of circuits, rings and the runtime.
//!
//! | module | holds |
//! |---|---|
//! | [`basics`] | hexadecimal, hashes, clocks, names, threads |
//! | [`told`] | what others than a node's operator are told: no paths of files |
//! | [`state`] | where a round stands, and which step may follow which |
//! | [`opening`] | what a coordinator signs: openings of rounds, and orders |
//! | [`config`] | what a node, a client and a coordinator are told, as TOML files |
//! | [`submission`] | what a client signs, commits to and sends to each node |
//! | [`keys`] | makes keys, certificates and configurations of a deployment |
//! | [`vault`] | sealed files: secrets at rest |
//! | [`store`] | what survives a crash: rounds, submissions, results |
//! | [`ledger`] | the rounds of a node in memory |
//! | [`wire`] | frames and messages between nodes |
//! | [`trust`] | TLS: whose certificate is accepted where |
//! | [`peers`] | connections between nodes |
//! | [`board`] | what a node shows of itself: progress, who waits for whom |
//! | [`metrics`] | what a node counts and measures |
//! | [`tasks`] | the circuits that a node may run |
//! | [`node`] | a running node: what its threads share |
//! | [`round`] | what a node does in a round: follow, lead, run |
//! | [`http`] | the interface for clients, the coordinator and the operator |
//! | [`service`] | starts and stops a node |
//! | [`check`] | looks at a configuration before a node is started |
//! | [`client`] | calls to nodes: submit, open, watch, collect |
//!
//! # Who is trusted with what
//!
//! A node is whoever holds the key of the certificate that the other two have pinned. Which circuits a node runs is
//! in its own configuration: neither a coordinator nor another node can make it run anything else. What a round is the
//! coordinator says, and signs it for each node. Node 0 leads rounds: it asks the others to close one once its time is
//! over, and proposes whose submissions count. The others check that against what they hold themselves, and nothing is
//! released unless all three have finished the same attempt.
//!
//! # What survives
//!
//! A submission is acknowledged once its file, its folder and its record are on disk. Each step of a round is on disk
//! before anybody is told of it. After a crash the leader asks where everybody stands, and repeats the run with fresh
//! randomness unless all three have computed.

pub mod basics;
pub mod board;
pub mod check;
pub mod client;
pub mod config;
pub mod http;
pub mod keys;
pub mod ledger;
pub mod metrics;
pub mod node;
pub mod opening;
pub mod peers;
pub mod round;
pub mod service;
pub mod state;
pub mod store;
pub mod submission;
pub mod tasks;
pub mod told;
pub mod trust;
pub mod vault;
pub mod wire;

pub use service::Service;
pub use tasks::{Circuits, Compile, Compiled, Summary};
