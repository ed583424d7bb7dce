//! What is proven of a compiled predicate for given inputs: which decisions every run takes as the program does, how
//! clear they are, what the others can change, and how far reveals may be off.
//!
//! Arithmetic is in [`crate::analysis::given`].

use super::certificate::rounding_of_outputs;
use super::confidence::Measured;
use super::leaks::EntryOwners;
use crate::analysis::errors::{Decision, errors, input_errors};
use crate::analysis::given::{self, FAILURE_LOG2, Flips, MOST, Running, Verdict, encoded, keeping};
use crate::graph::eval::{Coin, EvalError, Inputs};
use crate::graph::{Graph, NodeId, Op, Output};
use crate::pipeline::Compiled;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What is proven for given inputs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GivenCertificate {
    /// log2 of the probability that the roundings of a run add up beyond any bound here.
    pub failure_log2: f64,
    pub total: Share,
    /// The same, line by line.
    pub lines: Vec<GivenLine>,
    /// How clear decisions are: gap over bound.
    pub histogram: Vec<Bucket>,
    /// The bits by which reveals choose.
    pub keep: Vec<KeepRow>,
    /// How far each reveal may be off.
    pub reveals: Vec<GivenReveal>,
}

/// How many are certified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Every run decides these as the program does.
    pub certified: u64,
    /// Of so many.
    pub decisions: u64,
}

impl Share {
    /// 1 if there are none.
    pub fn share(self) -> f64 {
        if self.decisions == 0 { 1.0 } else { self.certified as f64 / self.decisions as f64 }
    }

    fn count(&mut self, verdict: &Verdict) {
        self.decisions += 1;
        self.certified += u64::from(verdict.certified);
    }
}

/// Decisions of a line of the source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GivenLine {
    pub line: u32,
    /// The step of the source.
    pub step: String,
    /// How many are certified.
    pub of: Share,
    /// The smallest gap, in units of its bound; `None` if nothing can be off.
    pub least_ratio: Option<f64>,
    /// The party set with a member for each row of the decisions, if there is one.
    pub of_set: Option<String>,
    /// The same by member of this set; empty if there is none.
    pub members: Vec<Share>,
}

/// Decisions whose gap is so many bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bucket {
    /// At least.
    pub from: f64,
    /// Less than this; `None` if there is no end.
    pub to: Option<f64>,
    pub decisions: u64,
}

/// Bits by which a reveal chooses, or that it is made of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeepRow {
    pub line: u32,
    /// The step of the source.
    pub step: String,
    /// The party set with a member for each bit, if there is one.
    pub of: Option<String>,
    /// How many there are.
    pub bits: u64,
    /// So many are as in the program in every run.
    pub certain: u64,
    pub uncertain: Vec<KeepBit>,
}

/// A bit that may differ in a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeepBit {
    /// Which: the member, if there is one for each bit.
    pub index: u64,
    /// What the program has.
    pub program: bool,
    /// On so many decisions that are not certified it depends; `None` if there are too many to follow.
    pub depends_on: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GivenReveal {
    pub name: String,
    /// The largest deviation of any entry from the program on the encoded inputs, whatever is decided.
    pub off: f64,
}

/// Ends of the buckets of a histogram: the first one holds what may be decided otherwise.
const ENDS: [f64; 8] = [1.0, 2.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0];

/// A decision: of a node, one for each entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decided {
    pub node: NodeId,
    pub entry: u64,
    /// What the program decides: a bit, or an index.
    pub program: f64,
    /// Whether every run does the same.
    pub verdict: Verdict,
}

/// A certificate with what else a run on these inputs says.
#[derive(Clone, Debug)]
pub struct OnInputs {
    pub certificate: GivenCertificate,
    /// All decisions, in order.
    pub decisions: Vec<Decided>,
}

impl OnInputs {
    /// Of a compiled predicate for inputs, which are encoded first; `places` says which line of the user's file each
    /// site of the graph belongs to ([`crate::cost::places`]).
    ///
    /// # Errors
    ///
    /// Inputs that do not fit the program.
    pub fn of(
        c: &Compiled,
        places: &[u32],
        inputs: &Inputs,
        coin: Coin<'_>,
    ) -> Result<OnInputs, EvalError> {
        let g = &c.optimised;
        let all = errors(g, &c.ranges.raw, &input_errors(g, &c.guards), &c.stated);
        let bits = keeping(g, &all.depended_on);
        let nodes: Vec<NodeId> = all.decisions.iter().map(|d| d.node).collect();
        let mut flips = Flips::new(g, &nodes, &bits);
        let mut seen = RunBounds::new(g, &nodes, &bits);
        bounds(c, inputs, coin, &mut |id, x, operands| {
            flips.see(id, x);
            seen.see(id, x, operands);
        })?;
        let of = |node: &NodeId| seen.decisions.get(node).into_iter().flatten().copied();
        let decisions: Vec<Decided> = nodes.iter().flat_map(of).collect();
        let mut total = Share::default();
        decisions.iter().for_each(|d| total.count(&d.verdict));
        let rows = Rows { seen, owners: EntryOwners::of(g), places };
        let certificate = GivenCertificate {
            failure_log2: FAILURE_LOG2,
            total,
            lines: rows.lines(&all.decisions),
            histogram: histogram(&decisions),
            keep: rows.keep(&bits, &flips, &decisions)?,
            reveals: g.outputs.iter().map(|o| rows.reveal(o)).collect(),
        };
        Ok(OnInputs { certificate, decisions })
    }
}

/// The decisions of a node's entries.
fn decided(g: &Graph, node: NodeId, x: &Running, operands: &[&Running]) -> Vec<Decided> {
    let program = |i: usize| match g.op(node) {
        Op::Gate => f64::from(u8::from(operands[1].value[i] >= 0.0)),
        _ => x.value[i],
    };
    let verdicts = given::verdicts(g, node, operands).into_iter().enumerate();
    let one = |(i, verdict)| Decided { node, entry: i as u64, program: program(i), verdict };
    verdicts.map(one).collect()
}

impl GivenLine {
    fn new(line: u32, step: String, set: Option<&(String, u64)>) -> GivenLine {
        GivenLine {
            line,
            step,
            of: Share::default(),
            least_ratio: None,
            of_set: set.map(|set| set.0.clone()),
            members: vec![Share::default(); set.map_or(0, |set| set.1) as usize],
        }
    }

    /// Adds the decisions of a node whose entries stand for these members of a set.
    fn count(&mut self, decisions: &[Decided], of: Option<(&(String, u64), &[u64])>) {
        let members = of.filter(|(set, _)| self.of_set.as_ref() == Some(&set.0));
        for Decided { entry, verdict, .. } in decisions {
            self.of.count(verdict);
            let member = members.and_then(|(_, members)| members.get(*entry as usize));
            if let Some(own) = member.and_then(|&m| self.members.get_mut(m as usize)) {
                own.count(verdict);
            }
            let least = self.least_ratio.unwrap_or(f64::INFINITY);
            self.least_ratio = Some(least.min(verdict.ratio())).filter(|r| r.is_finite());
        }
    }
}

fn histogram(decisions: &[Decided]) -> Vec<Bucket> {
    let mut counts = [0u64; ENDS.len() + 1];
    for Decided { verdict, .. } in decisions {
        let ratio = verdict.ratio();
        // At the very end of the first bucket a decision may be certified: of equal sides, say.
        let ratio = if verdict.certified { ratio.max(1.0) } else { ratio.min(0.999) };
        counts[ENDS.iter().take_while(|&&end| ratio >= end).count()] += 1;
    }
    let starts = [0.0].into_iter().chain(ENDS).zip(counts).enumerate();
    let bucket = |(i, (from, decisions))| Bucket { from, to: ENDS.get(i).copied(), decisions };
    starts.map(bucket).collect()
}

/// What the bounds of a run's values say.
struct RunBounds<'a> {
    g: &'a Graph,
    /// The nodes that decide, and the bits by which reveals choose.
    deciding: BTreeSet<NodeId>,
    choosing: BTreeSet<NodeId>,
    decisions: BTreeMap<NodeId, Vec<Decided>>,
    /// What the program has, and whether it may differ.
    bits: BTreeMap<NodeId, Vec<(bool, bool)>>,
    /// How far what a receiver gets of a node may be off.
    off: BTreeMap<NodeId, f64>,
}

impl<'a> RunBounds<'a> {
    fn new(g: &'a Graph, deciding: &[NodeId], choosing: &[NodeId]) -> RunBounds<'a> {
        RunBounds {
            g,
            deciding: deciding.iter().copied().collect(),
            choosing: choosing.iter().copied().collect(),
            decisions: BTreeMap::new(),
            bits: BTreeMap::new(),
            off: BTreeMap::new(),
        }
    }

    /// Remembers of a node what the certificate says.
    fn see(&mut self, id: NodeId, x: &Running, operands: &[&Running]) {
        if self.deciding.contains(&id) {
            self.decisions.insert(id, decided(self.g, id, x, operands));
        }
        if self.choosing.contains(&id) {
            let bits = (0..x.value.len()).map(|i| (x.value[i] != 0.0, x.bound(i) > 0.0));
            self.bits.insert(id, bits.collect());
        }
        if self.g.is_output(id) {
            let handed_out = |i: usize| {
                let largest = x.value[i].abs() + x.bound(i);
                x.bound(i) + rounding_of_outputs(self.g, id, largest)
            };
            let off = (0..x.value.len()).map(handed_out).fold(0.0, f64::max);
            self.off.insert(id, off);
        }
    }
}

/// What the rows of a certificate are made from.
struct Rows<'a> {
    seen: RunBounds<'a>,
    owners: EntryOwners,
    /// Of each site its line in the user's file.
    places: &'a [u32],
}

impl<'a> Rows<'a> {
    /// The line of a site, and the step of the source.
    fn place(&self, site: u32) -> (u32, String) {
        let line = crate::cost::line_of(self.places, site);
        (line, self.seen.g.sites[site as usize].name.clone())
    }

    /// The party set of which the entries of a node stand for members, and for which.
    fn members(&self, node: NodeId) -> Option<(&'a (String, u64), Vec<u64>)> {
        let (set, members) = self.owners.members(self.seen.g, node)?;
        Some((self.seen.g.parties.get(set as usize)?, members))
    }

    fn lines(&self, decisions: &[Decision]) -> Vec<GivenLine> {
        let mut lines: BTreeMap<(u32, String), GivenLine> = BTreeMap::new();
        for &Decision { node, site, .. } in decisions {
            let Some(decided) = self.seen.decisions.get(&node) else { continue };
            let of = self.members(node);
            let of = of.as_ref().map(|(set, members)| (*set, &members[..]));
            let (line, step) = self.place(site);
            lines
                .entry((line, step.clone()))
                .or_insert_with(|| GivenLine::new(line, step, of.map(|(set, _)| set)))
                .count(decided, of);
        }
        lines.into_values().collect()
    }

    fn reveal(&self, o: &Output) -> GivenReveal {
        let off = self.seen.off.get(&o.node).copied().unwrap_or(0.0);
        // What is exact stays so, whatever it is multiplied by.
        let off = if off == 0.0 { 0.0 } else { off * (o.factor / o.divisor).abs() };
        GivenReveal { name: o.name.clone(), off }
    }

    fn keep(
        &self,
        bits: &[NodeId],
        flips: &Flips<'_>,
        decisions: &[Decided],
    ) -> Result<Vec<KeepRow>, EvalError> {
        let doubt: Vec<&Decided> = decisions.iter().filter(|d| !d.verdict.certified).collect();
        let depends = if doubt.len() <= MOST { Some(depends(bits, flips, &doubt)?) } else { None };
        Ok(bits.iter().filter_map(|&id| self.kept(id, depends.as_ref())).collect())
    }

    /// The row of bits; `depends` says on how many decisions each depends, where these were followed.
    fn kept(&self, id: NodeId, depends: Option<&Depends>) -> Option<KeepRow> {
        let all = self.seen.bits.get(&id)?;
        let uncertain = all.iter().enumerate().filter(|(_, (_, doubt))| *doubt);
        let uncertain = uncertain.map(|(i, (program, _))| KeepBit {
            index: i as u64,
            program: *program,
            depends_on: depends.map(|of| of.get(&id).map_or(0, |n| n[i])),
        });
        let uncertain: Vec<KeepBit> = uncertain.collect();
        let each = |of: &(&(String, u64), Vec<u64>)| (0..of.0.1).eq(of.1.iter().copied());
        let of = self.members(id).filter(each);
        let (line, step) = self.place(self.seen.g.node(id).site);
        Some(KeepRow {
            line,
            step,
            of: of.map(|(set, _)| set.0.clone()),
            bits: all.len() as u64,
            certain: (all.len() - uncertain.len()) as u64,
            uncertain,
        })
    }
}

/// By node, on how many decisions each of its bits depends.
type Depends = BTreeMap<NodeId, Vec<u64>>;

fn depends(bits: &[NodeId], flips: &Flips<'_>, doubt: &[&Decided]) -> Result<Depends, EvalError> {
    let mut depends = Depends::new();
    for d in doubt {
        let marked = flips.of(d.node, d.entry as usize)?;
        for bit in bits {
            let Some(marked) = &marked[bit.index()] else { continue };
            let counts = depends.entry(*bit).or_insert_with(|| vec![0; marked.len()]);
            counts.iter_mut().zip(marked).for_each(|(n, m)| *n += u64::from(*m));
        }
    }
    Ok(depends)
}

impl OnInputs {
    /// Whose values say what a run decides: the nodes themselves, or what they take the sign of.
    pub fn probes(&self, g: &Graph) -> Vec<NodeId> {
        let mut all: Vec<NodeId> = self.decisions.iter().map(|d| probe(g, d.node)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// How many decisions of an evaluation agree with floating point; `values` are those of [`OnInputs::probes`], in
    /// this order.
    pub fn agreement(&self, g: &Graph, values: &[&[f64]], confidence: f64) -> Measured {
        let at: BTreeMap<NodeId, &[f64]> =
            self.probes(g).into_iter().zip(values.iter().copied()).collect();
        let agrees = |d: &&Decided| {
            let value = at.get(&probe(g, d.node)).and_then(|v| v.get(d.entry as usize));
            value.is_some_and(|&v| match g.op(d.node) {
                Op::Gate => (v >= 0.0) == (d.program != 0.0),
                _ => v == d.program,
            })
        };
        let seen = self.decisions.iter().filter(agrees).count();
        Measured::clopper_pearson(seen as u64, self.decisions.len() as u64, confidence)
    }
}

fn probe(g: &Graph, decision: NodeId) -> NodeId {
    if *g.op(decision) == Op::Gate { g.arg(decision, 1) } else { decision }
}

/// Bytes of what is held at one time, about.
pub fn memory(c: &Compiled) -> u64 {
    // A value, its two bounds, the three parts of its noise and the two bounds of the program's own value, of operands
    // and of what is made of them; and what is added up of these.
    given::peak(&c.optimised).saturating_mul(9 * 8)
}

/// The bounds of all nodes on inputs, which are encoded first. `see` gets each node with its operands.
///
/// # Errors
///
/// As [`OnInputs::of`].
pub fn bounds(
    c: &Compiled,
    inputs: &Inputs,
    coin: Coin<'_>,
    see: &mut dyn FnMut(NodeId, &Running, &[&Running]),
) -> Result<(), EvalError> {
    let inputs = encoded(&c.optimised, inputs);
    let (graph, stated, guards) = (&c.optimised, &c.stated, &c.guards[..]);
    let given = given::Given { graph, stated, guards, raw: &c.ranges.raw, inputs: &inputs, coin };
    given.run(see)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::certificate::Certificate;
    use crate::report::testing::compiled;

    /// What is certified of two clients' program for all inputs, and for these values of `x`.
    fn certified(body: &str, x: [f64; 2]) -> (Certificate, GivenCertificate) {
        let text = format!(
            "use std::{{clamp, select, sum}};\npredicate P[m]() {{ parties Client[m]; parties Server;\n{body}\n}}\n"
        );
        let (.., compiled) = compiled(&text, &[("m", "2")]);
        let member = |x: f64| [("x".to_string(), vec![x])].into();
        let inputs = Inputs { sets: vec![x.map(member).into()], ..Inputs::default() };
        let coin = |_: &crate::types::Lots| Vec::new();
        let found = OnInputs::of(&compiled, &[], &inputs, &coin).expect("inputs that fit");
        (Certificate::of(&compiled, &[]), found.certificate)
    }

    /// A loop that multiplies every deviation is off by no more than the range that it declares.
    #[test]
    fn no_bound_is_wider_than_the_range_that_a_loop_keeps() {
        for steps in [4, 16, 200] {
            let body = format!(
                "input x: secret fix in 0..1 from each Client;\n\
                 reveal iterate s: fix in 0..1 = sum(x) / m for t in {steps} {{ 3.9 * s * (1 - s) }} to Server as s;"
            );
            let (all, given) = certified(&body, [0.3, 0.61]);
            let off = given.reveals[0].off;
            assert!(off > 0.0 && off <= 1.0 + 1e-6, "{steps}: {off}");
            let row = &all.error[0];
            assert!(row.proven <= 1.0 + 1e-3, "{steps}: {row:?}");
            assert!(row.rounding_inputs <= 1.0 + 1e-3, "{steps}: {row:?}");
        }
    }

    /// What rounded factors change is in a bound, also where the graph's own value is at an end of its interval, where
    /// one of two values is chosen otherwise with them, and where a run and the program are on two sides of the graph.
    #[test]
    fn bounds_count_what_rounded_factors_change() {
        for (term, least) in [
            ("0.3 * clamp(sum([1.5 for j in Client]), -1, 2.5) + x[i]", 7e-6),
            ("clamp(0.3 * clamp(sum([1.5 for j in Client]), -1, 2.5), -1, 1) * 3 + x[i]", 2e-5),
            ("select(0.3 * x[i] <= 0.9, 0, 0.1 * x[i] + 7)", 7.3),
            ("sum([0.3 * x[i] <= 0.9 for j in Client])", 2.0),
            (
                "[iterate v: fix in -0.1..0.1 = x[i] for t in 1 { v / 3 }, select(0.3 * x[i] <= 0.9, 7, 0)]",
                7.0,
            ),
        ] {
            let body = format!(
                "input x: secret fix in 0..4 from each Client;
                 reveal [{term} for i in Client] to Server as s;"
            );
            let (_, given) = certified(&body, [3.0, 3.0]);
            let off = given.reveals[0].off;
            assert!(off >= least && off < 8.0 * least, "{term}: {off} is not at least {least}");
        }
    }

    /// Sums of whole numbers are exact, but outputs have 53 bits.
    #[test]
    fn outputs_beyond_what_floating_point_holds_are_off_by_what_it_rounds() {
        let most = 2f64.powi(53) - 1.0;
        let body = |top: f64| {
            format!(
                "input x: secret int in 0..{top} from each Client;\nreveal sum(x) to Server as s;"
            )
        };
        let (all, given) = certified(&body(most), [most - 1.0, most - 4.0]);
        assert!((1.0..=2.0 + 1e-9).contains(&all.error[0].proven), "{:?}", all.error[0]);
        // The bound also has what the evaluation in floating point, which the run is compared with, may lose.
        assert!((1.0..=64.0).contains(&given.reveals[0].off), "{:?}", given.reveals[0]);
        let (all, given) = certified(&body(2f64.powi(51)), [5.0, 7.0]);
        assert_eq!((all.error[0].proven, given.reveals[0].off), (0.0, 0.0));
    }
}
