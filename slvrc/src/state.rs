//! What the parties of a run on this machine keep from round to round: one file for each, in a folder.

use crate::fail::{self, Usage};
use anyhow::{Context, bail};
use slvr_circuit::Circuit;
use slvr_runtime::share::state::{Kept, StateError};
use std::path::{Path, PathBuf};

/// Where states are, and which round it is.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct State {
    /// Directory of what the parties keep from round to round, for a program with a `state`:
    /// party0.state, party1.state, party2.state. Read before the round, if it is not the first, and written after it.
    #[arg(long, value_name = "DIR", requires = "round")]
    state: Option<PathBuf>,
    /// Which round it is, from 1. A round that has been run is refused, and so is one that is not the next.
    #[arg(long, value_name = "N", requires = "state")]
    round: Option<u64>,
}

impl State {
    /// What the parties have kept for this round; nothing for a circuit without states.
    pub fn read(&self, circuit: &Circuit) -> anyhow::Result<Option<[Kept; 3]>> {
        let states = circuit.states().next().is_some();
        let Some((dir, round)) = self.state.as_deref().zip(self.round) else {
            if states {
                fail::note(
                    "the program has a state: without --state it begins anew, and nothing is kept",
                );
            }
            return Ok(None);
        };
        if !states {
            let name = &circuit.name;
            return Err(Usage(format!("--state: {name} has no `state` to keep")).into());
        }
        let paths = paths(dir);
        let there = paths.each_ref().map(|p| p.exists());
        let kept = match there {
            [false, false, false] => [0, 1, 2].map(|me| Kept::start(circuit, me)),
            [true, true, true] => {
                let mut kept = Vec::new();
                for (me, path) in paths.iter().enumerate() {
                    let bytes =
                        std::fs::read(path).with_context(|| format!("{}", path.display()))?;
                    let one = Kept::from_bytes(circuit, me, &bytes);
                    kept.push(one.with_context(|| format!("{}", path.display()))?);
                }
                match <[Kept; 3]>::try_from(kept) {
                    Ok(kept) => kept,
                    Err(_) => unreachable!("there are three files"),
                }
            }
            _ => {
                let missing = paths.iter().zip(there).find(|(_, there)| !there);
                let missing = missing.map_or(dir, |(p, _)| p);
                bail!(
                    "{}: no such file: the files of all three parties belong together",
                    missing.display()
                );
            }
        };
        for one in &kept {
            one.check_round(round).map_err(|e| self.explained(e, dir))?;
        }
        Ok(Some(kept))
    }

    fn explained(&self, error: StateError, dir: &Path) -> anyhow::Error {
        let what = match error {
            StateError::Gap { rounds: 0, .. } => {
                "; the first round is 1, and begins an empty folder"
            }
            _ => "",
        };
        anyhow::anyhow!("{}: {error}{what}", dir.display())
    }

    /// Keeps what the parties have for the next round. All files are there before any takes the place of an old one.
    pub fn write(&self, kept: Option<&[Kept; 3]>) -> anyhow::Result<()> {
        let (Some(dir), Some(kept)) = (&self.state, kept) else { return Ok(()) };
        let mut how = std::fs::DirBuilder::new();
        how.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut how, 0o700);
        how.create(dir).with_context(|| format!("{}: cannot be made", dir.display()))?;
        // What a run that was killed has left is as secret as a state.
        crate::files::forget_halves(dir);
        let paths = paths(dir);
        let fresh = paths.each_ref().map(|p| p.with_extension("state.new"));
        for (path, one) in fresh.iter().zip(kept) {
            crate::files::write_secret(path, &one.to_bytes())?;
        }
        for (from, to) in fresh.iter().zip(&paths) {
            std::fs::rename(from, to).with_context(|| format!("{}", to.display()))?;
        }
        Ok(())
    }
}

fn paths(dir: &Path) -> [PathBuf; 3] {
    [0, 1, 2].map(|i| dir.join(format!("party{i}.state")))
}
