//! What is revealed to one receiver, as a matrix: exactly what is linear in what it does not know.
//!
//! A row is a revealed entry. A column is an entry of an input that the receiver does not know, or of a value that is
//! computed in another way than linearly: a product of secrets, a comparison, a function, an entry that coins pick. The
//! factors are constants; an entry of a public input, or of one of the receiver's own, stands for a number in general
//! position. Noise counts as known, a rounding as none, and what a state or a loop carries as in its range.
//!
//! **Promise**, up to the chance that `elimination` has to err: if, and only if, some combination of revealed entries,
//! not 0, has columns of one client alone (entries of its inputs, and entries computed from these alone), this client is
//! found, at any size; or it is said of one of these reveals that it was not looked at with others.
//!
//! **Not looked at:** how values that are columns of their own depend on each other (the sums of the three and of the
//! two best; a value that the program computes by different functions), what cancels before another function is computed of it,
//! particular numbers of public inputs, three rounds and more, and what the receiver knows from elsewhere.
//!
//! - `rows` reads revealed entries as rows, many at once, of the `terms` that they are sums of; `known` has the factors
//!   that are public, `owners` says whose data an unknown is made of, and `functions` which unknowns are the same.
//! - `cells` makes one column of those that all rows treat alike.
//! - `elimination` brings a matrix into its reduced echelon form, modulo the prime of `residue`: a combination that is
//!   none has the chance of 2^-40, or less, to look like one.

mod cells;
mod elimination;
mod functions;
mod known;
mod owners;
mod residue;
mod rows;
mod terms;
#[cfg(test)]
pub(super) mod tests;

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

impl Finding {
    fn new(q: &Question, outputs: &BTreeSet<usize>, exposed: Exposed) -> Finding {
        let form = |o: &usize| &q.flows[q.graph.outputs[*o].node.index()].form;
        Finding {
            linear: outputs.iter().all(|o| *form(o) == Dependence::Linear),
            outputs: outputs.iter().copied().collect(),
            members: exposed.into_keys().collect(),
        }
    }
}

/// What is looked at.
pub(super) struct Question<'a> {
    pub(super) graph: &'a Graph,
    /// To the receiver.
    pub(super) flows: &'a [Flow],
    /// What it gets, by index of output.
    pub(super) outputs: Vec<usize>,
    /// Bits of clients: what they are is known, and no combination of them is looked for.
    pub(super) bits: BTreeSet<usize>,
}

/// All that is found, and the reveals of which not every combination was looked at, as they have too many terms.
pub(super) fn findings(q: &Question) -> (Vec<Finding>, BTreeSet<usize>) {
    let (cells, mut left_out) = cells(q);
    let (mut work, mut all, mut out) = (WORK, BTreeSet::new(), Vec::new());
    for &o in q.outputs.iter().filter(|o| !q.bits.contains(o)) {
        let one = BTreeSet::from([o]);
        let looked_at = Some(&one).filter(|_| !left_out.contains(&o));
        let Some(exposed) = looked_at.and_then(|one| cells.exposed(one, &mut work)) else {
            left_out.insert(o);
            continue;
        };
        all.insert(o);
        if !exposed.is_empty() {
            out.push(Finding::new(q, &one, exposed));
        }
    }
    if together(q, &cells, &all, &mut work, &mut out).is_none() {
        left_out.extend(all);
    }
    (out, left_out)
}

/// The cells of all reveals; if they have too many terms, of those that have few, and which are left out.
fn cells(q: &Question) -> (Cells, BTreeSet<usize>) {
    let mut reader = Reader::new(q.graph, q.flows);
    let (mut read, mut left_out) = (Vec::new(), BTreeSet::new());
    for &o in &q.outputs {
        match reader.rows(o) {
            Some(rows) => read.push((o, rows)),
            None => _ = left_out.insert(o),
        }
    }
    let all = read.iter().flat_map(|(_, rows)| rows.clone()).collect();
    if let Some(cells) = Cells::of(all, &q.bits) {
        return (cells, left_out);
    }
    read.sort_by_key(|(_, of)| of.iter().map(|r| r.spans.len() + r.totals.len()).sum::<usize>());
    let (mut cells, mut kept) = (Cells::default(), Vec::new());
    for (o, rows) in read {
        let more = [kept.clone(), rows].concat();
        match Cells::of(more.clone(), &q.bits) {
            Some(of) => (cells, kept) = (of, more),
            None => _ = left_out.insert(o),
        }
    }
    (cells, left_out)
}

/// Adds sets of reveals that say more of somebody than those of which it is said already. Nothing if this takes too much
/// work: what was found until then stays.
fn together(
    q: &Question,
    cells: &Cells,
    all: &BTreeSet<usize>,
    work: &mut usize,
    out: &mut Vec<Finding>,
) -> Option<()> {
    let telling: BTreeSet<usize> = out.iter().flat_map(|f| f.outputs.iter().copied()).collect();
    let members: BTreeSet<Member> = out.iter().flat_map(|f| f.members.iter().copied()).collect();
    let mut known = vec![cells.exposed(&telling, work)?];
    known[0].retain(|m, _| members.contains(m));
    let more =
        |outputs: &BTreeSet<usize>, known: &[Exposed], work: &mut usize| -> Option<Exposed> {
            let mut exposed = cells.exposed(outputs, work)?;
            exposed.retain(|m, n| known.iter().all(|k| k.get(m).is_none_or(|k| k < n)));
            Some(exposed)
        };
    loop {
        let (mut needed, mut exposed) = (all.clone(), more(all, &known, work)?);
        if exposed.is_empty() {
            return Some(());
        }
        for o in all {
            let mut fewer = needed.clone();
            fewer.remove(o);
            let Some(left) = more(&fewer, &known, work) else {
                // Perhaps of more reveals than it takes.
                out.push(Finding::new(q, &needed, exposed));
                return None;
            };
            if !left.is_empty() {
                (needed, exposed) = (fewer, left);
            }
        }
        out.push(Finding::new(q, &needed, exposed));
        known.push(cells.exposed(&needed, work)?);
    }
}
