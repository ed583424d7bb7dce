//! `slvrc explain`: what a program costs and leaks, before it runs; or what an error code means.
//!
//! | file | does |
//! |---|---|
//! | `report.rs` | gathers everything that is said of a program |
//! | `text.rs` | as text for people |
//! | `json.rs` | as one JSON object |
//! | `html/` | as one HTML page without scripts |
//! | `code.rs` | codes of diagnostics |
//! | `units.rs` | numbers for people |
//!
//! May not live here: counting (`slvrc::cost`), what is proven or leaked (`slvrc::certify`).

mod code;
mod html;
mod json;
mod report;
mod text;
mod units;

use crate::Target;
use crate::fail::{Usage, say};
use anyhow::Context;
use slvrc::cost::NetProfile;
use std::path::PathBuf;

/// Arguments.
#[derive(clap::Args)]
pub struct Explain {
    /// A program (or a compiled `.slvrb`), or the code of a diagnostic (`E0007`) in place of one.
    #[command(flatten)]
    target: Target,
    /// The network to predict times for: `loopback`, `lan`, `wan`, or a TOML file with
    /// `bandwidth_mbit` and `rtt_ms`. All three without it.
    #[arg(long, value_name = "NAME|FILE")]
    net: Option<String>,
    /// Writes a report with charts: one HTML file that needs no other.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Explain {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        if let Some(number) = code::number(&self.target.file) {
            return code::explain_code(&self.target.file, number, json);
        }
        let nets = nets(self.net.as_deref())?;
        let report = report::Report::new(&self.target, nets)?;
        if let Some(path) = &self.html {
            std::fs::write(path, html::page(&report))
                .with_context(|| format!("{}: cannot be written", path.display()))?;
        }
        say(&if json { json::object(&report) } else { text::page(&report, self.html.as_deref()) })
    }
}

/// The profile of that name or file; all with a name if none is asked for.
fn nets(asked: Option<&str>) -> anyhow::Result<Vec<NetProfile>> {
    let Some(name) = asked else { return Ok(NetProfile::all().into()) };
    Ok(vec![profile(name)?])
}

/// The network profile of that name or file.
pub fn profile(name: &str) -> anyhow::Result<NetProfile> {
    if let Some(profile) = NetProfile::named(name) {
        return Ok(profile);
    }
    if !name.contains(['.', '/', '\\']) {
        let why = format!("--net: `{name}` is not loopback, lan, wan or the name of a .toml file");
        return Err(Usage(why).into());
    }
    let text = std::fs::read_to_string(name).with_context(|| format!("{name}: cannot be read"))?;
    let shown = std::path::Path::new(name).file_stem().map_or(name.into(), |s| s.to_string_lossy());
    NetProfile::parse(&shown, &text).with_context(|| format!("{name}: no profile"))
}
