//! A round in the circuit's own arithmetic, in the clear and among three parties.

use crate::parties::run_with;
use indicatif::ProgressBar;
use slvr::clear_states;
use slvr_circuit::{Circuit, Encoding};
use slvr_compiler::graph::eval::{Inputs as Filled, Tensors};
use slvr_compiler::noise::Words;
use slvr_ring::Data;
use slvr_runtime::clear;
use slvr_runtime::party::session::{self, Options, Report};
use slvr_runtime::share::encode::{Encoded, Inputs, RawTensor};
use slvr_runtime::share::state::Kept;
use slvr_simulation::lab::fast::Revealed;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Held by a cell that runs among three parties: one such run takes what three machines have, and cells run beside each other.
static PARTIES: Mutex<()> = Mutex::new(());

/// A circuit with the inputs of a round.
pub struct Exact<'a> {
    pub circuit: &'a Circuit,
    inputs: Inputs,
    /// What is kept of the round before.
    kept: &'a clear_states::StateValues,
    seed: u64,
    /// What a run with this seed draws.
    pub coins: Vec<u128>,
}

impl<'a> Exact<'a> {
    pub fn new(
        circuit: &'a Circuit,
        filled: &Filled,
        kept: &'a clear_states::StateValues,
        seed: u64,
    ) -> Exact<'a> {
        let coins = session::coins(circuit, seed);
        Exact { circuit, inputs: raw(circuit, filled), kept, seed, coins }
    }

    fn encoded(&self) -> anyhow::Result<Encoded> {
        let mut encoded = Encoded::new(self.circuit, &self.inputs)?;
        clear_states::put(self.circuit, &mut encoded, self.kept);
        Ok(encoded)
    }

    /// In the clear, with this noise.
    pub fn evaluate(&self, noise: &Words) -> anyhow::Result<Revealed> {
        let (circuit, coins) = (self.circuit, self.coins.as_slice());
        let random = noise.of_circuit(circuit);
        let options = clear::Options { coins, random: &random, ..clear::Options::default() };
        let done = clear::evaluate(circuit, self.encoded()?.values(circuit), &options)?;
        let values = done.outputs.into_iter().map(|o| (o.name, o.values)).collect();
        let kept = clear_states::numbers(circuit, &done.states);
        Ok(Revealed { values, kept, influence: None })
    }

    /// Among three parties, which go on from what is kept here.
    pub fn run(&self, record: bool) -> anyhow::Result<Report> {
        let words = self.encoded()?.states;
        let begun: Option<Vec<Data>> =
            self.circuit.states().map(|(i, _)| words.get(&i).cloned()).collect();
        let state = begun
            .filter(|b| !b.is_empty())
            .map(|b| [0, 1, 2].map(|me| Kept::known(self.circuit, me, &b)));
        let options = Options {
            seed: Some(self.seed),
            deadline: Duration::from_secs(1200),
            record,
            state: state.as_ref(),
            ..Options::default()
        };
        let _alone = PARTIES.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(run_with(self.circuit, &self.inputs, options, &ProgressBar::hidden())?)
    }
}

/// Filled inputs as a run reads them.
pub fn raw(circuit: &Circuit, filled: &Filled) -> Inputs {
    let tensors = |of: &Tensors| -> BTreeMap<String, RawTensor> {
        let one = |(name, values): (&String, &Vec<f64>)| {
            let input = circuit.inputs.iter().find(|i| i.name == *name)?;
            let tensor = match input.encoding {
                Encoding::Fixed { .. } => RawTensor::reals(input.shape.clone(), values.clone()),
                Encoding::Int { .. } | Encoding::OneHot { .. } => RawTensor::integers(
                    input.shape.clone(),
                    values.iter().map(|x| *x as i64).collect(),
                ),
            };
            Some((name.clone(), tensor))
        };
        of.iter().filter_map(one).collect()
    };
    let sets = filled.sets.iter().map(|set| set.iter().map(tensors).collect()).collect();
    Inputs { public: tensors(&filled.public), sets }
}
