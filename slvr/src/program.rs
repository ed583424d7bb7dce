//! From a file name and bindings to a circuit.

pub use crate::checked::{Checked, Sizes, check_bound, larger, parse, source};

use crate::build::Build;
use crate::error::{About as _, Result, Usage, refuse};
use crate::files;
use crate::notes::{Note, Notes};
use crate::numbers::Numbers;
use slvr_circuit::{Circuit, artifact};
use slvr_compiler::cost;
use slvr_compiler::pipeline::Compiled;
use slvr_compiler::report::certificate::Certificate;
use std::path::Path;

/// Parses and types a program; with [`Build::clients`] those for other numbers of clients, too.
///
/// # Errors
///
/// As [`parse`], and [`Error::Usage`](crate::Error::Usage).
pub fn check(build: &Build, sizes: Sizes) -> Result<Checked> {
    let Some(range) = &build.clients else { return check_bound(build, sizes) };
    let checked = check_bound(build, sizes)?;
    let (numbers, _) = Numbers::of(build, range, |_| ())?;
    let Numbers { encoding, clients, .. } = numbers;
    let (least, all) = clients.range;
    let bound = checked.program.sizes.iter().find(|(name, _)| *name == clients.size);
    let bound = bound.and_then(|(_, n)| n.parse::<u64>().ok());
    if bound.is_none_or(|n| !(least..=all).contains(&n)) {
        let why = format!(
            "--clients says {least} to {all}, and {} is {}",
            clients.size,
            bound.map_or("no number".into(), |n| n.to_string())
        );
        return Err(Usage(why).into());
    }
    Ok(Checked { clients: Some((encoding, clients)), ..checked })
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

    /// What is known before it runs; of a compiled artifact nothing but its costs.
    pub fn certificate(&self) -> Option<Certificate> {
        let Loaded::Source(source) = self else { return None };
        let (checked, compiled) = &**source;
        let places = cost::places(&checked.program, &compiled.optimised, &checked.sources);
        Some(Certificate::of(compiled, &places))
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
    Ok(Loaded::Source(Box::new((checked, compiled))))
}

/// The circuit of the bytes of an artifact, which [`Build::file`] names.
///
/// # Errors
///
/// [`Error::Input`](crate::Error::Input) of bytes that are none, [`Error::Usage`](crate::Error::Usage) of another adversary.
pub fn artifact_of(build: &Build, bytes: &[u8]) -> Result<Loaded> {
    let circuit = match artifact::read(bytes) {
        Ok(circuit) => circuit,
        Err(e) => refuse!("{}: {e}; make it again with `slvrc build`", build.file),
    };
    build.fits(&circuit)?;
    Ok(Loaded::Artifact(Box::new(circuit)))
}
