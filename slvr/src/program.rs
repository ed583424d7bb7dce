//! From a file name and bindings to a circuit.

pub use crate::checked::{Checked, Sizes, check_bound, larger, parse, source};

use crate::build::Build;
use crate::error::{About as _, Result, misuse, refuse};
use crate::files;
use crate::notes::{Note, Notes};
use crate::numbers::ByClients;
use slvr_circuit::{Circuit, artifact};
use slvr_compiler::cost;
use slvr_compiler::pipeline::Compiled;
use slvr_compiler::report::certificate::Certificate;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Parses and types a program; with [`Build::clients`] those for other numbers of clients, too.
///
/// # Errors
///
/// As [`parse`], and [`Error::Usage`](crate::Error::Usage).
pub fn check(build: &Build, sizes: Sizes) -> Result<Checked> {
    let Some(range) = &build.clients else { return check_bound(build, sizes) };
    let checked = check_bound(build, sizes)?;
    let (numbers, _) = ByClients::of(build, range, |_| ())?;
    let ByClients { encoding, clients, .. } = numbers;
    let (least, all) = clients.range;
    let bound = checked.program.sizes.iter().find(|(name, _)| *name == clients.size);
    let bound = bound.and_then(|(_, n)| n.parse::<u64>().ok());
    if bound.is_none_or(|n| !(least..=all).contains(&n)) {
        misuse!(
            "--clients says {least} to {all}, and {} is {}",
            clients.size,
            bound.map_or("no number".into(), |n| n.to_string())
        );
    }
    Ok(Checked { clients: Some((encoding, clients)), ..checked })
}

/// A program with its circuit, or a compiled artifact alone.
pub enum Loaded {
    Source(Box<Source>),
    /// From a `.slvrb` file.
    Artifact(Box<Circuit>),
}

impl Loaded {
    pub fn circuit(&self) -> &Circuit {
        match self {
            Loaded::Source(s) => &s.compiled.circuit,
            Loaded::Artifact(c) => c,
        }
    }

    /// What is known before it runs; of a compiled artifact nothing but its costs.
    pub fn certificate(&self) -> Option<Certificate> {
        let Loaded::Source(source) = self else { return None };
        let Source { checked, compiled, .. } = &**source;
        let places = cost::places(&checked.program, &compiled.optimised, &checked.sources);
        Some(Certificate::of(compiled, &places))
    }
}

/// A program with its circuit.
pub struct Source {
    pub checked: Checked,
    pub compiled: Compiled,
    /// The same for other numbers of members.
    pub(crate) others: Others,
}

impl Source {
    /// A program with its circuit.
    pub fn new(checked: Checked, compiled: Compiled) -> Source {
        Source { checked, compiled, others: Others::default() }
    }
}

/// The same program for other numbers of members: each is compiled once.
#[derive(Default)]
pub(crate) struct Others(Mutex<BTreeMap<Bindings, Arc<Loaded>>>);

/// Names and what is bound to them.
type Bindings = Vec<(String, String)>;

impl Others {
    /// The program with these bindings.
    ///
    /// # Errors
    ///
    /// As [`load`].
    pub fn load(&self, build: &Build, notes: Notes<'_>) -> Result<Arc<Loaded>> {
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = kept().get(&build.bindings) {
            return Ok(loaded.clone());
        }
        let loaded = Arc::new(load(build, notes)?);
        kept().insert(build.bindings.clone(), loaded.clone());
        Ok(loaded)
    }
}

/// The circuit of a program, compiled or read.
///
/// # Errors
///
/// As [`check`]; of an artifact that cannot be read [`Error::Input`](crate::Error::Input).
pub fn load(build: &Build, notes: Notes<'_>) -> Result<Loaded> {
    if build.is_artifact() {
        let file = &build.file;
        build.is_bare()?;
        let bytes = files::read(Path::new(file), artifact::MAX_PAYLOAD + (1 << 10))
            .about(|| format!("{file}: cannot be read"))?;
        return artifact_of(build, &bytes);
    }
    let checked = check(build, Sizes::Required)?;
    notes(Note::Warnings(&checked.warnings, &checked.sources));
    let compiled = checked.compile(notes)?;
    Ok(Loaded::Source(Box::new(Source::new(checked, compiled))))
}

/// The circuit of the bytes of an artifact, which [`Build::file`] names.
///
/// # Errors
///
/// [`Error::Input`](crate::Error::Input) of bytes that are none, [`Error::Usage`](crate::Error::Usage) of another
/// adversary.
pub fn artifact_of(build: &Build, bytes: &[u8]) -> Result<Loaded> {
    let circuit = match artifact::read(bytes) {
        Ok(circuit) => circuit,
        Err(e) => refuse!("{}: {e}; make it again with `slvrc build`", build.file),
    };
    build.fits(&circuit)?;
    Ok(Loaded::Artifact(Box::new(circuit)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notes::silent;

    #[test]
    fn for_other_numbers_of_members_a_program_is_compiled_once() {
        let text = "use std::{sum};\npredicate Mean[m]() { parties Client[m]; parties Server;\n\
                    input x: secret fix in -8..8 from each Client;\nreveal sum(x) / m to Server as mean; }";
        let of = |m: &str| Build::of_text("mean.slvr", text, vec![("m".into(), m.into())]);
        let (Ok(Loaded::Source(source)), fewer) = (load(&of("4"), &silent), of("3")) else {
            panic!("a program")
        };
        let load = |build| source.others.load(build, &silent).unwrap_or_else(|e| panic!("{e}"));
        let first = load(&fewer);
        assert_eq!(first.circuit().parties[0].size, 3);
        assert!(Arc::ptr_eq(&first, &load(&fewer)));
        assert!(!Arc::ptr_eq(&first, &load(&of("2"))));
    }
}
