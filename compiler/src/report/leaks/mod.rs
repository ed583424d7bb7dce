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
//! Both work at any size. No warning does not mean no harm: neither knows what follows over several runs, or from what
//! somebody knows from elsewhere.
//!
//! May not live here: what a protocol leaks (nothing but what it opens; see
//! `slvr_runtime::protocol`), numbers of the run.

mod combinations;
mod findings;
mod flow;
mod rounds;
#[cfg(test)]
mod tests;
mod texts;
mod together;
mod warn;

pub use findings::{LeakKind, LeakReport, LeakWarning, Learned, Level, What};

use crate::graph::{Graph, NodeId, Op as GraphOp};
use crate::noise::Noise;
use crate::syntax::ast::Span;
use crate::types::{Lots, Program, Stmt};
use slvr_circuit::openings::{self, Coins};
use slvr_circuit::speculation::Speculation;
use slvr_circuit::{Check, Circuit, Encoding, From, Input, Output};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The leak report of a predicate. `graph` is the one built from the program, before any pass.
pub fn leaks(program: &Program, graph: &Graph, circuit: &Circuit) -> LeakReport {
    let mut report = leaks_of_circuit(circuit);
    let graph = &rounds::in_a_row(&with_units(graph, circuit));
    let lines = Lines { program, graph };
    let views = views(graph);
    for learned in &mut report.learned {
        let (span, line) = match learned.what {
            What::Reveal | What::PublicInput | What::Coins | What::Check => lines.of(&learned.name),
            What::Sizes | What::Timing => (None, learned.line),
        };
        (learned.span, learned.line) = (span, line);
        let of_name = || graph.outputs.iter().position(|o| o.name == learned.name);
        let Some(at) = of_name().filter(|_| learned.what == What::Reveal) else { continue };
        let output = &graph.outputs[at];
        let seen = views.iter().find(|v| v.set == output.to);
        if let Some(how) = seen.and_then(|view| view.describe(at)) {
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

/// The same graph, whose inputs have the fraction bits that the circuit's have: how finely somebody can choose what it
/// gives.
fn with_units(graph: &Graph, circuit: &Circuit) -> Graph {
    let mut graph = graph.clone();
    for input in &mut graph.inputs {
        let found = circuit.inputs.iter().find(|i| i.name == input.name);
        if let Some(Encoding::Fixed { frac, .. }) = found.map(|i| &i.encoding) {
            input.frac = Some(*frac);
        }
    }
    graph
}

/// What a receiver sees.
struct View {
    /// The set that it is, or is a member of.
    set: u32,
    /// The graph, in which it is a set of its own.
    graph: Graph,
    to: u32,
    /// How every value follows from what it does not know.
    flows: Vec<flow::Flow>,
}

impl View {
    fn of(graph: Graph, set: u32, to: u32) -> View {
        let flows = flow::flows(&graph, &flow::known(&graph, to));
        View { set, graph, to, flows }
    }

    /// What kind of function of the secrets an output is.
    fn describe(&self, output: usize) -> Option<String> {
        let node = self.graph.outputs.get(output)?.node;
        warn::describe(&self.graph, &self.flows[node.index()])
    }
}

/// Members of a set that are looked at one by one, and numbers that each of them gets, at most.
const MEMBERS: u64 = 8;
const NUMBERS: u64 = 64;

/// What each receiver sees. Of a set of several members these are the last and the first, and others if what each gets
/// is small: where a program treats members apart, as in sums over all before the receiver, some other may learn more.
fn views(graph: &Graph) -> Vec<View> {
    let receivers: BTreeSet<u32> = graph.outputs.iter().map(|o| o.to).collect();
    let mut out = Vec::new();
    for set in receivers {
        let members = graph.parties.get(set as usize).map_or(1, |p| p.1);
        if members <= 1 {
            out.push(View::of(graph.clone(), set, set));
            continue;
        }
        let to_each = graph.outputs.iter().filter(|o| o.to == set && o.state.is_none());
        let numbers: u64 = to_each.map(|o| graph.elements(o.node)).sum();
        let between: Vec<u64> = if numbers > NUMBERS * members {
            Vec::new()
        } else if members <= MEMBERS {
            (1..members - 1).collect()
        } else {
            vec![1, members / 2, members - 2]
        };
        for member in [members - 1, 0].into_iter().chain(between) {
            let own = graph.parties.len() as u32;
            out.push(View::of(rounds::seen_by(graph, set, member), set, own));
        }
    }
    out
}

/// All warnings and notes.
fn warnings(views: &[View], line: &dyn Fn(&str) -> u32) -> Vec<LeakWarning> {
    let mut out: Vec<LeakWarning> = Vec::new();
    for View { graph, to, flows, .. } in views {
        let single = warn::warnings(graph, flows, *to, line);
        out.extend(together::warnings(graph, flows, *to, &single, line));
        out.extend(single.into_iter().map(|(_, w)| w));
    }
    // What holds of another member or in the next round as well is said once. One view without rounds says nothing
    // twice.
    let mut said = BTreeSet::new();
    out.retain(|w| said.insert((BTreeSet::from_iter(w.reveals.clone()), w.kind)));
    out.sort_by_key(|w| (w.level, w.line));
    out
}

/// What a circuit alone tells of its leaks: all that is learned, no warnings. Its openings to the three parties are
/// those of checks, or the verifier refuses it.
pub fn leaks_of_circuit(circuit: &Circuit) -> LeakReport {
    let set = |i: u32| circuit.parties.get(i as usize).map_or(("?", 0), |p| (&*p.name, p.size));
    let learned = |what, to: &str, name: String, text: String| Learned {
        what,
        name,
        to: to.into(),
        shape: Vec::new(),
        line: 0,
        expression: String::new(),
        text,
        span: None,
    };
    let parties = "the three parties";
    let reveal = |o: &Output| {
        let (to, size) = set(o.to);
        let entries = if size > 1 { "one entry to each member, " } else { "" };
        let text = format!("{entries}revealed after the computation, to nobody else");
        let shape = o.shape.clone();
        Learned { shape, ..learned(What::Reveal, to, o.name.clone(), text) }
    };
    let check = |check: &Check| {
        let (who, size) = set(check.set);
        let text = "one bit for each member: whether its inputs are in their declared ranges. The parties \
                    see which members fail. The program is then run for the others; or zeros take the place of \
                    all inputs of such a member, with `--invalid zeros` and where a state keeps its place";
        let name = format!("{who} in range");
        Learned { shape: vec![size], ..learned(What::Check, parties, name, text.into()) }
    };
    let coins = |coins: Coins| {
        let site = circuit.sites.get(coins.site as usize);
        let (step, line) = site.map_or(("?", 0), |s| (s.name.as_str(), s.line));
        // Coins for the tests of ranges are part of what is public about these.
        let (what, tests) = match coins.tests {
            true => (What::Check, ", for random tests of its declared range"),
            false => (What::Coins, ""),
        };
        let of = coins.lots.map_or(String::new(), drawn);
        let text = format!("public coins, drawn once all inputs are in{of}{tests}");
        let shape = coins.lots.map_or(Vec::new(), |lots| vec![lots.rows, lots.k]);
        Learned { shape, line, ..learned(what, parties, step.into(), text) }
    };
    let public = |input: &Input| {
        let text = "a public input: known before the run".into();
        let shape = input.shape.clone();
        Learned { shape, ..learned(What::PublicInput, "everybody", input.name.clone(), text) }
    };
    let mut all: Vec<Learned> = circuit.outputs.iter().map(reveal).collect();
    all.extend(circuit.checks.iter().map(check));
    all.extend(openings::coins(circuit).into_iter().map(coins));
    all.extend(circuit.inputs.iter().filter(|i| i.from == From::Public).map(public));
    let sizes: Vec<String> = circuit.sizes.iter().map(|(n, v)| format!("{n}={v}")).collect();
    let sets: Vec<String> =
        circuit.parties.iter().map(|p| format!("{} {}", p.size, p.name)).collect();
    let text = format!("{}; participants: {}", sizes.join(" "), sets.join(", "));
    all.push(learned(What::Sizes, "everybody", "sizes".into(), text));
    all.push(learned(What::Timing, "everybody", "timing".into(), timing(circuit).into()));
    LeakReport { learned: all, warnings: Vec::new() }
}

/// What is public of a draw, in words.
fn drawn(Lots { n, k, others, .. }: Lots) -> String {
    match (n == k, others) {
        (_, true) => format!(": which {k} others each of {n} members gets is public"),
        (true, false) => format!(": the order in which all {n} stand is public"),
        (false, false) => format!(": which {k} of {n} are drawn is public"),
    }
}

/// What messages depend on, in words.
fn timing(circuit: &Circuit) -> &'static str {
    match Speculation::of(circuit) {
        None => {
            "the number and length of all messages follow from the sizes alone, and so does the \
             arithmetic: no branch depends on a secret (lookups index memory by a party's own words)"
        }
        Some(_) => {
            "the number and length of all messages follow from the sizes and from whether all members \
             are in range (if not, some rounds are repeated), and so does the arithmetic: no other \
             branch depends on a secret (lookups index memory by a party's own words)"
        }
    }
}

/// Where statements stand.
struct Lines<'a> {
    program: &'a Program,
    graph: &'a Graph,
}

impl Lines<'_> {
    /// The expression (of a reveal) and the line of the statement of that name.
    fn of(&self, name: &str) -> (Option<Span>, u32) {
        let step = name.split('/').next().unwrap_or(name);
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
