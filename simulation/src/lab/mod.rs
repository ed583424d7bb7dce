//! Federated learning around any predicate, under attack.
//!
//! A round: every client trains the global model on its share and gives the difference as its update, and some of its
//! samples for validation. Malicious clients then replace what they give. All that the predicate declares as inputs is
//! filled, the caller's rule aggregates, and the aggregate is added to the global model.
//!
//! | file | holds |
//! |---|---|
//! | [`world`] | who has which data, and who is malicious |
//! | [`shift`] | the two scenarios of shifting data, and the data that clients shift to |
//! | [`knowledge`], `vectors` | what the malicious know; vectors of weights |
//! | [`attacks`] | the attacks, a file each |
//! | [`fill`] | which declared input is filled with what |
//! | [`reading`] | which reveal is the aggregate, and whether it is divided |
//! | [`rule`] | how a caller computes aggregates |
//! | [`fast`] | a predicate in floating point, with scores that attackers set |
//! | [`federation`], `offer` | the rounds; what there is to give in one |
//! | `poison` | what the malicious know in a round, and give |
//!
//! What may not live here: circuits, parties, files. How an aggregate is computed is the caller's.

pub mod attacks;
pub mod fast;
pub mod federation;
pub mod fill;
pub mod knowledge;
mod offer;
mod poison;
pub mod reading;
pub mod rule;
pub mod shift;
mod vectors;
pub mod world;

#[cfg(test)]
mod federation_tests;
#[cfg(test)]
mod reading_tests;
#[cfg(test)]
mod tests;
