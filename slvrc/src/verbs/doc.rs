//! `slvrc doc`: the library, the models, the predicates and the grammar as Markdown.

use crate::fail::{say, say_json};
use anyhow::{Context, bail};
use serde_json::{Map, Value, json};
use slvr::files;
use slvr_compiler::ide::doc;
use slvr_compiler::source::Sources;
use slvr_compiler::syntax::{self, MAX_SOURCE, embedded};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Doc {
    /// `std`, `models`, `predicates`, `grammar`, predicates of the library by their names, or `.slvr` files; the first
    /// four if nothing is named.
    #[arg(value_name = "PAGE")]
    pages: Vec<String>,
    /// Write `PAGE.md` into this folder instead of to standard output.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

impl Doc {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        let all = || ["std", "models", "predicates", "grammar"].map(String::from).to_vec();
        let wanted = if self.pages.is_empty() { all() } else { self.pages };
        let pages = wanted.iter().map(|name| page(name)).collect::<anyhow::Result<Vec<_>>>()?;
        let mut names = BTreeSet::new();
        if let Some((twice, _)) = pages.iter().find(|(name, _)| !names.insert(name)) {
            bail!("two pages would be called `{twice}`: ask for one at a time");
        }
        if let Some(dir) = &self.output {
            fs::create_dir_all(dir)
                .with_context(|| format!("{}: no folder can be made here", dir.display()))?;
            for (name, text) in &pages {
                let path = dir.join(format!("{name}.md"));
                files::write(&path, text.as_bytes())?;
            }
        }
        if json {
            let pages: Map<String, Value> =
                pages.into_iter().map(|(name, text)| (name, Value::String(text))).collect();
            return say_json(json!({ "pages": pages }));
        }
        if self.output.is_none() {
            let texts: Vec<String> = pages.into_iter().map(|(_, text)| text).collect();
            say(&texts.join("\n"))?;
        }
        Ok(())
    }
}

/// Name and text of a page.
fn page(name: &str) -> anyhow::Result<(String, String)> {
    if !Path::new(name).exists()
        && let Some(text) = embedded::get(&format!("{name}.slvr"))
    {
        let stem = name.rsplit('/').next().unwrap_or(name);
        return Ok((stem.to_owned(), doc::file_page(stem, text)));
    }
    let text = match name {
        "std" => doc::std_page(),
        "models" => doc::models_page(),
        "predicates" => doc::predicates_page(),
        "grammar" => doc::grammar::page(),
        _ => {
            let what =
                "neither `std`, `models`, `predicates` or `grammar` nor a file that can be read";
            let text = files::read_text(Path::new(name), MAX_SOURCE as u64)
                .with_context(|| format!("{name}: {what}"))?;
            let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy();
            let mut sources = Sources::new();
            let id = sources.add(name, text.as_str());
            let (_, diagnostics) = syntax::parse(id, &text);
            if !diagnostics.is_empty() {
                return Err(crate::fail::Rejected { diagnostics, sources }.into());
            }
            return Ok((stem.clone().into_owned(), doc::file_page(&stem, &text)));
        }
    };
    Ok((name.to_owned(), text))
}
