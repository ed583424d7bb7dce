//! From a file name and bindings to a circuit.

pub use crate::checked::{Checked, Sizes, check_bound, check_text, larger, parse, source};
use crate::fail::Usage;
use crate::files;
use crate::numbers::Numbers;
use crate::target::Target;
use anyhow::{Context, anyhow};
use slvr_circuit::{Circuit, artifact};
use slvr_compiler::cost;
use slvr_compiler::pipeline::Compiled;
use slvr_compiler::report::certificate::Certificate;
use std::path::Path;

/// Parses and types the target; with `--clients` the programs for other numbers of clients, too.
pub fn check(target: &Target, sizes: Sizes) -> anyhow::Result<Checked> {
    let Some(range) = &target.clients else { return check_bound(target, sizes) };
    let checked = check_bound(target, sizes)?;
    let (numbers, _) = Numbers::of(target, range, |_| ())?;
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

/// The circuit of a target, compiled or read.
pub fn load_circuit(target: &Target) -> anyhow::Result<Loaded> {
    let file = &target.file;
    if file.ends_with(".slvrb") {
        target.is_bare()?;
        let bytes = files::read(Path::new(file), artifact::MAX_PAYLOAD + (1 << 10))
            .with_context(|| format!("{file}: cannot be read"))?;
        let circuit = artifact::read(&bytes)
            .map_err(|e| anyhow!("{file}: {e}; make it again with `slvrc build`"))?;
        target.fits(&circuit)?;
        return Ok(Loaded::Artifact(Box::new(circuit)));
    }
    let checked = check(target, Sizes::Required)?;
    crate::fail::warn(&checked.warnings, &checked.sources);
    let compiled = checked.compile()?;
    Ok(Loaded::Source(Box::new((checked, compiled))))
}
