//! Every operation of the table goes through everything that takes a graph.

use super::Op;
use crate::graph::eval::testing::{random_inputs, successors};
use crate::graph::eval::{exact, real};
use crate::graph::{Type, infer, text, verify};
use std::collections::BTreeSet;

/// What the examples read.
const HEAD: &str = "graph T
parties Client[3]
parties Server[1]
frac 8
input 0 x : secret fix[4] in 1..2 from each Client
input 1 b : secret bit[4] in 0..1 from each Client
input 2 n : secret int in 0..3 from each Client
input 3 y : public fix.20[2] in 0..1
site 0 \"\" line 0

%0 = input 0 : secret fix.8[3,4] @0
%1 = input 1 : secret bit[3,4] @0
%2 = input 2 : secret int.0[3] @0
%3 = reshape %0 : secret fix.8[1,3,4] @0
%4 = reshape %0 : secret fix.8[1,1,1,3,4] @0
%5 = const [0, 2] : public int.0[2] @0
%6 = one_hot %2 classes=4 : secret int.0[3,4] @0
";

/// One line for every operation: what stands behind `%7 = `.
const EXAMPLES: &[&str] = &[
    "input 0 : secret fix.8[3,4]",
    "const [1, 0.5] : public fix.8[2]",
    "committee n=3 k=2 : public int.0[3,2]",
    "draw rows=2 n=4 k=3 : public int.0[2,3]",
    "places %5 n=4 : public int.0[4]",
    "pairs_later n=4 : public int.0[6]",
    "pairs_earlier n=4 : public int.0[6]",
    "pairs_number n=4 : public int.0[4,3]",
    "pairs_order n=4 : public int.0[4,3]",
    "pairs_other n=4 : public int.0[4,3]",
    "add %0 %0 : secret fix.8[3,4]",
    "sub %0 %0 : secret fix.8[3,4]",
    "mul %0 %0 : secret fix.16[3,4]",
    "div %0 %0 : secret fix.8[3,4]",
    "neg %0 : secret fix.8[3,4]",
    "scale %0 by=-3 : secret fix.8[3,4]",
    "lt %0 %0 : secret bit[3,4]",
    "eq %0 %0 : secret bit[3,4]",
    "not %1 : secret bit[3,4]",
    "and %1 %1 : secret bit[3,4]",
    "xor %1 %1 : secret bit[3,4]",
    "to_int %1 : secret int.0[3,4]",
    "select %1 %0 %0 : secret fix.8[3,4]",
    "relu %0 : secret fix.8[3,4]",
    "gate %0 %0 : secret fix.8[3,4]",
    "saturate %0 top=3 : secret fix.8[3,4]",
    "abs %0 : secret fix.8[3,4]",
    "exp %0 : secret fix.8[3,4]",
    "exp_non_positive %0 : secret fix.8[3,4]",
    "recip %0 : secret fix.8[3,4]",
    "sqrt %0 : secret fix.8[3,4]",
    "recip_sqrt %0 : secret fix.8[3,4]",
    "tanh %0 : secret fix.8[3,4]",
    "log %0 : secret fix.8[3,4]",
    "sum %0 axes=[0,1] : secret fix.8",
    "max %0 axis=1 : secret fix.8[3]",
    "min %0 axis=0 : secret fix.8[4]",
    "argmax %0 : secret int.0[3]",
    "sort %0 : secret fix.8[3,4]",
    "sort_sum %0 lo=1 hi=3 : secret fix.8[3]",
    "one_hot %2 classes=4 : secret int.0[3,4]",
    "argmax_is %0 %6 : secret bit[3]",
    "max_pool %0 k=2 stride=1 : secret fix.8[2,3]",
    "matmul %3 %3 trans_b : secret fix.16[1,3,3]",
    "conv2d %4 %4 stride=2 pad=1 : secret fix.16[1,1,1,2,2]",
    "reshape %0 : secret fix.8[12]",
    "transpose %0 perm=[1,0] : secret fix.8[4,3]",
    "slice %0 axis=1 start=0 len=2 step=3 : secret fix.8[3,2]",
    "concat %0 %0 axis=1 : secret fix.8[3,8]",
    "broadcast %3 : secret fix.8[2,3,4]",
    "gather %0 %5 axis=0 batch=0 : secret fix.8[2,4]",
    "gaussian number=0 scale=1 grid=16 : secret fix.16[3]",
    "laplace number=1 scale=0.5 grid=16 : secret fix.16[3,2]",
    "trunc %0 by=4 : secret fix.4[3,4]",
    "shift %0 by=4 : secret fix.12[3,4]",
    "div_pow2 %0 by=4 : secret fix.12[3,4]",
    "mul_pow2 %0 by=4 : secret fix.4[3,4]",
];

/// A graph of all examples, for other tests.
pub(in crate::graph) fn examples() -> String {
    let lines = EXAMPLES.iter().zip(7..).map(|(line, i)| format!("%{i} = {line} @0\n"));
    format!("{HEAD}{}", lines.collect::<String>())
}

#[test]
fn every_operation_is_printed_parsed_inferred_and_evaluated() {
    let mut left: BTreeSet<&str> = Op::all().iter().map(Op::name).collect();
    for example in EXAMPLES {
        let body = format!("{HEAD}%7 = {example} @0\n\nreveal %7 to Server as y @0\n");
        let graph = text::parse(&body).unwrap_or_else(|e| panic!("{example}: {e}"));
        assert_eq!(text::print(&graph), body);
        verify::verify(&graph).unwrap_or_else(|e| panic!("{example}: {e}"));

        let id = graph.outputs[0].node;
        let op = graph.op(id);
        assert!(left.remove(op.name()), "{example}: no operation of the table, or there twice");
        let types: Vec<&Type> = graph.args(id).iter().map(|&a| graph.ty(a)).collect();
        assert_eq!(infer::infer(&graph, op, &types).as_ref(), Ok(graph.ty(id)), "{example}");

        // The same in floating point and in a ring, up to the rounding of the scale.
        let inputs = random_inputs(&graph, 7);
        let in_reals = real(&graph, &inputs, &successors, false).expect(example);
        let in_ring = exact(&graph, &inputs, &successors, false).expect(example);
        let (a, b) = (&in_reals.outputs[0].2, &in_ring.outputs[0].2);
        assert_eq!(a.len() as u64, graph.elements(id), "{example}");
        let close = a.iter().zip(b).all(|(x, y)| (x - y).abs() <= 1.0 / 16.0);
        // At an operand above 0 this one has no meaning.
        assert!(close || op.name() == "exp_non_positive", "{example}: {a:?} {b:?}");
    }
    assert!(left.is_empty(), "these operations have no example: {left:?}");
}

/// A pointwise operation has the shape of its aligned operands, and one that moves entries does not
/// compute: what passes rely on when they ask for a class.
#[test]
fn classes_agree_with_shapes_and_scales() {
    for op in Op::all() {
        let facts = op.facts();
        let n = facts.operands.unwrap_or(2);
        if op.is_pointwise() {
            let operands: Vec<&[u64]> = vec![&[2, 3]; n];
            let shape = super::shape_of(&op, &operands, |_| Err("no input".into()));
            assert_eq!(shape, Ok(vec![2, 3]), "{}", facts.name);
        }
        if op.is_layout() {
            assert!(!op.talks(n), "{} moves entries", facts.name);
        }
        assert!(!op.talks(0), "{} of public operands", facts.name);
    }
}
