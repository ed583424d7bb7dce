//! Distances of all pairs of many members, each pair once, with the tables that say which goes where told by rules.
//!
//! Before: any graph without scales, sums of products contracted. After: an inner product with itself of the
//! difference of each of many members and each of its others ([`PairTable::Other`]) is computed for each pair.
//! Of few members [`super::redundancy`] does it, entry by entry.
//!
//! ```text
//! %3 = sub %1 %2 : [n, n, d]   (%1 : [n, 1, d], %2 : [1, n, d] reshapes of %0) ; %5 = matmul %4 %4
//! %7 = gather %6 (others) : [n, n - 1]   (%4, %6 reshapes)
//!   ->   %8 = gather %0 (later) ; %9 = gather %0 (earlier) ; %10 = sub %8 %9 ; %12 = matmul %11 %11
//!        %7 = gather %13 (number)
//! ```

use super::cse::dead_code;
use crate::analysis::behind::unshaped;
use crate::graph::{Graph, NodeId, Op};
use slvr_language::types::PairTable;

pub(super) fn run(graph: &Graph) -> Graph {
    let ruled = |id| matches!(graph.op(id), Op::Pairs { table: PairTable::Other, .. });
    if !graph.ids().any(ruled) {
        return graph.clone();
    }
    let new = graph.rewrite(|new, id, args| {
        let kept = new.keep(graph, id, args);
        let site = graph.node(id).site;
        let found = match graph.op(id) {
            Op::Gather { axis: 1, batch: 1 } if only_others(graph, graph.arg(id, 0)) => {
                full(new, kept).map(|(x, n)| distances(new, x, n, site))
            }
            Op::MatMul { trans_b: true } => {
                let found = others(new, kept);
                found.map(|(x, n)| {
                    let all = distances(new, x, n, site);
                    let shape = new.shape(kept).to_vec();
                    new.add(Op::Reshape(shape), &[all], site)
                })
            }
            _ => None,
        };
        found.unwrap_or(kept)
    });
    dead_code(&new)
}

/// The members of a table of their others.
fn of_others(g: &Graph, index: NodeId) -> Option<u64> {
    match g.op(index) {
        Op::Pairs { table: PairTable::Other, n } => Some(*n),
        _ => None,
    }
}

/// Whether a value of all pairs is only read without those of a member and itself.
fn only_others(g: &Graph, id: NodeId) -> bool {
    let mut at = id;
    loop {
        let gather = |&u: &NodeId| {
            *g.op(u) == Op::Gather { axis: 1, batch: 1 } && of_others(g, g.arg(u, 1)).is_some()
        };
        let fits = match at == id {
            true => g.users(at).iter().all(gather) && !g.is_output(at),
            false => g.only_user(at).is_some(),
        };
        if !fits {
            return false;
        }
        if !matches!(g.op(at), Op::Reshape(_)) {
            return true;
        }
        at = g.arg(at, 0);
    }
}

/// The difference whose inner product with itself a value is, row by row.
fn squared(g: &Graph, product: NodeId) -> Option<(NodeId, NodeId)> {
    let (Op::MatMul { trans_b: true }, shape) = (g.op(product), g.shape(product)) else {
        return None;
    };
    let sides = [g.arg(product, 0), g.arg(product, 1)].map(|s| unshaped(g, s));
    let alone = shape[1..] == [1, 1] && g.shape(g.arg(product, 0))[0] == shape[0];
    let same = sides[0] == sides[1] && *g.op(sides[0]) == Op::Sub;
    (alone && same).then(|| (g.arg(sides[0], 0), g.arg(sides[0], 1)))
}

/// A gather of others from squared distances of all members: the members' vectors, and how many they are.
fn full(g: &Graph, gather: NodeId) -> Option<(NodeId, u64)> {
    let n = of_others(g, g.arg(gather, 1))?;
    let of = g.arg(gather, 0);
    let product = unshaped(g, of);
    let (a, b) = squared(g, product)?;
    let (x, y) = (unshaped(g, a), unshaped(g, b));
    let sides = g.shape(a).starts_with(&[n, 1]) && g.shape(b).starts_with(&[1, n]);
    let square = g.shape(of) == [n, n] && g.shape(product)[0] == n * n;
    (sides && square && x == y && g.shape(x).first() == Some(&n)).then_some((x, n))
}

/// Squared distances of each member and its others: the same.
fn others(g: &Graph, product: NodeId) -> Option<(NodeId, u64)> {
    let (a, b) = squared(g, product)?;
    let (own, all) = match (g.op(unshaped(g, a)), g.op(unshaped(g, b))) {
        (_, Op::Gather { axis: 0, batch: 0 }) => (a, unshaped(g, b)),
        (Op::Gather { axis: 0, batch: 0 }, _) => (b, unshaped(g, a)),
        _ => return None,
    };
    let n = of_others(g, g.arg(all, 1))?;
    let (x, y) = (unshaped(g, own), unshaped(g, g.arg(all, 0)));
    let rows = g.shape(own).starts_with(&[n, 1]) && g.shape(product)[0] == n * (n - 1);
    (rows && x == y && g.shape(x).first() == Some(&n)).then_some((x, n))
}

/// Of each of n members and each of its others the squared distance: `[n, n - 1]`.
fn distances(g: &mut Graph, x: NodeId, n: u64, site: u32) -> NodeId {
    let d = g.elements(x) / n;
    let x = g.add(Op::Reshape(vec![n, d]), &[x], site);
    let pick = Op::Gather { axis: 0, batch: 0 };
    let member = |g: &mut Graph, table: PairTable| {
        let index = g.add(Op::Pairs { table, n }, &[], site);
        g.add(pick.clone(), &[x, index], site)
    };
    let (later, earlier) = (member(g, PairTable::Later), member(g, PairTable::Earlier));
    let off = g.add(Op::Sub, &[later, earlier], site);
    let pairs = n * (n - 1) / 2;
    let rows = g.add(Op::Reshape(vec![pairs, 1, d]), &[off], site);
    let product = g.add(Op::MatMul { trans_b: true }, &[rows, rows], site);
    let each = g.add(Op::Reshape(vec![pairs]), &[product], site);
    let number = g.add(Op::Pairs { table: PairTable::Number, n }, &[], site);
    g.add(pick, &[each, number], site)
}
