//! Largest and smallest entries, absolute values, choices between bits: comparisons and selections.
//!
//! Before: any graph without scales. After: no [`Op::Max`], [`Op::Min`], [`Op::MaxPool`],
//! [`Op::ArgMax`], [`Op::Abs`], [`Op::OneHot`], and no [`Op::Select`] between bits.
//!
//! Among few entries all pairs are compared at one depth: an entry wins if all its comparisons do, of
//! equal ones the first. Otherwise in rounds of neighbours, so that the first of equals still wins.
//!
//! ```text
//! %2 = max %1 axis=1      (n = 3)
//!   ->   %3 = gather %1 [0, 0, 1] ; %4 = gather %1 [1, 2, 2] ; %5 = lt %3 %4
//!        %6 = gather %5 [0, 1, 0, 2, 1, 2] ; %7 = xor %6 [1, 1, 0, 1, 0, 0] ; %8 = and of pairs
//!        %9 = to_int %8 ; %10 = mul %9 %1 ; %2 = sum %10 axes=[1]
//! ```

use super::super::promise::{Kept, none};
use super::{all, axis_last, part, with_last};
use crate::graph::{Graph, NodeId, Op};
use slvr_language::types::Elem;

/// Of more entries than this the largest is found in rounds.
const FEW: u64 = 16;
/// And if all pairs were more comparisons than this: then bytes matter more than rounds.
const COMPARISONS: u64 = 1 << 14;

pub(crate) fn run(graph: &Graph) -> Graph {
    graph.rewrite(|new, id, args| {
        let node = graph.node(id);
        let site = node.site;
        match node.op {
            Op::Max(axis) => {
                let x = axis_last(new, args[0], axis, site);
                largest(new, x, site)
            }
            Op::Min(axis) => {
                let x = axis_last(new, args[0], axis, site);
                let x = new.add(Op::Neg, &[x], site);
                let m = largest(new, x, site);
                new.add(Op::Neg, &[m], site)
            }
            Op::MaxPool { k, stride } => {
                let windows = windows(new, args[0], k, stride, site);
                largest(new, windows, site)
            }
            Op::ArgMax => arg_max(new, args[0], site),
            Op::Abs => {
                let x = args[0];
                let zero = new.add_number(new.shape(x).len(), 0.0, new.ty(x).elem, site);
                let negative = new.add(Op::Lt, &[x, zero], site);
                let minus = new.add(Op::Neg, &[x], site);
                new.add(Op::Select, &[negative, minus, x], site)
            }
            Op::Select if new.ty(args[1]).elem == Elem::Bit => {
                let differ = new.add(Op::Xor, &[args[1], args[2]], site);
                let chosen = new.add(Op::And, &[args[0], differ], site);
                new.add(Op::Xor, &[args[2], chosen], site)
            }
            Op::OneHot(classes) => {
                let mut shape = new.shape(args[0]).to_vec();
                let rank = shape.len();
                shape.push(1);
                let x = new.add_reshape(args[0], shape, site);
                let mut shape = vec![1; rank];
                shape.push(classes);
                let data = (0..classes).map(|c| c as f64).collect();
                let classes = new.add_table(shape, data, Elem::Int, site);
                let equal = new.add(Op::Eq, &[x, classes], site);
                new.add(Op::ToInt, &[equal], site)
            }
            _ => new.keep(graph, id, args),
        }
    })
}

pub(crate) fn after(g: &Graph) -> Kept {
    none(g, "is not spelled out", |id| match g.op(id) {
        Op::Max(_) | Op::Min(_) | Op::MaxPool { .. } | Op::ArgMax | Op::Abs | Op::OneHot(_) => true,
        Op::Select => g.ty(id).elem == Elem::Bit,
        _ => false,
    })
}

/// Whether all pairs of n entries are compared.
fn at_once(g: &Graph, x: NodeId, n: u64) -> bool {
    // Of two, one comparison chooses either way, and a selection is cheaper.
    let comparisons = g.elements(x) / n.max(1) * (n * n.saturating_sub(1) / 2);
    n > 2 && n <= FEW && comparisons <= COMPARISONS
}

/// For each entry along the last axis whether it is the first largest: exactly one 1.
fn winners(g: &mut Graph, x: NodeId, site: u32) -> NodeId {
    let shape = g.shape(x).to_vec();
    let axis = shape.len() - 1;
    let n = shape[axis];
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let mut pair = vec![vec![0.0; n as usize]; n as usize];
    for i in 0..n {
        for j in i + 1..n {
            let k = left.len() as f64;
            (pair[i as usize][j as usize], pair[j as usize][i as usize]) = (k, k);
            left.push(i as f64);
            right.push(j as f64);
        }
    }
    let pairs = left.len() as u64;
    let gather = Op::Gather { axis: axis as u64, batch: 0 };
    let left = g.add_table(vec![pairs], left, Elem::Int, site);
    let right = g.add_table(vec![pairs], right, Elem::Int, site);
    let left = g.add(gather.clone(), &[x, left], site);
    let right = g.add(gather.clone(), &[x, right], site);
    // The earlier of the two is smaller.
    let less = g.add(Op::Lt, &[left, right], site);

    // Entry (i, o): how i compares with its o-th other. The earlier one wins if it is not smaller.
    let (mut index, mut flip) = (Vec::new(), Vec::new());
    for i in 0..n {
        for o in (0..n).filter(|&o| o != i) {
            index.push(pair[i as usize][o as usize]);
            flip.push(f64::from(o > i));
        }
    }
    let index = g.add_table(vec![n, n - 1], index, Elem::Int, site);
    let mut side = vec![1; axis];
    side.extend([n, n - 1]);
    let flip = g.add_table(side, flip, Elem::Bit, site);
    let wins = g.add(gather, &[less, index], site);
    let wins = g.add(Op::Xor, &[wins, flip], site);
    all(g, wins, site)
}

/// Sum of factors times what a one-hot vector of bits marks.
fn marked(g: &mut Graph, bits: NodeId, values: NodeId, site: u32) -> NodeId {
    let axis = g.shape(bits).len() as u64 - 1;
    let bits = g.add(Op::ToInt, &[bits], site);
    let product = g.add(Op::Mul, &[bits, values], site);
    g.add(Op::Sum(vec![axis]), &[product], site)
}

/// The largest along the last axis, which disappears.
fn largest(g: &mut Graph, mut x: NodeId, site: u32) -> NodeId {
    loop {
        let shape = g.shape(x).to_vec();
        let rank = shape.len();
        let n = shape[rank - 1];
        if n <= 1 {
            return g.add_reshape(x, shape[..rank - 1].to_vec(), site);
        }
        if at_once(g, x, n) {
            let bits = winners(g, x, site);
            return marked(g, bits, x, site);
        }
        let (a, b) = (part(g, x, 0, n / 2, 2, site), part(g, x, 1, n / 2, 2, site));
        let less = g.add(Op::Lt, &[a, b], site);
        let larger = g.add(Op::Select, &[less, b, a], site);
        x = with_last(g, larger, x, n, site);
    }
}

/// The index of the first largest along the last axis, which disappears.
fn arg_max(g: &mut Graph, mut x: NodeId, site: u32) -> NodeId {
    let rank = g.shape(x).len();
    let mut n = g.shape(x)[rank - 1];
    let mut side = vec![1; rank - 1];
    side.push(n);
    let mut index = g.add_table(side, (0..n).map(|i| i as f64).collect(), Elem::Int, site);
    if n == 1 {
        // No comparison says which: 0, as secret as x is.
        let none = g.add(Op::Lt, &[x, x], site);
        index = g.add(Op::ToInt, &[none], site);
    }
    while n > 1 {
        if at_once(g, x, n) {
            let bits = winners(g, x, site);
            return marked(g, bits, index, site);
        }
        let (a, b) = (part(g, x, 0, n / 2, 2, site), part(g, x, 1, n / 2, 2, site));
        let (i, j) = (part(g, index, 0, n / 2, 2, site), part(g, index, 1, n / 2, 2, site));
        let less = g.add(Op::Lt, &[a, b], site);
        let larger = g.add(Op::Select, &[less, b, a], site);
        let chosen = g.add(Op::Select, &[less, j, i], site);
        let last = part(g, index, n - 1, 1, 1, site);
        index = if n.is_multiple_of(2) {
            chosen
        } else {
            // A table has no batch axes yet.
            let mut to = g.shape(chosen).to_vec();
            to[rank - 1] = 1;
            let last = g.add_broadcast(last, &to, site);
            g.add(Op::Concat(rank as u64 - 1), &[chosen, last], site)
        };
        x = with_last(g, larger, x, n, site);
        n = n.div_ceil(2);
    }
    let to = g.shape(x)[..rank - 1].to_vec();
    g.add_reshape(index, to, site)
}

/// The entries of every k x k window, along a new last axis.
fn windows(g: &mut Graph, x: NodeId, k: u64, stride: u64, site: u32) -> NodeId {
    let shape = g.shape(x).to_vec();
    let rank = shape.len();
    let (rows, cols) = (rank - 2, rank - 1);
    let side = |n: u64| (n - k) / stride + 1;
    let (h, w) = (side(shape[rows]), side(shape[cols]));
    let mut entries = Vec::new();
    for at in 0..k * k {
        let down = Op::Slice { axis: rows as u64, start: at / k, len: h, step: stride };
        let across = Op::Slice { axis: cols as u64, start: at % k, len: w, step: stride };
        let y = g.add(down, &[x], site);
        let y = g.add(across, &[y], site);
        let mut to = g.shape(y).to_vec();
        to.push(1);
        entries.push(g.add(Op::Reshape(to), &[y], site));
    }
    match entries[..] {
        [one] => one,
        _ => g.add(Op::Concat(rank as u64), &entries, site),
    }
}
