//! What stands beside each other in a value, and which entries it is made of: through what moves entries, and what
//! scales them or adds to them what is known.

use super::combinations::{Member, Values};
use super::view::View;
use crate::analysis::behind::{behind, keeps_entries};
use crate::analysis::layout::{Layout, aligned, digits, moved_from};
use crate::graph::{NodeId, Op};
use std::collections::{BTreeMap, BTreeSet};

/// Entries of a value that are looked at one by one.
const ENTRIES: u64 = 1 << 16;

/// A value, and what stands beside each other in it: each part is judged by itself, too, as if it were revealed alone.
/// Known factors and addends hide nothing, and a choice by known bits is what it chooses from.
pub(super) fn parts(view: &View, node: NodeId) -> Vec<NodeId> {
    let graph = &view.graph;
    let all = |v: NodeId| (graph.elements(v) <= ENTRIES).then(|| (0..graph.elements(v)).collect());
    // Values, and which entries of them, of few.
    let mut left: Vec<(NodeId, Option<BTreeSet<u64>>)> = vec![(node, all(node))];
    let (mut seen, mut out) = (BTreeSet::new(), vec![node]);
    let mut known = Values::default();
    while let Some((v, entries)) = left.pop() {
        // A list that is put beside itself again and again is looked at once.
        if !seen.insert((v, entries.clone())) {
            continue;
        }
        let (op, args) = (graph.op(v), graph.args(v));
        let origins = |layout: &Layout| {
            let mut of: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
            for (operand, at) in entries.iter().flatten().map(|&at| layout.origin(at)) {
                of.entry(operand).or_default().insert(at);
            }
            of.into_iter().map(|(i, entries)| (args[i], Some(entries))).collect::<Vec<_>>()
        };
        let parts = match (op, Layout::of(graph, v)) {
            (_, Some(layout)) if entries.is_some() => origins(&layout),
            (Op::Concat(_), _) => args.iter().map(|&a| (a, None)).collect(),
            (Op::Reshape(_) | Op::Transpose(_), _) => vec![(args[0], None)],
            _ if is_scaled(op) => match view.secret_args(v)[..] {
                [a] => {
                    let at = |&at: &u64| aligned(graph.shape(a), graph.shape(v), at);
                    vec![(a, entries.as_ref().map(|of| of.iter().map(at).collect()))]
                }
                _ => Vec::new(),
            },
            (Op::Select, _) if view.flow(args[0]).is_free() => {
                let at = |a: NodeId, entry: u64| aligned(graph.shape(a), graph.shape(v), entry);
                let mut side = |a: NodeId, other: f64| {
                    // Of a bit that a run may set either way, both sides are taken.
                    let mut taken = |entry: &&u64| {
                        known.of(graph, args[0], at(args[0], **entry)).real != Some(other)
                    };
                    let of: Option<BTreeSet<u64>> = entries.as_ref().map(|of| {
                        of.iter().filter(&mut taken).map(|&entry| at(a, entry)).collect()
                    });
                    of.as_ref().is_none_or(|of| !of.is_empty()).then_some((a, of))
                };
                [side(args[1], 0.0), side(args[2], 1.0)].into_iter().flatten().collect()
            }
            _ => Vec::new(),
        };
        if matches!(op, Op::Concat(_) | Op::Select) {
            let is_list = |part: NodeId| {
                let inner = behind(graph, part, keeps_entries);
                matches!(graph.op(inner), Op::Concat(_))
            };
            out.extend(parts.iter().map(|(part, _)| *part).filter(|part| !is_list(*part)));
        }
        left.extend(parts);
    }
    let mut said = BTreeSet::new();
    out.retain(|v| said.insert(*v));
    out
}

/// Whether an operation adds what is known to one value, or multiplies it.
fn is_scaled(op: &Op) -> bool {
    let known = matches!(op, Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Not | Op::ToInt);
    known || op.factor().is_some()
}

/// The entries that those of a value are, moved, scaled and complemented as may be; nothing if they are many.
pub(super) fn origins(view: &View, node: NodeId) -> BTreeSet<(NodeId, u64)> {
    let graph = &view.graph;
    let n = graph.elements(node);
    let origin = |at: u64| {
        let (mut v, mut at) = (node, at);
        loop {
            match (moved_from(graph, v, at), &view.secret_args(v)[..]) {
                (Some(from), _) => (v, at) = from,
                (None, &[a]) if is_scaled(graph.op(v)) => {
                    (v, at) = (a, aligned(graph.shape(a), graph.shape(v), at));
                }
                _ => return (v, at),
            }
        }
    };
    let secret = |(v, _): &(NodeId, u64)| !view.flow(*v).is_free();
    (0..n).filter(|_| n <= ENTRIES).map(origin).filter(secret).collect()
}

/// Steps back from one entry.
const STEPS: usize = 64;

/// The way back was too long to be followed: whose an entry is was not found out.
pub(super) struct TooFar;

/// The member that an entry stands beside others for, where it is found on the way back through what moves entries and
/// what is computed entry by entry; others' data may be in it.
pub(super) fn stands_for(view: &View, node: NodeId, at: u64) -> Result<Option<Member>, TooFar> {
    let graph = &view.graph;
    let (mut open, mut found) = (vec![(node, at)], BTreeSet::new());
    for _ in 0..STEPS {
        let Some((v, at)) = open.pop() else { break };
        let (shape, flow) = (graph.shape(v), view.flow(v));
        if let Some(member) = flow.beside_at(&digits(shape, at)) {
            found.insert(member);
        } else if let Some(from) = moved_from(graph, v, at) {
            open.push(from);
        } else if graph.op(v).is_pointwise() {
            let secret = view.secret_args(v).into_iter();
            open.extend(secret.map(|a| (a, aligned(graph.shape(a), shape, at))));
        }
    }
    match found.len() {
        0 | 1 if !open.is_empty() => Err(TooFar),
        1 => Ok(found.pop_first()),
        _ => Ok(None),
    }
}
