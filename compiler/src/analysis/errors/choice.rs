//! Which comparisons only choose between near values, and which decide.
//!
//! A run compares its own values exactly. Where what it then computes is a continuous function of the
//! values compared (the larger of two, an order statistic), a comparison that comes out otherwise than
//! in the program changes the result by no more than the values themselves are off. Two patterns that
//! the passes make are recognised, by what they compute and not by who made them: a selection between
//! values whose difference is that of the compared ones ([`linear`]), and a sum of values times a mask
//! that depends on their ranks only ([`super::rank`]).

use super::bounds::{Decision, Errors};
use super::linear;
use super::rank::{Place, Reader, summed};
use super::view::View;
use crate::analysis::layout::{digits, flat};
use crate::graph::infer::align;
use crate::graph::{NodeId, Op};

/// Rows of a mask are all looked at up to so many comparisons, and evenly spread ones beyond: rows of
/// one tensor are computed alike.
const COMPARISONS: u64 = 1 << 16;
/// Longer rows are not looked at.
const LONGEST: u64 = 1 << 10;

/// A value that comparisons choose continuously.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    /// A selection of the larger of two, or the like.
    Larger {
        /// For truncations between the comparison and the selection.
        slack: f64,
    },
    /// A sum of values by their rank.
    Ranked {
        /// Whose sum.
        values: NodeId,
        /// Sum of the absolute weights.
        entries: u32,
        /// By entry, for truncations between the comparisons and the sum.
        slack: f64,
    },
}

/// The choices of a graph, by node.
pub(super) fn find(view: &View<'_>) -> Vec<Option<Choice>> {
    let choice = |id: NodeId| match view.op(id) {
        Op::Select => linear::continuous(view, id).map(|slack| Choice::Larger { slack }),
        Op::MatMul { trans_b } => product(view, id, *trans_b),
        Op::Sum(axes) => masked_sum(view, id, axes),
        _ => None,
    };
    view.g.ids().map(choice).collect()
}

/// Rows that are looked at: first places in `count` rows of n entries.
fn rows(count: u64, n: u64) -> impl Iterator<Item = u64> {
    let most = (COMPARISONS / (n * n).max(1)).clamp(1, count.max(1));
    (0..most).map(move |i| i * count / most)
}

/// Holds rows against one another: largest weight and slack, if all of them go by rank.
fn check(
    view: &View<'_>,
    values: NodeId,
    count: u64,
    n: u64,
    row: impl Fn(u64) -> (Vec<Place>, Vec<Place>),
) -> Option<Choice> {
    if n == 0 || n > LONGEST || count == 0 {
        return None;
    }
    let reader = Reader::new(view);
    let mut worst = (0u32, 0f64);
    for at in rows(count, n) {
        let (masks, summed) = row(at);
        let (entries, slack) = reader.by_rank(&masks, &summed)?;
        worst = (worst.0.max(entries), worst.1.max(slack));
    }
    Some(Choice::Ranked { values, entries: worst.0, slack: worst.1 })
}

fn product(view: &View<'_>, id: NodeId, trans_b: bool) -> Option<Choice> {
    let &[a, b] = view.args(id) else { return None };
    let (sa, sb) = (view.shape(a), view.shape(b));
    let to = view.shape(id);
    let n = *sa.get(2)?;
    let left = |at: &[u64], k: u64| (a, flat(sa, &[at[0], at[1], k]));
    let right = |at: &[u64], k: u64| {
        (b, flat(sb, &if trans_b { [at[0], at[2], k] } else { [at[0], k, at[2]] }))
    };
    let row = |at: u64| {
        let at = digits(to, at);
        let all = |f: &dyn Fn(&[u64], u64) -> Place| (0..n).map(|k| f(&at, k)).collect();
        let (x, y): (Vec<Place>, Vec<Place>) = (all(&left), all(&right));
        (x, y)
    };
    let count = to.iter().product();
    if view.whole(a) && !view.whole(b) {
        check(view, b, count, n, row)
    } else if view.whole(b) && !view.whole(a) {
        check(view, a, count, n, |at| {
            let (x, y) = row(at);
            (y, x)
        })
    } else {
        None
    }
}

fn masked_sum(view: &View<'_>, id: NodeId, axes: &[u64]) -> Option<Choice> {
    let product = view.args(id)[0];
    let (Op::Mul, &[a, b]) = (view.op(product), view.args(product)) else { return None };
    let (mask, values) = match (view.whole(a), view.whole(b)) {
        (true, false) => (a, b),
        (false, true) => (b, a),
        _ => return None,
    };
    let shape = align(view.shape(a), view.shape(b)).unwrap_or_default();
    let n = axes.iter().map(|&d| shape[d as usize]).product();
    check(view, values, view.g.elements(id), n, |at| {
        let places = summed(&shape, axes, at);
        let of = |x: NodeId| {
            places.iter().map(|&p| (x, flat(view.shape(x), &digits(&shape, p)))).collect()
        };
        (of(mask), of(values))
    })
}

/// Whether a gate's value is what its sign is taken of, rounded or not.
fn own_sign(view: &View<'_>, id: NodeId) -> bool {
    let base = |mut x: NodeId| {
        while let Op::Trunc(_) | Op::Shift(_) | Op::Saturate(_) = view.op(x) {
            x = view.args(x)[0];
        }
        x
    };
    base(view.args(id)[0]) == base(view.args(id)[1])
}

/// Comparisons of inexact values that revealed values depend on otherwise than through a choice; and of
/// each node whether they do.
pub(super) fn decisions(
    view: &View<'_>,
    choices: &[Option<Choice>],
    errors: &Errors,
) -> (Vec<Decision>, Vec<bool>) {
    let mut needed = vec![false; view.g.len()];
    view.g.outputs.iter().for_each(|o| needed[o.node.index()] = true);
    let mut found = Vec::new();
    for id in view.g.ids().rev() {
        if !needed[id.index()] {
            continue;
        }
        let args = view.args(id);
        let read: &[NodeId] = match (&choices[id.index()], view.op(id)) {
            (Some(Choice::Ranked { values, .. }), _) => std::slice::from_ref(values),
            (Some(Choice::Larger { .. }), _) => &args[1..],
            (None, Op::Gate) if own_sign(view, id) => &args[..1],
            _ => args,
        };
        read.iter().for_each(|a| needed[a.index()] = true);
        let sides: &[NodeId] = if matches!(view.op(id), Op::Lt | Op::Eq) {
            args
        } else if matches!(view.op(id), Op::ArgMax | Op::ArgMaxIs) {
            // Two entries of one value.
            &[args[0], args[0]]
        } else if *view.op(id) == Op::Gate && read.len() > 1 {
            &args[1..]
        } else {
            continue;
        };
        let margin: f64 = sides.iter().map(|s| errors.proven[s.index()]).sum();
        if margin > 0.0 {
            let estimates = sides.iter().map(|s| errors.estimated[s.index()]);
            let estimated = estimates.fold(0.0, f64::hypot).min(margin);
            found.push(Decision { node: id, site: view.g.node(id).site, margin, estimated });
        }
    }
    found.reverse();
    (found, needed)
}
