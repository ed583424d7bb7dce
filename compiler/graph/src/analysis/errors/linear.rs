//! Linear forms: whether a selection is continuous where its comparison changes sides.
//!
//! `select(p < q, a, b)` is continuous if a - b is a multiple of p - q: then a and b are near each other
//! exactly where the comparison is in doubt. Largest of two, absolute value, clamping and leaky
//! relus are of this form. Both differences are written as linear forms of the same nodes.

use super::view::{View, times};
use crate::analysis::interval::{Interval, size};
use crate::graph::{NodeId, Op, Selection};
use std::collections::BTreeMap;

/// Longer chains and sums are not followed.
const DEPTH: u32 = 12;
const TERMS: usize = 16;

/// The sum of coefficients times nodes' values, and a constant.
#[derive(Clone, Debug, Default)]
struct Form {
    terms: BTreeMap<NodeId, f64>,
    constant: f64,
    /// How far the value in a run may be from the form of the nodes' values in the run.
    slack: f64,
}

impl Form {
    fn scaled(mut self, c: f64) -> Form {
        self.terms.values_mut().for_each(|t| *t *= c);
        self.constant *= c;
        self.slack *= c.abs();
        self
    }

    fn plus(mut self, other: Form) -> Form {
        for (n, c) in other.terms {
            *self.terms.entry(n).or_default() += c;
        }
        self.constant += other.constant;
        self.slack += other.slack;
        self
    }
}

/// How far a node that multiplies its operand by a number may be from this multiple.
fn off_multiple(view: &View<'_>, raw: &[Interval], id: NodeId) -> f64 {
    match view.op(id) {
        // The program's factor may be another one.
        Op::Scale(c) => {
            let x = view.args(id)[0];
            let most = size(raw[x.index()]) * view.ulp(x);
            times(1.01 * view.factor_rounding(id, *c), most)
        }
        Op::Trunc(_) => view.truncation(id),
        _ => 0.0,
    }
}

fn form(view: &View<'_>, raw: &[Interval], id: NodeId, depth: u32) -> Form {
    let alone = || Form { terms: BTreeMap::from([(id, 1.0)]), ..Form::default() };
    let Some(depth) = depth.checked_sub(1) else { return alone() };
    let arg = |i: usize| form(view, raw, view.args(id)[i], depth);
    let found = match view.op(id) {
        Op::Const(table, _, frac) => match table.as_splat() {
            Some(constant) => {
                let slack = view.table_rounding(&table.data, frac.unwrap_or(0));
                Form { constant, slack, ..Form::default() }
            }
            None => alone(),
        },
        Op::Add => arg(0).plus(arg(1)),
        Op::Sub => arg(0).plus(arg(1).scaled(-1.0)),
        op => match op.factor() {
            Some(c) => {
                let mut form = arg(0).scaled(c);
                form.slack += off_multiple(view, raw, id);
                form
            }
            None => alone(),
        },
    };
    if found.terms.len() > TERMS { alone() } else { found }
}

/// If a selection is continuous: how much further than its operands' errors its value may be off,
/// because values were truncated between the comparison and the selection.
pub(super) fn continuous(view: &View<'_>, raw: &[Interval], select: NodeId) -> Option<f64> {
    let Selection { less: [p, q], then: a, other: b } = view.g.selection(select)?;
    let of = |x| form(view, raw, x, DEPTH);
    let difference = |x, y| of(x).plus(of(y).scaled(-1.0));
    let (value, side) = (difference(a, b), difference(p, q));
    let (node, at) = side.terms.iter().find(|(_, c)| **c != 0.0)?;
    let factor = value.terms.get(node).copied().unwrap_or(0.0) / at;
    let near = |x: f64, y: f64| (x - y).abs() <= 1e-12 * x.abs().max(y.abs());
    let of = |f: &Form, n: &NodeId| f.terms.get(n).copied().unwrap_or(0.0);
    let same = side
        .terms
        .keys()
        .chain(value.terms.keys())
        .all(|n| near(of(&value, n), factor * of(&side, n)));
    (same && near(value.constant, factor * side.constant))
        .then(|| 2.0 * value.slack + factor.abs() * side.slack)
}
