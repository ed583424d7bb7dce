//! Cuts that a program may reach: a warning, and what the program demands of them.
//!
//! What is stated of errors and decisions is stated for inputs for which no value leaves its cut ([`cuts`]).
//! That is a condition which no range excludes, so a program that bounds its failure has to accept it by name, with
//! `require cut >= 16`.

use crate::analysis::cuts;
use crate::analysis::interval::size;
use crate::analysis::ranges::Ranges;
use crate::diagnostic::{Diagnostic, codes};
use crate::graph::{Graph, NodeId, Op};
use crate::passes::saturation::Cut;
use crate::types::{Bounded, Demand, Program};

/// The graph that is lowered, its intervals, and where it is cut.
pub struct Fitted<'a> {
    pub graph: &'a Graph,
    pub ranges: &'a Ranges,
    pub cut: Option<Cut>,
}

/// If values may reach a cut and the program does not accept that: a warning, and an error if it bounds its failure. An
/// error too if it wants them cut further out.
pub fn check(program: &Program, fitted: &Fitted) -> Vec<Diagnostic> {
    let reached = cuts::reached(fitted.graph, &fitted.ranges.raw);
    let (Some(&first), Some(cut)) = (reached.first(), fitted.cut) else { return Vec::new() };
    let top = f64::from(cut.top).exp2();
    let of = |what: Bounded| program.demands.iter().filter(move |d| d.what == what);
    let accepted = of(Bounded::Cut).next().is_some();
    let mut found = match accepted {
        true => Vec::new(),
        false => vec![warning(fitted, first, reached.len(), cut)],
    };
    let near = |d: &&Demand| d.bound > top;
    for demand in of(Bounded::Cut).filter(near) {
        let title = format!("values are cut at {top}, and {} is demanded", demand.bound);
        let label = format!("{top} is the largest cut of those tried that fits {} bits", cut.word);
        found.push(
            Diagnostic::error(codes::CERTIFICATE, title, demand.span, label)
                .hint("demand less, or declare narrower ranges: then values need fewer bits"),
        );
    }
    if !accepted && let Some(demand) = of(Bounded::Failure).next() {
        let title = format!("values are cut at {top}, which the program does not accept");
        let label = "what is certified holds where values stay within";
        found.push(Diagnostic::error(codes::CERTIFICATE, title, demand.span, label).hint(format!(
            "write `require cut >= {top};` to accept it, or declare ranges that keep values within"
        )));
    }
    found
}

fn warning(fitted: &Fitted, first: NodeId, many: usize, cut: Cut) -> Diagnostic {
    let top = f64::from(cut.top).exp2();
    let g = fitted.graph;
    // The operation that is cut, where the source has it.
    let (site, what) = (g.site(first), g.arg(first, 0));
    let place = site.place(g.op(what));
    let span = place.call.unwrap_or(place.span);
    let most = size(fitted.ranges.real(g, what));
    let step = if site.name.is_empty() { g.op(what).name() } else { &site.name };
    let at = match g.op(first) {
        Op::Saturate(top) => f64::from(*top).exp2(),
        _ => top,
    };
    let title = format!(
        "values are cut at {top}, because what is made of them may not fit words of {} bits",
        cut.word
    );
    let label = format!("by the declared ranges `{step}` may be {most:.1e}, and is cut at {at}");
    let all = match many {
        1 => String::new(),
        n => format!("; `slvrc explain` lists all {n}"),
    };
    Diagnostic::warning(codes::OVERFLOW, title, span, label).hint(format!(
        "errors and decisions are stated for inputs whose values stay within{all}; a larger value \
         is the end of the cut in a run; `require cut >= {top};` accepts this"
    ))
}
