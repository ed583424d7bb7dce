//! What the lab asks of its options and of the folder of results before anything runs.

use super::Lab;
use super::cells::ADAPTIVE;
use crate::fail::{Usage, note};
use anyhow::{Context, bail};
use slvr_simulation::lab::attacks::Attack;
use std::fs::{File, TryLockError};
use std::path::{Component, Path, PathBuf};

impl Lab {
    /// Refuses numbers that no federation has.
    pub(super) fn sound(&self) -> anyhow::Result<()> {
        let hold = |good: bool, why: &str| match good {
            true => Ok(()),
            false => Err(anyhow::Error::from(Usage(why.into()))),
        };
        hold(
            (0.0..1.0).contains(&self.malicious),
            "--malicious is a part of the clients, from 0 to below 1",
        )?;
        hold(self.rate > 0.0 && self.rate <= 100.0, "--rate is above 0, and at most 100")?;
        hold((0.0..1.0).contains(&self.momentum), "--momentum is from 0 to below 1")?;
        hold(
            self.alpha > 0.0 && self.alpha.is_finite(),
            "--alpha is above 0, and finite: a large one, as 1e6, makes shares alike",
        )?;
        let counts = [
            ("--rounds", self.rounds),
            ("--epochs", self.epochs),
            ("--batch", self.batch),
            ("--shift-every", self.shift_every),
            ("--test", self.test),
            ("--public", self.public),
            ("--validation", self.validation),
            ("--samples", self.samples.saturating_sub(1)),
        ];
        for (name, count) in counts {
            let least = if name == "--samples" { 2 } else { 1 };
            hold(count > 0, &format!("{name} is at least {least}"))?;
        }
        hold(
            self.seed.checked_add(self.seeds).is_some(),
            "--seed and --seeds together go beyond 64 bits",
        )
    }

    /// How many clients are malicious.
    pub(super) fn malicious(&self, attacks: &[String]) -> anyhow::Result<usize> {
        let malicious = (self.clients as f64 * self.malicious).round() as usize;
        let attacked = attacks.iter().any(|a| a == ADAPTIVE || a != Attack::None.name());
        if malicious == 0 && attacked {
            if self.malicious > 0.0 {
                let why = format!(
                    "--malicious {} of {} clients is nobody: say at least {}, or --attacks none",
                    self.malicious,
                    self.clients,
                    1.0 / self.clients as f64
                );
                return Err(Usage(why).into());
            }
            note("nobody is malicious: all columns are like `none`");
        }
        if malicious as u64 == self.clients {
            return Err(Usage("--malicious: at least one client must be honest".into()).into());
        }
        Ok(malicious)
    }
}

/// Whether the first argument binds something: it has the form of NAME=VALUE, and there is no such file.
pub(super) fn is_binding(text: &str) -> bool {
    let name = text.split('=').next().unwrap_or(text);
    let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    text.contains('=') && is_name && !Path::new(text).is_file()
}

/// One spelling of a predicate: a path without detours, and the bare name of what comes with slvrc.
pub(super) fn canonical(named: &str) -> String {
    let (file, rest) = match named.split_once('@') {
        Some((file, rest)) => (file, format!("@{rest}")),
        None => (named, String::new()),
    };
    let path: PathBuf = Path::new(file).components().filter(|c| *c != Component::CurDir).collect();
    let text = match path.to_str() {
        Some(text) if path.is_file() => text.to_string(),
        // No file: what comes with slvrc, with or without its ending.
        _ => file.strip_suffix(".slvr").unwrap_or(file).to_string(),
    };
    let known = path.is_file() || crate::program::source(&text).is_ok();
    format!("{}{rest}", if known { text } else { file.to_string() })
}

/// The file of a model of the user's own.
pub(super) fn model_file(model: &str) -> Option<PathBuf> {
    let file = match model.split_once(".slvr:") {
        Some((stem, _)) => format!("{stem}.slvr"),
        None => model.to_string(),
    };
    Some(PathBuf::from(file)).filter(|f| f.extension().is_some_and(|e| e == "slvr"))
}

/// Refuses what a file cannot be put in the place of.
pub(super) fn may_be_written(path: &Path) -> anyhow::Result<()> {
    match path.metadata() {
        Ok(there) if there.is_dir() => {
            bail!("{}: cannot be written: it is a directory", path.display())
        }
        Ok(there) if !there.is_file() => {
            bail!("{}: cannot be written: it is a pipe or a device, not a file", path.display())
        }
        _ => Ok(()),
    }
}

/// Holds the folder of results alone, until it is dropped or the program ends.
pub(super) struct Alone(#[allow(dead_code, reason = "held for its lock")] File);

impl Alone {
    pub(super) fn of(folder: &Path) -> anyhow::Result<Alone> {
        let path = folder.join(".lock");
        may_be_written(&path)?;
        let file = File::create(&path)
            .with_context(|| format!("{}: cannot be written", path.display()))?;
        match file.try_lock() {
            Ok(()) => Ok(Alone(file)),
            Err(TryLockError::WouldBlock) => {
                bail!(
                    "{}: another slvrc lab writes there; wait for it, or say another folder with --out",
                    folder.display()
                )
            }
            // A file system without locks holds nobody up.
            Err(TryLockError::Error(_)) => Ok(Alone(file)),
        }
    }
}
