//! Dividends that are 0 wherever their divisor is: sums of what is kept, divided by how much is kept.
//!
//! If y adds up numbers that are not negative, y = 0 means that all of them are 0, in real numbers and, because sums
//! are exact and no rounding changes a sign, in a circuit. If x is made of them by products and sums only, x is
//! exactly 0 then, too, and x / y is 0 / 0 = 0: there is no x / 0 of another sign.

use super::layout::behind;
use super::signs::not_negative;
use crate::graph::{Graph, NodeId, Op};

/// Nodes that are looked at.
const STEPS: usize = 64;

/// Whether a dividend is exactly 0 wherever its divisor, one number, is 0.
pub fn vanishes(graph: &Graph, dividend: NodeId, divisor: NodeId) -> bool {
    let mut sum = divisor;
    while graph.op(sum).is_layout() || matches!(graph.op(sum), Op::Shift(_)) {
        sum = graph.arg(sum, 0);
    }
    // One sum of all of them, from which no part is taken.
    if graph.elements(sum) != 1 || !matches!(graph.op(sum), Op::Sum(_)) {
        return false;
    }
    let parts = graph.arg(sum, 0);
    let moved = |op: &Op| matches!(op, Op::Reshape(_) | Op::Transpose(_));
    let parts = behind(graph, parts, moved);
    not_negative(graph, parts) && zero(graph, dividend, parts, &mut STEPS.clone())
}

/// Whether x is exactly 0 where all of `parts` is.
fn zero(g: &Graph, x: NodeId, parts: NodeId, steps: &mut usize) -> bool {
    if x == parts {
        return true;
    }
    // Operands come before their users.
    if x < parts || *steps == 0 {
        return false;
    }
    *steps -= 1;
    let args = g.args(x);
    let mut of = |i: usize| zero(g, args[i], parts, steps);
    match g.op(x) {
        Op::Mul | Op::MatMul { .. } | Op::Conv2d { .. } => of(0) || of(1),
        Op::Add | Op::Sub => of(0) && of(1),
        Op::Select => of(1) && of(2),
        Op::Concat(_) => (0..args.len()).all(of),
        Op::Div
        | Op::Neg
        | Op::Scale(_)
        | Op::Gate
        | Op::Relu
        | Op::Abs
        | Op::Sum(_)
        | Op::Trunc(_)
        | Op::Shift(_)
        | Op::DivPow2(_)
        | Op::Saturate(_)
        | Op::Reshape(_)
        | Op::Transpose(_)
        | Op::Slice { .. }
        | Op::Broadcast(_)
        | Op::Gather { .. } => of(0),
        Op::Input(_)
        | Op::Const(..)
        | Op::Committee { .. }
        | Op::Lt
        | Op::Eq
        | Op::Not
        | Op::And
        | Op::Xor
        | Op::ToInt
        | Op::Max(_)
        | Op::Min(_)
        | Op::ArgMax
        | Op::Sort
        | Op::SortSum { .. }
        | Op::OneHot(_)
        | Op::ArgMaxIs
        | Op::MaxPool { .. }
        | Op::Function(_) => false,
    }
}
