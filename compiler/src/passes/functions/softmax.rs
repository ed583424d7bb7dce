//! The largest softmax is 1 / sum(exp(z - max z)); exponentials of what is at most 0.
//!
//! Before: any graph without scales, equal nodes merged. After: a maximum is taken before a division
//! by what is positive and the same for all its entries, before an exponential, before a difference
//! with what is the same for all, and before a relu, unless this maximum is subtracted from the same value;
//! the maximum of x - max x is 0; the exponential
//! of x - max x, or of a positive multiple of it, is an [`Function::ExpNonPositive`]. The place of the largest is looked for before all of
//! these but relu, where they increase strictly: of what saturates alike, or is divided by 0, the first one is the place.
//!
//! Exact in real numbers: none of these functions falls.
//!
//! ```text
//! %2 = max %1 axis=1 ; %3 = reshape %2 ; %4 = sub %1 %3 ; %5 = exp %4 ; %6 = sum %5 axes=[1]
//! %7 = reshape %6 ; %8 = div %5 %7 ; %9 = max %8 axis=1
//!   ->   %5 = exp_non_positive %4 ; %6 = sum %5 axes=[1] ; %9 = recip %6
//! ```

use super::super::promise::{Kept, none};
use super::reshape;
use crate::analysis::magnitudes::Magnitudes;
use crate::analysis::signs::{not_negative, positive};
use crate::graph::infer::{align, without};
use crate::graph::{Function, Graph, NodeId, Op, Table};
use crate::types::Elem;
use crate::types::function::Increasing;
use std::collections::BTreeSet;

pub(crate) fn run(graph: &Graph) -> Graph {
    let centres = centres(graph);
    graph.rewrite(|new, id, args| {
        let node = graph.node(id);
        let rewritten = match node.op {
            Op::Max(_) if centres.contains(&id) => None,
            Op::Max(axis) => largest(new, args[0], axis, node.site),
            Op::MaxPool { .. } if *new.op(args[0]) == Op::Relu => {
                let x = new.arg(args[0], 0);
                let pooled = new.add(node.op.clone(), &[x], node.site);
                Some(new.add(Op::Relu, &[pooled], node.site))
            }
            Op::ArgMax => {
                let x = where_largest(new, args[0], node.site);
                (x != args[0]).then(|| new.add(Op::ArgMax, &[x], node.site))
            }
            Op::Function(Function::Exp) if below_its_max(new, unscaled(new, args[0])) => {
                Some(new.add(Op::Function(Function::ExpNonPositive), &[args[0]], node.site))
            }
            _ => None,
        };
        rewritten.unwrap_or_else(|| new.keep(graph, id, args))
    })
}

/// What holds after it.
pub(crate) fn after(g: &Graph) -> Kept {
    none(g, "is of at most 0, but not marked so", |id| {
        *g.op(id) == Op::Function(Function::Exp) && below_its_max(g, unscaled(g, g.arg(id, 0)))
    })
}

/// Maxima that are subtracted from what they are taken of, as in a softmax of `x - 1`. They stay where they are, so that
/// the difference is known to be of at most 0.
fn centres(g: &Graph) -> BTreeSet<NodeId> {
    let differences = g.ids().filter(|&id| below_its_max(g, id));
    let maxima = differences.map(|id| base(g, g.arg(id, 1)));
    let maxima = maxima.filter(|&max| matches!(g.op(max), Op::Max(_)));
    maxima.filter(|&max| !below_its_max(g, g.arg(max, 0))).collect()
}

/// The value behind reshapes.
fn base(g: &Graph, mut id: NodeId) -> NodeId {
    while let Op::Reshape(_) = g.op(id) {
        id = g.arg(id, 0);
    }
    id
}

/// The value behind positive factors.
fn unscaled(g: &Graph, mut id: NodeId) -> NodeId {
    while let Op::Scale(c) = g.op(id)
        && *c > 0.0
    {
        id = g.arg(id, 0);
    }
    id
}

/// Whether a value is x - max x.
fn below_its_max(g: &Graph, id: NodeId) -> bool {
    if *g.op(id) != Op::Sub {
        return false;
    }
    let (x, m) = (g.arg(id, 0), g.arg(id, 1));
    let max = base(g, m);
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

/// Whether a function increases strictly for all that it is taken of. Of x - max x the largest is 0, and no other is e^0.
fn rises(g: &Graph, f: Function, x: NodeId) -> bool {
    match f.facts().increasing {
        Increasing::Nowhere => false,
        Increasing::Everywhere => true,
        Increasing::NotNegative => not_negative(g, x),
        Increasing::Positive => positive(g, x),
        Increasing::Within(most) => {
            f == Function::ExpNonPositive || Magnitudes::default().of(g, x) <= most
        }
    }
}

/// Whether a value is a sum of exponentials that are not cut to 0, or of those of x - max x along the axis of this maximum: one of
/// them is 1.
fn is_partition(g: &Graph, id: NodeId) -> bool {
    let sum = base(g, id);
    let Op::Sum(axes) = g.op(sum) else { return false };
    let exp = g.arg(sum, 0);
    match *g.op(exp) {
        Op::Function(Function::ExpNonPositive) => {
            let axis = axis_of_max(g, unscaled(g, g.arg(exp, 0)));
            axis.is_some_and(|axis| axes.contains(&axis))
        }
        Op::Function(f @ Function::Exp) => rises(g, f, g.arg(exp, 0)),
        _ => false,
    }
}

/// Of x - max x the axis.
fn axis_of_max(g: &Graph, mut id: NodeId) -> Option<u64> {
    while below_its_max(g, id) {
        match *g.op(base(g, g.arg(id, 1))) {
            Op::Max(axis) => return Some(axis),
            _ => id = g.arg(id, 0),
        }
    }
    None
}

/// A value whose first largest entry along the last axis is at the same place: what is behind
/// functions that increase strictly, or of a root or a logarithm what is not negative of its operand: all others are alike.
fn where_largest(g: &mut Graph, mut id: NodeId, site: u32) -> NodeId {
    loop {
        let args = g.args(id);
        let same = |i: usize| g.shape(args[i]).last() == Some(&1);
        let whole = |i: usize| g.shape(args[i]) == g.shape(id);
        let above_zero = |i: usize| positive(g, args[i]) || is_partition(g, args[i]);
        id = match g.op(id) {
            Op::Function(f) if rises(g, *f, args[0]) => args[0],
            Op::Function(Function::Sqrt | Function::Log) => {
                return g.add(Op::Relu, &[args[0]], site);
            }
            Op::Scale(c) if *c > 0.0 => args[0],
            Op::Div if same(1) && whole(0) && above_zero(1) => args[0],
            Op::Sub | Op::Add if same(1) && whole(0) => args[0],
            Op::Add if same(0) && whole(1) => args[1],
            _ => return id,
        }
    }
}

/// The maximum of a value along an axis from that of its operands, where that is simpler.
fn largest(g: &mut Graph, id: NodeId, axis: u64, site: u32) -> Option<NodeId> {
    let op = g.op(id).clone();
    let args = g.args(id);
    let shape = without(g.shape(id), axis).ok()?;
    let of = |g: &mut Graph, x: NodeId| match largest(g, x, axis, site) {
        Some(m) => m,
        None => g.add(Op::Max(axis), &[x], site),
    };
    // The other operand is the same along the axis, and the first alone has it.
    let same = |g: &Graph| g.shape(args[1])[axis as usize] == 1;
    match op {
        Op::Relu | Op::Function(Function::Exp) | Op::Function(Function::ExpNonPositive) => {
            let m = of(g, args[0]);
            if let (Some(x), true) = (g.constant(m), op != Op::Relu) {
                let t = Table::splat(x.exp(), shape);
                return Some(g.add(Op::Const(t, Elem::Fix, None), &[], site));
            }
            Some(g.add(op, &[m], site))
        }
        Op::Div if same(g) && not_negative(g, args[1]) => {
            let m = of(g, args[0]);
            let divisor = without(g.shape(args[1]), axis).ok()?;
            let divisor = reshape(g, args[1], divisor, site);
            if g.constant(m) == Some(1.0) && g.shape(divisor) == shape {
                return Some(g.add(Op::Function(Function::Recip), &[divisor], site));
            }
            Some(g.add(Op::Div, &[m, divisor], site))
        }
        Op::Sub if same(g) => {
            if below_its_max(g, id) {
                let zero = Op::Const(Table::splat(0.0, shape), Elem::Fix, None);
                return Some(g.add(zero, &[], site));
            }
            let m = of(g, args[0]);
            let other = without(g.shape(args[1]), axis).ok()?;
            debug_assert!(align(g.shape(m), &other).is_ok());
            let other = reshape(g, args[1], other, site);
            Some(g.add(Op::Sub, &[m, other], site))
        }
        _ => None,
    }
}
