//! Which unknowns are the same: the same function of the same entries, wherever a program computes it.
//!
//! Of `sum(y[i] * y[i] for i in Client)` and the same sum without one client, each product is a node of its own. An
//! entry that is computed entry by entry, or is a sum or the largest or smallest along axes, is named by the function
//! and by where its operands are read, and not by its node. What else a program computes in two ways is two unknowns.

use super::rows::Reader;
use super::terms::{Cut, Lane, Term};
use crate::analysis::behind::behind;
use crate::graph::{Key, NodeId, Op};
use std::collections::HashMap;

/// Functions of functions that one unknown is followed through.
const FUNCTIONS: usize = 64;

/// What is computed of which operands.
#[derive(PartialEq, Eq, Hash)]
struct Function {
    op: Key,
    of: Vec<Operand>,
}

#[derive(PartialEq, Eq, Hash)]
enum Operand {
    /// A constant, by its bits.
    Constant(u64),
    /// Of a node, or a function, the entries along these lanes, from this one of the places on.
    Entries(NodeId, Vec<Lane>, usize),
}

/// Where operands are read, of so many entries: first, and from row to row.
#[derive(PartialEq)]
struct Place {
    at: u64,
    lanes: Vec<Lane>,
    entries: u64,
}

/// The functions that unknowns are. Each has a number after those of the nodes, and as many entries as there are places
/// of its operands together.
#[derive(Default)]
pub(super) struct Functions {
    numbers: HashMap<Function, NodeId>,
    entries: Vec<u64>,
}

impl Functions {
    /// The entries of a function at all of its places as those of one: the places are the digits. Nothing if they are
    /// too many for a number.
    fn named(
        &mut self,
        nodes: usize,
        function: Function,
        places: &[Place],
    ) -> Option<(NodeId, u64, Vec<Lane>)> {
        let (mut all, mut at, mut lanes) = (1u64, 0u64, places.first()?.lanes.clone());
        lanes.iter_mut().for_each(|lane| lane.step = 0);
        for place in places {
            at = at.checked_add(all.checked_mul(place.at)?)?;
            for (lane, own) in lanes.iter_mut().zip(&place.lanes) {
                lane.step = lane.step.checked_add(all.checked_mul(own.step)?)?;
            }
            all = all.checked_mul(place.entries)?;
        }
        let next = NodeId((nodes + self.entries.len()) as u32);
        let node = *self.numbers.entry(function).or_insert(next);
        if node == next {
            self.entries.push(all);
        }
        Some((node, at, lanes))
    }
}

impl Reader<'_> {
    /// An unknown as the function that it is; or a lane to cut.
    pub(super) fn unknown(&mut self, t: &Term) -> Result<Term, Cut> {
        self.followed(t, &mut { FUNCTIONS })
    }

    fn followed(&mut self, t: &Term, left: &mut usize) -> Result<Term, Cut> {
        let (g, rows) = (self.g, t.lanes.len());
        let mut t = t.clone();
        while let Some(moved) = self.moved(&t)? {
            t = moved;
        }
        let op = g.op(t.node);
        let is_named = op.is_pointwise() || matches!(op, Op::Sum(_) | Op::Max(_) | Op::Min(_));
        if !is_named || *left == 0 {
            return Ok(t);
        }
        *left -= 1;
        let (mut of, mut places) = (Vec::new(), Vec::new());
        for (i, &arg) in g.args(t.node).iter().enumerate() {
            if let Some(x) = g.constant(behind(g, arg, Op::is_layout)) {
                of.push(Operand::Constant(x.to_bits()));
                continue;
            }
            let operand = self.operand(&t, i)?;
            let Term { node, at, mut lanes, .. } = match self.followed(&operand, left) {
                Err((lane, _)) if lane >= rows => return Ok(t),
                found => found?,
            };
            let rest = lanes.split_off(rows);
            // Along a lane of one entry nothing moves.
            lanes.iter_mut().filter(|lane| lane.count == 1).for_each(|lane| lane.step = 0);
            let function = node.index().checked_sub(g.len());
            let entries = function.map_or_else(|| g.elements(node), |k| self.functions.entries[k]);
            let place = Place { at, lanes, entries };
            let known = places.iter().position(|p| *p == place);
            let number = known.unwrap_or(places.len());
            if known.is_none() {
                places.push(place);
            }
            of.push(Operand::Entries(node, rest, number));
        }
        let named = self.functions.named(g.len(), Function { op: op.key(), of }, &places);
        Ok(match named {
            Some((node, at, lanes)) => Term { node, at, lanes, ..t },
            None => t,
        })
    }
}
