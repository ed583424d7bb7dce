//! A part of a value, computed from parts of its operands.
//!
//! What holds for every operation: entries `start .. start + len` of the result along an axis depend on
//! the same entries of some operands along some axes, and on others as a whole. Where that is not so
//! (an axis that is sorted, convolved or cut across by a reshape) the whole value is sliced, which is
//! always right and local.

use crate::graph::{Graph, NodeId, Op, Table};
use std::collections::HashMap;

/// Some entries along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Part {
    pub axis: usize,
    pub start: u64,
    pub len: u64,
}

/// What an operand is read as.
enum Read {
    Whole,
    Part(Part),
}

/// One entry of the first axis of a value, computed from no more of its operands than it takes.
pub fn entry(g: &mut Graph, id: NodeId, at: u64) -> NodeId {
    SlicePushdown::default().part(g, id, Part { axis: 0, start: at, len: 1 }, &|_| true)
}

/// Makes parts of values, each once.
#[derive(Default)]
pub(super) struct SlicePushdown {
    made: HashMap<(NodeId, Part), NodeId>,
}

impl SlicePushdown {
    /// A part of a node; `through` says which nodes may be computed in parts.
    pub fn part(
        &mut self,
        g: &mut Graph,
        id: NodeId,
        part: Part,
        through: &impl Fn(NodeId) -> bool,
    ) -> NodeId {
        if g.shape(id).get(part.axis) == Some(&part.len) {
            return id;
        }
        // Looked up, never iterated.
        if let Some(&made) = self.made.get(&(id, part)) {
            return made;
        }
        let pushed = if through(id) { self.push(g, id, part, through) } else { None };
        let made = pushed.unwrap_or_else(|| {
            let site = g.node(id).site;
            let (axis, start, len) = (part.axis as u64, part.start, part.len);
            g.add(Op::Slice { axis, start, len, step: 1 }, &[id], site)
        });
        self.made.insert((id, part), made);
        made
    }

    /// The operation on parts of its operands, if that computes the part.
    fn push(
        &mut self,
        g: &mut Graph,
        id: NodeId,
        part: Part,
        through: &impl Fn(NodeId) -> bool,
    ) -> Option<NodeId> {
        let (op, site) = (g.op(id).clone(), g.node(id).site);
        let args = g.args(id).to_vec();
        if let Op::Const(table, elem, frac) = &op {
            let table = entries(table, part);
            return Some(g.add(Op::Const(table, *elem, *frac), &[], site));
        }
        if let Op::Concat(axis) = op
            && axis as usize == part.axis
        {
            let mut pieces = Vec::new();
            let mut at = 0;
            for &a in &args {
                let n = g.shape(a)[part.axis];
                let (lo, hi) = (part.start.max(at), (part.start + part.len).min(at + n));
                if lo < hi {
                    let piece = Part { start: lo - at, len: hi - lo, ..part };
                    pieces.push(self.part(g, a, piece, through));
                }
                at += n;
            }
            return Some(match pieces[..] {
                [one] => one,
                _ => g.add(op, &pieces, site),
            });
        }
        let reads = reads(g, &op, id, &args, part)?;
        let mut parts = Vec::with_capacity(args.len());
        for (&a, read) in args.iter().zip(reads) {
            parts.push(match read {
                Read::Whole => a,
                Read::Part(p) => self.part(g, a, p, through),
            });
        }
        // Slices along the same axis became one.
        let op = match op {
            Op::Slice { axis, .. } if axis as usize == part.axis => return parts.first().copied(),
            Op::Reshape(to) => Op::Reshape(shortened(to, part)),
            Op::Broadcast(to) => Op::Broadcast(shortened(to, part)),
            op => op,
        };
        Some(g.add(op, &parts, site))
    }
}

fn shortened(mut shape: Vec<u64>, part: Part) -> Vec<u64> {
    shape[part.axis] = part.len;
    shape
}

/// The entries of a constant.
fn entries(table: &Table, part: Part) -> Table {
    let shape = shortened(table.shape.clone(), part);
    if table.data.len() == 1 {
        return Table { shape, data: table.data.clone() };
    }
    let inner: usize = table.shape[part.axis + 1..].iter().product::<u64>() as usize;
    let row = inner * table.shape[part.axis] as usize;
    let (from, to) = (part.start as usize * inner, (part.start + part.len) as usize * inner);
    let rows = table.data.chunks(row.max(1));
    Table { shape, data: rows.flat_map(|r| r[from..to].iter().copied()).collect() }
}

/// How each operand is read for a part of the result; `None` if the result is needed whole.
fn reads(g: &Graph, op: &Op, id: NodeId, args: &[NodeId], part: Part) -> Option<Vec<Read>> {
    let Part { axis, start, len } = part;
    let along = |axis: usize| Read::Part(Part { axis, ..part });
    // Along the axis, or whole if the operand is repeated there.
    let aligned = |a: NodeId, axis: usize| match g.shape(a).get(axis) {
        Some(1) => Read::Whole,
        _ => along(axis),
    };
    let rank = g.shape(id).len();
    Some(match op {
        op if op.is_pointwise() => args.iter().map(|&a| aligned(a, axis)).collect(),
        // The last axis is worked along, or is new.
        Op::Sort | Op::OneHot(_) if axis + 1 == rank => return None,
        Op::MaxPool { .. } if axis + 2 >= rank => return None,
        Op::Sort | Op::OneHot(_) | Op::MaxPool { .. } => vec![along(axis)],
        Op::SortSum { .. } | Op::ArgMax => vec![along(axis)],
        Op::ArgMaxIs => vec![along(axis), along(axis)],
        Op::Max(gone) | Op::Min(gone) => vec![along(axis + usize::from(axis >= *gone as usize))],
        Op::Sum(gone) => {
            let mut kept = (0..g.shape(args[0]).len()).filter(|&d| !gone.contains(&(d as u64)));
            vec![along(kept.nth(axis)?)]
        }
        Op::MatMul { trans_b } => match axis {
            0 => vec![aligned(args[0], 0), aligned(args[1], 0)],
            1 => vec![along(1), Read::Whole],
            _ => vec![Read::Whole, along(if *trans_b { 1 } else { 2 })],
        },
        Op::Conv2d(conv) => match axis {
            0 => vec![aligned(args[0], 0), aligned(args[1], 0)],
            1 => vec![along(1), Read::Whole],
            // With groups, some of the kernels are for some of the image's channels.
            2 if conv.groups == 1 => vec![Read::Whole, along(1)],
            _ => return None,
        },
        Op::Reshape(to) => {
            let inner: u64 = to[axis + 1..].iter().product();
            let outer: u64 = to[..axis].iter().product();
            vec![Read::Part(across(g.shape(args[0]), outer, inner, start, len, to[axis])?)]
        }
        Op::Transpose(perm) => vec![along(*perm.get(axis)? as usize)],
        Op::Slice { axis: other, start: first, step, .. } if *other as usize == axis => {
            if *step != 1 {
                return None;
            }
            vec![Read::Part(Part { start: first + start, ..part })]
        }
        Op::Slice { .. } => vec![along(axis)],
        Op::Concat(_) => args.iter().map(|_| along(axis)).collect(),
        Op::Broadcast(_) => vec![aligned(args[0], axis)],
        Op::Gather { axis: indexed, batch } => {
            let (indexed, batch) = (*indexed as usize, *batch as usize);
            let keys = g.shape(args[1]).len() - batch;
            if axis < batch {
                vec![along(axis), along(axis)]
            } else if axis < indexed {
                vec![along(axis), Read::Whole]
            } else if axis < indexed + keys {
                vec![Read::Whole, along(batch + axis - indexed)]
            } else {
                vec![along(axis + 1 - keys), Read::Whole]
            }
        }
        _ => return None,
    })
}

/// The part of a reshaped operand: the axis that starts where the result's does, if the part is whole
/// entries of it.
fn across(from: &[u64], outer: u64, inner: u64, start: u64, len: u64, size: u64) -> Option<Part> {
    (0..from.len()).find_map(|axis| {
        let before: u64 = from[..axis].iter().product();
        let unit: u64 = from[axis + 1..].iter().product();
        let whole = |x: u64| (x * inner).is_multiple_of(unit);
        let fits = before == outer && from[axis] * unit == size * inner;
        (fits && whole(start) && whole(len)).then(|| Part {
            axis,
            start: start * inner / unit,
            len: len * inner / unit,
        })
    })
}
