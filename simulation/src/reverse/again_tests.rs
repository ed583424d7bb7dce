//! A walk again against a whole walk, on every predicate that comes with the compiler.

use super::super::tape::Change;
use super::super::tests::{committees, filled};
use super::*;
use crate::random::{Purpose, Random};
use slvr_compiler::graph::Graph;
use slvr_compiler::syntax::embedded::PREDICATES;

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
