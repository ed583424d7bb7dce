//! Cuts that a program may reach: a warning, and what the program demands of them.
//!
//! What is stated of errors and decisions is stated for inputs for which no value leaves its cut ([`cuts`]).
//! That is a condition which no range excludes, so a program that bounds its failure has to accept it by name, with
//! `require cut >= 16`.

use super::{Compiled, written};
use slvr_graph::analysis::cuts;
use slvr_graph::analysis::interval::size;
use slvr_graph::graph::{Graph, NodeId, Op};
use slvr_graph::passes::saturation::Cut;
use slvr_language::diagnostic::rounding::upward;
use slvr_language::diagnostic::{Diagnostic, codes};
use slvr_language::source::Sources;
use slvr_language::syntax::ast::Span;
use slvr_language::types::{Bounded, Program};

/// If values may reach a cut and the program does not accept that: a warning, and an error if it bounds its failure. An
/// error too if it wants them cut further out. Products with a reciprocal are cut at half of what gates are: what a
/// program accepts is the lowest of all cuts.
pub fn check(program: &Program, sources: &Sources, compiled: &Compiled) -> Vec<Diagnostic> {
    let g = &compiled.optimised;
    let reached = cuts::reached(g, &compiled.ranges.raw);
    let lowest = reached.iter().copied().min_by_key(|&id| top_of(g, id));
    let (Some(lowest), Some(cut)) = (lowest, compiled.cut) else { return Vec::new() };
    let least = at(g, lowest);
    let of = |what: Bounded| program.demands.iter().filter(move |d| d.what == what);
    let accepted = of(Bounded::Cut).next().is_some();
    let mut found = Vec::new();
    let mut accept = None;
    if !accepted {
        accept = written::accept_cuts(program, sources, least);
        found.push(warning(compiled, &reached, least, cut).edit(accept.clone()));
    }
    for demand in of(Bounded::Cut).filter(|d| d.bound > least) {
        let title = format!("values are cut at {least}, and {} is demanded", demand.bound);
        let (place, what) = place(g, lowest);
        let label = format!("`{what}` may be larger, by the declared ranges");
        let largest = format!(
            "larger cuts do not fit words of {} bits: demand less, or declare narrower ranges",
            cut.word
        );
        found.push(
            Diagnostic::error(codes::CERTIFICATE, title, demand.span, "to demand this")
                .label(place, label)
                .hint(largest),
        );
    }
    if !accepted && let Some(demand) = of(Bounded::Failure).next() {
        let title = format!("values are cut at {least}, which the program does not accept");
        let label = "what is certified holds where values stay within";
        let hint = format!(
            "write `require cut >= {least};` to accept it, or declare ranges that keep values within"
        );
        let error = Diagnostic::error(codes::CERTIFICATE, title, demand.span, label);
        found.push(error.hint(hint).edit(accept));
    }
    found
}

/// Where a cut is, as a power of two.
fn top_of(g: &Graph, cut: NodeId) -> u32 {
    match g.op(cut) {
        Op::Saturate(top) => *top,
        _ => u32::MAX,
    }
}

/// The largest value that a cut lets through.
fn at(g: &Graph, cut: NodeId) -> f64 {
    f64::from(top_of(g, cut)).exp2()
}

/// The operation that is cut, where the source has it, and its name.
fn place(g: &Graph, cut: NodeId) -> (Span, &str) {
    let (site, what) = (g.site(cut), g.arg(cut, 0));
    let place = site.place(g.op(what));
    let step = if site.name.is_empty() { g.op(what).name() } else { &site.name };
    (place.call.unwrap_or(place.span), step)
}

fn warning(compiled: &Compiled, reached: &[NodeId], least: f64, cut: Cut) -> Diagnostic {
    let (first, g) = (reached[0], &compiled.optimised);
    let (span, step) = place(g, first);
    let most = size(compiled.ranges.real(g, g.arg(first, 0)));
    let own = at(g, first);
    let title = format!(
        "values are cut at {least}, because what is made of them may not fit words of {} bits",
        cut.word
    );
    let label =
        format!("by the declared ranges `{step}` may be {}, and is cut at {own}", upward(most));
    let all = match reached.len() {
        1 => String::new(),
        n => format!("; `slvrc explain` lists all {n}"),
    };
    Diagnostic::warning(codes::OVERFLOW, title, span, label).hint(format!(
        "errors and decisions are stated for inputs whose values stay within{all}; a larger value \
         is the end of the cut in a run; `require cut >= {least};` accepts this"
    ))
}
