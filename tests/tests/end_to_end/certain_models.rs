//! Models whose weights are at the ends of their range are certain of everything: their soft scores are 1, or nearly.
//! Whose of them are kept is then decided within the margins of the comparisons, and an aggregate may differ from that
//! of floating point by whole clients. It does so nowhere else.

use slvr_compiler::analysis::errors::{errors, input_errors};
use slvr_compiler::graph::eval;
use slvr_compiler::types::Elem;
use slvr_runtime::share::encode::Inputs;
use slvr_tests::agree::fill;
use slvr_tests::{
    Case, Random, committees, compile, distance, graph_inputs, margins, predicate, random_inputs,
};
use std::cell::RefCell;

type Values = Vec<Vec<f64>>;

/// Every node in floating point and in exact words.
fn traced(case: &Case, inputs: &Inputs, coins: &[u128]) -> (Values, Values) {
    let (graph, given) = (&case.compiled.optimised, graph_inputs(inputs));
    let real = eval::real(graph, &given, &committees(coins), true).expect("in floating point");
    let exact = eval::exact_wide(graph, &given, &committees(coins), true).expect("in words");
    let real = real.values.iter().map(|v| v.as_ref().map_or(Vec::new(), |v| v.to_vec()));
    let exact = exact
        .values
        .iter()
        .map(|v| v.as_ref().map_or(Vec::new(), |v| v.iter().map(|&word| word as f64).collect()));
    (real.collect(), exact.collect())
}

#[test]
fn soft_scores_of_certain_models_differ_only_within_their_margins() {
    let sizes = [("M", "Mlp[9,hidden=4]"), ("m", "8"), ("c", "2"), ("b", "2")];
    let case = compile(predicate("slvr_confidence"), &sizes);
    let compiled = &case.compiled;
    let graph = &compiled.optimised;
    let given = input_errors(graph, &compiled.guards);
    let errors = errors(graph, &compiled.ranges.raw, &given, &compiled.stated);
    let proven = errors.output(graph, 0);
    let (mut far, mut flipped, mut as_in_reals) = (0, 0, 0);
    for seed in 0..60u64 {
        let random = RefCell::new(Random::new(seed));
        let draw = || (random.borrow_mut().unit() * 3.0) as usize;
        let mut inputs = random_inputs(case.circuit(), seed, 1.0);
        fill(&mut inputs, |_, _| [-8.0, 0.0, 8.0][draw()]);
        let coins: Vec<u128> = (0..8).map(|i| u128::from(seed) << 64 | i).collect();
        let (real, exact) = traced(&case, &inputs, &coins);
        let mut within = 0;
        for d in &errors.decisions {
            let at = d.node.index();
            if graph.ty(d.node).elem != Elem::Bit {
                continue;
            }
            let distances = margins::distances(graph, d.node, &real);
            assert_eq!(distances.len(), real[at].len(), "an entry each");
            for (distance, (x, y)) in distances.iter().zip(real[at].iter().zip(&exact[at])) {
                let margin = d.margin;
                if x != y {
                    let name = &graph.site(d.node).name;
                    assert!(*distance <= margin, "seed {seed}: `{name}`, {distance} > {margin}");
                    flipped += 1;
                }
                within += usize::from(*distance <= margin);
            }
        }
        let floating = case.floating(&inputs, &coins);
        let found = case.circuit_clear(&inputs, &coins, seed);
        let off = distance(&floating, &found);
        assert!(off <= proven + 1e-9 || within > 0, "seed {seed}: {off}, and no near decision");
        far += u64::from(off > 1.0);
        as_in_reals += u64::from(off <= proven + 1e-9);
    }
    println!(
        "{flipped} decisions fell otherwise; {far} aggregates are off by more than 1, {as_in_reals} are not off"
    );
    // A test of nothing holds as well.
    assert!(far > 0 && flipped > 0 && as_in_reals > 0);
}
