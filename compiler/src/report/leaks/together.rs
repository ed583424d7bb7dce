//! What several reveals, or several entries of one, say of single clients when they are taken together.

use super::combinations::{Finding, Question, findings};
use super::findings::{LeakKind, LeakWarning, Level};
use super::flow::{Dependence, Flow};
use super::warn::{is_bits, member, names};
use crate::analysis::layout::behind;
use crate::graph::{Graph, Op};
use std::collections::BTreeSet;

const SHIFT: &str = "make every combination of what is revealed a sum over at least two clients, and \
                     beware of a sum and the same sum without one client";

/// The reveals to one receiver.
struct Reveals<'a> {
    graph: &'a Graph,
    flows: &'a [Flow],
    /// By index of output.
    outputs: Vec<usize>,
    /// Of which it is said already that they tell of single clients.
    flagged: BTreeSet<usize>,
    receiver: &'a str,
    line: &'a dyn Fn(&str) -> u32,
}

/// What is said of the reveals to a receiver beyond `single`, which was said of each by itself.
pub(super) fn warnings(
    graph: &Graph,
    flows: &[Flow],
    to: u32,
    single: &[(usize, LeakWarning)],
    line: &dyn Fn(&str) -> u32,
) -> Vec<LeakWarning> {
    let form = |o: usize| &flows[graph.outputs[o].node.index()].form;
    let outputs: Vec<usize> = (0..graph.outputs.len())
        .filter(|&o| graph.outputs[o].to == to && *form(o) != Dependence::Free)
        .collect();
    let warned = single.iter().filter(|(_, w)| w.level == Level::Warning);
    let flagged = warned.map(|(o, _)| *o).collect();
    let receiver = &graph.parties[to as usize].0;
    Reveals { graph, flows, outputs, flagged, receiver, line }.warnings()
}

impl Reveals<'_> {
    fn flow(&self, output: usize) -> &Flow {
        &self.flows[self.graph.outputs[output].node.index()]
    }

    fn warnings(&self) -> Vec<LeakWarning> {
        let bits = self.outputs.iter().copied().filter(|&o| is_bits(self.flow(o))).collect();
        let question = Question {
            graph: self.graph,
            flows: self.flows,
            outputs: self.outputs.clone(),
            flagged: self.flagged.clone(),
            bits,
        };
        let (found, mut out) = match findings(&question) {
            Some(found) => (found, Vec::new()),
            None => (Vec::new(), vec![self.not_looked_at()]),
        };
        out.extend(found.iter().map(|f| self.combination(f)));
        let mut told = self.flagged.clone();
        told.extend(found.iter().flat_map(|f| &f.outputs));
        // Differences of clients are of several clients each, and put these in order.
        let apart = |f: &Flow| f.form == Dependence::Linear && f.side_by_side();
        let beside =
            self.outputs.iter().copied().filter(|o| apart(self.flow(*o)) && !told.contains(o));
        out.extend(beside.map(|o| self.beside(o)));
        let rest: Vec<usize> = self.outputs.iter().copied().filter(|o| !told.contains(o)).collect();
        for (&a, &b) in rest.iter().flat_map(|a| rest.iter().map(move |b| (a, b))) {
            if a < b && (self.keeps_some(a, b) || self.keeps_some(b, a)) {
                out.push(self.kept_and_all(a, b));
            }
        }
        out.extend(self.several_bits(&question.bits));
        out
    }

    fn say(&self, kind: LeakKind, outputs: &[usize], why: String, help: &str) -> LeakWarning {
        let reveals: Vec<String> =
            outputs.iter().map(|&o| self.graph.outputs[o].name.clone()).collect();
        let line = reveals.first().map_or(0, |n| (self.line)(n));
        LeakWarning { kind, level: kind.level(), reveals, line, why, help: help.into() }
    }

    /// The inputs that reveals follow from.
    fn of(&self, outputs: &[usize]) -> String {
        let inputs = outputs.iter().flat_map(|&o| self.flow(o).inputs.clone());
        names(self.graph, &inputs.collect())
    }

    fn combination(&self, found: &Finding) -> LeakWarning {
        let (receiver, of) = (self.receiver, self.of(&found.outputs));
        let named: Vec<String> =
            found.members.iter().map(|m| member(self.graph, m.0, m.1)).collect();
        let who = match named.len() {
            1..=4 => named.join(", "),
            n => format!("{} and {} others", named[..3.min(n)].join(", "), n - 3.min(n)),
        };
        let kind = if found.linear || found.outputs.len() > 1 {
            LeakKind::Determined
        } else {
            LeakKind::PerClient
        };
        let why = match (&found.outputs[..], found.linear) {
            ([_], true) => format!(
                "it is a linear function of {of} with public coefficients, and some combination of its \
                 entries depends on one client alone: {receiver} learns equations in the inputs of {who}"
            ),
            ([_], false) => format!(
                "some combination of its entries is computed from one client alone: {receiver} learns \
                 values of {who} that follow from {of}"
            ),
            _ => format!(
                "some combination of these, with what {receiver} knows, depends on one client alone: \
                 it learns values of {who} that follow from {of}"
            ),
        };
        self.say(kind, &found.outputs, why, SHIFT)
    }

    fn not_looked_at(&self) -> LeakWarning {
        self.say(
            LeakKind::NotTogether,
            &self.outputs,
            "so many entries are added up, each in its own way, that each reveal was looked at by itself only"
                .into(),
            "look at the same program with fewer clients and a smaller model",
        )
    }

    fn beside(&self, output: usize) -> LeakWarning {
        let (receiver, of) = (self.receiver, self.of(&[output]));
        self.say(
            LeakKind::PerClient,
            &[output],
            format!(
                "there is an entry for each client, of {of}: {receiver} can tell clients apart by it, and \
                 who is first, even if others' inputs take part in it"
            ),
            "reveal a statistic over clients (a sum, a mean), or compare and keep the result secret",
        )
    }

    /// Whether the first of two sums keeps some of the clients that the other one has, and it may be all but one.
    fn keeps_some(&self, a: usize, b: usize) -> bool {
        let (x, y) = (self.flow(a), self.flow(b));
        let shape = |o: usize| self.graph.shape(self.graph.outputs[o].node);
        let kept = |f: &Flow| match &f.form {
            Dependence::Masked(m) => {
                m.bit && m.each && m.ones.most.saturating_add(1) >= f.clients()
            }
            Dependence::Free | Dependence::Linear | Dependence::Other(_) => false,
        };
        shape(a) == shape(b)
            && x.clients() > 1
            && kept(x)
            && (y.form == Dependence::Linear || kept(y))
            && !x.inputs.is_disjoint(&y.inputs)
    }

    fn kept_and_all(&self, a: usize, b: usize) -> LeakWarning {
        let (receiver, of) = (self.receiver, self.of(&[a, b]));
        self.say(
            LeakKind::MaskedSum,
            &[a, b],
            format!(
                "each of these is over several clients, but where one of them keeps all clients that the \
                 other has and one more, their difference is this one's: {receiver} learns {of} of it"
            ),
            "reveal one of them only, or make sure that they differ in at least two clients or in none",
        )
    }

    /// Different bits of the same clients, in several reveals.
    fn several_bits(&self, bits: &BTreeSet<usize>) -> Option<LeakWarning> {
        let moved = |op: &Op| op.is_layout() || matches!(op, Op::Not | Op::ToInt);
        let source = |o: usize| behind(self.graph, self.graph.outputs[o].node, moved);
        let whose = |o: usize| {
            let rank = self.graph.shape(self.graph.outputs[o].node).len();
            self.flow(o).beside_at(&vec![0; rank])
        };
        let each = |o: usize| self.flow(o).side_by_side();
        let same = |a: usize, b: usize| match (whose(a), whose(b)) {
            (Some(x), Some(y)) => x == y || x.0 == y.0 && (each(a) || each(b)),
            _ => false,
        };
        let rest: Vec<usize> = bits.difference(&self.flagged).copied().collect();
        let other = |&o: &usize| rest.iter().any(|&p| source(o) != source(p) && same(o, p));
        let several: Vec<usize> = rest.iter().copied().filter(other).collect();
        let of = self.of(&several);
        (!several.is_empty()).then(|| {
            self.say(
                LeakKind::SeveralBits,
                &several,
                format!(
                    "together there are several bits of a client, computed from {of}: several comparisons of one \
                     client say more than whether it was kept, and enough of them its value"
                ),
                "keep the bits secret and reveal what they select, or only how many there are",
            )
        })
    }
}
