//! Every operation against finite differences; values against the compiler's own evaluation.

use super::derivative::{Slots, back};
use super::value::value;
use super::{Given, Tape, TapeError};
use crate::random::{Purpose, Random};
use slvr_compiler::graph::{Function, Graph, Op, Table, build, eval, text};
use slvr_compiler::source::Sources;
use slvr_compiler::types::{self, Conv, Elem, Lots};
use std::sync::Arc;

/// What an operation is tested on: the shapes of its operands, the shape of its result, and the interval of its
/// operands.
struct Case {
    op: Op,
    args: Vec<Vec<usize>>,
    to: Vec<usize>,
    within: (f64, f64),
}

fn case(op: Op, args: &[&[usize]], to: &[usize]) -> Case {
    Case {
        op,
        args: args.iter().map(|s| s.to_vec()).collect(),
        to: to.to_vec(),
        within: (-1.0, 1.0),
    }
}

/// Cases of an operation; those without operands to differentiate by have none. A new operation is an error here.
fn cases(op: &Op) -> Vec<Case> {
    let same = |op: Op| vec![case(op, &[&[3, 4]], &[3, 4])];
    let pair = |op: Op| {
        vec![
            case(op.clone(), &[&[3, 4], &[3, 4]], &[3, 4]),
            case(op.clone(), &[&[3, 1], &[3, 4]], &[3, 4]),
            case(op.clone(), &[&[2, 3, 1, 2], &[1, 3, 4, 1]], &[2, 3, 4, 2]),
        ]
    };
    match op {
        Op::Input(_) | Op::Const(..) | Op::Draw(_) | Op::Pairs { .. } => Vec::new(),
        Op::Places(_) | Op::Noise { .. } => Vec::new(),
        Op::Add | Op::Sub | Op::Mul => pair(op.clone()),
        Op::Div => pair(op.clone()).into_iter().map(|c| Case { within: (0.5, 2.0), ..c }).collect(),
        // Steps: their derivative is 0, and finite differences see none away from the step.
        Op::Lt | Op::Eq | Op::And | Op::Xor => pair(op.clone()),
        Op::Not | Op::Neg | Op::Scale(_) | Op::ToInt | Op::Relu | Op::Abs => same(op.clone()),
        Op::Saturate(_) | Op::Trunc(_) | Op::Shift(_) | Op::DivPow2(_) | Op::MulPow2(_) => {
            same(op.clone())
        }
        Op::Function(_) => {
            same(op.clone()).into_iter().map(|c| Case { within: (0.25, 2.0), ..c }).collect()
        }
        Op::Select => vec![case(op.clone(), &[&[3, 1], &[3, 4], &[1, 4]], &[3, 4])],
        Op::Gate => pair(op.clone()),
        Op::Sum(_) => vec![case(op.clone(), &[&[3, 4, 2]], &[4])],
        Op::Max(_) | Op::Min(_) => vec![case(op.clone(), &[&[3, 4, 2]], &[3, 2])],
        Op::ArgMax => vec![case(op.clone(), &[&[3, 4]], &[3])],
        Op::Sort => same(op.clone()),
        Op::SortSum { .. } => vec![case(op.clone(), &[&[3, 4]], &[3])],
        Op::OneHot(_) => Vec::new(),
        Op::ArgMaxIs => vec![case(op.clone(), &[&[3, 4], &[3, 4]], &[3])],
        Op::MatMul { trans_b } => {
            let b = |g: usize| if *trans_b { [g, 5, 4] } else { [g, 4, 5] };
            vec![
                case(op.clone(), &[&[2, 3, 4], &b(2)], &[2, 3, 5]),
                case(op.clone(), &[&[1, 3, 4], &b(2)], &[2, 3, 5]),
                case(op.clone(), &[&[2, 3, 4], &b(1)], &[2, 3, 5]),
            ]
        }
        Op::Conv2d(conv) => {
            let out = |len: u64, k: u64| conv.output(len, k).unwrap() as usize;
            let (h, w) = (out(6, 3), out(5, 2));
            let depth = 4 / conv.groups as usize;
            vec![
                case(op.clone(), &[&[2, 3, 4, 6, 5], &[2, 2, depth, 3, 2]], &[2, 3, 2, h, w]),
                case(op.clone(), &[&[1, 3, 4, 6, 5], &[2, 2, depth, 3, 2]], &[2, 3, 2, h, w]),
                case(op.clone(), &[&[2, 1, 4, 6, 5], &[1, 2, depth, 3, 2]], &[2, 1, 2, h, w]),
            ]
        }
        Op::MaxPool { .. } => vec![case(op.clone(), &[&[2, 5, 6]], &[2, 2, 3])],
        Op::Reshape(_) => vec![case(op.clone(), &[&[3, 4]], &[2, 6])],
        Op::Transpose(_) => vec![case(op.clone(), &[&[3, 4, 2]], &[2, 3, 4])],
        Op::Slice { .. } => vec![case(op.clone(), &[&[2, 7, 3]], &[2, 3, 3])],
        Op::Concat(_) => vec![case(op.clone(), &[&[2, 3, 2], &[2, 1, 2]], &[2, 4, 2])],
        Op::Broadcast(_) => vec![case(op.clone(), &[&[3, 1, 2]], &[3, 4, 2])],
        // The second operand is an index: its own test.
        Op::Gather { .. } => Vec::new(),
    }
}

fn operations() -> Vec<Op> {
    let conv = |stride, pad, dilation, groups| Op::Conv2d(Conv { stride, pad, dilation, groups });
    let mut all = vec![
        Op::Const(Table::splat(1.0, vec![2]), Elem::Fix, None),
        Op::Draw(Lots::committees(3, 2)),
        Op::Places(3),
        Op::Add,
        Op::Sub,
        Op::Mul,
        Op::Div,
        Op::Neg,
        Op::Scale(-2.5),
        Op::Lt,
        Op::Eq,
        Op::Not,
        Op::And,
        Op::Xor,
        Op::ToInt,
        Op::Select,
        Op::Relu,
        Op::Gate,
        Op::Saturate(4),
        Op::Abs,
        Op::Sum(vec![0, 2]),
        Op::Max(1),
        Op::Min(1),
        Op::ArgMax,
        Op::Sort,
        Op::SortSum { lo: 1, hi: 3 },
        Op::OneHot(3),
        Op::ArgMaxIs,
        Op::MatMul { trans_b: false },
        Op::MatMul { trans_b: true },
        conv(1, 0, 1, 1),
        conv(1, 1, 1, 2),
        conv(2, 2, 1, 1),
        conv(1, 2, 2, 1),
        Op::MaxPool { k: 2, stride: 2 },
        Op::Reshape(vec![2, 6]),
        Op::Transpose(vec![2, 0, 1]),
        Op::Slice { axis: 1, start: 1, len: 3, step: 2 },
        Op::Concat(1),
        Op::Broadcast(vec![3, 4, 2]),
        Op::Gather { axis: 1, batch: 0 },
        Op::Trunc(3),
        Op::Shift(3),
        Op::DivPow2(3),
        Op::MulPow2(3),
    ];
    all.extend(Function::ALL.iter().map(|f| Op::Function(*f)));
    all
}

fn no_coin(_: &Lots) -> Vec<Vec<u64>> {
    Vec::new()
}

/// The derivative along each operand's every entry, and the same from two values a little apart.
fn hold(case: &Case, fixed: &[(usize, Vec<f64>)], seed: u64) {
    let mut random = Random::new(seed, Purpose::Caller, [1, 0]);
    let (lo, hi) = case.within;
    let mut args: Vec<Vec<f64>> = (case.args.iter())
        .map(|s| (0..s.iter().product()).map(|_| lo + (hi - lo) * random.uniform()).collect())
        .collect();
    fixed.iter().for_each(|(i, x)| args[*i].clone_from(x));
    if case.op == Op::Select {
        args[0] = vec![1.0, 0.0, 1.0];
    }
    let run = |args: &[Vec<f64>]| {
        let views: Vec<_> =
            args.iter().zip(&case.args).map(|(x, s)| (x.as_slice(), s.as_slice())).collect();
        value(&case.op, &views, &case.to, &no_coin).expect("a value")
    };
    let y = run(&args);
    assert_eq!(y.len(), case.to.iter().product::<usize>(), "{}", case.op.name());
    let dy: Vec<f64> = y.iter().map(|_| random.normal()).collect();
    let mut grads: Vec<Vec<f64>> = args.iter().map(|x| vec![0.0; x.len()]).collect();
    let views: Vec<_> =
        args.iter().zip(&case.args).map(|(x, s)| (x.as_slice(), s.as_slice())).collect();
    let slots: Slots<'_, f64> = grads.iter_mut().map(|g| Some(g.as_mut_slice())).collect();
    back(&case.op, &views, (&dy, &case.to), slots);
    let step = 1e-6;
    for (i, grad) in grads.iter().enumerate() {
        if fixed.iter().any(|(at, _)| *at == i) || (case.op == Op::Select && i == 0) {
            continue;
        }
        for (at, found) in grad.iter().enumerate() {
            let mut moved = args.clone();
            let mut loss = |by: f64| {
                moved[i][at] = args[i][at] + by;
                run(&moved).iter().zip(&dy).map(|(y, d)| y * d).sum::<f64>()
            };
            let expected = (loss(step) - loss(-step)) / (2.0 * step);
            // Products of bits are not differentiated: their operands are steps.
            let expected = if matches!(case.op, Op::And | Op::Not) { 0.0 } else { expected };
            assert!(
                (found - expected).abs() < 1e-5 * (1.0 + expected.abs()),
                "{} operand {i} entry {at}: {found}, by differences {expected} (seed {seed})",
                case.op.name()
            );
        }
    }
}

#[test]
fn every_operation_has_the_derivative_of_its_differences() {
    for op in operations() {
        for (i, case) in cases(&op).iter().enumerate() {
            hold(case, &[], i as u64);
        }
    }
}

#[test]
fn quotients_move_with_their_operands_unless_they_saturate() {
    let slopes = |a: f64, b: f64| {
        let (one, mut grads): (&[usize], _) = (&[1], [[0.0], [0.0]]);
        let slots: Slots<'_, f64> = grads.iter_mut().map(|g| Some(g.as_mut_slice())).collect();
        back(&Op::Div, &[(&[a], one), (&[b], one)], (&[1.0], one), slots);
        grads.map(|[x]| x)
    };
    let large = 2f64.powi(32);
    // From divisors of 1 on no quotient is cut, however large it is.
    assert_eq!(slopes(large, 2.0), [0.5, -large / 4.0]);
    assert_eq!(slopes(-large, 1.0), [1.0, large]);
    assert_eq!(slopes(1.0, 0.5), [2.0, -4.0]);
    assert_eq!(slopes(large, 0.5), [0.0, 0.0]);
    assert_eq!(slopes(1.0, 0.0), [0.0, 0.0]);
}

#[test]
fn gathered_entries_pass_their_derivative_on() {
    let (axis, batch) = (1, 0);
    let case = case(Op::Gather { axis, batch }, &[&[2, 4, 3], &[5]], &[2, 5, 3]);
    hold(&case, &[(1, vec![3.0, 0.0, 3.0, 1.0, 2.0])], 1);
    let batched = Op::Gather { axis: 1, batch: 1 };
    let of = self::case(batched, &[&[2, 4, 3], &[2, 2]], &[2, 2, 3]);
    hold(&of, &[(1, vec![3.0, 0.0, 1.0, 1.0])], 2);
}

/// A program of the compiler's own with random inputs: as the compiler's evaluation takes them, and one after another.
pub(super) fn filled(
    (name, text): (&str, &str),
    model: &str,
) -> (Graph, eval::Inputs, Vec<Arc<Vec<f64>>>) {
    let models =
        [("M", model), ("m", "7"), ("c", "1"), ("b", "2"), ("f", "1"), ("d", "5"), ("k", "3")];
    let options = |all: &[(&str, &str)]| types::Options {
        bindings: all.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect(),
        predicate: None,
        defaults: true,
    };
    let checked = |given: &[(&str, &str)]| {
        let mut sources = Sources::new();
        let id = sources.add(name, text);
        let mut none = |_: &str| Err(slvr_compiler::source::LoadError::NotFound);
        types::check(&mut sources, id, &options(given), &mut none).map(|c| (c.program, sources))
    };
    let Ok((any, _)) = checked(&[("M", model)]).or_else(|_| checked(&[])) else { panic!("{name}") };
    let wanted: Vec<_> =
        models.iter().copied().filter(|(n, _)| any.sizes.iter().any(|(s, _)| s == n)).collect();
    let Ok((program, sources)) = checked(&wanted) else { panic!("{name} with {wanted:?}") };
    let graph = build::build(&program, &sources).expect("a graph");
    let mut random = Random::new(3, Purpose::Caller, [2, 0]);
    let mut inputs =
        eval::Inputs { sets: vec![Vec::new(); graph.parties.len()], ..Default::default() };
    let mut flat = Vec::new();
    for input in &graph.inputs {
        let members = input.from.set().map_or(1, |s| graph.parties[s as usize].1);
        let (lo, hi) = (input.range.0.max(-1.0), input.range.1.min(2.0));
        let mut all = Vec::new();
        for member in 0..members {
            let len = input.shape.iter().product::<u64>();
            let one: Vec<f64> = (0..len)
                .map(|_| match input.elem {
                    Elem::Fix => lo + (hi - lo) * random.uniform(),
                    Elem::Int | Elem::Bit => random.below(hi as usize + 1) as f64,
                })
                .collect();
            all.extend_from_slice(&one);
            match input.from.set() {
                None => drop(inputs.public.insert(input.name.clone(), one)),
                Some(set) => {
                    let set = &mut inputs.sets[set as usize];
                    set.resize(members as usize, Default::default());
                    set[member as usize].insert(input.name.clone(), one);
                }
            }
        }
        flat.push(Arc::new(all));
    }
    (graph, inputs, flat)
}

/// Members that follow each other.
pub(super) fn committees(l: &Lots) -> Vec<Vec<u64>> {
    (0..l.rows).map(|i| (1..=l.k).map(|j| (i + j) % l.n).collect()).collect()
}

#[test]
fn predicates_have_the_values_of_the_compiler() {
    for (name, text) in slvr_compiler::syntax::embedded::PREDICATES {
        let (graph, inputs, flat) = filled((name, text), "Mlp[6,4,3]");
        let expected = eval::real(&graph, &inputs, &committees, false).expect("a value").outputs;
        let tape = Tape::new(graph).expect("a tape");
        let given = Given { inputs: &flat, coin: &committees, change: None };
        let values = tape.forward::<f64>(&given, |_| false).expect("a value");
        for ((_, _, expected), output) in expected.iter().zip(&tape.graph().outputs) {
            let found = values[output.node.index()].as_ref().expect("an output");
            let found = found.iter().map(|x| x * output.factor / output.divisor);
            for (found, expected) in found.zip(expected) {
                assert!((found - expected).abs() < 1e-9, "{name}: {found}, there {expected}");
            }
        }
    }
}

/// A tape of nodes that read x, of two entries, and a number.
fn parsed(nodes: &str) -> Result<Tape, TapeError> {
    let text = format!(
        "graph Nodes\nparties Server[1]\ninput 0 x : public fix[2] in -8..8\n\
         input 1 at : public int in 0..9\nsite 0 \"\" line 0\n{nodes}"
    );
    Tape::new(text::parse(&text).unwrap_or_else(|e| panic!("{e}")))
}

/// The derivative by x of the sum of the first output at (3, 5), with this number.
fn by_x(nodes: &str, at: f64) -> Result<Vec<f64>, TapeError> {
    let tape = parsed(nodes)?;
    let inputs = [Arc::new(vec![3.0, 5.0]), Arc::new(vec![at])];
    let values =
        tape.forward(&Given { inputs: &inputs, coin: &no_coin, change: None }, |_| true)?;
    let node = tape.graph().outputs[0].node;
    let seed = vec![1.0; tape.graph().elements(node) as usize];
    Ok(tape.backward(&values, (node, seed), 0))
}

#[test]
fn all_nodes_of_an_input_and_all_places_of_an_operand_count_for_a_derivative() {
    let nodes = "%0 = input 0 : public fix[2] @0
%1 = input 0 : public fix[2] @0
%2 = mul %0 %1 : public fix[2] @0
%3 = mul %2 %2 : public fix[2] @0
reveal %3 to Server as y @0";
    assert_eq!(by_x(nodes, 0.0), Ok(vec![4.0 * 27.0, 4.0 * 125.0]));
    let nothing = "%0 = input 0 : public fix[2] @0
%1 = input 1 : public int @0
reveal %1 to Server as y @0
reveal %0 to Server as x @0";
    assert_eq!(by_x(nothing, 0.0), Ok(vec![0.0, 0.0]));
}

#[test]
fn what_has_no_value_is_named() {
    let gather = "%0 = input 0 : public fix[2] @0
%1 = input 1 : public int @0
%2 = gather %0 %1 axis=0 batch=0 : public fix @0
reveal %2 to Server as y @0";
    assert_eq!(by_x(gather, 1.0), Ok(vec![0.0, 1.0]));
    assert_eq!(by_x(gather, 2.0), Err(TapeError::Index { node: 2, op: "gather" }));
    let large = "%0 = input 1 : public int @0
%1 = reshape %0 : public int[1,1] @0
%2 = broadcast %1 : public int[65536,65537] @0
reveal %2 to Server as y @0";
    let (op, elements) = ("broadcast", 65536 * 65537);
    assert_eq!(parsed(large).err(), Some(TapeError::TooLarge { node: 2, op, elements }));
}
