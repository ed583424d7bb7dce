//! Which unknowns are the same: the same function of the same entries, wherever a program computes it.
//!
//! Of `sum(y[i] * y[i] for i in Client)` and the same sum without one client, each product is a node of its own. An
//! entry that is computed entry by entry, or is a sum or the largest or smallest along axes, is named by the function
//! and by where its operands are read, and not by its node. What else a program computes in two ways is two unknowns.

use super::rows::Reader;
use super::terms::{Cut, Lane, Term};
use crate::analysis::behind::behind;
use crate::graph::{Key, NodeId, Op};

/// Functions of functions that one unknown is followed through.
const FUNCTIONS: usize = 64;

/// What is computed of entries that are read at the same places, from row to row.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Function {
    op: Key,
    of: Vec<Operand>,
}

#[derive(PartialEq, Eq, Hash)]
enum Operand {
    /// A constant, by its bits.
    Constant(u64),
    /// Of a node, or a function, the entries along these lanes.
    Entries(NodeId, Vec<Lane>),
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
        let (mut of, mut place) = (Vec::new(), None);
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
            if *place.get_or_insert_with(|| (at, lanes.clone())) != (at, lanes) {
                return Ok(t);
            }
            of.push(Operand::Entries(node, rest));
        }
        let Some((at, lanes)) = place else { return Ok(t) };
        // Numbered after the nodes of the graph.
        let next = NodeId((g.len() + self.functions.len()) as u32);
        let node = *self.functions.entry(Function { op: op.key(), of }).or_insert(next);
        Ok(Term { node, at, lanes, ..t })
    }
}
