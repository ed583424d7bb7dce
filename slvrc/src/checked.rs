//! From a file name and bindings to a checked program.

use crate::clients::Clients;
use crate::fail::{Rejected, Usage};
use crate::files;
use crate::target::Target;
use anyhow::{Context, bail};
use slvr_compiler::cost::NetProfile;
use slvr_compiler::diagnostic::{Diagnostic, near::did_you_mean};
use slvr_compiler::lower::Protocols;
use slvr_compiler::pipeline::{self, Compiled, Encoding};
use slvr_compiler::syntax::ast::{File, FileId, Item, ItemKind};
use slvr_compiler::syntax::{self, LoadError, MAX_SOURCE, Sources};
use slvr_compiler::types::{self, Program};
use std::io::ErrorKind;
use std::path::Path;

/// A program that type-checks.
pub struct Checked {
    pub program: Program,
    pub sources: Sources,
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
    pub fn rejected(&self, diagnostics: Vec<Diagnostic>) -> anyhow::Error {
        Rejected { diagnostics, sources: self.sources.clone() }.into()
    }

    /// All stages.
    pub fn compile(&self) -> anyhow::Result<Compiled> {
        let compiled = self.stages(self.encoding()).map_err(|d| self.rejected(d))?;
        crate::fail::warn(&compiled.warnings, &self.sources);
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
    pub fn stages(&self, encoding: Option<&Encoding>) -> Result<Compiled, Vec<Diagnostic>> {
        let (program, sources) = (&self.program, &self.sources);
        pipeline::compile_encoded(program, sources, self.how, encoding, |_, _| {})
    }
}

fn read(path: &Path) -> Result<String, LoadError> {
    files::read_text(path, MAX_SOURCE as u64).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => LoadError::NotFound,
        _ => LoadError::Unreadable(e.to_string()),
    })
}

/// The text of the target. A name without a directory that is not a file here may be one of the
/// predicates that come with the compiler.
pub fn source(file: &str) -> anyhow::Result<String> {
    if file.ends_with(".slvrb") {
        let why = format!("{file} is a compiled circuit; this verb takes a program, a .slvr file");
        return Err(Usage(why).into());
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
        bail!("{file}: no such file, and no predicate of that name comes with slvrc{hint}");
    }
    Err(e).with_context(|| format!("{file}: cannot be read"))
}

fn bindings(target: &Target) -> anyhow::Result<Vec<(String, String)>> {
    target
        .bindings
        .iter()
        .map(|b| match b.split_once('=') {
            Some((n, v)) if !n.is_empty() => Ok((n.trim().to_string(), v.trim().to_string())),
            _ => Err(Usage(format!("`{b}` is not NAME=VALUE, as in `m=10`")).into()),
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

/// Parses and types the target as it is bound.
pub fn check_bound(target: &Target, sizes: Sizes) -> anyhow::Result<Checked> {
    check_with(target, source(&target.file)?, sizes, &mut |path| read(&target.folder.join(path)))
}

/// The same from texts that were read before, whatever the files are now.
pub fn check_again(target: &Target, texts: &Sources, sizes: Sizes) -> anyhow::Result<Checked> {
    let text = |name: &str| texts.find(name).map(|file| texts.text(file).to_string());
    let own = text(&target.file).with_context(|| format!("{}: was not read", target.file))?;
    check_with(target, own, sizes, &mut |path| text(path).ok_or(LoadError::NotFound))
}

/// How the text of a file of models is found.
type Load<'a> = dyn FnMut(&str) -> Result<String, LoadError> + 'a;

fn check_with(
    target: &Target,
    text: String,
    sizes: Sizes,
    load: &mut Load<'_>,
) -> anyhow::Result<Checked> {
    let net = target.profile()?.unwrap_or_else(NetProfile::lan);
    let predicate = target.predicate.clone();
    let checked = check_in(load, &target.file, text, bindings(target)?, predicate, sizes)?;
    let how = pipeline::Options {
        enforce: !target.trust_inputs,
        ring: target.ring,
        memory: target.memory,
        speculate: !target.no_speculation,
        checks: None,
        fine: if target.fine { pipeline::Fine::All } else { pipeline::Fine::Short },
        protocols: match target.protocols.as_deref() {
            Some("t1") => Protocols::Symmetric,
            _ => Protocols::Dealer(net.tuning()),
        },
        security: target.security(),
    };
    Ok(Checked { how, ..checked })
}

/// Parses and types a text, with the files of models as they are seen from here.
pub fn check_text(
    name: &str,
    text: String,
    bindings: Vec<(String, String)>,
    predicate: Option<String>,
    sizes: Sizes,
) -> anyhow::Result<Checked> {
    check_in(&mut |path| read(Path::new(path)), name, text, bindings, predicate, sizes)
}

fn check_in(
    mut load: &mut Load<'_>,
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
        Ok(types::Checked { program, warnings, chosen }) => {
            let how = pipeline::Options::default();
            Ok(Checked { program, sources, warnings, chosen, how, clients: None })
        }
        Err(diagnostics) => Err(Rejected { diagnostics, sources }.into()),
    }
}

/// So many times as large as the smallest sizes that fit are those that `check` tries besides.
const LARGER: [u64; 2] = [4, 2];

/// A program for larger sizes than the smallest that fit, if it type-checks for any: all times the same, or those times
/// as much that can be. Models, parameters and sizes with a default stay as they are.
pub fn larger(target: &Target, least: &Checked) -> anyhow::Result<Option<Checked>> {
    let given = bindings(target)?;
    let (file, _) = parse(target)?;
    let named = |item: &&Item| item.name().is_some_and(|n| n.name == least.program.name);
    let declared = file.items.iter().filter(named).find_map(|item| match &item.kind {
        ItemKind::Predicate(p) => Some(p.sizes.as_slice()),
        _ => None,
    });
    let open = |name: &str| {
        let size = declared.unwrap_or_default().iter().find(|s| s.name.name == name);
        let chosen = size.is_some_and(|s| !s.is_model && s.default.is_none());
        chosen && !given.iter().any(|(n, _)| n == name)
    };
    let sizes = least.program.sizes.iter().filter(|(name, _)| open(name));
    let sizes: Vec<(&String, u64)> =
        sizes.filter_map(|(n, v)| Some((n, v.parse().ok()?))).collect();
    let tried = |factors: &[u64]| {
        let times =
            |((n, v), by): (&(&String, u64), &u64)| format!("{n}={}", v.saturating_mul(*by));
        let mut target = target.clone();
        target.bindings.extend(sizes.iter().zip(factors).map(times));
        check_bound(&target, Sizes::OrSmallest).ok()
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
