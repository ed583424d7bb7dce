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
        Op::Saturate(_) if is_harmless(graph, *id) => false,
        Op::Saturate(top) => {
            let most = f64::from(top + graph.frac_of(*id)).exp2();
            let (lo, hi) = raw[graph.arg(*id, 0).index()];
            !(lo >= -most && hi <= most)
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

/// Whether a node is a cut that only functions read that do not change beyond it. Its own value is that of the program
/// only within the cut, and nobody asks for it: what these functions make of it is theirs of the program's.
pub fn is_harmless(graph: &Graph, id: NodeId) -> bool {
    let Op::Saturate(top) = *graph.op(id) else { return false };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::text;

    /// A cut of numbers of 10 bits is reached if they are larger, it is not at 1, and something reads it that does not
    /// stay as it is beyond it.
    #[test]
    fn cuts_that_change_what_is_read() {
        let reached = |top: u32, reader: &str| {
            let text = format!(
                "graph T\nparties Client[1]\nparties Server[1]\nfrac 16\n\
                 input 0 x : secret fix[2] in -1000..1000 from each Client\nsite 0 \"x\" line 1\n\
                 %0 = input 0 : secret fix.16[1,2] @0\n%1 = saturate %0 top={top} : secret fix.16[1,2] @0\n\
                 %2 = {reader} : secret fix.16[1,2] @0\nreveal %2 to Server as y @0\n"
            );
            let graph = text::parse(&text).unwrap_or_else(|e| panic!("{e}"));
            let most = 1000.0 * 65536.0;
            (reached(&graph, &[(-most, most); 3]).len(), is_harmless(&graph, NodeId(1)))
        };
        assert_eq!(reached(5, "exp %1"), (0, true));
        assert_eq!(reached(4, "exp %1"), (1, false));
        assert_eq!(reached(5, "neg %1"), (1, false));
        assert_eq!(reached(10, "neg %1"), (0, false));
        assert_eq!(reached(0, "neg %1"), (0, false));
    }
}
