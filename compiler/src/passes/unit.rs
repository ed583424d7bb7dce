//! Cosines and entries of unit vectors are cut at 1.
//!
//! Before: any graph without scales, sums of products contracted. After: a secret quotient of an inner product and
//! the norms of its two vectors, or of a vector and its norm, is followed by [`Op::Saturate`] at 2^0. In real numbers
//! such a quotient is at most 1, so nothing changes; among the parties norms are rounded, the norm of a short vector
//! may be 0, and the quotient may be any. So what is computed from it has words for any quotient without the cut.
//!
//! ```text
//! %4 = div (dot %0 %1) (norm %0 * norm %1)   ->   %5 = saturate %4 top=0
//! ```
//!
//! Where only a relu reads the quotient the cut follows the relu: both are one step among the parties.

use super::promise::{Kept, none};
use crate::analysis::layout::{behind, same_entries};
use crate::graph::{Function, Graph, NodeId, Op};
use crate::syntax::ast::Secrecy;

pub(super) fn run(graph: &Graph) -> Graph {
    graph.rewrite(|new, id, args| {
        let kept = new.keep(graph, id, args);
        match cut_at(graph, id) {
            true => new.add(Op::Saturate(0), &[kept], graph.node(id).site),
            false => kept,
        }
    })
}

/// What holds after it.
pub(super) fn after(g: &Graph) -> Kept {
    none(g, "a quotient that is at most 1 is read without a cut", |id| {
        let read = |&u: &NodeId| *g.op(u) != Op::Saturate(0);
        cut_at(g, id) && g.users(id).iter().any(read)
    })
}

/// Whether a cut follows a node.
fn cut_at(g: &Graph, id: NodeId) -> bool {
    let relu = |id: NodeId| {
        let users = g.users(id);
        let only = users.len() == 1 && !g.outputs.iter().any(|o| o.node == id);
        only && *g.op(users[0]) == Op::Relu
    };
    match g.op(id) {
        Op::Div => is_unit(g, id) && !relu(id),
        Op::Relu => is_unit(g, g.arg(id, 0)) && relu(g.arg(id, 0)),
        _ => false,
    }
}

/// Whether a quotient is at most 1 by the inequality of Cauchy and Schwarz.
fn is_unit(g: &Graph, id: NodeId) -> bool {
    if *g.op(id) != Op::Div || g.ty(id).secrecy != Secrecy::Secret {
        return false;
    }
    let (x, y) = (g.arg(id, 0), g.arg(id, 1));
    is_cosine(g, id, x, y) || is_direction(g, x, y)
}

/// An inner product of rows: entry r is that of row r, or of the only row, of each side.
struct Products {
    sides: [NodeId; 2],
    /// Entries of a row.
    terms: u64,
}

fn plain(g: &Graph, id: NodeId) -> NodeId {
    behind(g, id, |op| matches!(op, Op::Reshape(_)))
}

/// The rows behind a value, if it is made of inner products.
fn products(g: &Graph, id: NodeId) -> Option<Products> {
    let rows = g.elements(id);
    let id = plain(g, id);
    let (sides, terms) = match g.op(id) {
        Op::Sum(axes) => {
            let product = g.arg(id, 0);
            let shape = g.shape(product);
            let trailing =
                axes.iter().copied().eq(shape.len() as u64 - axes.len() as u64..shape.len() as u64);
            if *g.op(product) != Op::Mul || !trailing {
                return None;
            }
            let first = shape.len() - axes.len();
            let sides = [g.arg(product, 0), g.arg(product, 1)];
            // Rows are whole: nothing of them is repeated.
            if sides.iter().any(|&s| g.shape(s).get(first..) != shape.get(first..)) {
                return None;
            }
            (sides, shape[first..].iter().product())
        }
        Op::MatMul { trans_b: true } => {
            let sides = [g.arg(id, 0), g.arg(id, 1)];
            let shape = g.shape(id);
            // Rows of the one side beside the only row of the other, or one row each in every batch.
            let [a, b] = sides.map(|s| g.shape(s)[0] == shape[0] || g.elements(s) == g.shape(s)[2]);
            if !(a && b) || (shape[1] != 1 && shape[2] != 1) {
                return None;
            }
            (sides, g.shape(sides[0])[2])
        }
        _ => return None,
    };
    let fits = |s: NodeId| [terms, terms * rows].contains(&g.elements(s));
    (terms > 0 && sides.into_iter().all(fits)).then_some(Products { sides, terms })
}

/// The vectors, row by row, whose norms a value is, and how many terms a row has.
fn norms(g: &Graph, id: NodeId) -> Option<(NodeId, u64)> {
    let root = plain(g, id);
    if *g.op(root) != Op::Function(Function::Sqrt) {
        return None;
    }
    let Products { sides: [a, b], terms } = products(g, g.arg(root, 0))?;
    let each = same_entries(g, a, b) && g.elements(a) == terms * g.elements(root);
    each.then_some((a, terms))
}

fn is_cosine(g: &Graph, id: NodeId, x: NodeId, y: NodeId) -> bool {
    let rows = g.elements(id);
    let Some(Products { sides, terms }) = products(g, x) else { return false };
    let y = plain(g, y);
    // Entry r of the quotient is entry r of both.
    if *g.op(y) != Op::Mul || g.elements(x) != rows || g.elements(y) != rows {
        return false;
    }
    let of = |side: NodeId, n: NodeId| {
        // Of the only row the only norm, of rows in order their norms in order.
        let placed = g.elements(n) * terms == g.elements(side);
        placed && norms(g, n).is_some_and(|(v, t)| t == terms && same_entries(g, v, side))
    };
    let (a, b) = (g.arg(y, 0), g.arg(y, 1));
    let [p, q] = sides;
    (of(p, a) && of(q, b)) || (of(p, b) && of(q, a))
}

/// Whether y is the norm of each row of x, in its place.
fn is_direction(g: &Graph, x: NodeId, y: NodeId) -> bool {
    let Some((v, terms)) = norms(g, y) else { return false };
    let (from, to) = (g.shape(y), g.shape(x));
    let wide = (0..from.len()).rev().find(|&d| from[d] != 1).map_or(0, |d| d + 1);
    let placed = from.len() == to.len() && from[..wide] == to[..wide];
    placed && to[wide..].iter().product::<u64>() == terms && same_entries(g, v, x)
}
