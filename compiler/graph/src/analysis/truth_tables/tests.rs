//! Functions against the values of nodes.

use super::*;
use crate::graph::eval::testing::{Kind, random_graph, random_inputs, successors};
use crate::graph::eval::{Inputs, exact};
use crate::graph::{Graph, NodeId, text};
use proptest::prelude::*;

/// Elements of the nodes that are looked at.
const MOST: u64 = 1 << 14;

/// Every function of every bit has the value that the node has; how many are of more than one bit.
fn check(graph: &Graph, inputs: &Inputs) -> usize {
    let Ok(run) = exact(graph, inputs, &successors, true) else { return 0 };
    let value = |node: NodeId, at: usize| {
        let all = run.values[node.index()].as_ref().expect("values are kept");
        all[at] != 0
    };
    let mut functions = Functions::new(graph, MOST);
    let mut found = 0;
    for id in graph.ids() {
        let Some(all) = functions.bits(id) else { continue };
        for (i, f) in all.iter().enumerate() {
            assert_eq!(f.table.len(), 1 << f.of.len());
            let bits = f.of.iter().enumerate();
            let at: usize =
                bits.map(|(j, l)| usize::from(value(l.node, l.at as usize) != l.flip) << j).sum();
            assert_eq!(f.table[at], value(id, i), "element {i} of {id:?}");
            found += usize::from(f.of.len() > 1);
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    /// The failing seed is what proptest prints.
    #[test]
    fn functions_have_the_values_of_nodes(seed: u64) {
        let graph = random_graph(seed, 40, Kind::Lossless);
        check(&graph, &random_inputs(&graph, seed));
    }
}

/// Constants in a conjunction, and complements of what is left.
#[test]
fn constants_are_folded() {
    let graph = text::parse(
        "graph T
parties Client[2]
parties Server[1]
frac 16
input 0 x : secret int[3] in 0..9 from each Client
site 0 \"t\" line 1
%0 = input 0 : secret int.0[2,3] @0
%1 = const 4 : public int.0[1,1] @0
%2 = lt %0 %1 : secret bit[2,3] @0
%3 = const [1, 0, 1] : public bit[1,3] @0
%4 = and %2 %3 : secret bit[2,3] @0
%5 = not %4 : secret bit[2,3] @0
%6 = slice %5 axis=1 start=0 len=2 : secret bit[2,2] @0
%7 = slice %5 axis=1 start=1 len=2 : secret bit[2,2] @0
%8 = and %6 %7 : secret bit[2,2] @0
%9 = xor %8 %6 : secret bit[2,2] @0
reveal %9 to Server as y @0
",
    )
    .unwrap_or_else(|e| panic!("{e}"));
    for seed in 0..40 {
        check(&graph, &random_inputs(&graph, seed));
    }
}

/// Selection by rank: each element is the same function of its comparisons with the others, of which
/// some are read backwards.
#[test]
fn ranks_are_one_function() {
    let graph = text::parse(
        "graph T
parties Client[4]
parties Server[1]
frac 16
input 0 x : secret int[4] in 0..9 from each Client
site 0 \"t\" line 1
%0 = input 0 : secret int.0[4,4] @0
%1 = slice %0 axis=0 start=0 len=1 : secret int.0[1,4] @0
%2 = reshape %1 : secret int.0[4] @0
%3 = const [1, 2, 2, 3, 3, 3] : public int.0[6] @0
%4 = const [0, 0, 1, 0, 1, 2] : public int.0[6] @0
%5 = gather %2 %3 axis=0 batch=0 : secret int.0[6] @0
%6 = gather %2 %4 axis=0 batch=0 : secret int.0[6] @0
%7 = lt %5 %6 : secret bit[6] @0
%8 = const [0, 1, 3, 0, 2, 4, 1, 2, 5, 3, 4, 5] : public int.0[4,3] @0
%9 = to_int %7 : secret int.0[6] @0
%10 = gather %9 %8 axis=0 batch=0 : secret int.0[4,3] @0
%11 = const [1, 1, 1, -1, 1, 1, -1, -1, 1, -1, -1, -1] : public int.0[4,3] @0
%12 = const [0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1] : public int.0[4,3] @0
%13 = mul %10 %11 : secret int.0[4,3] @0
%14 = add %13 %12 : secret int.0[4,3] @0
%15 = sum %14 axes=[1] : secret int.0[4] @0
%16 = const 2 : public int.0[1] @0
%17 = lt %15 %16 : secret bit[4] @0
%18 = slice %0 axis=0 start=1 len=1 : secret int.0[1,4] @0
%19 = reshape %18 : secret int.0[4] @0
%20 = lt %19 %2 : secret bit[4] @0
%21 = and %17 %20 : secret bit[4] @0
%22 = not %21 : secret bit[4] @0
reveal %22 to Server as y @0
",
    )
    .unwrap_or_else(|e| panic!("{e}"));
    for seed in 0..20 {
        assert_eq!(check(&graph, &random_inputs(&graph, seed)), 12);
    }
    let mut functions = Functions::new(&graph, MOST);
    let mut bits = |id: usize| functions.bits(graph.ids().nth(id).expect("a node"));
    // Comparisons of what is no count.
    assert!(bits(7).is_none());
    let mut bits = |id: usize| bits(id).expect("a function of earlier bits");
    for (id, arguments) in [(17, 3), (21, 4), (22, 4)] {
        let all = bits(id);
        assert!(all.iter().all(|f| f.of.len() == arguments && f.table == all[0].table), "%{id}");
    }
    // Fewer than two of three.
    assert_eq!(*bits(17)[0].table, [true, true, true, false, true, false, false, false]);
    // The last of the four reads all its comparisons backwards.
    assert!(bits(17)[3].of.iter().all(|l| l.flip) && !bits(17)[0].of.iter().any(|l| l.flip));
}

/// A graph of two bits and a body from %2 on, whose last node is revealed.
fn of_two_bits(body: &str) -> Graph {
    let last = body.lines().count() + 1;
    let text = format!(
        "graph T\nparties Client[1]\nparties Server[1]\nfrac 16\n\
         input 0 b : secret bit[2] in 0..1 from each Client\n\
         input 1 p : secret bit[2] in 0..1 from each Client\nsite 0 \"t\" line 1\n\
         %0 = input 0 : secret bit[1,2] @0\n%1 = input 1 : secret bit[1,2] @0\n\
         {body}reveal %{last} to Server as y @0\n"
    );
    text::parse(&text).unwrap_or_else(|e| panic!("{e}"))
}

/// Each bit is read once, however often later ones are made of it, and however long they are a chain.
#[test]
fn long_chains_of_bits() {
    let step = |t: usize| {
        let (old, at) = (if t == 0 { 0 } else { 4 * t + 1 }, 4 * t + 2);
        format!(
            "%{at} = and %{old} %1 : secret bit[1,2] @0\n%{} = not %{old} : secret bit[1,2] @0\n\
             %{} = and %{} %1 : secret bit[1,2] @0\n%{} = xor %{at} %{} : secret bit[1,2] @0\n",
            at + 1,
            at + 2,
            at + 1,
            at + 3,
            at + 2
        )
    };
    let graph = of_two_bits(&(0..1000).map(step).collect::<String>());
    let found = check(&graph, &random_inputs(&graph, 1));
    assert!(found > 1000, "{found}");
    let not = |at: usize| format!("%{at} = not %{} : secret bit[1,2] @0\n", at - 1);
    let graph = of_two_bits(&(2..60_002).map(not).collect::<String>());
    let found = Functions::new(&graph, MOST).bits(NodeId(60_001)).expect("bits");
    assert_eq!(found[1].of, [Literal { node: NodeId(1), at: 1, flip: false }]);
}
