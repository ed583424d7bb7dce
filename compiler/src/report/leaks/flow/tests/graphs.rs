//! Random graphs and random inputs of theirs.

use crate::graph::eval::{Inputs, Tensors};
use crate::graph::infer::infer;
use crate::graph::{Giver, Graph, NodeId, Op};
use crate::report::leaks::tests::built;
use crate::report::testing::Random;
use crate::types::Elem;

/// What everybody gives, and ranks of the library.
const BASE: &str = "use std::{first_argmin, rank, sum, top_k};\n\
    predicate P[m]() { parties Client[m]; parties Guide; parties Server;\n\
    input x: secret fix[2] in -1..1 from each Client; input y: secret fix in -1..1 from each Client;\n\
    input k: secret int in 0..5 from each Client; input b: secret bit from each Client;\n\
    input guide: secret fix in -1..1 from Guide; input own: secret fix in -1..1 from Server;\n\
    input p: public fix[m] in -1..1; input q: public fix in 1..2;\n\
    let best = first_argmin(y); let two = top_k[2](y); let second = [rank(y)[i] == 1 for i in Client];\n\
    reveal [best[i] && two[i] && b[i] for i in Client] to Server as bits;\n\
    reveal sum(second[i] * x[i] for i in Client) to Server as one;\n\
    reveal guide + own + q + sum(p) + sum(k) to Server as numbers; }";

/// A graph of `m` clients.
pub(super) fn graph(r: &mut Random, m: u64) -> Graph {
    let (_, mut g) = built(BASE, &[("m", &m.to_string())]);
    for _ in 0..24 {
        grow(&mut g, r, m);
    }
    g
}

/// Adds an operation on what is there, if it takes that.
fn grow(g: &mut Graph, r: &mut Random, m: u64) {
    let nodes = g.len() as u64;
    let mut any = || {
        let recent = r.below(3) > 0;
        let back = r.below(if recent { nodes.min(12) } else { nodes });
        NodeId((nodes - 1 - back) as u32)
    };
    let mut args = vec![any(), any(), any()];
    if r.below(6) == 0 {
        return selects(g, r, args[0], args[1]);
    }
    let op = operation(g, r, args[0], m);
    args.truncate(op.facts().operands.unwrap_or(2));
    if let Op::Gather { .. } = op {
        let n = g.shape(args[0]).first().copied().unwrap_or(1);
        let index: Vec<f64> = (0..1 + r.below(3)).map(|_| r.below(n) as f64).collect();
        args[1] = g.add_table(vec![index.len() as u64], index, Elem::Int, 0);
    } else if args.len() > 1 {
        let rank = args.iter().map(|a| g.shape(*a).len()).max().unwrap_or(0);
        let before = r.below(2) == 0;
        for a in &mut args {
            let ones = vec![1; rank - g.shape(*a).len()];
            let own = g.shape(*a).to_vec();
            let shape = if before { [ones, own].concat() } else { [own, ones].concat() };
            *a = g.add_reshape(*a, shape, 0);
        }
    }
    // What is computed of equal terms may depend on less than their forms say.
    let cancels = args.len() > 1 && args[0] == args[1] && op != Op::Mul;
    let types: Vec<_> = args.iter().map(|a| g.ty(*a)).collect();
    let small =
        |shape: &[u64]| shape.len() <= 4 && (1..=64).contains(&shape.iter().product::<u64>());
    if !cancels && infer(g, &op, &types).is_ok_and(|ty| small(&ty.shape)) {
        g.add(op, &args, 0);
    }
}

/// Bits by rank of what has one axis, times something.
fn selects(g: &mut Graph, r: &mut Random, v: NodeId, by: NodeId) {
    let &[n] = g.shape(v) else { return };
    if g.ty(v).elem == Elem::Bit || n < 2 {
        return;
    }
    let sides = [g.add_reshape(v, vec![1, n], 0), g.add_reshape(v, vec![n, 1], 0)];
    let bits = g.add(Op::Lt, &sides, 0);
    let bits = g.add(Op::ToInt, &[bits], 0);
    let ranks = g.add(Op::Sum(vec![r.below(2)]), &[bits], 0);
    let c = g.add_number(1, r.below(4) as f64, Elem::Int, 0);
    let bits = g.add(r.pick(&[Op::Lt, Op::Eq]), &[ranks, c], 0);
    let bits = g.add(Op::ToInt, &[bits], 0);
    if g.ty(by).elem != Elem::Bit && g.shape(by).first() == Some(&n) {
        let mut shape = vec![1; g.shape(by).len()];
        shape[0] = n;
        let bits = g.add_reshape(bits, shape, 0);
        let kept = g.add(Op::Mul, &[bits, by], 0);
        g.add(Op::Sum(vec![0]), &[kept], 0);
    }
}

fn operation(g: &Graph, r: &mut Random, a: NodeId, m: u64) -> Op {
    let shape = g.shape(a).to_vec();
    let (axes, all) = (shape.len() as u64, shape.iter().product::<u64>());
    let axis = r.below(axes.max(1));
    let len = shape.get(axis as usize).copied().unwrap_or(1);
    let (lo, start) = (r.below(*shape.last().unwrap_or(&1)), r.below(len));
    let hi = lo + 1 + r.below(shape.last().unwrap_or(&1) - lo);
    let (some, trans_b) = (1 + r.below(len - start), r.below(2) == 0);
    r.pick(&[
        Op::Add,
        Op::Add,
        Op::Sub,
        Op::Mul,
        Op::Mul,
        Op::Mul,
        Op::Div,
        Op::Neg,
        Op::Scale(0.5),
        Op::Scale(0.0),
        Op::Lt,
        Op::Lt,
        Op::Eq,
        Op::Not,
        Op::And,
        Op::And,
        Op::Xor,
        Op::ToInt,
        Op::ToInt,
        Op::Select,
        Op::Select,
        Op::Relu,
        Op::Abs,
        Op::Sum(vec![axis]),
        Op::Sum(vec![axis]),
        Op::Sum(vec![axis]),
        Op::Sum((0..axes).collect()),
        Op::Max(axis),
        Op::Min(axis),
        Op::ArgMax,
        Op::Sort,
        Op::SortSum { lo, hi },
        Op::Slice { axis, start, len: some, step: 1 },
        Op::Gather { axis: 0, batch: 0 },
        Op::Concat(axis),
        Op::MatMul { trans_b },
        Op::Transpose((0..axes).rev().collect()),
        Op::Reshape(vec![all]),
        Op::Reshape(vec![all / 2, 2]),
        Op::Broadcast(shape.iter().map(|&n| if n == 1 { m } else { n }).collect()),
    ])
}

/// One entry of an input. Numbers have few digits: sums of them are exact in any order.
fn entry(r: &mut Random, elem: Elem, (lo, hi): (f64, f64)) -> f64 {
    match elem {
        Elem::Bit => r.below(2) as f64,
        Elem::Int => r.below(5) as f64,
        Elem::Fix => lo + (hi - lo) * r.below(1 << 16) as f64 / f64::from(1 << 16),
    }
}

/// What everybody gives.
pub(super) fn inputs(g: &Graph, r: &mut Random) -> Inputs {
    let sets = g.parties.iter().map(|p| vec![Tensors::new(); p.1 as usize]).collect();
    let mut all = Inputs { sets, ..Inputs::default() };
    for input in &g.inputs {
        let n = input.shape.iter().product::<u64>();
        let mut one = || (0..n).map(|_| entry(r, input.elem, input.range)).collect::<Vec<f64>>();
        match input.from {
            Giver::Each(set) => all.sets[set as usize]
                .iter_mut()
                .for_each(|member| drop(member.insert(input.name.clone(), one()))),
            _ => drop(all.public.insert(input.name.clone(), one())),
        }
    }
    all
}
