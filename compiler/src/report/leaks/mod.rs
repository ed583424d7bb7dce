//! The leak report: what anybody learns of a run, and what an author may not have meant to reveal.
//!
//! What is learned is complete: every reveal, the bits of checks and public coins, and what is
//! public from the start. Warnings come from two analyses of the graph as built from the source, for each
//! receiver, whose own inputs it knows:
//!
//! - a dataflow (`flow`) follows of whole tensors which clients an entry depends on and how, one reveal at a time
//!   (`warn`).
//! - an elimination (`combinations`) finds combinations of all reveals that hold one client's data alone (`together`).
//!
//! Each view is of a receiver, or of one member of a receiving set, and of two rounds in a row where the program has
//! states (`rounds`, `view`). What all views say of the same reveals becomes one warning of each kind, which names
//! everybody (`warnings`). The dataflow works at any size; of reveals of too many terms the elimination says that it did not
//! look ([`LeakKind::NotTogether`]). No warning does not mean no harm: neither knows what follows over more runs, or from
//! what somebody knows from elsewhere.
//!
//! May not live here: what a protocol leaks (nothing but what it opens; see
//! `slvr_runtime::protocol`), numbers of the run.

mod combinations;
mod entry_owners;
mod findings;
mod flow;
mod learned;
mod parts;
mod rounds;
#[cfg(test)]
mod tests;
mod texts;
mod together;
mod view;
mod warn;
mod warnings;

pub(super) use entry_owners::EntryOwners;
pub use findings::{LeakKind, LeakReport, LeakWarning, Learned, Level, What};
pub use learned::leaks_of_circuit;

use crate::graph::{Graph, NodeId, Op as GraphOp};
use crate::noise::Noise;
use crate::syntax::ast::Span;
use crate::types::{Program, Stmt};
use slvr_circuit::Circuit;
use std::cmp::Reverse;
use std::fmt::Write;
use view::{View, views};
use warnings::Warnings;

/// The leak report of a predicate. `graph` is the one built from the program, before any pass.
pub fn leaks(program: &Program, graph: &Graph, circuit: &Circuit) -> LeakReport {
    let mut report = leaks_of_circuit(circuit);
    let graph = &rounds::in_a_row(graph);
    let lines = Lines { program, graph };
    let views = views(graph);
    for learned in &mut report.learned {
        let (span, line) = match learned.what {
            What::Reveal | What::PublicInput | What::Coins | What::Check => lines.of(&learned.name),
            What::Sizes | What::Timing => (None, 0),
        };
        learned.span = span;
        if line > 0 {
            learned.line = line;
        }
        let of_name = || graph.outputs.iter().position(|o| o.name == learned.name);
        let Some(at) = of_name().filter(|_| learned.what == What::Reveal) else { continue };
        let output = &graph.outputs[at];
        let seen = views.iter().find(|v| v.set == output.to);
        if let Some(how) = seen.and_then(|view| warn::describe(view, view.flow(view.output(at)))) {
            let _ = write!(learned.text, "; {how}");
        }
        for noise in noises(graph, output.node) {
            let _ = write!(learned.text, "; with noise that nobody knows: {noise}");
        }
    }
    report.warnings = warnings(&views, &|name| lines.of(name).1);
    report
}

/// The noises that a value is made of.
fn noises(graph: &Graph, id: NodeId) -> Vec<Noise> {
    let read = graph.ancestors_of(|other| other == id);
    let noise = |id: NodeId| match graph.op(id) {
        GraphOp::Noise { noise, .. } if read[id.index()] => Some(*noise),
        _ => None,
    };
    graph.ids().filter_map(noise).collect()
}

/// All warnings and notes.
fn warnings(views: &[View], line: &dyn Fn(&str) -> u32) -> Vec<LeakWarning> {
    let mut all = Warnings::default();
    for view in views {
        let single = warn::warnings(view, line);
        let together = together::warnings(view, &single, line);
        single.into_iter().map(|(_, told)| told).chain(together).for_each(|told| all.add(told));
    }
    let mut out = all.finished();
    out.sort_by_key(|w| (w.level, w.line, Reverse(w.reveals.len())));
    out
}

/// Where statements stand.
struct Lines<'a> {
    program: &'a Program,
    graph: &'a Graph,
}

impl Lines<'_> {
    /// The expression (of a reveal) and the line of the statement of that name.
    fn of(&self, name: &str) -> (Option<Span>, u32) {
        let step = rounds::of_any(name).split('/').next().unwrap_or(name);
        let var = |v: &crate::types::VarId| {
            let found = self.program.vars.get(v.0 as usize);
            found.filter(|v| v.name == step).map(|v| v.span)
        };
        let stands = self.program.body.iter().find_map(|s| match s {
            Stmt::Reveal { value, name, span, .. } if name == step => {
                Some((Some(value.span), *span))
            }
            Stmt::Let { .. } | Stmt::Tuple { .. } => None,
            given => given.defines().iter().find_map(var).map(|s| (None, s)),
        });
        let Some((value, span)) = stands else { return (None, 0) };
        // The builder opens a step with the statement's span; without it, by the step's name.
        let sites = || self.graph.sites.iter().filter(|s| s.name == step);
        // Spans compare equal, so their places are compared.
        let place = |s: Span| (s.file, s.range());
        let exact = sites().find(|s| place(s.span) == place(span)).or_else(|| sites().next());
        (value, exact.map_or(0, |s| s.line))
    }
}
