//! Lowers nodes: each by family T2 where that has a protocol for it and something speaks for it, else by family T1.
//!
//! What is chosen for a node depends on the graph, on what is proven of its values, on the forms in which earlier nodes
//! were made, and on the one cost model of the compiler ([`crate::cost::Tuning`]). Without a network to choose for, all
//! nodes are of T1. Values stay split with the same dealers as long as operations go shard by shard, because the dealer
//! of what is made of a replicated value learns its part only when the value is there.

use super::form::{Form, Values};
use super::search::Searches;
use super::t1::search::search;
use super::target::Family;
use super::{t1, t2};
use slvr_circuit::verify::MAX_ELEMENTS;
use slvr_graph::graph::infer::ELEMENTS_END;
use slvr_graph::graph::ranks::{MOST, PAIRED, Ranks};
use slvr_graph::graph::{Graph, NodeId, Op, Site};
use slvr_language::diagnostic::{Diagnostic, codes};

/// Refuses the sorts that passes have left: those of long vectors, of which all entries are used, and order statistics of
/// too many entries. No protocol computes one.
pub fn refuse_sorts(g: &Graph) -> Result<(), Vec<Diagnostic>> {
    let refused = g.ids().find_map(|id| match g.op(id) {
        Op::Sort => Some(all_in_order(g.site(id), g.shape(id).last().copied().unwrap_or(0))),
        Op::SortSum { .. } => Some(too_many_ranks(g.site(id), g.shape(g.arg(id, 0)))),
        _ => None,
    });
    refused.map_or(Ok(()), |why| Err(vec![why]))
}

/// Entries by their ranks in vectors that [`rankable`] refuses.
///
/// [`rankable`]: slvr_graph::graph::ranks::rankable
fn too_many_ranks(site: &Site, shape: &[u64]) -> Diagnostic {
    let n = shape.last().copied().unwrap_or(1);
    let vectors = shape.iter().rev().skip(1).product::<u64>();
    Diagnostic::error(
        codes::SIZE,
        format!("entries by their ranks in {vectors} vectors of {n} entries"),
        site.span,
        format!(
            "of a vector at most {MOST} entries, of all vectors less than 2^{} pairs",
            ELEMENTS_END.ilog2()
        ),
    )
    .hint("rank fewer vectors at a time, or shorter ones")
}

/// Refuses the ranks of all entries of a long vector, before any pair of them is compared.
pub fn refuse_all_in_order(g: &Graph, searches: &Searches) -> Result<(), Vec<Diagnostic>> {
    let mut read = g.ids().filter(|id| searches.is_read(*id));
    let found = read.find_map(|id| Some((id, unsearched(g, id)?)));
    found.map_or(Ok(()), |(id, n)| Err(vec![all_in_order(g.site(id), n)]))
}

/// Lowers a node.
///
/// # Errors
///
/// A value of more elements than a circuit has.
pub fn lower(l: &mut Values<'_>, id: NodeId) -> Result<(), Vec<Diagnostic>> {
    let g = l.facts.graph;
    // What nothing reads is not made, and some values are made together with what reads them, or with what they read.
    if !l.searches.is_read(id) || l.facts.compared(id).is_some() || l.made(id).is_some() {
        return Ok(());
    }
    if g.elements(id) > MAX_ELEMENTS {
        return Err(vec![too_large(g.site(id), g.elements(id))]);
    }
    let forms = match (l.searches.at(id), l.facts.family) {
        (Some((of, how)), _) => {
            let x = l.in_ring(of, how.ring().unwrap_or_else(|| l.facts.rings.of(of)));
            Some(Form::Replicated(search(&mut l.emit, x, &how)).into())
        }
        (None, Family::T2(tuning)) if l.facts.is_secret(id) => t2::node(l, id, tuning),
        _ => None,
    };
    let forms = forms.unwrap_or_else(|| t1::node(l, id));
    l.record(id, forms);
    debug_assert!(l.is_well_made(id), "{}: {:?}", g.op(id).name(), l.made(id));
    Ok(())
}

/// A value of more elements than a circuit has.
fn too_large(site: &Site, elements: u64) -> Diagnostic {
    let of = if site.name.is_empty() { String::new() } else { format!(" for `{}`", site.name) };
    Diagnostic::error(
        codes::SIZE,
        format!("{elements} values at once{of}, and a circuit has at most {MAX_ELEMENTS}"),
        site.span,
        "to compute this",
    )
    .hint(
        "use smaller sizes: fewer clients, samples or weights, or ranks of fewer entries at a time",
    )
}

/// How many entries the ranks are of that a node holds, if they are too many to compare all pairs.
fn unsearched(g: &Graph, id: NodeId) -> Option<u64> {
    let n = *g.shape(id).last()?;
    (n > PAIRED && Ranks::of(g, id).is_some()).then_some(n)
}

/// All entries of a long vector are wanted in order.
fn all_in_order(site: &Site, n: u64) -> Diagnostic {
    Diagnostic::error(
        codes::SIZE,
        format!("all of {n} entries in order, and at most {PAIRED} are compared with one another"),
        site.span,
        "to compute this",
    )
    .hint(
        "single entries are found in vectors of any length: `top_k`, `median`, `quantile`, `trimmed_mean`, up to 64 \
        entries of `sort(x)`, and `rank(x)[i] < k`",
    )
}
