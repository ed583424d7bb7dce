//! What a pass promises of the graph that it makes, as something that can be checked.

use crate::graph::{Graph, NodeId, Op};

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

/// Which nodes an output needs.
pub(super) fn live(graph: &Graph) -> Vec<bool> {
    let mut live = vec![false; graph.len()];
    for o in &graph.outputs {
        live[o.node.index()] = true;
    }
    // Coins are drawn in the order of the program, also for a sample that nothing reads: those after it keep theirs.
    for id in graph.ids().filter(|&id| matches!(graph.op(id), Op::Draw(_))) {
        live[id.index()] = true;
    }
    for id in graph.ids().rev() {
        if live[id.index()] {
            for a in graph.args(id) {
                live[a.index()] = true;
            }
        }
    }
    live
}
