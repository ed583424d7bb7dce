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
//! Rows and norms are followed entry by entry, through whatever moves or copies them: a cosine may be taken of each
//! pair once, be looked up by an index, or be of vectors of one entry, whose sums are products.
//!
//! Where only a relu reads the quotient the cut follows the relu: both are one step among the parties.

use super::promise::{Kept, none};
use super::saturation::TOPS;
use crate::analysis::cuts::is_at_one;
use crate::analysis::layout::{Layout, aligned, blocks};
use crate::graph::{AT_ONE, Function, Graph, NodeId, Op};
use slvr_language::syntax::ast::Secrecy;
use std::cell::RefCell;
use std::collections::HashMap;

// No cut that makes values fit is taken for one of a unit vector.
const _: () = assert!(AT_ONE < *TOPS.start());

pub(super) fn run(graph: &Graph) -> Graph {
    let mut rows = Rows::of(graph);
    graph.rewrite(|new, id, args| {
        let kept = new.keep(graph, id, args);
        match rows.cut_at(id) {
            true => new.add(Op::Saturate(AT_ONE), &[kept], graph.node(id).site),
            false => kept,
        }
    })
}

pub(super) fn after(g: &Graph) -> Kept {
    let rows = RefCell::new(Rows::of(g));
    none(g, "a quotient that is at most 1 is read without a cut", |id| {
        let read = |&u: &NodeId| !is_at_one(g.op(u));
        rows.borrow_mut().cut_at(id) && g.users(id).iter().any(read)
    })
}

/// So many entries of a node from the given one on, which are the factors of an inner product.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Row {
    of: NodeId,
    start: u64,
    len: u64,
}

/// Finds which rows a value is made of, for all quotients of one graph.
struct Rows<'g> {
    g: &'g Graph,
    layouts: HashMap<NodeId, Option<Layout<'g>>>,
    /// By node and length of a block: which block of its operand each block is.
    blocks: HashMap<(NodeId, u64), Option<Vec<u32>>>,
    norms: HashMap<(NodeId, u64), Option<Row>>,
}

impl<'g> Rows<'g> {
    fn of(g: &'g Graph) -> Rows<'g> {
        Rows { g, layouts: HashMap::new(), blocks: HashMap::new(), norms: HashMap::new() }
    }

    /// Whether a cut follows a node.
    fn cut_at(&mut self, id: NodeId) -> bool {
        let g = self.g;
        let relu = |id: NodeId| g.only_user(id).is_some_and(|user| *g.op(user) == Op::Relu);
        match g.op(id) {
            Op::Div => self.is_unit(id) && !relu(id),
            Op::Relu => relu(g.arg(id, 0)) && self.is_unit(g.arg(id, 0)),
            _ => false,
        }
    }

    /// Whether a quotient is at most 1 by the inequality of Cauchy and Schwarz.
    fn is_unit(&mut self, id: NodeId) -> bool {
        if *self.g.op(id) != Op::Div || self.g.ty(id).secrecy != Secrecy::Secret {
            return false;
        }
        let entries = 0..self.g.elements(id);
        entries.clone().all(|at| self.is_cosine(id, at) == Some(true))
            || entries.clone().all(|at| self.is_direction(id, at) == Some(true))
    }

    /// What moves an entry to where it is: the operand, and the entry there.
    fn before(&mut self, (id, at): (NodeId, u64)) -> Option<(NodeId, u64)> {
        let layout = self.layouts.entry(id).or_insert_with(|| Layout::of(self.g, id)).as_ref()?;
        let (operand, from) = layout.origin(at);
        Some((self.g.arg(id, operand), from))
    }

    /// The entry that is computed.
    fn entry(&mut self, mut at: (NodeId, u64)) -> (NodeId, u64) {
        while let Some(before) = self.before(at) {
            at = before;
        }
        at
    }

    /// The same row where it is computed, or read.
    fn row(&mut self, mut row: Row) -> Option<Row> {
        if row.len == 1 {
            let (of, start) = self.entry((row.of, row.start));
            return Some(Row { of, start, len: 1 });
        }
        loop {
            let (g, len) = (self.g, row.len);
            if len == 0 || !row.start.is_multiple_of(len) {
                return None;
            }
            let of_block =
                self.blocks.entry((row.of, len)).or_insert_with(|| blocks(g, row.of, len));
            let Some(moved) = of_block else { return Some(row) };
            let block = *moved.get((row.start / len) as usize)?;
            row = Row { of: g.arg(row.of, 0), start: u64::from(block) * len, len };
        }
    }

    /// The rows whose inner product an entry is.
    fn product(&mut self, at: (NodeId, u64)) -> Option<[Row; 2]> {
        let g = self.g;
        let (id, at) = self.entry(at);
        let rows = match g.op(id) {
            Op::MatMul { trans_b } => {
                let (a, b) = (g.arg(id, 0), g.arg(id, 1));
                let (&[_, rows, columns], len) = (g.shape(id), *g.shape(a).get(2)?) else {
                    return None;
                };
                if !trans_b && columns != 1 {
                    return None;
                }
                let (row, column) = (at / columns.max(1), at % columns.max(1));
                let batch = |side: NodeId| match g.shape(side)[0] {
                    1 => 0,
                    _ => row / rows.max(1),
                };
                let of = |of: NodeId, row: u64| Row { of, start: row * len, len };
                [of(a, batch(a) * rows + row % rows.max(1)), of(b, batch(b) * columns + column)]
            }
            Op::Sum(axes) => {
                let product = g.arg(id, 0);
                let shape = g.shape(product);
                let first = shape.len() - axes.len();
                let trailing = axes.iter().copied().eq(first as u64..shape.len() as u64);
                let len: u64 = shape[first..].iter().product();
                let whole = |side: &NodeId| g.shape(*side).get(first..) == shape.get(first..);
                let sides = [0, 1].map(|i| g.args(product).get(i).copied());
                let [Some(a), Some(b)] = sides else { return None };
                // Rows are whole: nothing of them is repeated.
                if *g.op(product) != Op::Mul || !trailing || ![a, b].iter().all(whole) {
                    return None;
                }
                let row = |of: NodeId| {
                    let start = aligned(&g.shape(of)[..first], &shape[..first], at) * len;
                    Row { of, start, len }
                };
                [row(a), row(b)]
            }
            // The sum over one entry is the product.
            Op::Mul => [0, 1].map(|i| {
                let of = g.arg(id, i);
                Row { of, start: aligned(g.shape(of), g.shape(id), at), len: 1 }
            }),
            _ => return None,
        };
        let [a, b] = rows.map(|row| self.row(row));
        Some([a?, b?])
    }

    /// The row whose norm an entry is.
    fn norm(&mut self, at: (NodeId, u64)) -> Option<Row> {
        if let Some(known) = self.norms.get(&at) {
            return *known;
        }
        let found = self.find_norm(at);
        self.norms.insert(at, found);
        found
    }

    fn find_norm(&mut self, at: (NodeId, u64)) -> Option<Row> {
        let (id, at) = self.entry(at);
        let of = |i: usize| self.g.arg(id, i);
        match self.g.op(id) {
            Op::Function(Function::Sqrt) => {
                let [a, b] = self.product((of(0), at))?;
                (a == b).then_some(a)
            }
            Op::Abs => self.row(Row { of: of(0), start: at, len: 1 }),
            _ => None,
        }
    }

    /// The entries of dividend and divisor that an entry of a quotient is made of.
    fn operands(&self, id: NodeId, at: u64) -> [(NodeId, u64); 2] {
        [0, 1].map(|i| {
            let side = self.g.arg(id, i);
            (side, aligned(self.g.shape(side), self.g.shape(id), at))
        })
    }

    /// Whether an entry is the inner product of two rows by the product of their norms.
    fn is_cosine(&mut self, id: NodeId, at: u64) -> Option<bool> {
        let [x, y] = self.operands(id, at);
        let (norms, at) = self.entry(y);
        if *self.g.op(norms) != Op::Mul {
            return None;
        }
        let [p, q] = self.operands(norms, at);
        let norms = [self.norm(p)?, self.norm(q)?];
        let rows = self.product(x)?;
        Some(rows == norms || rows == [norms[1], norms[0]])
    }

    /// Whether an entry is that of a row by the norm of this row.
    fn is_direction(&mut self, id: NodeId, at: u64) -> Option<bool> {
        let [mut x, y] = self.operands(id, at);
        let row = self.norm(y)?;
        while x.0 != row.of {
            x = self.before(x)?;
        }
        Some((row.start..row.start + row.len).contains(&x.1))
    }
}
