//! Functions of several numbers in terms of the few operations that protocols compute.
//!
//! Lives here: maxima through increasing functions and largest softmaxes ([`softmax`]), comparisons of quotients and of
//! maxima ([`bounds`]), capped quotients ([`caps`]), extrema ([`extremum`]), whole sorts ([`sorted`]). May not:
//! functions of one number, which lowering approximates (`slvr_backend::lower::common::elementary`,
//! `slvr_backend::lower::t1::exponential`).

pub(super) mod bounds;
pub(super) mod caps;
pub(super) mod extremum;
pub(super) mod softmax;
pub(super) mod sorted;
#[cfg(test)]
mod tests;

use crate::graph::{Graph, NodeId, Op};

/// An axis moved to the end.
fn axis_last(g: &mut Graph, x: NodeId, axis: u64, site: u32) -> NodeId {
    let rank = g.shape(x).len() as u64;
    if axis + 1 == rank {
        return x;
    }
    let mut perm: Vec<u64> = (0..rank).filter(|&d| d != axis).collect();
    perm.push(axis);
    g.add(Op::Transpose(perm), &[x], site)
}

/// Part of the last axis.
fn part(g: &mut Graph, x: NodeId, start: u64, len: u64, step: u64, site: u32) -> NodeId {
    let axis = g.shape(x).len() as u64 - 1;
    if start == 0 && step == 1 && g.shape(x)[axis as usize] == len {
        return x;
    }
    g.add(Op::Slice { axis, start, len, step }, &[x], site)
}

/// And of bits along the last axis, which disappears.
fn all(g: &mut Graph, mut x: NodeId, site: u32) -> NodeId {
    loop {
        let shape = g.shape(x).to_vec();
        let rank = shape.len();
        let n = shape[rank - 1];
        if n <= 1 {
            return g.add_reshape(x, shape[..rank - 1].to_vec(), site);
        }
        let half = n / 2;
        let (low, high) = (part(g, x, 0, half, 1, site), part(g, x, half, half, 1, site));
        let both = g.add(Op::And, &[low, high], site);
        x = with_last(g, both, x, n, site);
    }
}

/// The last of an odd number of entries goes on as it is.
fn with_last(g: &mut Graph, done: NodeId, x: NodeId, n: u64, site: u32) -> NodeId {
    if n.is_multiple_of(2) {
        return done;
    }
    let last = part(g, x, n - 1, 1, 1, site);
    let axis = g.shape(x).len() as u64 - 1;
    g.add(Op::Concat(axis), &[done, last], site)
}
