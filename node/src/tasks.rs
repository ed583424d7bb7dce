//! Tasks: circuits that a node may run, for all clients that may come and for fewer.

use crate::config::{NodeConfig, Task};
use crate::hex::{Hash, Hex};
use crate::locks::lock;
use crate::state::{RoundKey, Spec};
use crate::submission::{clients_of, giving, interface, part_bytes};
use slvr_circuit::ranges::{Division, Range};
use slvr_circuit::speculation::Speculation;
use slvr_circuit::{Circuit, From, artifact};
use slvr_runtime::party::packed;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex};

/// Makes circuits of tasks. The node knows no compiler.
pub trait Compile: Send + Sync {
    /// The circuits of a task, for every number of clients that its rounds may have: all that it is for, and fewer, down to its
    /// minimum. All take the same submissions.
    ///
    /// # Errors
    ///
    /// Why there is none for all clients.
    fn task(&self, task: &Task) -> Result<Circuits, String>;
}

/// Makes the circuit of a task for a number of clients, or says why there is none.
pub type Make = Box<dyn Fn(u64) -> Result<Compiled, String> + Send + Sync>;

/// The circuits of a task.
pub struct Circuits {
    /// The one for all clients.
    pub all: Compiled,
    /// What is known of those for fewer, or why there is none.
    pub fewer: BTreeMap<u64, Result<Summary, String>>,
    /// Why there is none for numbers that are not listed.
    pub none: String,
    /// Makes one of those for fewer.
    pub make: Make,
}

impl fmt::Debug for Circuits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Circuits({})", self.all.circuit.name)
    }
}

/// What a node knows of a circuit that it does not keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub hash: Hash,
    /// What clients have to know of it.
    pub interface: Hash,
    /// Most bytes that values and proofs take, by party.
    pub memory: [u64; 3],
}

impl Summary {
    /// Of a circuit whose clients are this party set, or the largest that gives inputs.
    ///
    /// # Errors
    ///
    /// One that clients cannot submit to.
    pub fn of(compiled: &Compiled, clients: Option<usize>) -> Result<Summary, String> {
        let largest = clients_of(&compiled.circuit).map_err(|e| e.to_string())?;
        let interface = interface(&compiled.circuit, clients.unwrap_or(largest));
        let hash = Hex(artifact::hash(&compiled.circuit));
        Ok(Summary { hash, interface, memory: compiled.memory })
    }
}

/// A circuit and what it takes.
#[derive(Clone, Debug)]
pub struct Compiled {
    pub circuit: Circuit,
    /// Most bytes that values and proofs take, by party.
    pub memory: [u64; 3],
    /// How it is divided among workers, if it has any, and most bytes that values of a range take at one, by party.
    pub divided: Option<(Divided, [u64; 3])>,
}

/// How a circuit is divided among workers.
#[derive(Clone, Debug)]
pub struct Divided {
    pub division: Division,
    /// A hash of it. It follows from the circuit, but other versions may find other ranges.
    pub hash: Hash,
}

impl Divided {
    /// Of a verified circuit.
    pub fn of(circuit: &Circuit) -> Divided {
        let division = Division::of(circuit);
        let mut hasher = blake3::Hasher::new_derive_key("slvr 1 division among workers");
        let written = serde_json::to_writer(&mut hasher, &division);
        debug_assert!(written.is_ok(), "{written:?}");
        Divided { division, hash: Hex(*hasher.finalize().as_bytes()) }
    }
}

/// A party set that gives inputs.
pub struct GivingSet {
    /// Its number in the circuit.
    pub set: usize,
    pub name: String,
    pub size: u64,
}

/// A circuit that the node may run.
pub struct Ready {
    pub circuit: Circuit,
    pub hash: Hash,
    /// What clients have to know of it.
    pub interface: Hash,
    /// The party set of clients.
    pub set: usize,
    pub clients: u64,
    /// Other party sets that give inputs.
    pub others: Vec<GivingSet>,
    pub artifact: hyper::body::Bytes,
    /// Most bytes that values take in this node.
    pub memory: u64,
    /// The ranges that workers may compute, if they may.
    pub divided: Option<Divided>,
    /// Bytes that a worker of this node needs for any of them: for values, what is read and the parts of members.
    pub worker_memory: u64,
    /// Whether each round continues the state of the one before. Its circuit has a place for each client, so a round of which
    /// somebody is missing is aborted, unless the circuit reads who is there.
    pub states: bool,
    /// Whether it reads who is there.
    pub reads_presence: bool,
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ready({}, {})", self.circuit.name, self.hash)
    }
}

impl Ready {
    /// With the clients in this party set, or in the one that they are in.
    pub(crate) fn new(compiled: Compiled, me: usize, set: Option<usize>) -> Result<Ready, String> {
        let Compiled { circuit, memory, divided } = compiled;
        let set = set.map_or_else(|| clients_of(&circuit), Ok).map_err(|e| e.to_string())?;
        let interface = interface(&circuit, set);
        let artifact = artifact::write(&circuit);
        // What is written is read back, so that the circuit is verified.
        let circuit = artifact::read(&artifact).map_err(|e| e.to_string())?;
        let hash = Hex(artifact::hash(&circuit));
        let clients = circuit.parties.get(set).map_or(0, |p| p.size);
        let memory = memory[me % 3];
        let states = circuit.states().next().is_some();
        let reads_presence = circuit.inputs.iter().any(|i| i.from == From::Present(set as u32));
        let artifact = artifact.into();
        let named = |set: usize| {
            let p = circuit.parties.get(set)?;
            Some(GivingSet { set, name: p.name.clone(), size: p.size })
        };
        let others = giving(&circuit).into_iter().filter(|s| *s != set).filter_map(named).collect();
        let mut ready = Ready {
            circuit,
            hash,
            interface,
            set,
            clients,
            others,
            artifact,
            memory,
            divided: None,
            worker_memory: 0,
            states,
            reads_presence,
        };
        if let Some((divided, memory)) = divided {
            let handed = ready.handed(me, &divided.division)?;
            ready.worker_memory = handed.saturating_add(memory.get(me).copied().unwrap_or(0));
            ready.divided = Some(divided);
        }
        Ok(ready)
    }

    /// Most bytes that a worker is handed for a range, unless workers cannot compute any.
    fn handed(&self, me: usize, division: &Division) -> Result<u64, String> {
        let circuit = &self.circuit;
        if circuit.security.is_malicious() {
            return Err("workers cannot compute ranges of a circuit against a malicious party: leave out `workers = true`".into());
        }
        if Speculation::of(circuit).is_some() {
            return Err("it speculates on the checks of inputs, and ranges begin once they are settled: build it with --no-speculation".into());
        }
        let handed = division.ranges.iter().map(|range| {
            let parts = members(circuit, range).map(|(set, _)| part_bytes(circuit, set, me));
            parts.fold(packed(circuit, me, &range.reads), u64::saturating_add)
        });
        Ok(handed.max().unwrap_or(0))
    }

    /// The party sets that give inputs. Their members are enrolled, and fetch what is revealed to them.
    pub fn sets(&self) -> impl Iterator<Item = usize> {
        std::iter::once(self.set).chain(self.others.iter().map(|o| o.set))
    }

    /// How many submissions there may be.
    pub fn expected(&self) -> u64 {
        self.others.iter().fold(self.clients, |sum, o| sum.saturating_add(o.size))
    }

    /// About so many bytes an attempt leaves on the disk: words of the results, and shares of states.
    pub fn leaves(&self) -> u64 {
        let size = |shape: &[u64]| shape.iter().fold(16u64, |n, s| n.saturating_mul(*s));
        let results = self.circuit.outputs.iter().map(|o| {
            size(&o.shape).saturating_mul(
                // Members of a set have their own, each.
                self.circuit.parties.get(o.to as usize).map_or(1, |p| p.size.max(1)),
            )
        });
        let states = self.circuit.states().map(|(_, i)| size(&i.shape).saturating_mul(2));
        results.chain(states).fold(1 << 16, u64::saturating_add)
    }

    /// The party set of whoever is enrolled for that one: its name, if it is not that of the clients, number and size.
    pub fn set_of(&self, enrolled: Option<&str>) -> Option<(Option<String>, usize, u64)> {
        let clients = self.circuit.parties.get(self.set).map(|p| p.name.as_str());
        if enrolled.is_none() || enrolled == clients {
            return Some((None, self.set, self.clients));
        }
        let found = self.others.iter().find(|o| Some(o.name.as_str()) == enrolled);
        found.map(|o| (Some(o.name.clone()), o.set, o.size))
    }
}

/// The members of party sets whose parts a range loads, each once.
pub fn members(circuit: &Circuit, range: &Range) -> impl Iterator<Item = (usize, usize)> {
    let all = range.inputs.iter().flat_map(|part| {
        let of = circuit.inputs.get(part.input).and_then(|input| match input.from {
            From::Each(set) => Some(set as usize),
            From::Public | From::Present(_) | From::State(_) => None,
        });
        of.into_iter().flat_map(|set| part.members.clone().map(move |k| (set, k as usize)))
    });
    all.collect::<BTreeSet<_>>().into_iter()
}

/// A task that the node may run.
pub struct Known {
    pub task: Task,
    /// Its circuit for all clients that may come.
    pub full: Arc<Ready>,
    /// For every number of clients that a round may have the hash of its circuit, or why there is none.
    pub numbers: BTreeMap<u64, Result<Hash, String>>,
    make: Make,
    fewer: Mutex<Recent<Arc<Ready>>>,
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Known({:?})", self.full)
    }
}

impl Known {
    fn new(task: &Task, full: Ready, circuits: Circuits, most: u64, me: usize) -> Known {
        let Circuits { fewer, none, make, .. } = circuits;
        let of = |n: u64| match fewer.get(&n) {
            _ if n == full.clients => Ok(full.hash),
            Some(Ok(one)) if one.interface != full.interface => {
                Err("inputs are encoded otherwise for so many clients".to_string())
            }
            Some(Ok(one)) => within(one.memory[me % 3], most).map(|()| one.hash),
            Some(Err(why)) => Err(why.clone()),
            None => Err(none.clone()),
        };
        let numbers = (task.minimum..=full.clients).map(|n| (n, of(n))).collect();
        Known { task: task.clone(), full: Arc::new(full), numbers, make, fewer: Mutex::default() }
    }

    /// Whether another one is the same: also for fewer clients.
    fn is_as(&self, other: &Known) -> bool {
        let parts = |k: &Known| (k.task.clone(), k.full.hash, k.numbers.clone());
        parts(self) == parts(other)
    }

    /// The hash of the circuit for so many clients.
    ///
    /// # Errors
    ///
    /// Why there is none, in a line.
    pub fn hash(&self, clients: u64) -> Result<Hash, String> {
        let none = || Err("no round of the task is for so many clients".to_string());
        let found = self.numbers.get(&clients).cloned().unwrap_or_else(none);
        found.map_err(|why| why.lines().next().unwrap_or_default().to_string())
    }

    /// The circuit for so many clients, which is made if it is not kept.
    ///
    /// # Errors
    ///
    /// Why there is none; one that is not what it was when the task was read.
    pub fn circuit(&self, clients: u64, me: usize) -> Result<Arc<Ready>, String> {
        if clients == self.full.clients {
            return Ok(self.full.clone());
        }
        let hash = self.hash(clients)?;
        let make = || {
            let ready = Ready::new((self.make)(clients)?, me, Some(self.full.set))?;
            match ready.hash == hash && ready.clients == clients {
                true => Ok(Arc::new(ready)),
                false => Err("the circuit is another one than when the task was read".into()),
            }
        };
        lock(&self.fewer).get(clients, make)
    }

    /// For which numbers of clients there is no circuit, and why, in a line: numbers that follow each other and have the same
    /// cause together, the first and the last of them.
    pub fn without(&self) -> Vec<(u64, u64, String)> {
        let mut out: Vec<(u64, u64, String)> = Vec::new();
        for &n in self.numbers.keys() {
            let Err(why) = self.hash(n) else { continue };
            match out.last_mut() {
                Some((_, last, same)) if *last + 1 == n && *same == why => *last = n,
                _ => out.push((n, n, why)),
            }
        }
        out
    }
}

/// Whether a run has the memory that it takes.
fn within(memory: u64, most: u64) -> Result<(), String> {
    match memory <= most {
        true => Ok(()),
        false => Err(format!(
            "a run takes {} MB of memory, and run_memory_mb is {}",
            memory.div_ceil(1_000_000),
            most / 1_000_000
        )),
    }
}

/// The tasks of a node. They may be exchanged while it runs: a round keeps the task that it was opened with, with its circuits,
/// its minimum and its numbers of clients.
#[derive(Debug, Default)]
pub struct Tasks {
    now: BTreeMap<String, Arc<Known>>,
    /// Of rounds that were opened before tasks were exchanged: the task as it was then.
    before: BTreeMap<RoundKey, Arc<Known>>,
}

impl Tasks {
    /// Of a configuration.
    pub fn new(now: BTreeMap<String, Known>) -> Tasks {
        let now = now.into_iter().map(|(name, known)| (name, Arc::new(known))).collect();
        Tasks { now, before: BTreeMap::new() }
    }

    /// A task as it is configured now.
    pub fn get(&self, task: &str) -> Option<&Arc<Known>> {
        self.now.get(task)
    }

    /// All of them, by name.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Known>> {
        self.now.values()
    }

    /// Takes others. A task that is as it was stays as it is, and rounds in which one is needed keep theirs. The result is the
    /// names of those that are not as they were.
    pub fn exchange<'a>(
        &mut self,
        fresh: BTreeMap<String, Known>,
        needed: impl Iterator<Item = &'a Spec>,
    ) -> Vec<String> {
        // A round whose circuit nobody has waits for it to be put back.
        let of = |spec: &Spec| self.of(spec).filter(|k| k.full.hash == spec.circuit).cloned();
        let kept = needed.filter_map(|spec| Some((spec.key.clone(), of(spec)?))).collect();
        self.before = kept;
        let mut before = std::mem::take(&mut self.now);
        let mut changed = Vec::new();
        for (name, known) in fresh {
            let one = match before.remove(&name).filter(|old| old.is_as(&known)) {
                Some(old) => old,
                None => {
                    changed.push(name.clone());
                    Arc::new(known)
                }
            };
            self.now.insert(name, one);
        }
        changed.extend(before.into_keys());
        changed
    }

    /// The task of a round, as it was when the round was opened; as it is configured now if the node has been started since.
    pub fn of(&self, spec: &Spec) -> Option<&Arc<Known>> {
        self.before.get(&spec.key).or_else(|| self.now.get(&spec.key.task))
    }
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
    /// What cannot be made is tried again: a file that was missing may be back.
    fn get<E>(&mut self, clients: u64, make: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let one = match self.0.iter().position(|(n, _)| *n == clients) {
            Some(at) => self.0.remove(at),
            None => {
                let made = make()?;
                if self.0.len() >= KEPT {
                    self.0.remove(0);
                }
                (clients, made)
            }
        };
        self.0.push(one.clone());
        Ok(one.1)
    }
}

/// What any message may have in bytes besides the lists in it.
const BESIDES: u64 = 1 << 20;

/// Longest message between nodes for these tasks: a list of the clients of one.
pub fn longest<'a>(tasks: impl Iterator<Item = &'a Known>) -> u64 {
    let of = |known: &Known| known.full.expected().saturating_mul(1024);
    tasks.map(of).max().unwrap_or(0).saturating_add(BESIDES)
}

/// Longest opening of a round of one of these tasks: its public inputs, in hexadecimal digits.
pub fn longest_opening<'a>(tasks: impl Iterator<Item = &'a Known>) -> u64 {
    let of = |known: &Known| {
        let c = &known.full.circuit;
        let public = c.inputs.iter().filter(|i| i.from == slvr_circuit::From::Public);
        let elements = public.map(|i| c.ty(i.value).elements()).fold(0, u64::saturating_add);
        elements.saturating_mul(64)
    };
    tasks.map(of).max().unwrap_or(0).saturating_add(BESIDES)
}

/// Whether each worker has the memory for any range: which are there is known when an attempt begins.
fn looked_at(config: &NodeConfig, task: &Task, full: &Ready) -> Result<(), String> {
    let needed = full.worker_memory.div_ceil(1_000_000);
    let small = config.worker.iter().position(|w| w.memory_mb < needed);
    if let Some(worker) = small {
        return Err(format!(
            "ranges take {needed} MB of memory at a worker, and [[worker]] {worker} has memory_mb = {}: build the task for less `memory`, or give the worker more",
            config.worker[worker].memory_mb
        ));
    }
    if full.divided.as_ref().is_none_or(|d| d.division.ranges.is_empty()) {
        tracing::warn!(
            task = task.name,
            "it has no ranges, so workers have nothing to do: less `memory` makes blocks, which are ranges"
        );
    }
    Ok(())
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
        let circuits = compile.task(task).map_err(named)?;
        let full = Ready::new(circuits.all.clone(), config.party, None).map_err(named)?;
        if task.workers {
            looked_at(config, task, &full).map_err(named)?;
        }
        let most = config.limits.run_memory_mb.saturating_mul(1_000_000);
        within(full.memory, most).map_err(named)?;
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
        let known = Known::new(task, full, circuits, most, config.party);
        for (first, last, why) in known.without() {
            tracing::warn!(
                task = task.name,
                first,
                last,
                why,
                "there is no circuit for these numbers of clients"
            );
        }
        tasks.insert(task.name.clone(), known);
    }
    Ok(tasks)
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
                Ok::<_, ()>(n * 10)
            });
            assert_eq!(got, Ok(n * 10));
            assert!(recent.0.len() <= KEPT);
        }
        // What could not be made is made anew.
        assert_eq!(recent.get(99, || Err("a file is away")), Err("a file is away"));
        assert_eq!(recent.get(99, || Ok::<_, ()>(1)), Ok(1));
        // 5 takes the place of 2, which is made again.
        assert_eq!(made, [1, 2, 3, 4, 5, 2, 6, 7, 8, 9, 10]);
    }
}
