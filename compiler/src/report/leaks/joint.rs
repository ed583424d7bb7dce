//! What the reveals to one receiver say of single clients when they are taken together.
//!
//! Found by rank: a combination of reveals that holds data of one client alone, symbolically or, for what is
//! not linear, at every one of several points. Found by size: a sum whose summands can be told apart, or
//! that weighs bits of clients differently. Both for public inputs, and the receiver's own, as whoever gives
//! them may choose.

use super::flow::Flow;
use super::pack;
use super::scalars::{Column, Evaluated, Given, Mode, Owner, Point, Scalars, evaluate, scalars};
use super::system::{Exposed, Member, Row, exposed};
use crate::graph::{Graph, Op};
use std::collections::{BTreeMap, BTreeSet};

/// Points of a local evaluation, and how many of them must say something.
const POINTS: u64 = 10;
const ENOUGH: usize = 5;
/// Positions of a public input that are tried.
const POSITIONS: usize = 6;
/// Pairs of reveals that are looked at.
const PAIRS: usize = 16;
/// Sets of reveals that are named.
const GROUPS: usize = 8;
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
    let any = Point { seed: 1, public: Given::Any };
    let symbolic = look.system(&any, Mode::Symbolic)?;
    look.bits(&symbolic, &mut out);
    look.alone(&[&symbolic], 1, &mut told, &mut out)?;
    let mut groups = vec![told.clone()];
    look.together(&[&symbolic], &mut groups, &mut out)?;
    look.sizes(&symbolic, &mut told, &mut out)?;
    let points = look.points();
    let local: Option<Vec<System>> =
        (0..points).map(|seed| look.system(&Point { seed, ..any }, Mode::Local)).collect();
    let local = local?;
    let local: Vec<&System> = local.iter().collect();
    look.alone(&local, ENOUGH.min(points as usize), &mut told, &mut out)?;
    groups.push(told.clone());
    look.together(&local, &mut groups, &mut out)?;
    told.extend(groups.into_iter().flatten());
    look.sometimes(&local, &told, &mut out)?;
    look.public(&symbolic, &local, &told, &mut out)?;
    Some(out)
}

/// The equations that reveals give.
struct System {
    columns: Vec<Column>,
    rows: Vec<(usize, Row)>,
    /// Bits of single clients that are revealed as they are.
    bits: BTreeSet<u32>,
}

struct Look<'a> {
    q: &'a Question<'a>,
    scalars: Scalars,
}

/// Independent combinations in all.
fn total(found: &Exposed) -> usize {
    found.values().sum()
}

impl Look<'_> {
    fn points(&self) -> u64 {
        if self.scalars.all.len() > LARGE { POINTS / 2 } else { POINTS }
    }

    fn system(&self, point: &Point, mode: Mode) -> Option<System> {
        let Evaluated { columns, forms } =
            evaluate(self.q.graph, &self.scalars, &self.q.known, point, mode)?;
        let mut bits = BTreeSet::new();
        let mut rows = Vec::new();
        for (o, entries) in &self.scalars.reveals {
            for &e in entries {
                let terms = &forms[e as usize].terms;
                if !self.q.bits.contains(o) {
                    rows.push((*o, terms.clone()));
                } else if let [(column, _)] = terms[..] {
                    bits.insert(column);
                }
            }
        }
        // What is revealed is known.
        rows.iter_mut().for_each(|(_, row)| row.retain(|t| !bits.contains(&t.0)));
        Some(System { columns, rows, bits })
    }

    fn of(&self, system: &System, outputs: &BTreeSet<usize>) -> Option<Exposed> {
        let rows: Vec<&Row> =
            system.rows.iter().filter(|(o, _)| outputs.contains(o)).map(|(_, r)| r).collect();
        exposed(&rows, &system.columns)
    }

    fn all(&self) -> BTreeSet<usize> {
        self.q.outputs.iter().copied().filter(|o| !self.q.bits.contains(o)).collect()
    }

    /// Whether all that is found of a client is linear in its inputs.
    fn linear(&self, systems: &[&System], outputs: &BTreeSet<usize>) -> bool {
        systems.len() == 1
            && systems.iter().all(|s| {
                let rows = s.rows.iter().filter(|(o, _)| outputs.contains(o));
                rows.flat_map(|(_, r)| r).all(|t| s.columns[t.0 as usize].input.is_some())
            })
    }

    /// More than one bit of one client.
    fn bits(&self, system: &System, out: &mut Vec<Finding>) {
        let mut by: BTreeMap<Member, usize> = BTreeMap::new();
        for &c in &system.bits {
            if let Owner::One(set, member) = system.columns[c as usize].owner {
                *by.entry((set, member)).or_default() += 1;
            }
        }
        by.retain(|_, n| *n >= 2);
        if !by.is_empty() && !self.q.bits.is_subset(&self.q.flagged) {
            let outputs = self.q.bits.iter().copied().collect();
            let members = by.into_keys().collect();
            out.push(Finding { way: Way::Bits, outputs, members, linear: false });
        }
    }

    /// Reveals each of which says something of one client at all points at which it is not constant.
    fn alone(
        &self,
        systems: &[&System],
        enough: usize,
        told: &mut BTreeSet<usize>,
        out: &mut Vec<Finding>,
    ) -> Option<()> {
        for o in self.all() {
            if told.contains(&o) {
                continue;
            }
            // A check may keep one client at some points by chance.
            let enough = if self.q.selected.contains(&o) { systems.len() } else { enough };
            let one = BTreeSet::from([o]);
            let telling: Vec<&&System> = systems
                .iter()
                .filter(|s| s.rows.iter().any(|(r, t)| *r == o && !t.is_empty()))
                .collect();
            let found: Vec<Exposed> =
                telling.iter().map(|s| self.of(s, &one)).collect::<Option<_>>()?;
            if found.len() >= enough && found.iter().all(|f| !f.is_empty()) {
                told.insert(o);
                let linear = self.linear(systems, &one);
                out.push(Finding {
                    way: Way::Alone,
                    outputs: vec![o],
                    members: common(&found),
                    linear,
                });
            }
        }
        Some(())
    }

    /// Sets of reveals that say more of some client than any set of which it is said already.
    fn together(
        &self,
        systems: &[&System],
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
            let linear = self.linear(systems, &needed);
            let outputs = needed.iter().copied().collect();
            out.push(Finding { way: Way::Together, outputs, members: common(&found), linear });
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
        let rest: Vec<usize> = self.all().difference(told).copied().collect();
        let selected = |o: usize| self.q.selected.contains(&o);
        let pairs = rest.iter().flat_map(|&a| rest.iter().map(move |&b| [a, b]));
        for [a, b] in pairs.filter(|&[a, b]| a < b && (selected(a) || selected(b))).take(PAIRS) {
            let mut seen = false;
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
                });
            }
        }
        Some(())
    }

    /// Sums whose summands can be told apart.
    fn sizes(
        &self,
        system: &System,
        told: &mut BTreeSet<usize>,
        out: &mut Vec<Finding>,
    ) -> Option<()> {
        for o in self.all() {
            if told.contains(&o) {
                continue;
            }
            let found = packed(system, &BTreeSet::from([o]))?;
            let weighed = || {
                let mut rows = system.rows.iter().filter(|(r, _)| *r == o);
                rows.any(|(_, row)| weighed(row, &system.columns))
            };
            let rest = || -> Vec<Member> {
                let rows = system.rows.iter().filter(|(r, _)| *r == o);
                rows.flat_map(|(_, row)| pack::remainders(row, &system.columns)).collect()
            };
            let (way, mut members) = match found {
                Some(members) => (Way::Packed, members),
                None if weighed() => (Way::Weighed, Vec::new()),
                None => (Way::Remainder, rest()),
            };
            if way == Way::Remainder && members.is_empty() {
                continue;
            }
            members.sort_unstable();
            members.dedup();
            told.insert(o);
            out.push(Finding { way, outputs: vec![o], members, linear: false });
        }
        Some(())
    }

    /// Whether a choice of public inputs makes reveals say more than others do.
    fn public(
        &self,
        symbolic: &System,
        local: &[&System],
        told: &BTreeSet<usize>,
        out: &mut Vec<Finding>,
    ) -> Option<()> {
        let g = self.q.graph;
        let positions = if self.scalars.all.len() > LARGE { 1 } else { POSITIONS };
        let read: BTreeSet<usize> = (self.scalars.all.iter())
            .filter_map(|s| if let Op::Input(i) = g.op(s.node) { Some(*i as usize) } else { None })
            .collect();
        let free = |set: Option<u32>| set.is_none_or(|s| self.q.known.contains(&s));
        let rest: BTreeSet<usize> = self.all().difference(told).copied().collect();
        for (input, declared) in g.inputs.iter().enumerate() {
            let len = declared.shape.iter().product::<u64>() as usize;
            let choice = len > 0 && declared.range.0 < declared.range.1;
            if !choice || !free(declared.from) || !read.contains(&input) {
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
                    if found.is_none() {
                        let largest = Point { seed: 1, public: Given::Largest { input, entry } };
                        found = packed(&self.system(&largest, Mode::Symbolic)?, outputs)?;
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
                out.push(Finding { way: Way::Chosen(input), outputs, members, linear: false });
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
        symbolic: &System,
        local: &[&System],
    ) -> Option<Option<Vec<Member>>> {
        let system = self.system(&Point { seed: 1, public }, Mode::Symbolic)?;
        let found = self.of(&system, rest)?;
        if total(&found) > total(&self.of(symbolic, rest)?) {
            return Some(Some(found.into_keys().collect()));
        }
        let mut telling = Vec::new();
        for (seed, usual) in (0..).zip(local) {
            let system = self.system(&Point { seed, public }, Mode::Local)?;
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
fn common(found: &[Exposed]) -> Vec<Member> {
    let Some((first, rest)) = found.split_first() else { return Vec::new() };
    first.keys().filter(|m| rest.iter().all(|f| f.contains_key(m))).copied().collect()
}

/// Of whom these reveals say something once sums have fallen apart that did not before; nobody by name if
/// a summand of several clients is told from the others.
fn packed(system: &System, outputs: &BTreeSet<usize>) -> Option<Option<Vec<Member>>> {
    let rows: Vec<&Row> =
        system.rows.iter().filter(|(o, _)| outputs.contains(o)).map(|(_, r)| r).collect();
    let parts: Vec<Vec<Row>> = rows.iter().map(|r| pack::parts(r, &system.columns)).collect();
    if parts.iter().all(|p| p.len() < 2) {
        return Some(None);
    }
    let before = exposed(&rows, &system.columns)?;
    let all: Vec<&Row> = rows.iter().copied().chain(parts.iter().flatten()).collect();
    let mut after = exposed(&all, &system.columns)?;
    if total(&after) > total(&before) {
        after.retain(|m, n| before.get(m) != Some(n));
        return Some(Some(after.into_keys().collect()));
    }
    let apart = parts.iter().filter(|p| p.len() > 1).flatten().any(|p| p.len() == 1);
    Some(apart.then(Vec::new))
}

/// Whether bits or small numbers of clients are added up with weights that tell clients apart.
fn weighed(row: &Row, columns: &[Column]) -> bool {
    let column = |c: u32| &columns[c as usize];
    let small = |c: u32| column(c).whole && column(c).range.1 - column(c).range.0 <= 3.0;
    if row.len() < 2 || !row.iter().all(|t| small(t.0)) {
        return false;
    }
    // Weights by client; what is of several clients stands for itself.
    let mut clients: BTreeMap<Member, Vec<u64>> = BTreeMap::new();
    let mut classes: BTreeMap<(bool, Vec<u64>), usize> = BTreeMap::new();
    for &(c, x) in row {
        let weight = (x.abs() * 1e9).round() as u64;
        match column(c).owner {
            Owner::One(set, member) => clients.entry((set, member)).or_default().push(weight),
            Owner::Several | Owner::Nobody => {
                *classes.entry((false, vec![weight])).or_default() += 1
            }
        }
    }
    for weights in clients.values_mut() {
        weights.sort_unstable();
        *classes.entry((true, std::mem::take(weights))).or_default() += 1;
    }
    let members = classes.values().sum::<usize>();
    members >= 2 && classes.values().any(|&n| n == 1)
}
