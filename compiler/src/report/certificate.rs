//! All that is known of a compiled predicate before it runs, in one place, as it is shown and written.
//!
//! Arithmetic over the compiled graph: ranges ([`crate::analysis::ranges`]), errors
//! ([`crate::analysis::errors`]), failure ([`crate::analysis::failure`]) and how inputs are enforced
//! ([`crate::analysis::guard`]). Costs and leaks are beside it
//! ([`crate::cost`], [`super::leaks`]).

use super::precision::{self, KeptRow, PrecisionRow};
pub use super::saturations::{CutRow, SaturationRow};
use super::saturations::{cut_rows, saturations};
use crate::analysis::cuts::is_harmless;
use crate::analysis::errors::{Decision, Errors, encoded_errors, errors, rounding_inputs};
use crate::analysis::failure::Failure;
use crate::analysis::guard::{self, Guard};
use crate::analysis::interval::{between, hull, size};
use crate::analysis::privacy::Privacy;
use crate::graph::{Function, Graph, Input, NodeId, Op};
use crate::pipeline::{self, Compiled};
use crate::types::Elem;
use serde::Serialize;
use std::collections::BTreeMap;

/// What is proven of a predicate, for all inputs that its ranges admit.
///
/// Errors are of two kinds: how far a run is from the program on the **encoded** inputs, and how far the program on the
/// encoded inputs is from the program on the inputs as they were given, before they were rounded. What is proven for
/// inputs that are known is a [`super::given::GivenCertificate`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Certificate {
    /// log2 of the probability that anything is wrong by more than its stated error; `None` if
    /// nothing can be.
    pub failure_log2: Option<f64>,
    /// Its parts, likeliest first.
    pub failure: Failure,
    /// How each input is held to its range.
    pub inputs: Vec<InputRow>,
    pub error: Vec<RevealRow>,
    /// Each source line that computes something.
    pub lines: Vec<LineRow>,
    /// Comparisons of inexact values: the run decides as the program does where the two sides are
    /// further apart than the margin. Errors hold as long as all do.
    pub decisions: Vec<DecisionRow>,
    /// Functions and quotients that saturate for some operands, and values that loops keep in a range.
    pub saturations: Vec<SaturationRow>,
    /// Where the declared ranges do not bound them, values of `relu` are cut at plus and minus this, and products with a
    /// reciprocal at half of it: in models so that what is made of them fits words of 64 bits, elsewhere so that it fits
    /// any.
    pub saturates_at: Option<f64>,
    /// Cuts that the proven intervals do not exclude. Errors and decisions are stated for inputs for which the
    /// program's values stay within; a value that does not is the end of the cut in a run.
    pub assumed: Vec<CutRow>,
    /// Values with more fraction bits than others.
    pub precision: Vec<PrecisionRow>,
    /// Inputs that are revealed, or what is made of them, and have no more.
    pub kept: Vec<KeptRow>,
    /// What noise promises each client, if there is any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub privacy: Option<Privacy>,
    /// Ring width in bits, and how many words the values of that width have.
    pub rings: BTreeMap<u32, u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InputRow {
    pub name: String,
    /// How it is enforced.
    pub how: String,
    pub declared: (f64, f64),
    /// The range that holds whoever gave it.
    pub enforced: (f64, f64),
    /// The norm that follows from the declared range, of weights: an honest client's software keeps it.
    pub norm: Option<f64>,
    /// The norm that the parties enforce, whoever gave it; `None` if they enforce none.
    pub enforced_norm: Option<f64>,
}

/// A reveal, or a state that is stored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RevealRow {
    pub name: String,
    /// It is a state that is stored for the next round, and revealed to nobody.
    pub state: bool,
    /// The interval that it is in.
    pub range: (f64, f64),
    /// Largest absolute error, proven for all inputs as they are encoded.
    pub proven: f64,
    /// What rounding the inputs changes at most, proven.
    pub rounding_inputs: f64,
}

/// A line of the source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LineRow {
    pub line: u32,
    /// The interval of all values computed there.
    pub range: (f64, f64),
    /// Bits that the largest needs, fraction bits included.
    pub bits: u32,
    /// Largest absolute error, proven for all inputs as they are encoded.
    pub proven: f64,
    /// What rounding the inputs changes at most, proven.
    pub rounding_inputs: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DecisionRow {
    pub line: u32,
    /// The step of the source.
    pub step: String,
    /// Margin for all inputs as they are encoded, in the units of what the source compares.
    pub margin: f64,
    /// By how much more the sides have to be apart for the inputs before they were rounded.
    pub rounding_inputs: f64,
    /// Whether the margin is wider than the interval of what is compared: nothing is proven of it.
    pub says_nothing: bool,
}

impl RevealRow {
    /// What it is, in a word.
    pub fn kind(&self) -> &'static str {
        if self.state { "state" } else { "reveal" }
    }

    /// Whether the bound is wider than the interval that the value is in. The smaller of the two is no bound: the
    /// program's value may be some units outside of what a run has.
    pub fn says_nothing(&self) -> bool {
        let width = self.range.1 - self.range.0;
        width > 0.0 && self.proven > width
    }
}

impl Certificate {
    /// Of the comparisons of which something is proven, the one with the largest margin, for inputs as they are
    /// encoded.
    pub fn widest(&self) -> Option<&DecisionRow> {
        let proven = self.decisions.iter().filter(|d| !d.says_nothing);
        proven.max_by(|a, b| a.margin.total_cmp(&b.margin))
    }

    /// How many comparisons nothing is proven of, for all inputs.
    pub fn unproven(&self) -> usize {
        self.decisions.iter().filter(|d| d.says_nothing).count()
    }

    /// Of all comparisons of which something is proven, the most that rounding the inputs may move the two sides
    /// towards one another.
    pub fn widest_rounding(&self) -> f64 {
        let proven = self.decisions.iter().filter(|d| !d.says_nothing);
        proven.map(|d| d.rounding_inputs).fold(0.0, f64::max)
    }

    /// Of a compiled predicate; `places` says which line of the user's file each site of the graph
    /// belongs to ([`crate::cost::places`]).
    pub fn of(c: &Compiled, places: &[u32]) -> Certificate {
        let line_of = |site: u32| crate::cost::line_of(places, site);
        let g = &c.optimised;
        let errors = errors(g, &c.ranges.raw, &encoded_errors(g, &c.guards), &c.stated);
        let rounding = rounding_inputs(g, &c.ranges.raw, &errors);
        let errors = RunAndRounding { run: errors, rounding };
        let failure = Failure::of(g, &c.guards).with_proofs(&c.circuit);
        let log2 = failure.log2();
        Certificate {
            failure_log2: log2.is_finite().then_some(log2),
            failure,
            inputs: inputs(g, &c.guards),
            error: reveals(c, &errors),
            lines: lines(c, &errors, &line_of),
            decisions: decisions(c, &errors, &line_of),
            saturations: saturations(c, &line_of),
            saturates_at: c.cut.map(|cut| f64::from(cut.top).exp2()),
            assumed: cut_rows(c, &errors.run.assumed, &line_of),
            precision: precision::rows(c, &line_of),
            kept: precision::kept(c),
            privacy: pipeline::privacy::of(c.words(), &line_of, log2.exp2()),
            rings: rings(c),
        }
    }
}

fn inputs(g: &Graph, guards: &[Guard]) -> Vec<InputRow> {
    let row = |(input, guard): (&Input, &Guard)| {
        let unit = 1.0 / g.input_scale(input);
        let bound = guard::bound(g, input, guard);
        let (lo, hi) = (bound.range.0 * unit, bound.range.1 * unit);
        let how = match guard {
            Guard::Public => "public: compared before the run".to_string(),
            Guard::Kept => "a state: kept in the range by the round that stored it".to_string(),
            Guard::Trusted => "taken on trust".to_string(),
            Guard::Bit => "dealt as a bit".to_string(),
            Guard::OneHot => "dealt as bits, one per class, exactly one is set".to_string(),
            Guard::Within(..) => "every element is compared with both ends".to_string(),
            Guard::Project(p) => format!("{} random projections of each client's vector", p.tests),
            Guard::Lift { .. } => "dealt in a 32-bit ring that it fills, and lifted".to_string(),
        };
        InputRow {
            name: input.name.clone(),
            how,
            // One-hot bits stand for a class.
            declared: input.range,
            enforced: if input.one_hot.is_some() { input.range } else { (lo, hi) },
            norm: guard::norm_limit(input),
            enforced_norm: Some(bound.norm * unit)
                .filter(|n| n.is_finite() && !matches!(guard, Guard::Trusted)),
        }
    };
    g.inputs.iter().zip(guards).map(row).collect()
}

/// Errors of runs on the encoded inputs, and those of rounding the inputs.
struct RunAndRounding {
    run: Errors,
    rounding: Errors,
}

/// Decisions that a run, or rounding the inputs, may change.
fn decisions(
    c: &Compiled,
    errors: &RunAndRounding,
    line_of: &dyn Fn(u32) -> u32,
) -> Vec<DecisionRow> {
    let g = &c.optimised;
    let mut rows: BTreeMap<NodeId, DecisionRow> = BTreeMap::new();
    let row = |d: &Decision| DecisionRow {
        line: line_of(d.site),
        step: g.sites[d.site as usize].name.clone(),
        margin: 0.0,
        rounding_inputs: 0.0,
        says_nothing: false,
    };
    for d in &errors.run.decisions {
        let row = rows.entry(d.node).or_insert_with(|| row(d));
        row.margin = d.source;
        row.says_nothing = d.margin > c.ranges.spread(g, d.node);
    }
    for d in &errors.rounding.decisions {
        rows.entry(d.node).or_insert_with(|| row(d)).rounding_inputs = d.source;
    }
    rows.into_values().collect()
}

/// What is lost of a node's value of this size where the receiver is handed it: outputs are 64-bit floating point
/// numbers, which hold 2^53 units and round what is larger.
pub(super) fn rounding_of_outputs(g: &Graph, id: NodeId, size: f64) -> f64 {
    if size / g.ulp(id) > 53f64.exp2() { size * f64::EPSILON / 2.0 } else { 0.0 }
}

fn reveals(c: &Compiled, errors: &RunAndRounding) -> Vec<RevealRow> {
    let g = &c.optimised;
    let row = |(i, o): (usize, &crate::graph::Output)| {
        let (lo, hi) = c.ranges.real(g, o.node);
        let factor = o.factor / o.divisor;
        let (proven, rounding_inputs) = (errors.run.output(g, i), errors.rounding.output(g, i));
        let range = between(lo * factor, hi * factor);
        let handed_out = rounding_of_outputs(g, o.node, size((lo, hi))) * factor.abs();
        let state = o.state.is_some();
        RevealRow {
            name: o.name.clone(),
            state,
            range,
            proven: proven + handed_out,
            rounding_inputs,
        }
    };
    g.outputs.iter().enumerate().map(row).collect()
}

/// Whether a value is a power of two times one of the source: operands of roots and quotients are, which are wanted
/// with more fraction bits, and roots of such operands.
pub(super) fn in_other_units(g: &Graph, id: NodeId) -> bool {
    let scaled = |id: NodeId| matches!(g.op(id), Op::MulPow2(_));
    let root = Op::Function(Function::Sqrt);
    let inverse = Op::Function(Function::RecipSqrt);
    match g.op(id) {
        // What undoes the scale of an operand.
        Op::MulPow2(_) => *g.op(g.arg(id, 0)) != inverse,
        op => (*op == root || *op == inverse) && scaled(g.arg(id, 0)),
    }
}

fn lines(c: &Compiled, errors: &RunAndRounding, line_of: &dyn Fn(u32) -> u32) -> Vec<LineRow> {
    let g = &c.optimised;
    let mut rows: BTreeMap<u32, LineRow> = BTreeMap::new();
    let number = |id: &NodeId| {
        !matches!(g.op(*id), Op::Const(..) | Op::Draw(_) | Op::Pairs { .. } | Op::Places(_))
            && g.ty(*id).elem != Elem::Bit
            && !in_other_units(g, *id)
            && !is_harmless(g, *id)
            && line_of(g.node(*id).site) > 0
    };
    for id in g.ids().filter(number) {
        let (line, range) = (line_of(g.node(id).site), c.ranges.real(g, id));
        let [proven, rounding_inputs] =
            [&errors.run, &errors.rounding].map(|of| of.proven[id.index()]);
        let new = LineRow { line, range, bits: c.ranges.bits(id), proven, rounding_inputs };
        rows.entry(line)
            .and_modify(|row| {
                row.range = hull(row.range, range);
                row.bits = row.bits.max(new.bits);
                row.proven = row.proven.max(proven);
                row.rounding_inputs = row.rounding_inputs.max(rounding_inputs);
            })
            .or_insert(new);
    }
    rows.into_values().collect()
}

fn rings(c: &Compiled) -> BTreeMap<u32, u64> {
    use slvr_circuit::{Dom, Hold};
    let mut rings = BTreeMap::new();
    for ty in &c.circuit.types {
        if let (Dom::Ring(k), Hold::Rep) = (ty.dom, ty.hold) {
            *rings.entry(k).or_default() += ty.elements();
        }
    }
    rings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::stated::{Function, StatedErrors};
    use crate::cost::places;
    use crate::report::testing::compiled;
    use crate::syntax::embedded::PREDICATES;

    /// A protocol that is off by more changes what is certified of everything that it computes.
    #[test]
    fn certificates_follow_what_protocols_state() {
        let (_, text) = PREDICATES.iter().find(|(n, _)| n.starts_with("slvr_conf")).expect("one");
        let bound = [("M", "Mlp[9,hidden=4]"), ("m", "5"), ("c", "1"), ("b", "2")];
        let (program, sources, compiled) = compiled(text, &bound);
        assert_eq!(compiled.stated, crate::lower::stated::STATED);
        let places = places(&program, &compiled.optimised, &sources);
        let certified = |change: &dyn Fn(&mut StatedErrors)| {
            let mut compiled = compiled.clone();
            change(&mut compiled.stated);
            Certificate::of(&compiled, &places)
        };
        let now = certified(&|_| {});
        let worst = |c: &Certificate| c.lines.iter().map(|l| l.proven).sum::<f64>();
        let changes: [&dyn Fn(&mut StatedErrors); 3] = [
            &|s| s.truncation *= 2.0,
            &|s| s.functions[Function::ExpNonPositive as usize].units *= 2.0,
            &|s| s.functions[Function::Recip as usize].units *= 2.0,
        ];
        for change in changes {
            assert!(worst(&certified(change)) > worst(&now));
        }
    }
}
