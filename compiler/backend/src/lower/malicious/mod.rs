//! What there is only against a malicious party, of which every message has a statement that its sender can prove
//! ([`slvr_circuit::proof`]).
//!
//! Nodes are lowered by the macros of [`super::t1`], some of which are others here: [`comparison`], [`selection`],
//! [`truncation`], [`exponential`], [`one_hots`] (tables), [`multi_and`] (products of many bits), [`location`] (both
//! questions of a saturation at once). Then the draft is rewritten (`rewrite`): its instructions become those that
//! parties can prove (`statements`), and in family T2 these become ones of which owners know their parts ahead
//! (`masked_exchange`; `shards` says where values are cut).

pub mod comparison;
pub mod exponential;
pub mod location;
mod masked_exchange;
pub mod multi_and;
pub mod one_hots;
mod rewrite;
pub mod selection;
mod shards;
mod statements;
pub mod truncation;

pub use statements::Refused;

use super::{Draft, Emit, Family};
use slvr_circuit::{Op, ValueId};

/// A sum and one more.
fn plus(e: &mut Emit, sum: Option<ValueId>, x: ValueId) -> Option<ValueId> {
    Some(sum.map_or(x, |sum| e.add(Op::Add(sum, x))))
}

/// What two parties exchange, if there is any, and what both know besides, as a replicated value.
fn shared(e: &mut Emit, sum: Option<ValueId>, rest: ValueId) -> ValueId {
    let rest = e.add(Op::Trivial(rest));
    let sum = sum.map(|sum| e.add(Op::ReshareTwo(sum)));
    sum.map_or(rest, |sum| e.add(Op::Add(sum, rest)))
}

/// The draft with messages that parties can prove.
///
/// # Errors
///
/// An instruction that has no counterpart with a proof.
pub fn proven(draft: Draft) -> Result<Draft, Refused> {
    let draft = statements::proven(draft)?;
    Ok(match draft.emit.target.family() {
        Family::T1 => draft,
        Family::T2(_) => masked_exchange::masked(draft),
    })
}
