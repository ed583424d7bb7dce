//! Evaluation in the clear, in floating point or in the circuit's own ring arithmetic.

use crate::clear_states::{self, States};
use crate::error::{Error, Result, refuse};
use crate::program::Loaded;
use slvr_circuit::Circuit;
use slvr_compiler::noise::Words;
use slvr_compiler::types::eval::{Arithmetic, EvalInputs, Tensor, trace_with};
use slvr_runtime::clear;
use slvr_runtime::protocol::committee::committees;
use slvr_runtime::share::encode::{Encoded, Inputs};
use slvr_runtime::share::reveal::Revealed;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum How {
    /// In floating point, where quotients and functions are as in a circuit; of a compiled artifact as [`How::Exact`].
    #[default]
    Floating,
    /// In floating point as IEEE 754 has it, with infinities and NaN.
    Ieee,
    /// In the circuit's ring arithmetic.
    Exact,
}

impl How {
    /// What is done of a program, or of an artifact.
    pub fn of(self, loaded: &Loaded) -> How {
        match loaded {
            Loaded::Source(_) => self,
            Loaded::Artifact(_) => How::Exact,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            How::Floating | How::Ieee => "floating point",
            How::Exact => "ring arithmetic",
        }
    }
}

/// Evaluates inputs, also as words; `states` become those of the next round. Noise is made of `seed`.
///
/// # Errors
///
/// [`Error::Input`] of what has no value.
pub fn evaluate(
    loaded: &Loaded,
    how: How,
    (inputs, encoded): (&Inputs, Encoded),
    (coins, seed): (&[u128], u64),
    states: &mut States,
) -> Result<Vec<Revealed>> {
    let circuit = loaded.circuit();
    let noise = Words::of(seed_of_round(seed, states.rounds));
    let values = std::mem::take(&mut states.values);
    let (outputs, next) = match (loaded, how) {
        (Loaded::Source(s), How::Floating | How::Ieee) => {
            let ieee = how == How::Ieee;
            let arithmetic = if ieee { Arithmetic::Ieee } else { Arithmetic::Total };
            floating(&s.checked.program, circuit, (inputs, coins, &noise), values, arithmetic)?
        }
        _ => exact(circuit, encoded, (coins, &noise), values)?,
    };
    states.values = next;
    states.rounds = states.rounds.saturating_add(1);
    Ok(outputs)
}

/// What noise is made of after so many rounds: in the first one of the seed itself.
fn seed_of_round(seed: u64, rounds: u64) -> u64 {
    seed.wrapping_add(rounds.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// What is revealed, and the states of the next round.
type Evaluated = (Vec<Revealed>, clear_states::StateValues);

fn exact(
    circuit: &Circuit,
    mut inputs: Encoded,
    (coins, noise): (&[u128], &Words),
    states: BTreeMap<String, Vec<f64>>,
) -> Result<Evaluated> {
    let random = noise.of_circuit(circuit);
    let options = clear::Options { coins, random: &random, ..clear::Options::default() };
    clear_states::put(circuit, &mut inputs, &states);
    let done = clear::evaluate(circuit, inputs.values(circuit), &options)
        .map_err(|e| Error::Input(e.to_string()))?;
    let next = clear_states::numbers(circuit, &done.states);
    Ok((done.outputs, next))
}

fn tensor_map(
    of: &BTreeMap<String, slvr_runtime::share::encode::RawTensor>,
) -> BTreeMap<String, Tensor> {
    of.iter()
        .map(|(name, t)| (name.clone(), Tensor { shape: t.shape.clone(), data: t.data.to_f64() }))
        .collect()
}

fn floating(
    program: &slvr_compiler::types::Program,
    circuit: &Circuit,
    (inputs, coins, noise): (&Inputs, &[u128], &Words),
    states: BTreeMap<String, Vec<f64>>,
    arithmetic: Arithmetic,
) -> Result<Evaluated> {
    let shape = |name: &str| {
        let input = circuit.inputs.iter().find(|i| i.name == name);
        input.map_or(Vec::new(), |i| i.shape.clone())
    };
    let states = states.into_iter().map(|(name, data)| {
        let shape = shape(&name);
        (name, Tensor { shape, data })
    });
    let given = EvalInputs {
        public: tensor_map(&inputs.public),
        sets: inputs.sets.iter().map(|s| s.iter().map(tensor_map).collect()).collect(),
        states: states.collect(),
        noise: noise.clone(),
    };
    let draw = committees(coins);
    let found =
        trace_with(program, &given, &draw, arithmetic).map_err(|e| Error::Input(e.to_string()))?;
    let next = found.states.into_iter().map(|(name, tensor)| (name, tensor.data)).collect();
    let values = found.reveals;
    let mut out = Vec::new();
    for ((name, tensor), o) in values.into_iter().zip(&circuit.outputs) {
        if tensor.data.iter().any(|v| !v.is_finite()) {
            refuse!(
                "`{name}` is not finite in IEEE 754: the program divides by zero, or a function has no value; \
                 without --ieee it is what a circuit computes"
            );
        }
        let words = slvr_ring::Data::zeros(slvr_circuit::Dom::Ring(64), 0);
        out.push(Revealed { name, to: o.to, shape: tensor.shape, words, values: tensor.data });
    }
    Ok((out, next))
}
