//! `slvrc fmt`: formats files in place.

use crate::fail::{Rejected, say};
use anyhow::{Context, bail};
use serde_json::json;
use slvr_compiler::syntax::{self, Sources};
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Arguments.
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
        let mut rejected = Rejected { diagnostics: Vec::new(), sources: Sources::new() };
        for path in &self.files {
            let stdin = path.as_os_str() == "-";
            let text = if stdin {
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text).context("standard input")?;
                text
            } else {
                fs::read_to_string(path)
                    .with_context(|| format!("{}: cannot be read", path.display()))?
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
                say(&formatted)?;
            } else if formatted != text {
                if !self.check {
                    replace(path, &formatted)?;
                }
                changed.push(name);
            }
        }
        let dirty = self.check && !changed.is_empty();
        if !rejected.diagnostics.is_empty() {
            return Err(rejected.into());
        }
        if dirty {
            bail!("not formatted: {}", changed.join(", "));
        }
        if json {
            say(&format!("{}\n", json!({ "ok": true, "changed": changed })))?;
        }
        Ok(())
    }
}

/// Writes a file whole or not at all: under another name beside it, then renamed over it. Its
/// permissions stay; a link is followed.
fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let failed = || format!("{}: cannot be written", path.display());
    let path = fs::canonicalize(path).with_context(failed)?;
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    let beside = path.with_file_name(name);
    let write = || {
        let mut file = fs::File::create(&beside)?;
        file.write_all(text.as_bytes())?;
        file.set_permissions(fs::metadata(&path)?.permissions())?;
        file.sync_all()?;
        fs::rename(&beside, &path)
    };
    write().inspect_err(|_| drop(fs::remove_file(&beside))).with_context(failed)
}
