//! The rooms in a row: from source text to a verified circuit.
//!
//! | file | does |
//! |---|---|
//! | `malicious.rs`, `segments.rs` | from a graph to a circuit against a malicious party, and how often it proves |
//! | `precision.rs` | how many fraction bits values get |
//! | `budget.rs` | a circuit within a budget of memory |
//! | `encoding.rs`, `common.rs` | how inputs are encoded, for every number of clients that may come |
//! | `demands.rs`, `failure.rs`, `cut.rs` | what a program demands of errors, of how likely a run fails, and of cuts |
//! | `privacy.rs` | what noise lets through, in words, and what a program demands of it |
//! | `decisions.rs` | comparisons of which nothing is proven |
//! | `advice.rs`, `written.rs` | what helps a program that fits no ring, and where its text is changed |

mod advice;
mod budget;
pub mod common;
mod cut;
mod decisions;
mod demands;
mod encoding;
mod failure;
mod malicious;
mod precision;
pub mod privacy;
mod segments;
#[cfg(test)]
mod tests;
mod written;

pub use encoding::Encoding;
pub use precision::Fine;

use crate::cost;
use crate::lower::stated::STATED;
use crate::lower::{Family, Target};
use crate::schedule::Checks;
use crate::{lower, schedule};
use budget::{within_budget, within_parts};
use precision::Scaled;
use slvr_circuit::Circuit;
use slvr_circuit::proof::{Unproven, WIDE_PRODUCT};
use slvr_circuit::verify::{VerifyError, verify};
use slvr_graph::analysis::failure::Failure;
use slvr_graph::analysis::guard::{self, Guard, Long};
use slvr_graph::analysis::privacy::Words;
use slvr_graph::analysis::ranges::{Basis, Ranges};
use slvr_graph::analysis::rings::Rings;
use slvr_graph::analysis::stated::StatedErrors;
use slvr_graph::graph::{self, Graph, NodeId, Op, Output};
use slvr_graph::passes::blocks::Blocked;
use slvr_graph::passes::saturation::{Cut, Fitted};
use slvr_graph::passes::{self, Level, Pass};
use slvr_language::diagnostic::{Diagnostic, Severity, codes};
use slvr_language::source::Sources;
use slvr_language::syntax::ast::Span;
use slvr_language::types::{Elem, Program};

/// What is compiled for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Whether the parties check that inputs are in their declared ranges. Without it declared ranges
    /// are taken on trust: for comparison, and for tests of attacks.
    pub enforce: bool,
    /// One ring width for all values instead of the smallest for each.
    pub ring: Option<u32>,
    /// What one of the parties may do, and the family of protocols. Against a malicious party T2 stands for the family
    /// that takes less time.
    pub target: Target,
    /// The most bytes of values that a party may hold at one time: work is done in as many blocks
    /// as that takes. Without it all is one block.
    pub memory: Option<u64>,
    /// Whether a run may compute before it is known whose inputs are in range, and repeat a part of
    /// itself if a client fails ([`slvr_circuit::speculation`]): where that saves rounds, and
    /// takes no more blocks, or more proofs. Against a malicious party the part may be all but the outputs
    /// ([`Checks::Last`]): a client that fails can then make a run take twice as long.
    pub speculate: bool,
    /// Against a malicious party, of the circuits that do not wait, only the one with this placement of the checks.
    /// Without it the one with fewer rounds. For comparison, and for tests.
    pub checks: Option<Checks>,
    /// Which values may have more fraction bits than others ([`slvr_graph::passes::FRACTION`]): small updates are then
    /// aggregated as precisely as large ones.
    pub fine: Fine,
}

impl Default for Options {
    /// Enforced ranges, the smallest ring for each value, speculation.
    fn default() -> Self {
        Options {
            enforce: true,
            ring: None,
            target: Target::default(),
            memory: None,
            speculate: true,
            checks: None,
            fine: Fine::Short,
        }
    }
}

impl Options {
    /// The ways to enforce long vectors, of those that an encoding admits.
    fn ways(&self, encoding: Option<&Encoding>) -> Vec<Option<Long>> {
        let all = if self.enforce { Long::ALL.map(Some).to_vec() } else { vec![None] };
        all.into_iter().filter(|way| encoding.is_none_or(|e| e.admits(*way))).collect()
    }
}

/// Of some ways to enforce long vectors in a graph those that differ, with what they make of its inputs.
fn distinct(ways: &[Option<Long>], graph: &Graph) -> Vec<(Option<Long>, Vec<Guard>)> {
    let mut found: Vec<(Option<Long>, Vec<Guard>)> = Vec::new();
    for &way in ways {
        let guards = guard::guards(graph, way);
        if found.iter().all(|(_, other)| *other != guards) {
            found.push((way, guards));
        }
    }
    found
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
    /// How each input would be enforced if no value had more than [`passes::FRACTION`] fraction bits: what demands
    /// on errors are checked with.
    pub coarse_guards: Vec<Guard>,
    /// The most fraction bits that a value has before it is multiplied.
    pub level: Level,
    /// Inputs, by index, that have [`passes::FRACTION`] fraction bits although precision is wanted of them.
    pub kept: Vec<usize>,
    /// What the protocols state of their errors.
    pub stated: StatedErrors,
    /// Where gates and quotients are cut, if they are.
    pub cut: Option<Cut>,
    /// In layers.
    pub circuit: Circuit,
    /// Inputs, by index, that variances are made of and that have [`passes::FRACTION`] fraction bits.
    pub variances: Vec<usize>,
    /// Which values might have more than [`passes::FRACTION`] fraction bits.
    pub fine: Fine,
    /// Demands of the program on what models compute that are not proven, and cuts that its ranges do not exclude.
    pub warnings: Vec<Diagnostic>,
}

impl Compiled {
    /// What noise is judged by.
    pub fn words(&self) -> Words<'_> {
        Words { graph: &self.optimised, ranges: &self.ranges, stated: &self.stated }
    }
}

/// A program with one way to enforce long vectors.
struct Alternative {
    scaled: Scaled,
    /// [`Compiled::coarse_guards`].
    coarse_guards: Vec<Guard>,
    circuit: Circuit,
}

impl Alternative {
    fn of(
        scaled: Scaled,
        coarse_guards: Vec<Guard>,
        options: Options,
    ) -> Result<Self, Vec<Diagnostic>> {
        let fitted = &scaled.fitted;
        let whole = Blocked::whole(&fitted.graph);
        let circuit = circuit(&whole, &fitted.ranges, &scaled.guards, options)?;
        well_formed(&fitted.graph, &circuit)?;
        Ok(Alternative { scaled, coarse_guards, circuit })
    }
}

/// What alternatives are compared by: how far values are cut, and then nanoseconds on the network that protocols are
/// chosen for.
fn weight(cut: Option<Cut>, circuit: &Circuit, options: Options) -> (u32, u64) {
    let tuning = options.target.family().tuning();
    (u32::MAX - cut.map_or(u32::MAX, |c| c.top), cost::nanoseconds_of_work(circuit, tuning))
}

/// The best of all ways to enforce long vectors of weights. What changes fewer values is kept: the higher cut, or none;
/// of equals, what takes less time to send and to compute.
///
/// # Errors
///
/// Why the last way is refused, if all are.
fn best(
    program: &Program,
    (unscaled, coarse): (&Graph, &Graph),
    (ways, options): (&[Option<Long>], Options),
    encoding: Option<&Encoding>,
) -> Result<Alternative, Vec<Diagnostic>> {
    let basis = Basis::new(coarse, &STATED);
    let caps = encoding.map_or(&[][..], Encoding::bits);
    let mut best: Option<((u32, u64), Alternative)> = None;
    let mut refused = Vec::new();
    for (long, guards) in distinct(ways, coarse) {
        let how = precision::How { long, options, caps };
        let scaled = precision::finest(unscaled, &basis, how)
            .and_then(|s| encoding.map_or(Ok(()), |e| e.holds(program, &s)).map(|()| s));
        match scaled.and_then(|scaled| Alternative::of(scaled, guards, options)) {
            Ok(found) => {
                let weight = weight(found.scaled.fitted.cut, &found.circuit, options);
                if best.as_ref().is_none_or(|(least, _)| weight < *least) {
                    best = Some((weight, found));
                }
            }
            Err(why) => refused = why,
        }
    }
    best.map(|(_, found)| found).ok_or(refused)
}

/// A refusal with hints to the smallest change that helps: one input's range, by a power of two.
fn advised(
    mut refused: Vec<Diagnostic>,
    (program, sources): (&Program, &Sources),
    graph: &Graph,
    (ways, options): (&[Option<Long>], Options),
) -> Vec<Diagnostic> {
    let how = advice::How { ways, most: options.ring.unwrap_or(128), stated: &STATED };
    if let Some(d) = refused.iter_mut().find(|d| d.code == codes::OVERFLOW) {
        let loops = advice::bounded_loops(program, sources, &how);
        let hints = loops.into_iter().chain(advice::narrower(program, sources, graph, &how));
        d.hints.splice(0..0, hints);
    }
    if let Some(bits) = options.ring {
        refused.iter_mut().for_each(|d| named_ring(d, bits));
    }
    refused
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
    compile_encoded(program, sources, options, None, see)
}

/// Compiles a typed program; inputs are encoded as `encoding` says, if it is given.
///
/// # Errors
///
/// As [`compile_with`]; a program that cannot take inputs that are encoded so.
pub fn compile_encoded(
    program: &Program,
    sources: &Sources,
    options: Options,
    encoding: Option<&Encoding>,
    mut see: impl FnMut(&Pass, &Graph),
) -> Result<Compiled, Vec<Diagnostic>> {
    let graph = graph::build::build(program, sources)?;
    let unscaled = passes::unscaled(&graph, &mut see);
    let coarse = passes::scaled(&unscaled, &Level::COARSE, |_, _| {}).map_err(|d| vec![*d])?;
    let ways = options.ways(encoding);
    let best = best(program, (&unscaled, &coarse), (&ways, options), encoding);
    let level = best.as_ref().map_or(Level::COARSE, |found| found.scaled.level.clone());
    passes::scaled(&unscaled, &level, see).map_err(|d| vec![*d])?;
    let Alternative { scaled, coarse_guards, circuit } =
        best.map_err(|why| advised(why, (program, sources), &graph, (&ways, options)))?;
    let Scaled { fitted: Fitted { graph: optimised, ranges, cut }, guards, level } = scaled;
    let circuit = match options.memory {
        // Last: a budget changes rounds, never values.
        Some(budget) => within_budget((&optimised, &guards), circuit, budget, options)?,
        None => circuit,
    };
    let kept = |i: &usize| optimised.inputs[*i].frac.is_none();
    let wanted = match options.fine {
        Fine::Nothing => Vec::new(),
        Fine::Short | Fine::All => passes::wanted_inputs(&unscaled),
    };
    let compiled = Compiled {
        kept: wanted.into_iter().filter(kept).collect(),
        variances: passes::variances(&unscaled).into_iter().filter(kept).collect(),
        graph,
        optimised,
        ranges,
        guards,
        coarse_guards,
        level,
        stated: STATED,
        cut,
        circuit,
        fine: options.fine,
        warnings: Vec::new(),
    };
    let (broken, warnings): (Vec<_>, Vec<_>) = demands(program, sources, &compiled)
        .into_iter()
        .partition(|d| d.severity == Severity::Error);
    if broken.is_empty() {
        return Ok(Compiled { warnings, ..compiled });
    }
    if matches!(options.target, Target::Malicious(_)) && options.speculate {
        // Where layers may be repeated, a proof counts twice: less may fail without.
        let waiting = Options { speculate: false, ..options };
        let again = compile_encoded(program, sources, waiting, encoding, unseen);
        return again.map_err(|_| broken);
    }
    Err(broken)
}

fn unseen(_: &Pass, _: &Graph) {}

/// The same circuit with more reveals: the values of these nodes of the optimised graph, after its own. For evaluation
/// in the clear: what a predicate keeps secret would be open in a run.
///
/// # Errors
///
/// As [`compile_with`].
pub fn probed(
    compiled: &Compiled,
    options: Options,
    nodes: &[NodeId],
) -> Result<Circuit, Vec<Diagnostic>> {
    let mut graph = compiled.optimised.clone();
    // A set of several members gets one entry each.
    let single = (0..).zip(&graph.parties).find(|(_, p)| p.1 == 1).map(|(i, _)| i);
    let to = graph.outputs.first().map_or(0, |o| o.to);
    let to = single.unwrap_or(to);
    for &node in nodes {
        let (name, site) = (format!("probe {}", node.index()), graph.home(node));
        // Bits are revealed as numbers.
        let bits = graph.ty(node).elem == Elem::Bit;
        let node = if bits { graph.add(Op::ToInt, &[node], site) } else { node };
        let (state, fields) = (None, Vec::new());
        let output = Output { name, to, state, node, factor: 1.0, divisor: 1.0, fields, site };
        graph.outputs.push(output);
    }
    anew(&Blocked::whole(&graph), &compiled.guards, Options { memory: None, ..options })
}

/// Holds a circuit against the rules of its format.
fn well_formed(graph: &Graph, circuit: &Circuit) -> Result<(), Vec<Diagnostic>> {
    if let Err(problem) = verify(circuit) {
        let at = graph.outputs.first().map(|o| graph.sites[o.site as usize].span);
        if let VerifyError::Unproven(why) = &problem {
            // A line alone does not say of which file it is.
            let mut why = why.clone();
            let site = why.take_source().and_then(|of| graph.sites.get(of.site as usize));
            let at = site.map(|s| s.span).or(at).unwrap_or_default();
            let what = site.map_or("this".into(), |s| format!("`{}`", s.name));
            let refused = unproven(&why.to_string(), at, &what);
            return Err(vec![match why {
                Unproven::Operand { what: WIDE_PRODUCT, .. } => refused.hint(
                    "words have 128 bits where the declared ranges need them: narrower ones fit 64",
                ),
                _ => refused,
            }]);
        }
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
    Ok(())
}

/// A predicate that needs what no proof covers yet, to compute `what`.
fn unproven(why: &str, at: Span, what: &str) -> Diagnostic {
    let title = format!("not against a malicious party yet: {why}");
    let refused = Diagnostic::error(codes::UNPROVEN, title, at, format!("to compute {what}"));
    refused.hint(
        "a part without a proof would be a part that a party can change unnoticed; `--security semi-honest` \
         compiles this, for parties that follow the protocol",
    )
}

/// What a refusal may have to do with one width for all words that was asked for.
fn named_ring(d: &mut Diagnostic, bits: u32) {
    if d.code == codes::OVERFLOW && bits < 128 {
        d.hints.push(
            format!(
            "`--ring {bits}` makes all words that short; without it, words of 128 bits are taken where they are needed"
            )
            .into(),
        );
    }
    if d.code == codes::UNPROVEN && bits > 64 {
        d.hints.push(
            format!(
            "`--ring {bits}` makes all words that long; without it, words of 64 bits, whose products of matrices have \
             proofs, are taken where they are enough"
            )
            .into(),
        );
    }
}

/// The circuit of a graph whose intervals are not known yet.
fn anew(blocked: &Blocked, guards: &[Guard], options: Options) -> Result<Circuit, Vec<Diagnostic>> {
    let inputs = guard::bounds(&blocked.graph, guards);
    let ranges = Ranges::of(&blocked.graph, &inputs, &STATED);
    circuit(blocked, &ranges, guards, options)
}

/// The circuit of a graph in blocks.
fn circuit(
    Blocked { graph, block }: &Blocked,
    ranges: &Ranges,
    guards: &[Guard],
    options: Options,
) -> Result<Circuit, Vec<Diagnostic>> {
    let t1 = options.target == Target::SemiHonest(Family::T1);
    let rings = Rings::new(graph, ranges, options.ring, !t1);
    let lower = |target| lower::lower(graph, block, ranges, &rings, guards, target);
    let draft = match options.target {
        Target::SemiHonest(_) => lower(options.target)?,
        Target::Malicious(family) => return malicious::circuit(graph, lower, family, options),
    };
    let placed = || schedule::speculative(graph, draft.clone(), Checks::AsKnown);
    let ahead = options.speculate.then(placed).flatten();
    let waiting = schedule::schedule(graph, draft);
    // What would need another block has no place in this one.
    let fits =
        |c: &Circuit| options.memory.is_none_or(|budget| within_parts(c.clone(), budget).is_ok());
    let better = |c: &Circuit| c.rounds() < waiting.rounds() && fits(c);
    Ok(ahead.filter(better).unwrap_or(waiting))
}

/// What there is to say of the program's demands on its certificate: errors, and warnings where a
/// model computes what is not proven.
fn demands(program: &Program, sources: &Sources, compiled: &Compiled) -> Vec<Diagnostic> {
    let failure = Failure::of(&compiled.optimised, &compiled.guards).with_proofs(&compiled.circuit);
    let mut refused = failure::check(program, &failure);
    refused.extend(demands::check(program, sources, compiled));
    refused.extend(cut::check(program, sources, compiled));
    refused.extend(passes::rounded_constants(&compiled.optimised));
    refused.extend(decisions::check(compiled));
    let line_of = || cost::places(program, &compiled.optimised, sources);
    refused.extend(privacy::check(program, compiled.words(), line_of, failure.log2().exp2()));
    refused
}
