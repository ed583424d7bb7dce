//! The proven interval of every value contains what exact evaluation sees, on random inputs in their
//! declared ranges, spread over all of them and over a small part of them.
//!
//! 200 inputs each, with `SLVR_EFFORT=full` 1,000; `SLVR_COUNT` is another number.

use slvr_compiler::graph::eval::exact_wide;
use slvr_compiler::syntax::embedded::PREDICATES;
use slvr_tests::{Case, committees, compile, graph_inputs, predicate, random_inputs, sizes};

/// Random inputs per predicate.
fn runs() -> u64 {
    slvr_tests::long::part(200, 1000)
}

/// Holds one run against the ranges.
fn contained(name: &str, case: &Case, seed: u64, spread: f64) {
    let inputs = random_inputs(case.circuit(), seed, spread);
    let coins: Vec<u128> = (0..8).map(|i| u128::from(seed) << 64 | i << 32 | 7).collect();
    let graph = &case.compiled.optimised;
    let draw = committees(&coins);
    let done = exact_wide(graph, &graph_inputs(&inputs), &draw, true).expect("evaluates");
    for id in graph.ids() {
        let (lo, hi) = case.compiled.ranges.raw[id.index()];
        let Some(values) = &done.values[id.index()] else { continue };
        let least = values.iter().min().copied().unwrap_or(0) as f64;
        let most = values.iter().max().copied().unwrap_or(0) as f64;
        assert!(
            values.is_empty() || (lo <= least && most <= hi),
            "{name}, seed {seed}, spread {spread}: %{} = {} is in {least}..{most}, proven {lo}..{hi}",
            id.index(),
            graph.op(id).name(),
        );
        let norm = case.compiled.ranges.norm[id.index()];
        let rows = graph.shape(id).first().copied().unwrap_or(1).max(1) as usize;
        for row in values.chunks((values.len() / rows).max(1)) {
            let length = row.iter().map(|&x| (x as f64).powi(2)).sum::<f64>().sqrt();
            assert!(
                length <= norm * (1.0 + 1e-9),
                "{name}, seed {seed}: %{} has a row of norm {length}, proven {norm}",
                id.index()
            );
        }
    }
}

#[test]
fn ranges_contain_what_happens() {
    for (file, _) in PREDICATES {
        let name = file.trim_end_matches(".slvr");
        let (sizes, spread) = sizes(name);
        let case = compile(predicate(name), &sizes);
        // Outside the domain of a function nothing is claimed.
        let spreads = [spread, 1.0];
        for seed in 0..runs() {
            contained(name, &case, seed, spreads[seed as usize % 2]);
        }
    }
}

/// The ranges are of use on real networks: 64 bits suffice for LeNet-5 with few cuts and for ResNet-18
/// with more.
#[test]
fn networks_fit() {
    let lenet =
        compile(predicate("slvr_accuracy"), &[("M", "LeNet5"), ("m", "4"), ("c", "1"), ("b", "2")]);
    assert!(lenet.compiled.cut.is_some_and(|c| c.top >= 12), "{:?}", lenet.compiled.cut);
    let resnet = compile(
        predicate("slvr_accuracy"),
        &[("M", "ResNet18"), ("m", "4"), ("c", "1"), ("b", "2")],
    );
    assert!(resnet.compiled.cut.is_some_and(|c| c.top >= 5), "{:?}", resnet.compiled.cut);
}
