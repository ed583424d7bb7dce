//! Random graphs of all operations: values are those of the evaluation in floating point, and derivatives are
//! its differences.

use super::super::flow::flows;
use super::*;
use crate::graph::eval::testing::{Kind, random_graph};
use crate::graph::eval::{Inputs, Tensors, real};

/// The inputs at a point.
fn given(graph: &Graph, point: &Point) -> Inputs {
    let sets = graph.parties.iter().map(|p| vec![Tensors::new(); p.1 as usize]).collect();
    let mut out = Inputs { sets, ..Inputs::default() };
    for (i, input) in graph.inputs.iter().enumerate() {
        let len = input.shape.iter().product::<u64>() as usize;
        let of = |start: usize| (start..start + len).map(|e| point.input(i, input, e)).collect();
        match input.from.set() {
            None => drop(out.public.insert(input.name.clone(), of(0))),
            Some(set) => {
                for (m, tensors) in out.sets[set as usize].iter_mut().enumerate() {
                    tensors.insert(input.name.clone(), of(m * len));
                }
            }
        }
    }
    out
}

fn moved(inputs: &Inputs, graph: &Graph, input: usize, entry: usize, by: f64) -> Inputs {
    let declared = &graph.inputs[input];
    let len = declared.shape.iter().product::<u64>().max(1) as usize;
    let mut out = inputs.clone();
    let set = declared.from.set().expect("secret") as usize;
    let tensor = out.sets[set][entry / len].get_mut(&declared.name).expect("given");
    tensor[entry % len] += by;
    out
}

#[test]
fn values_and_derivatives_are_those_of_the_evaluation() {
    let (mut values, mut slopes) = (0, 0);
    for seed in 0..300 {
        let graph = random_graph(seed, 30, Kind::Real);
        let known = BTreeSet::new();
        let outputs: Vec<usize> = (0..graph.outputs.len()).collect();
        let mut all = scalars(&graph, &flows(&graph, &known), &outputs).expect("small");
        // What is cut of one client's value has no slope of its own (`flat`).
        all.all
            .iter_mut()
            .filter(|s| s.owner != Owner::Nobody)
            .for_each(|s| s.owner = Owner::Several);
        let point = Point { seed, public: Given::Any, coins: None };
        let inputs = given(&graph, &point);
        let coin = |lots: &crate::types::Lots| -> Vec<Vec<u64>> {
            let (n, k) = (lots.rows, lots.k);
            let at = |i: u64, j: u64| point.drawn(lots, (i * k + j) as usize) as u64;
            (0..n).map(|i| (0..k).map(|j| at(i, j)).collect()).collect()
        };
        let Ok(done) = real(&graph, &inputs, &coin, true) else { continue };
        let finite = done.values.iter().flatten().flat_map(|v| v.iter()).all(|x| x.abs() < 1e12);
        let Some(found) =
            evaluate(&graph, &all, &known, &point, (Mode::Local, &World::new())).filter(|_| finite)
        else {
            continue;
        };
        for (scalar, form) in all.all.iter().zip(&found.forms) {
            let expected = done.values[scalar.node.index()].as_ref().expect("kept")[scalar.entry];
            let near = (form.value - expected).abs() <= 1e-6 * (1.0 + expected.abs());
            assert!(near, "seed {seed} %{}: {} {expected}", scalar.node.index(), form.value);
            values += 1;
        }
        // Derivatives by a few entries of inputs.
        let entries = all.all.iter().zip(&found.forms).filter(|(s, f)| {
            matches!(graph.op(s.node), Op::Input(i) if graph.inputs[*i as usize].elem == crate::types::Elem::Fix)
                && f.terms.len() == 1
        });
        for (scalar, form) in entries.step_by(5).take(4) {
            let Op::Input(input) = graph.op(scalar.node) else { continue };
            let column = form.terms[0].0;
            let at = |by: f64| {
                let inputs = moved(&inputs, &graph, *input as usize, scalar.entry, by);
                real(&graph, &inputs, &coin, true).ok()
            };
            let h = 1e-5;
            let (Some(up), Some(down)) = (at(h), at(-h)) else { continue };
            for (o, entries) in &all.reveals {
                let node = graph.outputs[*o].node.index();
                for &e in entries {
                    let value = |run: &crate::graph::eval::Evaluated<f64>| {
                        run.values[node].as_ref().expect("kept")[all.all[e as usize].entry]
                    };
                    let (right, left) =
                        ((value(&up) - value(&done)) / h, (value(&done) - value(&down)) / h);
                    let size = 1.0 + right.abs().max(left.abs());
                    // Not where it changes over, or bends much.
                    if !(right - left).is_finite() || (right - left).abs() > 1e-4 * size {
                        continue;
                    }
                    let terms = &found.forms[e as usize].terms;
                    let slope = terms.iter().find(|t| t.0 == column).map_or(0.0, |t| t.1);
                    let near = (slope - (right + left) / 2.0).abs() <= 1e-3 * size;
                    assert!(near, "seed {seed} %{node}: {slope} {left} {right}");
                    slopes += usize::from(slope != 0.0);
                }
            }
        }
    }
    assert!(values > 10_000 && slopes > 300, "{values} {slopes}");
}
