//! The grid of cells, and what of it was already there.

use super::results::{About, Done, Results, key};
use super::table;
use crate::fail::tell;
use crate::lab::attack::chosen;
use crate::lab::rule::{Aggregation, failed};
use crate::lab::subject::{Bound, Subject, Trained};
use anyhow::{Context, bail};
use indicatif::ProgressBar;
use slvr::units;
use slvr_simulation::lab::federation::Cell;
use slvr_simulation::lab::fill;
use slvr_simulation::lab::knowledge::Knows;
use slvr_simulation::lab::world::{Setting, Source, World};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

pub struct Grid<'a> {
    pub setting: Setting,
    pub source: Source<'a>,
    pub trained: &'a Trained,
    pub bound: Bound,
    pub fast: bool,
    /// Rounds between runs among three parties; 0 for none.
    pub every: usize,
    pub knows: Knows,
    pub folder: PathBuf,
}

impl Grid<'_> {
    /// Runs all cells that `results` does not have, and writes it after each; `world` is that of the first seed.
    pub fn run(
        &self,
        mut results: Results,
        world: World,
        bar: &ProgressBar,
    ) -> anyhow::Result<Results> {
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
            let open = |a: &&str| {
                let of = |s: &u64| results.cells.contains_key(&key(predicate, a, *s));
                !results.seeds.iter().all(of)
            };
            let whole = results.about.contains_key(predicate);
            if whole && !results.ran(predicate).iter().any(open) {
                continue;
            }
            let clients = self.setting.in_a_round(self.setting.clients);
            let subject = subject(predicate, clients)?;
            inputs.extend(subject.fast.graph().inputs.iter().map(|i| i.name.clone()));
            aggregates += usize::from(subject.said);
            results.about.insert(predicate.clone(), about(&subject, self.knows));
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
                for attack in results.ran(predicate) {
                    if !results.cells.contains_key(&key(predicate, attack, seed)) {
                        queue.push_back((predicate.clone(), attack.to_string(), seed));
                    }
                }
            }
        }
        results.write(&self.folder)?;
        bar.set_length((queue.len() * self.setting.rounds) as u64);
        let (queue, results) = (Mutex::new((queue, Arc::new(world))), Mutex::new(results));
        // Cells of a seed follow each other, and share their world.
        let next = || {
            let (queue, world) = &mut *queue.lock().expect("no panic while it is held");
            let (predicate, attack, seed) = queue.pop_front()?;
            if world.setting.seed != seed {
                let setting = Setting { seed, ..self.setting.clone() };
                match World::new(self.trained.net.clone(), self.source, setting) {
                    Ok(new) => *world = Arc::new(new),
                    Err(e) => return Some((predicate, attack, Err(e))),
                }
            }
            Some((predicate, attack, Ok(Arc::clone(world))))
        };
        let failed: Mutex<Option<anyhow::Error>> = Mutex::new(None);
        let work = || {
            loop {
                let Some((predicate, attack, world)) = next() else { return };
                let done = world.map_err(anyhow::Error::from).and_then(|world| {
                    let done = self.cell(&subject, (&predicate, &attack), &world, bar)?;
                    let Some(done) = done else { return Ok(()) };
                    let seed = world.setting.seed;
                    // Where nobody sees a bar, a line says that something goes on.
                    if bar.is_hidden() {
                        let (at, all) = (bar.position(), bar.length().unwrap_or(0));
                        let last = 100.0 * done.curve.accuracy.last().copied().unwrap_or(0.0);
                        let row = table::plain(&predicate);
                        tell(&format!(
                            "{row}, {attack}, seed {seed}: {last:.1} % ({at} of {all} rounds)\n"
                        ));
                    }
                    let mut results = results.lock().expect("no panic while it is held");
                    results.cells.insert(key(&predicate, &attack, seed), done);
                    results.write(&self.folder)
                });
                if let Err(e) = done {
                    queue.lock().expect("no panic while it is held").0.clear();
                    let e = e.context(format!("{predicate} under {attack}"));
                    failed.lock().expect("no panic while it is held").get_or_insert(e);
                }
            }
        };
        // A cell for every core keeps all busy where one of them waits for a single thread; two at least, for what waits.
        let cores = std::thread::available_parallelism().map_or(2, |n| n.get().max(2));
        std::thread::scope(|scope| {
            let spawn = |_| std::thread::Builder::new().spawn_scoped(scope, work);
            // Where the machine gives no thread, those that there are do everything.
            let others: Vec<_> = (1..cores).filter_map(|i| spawn(i).ok()).collect();
            work();
            for other in others {
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
        (predicate, attack): (&str, &str),
        world: &World,
        bar: &ProgressBar,
    ) -> anyhow::Result<Option<Done>> {
        let first = subject(predicate, self.setting.in_a_round(self.setting.clients))?;
        let chosen = chosen(attack)?;
        if !first.suits(&chosen.attack) {
            bar.inc(self.setting.rounds as u64);
            return Ok(None);
        }
        let Setting { seed, rounds, .. } = world.setting;
        let subjects = |clients: usize| subject(predicate, clients);
        // The last round of every stretch, of the first seed only.
        let parties = |round: usize| {
            self.every > 0
                && seed == self.setting.seed
                && ((round + 1).is_multiple_of(self.every) || round + 1 == rounds)
        };
        let (model, knows) = (&self.trained.shape, self.knows);
        let cell = Cell { world, model, attack: &chosen, knows, params: first.params() };
        let mut rule = Aggregation::new((&subjects, first.clone()), self.fast, &parties, seed);
        let curve = cell.run(&mut rule, |_, accuracy| {
            bar.set_message(format!("{predicate}, {attack}: {:.1} %", 100.0 * accuracy));
            bar.inc(1);
        });
        Ok(Some(Done { curve: curve.map_err(failed)?, checks: rule.checks }))
    }
}

/// How a predicate is put to the test.
fn about(subject: &Subject, knows: Knows) -> About {
    let told = subject.adaptive().map(|a| format!("`{}`: {}", a.name, a.told.text(knows)));
    About {
        sizes: units::bound(&subject.sizes),
        aggregate: subject.reading.to_string(),
        adaptive: subject.adaptive().map(|a| a.name.to_string()).collect(),
        told: told.collect::<Vec<_>>().join("; "),
    }
}
