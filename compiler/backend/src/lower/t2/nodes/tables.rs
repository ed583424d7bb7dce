//! Bits, and words of bits, by one truth table, where that is faster than what they are made of.

use crate::cost::Tuning;
use crate::lower::common::lookup::{lookup, pays};
use crate::lower::common::masked::{self, Pair, Split};
use crate::lower::form::Values;
use slvr_circuit::{Op as C, ValueId};
use slvr_graph::analysis::truth_tables::{Function, Literal};
use slvr_graph::graph::{NodeId, Op};
use std::collections::BTreeMap;

/// A secret bit by one table for all elements, if that is faster than what it is made of.
pub fn bits(l: &mut Values<'_>, id: NodeId, tuning: Tuning) -> Option<Pair> {
    if !l.facts.is_bit(id) {
        return None;
    }
    let saves = if is_comparison(l, id) { 2.0 } else { saved(l, id) };
    table(l, id, id, saves, tuning)
}

/// The words of a secret bit in the same way.
pub fn words(l: &mut Values<'_>, id: NodeId, tuning: Tuning) -> Option<Pair> {
    let bit = l.facts.graph.arg(id, 0);
    let saves = if is_comparison(l, bit) { 2.0 } else { 1.0 };
    table(l, id, bit, saves, tuning)
}

fn is_comparison(l: &Values<'_>, id: NodeId) -> bool {
    matches!(l.facts.graph.op(id), Op::Lt | Op::Eq)
}

/// Rounds that a table of bits saves: a product of given bits takes no more rounds than a table of them.
fn saved(l: &mut Values<'_>, id: NodeId) -> f64 {
    let g = l.facts.graph;
    let given = |f: &Function| f.of.len() <= 1;
    let mut simple = |x: NodeId| l.functions.bits(x).is_none_or(|f| f.iter().all(given));
    let is_gate = matches!(g.op(id), Op::Not | Op::Xor | Op::And);
    if is_gate && !g.args(id).iter().all(|&x| simple(x)) { 1.0 } else { 0.0 }
}

/// A node by a table of what the elements of `bit` are of earlier bits, if dealing it costs less than the rounds that
/// it saves.
fn table(l: &mut Values<'_>, id: NodeId, bit: NodeId, saves: f64, tuning: Tuning) -> Option<Pair> {
    let words = (id != bit).then(|| l.facts.rings.of(id));
    let functions = l.functions.bits(bit)?;
    let first = functions.first()?;
    let n = first.of.len();
    // Of one bit there is nothing to save; of two, one conversion.
    let deep = first.of.iter().any(|literal| literal.node != bit) && n >= 2;
    // What has several dealers gets one when the value is there, a round later than it might.
    let late = |literal: &Literal| l.groups(literal.node).is_some_and(|g| g > 1);
    let saves = if first.of.iter().any(late) { saves - 1.0 } else { saves };
    let size = u64::from(words.unwrap_or(1)) << n;
    let same = functions.iter().all(|f| f.table == first.table);
    let secret = first.of.iter().all(|literal| l.facts.is_secret(literal.node));
    if !deep || !same || !secret || !pays(size, functions.len() as u64, saves, tuning) {
        return None;
    }
    let literals: Vec<Literal> = functions.iter().flat_map(|f| f.of.iter().copied()).collect();
    let planes = planes(l, &literals, n);
    let e = &mut l.emit;
    let entry = lookup(e, &planes, &first.table, words);
    let add2 = e.add(C::Reshape(entry.add2, l.facts.graph.shape(id).to_vec()));
    Some(Pair { own: None, add2 })
}

/// Of each element its n bits side by side as planes: `B<n>[elements, 1]`.
fn planes(l: &mut Values<'_>, literals: &[Literal], n: usize) -> Split {
    let g = l.facts.graph;
    // The bits of all nodes that literals name, one node after another.
    let mut sources: Vec<NodeId> = literals.iter().map(|l| l.node).collect();
    sources.sort();
    sources.dedup();
    let (mut starts, mut all, mut parts) = (BTreeMap::new(), 0, Vec::new());
    for node in sources {
        starts.insert(node, all);
        let elements = g.elements(node);
        all += elements as usize;
        let x = Split { mask: None, ..l.split(node, 1) };
        parts.push(masked::linear(&mut l.emit, &x, |v| C::Reshape(v, vec![elements])));
    }
    let index = literals.iter().map(|l| (starts[&l.node] + l.at as usize) as u128).collect();
    let shape = [(literals.len() / n) as u64, n as u64];
    let e = &mut l.emit;
    let index = e.constant(false, 32, &[literals.len() as u64], index);
    let mut picked = masked::both(|part| {
        let xs: Vec<ValueId> = parts.iter().map(part).collect();
        let flat = match xs[..] {
            [one] => one,
            _ => e.add(C::Concat { xs, axis: 0 }),
        };
        let picked = e.add(C::Gather { x: flat, index, axis: 0, batch: 0 });
        e.add(C::Reshape(picked, shape.to_vec()))
    });
    if literals.iter().any(|l| l.flip) {
        let flips = literals.iter().map(|l| u128::from(l.flip)).collect();
        let flips = e.constant(true, 1, &shape, flips);
        picked.dup = e.add(C::Add(picked.dup, flips));
    }
    masked::to_planes(e, &picked)
}
