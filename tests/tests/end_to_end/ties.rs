//! Exact ties among the parties: what is equal in the formula is equal in a run, where nothing rounds it apart.

use slvr_compiler::syntax::embedded;
use slvr_tests::{compile, distance, random_inputs};

/// In Bulyan two clients that are nearest to one another have the same score once one neighbour counts. The first of them is
/// picked, whatever the coins of roundings are.
#[test]
fn bulyan_picks_the_first_of_two_that_are_nearest_to_one_another() {
    let text = embedded::get("gallery/bulyan.slvr").expect("it is in the gallery");
    for d in ["2", "40"] {
        let case = compile(text, &[("d", d), ("m", "7"), ("f", "1")]);
        for seed in 0..6 {
            let inputs = random_inputs(case.circuit(), seed, 1.0);
            let first = case.circuit_clear(&inputs, &[], 0);
            for coins in 1..8 {
                let off = distance(&first, &case.circuit_clear(&inputs, &[], coins));
                assert!(off < 1e-3, "d = {d}, inputs {seed}: coins {coins} are off by {off}");
            }
            let off = distance(&first, &case.floating(&inputs, &[]));
            assert!(off < 1e-3, "d = {d}, inputs {seed}: floating point is off by {off}");
        }
    }
}
