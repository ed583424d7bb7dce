//! The largest softmax is 1 / sum(exp(z - max z)); exponentials of what is at most 0.
//!
//! Before: any graph without scales, equal nodes merged. After: a maximum is taken before a division by what is
//! positive and the same for all its entries, before an exponential, before a difference with what is the same for all,
//! and before a relu, unless this maximum is subtracted from the same value; the maximum of x - max x is 0; the
//! exponential of x - max x, or of a positive multiple of it, is an [`Function::ExpNonPositive`]. The place of the
//! largest is looked for before all of these but relu, where they rise strictly ([`rising`]): of what saturates alike,
//! or is divided by 0, the first one is the place.
//!
//! Exact in real numbers: none of these functions falls.
//!
//! ```text
//! %2 = max %1 axis=1 ; %3 = reshape %2 ; %4 = sub %1 %3 ; %5 = exp %4 ; %6 = sum %5 axes=[1]
//! %7 = reshape %6 ; %8 = div %5 %7 ; %9 = max %8 axis=1
//!   ->   %5 = exp_non_positive %4 ; %6 = sum %5 axes=[1] ; %9 = recip %6
//! ```

use super::super::promise::{Kept, none};
use super::super::rising::{self, below_its_max, unscaled};
use crate::analysis::magnitudes::Magnitudes;
use crate::graph::infer::{align, without};
use crate::graph::{Function, Graph, NodeId, Op};
use slvr_language::types::Elem;

pub(crate) fn run(graph: &Graph) -> Graph {
    let (centres, sizes) = (rising::centres(graph), rising::sizes());
    graph.replace(|new, id, args| {
        let node = graph.node(id);
        match node.op {
            Op::Max(_) if centres.contains(&id) => None,
            Op::Max(axis) => largest(new, args[0], axis, node.site),
            Op::MaxPool { .. } if *new.op(args[0]) == Op::Relu => {
                let x = new.arg(args[0], 0);
                let pooled = new.add(node.op.clone(), &[x], node.site);
                Some(new.add(Op::Relu, &[pooled], node.site))
            }
            Op::ArgMax => {
                let x = where_largest(new, &sizes, args[0], node.site);
                (x != args[0]).then(|| new.add(Op::ArgMax, &[x], node.site))
            }
            Op::Function(Function::Exp) if below_its_max(new, unscaled(new, args[0])) => {
                Some(new.add(Op::Function(Function::ExpNonPositive), &[args[0]], node.site))
            }
            _ => None,
        }
    })
}

pub(crate) fn after(g: &Graph) -> Kept {
    none(g, "is of at most 0, but not marked so", |id| {
        *g.op(id) == Op::Function(Function::Exp) && below_its_max(g, unscaled(g, g.arg(id, 0)))
    })
}

/// A value whose first largest entry along the last axis is at the same place ([`rising`]).
fn where_largest(g: &mut Graph, sizes: &Magnitudes, mut id: NodeId, site: u32) -> NodeId {
    loop {
        let args = g.args(id);
        let same = |i: usize| g.shape(args[i]).last() == Some(&1);
        let whole = |i: usize| g.shape(args[i]) == g.shape(id);
        let op = g.op(id).clone();
        let alone = !matches!(op, Op::Add | Op::Sub | Op::Div) || same(1) && whole(0);
        if let Some(x) = rising::behind(g, sizes, id).filter(|_| alone) {
            id = x;
            continue;
        }
        match op {
            Op::Add if same(0) && whole(1) => id = args[1],
            Op::Function(f) => return rising::cut(g, sizes, f, args[0], site).unwrap_or(id),
            _ => return id,
        }
    }
}

/// The maximum of a value along an axis from that of its operands, where that is simpler.
fn largest(g: &mut Graph, id: NodeId, axis: u64, site: u32) -> Option<NodeId> {
    let op = g.op(id).clone();
    let args = g.args(id).to_vec();
    let shape = without(g.shape(id), axis).ok()?;
    let of = |g: &mut Graph, x: NodeId| match largest(g, x, axis, site) {
        Some(m) => m,
        None => g.add(Op::Max(axis), &[x], site),
    };
    // The other operand is the same along the axis, and the first alone has it.
    let same = |g: &Graph| g.shape(args[1])[axis as usize] == 1;
    match op {
        _ if !rising::never_falls(g, id) => None,
        Op::Relu | Op::Function(Function::Exp | Function::ExpNonPositive) => {
            let m = of(g, args[0]);
            if let (Some(x), Op::Function(f)) = (g.constant(m), &op) {
                let value = (f.facts().saturated)(x);
                return Some(g.add_table(shape, vec![value], Elem::Fix, site));
            }
            Some(g.add(op, &[m], site))
        }
        Op::Div if same(g) => {
            let m = of(g, args[0]);
            let divisor = without(g.shape(args[1]), axis).ok()?;
            let divisor = g.add_reshape(args[1], divisor, site);
            if g.constant(m) == Some(1.0) && g.shape(divisor) == shape {
                return Some(g.add(Op::Function(Function::Recip), &[divisor], site));
            }
            Some(g.add(Op::Div, &[m, divisor], site))
        }
        Op::Sub if same(g) => {
            if below_its_max(g, id) {
                return Some(g.add_table(shape, vec![0.0], Elem::Fix, site));
            }
            let m = of(g, args[0]);
            let other = without(g.shape(args[1]), axis).ok()?;
            debug_assert!(align(g.shape(m), &other).is_ok());
            let other = g.add_reshape(args[1], other, site);
            Some(g.add(Op::Sub, &[m, other], site))
        }
        _ => None,
    }
}
