//! Entries that are equal by construction are computed once.
//!
//! Before: any graph without scales. After: an operation that the parties talk for computes no entry
//! twice, none that is the negative of another, and none that is zero by construction
//! ([`super::value_numbering`]); a table says which result goes where. A distance over all pairs of n clients
//! costs n (n - 1) / 2 reshares, not n^2, and so does whatever is computed from it. Operands are
//! gathered first, so what is not needed is not even computed locally; of a matrix product whose rows
//! and columns are the same vectors, the entries that differ are gathered from the product instead.
//!
//! ```text
//! %3 = sub %1 %2 : [3, 3, d]  (%1 : [3, 1, d], %2 : [1, 3, d] reshapes of %0) ; %4 = matmul %3 %3
//!   ->   %5 = gather %0 [0, 0, 1] ; %6 = gather %0 [1, 2, 2] ; %7 = sub %5 %6 : [3, d]
//!        %8 = matmul %7 %7 : [3] ; %9 = gather %8 [0, 0, 1, 0, 0, 2, 1, 2, 0]
//!        %4 = mul %9 [0, 1, 1, 1, 0, 1, 1, 1, 0]
//! ```

use super::cse::dead_code;
use super::distances;
use super::promise::{Kept, none};
use super::value_numbering::{LIMIT, Numbered, ValueNumbers, operand_blocks, sources};
use crate::analysis::behind::behind;
use crate::graph::{Graph, NodeId, Op};
use slvr_language::syntax::ast::Secrecy;
use slvr_language::types::Elem;
use std::cell::RefCell;

pub(super) fn run(graph: &Graph) -> Graph {
    rewritten(&distances::run(graph), |new, numbers, op, args, site| match op {
        op if op.is_layout() => unmasked(new, op, args, site),
        op if interactive(new, op, args) => once(new, numbers, op, args, site),
        _ => None,
    })
}

/// Rewrites a graph, and drops what nothing reads any more. `rewrite` gets an operation, its operands and its site.
pub(super) fn rewritten(
    graph: &Graph,
    rewrite: impl Fn(&mut Graph, &mut ValueNumbers, &Op, &[NodeId], u32) -> Option<NodeId>,
) -> Graph {
    let mut numbers = ValueNumbers::default();
    let new = graph.replace(|new, id, args| {
        rewrite(new, &mut numbers, graph.op(id), args, graph.node(id).site)
    });
    dead_code(&new)
}

/// Whether the parties talk to compute it.
fn interactive(g: &Graph, op: &Op, args: &[NodeId]) -> bool {
    let secret = args.iter().filter(|&&a| g.ty(a).secrecy == Secrecy::Secret).count();
    op.talks(secret)
}

/// Where every block of a result comes from: from which computed one, and with which sign (0 where it
/// is zero).
struct Spread {
    /// The blocks that are computed.
    which: Vec<u32>,
    from: Vec<f64>,
    sign: Vec<f64>,
    block: u64,
}

fn spread(numbers: &[i64], block: u64) -> Spread {
    let mut first: Numbered<(u32, i64)> = Numbered::default();
    let mut s = Spread { which: Vec::new(), from: Vec::new(), sign: Vec::new(), block };
    for (i, &n) in numbers.iter().enumerate() {
        if n == 0 {
            s.from.push(0.0);
            s.sign.push(0.0);
            continue;
        }
        let (k, sign) = *first.entry(n.abs()).or_insert_with(|| {
            s.which.push(i as u32);
            (s.which.len() as u32 - 1, n.signum())
        });
        s.from.push(f64::from(k));
        s.sign.push((sign * n.signum()) as f64);
    }
    s
}

/// What holds after it: no entry that the parties talk for is computed twice, but for those of
/// matrix products, which are gathered from the product.
pub(super) fn after(g: &Graph) -> Kept {
    single(g, |id| interactive(g, g.op(id), g.args(id)))
}

/// No entry of these nodes is computed twice.
pub(super) fn single(g: &Graph, which: impl Fn(NodeId) -> bool) -> Kept {
    let numbers = RefCell::new(ValueNumbers::default());
    none(g, "computes an entry more than once", |id| {
        let mut numbers = numbers.borrow_mut();
        g.op(id).is_pointwise()
            && which(id)
            && !numbers.distinct(g, id)
            && fewest(g, &mut numbers, id).is_some()
    })
}

/// The fewest entries from which all of a node's follow, in whole blocks; `None` if that is all.
fn fewest(g: &Graph, numbers: &mut ValueNumbers, id: NodeId) -> Option<Spread> {
    let shape = g.shape(id);
    let product = matches!(g.op(id), Op::MatMul { .. });
    let mut best: Option<Spread> = None;
    let first = if product { shape.len() } else { 0 };
    for t in first..=shape.len() {
        let block: u64 = shape[t..].iter().product();
        let Some(found) = numbers.of(g, id, block) else { continue };
        let s = spread(&found, block);
        let size = |s: &Spread| s.which.len() as u64 * s.block;
        if !s.which.is_empty() && size(&s) < best.as_ref().map_or(g.elements(id), size) {
            best = Some(s);
        }
    }
    best
}

pub(super) fn once(
    g: &mut Graph,
    numbers: &mut ValueNumbers,
    op: &Op,
    args: &[NodeId],
    site: u32,
) -> Option<NodeId> {
    // A node to look at; dead unless it is kept after all.
    let id = g.add(op.clone(), args, site);
    if numbers.distinct(g, id) {
        return Some(id);
    }
    let shape = g.shape(id).to_vec();
    let product = matches!(op, Op::MatMul { .. });
    let Some(s) = fewest(g, numbers, id) else { return Some(id) };
    let computed = if product {
        dots(g, numbers, id, &s.which, site)
    } else {
        let mut rows_of: Vec<NodeId> = Vec::new();
        for (i, &a) in args.iter().enumerate() {
            if let Some(j) = args[..i].iter().position(|&b| b == a) {
                rows_of.push(rows_of[j]);
                continue;
            }
            let (own, from) = operand_blocks(g.shape(a), &shape, s.block)?;
            let which: Vec<u32> = s.which.iter().map(|&i| from[i as usize]).collect();
            rows_of.push(rows(g, numbers, a, own, &which, site));
        }
        g.add(op.clone(), &rows_of, site)
    };
    // What comes back may be one row for all: entries of a table.
    let computed = g.add_broadcast(computed, &[s.which.len() as u64, s.block], site);
    let count = s.from.len() as u64;
    let mut v = picked(g, computed, s.from, site);
    if s.sign.iter().any(|&x| x != 1.0) {
        let bit = g.ty(v).elem == Elem::Bit;
        let elem = if bit { Elem::Bit } else { Elem::Int };
        let sign = g.add_table(vec![count, 1], s.sign, elem, site);
        v = g.add(if bit { Op::And } else { Op::Mul }, &[v, sign], site);
    }
    Some(g.add(Op::Reshape(shape), &[v], site))
}

/// Some entries of a matrix product, as [n, 1].
fn dots(g: &mut Graph, numbers: &mut ValueNumbers, id: NodeId, which: &[u32], site: u32) -> NodeId {
    let shape = g.shape(id).to_vec();
    let args = g.args(id).to_vec();
    let n = which.len() as u64;
    if shape[1] == 1 && shape[2] == 1 {
        let k = g.shape(args[0])[2];
        let mut vectors = |g: &mut Graph, a: NodeId| {
            // One vector for all stays one.
            let one = [0];
            let which = if g.shape(a)[0] == 1 { &one[..] } else { which };
            let count = which.len() as u64;
            let v = rows(g, numbers, a, k, which, site);
            let v = g.add_broadcast(v, &[count, k], site);
            g.add(Op::Reshape(vec![count, 1, k]), &[v], site)
        };
        let left = vectors(g, args[0]);
        let right = if args[1] == args[0] { left } else { vectors(g, args[1]) };
        let dot = g.add(Op::MatMul { trans_b: true }, &[left, right], site);
        return g.add(Op::Reshape(vec![n, 1]), &[dot], site);
    }
    let flat = g.add(Op::Reshape(vec![g.elements(id)]), &[id], site);
    let some = picked(g, flat, which.iter().copied().map(f64::from).collect(), site);
    g.add(Op::Reshape(vec![n, 1]), &[some], site)
}

/// Some blocks of a node, as [n, block]; local operations on the way are done on these only.
fn rows(
    g: &mut Graph,
    numbers: &mut ValueNumbers,
    id: NodeId,
    block: u64,
    which: &[u32],
    site: u32,
) -> NodeId {
    let op = g.op(id).clone();
    let shape = g.shape(id).to_vec();
    if let Op::Const(t, elem, _) = &op
        && let Some(x) = t.as_splat()
    {
        return g.add_table(vec![1, 1], vec![x], *elem, site);
    }
    if op.is_layout()
        && let Some(from) = sources(g, id, block)
    {
        let which: Vec<u32> = which.iter().map(|&i| from[i as usize]).collect();
        let x = g.arg(id, 0);
        return rows(g, numbers, x, block, &which, site);
    }
    if let Some((x, from)) = behind_mask(g, id, block, which) {
        return rows(g, numbers, x, block, &from, site);
    }
    let args = g.args(id).to_vec();
    if op.is_pointwise() && !interactive(g, &op, &args) && !numbers.distinct(g, id) {
        let operands: Option<Vec<(u64, Vec<u32>)>> =
            args.iter().map(|&a| operand_blocks(g.shape(a), &shape, block)).collect();
        if let Some(operands) = operands {
            let made: Vec<NodeId> = args
                .iter()
                .zip(operands)
                .map(|(&a, (own, from))| {
                    let which: Vec<u32> = which.iter().map(|&i| from[i as usize]).collect();
                    rows(g, numbers, a, own, &which, site)
                })
                .collect();
            let made = g.add(op, &made, site);
            return g.add_broadcast(made, &[which.len() as u64, block], site);
        }
    }
    let n = g.elements(id) / block;
    let flat = [n, block];
    let x = if shape == flat { id } else { g.add(Op::Reshape(flat.to_vec()), &[id], site) };
    if which.iter().copied().eq(0..n as u32) {
        return x;
    }
    picked(g, x, which.iter().copied().map(f64::from).collect(), site)
}

/// Some entries of the first axis.
fn picked(g: &mut Graph, x: NodeId, which: Vec<f64>, site: u32) -> NodeId {
    let index = g.add_table(vec![which.len() as u64], which, Elem::Int, site);
    g.add(Op::Gather { axis: 0, batch: 0 }, &[x, index], site)
}

/// What is behind a product with a table, if the table is 1 at all of some blocks.
fn behind_mask(g: &Graph, id: NodeId, block: u64, which: &[u32]) -> Option<(NodeId, Vec<u32>)> {
    if !matches!(g.op(id), Op::Mul | Op::And) {
        return None;
    }
    let (a, b) = (g.arg(id, 0), g.arg(id, 1));
    let (x, mask) = match (g.op(a), g.op(b)) {
        (_, Op::Const(t, ..)) => (a, t),
        (Op::Const(t, ..), _) => (b, t),
        _ => return None,
    };
    // The product of a number with an integer table has the number's type.
    if g.ty(x).elem != g.ty(id).elem {
        return None;
    }
    let (own, at) = operand_blocks(&mask.shape, g.shape(id), block)?;
    let (all, from) = operand_blocks(g.shape(x), g.shape(id), block)?;
    if own != 1 || all != block || which.iter().any(|&i| mask.at(at[i as usize] as usize) != 1.0) {
        return None;
    }
    Some((x, which.iter().map(|&i| from[i as usize]).collect()))
}

/// Whether a product with a table may be behind a layout operation: seen without looking at entries.
fn below_mask(g: &Graph, id: NodeId) -> bool {
    let at = behind(g, id, Op::is_layout);
    let table = |x: NodeId| matches!(g.op(x), Op::Const(..));
    matches!(g.op(at), Op::Mul | Op::And) && g.args(at).iter().copied().any(table)
}

/// A layout operation that takes only entries that a mask below it leaves as they are: the mask is
/// not needed, and one table does.
fn unmasked(g: &mut Graph, op: &Op, args: &[NodeId], site: u32) -> Option<NodeId> {
    let id = g.add(op.clone(), args, site);
    let n = g.elements(id);
    if n > LIMIT || !below_mask(g, id) {
        return Some(id);
    }
    let mut which: Vec<u32> = (0..n as u32).collect();
    let (mut at, mut masks) = (id, 0);
    loop {
        if g.op(at).is_layout()
            && let Some(from) = sources(g, at, 1)
        {
            which.iter_mut().for_each(|i| *i = from[*i as usize]);
            at = g.arg(at, 0);
        } else if let Some((x, from)) = behind_mask(g, at, 1, &which) {
            (at, which, masks) = (x, from, masks + 1);
        } else {
            break;
        }
    }
    if masks == 0 {
        return Some(id);
    }
    let shape = g.shape(id).to_vec();
    let flat = g.add(Op::Reshape(vec![g.elements(at)]), &[at], site);
    let v = picked(g, flat, which.into_iter().map(f64::from).collect(), site);
    Some(g.add(Op::Reshape(shape), &[v], site))
}
