//! What is behind steps that change little: on the way from a value to what it was computed as.
//!
//! | looked through | by |
//! |---|---|
//! | other shapes | [`unshaped`] |
//! | other shapes, and more fraction bits | [`unshifted`] |
//! | each entry kept, once, in any order | [`keeps_entries`] |
//! | each entry kept, once or more, under any shape | [`uncopied`] |
//! | the same entries in the same order, whatever shapes and axes of one entry | [`same_entries`] |
//! | entries moved, repeated or left out | [`Op::is_layout`] |
//! | the same, and roundings | [`moves_or_rounds`] |
//! | other fraction bits and powers of two, which are counted | [`rescaled`] |
//! | multiples by any number, which are counted where this is asked | [`Op::factor`] |
//!
//! All follow first operands, which are the only ones that such steps compute with.

use crate::graph::{Graph, NodeId, Op};

/// A node, its first operand, that node's, and so on.
pub fn path(g: &Graph, id: NodeId) -> impl Iterator<Item = NodeId> {
    std::iter::successors(Some(id), |&id| g.args(id).first().copied())
}

/// The node behind operations that `through` lets pass, by first operands.
pub fn behind(g: &Graph, mut id: NodeId, through: impl Fn(&Op) -> bool) -> NodeId {
    while through(g.op(id)) {
        id = g.arg(id, 0);
    }
    id
}

/// The node behind reshapes: the same entries in the same order.
pub fn unshaped(g: &Graph, id: NodeId) -> NodeId {
    behind(g, id, |op| matches!(op, Op::Reshape(_)))
}

/// The node that has the same entries, under any shape and repeated as may be.
pub fn uncopied(g: &Graph, id: NodeId) -> NodeId {
    behind(g, id, |op| matches!(op, Op::Reshape(_) | Op::Transpose(_) | Op::Broadcast(_)))
}

/// The node behind reshapes and shifts: the same numbers in the same order.
pub fn unshifted(g: &Graph, id: NodeId) -> NodeId {
    behind(g, id, |op| matches!(op, Op::Reshape(_) | Op::Shift(_)))
}

/// Whether an operation moves numbers, and no more than rounds them.
pub fn moves_or_rounds(op: &Op) -> bool {
    op.is_layout() || matches!(op, Op::Trunc(_) | Op::Shift(_))
}

/// The power of two that a change of scale multiplies a value by, in real numbers; `None` of what is no change of scale.
pub fn doubled(op: &Op) -> Option<i64> {
    match op {
        Op::Shift(_) => Some(0),
        Op::MulPow2(by) => Some(i64::from(*by)),
        Op::DivPow2(by) => Some(-i64::from(*by)),
        _ => None,
    }
}

/// The node behind changes of scale and what else `through` lets pass, and the power of two that its value is
/// multiplied by, in real numbers.
pub fn rescaled(g: &Graph, mut id: NodeId, through: impl Fn(&Op) -> bool) -> (NodeId, i64) {
    let mut power = 0;
    loop {
        match doubled(g.op(id)) {
            Some(by) => power += by,
            None if through(g.op(id)) => {}
            None => return (id, power),
        }
        id = g.arg(id, 0);
    }
}

/// Whether an operation keeps each entry of its operand, once.
pub fn keeps_entries(op: &Op) -> bool {
    matches!(op, Op::Reshape(_) | Op::Transpose(_))
}

/// Whether a transposition leaves entries in their order: it only moves axes of one entry.
fn keeps_order(g: &Graph, id: NodeId) -> bool {
    let Op::Transpose(perm) = g.op(id) else { return false };
    let from = g.shape(g.arg(id, 0));
    let wide: Vec<u64> = perm.iter().copied().filter(|&p| from[p as usize] != 1).collect();
    wide.is_sorted()
}

/// Whether two values have the same entries in the same order, whatever their shapes.
pub fn same_entries(g: &Graph, a: NodeId, b: NodeId) -> bool {
    let base = |mut id: NodeId| {
        while matches!(g.op(id), Op::Reshape(_)) || keeps_order(g, id) {
            id = g.arg(id, 0);
        }
        id
    };
    // How a value is transposed, axes of one entry left out.
    let moved = |id: NodeId| match g.op(id) {
        Op::Transpose(perm) => {
            let from = g.shape(g.arg(id, 0));
            let wide = |axis: &usize| from[*axis] != 1;
            let sizes: Vec<u64> = (0..from.len()).filter(wide).map(|d| from[d]).collect();
            let order: Vec<usize> = perm.iter().map(|&p| p as usize).filter(wide).collect();
            let before = |axis: &usize| (0..*axis).filter(wide).count();
            Some((sizes, order.iter().map(before).collect::<Vec<_>>(), g.arg(id, 0)))
        }
        _ => None,
    };
    let (mut a, mut b) = (base(a), base(b));
    while a != b {
        match (moved(a), moved(b)) {
            (Some((s, p, x)), Some((t, q, y))) if s == t && p == q => (a, b) = (base(x), base(y)),
            _ => return false,
        }
    }
    true
}
