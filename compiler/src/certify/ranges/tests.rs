use super::*;
use crate::graph::text;

/// Bounds of a graph in text form, with the given input bounds.
fn ranges(body: &str, inputs: &[Bound]) -> (Graph, Ranges) {
    let graph = text::parse(body).expect("a graph");
    let ranges = Ranges::of(&graph, inputs);
    (graph, ranges)
}

#[test]
fn widths_are_tight() {
    assert_eq!(signed_bits((0.0, 0.0)), 1);
    assert_eq!(signed_bits((-1.0, 0.0)), 1);
    assert_eq!(signed_bits((0.0, 1.0)), 2);
    assert_eq!(signed_bits((-8.0, 7.0)), 4);
    assert_eq!(signed_bits((-8.0, 8.0)), 5);
    assert_eq!(signed_bits((-1e15, 1e15)), 51);
}
