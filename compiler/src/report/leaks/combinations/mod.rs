//! What is revealed to one receiver, as a matrix: exactly what is linear in what it does not know.
//!
//! A row is a revealed entry. A column is an entry of an input that the receiver does not know, or of a value that is
//! computed in another way than linearly: a product of secrets, a comparison, a function, an entry that coins pick. The
//! factors are constants; an entry of a public input, or of one of the receiver's own, stands for a number in general
//! position. Noise counts as known, a rounding as none, and what a state or a loop carries as in its range.
//!
//! **Promise**, up to the chance that `elimination` has to err: if, and only if, some combination of revealed entries,
//! not 0, has columns of one client alone (entries of its inputs, and entries computed from these alone), this client is
//! found, at any size; or it is said that the reveals were not looked at together.
//!
//! **Not looked at:** how values that are columns of their own depend on each other (the sums of the three and of the
//! two best; a value that the program computes in two ways), what cancels before another function is computed of it,
//! particular numbers of public inputs, three rounds and more, and what the receiver knows from elsewhere.
//!
//! - `rows` reads revealed entries as rows, many at once, of the `terms` that they are sums of; `known` has the factors
//!   that are public, and `owners` says whose data an unknown is made of.
//! - `cells` makes one column of those that all rows treat alike.
//! - `elimination` brings a matrix into its reduced echelon form, modulo the prime of `residue`: a combination that is
//!   none has the chance of 2^-40, or less, to look like one.

mod cells;
mod elimination;
mod known;
mod owners;
mod residue;
mod rows;
mod terms;
#[cfg(test)]
mod tests;

use super::flow::{Dependence, Flow};
use crate::graph::Graph;
use cells::Cells;
pub(super) use elimination::Member;
use elimination::{Exposed, WORK};
pub(super) use known::Values;
use rows::Reader;
use std::collections::BTreeSet;

/// Reveals of which some combination is about one client.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    /// By index of output.
    pub(super) outputs: Vec<usize>,
    /// About whom.
    pub(super) members: Vec<Member>,
    /// Everything in them is linear in inputs.
    pub(super) linear: bool,
}

/// What is looked at.
pub(super) struct Question<'a> {
    pub(super) graph: &'a Graph,
    /// To the receiver.
    pub(super) flows: &'a [Flow],
    /// What it gets, by index of output.
    pub(super) outputs: Vec<usize>,
    /// Of which it is said already that they tell of single clients.
    pub(super) flagged: BTreeSet<usize>,
    /// Bits of clients: what they are is known, and no combination of them is looked for.
    pub(super) bits: BTreeSet<usize>,
}

/// All that is found; nothing if the reveals have too many terms.
pub(super) fn findings(q: &Question) -> Option<Vec<Finding>> {
    let mut reader = Reader::new(q.graph, q.flows);
    let mut rows = Vec::new();
    for &o in &q.outputs {
        rows.extend(reader.rows(o)?);
    }
    let linear = |o: usize| q.flows[q.graph.outputs[o].node.index()].form == Dependence::Linear;
    let cells = Cells::of(rows, &q.bits)?;
    let mut work = WORK;
    let all: BTreeSet<usize> = q.outputs.iter().copied().filter(|o| !q.bits.contains(o)).collect();
    let mut out: Vec<Finding> = Vec::new();
    let mut found = |outputs: &BTreeSet<usize>, exposed: Exposed| {
        out.push(Finding {
            linear: outputs.iter().all(|&o| linear(o)),
            outputs: outputs.iter().copied().collect(),
            members: exposed.into_keys().collect(),
        });
    };
    let (mut telling, mut members) = (BTreeSet::new(), BTreeSet::new());
    for &o in &all {
        let one = BTreeSet::from([o]);
        let exposed = cells.exposed(&one, &mut work)?;
        if !exposed.is_empty() {
            telling.insert(o);
            members.extend(exposed.keys().copied());
            if !q.flagged.contains(&o) {
                found(&one, exposed);
            }
        }
    }
    // Sets of reveals that say more of somebody than those of which it is said already.
    let mut known = vec![cells.exposed(&telling, &mut work)?];
    known[0].retain(|m, _| members.contains(m));
    let more =
        |outputs: &BTreeSet<usize>, known: &[Exposed], work: &mut usize| -> Option<Exposed> {
            let mut exposed = cells.exposed(outputs, work)?;
            exposed.retain(|m, n| known.iter().all(|k| k.get(m).is_none_or(|k| k < n)));
            Some(exposed)
        };
    loop {
        let (mut needed, mut exposed) = (all.clone(), more(&all, &known, &mut work)?);
        if exposed.is_empty() {
            return Some(out);
        }
        for o in &all {
            let mut fewer = needed.clone();
            fewer.remove(o);
            let left = more(&fewer, &known, &mut work)?;
            if !left.is_empty() {
                (needed, exposed) = (fewer, left);
            }
        }
        known.push(cells.exposed(&needed, &mut work)?);
        found(&needed, exposed);
    }
}
