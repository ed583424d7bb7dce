//! From flows to words: what a reveal is, and what is to be said against it.

use super::combinations::Member;
use super::findings::{LeakKind, LeakWarning};
use super::flow::{Dependence, Flow, Mask, Ranks, Scope};
use super::parts::{TooFar, origins, parts, stands_for};
use super::texts::{self, Said};
use super::view::View;
use super::warnings::{Attributed, Named, Warnings};
use crate::analysis::behind::behind;
use crate::graph::{NodeId, Op, Output};
use std::collections::BTreeSet;

/// What kind of function of the secrets a reveal is; `None` if of none.
pub(super) fn describe(view: &View, f: &Flow) -> Option<String> {
    let of = view.inputs(&f.inputs);
    let members = view.clients(f);
    let clients = match members {
        1 => view.one_client(f),
        n => format!("up to {n} clients"),
    };
    let divided = if f.divided { ", with a secret divisor" } else { "" };
    Some(match &f.form {
        Dependence::Free => return None,
        Dependence::Linear if f.divided => {
            format!("each entry adds up inputs of {clients}{divided}; it depends on {of}")
        }
        Dependence::Linear => format!("each entry is a linear function of {of} of {clients}"),
        Dependence::Masked(m) => {
            let ones = match m.ones {
                _ if !m.factor.selects() => ", weighted by secrets".into(),
                o if o.least == o.most => format!(", of which none or exactly {} count", o.most),
                o if o.least >= 2 => format!(", of which none or at least {} count", o.least),
                o if o.most < members => format!(", at most {} of which count", o.most),
                _ => String::new(),
            };
            let what = if m.computed { "values" } else { "inputs" };
            format!("each entry adds up {what} of {clients}{ones}{divided}; it depends on {of}")
        }
        Dependence::Other(_) => format!("computed from {of}"),
    })
}

/// What is said of each reveal to a receiver by itself, with the index of the output.
pub(super) fn warnings(view: &View, line: &dyn Fn(&str) -> u32) -> Vec<(usize, Attributed)> {
    let mut out = Vec::new();
    let outputs = view.graph.outputs.iter().enumerate();
    for (i, output) in outputs.filter(|(_, o)| o.to == view.to) {
        let mut all = Warnings::default();
        for node in parts(view, output.node) {
            let entries = match node == output.node {
                true => "every entry",
                false => "every entry of a part of it",
            };
            for said in part(view, node, entries) {
                let (reveals, line) = (vec![output.name.clone()], line(&output.name));
                let whose = match said.0 {
                    LeakKind::Determined | LeakKind::PerClient => {
                        view.named(view.flow(node).member_at(&[]))
                    }
                    _ => Named::new(),
                };
                all.add(Attributed::new(LeakWarning::new(said, reveals, line), whose));
            }
        }
        out.extend(all.into_attributed().into_iter().map(|told| (i, told)));
    }
    out
}

/// What is to be said against a value, or a part of one.
fn part(view: &View, node: NodeId, entries: &str) -> impl Iterator<Item = Said> {
    let f = view.flow(node);
    let of = &view.inputs(&f.inputs);
    let said = match &f.form {
        Dependence::Free => None,
        Dependence::Linear => {
            (f.clients() <= 1).then(|| texts::equations(entries, of, &view.one_client(f)))
        }
        Dependence::Masked(m) => masked(view, f, m, entries),
        Dependence::Other(m) => computed(view, node, m.as_ref(), entries),
    };
    said.into_iter().chain(f.divided.then(texts::divided))
}

/// Of a value for each client, of one client's, and else of a sum over clients behind secret factors.
fn masked(view: &View, f: &Flow, m: &Mask, entries: &str) -> Option<Said> {
    let of = &view.inputs(&f.inputs);
    if f.side_by_side() && f.clients() > 1 {
        return Some(texts::side_by_side("the receiver", &format!("computed from {of}")));
    }
    match view.clients(f) {
        0 | 1 => Some(texts::hidden_by_a_factor(entries, m, of)),
        n => masked_sum(n, m, of, false),
    }
}

/// Of a value that follows in no way that the flow tells. What kind of value it is says more than whose it is, and
/// this more than the sum that it may be computed from: the first that holds is said.
fn computed(view: &View, node: NodeId, m: Option<&Mask>, entries: &str) -> Option<Said> {
    let f = view.flow(node);
    let of = &view.inputs(&f.inputs);
    if is_bits(f) {
        return Some(bits(view, node, of));
    }
    if f.one_by_order() {
        return Some(texts::by_order(of));
    }
    match f.ranks {
        Ranks::Chosen => return Some(texts::chosen(of)),
        Ranks::Compared | Ranks::Named => return Some(texts::compared(of)),
        Ranks::No => {}
    }
    if f.per_client() && f.clients() <= 1 {
        return Some(texts::of_one(entries, of, &view.one_client(f)));
    }
    if f.side_by_side() {
        return Some(texts::side_by_side("the receiver", &format!("computed from {of}")));
    }
    let n = view.clients(f);
    m.filter(|_| n >= 2).and_then(|m| masked_sum(n, m, of, true))
}

/// Bits of single clients, and not of sums over clients.
pub(super) fn is_bits(f: &Flow) -> bool {
    matches!(f.form, Dependence::Other(_)) && f.is_bits() && (f.per_client() || f.ranks > Ranks::No)
}

/// Bits of clients: those that select what another reveal adds up are what a check is for.
fn bits(view: &View, node: NodeId, of: &str) -> Said {
    let f = view.flow(node);
    let (mut n, mut members) = (view.graph.elements(node), view.members(f));
    // Whose they are, if that is known of each, and how many are not equal by themselves.
    let all = origins(view, node);
    let whose = all.iter().map(|(bits, at)| stands_for(view, *bits, *at).transpose());
    match whose.collect::<Option<Result<BTreeSet<Member>, TooFar>>>() {
        Some(Ok(whose)) if !whose.is_empty() => {
            (n, members) = (all.len() as u64, whose.len() as u64)
        }
        Some(Err(TooFar)) if all.len() > 1 => {
            let (kind, why, help) = texts::more_bits_than_clients(all.len() as u64, 1, of);
            return (kind, why + texts::NOT_FOUND_OUT, help);
        }
        Some(_) | None => {}
    }
    if n > members {
        return texts::more_bits_than_clients(n, members, of);
    }
    match f.ranks > Ranks::No && !(f.side_by_side() && selects(view, node)) {
        true => texts::bits_of_order(of),
        false => texts::bits_of_clients(of),
    }
}

/// Whether bits that are revealed select what another reveal to the same receiver adds up: there they are factors of
/// what is added up, or conditions, by themselves or together with other bits.
fn selects(view: &View, node: NodeId) -> bool {
    let graph = &view.graph;
    let bits = behind(graph, node, |op| op.is_layout() || *op == Op::ToInt);
    let is_masked = |o: &&Output| matches!(view.flow(o.node).form, Dependence::Masked(_));
    let to_same = graph.outputs.iter().filter(|o| o.to == view.to);
    // What is added up, and what selects it.
    let mut open: Vec<(NodeId, bool)> =
        to_same.filter(is_masked).map(|o| (o.node, false)).collect();
    let mut seen = BTreeSet::new();
    while let Some((id, selects)) = open.pop() {
        if !seen.insert((id, selects)) {
            continue;
        }
        let args = graph.args(id);
        match graph.op(id) {
            op if op.is_layout() => open.push((args[0], selects)),
            Op::Concat(_) => open.extend(args.iter().map(|&a| (a, selects))),
            Op::And | Op::Not | Op::ToInt if selects => {
                open.extend(args.iter().map(|&a| (a, true)))
            }
            _ if selects => {}
            Op::Mul | Op::MatMul { .. } | Op::Select => {
                open.extend(args.iter().map(|&a| (a, view.flow(a).is_bits())));
            }
            Op::Div => open.push((args[0], false)),
            op if matches!(op, Op::Add | Op::Sub | Op::Sum(_)) || op.factor().is_some() => {
                open.extend(args.iter().map(|&a| (a, false)));
            }
            _ => {}
        }
    }
    seen.contains(&(bits, true))
}

/// Of a sum over clients behind secret factors; `indirect` where the value is only computed from such a sum.
fn masked_sum(n: u64, m: &Mask, of: &str, indirect: bool) -> Option<Said> {
    match m.scope {
        Scope::All => None,
        Scope::AllByOne => Some(texts::decided_by_one(of)),
        Scope::Each if m.ones.most <= 1 => Some(texts::exactly_one(n, m, of)),
        Scope::Each if !m.factor.selects() => Some(texts::weights(n, m, indirect)),
        Scope::Each => (m.ones.least < 2).then(|| texts::few_may_pass(n, m, indirect)),
    }
}
