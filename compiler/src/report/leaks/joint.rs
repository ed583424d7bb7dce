//! What the reveals to one receiver say of single clients when they are taken together.
//!
//! Found by rank: a combination of reveals that holds data of one client alone, symbolically or, for what is
//! not linear, at every one of several points. Found by size: a sum whose summands can be told apart, or
//! that weighs bits of clients differently. Both for public inputs, and the receiver's own, as whoever gives
//! them may choose.

use super::apart::{Told, behind, helpers, opened, packed, tellable, weighed};
use super::flow::{Flow, Form};
use super::pack;
use super::scalars::{
    Column, Evaluated, Given, Key, Mode, Owner, Point, Scalars, World, evaluate, key, position,
    scalars,
};
use super::system::{Exposed, Member, Row, dominant, exposed, total};
use crate::graph::{Graph, Op};
use std::collections::{BTreeMap, BTreeSet};

/// Points of a local evaluation, and how many of them must say something.
const POINTS: u64 = 10;
const ENOUGH: usize = 5;
/// Positions of a public input that are tried.
const POSITIONS: usize = 6;
/// About as many evaluations are made for each place, and so many numbers are evaluated for all of them together. For a
/// program with more numbers fewer places are tried.
const TRIES: usize = 20;
const NUMBERS: usize = 1 << 20;
/// Pairs of reveals that are looked at.
const PAIRS: usize = 16;
/// Sets of reveals that are named.
pub(super) const GROUPS: usize = 8;
/// Numbers from which on fewer points and positions are tried.
const LARGE: usize = 1 << 14;

/// How something is found out of a client.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Way {
    /// From this reveal alone.
    Alone,
    /// It has an entry for each client, in which others take part.
    Beside,
    /// From several reveals.
    Together,
    /// From two reveals at some points, because different clients are selected.
    Sometimes,
    /// If whoever chooses this input (by index) wants it: a public one, or the receiver's own.
    Chosen(usize),
    /// Summands are told apart by their sizes.
    Packed,
    /// The remainder of a summand is told from a sum.
    Remainder,
    /// Bits or small numbers of clients have different weights.
    Weighed,
    /// Once choices, or coins, fall in one of the ways in which they can.
    Branch,
    /// Several bits of each client.
    Bits,
}

/// Something that is found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    pub(super) way: Way,
    /// By index of output.
    pub(super) outputs: Vec<usize>,
    /// Of whom, as far as it is the same whatever is given.
    pub(super) members: Vec<Member>,
    /// It is a linear function of that client's inputs.
    pub(super) linear: bool,
    /// Others take part in it, by less than 2^-16 of what that client does.
    pub(super) nearly: bool,
}

/// What is looked at.
pub(super) struct Question<'a> {
    pub(super) graph: &'a Graph,
    pub(super) flows: &'a [Flow],
    /// Party sets whose inputs the receiver knows.
    pub(super) known: BTreeSet<u32>,
    pub(super) outputs: Vec<usize>,
    /// Of which it is said already that they tell of single clients.
    pub(super) flagged: BTreeSet<usize>,
    /// Sums over those clients that a check keeps: at some points one is kept.
    pub(super) selected: BTreeSet<usize>,
    /// Bits of clients.
    pub(super) bits: BTreeSet<usize>,
}

/// All that is found; `None` if the reveals are too large to be looked at together.
pub(super) fn findings(q: &Question) -> Option<Vec<Finding>> {
    let scalars = scalars(q.graph, q.flows, &q.outputs)?;
    let look = Look { q, scalars };
    let mut out = Vec::new();
    let mut told = q.flagged.clone();
    let any = Point { seed: 1, public: Given::Any, coins: None };
    let symbolic = look.system(&any, Mode::Symbolic)?;
    look.bits(&symbolic, &mut out);
    // Weights that follow from what the receiver knows may be small by chance at one point.
    let others: Vec<System> = if look.choices() {
        (2..5)
            .map(|seed| look.system(&Point { seed, ..any }, Mode::Symbolic))
            .collect::<Option<_>>()?
    } else {
        Vec::new()
    };
    let several: Vec<&System> = [&symbolic].into_iter().chain(&others).collect();
    for nearly in [false, true] {
        look.alone((&several, true, nearly), several.len(), &mut told, &mut out)?;
    }
    let mut groups = vec![told.clone()];
    look.together(&several, true, &mut groups, &mut out)?;
    look.sizes(&several, &mut told, &mut out)?;
    let points = look.points();
    let local: Option<Vec<System>> =
        (0..points).map(|seed| look.system(&Point { seed, ..any }, Mode::Local)).collect();
    let local = local?;
    let local: Vec<&System> = local.iter().collect();
    let enough = ENOUGH.min(points as usize);
    look.alone((&local, false, false), enough, &mut told, &mut out)?;
    groups.push(told.clone());
    look.together(&local, false, &mut groups, &mut out)?;
    look.branches(&mut groups, &mut out);
    told.extend(groups.into_iter().flatten());
    look.sometimes(&local, &told, &mut out)?;
    look.public(&several, &local, &told, &mut out)?;
    Some(out)
}

/// The equations that reveals give.
pub(super) struct System {
    columns: Vec<Column>,
    pub(super) rows: Vec<(usize, Row)>,
    /// Of outputs that are bits of clients: whose, and how they depend on unknowns.
    bits: Vec<(usize, Member, Key)>,
    /// The rows of such outputs.
    compared: Vec<(usize, Row)>,
    /// What can be told from unknowns.
    inside: Told,
    /// The same to somebody who knows what else is revealed, if that is more.
    beside: Option<Told>,
}

/// How summands of a reveal are told apart, whose they are, and which other reveals it takes.
type Parted = (Way, Vec<Member>, Vec<usize>);

pub(super) struct Look<'a> {
    pub(super) q: &'a Question<'a>,
    pub(super) scalars: Scalars,
}

impl System {
    fn of(&self, outputs: &BTreeSet<usize>) -> Vec<&Row> {
        let all = self.rows.iter().chain(&self.compared);
        all.filter(|(o, _)| outputs.contains(o)).map(|(_, r)| r).collect()
    }
}

impl Look<'_> {
    /// Whether some number that the receiver knows, or anybody chooses, takes part.
    fn choices(&self) -> bool {
        let inputs = &self.q.graph.inputs;
        let given =
            |i: u32| inputs[i as usize].from.set().is_none_or(|s| self.q.known.contains(&s));
        let read = |op: &Op| if let Op::Input(i) = op { given(*i) } else { false };
        self.scalars.all.iter().any(|s| read(self.q.graph.op(s.node)))
    }

    pub(super) fn points(&self) -> u64 {
        if self.large() { POINTS / 2 } else { POINTS }
    }

    pub(super) fn large(&self) -> bool {
        self.scalars.all.len() > LARGE
    }

    fn system(&self, point: &Point, mode: Mode) -> Option<System> {
        self.system_of(evaluate(
            self.q.graph,
            &self.scalars,
            &self.q.known,
            point,
            (mode, &World::new()),
        )?)
    }

    pub(super) fn system_of(&self, found: Evaluated) -> Option<System> {
        let Evaluated { columns, forms, inside, .. } = found;
        let (mut bits, mut known) = (Vec::new(), BTreeSet::new());
        let (mut rows, mut compared) = (Vec::new(), Vec::new());
        for (o, entries) in &self.scalars.reveals {
            for &e in entries {
                let terms = &forms[e as usize].terms;
                if !self.q.bits.contains(o) {
                    rows.push((*o, terms.clone()));
                    continue;
                }
                compared.push((*o, terms.clone()));
                if let [(column, _)] = terms[..] {
                    known.insert(column);
                }
                let whose = || {
                    let mut owners = terms.iter().map(|t| columns[t.0 as usize].owner);
                    let first = owners.next()?;
                    match first {
                        Owner::One(set, member) if owners.all(|o| o == first) => {
                            Some((set, member))
                        }
                        Owner::One(..) | Owner::Several | Owner::Nobody => self.beside(*o, e),
                    }
                };
                if let Some(member) = whose() {
                    bits.push((*o, member, key(terms)));
                }
            }
        }
        // What is revealed is known.
        rows.iter_mut().for_each(|(_, row)| row.retain(|t| !known.contains(&t.0)));
        let (inside, beside) = tellable(inside, &rows);
        Some(System { columns, rows, bits, compared, inside, beside })
    }

    /// The client at whose place an entry of a reveal stands.
    fn beside(&self, output: usize, entry: u32) -> Option<Member> {
        let node = self.q.graph.outputs[output].node;
        let at = position(self.q.graph.shape(node), self.scalars.all[entry as usize].entry);
        self.q.flows[node.index()].beside_at(&at)
    }

    fn of(&self, system: &System, outputs: &BTreeSet<usize>) -> Option<Exposed> {
        exposed(&system.of(outputs), &system.columns)
    }

    /// The same, and of whom rows are but for terms of less than 2^-16 of the largest.
    pub(super) fn nearly_of(&self, system: &System, outputs: &BTreeSet<usize>) -> Option<Exposed> {
        let mut out = self.of(system, outputs)?;
        for member in system.of(outputs).iter().filter_map(|r| dominant(r, &system.columns)) {
            out.entry(member).or_insert(1);
        }
        Some(out)
    }

    pub(super) fn all(&self) -> BTreeSet<usize> {
        self.q.outputs.iter().copied().filter(|o| !self.q.bits.contains(o)).collect()
    }

    /// Whether all that is found of a client is linear in its inputs.
    fn linear(&self, system: &System, outputs: &BTreeSet<usize>) -> bool {
        let input = |t: &(u32, f64)| system.columns[t.0 as usize].input.is_some();
        system.of(outputs).iter().all(|r| r.iter().all(input))
    }

    /// More than one bit of one client.
    fn bits(&self, system: &System, out: &mut Vec<Finding>) {
        let mut by: BTreeMap<Member, BTreeSet<&Key>> = BTreeMap::new();
        for (_, member, key) in &system.bits {
            by.entry(*member).or_default().insert(key);
        }
        by.retain(|_, keys| keys.len() >= 2);
        let told = system.bits.iter().filter(|(_, member, _)| by.contains_key(member));
        let outputs: BTreeSet<usize> = told.map(|b| b.0).collect();
        if !outputs.is_subset(&self.q.flagged) {
            let outputs = outputs.into_iter().collect();
            let members = by.into_keys().collect();
            let (linear, nearly) = (false, false);
            out.push(Finding { way: Way::Bits, outputs, members, linear, nearly });
        }
    }

    /// Reveals each of which says something of one client at all points at which it is not constant; in a nearly
    /// exact way only if `nearly`.
    fn alone(
        &self,
        (systems, symbolic, nearly): (&[&System], bool, bool),
        enough: usize,
        told: &mut BTreeSet<usize>,
        out: &mut Vec<Finding>,
    ) -> Option<()> {
        let find = |s: &System, one: &BTreeSet<usize>| {
            if nearly { self.nearly_of(s, one) } else { self.of(s, one) }
        };
        for o in self.all() {
            if told.contains(&o) {
                continue;
            }
            // A check may keep one client at some points by chance.
            let enough = if self.q.selected.contains(&o) { systems.len() } else { enough };
            let one = BTreeSet::from([o]);
            let telling: Vec<&System> = systems
                .iter()
                .copied()
                .filter(|s| s.rows.iter().any(|(r, t)| *r == o && !t.is_empty()))
                .collect();
            let found: Vec<Exposed> =
                telling.iter().map(|s| find(s, &one)).collect::<Option<_>>()?;
            if found.len() >= enough && found.iter().all(|f| !f.is_empty()) {
                told.insert(o);
                let linear = symbolic && self.linear(systems[0], &one);
                out.push(Finding {
                    way: Way::Alone,
                    outputs: vec![o],
                    members: common(&found),
                    linear,
                    nearly,
                });
            }
        }
        Some(())
    }

    /// Sets of reveals that say more of some client than any set of which it is said already.
    fn together(
        &self,
        systems: &[&System],
        symbolic: bool,
        groups: &mut Vec<BTreeSet<usize>>,
        out: &mut Vec<Finding>,
    ) -> Option<()> {
        let all = self.all();
        for _ in 0..all.len().min(GROUPS) {
            let mut explained = vec![Exposed::new(); systems.len()];
            for (s, explained) in systems.iter().zip(&mut explained) {
                for group in groups.iter() {
                    for (member, n) in self.of(s, group)? {
                        let most = explained.entry(member).or_default();
                        *most = n.max(*most);
                    }
                }
            }
            let new = |found: &Exposed, known: &Exposed| -> Exposed {
                let more = found.iter().filter(|(m, n)| known.get(m).is_none_or(|k| k < n));
                more.map(|(m, n)| (*m, *n)).collect()
            };
            let more = |outputs: &BTreeSet<usize>| -> Option<Vec<Exposed>> {
                let of = |(s, known)| Some(new(&self.of(s, outputs)?, known));
                systems.iter().copied().zip(&explained).map(of).collect()
            };
            let mut needed = all.clone();
            let mut found = more(&needed)?;
            if found.iter().any(Exposed::is_empty) {
                break;
            }
            for o in all.iter() {
                let mut fewer = needed.clone();
                fewer.remove(o);
                let left = more(&fewer)?;
                if left.iter().all(|f| !f.is_empty()) {
                    (needed, found) = (fewer, left);
                }
            }
            let linear = symbolic && self.linear(systems[0], &needed);
            let outputs = needed.iter().copied().collect();
            let (members, nearly) = (common(&found), false);
            out.push(Finding { way: Way::Together, outputs, members, linear, nearly });
            groups.push(needed);
        }
        Some(())
    }

    /// Two reveals, one of them a sum over those that a check keeps, whose difference may hold one client.
    fn sometimes(
        &self,
        systems: &[&System],
        told: &BTreeSet<usize>,
        out: &mut Vec<Finding>,
    ) -> Option<()> {
        // A sum of something that is computed of every client keeps them all.
        let adds = |o: &usize| {
            let form = &self.q.flows[self.q.graph.outputs[*o].node.index()].form;
            matches!(form, Form::Linear | Form::Masked(_))
        };
        let rest: Vec<usize> = self.all().difference(told).copied().filter(adds).collect();
        let selected = |o: usize| self.q.selected.contains(&o);
        let pairs = rest.iter().flat_map(|&a| rest.iter().map(move |&b| [a, b]));
        for [a, b] in pairs.filter(|&[a, b]| a < b && (selected(a) || selected(b))).take(PAIRS) {
            let mut seen = self.differ(a, b);
            for s in systems {
                let of = |outputs: &[usize]| self.of(s, &outputs.iter().copied().collect());
                let apart = total(&of(&[a])?) + total(&of(&[b])?);
                seen |= apart == 0 && total(&of(&[a, b])?) > 0;
            }
            if seen {
                let outputs = vec![a, b];
                out.push(Finding {
                    way: Way::Sometimes,
                    outputs,
                    members: Vec::new(),
                    linear: false,
                    nearly: false,
                });
            }
        }
        Some(())
    }

    /// Whether one of two sums keeps some of the clients that the other one has, and it may be all but one.
    fn differ(&self, a: usize, b: usize) -> bool {
        let flow = |o: usize| &self.q.flows[self.q.graph.outputs[o].node.index()];
        let shape = |o: usize| self.q.graph.shape(self.q.graph.outputs[o].node);
        let kept = |f: &Flow| match &f.form {
            Form::Masked(m) if m.bit && m.each => {
                m.ones.is_none_or(|ones| ones.most.saturating_add(1) >= f.clients())
            }
            Form::Masked(_) | Form::Free | Form::Linear | Form::Other => false,
        };
        let beside = |x: &Flow, y: &Flow| {
            kept(x) && (y.form == Form::Linear || kept(y)) && !x.inputs.is_disjoint(&y.inputs)
        };
        let (x, y) = (flow(a), flow(b));
        shape(a) == shape(b) && x.clients() > 1 && (beside(x, y) || beside(y, x))
    }

    /// Sums whose summands can be told apart at all points.
    fn sizes(
        &self,
        systems: &[&System],
        told: &mut BTreeSet<usize>,
        out: &mut Vec<Finding>,
    ) -> Option<()> {
        for o in self.q.outputs.iter().copied().filter(|o| !told.contains(o)).collect::<Vec<_>>() {
            let mut found = Vec::new();
            for system in systems {
                found.extend(self.size(system, o)?);
            }
            if found.len() == systems.len()
                && let Some((way, members, mut outputs)) = found.into_iter().next()
            {
                told.insert(o);
                let (linear, nearly) = (false, false);
                outputs.retain(|&other| other != o);
                outputs.insert(0, o);
                out.push(Finding { way, outputs, members, linear, nearly });
            }
        }
        Some(())
    }

    /// Of a reveal, whose summands are told apart and how, and with the help of which others.
    fn size(&self, system: &System, o: usize) -> Option<Option<Parted>> {
        let none = Vec::new();
        if let Some((way, members)) = self.size_by(system, &system.inside, o)? {
            return Some(Some((way, members, none)));
        }
        let Some(beside) = &system.beside else { return Some(None) };
        let others = || {
            let rows = system.of(&BTreeSet::from([o]));
            helpers(&rows, &system.columns, beside).into_iter().collect()
        };
        let found = self.size_by(system, beside, o)?;
        Some(found.map(|(way, members)| (way, members, others())))
    }

    fn size_by(
        &self,
        system: &System,
        inside: &Told,
        o: usize,
    ) -> Option<Option<(Way, Vec<Member>)>> {
        let rows = system.of(&BTreeSet::from([o]));
        // Bits are told by themselves; what they are compared of is not.
        let bits = self.q.bits.contains(&o);
        let columns = &system.columns;
        let found = if bits { behind } else { packed }(&rows, columns, inside)?;
        let opened = opened(&rows, columns, inside);
        let sums = opened.iter().filter(|(_, side)| !side).map(|(row, _)| row);
        let whole: Vec<&Row> =
            if bits { Vec::new() } else { rows.iter().copied().chain(sums).collect() };
        let (way, mut members) = match found {
            Some(members) => (Way::Packed, members),
            None if whole.iter().any(|row| weighed(row, columns)) => (Way::Weighed, Vec::new()),
            None => {
                let rest = whole.iter().flat_map(|row| pack::remainders(row, columns));
                (Way::Remainder, rest.collect())
            }
        };
        members.sort_unstable();
        members.dedup();
        Some((way != Way::Remainder || !members.is_empty()).then_some((way, members)))
    }

    /// Whether a choice of public inputs makes reveals say more than others do.
    fn public(
        &self,
        symbolic: &[&System],
        local: &[&System],
        told: &BTreeSet<usize>,
        out: &mut Vec<Finding>,
    ) -> Option<()> {
        let g = self.q.graph;
        let read: BTreeSet<usize> = (self.scalars.all.iter())
            .filter_map(|s| if let Op::Input(i) = g.op(s.node) { Some(*i as usize) } else { None })
            .collect();
        let free = |set: Option<u32>| set.is_none_or(|s| self.q.known.contains(&s));
        let numbers = self.scalars.all.len().max(1) * read.len().max(1) * TRIES;
        let positions = if self.large() { 1 } else { (NUMBERS / numbers).clamp(1, POSITIONS) };
        let rest: BTreeSet<usize> = self.all().difference(told).copied().collect();
        for (input, declared) in g.inputs.iter().enumerate() {
            let len = declared.shape.iter().product::<u64>() as usize;
            let choice = len > 0 && declared.range.0 < declared.range.1;
            if !choice || !free(declared.from.set()) || !read.contains(&input) {
                continue;
            }
            let tried = len.min(positions);
            let at = (0..tried).map(|k| k * (len - 1) / (tried - 1).max(1));
            for entry in at {
                let tells = |outputs: &BTreeSet<usize>| -> Option<Option<Vec<Member>>> {
                    let mut found = None;
                    for way in [Given::OneHot { input, entry }, Given::Apart { input, entry }] {
                        if found.is_none() {
                            found = self.chosen(way, outputs, symbolic, local)?;
                        }
                    }
                    let ends = [true, false].into_iter().flat_map(|high| {
                        [Given::End { input, entry, high }, Given::Ends { input, entry, high }]
                    });
                    // A number that others are compared with, as a rule.
                    let parts = if len == 1 { 1..Given::PARTS } else { 0..0 };
                    for way in ends.chain(parts.map(|part| Given::Part { input, part })) {
                        if found.is_none() {
                            found = self.chosen(way, outputs, symbolic, &[])?;
                        }
                    }
                    if found.is_none() {
                        let largest =
                            Point { seed: 1, public: Given::Largest { input, entry }, coins: None };
                        let system = self.system(&largest, Mode::Symbolic)?;
                        found = packed(&system.of(outputs), &system.columns, &system.inside)?;
                    }
                    Some(found)
                };
                let Some(mut members) = tells(&rest)? else { continue };
                let mut needed = rest.clone();
                for o in &rest {
                    let mut fewer = needed.clone();
                    fewer.remove(o);
                    if let Some(found) = tells(&fewer)? {
                        (needed, members) = (fewer, found);
                    }
                }
                let outputs = needed.into_iter().collect();
                let (linear, nearly) = (false, false);
                out.push(Finding { way: Way::Chosen(input), outputs, members, linear, nearly });
                break;
            }
        }
        Some(())
    }

    /// Who is exposed by this choice, if it is anybody.
    fn chosen(
        &self,
        public: Given,
        rest: &BTreeSet<usize>,
        symbolic: &[&System],
        local: &[&System],
    ) -> Option<Option<Vec<Member>>> {
        let system = self.system(&Point { seed: 1, public, coins: None }, Mode::Symbolic)?;
        let found = self.nearly_of(&system, rest)?;
        let mut usual = usize::MAX;
        for system in symbolic {
            usual = usual.min(total(&self.of(system, rest)?));
        }
        if total(&found) > usual {
            return Some(Some(found.into_keys().collect()));
        }
        let mut telling = Vec::new();
        for (seed, usual) in (0..).zip(local) {
            let system = self.system(&Point { seed, public, coins: None }, Mode::Local)?;
            if system.rows.iter().all(|(o, r)| !rest.contains(o) || r.is_empty()) {
                continue;
            }
            let found = self.of(&system, rest)?;
            if total(&found) <= total(&self.of(usual, rest)?) {
                return Some(None);
            }
            telling.push(found);
        }
        let who = common(&telling);
        // One of random clients may be exposed by chance a few times, the same one hardly.
        let enough = telling.len() >= if who.is_empty() { ENOUGH } else { 3 };
        Some(enough.then_some(who))
    }
}

/// The members that are exposed at all points.
pub(super) fn common(found: &[Exposed]) -> Vec<Member> {
    let Some((first, rest)) = found.split_first() else { return Vec::new() };
    first.keys().filter(|m| rest.iter().all(|f| f.contains_key(m))).copied().collect()
}
