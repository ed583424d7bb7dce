//! Choices that inputs or coins can make either way, and what a value is once they are made.
//!
//! A choice is looked at for all entries of a node alike. Choices that compare the same combination of unknowns with
//! numbers are made together: where the sum is above 3, it is above 2.

use super::data::Scalars;
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

/// What a node is once a choice is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) enum Branch {
    Value(f64),
    Operand(usize),
}

/// By node, what it is.
pub(in super::super) type World = BTreeMap<NodeId, Branch>;

/// What a node is compared with, and by which operation.
struct Compared {
    node: NodeId,
    /// The combination of unknowns, up to a factor.
    terms: Vec<(u32, i64)>,
    /// The number beside it.
    at: f64,
    /// Where the combination is.
    range: (f64, f64),
    /// The sign of the factor.
    up: bool,
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
            Op::Relu | Op::Gate | Op::Max(_) | Op::Min(_) | Op::Abs => {
                if several(flow(id)) {
                    out.insert(id);
                }
            }
            Op::Function(Function::Exp | Function::Tanh) if several(flow(id)) => {
                out.insert(id);
            }
            _ => {}
        }
    }
    for (bit, of) in payloads {
        let secret = || of.iter().map(|&id| flow(id)).filter(|f| !f.is_free());
        let apart = || {
            let members: BTreeSet<_> = secret().map(Flow::member).collect();
            members.len() > 1 || secret().any(|f| f.clients() > 1 && !f.side_by_side())
        };
        let global = !flow(bit).is_free() && !flow(bit).side_by_side();
        if global && secret().all(|f| !f.side_by_side()) && apart() {
            out.insert(bit);
        }
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
    let with = |branches: &[(NodeId, Branch)]| -> World {
        made.iter().map(|(n, b)| (*n, *b)).chain(branches.iter().copied()).collect()
    };
    let all: Vec<Compared> = first_entries(scalars)
        .into_iter()
        .filter(|(id, _)| !made.contains_key(id))
        .filter_map(|(id, of)| compared(g, id, &of, found))
        .collect();
    for &id in choices.iter().filter(|id| !made.contains_key(id)) {
        let entries = || scalars.all.iter().zip(&found.forms).filter(|(s, _)| s.node == id);
        if entries().all(|(_, f)| f.is_constant()) {
            continue;
        }
        if let Some(one) = all.iter().find(|c| c.node == id) {
            let alike: Vec<&Compared> = all.iter().filter(|c| c.terms == one.terms).collect();
            let mut worlds: Vec<World> = Vec::new();
            for x in places(&alike) {
                let fall = |c: &&Compared| (c.node, falls(g, c, x));
                let world = with(&alike.iter().map(fall).collect::<Vec<_>>());
                if !worlds.contains(&world) {
                    worlds.push(world);
                }
            }
            return Some(worlds);
        }
        let Some((_, of)) = first_entries(scalars).into_iter().find(|(n, _)| *n == id) else {
            continue;
        };
        let branches: Vec<Branch> = match g.op(id) {
            Op::Abs => vec![Branch::Operand(0)],
            Op::Max(_) | Op::Min(_) => {
                let n = of.first().map_or(0, Vec::len);
                // Which client's value is the largest is a matter of order.
                let own = |&x: &u32| matches!(scalars.all[x as usize].owner, Owner::One(..));
                let order = of.iter().flatten().filter(|x| own(x)).count() > 1;
                if order || !(2..=CHOICES).contains(&n) {
                    continue;
                }
                (0..n).map(Branch::Operand).collect()
            }
            Op::Function(f) => {
                let Some(&x) = of.first().and_then(|l| l.first()) else { continue };
                let (lo, hi) = found.range(&found.forms[x as usize]);
                let f = f.facts().saturated;
                let ends = [lo, hi].map(|x| f(x.clamp(-1e6, 1e6)));
                // Only where it hardly moves any more, on one side at least.
                if ends.iter().all(|y| y.abs() > UNIT && (y.abs() - 1.0).abs() > UNIT) {
                    continue;
                }
                ends.into_iter().map(Branch::Value).collect()
            }
            _ if g.ty(id).elem == Elem::Bit => vec![Branch::Value(0.0), Branch::Value(1.0)],
            _ => continue,
        };
        return Some(branches.into_iter().map(|b| with(&[(id, b)])).collect());
    }
    None
}

/// Of each node that is followed, the operands of its first entry.
fn first_entries(scalars: &Scalars) -> BTreeMap<NodeId, Vec<Vec<u32>>> {
    let mut out = BTreeMap::new();
    for s in scalars.all.iter().filter(|s| !s.opaque) {
        out.entry(s.node).or_insert_with(|| s.operands.clone());
    }
    out
}

/// What a node is decided by, if it is a comparison.
fn compared(g: &Graph, node: NodeId, of: &[Vec<u32>], found: &Evaluated) -> Option<Compared> {
    let form = |i: usize| of.get(i)?.first().map(|&s| &found.forms[s as usize]);
    let of = match g.op(node) {
        Op::Lt | Op::Eq => Form::combined([(form(0)?, 1.0), (form(1)?, -1.0)].into_iter()),
        Op::Relu => form(0)?.clone(),
        Op::Gate => form(1)?.clone(),
        _ => return None,
    };
    let factor = of.terms.first()?.1;
    let terms = of.terms.iter().map(|&(c, x)| (c, (x / factor * 1e9).round() as i64)).collect();
    let range = found.range(&Form { value: 0.0, terms: of.terms.clone() }.scaled(factor.recip()));
    Some(Compared { node, terms, at: -of.value / factor, range, up: factor > 0.0 })
}

/// Places before, between, behind and, of what is tested for equality, at the thresholds.
fn places(of: &[&Compared]) -> Vec<f64> {
    let mut at: Vec<f64> = of.iter().map(|c| c.at).collect();
    at.sort_by(f64::total_cmp);
    at.dedup();
    let step = (at.len() / THRESHOLDS).max(1);
    let at: Vec<f64> = at.into_iter().step_by(step).collect();
    let (lo, hi) = of[0].range;
    let (first, last) = (at[0], at[at.len() - 1]);
    let beyond =
        |at: f64, end: f64, by: f64| if end.is_finite() { (at + end) / 2.0 } else { at + by };
    let mut out = vec![beyond(first, lo, -1.0)];
    for pair in at.windows(2) {
        out.extend([pair[0], (pair[0] + pair[1]) / 2.0]);
    }
    out.extend([last, beyond(last, hi, 1.0)]);
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
