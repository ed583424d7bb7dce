//! What a circuit costs before it runs: rounds, bytes, arithmetic, memory, and the seconds that these
//! take on a network.
//!
//! Arithmetic over the circuit only: what is counted follows from the types of its values.
//!
//! | file | does |
//! |---|---|
//! | `count.rs` | all costs of a circuit, and of each instruction |
//! | `work.rs` | multiply-accumulates and bytes touched of one instruction at one party |
//! | `memory.rs` | the register file of a party, replayed without values: peak memory |
//! | `links.rs` | what every party and receiver sends and receives in a round |
//! | `net.rs` | network profiles |
//! | `seconds.rs` | the time model: rates of a party, seconds of a run |
//! | `proofs.rs` | what proofs compute, and what lowering weighs it by |
//! | `tuning.rs` | what rounds and bytes cost, to choose between protocols |
//! | `critical.rs` | which step each round of the longest chain waits for |
//! | `lines.rs` | all of it per line of the source, and per step (`gain/hits/conv1`) |
//! | `workers.rs` | the same of a run that hands ranges of layers to workers |
//! | `places.rs` | the line of the predicate's own file that a site belongs to |
//!
//! Rounds and bytes are exact: a run counts the same ones ([`slvr_circuit::traffic`]), and so
//! is peak memory. Seconds are an estimate.
//!
//! # Multiply-accumulates
//!
//! Counted as a party executes them, over rings: the local product of two replicated operands is two
//! products (x_i (y_i + y_{i+1}) + x_{i+1} y_i), and so is that of a public and a replicated one
//! (once for each component); of two public operands, or of parts that a party stores alone, one.
//! Products of bits are not multiply-accumulates: 64 of them are one word operation, which shows in
//! the bytes touched.

mod count;
mod critical;
mod lines;
mod links;
mod memory;
mod net;
mod places;
mod proofs;
mod seconds;
mod tuning;
mod work;
mod workers;

pub use count::{Cost, InstrCost, Kind, LayerCost, ProofCost, busiest_party, mean_party};
pub use critical::critical;
pub use lines::{LineRow, most_expensive_first, rows_by_line, rows_by_statement, rows_by_step};
pub use memory::{
    at_most as memory_at_most, by_layer as memory_by_layer,
    by_layer_at_most as memory_by_layer_at_most, peak as peak_memory, peak_in_the_clear,
};
pub use net::{NetError, NetProfile};
pub use places::{home, line_of, places};
pub use proofs::proof_work;
pub(crate) use proofs::{BLOCK_ENTRY_PRICE, FROZEN_BIT_PRICE, TABLE_ENTRY_PRICE, WORD_PRICE};
pub use seconds::{
    Estimate, MACS_PER_S, MEMORY_BYTES_PER_S, PACKED_BYTES_PER_S, PRG_BYTES_PER_S,
    nanoseconds_of_work, seconds_with_proofs,
};
pub use tuning::Tuning;
pub use workers::{PartyCost, RangeCost, Waits, WorkerCost, WorkersCost, range_memory, workers};
