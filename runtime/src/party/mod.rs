//! The layer loop of one party, and a session of three parties on this machine.
//!
//! | file | holds |
//! |---|---|
//! | `engine` | [`Party`], and the state of its run: registers, counters, how it talks to the others |
//! | `run` | [`Party::run`]: handshake, layers, closing |
//! | `local`, `exchange`, `registers` | local instructions; messages of a layer; what a party holds |
//! | `dealer`, `uploads`, `intake`, `submissions`, `loads` | how inputs are dealt on this machine; clients' uploads, whose inputs are used, and inputs that are loaded in parts |
//! | `guard`, `barrier`, `vouching` | against a malicious party: what is kept for proofs, the proofs, and how openings are vouched for |
//! | `speculation` | layers that are computed again when a client fails a check |
//! | `ranges`, `threads` | ranges of layers on workers: [`Party::run_range`]; workers as threads of a session |
//! | `hello`, `receiver`, `openings`, `transcript`, `error` | handshake, the receiver's side ([`receive`]), what it is told, the [`Transcript`] hook, [`RunError`] |
//! | `doors` | what tests do to runs |
//! | [`members`] | what is revealed to each member of a party set, cut up and put together member by member |
//! | [`session`], [`remote`] | three parties and the receivers as threads; parties elsewhere, at the end of pipes |
//!
//! May not live here: files, sockets, anything about the source language.
//!
//! # A run
//!
//! 1. Handshake: the parties compare hashes of the circuit and of the public inputs, and the run's
//!    id. Nothing else is sent before all agree.
//! 2. The parties settle whose inputs are used ([`Replaced`]): a client that gave nothing, or different
//!    copies to different parties, has zeros in place of its inputs from here on.
//! 3. For each layer: evaluate the local instructions; send one message to each other party and to
//!    each receiver, if the layer has anything for them; take in the two messages of the peers and
//!    finish the instructions. A message travels in frames whose kind, layer, number and length are
//!    known, each as soon as it is computed, and is waited for where its first result is read
//!    ([`slvr_circuit::plan`]). Layers that were computed on the assumption that all clients pass their checks are
//!    repeated if one does not (`speculation`).
//! 4. Closing, in two steps: each party tells the others that it is done and waits for the same from
//!    them; then it tells the others and the receivers that all agree, and waits for the same. With
//!    one step, a party that finds a stray message where the others' end should be would stop after
//!    it had let the others finish. Closing carries no data and is not counted as rounds.
//!
//! After any error a party tells everybody (an abort frame) and stops. A receiver outputs nothing
//! unless all three parties agree.

mod barrier;
mod dealer;
mod doors;
mod engine;
mod error;
mod exchange;
mod guard;
mod hello;
mod intake;
mod loads;
mod local;
pub mod members;
mod openings;
mod ranges;
mod receiver;
mod registers;
pub mod remote;
mod run;
pub mod session;
mod speculation;
mod submissions;
mod threads;
mod transcript;
mod uploads;
mod vouching;

pub use crate::share::Held;
pub use doors::Doors;
pub use engine::{Party, PartyReport};
pub use error::{Origin, Phase, RunError};
pub use hello::{Hello, MESSAGES, hash_public};
pub use intake::Intake;
pub use loads::{Source, Submitted};
pub use ranges::{Computed, Given, Workers, in_range, pack, packed, unpack};
pub use receiver::{Receiver, receive, receiving};
pub use transcript::{Direction, Event, Recorded, Recorder, Transcript};
pub use uploads::{Invalid, Received, Replaced, Uploads, Why};
