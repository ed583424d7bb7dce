//! `slvrc eval`: in the clear, in floating point or in the circuit's own ring arithmetic.

use crate::cohort::{Cohort, Invalid};
use crate::coins::{coins, committees};
use crate::fail::say;
use crate::files::Prepared;
use crate::program::{self, Loaded};
use crate::target::Target;
use crate::tensors::{States, Values};
use crate::{kept, memory, tensors};
use anyhow::bail;
use serde_json::{Value, json};
use slvr_circuit::Circuit;
use slvr_compiler::cost;
use slvr_compiler::noise::Words;
use slvr_compiler::types::eval::{Arithmetic, EvalInputs, Tensor, trace_with};
use slvr_runtime::clear;
use slvr_runtime::share::encode::{Encoded, Inputs, RawData};
use slvr_runtime::share::reveal::Revealed;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Arguments.
#[derive(clap::Args)]
pub struct Eval {
    #[command(flatten)]
    target: Target,
    /// Directory of the inputs, as for `run`.
    #[arg(long, value_name = "DIR")]
    inputs: PathBuf,
    /// Directory that receives one file per receiver.
    #[arg(long, value_name = "DIR")]
    outputs: Option<PathBuf>,
    /// A safetensors file of the program's states as they are before the round, and after it: in the clear, as all of
    /// this evaluation. Without the file they begin.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// In the circuit's ring arithmetic instead of floating point.
    #[arg(long)]
    exact: bool,
    /// Quotients and functions as in IEEE 754, with infinities and NaN, instead of as in a circuit.
    #[arg(long, conflicts_with = "exact")]
    ieee: bool,
    /// What is done about members without a usable file, as in `run`.
    #[arg(long, value_enum, default_value_t = Invalid::Exclude)]
    invalid: Invalid,
    /// The public coins of a run, as its `--json` report prints them: the same committees.
    #[arg(long, value_name = "HEX,…", value_delimiter = ',', conflicts_with = "seed")]
    coins: Vec<String>,
    /// The coins that `run --seed N` draws; and what noise is made of, which is not that of a run. With --state every
    /// round has noise of its own.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

impl Eval {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        let loaded = program::load_circuit(&self.target)?;
        let circuit = loaded.circuit();
        if self.exact || matches!(loaded, Loaded::Artifact(_)) {
            memory::must_fit(cost::peak_in_the_clear(circuit), "its evaluation")?;
        }
        if let Some(dir) = &self.outputs {
            tensors::can_make(circuit, dir)?;
        }
        // Who gives nothing counts as in a run.
        let dir = &self.inputs;
        let cohort = Cohort::read(&self.target, loaded, dir, Values::Declared, self.invalid)?;
        let (circuit, loaded, mut inputs) =
            (cohort.circuit(), &cohort.loaded, cohort.inputs.clone());
        let coins = coins(circuit, &self.coins, self.seed)?;
        // Shapes, ranges and numbers are held to the declaration whichever way it is evaluated.
        let encoded = Encoded::new(circuit, &inputs)
            .map_err(|e| tensors::locate(circuit, &self.inputs, e))?;
        tensors::stand_in(circuit, &mut inputs);
        let states = match &self.state {
            Some(file) => tensors::read_states(circuit, file)?,
            None => States::default(),
        };
        let rounds = states.rounds;
        let noise = Words::of(seed_of_round(self.seed, rounds));
        let (outputs, values) = match loaded {
            Loaded::Source(s) if !self.exact => {
                let arithmetic = if self.ieee { Arithmetic::Ieee } else { Arithmetic::Total };
                floating(
                    &s.0.program,
                    circuit,
                    (&inputs, &coins, &noise),
                    states.values,
                    arithmetic,
                )?
            }
            _ => exact(circuit, encoded, (&coins, &noise), states.values)?,
        };
        if let Some(file) = &self.state {
            let next = States { values, rounds: rounds.saturating_add(1) };
            tensors::write_states(circuit, file, &next)?;
        }
        if let Some(dir) = &self.outputs {
            let members = Some(cohort.members.as_slice());
            let files = tensors::prepare_outputs(circuit, &outputs, members, dir)?;
            files.into_iter().try_for_each(Prepared::commit)?;
        }
        let how = match (loaded, self.exact) {
            (Loaded::Source(_), false) => "floating point",
            _ => "ring arithmetic",
        };
        if json {
            let all: Vec<Value> = outputs
                .iter()
                .map(|o| json!({ "name": o.name, "shape": o.shape, "values": o.values }))
                .collect();
            let coins: Vec<String> = coins.iter().map(|c| format!("{c:032x}")).collect();
            let all = json!({
                "ok": true, "predicate": circuit.name, "arithmetic": how, "coins": coins,
                "outputs": all, "excluded": cohort.excluded_json(),
            });
            return say(&format!("{all}\n"));
        }
        let mut out = format!("{} in {how}\n", circuit.name);
        let mut cut = false;
        for o in &outputs {
            out += &format!("  {} {:?} = {}\n", o.name, o.shape, shown(&o.values, &mut cut));
        }
        if cut {
            out += "  … --outputs DIR writes all values, and --json prints them\n";
        }
        say(&out)
    }
}

/// What noise is made of after so many rounds: in the first one of the seed itself.
fn seed_of_round(seed: u64, rounds: u64) -> u64 {
    seed.wrapping_add(rounds.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Most numbers of a reveal that are printed: of whole ones, such as bits for clients, and of others.
const MOST_WHOLE: usize = 64;
const MOST: usize = 4;

/// The numbers of a reveal, or the first of them; `cut` says that there are more.
fn shown(values: &[f64], cut: &mut bool) -> String {
    let whole = values.iter().all(|v| v.fract() == 0.0 && v.abs() < 1e9);
    let most = if whole { MOST_WHOLE } else { MOST };
    let one = |v: &f64| if whole { format!("{:.0}", v + 0.0) } else { format!("{v:.6}") };
    let mut all: Vec<String> = values.iter().take(most).map(one).collect();
    if values.len() > most {
        *cut = true;
        all.push("…".into());
    }
    all.join(", ")
}

/// What is revealed, and the states of the next round.
type Evaluated = (Vec<Revealed>, kept::Numbers);

fn exact(
    circuit: &Circuit,
    mut inputs: Encoded,
    (coins, noise): (&[u128], &Words),
    states: BTreeMap<String, Vec<f64>>,
) -> anyhow::Result<Evaluated> {
    let random = noise.of_circuit(circuit);
    let options = clear::Options { coins, random: &random, ..clear::Options::default() };
    kept::put(circuit, &mut inputs, &states);
    let done = clear::evaluate(circuit, inputs.values(circuit), &options)?;
    let next = kept::numbers(circuit, &done.states);
    Ok((done.outputs, next))
}

fn tensor_map(
    of: &BTreeMap<String, slvr_runtime::share::encode::RawTensor>,
) -> BTreeMap<String, Tensor> {
    of.iter()
        .map(|(name, t)| {
            let data = match &t.data {
                RawData::F64(v) => v.clone(),
                RawData::I64(v) => v.iter().map(|&x| x as f64).collect(),
            };
            (name.clone(), Tensor { shape: t.shape.clone(), data })
        })
        .collect()
}

fn floating(
    program: &slvr_compiler::types::Program,
    circuit: &Circuit,
    (inputs, coins, noise): (&Inputs, &[u128], &Words),
    states: BTreeMap<String, Vec<f64>>,
    arithmetic: Arithmetic,
) -> anyhow::Result<Evaluated> {
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
    let found = trace_with(program, &given, &draw, arithmetic)?;
    let next = found.states.into_iter().map(|(name, tensor)| (name, tensor.data)).collect();
    let values = found.reveals;
    let mut out = Vec::new();
    for ((name, tensor), o) in values.into_iter().zip(&circuit.outputs) {
        if tensor.data.iter().any(|v| !v.is_finite()) {
            bail!(
                "`{name}` is not finite in IEEE 754: the program divides by zero, or a function has no value; \
                 without --ieee it is what a circuit computes"
            );
        }
        let words = slvr_ring::Data::zeros(slvr_circuit::Dom::Ring(64), 0);
        out.push(Revealed { name, to: o.to, shape: tensor.shape, words, values: tensor.data });
    }
    Ok((out, next))
}
