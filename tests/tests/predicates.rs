//! The other predicates, end to end: among three parties they reveal what the floating-point program
//! does, on small sizes and random inputs.
//!
//! A check decides by comparisons, and rounding may decide one that is nearly a tie otherwise than
//! floating point does. So inputs are drawn so that ties are unlikely (norms and scores differ by far
//! more than the error), and a seed whose floating-point outcome changes when inputs move by less than
//! the error is a tie: it is skipped and counted, and few may be.

use slvr_runtime::share::encode::{Inputs, RawData};
use slvr_tests::{Case, Random, compile, distance, predicate, random_inputs};

/// Scales each member's update by a factor of its own, so that lengths differ.
fn varied(case: &Case, seed: u64, spread: f64) -> Inputs {
    let mut inputs = random_inputs(case.circuit(), seed, spread);
    let mut random = Random::new(!seed);
    for member in inputs.sets.iter_mut().flatten() {
        let factor = random.between(0.3, 1.0);
        if let Some(tensor) = member.get_mut("update")
            && let RawData::F64(x) = &mut tensor.data
        {
            x.iter_mut().for_each(|x| *x *= factor);
        }
    }
    inputs
}

/// Runs `seeds` random inputs; three parties must be within `bound` of the floating-point program.
fn agree(name: &str, sizes: &[(&str, &str)], spread: f64, bound: f64, seeds: u64) {
    let case = compile(predicate(name), sizes);
    println!("{name}: {} rounds", case.circuit().rounds());
    let mut ties = 0;
    for seed in 0..seeds {
        println!("{name}: seed {seed}");
        let inputs = varied(&case, seed, spread);
        let report = case.parties(&inputs, seed);
        let parties: Vec<Vec<f64>> = report.outputs.iter().map(|o| o.values.clone()).collect();
        let floating = case.floating(&inputs, &report.coins);
        let exact = case.graph_exact(&inputs, &report.coins);
        let clear = case.circuit_clear(&inputs, &report.coins, seed);
        for (what, found) in [("graph", &exact), ("circuit", &clear), ("parties", &parties)] {
            let d = distance(&floating, found);
            if d > bound {
                println!("{name}, seed {seed}, {what}: off by {d}");
                ties += 1;
                break;
            }
        }
    }
    assert_eq!(ties, 0, "runs that differ");
}

#[test]
fn slvr_confidence() {
    let sizes = [("M", "Mlp[6, 5, 4]"), ("m", "5"), ("c", "1"), ("b", "3")];
    agree("slvr_confidence", &sizes, 0.1, 1e-4, 20);
}

#[test]
fn cosine_similarity() {
    agree("cosine_similarity", &[("M", "Mlp[6, 5, 4]"), ("m", "6")], 0.1, 1e-4, 20);
    let sizes = [("M", "Mlp[6, 5, 4]"), ("m", "6"), ("tau", "0.1")];
    agree("cosine_similarity", &sizes, 0.1, 1e-4, 20);
}

#[test]
fn norm_ball() {
    let sizes = [("M", "Mlp[6, 5, 4]"), ("m", "6"), ("lambda", "1.3")];
    agree("norm_ball", &sizes, 0.1, 1e-4, 20);
}

#[test]
fn norm_bound() {
    agree("norm_bound", &[("M", "Mlp[6, 5, 4]"), ("m", "6")], 0.1, 1e-4, 20);
}

#[test]
fn coordinate_trimmed_mean() {
    agree("coordinate_trimmed_mean", &[("d", "17"), ("m", "7"), ("c", "2")], 0.5, 1e-4, 20);
}

#[test]
fn krum() {
    agree("krum", &[("M", "Mlp[6, 5, 4]"), ("m", "7"), ("f", "2")], 0.1, 1e-4, 20);
}
