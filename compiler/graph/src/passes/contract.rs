//! Sums of products become matrix products: one reshare per entry of the result, whatever the
//! length of the sum, and the products are never materialised.
//!
//! Before: any graph without scales. After: no [`Op::Sum`] reads an [`Op::Mul`] of two secrets (or
//! of a secret and a public input) that nothing else reads, but for factors that are summed before
//! their product.
//!
//! ```text
//! %3 = mul %1 %2 : [10, 61706]   (%1 : [10, 1], %2 : [10, 61706])
//! %4 = sum %3 axes=[0]
//!   ->   %4 = matmul %1' %2'     ([1, 1, 10] * [1, 10, 61706])
//! ```

use super::promise::{Kept, none};
use crate::graph::ranks::is_table;
use crate::graph::{Graph, NodeId, Op};

pub(super) fn run(graph: &Graph) -> Graph {
    graph.replace(|new, id, args| match graph.op(id) {
        Op::Sum(axes) if is_lone_product(graph, graph.arg(id, 0)) && has_factors(new, args[0]) => {
            let [a, b] = [0, 1].map(|i| new.arg(args[0], i));
            Some(contract(new, a, b, axes, graph.node(id).site))
        }
        _ => None,
    })
}

/// Whether one sum alone may read a product.
fn is_lone_product(g: &Graph, id: NodeId) -> bool {
    *g.op(id) == Op::Mul && g.only_user(id).is_some()
}

/// Whether a value is a product in which no factor is a table.
fn has_factors(g: &Graph, id: NodeId) -> bool {
    *g.op(id) == Op::Mul && !g.args(id).iter().any(|&factor| is_table(g, factor))
}

/// What holds after it. A factor that is summed before its product is left as it is.
pub(super) fn after(g: &Graph) -> Kept {
    let before_a_product = |sum: NodeId, mul: NodeId| {
        let restores =
            |&u: &NodeId| matches!(g.op(u), Op::Reshape(to) if to.len() == g.shape(mul).len());
        g.users(sum).iter().all(restores)
    };
    none(g, "a sum of products that nothing else reads", |id| {
        let Op::Sum(_) = g.op(id) else { return false };
        let mul = g.arg(id, 0);
        is_lone_product(g, mul) && has_factors(g, mul) && !before_a_product(id, mul)
    })
}

/// What an axis of the product is for.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    Batch,
    Left,
    Right,
    Inner,
}

fn contract(g: &mut Graph, a: NodeId, b: NodeId, axes: &[u64], site: u32) -> NodeId {
    // A repeated operand of an aligned product need not be repeated, unless the other one, as it is then, is too short
    // as well.
    let a = narrow(g, a, b);
    let b = narrow(g, b, a);
    let out = crate::graph::infer::align(g.shape(a), g.shape(b)).unwrap_or_default();

    // An axis that is summed and that only one factor has is summed there, before the product.
    let alone = |g: &Graph, x: NodeId, y: NodeId| -> Vec<u64> {
        let lone = |&&d: &&u64| g.shape(x)[d as usize] != 1 && g.shape(y)[d as usize] == 1;
        axes.iter().filter(lone).copied().collect()
    };
    let (la, lb) = (alone(g, a, b), alone(g, b, a));
    let a = presum(g, a, &la, site);
    let b = presum(g, b, &lb, site);

    let mut roles = Vec::new();
    for d in 0..out.len() {
        let summed = axes.contains(&(d as u64));
        let role = match (g.shape(a)[d] != 1, g.shape(b)[d] != 1) {
            (true, true) if summed => Role::Inner,
            (true, true) => Role::Batch,
            (true, false) => Role::Left,
            (false, true) => Role::Right,
            (false, false) => continue,
        };
        roles.push((d as u64, role));
    }
    let of = |role: Role| -> Vec<u64> {
        roles.iter().filter(|(_, r)| *r == role).map(|(d, _)| *d).collect()
    };
    let (batch, left, right, inner) =
        (of(Role::Batch), of(Role::Left), of(Role::Right), of(Role::Inner));
    // Whichever of [B, K, N] and [B, N, K] is b's own order needs no copy.
    let trans_b = match (right.first(), inner.first()) {
        (Some(r), Some(k)) => r < k,
        _ => true,
    };
    let a = arrange(g, a, [&batch, &left, &inner], site);
    let b = if trans_b {
        arrange(g, b, [&batch, &right, &inner], site)
    } else {
        arrange(g, b, [&batch, &inner, &right], site)
    };
    let product = g.add(Op::MatMul { trans_b }, &[a, b], site);

    // Back to the order of the axes that are left.
    let have: Vec<u64> = [batch, left, right].concat();
    let shape: Vec<u64> = have.iter().map(|&d| out[d as usize]).collect();
    let spread = g.add_reshape(product, shape, site);
    let mut want = have.clone();
    want.sort_unstable();
    let place = |d: &u64| have.iter().position(|x| x == d).unwrap_or(0) as u64;
    let perm: Vec<u64> = want.iter().map(place).collect();
    let sorted = if perm.iter().copied().eq(0..perm.len() as u64) {
        spread
    } else {
        g.add(Op::Transpose(perm), &[spread], site)
    };
    let keep = |d: &usize| !axes.contains(&(*d as u64));
    let to = (0..out.len()).filter(keep).map(|d| out[d]).collect();
    g.add_reshape(sorted, to, site)
}

fn narrow(g: &Graph, x: NodeId, other: NodeId) -> NodeId {
    let Op::Broadcast(to) = g.op(x) else { return x };
    let from = g.arg(x, 0);
    let still = crate::graph::infer::align(g.shape(from), g.shape(other));
    let full = crate::graph::infer::align(to, g.shape(other));
    if still.is_ok() && still == full { from } else { x }
}

fn presum(g: &mut Graph, x: NodeId, axes: &[u64], site: u32) -> NodeId {
    if axes.is_empty() {
        return x;
    }
    let mut shape = g.shape(x).to_vec();
    for &d in axes {
        shape[d as usize] = 1;
    }
    let sum = g.add(Op::Sum(axes.to_vec()), &[x], site);
    g.add_reshape(sum, shape, site)
}

/// A factor as rank 3: the axes of each group merged, in order.
fn arrange(g: &mut Graph, x: NodeId, groups: [&Vec<u64>; 3], site: u32) -> NodeId {
    let shape = g.shape(x).to_vec();
    let mut perm: Vec<u64> = groups.iter().flat_map(|v| v.iter().copied()).collect();
    let ones: Vec<u64> = (0..shape.len() as u64).filter(|d| !perm.contains(d)).collect();
    perm.extend(ones);
    let x = if moves(&perm, &shape) { g.add(Op::Transpose(perm), &[x], site) } else { x };
    let size = |v: &Vec<u64>| v.iter().map(|&d| shape[d as usize]).product();
    let to = groups.iter().map(|v| size(v)).collect();
    g.add_reshape(x, to, site)
}

/// Whether a permutation moves any axis that is not of size 1.
fn moves(perm: &[u64], shape: &[u64]) -> bool {
    let real: Vec<u64> = perm.iter().copied().filter(|&d| shape[d as usize] != 1).collect();
    real.windows(2).any(|w| w[0] > w[1])
}
