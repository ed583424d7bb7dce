//! `slvrc explain`: what a program costs and leaks, before it runs; or what an error code means.

mod code;

use crate::fail::{print, say};
use crate::target::Target;
use slvr::explain::Report;
use slvr::files;
use slvr_compiler::cost::NetProfile;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Explain {
    /// A program (or a compiled `.slvrb`), or the code of a diagnostic (`E0007`) in place of one.
    #[command(flatten)]
    target: Target,
    /// Writes a report with charts: one HTML file that needs no other.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Of programs with noise: states epsilon at this delta.
    #[arg(long, value_name = "DELTA", value_parser = delta)]
    delta: Option<f64>,
    /// Of programs with noise: states epsilon for this number of rounds, and for each further one that is given.
    #[arg(long, value_name = "ROUNDS", value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Vec<u64>,
    /// Says what this many workers of each party would compute: ranges of layers that other machines of a party can take
    /// over. Memory and bytes are exact, seconds an estimate
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,
}

fn delta(text: &str) -> Result<f64, String> {
    let x: f64 = text.parse().map_err(|_| "is no number".to_string())?;
    let fits = x > 0.0 && x < 1.0;
    fits.then_some(x).ok_or_else(|| "is not between 0 and 1: a delta such as 1e-5".into())
}

impl Explain {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        if let Some(number) = code::number(&self.target.file) {
            return code::explain_code(&self.target.file, number, json);
        }
        // Without a network, how the circuit for a LAN would do on all of them.
        let nets = self.target.profile()?.map_or(NetProfile::all().into(), |n| vec![n]);
        if let Some(path) = &self.html {
            files::can_write(path)?;
            files::differ(&self.target.file, path)?;
        }
        let mut report = Report::new(&self.target.build()?, nets, &print)?;
        report.ask(self.delta, &self.rounds)?;
        if let Some(count) = self.workers {
            report.ask_workers(usize::from(count))?;
        }
        if let Some(path) = &self.html {
            files::write(path, report.to_html().as_bytes())?;
        }
        say(&if json { report.to_json() } else { report.to_text(self.html.as_deref()) })
    }
}
