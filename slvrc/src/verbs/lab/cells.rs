//! The grid of cells, its results on disk, and what was already there.

use super::rule::{Aggregation, Check};
use super::subject::{Bound, Subject, Trained};
use super::table;
use crate::fail::tell;
use crate::files;
use anyhow::{Context, bail};
use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};
use slvr_simulation::lab::attacks::Attack;
use slvr_simulation::lab::federation::{Cell, FederationError};
use slvr_simulation::lab::fill;
use slvr_simulation::lab::world::{Setting, Split, World};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Name of the file of results in the output folder.
pub const FILE: &str = "results.json";

/// The column of the attack that adapts to each predicate.
pub const ADAPTIVE: &str = "adaptive";

/// All that a run of the lab found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// What was simulated, by the names of the options: results of another setting are not mixed.
    pub setting: BTreeMap<String, String>,
    /// Predicates in the order of the table.
    pub predicates: Vec<String>,
    /// Columns.
    pub attacks: Vec<String>,
    /// Seeds.
    pub seeds: Vec<u64>,
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
    /// Which attack was the adaptive one.
    pub adaptive: String,
    /// What its attackers knew.
    pub told: String,
}

/// A cell that is done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// Which attack it was.
    pub attack: String,
    /// Test accuracy after every round.
    pub accuracy: Vec<f64>,
    /// Part of triggered test samples with the backdoor's class.
    pub backdoor: f64,
    /// Runs among three parties.
    pub checks: Vec<Ran>,
}

/// A run among three parties.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ran {
    pub round: usize,
    pub difference: f64,
    /// `None` where nothing is proven.
    pub tolerance: Option<f64>,
    pub agrees: bool,
    pub seconds: f64,
}

/// The key of a cell.
pub fn key(predicate: &str, attack: &str, seed: u64) -> String {
    format!("{predicate} | {attack} | {seed}")
}

impl Results {
    /// Reads those of a folder.
    pub fn read(folder: &Path) -> anyhow::Result<Option<Results>> {
        let path = folder.join(FILE);
        if !path.exists() {
            return Ok(None);
        }
        let text = files::read_text(&path, 1 << 28)
            .with_context(|| format!("{}: cannot be read", path.display()))?;
        let read: Results = serde_json::from_str(&text)
            .with_context(|| format!("{}: is not a file of results", path.display()))?;
        if let Some(what) = read.damaged() {
            bail!("{}: {what}; say another folder with --out, or remove the file", path.display());
        }
        Ok(Some(read))
    }

    /// What no run of the lab would have written.
    fn damaged(&self) -> Option<String> {
        let rounds = self.setting.get("rounds").and_then(|r| r.parse::<usize>().ok());
        let mut seeds = self.seeds.clone();
        seeds.sort_unstable();
        seeds.dedup();
        if seeds.len() != self.seeds.len() {
            return Some("names a seed twice".into());
        }
        let all = |(p, a): (&String, &String)| self.seeds.iter().map(|s| key(p, a, *s)).collect();
        let pairs = self.predicates.iter().flat_map(|p| self.attacks.iter().map(move |a| (p, a)));
        let known: BTreeSet<String> = pairs.flat_map::<Vec<String>, _>(all).collect();
        self.cells.iter().find_map(|(name, done)| {
            let part = |x: &f64| (0.0..=1.0).contains(x);
            if !known.contains(name) {
                Some(format!("has a cell `{name}` of no row and column"))
            } else if Some(done.accuracy.len()) != rounds {
                Some(format!("the cell `{name}` has not all rounds"))
            } else if !done.accuracy.iter().chain([&done.backdoor]).all(part) {
                Some(format!("the cell `{name}` has an accuracy that is no part of 1"))
            } else {
                None
            }
        })
    }

    /// Writes them whole or not at all.
    pub fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        files::write(&folder.join(FILE), format!("{text}\n").as_bytes())
    }

    /// The done cells of a row and a column, by seed.
    pub fn of<'a>(&'a self, predicate: &'a str, attack: &'a str) -> impl Iterator<Item = &'a Done> {
        self.seeds.iter().filter_map(move |s| self.cells.get(&key(predicate, attack, *s)))
    }
}

/// What is run.
pub struct Grid<'a> {
    pub setting: Setting,
    pub data: &'a Split,
    pub trained: &'a Trained,
    pub bound: Bound,
    pub fast: bool,
    /// Rounds between runs among three parties; 0 for none.
    pub every: usize,
    pub folder: PathBuf,
}

impl Grid<'_> {
    /// Runs all cells that `results` does not have, and writes it after each.
    pub fn run(&self, mut results: Results, bar: &ProgressBar) -> anyhow::Result<Results> {
        let subjects: Mutex<BTreeMap<(String, usize), Arc<Subject>>> = Mutex::default();
        let subject = |predicate: &str, clients: usize| -> anyhow::Result<Arc<Subject>> {
            let at = (predicate.to_string(), clients);
            if let Some(known) = subjects.lock().expect("no panic while it is held").get(&at) {
                return Ok(Arc::clone(known));
            }
            let new = Subject::new(predicate, clients as u64, &self.bound)
                .with_context(|| predicate.to_string())?;
            let mut all = subjects.lock().expect("no panic while it is held");
            Ok(Arc::clone(all.entry(at).or_insert(Arc::new(new))))
        };
        // What cannot be simulated is said before anything runs.
        let mut inputs: BTreeSet<String> = BTreeSet::new();
        let mut aggregates = 0;
        for predicate in &results.predicates {
            // A row of an earlier run that is whole needs no file any more.
            let open = |a: &String| {
                let of = |s: &u64| results.cells.contains_key(&key(predicate, a, *s));
                !results.seeds.iter().all(of)
            };
            if !results.attacks.iter().any(open) {
                continue;
            }
            let subject = subject(predicate, self.setting.clients)?;
            inputs.extend(subject.fast.graph().inputs.iter().map(|i| i.name.clone()));
            aggregates += usize::from(subject.said);
            results.about.insert(predicate.clone(), subject.about());
        }
        if !inputs.is_empty() {
            fill::known_names(inputs.iter().map(String::as_str), &self.bound.roles)?;
        }
        if let (Some(said), 0, false) = (&self.bound.aggregate, aggregates, inputs.is_empty()) {
            bail!("--aggregate {said}: no predicate reveals that");
        }
        let mut queue: VecDeque<(String, String, u64)> = VecDeque::new();
        for &seed in &results.seeds {
            for predicate in &results.predicates {
                for attack in &results.attacks {
                    if !results.cells.contains_key(&key(predicate, attack, seed)) {
                        queue.push_back((predicate.clone(), attack.clone(), seed));
                    }
                }
            }
        }
        results.write(&self.folder)?;
        bar.set_length((queue.len() * self.setting.rounds) as u64);
        let (queue, results) = (Mutex::new(queue), Mutex::new(results));
        let failed: Mutex<Option<anyhow::Error>> = Mutex::new(None);
        let work = || {
            loop {
                let next = queue.lock().expect("no panic while it is held").pop_front();
                let Some((predicate, attack, seed)) = next else { return };
                let done = self.cell(&subject, (&predicate, &attack, seed), bar).and_then(|done| {
                    let Some(done) = done else { return Ok(()) };
                    // Where nobody sees a bar, a line says that something goes on.
                    if bar.is_hidden() {
                        let (at, all) = (bar.position(), bar.length().unwrap_or(0));
                        let last = 100.0 * done.accuracy.last().copied().unwrap_or(0.0);
                        let row = table::plain(&predicate);
                        tell(&format!(
                            "{row}, {attack}, seed {seed}: {last:.1} % ({at} of {all} rounds)"
                        ));
                    }
                    let mut results = results.lock().expect("no panic while it is held");
                    results.cells.insert(key(&predicate, &attack, seed), done);
                    results.write(&self.folder)
                });
                if let Err(e) = done {
                    queue.lock().expect("no panic while it is held").clear();
                    let e = e.context(format!("{predicate} under {attack}"));
                    failed.lock().expect("no panic while it is held").get_or_insert(e);
                }
            }
        };
        // Two cells at a time keep both cores busy where one of them waits for a single thread.
        std::thread::scope(|scope| {
            let other = std::thread::Builder::new().spawn_scoped(scope, work);
            // Where the machine gives no thread, this one does everything.
            work();
            if let Ok(other) = other {
                other.join().expect("a worker does not panic");
            }
        });
        match failed.into_inner().expect("no panic while it is held") {
            Some(e) => Err(e),
            None => Ok(results.into_inner().expect("no panic while it is held")),
        }
    }

    /// One cell; `None` where the attack has nothing to do.
    fn cell(
        &self,
        subject: &(dyn Fn(&str, usize) -> anyhow::Result<Arc<Subject>> + Sync),
        (predicate, attack, seed): (&str, &str, u64),
        bar: &ProgressBar,
    ) -> anyhow::Result<Option<Done>> {
        let first = subject(predicate, self.setting.clients)?;
        let kind = match attack {
            ADAPTIVE => first.adaptive(),
            named => Attack::named(named).context("attacks were checked")?,
        };
        if !first.suits(kind) {
            bar.inc(self.setting.rounds as u64);
            return Ok(None);
        }
        let setting = Setting { seed, ..self.setting.clone() };
        let rounds = setting.rounds;
        let world = World::new(self.trained.net.clone(), self.data, setting)?;
        let subjects = |clients: usize| subject(predicate, clients);
        // The last round of every stretch, of the first seed only.
        let parties = |round: usize| {
            self.every > 0
                && seed == self.setting.seed
                && ((round + 1).is_multiple_of(self.every) || round + 1 == rounds)
        };
        let known = Some(&first.params).filter(|_| first.known);
        let cell = Cell { world: &world, model: &self.trained.shape, attack: kind, params: known };
        let mut rule = Aggregation::new((&subjects, first.clone()), self.fast, &parties, seed);
        let curve = cell.run(&mut rule, |_, accuracy| {
            bar.set_message(format!("{predicate}, {attack}: {:.1} %", 100.0 * accuracy));
            bar.inc(1);
        });
        let curve = match curve {
            Ok(curve) => curve,
            Err(FederationError::Rule(e)) => return Err(e),
            Err(e) => bail!("{e}"),
        };
        let ran = |c: &Check| Ran {
            round: c.round,
            difference: c.difference,
            tolerance: Some(c.tolerance).filter(|t| t.is_finite()),
            agrees: c.agrees(),
            seconds: c.seconds,
        };
        Ok(Some(Done {
            attack: kind.name().to_string(),
            accuracy: curve.accuracy,
            backdoor: curve.backdoor,
            checks: rule.checks.iter().map(ran).collect(),
        }))
    }
}
