//! From flows to words: what a reveal is, and what is to be said against it.

use super::findings::{LeakKind, LeakWarning};
use super::flow::{Flow, Form, Mask, Ranks};
use super::rounds;
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
        Form::Free => return None,
        Form::Linear => format!("each entry is a linear function of {of} of {clients}"),
        Form::Masked(m) => {
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
        Form::Other(_) => format!("computed from {of}"),
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
    let (of, one) = (names(graph, &f.inputs), one_client(graph, f));
    match &f.form {
        Form::Free => {}
        Form::Linear if f.clients() <= 1 => warn(
            LeakKind::Determined,
            format!(
                "every entry is a linear function of {of} of {one}, with public \
                 coefficients and no sum over clients: the receiver gets equations in that \
                 client's input alone, and the input itself where they are as many as its entries"
            ),
            "reveal a sum over at least two clients",
        ),
        Form::Linear => {}
        Form::Masked(m) => masked(counted(graph, f), m, &of, "it", warn),
        Form::Other(_) if is_bits(f) => bits(graph, flows, (node, to), f, &of, warn),
        Form::Other(_) if f.one_by_order() => warn(
            LeakKind::OrderStatistic,
            format!(
                "taking entries in ascending order over clients gives exactly one client's value, \
                 computed from {of}; the receiver is not told whose, but may recognise it"
            ),
            "a mean of several middle entries (`trimmed_mean`) blurs it; otherwise accept it",
        ),
        Form::Other(_) if f.ranks == Ranks::Chosen => warn(
            LeakKind::Order,
            format!(
                "it is one of several public numbers, chosen by bits of single clients that are computed \
                 from {of}, another number by another client's: which one it is says whose bit it was, \
                 such as which client has the largest value, or is the last beyond a threshold"
            ),
            "keep the choice secret and reveal a sum over those that it selects",
        ),
        Form::Other(_) if f.ranks > Ranks::No => warn(
            LeakKind::Order,
            format!(
                "it is found by comparing clients with one another, by what is computed from {of}: \
                 the receiver learns which client has the largest value, or which place one has"
            ),
            "keep the order secret and reveal a sum over those that it selects",
        ),
        Form::Other(_) if f.per_client() && f.clients() <= 1 => warn(
            LeakKind::PerClient,
            format!(
                "every entry is computed from {of} of {one} alone, and from what the receiver knows: \
                 with enough entries it may determine that input"
            ),
            "reveal a statistic over clients (a sum, a mean), or compare and keep the result secret",
        ),
        Form::Other(_) if f.side_by_side() => warn(
            LeakKind::PerClient,
            format!(
                "there is an entry for each client, computed from {of}: the receiver can tell \
                 clients apart by it, and who is first, even if others' inputs take part in it"
            ),
            "reveal a statistic over clients (a sum, a mean), or compare and keep the result secret",
        ),
        Form::Other(None) => {}
        Form::Other(Some(m)) => {
            let n = counted(graph, f);
            if n >= 2 {
                masked(n, m, &of, "it is computed from what", warn);
            }
        }
    }
    if f.divided {
        warn(
            LeakKind::SecretDivisor,
            "a sum over clients is divided by a secret. The quotient is rounded before it is opened, \
             so that the divisor does not show in its low bits; yet where the sum is known to be a \
             multiple of something (integers, zeros, equal inputs) the receiver can tell the divisor, \
             such as how many clients were kept"
                .into(),
            "divide by a public number (then the count stays secret), or reveal the count and say so",
        );
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
    matches!(f.form, Form::Other(_)) && f.is_bits() && (f.per_client() || f.ranks > Ranks::No)
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
    let is_masked = |o: &&Output| matches!(flows[o.node.index()].form, Form::Masked(_));
    let to_same = graph.outputs.iter().filter(|o| o.to == to);
    let sums: BTreeSet<NodeId> = to_same.filter(is_masked).map(|o| o.node).collect();
    graph.ancestors_of(|id| sums.contains(&id))[bits.index()]
}

fn masked(n: u64, m: &Mask, of: &str, it: &str, warn: &mut dyn FnMut(LeakKind, String, &str)) {
    if n <= 1 {
        let factor = if m.bit { "a secret bit" } else { "a secret number" };
        return warn(
            LeakKind::PerClient,
            format!(
                "every entry is one client's input times {factor}, with no sum over clients (it depends \
                 on {of}): where the factor is not 0 the receiver sees that client's input, up to a scale"
            ),
            "reveal the sum over clients",
        );
    }
    if !m.each && m.alone {
        return warn(
            LeakKind::Selection,
            format!(
                "a sum over clients is multiplied by what one client's inputs decide (it depends on {of}): \
                 whether it is 0 says so of that client"
            ),
            "leave the factor out, or let it follow from all clients",
        );
    }
    if !m.each {
        return;
    }
    let (what, one) = if m.computed { ("values", "value") } else { ("inputs", "input") };
    match m.ones {
        o if o.most <= 1 => warn(
            LeakKind::OneClient,
            format!(
                "at most one of {n} secret bits is 1, so this sum is one client's {one} as it is (it \
                 depends on {of}); the receiver is not told whose, but may recognise it"
            ),
            "if the check means to pick one client, say so to the clients; otherwise sum several \
             (`top_k[k]` with k of at least 2)",
        ),
        o if o.least >= 2 && m.bit => {}
        o if m.bit => {
            let most =
                if o.most < n { format!(" (at most {} are)", o.most) } else { String::new() };
            let none = if m.zero { "zeros" } else { "what is public" };
            warn(
                LeakKind::MaskedSum,
                format!(
                    "{it} adds up the {what} of those of {n} clients whose secret bit is 1, and nothing \
                     keeps the number of such bits at two or more{most}: if one client passes, the \
                     reveal is its {one}, up to the public divisor; if none does, it is {none}. The \
                     receiver is not told how many passed, but zeros and outliers say something. An \
                     attacker who makes others fail, or whose own inputs pass and are known to it, can \
                     bring this about"
                ),
                "accept it and tell the clients; or select a fixed number by rank only (`top_k[k]` \
                 with k of at least 2 always sums exactly k); or make the sum zero unless enough pass: \
                 `keep[i] && sum(keep) >= least` in place of `keep[i]`",
            );
        }
        _ => warn(
            LeakKind::MaskedSum,
            format!(
                "{it} adds up the {what} of {n} clients, each times a secret weight: if all weights but \
                 one are 0, or nearly so, the reveal is one client's {one}, up to a scale"
            ),
            "accept it and tell the clients, or bound the weights from below and above so that at least \
             two always count",
        ),
    }
}
