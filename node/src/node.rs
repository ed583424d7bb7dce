//! A running node: what its threads share.

use crate::basics::{Hash, Hex, now};
use crate::board::{Board, add};
use crate::config::{NodeConfig, Roll, Task};
use crate::ledger::{Ledger, Stepped};
use crate::peers::Peers;
use crate::state::{Phase, Round, RoundKey, Spec, Step, StepError};
use crate::store::{Store, StoreError};
use crate::submission::{clients_of, giving, interface};
use slvr_circuit::{Circuit, artifact};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

/// Makes circuits of tasks. The node knows no compiler.
pub trait Compile: Send + Sync {
    /// The circuit of a task, for another number of clients than in its bindings if one is given.
    ///
    /// # Errors
    ///
    /// Why there is none.
    fn compile(&self, task: &Task, clients: Option<u64>) -> Result<Compiled, String>;
}

/// A circuit and what it takes.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The circuit.
    pub circuit: Circuit,
    /// Most bytes that values take, by party.
    pub memory: [u64; 3],
}

/// A circuit that the node may run.
pub struct Ready {
    /// The circuit.
    pub circuit: Circuit,
    /// Its hash.
    pub hash: Hash,
    /// What clients have to know of it.
    pub interface: Hash,
    /// The party set of clients.
    pub set: usize,
    /// How many there are.
    pub clients: u64,
    /// Other party sets that give inputs: number, name and size.
    pub others: Vec<(usize, String, u64)>,
    /// Its artifact.
    pub artifact: hyper::body::Bytes,
    /// Most bytes that values take in this node.
    pub memory: u64,
    /// Whether each round continues the state of the one before.
    pub states: bool,
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ready({}, {})", self.circuit.name, self.hash)
    }
}

impl Ready {
    /// With the clients in this party set, or in the one that they are in.
    fn new(compiled: Compiled, me: usize, set: Option<usize>) -> Result<Ready, String> {
        let Compiled { circuit, memory } = compiled;
        let set = set.map_or_else(|| clients_of(&circuit), Ok).map_err(|e| e.to_string())?;
        let interface = interface(&circuit).map_err(|e| e.to_string())?;
        let artifact = artifact::write(&circuit);
        // What is written is read back, so that the circuit is verified.
        let circuit = artifact::read(&artifact).map_err(|e| e.to_string())?;
        let hash = Hex(artifact::hash(&circuit));
        let clients = circuit.parties.get(set).map_or(0, |p| p.size);
        let memory = memory.get(me).copied().unwrap_or(0);
        let states = circuit.states().next().is_some();
        let artifact = artifact.into();
        let named = |s: usize| circuit.parties.get(s).map(|p| (s, p.name.clone(), p.size));
        let others = giving(&circuit).into_iter().filter(|s| *s != set).filter_map(named).collect();
        Ok(Ready { circuit, hash, interface, set, clients, others, artifact, memory, states })
    }

    /// How many submissions there may be.
    pub fn expected(&self) -> u64 {
        self.others.iter().fold(self.clients, |sum, (_, _, size)| sum.saturating_add(*size))
    }

    /// The party set of whoever is enrolled for that one: its name, if it is not that of the clients, number and size.
    pub fn set_of(&self, enrolled: Option<&str>) -> Option<(Option<String>, usize, u64)> {
        let clients = self.circuit.parties.get(self.set).map(|p| p.name.as_str());
        if enrolled.is_none() || enrolled == clients {
            return Some((None, self.set, self.clients));
        }
        let found = self.others.iter().find(|(_, name, _)| Some(name.as_str()) == enrolled);
        found.map(|(set, name, size)| (Some(name.clone()), *set, *size))
    }
}

/// A task that the node may run.
#[derive(Debug)]
pub struct Known {
    /// As it is configured.
    pub task: Task,
    /// Its circuit for all clients that may come.
    pub full: Arc<Ready>,
    fewer: Mutex<Recent<Result<Arc<Ready>, String>>>,
}

/// How many circuits for fewer clients are kept of a task.
const KEPT: usize = 4;

/// What was made last, by number of clients: at most [`KEPT`] things, the one asked for last at the end. A circuit may
/// take a good deal of memory, and in the course of time there is one for each number of clients.
#[derive(Debug)]
struct Recent<T>(Vec<(u64, T)>);

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Recent(Vec::new())
    }
}

impl<T: Clone> Recent<T> {
    fn get(&mut self, clients: u64, make: impl FnOnce() -> T) -> T {
        let one = match self.0.iter().position(|(n, _)| *n == clients) {
            Some(at) => self.0.remove(at),
            None => {
                let made = make();
                if self.0.len() >= KEPT {
                    self.0.remove(0);
                }
                (clients, made)
            }
        };
        self.0.push(one.clone());
        one.1
    }
}

/// A node.
pub struct Node {
    /// What it was told.
    pub config: NodeConfig,
    /// What it keeps.
    pub store: Store,
    /// What it may run, by name.
    pub tasks: BTreeMap<String, Known>,
    /// Who may submit.
    pub roll: RwLock<Roll>,
    /// Its connections to the other nodes.
    pub peers: Arc<Peers>,
    /// What it shows.
    pub board: Board,
    compile: Box<dyn Compile>,
    rounds: Ledger,
    /// Held for a moment by whoever waits for something to change.
    waits: Mutex<()>,
    changed: Condvar,
    /// Rounds that have ended, and of which something could not be erased.
    untidy: Mutex<BTreeSet<RoundKey>>,
    /// Bytes of memory that runs under way take.
    taken: Mutex<u64>,
    /// Rounds for which a thread computes.
    busy: Mutex<BTreeSet<RoundKey>>,
    /// Rounds are opened one after another here.
    opening: Mutex<()>,
    /// A coordinator's calls to open rounds are served one after another, until all nodes have answered.
    pub leading: tokio::sync::Mutex<()>,
    stop: AtomicBool,
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({})", self.config.party)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Memory that a run has. It is given back when this is dropped.
#[derive(Debug)]
pub struct Permit {
    node: Arc<Node>,
    bytes: u64,
}

impl Drop for Permit {
    fn drop(&mut self) {
        *lock(&self.node.taken) -= self.bytes;
    }
}

/// Says that a thread computes for a round, until it is dropped.
#[derive(Debug)]
pub struct Busy {
    node: Arc<Node>,
    key: RoundKey,
}

impl Drop for Busy {
    fn drop(&mut self) {
        lock(&self.node.busy).remove(&self.key);
        self.node.board.rest(&self.key);
        self.node.wake();
    }
}

/// Longest message between nodes for these tasks: public inputs as lists of numbers, and lists of clients.
pub fn longest(tasks: &BTreeMap<String, Known>) -> u64 {
    let of = |known: &Known| {
        let c = &known.full.circuit;
        let public = c.inputs.iter().filter(|i| i.from == slvr_circuit::From::Public);
        let bytes = public
            .map(|i| c.ty(i.value).elements().saturating_mul(16))
            .fold(0, u64::saturating_add);
        bytes.saturating_mul(4).saturating_add(known.full.expected().saturating_mul(1024))
    };
    tasks.values().map(of).fold(1 << 20, |a, b| a.max(b.saturating_add(1 << 20)))
}

/// Compiles the tasks of a configuration.
///
/// # Errors
///
/// The first that cannot be run.
pub fn tasks(
    config: &NodeConfig,
    compile: &dyn Compile,
) -> Result<BTreeMap<String, Known>, String> {
    let mut tasks = BTreeMap::new();
    for task in &config.task {
        let named = |e: String| format!("task `{}`: {e}", task.name);
        let full = Ready::new(compile.compile(task, None).map_err(named)?, config.party, None)
            .map_err(named)?;
        let most = config.limits.run_memory_mb.saturating_mul(1_000_000);
        if full.memory > most {
            let needed = full.memory.div_ceil(1_000_000);
            return Err(named(format!(
                "a run takes {needed} MB of memory for its values, and run_memory_mb is {}",
                config.limits.run_memory_mb
            )));
        }
        if full.clients < task.minimum {
            return Err(named(format!(
                "it is for {} clients, and its minimum is {}",
                full.clients, task.minimum
            )));
        }
        let sizes = &full.circuit.sizes;
        let named = |(name, value): &(String, String)| {
            Some(name) == task.clients.as_ref() && *value == full.clients.to_string()
        };
        if let Some(size) = task.clients.as_ref().filter(|_| !sizes.iter().any(named)) {
            let all: Vec<String> = sizes.iter().map(|(n, v)| format!("{n} = {v}")).collect();
            return Err(format!(
                "task `{}`: `clients = \"{size}\"` is not the size that is the number of clients, {}: there are {}",
                task.name,
                full.clients,
                all.join(", ")
            ));
        }
        let known = Known { task: task.clone(), full: Arc::new(full), fewer: Mutex::default() };
        tasks.insert(task.name.clone(), known);
    }
    Ok(tasks)
}

/// Whether what a node has computed in a round is on its disk.
fn has_outcome(store: &Store, tasks: &BTreeMap<String, Known>, key: &RoundKey) -> bool {
    // Without the task nobody knows, and nothing is run.
    let states = tasks.get(&key.task).is_some_and(|known| known.full.states);
    store.result(key).is_ok() && (!states || store.state(key).is_ok())
}

impl Node {
    /// A node that has read what it keeps. A run that was under way when it stopped has failed.
    ///
    /// # Errors
    ///
    /// What it keeps cannot be read.
    pub fn new(
        config: NodeConfig,
        store: Store,
        tasks: BTreeMap<String, Known>,
        roll: Roll,
        peers: Arc<Peers>,
        compile: Box<dyn Compile>,
    ) -> Result<Node, String> {
        let rounds = Ledger::default();
        for mut round in store.rounds().map_err(|e| e.to_string())? {
            let lost = match round.phase {
                Phase::Running => Some("was restarted"),
                // A crash may come between what was erased and the step that says so.
                Phase::Computed if !has_outcome(&store, &tasks, &round.spec.key) => {
                    Some("was restarted, and what it has computed cannot be read")
                }
                _ => None,
            };
            if let Some(lost) = lost {
                let why = format!("node {} {lost}", config.party);
                let failure = crate::state::Failure { attempt: round.attempt, why };
                round.step(Step::Fail(failure), now()).map_err(|e| e.to_string())?;
                store.put_round(&round).map_err(|e| e.to_string())?;
            }
            rounds.add(round);
        }
        Ok(Node {
            config,
            store,
            tasks,
            roll: RwLock::new(roll),
            peers,
            board: Board::default(),
            compile,
            rounds,
            waits: Mutex::default(),
            changed: Condvar::new(),
            untidy: Mutex::default(),
            taken: Mutex::new(0),
            busy: Mutex::default(),
            opening: Mutex::default(),
            leading: Default::default(),
            stop: AtomicBool::new(false),
        })
    }

    /// Which party it is.
    pub fn me(&self) -> usize {
        self.config.party
    }

    /// Whether it leads rounds.
    pub fn leads(&self) -> bool {
        self.config.party == 0
    }

    /// How long it waits for another node.
    pub fn deadline(&self) -> Duration {
        Duration::from_secs(self.config.limits.deadline_s.max(1))
    }

    /// Whether it is being stopped.
    pub fn stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Stops it: its threads end when they look.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.wake();
    }

    /// Where a round stands. Of one that has ended the lists are in the database: see [`Node::record`].
    pub fn round(&self, key: &RoundKey) -> Option<Arc<Round>> {
        self.rounds.get(key)
    }

    /// All rounds, by task and number. Of those that have ended the lists are in the database.
    pub fn rounds(&self) -> Vec<Arc<Round>> {
        self.rounds.all()
    }

    /// Everything that is known of a round, also of one that has ended.
    ///
    /// # Errors
    ///
    /// A database that cannot be read.
    pub fn record(&self, key: &RoundKey) -> Result<Option<Arc<Round>>, StoreError> {
        match self.round(key) {
            Some(brief) if brief.ended() => Ok(self.store.round(key)?.map(Arc::new)),
            other => Ok(other),
        }
    }

    /// The circuit of a round for so many clients. The round's own has to be the one that this node has for the task:
    /// clients have signed that one, and a program may have been changed while the node was away.
    ///
    /// # Errors
    ///
    /// Another circuit; why there is none for so many clients.
    pub fn circuit_of(&self, spec: &Spec, clients: u64) -> Result<Arc<Ready>, String> {
        let (me, task) = (self.me(), &spec.key.task);
        let known =
            self.tasks.get(task).ok_or_else(|| format!("node {me} knows no task `{task}`"))?;
        if known.full.hash != spec.circuit {
            return Err(format!(
                "node {me} has another circuit for `{task}` than the one that the round was opened with: {}, not {}. Put the program back as it was, or abort the round",
                known.full.hash, spec.circuit
            ));
        }
        self.circuit(task, clients)
    }

    /// The circuit of a task for so many clients: of those that came, if the task says how. The
    /// last few are kept.
    ///
    /// # Errors
    ///
    /// Why there is none that the same submissions serve.
    pub fn circuit(&self, task: &str, clients: u64) -> Result<Arc<Ready>, String> {
        let known = self.tasks.get(task).ok_or("no such task")?;
        if clients == known.full.clients {
            return Ok(known.full.clone());
        }
        if known.full.states {
            // What is kept is the full circuit's.
            return Err("each round of the task continues a state".into());
        }
        if known.task.clients.is_none() {
            return Err("the task does not say which size is the number of clients".into());
        }
        lock(&known.fewer).get(clients, || {
            // The files of the program may be others by now than when the node was started.
            let again = self.compile.compile(&known.task, None)?;
            if Hex(artifact::hash(&again.circuit)) != known.full.hash {
                return Err(
                    "the files of the program were changed since the node was started".into()
                );
            }
            let compiled = self.compile.compile(&known.task, Some(clients))?;
            let ready = Ready::new(compiled, self.me(), Some(known.full.set))?;
            if ready.clients != clients {
                return Err("its circuit is for another number of clients".into());
            }
            match ready.interface == known.full.interface {
                true => Ok(Arc::new(ready)),
                false => Err("inputs are encoded otherwise for fewer clients".into()),
            }
        })
    }

    /// The last round of a task that was released, and the highest number of all: what a state continues.
    pub fn history(&self, task: &str) -> (Option<u64>, u64) {
        let all = self.rounds();
        let of = || all.iter().filter(|r| r.spec.key.task == task);
        let highest = of().map(|r| r.spec.key.round).max().unwrap_or(0);
        let released = of().filter(|r| r.phase == Phase::Released).map(|r| r.spec.key.round).max();
        (released, highest)
    }

    /// Held by whoever opens a round: a question that is asked twice makes one key and one record.
    pub fn opening(&self) -> MutexGuard<'_, ()> {
        lock(&self.opening)
    }

    /// Adds a round that has been made durable.
    pub fn add(&self, round: Round) {
        self.rounds.add(round);
        self.wake();
    }

    /// Takes a step and makes it durable, or takes none.
    ///
    /// # Errors
    ///
    /// A step that may not follow; a disk that is full.
    pub fn advance(&self, key: &RoundKey, step: Step) -> Result<Arc<Round>, StepError> {
        let durable =
            |next: &Round| self.store.put_round(next).map_err(|e| StepError::Store(e.to_string()));
        let Stepped { before: round, after: next, changed } =
            self.rounds.step(key, step, now(), durable)?;
        if changed {
            tracing::info!(round = %key, phase = %next.phase, attempt = next.attempt, "a step");
            let counts = &self.board.counts;
            match next.phase {
                Phase::Aborted => {
                    let why = next.aborted.as_deref().unwrap_or("");
                    tracing::warn!(round = %key, why, "aborted");
                    add(&counts.aborted, 1);
                }
                Phase::Released => add(&counts.released, 1),
                Phase::Computed => add(&counts.computed, 1),
                _ => {}
            }
            if let Some(f) =
                next.failures.last().filter(|_| next.failures.len() > round.failures.len())
            {
                tracing::warn!(round = %key, attempt = f.attempt, why = f.why, "an attempt failed");
                add(&counts.failed, 1);
            }
            self.wake();
        }
        Ok(next)
    }

    /// Does something while a round stays as it is. Submissions are counted so.
    pub fn with_round<T>(&self, key: &RoundKey, act: impl FnOnce(Option<&Round>) -> T) -> T {
        self.rounds.held(key, act)
    }

    /// What is true once a round was aborted.
    pub fn aborted(&self, key: &RoundKey) -> Arc<AtomicBool> {
        self.rounds.aborted(key)
    }

    /// Notes whether everything was erased of a round that has ended. What was not is tried again.
    pub fn tidied(&self, key: &RoundKey, done: bool) {
        let mut untidy = lock(&self.untidy);
        match done {
            true => untidy.remove(key),
            false => untidy.insert(key.clone()),
        };
    }

    /// Rounds that have ended, and of which something could not be erased.
    pub fn untidy(&self) -> BTreeSet<RoundKey> {
        lock(&self.untidy).clone()
    }

    /// Wakes whoever waits for something to change.
    pub fn wake(&self) {
        self.changed.notify_all();
    }

    /// Waits until something changes, but not for longer than this.
    pub fn wait(&self, most: Duration) {
        let waits = lock(&self.waits);
        if !self.stopping() {
            drop(self.changed.wait_timeout(waits, most));
        }
    }

    /// Memory for a run, if there is enough now.
    pub fn permit(self: &Arc<Self>, bytes: u64) -> Option<Permit> {
        let most = self.config.limits.run_memory_mb.saturating_mul(1_000_000);
        let mut taken = lock(&self.taken);
        let sum = taken.checked_add(bytes).filter(|s| *s <= most)?;
        *taken = sum;
        Some(Permit { node: self.clone(), bytes })
    }

    /// Says that a thread computes for a round; nothing if one does already.
    pub fn occupy(self: &Arc<Self>, key: &RoundKey) -> Option<Busy> {
        let free = lock(&self.busy).insert(key.clone());
        free.then(|| Busy { node: self.clone(), key: key.clone() })
    }

    /// Whether a thread computes for a round.
    pub fn is_busy(&self, key: &RoundKey) -> bool {
        lock(&self.busy).contains(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_circuits_are_kept_and_the_one_asked_for_longest_ago_goes_first() {
        let (mut recent, mut made) = (Recent::default(), Vec::new());
        for n in [1, 2, 3, 4, 1, 5, 1, 2, 6, 7, 8, 9, 10] {
            let got = recent.get(n, || {
                made.push(n);
                n * 10
            });
            assert_eq!(got, n * 10);
            assert!(recent.0.len() <= KEPT);
        }
        // 5 takes the place of 2, which is made again.
        assert_eq!(made, [1, 2, 3, 4, 5, 2, 6, 7, 8, 9, 10]);
    }
}
