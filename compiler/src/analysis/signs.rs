//! Which values are not negative, from the way they are computed, and how far above 0 some are.

use super::layout::behind;
use super::magnitudes::Magnitudes;
use crate::graph::{Function as Elementary, Graph, NodeId, Op, domain};
use crate::types::function::NotNegative;

/// Chains longer than this are not followed.
const DEPTH: usize = 12;

/// Whether a value cannot be negative, in real numbers and in a circuit: truncation rounds to one of
/// the two next integers, so it keeps the sign. Ranges of inputs are not used.
pub fn not_negative(graph: &Graph, id: NodeId) -> bool {
    known(graph, id, DEPTH, false)
}

/// The same if inputs keep to their declared ranges, which of long vectors are not what is enforced.
pub fn not_negative_as_declared(graph: &Graph, id: NodeId) -> bool {
    known(graph, id, DEPTH, true)
}

/// Whether a value is positive in real numbers.
pub fn positive(graph: &Graph, id: NodeId) -> bool {
    least(graph, id) > 0.0
}

/// No less than this is a value in real numbers, if it is known to be positive; else 0.
pub fn least(graph: &Graph, id: NodeId) -> f64 {
    lowest(graph, id, DEPTH)
}

fn lowest(g: &Graph, id: NodeId, depth: usize) -> f64 {
    use Op::*;
    let args = g.args(id);
    let Some(depth) = depth.checked_sub(1) else { return 0.0 };
    let arg = |i: usize| lowest(g, args[i], depth);
    let other = |i: usize| known(g, args[i], depth, false);
    let two = |by: u32| f64::from(by).exp2();
    // However small, what is positive stays so.
    let if_positive = |all: &[f64], x: f64| {
        if all.iter().all(|&a| a > 0.0) { x.max(f64::MIN_POSITIVE) } else { 0.0 }
    };
    let most = |i: usize| Magnitudes::default().of(g, args[i]);
    match g.op(id) {
        Const(t, ..) => t.data.iter().copied().fold(f64::INFINITY, f64::min).max(0.0),
        Add => {
            let a = arg(0);
            if a == 0.0 && !other(0) {
                return 0.0;
            }
            let b = arg(1);
            if b > 0.0 || other(1) { a + b } else { 0.0 }
        }
        Mul => if_positive(&[arg(0), arg(1)], arg(0) * arg(1)),
        Div => if_positive(&[arg(0), arg(1)], (arg(0) / most(1)).min(two(domain::QUOTIENT_TOP))),
        Select => arg(1).min(arg(2)),
        Scale(c) if *c > 0.0 => if_positive(&[arg(0)], c * arg(0)),
        Scale(_) => 0.0,
        Function(f) => match f {
            Elementary::Recip => if_positive(&[arg(0)], domain::recip(most(0))),
            Elementary::Sqrt | Elementary::Tanh => {
                if_positive(&[arg(0)], (f.facts().saturated)(arg(0)))
            }
            // Of one that is at most 0, the largest of a row is e^0; others may be cut to 0.
            Elementary::Exp | Elementary::ExpNonPositive | Elementary::Log => 0.0,
        },
        Abs
        | Relu
        | Max(_)
        | Min(_)
        | Sort
        | MaxPool { .. }
        | Reshape(_)
        | Transpose(_)
        | Slice { .. }
        | Broadcast(_)
        | Trunc(_)
        | Shift(_) => arg(0),
        DivPow2(by) => if_positive(&[arg(0)], arg(0) / two(*by)),
        MulPow2(by) => arg(0) * two(*by),
        Saturate(top) => arg(0).min(two(*top)),
        Sum(axes) => {
            let terms: u64 = axes.iter().map(|&a| g.shape(args[0])[a as usize]).product();
            if terms > 0 { arg(0) * terms as f64 } else { 0.0 }
        }
        Concat(_) => (0..args.len()).map(arg).fold(f64::INFINITY, f64::min),
        Input(_)
        | Draw(_)
        | Noise { .. }
        | Pairs { .. }
        | Places(_)
        | Sub
        | Neg
        | Lt
        | Eq
        | Not
        | And
        | Xor
        | ToInt
        | Gate
        | ArgMax
        | SortSum { .. }
        | OneHot(_)
        | ArgMaxIs
        | MatMul { .. }
        | Conv2d { .. }
        | Gather { .. } => 0.0,
    }
}

fn known(g: &Graph, id: NodeId, depth: usize, declared: bool) -> bool {
    use Op::*;
    let args = g.args(id);
    let Some(depth) = depth.checked_sub(1) else { return false };
    let arg = |i: usize| known(g, args[i], depth, declared);
    match g.op(id) {
        Function(f) => match f.facts().not_negative {
            NotNegative::Always => true,
            NotNegative::WithOperand => arg(0),
            NotNegative::No => false,
        },
        Abs | Relu | ToInt | OneHot(_) | ArgMax => true,
        Noise { .. } => false,
        Draw(_) | Places(_) => true,
        Pairs { table, n } => table.range(*n).0 >= 0,
        Const(t, ..) => t.data.iter().all(|&x| x >= 0.0),
        Gate => true,
        Mul if args[0] == args[1] => true,
        Add | Mul | Div | MatMul { .. } | Conv2d { .. } => arg(0) && arg(1),
        // What a loop carries is kept in its declared range.
        Select if g.site(id).keeps().is_some_and(|(_, range)| range.0 >= 0.0) => true,
        Select => arg(1) && arg(2),
        Scale(c) => *c >= 0.0 && arg(0),
        Sum(_)
        | Max(_)
        | Min(_)
        | Sort
        | Saturate(_)
        | SortSum { .. }
        | MaxPool { .. }
        | Reshape(_)
        | Transpose(_)
        | Slice { .. }
        | Broadcast(_)
        | Gather { .. }
        | Trunc(_)
        | Shift(_)
        | DivPow2(_)
        | MulPow2(_) => arg(0),
        Concat(_) => (0..args.len()).all(arg),
        Sub => complement(g, &args),
        Input(i) => declared && g.inputs[*i as usize].range.0 >= 0.0,
        Neg | Lt | Eq | Not | And | Xor | ArgMaxIs => false,
    }
}

/// Whether a difference is 1 - b, or more, for bits b.
fn complement(g: &Graph, args: &[NodeId]) -> bool {
    let at_least_one = match g.op(args[0]) {
        Op::Const(t, ..) => t.data.iter().all(|&x| x >= 1.0),
        _ => false,
    };
    at_least_one && *g.op(behind(g, args[1], Op::is_layout)) == Op::ToInt
}
