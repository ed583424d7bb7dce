//! Dividends that are 0 wherever their divisor is: sums of what is kept, divided by how much is kept.
//!
//! If y adds up numbers that are not negative, y = 0 means that all of them are 0, in real numbers and, because sums
//! are exact and no rounding changes a sign, in a circuit. If x is made of them by operations that make 0 of 0, x is
//! exactly 0 then, too, and x / y is 0 / 0 = 0: there is no x / 0 of another sign. Such operations are products and sums,
//! moves, choices among such values, and quotients: the quotient of 0 by anything is exactly 0, by every protocol
//! (`slvr_backend::lower`).

use super::behind::{behind, keeps_entries, unshifted};
use super::signs::not_negative;
use crate::graph::{Class, Graph, NodeId, Op};

/// Nodes that are looked at for one dividend. An operand that is read twice is looked at twice, so the walk is bounded
/// by their number and not by the graph's depth; a mean of what is kept takes about ten.
const STEPS: usize = 64;

/// Whether a dividend is exactly 0 wherever its divisor is.
pub fn vanishes(graph: &Graph, dividend: NodeId, divisor: NodeId) -> bool {
    let Some((sum, _)) = total(graph, divisor) else { return false };
    let parts = graph.arg(sum, 0);
    if not_negative(graph, parts) && is_share(graph, dividend, divisor) {
        return true;
    }
    // One sum of all of them, from which no part is taken.
    let all = behind(graph, parts, keeps_entries);
    let mut steps = STEPS;
    graph.elements(sum) == 1 && not_negative(graph, all) && zero(graph, dividend, all, &mut steps)
}

/// The sum that a divisor is, and its axes.
fn total(g: &Graph, divisor: NodeId) -> Option<(NodeId, &[u64])> {
    let sum = unshifted(g, divisor);
    let Op::Sum(axes) = g.op(sum) else { return None };
    Some((sum, axes))
}

/// Whether the dividend's entries are those that are added up for the divisor that each meets.
pub(in crate::analysis) fn is_share(g: &Graph, x: NodeId, divisor: NodeId) -> bool {
    let Some((sum, axes)) = total(g, divisor) else { return false };
    // Shapes are compared below.
    let in_shape = |id: NodeId| behind(g, id, |op| matches!(op, Op::Shift(_)));
    let mut kept = g.shape(x).to_vec();
    for &axis in axes {
        if let Some(size) = kept.get_mut(axis as usize) {
            *size = 1;
        }
    }
    in_shape(x) == in_shape(g.arg(sum, 0)) && kept == g.shape(divisor)
}

/// Whether x is exactly 0 where all of `parts` is.
fn zero(g: &Graph, x: NodeId, parts: NodeId, steps: &mut usize) -> bool {
    if x == parts {
        return true;
    }
    // Operands come before their users.
    if x < parts || *steps == 0 {
        return false;
    }
    *steps -= 1;
    let args = g.args(x);
    let mut of = |i: usize| zero(g, args[i], parts, steps);
    match g.op(x) {
        Op::Mul | Op::MatMul { .. } | Op::Conv2d { .. } => of(0) || of(1),
        Op::Add | Op::Sub => of(0) && of(1),
        Op::Select => of(1) && of(2),
        Op::Concat(_) => (0..args.len()).all(of),
        Op::Div | Op::Neg | Op::Scale(_) | Op::Sum(_) => of(0),
        Op::Gate | Op::Relu | Op::Abs | Op::Saturate(_) => of(0),
        op if matches!(op.class(), Class::Rescale | Class::Layout) => of(0),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a graph of two bits for three clients, their values and their counts; the last node is the quotient.
    fn of(body: &str) -> bool {
        let text = format!(
            "graph T\nparties Client[3]\nparties Server[1]\nfrac 16\n\
             input 0 b : secret bit in 0..1 from each Client\n\
             input 1 x : secret fix[4] in -8..8 from each Client\nsite 0 \"x\" line 1\n\
             %0 = input 0 : secret bit[3] @0\n%1 = input 1 : secret fix.16[3,4] @0\n\
             %2 = to_int %0 : secret int.0[3] @0\n{body}"
        );
        let graph = crate::graph::text::parse(&text).expect("a graph");
        let quotient = graph.outputs[0].node;
        vanishes(&graph, graph.arg(quotient, 0), graph.arg(quotient, 1))
    }

    #[test]
    fn means_of_what_is_kept() {
        let masked = "%3 = reshape %2 : secret int.0[1,1,3] @0\n\
                      %4 = reshape %1 : secret fix.16[1,3,4] @0\n\
                      %5 = matmul %3 %4 : secret fix.16[1,1,4] @0\n\
                      %6 = reshape %5 : secret fix.16[4] @0\n";
        let end = "%9 = div %6 %8 : secret fix.16[4] @0\nreveal %9 to Server as y @0\n";
        let count =
            "%7 = sum %2 axes=[0] : secret int.0 @0\n%8 = reshape %7 : secret int.0[1] @0\n";
        assert!(of(&format!("{masked}{count}{end}")));
        // The count of two of three.
        let part = "%7 = slice %2 axis=0 start=0 len=2 : secret int.0[2] @0\n\
                    %8 = sum %7 axes=[0] : secret int.0 @0\n\
                    %9 = reshape %8 : secret int.0[1] @0\n\
                    %10 = div %6 %9 : secret fix.16[4] @0\nreveal %10 to Server as y @0\n";
        assert!(!of(&format!("{masked}{part}")));
        // Weights of either sign may add up to 0.
        let signed = "%3 = slice %1 axis=1 start=0 len=1 : secret fix.16[3,1] @0\n\
                      %4 = mul %3 %1 : secret fix.32[3,4] @0\n%5 = sum %4 axes=[0] : secret fix.32[4] @0\n\
                      %6 = sum %3 axes=[0,1] : secret fix.16 @0\n%7 = reshape %6 : secret fix.16[1] @0\n\
                      %8 = div %5 %7 : secret fix.32[4] @0\nreveal %8 to Server as y @0\n";
        assert!(!of(signed));
    }

    #[test]
    fn shares_of_rows() {
        let body = |axis: u32| {
            let kept = if axis == 1 { "3,1" } else { "1,4" };
            let sum = if axis == 1 { "3" } else { "4" };
            format!(
                "%3 = abs %1 : secret fix.16[3,4] @0\n%4 = sum %3 axes=[{axis}] : secret fix.16[{sum}] @0\n\
                 %5 = reshape %4 : secret fix.16[{kept}] @0\n%6 = div %3 %5 : secret fix.16[3,4] @0\n\
                 reveal %6 to Server as y @0\n"
            )
        };
        assert!(of(&body(0)) && of(&body(1)));
        // What is not negative, divided by the sum of something else.
        let other = body(1).replace("div %3", "div %1");
        assert!(!of(&other));
    }
}
