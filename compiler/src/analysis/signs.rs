//! Which values are not negative, from the way they are computed. Ranges of inputs are not used.

use crate::graph::{Graph, NodeId, Op};
use crate::types::function::NotNegative;

/// Chains longer than this are not followed.
const DEPTH: usize = 12;

/// Whether a value cannot be negative, in real numbers and in a circuit: truncation rounds to one of
/// the two next integers, so it keeps the sign.
pub fn not_negative(graph: &Graph, id: NodeId) -> bool {
    known(graph, id, DEPTH)
}

fn known(g: &Graph, id: NodeId, depth: usize) -> bool {
    use Op::*;
    let args = g.args(id);
    let Some(depth) = depth.checked_sub(1) else { return false };
    let arg = |i: usize| known(g, args[i], depth);
    match g.op(id) {
        Function(f) => match f.facts().not_negative {
            NotNegative::Always => true,
            NotNegative::WithOperand => arg(0),
            NotNegative::No => false,
        },
        Abs | Relu | ToInt | OneHot(_) | ArgMax => true,
        Committee { .. } => true,
        Const(t, ..) => t.data.iter().all(|&x| x >= 0.0),
        Gate => true,
        Mul if args[0] == args[1] => true,
        Add | Mul | Div | MatMul { .. } | Conv2d { .. } => arg(0) && arg(1),
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
        | DivPow2(_) => arg(0),
        Concat(_) => (0..args.len()).all(arg),
        Input(_) | Sub | Neg | Lt | Eq | Not | And | Xor | ArgMaxIs => false,
    }
}
