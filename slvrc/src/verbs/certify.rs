//! `slvrc certify`: what is proven of runs on given inputs, and what is measured on them.

use crate::fail::{misuse, print, say};
use crate::target::{Drawn, Target};
use slvr::about::About;
use slvr::certify::{self, Given};
use slvr::program::{self, Loaded};
use slvr::{memory, tensors};
use slvr_runtime::share::encode::Encoded;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Certify {
    #[command(flatten)]
    target: Target,
    /// Directory of the inputs, as for `run`; `about.json` in it may say where they are from and who attacks.
    #[arg(long, value_name = "DIR")]
    inputs: PathBuf,
    #[command(flatten)]
    drawn: Drawn,
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
        let build = self.target.build()?;
        if build.is_artifact() {
            misuse!(
                "a compiled circuit says nothing of its program; certify takes a program, a .slvr file"
            );
        }
        let loaded = program::load(&build, &print)?;
        let Loaded::Source(source) = &loaded else { unreachable!("a program") };
        let circuit = loaded.circuit();
        let coins = self.drawn.coins(circuit)?;
        memory::must_fit(certify::memory(&source.compiled), "its evaluation with bounds")?;
        let inputs = tensors::read(circuit, &self.inputs, &print)?;
        let about = About::read(&self.inputs)?;
        // Shapes, ranges and numbers are held to the declaration.
        let encoded = Encoded::new(circuit, &inputs)
            .map_err(|e| tensors::locate(circuit, &self.inputs, e))?;
        let name = self.inputs.display().to_string();
        let confidence = self.confidence / 100.0;
        let given = Given { name, about, inputs, coins, seed: self.drawn.seed, confidence };
        let report = certify::certify(source, given, &encoded)?;
        say(&if json { report.to_json() } else { report.to_text() })
    }
}
