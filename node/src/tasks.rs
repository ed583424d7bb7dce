//! Tasks: circuits that a node may run, for all clients that may come and for fewer.

use crate::basics::{Hash, Hex};
use crate::config::{NodeConfig, Task};
use crate::submission::{clients_of, giving, interface};
use slvr_circuit::{Circuit, artifact};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

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
    /// Most bytes that values and proofs take, by party.
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
    pub(crate) fn new(compiled: Compiled, me: usize, set: Option<usize>) -> Result<Ready, String> {
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

    /// The party sets that give inputs. Their members are enrolled, and fetch what is revealed to them.
    pub fn sets(&self) -> impl Iterator<Item = usize> {
        std::iter::once(self.set).chain(self.others.iter().map(|(set, ..)| *set))
    }

    /// How many submissions there may be.
    pub fn expected(&self) -> u64 {
        self.others.iter().fold(self.clients, |sum, (_, _, size)| sum.saturating_add(*size))
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

impl Known {
    /// The circuit for fewer clients, which is made if it is not kept.
    pub(crate) fn fewer(
        &self,
        clients: u64,
        make: impl FnOnce() -> Result<Arc<Ready>, String>,
    ) -> Result<Arc<Ready>, String> {
        self.fewer.lock().unwrap_or_else(PoisonError::into_inner).get(clients, make)
    }
}

/// The tasks of a node. They may be exchanged while it runs: a round that is open keeps the circuit that it was opened with.
#[derive(Debug, Default)]
pub struct Tasks {
    now: BTreeMap<String, Arc<Known>>,
    /// Tasks as they were, of which rounds have not ended.
    before: Vec<Arc<Known>>,
}

impl Tasks {
    /// Of a configuration.
    pub fn new(now: BTreeMap<String, Known>) -> Tasks {
        let now = now.into_iter().map(|(name, known)| (name, Arc::new(known))).collect();
        Tasks { now, before: Vec::new() }
    }

    /// A task as it is configured now.
    pub fn get(&self, task: &str) -> Option<&Arc<Known>> {
        self.now.get(task)
    }

    /// All of them, by name.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Known>> {
        self.now.values()
    }

    /// Takes others. Of those that were, a task that is as it was stays as it is, and one that is in use is kept aside. The
    /// result is the names of those that are not as they were.
    pub fn exchange(
        &mut self,
        fresh: BTreeMap<String, Known>,
        in_use: impl Fn(&Known) -> bool,
    ) -> Vec<String> {
        let mut before = std::mem::take(&mut self.now);
        let mut changed = Vec::new();
        for (name, known) in fresh {
            let old = before.remove(&name);
            let same = |o: &Arc<Known>| o.task == known.task && o.full.hash == known.full.hash;
            let one = match old {
                Some(old) if same(&old) => old,
                old => {
                    self.before.extend(old);
                    changed.push(name.clone());
                    Arc::new(known)
                }
            };
            self.now.insert(name, one);
        }
        changed.extend(before.keys().cloned());
        self.before.extend(before.into_values());
        self.before.retain(|k| in_use(k));
        changed
    }

    /// A task as it was when a round was opened with this circuit.
    pub fn with(&self, task: &str, circuit: Hash) -> Option<&Arc<Known>> {
        let is = |k: &&Arc<Known>| k.task.name == task && k.full.hash == circuit;
        self.now.values().chain(&self.before).find(is)
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

/// Longest message between nodes for these tasks: public inputs as lists of numbers, and lists of clients.
pub fn longest<'a>(tasks: impl Iterator<Item = &'a Known>) -> u64 {
    let of = |known: &Known| {
        let c = &known.full.circuit;
        let public = c.inputs.iter().filter(|i| i.from == slvr_circuit::From::Public);
        let bytes = public
            .map(|i| c.ty(i.value).elements().saturating_mul(16))
            .fold(0, u64::saturating_add);
        bytes.saturating_mul(4).saturating_add(known.full.expected().saturating_mul(1024))
    };
    tasks.map(of).fold(1 << 20, |a, b| a.max(b.saturating_add(1 << 20)))
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
                "a run takes {needed} MB of memory, and run_memory_mb is {}",
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
