//! Scores that are products of small values decide as in floating point: they keep the bits for which words have room, and
//! where a score is a hundred times another one no rounding makes them equal.
//!
//! `SLVR_COUNT=100000 cargo test --release -p slvr-tests --test end_to_end narrow_scores -- --nocapture` is the long run.
//! A failing test prints the formula and the seed.

use slvr_compiler::analysis::errors::{encoded_errors, errors};
use slvr_compiler::graph::eval;
use slvr_compiler::pipeline::{Fine, Options};
use slvr_runtime::share::encode::{Inputs, RawData};
use slvr_tests::{
    Case, Random, committees, compile, compile_with, graph_inputs, margins, random_inputs,
};

const ENTRIES: usize = 6;

/// Scores of one client's entries, all in 0..1: plain products, minors of a matrix, a product of sums and a quotient.
const FORMULAS: [&str; 4] = [
    "x[i, 0] * x[i, 1] * x[i, 2] * x[i, 3]",
    "x[i, 0] * (x[i, 1] * x[i, 2] * x[i, 3]) * x[i, 4] * x[i, 5]",
    "(x[i, 0] * x[i, 1] - 0.5 * x[i, 2] * x[i, 3]) * x[i, 4] * x[i, 5]",
    "(x[i, 0] + x[i, 1]) * x[i, 2] * (x[i, 3] + x[i, 4]) * x[i, 5]",
];

fn count() -> u64 {
    slvr_tests::long::count(100)
}

fn text(formula: &str) -> String {
    format!(
        "predicate Narrow[m]() {{\n    parties Client[m];\n    parties Server;\n    \
         input x: secret fix[{ENTRIES}] in 0..1 from each Client;\n    \
         let score = [{formula} for i in Client];\n    \
         reveal [[score[i] < 10 * score[j] for j in Client] for i in Client] to Server as near;\n}}\n"
    )
}

/// Entries of which products of six are 1e-6 or more; one client's are larger by a hundred times in the product or more.
fn inputs(case: &Case, seed: u64) -> Inputs {
    let mut inputs = random_inputs(case.circuit(), seed, 1.0);
    let mut random = Random::new(seed);
    let size = random.between(0.11, 0.2);
    for (i, tensors) in inputs.sets[0].iter_mut().enumerate() {
        let larger = if i == 0 { random.between(3.3, 5.0) } else { 1.0 };
        let tensor = tensors.get_mut("x").expect("entries");
        let entry = |random: &mut Random| (larger * size * random.between(0.95, 1.05)).min(0.999);
        let data = (0..ENTRIES).map(|_| (entry(&mut random) * 65536.0).round() / 65536.0);
        tensor.data = RawData::F64(data.collect());
    }
    inputs
}

#[test]
fn narrow_scores_decide_as_in_floating_point() {
    let cases = FORMULAS.map(|formula| (formula, compile(&text(formula), &[("m", "4")])));
    let (mut telling, mut clear) = (0, 0);
    for seed in 0..count() {
        let (formula, case) = &cases[seed as usize % cases.len()];
        let inputs = inputs(case, seed);
        let wanted = case.floating(&inputs, &[]).remove(0);
        let found = match seed < 4 {
            true => case.parties(&inputs, seed).outputs.remove(0).values,
            false => case.circuit_clear(&inputs, &[], seed).remove(0),
        };
        telling += wanted.iter().filter(|x| **x == 0.0).count();
        let c = &case.compiled;
        let errors = errors(
            &c.optimised,
            &c.ranges.raw,
            &encoded_errors(&c.optimised, &c.guards),
            &c.stated,
        );
        let real = eval::real(&c.optimised, &graph_inputs(&inputs), &committees(&[]), true);
        let real = real.expect("it has values").values;
        let real: Vec<Vec<f64>> =
            real.iter().map(|v| v.as_ref().map_or(Vec::new(), |v| v.to_vec())).collect();
        if margins::clear(&c.optimised, &real, &errors.decisions) {
            clear += 1;
            assert_eq!(found, wanted, "{formula}, seed {seed}");
        }
    }
    println!("{clear} of {} runs have no decision within its margin", count());
    assert!(telling > 0, "no score is ten times another");
    assert!(2 * clear > count(), "most runs have decisions within their margins: {clear}");
}

/// These bits cost no ring, and without them the compiler warns of such scores.
#[test]
fn bits_of_comparisons_cost_nothing() {
    let formula = text("x[i, 0] * x[i, 1] * x[i, 2] * x[i, 3] * x[i, 4] * x[i, 5]");
    let narrow = formula.replace("in 0..1", "in 0..0.1");
    let fine = compile(&narrow, &[("m", "4")]);
    let coarse = Options { fine: Fine::Nothing, ..Options::default() };
    let coarse = compile_with(&narrow, &[("m", "4")], coarse);
    let warned = |case: &Case| case.compiled.warnings.iter().map(|d| d.code.0).collect::<Vec<_>>();
    assert_eq!(warned(&fine), [] as [u16; 0]);
    assert_eq!(warned(&coarse), [42]);
}
