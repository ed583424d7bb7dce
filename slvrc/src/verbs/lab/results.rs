//! What a run of the lab found, on disk and in memory.

use crate::lab::rule::Ran;
use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use slvr::files;
use slvr_simulation::lab::federation::Curve;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::str::FromStr;

/// Name of the file of results in the output folder.
pub const FILE: &str = "results.json";

/// The column of the attack that adapts to each predicate: the worse of those that its header names and of the search.
pub const ADAPTIVE: &str = "adaptive";

/// The column without attackers.
pub const NONE: &str = "none";

/// Labels of the setting that are looked up in results.
pub const DATASET: &str = "dataset";
pub const MODEL: &str = "model";
pub const CLIENTS: &str = "clients";
pub const MALICIOUS: &str = "malicious";
pub const ALPHA: &str = "alpha";
pub const ROUNDS: &str = "rounds";
pub const PARAMETERS: &str = "parameters";
pub const SHIFT: &str = "shift";

/// How data shift, in the words of the setting.
pub fn shift(scenario: &str, every: usize) -> String {
    format!("{scenario}, every {every} rounds")
}

/// All that a run of the lab found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// What was simulated, as tables show it: values by their labels. Results of another setting are not mixed.
    pub setting: BTreeMap<String, String>,
    /// Predicates in the order of the table.
    pub predicates: Vec<String>,
    /// Columns.
    pub attacks: Vec<String>,
    pub seeds: Vec<u64>,
    /// Of how many rounds, the last ones, a figure is the mean.
    #[serde(default = "one")]
    pub last: usize,
    /// By predicate, column and seed.
    pub cells: BTreeMap<String, Done>,
    /// By predicate, how it was put to the test.
    #[serde(default)]
    pub about: BTreeMap<String, About>,
}

/// How a predicate was put to the test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// What its sizes and parameters were.
    pub sizes: String,
    /// What was applied to the global model.
    pub aggregate: String,
    /// Which attacks adapt to it.
    pub adaptive: Vec<String>,
    /// What its attackers knew.
    pub told: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Done {
    #[serde(flatten)]
    pub curve: Curve,
    /// Runs among three parties.
    pub checks: Vec<Ran>,
}

fn one() -> usize {
    1
}

pub fn key(predicate: &str, attack: &str, seed: u64) -> String {
    format!("{predicate} | {attack} | {seed}")
}

impl Results {
    pub fn read(folder: &Path) -> anyhow::Result<Option<Results>> {
        let path = folder.join(FILE);
        if !path.exists() {
            return Ok(None);
        }
        let text = files::text(&path, 1 << 28)?;
        let read: Results = serde_json::from_str(&text)
            .with_context(|| format!("{}: is not a file of results", path.display()))?;
        if let Some(what) = read.damaged() {
            bail!("{}: {what}; say another folder with --out, or remove the file", path.display());
        }
        Ok(Some(read))
    }

    /// A value of the setting; nothing of what plays no part.
    pub fn said(&self, label: &str) -> &str {
        self.setting.get(label).map_or("", String::as_str)
    }

    /// A value of the setting that is a number.
    pub fn number<T: FromStr>(&self, label: &str) -> Option<T> {
        self.said(label).parse().ok()
    }

    /// Rounds between shifts, if data shift: what [`shift`] was told.
    pub fn shift_every(&self) -> Option<usize> {
        let (_, every) = self.said(SHIFT).split_once(", every ")?;
        every.strip_suffix(" rounds")?.parse().ok()
    }

    /// What no run of the lab would have written.
    fn damaged(&self) -> Option<String> {
        let rounds = self.number::<usize>(ROUNDS);
        let mut seeds = self.seeds.clone();
        seeds.sort_unstable();
        seeds.dedup();
        if seeds.len() != self.seeds.len() {
            return Some("names a seed twice".into());
        }
        let row = |p: &String| -> Vec<String> {
            let pairs =
                self.ran(p).into_iter().flat_map(|a| self.seeds.iter().map(move |s| (a, s)));
            pairs.map(|(a, s)| key(p, a, *s)).collect()
        };
        let known: BTreeSet<String> = self.predicates.iter().flat_map(row).collect();
        self.cells.iter().find_map(|(name, done)| {
            let part = |x: &f64| (0.0..=1.0).contains(x);
            if !known.contains(name) {
                Some(format!("has a cell `{name}` of no row and column"))
            } else if Some(done.curve.accuracy.len()) != rounds {
                Some(format!("the cell `{name}` has not all rounds"))
            } else if !done.curve.accuracy.iter().chain([&done.curve.backdoor]).all(part) {
                Some(format!("the cell `{name}` has an accuracy that is no part of 1"))
            } else {
                None
            }
        })
    }

    /// Writes them whole or not at all.
    pub fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        Ok(files::write(&folder.join(FILE), format!("{text}\n").as_bytes())?)
    }

    /// The attacks that stand behind a column.
    fn behind<'a>(&'a self, predicate: &str, column: &'a str) -> Vec<&'a str> {
        match column {
            ADAPTIVE => {
                let about = self.about.get(predicate);
                about.iter().flat_map(|a| &a.adaptive).map(String::as_str).collect()
            }
            attack => vec![attack],
        }
    }

    /// All attacks that a predicate's row needs.
    pub fn ran<'a>(&'a self, predicate: &str) -> Vec<&'a str> {
        let mut all = Vec::new();
        for attack in self.attacks.iter().flat_map(|column| self.behind(predicate, column)) {
            if !all.contains(&attack) {
                all.push(attack);
            }
        }
        all
    }

    /// The done cells of an attack on a predicate, by seed.
    fn cells(&self, predicate: &str, attack: &str) -> Vec<&Done> {
        self.seeds.iter().filter_map(|s| self.cells.get(&key(predicate, attack, *s))).collect()
    }

    /// Of some attacks on a predicate the one under which it ends worst.
    fn lowest<'a>(
        &'a self,
        predicate: &str,
        attacks: Vec<&'a str>,
    ) -> Option<(&'a str, Vec<&'a Done>)> {
        let all = attacks.into_iter().map(|a| (a, self.cells(predicate, a)));
        let ends = all.filter_map(|(a, done)| Some((self.last(&done)?.0, a, done)));
        ends.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, attack, done)| (attack, done))
    }

    /// The done cells of a row and a column, by seed.
    pub fn of<'a>(&'a self, predicate: &str, column: &'a str) -> Vec<&'a Done> {
        self.lowest(predicate, self.behind(predicate, column))
            .map(|(_, done)| done)
            .unwrap_or_default()
    }

    /// The attack under which a predicate ends worst.
    pub fn worst<'a>(&'a self, predicate: &str) -> Option<(&'a str, Vec<&'a Done>)> {
        let attacks = self.ran(predicate).into_iter().filter(|a| *a != NONE).collect();
        self.lowest(predicate, attacks)
    }

    /// Mean and standard deviation over seeds of the accuracy at the end.
    pub fn last(&self, done: &[&Done]) -> Option<(f64, f64)> {
        let of = |d: &&Done| {
            let accuracy = &d.curve.accuracy;
            let end = &accuracy[accuracy.len().saturating_sub(self.last.max(1))..];
            (!end.is_empty()).then(|| end.iter().sum::<f64>() / end.len() as f64)
        };
        spread(&done.iter().filter_map(of).collect::<Vec<_>>())
    }
}

/// Mean and standard deviation (of a sample).
pub fn spread(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let square = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (!values.is_empty()).then_some((mean, square.sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shift_reads_back() {
        let setting = BTreeMap::from([(SHIFT.to_string(), shift("evolving", 12))]);
        assert_eq!(Results { setting, ..Results::default() }.shift_every(), Some(12));
        assert_eq!(Results::default().shift_every(), None);
    }
}
