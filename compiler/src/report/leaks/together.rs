//! What several reveals, or several entries of one, say of single clients when they are taken together.

use super::combinations::{Finding, Member, Question, findings};
use super::findings::{LeakKind, LeakWarning, Level};
use super::flow::{Dependence, Flow, Scope};
use super::parts::{TooFar, origins, stands_for};
use super::texts::{self, Said};
use super::view::View;
use super::warn::is_bits;
use super::warnings::{Attributed, Named};
use crate::analysis::behind::behind;
use crate::graph::{NodeId, Op};
use std::collections::{BTreeMap, BTreeSet};

/// The reveals to one receiver.
struct Reveals<'a> {
    view: &'a View,
    /// By index of output.
    outputs: Vec<usize>,
    /// Of which it is said already that they tell of single clients.
    flagged: BTreeSet<usize>,
    /// Whom it is said of already, by reveal.
    named: BTreeSet<(usize, Member)>,
    /// Of which it is said already that they are several bits of a client.
    several_bits: BTreeSet<usize>,
    receiver: &'a str,
    line: &'a dyn Fn(&str) -> u32,
}

/// What is said of the reveals to a receiver beyond `single`, which was said of each by itself.
pub(super) fn warnings(
    view: &View,
    single: &[(usize, Attributed)],
    line: &dyn Fn(&str) -> u32,
) -> Vec<Attributed> {
    let graph = &view.graph;
    let outputs: Vec<usize> = (0..graph.outputs.len())
        .filter(|&o| graph.outputs[o].to == view.to)
        .filter(|&o| view.flow(view.output(o)).form != Dependence::Free)
        .collect();
    let said = |of: &dyn Fn(&LeakWarning) -> bool| {
        single.iter().filter(|(_, told)| of(&told.warning)).map(|(o, _)| *o).collect()
    };
    let flagged = said(&|w| w.level == Level::Warning);
    let named = single.iter().flat_map(|(o, told)| told.members().map(|m| (*o, m))).collect();
    let several_bits = said(&|w| w.kind == LeakKind::SeveralBits);
    let receiver = &graph.parties[view.to as usize].0;
    Reveals { view, outputs, flagged, named, several_bits, receiver, line }.warnings()
}

impl Reveals<'_> {
    fn flow(&self, output: usize) -> &Flow {
        self.view.flow(self.view.output(output))
    }

    fn warnings(&self) -> Vec<Attributed> {
        let bits = self.outputs.iter().copied().filter(|&o| is_bits(self.flow(o))).collect();
        let question = Question {
            graph: &self.view.graph,
            flows: &self.view.flows,
            outputs: self.outputs.clone(),
            bits,
        };
        let (found, left_out) = findings(&question);
        let mut out: Vec<Attributed> = found.iter().filter_map(|f| self.combination(f)).collect();
        if !left_out.is_empty() {
            let left_out: Vec<usize> = left_out.into_iter().collect();
            out.push(self.say(&left_out, texts::not_together()));
        }
        // What one reveal says together with others is no reason to say less of it by itself.
        let mut told = self.flagged.clone();
        told.extend(found.iter().filter(|f| f.outputs.len() == 1).flat_map(|f| &f.outputs));
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
        out.extend(self.thresholds());
        out
    }

    fn say(&self, outputs: &[usize], said: Said) -> Attributed {
        let name = |&o: &usize| self.view.graph.outputs[o].name.clone();
        let reveals: Vec<String> = outputs.iter().map(name).collect();
        let line = reveals.first().map_or(0, |n| (self.line)(n));
        Attributed::new(LeakWarning::new(said, reveals, line), Named::new())
    }

    /// The inputs that reveals follow from.
    fn of(&self, outputs: &[usize]) -> String {
        let inputs = outputs.iter().flat_map(|&o| self.flow(o).inputs.clone());
        self.view.inputs(&inputs.collect())
    }

    /// Nothing if the same is said of all these members already.
    fn combination(&self, found: &Finding) -> Option<Attributed> {
        let mut whose = self.view.named(found.members.iter().copied());
        if let [o] = found.outputs[..] {
            whose.retain(|member, _| !self.named.contains(&(o, *member)));
        }
        if whose.is_empty() {
            return None;
        }
        let (receiver, of, who) = (self.receiver, &self.of(&found.outputs), &texts::few(&whose));
        let said = match found.outputs[..] {
            [_] => texts::within_one(found.linear, receiver, of, who),
            _ => texts::of_several(receiver, of, who),
        };
        Some(Attributed { whose, ..self.say(&found.outputs, said) })
    }

    fn beside(&self, output: usize) -> Attributed {
        let made = format!("of {}", self.of(&[output]));
        self.say(&[output], texts::side_by_side(self.receiver, &made))
    }

    /// Whether the first of two sums keeps some of the clients that the other one has, and it may be all but one.
    fn keeps_some(&self, a: usize, b: usize) -> bool {
        let (x, y) = (self.flow(a), self.flow(b));
        let shape = |o: usize| self.view.graph.shape(self.view.output(o));
        let kept = |f: &Flow| match &f.form {
            Dependence::Masked(m) => {
                let each = m.factor.selects() && m.scope == Scope::Each;
                each && m.ones.most.saturating_add(1) >= f.clients()
            }
            Dependence::Free | Dependence::Linear | Dependence::Other(_) => false,
        };
        shape(a) == shape(b)
            && x.clients() > 1
            && kept(x)
            && (y.form == Dependence::Linear || kept(y))
            && !x.inputs.is_disjoint(&y.inputs)
    }

    fn kept_and_all(&self, a: usize, b: usize) -> Attributed {
        self.say(&[a, b], texts::kept_and_all(self.receiver, &self.of(&[a, b])))
    }

    /// Different bits of the same clients, in several reveals.
    fn several_bits(&self, bits: &BTreeSet<usize>) -> Option<Attributed> {
        // By client; those of which it was not found out may all be one client's.
        let mut by: BTreeMap<Option<Member>, Origins> = BTreeMap::new();
        for &o in bits.difference(&self.several_bits) {
            for (node, at) in origins(self.view, self.view.output(o)) {
                let whose = match stands_for(self.view, node, at) {
                    Ok(None) => continue,
                    Ok(member) => member,
                    Err(TooFar) => None,
                };
                by.entry(whose).or_default().add((node, at), o);
            }
        }
        by.retain(|_, of| of.entries.len() > 1);
        let added = if by.contains_key(&None) { texts::NOT_FOUND_OUT } else { "" };
        let several: BTreeSet<usize> = by.into_values().flat_map(|of| of.outputs).collect();
        (!several.is_empty()).then(|| {
            let mut told = self.bits_of_one(&several);
            told.warning.why.push_str(added);
            told
        })
    }

    /// One client's value that an order picked, held against several public numbers.
    fn thresholds(&self) -> Vec<Attributed> {
        let graph = &self.view.graph;
        let mut by: BTreeMap<NodeId, Origins> = BTreeMap::new();
        for &o in self.outputs.iter().filter(|o| !self.several_bits.contains(o)) {
            for (bit, at) in origins(self.view, self.view.output(o)) {
                let (Op::Lt | Op::Eq, [a, b]) = (graph.op(bit), graph.args(bit)) else { continue };
                let [x, y] = [a, b].map(|v| self.view.flow(*v));
                let value = match (x.one_by_order() && y.is_free(), y.one_by_order() && x.is_free())
                {
                    (true, _) => a,
                    (_, true) => b,
                    _ => continue,
                };
                let value = behind(graph, *value, Op::is_layout);
                by.entry(value).or_default().add((bit, at), o);
            }
        }
        let several = by.into_values().filter(|of| of.entries.len() > 1);
        several.map(|of| self.bits_of_one(&of.outputs)).collect()
    }

    fn bits_of_one(&self, outputs: &BTreeSet<usize>) -> Attributed {
        let outputs: Vec<usize> = outputs.iter().copied().collect();
        self.say(&outputs, texts::several_bits(&self.of(&outputs)))
    }
}

/// Different bits, and where they are revealed.
#[derive(Default)]
struct Origins {
    entries: BTreeSet<(NodeId, u64)>,
    outputs: BTreeSet<usize>,
}

impl Origins {
    fn add(&mut self, entry: (NodeId, u64), output: usize) {
        self.entries.insert(entry);
        self.outputs.insert(output);
    }
}
