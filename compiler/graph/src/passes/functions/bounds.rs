//! Comparisons with quotients and with maxima: products, and as many comparisons beside one another.
//!
//! Before: any graph without scales. After: no comparison reads a quotient (or reciprocal) whose divisor is known not
//! to be negative, nor the maximum or minimum along an axis, nor an absolute value; but for those that keep a value,
//! which a loop carries, in its range, and those that choose between a quotient and what it is compared with. Where one
//! of these is taken of another, one step is done.
//!
//! Exact in real numbers, also of a quotient that saturates ([`super::super::rising`]): x / 0 is 2^31 with the sign of
//! x, and what it is compared with is known to be smaller than that; else the quotient itself is compared. 0 / 0, which
//! is 0, needs comparisons of its own: where it is on the other side than 0 x is of 0.
//!
//! ```text
//! %3 = div %1 %2 ; %5 = lt %3 %4          ->   %6 = mul %2 %4 ; %5 = lt %1 %6
//! %2 = max %1 axis=1 ; %4 = lt %2 %3      ->   %5 = lt %1 %3' ; %4 = and of %5 along the axis
//! %2 = abs %1 ; %4 = lt %2 %3             ->   %5 = lt %1 %3 ; %6 = lt (neg %1) %3 ; %4 = and %5 %6
//! ```

use super::super::promise::{Kept, none};
use super::super::rising::{quotient_compares, sizes};
use super::{all, axis_last};
use crate::analysis::behind::{behind, unshaped};
use crate::analysis::magnitudes::Magnitudes;
use crate::analysis::positive::positive;
use crate::analysis::signs::not_negative;
use crate::graph::infer::align;
use crate::graph::{Function, Graph, NodeId, Op};
use slvr_language::types::Elem;
use std::collections::BTreeSet;

pub(crate) fn run(graph: &Graph) -> Graph {
    let (choosing, sizes) = (choosing(graph), sizes());
    graph.replace(|new, id, args| {
        let node = graph.node(id);
        match node.op {
            // No value is less than itself; as products a run would say so of some.
            Op::Lt if args[0] == args[1] => {
                Some(new.add_table(graph.shape(id).to_vec(), vec![0.0], Elem::Bit, node.site))
            }
            // A value that is kept in a range is compared as it is: what bounds it is the comparison with its own word.
            Op::Lt if !graph.site(id).compares_ends() && !choosing.contains(&id) => {
                quotient(new, &sizes, [args[0], args[1]], node.site)
                    .or_else(|| extremum(new, args[0], args[1], node.site))
                    .or_else(|| absolute(new, args[0], args[1], node.site))
            }
            _ => None,
        }
    })
}

/// Comparisons that choose between the two values that they compare, one of them a quotient. It is computed anyway, and
/// what bounds the result is the comparison with its own word.
fn choosing(g: &Graph) -> BTreeSet<NodeId> {
    let chooses = |id: NodeId| {
        let [condition, then, other] = [0, 1, 2].map(|i| g.arg(id, i));
        let own = |side: &NodeId| *side == then || *side == other;
        let sides = g.args(condition);
        let quotient = sides.iter().any(|side| own(side) && divided(g, *side).is_some());
        (*g.op(condition) == Op::Lt && quotient).then_some(condition)
    };
    g.ids().filter(|id| *g.op(*id) == Op::Select).filter_map(chooses).collect()
}

/// What holds after it, unless one of these functions is taken of another: then one step is done.
pub(crate) fn after(g: &Graph) -> Kept {
    let rewritten = |id: NodeId| {
        let recip = Op::Function(Function::Recip);
        matches!(g.op(id), Op::Div | Op::Abs | Op::Max(_) | Op::Min(_)) || *g.op(id) == recip
    };
    if g.ids().any(|id| rewritten(id) && rewritten(behind(g, g.arg(id, 0), Op::is_layout))) {
        return Ok(());
    }
    let (choosing, sizes) = (choosing(g), sizes());
    none(g, "compares a quotient by what is not negative", |id| {
        *g.op(id) == Op::Lt
            && !g.site(id).compares_ends()
            && !choosing.contains(&id)
            && quotient_of(g, &sizes, [g.arg(id, 0), g.arg(id, 1)]).is_some()
    })
}

/// The dividend (none of a reciprocal) and the divisor of a quotient by what is not negative.
fn divided(g: &Graph, id: NodeId) -> Option<(Option<NodeId>, NodeId)> {
    let (x, y) = match (g.op(id), g.args(id)) {
        (Op::Div, &[x, y]) => (Some(x), y),
        (Op::Function(Function::Recip), &[y]) => (None, y),
        _ => return None,
    };
    not_negative(g, y).then_some((x, y))
}

/// The quotient of a comparison that becomes one of products: dividend and divisor, the other side, and whether it is
/// the left one.
fn quotient_of(
    g: &Graph,
    sizes: &Magnitudes,
    [a, b]: [NodeId; 2],
) -> Option<(Option<NodeId>, NodeId, NodeId, bool)> {
    let mut sides = [(a, b, true), (b, a, false)].into_iter();
    sides.find_map(|(quotient, other, left)| {
        let (x, y) = divided(g, quotient)?;
        quotient_compares(g, sizes, (x, y), other).then_some((x, y, other, left))
    })
}

/// x / y < b is x < b y, and a < x / y is a y < x; x is 1 in a reciprocal. Where x and y may both be 0, the quotient is
/// 0: that is below b if 0 < b, but 0 < b 0 is not; so x <= 0 and y <= 0 and 0 < b is the other way to be below b.
fn quotient(g: &mut Graph, sizes: &Magnitudes, sides: [NodeId; 2], site: u32) -> Option<NodeId> {
    let out = align(g.shape(sides[0]), g.shape(sides[1])).ok()?;
    let (x, y, other, left) = quotient_of(g, sizes, sides)?;
    // By one and the same divisor quotients fall as their dividends do, also where these are equal.
    if let (Some(x), Some((Some(z), divisor))) = (x, divided(g, other))
        && divisor == y
        && positive(g, sizes, y)
    {
        let dividends = if left { [x, z] } else { [z, x] };
        let dividends = dividends.map(|x| g.add_broadcast(x, &out, site));
        return Some(g.add(Op::Lt, &dividends, site));
    }
    let constant = g.constant(other);
    // 0 / 0 decides as 0 on the side of which it is no part of the product's comparison.
    let exact = positive(g, sizes, y)
        || x.is_none()
        || constant.is_some_and(|c| if left { c <= 0.0 } else { c >= 0.0 });
    let dividend = x;
    let splat = |g: &mut Graph, value| g.add_number(out.len(), value, Elem::Fix, site);
    let product = match constant {
        Some(0.0) => splat(g, 0.0),
        Some(c) => g.add(Op::Scale(c), &[y], site),
        None => g.add(Op::Mul, &[y, other], site),
    };
    let x = x.unwrap_or_else(|| splat(g, 1.0));
    let x = if align(g.shape(x), g.shape(product)).ok()? == out {
        x
    } else {
        g.add_broadcast(x, &out, site)
    };
    let sides = if left { [x, product] } else { [product, x] };
    let less = g.add(Op::Lt, &sides, site);
    let Some(dividend) = dividend.filter(|_| !exact) else { return Some(less) };
    // Neither is on that side of 0.
    let not = |g: &mut Graph, x: NodeId, left: bool| {
        let zero = splat(g, 0.0);
        let sides = if left { [zero, x] } else { [x, zero] };
        let beyond = g.add(Op::Lt, &sides, site);
        g.add(Op::Not, &[beyond], site)
    };
    let (dividend, divisor) = (not(g, dividend, left), not(g, y, true));
    let mut both = g.add(Op::And, &[dividend, divisor], site);
    if constant.is_none() {
        let zero = splat(g, 0.0);
        // A quotient by what is not negative has the sign of its dividend.
        let signed = match divided(g, other) {
            Some((Some(dividend), _)) => dividend,
            Some((None, _)) => splat(g, 1.0),
            None => other,
        };
        let sides = if left { [zero, signed] } else { [signed, zero] };
        let open = g.add(Op::Lt, &sides, site);
        both = g.add(Op::And, &[both, open], site);
    }
    // Either: not neither.
    let neither = [less, both].map(|x| g.add(Op::Not, &[x], site));
    let neither = g.add(Op::And, &neither, site);
    Some(g.add(Op::Not, &[neither], site))
}

/// max x < b is x < b for all entries; a < max x is not x <= a for all entries; and so min.
fn extremum(g: &mut Graph, a: NodeId, b: NodeId, site: u32) -> Option<NodeId> {
    let find = |g: &Graph, id: NodeId| {
        let id = unshaped(g, id);
        match *g.op(id) {
            Op::Max(axis) => Some((g.arg(id, 0), axis, true)),
            Op::Min(axis) => Some((g.arg(id, 0), axis, false)),
            _ => None,
        }
    };
    let out = align(g.shape(a), g.shape(b)).ok()?;
    let count: u64 = out.iter().product();
    // The extremum must not be repeated: it would be compared anew every time.
    let whole = |g: &Graph, id: NodeId| g.elements(id) == count;
    let (x, axis, is_max, other, left) = match (find(g, a), find(g, b)) {
        (Some((x, axis, is_max)), _) if whole(g, a) => (x, axis, is_max, b, true),
        (_, Some((x, axis, is_max))) if whole(g, b) => (x, axis, is_max, a, false),
        _ => return None,
    };
    let n = g.shape(x)[axis as usize];
    let x = axis_last(g, x, axis, site);
    let x = g.add_reshape(x, vec![count, n], site);
    let other = if g.elements(other) == 1 {
        g.add_reshape(other, vec![1, 1], site)
    } else {
        let all = g.add_broadcast(other, &out, site);
        g.add_reshape(all, vec![count, 1], site)
    };
    // max x < b, a < min x: all x on that side. a < max x, min x < b: not all on the other.
    let each = if left { [x, other] } else { [other, x] };
    let each = absolute(g, each[0], each[1], site).unwrap_or_else(|| g.add(Op::Lt, &each, site));
    let every = is_max == left;
    let bits = if every {
        all(g, each, site)
    } else {
        let not = g.add(Op::Not, &[each], site);
        let none = all(g, not, site);
        g.add(Op::Not, &[none], site)
    };
    Some(g.add_reshape(bits, out, site))
}

/// |x| < b is x < b and -x < b; a < |x| is not both x <= a and -x <= a. Two comparisons beside one
/// another, where an absolute value alone takes one, and a choice.
fn absolute(g: &mut Graph, a: NodeId, b: NodeId, site: u32) -> Option<NodeId> {
    let (x, left) = match (behind_absolute(g, a, site), behind_absolute(g, b, site)) {
        (Some(x), None) => (x, true),
        (None, Some(x)) => (x, false),
        _ => return None,
    };
    let minus = g.add(Op::Neg, &[x], site);
    let sides = [x, minus].map(|x| {
        if left {
            g.add(Op::Lt, &[x, b], site)
        } else {
            let above = g.add(Op::Lt, &[a, x], site);
            g.add(Op::Not, &[above], site)
        }
    });
    let both = g.add(Op::And, &sides, site);
    Some(if left { both } else { g.add(Op::Not, &[both], site) })
}

/// The value of which a node is the absolute value, in the node's layout.
fn behind_absolute(g: &mut Graph, id: NodeId, site: u32) -> Option<NodeId> {
    let op = g.op(id).clone();
    let args = g.args(id);
    if op == Op::Abs {
        return Some(args[0]);
    }
    // An absolute value that is repeated is compared in many places: then one is cheaper.
    if !op.is_layout() || g.elements(args[0]) < g.elements(id) {
        return None;
    }
    let mut moved = args.to_vec();
    moved[0] = behind_absolute(g, moved[0], site)?;
    Some(g.add(op, &moved, site))
}
