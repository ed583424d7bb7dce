//! Tests that pages of the book show.

// ANCHOR: pin
use slvr_compiler::graph::text;
use slvr_tests::{compile, predicate};

/// The graph of a small instance is pinned; of a large one, what it reveals, and a budget.
#[test]
fn norm_bound_is_what_was_reviewed() {
    let small = compile(predicate("norm_bound"), &[("M", "Mlp[2,2,2]"), ("m", "3")]);
    insta::assert_snapshot!("norm_bound", text::print(&small.compiled.optimised));

    let large = compile(predicate("norm_bound"), &[("M", "DigitsNet"), ("m", "40")]);
    let revealed: Vec<&str> = large.circuit().outputs.iter().map(|o| o.name.as_str()).collect();
    assert_eq!(revealed, ["aggregate"]);
    assert!(large.circuit().rounds() <= 60, "{} rounds", large.circuit().rounds());
}
// ANCHOR_END: pin
