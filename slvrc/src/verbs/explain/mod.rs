//! `slvrc explain`: what a program costs and leaks, before it runs; or what an error code means.
//!
//! | file | does |
//! |---|---|
//! | `report.rs` | gathers everything that is said of a program |
//! | `text.rs` | as text for people |
//! | `json.rs` | as one JSON object |
//! | `html/` | as one HTML page without scripts |
//! | `code.rs` | codes of diagnostics |
//!
//! May not live here: counting (`slvr_compiler::cost`), what is proven or leaked (`slvr_compiler::report`).

mod code;
mod html;
mod json;
mod report;
mod text;

use crate::fail::say;
use crate::target::Target;
use anyhow::bail;
use slvr_compiler::analysis::privacy;
use slvr_compiler::cost::NetProfile;
use std::path::PathBuf;

/// Arguments.
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
}

/// A probability.
fn delta(text: &str) -> Result<f64, String> {
    let x: f64 = text.parse().map_err(|_| "is no number".to_string())?;
    let fits = x > 0.0 && x < 1.0;
    fits.then_some(x).ok_or_else(|| "is not between 0 and 1: a delta such as 1e-5".into())
}

impl Explain {
    /// Puts what --delta and --rounds ask for in the place of what a certificate states without them.
    fn ask(&self, report: &mut report::Report) -> anyhow::Result<()> {
        if self.delta.is_none() && self.rounds.is_empty() {
            return Ok(());
        }
        let privacy = report.certificate.as_mut().and_then(|c| c.privacy.as_mut());
        let Some(privacy) = privacy else {
            bail!(
                "{}: no noise is known here: --delta and --rounds ask what noise promises, and an artifact has \
                   no certificate",
                self.target.file
            );
        };
        let mut rounds =
            if self.rounds.is_empty() { privacy::ROUNDS.to_vec() } else { self.rounds.clone() };
        rounds.sort_unstable();
        rounds.dedup();
        privacy.ask(self.delta.unwrap_or(privacy::DELTA), &rounds);
        Ok(())
    }

    pub fn run(self, json: bool) -> anyhow::Result<()> {
        if let Some(number) = code::number(&self.target.file) {
            return code::explain_code(&self.target.file, number, json);
        }
        // Without a network, how the circuit for a LAN would do on all of them.
        let nets = self.target.profile()?.map_or(NetProfile::all().into(), |n| vec![n]);
        if let Some(path) = &self.html {
            crate::files::can_write(path)?;
            crate::files::differ(&self.target.file, path)?;
        }
        let mut report = report::Report::new(&self.target, nets)?;
        self.ask(&mut report)?;
        if let Some(path) = &self.html {
            crate::files::write(path, html::page(&report).as_bytes())?;
        }
        say(&if json { json::object(&report) } else { text::page(&report, self.html.as_deref()) })
    }
}
