//! Whose entries of a value stand beside each other.

use super::flow;
use crate::analysis::layout::digits;
use crate::graph::{Graph, NodeId};
use std::collections::BTreeSet;

/// Whose entries stand side by side along the first axis of values that has several.
pub(in super::super) struct EntryOwners(Vec<flow::Flow>);

impl EntryOwners {
    pub fn of(graph: &Graph) -> EntryOwners {
        EntryOwners(flow::flows(graph, &BTreeSet::new()))
    }

    /// The set, and the member of it for each entry of a node, if there is one for every entry.
    pub fn members(&self, graph: &Graph, node: NodeId) -> Option<(u32, Vec<u64>)> {
        let (flow, shape) = (&self.0[node.index()], graph.shape(node));
        let axis = shape.iter().position(|n| *n > 1)?;
        let of = |at: u64| flow.member_along(axis, &digits(shape, at));
        let found: Vec<(u32, u64)> = (0..graph.elements(node)).map(of).collect::<Option<_>>()?;
        let (set, _) = *found.first()?;
        let same = found.iter().all(|(s, _)| *s == set);
        same.then(|| (set, found.into_iter().map(|(_, member)| member).collect()))
    }
}
