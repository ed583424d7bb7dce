//! Order statistics of so many members that tables of their pairs are made by rules: the same values, intervals and
//! ties as of few, and artifacts that do not grow with the pairs.

use slvr_circuit::{Op, artifact};
use slvr_runtime::share::encode::{Inputs, RawData};
use slvr_tests::{Case, Random, compile, random_inputs};

fn case(value: &str, m: u64) -> Case {
    let text = format!(
        "use std::{{first_argmax, first_argmin, lower_median, median, rank, smallest, sort, sum, top_k, \
         trimmed_mean}};\n{COUNTS}predicate T[m]() {{\n    parties Client[m];\n    parties Server;\n    \
         input x: secret int in 0..100 from each Client;\n    \
         input y: secret fix in -4..4 from each Client;\n    reveal {value} to Server as z;\n}}\n"
    );
    compile(&text, &[("m", &m.to_string())])
}

/// Ranks in the language, in either order, written in any way; all statistics of a sort.
const VALUES: &[&str] = &[
    "rank(x)",
    "top_k[40](x)",
    "first_argmin(x)",
    "first_argmax(y)",
    "sum(top_k[40](x)[i] * y[i] for i in Client)",
    "behind(x)",
    "turned(y)",
    "lower_median(y)",
    "median(x)",
    "trimmed_mean[20, 30](y)",
    "sum(smallest[5](y))",
    "[sort(x)[k] for k in 3]",
    // Of earlier ones only, or with other ties: not ranks.
    "before(x)",
    "below(x)",
];

/// Counts of other entries, which are ranks or not.
const COUNTS: &str = "
fn behind[n](x: fix[n]) -> int[n] {
    [sum(x[j] < x[i] for j in i + 1..n) + sum(x[j] <= x[i] for j in 0..i) for i in n]
}
fn turned[n](x: fix[n]) -> int[n] {
    [sum(x[i] <= x[j] for j in 0..i) + sum(x[i] < x[j] for j in i + 1..n) for i in n]
}
fn before[n](x: fix[n]) -> int[n] {
    [sum(x[j] < x[i] for j in 0..i) for i in n]
}
fn below[n](x: fix[n]) -> int[n] {
    [sum(x[j] < x[i] for j in 0..i) + sum(x[j] < x[i] for j in i + 1..n) for i in n]
}
";

fn ruled(case: &Case) -> bool {
    let layers = case.circuit().layers.iter();
    layers.flat_map(|l| &l.local).any(|i| matches!(i.op, Op::Pairs { .. }))
}

fn inputs(case: &Case, seed: u64) -> Inputs {
    let mut inputs = random_inputs(case.circuit(), seed, 1.0);
    // Many are equal.
    let mut random = Random::new(seed);
    for tensors in inputs.sets.iter_mut().flatten() {
        for tensor in tensors.values_mut() {
            match &mut tensor.data {
                RawData::I64(v) => v.iter_mut().for_each(|x| *x %= 30),
                RawData::F64(v) => v.iter_mut().for_each(|x| {
                    if random.unit() < 0.5 {
                        *x = x.round();
                    }
                }),
            }
        }
    }
    inputs
}

#[test]
fn ranks_by_rules_are_those_of_the_program() {
    let mut by_rule = 0;
    for (v, value) in VALUES.iter().enumerate() {
        let case = case(value, 131);
        by_rule += u32::from(ruled(&case));
        for seed in 0..2 {
            let inputs = inputs(&case, seed + 10 * v as u64);
            let want = case.floating(&inputs, &[]);
            let close = |found: &[Vec<f64>], what: &str| {
                let off = slvr_tests::distance(found, &want);
                assert!(off < 2e-3, "{value}, seed {seed}: {what} is off by {off}");
            };
            close(&case.graph_exact(&inputs, &[]), "the graph");
            close(&case.circuit_clear(&inputs, &[], seed), "the circuit");
        }
        if v == 0 {
            let inputs = inputs(&case, 5);
            let outputs = case.parties(&inputs, 5).outputs;
            assert_eq!(outputs[0].values, case.floating(&inputs, &[])[0]);
        }
    }
    assert_eq!(by_rule, 12, "the last two are no ranks");
}

/// What goes by rank is bounded by what it chooses, also of more members than are looked at entry by entry.
#[test]
fn intervals_of_order_statistics_do_not_grow_with_the_members() {
    for m in [131, 1500] {
        for (value, (lo, hi)) in [
            ("lower_median(y)", (-4.0, 4.0)),
            ("trimmed_mean[20, 30](y)", (-4.0, 4.0)),
            ("sum(smallest[5](y))", (-20.0, 20.0)),
            ("sum(top_k[40](x)[i] * y[i] for i in Client)", (-160.0, 160.0)),
        ] {
            let case = case(value, m);
            let graph = &case.compiled.optimised;
            let output = &graph.outputs[0];
            let (low, high) = case.compiled.ranges.real(graph, output.node);
            let factor = output.factor / output.divisor;
            let near = |a: f64, b: f64| (a * factor - b).abs() < 2e-3 * (1.0 + b.abs());
            assert!(
                near(low, lo) && near(high, hi),
                "{value} of {m}: {low}..{high} times {factor}"
            );
        }
    }
}

/// Bytes of an artifact grow with the members (each has a place in a table or two), not with their pairs.
#[test]
fn artifacts_do_not_grow_with_the_pairs_of_members() {
    for value in ["lower_median(y)", "rank(x)", "sum(top_k[40](x)[i] * y[i] for i in Client)"] {
        let bytes = |m: u64| artifact::write(case(value, m).circuit()).len();
        let (few, many) = (bytes(200), bytes(3200));
        assert!(many < few + 3000 * 8, "{value}: {few} bytes, then {many}");
    }
}
