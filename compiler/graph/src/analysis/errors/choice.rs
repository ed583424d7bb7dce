//! Which comparisons only choose between near values, and which decide.
//!
//! A run compares its own values exactly. Where what it then computes is a continuous function of the
//! values compared (the larger of two, an order statistic), a comparison that comes out otherwise than
//! in the program changes the result by no more than the values themselves are off. Two patterns that
//! the passes make are recognised, by what they compute and not by who made them: a selection between
//! values whose difference is that of the compared ones ([`linear`]), and a sum of values times a mask
//! that depends on their ranks only in all rows ([`crate::analysis::order`]).

use super::bounds::{Decision, Errors};
use super::linear;
use super::margin;
use super::view::View;
use crate::analysis::interval::Interval;
use crate::analysis::order::{self, Ranked};
use crate::graph::{NodeId, Op};
use std::collections::BTreeMap;

/// A value that comparisons choose continuously.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    /// A selection of the larger of two, or the like.
    Larger {
        /// For truncations between the comparison and the selection.
        slack: f64,
    },
    /// A sum of values by their rank.
    Ranked {
        values: NodeId,
        /// Sum of the absolute weights.
        entries: f64,
        /// By entry, for truncations between the comparisons and the sum.
        slack: f64,
    },
}

/// The sums of values by their rank of a graph.
pub(super) fn ranked(view: &View<'_>) -> BTreeMap<NodeId, Ranked> {
    let of = |id: NodeId| order::of_values(view, id).map(|found| (id, found));
    view.g.ids().filter_map(of).collect()
}

/// The choices of a graph, by node, with its [`ranked`] sums.
pub(super) fn find(
    view: &View<'_>,
    raw: &[Interval],
    ranked: &BTreeMap<NodeId, Ranked>,
) -> Vec<Option<Choice>> {
    let choice = |id: NodeId| match (view.op(id), ranked.get(&id)) {
        (Op::Select, _) => linear::continuous(view, raw, id).map(|slack| Choice::Larger { slack }),
        (_, Some(found)) => {
            let (values, entries) = (found.values, found.entries());
            Some(Choice::Ranked { values, entries, slack: found.slack(view) })
        }
        _ => None,
    };
    view.g.ids().map(choice).collect()
}

/// The operands that a node's value depends on otherwise than through a choice between near values.
fn read<'a>(view: &'a View<'_>, choices: &'a [Option<Choice>], id: NodeId) -> &'a [NodeId] {
    let args = view.args(id);
    match (&choices[id.index()], view.op(id)) {
        (Some(Choice::Ranked { values, .. }), _) => std::slice::from_ref(values),
        (Some(Choice::Larger { .. }), _) => &args[1..],
        (None, Op::Gate) if view.g.gates_itself(id) => &args[..1],
        _ => args,
    }
}

/// Of each node whether revealed values depend on it so.
fn needed(view: &View<'_>, choices: &[Option<Choice>]) -> Vec<bool> {
    let mut needed = vec![false; view.g.len()];
    view.g.outputs.iter().for_each(|o| needed[o.node.index()] = true);
    for id in view.g.ids().rev() {
        if needed[id.index()] {
            read(view, choices, id).iter().for_each(|a| needed[a.index()] = true);
        }
    }
    needed
}

/// Comparisons of inexact values that revealed values depend on otherwise than through a choice; and of
/// each node whether they do.
pub(super) fn decisions(
    view: &View<'_>,
    choices: &[Option<Choice>],
    raw: &[Interval],
    errors: &Errors,
) -> (Vec<Decision>, Vec<bool>) {
    let needed = needed(view, choices);
    let decision = |id: NodeId| {
        let args = view.args(id);
        let sides: &[NodeId] = match view.op(id) {
            Op::Lt | Op::Eq => args,
            // Two entries of one value.
            Op::ArgMax | Op::ArgMaxIs => &[args[0], args[0]],
            Op::Gate if read(view, choices, id).len() > 1 => &args[1..],
            _ => return None,
        };
        let margin: f64 = sides.iter().map(|s| errors.proven[s.index()]).sum();
        if margin <= 0.0 {
            return None;
        }
        // How small the sides may be, in the program and in a run.
        let least = |s: &NodeId| raw[s.index()].0 * view.ulp(*s) - errors.proven[s.index()];
        let lows = sides.iter().map(least).collect::<Vec<f64>>();
        let node = view.g.node(id);
        let units = view.g.sites.get(node.site as usize).and_then(|s| s.compared.as_ref());
        let steps = units.map_or(&[][..], |c| &c.steps);
        let source = margin::in_source(margin, &lows, steps);
        Some(Decision { node: id, site: view.g.home(id), margin, source })
    };
    let found = view.g.ids().filter(|id| needed[id.index()]).filter_map(decision).collect();
    (found, needed)
}
