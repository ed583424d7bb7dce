//! The final graph of every predicate at small sizes, and the circuits of the smallest, as text: a
//! change of any pass or of lowering shows here.
//!
//! A change that is meant: `INSTA_UPDATE=always cargo test -p slvr-tests --test end_to_end ir_snapshots`, then read
//! the difference.

use slvr_compiler::graph;
use slvr_compiler::syntax::embedded::PREDICATES;
use slvr_tests::{compile, predicate};

/// Predicates and sizes.
const SIZES: &[(&str, &str)] = &[
    ("coordinate_median", "d=2 m=4"),
    ("coordinate_trimmed_mean", "d=2 m=5 c=1"),
    ("cosine_similarity", "M=Mlp[3,2,2] m=3"),
    ("fltrust", "M=Mlp[3,2,2] m=3"),
    ("krum", "M=Mlp[3,2,2] m=5 f=1"),
    ("linf_bound", "M=Mlp[3,2,2] m=3"),
    ("multi_krum", "M=Mlp[3,2,2] m=5 f=1 k=2"),
    ("norm_ball", "M=Mlp[3,2,2] m=3"),
    ("norm_bound", "M=Mlp[3,2,2] m=3"),
    ("norm_bound_public", "M=Mlp[3,2,2] m=3"),
    ("secure_aggregation", "M=Mlp[3,2,2] m=3"),
    ("slvr_accuracy", "M=Mlp[3,2,2] m=5 c=1 b=2"),
    ("slvr_confidence", "M=Mlp[3,2,2] m=5 c=1 b=2"),
    ("validation_loss", "M=Mlp[3,2,2] m=3 c=1 b=2"),
    ("weighted_aggregation", "M=Mlp[3,2,2] m=3"),
];

/// Those whose circuits are short enough to read.
const CIRCUITS: [&str; 3] = ["secure_aggregation", "weighted_aggregation", "norm_bound_public"];

#[test]
fn final_graphs_and_small_circuits() {
    let mut listed: Vec<&str> = SIZES.iter().map(|(name, _)| *name).collect();
    let mut all: Vec<&str> = PREDICATES.iter().map(|(f, _)| f.trim_end_matches(".slvr")).collect();
    listed.sort_unstable();
    all.sort_unstable();
    assert_eq!(listed, all, "every predicate once");

    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_snapshot_path("snapshots/ir");
    for (name, sizes) in SIZES {
        let bindings: Vec<(&str, &str)> =
            sizes.split_whitespace().filter_map(|b| b.split_once('=')).collect();
        let case = compile(predicate(name), &bindings);
        let graph = graph::text::print(&case.compiled.optimised);
        settings.bind(|| insta::assert_snapshot!(format!("{name}.graph"), graph));
        if CIRCUITS.contains(name) {
            let circuit = slvr_circuit::text::print(case.circuit());
            settings.bind(|| insta::assert_snapshot!(format!("{name}.circuit"), circuit));
        }
    }
}
