//! Order statistics of vectors of which not all pairs are compared: entries are searched for, in both families and against
//! both adversaries, and are those of a sort of Rust's library. Short vectors take the same way on a network where bytes
//! are dear.

use slvr_circuit::{Op, Security};
use slvr_compiler::cost::NetProfile;
use slvr_compiler::lower::{Family, Target};
use slvr_compiler::pipeline::Options;
use slvr_runtime::share::encode::{Inputs, RawData};
use slvr_tests::{Case, Random, attempt, compile_with, random_inputs};

/// A statistic of one vector, and what it is.
type Row = (&'static str, fn(&[f64]) -> Vec<f64>);

const ROWS: &[Row] = &[
    ("top_k[37](x)", |x| {
        let largest = order(x, |a, b| b.total_cmp(a));
        let mut out = vec![0.0; x.len()];
        largest[..37].iter().for_each(|&i| out[i] = 1.0);
        out
    }),
    ("[median(x)]", |x| {
        let x = sorted(x);
        vec![(x[(x.len() - 1) / 2] + x[x.len() / 2]) / 2.0]
    }),
    ("[quantile[90](x)]", |x| {
        let (x, place) = (sorted(x), 90 * (x.len() - 1));
        let (low, high) = (x[place / 100], x[place.div_ceil(100)]);
        vec![low + (high - low) * (place % 100) as f64 / 100.0]
    }),
    ("[sort(x)[k] for k in 3]", |x| sorted(x)[..3].to_vec()),
    ("[sort(x)[0], sort(x)[n - 1]]", |x| {
        let x = sorted(x);
        vec![x[0], x[x.len() - 1]]
    }),
    ("[trimmed_mean[20, 30](x)]", |x| {
        let x = sorted(x);
        let rest = &x[20..x.len() - 30];
        vec![rest.iter().sum::<f64>() / rest.len() as f64]
    }),
];

/// Indices in an order, of equal entries the earlier one first.
fn order(x: &[f64], by: impl Fn(&f64, &f64) -> std::cmp::Ordering) -> Vec<usize> {
    let mut all: Vec<usize> = (0..x.len()).collect();
    all.sort_by(|&i, &j| by(&x[i], &x[j]));
    all
}

fn sorted(x: &[f64]) -> Vec<f64> {
    let mut x = x.to_vec();
    x.sort_by(f64::total_cmp);
    x
}

fn case(value: &str, n: usize, how: Options) -> Case {
    let text = format!(
        "use std::{{median, quantile, sort, top_k, trimmed_mean}};\npredicate T[n]() {{\n    parties Client[1];\n    \
         parties Server;\n    input u: secret fix[n] in -4..4 from each Client;\n    \
         let z = [value(u[i]) for i in Client];\n    reveal z to Server as z;\n}}\n\
         fn value[n](x: fix[n]) -> fix[{}] {{ {value} }}\n",
        match value {
            v if v.starts_with("top_k") => "n",
            v if v.contains("for k") => "3",
            v if v.contains("n - 1") => "2",
            _ => "1",
        }
    );
    compile_with(&text, &[("n", &n.to_string())], how)
}

/// Many entries are equal.
fn inputs(case: &Case, seed: u64) -> Inputs {
    let mut inputs = random_inputs(case.circuit(), seed, 1.0);
    let mut random = Random::new(seed);
    for tensor in inputs.sets.iter_mut().flatten().flat_map(|t| t.values_mut()) {
        if let RawData::F64(v) = &mut tensor.data {
            v.iter_mut().for_each(|x| *x = (random.between(-3.0, 3.0) * 64.0).round() / 64.0);
        }
    }
    inputs
}

fn given(inputs: &Inputs) -> Vec<f64> {
    let all = inputs.sets.iter().flatten().flat_map(|t| t.values());
    let mut all = all.filter_map(|t| match &t.data {
        RawData::F64(v) => Some(v.clone()),
        _ => None,
    });
    all.next().expect("a vector")
}

fn searched(case: &Case) -> bool {
    let mut local = case.circuit().layers.iter().flat_map(|l| &l.local);
    !local.any(|i| matches!(i.op, Op::Pairs { .. }))
}

/// Holds a statistic against its reference: in floating point, in the exact graph, in the circuit and, if asked to, among
/// parties.
fn hold((value, wanted): &Row, n: usize, how: Options, parties: bool) {
    let case = case(value, n, how);
    // Several entries of a short vector are all told by the same ranks.
    assert!(
        searched(&case) || n < 1000 && value.contains("for k"),
        "{value} of {n} is searched for"
    );
    let inputs = inputs(&case, n as u64);
    let want = vec![wanted(&given(&inputs))];
    let close = |found: &[Vec<f64>], what: &str| {
        let off = slvr_tests::distance(found, &want);
        assert!(off < 2e-3, "{value} of {n}, {how:?}: {what} is off by {off}");
    };
    close(&case.floating(&inputs, &[]), "floating point");
    close(&case.graph_exact(&inputs, &[]), "the graph");
    close(&case.circuit_clear(&inputs, &[], 3), "the circuit");
    if parties {
        let outputs = case.parties(&inputs, 5).outputs;
        close(&outputs.into_iter().map(|o| o.values).collect::<Vec<_>>(), "a run");
    }
}

fn ways() -> [Options; 4] {
    let dear = NetProfile::parse("dear", "bandwidth_mbit = 0.01\nrtt_ms = 0");
    let tuning = dear.expect("a profile").tuning();
    let of =
        |security, family| Options { target: Target::new(security, family), ..Options::default() };
    let [plain, proven] = Security::ALL;
    let t2 = Family::T2(tuning);
    [of(plain, t2), of(plain, Family::T1), of(proven, t2), of(proven, Family::T1)]
}

/// On a network on which bytes are dear a short vector is searched, too.
#[test]
fn short_vectors_are_searched_where_bytes_are_dear() {
    for row in ROWS {
        hold(row, 600, ways()[0], true);
    }
}

/// One more entry than all pairs of which are compared; `SLVR_COUNT=61706` is all weights of LeNet-5.
#[test]
fn long_vectors_are_searched_in_every_family() {
    let long = slvr_tests::long::setting("SLVR_COUNT");
    let n = long.map_or((1 << 14) + 1, |n| n as usize);
    // Every day one against each adversary; a long run has all of them.
    let rows = ROWS.iter().zip(ways().into_iter().cycle());
    for (row, how) in rows.step_by(if long.is_some() { 1 } else { slvr_tests::long::one_of(3) }) {
        hold(row, n, how, long.is_some());
    }
}

/// All of a long vector in order has no circuit, and says what has.
#[test]
fn all_of_a_long_vector_in_order_is_refused() {
    for value in ["sort(x)", "rank(x)", "[sort(x)[k] for k in 65]"] {
        let text = format!(
            "use std::{{rank, sort}};\npredicate T[n]() {{\n    parties Server;\n    input x: secret fix[n] in -4..4 from Server;\n    \
             reveal {value} to Server as z;\n}}\n"
        );
        let Err(why) = attempt(&text, &[("n", "20000")], Options::default()) else {
            panic!("{value} has a circuit");
        };
        let text = why.text();
        assert!(text.contains("all of 20000 entries in order"), "{value}: {text}");
        assert!(text.contains("`top_k`"), "{value}: {text}");
    }
}

/// Entries by rank of several vectors of which all pairs together are too many: also that is said.
#[test]
fn ranks_in_too_many_long_vectors_are_refused() {
    let text = "use std::lower_median;\npredicate T[m, n]() {\n    parties Client[m];\n    parties Server;\n    \
                input x: secret fix[n] in -4..4 from each Client;\n    \
                reveal [lower_median(x[i]) for i in Client] to Server as z;\n}\n";
    let Err(why) = attempt(text, &[("m", "10"), ("n", "400000")], Options::default()) else {
        panic!("it has a circuit");
    };
    let text = why.text();
    assert!(text.contains("in 10 vectors of 400000 entries"), "{text}");
}
