//! `slvrc certify`: what is proven of runs on given inputs, and what is measured on them.
//!
//! | file | does |
//! |---|---|
//! | `mod.rs` | arguments, evaluation |
//! | `report.rs` | what is said |
//! | `text.rs`, `json.rs` | how it is printed |

mod json;
mod report;
mod text;

use crate::about::About;
use crate::coins::{coins, committees};
use crate::fail::{Usage, say};
use crate::program::{self, Checked, Loaded};
use crate::target::Target;
use crate::{memory, tensors};
use report::Report;
use slvr_compiler::analysis::failure::Term;
use slvr_compiler::cost;
use slvr_compiler::graph::eval;
use slvr_compiler::noise::Words;
use slvr_compiler::pipeline::{self, Compiled};
use slvr_compiler::report::confidence::Measured;
use slvr_compiler::report::given::{self, OnInputs};
use slvr_runtime::clear;
use slvr_runtime::share::encode::{Encoded, Inputs, RawData, RawTensor};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Arguments.
#[derive(clap::Args)]
pub struct Certify {
    #[command(flatten)]
    target: Target,
    /// Directory of the inputs, as for `run`; `about.json` in it may say where they are from and who attacks.
    #[arg(long, value_name = "DIR")]
    inputs: PathBuf,
    /// The public coins of a run, as its `--json` report prints them: the same committees.
    #[arg(long, value_name = "HEX,…", value_delimiter = ',', conflicts_with = "seed")]
    coins: Vec<String>,
    /// The coins that `run --seed N` draws, the noise, and the roundings of the evaluation that is measured.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Confidence of the interval of what is measured, in percent.
    #[arg(long, default_value_t = 99.0, value_parser = percent)]
    confidence: f64,
}

fn percent(text: &str) -> Result<f64, String> {
    let x: f64 = text.parse().map_err(|_| "a number of percent, such as 99".to_string())?;
    if x > 0.0 && x < 100.0 { Ok(x) } else { Err("more than 0 and less than 100".into()) }
}

impl Certify {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        if self.target.file.ends_with(".slvrb") {
            let why = "a compiled circuit says nothing of its program; certify takes a program, a .slvr file";
            return Err(Usage(why.into()).into());
        }
        let loaded = program::load_circuit(&self.target)?;
        let certificate = loaded.certificate();
        let Loaded::Source(source) = &loaded else { unreachable!("a program") };
        let (checked, compiled) = &**source;
        let circuit = &compiled.circuit;
        let coins = coins(circuit, &self.coins, self.seed)?;
        memory::must_fit(given::memory(compiled), "its evaluation with bounds")?;
        let inputs = tensors::read(circuit, &self.inputs)?;
        let about = About::read(&self.inputs)?;
        // Shapes, ranges and numbers are held to the declaration.
        let encoded = Encoded::new(circuit, &inputs)
            .map_err(|e| tensors::locate(circuit, &self.inputs, e))?;
        let places = cost::places(&checked.program, &compiled.optimised, &checked.sources);
        let draw = committees(&coins);
        let found = OnInputs::of(compiled, &places, &graph_inputs(&inputs, self.seed), &draw)?;
        drop((inputs, draw));
        let measured = self.measure(checked, compiled, &found, &encoded, &coins)?;
        let Some(certificate) = certificate else { unreachable!("of a program") };
        let mut failure = certificate.failure.clone();
        failure.terms.push(Term {
            what: "roundings add up beyond the bounds for these inputs".into(),
            line: 0,
            log2: found.certificate.failure_log2,
            span: Default::default(),
            is_proof: false,
        });
        let report = Report {
            circuit,
            dir: self.inputs.display().to_string(),
            about,
            certificate,
            failure,
            proven: found.certificate,
            measured,
        };
        say(&if json { json::object(&report) } else { text::page(&report) })
    }

    /// How many decisions fall as in floating point, in the circuit's own arithmetic with its own roundings.
    fn measure(
        &self,
        checked: &Checked,
        compiled: &Compiled,
        found: &OnInputs,
        encoded: &Encoded,
        coins: &[u128],
    ) -> anyhow::Result<Option<Measured>> {
        if found.decisions.is_empty() {
            return Ok(None);
        }
        let nodes = found.probes(&compiled.optimised);
        let probed =
            pipeline::probed(compiled, checked.how, &nodes).map_err(|d| checked.rejected(d))?;
        memory::must_fit(cost::peak_in_the_clear(&probed), "its evaluation")?;
        // The noise that the bounds were computed with.
        let random = Words::of(self.seed).of_circuit(&probed);
        let options = clear::Options { seed: self.seed, coins, random: &random, trace: false };
        let outputs = clear::evaluate(&probed, encoded.values(&probed), &options)?.outputs;
        let own = compiled.optimised.outputs.len();
        let values: Vec<&[f64]> = outputs[own..].iter().map(|o| o.values.as_slice()).collect();
        let confidence = self.confidence / 100.0;
        Ok(Some(found.agreement(&compiled.optimised, &values, confidence)))
    }
}

fn graph_inputs(inputs: &Inputs, seed: u64) -> eval::Inputs {
    let reals = |t: &RawTensor| match &t.data {
        RawData::F64(v) => v.clone(),
        RawData::I64(v) => v.iter().map(|&x| x as f64).collect(),
    };
    let map =
        |m: &BTreeMap<String, RawTensor>| m.iter().map(|(n, t)| (n.clone(), reals(t))).collect();
    eval::Inputs {
        public: map(&inputs.public),
        sets: inputs.sets.iter().map(|s| s.iter().map(map).collect()).collect(),
        noise: Words::of(seed),
        ..eval::Inputs::default()
    }
}
