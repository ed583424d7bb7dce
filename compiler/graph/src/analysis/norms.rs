//! Quotients by norms: what no interval of the divisor says, because it may be 0.
//!
//! x / |u| times an entry of u is no larger than x. It is found by what is computed, through steps that move no entry
//! and change values by powers of two. Cosines need no proof here: a pass has cut them at 1 before scales are known
//! ([`crate::passes`]).

use super::behind::{rescaled, unshaped};
use crate::graph::{Function, Graph, NodeId, Op};

/// Rows of a value: its entries in order, so many at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rows {
    of: NodeId,
    count: u64,
    len: u64,
}

/// A value behind reshapes and scales, and the power of two that it is multiplied by.
fn unscaled(g: &Graph, id: NodeId) -> (NodeId, i64) {
    rescaled(g, id, |op| matches!(op, Op::Reshape(_)))
}

/// The rows that inner products are of, one for each row of the left side: with the rows of the right side in order,
/// or with its only row.
fn inner(g: &Graph, id: NodeId) -> Option<[Rows; 2]> {
    let Op::MatMul { trans_b: true } = g.op(id) else { return None };
    let side = |i: usize| {
        let x = g.arg(id, i);
        let &[batch, rows, len] = g.shape(x) else { return None };
        // Rows of both axes would be combined with one another.
        let count = if batch == 1 || rows == 1 { batch * rows } else { return None };
        Some((Rows { of: unshaped(g, x), count, len }, rows))
    };
    let ((a, _), (b, of_b)) = (side(0)?, side(1)?);
    let paired = b.count == 1 || a.count == b.count && of_b == 1 && g.shape(g.arg(id, 0))[1] == 1;
    (paired && g.elements(id) == a.count).then_some([a, b])
}

/// The rows that a value has the norms of, times a power of two. Nothing was rounded before the root was taken, nor
/// after it.
fn norms(g: &Graph, id: NodeId) -> Option<(Rows, i64)> {
    let (root, outer) = unscaled(g, id);
    let Op::Function(Function::Sqrt) = g.op(root) else { return None };
    let (square, within) = unscaled(g, g.arg(root, 0));
    let [a, b] = inner(g, square)?;
    (a == b && within % 2 == 0).then_some((a, outer + within / 2))
}

/// The dividend of quotients by norms that are multiplied by what the norms are of: `sum(x[i] / norm(u[i]) * u[i])`.
pub struct Normalised {
    /// x, as the quotient takes it.
    pub dividend: NodeId,
    /// The quotient, which may have been truncated since.
    pub quotient: NodeId,
    /// The quotient's divisor is 2^this times the norm.
    pub power: i64,
    /// The root that is computed, and the power of two by which it is more than the norm.
    pub root: NodeId,
    pub root_power: i64,
    /// How many products are summed.
    pub terms: u64,
}

/// Of a product of two nodes, the first of which has the quotients.
pub fn normalised(g: &Graph, op: &Op, [a, u]: [NodeId; 2]) -> Option<Normalised> {
    let Op::MatMul { trans_b: false } = op else { return None };
    let mut quotient = unshaped(g, a);
    if let Op::Trunc(_) = g.op(quotient) {
        quotient = unshaped(g, g.arg(quotient, 0));
    }
    let Op::Div = g.op(quotient) else { return None };
    let (dividend, divisor) = (g.arg(quotient, 0), g.arg(quotient, 1));
    let (rows, power) = norms(g, divisor)?;
    let (&[1, 1, terms], &[1, count, len]) = (g.shape(a), g.shape(u)) else { return None };
    let own = Rows { of: unshaped(g, u), count, len };
    let each = [quotient, divisor].iter().all(|&n| g.elements(n) == count);
    let (root, outer) = unscaled(g, divisor);
    let root_power = power - outer;
    let found = Normalised { dividend, quotient, power, root, root_power, terms };
    (own == rows && each && terms == count).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::text::parse;

    const HEAD: &str = "graph T\nparties Client[3]\nparties Server[1]\nfrac 16\n\
        input 0 u : secret fix[5] in -8..8 from each Client\ninput 1 g : public fix[5] in -8..8\n\
        input 2 v : secret fix[5] in -8..8 from each Client\nsite 0 \"\" line 1\n\
        %0 = input 0 : secret fix.16[3,5] @0\n%1 = input 1 : public fix.16[5] @0\n\
        %2 = input 2 : secret fix.16[3,5] @0\n\
        %3 = reshape %0 : secret fix.16[1,3,5] @0\n%4 = reshape %1 : public fix.16[1,1,5] @0\n\
        %5 = matmul %3 %4 trans_b : secret fix.32[1,3,1] @0\n\
        %6 = reshape %OF : secret fix.16[3,1,5] @0\n\
        %7 = matmul %6 %6 trans_b : secret fix.32[3,1,1] @0\n\
        %8 = reshape %7 : secret fix.32[3] @0\n\
        %9 = mul_pow2 %8 by=16 : secret fix.16[3] @0\n%10 = sqrt %9 : secret fix.16[3] @0\n\
        %11 = div_pow2 %10 by=8 : secret fix.24[3] @0\n";

    fn graph(of: &str, rest: &str) -> Graph {
        parse(&format!("{}{rest}", HEAD.replace("%OF", &format!("%{of}")))).expect("a graph")
    }

    #[test]
    fn a_normalised_vector_is_one_by_its_own_norm() {
        let rest = "%12 = div %11 %11 : secret fix.24[3] @0\n\
            %13 = reshape %12 : secret fix.24[1,1,3] @0\n";
        let found = |of: &str| {
            let g = graph(of, rest);
            let args = [13u32, 3].map(NodeId);
            normalised(&g, &Op::MatMul { trans_b: false }, args).map(|n| (n.power, n.terms))
        };
        assert_eq!(found("0"), Some((0, 3)));
        assert_eq!(found("2"), None, "of another vector");
    }
}
