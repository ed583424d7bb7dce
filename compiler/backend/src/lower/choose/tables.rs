//! Where one truth table is faster than what a bit is made of.

use super::groups::Earlier;
use super::plan::Truth;
use crate::cost::Tuning;
use crate::lower::common::lookup::pays;
use crate::lower::task::{Product, Sum, Task, task};
use slvr_graph::analysis::truth_tables::{Function, Functions, Literal};
use slvr_graph::graph::NodeId;
use std::rc::Rc;

/// A secret bit by one table of bits, or of words of Z_2^k, if that is faster than what it is made of.
pub fn table(
    c: &Earlier<'_>,
    tables: &mut Functions<'_>,
    id: NodeId,
    words: Option<u32>,
    tuning: Tuning,
) -> Option<Rc<Truth>> {
    let functions = tables.bits(id)?;
    let first = functions.first()?;
    let n = first.of.len();
    // Of one bit there is nothing to save; of two, one conversion.
    let deep = first.of.iter().any(|l| l.node != id) && n >= 2;
    let saves = match words {
        _ if matches!(task(c.facts.graph, id), Task::Comparison(_)) => 2.0,
        Some(_) => 1.0,
        None => saved(c, tables, id),
    };
    // What has several dealers gets one when the value is there, a round later than it might.
    let late = |l: &Literal| c.plan.groups(l.node).is_some_and(|g| g > 1);
    let saves = if first.of.iter().any(late) { saves - 1.0 } else { saves };
    let bits = u64::from(words.unwrap_or(1)) << n;
    let same = functions.iter().all(|f| f.table == first.table);
    let secret = first.of.iter().all(|l| c.facts.is_secret(l.node));
    if !deep || !same || !secret || !pays(bits, functions.len() as u64, saves, tuning) {
        return None;
    }
    let literals = functions.iter().flat_map(|f| f.of.iter().copied()).collect();
    Some(Rc::new(Truth { of: n, table: first.table.clone(), literals }))
}

/// Rounds that a table of bits saves: a product of given bits takes no more rounds than a table of them.
fn saved(c: &Earlier<'_>, tables: &mut Functions<'_>, id: NodeId) -> f64 {
    let g = c.facts.graph;
    let is_gate = matches!(task(g, id), Task::Not | Task::Sum(Sum::Xor))
        || c.facts.is_bit(id) && matches!(task(g, id), Task::Product(Product::Elementwise));
    let given = |f: &Function| f.of.len() <= 1;
    let mut simple = |x: NodeId| tables.bits(x).is_none_or(|f| f.iter().all(given));
    if is_gate && !g.args(id).iter().all(|&x| simple(x)) { 1.0 } else { 0.0 }
}
