//! A function of one sampled member is computed once per member, not once per pair.
//!
//! Before: any graph without scales. After: what is computed of a gather by indices known only at run
//! time (a sampled committee), row by row and of nothing else that differs between rows, is computed
//! of all m members first and gathered then, where more than m rows are gathered. A gather of what
//! was gathered is left as it is.
//!
//! ```text
//! %2 = gather %0 %1 axis=0 : [10, 3, d]   (%0 : [10, d], %1 a committee) ; %3 = relu %2
//!   ->   %4 = relu %0 ; %3 = gather %4 %1 axis=0
//! ```

use super::cse::dead_code;
use super::promise::{Kept, none};
use crate::graph::ranks::is_table;
use crate::graph::{Class, Graph, NodeId, Op};
use std::collections::BTreeMap;

/// A node that is a gather of rows.
#[derive(Clone, Copy)]
struct Gathered {
    /// The node's value for every member instead of every pair; of the node's rank.
    members: NodeId,
    /// Which member each row is of.
    index: NodeId,
    /// Number of leading axes that the rows make up.
    axes: usize,
}

pub(super) fn run(graph: &Graph) -> Graph {
    let mut known: BTreeMap<NodeId, Gathered> = BTreeMap::new();
    let new = graph.rewrite(|new, id, args| {
        let node = graph.node(id);
        let (found, made) = match gathered(new, &known, &node.op, args, node.site) {
            Some(found) => {
                let made = match node.op {
                    // The gather itself.
                    Op::Gather { .. } if !known.contains_key(&args[0]) => new.keep(graph, id, args),
                    _ => pairs(new, found, graph.shape(id), node.site),
                };
                (found, made)
            }
            None => return new.keep(graph, id, args),
        };
        known.insert(made, found);
        made
    });
    dead_code(&new)
}

/// What holds after it. A gather of what was gathered is left as it is.
pub(super) fn after(g: &Graph) -> Kept {
    let sampled = |id: NodeId| matches!(g.op(id), Op::Gather { .. }) && !is_table(g, g.arg(id, 1));
    let again = |id: NodeId| {
        let mut behind =
            std::iter::successors(Some(id), |&id| g.op(id).is_layout().then(|| g.arg(id, 0)));
        behind.any(sampled)
    };
    none(g, "is computed of every pair instead of every member", |id| {
        let args = g.args(id);
        let &[row] = args else { return false };
        g.op(id).is_pointwise()
            && *g.op(row) == Op::Gather { axis: 0, batch: 0 }
            && sampled(row)
            && g.elements(g.arg(row, 1)) > g.shape(g.arg(row, 0))[0]
            && !again(g.arg(row, 0))
    })
}

/// The shape of a node's value for m members in place of `rows` pairs, and how many leading axes the
/// rows make up: all of them, or after axes of size 1 one axis together with what follows the rows.
fn members(shape: &[u64], rows: u64, m: u64) -> Option<(Vec<u64>, usize)> {
    let mut size = 1;
    for (d, &n) in shape.iter().enumerate() {
        let mut to = shape.to_vec();
        if size == 1 && n > rows && n.is_multiple_of(rows) {
            to[d] = n / rows * m;
            return Some((to, d + 1));
        }
        size *= n;
        if size == rows {
            to[..d].fill(1);
            to[d] = m;
            return Some((to, d + 1));
        }
        if size > rows {
            return None;
        }
    }
    None
}

/// The value of every pair from that of every member.
fn pairs(g: &mut Graph, of: Gathered, shape: &[u64], site: u32) -> NodeId {
    let rows = g.elements(of.index);
    let each = shape.iter().product::<u64>() / rows;
    let m = g.elements(of.members) / each;
    let flat = g.add(Op::Reshape(vec![m, each]), &[of.members], site);
    let index = g.add(Op::Reshape(vec![rows]), &[of.index], site);
    let all = g.add(Op::Gather { axis: 0, batch: 0 }, &[flat, index], site);
    g.add(Op::Reshape(shape.to_vec()), &[all], site)
}

fn gathered(
    g: &mut Graph,
    known: &BTreeMap<NodeId, Gathered>,
    op: &Op,
    args: &[NodeId],
    site: u32,
) -> Option<Gathered> {
    let first = *args.first()?;
    if let (Op::Gather { axis: 0, batch: 0 }, None) = (op, known.get(&first)) {
        return sampled(g, args, site);
    }
    let any = args.iter().find_map(|a| known.get(a)).copied()?;
    let rows = g.elements(any.index);
    let axes = any.axes;
    // Every operand: of the same members, or the same for all of them.
    let mut of = Vec::new();
    for &a in args {
        match known.get(&a) {
            Some(k) if k.index == any.index && k.axes == axes => of.push(k.members),
            Some(_) => return None,
            None => of.push(a),
        }
    }
    let alone = |a: NodeId, upto: usize| {
        known.contains_key(&a) || g.shape(a).iter().take(upto).all(|&n| n == 1)
    };
    let beyond = |d: u64| d as usize >= axes;
    let m = g.elements(any.members)
        / (g.elements(*args.iter().find(|a| known.contains_key(a))?) / rows);
    let (op, axes) = match op {
        Op::Reshape(to) => {
            let (to, axes) = members(to, rows, m)?;
            (Op::Reshape(to), axes)
        }
        op if op.is_pointwise() && args.iter().all(|&a| alone(a, axes)) => (op.clone(), axes),
        Op::ArgMaxIs if of.len() == 2 && args.iter().all(|a| known.contains_key(a)) => {
            (beyond(g.shape(first).len() as u64 - 1)).then(|| (op.clone(), axes))?
        }
        Op::Sum(of) if of.iter().all(|&d| beyond(d)) => (op.clone(), axes),
        Op::Max(d) | Op::Min(d) | Op::Concat(d) if beyond(*d) => {
            args.iter().all(|a| known.contains_key(a)).then(|| (op.clone(), axes))?
        }
        Op::Slice { axis, .. } if beyond(*axis) => (op.clone(), axes),
        Op::Gather { axis, batch: 0 } if beyond(*axis) && !known.contains_key(&args[1]) => {
            (op.clone(), axes)
        }
        Op::Transpose(perm) if (0..axes).all(|d| perm[d] == d as u64) => (op.clone(), axes),
        // Rows are batches, or images of one batch.
        op if op.class() == Class::Bilinear => {
            let batches = axes == 1 && args.iter().all(|&a| alone(a, 1));
            let images = axes == 2 && !known.contains_key(&args[1]) && g.shape(args[1])[0] == 1;
            (batches || images).then(|| (op.clone(), axes))?
        }
        _ => return None,
    };
    let members = g.add(op, &of, site);
    Some(Gathered { members, index: any.index, axes })
}

/// A gather of whole rows by what is known at run time only, of more rows than there are.
fn sampled(g: &mut Graph, args: &[NodeId], site: u32) -> Option<Gathered> {
    let (x, index) = (args[0], args[1]);
    let m = g.shape(x)[0];
    let axes = g.shape(index).len();
    if is_table(g, index) || axes == 0 || g.elements(index) <= m {
        return None;
    }
    let mut to = vec![1; axes];
    to[axes - 1] = m;
    to.extend(&g.shape(x)[1..]);
    let members = g.add(Op::Reshape(to), &[x], site);
    Some(Gathered { members, index, axes })
}
