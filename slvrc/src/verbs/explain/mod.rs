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
}

impl Explain {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        if let Some(number) = code::number(&self.target.file) {
            return code::explain_code(&self.target.file, number, json);
        }
        // Without a network, how the circuit for a LAN would do on all of them.
        let nets = self.target.profile()?.map_or(NetProfile::all().into(), |n| vec![n]);
        if let Some(path) = &self.html {
            crate::files::can_write(path)?;
        }
        let report = report::Report::new(&self.target, nets)?;
        if let Some(path) = &self.html {
            crate::files::write(path, html::page(&report).as_bytes())?;
        }
        say(&if json { json::object(&report) } else { text::page(&report, self.html.as_deref()) })
    }
}
