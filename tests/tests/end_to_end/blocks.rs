//! Work in blocks for a memory budget: the same outputs, a lower peak, more rounds.

use slvr_circuit::traffic::Traffic;
use slvr_compiler::cost::peak_memory;
use slvr_compiler::pipeline::Options;
use slvr_tests::{Case, compile_with, distance, predicate, random_inputs};

const NAME: &str = "slvr_accuracy";
const SIZES: &[(&str, &str)] = &[("M", "DigitsNet"), ("m", "5"), ("c", "1"), ("b", "4")];

fn within(memory: Option<u64>) -> Case {
    compile_with(predicate(NAME), SIZES, Options { memory, ..Options::default() })
}

fn peak(case: &Case) -> u64 {
    peak_memory(case.circuit()).into_iter().max().unwrap_or(0)
}

#[test]
fn blocks_take_less_memory_and_compute_the_same() {
    let whole = within(None);
    let rounds = |case: &Case| Traffic::of(case.circuit()).rounds;
    // Of all parties: how many rows each deals is another in every part.
    let bytes = |case: &Case| Traffic::of(case.circuit()).bytes.iter().sum::<u64>() as f64;
    let inputs = random_inputs(whole.circuit(), 5, 0.3);
    let expected = whole.circuit_clear(&inputs, &[7], 1);
    // A generous budget changes nothing.
    assert_eq!(within(Some(peak(&whole))).circuit(), whole.circuit());
    for part in [0.9, 0.82] {
        let budget = (peak(&whole) as f64 * part) as u64;
        let blocked = within(Some(budget));
        assert!(peak(&blocked) <= budget, "{} of {budget}", peak(&blocked));
        assert!(rounds(&blocked) > rounds(&whole));
        // Comparisons of fewer elements are planned with fewer rounds and more bits.
        assert!(
            (bytes(&blocked) / bytes(&whole) - 1.0).abs() < 0.2,
            "{} and {}",
            bytes(&blocked),
            bytes(&whole)
        );
        let found = blocked.circuit_clear(&inputs, &[7], 1);
        assert!(distance(&expected, &found) < 1e-3, "{}", distance(&expected, &found));
    }
}

#[test]
fn a_run_in_blocks_is_what_was_predicted() {
    let whole = within(None);
    let blocked = within(Some(peak(&whole) * 5 / 6));
    let inputs = random_inputs(blocked.circuit(), 6, 0.3);
    let report = blocked.parties(&inputs, 9);
    assert_eq!(report.peak_memory, peak_memory(blocked.circuit()));
}
