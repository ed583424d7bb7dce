//! Work of a batch in blocks, for a memory budget.
//!
//! A value that is small, but computed from large ones, is a *sink*: the class scores of many images,
//! say. A sink is computed as parts one after another, each from parts of what it reads, so that only one
//! part's large values exist at a time. Parts are made along the first axis (of clients, whose weights are then
//! also made part by part) and, once each has one entry, along the second (of samples).
//!
//! Before: a graph with scales and cuts. After: the same values; [`Blocked::block`] says in which block
//! each node is, and the scheduler runs blocks in order. A node that others read too is computed as
//! a whole and sliced: nothing is computed twice.

use super::cse;
use super::promise::live;
use super::slice_pushdown::{Part, SlicePushdown};
use crate::graph::{Graph, NodeId, Op, Output};
use slvr_language::syntax::ast::Secrecy;

/// A sink has at most one in so many of the elements of the largest value it is made of; and that
/// has at least one in so many of those of the largest value of all.
const SMALL: u64 = 64;

/// Blocks of sinks that read other sinks are numbered from here on.
const LEVEL: u32 = 1 << 16;

/// A graph in blocks.
#[derive(Clone, Debug)]
pub struct Blocked {
    pub graph: Graph,
    /// The block of each node, from 1; 0 for what belongs to none.
    pub block: Vec<u32>,
}

impl Blocked {
    /// A graph as it is.
    pub fn whole(graph: &Graph) -> Blocked {
        Blocked { graph: graph.clone(), block: vec![0; graph.len()] }
    }
}

/// The most blocks that a graph can be computed in.
pub fn most(graph: &Graph) -> u64 {
    let sinks = sinks(graph);
    let parts = |id: &NodeId| graph.shape(*id).iter().take(2).product::<u64>();
    graph.ids().filter(|id| sinks[id.index()].is_some()).map(|id| parts(&id)).max().unwrap_or(1)
}

/// The graph in (about) so many blocks.
pub fn run(graph: &Graph, count: u64) -> Blocked {
    let sinks = sinks(graph);
    if count <= 1 || sinks.iter().all(Option::is_none) {
        return Blocked::whole(graph);
    }
    let inside = inside(graph, &sinks);
    let mut narrow = SlicePushdown::default();
    // By index in the new graph: what may be computed in parts; the block.
    let mut through: Vec<bool> = Vec::new();
    let mut block: Vec<u32> = Vec::new();
    let new = graph.rewrite(|new, id, args| {
        let whole = new.keep(graph, id, args);
        let sink = sinks[id.index()];
        through.push(inside[id.index()] || sink.is_some());
        block.push(0);
        let Some(level) = sink else { return whole };
        let mut made = Vec::new();
        for (i, parts) in (1..).zip(parts(graph.shape(id), count)) {
            let mut piece = whole;
            for &part in &parts {
                // What a part of the first axis is made of may be computed in parts of the second.
                let may = |n: NodeId| through.get(n.index()).copied().unwrap_or(true);
                piece = narrow.part(new, piece, part, &may);
            }
            through.resize(new.len(), true);
            block.resize(new.len(), level * LEVEL + i);
            made.push((parts, piece));
        }
        let joined = join(new, &made, graph.node(id).site);
        through.resize(new.len(), false);
        block.resize(new.len(), 0);
        joined
    });
    let live = live(&new);
    let block = block.iter().zip(&live).filter(|(_, live)| **live).map(|(b, _)| *b).collect();
    Blocked { graph: cse::dead_code(&new), block }
}

/// The parts of a sink, in order.
fn parts(shape: &[u64], count: u64) -> Vec<Vec<Part>> {
    let chunks = |axis: usize, count: u64| -> Vec<Part> {
        let n = shape.get(axis).copied().unwrap_or(1);
        let count = count.min(n).max(1);
        let edge = |i: u64| n * i / count;
        (0..count).map(|i| Part { axis, start: edge(i), len: edge(i + 1) - edge(i) }).collect()
    };
    let first = chunks(0, count);
    let second = chunks(1, count.div_ceil(first.len() as u64));
    match (first.len(), second.len()) {
        (_, 1) => first.into_iter().map(|p| vec![p]).collect(),
        (1, _) => second.into_iter().map(|p| vec![p]).collect(),
        _ => first.iter().flat_map(|&a| second.iter().map(move |&b| vec![a, b])).collect(),
    }
}

/// A node, and which part of a sink it is: of the outer axis, then of the inner.
type Piece = (Vec<Part>, NodeId);

/// The parts of a sink put together again: inner axes first.
fn join(g: &mut Graph, made: &[Piece], site: u32) -> NodeId {
    let mut rows: Vec<(Part, Vec<Piece>)> = Vec::new();
    for (parts, piece) in made {
        let Some((first, rest)) = parts.split_first() else { return *piece };
        match rows.last_mut() {
            Some((p, row)) if p == first => row.push((rest.to_vec(), *piece)),
            _ => rows.push((*first, vec![(rest.to_vec(), *piece)])),
        }
    }
    let axis = rows.first().map_or(0, |(p, _)| p.axis);
    let rows: Vec<NodeId> = rows.iter().map(|(_, row)| join(g, row, site)).collect();
    match rows[..] {
        [one] => one,
        _ => g.add(Op::Concat(axis as u64), &rows, site),
    }
}

/// The sinks, each with the number of sinks that it depends on one after another.
fn sinks(graph: &Graph) -> Vec<Option<u32>> {
    let mut sinks = vec![None; graph.len()];
    let largest = graph.ids().map(|id| computed(graph, id)).max().unwrap_or(0);
    // Of each node: elements of the largest value it is made of, after the last sinks; sinks above it.
    let mut large = vec![0; graph.len()];
    let mut above = vec![0u32; graph.len()];
    for id in graph.ids() {
        let args = graph.args(id);
        let own = computed(graph, id);
        let most = args.iter().map(|a| large[a.index()]).max().unwrap_or(0);
        above[id.index()] = args.iter().map(|a| above[a.index()]).max().unwrap_or(0);
        large[id.index()] = own.max(most);
        let splits = graph.shape(id).iter().take(2).any(|&d| d > 1);
        if own > 0 && splits && most * SMALL >= largest && own * SMALL <= most {
            sinks[id.index()] = Some(above[id.index()]);
            above[id.index()] += 1;
            large[id.index()] = own;
        }
    }
    sinks
}

/// Elements of a secret value that is computed; 0 of others.
fn computed(graph: &Graph, id: NodeId) -> u64 {
    let made = !graph.op(id).is_layout() && !graph.args(id).is_empty();
    let secret = graph.ty(id).secrecy == Secrecy::Secret;
    if made && secret { graph.elements(id) } else { 0 }
}

/// Which nodes are read for sinks only.
fn inside(graph: &Graph, sinks: &[Option<u32>]) -> Vec<bool> {
    let mut inside = vec![false; graph.len()];
    let opened: Vec<NodeId> = graph.outputs.iter().map(|o: &Output| o.node).collect();
    for id in graph.ids().rev() {
        let users = graph.users(id);
        let all = users.iter().all(|u| inside[u.index()] || sinks[u.index()].is_some());
        inside[id.index()] = all && !users.is_empty() && !opened.contains(&id);
    }
    inside
}

#[cfg(test)]
mod tests;
