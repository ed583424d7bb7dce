//! What the parties of a run on this machine keep from round to round: one file for each, in a folder.

use crate::error::{About as _, Error, Result, misuse, refuse};
use crate::files;
use crate::notes::{Note, Notes};
use slvr_circuit::Circuit;
use slvr_runtime::share::state::{Kept, StateError};
use std::path::{Path, PathBuf};

/// Where states are, and which round it is.
#[derive(Clone, Debug)]
pub struct Rounds {
    /// A directory of party0.state, party1.state, party2.state: read before the round, if it is not the first, and
    /// written after it.
    pub dir: PathBuf,
    /// Which round it is, from 1.
    pub round: u64,
}

/// What the parties have kept for this round; nothing for a circuit without states.
///
/// # Errors
///
/// [`Error::Usage`] where the circuit has no states; [`Error::Input`] of files that do not belong together or to this
/// round.
pub fn read(
    rounds: Option<&Rounds>,
    circuit: &Circuit,
    notes: Notes<'_>,
) -> Result<Option<[Kept; 3]>> {
    let states = circuit.states().next().is_some();
    let Some(Rounds { dir, round }) = rounds else {
        if states {
            notes(Note::Note(
                "the program has a state: without --state it begins anew, and nothing is kept",
            ));
        }
        return Ok(None);
    };
    if !states {
        let name = &circuit.name;
        misuse!("--state: {name} has no `state` to keep");
    }
    let paths = paths(dir);
    let there = paths.each_ref().map(|p| p.exists());
    let kept = match there {
        [false, false, false] => [0, 1, 2].map(|me| Kept::start(circuit, me)),
        [true, true, true] => {
            let one = |me: usize| {
                let at = || paths[me].display().to_string();
                let bytes = std::fs::read(&paths[me]).about(at)?;
                Kept::from_bytes(circuit, me, &bytes).about(at)
            };
            [one(0)?, one(1)?, one(2)?]
        }
        _ => {
            let missing = paths.iter().zip(there).find(|(_, there)| !there);
            let missing = missing.map_or(dir.as_path(), |(p, _)| p);
            refuse!(
                "{}: no such file: the files of all three parties belong together",
                missing.display()
            );
        }
    };
    for one in &kept {
        one.check_round(*round).map_err(|e| explained(e, dir))?;
    }
    Ok(Some(kept))
}

fn explained(error: StateError, dir: &Path) -> Error {
    let what = match error {
        StateError::Gap { rounds: 0, .. } => "; the first round is 1, and begins an empty folder",
        _ => "",
    };
    Error::Input(format!("{}: {error}{what}", dir.display()))
}

/// Keeps what the parties have for the next round. All files are there before any takes the place of an old one.
///
/// # Errors
///
/// [`Error::Input`] of what cannot be written.
pub fn write(dir: &Path, kept: &[Kept; 3]) -> Result<()> {
    let mut how = std::fs::DirBuilder::new();
    how.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut how, 0o700);
    how.create(dir).about(|| format!("{}: cannot be made", dir.display()))?;
    // What a run that was killed has left is as secret as a state.
    files::forget_halves(dir);
    let paths = paths(dir);
    let fresh = paths.each_ref().map(|p| p.with_extension("state.new"));
    for (path, one) in fresh.iter().zip(kept) {
        files::write_secret(path, &one.to_bytes())?;
    }
    for (from, to) in fresh.iter().zip(&paths) {
        std::fs::rename(from, to).about(|| to.display().to_string())?;
    }
    Ok(())
}

fn paths(dir: &Path) -> [PathBuf; 3] {
    [0, 1, 2].map(|i| dir.join(format!("party{i}.state")))
}
