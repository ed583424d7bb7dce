//! Three parties in memory against the plain evaluation, the distribution of what a party sees, and
//! what happens when something goes wrong.

mod agreement;
mod attacks;
mod build;
mod carries_make;
mod carries_random;
mod dealer;
mod dealer_proofs;
mod draws;
mod fault;
mod faults;
mod grouped_random;
mod handshake;
mod messages;
mod operations;
mod parted;
mod parted_random;
mod pooled;
mod proof_views;
mod proofs;
mod random;
mod session;
mod speculation;
mod speculation_proofs;
mod streaming;
mod submissions;
mod table;
mod tampering;
mod tcp;
mod views;

// Thousands of small runs are mostly small tensors that come and go.
use slvr_allocator as _;
