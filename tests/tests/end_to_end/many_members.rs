//! Order statistics of so many members that tables of their pairs are made by rules: the same values, intervals and
//! ties as of few, and artifacts that do not grow with the pairs.

use slvr_circuit::traffic::Traffic;
use slvr_circuit::{Op, artifact};
use slvr_compiler::cost::Tuning;
use slvr_compiler::lower::{Family, Target};
use slvr_compiler::pipeline::{Fine, Options};
use slvr_runtime::share::encode::{Inputs, RawData};
use slvr_tests::{Case, Random, compile_with, random_inputs};

fn case(value: &str, m: u64) -> Case {
    case_for(value, m, Options::default())
}

fn case_for(value: &str, m: u64, how: Options) -> Case {
    let text = format!(
        "use std::{{abs, argsort, clamp, exp, first_argmax, first_argmin, histogram, lower_median, max, \
         median, min, rank, relu, select, smallest, sort, sum, tanh, top_k, trimmed_mean}};\n\
         {COUNTS}predicate T[m]() {{\n    parties Client[m];\n    parties Server;\n    \
         input x: secret int in 0..100 from each Client;\n    \
         input y: secret fix in -4..4 from each Client;\n    \
         input s: secret fix[300] in -4..4 from Server;\n    \
         input t: secret int[300] in 0..100 from Server;\n    \
         input p: public fix[300] in -4..4;\n    \
         input q: secret fix in -4..4 from Server;\n    reveal {value} to Server as z;\n}}\n"
    );
    compile_with(&text, &[("m", &m.to_string())], how)
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
    // What is added to something is no factor of it.
    "sum((rank(x)[i] < 3) + 100 * x[i] for i in Client)",
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
                RawData::F32(_) => panic!("random inputs are binary64"),
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
    assert_eq!(by_rule, 13, "the last two are no ranks");
}

/// Comparisons of so many pairs that shards are cut between the members: of members with each other, with what is public, and
/// with numbers of a server, on either side.
#[test]
fn many_pairs_are_compared_across_shards() {
    for (value, m) in [
        ("sort(y)", 182),
        ("argsort(y)", 190),
        ("histogram[200](y, -4, 4)", 110),
        ("[sum(y[i] >= k * 0.01 - 2 for i in Client) for k in 400]", 60),
        ("[sum(k * 0.01 - 2 < y[i] for k in 400) for i in Client]", 60),
        ("[sum(y[i] <= s[k] for i in Client) for k in 300]", 80),
        ("[sum(select(s[k] * y[i] > 0, y[i], s[k]) for i in Client) for k in 300]", 60),
        ("[sum(select(y[j] < y[i], y[j], y[i]) for j in Client) for i in Client]", 130),
        ("[sum(t[k] == x[i] for k in 300) for i in Client]", 80),
    ] {
        let case = case(value, m);
        let inputs = inputs(&case, m);
        let want = case.floating(&inputs, &[]);
        assert!(
            slvr_tests::distance(&case.circuit_clear(&inputs, &[], 1), &want) < 2e-3,
            "{value}"
        );
        let found: Vec<Vec<f64>> =
            case.parties(&inputs, 1).outputs.into_iter().map(|o| o.values).collect();
        assert!(slvr_tests::distance(&found, &want) < 2e-3, "{value} among three parties");
    }
}

/// A tensor of one expression of members, numbers of a server, public ones and each other, for all pairs.
fn pairs_of(random: &mut Random) -> (String, u64) {
    const EXPRESSIONS: &[&str] = &[
        "A + B",
        "A * B",
        "relu(A - B)",
        "select(A < B, A, B)",
        "select(C > 0, A, B)",
        "(A > 0) * B",
        "abs(A - B)",
        "max([A, B])",
        "A / (2 + abs(B))",
        "tanh(A) * B",
        "clamp(A * B, -1, 1)",
        "select(A > 0 && B > 0, 1, 0)",
        "relu(A) * (B > C)",
        "exp(min([A, 0])) * B",
        "(A > B) + (C > A)",
    ];
    let mut any = |of: &[&str]| of[(random.unit() * of.len() as f64) as usize].to_owned();
    let members = any(&["no", "yes"]) == "yes";
    let (values, sums): (&[&str], &[&str]) = match members {
        true => (
            &["y[i]", "y[j]", "0.3", "q", "y[i] * y[j]"],
            &["[sum(E for j in Client) for i in Client]", "[[E for j in Client] for i in Client]"],
        ),
        false => (
            &["y[i]", "k * 0.01", "s[k]", "p[k]", "q", "p[k] * y[i]"],
            &[
                "[sum(E for i in Client) for k in 300]",
                "[[E for i in Client] for k in 300]",
                "[sum(E for k in 300) for i in Client]",
                "[max(E for k in 300) for i in Client]",
            ],
        ),
    };
    let (expression, tensor) = (any(EXPRESSIONS), any(sums));
    let [a, b, c] = [0, 1, 2].map(|_| any(values));
    let entry: String = expression
        .chars()
        .map(|x| match x {
            'A' => format!("({a})"),
            'B' => format!("({b})"),
            'C' => format!("({c})"),
            x => x.to_string(),
        })
        .collect();
    let m = any(&["60", "130", "182", "200"]).parse().expect("a number");
    (tensor.replace('E', &entry), m)
}

/// Shards of large tensors are cut along their first axis, and operands of fewer axes are repeated in every way: each
/// program has a circuit. `SLVR_COUNT=1000 SLVR_SEED=0` makes a longer run.
#[test]
fn pairs_of_many_members_have_circuits() {
    for seed in slvr_tests::long::slice(24) {
        let mut random = Random::new(seed);
        let (value, m) = pairs_of(&mut random);
        let made = slvr_tests::long::caught(|| Ok(case(&value, m)));
        assert!(
            made.is_ok(),
            "seed {seed}: {value} of {m} members: {}",
            made.err().unwrap_or_default()
        );
    }
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

/// Where rounds cost little beside bytes, masks by rank are found by a search: the same entries, ties as before, and no
/// pairs. Ranks that are read as numbers stay.
#[test]
fn searches_choose_what_ranks_choose() {
    let tuning = Tuning { latency: 1e-6, bandwidth: 1e5 };
    // Of more fraction bits, as revealed entries have, pairs would be cheaper.
    let how = Options {
        target: Target::SemiHonest(Family::T2(tuning)),
        fine: Fine::Nothing,
        ..Options::default()
    };
    let mut ranked = Vec::new();
    for (v, value) in VALUES[..12].iter().enumerate() {
        let found = case_for(value, 131, how);
        if ruled(&found) {
            ranked.push(*value);
        }
        for seed in 0..2 {
            let inputs = inputs(&found, seed + 10 * v as u64);
            let want = found.floating(&inputs, &[]);
            let close = |found: &[Vec<f64>], what: &str| {
                let off = slvr_tests::distance(found, &want);
                assert!(off < 2e-3, "{value}, seed {seed}: {what} is off by {off}");
            };
            close(&found.circuit_clear(&inputs, &[], seed), "the circuit");
        }
        if v == 7 {
            let inputs = inputs(&found, 5);
            let outputs = found.parties(&inputs, 5).outputs;
            let off =
                slvr_tests::distance(&[outputs[0].values.clone()], &found.floating(&inputs, &[]));
            assert!(off < 2e-3, "{value}: three parties are off by {off}");
        }
    }
    // All but ranks as numbers, and three entries of a sort at once.
    assert_eq!(ranked, ["rank(x)", "behind(x)", "turned(y)", "[sort(x)[k] for k in 3]"]);
}

/// Thousands of members are searched on any network: bytes grow with the members, not with their pairs.
#[test]
fn thousands_of_members_are_searched() {
    for value in ["lower_median(y)", "sum(top_k[40](x)[i] * y[i] for i in Client)"] {
        let sent = |m: u64| {
            let case = case(value, m);
            (ruled(&case), Traffic::of(case.circuit()).bytes.iter().sum::<u64>())
        };
        let (few, many, most) = (sent(500), sent(4000), sent(16_000));
        assert_eq!((few.0, many.0, most.0), (true, false, false), "{value}");
        assert!(most.1 < 5 * many.1, "{value}: {many:?}, {most:?}");
    }
}

/// Distances of many members are told by rules, too: one inner product for each pair, in place of each member and
/// each other one.
#[test]
fn distances_of_many_members_are_computed_once_for_each_pair() {
    const KRUM: &str = "use std::{first_argmin, norm_sq, smallest, sum};
predicate Krum[m, f]() {
    parties Client[m];
    parties Server;
    input u: secret fix[2] in -8..8 from each Client;
    let dist  = [[norm_sq(u[i] - u[j]) for j in Client] for i in Client];
    let near  = [[norm_sq(u[i] - u[j]) for j in Client if j != i] for i in Client];
    let score = [sum(smallest[m - f - 2]([dist[i][j] for j in Client if j != i])) for i in Client];
    let other = [sum(smallest[m - f - 2](near[i])) for i in Client];
    let pick  = first_argmin(score);
    let both  = first_argmin(other);
    reveal sum((pick[i] + both[i]) * u[i] for i in Client) to Server as chosen;
}
";
    let case = compile_with(KRUM, &[("m", "131"), ("f", "3")], Options::default());
    assert!(ruled(&case));
    let words: usize = case.circuit().consts.iter().map(|c| c.data.len()).sum();
    assert!(words < 4000, "{words} words of tables");
    let graph = &case.compiled.optimised;
    let products = graph.ids().filter(|&id| {
        matches!(graph.op(id), slvr_compiler::graph::Op::MatMul { .. }) && graph.elements(id) > 131
    });
    assert!(products.map(|id| graph.elements(id)).eq([131 * 130 / 2]), "each pair once, for both");
    let inputs = random_inputs(case.circuit(), 3, 1.0);
    let off = slvr_tests::distance(&case.graph_exact(&inputs, &[]), &case.floating(&inputs, &[]));
    assert!(off < 1e-2, "off by {off}");
}
