//! The paper's check, end to end: from `predicates/slvr_accuracy.slvr` to a revealed aggregate, every
//! representation held against the next.

use slvr_tests::{Case, compile, distance, predicate, random_inputs};

fn case(m: u64, b: u64) -> Case {
    let (m, b) = (m.to_string(), b.to_string());
    let sizes = [("M", "DigitsNet"), ("m", m.as_str()), ("c", "1"), ("b", b.as_str())];
    compile(predicate("slvr_accuracy"), &sizes)
}

/// The public model is evaluated once on each client's images, not for each committee that the client
/// is in; an updated model once on those of each member of its committee.
#[test]
fn each_image_is_classified_once_by_each_model() {
    let (m, b, members) = (6, 3, 3);
    let graph = case(m, b).compiled.optimised;
    let weights = |id| graph.ty(graph.arg(id, 1)).secrecy;
    let convolutions: Vec<_> = graph
        .ids()
        .filter(|&id| matches!(graph.op(id), slvr_compiler::graph::Op::Conv2d { .. }))
        .map(|id| (weights(id), graph.shape(id)[0] * graph.shape(id)[1]))
        .collect();
    use slvr_compiler::syntax::ast::Secrecy::{Public, Secret};
    let one = [(Public, m * b), (Public, m * b)];
    let other = [(Secret, m * members * b), (Secret, m * members * b)];
    assert_eq!(convolutions, [one, other].concat());
}

/// Floating point, the graph before and after every pass, ring arithmetic of graph and circuit, and
/// three parties give the same aggregate.
#[test]
fn all_evaluations_agree() {
    let case = case(6, 3);
    for seed in 0..4 {
        println!("seed {seed}");
        let inputs = random_inputs(case.circuit(), seed, 0.02 + 0.01 * seed as f64);
        let report = case.parties(&inputs, seed);
        let parties: Vec<Vec<f64>> = report.outputs.iter().map(|o| o.values.clone()).collect();
        let coins = &report.coins;

        let floating = case.floating(&inputs, coins);
        let before = case.graph_real(&case.compiled.graph, &inputs, coins);
        assert!(distance(&floating, &before) < 1e-9, "seed {seed}: program, graph");
        slvr_compiler::passes::run(&case.compiled.graph, |pass, graph| {
            let after = case.graph_real(graph, &inputs, coins);
            let d = distance(&before, &after);
            assert!(d < 1e-9, "seed {seed}: graph after {}: {d}", pass.name);
        })
        .expect("no constant is lost");
        let exact = case.graph_exact(&inputs, coins);
        let clear = case.circuit_clear(&inputs, coins, seed);
        // Selection bits agree. Updates are dealt with more fraction bits than they are used with, and
        // rounded among the parties: each by less than a unit.
        let d = distance(&exact, &clear);
        assert!(d < 6.0 / 65536.0, "seed {seed}: graph in ring arithmetic, circuit: {d}");
        let d = distance(&clear, &parties);
        assert!(d < 6.0 / 65536.0, "seed {seed}: circuit, three parties: {d}");
        // Each of up to m inputs is rounded by half a unit.
        let d = distance(&floating, &parties);
        assert!(d < 1e-4, "seed {seed}: floating point, three parties: {d}");
    }
}

/// Comprehensions are batch axes: the circuit does not grow with clients or samples. Only tables do,
/// and the few instructions of a carry tree when counts need another bit.
#[test]
fn circuit_does_not_grow_with_clients_or_samples() {
    let sizes = [(10, 10), (10, 8), (40, 10)].map(|(m, b)| {
        let case = case(m, b);
        (case.compiled.graph.len(), case.circuit().instructions(), case.circuit().rounds())
    });
    let [(g0, i0, r0), (g1, i1, r1), (g2, i2, r2)] = sizes;
    assert_eq!((g0, g0), (g1, g2), "nodes of the graph");
    assert_eq!(r0, r1, "fewer samples");
    // Ranks of 40 clients are functions of too many bits for tables: they are counted and compared.
    assert_eq!((r0, r2), (31, 37), "rounds for 10 and for 40 clients");
    assert_eq!((i0, i1, i2), (1399, 1399, 1648), "instructions");
}
