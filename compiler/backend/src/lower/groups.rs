//! Between how many groups the shards of values are cut, and in which groups an operation of family T2 goes shard by
//! shard.
//!
//! An operation takes the groups of its largest operand that is split. Values of few elements have one dealer for all,
//! because they are soon combined across clients.

use super::common::words::aligned;
use super::form::{Form, Values};
use slvr_circuit::{Dom, Hold, Op as C, Type, ValueId, lead, verify};
use slvr_graph::graph::NodeId;
use std::cmp::Reverse;

/// Values of at most so many elements have one dealer for all.
pub const ONE_DEALER: u64 = 1 << 14;

/// The operation x - y, to ask for its type.
pub const DIFFERENCE: C = C::Sub(ValueId(0), ValueId(1));
/// The operation x y, to ask for its type.
pub const PRODUCT: C = C::Mul(ValueId(0), ValueId(1));

/// How many groups a value's shards are cut between if nothing else decides.
fn default_groups(shape: &[u64]) -> u32 {
    let elements: u64 = shape.iter().product();
    let size = shape.get(lead(shape)).copied().unwrap_or(1);
    match u32::try_from(size) {
        Ok(groups) if elements > ONE_DEALER && groups >= 3 => groups,
        _ => 1,
    }
}

impl Values<'_> {
    /// The groups of a value that was made in a form of family T2.
    pub fn groups(&self, id: NodeId) -> Option<u32> {
        match self.made(id)? {
            Form::Split(s) => Some(self.emit.ty(s.own).groups),
            Form::Pair(p) => Some(self.emit.ty(p.add2).groups),
            Form::Public(_) | Form::Replicated(_) | Form::Additive(_) | Form::LowBits(_) => None,
        }
    }

    /// The groups of a value, or those that it would get.
    pub fn groups_or_default(&self, id: NodeId) -> u32 {
        self.groups(id).unwrap_or_else(|| default_groups(self.facts.graph.shape(id)))
    }

    /// Whether an operation applies to split operands that are cut between so many groups.
    pub fn fits(&self, ids: &[NodeId], groups: u32, op: &C) -> bool {
        let elementwise = matches!(op, C::Add(..) | C::Sub(..) | C::Mul(..)) && groups > 1;
        let g = self.facts.graph;
        // The shape that operands are aligned to.
        let most = ids.iter().copied().max_by_key(|&id| g.elements(id));
        let ty = |&id: &NodeId| {
            let dom = if self.facts.is_bit(id) { Dom::Bits(1) } else { Dom::Ring(64) };
            let mut shape = g.shape(id).to_vec();
            if !self.facts.is_secret(id) {
                return Type::new(Hold::Public, dom, shape);
            }
            if let (true, Some(most)) = (elementwise, most) {
                shape = aligned(&shape, g.shape(most));
            }
            Type::new(Hold::Own, dom, shape).grouped(groups)
        };
        let types: Vec<Type> = ids.iter().map(ty).collect();
        let sound = types.iter().all(|t| verify::check_type(t).is_ok());
        sound && verify::infer(op, &|v| &types[v.index()]).is_ok()
    }

    /// The groups in which an operation on these operands goes shard by shard: those of the largest operand
    /// that is split already, if they do.
    pub fn common(&self, id: NodeId, ids: &[NodeId], op: &C) -> Option<u32> {
        let g = self.facts.graph;
        let mut largest_first = ids.to_vec();
        largest_first.sort_by_key(|&i| Reverse(g.elements(i)));
        let mut ways: Vec<u32> = largest_first.into_iter().filter_map(|i| self.groups(i)).collect();
        if ways.is_empty() {
            let most = ids.iter().copied().chain([id]).max_by_key(|&i| g.elements(i));
            ways.extend(most.map(|i| default_groups(g.shape(i))));
            ways.push(1);
        }
        ways.into_iter().find(|&groups| self.fits(ids, groups, op))
    }
}
