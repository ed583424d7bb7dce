//! Choices that inputs or coins can make either way, and what a value is once they are made.
//!
//! A choice is looked at for all entries of a node alike. Choices that compare the same combination of unknowns with
//! numbers are made together: where the sum is above 3, it is above 2. Choices that compare different combinations are
//! taken to be free of one another.

use super::data::{Branch, Scalars, World};
use super::eval::Evaluated;
use super::form::{Form, Key, Owner, key};
use super::point::UNIT;
use crate::graph::{Graph, NodeId, Op};
use crate::types::Elem;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Operands of which each is taken for the largest, and entries of a node that fall apart.
const CHOICES: usize = 8;
/// Numbers that one combination of unknowns is compared with.
const THRESHOLDS: usize = 6;

/// What falls in one way: all entries of a node, or one.
type Unit = (NodeId, Option<usize>);

/// What a unit is compared with, and by which operation.
struct Compared {
    unit: Unit,
    /// The combination of unknowns, up to a factor.
    terms: Key,
    /// The number beside it.
    at: f64,
    /// What the combination less that number is multiplied by.
    factor: f64,
    /// Where the combination is.
    range: (f64, f64),
    /// It is a whole number.
    whole: bool,
    /// Of the largest or smallest of two: the place of the one that is not known.
    open: usize,
}

/// Whether a unit is a comparison.
enum Decided {
    /// Its entries fall alike, or each compares the same combination with a number of its own.
    By(Vec<Compared>),
    /// Some entries compare one combination with different numbers, and some compare another one.
    Apart,
    Otherwise,
}

/// The first of these choices that is not made yet, as a list of worlds: one for each way in which it can fall.
pub(in super::super) fn next(
    g: &Graph,
    scalars: &Scalars,
    found: &Evaluated,
    choices: &[NodeId],
    made: &World,
) -> Option<Vec<World>> {
    let units = units(scalars, found, choices, made);
    let open = |(_, entries): &(&Unit, &Vec<usize>)| {
        entries.iter().any(|&s| !found.forms[s].is_constant())
    };
    let chosen = |unit: &Unit| choices.contains(&unit.0);
    for (unit, entries) in units.iter().filter(|(unit, _)| chosen(unit)).filter(open) {
        match decided(g, scalars, (unit, entries), found) {
            Decided::By(one) => {
                let others = units.iter().map(|of| decided(g, scalars, of, found));
                let same = |d| match d {
                    Decided::By(c) if c[0].terms == one[0].terms => c,
                    Decided::By(_) | Decided::Apart | Decided::Otherwise => Vec::new(),
                };
                let alike: Vec<Compared> = others.flat_map(same).collect();
                let mut worlds: Vec<World> = Vec::new();
                for x in places(&alike) {
                    let known = counted(scalars, found, made, (&one[0], x));
                    let fallen = alike.iter().map(|c| (c.unit, falls(g, c, x)));
                    let world = with(made, known.into_iter().chain(fallen));
                    if !worlds.contains(&world) {
                        worlds.push(world);
                    }
                }
                return Some(worlds);
            }
            Decided::Apart => continue,
            Decided::Otherwise => {}
        }
        let branches = branches(g, scalars, found, unit.0, &scalars.all[entries[0]].operands);
        if !branches.is_empty() {
            return Some(branches.into_iter().map(|b| with(made, [(*unit, b)])).collect());
        }
    }
    None
}

/// A count that is as small, or as large, as it can be is known, wherever it is read.
fn counted(
    scalars: &Scalars,
    found: &Evaluated,
    made: &World,
    (of, x): (&Compared, f64),
) -> Vec<(Unit, Branch)> {
    if !of.whole || x != of.range.0 && x != of.range.1 {
        return Vec::new();
    }
    let value = |form: &Form| -> Option<f64> {
        let factor = form.terms.first()?.1;
        (key(&form.terms) == of.terms).then_some(form.value + factor * x)
    };
    let open = scalars.all.iter().zip(&found.forms).filter(|(s, form)| {
        !s.opaque && form.terms.len() == of.terms.len() && !made.contains_key(&s.node)
    });
    open.filter_map(|(s, form)| Some(((s.node, Some(s.entry)), Branch::Value(value(form)?))))
        .collect()
}

/// A world in which this is so, too.
fn with(made: &World, branches: impl IntoIterator<Item = (Unit, Branch)>) -> World {
    let mut out = made.clone();
    for ((node, entry), branch) in branches {
        let Some(entry) = entry else {
            out.insert(node, branch);
            continue;
        };
        let each = out.entry(node).or_insert_with(|| Branch::Each(Rc::default()));
        if let Branch::Each(of) = each {
            Rc::make_mut(of).insert(entry, branch);
        }
    }
    out
}

/// What a node that is no comparison of known numbers with unknown ones may be.
fn branches(
    g: &Graph,
    scalars: &Scalars,
    found: &Evaluated,
    id: NodeId,
    of: &[Vec<u32>],
) -> Vec<Branch> {
    match g.op(id) {
        Op::Abs => vec![Branch::Operand(0), Branch::Negated],
        Op::Max(_) | Op::Min(_) => {
            let n = of.first().map_or(0, Vec::len);
            // Which client's value is the largest is a matter of order.
            let own = |&x: &u32| matches!(scalars.all[x as usize].owner, Owner::One(..));
            let order = of.iter().flatten().filter(|x| own(x)).count() > 1;
            let few = !order && (2..=CHOICES).contains(&n);
            if few { (0..n).map(Branch::Operand).collect() } else { Vec::new() }
        }
        // Where it moves, it tells its operand.
        Op::Function(f) => {
            let Some(&x) = of.first().and_then(|l| l.first()) else { return Vec::new() };
            let (lo, hi) = found.range(&found.forms[x as usize]);
            let f = f.facts().saturated;
            let (lo, hi) = (lo.max(-1e6), hi.min(1e6));
            // Only where it hardly moves any more.
            let flat = |end: f64, inwards: f64| (f(end) - f(end + inwards)).abs() < UNIT;
            let ends = [(lo, 1.0), (hi, -1.0)].into_iter().filter(|&(end, by)| flat(end, by));
            ends.map(|(end, _)| Branch::Value(f(end))).chain([Branch::Operand(0)]).collect()
        }
        _ if g.ty(id).elem == Elem::Bit => vec![Branch::Value(0.0), Branch::Value(1.0)],
        _ => Vec::new(),
    }
}

/// Of each node that is followed, and is nothing yet, its entries: together, or one by one where they are few, and are
/// of different clients.
fn units(
    scalars: &Scalars,
    found: &Evaluated,
    choices: &[NodeId],
    made: &World,
) -> BTreeMap<Unit, Vec<usize>> {
    let mut nodes: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
    for (i, s) in scalars.all.iter().enumerate().filter(|(_, s)| !s.opaque) {
        let fallen = match made.get(&s.node) {
            Some(Branch::Each(of)) => of.contains_key(&s.entry),
            Some(Branch::Value(_) | Branch::Operand(_) | Branch::Negated) => true,
            None => false,
        };
        if !fallen {
            nodes.entry(s.node).or_default().push(i);
        }
    }
    let clients = |&s: &usize| -> BTreeSet<Owner> {
        let forms = scalars.all[s].operands.iter().flatten().map(|&o| &found.forms[o as usize]);
        forms.flat_map(|f| &f.terms).map(|t| found.columns[t.0 as usize].owner).collect()
    };
    let mut out = BTreeMap::new();
    for (node, entries) in nodes {
        let begun = made.contains_key(&node);
        let few = (2..=CHOICES).contains(&entries.len()) && choices.contains(&node);
        let apart = || entries[1..].iter().any(|s| clients(s) != clients(&entries[0]));
        if begun || few && apart() {
            out.extend(entries.into_iter().map(|s| ((node, Some(scalars.all[s].entry)), vec![s])));
        } else {
            out.insert((node, None), entries);
        }
    }
    out
}

/// What a unit is decided by.
fn decided(
    g: &Graph,
    scalars: &Scalars,
    (unit, entries): (&Unit, &Vec<usize>),
    found: &Evaluated,
) -> Decided {
    let each = || entries.iter().filter_map(|&s| compared(g, scalars, s, found));
    let Some(first) = compared(g, scalars, entries[0], found) else { return Decided::Otherwise };
    if !each().any(|c| c.terms == first.terms && c.at != first.at) {
        return Decided::By(vec![Compared { unit: *unit, ..first }]);
    }
    let all: Vec<Compared> = each().collect();
    if all.len() == entries.len() && all.iter().all(|c| c.terms == first.terms) {
        return Decided::By(all);
    }
    Decided::Apart
}

/// What a number is decided by, if it is a comparison.
fn compared(g: &Graph, scalars: &Scalars, scalar: usize, found: &Evaluated) -> Option<Compared> {
    let scalar = &scalars.all[scalar];
    let operand =
        |i: usize, k: usize| Some(&found.forms[*scalar.operands.get(i)?.get(k)? as usize]);
    let form = |i: usize| operand(i, 0);
    let less = |a: &Form, b: &Form| Form::combined([(a, 1.0), (b, -1.0)].into_iter());
    let (of, open) = match g.op(scalar.node) {
        Op::Lt | Op::Eq => (less(form(0)?, form(1)?), 0),
        Op::Relu => (form(0)?.clone(), 0),
        Op::Gate => (form(1)?.clone(), 0),
        Op::Max(_) | Op::Min(_) if scalar.operands[0].len() == 2 => {
            let (a, b) = (operand(0, 0)?, operand(0, 1)?);
            match (a.is_constant(), b.is_constant()) {
                (false, true) => (less(a, b), 0),
                (true, false) => (less(b, a), 1),
                _ => return None,
            }
        }
        _ => return None,
    };
    let factor = of.terms.first()?.1;
    let of = of.scaled(factor.recip());
    let terms = key(&of.terms);
    let whole = |&(c, x): &(u32, f64)| found.columns[c as usize].whole && x.fract() == 0.0;
    let whole = of.terms.iter().all(whole);
    let at = -of.value;
    let range = found.range(&Form { value: 0.0, ..of });
    let unit = (scalar.node, Some(scalar.entry));
    Some(Compared { unit, terms, at, factor, range, whole, open })
}

/// Places of the combination before, at, between and behind the numbers that it is compared with.
fn places(of: &[Compared]) -> Vec<f64> {
    let Some(one) = of.first() else { return Vec::new() };
    let mut at: Vec<f64> = of.iter().map(|c| c.at).collect();
    at.sort_by(f64::total_cmp);
    at.dedup();
    let step = (at.len() / THRESHOLDS).max(1);
    let at: Vec<f64> = at.into_iter().step_by(step).collect();
    let (lo, hi) = one.range;
    let mut out = Vec::new();
    if one.whole {
        out.extend(at.iter().flat_map(|at| [at.ceil() - 1.0, at.round(), at.floor() + 1.0]));
    } else {
        let ends = [at.first().map(|at| (at, lo, -1.0)), at.last().map(|at| (at, hi, 1.0))];
        let beyond = |(at, end, by): (&f64, f64, f64)| {
            if end.is_finite() { (at + end) / 2.0 } else { at + by }
        };
        out.extend(ends.into_iter().flatten().map(beyond));
        out.extend(at.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0));
        out.extend(&at);
    }
    out.sort_by(f64::total_cmp);
    out.retain(|x| (lo..=hi).contains(x));
    out
}

/// What a unit is where the combination is this number.
fn falls(g: &Graph, c: &Compared, x: f64) -> Branch {
    let side = c.factor * (x - c.at);
    let bit = |b: bool| Branch::Value(f64::from(u8::from(b)));
    match g.op(c.unit.0) {
        Op::Lt => bit(side < 0.0),
        Op::Eq => bit(side == 0.0),
        Op::Max(_) => Branch::Operand(if side > 0.0 { c.open } else { 1 - c.open }),
        Op::Min(_) => Branch::Operand(if side < 0.0 { c.open } else { 1 - c.open }),
        _ if side < 0.0 => Branch::Value(0.0),
        _ => Branch::Operand(0),
    }
}
