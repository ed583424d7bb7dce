//! Whether every value fits a ring, and what is done where it does not.
//!
//! First as it is. If a value may leave the largest ring, as in deep networks whose weights are a
//! client's (a product of twenty layers' bounds), gates and quotients are cut: [`Op::Saturate`] after
//! each that may be larger, at the largest power of two for which all fits 64 bits. The same where a value
//! would need more than 64 bits: words of 128 cost more than the few comparisons. Honest activations are far below it;
//! the certificate says where it is. What still does not fit is refused.

use super::partial_products;
use crate::analysis::guard::{self, Guard};
use crate::analysis::interval::size;
use crate::analysis::layout::behind;
use crate::analysis::ranges::{Basis, Bound, Ranges};
use crate::analysis::rings::{Rings, size_bits};
use crate::analysis::stated::StatedErrors;
use crate::diagnostic::{Diagnostic, codes};
use crate::graph::{Class, Function, Graph, NodeId, Op};
use crate::syntax::ast::Secrecy;

/// Cuts that are tried, largest first: values stay within +-2^this.
pub const TOPS: std::ops::RangeInclusive<u32> = 4..=20;
/// Values that cuts make smaller get to fit this many bits.
const NARROW: u32 = 64;
/// Operands and results of elementary functions are words of 64 bits, which are truncated: their sizes are below
/// 2^61.
const FUNCTIONS: u32 = 62;

/// A graph in which every value fits.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The graph, with cuts where they were needed.
    pub graph: Graph,
    /// Of its nodes.
    pub ranges: Ranges,
    /// Gates are cut at +-2^this, products with a reciprocal at half of it.
    pub top: Option<u32>,
}

/// Bounds of all nodes of the graph of a [`Basis`], cutting where a value would need more than `most` bits.
///
/// # Errors
///
/// The first value that does not fit.
pub fn fit(basis: &Basis<'_>, guards: &[Guard], most: u32) -> Result<Fitted, Box<Diagnostic>> {
    let (graph, stated) = (basis.graph(), basis.stated());
    let inputs = guard::bounds(graph, guards);
    let mut ranges = Ranges::on(basis, &inputs);
    let parts = partial_products::run(graph, &ranges);
    if let Some(parts) = &parts {
        ranges = Ranges::of(parts, &inputs, stated);
    }
    let graph = parts.as_ref().unwrap_or(graph);
    let beyond = too_large(graph, &ranges, most);
    let wide = graph
        .ids()
        .any(|id| graph.ty(id).secrecy == Secrecy::Secret && bits(graph, &ranges, id) > NARROW);
    let gates = graph.ids().any(|id| *graph.op(id) == Op::Gate);
    if beyond.is_none() && !(wide && gates) {
        return Ok(Fitted { graph: graph.clone(), ranges, top: None });
    }
    let tight = cut(graph, *TOPS.start(), &inputs, stated);
    let least = Ranges::of(&tight, &inputs, stated);
    if too_large(&tight, &least, most).is_none() {
        // What no cut makes smaller may be wider; for the rest 64 bits are enough.
        let free: Vec<bool> = tight.ids().map(|id| bits(&tight, &least, id) > NARROW).collect();
        for top in TOPS.rev() {
            let graph = cut(graph, top, &inputs, stated);
            let ranges = Ranges::of(&graph, &inputs, stated);
            let wide = |id: NodeId| !free[id.index()] && bits(&graph, &ranges, id) > NARROW;
            if !graph.ids().any(wide) && too_large(&graph, &ranges, most).is_none() {
                return Ok(Fitted { graph, ranges, top: Some(top) });
            }
        }
    }
    match beyond {
        None => Ok(Fitted { graph: graph.clone(), ranges, top: None }),
        Some(beyond) => Err(Box::new(refuse(graph, &ranges, beyond, most))),
    }
}

/// The first node that needs more than `most` bits.
fn too_large(graph: &Graph, ranges: &Ranges, most: u32) -> Option<NodeId> {
    graph.ids().find(|&id| bits(graph, ranges, id) > limit(graph, id, most))
}

fn limit(graph: &Graph, id: NodeId, most: u32) -> u32 {
    let function = graph.op(id).class() == Class::Function;
    if function { most.min(FUNCTIONS) } else { most }
}

/// Bits that a node takes: for its value and for what its protocol adds.
fn bits(graph: &Graph, ranges: &Ranges, id: NodeId) -> u32 {
    let own = ranges.bits(id).max(Rings::needed(graph, ranges, id));
    let operands = operands(graph, ranges, id);
    operands.into_iter().map(|(bits, _)| bits).fold(own, u32::max)
}

/// The operands of a function, with the bits of each. Their sizes matter: -2^n is no larger than 2^n.
fn operands(graph: &Graph, ranges: &Ranges, id: NodeId) -> Vec<(u32, NodeId)> {
    let function = graph.op(id).class() == Class::Function;
    let args = if function { graph.args(id) } else { Vec::new() };
    args.into_iter().map(|a| (size_bits(ranges.raw[a.index()]) + 1, a)).collect()
}

/// The graph with every gate that may exceed 2^top cut there and every product with a reciprocal at 2^(top
/// - 1).
fn cut(graph: &Graph, top: u32, inputs: &[Bound], stated: &StatedErrors) -> Graph {
    // Cutting one makes all behind it smaller: those that are small if all are cut are not cut.
    let all = cut_where(graph, top, &|_| true);
    let ranges = Ranges::of(&all, inputs, stated);
    let large = |gate: NodeId| size(ranges.real(&all, gate)) > f64::from(top).exp2();
    let gates: Vec<NodeId> = all.ids().filter(|&id| *all.op(id) == Op::Gate).collect();
    let cut: Vec<bool> = gates.into_iter().map(large).collect();
    let of: Vec<NodeId> = graph.ids().filter(|&id| *graph.op(id) == Op::Gate).collect();
    if of.len() != cut.len() {
        return all;
    }
    let small: Vec<NodeId> =
        of.into_iter().zip(cut).filter(|(_, c)| !c).map(|(id, _)| id).collect();
    cut_where(graph, top, &|id| small.binary_search(&id).is_err())
}

fn cut_where(graph: &Graph, top: u32, large: &dyn Fn(NodeId) -> bool) -> Graph {
    graph.rewrite(|new, id, args| {
        let node = graph.node(id);
        let kept = new.keep(graph, id, args);
        let secret = node.ty.secrecy == Secrecy::Secret;
        let quotient = node.op == Op::Mul && args.iter().any(|&a| reciprocal(new, a));
        if node.op == Op::Gate && secret && large(id) {
            new.add(Op::Saturate(top), &[kept], node.site)
        } else if quotient {
            // Also of a public model: its images are secret.
            new.add(Op::Saturate(top - 1), &[kept], node.site)
        } else {
            kept
        }
    })
}

/// Whether a value is a reciprocal, behind moves of its elements.
fn reciprocal(graph: &Graph, id: NodeId) -> bool {
    *graph.op(behind(graph, id, Op::is_layout)) == Op::Function(Function::Recip)
}

fn refuse(graph: &Graph, ranges: &Ranges, id: NodeId, most: u32) -> Diagnostic {
    let site = graph.site(id);
    let needs = bits(graph, ranges, id);
    // What is too large of a function is often its operand: e^x is small where x is far below 0.
    let largest = operands(graph, ranges, id).into_iter().max_by_key(|(bits, _)| *bits);
    let operand = largest.filter(|(bits, _)| *bits > ranges.bits(id)).map(|(_, a)| a);
    let (lo, hi) = ranges.real(graph, operand.unwrap_or(id));
    let of = if operand.is_some() { "an operand has values" } else { "values" };
    let what = graph.op(id).name();
    let by = if site.name.is_empty() { String::new() } else { format!(" of `{}`", site.name) };
    let width = limit(graph, id, most);
    let place = site.place(graph.op(id));
    let title = format!("`{what}`{by} needs {needs} bits, and has {width}");
    let values = format!("{of} from {lo:.3e} to {hi:.3e}, by the declared ranges");
    let error = match place.call {
        Some(call) => {
            Diagnostic::error(codes::OVERFLOW, title, call, "called here").label(place.span, values)
        }
        None => Diagnostic::error(codes::OVERFLOW, title, place.span, values),
    };
    error.hint(
        "keep the intermediate value small: divide before multiplying, or `clamp` it to what honest values \
         stay within",
    )
}
