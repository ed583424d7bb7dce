//! Cuts that a program may reach.
//!
//! Where values of a deep network do not fit, a pass cuts them ([`crate::passes::saturation`]). A run has them within
//! their cut. The program has them so, too, where the proven interval says it; elsewhere it is a condition of what is
//! stated: errors and decisions are those of inputs for which the program's values stay within. A value that
//! leaves its cut is never wrapped: it is the cut's end, with the right sign.

use super::interval::Interval;
use crate::graph::{AT_ONE, Function, Graph, NodeId, Op};

/// Cuts whose operand may leave them by its interval, in the order of nodes. `raw` is by index, in units of the last
/// place.
///
/// A cut at 1 is none of these ([`is_at_one`]). Neither is one that only functions read that do not change beyond it.
pub fn reached(graph: &Graph, raw: &[Interval]) -> Vec<NodeId> {
    let leaves = |id: &NodeId| match graph.op(*id) {
        op if is_at_one(op) => false,
        Op::Saturate(top) if is_harmless(graph, *id, *top) => false,
        Op::Saturate(top) => {
            let most = f64::from(top + graph.frac_of(*id)).exp2();
            let operand = raw.get(graph.arg(*id, 0).index());
            operand.is_none_or(|&(lo, hi)| !(lo >= -most && hi <= most))
        }
        _ => false,
    };
    graph.ids().filter(leaves).collect()
}

/// Whether an operation cuts at 1 what is at most 1 in real numbers, such as a cosine: the cut takes away nothing but
/// errors, and the program's values are within it as a run's are. Only `passes/unit.rs`
/// makes such a cut; those that make values fit are higher.
pub fn is_at_one(op: &Op) -> bool {
    *op == Op::Saturate(AT_ONE)
}

/// Whether only functions read a cut at 2^top that do not change beyond it.
fn is_harmless(graph: &Graph, id: NodeId, top: u32) -> bool {
    let users = graph.users(id);
    !graph.is_output(id) && !users.is_empty() && users.iter().all(|&u| is_steady(graph.op(u), top))
}

/// Whether a function has the same value for all operands beyond 2^top, and for all below -2^top: an exponential that
/// saturates, or a tangent that is 1 to all its bits.
pub fn is_steady(op: &Op, top: u32) -> bool {
    match op {
        Op::Function(Function::Exp | Function::ExpNonPositive | Function::Tanh) => top >= 5,
        _ => false,
    }
}
