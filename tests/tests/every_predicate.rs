//! Every predicate that comes with the compiler, among three parties against the program in floating
//! point: within 2^-8 relative on random inputs, on inputs at the ends of their ranges and on all-equal
//! ones. Seeds are printed.

use slvr_runtime::circuit::traffic::Traffic;
use slvr_runtime::share::encode::{Inputs, RawData};
use slvr_tests::{Case, compile, predicate, random_inputs};
use slvrc::syntax::embedded::PREDICATES;

const INPUTS: u64 = 20;

/// Sizes small enough for many runs; the scale of inputs, as a part of the declared range.
fn sizes(name: &str) -> (Vec<(&'static str, &'static str)>, f64) {
    let model = ("M", "Mlp[9,hidden=4]");
    let (mut sizes, spread) = match name {
        "coordinate_trimmed_mean" => (vec![("d", "7"), ("m", "5"), ("c", "1")], 1.0),
        "coordinate_median" => (vec![("d", "7"), ("m", "6")], 1.0),
        "krum" => (vec![model, ("m", "6"), ("f", "1")], 0.05),
        "multi_krum" => (vec![model, ("m", "6"), ("f", "1"), ("k", "3")], 0.05),
        "slvr_accuracy" | "slvr_confidence" => {
            (vec![model, ("m", "5"), ("c", "1"), ("b", "2")], 0.1)
        }
        "validation_loss" => (vec![model, ("m", "5"), ("c", "2"), ("b", "3")], 0.1),
        // Wide enough for about half of the random updates.
        "norm_ball" => (vec![model, ("m", "5"), ("lambda", "1.41")], 0.1),
        "linf_bound" => (vec![model, ("m", "5"), ("bound", "0.79")], 0.1),
        _ => (vec![model, ("m", "5")], 0.1),
    };
    sizes.sort_unstable();
    (sizes, spread)
}

fn all() -> impl Iterator<Item = (&'static str, Case, f64)> {
    PREDICATES.iter().map(|(file, _)| {
        let name = file.trim_end_matches(".slvr");
        let (sizes, spread) = sizes(name);
        (name, compile(predicate(name), &sizes), spread)
    })
}

/// Whether anything but zeros was revealed.
fn hold(name: &str, case: &Case, inputs: &Inputs, seed: u64) -> bool {
    let report = case.parties(inputs, seed);
    let traffic = Traffic::of(case.circuit());
    assert_eq!((report.rounds, report.bytes_sent), (traffic.rounds, traffic.bytes), "{name}");
    let floating = case.floating(inputs, &report.coins);
    for (output, expected) in report.outputs.iter().zip(&floating) {
        let scale = expected.iter().fold(0.0f64, |m, x| m.max(x.abs())).max(1.0 / 16.0);
        for (i, (got, want)) in output.values.iter().zip(expected).enumerate() {
            // 0 / 0, nobody kept: floating point says NaN, the circuit 0.
            if want.is_nan() {
                assert_eq!(*got, 0.0, "{name}, seed {seed}: {}[{i}]", output.name);
                continue;
            }
            let error = (got - want).abs() / scale;
            assert!(
                error < 1.0 / 256.0,
                "{name}, seed {seed}: {}[{i}] is {got}, in floating point {want}",
                output.name
            );
        }
    }
    floating.iter().flatten().any(|x| x.is_finite() && *x != 0.0)
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

/// Overwrites the reals of every secret input with a function of member and position.
fn fill(inputs: &mut Inputs, f: impl Fn(usize, usize) -> f64) {
    for set in &mut inputs.sets {
        for (member, tensors) in set.iter_mut().enumerate() {
            for (name, tensor) in tensors.iter_mut() {
                if let (RawData::F64(v), true) = (&mut tensor.data, name == "update") {
                    v.iter_mut().enumerate().for_each(|(i, x)| *x = f(member, i));
                }
            }
        }
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
    use slvr_runtime::circuit::Op;
    for (name, case, _) in all() {
        let circuit = case.circuit();
        let mut opened = vec![0; circuit.outputs.len()];
        for instr in circuit.layers.iter().flat_map(|l| &l.exchange) {
            match instr.op {
                Op::OpenTo { output, .. } => opened[output as usize] += 1,
                Op::Open(_) => panic!("{name} opens a value to the parties"),
                _ => {}
            }
        }
        assert!(opened.iter().all(|&n| n == 1), "{name}: {opened:?}");
    }
}
