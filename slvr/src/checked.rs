//! From a file name and bindings to a checked program.

use crate::build::Build;
use crate::clients::Clients;
use crate::error::{About as _, Error, Rejected, Result, misuse, refuse};
use crate::files;
use crate::notes::{Note, Notes};
use slvr_compiler::diagnostic::{Diagnostic, near::did_you_mean};
use slvr_compiler::pipeline::{self, Compiled, Encoding};
use slvr_compiler::source::{LoadError, Sources};
use slvr_compiler::syntax::ast::{File, FileId, Item, ItemKind};
use slvr_compiler::syntax::{self, MAX_SOURCE};
use slvr_compiler::types::{self, Program};
use std::io::ErrorKind;
use std::path::Path;

/// A program that type-checks.
pub struct Checked {
    /// With all its sizes.
    pub program: Program,
    pub sources: Sources,
    /// What is said of it.
    pub warnings: Vec<Diagnostic>,
    /// Some size was not given: a default or the smallest that fits was taken.
    pub chosen: bool,
    /// What it is compiled for.
    pub how: pipeline::Options,
    /// How inputs are encoded, and what is said of it, if circuits for other numbers of clients take the same ones.
    pub clients: Option<(Encoding, Clients)>,
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
    pub fn rejected(&self, diagnostics: Vec<Diagnostic>) -> Error {
        Rejected { diagnostics, sources: self.sources.clone() }.into()
    }

    /// All stages.
    ///
    /// # Errors
    ///
    /// [`Error::Rejected`].
    pub fn compile(&self, notes: Notes<'_>) -> Result<Compiled> {
        let compiled = self.stages(self.encoding()).map_err(|d| self.rejected(d))?;
        notes(Note::Warnings(&compiled.warnings, &self.sources));
        Ok(compiled)
    }

    /// How inputs are encoded, if not as the program alone would have it.
    pub fn encoding(&self) -> Option<&Encoding> {
        self.clients.as_ref().map(|(encoding, _)| encoding)
    }

    /// All stages, with inputs that are encoded so, if it is given.
    ///
    /// # Errors
    ///
    /// What does not compile.
    pub fn stages(
        &self,
        encoding: Option<&Encoding>,
    ) -> std::result::Result<Compiled, Vec<Diagnostic>> {
        let (program, sources) = (&self.program, &self.sources);
        pipeline::compile_encoded(program, sources, self.how, encoding, |_, _| {})
    }
}

fn read(path: &Path) -> std::result::Result<String, LoadError> {
    files::read_text(path, MAX_SOURCE as u64).map_err(|e| match e.kind() {
        ErrorKind::NotFound => LoadError::NotFound,
        _ => LoadError::Unreadable(e.to_string()),
    })
}

/// The text of a program. A name without a directory that is not a file here may be one of the
/// predicates that come with the compiler.
///
/// # Errors
///
/// [`Error::Usage`] of a compiled circuit, [`Error::Input`] of a file that cannot be read.
pub fn source(build: &Build) -> Result<String> {
    let file = &build.file;
    if let Some(text) = build.texts.get(file) {
        return Ok(text.clone());
    }
    if build.is_artifact() {
        misuse!("{file} is a compiled circuit; this verb takes a program, a .slvr file");
    }
    let e = match files::read_text(Path::new(file), MAX_SOURCE as u64) {
        Ok(text) => return Ok(text),
        Err(e) => e,
    };
    let bare = file.strip_suffix(".slvr").unwrap_or(file);
    let known = || {
        let all = syntax::embedded::PREDICATES.iter().chain(syntax::embedded::GALLERY);
        all.map(|(name, text)| (name.strip_suffix(".slvr").unwrap_or(name), *text))
    };
    if let Some((_, text)) = known().find(|(name, _)| *name == bare) {
        return Ok(text.to_string());
    }
    if e.kind() == ErrorKind::NotFound {
        let near = did_you_mean(bare, known().map(|(name, _)| name));
        let hint = near.map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
        refuse!("{file}: no such file, and no predicate of that name comes with slvrc{hint}");
    }
    Err(e).about(|| format!("{file}: cannot be read"))
}

/// Parses a program only.
///
/// # Errors
///
/// As [`source`], and [`Error::Rejected`].
pub fn parse(build: &Build) -> Result<(File, FileId)> {
    let mut sources = Sources::new();
    let text = source(build)?;
    let id = sources.add(&build.file, text.clone());
    let (file, diagnostics) = syntax::parse(id, &text);
    if diagnostics.is_empty() {
        Ok((file, id))
    } else {
        Err(Rejected { diagnostics, sources }.into())
    }
}

/// Parses and types a program as it is bound.
///
/// # Errors
///
/// As [`parse`].
pub fn check_bound(build: &Build, sizes: Sizes) -> Result<Checked> {
    let load = |path: &str| match build.texts.get(path) {
        Some(text) => Ok(text.clone()),
        None => read(&build.folder.join(path)),
    };
    check_in(build, source(build)?, sizes, load)
}

/// The same from texts that were read before, whatever the files are now.
///
/// # Errors
///
/// [`Error::Rejected`].
pub fn check_again(build: &Build, texts: &Sources, sizes: Sizes) -> Result<Checked> {
    let text = |name: &str| texts.find(name).map(|file| texts.text(file).to_string());
    let Some(own) = text(&build.file) else { refuse!("{}: was not read", build.file) };
    check_in(build, own, sizes, |path| text(path).ok_or(LoadError::NotFound))
}

fn check_in(
    build: &Build,
    text: String,
    sizes: Sizes,
    mut load: impl FnMut(&str) -> std::result::Result<String, LoadError>,
) -> Result<Checked> {
    let mut sources = Sources::new();
    let id = sources.add(&build.file, text);
    let options = types::Options {
        bindings: build.bindings.clone(),
        predicate: build.predicate.clone(),
        defaults: sizes == Sizes::OrSmallest,
    };
    match types::check(&mut sources, id, &options, &mut load) {
        Ok(types::Checked { program, warnings, chosen }) => {
            Ok(Checked { program, sources, warnings, chosen, how: build.how(), clients: None })
        }
        Err(diagnostics) => Err(Rejected { diagnostics, sources }.into()),
    }
}

/// So many times as large as the smallest sizes that fit are those that `check` tries besides.
const LARGER: [u64; 2] = [4, 2];

/// A program for larger sizes than the smallest that fit, if it type-checks for any: all times the same, or those times
/// as much that can be. Models, parameters and sizes with a default stay as they are.
pub fn larger(build: &Build, least: &Checked) -> Result<Option<Checked>> {
    let (file, _) = parse(build)?;
    let named = |item: &&Item| item.name().is_some_and(|n| n.name == least.program.name);
    let declared = file.items.iter().filter(named).find_map(|item| match &item.kind {
        ItemKind::Predicate(p) => Some(p.sizes.as_slice()),
        _ => None,
    });
    let open = |name: &str| {
        let size = declared.unwrap_or_default().iter().find(|s| s.name.name == name);
        let chosen = size.is_some_and(|s| !s.is_model && s.default.is_none());
        chosen && !build.bindings.iter().any(|(n, _)| n == name)
    };
    let sizes = least.program.sizes.iter().filter(|(name, _)| open(name));
    let sizes: Vec<(&String, u64)> =
        sizes.filter_map(|(n, v)| Some((n, v.parse().ok()?))).collect();
    let tried = |factors: &[u64]| {
        let times = |((n, v), by): (&(&String, u64), &u64)| {
            ((*n).clone(), v.saturating_mul(*by).to_string())
        };
        let mut build = build.clone();
        build.bindings.extend(sizes.iter().zip(factors).map(times));
        check_bound(&build, Sizes::OrSmallest).ok()
    };
    if sizes.iter().all(|(_, n)| *n == 0) {
        return Ok(None);
    }
    let largest = |with: &dyn Fn(u64) -> Vec<u64>| {
        LARGER.into_iter().map(with).find_map(|factors| Some((tried(&factors)?, factors)))
    };
    if let Some((found, _)) = largest(&|by| vec![by; sizes.len()]) {
        return Ok(Some(found));
    }
    let (mut factors, mut best) = (vec![1; sizes.len()], None);
    for i in 0..sizes.len() {
        let one = |by: u64| {
            let mut factors = factors.clone();
            factors[i] = by;
            factors
        };
        if let Some((found, with)) = largest(&one) {
            (best, factors) = (Some(found), with);
        }
    }
    Ok(best)
}
