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
    settle(&paths)?;
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

/// Keeps what the parties have for the next round. All files are there before any takes the place of an old one, in the
/// order of the parties: so [`read`] can end what was broken off.
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
    for (path, one) in paths.iter().zip(kept) {
        files::write_secret(&fresh(path), &one.to_bytes())?;
    }
    paths.iter().try_for_each(take_place)
}

/// Ends what a run that was killed has begun: if the first party's new file has taken its place, all of them do. Otherwise
/// the old ones stay.
fn settle(paths: &[PathBuf; 3]) -> Result<()> {
    let there = paths.each_ref().map(|path| fresh(path).exists());
    let goes_on = !there[0] && there[2];
    for (path, _) in paths.iter().zip(there).filter(|(_, there)| *there) {
        match goes_on {
            true => take_place(path)?,
            false => {
                let new = fresh(path);
                std::fs::remove_file(&new).about(|| new.display().to_string())?;
            }
        }
    }
    Ok(())
}

/// The name of a file before it takes the place of an old one.
fn fresh(path: &Path) -> PathBuf {
    path.with_extension("state.new")
}

fn take_place(path: &PathBuf) -> Result<()> {
    std::fs::rename(fresh(path), path).about(|| path.display().to_string())
}

fn paths(dir: &Path) -> [PathBuf; 3] {
    [0, 1, 2].map(|i| dir.join(format!("party{i}.state")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wherever a run is killed while it keeps states, all three are then of the same round.
    #[test]
    fn states_that_were_half_kept_are_kept_or_not_at_all() {
        // The old and new files of each party after so many of six steps: three are written, three take their place.
        for steps in 0..=6 {
            let dir = tempfile::tempdir().expect("a folder");
            let paths = paths(dir.path());
            paths.iter().for_each(|p| std::fs::write(p, b"old").expect("writes"));
            for step in 0..steps {
                match step {
                    0..3 => std::fs::write(fresh(&paths[step]), b"new").expect("writes"),
                    _ => take_place(&paths[step - 3]).expect("renames"),
                }
            }
            settle(&paths).expect("settles");
            let expected: &[u8] = if steps > 3 { b"new" } else { b"old" };
            for path in &paths {
                assert_eq!(std::fs::read(path).expect("reads"), expected, "after {steps} steps");
                assert!(!fresh(path).exists(), "after {steps} steps");
            }
        }
    }
}
