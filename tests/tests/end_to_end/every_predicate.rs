//! Every predicate that comes with the compiler, among three parties against the program in floating
//! point: within 2^-8 relative on random inputs, on inputs at the ends of their ranges and on all-equal
//! ones. Seeds are printed.

use slvr_compiler::syntax::embedded::PREDICATES;
use slvr_runtime::share::encode::RawData;
use slvr_tests::agree::{fill, hold};
use slvr_tests::{Case, compile, predicate, random_inputs, sizes};

const INPUTS: u64 = 8;

fn all() -> impl Iterator<Item = (&'static str, Case, f64)> {
    PREDICATES.iter().map(|(file, _)| {
        let name = file.trim_end_matches(".slvr");
        let (sizes, spread) = sizes(name);
        (name, compile(predicate(name), &sizes), spread)
    })
}

#[test]
fn random_inputs_agree() {
    for (name, case, spread) in all() {
        let mut telling = 0;
        for seed in 0..INPUTS {
            let inputs = random_inputs(case.circuit(), seed, spread);
            telling += u64::from(hold(name, &case, &inputs, seed));
        }
        assert!(telling >= INPUTS / 2, "{name} revealed something in {telling} of {INPUTS} runs");
    }
}

/// All clients alike: every comparison is a tie.
#[test]
fn ties_agree() {
    for (name, case, spread) in all() {
        // A cosine of exactly the threshold is on both sides of it after rounding.
        if name == "cosine_similarity" {
            continue;
        }
        let mut inputs = random_inputs(case.circuit(), 3, spread);
        fill(&mut inputs, |_, i| f64::from(i as u32 % 5) / 16.0 - 0.125);
        hold(name, &case, &inputs, 3);
    }
}

/// Coordinates at the ends of the declared range, in robust statistics that take any value.
#[test]
fn ends_of_the_range_agree() {
    for (name, case, spread) in all() {
        if !name.starts_with("coordinate") && name != "secure_aggregation" && name != "linf_bound" {
            continue;
        }
        let mut inputs = random_inputs(case.circuit(), 4, spread);
        fill(&mut inputs, |member, i| if (member + i) % 2 == 0 { 8.0 } else { -8.0 });
        hold(name, &case, &inputs, 4);
    }
}

/// A client that sends nothing but zeros, beside honest ones.
#[test]
fn zero_vectors_agree() {
    for (name, case, spread) in all() {
        // The cosine with a zero vector is not defined.
        if ["cosine_similarity", "fltrust"].contains(&name) {
            continue;
        }
        for seed in 0..3 {
            let mut inputs = random_inputs(case.circuit(), seed, spread);
            for tensors in inputs.sets.iter_mut().flat_map(|s| s.first_mut()) {
                if let Some(RawData::F64(v)) = tensors.get_mut("update").map(|t| &mut t.data) {
                    v.fill(0.0);
                }
            }
            hold(name, &case, &inputs, seed);
        }
    }
}

/// Whatever a predicate computes, the parties open nothing but its reveals and public coins.
#[test]
fn only_reveals_are_opened() {
    use slvr_circuit::Op;
    for (name, case, _) in all() {
        let circuit = case.circuit();
        let mut opened = vec![0; circuit.outputs.len()];
        for instr in circuit.layers.iter().flat_map(|l| &l.exchange) {
            match instr.op {
                Op::OpenTo { output, .. } => opened[output as usize] += 1,
                // Whose inputs were admitted; nothing else is opened to the parties.
                Op::Open(_) => {
                    let bit = circuit.checks.iter().any(|c| instr.out == Some(c.value));
                    assert!(bit, "{name} opens a value to the parties");
                }
                _ => {}
            }
        }
        assert!(opened.iter().all(|&n| n == 1), "{name}: {opened:?}");
    }
}
