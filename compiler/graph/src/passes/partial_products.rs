//! Long inner products in parts, each truncated before they are added up.
//!
//! The squared norm of millions of weights takes more than 64 bits at full precision, and would take
//! every weight to a ring of 128. Truncation keeps its sum small; so an inner product that is
//! truncated and does not fit is made of parts that do: sum_p trunc(part_p) in place of trunc(sum_p
//! part_p). The error grows from one unit to one unit for each part. Done only where the results are
//! few beside the operands, so that more truncations cost nothing.

use super::dead_code;
use crate::analysis::interval::size;
use crate::analysis::ranges::Ranges;
use crate::graph::{Graph, NodeId, Op};

/// Bits of the ring that parts have to fit.
const RING: u32 = 64;
/// More parts than this are not made.
const PARTS: u64 = 64;
/// Operands have at least this many elements for each truncation.
const OPERANDS: u64 = 48;

/// The graph with long inner products in parts that fit 64 bits; `None` if there is none.
pub fn run(graph: &Graph, ranges: &Ranges) -> Option<Graph> {
    let parts: Vec<Option<u64>> = graph.ids().map(|id| terms(graph, ranges, id)).collect();
    if parts.iter().all(Option::is_none) {
        return None;
    }
    let summed = graph.replace(|new, id, args| {
        let (Some(most), Op::Trunc(by)) = (parts[id.index()], graph.op(id)) else {
            return None;
        };
        let product = new.op(args[0]).clone();
        let factors = new.args(args[0]).to_vec();
        let all = new.shape(factors[0])[2];
        let site = graph.node(id).site;
        let mut sum = None;
        for start in (0..all).step_by(most as usize) {
            let mut part = |x: NodeId, axis| {
                let len = most.min(all - start);
                new.add(Op::Slice { axis, start, len, step: 1 }, &[x], site)
            };
            let x = part(factors[0], 2);
            let columns = if product == (Op::MatMul { trans_b: true }) { 2 } else { 1 };
            let y = if factors[0] == factors[1] && columns == 2 {
                x
            } else {
                part(factors[1], columns)
            };
            let product = new.add(product.clone(), &[x, y], site);
            let part = new.add(Op::Trunc(*by), &[product], site);
            sum = Some(match sum {
                Some(sum) => new.add(Op::Add, &[sum, part], site),
                None => part,
            });
        }
        sum.or(Some(args[0]))
    });
    Some(dead_code(&summed))
}

/// How many terms each part of a truncated inner product has, if it is to be made of parts.
fn terms(graph: &Graph, ranges: &Ranges, id: NodeId) -> Option<u64> {
    let Op::Trunc(_) = graph.op(id) else { return None };
    let product = graph.arg(id, 0);
    // The truncation needs two bits more than its operand has.
    let fits = ranges.bits(product) + 2 <= RING;
    let Op::MatMul { .. } = graph.op(product) else { return None };
    if fits || graph.only_user(product).is_none() || ranges.bits(id) + 2 > RING {
        return None;
    }
    let factors = graph.args(product);
    let size = |n: NodeId| size(ranges.raw[n.index()]);
    let most = (f64::from(RING - 3).exp2() / (size(factors[0]) * size(factors[1]))).floor();
    let all = *graph.shape(factors[0]).get(2)?;
    // In equal parts.
    let parts = (most >= 1.0).then(|| all.div_ceil(most as u64))?;
    let operands: u64 = factors.iter().map(|&f| graph.elements(f)).sum();
    let few = parts <= PARTS && parts * graph.elements(id) <= operands / OPERANDS;
    few.then(|| all.div_ceil(parts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::ranges::Bound;
    use crate::analysis::stated::TESTED;
    use crate::graph::text;

    const NORM: &str = "graph T\nparties Client[2]\nparties Server[1]\nfrac 16\n\
        input 0 x : secret fix[1000000] in -8..8 from each Client\nsite 0 \"x\" line 1\n\
        %0 = input 0 : secret fix.16[2,1000000] @0\n\
        %1 = reshape %0 : secret fix.16[2,1,1000000] @0\n\
        %2 = matmul %1 %1 trans_b : secret fix.32[2,1,1] @0\n\
        %3 = trunc %2 by=16 : secret fix.16[2,1,1] @0\n\
        reveal %3 to Server as y @0\n";

    fn at(size: f64) -> (Graph, Option<Graph>, Bound) {
        let graph = text::parse(NORM).expect("a graph");
        let x = Bound { range: (-size, size), norm: f64::INFINITY, total: f64::INFINITY };
        let parts = run(&graph, &Ranges::of(&graph, &[x], &TESTED));
        (graph, parts, x)
    }

    #[test]
    fn parts_fit_a_word_and_stay_squares() {
        // 2^22 squared, a million times: 64 bits and a sign.
        let (graph, parts, x) = at(2f64.powi(22));
        let parts = parts.expect("too long");
        let products =
            |g: &Graph| g.ids().filter(|&n| matches!(g.op(n), Op::MatMul { .. })).count();
        assert_eq!((products(&graph), products(&parts)), (1, 8));
        let ranges = Ranges::of(&parts, &[x], &TESTED);
        for id in parts.ids().filter(|&n| matches!(parts.op(n), Op::Trunc(_))) {
            let (lo, _) = ranges.raw[parts.arg(id, 0).index()];
            assert!(lo == 0.0 && ranges.bits(parts.arg(id, 0)) + 2 <= 64);
        }
        assert!(ranges.bits(parts.outputs[0].node) < 52);
        crate::graph::verify::verify(&parts).expect("well formed");
    }

    #[test]
    fn what_fits_stays_whole_and_what_is_hopeless_too() {
        assert!(at(2f64.powi(20)).1.is_none());
        assert!(at(2f64.powi(40)).1.is_none());
    }
}
