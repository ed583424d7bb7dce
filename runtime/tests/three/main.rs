//! Three parties in memory against the plain evaluation, the distribution of what a party sees, and
//! what happens when something goes wrong.

mod build;
mod dealer;
mod faults;
mod handshake;
mod operations;
mod proofs;
mod random;
mod session;
mod speculation;
mod streaming;
mod submissions;
mod table;
mod tampering;
mod tcp;
mod views;
