//! From flows to words: what a reveal is, and what is to be said against it.

use super::findings::{LeakKind, LeakWarning};
use super::flow::{Dependence, Flow, Mask, Ranks};
use super::rounds;
use super::texts::{self, Said};
use crate::analysis::layout::behind;
use crate::graph::{Graph, NodeId, Op, Output};
use std::collections::BTreeSet;

/// Names of inputs, for people.
pub(super) fn names(graph: &Graph, inputs: &BTreeSet<u32>) -> String {
    let names = inputs.iter().filter_map(|&i| graph.inputs.get(i as usize));
    let quoted: Vec<String> = names.map(|i| format!("`{}`", i.name)).collect();
    quoted.join(", ")
}

/// A member of a party set, for people.
pub(super) fn member(graph: &Graph, set: u32, member: u64) -> String {
    let name = graph.parties.get(set as usize).map_or("?", |p| p.0.as_str());
    format!("{name} {}", rounds::number(graph, set, member))
}

/// The client that a value depends on alone.
fn one_client(graph: &Graph, f: &Flow) -> String {
    f.member().map_or("one client".into(), |(set, m)| member(graph, set, m))
}

/// Members of the sets that give a value's inputs.
fn members(graph: &Graph, f: &Flow) -> u64 {
    let inputs = f.inputs.iter().filter_map(|&i| graph.inputs.get(i as usize)?.from.set());
    let sets: BTreeSet<u32> = inputs.collect();
    sets.iter().filter_map(|&s| graph.parties.get(s as usize)).map(|p| p.1).sum()
}

/// Clients that an entry depends on: no more than there are in the sets that give its inputs.
fn counted(graph: &Graph, f: &Flow) -> u64 {
    f.clients().min(members(graph, f))
}

/// What kind of function of the secrets a reveal is; `None` if of none.
pub(super) fn describe(graph: &Graph, f: &Flow) -> Option<String> {
    let of = names(graph, &f.inputs);
    let members = counted(graph, f);
    let clients = match members {
        1 => one_client(graph, f),
        n => format!("up to {n} clients"),
    };
    Some(match &f.form {
        Dependence::Free => return None,
        Dependence::Linear => format!("each entry is a linear function of {of} of {clients}"),
        Dependence::Masked(m) => {
            let ones = match m.ones {
                _ if !m.bit => ", weighted by secrets".into(),
                o if o.least == o.most => format!(", exactly {} of which count", o.most),
                o if o.least >= 2 => format!(", of which none or at least {} count", o.least),
                o if o.most < members => format!(", at most {} of which count", o.most),
                _ => String::new(),
            };
            let what = if m.computed { "values" } else { "inputs" };
            format!("each entry adds up {what} of {clients}{ones}; it depends on {of}")
        }
        Dependence::Other(_) => format!("computed from {of}"),
    })
}

/// What is said of each reveal to a receiver by itself, with the index of the output.
pub(super) fn warnings(
    graph: &Graph,
    flows: &[Flow],
    to: u32,
    line: &dyn Fn(&str) -> u32,
) -> Vec<(usize, LeakWarning)> {
    let mut out = Vec::new();
    for (i, output) in graph.outputs.iter().enumerate().filter(|(_, o)| o.to == to) {
        let first = out.len();
        let mut warn = |kind: LeakKind, why: String, help: &str| {
            if out[first..].iter().any(|(_, said): &(usize, LeakWarning)| said.kind == kind) {
                return;
            }
            let (reveals, line) = (vec![output.name.clone()], line(&output.name));
            let level = kind.level();
            out.push((i, LeakWarning { kind, level, reveals, line, why, help: help.into() }));
        };
        for node in parts(graph, output.node) {
            part(graph, flows, node, to, &mut warn);
        }
    }
    out
}

/// What is to be said against a value, or a part of one.
fn part(
    graph: &Graph,
    flows: &[Flow],
    node: NodeId,
    to: u32,
    warn: &mut dyn FnMut(LeakKind, String, &str),
) {
    let f = &flows[node.index()];
    let (of, one) = (&names(graph, &f.inputs), &one_client(graph, f));
    let said = match &f.form {
        Dependence::Free => None,
        Dependence::Linear => (f.clients() <= 1).then(|| texts::equations(of, one)),
        Dependence::Masked(m) => masked(counted(graph, f), m, of, false),
        Dependence::Other(_) if is_bits(f) => {
            bits(graph, flows, (node, to), f, of, warn);
            None
        }
        Dependence::Other(_) if f.one_by_order() => Some(texts::by_order(of)),
        Dependence::Other(_) if f.ranks == Ranks::Chosen => Some(texts::chosen(of)),
        Dependence::Other(_) if f.ranks > Ranks::No => Some(texts::compared(of)),
        Dependence::Other(_) if f.per_client() && f.clients() <= 1 => Some(texts::of_one(of, one)),
        Dependence::Other(_) if f.side_by_side() => Some(texts::side_by_side(of)),
        Dependence::Other(m) => {
            let n = counted(graph, f);
            m.as_ref().filter(|_| n >= 2).and_then(|m| masked(n, m, of, true))
        }
    };
    for (kind, why, help) in said.into_iter().chain(f.divided.then(texts::divided)) {
        warn(kind, why, help);
    }
}

/// A value, and what stands beside each other in it: each part is judged by itself, too, as if it were revealed alone.
pub(super) fn parts(graph: &Graph, node: NodeId) -> Vec<NodeId> {
    let moved =
        |op: &Op| matches!(op, Op::Reshape(_) | Op::Transpose(_) | Op::Trunc(_) | Op::Shift(_));
    let (mut left, mut seen, mut out) = (vec![node], BTreeSet::new(), vec![node]);
    while let Some(v) = left.pop() {
        // A list that is put beside itself again and again is looked at once.
        if !seen.insert(v) {
            continue;
        }
        let at = behind(graph, v, moved);
        match graph.op(at) {
            Op::Concat(_) => left.extend(graph.args(at)),
            _ if v != node => out.push(v),
            _ => {}
        }
    }
    out
}

/// Bits of single clients, and not of sums over clients.
pub(super) fn is_bits(f: &Flow) -> bool {
    matches!(f.form, Dependence::Other(_)) && f.is_bits() && (f.per_client() || f.ranks > Ranks::No)
}

/// Bits of clients: those that select what another reveal adds up are what a check is for.
fn bits(
    graph: &Graph,
    flows: &[Flow],
    (node, to): (NodeId, u32),
    f: &Flow,
    of: &str,
    warn: &mut dyn FnMut(LeakKind, String, &str),
) {
    let keep = "keep the bits secret and reveal what they select, or only how many there are";
    let (n, members) = (graph.elements(node), members(graph, f));
    if n > members {
        return warn(
            LeakKind::SeveralBits,
            format!(
                "there are {n} bits of {members} clients, computed from {of}: several comparisons of one \
                 client say more than whether it was kept, and enough of them its value"
            ),
            keep,
        );
    }
    if f.ranks > Ranks::No && !(f.side_by_side() && selects(graph, flows, node, to)) {
        return warn(
            LeakKind::Order,
            format!(
                "these bits are found by comparing clients with one another, by what is computed from \
                 {of}: the receiver learns who comes before whom"
            ),
            keep,
        );
    }
    warn(
        LeakKind::Selection,
        format!(
            "these are bits of single clients, computed from {of}: the receiver learns who was \
             selected, or how a client compares with others"
        ),
        keep,
    );
}

/// Whether bits that are revealed select what another reveal to the same receiver adds up.
fn selects(graph: &Graph, flows: &[Flow], node: NodeId, to: u32) -> bool {
    let moved = |op: &Op| op.is_layout() || *op == Op::ToInt;
    let bits = behind(graph, node, moved);
    let is_masked = |o: &&Output| matches!(flows[o.node.index()].form, Dependence::Masked(_));
    let to_same = graph.outputs.iter().filter(|o| o.to == to);
    let sums: BTreeSet<NodeId> = to_same.filter(is_masked).map(|o| o.node).collect();
    graph.ancestors_of(|id| sums.contains(&id))[bits.index()]
}

/// Of a sum over clients behind secret factors; `indirect` where the value is only computed from such a sum.
fn masked(n: u64, m: &Mask, of: &str, indirect: bool) -> Option<Said> {
    match m.ones {
        _ if n <= 1 => Some(texts::hidden_by_a_factor(m, of)),
        _ if !m.each => m.alone.then(|| texts::decided_by_one(of)),
        o if o.most <= 1 => Some(texts::exactly_one(n, m, of)),
        o if o.least >= 2 && m.bit => None,
        _ if m.bit => Some(texts::few_may_pass(n, m, indirect)),
        _ => Some(texts::weights(n, m, indirect)),
    }
}
