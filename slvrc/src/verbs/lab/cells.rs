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
use std::sync::{Arc, Mutex, MutexGuard};

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
        let subjects = Subjects { bound: &self.bound, known: Mutex::default() };
        self.prepare(&subjects, &mut results)?;
        let queue = Queue::new(&results, world);
        results.write(&self.folder)?;
        bar.set_length((queue.cells.len() * self.setting.rounds) as u64);
        let (queue, failed) = (Mutex::new(queue), Mutex::default());
        let work = Work { grid: self, subjects, bar, queue, results: Mutex::new(results), failed };
        // A cell for every core keeps all busy where one of them waits for a single thread; two at least, for what waits.
        let cores = std::thread::available_parallelism().map_or(2, |n| n.get().max(2));
        std::thread::scope(|scope| {
            let spawn = |_| std::thread::Builder::new().spawn_scoped(scope, || work.all());
            // Where the machine gives no thread, those that there are do everything.
            let others: Vec<_> = (1..cores).filter_map(|i| spawn(i).ok()).collect();
            work.all();
            for other in others {
                other.join().expect("a worker does not panic");
            }
        });
        match held(&work.failed).take() {
            Some(e) => Err(e),
            None => Ok(work.results.into_inner().expect(HELD)),
        }
    }

    /// How each predicate with cells to run is put to the test. What cannot be simulated is said here, before anything runs.
    fn prepare(&self, subjects: &Subjects<'_>, results: &mut Results) -> anyhow::Result<()> {
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
            let subject = subjects.of(predicate, self.in_a_round())?;
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
        Ok(())
    }

    fn in_a_round(&self) -> usize {
        self.setting.in_a_round(self.setting.clients)
    }
}

/// The predicates, each compiled once for each number of clients.
struct Subjects<'a> {
    bound: &'a Bound,
    known: Mutex<BTreeMap<(String, usize), Arc<Subject>>>,
}

impl Subjects<'_> {
    fn of(&self, predicate: &str, clients: usize) -> anyhow::Result<Arc<Subject>> {
        let at = (predicate.to_string(), clients);
        if let Some(known) = held(&self.known).get(&at) {
            return Ok(Arc::clone(known));
        }
        let new = Subject::new(predicate, clients as u64, self.bound)
            .with_context(|| predicate.to_string())?;
        Ok(Arc::clone(held(&self.known).entry(at).or_insert(Arc::new(new))))
    }
}

/// The cells that are still to run: predicate, attack and seed. Those of a seed follow each other, and share their world.
struct Queue {
    cells: VecDeque<(String, String, u64)>,
    world: Arc<World>,
}

impl Queue {
    fn new(results: &Results, world: World) -> Queue {
        let mut cells = VecDeque::new();
        for &seed in &results.seeds {
            for predicate in &results.predicates {
                for attack in results.ran(predicate) {
                    if !results.cells.contains_key(&key(predicate, attack, seed)) {
                        cells.push_back((predicate.clone(), attack.to_string(), seed));
                    }
                }
            }
        }
        Queue { cells, world: Arc::new(world) }
    }

    /// The world of a seed.
    fn world(&mut self, grid: &Grid<'_>, seed: u64) -> anyhow::Result<Arc<World>> {
        if self.world.setting.seed != seed {
            let setting = Setting { seed, ..grid.setting.clone() };
            self.world = Arc::new(World::new(grid.trained.net.clone(), grid.source, setting)?);
        }
        Ok(Arc::clone(&self.world))
    }
}

/// What threads that run cells share.
struct Work<'a> {
    grid: &'a Grid<'a>,
    subjects: Subjects<'a>,
    bar: &'a ProgressBar,
    queue: Mutex<Queue>,
    results: Mutex<Results>,
    /// The first failure. None begins a cell after it.
    failed: Mutex<Option<anyhow::Error>>,
}

impl Work<'_> {
    /// Runs cells until there are none.
    fn all(&self) {
        while let Some((predicate, attack, world)) = self.next() {
            let done = world.and_then(|world| self.one(&predicate, &attack, &world));
            if let Err(e) = done {
                held(&self.queue).cells.clear();
                let e = e.context(format!("{predicate} under {attack}"));
                held(&self.failed).get_or_insert(e);
            }
        }
    }

    fn next(&self) -> Option<(String, String, anyhow::Result<Arc<World>>)> {
        let mut queue = held(&self.queue);
        let (predicate, attack, seed) = queue.cells.pop_front()?;
        let world = queue.world(self.grid, seed);
        Some((predicate, attack, world))
    }

    /// Runs a cell, and writes what came of it.
    fn one(&self, predicate: &str, attack: &str, world: &World) -> anyhow::Result<()> {
        let Some(done) = self.cell(predicate, attack, world)? else { return Ok(()) };
        let (bar, seed) = (self.bar, world.setting.seed);
        // Where nobody sees a bar, a line says that something goes on.
        if bar.is_hidden() {
            let (at, all) = (bar.position(), bar.length().unwrap_or(0));
            let last = 100.0 * done.curve.accuracy.last().copied().unwrap_or(0.0);
            let row = table::plain(predicate);
            tell(&format!("{row}, {attack}, seed {seed}: {last:.1} % ({at} of {all} rounds)\n"));
        }
        let mut results = held(&self.results);
        results.cells.insert(key(predicate, attack, seed), done);
        results.write(&self.grid.folder)
    }

    /// One cell; `None` where the attack has nothing to do.
    fn cell(&self, predicate: &str, attack: &str, world: &World) -> anyhow::Result<Option<Done>> {
        let &Work { grid, bar, .. } = self;
        let first = self.subjects.of(predicate, grid.in_a_round())?;
        let chosen = chosen(attack)?;
        if !first.suits(&chosen.attack) {
            bar.inc(grid.setting.rounds as u64);
            return Ok(None);
        }
        let Setting { seed, rounds, .. } = world.setting;
        let subjects = |clients: usize| self.subjects.of(predicate, clients);
        // The last round of every stretch, of the first seed only.
        let parties = |round: usize| {
            grid.every > 0
                && seed == grid.setting.seed
                && ((round + 1).is_multiple_of(grid.every) || round + 1 == rounds)
        };
        let (model, knows) = (&grid.trained.shape, grid.knows);
        let cell = Cell { world, model, attack: &chosen, knows, params: first.params() };
        let mut rule = Aggregation::new((&subjects, first.clone()), grid.fast, &parties, seed);
        let curve = cell.run(&mut rule, |_, accuracy| {
            bar.set_message(format!("{predicate}, {attack}: {:.1} %", 100.0 * accuracy));
            bar.inc(1);
        });
        Ok(Some(Done { curve: curve.map_err(failed)?, checks: rule.checks }))
    }
}

const HELD: &str = "no panic while it is held";

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect(HELD)
}

/// How a predicate is put to the test.
fn about(subject: &Subject, knows: Knows) -> About {
    let told = subject.adaptive().map(|a| format!("`{}`: {}", a.name, a.insight.text(knows)));
    About {
        sizes: units::bound(&subject.sizes),
        aggregate: subject.reading.to_string(),
        adaptive: subject.adaptive().map(|a| a.name.to_string()).collect(),
        told: told.collect::<Vec<_>>().join("; "),
    }
}
