//! All that is known of a compiled predicate before it runs, in one place, as it is shown and written.
//!
//! Arithmetic over the compiled graph: ranges ([`crate::analysis::ranges`]), errors
//! ([`crate::analysis::errors`]), failure ([`crate::analysis::failure`]) and how inputs are enforced
//! ([`crate::analysis::guard`]). Costs and leaks are beside it
//! ([`crate::cost`], [`super::leaks`]).

use super::precision::{self, KeptRow, PrecisionRow};
use crate::analysis::errors::{Errors, encoded_errors, errors, rounding_inputs};
use crate::analysis::failure::Failure;
use crate::analysis::guard::{self, Guard};
use crate::analysis::interval::{between, hull, size};
use crate::analysis::privacy::Privacy;
use crate::analysis::ranges::Ranges;
use crate::analysis::zeros::vanishes;
use crate::graph::{Function, Giver, Graph, Input, NodeId, Op, domain};
use crate::pipeline::Compiled;
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
    /// Values of `relu` saturate at this and products with a reciprocal at half of it, those that the declared ranges
    /// alone do not bound: in models so that what is made of them fits words of 64 bits, elsewhere so that it fits any.
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

/// A function or a quotient that saturates for operands that its interval does not exclude, or a value that a loop
/// keeps in its declared range.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SaturationRow {
    pub line: u32,
    pub function: String,
    /// For which operands, and at what.
    pub what: String,
    /// How many steps of the line are the same.
    pub times: u64,
}

impl SaturationRow {
    /// Whether both say the same of a line, however often.
    fn is_like(&self, other: &SaturationRow) -> bool {
        (self.line, &self.function, &self.what) == (other.line, &other.function, &other.what)
    }
}

/// A step whose values are cut.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CutRow {
    pub line: u32,
    /// The step of the source.
    pub step: String,
    /// Values stay within plus and minus this.
    pub at: f64,
    /// Their interval without the cut, proven.
    pub range: (f64, f64),
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

impl SaturationRow {
    /// For which operands, at what, and how often.
    pub fn said(&self) -> String {
        match self.times {
            1 => self.what.clone(),
            n => format!("{} ({n} times)", self.what),
        }
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
        let line_of = |site: u32| places.get(site as usize).copied().unwrap_or(0);
        let g = &c.optimised;
        let errors = errors(g, &c.ranges.raw, &encoded_errors(g, &c.guards), &c.stated);
        let rounding = rounding_inputs(g, &c.ranges.raw, &errors);
        let both = Both { errors, rounding };
        let failure = Failure::of(g, &c.guards).with_proofs(&c.circuit);
        let log2 = failure.log2();
        Certificate {
            failure_log2: log2.is_finite().then_some(log2),
            failure,
            inputs: inputs(g, &c.guards),
            error: reveals(c, &both),
            lines: lines(c, &both, &line_of),
            decisions: decisions(c, &both, &line_of),
            saturations: saturations(c, &line_of),
            saturates_at: c.cut.map(|cut| f64::from(cut.top).exp2()),
            assumed: cut_rows(c, &both.errors.assumed, &line_of),
            precision: precision::rows(c, &line_of),
            kept: precision::kept(c),
            privacy: Privacy::of(c.words(), &line_of, log2.exp2()),
            rings: rings(c),
        }
    }
}

/// Functions that saturate, and values that loops and states keep in a range, in the order of the program.
fn saturations(c: &Compiled, line_of: &dyn Fn(u32) -> u32) -> Vec<SaturationRow> {
    let g = &c.optimised;
    let mut rows: Vec<SaturationRow> = Vec::new();
    for id in g.ids() {
        let line = line_of(g.node(id).site);
        if let Some(what) = saturates(g, &c.ranges, id) {
            let row = SaturationRow { line, function: g.op(id).name().into(), what, times: 1 };
            match rows.iter_mut().find(|r| r.is_like(&row)) {
                Some(same) => same.times += 1,
                None => rows.push(row),
            }
        }
        // Once for all steps.
        if let Some(row) = kept_in_range(g, id, line).filter(|row| !rows.contains(row)) {
            rows.push(row);
        }
    }
    rows
}

/// The row of a value that a loop or a state keeps in a range.
fn kept_in_range(g: &Graph, id: NodeId, line: u32) -> Option<SaturationRow> {
    let (name, (lo, hi)) = g.site(id).keeps().filter(|_| *g.op(id) == Op::Select)?;
    let state = |i: &Input| i.name == name && matches!(i.from, Giver::State(_));
    let kept = if g.inputs.iter().any(state) { "where it is stored" } else { "in a loop" };
    let what = format!("{kept}, kept in {lo}..{hi}");
    Some(SaturationRow { line, function: format!("`{name}`"), what, times: 1 })
}

/// The cuts that the stated errors rest on, once for all of the same step.
fn cut_rows(c: &Compiled, assumed: &[NodeId], line_of: &dyn Fn(u32) -> u32) -> Vec<CutRow> {
    let g = &c.optimised;
    let mut rows: Vec<CutRow> = Vec::new();
    for &id in assumed {
        let Op::Saturate(top) = g.op(id) else { continue };
        let (line, step) = (line_of(g.node(id).site), g.site(id).name.clone());
        let (at, range) = (f64::from(*top).exp2(), c.ranges.real(g, g.arg(id, 0)));
        match rows.iter_mut().find(|r| (r.line, &r.step, r.at) == (line, &step, at)) {
            Some(row) => row.range = hull(row.range, range),
            None => rows.push(CutRow { line, step, at, range }),
        }
    }
    rows
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
struct Both {
    errors: Errors,
    rounding: Errors,
}

/// Decisions that a run, or rounding the inputs, may change.
fn decisions(c: &Compiled, both: &Both, line_of: &dyn Fn(u32) -> u32) -> Vec<DecisionRow> {
    let g = &c.optimised;
    let mut rows: BTreeMap<NodeId, DecisionRow> = BTreeMap::new();
    for (of, rounding) in [(&both.errors, false), (&both.rounding, true)] {
        for d in &of.decisions {
            let row = rows.entry(d.node).or_insert_with(|| DecisionRow {
                line: line_of(d.site),
                step: g.sites[d.site as usize].name.clone(),
                margin: 0.0,
                rounding_inputs: 0.0,
                says_nothing: false,
            });
            *(if rounding { &mut row.rounding_inputs } else { &mut row.margin }) = d.source;
            row.says_nothing |= !rounding && d.margin > c.ranges.spread(g, d.node);
        }
    }
    rows.into_values().collect()
}

/// What is lost of a node's value of this size where the receiver is handed it: outputs are 64-bit floating point
/// numbers, which hold 2^53 units and round what is larger.
pub(super) fn rounding_of_outputs(g: &Graph, id: NodeId, size: f64) -> f64 {
    if size / g.ulp(id) > 53f64.exp2() { size * f64::EPSILON / 2.0 } else { 0.0 }
}

fn reveals(c: &Compiled, both: &Both) -> Vec<RevealRow> {
    let g = &c.optimised;
    let row = |(i, o): (usize, &crate::graph::Output)| {
        let (lo, hi) = c.ranges.real(g, o.node);
        let factor = o.factor / o.divisor;
        let (proven, rounding_inputs) = (both.errors.output(g, i), both.rounding.output(g, i));
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
fn in_other_units(g: &Graph, id: NodeId) -> bool {
    let scaled = |id: NodeId| matches!(g.op(id), Op::MulPow2(_));
    scaled(id) || *g.op(id) == Op::Function(Function::Sqrt) && scaled(g.arg(id, 0))
}

fn lines(c: &Compiled, both: &Both, line_of: &dyn Fn(u32) -> u32) -> Vec<LineRow> {
    let g = &c.optimised;
    let mut rows: BTreeMap<u32, LineRow> = BTreeMap::new();
    let number = |id: &NodeId| {
        !matches!(g.op(*id), Op::Const(..) | Op::Draw(_) | Op::Pairs { .. } | Op::Places(_))
            && g.ty(*id).elem != Elem::Bit
            && !in_other_units(g, *id)
            && line_of(g.node(*id).site) > 0
    };
    for id in g.ids().filter(number) {
        let (line, range) = (line_of(g.node(id).site), c.ranges.real(g, id));
        let of = |errors: &Errors| errors.proven[id.index()];
        let (proven, rounding_inputs) = (of(&both.errors), of(&both.rounding));
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

/// For which operands a function or a quotient is cut, and at what, if its interval admits any.
fn saturates(g: &Graph, ranges: &Ranges, id: NodeId) -> Option<String> {
    let real = |i: usize| ranges.real(g, g.arg(id, i));
    let end = domain::QUOTIENT_TOP;
    match g.op(id) {
        Op::Div => {
            let (x, y) = (real(0), real(1));
            let largest = size(x) / y.0.max(-y.1).max(0.0);
            let near = y.0 <= 0.0 && y.1 >= 0.0;
            let zero = near && !vanishes(g, g.arg(id, 0), g.arg(id, 1));
            let beyond = !near && y.0.max(-y.1) < 1.0 && largest > f64::from(end).exp2();
            let what = if zero {
                "where the divisor is 0 or near to it"
            } else {
                "where it would be larger"
            };
            (zero || beyond).then(|| format!("is 2^{end} or -2^{end} {what}; 0 / 0 is 0"))
        }
        Op::Function(f) => {
            let (lo, hi) = real(0);
            (f.facts().beyond)(lo, hi).map(|what| format!("is {what}"))
        }
        _ => None,
    }
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
    fn stated_errors_are_those_of_the_family() {
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
