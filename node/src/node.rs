//! A running node: what its threads share.

use crate::clock::now;
use crate::config::{NodeConfig, Roll};
use crate::hex::Hash;
use crate::ledger::{Ledger, Stepped};
use crate::locks::{lock, read_lock, write_lock};
use crate::metrics::{Metrics, task as of_task};
use crate::peers::Peers;
use crate::state::{Phase, Round, RoundKey, Spec, Step, StepError};
use crate::status::Status;
use crate::store::{Left, Store, StoreError};
use crate::tasks::{Known, Ready, Tasks, longest, longest_opening};
use crate::threads::Claim;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, RwLock};
use std::time::Duration;

pub struct Node {
    pub config: NodeConfig,
    pub store: Store,
    tasks: RwLock<Tasks>,
    pub roll: RwLock<Roll>,
    /// Its connections to the other nodes.
    pub peers: Arc<Peers>,
    pub status: Status,
    pub metrics: Metrics,
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
    /// Rounds that a thread leads.
    led: Mutex<BTreeSet<RoundKey>>,
    /// Rounds are opened one after another here.
    opening: Mutex<()>,
    /// Of node 0: openings that were withdrawn at the others before this node had them, and that it does not take any more.
    withdrawn: Mutex<VecDeque<Hash>>,
    stop: AtomicBool,
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({})", self.config.party)
    }
}

/// How many openings that were withdrawn node 0 remembers. Each is in question for as long as it takes to open a round.
const WITHDRAWN: usize = 1000;

/// Whether what a node has computed in a round is on its disk.
fn has_outcome(store: &Store, tasks: &BTreeMap<String, Known>, key: &RoundKey) -> bool {
    // Without the task nobody knows, and nothing is run.
    let states = tasks.get(&key.task).is_some_and(|known| known.full.states);
    store.kept(key, Left::Result).is_ok() && (!states || store.kept(key, Left::State).is_ok())
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
                let failure = crate::state::Failure::new(round.attempt, why);
                round.step(Step::Fail(failure), now()).map_err(|e| e.to_string())?;
                store.put_round(&round).map_err(|e| e.to_string())?;
            }
            rounds.add(round);
        }
        Ok(Node {
            config,
            store,
            tasks: RwLock::new(Tasks::new(tasks)),
            roll: RwLock::new(roll),
            peers,
            status: Status::default(),
            metrics: Metrics::default(),
            rounds,
            waits: Mutex::default(),
            changed: Condvar::new(),
            untidy: Mutex::default(),
            taken: Mutex::new(0),
            busy: Mutex::default(),
            led: Mutex::default(),
            opening: Mutex::default(),
            withdrawn: Mutex::default(),
            stop: AtomicBool::new(false),
        })
    }

    /// Which party it is.
    pub fn me(&self) -> usize {
        self.config.party
    }

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
            self.task_of(spec).ok_or_else(|| format!("node {me} knows no task `{task}`"))?;
        if known.full.hash != spec.circuit {
            return Err(format!(
                "node {me} has another circuit for `{task}` than the one that the round was opened with: {}, not {}. Put the program back as it was, or abort the round",
                known.full.hash, spec.circuit
            ));
        }
        self.circuit(&known, clients)
    }

    /// A task as it is configured now.
    pub fn task(&self, name: &str) -> Option<Arc<Known>> {
        read_lock(&self.tasks).get(name).cloned()
    }

    /// All tasks as they are configured now, by name.
    pub fn all_tasks(&self) -> Vec<Arc<Known>> {
        read_lock(&self.tasks).all().cloned().collect()
    }

    /// The task of a round, as it was when the round was opened.
    pub fn task_of(&self, spec: &Spec) -> Option<Arc<Known>> {
        read_lock(&self.tasks).of(spec).cloned()
    }

    /// The longest opening of a round of one of its tasks.
    pub fn longest_opening(&self) -> u64 {
        longest_opening(read_lock(&self.tasks).all().map(|k| &**k))
    }

    /// The circuit of a task for so many clients. The last few are kept.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub fn circuit(&self, known: &Known, clients: u64) -> Result<Arc<Ready>, String> {
        known.circuit(clients, self.me())
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

    /// Whether this opening was withdrawn.
    pub fn is_withdrawn(&self, opening: &Hash) -> bool {
        lock(&self.withdrawn).contains(opening)
    }

    /// Forgets a round that has this opening and in which nothing has happened: its number was not used. Node 0 has an opening
    /// last, so what it has was open at all nodes, and is withdrawn only once it was aborted. What it does not have it takes no more: whoever
    /// withdraws an opening asks it first, and so nobody goes on to open what another one withdraws.
    ///
    /// # Errors
    ///
    /// Another opening; a round with submissions, or that has gone on; a disk that fails.
    pub fn withdraw(&self, key: &RoundKey, opening: &Hash) -> Result<(), StepError> {
        // None is taken meanwhile.
        let _one = self.opening();
        if self.leads() {
            let mut withdrawn = lock(&self.withdrawn);
            match self.round(key).filter(|r| r.spec.digest() == *opening) {
                Some(round) if round.phase != Phase::Aborted => {
                    let what = "it was open at all nodes";
                    return Err(StepError::OutOfOrder { phase: round.phase, what });
                }
                found => {
                    if !withdrawn.contains(opening) {
                        withdrawn.push_back(*opening);
                    }
                    if withdrawn.len() > WITHDRAWN {
                        withdrawn.pop_front();
                    }
                    if found.is_none() {
                        return Ok(());
                    }
                }
            }
        }
        let done = self.rounds.remove(key, |round| {
            if round.spec.digest() != *opening {
                let what = "it has another opening than the one that is withdrawn";
                return Err(StepError::OutOfOrder { phase: round.phase, what });
            }
            let begun = round.erased || round.attempt > 0 || self.store.count_of(key)? > 0;
            match round.phase {
                Phase::Open | Phase::Closed | Phase::Aborted if !begun => {
                    Ok(self.store.forget_round(key)?)
                }
                phase => Err(StepError::OutOfOrder {
                    phase,
                    what: "something was submitted to it already",
                }),
            }
        });
        if done.is_ok() {
            tracing::info!(round = %key, "withdrawn");
            self.wake();
        }
        done
    }

    /// Takes a step and makes it durable, or takes none.
    ///
    /// # Errors
    ///
    /// A step that may not follow; a disk that is full.
    pub fn advance(&self, key: &RoundKey, step: Step) -> Result<Arc<Round>, StepError> {
        let durable = |next: &Round| Ok(self.store.put_round(next)?);
        let whole = || Ok(self.store.round(key)?);
        let Stepped { before: round, after: next, changed } =
            self.rounds.step(key, step, now(), whole, durable)?;
        if changed {
            tracing::info!(round = %key, phase = %next.phase, attempt = next.attempt, "a step");
            let (counts, task) = (&self.metrics, of_task(&key.task));
            let add = |to: &crate::metrics::ByTask| to.get_or_create(&task).inc();
            match next.phase {
                Phase::Aborted if !round.ended() => {
                    let why = next.aborted.as_deref().unwrap_or("");
                    tracing::warn!(round = %key, why, "aborted");
                    add(&counts.aborted);
                }
                Phase::Released => drop(add(&counts.released)),
                Phase::Computed => drop(add(&counts.computed)),
                _ => {}
            }
            if let Some(f) = next
                .failures
                .last()
                .filter(|_| !round.ended() && next.failures.len() > round.failures.len())
            {
                tracing::warn!(round = %key, attempt = f.attempt, why = f.why, "an attempt failed");
                add(&counts.failed);
            }
            self.wake();
        }
        Ok(next)
    }

    /// The same, for who needs only a text of what speaks against it.
    pub fn step(&self, key: &RoundKey, step: Step) -> Result<(), String> {
        self.advance(key, step).map(drop).map_err(|e| e.to_string())
    }

    /// Erases what is left of a round that ended long ago.
    pub fn forget(&self, round: &Round) -> Result<(), StoreError> {
        self.rounds.forget(&round.spec.key, |now| self.store.forget(now))
    }

    /// Takes other tasks. Rounds that have not ended, or may be run again, keep the task that they were opened with. The result
    /// is the names of those that are not as they were.
    pub fn exchange(&self, tasks: BTreeMap<String, Known>) -> Vec<String> {
        // No round is opened meanwhile.
        let _one = self.opening();
        // Who collects a result reads it by the circuit, and what was aborted may be run again.
        let needed = |r: &Arc<Round>| match r.phase {
            Phase::Released => self.store.has(&r.spec.key, Left::Result),
            Phase::Aborted => self.store.keeps_parts(&r.spec.key),
            _ => true,
        };
        let rounds: Vec<_> = self.rounds().into_iter().filter(needed).collect();
        self.peers.allow(longest(tasks.values()));
        let mut held = write_lock(&self.tasks);
        held.exchange(tasks, rounds.iter().map(|r| &r.spec))
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
        // Who has looked whether the node stops, and does not wait yet, holds the lock.
        let _waits = lock(&self.waits);
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
    pub fn permit(self: &Arc<Self>, bytes: u64) -> Option<Claim> {
        let most = self.config.limits.run_memory_mb.saturating_mul(1_000_000);
        let mut taken = lock(&self.taken);
        *taken = taken.checked_add(bytes).filter(|sum| *sum <= most)?;
        let node = self.clone();
        Some(Claim::new(move || *lock(&node.taken) -= bytes))
    }

    /// Says that a thread computes for a round; nothing if one does already.
    pub fn occupy(self: &Arc<Self>, key: &RoundKey) -> Option<Claim> {
        let free = lock(&self.busy).insert(key.clone());
        let (node, key) = (self.clone(), key.clone());
        free.then(|| {
            Claim::new(move || {
                lock(&node.busy).remove(&key);
                node.status.rest(&key);
                node.wake();
            })
        })
    }

    /// Says that a thread leads a round; nothing if one does already.
    pub fn lead(self: &Arc<Self>, key: &RoundKey) -> Option<Claim> {
        let free = lock(&self.led).insert(key.clone());
        let (node, key) = (self.clone(), key.clone());
        free.then(|| {
            Claim::new(move || {
                lock(&node.led).remove(&key);
            })
        })
    }

    /// Whether a thread computes for a round.
    pub fn is_busy(&self, key: &RoundKey) -> bool {
        lock(&self.busy).contains(key)
    }
}
