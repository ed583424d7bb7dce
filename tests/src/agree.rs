//! Three parties held against the program in floating point, and inputs that make it hard.

use crate::{Case, Random, random_inputs};
use slvr_circuit::traffic::Traffic;
use slvr_circuit::{Circuit, Encoding, From, Input};
use slvr_runtime::share::encode::{Inputs, RawData};

/// Largest difference from floating point, relative to the largest entry of the output.
pub const TOLERANCE: f64 = 1.0 / 256.0;

/// Runs three parties and compares every output with the floating-point program; also that rounds
/// and bytes are those predicted. Whether anything but zeros was revealed.
///
/// # Panics
///
/// They differ by more than [`TOLERANCE`].
pub fn hold(name: &str, case: &Case, inputs: &Inputs, seed: u64) -> bool {
    let report = case.parties(inputs, seed);
    let traffic = Traffic::of_run(case.circuit(), &report.admitted);
    assert_eq!((report.rounds, report.bytes_sent), (traffic.rounds, traffic.bytes), "{name}");
    let floating = case.floating(inputs, &report.coins);
    let found: Vec<Vec<f64>> = report.outputs.iter().map(|o| o.values.clone()).collect();
    if let Err(why) = close(&found, &floating) {
        panic!("{name}, seed {seed}: {why}");
    }
    floating.iter().flatten().any(|x| x.is_finite() && *x != 0.0)
}

/// Whether outputs are within [`TOLERANCE`] of what is wanted; the largest relative error.
///
/// # Errors
///
/// The first entry that is not.
pub fn close(found: &[Vec<f64>], wanted: &[Vec<f64>]) -> Result<f64, String> {
    assert_eq!(found.len(), wanted.len(), "as many outputs");
    let mut worst: f64 = 0.0;
    for (output, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        assert_eq!(found.len(), wanted.len(), "entries of output {output}");
        let largest = wanted.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let scale = largest.max(1.0 / 16.0);
        for (i, (got, want)) in found.iter().zip(wanted).enumerate() {
            let error = (got - want).abs() / scale;
            if !error.is_finite() || error >= TOLERANCE {
                return Err(format!("output {output}[{i}] is {got}, in floating point {want}"));
            }
            worst = worst.max(error);
        }
    }
    Ok(worst)
}

/// Overwrites the update of every member with a function of member and position.
pub fn fill(inputs: &mut Inputs, f: impl Fn(usize, usize) -> f64) {
    for set in &mut inputs.sets {
        for (member, tensors) in set.iter_mut().enumerate() {
            if let Some(RawData::F64(v)) = tensors.get_mut("update").map(|t| &mut t.data) {
                v.iter_mut().enumerate().for_each(|(i, x)| *x = f(member, i));
            }
        }
    }
}

/// One of the two ends of an input's range; a public input without one has those of a secret update.
fn end(input: &Input, high: bool) -> f64 {
    match input.encoding {
        Encoding::Fixed { lo, hi, .. } => {
            if high {
                hi.min(8.0)
            } else {
                lo.max(-8.0)
            }
        }
        Encoding::Int { lo, hi } => (if high { hi - 1 } else { lo }) as f64,
        Encoding::OneHot { classes } => (if high { classes - 1 } else { 0 }) as f64,
    }
}

/// Which end of its range an entry has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    Low,
    High,
    /// Either, at random.
    Either,
    /// Either for the first member, a twentieth of the range for all others.
    OneMember,
}

/// Inputs with every entry at an end of its declared range.
pub fn ends(circuit: &Circuit, ends: Ends, seed: u64) -> Inputs {
    let mut random = Random::new(seed);
    let mut inputs = random_inputs(circuit, seed, 0.05);
    let member = |s: u32| inputs.sets.get(s as usize).map_or(0, Vec::len);
    let givers: Vec<usize> = (circuit.inputs.iter())
        .map(|i| if let From::Each(s) = i.from { member(s) } else { 1 })
        .collect();
    for (input, givers) in circuit.inputs.iter().zip(givers) {
        for at in 0..givers {
            let tensor = match input.from {
                From::Public => inputs.public.get_mut(&input.name),
                From::Each(s) => inputs.sets[s as usize][at].get_mut(&input.name),
                // Nobody gives it.
                From::State(_) | From::Present(_) => continue,
            };
            if ends == Ends::OneMember && (at > 0 || input.from == From::Public) {
                continue;
            }
            let mut draw = || match ends {
                Ends::Low => end(input, false),
                Ends::High => end(input, true),
                Ends::Either | Ends::OneMember => end(input, random.unit() < 0.5),
            };
            match tensor.map(|t| &mut t.data) {
                Some(RawData::F32(v)) => v.iter_mut().for_each(|x| *x = draw() as f32),
                Some(RawData::F64(v)) => v.iter_mut().for_each(|x| *x = draw()),
                Some(RawData::I64(v)) => v.iter_mut().for_each(|x| *x = draw() as i64),
                None => panic!("no input {}", input.name),
            }
        }
    }
    inputs
}
