//! From a file name and bindings to a checked program, and to a circuit.

use crate::Target;
use crate::fail::Rejected;
use anyhow::Context;
use slvr_runtime::circuit::{Circuit, artifact};
use slvrc::diagnostic::Diagnostic;
use slvrc::pipeline::{self, Compiled};
use slvrc::syntax::ast::{File, FileId};
use slvrc::syntax::{self, LoadError, Sources};
use slvrc::types::{self, Program};

/// A program that type-checks.
pub struct Checked {
    pub program: Program,
    pub sources: Sources,
    pub warnings: Vec<Diagnostic>,
    /// Some size was not given: a default or the smallest that fits was taken.
    pub chosen: bool,
}

/// What to do about sizes that are not bound.
#[derive(Clone, Copy, PartialEq)]
pub enum Sizes {
    /// An error that shows the whole command line.
    Required,
    /// The smallest that satisfy the program's own requirements.
    OrSmallest,
}

impl Checked {
    /// Diagnostics about this program as an error.
    pub fn rejected(&self, diagnostics: Vec<Diagnostic>) -> anyhow::Error {
        Rejected { diagnostics, sources: self.sources.clone() }.into()
    }

    /// All stages.
    pub fn compile(&self) -> anyhow::Result<Compiled> {
        pipeline::compile(&self.program, &self.sources).map_err(|d| self.rejected(d))
    }
}

fn load(path: &str) -> Result<String, LoadError> {
    std::fs::read_to_string(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => LoadError::NotFound,
        _ => LoadError::Unreadable(e.to_string()),
    })
}

/// The text of the target. A name without a directory that is not a file here may be one of the
/// predicates that come with the compiler.
fn source(file: &str) -> anyhow::Result<String> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(text),
        Err(e) => {
            let bare = file.strip_suffix(".slvr").unwrap_or(file);
            let known = syntax::embedded::PREDICATES
                .iter()
                .find(|(name, _)| name.strip_suffix(".slvr").unwrap_or(name) == bare);
            match known {
                Some((_, text)) => Ok((*text).to_string()),
                None => Err(e).with_context(|| format!("cannot read {file}")),
            }
        }
    }
}

fn bindings(target: &Target) -> anyhow::Result<Vec<(String, String)>> {
    target
        .bindings
        .iter()
        .map(|b| match b.split_once('=') {
            Some((n, v)) if !n.is_empty() => Ok((n.trim().to_string(), v.trim().to_string())),
            _ => Err(crate::fail::Usage(format!("`{b}` is not NAME=VALUE")).into()),
        })
        .collect()
}

/// Parses the target only.
pub fn parse(target: &Target) -> anyhow::Result<(File, FileId)> {
    let mut sources = Sources::new();
    let text = source(&target.file)?;
    let id = sources.add(&target.file, text.clone());
    let (file, diagnostics) = syntax::parse(id, &text);
    if diagnostics.is_empty() {
        Ok((file, id))
    } else {
        Err(Rejected { diagnostics, sources }.into())
    }
}

/// Parses and types the target.
pub fn check(target: &Target, sizes: Sizes) -> anyhow::Result<Checked> {
    let text = source(&target.file)?;
    check_text(&target.file, text, bindings(target)?, target.predicate.clone(), sizes)
}

/// Parses and types a text.
pub fn check_text(
    name: &str,
    text: String,
    bindings: Vec<(String, String)>,
    predicate: Option<String>,
    sizes: Sizes,
) -> anyhow::Result<Checked> {
    let mut sources = Sources::new();
    let id = sources.add(name, text);
    let options = types::Options { bindings, predicate, defaults: sizes == Sizes::OrSmallest };
    let done = types::check(&mut sources, id, &options, &mut load);
    match done {
        Ok(types::Checked { program, mut warnings, chosen }) => {
            warnings.extend(pipeline::unchecked_demands(&program));
            Ok(Checked { program, sources, warnings, chosen })
        }
        Err(diagnostics) => Err(Rejected { diagnostics, sources }.into()),
    }
}

/// A program with its circuit, or a compiled artifact alone.
pub enum Loaded {
    /// From source.
    Source(Box<(Checked, Compiled)>),
    /// From a `.slvrb` file.
    Artifact(Box<Circuit>),
}

impl Loaded {
    /// The circuit.
    pub fn circuit(&self) -> &Circuit {
        match self {
            Loaded::Source(s) => &s.1.circuit,
            Loaded::Artifact(c) => c,
        }
    }
}

/// The circuit of a target, compiled or read.
pub fn load_circuit(target: &Target) -> anyhow::Result<Loaded> {
    if target.file.ends_with(".slvrb") {
        if !target.bindings.is_empty() {
            let why = "a compiled circuit has its sizes already: drop the NAME=VALUE arguments";
            return Err(crate::fail::Usage(why.into()).into());
        }
        let bytes =
            std::fs::read(&target.file).with_context(|| format!("cannot read {}", target.file))?;
        let circuit = artifact::read(&bytes).with_context(|| target.file.clone())?;
        return Ok(Loaded::Artifact(Box::new(circuit)));
    }
    let checked = check(target, Sizes::Required)?;
    crate::fail::warn(&checked.warnings, &checked.sources);
    let compiled = checked.compile()?;
    Ok(Loaded::Source(Box::new((checked, compiled))))
}
