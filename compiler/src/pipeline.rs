//! The rooms in a row: from source text to a verified circuit.

use crate::certify::demands::check_error_demands;
use crate::certify::failure::Failure;
use crate::certify::fit::{self, Fitted};
use crate::certify::guard::{self, Guard, Long};
use crate::certify::ranges::Ranges;
use crate::diagnostic::{Diagnostic, Severity, codes};
use crate::graph::{self, Graph};
use crate::lower::dealer::Tuning;
use crate::lower::rings::Rings;
use crate::passes::{self, Pass};
use crate::syntax::Sources;
use crate::types::Program;
use crate::{lower, schedule};
use slvr_runtime::circuit::traffic::Traffic;
use slvr_runtime::circuit::{Circuit, verify::verify};

/// What is compiled for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Whether the parties check that inputs are in their declared ranges. Without it declared ranges
    /// are taken on trust: for comparison, and for tests of attacks.
    pub enforce: bool,
    /// One ring width for all values instead of the smallest for each.
    pub ring: Option<u32>,
    /// Which protocols: those of the dealer-style family, chosen for this network; none for family T1.
    pub dealer: Option<Tuning>,
}

impl Default for Options {
    /// Enforced ranges, the smallest ring for each value.
    fn default() -> Self {
        let tuning = Tuning { latency: 0.5e-3, bandwidth: 125e6 };
        Options { enforce: true, ring: None, dealer: Some(tuning) }
    }
}

/// A predicate at every stage.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// As built from the program.
    pub graph: Graph,
    /// After all passes, and cut where values would not fit.
    pub optimised: Graph,
    /// Intervals of the optimised graph's values.
    pub ranges: Ranges,
    /// How each input is enforced.
    pub guards: Vec<Guard>,
    /// Where gates and quotients are cut (+-2^this), if they are.
    pub top: Option<u32>,
    /// In layers.
    pub circuit: Circuit,
    /// Demands of the program that only an estimate meets.
    pub warnings: Vec<Diagnostic>,
}

/// Compiles a typed program.
///
/// # Errors
///
/// What the graph or the circuit has no operation for, values that fit no ring, and demands of the
/// program on its certificate that do not hold.
pub fn compile(program: &Program, sources: &Sources) -> Result<Compiled, Vec<Diagnostic>> {
    compile_with(program, sources, Options::default(), |_, _| {})
}

/// Compiles a typed program; `see` gets every pass with the graph after it.
///
/// # Errors
///
/// As [`compile`]; a circuit beyond the limits of its format.
pub fn compile_with(
    program: &Program,
    sources: &Sources,
    options: Options,
    see: impl FnMut(&Pass, &Graph),
) -> Result<Compiled, Vec<Diagnostic>> {
    let graph = graph::build::build(program, sources)?;
    let optimised = passes::run(&graph, see);
    // Long vectors of weights can be enforced in two ways. What changes fewer values is kept: the
    // higher cut, or none; of equals, what sends less.
    let ways: &[Option<Long>] =
        if options.enforce { &[Some(Long::Project), Some(Long::Lift)] } else { &[None] };
    let mut best: Option<((u32, u64), Compiled)> = None;
    let mut refused = Vec::new();
    let mut tried: Vec<Vec<Guard>> = Vec::new();
    for &long in ways {
        let guards = guard::guards(&optimised, long);
        if tried.contains(&guards) {
            continue;
        }
        tried.push(guards.clone());
        match back(&graph, &optimised, guards, options) {
            Ok(compiled) => {
                let bytes = Traffic::of(&compiled.circuit).bytes.iter().sum();
                let cost = (u32::MAX - compiled.top.unwrap_or(u32::MAX), bytes);
                if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                    best = Some((cost, compiled));
                }
            }
            Err(why) => refused = why,
        }
    }
    let mut compiled = best.map(|(_, compiled)| compiled).ok_or(refused)?;
    let (broken, warnings): (Vec<_>, Vec<_>) = demands(program, sources, &compiled)
        .into_iter()
        .partition(|d| d.severity == Severity::Error);
    compiled.warnings = warnings;
    if broken.is_empty() { Ok(compiled) } else { Err(broken) }
}

/// From the graph after all passes to a circuit.
fn back(
    graph: &Graph,
    optimised: &Graph,
    guards: Vec<Guard>,
    options: Options,
) -> Result<Compiled, Vec<Diagnostic>> {
    let most = options.ring.unwrap_or(128);
    let Fitted { graph: fitted, ranges, top } =
        fit::fit(optimised, &guards, most).map_err(|d| vec![*d])?;
    let rings = Rings::new(&fitted, &ranges, options.ring, options.dealer.is_some());
    let draft = lower::lower(&fitted, &ranges, &rings, &guards, options.dealer)?;
    let circuit = schedule::schedule(&fitted, draft);
    if let Err(problem) = verify(&circuit) {
        let at = fitted.outputs.first().map(|o| fitted.sites[o.site as usize].span);
        return Err(vec![
            Diagnostic::error(
                codes::SIZE,
                format!("the circuit breaks a rule of its format: {problem}"),
                at.unwrap_or_default(),
                "to compute this",
            )
            .hint(
                "with sizes this large, use smaller ones; otherwise this is a bug of the compiler",
            ),
        ]);
    }
    let graph = graph.clone();
    Ok(Compiled { graph, optimised: fitted, ranges, guards, top, circuit, warnings: Vec::new() })
}

/// What there is to say of the program's demands on its certificate: errors, and warnings where only an
/// estimate meets one.
pub fn demands(program: &Program, sources: &Sources, compiled: &Compiled) -> Vec<Diagnostic> {
    let failure = Failure::of(&compiled.optimised, &compiled.guards);
    let mut refused = failure.check(program);
    refused.extend(check_error_demands(program, sources, &compiled.guards));
    refused
}
