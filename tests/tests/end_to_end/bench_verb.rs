//! What `slvrc bench` measures: its predicates compile, compute what they say, and make the inferences
//! that are counted. (The verb itself is tested beside it, where its binary is.)

use slvr_compiler::graph::Op;
use slvr_compiler::pipeline::Options;
use slvr_compiler::syntax::embedded::{self, BENCH};
use slvr_tests::agree::hold;
use slvr_tests::long::is_full;
use slvr_tests::{Case, compile_files, compile_with, random_inputs};

type Sizes<'a> = &'a [(&'a str, &'a str)];

const MAX: &str = "lenet5_max.slvr:LeNet5Max";

fn case(file: &str, sizes: Sizes<'_>) -> Case {
    let text = |name: &str| embedded::get(&format!("bench/{name}")).expect("an embedded file");
    let model = text("lenet5_max.slvr");
    match file {
        // As the verb builds it: scores are the parties' own.
        "top_k.slvr" => {
            compile_with(text(file), sizes, Options { enforce: false, ..Options::default() })
        }
        _ => compile_files(text(file), sizes, &[("lenet5_max.slvr", model)]),
    }
}

/// Images that go through LeNet-5's first convolution (6 filters of 1 x 5 x 5, images of 28 x 28), whoever
/// gives its weights.
fn inferences(case: &Case) -> u64 {
    let graph = &case.compiled.optimised;
    let first = graph.ids().filter(|&id| matches!(graph.op(id), Op::Conv2d { .. }));
    let sizes = first.map(|id| graph.node(id).ty.shape.clone());
    let first = sizes.filter(|s| s.ends_with(&[6, 28, 28]));
    first.map(|s| s.iter().product::<u64>() / (6 * 28 * 28)).sum()
}

#[test]
fn inferences_are_those_that_are_counted() {
    for (n, model) in ["LeNet5", MAX].into_iter().enumerate() {
        let clients = [(10, "1"), (20, "2")];
        for (m, c) in if is_full() { clients.to_vec() } else { vec![clients[n]] } {
            // 2c + 1 pairs of ten images.
            let images = if m == 10 { 30 } else { 50 };
            let sizes = [("M", model), ("c", c), ("b", "10")];
            for (file, expected) in [
                ("accuracy.slvr", 2 * images),
                ("accuracy_secret.slvr", 2 * images),
                ("confidence.slvr", images),
            ] {
                assert_eq!(inferences(&case(file, &sizes)), expected, "{file} {model} m={m}");
            }
        }
    }
}

/// Each client's update is an array of its own, and the compiler guards it.
#[test]
fn norms_are_of_different_arrays_with_enforced_ranges() {
    for model in ["LeNet5", "ResNet18"] {
        let norm = case("norm.slvr", &[("M", model), ("m", "10")]);
        let circuit = norm.circuit();
        let [update] = circuit.inputs.as_slice() else { panic!("one input") };
        let weights = update.shape.iter().product::<u64>();
        assert_eq!(circuit.ty(update.value).elements(), 10 * weights, "{model}");
        assert_eq!(circuit.checks.len(), 1, "{model}: clients are checked");
        let projects = |op: &_| matches!(op, slvr_circuit::Op::Project { .. });
        let all = circuit.layers.iter().flat_map(|l| &l.local);
        assert!(all.into_iter().any(|i| projects(&i.op)), "{model}: against wrap-around");
    }
}

#[test]
fn three_parties_compute_what_the_programs_say() {
    let models = BENCH.iter().filter(|(_, text)| !text.contains("predicate ")).count();
    let small = ("M", "Mlp[9,hidden=4]");
    let pair = [small, ("c", "1"), ("b", "2")];
    let all: [(&str, Sizes<'_>, f64); 5] = [
        ("accuracy.slvr", &pair, 0.1),
        ("accuracy_secret.slvr", &pair, 0.1),
        ("confidence.slvr", &pair, 0.1),
        ("norm.slvr", &[small, ("m", "5")], 0.1),
        ("top_k.slvr", &[("m", "5"), ("c", "1")], 1.0),
    ];
    assert_eq!(all.len() + models, BENCH.len(), "every file once");
    for (file, sizes, spread) in all {
        let case = case(file, sizes);
        for seed in 0..5 {
            let inputs = random_inputs(case.circuit(), seed, spread);
            hold(file, &case, &inputs, seed);
        }
    }
}

/// Both LeNets have the same weights: their norms are one row.
#[test]
fn pooling_has_no_weights() {
    let weights = |model: &str| {
        let case = case("norm.slvr", &[("M", model), ("m", "4")]);
        case.circuit().inputs[0].fields.clone()
    };
    assert_eq!(weights("LeNet5"), weights(MAX));
}

/// The circuits of its other programs are among those that the test `artifacts` knows.
#[test]
fn resnet_compiles() {
    let case = case("confidence.slvr", &[("M", "ResNet18"), ("c", "1"), ("b", "10")]);
    assert!(case.circuit().rounds() > 0);
}
