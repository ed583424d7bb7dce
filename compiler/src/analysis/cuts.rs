//! Cuts that a program may reach.
//!
//! Where values of a deep network do not fit, a pass cuts them ([`crate::passes::saturation`]). A run has them within
//! their cut. The program has them so, too, where the proven interval says it; elsewhere it is a condition of what is
//! stated: errors and decisions are those of inputs for which the program's values stay within. A value that
//! leaves its cut is never wrapped: it is the cut's end, with the right sign.

use super::interval::Interval;
use crate::graph::{Graph, NodeId, Op};

/// Cuts whose operand may leave them by its interval, in the order of nodes. `raw` is by index, in units of the last
/// place.
///
/// A cut at 1 is none of these: what is cut there is at most 1 in real numbers.
pub fn reached(graph: &Graph, raw: &[Interval]) -> Vec<NodeId> {
    let leaves = |id: &NodeId| match graph.op(*id) {
        Op::Saturate(0) => false,
        Op::Saturate(top) => {
            let frac = graph.ty(*id).frac.unwrap_or(0);
            let most = (f64::from(*top) + f64::from(frac)).exp2();
            let operand = raw.get(graph.arg(*id, 0).index());
            operand.is_none_or(|&(lo, hi)| !(lo >= -most && hi <= most))
        }
        _ => false,
    };
    graph.ids().filter(leaves).collect()
}
