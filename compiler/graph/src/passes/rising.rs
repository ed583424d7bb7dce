//! Where a function rises with its first operand, saturated as it is: the one rule by which passes leave a function out
//! of what only asks for the order of values, or exchange it with what does.
//!
//! Every function has a value for every operand, and beyond some ends the same one ([`slvr_language::types::domain`]).
//! So a function that rises in the reals may have equal values of different operands: of two exponentials of less than
//! [`domain::EXP_LOW`] neither is less, and the first largest of two quotients that are cut is the first. A rewrite
//! asks
//!
//! | what is done | what must hold | asked by |
//! |---|---|---|
//! | the largest, the smallest or a sorted entry of f(x) becomes f of that of x | f never falls | [`never_falls`] |
//! | the place of the largest f(x) becomes that of the largest x | f rises strictly for all that it is taken of, or up to the largest | [`behind`] |
//! | f(a) < f(b) or that place, where f has one value for all operands below where it begins to rise, becomes that of operands of which those are one | f rises strictly from there on | [`cut`] |
//! | x / y < b becomes x < b y | the quotient is not cut, or b is closer to 0 than where it is | [`quotient_compares`] |
//!
//! Exact in real numbers. Sizes are those of what a run enforces of inputs ([`sizes`]), which of long vectors is more
//! than what is declared.

use crate::analysis::guard::Entries;
use crate::analysis::magnitudes::Magnitudes;
use crate::analysis::positive::{least, positive};
use crate::analysis::signs::not_negative;
use crate::analysis::{self, behind::unshaped};
use crate::graph::{Function, Graph, NodeId, Op, domain};
use slvr_language::types::Elem;
use slvr_language::types::function::Rises;
use std::collections::BTreeSet;

/// What is known of the sizes of values, for one graph that a pass reads or makes.
pub(super) fn sizes() -> Magnitudes {
    Magnitudes::new(Entries::Enforced)
}

/// Whether the value of a node never falls as its first operand rises, others as they are.
pub(super) fn never_falls(g: &Graph, id: NodeId) -> bool {
    match g.op(id) {
        Op::Relu | Op::Add | Op::Sub => true,
        Op::Scale(c) => *c > 0.0,
        Op::Function(f) => f.facts().rises.is_some(),
        // By 0, too: it has the sign of the dividend.
        Op::Div => not_negative(g, g.arg(id, 1)),
        _ => false,
    }
}

/// The first operand of a node, if its first largest entry along the last axis is where the node's is, other operands
/// being the same along it.
pub(super) fn behind(g: &Graph, sizes: &Magnitudes, id: NodeId) -> Option<NodeId> {
    let x = *g.args(id).first()?;
    let strictly = match g.op(id) {
        Op::Add | Op::Sub => true,
        Op::Scale(c) => *c > 0.0,
        Op::Function(f) => strictly(g, sizes, *f, x) || is_largest_one(g, *f, x),
        Op::Div => {
            let y = g.arg(id, 1);
            divisor(g, sizes, y) > 0.0 && is_uncut(g, sizes, Some(x), y)
        }
        _ => false,
    };
    strictly.then_some(x)
}

/// Whether a function is e^(x - max x) along the last axis: its largest entry is e^0, and no other is.
fn is_largest_one(g: &Graph, f: Function, x: NodeId) -> bool {
    let last = g.shape(x).len() as u64;
    let axis = || axis_of_max(g, unscaled(g, x));
    f == Function::ExpNonPositive && axis().is_some_and(|axis| axis + 1 == last)
}

/// The operand of a root or a logarithm with all of it that has one value made one: in the same order as the function.
/// Other functions that do not rise strictly are left as they are.
pub(super) fn cut(
    g: &mut Graph,
    sizes: &Magnitudes,
    f: Function,
    x: NodeId,
    site: u32,
) -> Option<NodeId> {
    if strictly(g, sizes, f, x) {
        return Some(x);
    }
    let facts = f.facts();
    let Rises { from, to } = facts.rises?;
    // Of an exponential both ends are looked at: as much as itself costs.
    if to.is_finite() {
        return None;
    }
    // A root has this value at 0, too.
    if from == 0.0 && (facts.saturated)(0.0) == (facts.saturated)(-1.0) {
        return Some(g.add(Op::Relu, &[x], site));
    }
    let axes = g.shape(x).len();
    let [end, below] =
        [from, from.min(0.0) - 1.0].map(|value| g.add_number(axes, value, Elem::Fix, site));
    let is_below = g.add(Op::Lt, &[x, end], site);
    Some(g.add(Op::Select, &[is_below, below, x], site))
}

/// Whether a function rises strictly for all that it is taken of.
fn strictly(g: &Graph, sizes: &Magnitudes, f: Function, x: NodeId) -> bool {
    let Some(Rises { from, to }) = f.facts().rises else { return false };
    let most = sizes.of(g, x);
    let low = if not_negative(g, x) { least(g, sizes, x) } else { -most };
    from <= low && most <= to
}

/// Whether x / y < b is x < b y, and a < x / y is a y < x, up to 0 / 0, for a divisor that is not negative; x is 1 in
/// a reciprocal. A quotient that is cut is on the same side of all that is closer to 0 than where it is cut.
pub(super) fn quotient_compares(
    g: &Graph,
    sizes: &Magnitudes,
    (x, y): (Option<NodeId>, NodeId),
    other: NodeId,
) -> bool {
    sizes.of(g, other) < domain::QUOTIENT_END || positive(g, sizes, y) && is_uncut(g, sizes, x, y)
}

/// Whether a quotient is everywhere as in the reals.
fn is_uncut(g: &Graph, sizes: &Magnitudes, x: Option<NodeId>, y: NodeId) -> bool {
    let least = divisor(g, sizes, y);
    // A circuit cuts quotients by 1 or more, too, unless it knows that none is by less.
    let largest = || x.map_or(1.0, |x| sizes.of(g, x));
    least >= 1.0
        || least > 0.0
            && (largest() <= domain::QUOTIENT_END * least || x.is_some_and(|x| is_term(g, x, y)))
}

/// The smallest value of a divisor, as far as it is known to be positive.
fn divisor(g: &Graph, sizes: &Magnitudes, y: NodeId) -> f64 {
    least(g, sizes, y).max(partition(g, sizes, y))
}

/// The smallest value of a sum of exponentials, if it is one: of those of x - max x along the axis of this maximum one
/// is 1, and others are not cut to 0 where they rise strictly.
fn partition(g: &Graph, sizes: &Magnitudes, id: NodeId) -> f64 {
    let sum = unshaped(g, id);
    let Op::Sum(axes) = g.op(sum) else { return 0.0 };
    let exp = g.arg(sum, 0);
    match *g.op(exp) {
        Op::Function(Function::ExpNonPositive) => {
            let axis = axis_of_max(g, unscaled(g, g.arg(exp, 0)));
            if axis.is_some_and(|axis| axes.contains(&axis)) { 1.0 } else { 0.0 }
        }
        Op::Function(f @ Function::Exp) if strictly(g, sizes, f, g.arg(exp, 0)) => {
            domain::exp(-sizes.of(g, g.arg(exp, 0)))
        }
        _ => 0.0,
    }
}

/// Whether a divisor is the sum of the dividend, which is not negative: then the quotient is at most 1.
fn is_term(g: &Graph, x: NodeId, y: NodeId) -> bool {
    let sum = unshaped(g, y);
    matches!(g.op(sum), Op::Sum(_)) && g.arg(sum, 0) == x && not_negative(g, x)
}

/// The value behind positive factors.
pub(super) fn unscaled(g: &Graph, id: NodeId) -> NodeId {
    analysis::behind::behind(g, id, |op| matches!(op, Op::Scale(c) if *c > 0.0))
}

/// Whether a value is x - max x.
pub(super) fn below_its_max(g: &Graph, id: NodeId) -> bool {
    if *g.op(id) != Op::Sub {
        return false;
    }
    let (x, m) = (g.arg(id, 0), g.arg(id, 1));
    let max = unshaped(g, m);
    if g.constant(max) == Some(0.0) {
        return below_its_max(g, x);
    }
    let Op::Max(axis) = *g.op(max) else { return false };
    if g.arg(max, 0) != x {
        return false;
    }
    let mut kept = g.shape(x).to_vec();
    kept[axis as usize] = 1;
    g.shape(m) == kept
}

/// Of x - max x the axis.
fn axis_of_max(g: &Graph, mut id: NodeId) -> Option<u64> {
    while below_its_max(g, id) {
        match *g.op(unshaped(g, g.arg(id, 1))) {
            Op::Max(axis) => return Some(axis),
            _ => id = g.arg(id, 0),
        }
    }
    None
}

/// Maxima that are subtracted from what they are taken of, as in a softmax of `x - 1`. They stay where they are, so
/// that the difference is known to be of at most 0: in a run, too, such a maximum is one of the entries, but for
/// truncations. The root of the largest entry and the largest root are each off by what is stated of roots.
pub(super) fn centres(g: &Graph) -> BTreeSet<NodeId> {
    let differences = g.ids().filter(|&id| below_its_max(g, id));
    let maxima = differences.map(|id| unshaped(g, g.arg(id, 1)));
    let maxima = maxima.filter(|&max| matches!(g.op(max), Op::Max(_)));
    maxima.filter(|&max| !below_its_max(g, g.arg(max, 0))).collect()
}
