//! Choices by a table that changes along one axis: runs of one value and of the other, side by side.
//!
//! A loop that collects what it carries, `[select(s == t, x, all[s]) for s in n]`, chooses so in each step. As a choice
//! every entry of every step is a node's business from then on; as runs a step is a list of what is there already.
//!
//! ```text
//! %3 = const [0, 1, 0] : [3, 1] ; %4 = select %3 %1 %2   (%1 : [1, d], %2 : [3, d])
//!   ->   %5 = slice %2 [0] ; %6 = slice %2 [2] ; %4 = concat %5 %1 %6
//! ```

use crate::graph::{Graph, NodeId, Op, Table};
use slvr_language::types::Elem;

/// More runs are left to the choice.
const MOST: usize = 8;

/// A choice by such a table, in runs.
pub(super) fn select(g: &mut Graph, args: &[NodeId], site: u32) -> Option<NodeId> {
    let (condition, a, b) = (args[0], *args.get(1)?, *args.get(2)?);
    let Op::Const(table, Elem::Bit, None) = g.op(condition) else { return None };
    let align = |a: NodeId, b: &[u64]| crate::graph::infer::align(g.shape(a), b).ok();
    let shape = align(a, g.shape(b)).and_then(|s| align(condition, &s))?;
    let (axis, runs) = runs(table)?;
    // The type of a choice is that of both, and so is that of what is side by side, if both are there.
    let kinds = runs.iter().any(|r| r.0) && runs.iter().any(|r| !r.0);
    if !kinds || runs.len() > MOST || table.shape[axis] != shape[axis] {
        return None;
    }
    let mut parts = Vec::new();
    for (chosen, start, len) in runs {
        let from = if chosen { a } else { b };
        piece(g, from, &Place { axis, start, len, shape: &shape, site }, &mut parts);
    }
    Some(g.add(Op::Concat(axis as u64), &parts, site))
}

/// A value of a table, the first index that has it, and how many do.
type Run = (bool, u64, u64);

/// The axis along which a table changes, if it is the only one, and its runs.
fn runs(table: &Table) -> Option<(usize, Vec<Run>)> {
    let mut long = (0..table.shape.len()).filter(|&d| table.shape[d] != 1);
    let axis = long.next()?;
    if long.next().is_some() || table.data.len() as u64 != table.shape[axis] {
        return None;
    }
    let mut runs: Vec<Run> = Vec::new();
    for (i, &x) in (0..).zip(table.data.iter()) {
        match runs.last_mut() {
            Some(last) if last.0 == (x != 0.0) => last.2 += 1,
            _ => runs.push((x != 0.0, i, 1)),
        }
    }
    Some((axis, runs))
}

/// Indices of an axis, in a result of a shape.
#[derive(Clone, Copy)]
struct Place<'a> {
    axis: usize,
    start: u64,
    len: u64,
    shape: &'a [u64],
    site: u32,
}

/// What stands at a place, behind what is side by side already.
fn piece(g: &mut Graph, from: NodeId, at: &Place<'_>, out: &mut Vec<NodeId>) {
    let &Place { axis, start, len, shape, site } = at;
    let own = g.shape(from)[axis];
    let whole = g.shape(from).iter().zip(shape).enumerate().all(|(d, (x, y))| d == axis || x == y);
    match g.op(from) {
        Op::Concat(along) if *along as usize == axis && whole && own == shape[axis] => {
            let mut first = 0;
            for part in g.args(from).to_vec() {
                let many = g.shape(part)[axis];
                let (lo, hi) = (start.max(first), (start + len).min(first + many));
                if lo < hi {
                    // Within a part indices are its own.
                    let mut wide = shape.to_vec();
                    wide[axis] = many;
                    let at = Place { start: lo - first, len: hi - lo, shape: &wide, ..*at };
                    piece(g, part, &at, out);
                }
                first += many;
            }
        }
        _ => {
            let mut wide = shape.to_vec();
            wide[axis] = len;
            let cut = own != 1 && (start, len) != (0, own);
            let op = Op::Slice { axis: axis as u64, start, len, step: 1 };
            let x = if cut { g.add(op, &[from], site) } else { from };
            out.push(g.add_broadcast(x, &wide, site));
        }
    }
}
