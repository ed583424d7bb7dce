//! Choices that inputs or coins can make either way, and what a value is once they are made.
//!
//! A choice is looked at for all entries of a node alike. Choices that compare the same combination of unknowns with
//! numbers are made together: where the sum is above 3, it is above 2. Choices that compare different combinations are
//! taken to be free of one another.

use super::data::{Branch, Scalars, World};
use super::eval::Evaluated;
use super::form::{Form, Owner};
use super::point::UNIT;
use crate::graph::{Function, Graph, NodeId, Op};
use crate::report::leaks::flow::Flow;
use crate::types::Elem;
use std::collections::{BTreeMap, BTreeSet};

/// Operands of which each is taken for the largest, and bits that one condition is made of.
const CHOICES: usize = 8;
/// Numbers that one combination of unknowns is compared with.
const THRESHOLDS: usize = 6;

/// What a node is compared with, and by which operation.
struct Compared {
    node: NodeId,
    /// The combination of unknowns, up to a factor.
    terms: Vec<(u32, i64)>,
    /// The number beside it.
    at: f64,
    /// Where the combination is.
    range: (f64, f64),
    /// It is a whole number.
    whole: bool,
    /// The sign of the factor.
    up: bool,
}

/// Whether a node is a comparison.
enum Decided {
    By(Compared),
    /// Its entries compare one combination with different numbers, so they do not fall alike.
    Apart,
    Otherwise,
}

/// The nodes that choose: conditions by which values of several clients are taken or left, and what is cut at a bound
/// after a sum over clients. What is cut of each client's own value, or counts for one client only, is a check of this
/// client.
pub(in super::super) fn choosing(g: &Graph, flows: &[Flow], scalars: &Scalars) -> Vec<NodeId> {
    let used: BTreeSet<NodeId> = scalars.all.iter().filter(|s| !s.opaque).map(|s| s.node).collect();
    let flow = |id: NodeId| &flows[id.index()];
    let mut out = BTreeSet::new();
    let mut payloads: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
    for &id in &used {
        let arg = |i| g.arg(id, i);
        match g.op(id) {
            Op::Select => {
                for bit in bits(g, arg(0)) {
                    payloads.entry(bit).or_default().extend([arg(1), arg(2)]);
                }
            }
            Op::Mul => {
                for (bit, by) in [(arg(0), arg(1)), (arg(1), arg(0))] {
                    for bit in bits(g, bit) {
                        payloads.entry(bit).or_default().push(by);
                    }
                }
            }
            Op::Relu
            | Op::Gate
            | Op::Max(_)
            | Op::Min(_)
            | Op::Abs
            | Op::Function(Function::Exp | Function::Tanh)
                if several(flow(id)) =>
            {
                out.insert(id);
            }
            _ => {}
        }
    }
    let mut own: BTreeMap<u32, BTreeMap<u64, Vec<NodeId>>> = BTreeMap::new();
    for (bit, of) in payloads {
        let secret = || of.iter().map(|&id| flow(id)).filter(|f| !f.is_free());
        let apart = || {
            let members: BTreeSet<_> = secret().map(Flow::member).collect();
            members.len() > 1 || secret().any(|f| f.clients() > 1 && !f.side_by_side())
        };
        let global = !flow(bit).is_free() && !flow(bit).side_by_side();
        if !(global && secret().all(|f| !f.side_by_side()) && apart()) {
            continue;
        }
        match flow(bit).member() {
            Some((set, member)) => {
                own.entry(set).or_default().entry(member).or_default().push(bit);
            }
            None => drop(out.insert(bit)),
        }
    }
    // Bits of one client after the other are a loop over clients: who is the last to be taken is a matter of order.
    for members in own.into_values().filter(|members| members.len() == 1) {
        out.extend(members.into_values().flatten());
    }
    out.into_iter().collect()
}

/// Whether a value is of several clients, and has no entry for each.
fn several(f: &Flow) -> bool {
    f.clients() > 1 && !f.side_by_side()
}

/// The bits that a condition, or a bit as a number, is made of; none if it is not made of bits.
fn bits(g: &Graph, id: NodeId) -> Vec<NodeId> {
    let (mut open, mut out) = (vec![id], Vec::new());
    while let Some(id) = open.pop() {
        let bit = g.ty(id).elem == Elem::Bit;
        match g.op(id) {
            op if op.is_layout() && !matches!(op, Op::Concat(_)) => open.push(g.arg(id, 0)),
            Op::Not | Op::ToInt | Op::Neg | Op::Scale(_) | Op::Shift(_) => open.push(g.arg(id, 0)),
            Op::Const(..) => {}
            Op::Add | Op::Sub | Op::And | Op::Xor => open.extend(g.args(id)),
            _ if bit => out.push(id),
            _ => return Vec::new(),
        }
        if open.len() + out.len() > CHOICES {
            return if g.ty(id).elem == Elem::Bit { vec![id] } else { Vec::new() };
        }
    }
    out
}

/// The first of these choices that is not made yet, as a list of worlds: one for each way in which it can fall.
pub(in super::super) fn next(
    g: &Graph,
    scalars: &Scalars,
    found: &Evaluated,
    choices: &[NodeId],
    made: &World,
) -> Option<Vec<World>> {
    let with = |branches: Vec<(NodeId, Branch)>| -> World {
        made.iter().map(|(n, b)| (*n, *b)).chain(branches).collect()
    };
    let nodes: BTreeMap<NodeId, Vec<usize>> = entries(scalars, made);
    for &id in choices {
        let Some(entries) = nodes.get(&id) else { continue };
        if entries.iter().all(|&s| found.forms[s].is_constant()) {
            continue;
        }
        let of = &scalars.all[entries[0]].operands;
        match decided(g, scalars, entries, found) {
            Decided::By(one) => {
                let others = nodes.values().map(|entries| decided(g, scalars, entries, found));
                let same = |d| match d {
                    Decided::By(c) if c.terms == one.terms => Some(c),
                    Decided::By(_) | Decided::Apart | Decided::Otherwise => None,
                };
                let alike: Vec<Compared> = others.filter_map(same).collect();
                let mut worlds: Vec<World> = Vec::new();
                for x in places(&alike) {
                    let world = with(alike.iter().map(|c| (c.node, falls(g, c, x))).collect());
                    if !worlds.contains(&world) {
                        worlds.push(world);
                    }
                }
                return Some(worlds);
            }
            Decided::Apart => continue,
            Decided::Otherwise => {}
        }
        let branches = branches(g, scalars, found, id, of);
        if !branches.is_empty() {
            return Some(branches.into_iter().map(|b| with(vec![(id, b)])).collect());
        }
    }
    None
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
        Op::Function(f) => {
            let Some(&x) = of.first().and_then(|l| l.first()) else { return Vec::new() };
            let (lo, hi) = found.range(&found.forms[x as usize]);
            let f = f.facts().saturated;
            let (lo, hi) = (lo.max(-1e6), hi.min(1e6));
            // Only where it hardly moves any more.
            let flat = |end: f64, inwards: f64| (f(end) - f(end + inwards)).abs() < UNIT;
            let ends = [(lo, 1.0), (hi, -1.0)].into_iter().filter(|&(end, by)| flat(end, by));
            ends.map(|(end, _)| Branch::Value(f(end))).collect()
        }
        _ if g.ty(id).elem == Elem::Bit => vec![Branch::Value(0.0), Branch::Value(1.0)],
        _ => Vec::new(),
    }
}

/// Of each node that is followed, and is nothing yet, its entries.
fn entries(scalars: &Scalars, made: &World) -> BTreeMap<NodeId, Vec<usize>> {
    let mut out: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
    let open = scalars.all.iter().enumerate().filter(|(_, s)| !s.opaque);
    for (i, s) in open.filter(|(_, s)| !made.contains_key(&s.node)) {
        out.entry(s.node).or_default().push(i);
    }
    out
}

/// What the entries of a node are decided by.
fn decided(g: &Graph, scalars: &Scalars, entries: &[usize], found: &Evaluated) -> Decided {
    let Some(first) = compared(g, scalars, entries[0], found) else { return Decided::Otherwise };
    let mut others = entries[1..].iter().filter_map(|&s| compared(g, scalars, s, found));
    if others.any(|c| c.terms == first.terms && c.at != first.at) {
        return Decided::Apart;
    }
    Decided::By(first)
}

/// What a number is decided by, if it is a comparison.
fn compared(g: &Graph, scalars: &Scalars, scalar: usize, found: &Evaluated) -> Option<Compared> {
    let scalar = &scalars.all[scalar];
    let form = |i: usize| scalar.operands.get(i)?.first().map(|&s| &found.forms[s as usize]);
    let of = match g.op(scalar.node) {
        Op::Lt | Op::Eq => Form::combined([(form(0)?, 1.0), (form(1)?, -1.0)].into_iter()),
        Op::Relu => form(0)?.clone(),
        Op::Gate => form(1)?.clone(),
        _ => return None,
    };
    let factor = of.terms.first()?.1;
    let of = of.scaled(factor.recip());
    let terms: Vec<_> = of.terms.iter().map(|&(c, x)| (c, (x * 1e9).round() as i64)).collect();
    let whole = |&(c, x): &(u32, f64)| found.columns[c as usize].whole && x.fract() == 0.0;
    let whole = of.terms.iter().all(whole);
    let at = -of.value;
    let range = found.range(&Form { value: 0.0, ..of });
    Some(Compared { node: scalar.node, terms, at, range, whole, up: factor > 0.0 })
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

/// What a node is where the combination is this number.
fn falls(g: &Graph, c: &Compared, x: f64) -> Branch {
    let side = if c.up { x - c.at } else { c.at - x };
    let bit = |b: bool| Branch::Value(f64::from(u8::from(b)));
    match g.op(c.node) {
        Op::Lt => bit(side < 0.0),
        Op::Eq => bit(side == 0.0),
        _ if side < 0.0 => Branch::Value(0.0),
        _ => Branch::Operand(0),
    }
}
