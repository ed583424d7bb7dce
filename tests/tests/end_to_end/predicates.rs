//! The programs of `pass/`, end to end: among three parties they reveal what the floating-point program
//! does, on small sizes and random inputs.
//!
//! A check decides by comparisons, and rounding may decide one that is nearly a tie otherwise than
//! floating point does. So updates are drawn with lengths that differ: norms and scores then differ by
//! far more than their errors of some 2^-16. Seeds are fixed; none of them is a tie.

use slvr_runtime::share::encode::{Inputs, RawData};
use slvr_tests::{Case, Random, compile, distance, random_inputs};

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

/// Runs `seeds` random inputs; graph, circuit and three parties must be within `bound` of the
/// floating-point program, and not all outputs may be zero.
fn agree(name: &str, text: &str, sizes: &[(&str, &str)], spread: f64, bound: f64, seeds: u64) {
    let case = compile(text, sizes);
    println!("{name}: {} rounds", case.circuit().rounds());
    let mut worst: f64 = 0.0;
    let mut busy = 0;
    for seed in 0..seeds {
        println!("{name}: seed {seed}");
        let inputs = varied(&case, seed, spread);
        let report = case.parties(&inputs, seed);
        let parties: Vec<Vec<f64>> = report.outputs.iter().map(|o| o.values.clone()).collect();
        let floating = case.floating(&inputs, &report.coins);
        busy += u64::from(parties.iter().flatten().any(|&x| x != 0.0));
        let exact = case.graph_exact(&inputs, &report.coins);
        let clear = case.circuit_clear(&inputs, &report.coins, seed);
        for (what, found) in [("graph", &exact), ("circuit", &clear), ("parties", &parties)] {
            let d = distance(&floating, found);
            assert!(d <= bound, "{name}, seed {seed}, {what}: off by {d}");
            worst = worst.max(d);
        }
    }
    println!("{name}: worst difference {worst}, {busy} not zero");
    assert!(busy * 2 > seeds, "{name}: {busy} of {seeds}");
}

const MLP: (&str, &str) = ("M", "Mlp[6, 5, 4]");

/// Every program of `pass/` has a circuit.
macro_rules! pass {
    ($name:ident, $sizes:expr, $spread:expr, $bound:expr) => {
        #[test]
        fn $name() {
            let text = include_str!(concat!("../../pass/", stringify!($name), ".slvr"));
            agree(stringify!($name), text, &$sizes, $spread, $bound, 8);
        }
    };
}

pass!(aggregate, [MLP, ("m", "4")], 0.5, 1e-4);
pass!(fltrust, [MLP, ("m", "7")], 0.1, 5e-4);
pass!(layers_of_layers, [("m", "2")], 0.3, 1e-3);
pass!(median, [("m", "6"), ("d", "3")], 0.3, 5e-4);
pass!(multi_krum, [("d", "5"), ("m", "7"), ("f", "2"), ("k", "3")], 0.5, 1e-4);
pass!(norm_bounds, [("M", "DigitsNet"), ("m", "5"), ("bound", "12.0")], 0.07, 1e-4);
pass!(own_model, [("b", "3")], 0.1, 1e-4);
pass!(triangle, [("m", "3"), ("d", "4")], 1.0, 1e-4);
pass!(validation_loss, [MLP, ("m", "4"), ("c", "1"), ("b", "3")], 0.1, 1e-4);
