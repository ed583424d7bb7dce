//! What a pass promises of the graph that it makes, as something that can be checked.

use crate::graph::{Graph, NodeId, Op};
use std::collections::BTreeSet;

/// Whether a graph keeps a promise; otherwise the node that breaks it, and how.
pub type Kept = Result<(), String>;

/// Of all nodes that an output needs, none is broken. What no output needs goes with the next dead
/// code, so passes may leave it behind.
pub(super) fn none(g: &Graph, why: &str, broken: impl Fn(NodeId) -> bool) -> Kept {
    let live = live(g);
    match g.ids().find(|&id| live[id.index()] && broken(id)) {
        None => Ok(()),
        Some(id) => Err(format!("%{} = {}: {why}", id.index(), g.op(id).name())),
    }
}

/// Which nodes stay: those that an output needs, and draws with what they read.
pub(super) fn live(graph: &Graph) -> Vec<bool> {
    let outputs: BTreeSet<NodeId> = graph.outputs.iter().map(|o| o.node).collect();
    // Coins are drawn in the order of the program, also for a sample that nothing reads: those after it keep theirs.
    graph.ancestors_of(|id| outputs.contains(&id) || matches!(graph.op(id), Op::Draw(_)))
}
