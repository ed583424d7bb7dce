//! Values in parts are the values.

use super::*;
use crate::graph::eval::testing::{Kind, random_graph, random_inputs, successors};
use crate::graph::eval::{exact, real};
use crate::graph::{text, verify};
use proptest::prelude::*;

/// A graph in which every output is made of two parts along an axis, computed in parts as deep as rules
/// go.
fn halved(graph: &Graph, axis: usize) -> Graph {
    let mut narrow = SlicePushdown::default();
    let mut new = graph.rewrite(|new, id, args| new.keep(graph, id, args));
    for i in 0..new.outputs.len() {
        let id = new.outputs[i].node;
        let Some(&n) = new.shape(id).get(axis).filter(|&&n| n > 1) else { continue };
        let half = |start, len| Part { axis, start, len };
        let parts = [half(0, n / 2), half(n / 2, n - n / 2)]
            .map(|part| narrow.part(&mut new, id, part, &|_| true));
        new.outputs[i].node = new.add(Op::Concat(axis as u64), &parts, 0);
    }
    cse::dead_code(&new)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn parts_are_the_whole(seed: u64, nodes in 4usize..40, axis in 0usize..3) {
        let graph = random_graph(seed, nodes, Kind::Lossless);
        let parts = halved(&graph, axis);
        verify::verify(&parts).expect("well formed");
        let inputs = random_inputs(&graph, seed);
        let run = |g: &Graph| exact(g, &inputs, &successors, false).expect("evaluates").outputs;
        prop_assert_eq!(run(&graph), run(&parts));
    }

    /// With the operations that are there before scales.
    #[test]
    fn parts_of_real_graphs_are_the_whole(seed: u64, nodes in 4usize..40, axis in 0usize..3) {
        let graph = random_graph(seed, nodes, Kind::Real);
        let parts = halved(&graph, axis);
        verify::verify(&parts).expect("well formed");
        let inputs = random_inputs(&graph, seed);
        let Ok(whole) = real(&graph, &inputs, &successors, false) else { return Ok(()) };
        let parts = real(&parts, &inputs, &successors, false).expect("evaluates").outputs;
        let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        for ((_, _, a), (_, _, b)) in whole.outputs.iter().zip(&parts) {
            prop_assert_eq!(bits(a), bits(b));
        }
    }
}

/// Images and kernels in two groups of channels.
const GROUPS: &str = "graph T\nparties Client[4]\nparties Server[1]\nfrac 16\n\
    input 0 w : secret fix[4,3,3,3] in -1..1 from each Client\n\
    input 1 x : secret fix[2,6,8,8] in -1..1 from each Client\nsite 0 \"x\" line 1\n\
    %0 = input 0 : secret fix.16[4,4,3,3,3] @0\n\
    %1 = input 1 : secret fix.16[4,2,6,8,8] @0\n\
    %2 = conv2d %1 %0 stride=1 pad=1 dilation=2 groups=2 : secret fix.32[4,2,4,6,6] @0\n\
    %3 = gate %2 %2 : secret fix.32[4,2,4,6,6] @0\n\
    reveal %3 to Server as y @0\n";

#[test]
fn a_convolution_in_groups_is_computed_with_all_its_channels() {
    let graph = text::parse(GROUPS).expect("a graph");
    let inputs = random_inputs(&graph, 3);
    let outputs = |g: &Graph| exact(g, &inputs, &successors, false).expect("evaluates").outputs;
    for (axis, convolutions) in [(0, 2), (1, 2), (2, 1), (3, 1)] {
        let parts = halved(&graph, axis);
        verify::verify(&parts).expect("well formed");
        let found = parts.ids().filter(|&id| matches!(parts.op(id), Op::Conv2d(_))).count();
        assert_eq!(found, convolutions, "axis {axis}");
        assert_eq!(outputs(&graph), outputs(&parts), "axis {axis}");
    }
}

/// Two layers: weights of each client, images of all; the scores are small.
const LAYERS: &str = "graph T\nparties Client[4]\nparties Server[1]\nfrac 16\n\
    input 0 w : secret fix[2,1,3,3] in -1..1 from each Client\n\
    input 1 x : secret fix[6,1,16,16] in -1..1 from each Client\nsite 0 \"x\" line 1\n\
    %0 = input 0 : secret fix.16[4,2,1,3,3] @0\n\
    %1 = input 1 : secret fix.16[4,6,1,16,16] @0\n\
    %2 = conv2d %1 %0 stride=1 pad=1 : secret fix.32[4,6,2,16,16] @0\n\
    %3 = trunc %2 by=16 : secret fix.16[4,6,2,16,16] @0\n\
    %4 = gate %3 %2 : secret fix.16[4,6,2,16,16] @0\n\
    %5 = sum %4 axes=[3,4] : secret fix.16[4,6,2] @0\n\
    %6 = sum %5 axes=[0,1,2] : secret fix.16[] @0\n\
    reveal %6 to Server as y @0\n";

#[test]
fn large_values_are_made_one_part_after_another() {
    let graph = text::parse(LAYERS).expect("a graph");
    assert_eq!(most(&graph), 24);
    for count in [2, 4, 5, 8, 24] {
        let Blocked { graph: blocked, block } = run(&graph, count);
        verify::verify(&blocked).expect("well formed");
        let gates: Vec<NodeId> = blocked.ids().filter(|&id| *blocked.op(id) == Op::Gate).collect();
        assert!(gates.len() as u64 >= count, "{} gates in {count} blocks", gates.len());
        // One to a block, and all entries once.
        let of: Vec<u32> = gates.iter().map(|g| block[g.index()]).collect();
        assert_eq!(of, (1..=gates.len() as u32).collect::<Vec<_>>());
        let entries: u64 = gates.iter().map(|&g| blocked.elements(g)).sum();
        assert_eq!(entries, 4 * 6 * 2 * 16 * 16);
        let inputs = random_inputs(&graph, 3);
        let outputs = |g: &Graph| exact(g, &inputs, &successors, false).expect("evaluates").outputs;
        assert_eq!(outputs(&graph), outputs(&blocked));
    }
}

#[test]
fn what_others_read_is_computed_whole() {
    let text = LAYERS.replace("    reveal", "").replace(
        "reveal %6",
        "%7 = sum %4 axes=[0] : secret fix.16[6,2,16,16] @0\nreveal %7 to Server as z @0\nreveal %6",
    );
    let graph = text::parse(&text).expect("a graph");
    let blocked = run(&graph, 4).graph;
    let gates = blocked.ids().filter(|&id| *blocked.op(id) == Op::Gate).count();
    assert_eq!(gates, 1);
}
