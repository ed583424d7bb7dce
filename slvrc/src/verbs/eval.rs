//! `slvrc eval`: in the clear, in floating point or in the circuit's own ring arithmetic.

use crate::fail::{print, say, say_json};
use crate::target::{Drawn, Invalid, Target};
use serde_json::{Value, json};
use slvr::clear_states::{self, States};
use slvr::cohort::Cohort;
use slvr::eval::{self, How};
use slvr::memory;
use slvr::program;
use slvr::tensors::{self, Values};
use slvr_compiler::cost;
use slvr_runtime::share::encode::Encoded;
use std::path::PathBuf;

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
    /// this evaluation. Without the file they begin. Every round has noise of its own.
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
    #[command(flatten)]
    drawn: Drawn,
}

impl Eval {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        let build = self.target.build()?;
        let loaded = program::load(&build, &print)?;
        let how = match (self.exact, self.ieee) {
            (true, _) => How::Exact,
            (false, true) => How::Ieee,
            (false, false) => How::Floating,
        };
        let how = how.of(&loaded);
        let circuit = loaded.circuit();
        if how == How::Exact {
            memory::must_fit(cost::peak_in_the_clear(circuit), "its evaluation")?;
        }
        if let Some(dir) = &self.outputs {
            tensors::can_make(circuit, dir)?;
        }
        // Who gives nothing counts as in a run.
        let (dir, invalid) = (&self.inputs, self.invalid.into());
        let cohort = Cohort::read(&build, loaded, dir, Values::Declared, invalid, &print)?;
        let (circuit, mut inputs) = (cohort.circuit(), cohort.inputs.clone());
        let coins = self.drawn.coins(circuit)?;
        // Shapes, ranges and numbers are held to the declaration whichever way it is evaluated.
        let encoded = Encoded::new(circuit, &inputs)
            .map_err(|e| tensors::locate(circuit, &self.inputs, e))?;
        tensors::stand_in(circuit, &mut inputs);
        let mut states = match &self.state {
            Some(file) => clear_states::read(circuit, file)?,
            None => States::default(),
        };
        let (given, drawn) = ((&inputs, encoded), (coins.as_slice(), self.drawn.seed));
        let outputs = eval::evaluate(&cohort.loaded, how, given, drawn, &mut states)?;
        // With the states the round has counted, as in a run.
        if let Some(dir) = &self.outputs {
            tensors::write_outputs(circuit, &outputs, Some(&cohort.members), dir)?;
        }
        if let Some(file) = &self.state {
            clear_states::write(circuit, file, &states)?;
        }
        let how = how.name();
        if json {
            let all: Vec<Value> = outputs
                .iter()
                .map(|o| json!({ "name": o.name, "shape": o.shape, "values": o.values }))
                .collect();
            let coins: Vec<String> = coins.iter().map(|c| format!("{c:032x}")).collect();
            let all = json!({
                "predicate": circuit.name, "arithmetic": how, "coins": coins,
                "outputs": all, "excluded": cohort.excluded_json(),
            });
            return say_json(all);
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
