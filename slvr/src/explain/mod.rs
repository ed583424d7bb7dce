//! What a program costs, proves and leaks, before it runs: as text, as JSON, and as an HTML page without scripts.

mod html;
mod json;
mod report;
mod rows;
mod text;
mod workers;

pub use report::{Phase, Report, Rounds};
pub use text::beside;

use crate::error::{Result, refuse};
use slvr_compiler::analysis::privacy;
use std::path::Path;

impl Report {
    /// As text for people; it names the page that was written.
    pub fn to_text(&self, html: Option<&Path>) -> String {
        text::page(self, html)
    }

    /// As one JSON object, with a line end.
    pub fn to_json(&self) -> String {
        json::object(self)
    }

    /// As one HTML page that needs no other file.
    pub fn to_html(&self) -> String {
        html::page(self)
    }

    /// Of a program with noise: states epsilon at this delta and for these numbers of rounds, instead of the usual
    /// ones.
    ///
    /// # Errors
    ///
    /// [`Error::Input`](crate::Error::Input) where no noise is known.
    pub fn ask(&mut self, delta: Option<f64>, rounds: &[u64]) -> Result<()> {
        if delta.is_none() && rounds.is_empty() {
            return Ok(());
        }
        let privacy = self.certificate.as_mut().and_then(|c| c.privacy.as_mut());
        let Some(privacy) = privacy else {
            refuse!(
                "{}: no noise is known here: --delta and --rounds ask what noise promises, and an artifact has \
                   no certificate",
                self.file
            );
        };
        let mut rounds = if rounds.is_empty() { privacy::ROUNDS.to_vec() } else { rounds.to_vec() };
        rounds.sort_unstable();
        rounds.dedup();
        privacy.ask(delta.unwrap_or(privacy::DELTA), &rounds);
        Ok(())
    }
}
