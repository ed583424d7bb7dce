//! A walk again against a whole walk, on every predicate that comes with the compiler.

use super::super::tape::Change;
use super::super::tests::{committees, filled};
use super::*;
use crate::random::{Purpose, Random};
use slvr_compiler::graph::infer::infer;
use slvr_compiler::graph::verify::verify;
use slvr_compiler::graph::{Giver, Graph, Input, Output, Table, Type, text};
use slvr_compiler::syntax::embedded::PREDICATES;
use slvr_compiler::types::{Conv, Elem};
use std::collections::BTreeSet;

/// The set that gives most inputs, and these.
fn of_a_set(graph: &Graph) -> Option<(usize, Vec<usize>)> {
    let given = |set: u32| -> Vec<usize> {
        let inputs = graph.inputs.iter().enumerate();
        inputs.filter(|(_, i)| i.from.set() == Some(set)).map(|(at, _)| at).collect()
    };
    let sets = (0..graph.parties.len() as u32).map(|s| (graph.parties[s as usize].1, given(s)));
    let (members, inputs) = sets.max_by_key(|(_, inputs)| inputs.len())?;
    (members > 0 && !inputs.is_empty()).then_some((members as usize, inputs))
}

fn given<'a>(inputs: &'a [Arc<Vec<f64>>], change: Change<'a, f64>) -> Given<'a, f64> {
    Given { inputs, coin: &committees, change: Some(change) }
}

#[test]
fn a_walk_again_has_the_values_of_a_whole_one() {
    for (name, text) in PREDICATES {
        for (rows, seed) in [(&[0usize][..], 1), (&[1, 2], 2), (&[0, 1, 2], 3), (&[], 4)] {
            let (graph, _, flat) = filled((name, text), "Mlp[6,4,3]");
            let Some((members, inputs)) = of_a_set(&graph) else { continue };
            let rows: Vec<usize> = rows.iter().copied().filter(|row| *row < members).collect();
            let tape = Tape::new(graph).expect("a tape");
            let whole: Vec<NodeId> =
                tape.graph().ids().filter(|id| seed == 3 && is_sort(&tape, *id)).collect();
            // What is changed hangs on all of a value.
            let change = |id: NodeId, x: &mut Vec<f64>| {
                if whole.contains(&id) {
                    let most = x.iter().fold(0.0, |most: f64, x| most.max(*x));
                    x.iter_mut().step_by(2).for_each(|x| *x = most - *x);
                }
            };
            let changing = Changing { inputs: &inputs, members, rows: &rows, whole: &whole };
            let base = tape.base::<f64>(&given(&flat, &change), &changing).expect("a base");
            let mut random = Random::new(seed, Purpose::Caller, [4, 0]);
            for _ in 0..2 {
                let mut other = flat.clone();
                for &input in &inputs {
                    let all = Arc::make_mut(&mut other[input]);
                    let each = all.len() / members;
                    for row in &rows {
                        // Integers stay what they are: they are labels.
                        for x in &mut all[row * each..][..each] {
                            let by = random.normal();
                            *x += if x.fract() == 0.0 { 0.0 } else { by };
                        }
                    }
                }
                let expected =
                    tape.forward::<f64>(&given(&other, &change), |_| false).expect("values");
                let found = tape.again(&base, &given(&other, &change)).expect("values");
                for output in &tape.graph().outputs {
                    let at = output.node.index();
                    let (found, expected) = (found[at].as_ref(), expected[at].as_ref());
                    let pairs = found.unwrap().iter().zip(expected.unwrap().iter());
                    for (found, expected) in pairs {
                        let near = (found - expected).abs() <= 1e-12 * (1.0 + expected.abs());
                        assert!(near, "{name}, members {rows:?}, seed {seed}: {found}, {expected}");
                    }
                }
            }
        }
    }
}

fn is_sort(tape: &Tape, id: NodeId) -> bool {
    let sorts = |of: NodeId| {
        let op = tape.graph().op(of);
        matches!(op, Op::Sort | Op::SortSum { .. }) && tape.args(of).contains(&id)
    };
    tape.graph().ids().any(sorts)
}

/// Otherwise a search takes as long as whole walks, and nobody sees it.
#[test]
fn what_models_say_of_updates_is_computed_for_members_alone() {
    for name in ["slvr_accuracy", "slvr_confidence"] {
        let file = PREDICATES.iter().find(|(n, _)| n.contains(name)).expect("a predicate");
        for model in ["Mlp[6,4,3]", "DigitsNet"] {
            let (graph, _, flat) = filled(*file, model);
            let tape = Tape::new(graph).expect("a tape");
            let inputs: Vec<usize> = (tape.graph().inputs.iter().enumerate())
                .filter_map(|(at, input)| (input.name == "update").then_some(at))
                .collect();
            assert_eq!(inputs.len(), 1);
            let changing = Changing { inputs: &inputs, members: 7, rows: &[3], whole: &[] };
            let given = Given { inputs: &flat, coin: &committees, change: None };
            let base = tape.base::<f64>(&given, &changing).expect("a base");
            let read = tape.graph().ids().filter(|id| tape.is_read(*id));
            let products: Vec<Blocks> = read
                .filter(|id| matches!(tape.graph().op(*id), Op::MatMul { .. } | Op::Conv2d(_)))
                .map(|id| base.blocks[id.index()])
                .collect();
            let of = |blocks| products.iter().filter(|b| **b == blocks).count();
            assert!(of(Blocks::Rows) >= 2, "{name} {model}: {products:?}");
            assert_eq!(of(Blocks::All), 0, "{name} {model}: {products:?}");
        }
    }
}

/// An operation with random attributes, that an operand of this shape may have.
fn drawn(random: &mut Random, shape: &[u64], members: u64) -> Op {
    let mut below = |n: u64| random.below(n.max(1) as usize) as u64;
    let rank = shape.len() as u64;
    let axis = below(rank);
    let long = shape.get(axis as usize).copied().unwrap_or(1);
    match below(34) {
        0 => Op::Sum((0..rank).filter(|_| below(2) == 0).collect()),
        1 => Op::Max(axis),
        2 => Op::Min(axis),
        3 => Op::SortSum { lo: 0, hi: 1 + below(long) },
        4 => Op::OneHot(3),
        5 | 6 => Op::MatMul { trans_b: below(2) == 0 },
        7..10 => Op::Conv2d(Conv { stride: 1, pad: below(2), dilation: 1, groups: 1 + below(2) }),
        10 => Op::MaxPool { k: 1 + below(2), stride: 1 },
        11 => Op::Transpose((0..rank).map(|i| (i + 1 + axis) % rank).collect()),
        12 => Op::Transpose((0..rank).map(|i| if i == 0 { 0 } else { rank - i }).collect()),
        13 => Op::Slice { axis, start: below(long), len: 1, step: 1 },
        14 => Op::Concat(axis),
        15 => Op::Broadcast(shape.iter().map(|d| if *d == 1 { members } else { *d }).collect()),
        16 | 17 => Op::Gather { axis, batch: below(axis + 1) },
        18..24 => {
            let (mut left, mut to) = (shape.iter().product::<u64>(), Vec::new());
            for _ in 0..below(5) {
                let parts: Vec<u64> = (1..=left).filter(|p| left.is_multiple_of(*p)).collect();
                to.push(parts[below(parts.len() as u64) as usize]);
                left /= to[to.len() - 1];
            }
            Op::Reshape([&to[..], &[left]].concat())
        }
        24 => Op::Add,
        25 => Op::Mul,
        26 => Op::Lt,
        27 => Op::Select,
        28 => Op::Gate,
        29 => Op::Sort,
        30 => Op::ArgMax,
        31 => Op::ArgMaxIs,
        32 => Op::Relu,
        _ => Op::ToInt,
    }
}

/// A graph of random operations on what members give and on constants, of axes that are as long by chance.
fn random_graph(random: &mut Random, members: u64) -> Graph {
    let mut graph = Graph::default();
    graph.parties = vec![("C".into(), members)];
    graph.sites = vec![Default::default()];
    let add = |graph: &mut Graph, op: &Op, args: &[NodeId]| {
        let types: Vec<&Type> = args.iter().map(|a| graph.ty(*a)).collect();
        let ty = infer(graph, op, &types).ok()?;
        let fits = ty.shape.iter().product::<u64>() <= 200 && ty.shape.len() < 6;
        let mut more = graph.clone();
        more.add_typed(op.clone(), ty, args, 0);
        (fits && verify(&more).is_ok()).then(|| *graph = more)
    };
    for i in 0..12 {
        let sizes = [1, 2, members, 2 * members];
        let shape: Vec<u64> = (0..random.below(4)).map(|_| sizes[random.below(4)]).collect();
        let elem = [Elem::Fix, Elem::Fix, Elem::Int][random.below(3)];
        if i < 4 {
            let (name, from, range) = (format!("x{i}"), Giver::Each(0), (0.0, 1.0));
            let (fields, one_hot, frac) = (Vec::new(), None, None);
            graph.inputs.push(Input { name, from, elem, range, shape, fields, one_hot, frac });
            add(&mut graph, &Op::Input(i), &[]);
        } else {
            let data = (0..shape.iter().product()).map(|_: u64| random.below(2) as f64).collect();
            add(&mut graph, &Op::Const(Table { shape, data }, elem, None), &[]);
        }
    }
    for _ in 0..90 {
        let n = graph.len();
        let a = NodeId((n - 1 - random.below(n).min(random.below(n))) as u32);
        let op = drawn(random, graph.shape(a), members);
        let _ = (0..40).find_map(|_| {
            let args = [a, NodeId(random.below(n) as u32), NodeId(random.below(n) as u32)];
            // Of a constant it is known that what is looked up is there.
            let there = matches!(graph.op(args[1]), Op::Const(..));
            let count = op.facts().operands.unwrap_or(2);
            let may = there || !matches!(op, Op::Gather { .. });
            may.then(|| add(&mut graph, &op, &args[..count])).flatten()
        });
    }
    let read = |id: &NodeId| graph.users(*id).is_empty() || id.index().is_multiple_of(9);
    for node in graph.ids().filter(read).collect::<Vec<_>>() {
        let (name, fields, state) = (format!("y{}", node.index()), Vec::new(), None);
        let (to, factor, divisor, site) = (0, 1.0, 1.0, 0);
        graph.outputs.push(Output { name, to, state, node, factor, divisor, fields, site });
    }
    graph
}

/// Shapes that fit by chance, too, and to the last bit.
#[test]
fn a_walk_again_has_the_bits_of_a_whole_one_on_random_graphs() {
    let mut by_rows = BTreeSet::new();
    for seed in 0..150 {
        // Of one that panics, too, it is known which it was: the last.
        println!("seed {seed}");
        let mut random = Random::new(seed, Purpose::Caller, [6, 0]);
        let members = 1 + random.below(4);
        let tape = Tape::new(random_graph(&mut random, members as u64)).expect("a tape");
        let graph = tape.graph();
        let mut all = |i: &Input| -> Vec<f64> {
            let len = graph.input_shape(i).iter().product();
            (0..len).map(|_: u64| random.below(3) as f64).collect()
        };
        let [flat, other] = [(); 2].map(|()| graph.inputs.iter().map(&mut all).collect::<Vec<_>>());
        for set in 0..1 << members {
            let rows: Vec<usize> = (0..members).filter(|row| set >> row & 1 == 1).collect();
            // Any value may be changed as a whole, an input as well; but indices are there.
            let may = |id: &NodeId| (id.index() + set).is_multiple_of(13);
            let may = |id: &NodeId| may(id) && !matches!(graph.op(*id), Op::Const(..));
            let whole: Vec<NodeId> = graph.ids().filter(may).collect();
            let change = |id, x: &mut Vec<f64>| {
                if whole.contains(&id) {
                    x.reverse();
                }
            };
            let mut then = flat.clone();
            for (then, other) in then.iter_mut().zip(&other) {
                let each = then.len() / members;
                let own = rows.iter().flat_map(|row| row * each..(row + 1) * each);
                own.for_each(|at| then[at] = other[at]);
            }
            let shared = |x: &[Vec<f64>]| x.iter().cloned().map(Arc::new).collect::<Vec<_>>();
            let (flat, then) = (shared(&flat), shared(&then));
            let changing = Changing { inputs: &[0, 1, 2, 3], members, rows: &rows, whole: &whole };
            let base = tape.base::<f64>(&given(&flat, &change), &changing).expect("a base");
            let expected = tape.forward::<f64>(&given(&then, &change), |_| false).expect("values");
            let found = tape.again(&base, &given(&then, &change)).expect("values");
            for output in &graph.outputs {
                let bits = |x: &Values<f64>| -> Vec<u64> {
                    let x = x[output.node.index()].as_ref().expect("an output");
                    x.iter().map(|x| x.to_bits()).collect()
                };
                let why = || format!("seed {seed}, members {rows:?}\n{}", text::print(graph));
                assert_eq!(bits(&found), bits(&expected), "{} {}", output.name, why());
            }
            let changed = graph.ids().filter(|id| base.blocks[id.index()] == Blocks::Rows);
            by_rows.extend(changed.map(|id| graph.op(id).name()));
        }
    }
    assert!(by_rows.len() >= 25, "too few operations are computed by rows: {by_rows:?}");
}
