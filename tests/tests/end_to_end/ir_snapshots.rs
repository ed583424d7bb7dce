//! The final graph of a few predicates at small sizes, and the circuits of the smallest, as text: what a change of a pass or
//! of lowering does to a program can be read here. That nothing changes unmeant is for `artifacts`, which has all of them.
//!
//! A change that is meant: `INSTA_UPDATE=always cargo test -p slvr-tests --test end_to_end ir_snapshots`, then read
//! the difference.

use slvr_compiler::graph;
use slvr_tests::{bindings, compile, predicate};

/// Predicates and sizes, and whether the circuit is short enough to read.
const SIZES: &[(&str, &str, bool)] = &[
    ("krum", "M=Mlp[3,2,2] m=5 f=1", false),
    ("norm_bound_public", "M=Mlp[3,2,2] m=3", true),
    ("secure_aggregation", "M=Mlp[3,2,2] m=3", true),
    ("slvr_accuracy", "M=Mlp[3,2,2] m=5 c=1 b=2", false),
    ("weighted_aggregation", "M=Mlp[3,2,2] m=3", true),
];

#[test]
fn final_graphs_and_small_circuits() {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_snapshot_path("snapshots/ir");
    for (name, sizes, short) in SIZES {
        let case = compile(predicate(name), &bindings(sizes));
        let graph = graph::text::print(&case.compiled.optimised);
        settings.bind(|| insta::assert_snapshot!(format!("{name}.graph"), graph));
        if *short {
            let circuit = slvr_circuit::text::print(case.circuit());
            settings.bind(|| insta::assert_snapshot!(format!("{name}.circuit"), circuit));
        }
    }
}
