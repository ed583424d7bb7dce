//! Common subexpressions and dead code.
//!
//! Before: any graph. After: no two nodes have the same operation and operands, and every node but draws, and
//! what they read, is needed by an output. Draws stay apart: two samples of one shape have coins of their own.
//!
//! ```text
//! %2 = mul %0 %1
//! %3 = mul %0 %1
//! %4 = add %2 %3      ->   %3 = add %2 %2
//! ```

use super::promise::{Kept, live};
use crate::graph::{Graph, Key, NodeId, Op};
use std::collections::{HashMap, HashSet};

pub(super) fn run(graph: &Graph) -> Graph {
    let mut known: HashMap<(Key, Vec<NodeId>), NodeId> = HashMap::new();
    let merged = graph.rewrite(|new, id, args| {
        if let Op::Draw(_) = graph.op(id) {
            return new.keep(graph, id, args);
        }
        let key = (graph.op(id).key(), args.to_vec());
        *known.entry(key).or_insert_with(|| new.keep(graph, id, args))
    });
    dead_code(&merged)
}

pub(super) fn after(g: &Graph) -> Kept {
    let mut known = HashSet::new();
    let live = live(g);
    for id in g.ids() {
        let (op, args) = (g.op(id), g.args(id));
        let why = match known.insert((op.key(), args)) {
            _ if !live[id.index()] => "no output needs it",
            false if matches!(op, Op::Draw(_)) => continue,
            false => "an equal node stands before it",
            true => continue,
        };
        return Err(format!("%{} = {}: {why}", id.index(), op.name()));
    }
    Ok(())
}

/// Without the nodes that are not [`live`].
pub(crate) fn dead_code(graph: &Graph) -> Graph {
    let live = live(graph);
    let mut new = graph.empty_like();
    let mut map: Vec<Option<NodeId>> = vec![None; graph.len()];
    for id in graph.ids() {
        if live[id.index()] {
            let args: Vec<NodeId> = graph.args(id).iter().filter_map(|a| map[a.index()]).collect();
            map[id.index()] = Some(new.keep(graph, id, &args));
        }
    }
    new.outputs = graph
        .outputs
        .iter()
        .filter_map(|o| map[o.node.index()].map(|node| crate::graph::Output { node, ..o.clone() }))
        .collect();
    new
}
