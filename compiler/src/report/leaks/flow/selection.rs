//! Bits that select clients: how many of them are 1.

use super::dependence::{Flow, Ones, add};
use crate::analysis::layout::behind;
use crate::graph::{Graph, NodeId, Op, Table};

pub(super) fn compare(g: &Graph, id: NodeId, args: &[NodeId], of: &[&Flow]) -> Flow {
    let mut f = add(of[0], of[1]).other();
    f.bits = true;
    let constant = constant(g, args[1]);
    let ranked = of[0].tally && !of[0].is_free();
    if let (true, Some(c)) = (ranked, constant) {
        let library = g.site(id).name.split('/').any(|part| part == "top_k");
        let less = matches!(g.op(id), Op::Lt);
        let most = if less { c.max(0.0).ceil() as u64 } else { 1 };
        f.ones = Some(Ones { most, least: if less && library { most } else { 0 } });
    }
    f
}

/// Of `bits && gate`, where the gate says that at least c of these same bits are 1: c.
pub(super) fn enough(g: &Graph, bits: NodeId, gate: NodeId) -> Option<u64> {
    let gate = same(g, gate);
    let of = |id: NodeId| -> Option<(NodeId, NodeId)> {
        let less = *g.op(id) == Op::Lt;
        less.then(|| (g.arg(id, 0), g.arg(id, 1)))
    };
    // count >= c is !(count < c); count > c is c < count.
    let (count, c) = if *g.op(gate) == Op::Not {
        let (count, c) = of(same(g, g.arg(gate, 0)))?;
        (count, constant(g, c)?.ceil())
    } else {
        let (c, count) = of(gate)?;
        (count, constant(g, c)?.floor() + 1.0)
    };
    let sum = same(g, count);
    let Op::Sum(_) = g.op(sum) else { return None };
    let mut counted = same(g, g.arg(sum, 0));
    if *g.op(counted) == Op::ToInt {
        counted = same(g, g.arg(counted, 0));
    }
    // All of the bits are counted: nothing was sliced away, and one number came out.
    let all = counted == same(g, bits) && g.elements(sum) == 1;
    all.then_some(c.clamp(0.0, 1e18) as u64)
}

/// The node that has the same entries, under any shape and repeated as may be.
fn same(g: &Graph, id: NodeId) -> NodeId {
    behind(g, id, |op| matches!(op, Op::Reshape(_) | Op::Transpose(_) | Op::Broadcast(_)))
}

/// The number that all entries are, through layout.
fn constant(g: &Graph, id: NodeId) -> Option<f64> {
    let Op::Const(table, ..) = g.op(behind(g, id, Op::is_layout)) else { return None };
    Table::as_splat(table)
}
