use super::testing::{FRAC, Kind, random_graph, random_inputs, successors};
use super::*;
use crate::graph::ranks::{self, PAIRED};
use crate::graph::{Conv, Function, NodeId, Op, Table, text};
use proptest::prelude::*;
use slvr_language::types::Elem;

/// A constant operand: element, shape, data.
type Operand<'a> = (Elem, &'a [u64], &'a [f64]);

fn fix<'a>(shape: &'a [u64], data: &'a [f64]) -> Operand<'a> {
    (Elem::Fix, shape, data)
}

fn int<'a>(shape: &'a [u64], data: &'a [f64]) -> Operand<'a> {
    (Elem::Int, shape, data)
}

fn bit<'a>(shape: &'a [u64], data: &'a [f64]) -> Operand<'a> {
    (Elem::Bit, shape, data)
}

/// A graph of one operation on constants, which is revealed.
fn graph_of(op: Op, operands: &[Operand], frac: Option<u32>) -> Graph {
    let mut graph = text::parse("graph One\nparties Server[1]\nsite 0 \"\" line 0\n").unwrap();
    graph.frac = frac;
    let args: Vec<NodeId> = operands
        .iter()
        .map(|&(elem, shape, data)| {
            let table = Table { shape: shape.to_vec(), data: data.into() };
            let frac = match elem {
                Elem::Fix => frac,
                Elem::Int => frac.map(|_| 0),
                Elem::Bit => None,
            };
            graph.add(Op::Const(table, elem, frac), &[], 0)
        })
        .collect();
    let node = graph.add(op, &args, 0);
    reveal(&mut graph, node);
    graph
}

fn reveal(graph: &mut Graph, node: NodeId) {
    let name = format!("out{}", graph.outputs.len());
    let out = crate::graph::Output {
        name,
        to: 0,
        state: None,
        node,
        factor: 1.0,
        divisor: 1.0,
        fields: vec![],
        site: 0,
    };
    graph.outputs.push(out);
}

fn no_coins(_: &slvr_language::types::Lots) -> Vec<Vec<u64>> {
    Vec::new()
}

fn output<W>(result: Result<Evaluated<W>, EvalError>) -> Vec<f64> {
    let mut result = result.unwrap_or_else(|e| panic!("{e}"));
    result.outputs.remove(0).2
}

#[track_caller]
fn in_real(op: Op, operands: &[Operand], expected: &[f64]) {
    let graph = graph_of(op, operands, None);
    let found = output(real(&graph, &Inputs::default(), &no_coins, false));
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (x, y) in found.iter().zip(expected) {
        assert!((x - y).abs() < 1e-12 || x == y, "{found:?} instead of {expected:?}");
    }
}

/// The same value in floating point and, up to 2^-15, with 16 fraction bits.
#[track_caller]
fn in_both(op: Op, operands: &[Operand], expected: &[f64]) {
    in_real(op.clone(), operands, expected);
    let graph = graph_of(op, operands, Some(16));
    let found = output(exact(&graph, &Inputs::default(), &no_coins, true));
    for (x, y) in found.iter().zip(expected) {
        assert!((x - y).abs() < 2f64.powi(-15), "exact: {found:?} instead of {expected:?}");
    }
}

#[test]
fn elementwise_operations() {
    let (a, b) = (fix(&[2, 2], &[1.5, -2.0, 0.0, 3.0]), fix(&[2, 1], &[0.5, 3.0]));
    in_both(Op::Add, &[a, b], &[2.0, -1.5, 3.0, 6.0]);
    in_both(Op::Sub, &[a, b], &[1.0, -2.5, -3.0, 0.0]);
    in_both(Op::Mul, &[a, b], &[0.75, -1.0, 0.0, 9.0]);
    in_both(Op::Div, &[a, b], &[3.0, -4.0, 0.0, 1.0]);
    in_both(Op::Lt, &[a, b], &[0.0, 1.0, 1.0, 0.0]);
    in_both(Op::Eq, &[a, b], &[0.0, 0.0, 0.0, 1.0]);
    in_both(Op::Neg, &[a], &[-1.5, 2.0, 0.0, -3.0]);
    in_both(Op::Relu, &[a], &[1.5, 0.0, 0.0, 3.0]);
    in_both(Op::Abs, &[a], &[1.5, 2.0, 0.0, 3.0]);
    in_both(Op::Scale(3.0), &[a], &[4.5, -6.0, 0.0, 9.0]);
    in_real(Op::Scale(0.1), &[a], &[0.15, -0.2, 0.0, 0.3]);
    let sign = fix(&[2, 2], &[-0.5, 1.0, 0.0, -1.0]);
    in_both(Op::Gate, &[a, sign], &[0.0, -2.0, 0.0, 0.0]);
    in_both(Op::Select, &[bit(&[1, 2], &[1.0, 0.0]), a, b], &[1.5, 0.5, 0.0, 3.0]);
    let (c, d) = (bit(&[2, 2], &[0.0, 0.0, 1.0, 1.0]), bit(&[1, 2], &[0.0, 1.0]));
    in_both(Op::And, &[c, d], &[0.0, 0.0, 0.0, 1.0]);
    in_both(Op::Xor, &[c, d], &[0.0, 1.0, 1.0, 0.0]);
    in_both(Op::Not, &[d], &[1.0, 0.0]);
    in_both(Op::ToInt, &[d], &[0.0, 1.0]);
}

#[test]
fn functions_of_public_numbers() {
    let x = fix(&[3], &[0.25, 1.0, 4.0]);
    in_both(Op::Function(Function::Exp), &[x], &[0.25f64.exp(), 1f64.exp(), 4f64.exp()]);
    in_both(Op::Function(Function::Recip), &[x], &[4.0, 1.0, 0.25]);
    in_both(Op::Function(Function::Tanh), &[x], &[0.25f64.tanh(), 1f64.tanh(), 4f64.tanh()]);
    in_both(Op::Function(Function::Sqrt), &[x], &[0.5, 1.0, 2.0]);
    in_both(Op::Function(Function::Log), &[x], &[0.25f64.ln(), 0.0, 4f64.ln()]);
    in_real(Op::Function(Function::Recip), &[fix(&[1], &[0.0])], &[2f64.powi(31)]);
    in_real(Op::Div, &[fix(&[2], &[-1.0, 0.0]), fix(&[2], &[0.0, 0.0])], &[-(2f64.powi(31)), 0.0]);
    let of_zero = |op: Op| {
        let graph = graph_of(op, &[fix(&[1], &[0.0])], Some(8));
        output(exact(&graph, &Inputs::default(), &no_coins, false))
    };
    assert_eq!(of_zero(Op::Function(Function::Recip)), [2f64.powi(31)]);
    assert_eq!(of_zero(Op::Function(Function::Log)), [-11.78515625]);
}

#[test]
fn reductions() {
    let x = fix(&[2, 3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, -1.0, -2.0, -3.0, -4.0, -5.0, -6.0]);
    in_both(Op::Sum(vec![0]), &[x], &[0.0; 6]);
    in_both(Op::Sum(vec![1]), &[x], &[9.0, 12.0, -9.0, -12.0]);
    in_both(Op::Sum(vec![2]), &[x], &[3.0, 7.0, 11.0, -3.0, -7.0, -11.0]);
    in_both(Op::Sum(vec![1, 2]), &[x], &[21.0, -21.0]);
    in_both(Op::Sum(vec![0, 2]), &[x], &[0.0; 3]);
    in_both(Op::Sum(vec![0, 1, 2]), &[x], &[0.0]);
    in_both(Op::Sum(vec![]), &[x], x.2);
    in_both(Op::Max(0), &[x], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    in_both(Op::Max(1), &[x], &[5.0, 6.0, -1.0, -2.0]);
    in_both(Op::Min(1), &[x], &[1.0, 2.0, -5.0, -6.0]);
    in_both(Op::Min(2), &[x], &[1.0, 3.0, 5.0, -2.0, -4.0, -6.0]);
}

#[test]
fn ranking() {
    let x = fix(&[2, 4], &[3.0, -1.0, 3.0, 0.5, -2.0, -2.0, -5.0, -2.5]);
    in_both(Op::Sort, &[x], &[-1.0, 0.5, 3.0, 3.0, -5.0, -2.5, -2.0, -2.0]);
    in_both(Op::SortSum { lo: 1, hi: 3 }, &[x], &[3.5, -4.5]);
    // Of equal entries the first.
    in_both(Op::ArgMax, &[x], &[0.0, 0.0]);
    in_both(Op::OneHot(3), &[int(&[2], &[2.0, 0.0])], &[0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    let label = |a: usize, b: usize| -> Vec<f64> {
        (0..8).map(|i| f64::from(u8::from(i == a || i == 4 + b))).collect()
    };
    in_both(Op::ArgMaxIs, &[x, int(&[2, 4], &label(0, 0))], &[1.0, 1.0]);
    in_both(Op::ArgMaxIs, &[x, int(&[2, 4], &label(2, 1))], &[0.0, 0.0]);
    in_both(Op::ArgMaxIs, &[x, int(&[2, 4], &[0.0; 8])], &[0.0, 0.0]);
}

#[test]
fn layout() {
    let data: Vec<f64> = (0..12).map(f64::from).collect();
    let x = fix(&[2, 3, 2], &data);
    in_both(Op::Reshape(vec![4, 3]), &[x], &data);
    in_both(
        Op::Transpose(vec![2, 0, 1]),
        &[x],
        &[0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 1.0, 3.0, 5.0, 7.0, 9.0, 11.0],
    );
    let slice = |axis, start, len, step| Op::Slice { axis, start, len, step };
    in_both(slice(1, 0, 2, 2), &[x], &[0.0, 1.0, 4.0, 5.0, 6.0, 7.0, 10.0, 11.0]);
    in_both(slice(2, 1, 1, 1), &[x], &[1.0, 3.0, 5.0, 7.0, 9.0, 11.0]);
    in_both(slice(0, 1, 1, 1), &[x], &data[6..]);
    let (a, b) = (fix(&[2, 1], &[1.0, 2.0]), fix(&[2, 2], &[3.0, 4.0, 5.0, 6.0]));
    in_both(Op::Concat(1), &[a, b, a], &[1.0, 3.0, 4.0, 1.0, 2.0, 5.0, 6.0, 2.0]);
    in_both(Op::Concat(0), &[a, a], &[1.0, 2.0, 1.0, 2.0]);
    in_both(Op::Broadcast(vec![2, 3]), &[a], &[1.0, 1.0, 1.0, 2.0, 2.0, 2.0]);
}

#[test]
fn gathers() {
    let data: Vec<f64> = (0..12).map(f64::from).collect();
    let x = fix(&[2, 3, 2], &data);
    let gather = |axis, batch| Op::Gather { axis, batch };
    let index = int(&[2], &[2.0, 0.0]);
    in_both(gather(1, 0), &[x, index], &[4.0, 5.0, 0.0, 1.0, 10.0, 11.0, 6.0, 7.0]);
    in_both(gather(1, 1), &[x, index], &[4.0, 5.0, 6.0, 7.0]);
    // [B, P, n] by [B, K]: both batches at once, P kept in front of K.
    let index = int(&[2, 3], &[1.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    let expected: Vec<f64> =
        [1, 1, 0, 3, 3, 2, 5, 5, 4, 6, 6, 7, 8, 8, 9, 10, 10, 11].map(f64::from).into();
    in_both(gather(2, 1), &[x, index], &expected);
    in_both(gather(0, 0), &[x, int(&[], &[1.0])], &data[6..]);
}

#[test]
fn products_against_their_definition() {
    // Multiples of 1/8, so that all sums are exact.
    let entry = |i: u64, salt: u64| ((i * 37 + salt * 11) % 29) as f64 / 8.0 - 1.5;
    for (gx, gw, stride, pad, k, dilation, groups) in [
        (2, 2, 1, 0, 3, 1, 1),
        (1, 2, 2, 1, 3, 1, 1),
        (2, 1, 3, 2, 2, 1, 1),
        (1, 1, 1, 4, 1, 1, 1),
        (2, 1, 1, 1, 3, 2, 1),
        (1, 1, 2, 3, 2, 3, 2),
        (2, 2, 1, 1, 3, 1, 2),
        (1, 2, 1, 2, 3, 2, 4),
    ] {
        let (o, c) = if groups == 1 { (3, 2) } else { (4, 4) };
        let (n, h, w) = (2, 5, 6);
        let depth = c / groups;
        let x: Vec<f64> = (0..gx * n * c * h * w).map(|i| entry(i, 1)).collect();
        let f: Vec<f64> = (0..gw * o * depth * k * k).map(|i| entry(i, 2)).collect();
        let side = |d: u64| (d + 2 * pad - dilation * (k - 1) - 1) / stride + 1;
        let mut expected = Vec::new();
        for (g, i, q) in boxed([gx.max(gw), n, o]) {
            for (y, z, _) in boxed([side(h), side(w), 1]) {
                let mut sum = 0.0;
                for (ch, ky, kx) in boxed([depth, k, k]) {
                    let (iy, ix) = (y * stride + ky * dilation, z * stride + kx * dilation);
                    if iy >= pad && ix >= pad && iy - pad < h && ix - pad < w {
                        let (gx, gw) = (if gx == 1 { 0 } else { g }, if gw == 1 { 0 } else { g });
                        let from = q / (o / groups) * depth + ch;
                        let at = (((gx * n + i) * c + from) * h + iy - pad) * w + ix - pad;
                        let by = (((gw * o + q) * depth + ch) * k + ky) * k + kx;
                        sum += x[at as usize] * f[by as usize];
                    }
                }
                expected.push(sum);
            }
        }
        let shapes = [[gx, n, c, h, w], [gw, o, depth, k, k]];
        let operands = [fix(&shapes[0], &x), fix(&shapes[1], &f)];
        let conv = Conv { stride, pad, dilation, groups };
        in_both(Op::Conv2d(conv), &operands, &expected);
    }
    for (ba, bb) in [(2, 2), (1, 2), (2, 1)] {
        let (m, k, n) = (3, 19, 2);
        let a: Vec<f64> = (0..ba * m * k).map(|i| entry(i, 3)).collect();
        let b: Vec<f64> = (0..bb * k * n).map(|i| entry(i, 4)).collect();
        for trans_b in [false, true] {
            let mut expected = Vec::new();
            for (g, i, j) in boxed([2, m, n]) {
                let (ga, gb) = (if ba == 1 { 0 } else { g }, if bb == 1 { 0 } else { g });
                let right =
                    |l: u64| if trans_b { (gb * n + j) * k + l } else { (gb * k + l) * n + j };
                let term = |l: u64| a[((ga * m + i) * k + l) as usize] * b[right(l) as usize];
                expected.push((0..k).map(term).sum());
            }
            let shapes = [[ba, m, k], if trans_b { [bb, n, k] } else { [bb, k, n] }];
            let operands = [fix(&shapes[0], &a), fix(&shapes[1], &b)];
            in_both(Op::MatMul { trans_b }, &operands, &expected);
        }
    }
}

fn boxed([a, b, c]: [u64; 3]) -> impl Iterator<Item = (u64, u64, u64)> {
    (0..a).flat_map(move |i| (0..b).flat_map(move |j| (0..c).map(move |k| (i, j, k))))
}

#[test]
fn pooling() {
    let x: Vec<f64> = (0..18).map(|i| f64::from((i * 7) % 11 - 5)).collect();
    let mut expected = Vec::new();
    for (p, y, z) in boxed([2, 2, 1]) {
        let window = boxed([1, 2, 2]).map(|(_, i, j)| x[(p * 9 + (y + i) * 3 + z + j) as usize]);
        expected.push(window.fold(f64::NEG_INFINITY, f64::max));
    }
    // 2 x 1 windows per plane with stride 1 need a plane of 3 x 2; cut the last column away.
    let cut: Vec<f64> = x.chunks(3).flat_map(|row| [row[0], row[1]]).collect();
    in_both(Op::MaxPool { k: 2, stride: 1 }, &[fix(&[2, 3, 2], &cut)], &expected);
    in_both(
        Op::MaxPool { k: 1, stride: 2 },
        &[fix(&[2, 3, 3], &x)],
        &[x[0], x[2], x[6], x[8], x[9], x[11], x[15], x[17]],
    );
}

#[test]
fn ring_operations_on_raw_words() {
    let raw = |op: Op, words: &[f64]| {
        let graph = graph_of(op, &[fix(&[words.len() as u64], words)], Some(4));
        let all = exact(&graph, &Inputs::default(), &no_coins, true).unwrap();
        all.values.last().unwrap().as_ref().unwrap().to_vec()
    };
    let unit = 1.0 / 16.0;
    // To the nearest, ties upwards.
    let words = [7.0 * unit, 8.0 * unit, -7.0 * unit, -8.0 * unit, -9.0 * unit, 24.0 * unit];
    assert_eq!(raw(Op::Trunc(4), &words), [0, 1, 0, 0, -1, 2]);
    assert_eq!(raw(Op::Shift(2), &words[..2]), [28, 32]);
    assert_eq!(raw(Op::DivPow2(2), &words[..2]), [7, 8]);
    assert_eq!(raw(Op::Scale(-3.0), &words[..2]), [-21, -24]);
    // Encoding rounds to the nearest word, ties to the even one.
    assert_eq!(raw(Op::Shift(0), &[0.5 * unit, 1.5 * unit, -0.6 * unit]), [0, 2, -1]);
    let halved = graph_of(Op::DivPow2(3), &[fix(&[], &[5.0])], Some(4));
    assert_eq!(output(real(&halved, &Inputs::default(), &no_coins, false)), [0.625]);
    assert_eq!(output(exact(&halved, &Inputs::default(), &no_coins, false)), [0.625]);
}

#[test]
fn comparisons_take_the_top_bit_of_a_wrapping_difference() {
    let big = 2f64.powi(62);
    let graph = graph_of(Op::Lt, &[int(&[1], &[-big - 2048.0]), int(&[1], &[big])], Some(0));
    assert_eq!(output(exact(&graph, &Inputs::default(), &no_coins, false)), [0.0]);
    assert_eq!(output(real(&graph, &Inputs::default(), &no_coins, false)), [1.0]);
}

const INTERFACE: &str = r#"graph Inputs
parties Client[2]
parties Server[1]
frac 8
input 0 label : secret int in 0..2 one_hot 3 from each Client
input 1 x : public fix[2] in -8..8
input 2 at : public int in 0..9
input 3 u : secret fix[2] in -8..8 from each Client
site 0 "" line 0
"#;

fn parsed(nodes: &str) -> Graph {
    text::parse(&format!("{INTERFACE}{nodes}")).unwrap_or_else(|e| panic!("{e}"))
}

fn given() -> Inputs {
    let member = |label: f64, u: [f64; 2]| {
        Tensors::from([("label".to_string(), vec![label]), ("u".to_string(), u.to_vec())])
    };
    Inputs {
        public: Tensors::from([("x".into(), vec![0.5, -1.0]), ("at".into(), vec![1.0])]),
        sets: vec![vec![member(2.0, [1.0, 2.0]), member(0.0, [3.0, 4.0])]],
        ..Default::default()
    }
}

#[test]
fn inputs_are_stacked_and_labels_expanded() {
    let graph = parsed(
        "%0 = input 0 : secret int.0[2,3] @0
%1 = input 3 : secret fix.8[2,2] @0
%2 = input 1 : public fix.8[2] @0
reveal %0 to Server as label @0
reveal %1 to Server as u / 2 @0
reveal %2 to Server as x @0",
    );
    for outputs in [
        real(&graph, &given(), &no_coins, false).unwrap().outputs,
        exact(&graph, &given(), &no_coins, false).unwrap().outputs,
    ] {
        assert_eq!(outputs[0], ("label".into(), vec![2, 3], vec![0.0, 0.0, 1.0, 1.0, 0.0, 0.0]));
        assert_eq!(outputs[1], ("u".into(), vec![2, 2], vec![0.5, 1.0, 1.5, 2.0]));
        assert_eq!(outputs[2].2, [0.5, -1.0]);
    }
}

#[test]
fn committees_come_from_the_coins() {
    let graph = parsed(
        "%0 = committee n=2 k=1 : public int.0[2,1] @0
%1 = input 3 : secret fix.8[2,2] @0
%2 = gather %1 %0 axis=0 batch=0 : secret fix.8[2,1,2] @0
reveal %2 to Server as other @0",
    );
    let result = exact(&graph, &given(), &successors, false).unwrap();
    assert_eq!(result.outputs[0].2, [3.0, 4.0, 1.0, 2.0]);
    for coins in [vec![], vec![vec![1]], vec![vec![1], vec![2]], vec![vec![1], vec![0, 0]]] {
        let result = exact(&graph, &given(), &|_| coins.clone(), false);
        assert_eq!(result, Err(EvalError::Coin { node: 0 }));
    }
}

#[test]
fn wrong_inputs_are_refused() {
    let graph = parsed(
        "%0 = input 0 : secret int.0[2,3] @0
%1 = input 1 : public fix.8[2] @0
reveal %0 to Server as a @0
reveal %1 to Server as b @0",
    );
    let run = |change: &dyn Fn(&mut Inputs)| {
        let mut inputs = given();
        change(&mut inputs);
        exact(&graph, &inputs, &no_coins, false).expect_err("a wrong input").to_string()
    };
    let label = |x: f64| move |i: &mut Inputs| drop(i.sets[0][1].insert("label".into(), vec![x]));
    let x = |x: Vec<f64>| move |i: &mut Inputs| drop(i.public.insert("x".into(), x.clone()));
    assert_eq!(run(&label(3.0)), "entry 0 of input label of Client 1 is not one of the classes");
    assert_eq!(run(&label(-1.0)), "entry 0 of input label of Client 1 is not one of the classes");
    assert_eq!(run(&label(0.5)), "entry 0 of input label of Client 1 is not an integer");
    assert_eq!(run(&x(vec![0.0, f64::NAN])), "entry 1 of input x (public) is not a number");
    assert_eq!(run(&x(vec![0.0, 1e300])), "entry 1 of input x (public) is beyond 64 bits");
    let mut large = given();
    large.public.insert("x".into(), vec![0.0, 1e300]);
    let wide = exact_wide(&graph, &large, &no_coins, false).expect_err("a wrong input");
    assert_eq!(wide.to_string(), "entry 1 of input x (public) is beyond 128 bits");
    assert_eq!(run(&x(vec![0.0])), "input x (public) has 1 entries, 2 are declared");
    assert_eq!(run(&|i| i.public.clear()), "input x (public) is missing");
    assert_eq!(run(&|i| i.sets[0][0].clear()), "input label of Client 0 is missing");
    assert_eq!(run(&|i| drop(i.sets[0].pop())), "Client has 2 members, inputs are given for 1");
    assert_eq!(run(&|i| i.sets.clear()), "Client has 2 members, inputs are given for 0");
}

/// Without pairs there may be many, and where all values are kept there are pairs.
#[test]
fn ranks_are_told_by_pairs_or_sorted_for() {
    for (n, pairs) in [(150, true), (PAIRED + 1, false)] {
        let header = "graph T\nparties Server[1]\nsite 0 \"\" line 0\n";
        let nodes = format!("%0 = input 0 : public int[{n}] @0\nreveal %0 to Server as y @0\n");
        let input = format!("input 0 x : public int[{n}] in 0..30\n");
        let mut graph = text::parse(&format!("{header}{input}{nodes}")).expect("a graph");
        let x = graph.outputs[0].node;
        graph.outputs[0].node = ranks::ranks(&mut graph, x, ranks::First::Largest, 0);
        let inputs = random_inputs(&graph, n);
        let sorted = output(real(&graph, &inputs, &no_coins, false));
        assert_eq!(sorted.iter().sum::<f64>() as u64, n * (n - 1) / 2);
        match real(&graph, &inputs, &no_coins, true) {
            Err(refused) => {
                assert_eq!((refused, pairs), (EvalError::Pairs { node: 1, entries: n }, false));
            }
            kept => assert_eq!((output(kept), pairs), (sorted, true)),
        }
    }
}

#[test]
fn what_has_no_exact_value_is_refused() {
    let large = graph_of(Op::Function(Function::Exp), &[fix(&[1], &[20.0])], Some(40));
    let refused = exact(&large, &Inputs::default(), &no_coins, false);
    assert_eq!(refused, Err(EvalError::Overflow { node: 1, op: "exp", bits: 64 }));

    let wide = exact_wide(&large, &Inputs::default(), &no_coins, false);
    assert!(wide.is_ok(), "{wide:?}");
    let unscaled = graph_of(Op::Neg, &[fix(&[1], &[0.0])], None);
    assert_eq!(exact(&unscaled, &given(), &no_coins, false), Err(EvalError::Unscaled));

    let graph = parsed(
        "%0 = input 1 : public fix.8[2] @0
%1 = input 2 : public int.0 @0
%2 = gather %0 %1 axis=0 batch=0 : public fix.8 @0
reveal %2 to Server as a @0",
    );
    assert_eq!(output(exact(&graph, &given(), &no_coins, false)), [-1.0]);
    for at in [2.0, -1.0] {
        let mut inputs = given();
        inputs.public.insert("at".into(), vec![at]);
        let refused = exact(&graph, &inputs, &no_coins, false);
        assert_eq!(refused, Err(EvalError::Index { node: 2 }));
    }
    let mut broken = graph;
    broken.outputs[0].to = 7;
    assert!(matches!(exact(&broken, &given(), &no_coins, false), Err(EvalError::Invalid(_))));
}

#[test]
fn values_die_after_their_last_use_and_dead_nodes_are_not_evaluated() {
    let graph = parsed(
        "%0 = input 3 : secret fix.8[2,2] @0
%1 = mul %0 %0 : secret fix.16[2,2] @0
%2 = sum %1 axes=[1] : secret fix.16[2] @0
%3 = exp %0 : secret fix.8[2,2] @0
reveal %2 to Server as a @0",
    );
    let result = exact(&graph, &given(), &no_coins, false).unwrap();
    let alive: Vec<bool> = result.values.iter().map(Option::is_some).collect();
    assert_eq!(alive, [false, false, true, false]);
    assert_eq!(result.outputs[0].2, [5.0, 25.0]);
    let result = real(&graph, &given(), &no_coins, true).unwrap();
    assert!(result.values.iter().all(Option::is_some));
    assert_eq!(result.outputs[0].2, [5.0, 25.0]);
}

#[test]
fn debug_output_shows_no_value() {
    let inputs = given();
    assert_eq!(format!("{inputs:?}"), "Inputs { public: 2, members: [2] }");
    let graph = graph_of(Op::Neg, &[fix(&[1], &[7.25])], None);
    let result = real(&graph, &inputs, &no_coins, true).unwrap();
    assert_eq!(format!("{result:?}"), r#"Evaluated { nodes: 2, outputs: [("out0", [1])] }"#);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Without rounding, ring arithmetic is real arithmetic.
    #[test]
    fn exact_is_real_without_rounding(seed: u64, nodes in 1usize..60) {
        let graph = random_graph(seed, nodes, Kind::Lossless);
        let inputs = random_inputs(&graph, seed);
        let expected = real(&graph, &inputs, &successors, true).unwrap();
        let found = exact(&graph, &inputs, &successors, true).unwrap();
        for id in graph.ids() {
            let frac = graph.ty(id).frac.unwrap_or(0) as i32;
            let expected = expected.values[id.index()].as_ref().unwrap();
            let found = found.values[id.index()].as_ref().unwrap();
            for (x, &raw) in expected.iter().zip(found.iter()) {
                prop_assert_eq!(*x, raw as f64 / 2f64.powi(frac), "node %{}", id.index());
            }
        }
        // And dropping values changes nothing.
        let again = exact(&graph, &inputs, &successors, false).unwrap();
        prop_assert_eq!(again.outputs, found.outputs);
    }

    /// A truncation is within half a unit of its operand.
    #[test]
    fn truncation_is_to_the_nearest(words in prop::collection::vec(-1e6f64..1e6, 1..20), by in 1u32..16) {
        let shape = [words.len() as u64];
        let graph = graph_of(Op::Trunc(by), &[fix(&shape, &words)], Some(16));
        let found = output(exact(&graph, &Inputs::default(), &no_coins, false));
        for (x, y) in words.iter().zip(&found) {
            let bound = 2f64.powi(-17) + 0.5 * 2f64.powi(by as i32 - 16);
            prop_assert!((x - y).abs() <= bound, "{} became {}", x, y);
        }
    }

    /// Any graph has a value in floating point, kept or not.
    #[test]
    fn every_graph_has_a_real_value(seed: u64, nodes in 1usize..60, scaled: bool) {
        let graph = random_graph(seed, nodes, if scaled { Kind::Scaled } else { Kind::Real });
        prop_assert_eq!(graph.frac, scaled.then_some(FRAC));
        let inputs = random_inputs(&graph, seed);
        let kept = real(&graph, &inputs, &successors, true).unwrap();
        let dropped = real(&graph, &inputs, &successors, false).unwrap();
        for (a, b) in kept.outputs.iter().zip(&dropped.outputs) {
            let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&a.2), bits(&b.2));
        }
        // Exactly, it has one, or what has none is named.
        if scaled {
            let result = exact(&graph, &inputs, &successors, false);
            let named = matches!(
                result,
                Ok(_) | Err(EvalError::Overflow { .. })
            );
            prop_assert!(named, "{:?}", result);
        }
    }
}
