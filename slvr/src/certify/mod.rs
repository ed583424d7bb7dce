//! What is proven of runs on given inputs, and what is measured on them.

mod json;
mod report;
mod text;

pub use report::Report;

use crate::about::About;
use crate::error::{Error, Result};
use crate::memory;
use crate::program::{Checked, Source};
use slvr_compiler::analysis::failure::Term;
use slvr_compiler::cost;
use slvr_compiler::graph::eval;
use slvr_compiler::noise::Words;
use slvr_compiler::pipeline::{self, Compiled};
use slvr_compiler::report::certificate::Certificate;
use slvr_compiler::report::confidence::Measured;
use slvr_compiler::report::given::{self, OnInputs};
use slvr_runtime::clear;
use slvr_runtime::protocol::committee::committees;
use slvr_runtime::share::encode::{Encoded, Inputs, RawTensor};
use std::collections::BTreeMap;

/// What inputs are certified for.
pub struct Given {
    /// What they are called in the report: a folder.
    pub name: String,
    /// What is said of them.
    pub about: Option<About>,
    pub inputs: Inputs,
    pub coins: Vec<u128>,
    /// What the noise and the roundings of the evaluation that is measured are made of.
    pub seed: u64,
    /// Of the interval of what is measured, between 0 and 1.
    pub confidence: f64,
}

/// Bytes that it takes.
pub fn memory(compiled: &Compiled) -> u64 {
    given::memory(compiled)
}

/// Certifies inputs that fit the circuit; `encoded` has them in words.
///
/// # Errors
///
/// [`Error::Memory`], and [`Error::Input`] of inputs that cannot be evaluated.
pub fn certify<'c>(
    Source { checked, compiled, .. }: &'c Source,
    given: Given,
    encoded: &Encoded,
) -> Result<Report<'c>> {
    let Given { name, about, inputs, coins, seed, confidence } = given;
    let places = cost::places(&checked.program, &compiled.optimised, &checked.sources);
    let draw = committees(&coins);
    let found = OnInputs::of(compiled, &places, &graph_inputs(&inputs, seed), &draw)
        .map_err(|e| Error::Input(e.to_string()))?;
    drop((inputs, draw));
    let measured = measure((checked, compiled), &found, encoded, (&coins, seed, confidence))?;
    let certificate = Certificate::of(compiled, &places);
    let mut failure = certificate.failure.clone();
    failure.terms.push(Term {
        what: "roundings add up beyond the bounds for these inputs".into(),
        line: 0,
        log2: found.certificate.failure_log2,
        span: Default::default(),
        is_proof: false,
    });
    let (circuit, proven) = (&compiled.circuit, found.certificate);
    Ok(Report { circuit, dir: name, about, certificate, failure, proven, measured })
}

impl Report<'_> {
    pub fn to_text(&self) -> String {
        text::page(self)
    }

    /// As one JSON object, with a line end.
    pub fn to_json(&self) -> String {
        json::object(self)
    }
}

/// How many decisions fall as in floating point, in the circuit's own arithmetic with its own roundings.
fn measure(
    (checked, compiled): (&Checked, &Compiled),
    found: &OnInputs,
    encoded: &Encoded,
    (coins, seed, confidence): (&[u128], u64, f64),
) -> Result<Option<Measured>> {
    if found.decisions.is_empty() {
        return Ok(None);
    }
    let nodes = found.probes(&compiled.optimised);
    let probed =
        pipeline::probed(compiled, checked.how, &nodes).map_err(|d| checked.rejected(d))?;
    memory::must_fit(cost::peak_in_the_clear(&probed), "its evaluation")?;
    // The noise that the bounds were computed with.
    let random = Words::of(seed).of_circuit(&probed);
    let options = clear::Options { seed, coins, random: &random, trace: false };
    let done = clear::evaluate(&probed, encoded.values(&probed), &options);
    let outputs = done.map_err(|e| Error::Input(e.to_string()))?.outputs;
    let own = compiled.optimised.outputs.len();
    let values: Vec<&[f64]> = outputs[own..].iter().map(|o| o.values.as_slice()).collect();
    Ok(Some(found.agreement(&compiled.optimised, &values, confidence)))
}

fn graph_inputs(inputs: &Inputs, seed: u64) -> eval::Inputs {
    let map = |m: &BTreeMap<String, RawTensor>| {
        m.iter().map(|(n, t)| (n.clone(), t.data.to_f64())).collect()
    };
    eval::Inputs {
        public: map(&inputs.public),
        sets: inputs.sets.iter().map(|s| s.iter().map(map).collect()).collect(),
        noise: Words::of(seed),
        ..eval::Inputs::default()
    }
}
