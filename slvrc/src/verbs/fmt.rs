//! `slvrc fmt`: formats files in place.

use crate::fail::{Rejected, caution, say, say_json};
use anyhow::{Context, bail};
use serde_json::json;
use slvr::files;
use slvr_compiler::source::Sources;
use slvr_compiler::syntax::{self, MAX_SOURCE};
use std::io::Read;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Fmt {
    /// Change nothing; name the files that are not formatted and exit with status 1.
    #[arg(long)]
    check: bool,
    /// `.slvr` files; `-` reads standard input and writes standard output.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Fmt {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        let mut changed = Vec::new();
        // What standard input gives.
        let mut standard = None;
        let mut rejected = Rejected { diagnostics: Vec::new(), sources: Sources::new() };
        for path in &self.files {
            let stdin = path.as_os_str() == "-";
            let text = if stdin {
                let mut text = String::new();
                // One byte more than a text may have is enough to refuse it.
                let stdin = std::io::stdin().take(MAX_SOURCE as u64 + 1);
                { stdin }.read_to_string(&mut text).context("standard input")?;
                text
            } else {
                files::text(path, MAX_SOURCE as u64)?
            };
            let name = path.display().to_string();
            let id = rejected.sources.add(&name, text.clone());
            let formatted = match syntax::format(id, &text) {
                Ok(formatted) => formatted,
                // The other files are none the worse for it.
                Err(diagnostics) => {
                    rejected.diagnostics.extend(diagnostics);
                    continue;
                }
            };
            if stdin && !self.check {
                match json {
                    true => standard = Some(formatted),
                    false => say(&formatted)?,
                }
            } else if formatted != text {
                if !self.check {
                    files::rewrite(path, &formatted)?;
                }
                changed.push(name);
            }
        }
        let dirty = self.check && !changed.is_empty();
        let unformatted = format!("not formatted: {}", changed.join(", "));
        if !rejected.diagnostics.is_empty() {
            if dirty {
                caution(&unformatted);
            }
            return Err(rejected.into());
        }
        if dirty {
            bail!(unformatted);
        }
        if json {
            let mut all = json!({ "changed": changed });
            if let Some(text) = standard {
                all["formatted"] = json!(text);
            }
            return say_json(all);
        }
        Ok(())
    }
}
