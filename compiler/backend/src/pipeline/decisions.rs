//! Comparisons of which nothing is proven.

use super::Compiled;
use slvr_graph::analysis::errors::{encoded_errors, errors};
use slvr_graph::graph::{Class, Graph, NodeId, Op};
use slvr_language::diagnostic::rounding::upward;
use slvr_language::diagnostic::{Diagnostic, codes};
use slvr_language::types::Elem;
use std::collections::BTreeSet;

/// A warning for each comparison whose margin is wider than the interval of what is compared, unless a network computes
/// that: of networks no comparison has a margin that says anything, and the certificate tells.
pub(super) fn check(compiled: &Compiled) -> Vec<Diagnostic> {
    let Compiled { optimised: g, ranges, guards, stated, .. } = compiled;
    let networks = networks(g);
    let compares = |id: NodeId| {
        let inexact = g.args(id).iter().any(|&a| g.ty(a).elem == Elem::Fix);
        matches!(g.op(id), Op::Lt | Op::Eq | Op::ArgMax | Op::ArgMaxIs) && inexact
    };
    if !g.ids().any(|id| compares(id) && !networks[id.index()]) {
        return Vec::new();
    }
    let errors = errors(g, &ranges.raw, &encoded_errors(g, guards), stated);
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for d in errors.decisions.iter().filter(|d| !networks[d.node.index()]) {
        let spread = ranges.spread(g, d.node);
        let site = &g.sites[d.site as usize];
        let place = site.place(g.op(d.node));
        let span = place.call.unwrap_or(place.span);
        if d.margin <= spread || !seen.insert((span.file, span.start)) {
            continue;
        }
        let title = "of this decision nothing is proven".to_string();
        let label = format!(
            "what is compared is at most {} apart, and decides as in the program where it is more than {} apart",
            upward(spread),
            upward(d.margin)
        );
        found.push(Diagnostic::warning(codes::MARGIN, title, span, label).hint(
            "declare narrower ranges, or divide by the largest entry or by a norm before products of small numbers are \
             made; `slvrc certify` says of inputs at hand which decisions fall as in the program",
        ));
    }
    found
}

/// The nodes of a graph that depend on layers of a network.
fn networks(g: &Graph) -> Vec<bool> {
    g.descendants_of(|id| g.op(id).class() == Class::Bilinear && g.site(id).network)
}
