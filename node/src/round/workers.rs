//! A node's workers in an attempt: who takes part, and what they are handed.
//!
//! Each node calls its workers before it calls the other nodes, and tells these which of them wait. Those whose numbers wait at
//! all three nodes take part, so a worker that is away is left out of the attempt, with the same workers of the other nodes. Range
//! n is for the worker at place n modulo their number. What fails in a range ends the attempt, and is computed again in another
//! one only, from fresh seeds.

use crate::basics::Hex;
use crate::keys::is_address;
use crate::metrics::worker as of_worker;
use crate::node::Node;
use crate::peers::{GREETING, Line};
use crate::state::{RoundKey, Work};
use crate::submission::{dealing, part_bytes};
use crate::tasks::{Ready, members};
use crate::wire::{Begin, FrameError, OfWorker, RunHello, RunName, ToWorker};
use slvr_circuit::ranges::Division;
use slvr_runtime::party::{Computed, Given, RunError, Workers, in_range, pack, packed, unpack};
use slvr_runtime::share::{PairSeeds, RunId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A worker that waits in vain for another one says so after the deadline: it is given the time to be heard.
const GRACE: Duration = Duration::from_secs(1);

/// Characters of a cause that a worker says, which goes into the report and to the other nodes.
const CAUSE: usize = 1000;
/// Attempts of a round in which a worker may fail.
const FAILURES: u32 = 2;

/// Those of this node's workers that wait for an attempt, by number.
pub(super) fn call(node: &Arc<Node>, name: &RunName, ready: &Ready) -> BTreeMap<u16, Line> {
    let ranges = ready.division.as_ref().is_some_and(|d| !d.ranges.is_empty());
    if !ranges || node.config.worker.is_empty() {
        return BTreeMap::new();
    }
    // The other nodes wait for this one meanwhile.
    let most = GREETING.min(node.deadline() / 2);
    let mut there = BTreeMap::new();
    for (number, called) in node.peers.workers(name, node.deadline(), most) {
        let memory = node.config.worker[usize::from(number)].memory_mb.saturating_mul(1_000_000);
        let called = called.and_then(|line| match ready.worker_memory <= memory {
            _ if node.failures_of(&name.key, number) >= FAILURES => {
                Err(format!("{FAILURES} attempts have failed in its ranges"))
            }
            true => Ok(line),
            false => Err("a range takes more memory than it has".to_string()),
        });
        match called {
            Ok(line) => drop(there.insert(number, line)),
            Err(why) => {
                let at = node.peers.worker_at(number).unwrap_or("?".into());
                tracing::warn!(round = %name.key, attempt = name.attempt, worker = number, at, why, "a worker takes no part in the attempt");
                node.metrics.workers_away.get_or_create(&of_worker(number)).inc();
            }
        }
    }
    there
}

/// The numbers that wait at all three nodes.
pub(super) fn common(
    mine: &BTreeMap<u16, Line>,
    theirs: &BTreeMap<usize, RunHello>,
) -> BTreeSet<u16> {
    let all = |number: &u16| theirs.values().all(|hello| hello.workers.contains(number));
    mine.keys().copied().filter(all).collect()
}

/// The workers that take part.
pub(super) struct Crew<'a> {
    node: &'a Arc<Node>,
    key: &'a RoundKey,
    ready: &'a Ready,
    division: &'a Division,
    /// By party set and member: who gave what is loaded.
    clients: BTreeMap<(usize, usize), String>,
    workers: Vec<One>,
    done: BTreeMap<usize, Computed>,
    aborted: Arc<AtomicBool>,
}

struct One {
    line: Line,
    /// The range that it is at.
    at: Option<usize>,
    work: Work,
}

impl<'a> Crew<'a> {
    /// Tells them of a run; nothing if there are none.
    ///
    /// # Errors
    ///
    /// Which worker is lost.
    pub(super) fn begin(
        node: &'a Arc<Node>,
        key: &'a RoundKey,
        ready: &'a Ready,
        mut waiting: BTreeMap<u16, Line>,
        (take_part, theirs, run, seeds): (
            &BTreeSet<u16>,
            &BTreeMap<usize, RunHello>,
            RunId,
            &PairSeeds,
        ),
    ) -> Result<Option<Crew<'a>>, String> {
        waiting.retain(|number, _| take_part.contains(number));
        let Some(division) = ready.division.as_ref().filter(|_| !waiting.is_empty()) else {
            return Ok(None);
        };
        for (number, line) in &waiting {
            // Another node may say anything. What is no address is as if it had said nothing.
            let at = |(node, hello): (&usize, &RunHello)| {
                let at = hello.addresses.get(number).filter(|at| is_address(at))?;
                Some((*node, at.clone()))
            };
            let begin = ToWorker::Begin(Begin {
                run: Hex(run.0),
                next: seeds.next.clone(),
                prev: seeds.prev.clone(),
                workers: take_part.clone(),
                addresses: theirs.iter().filter_map(at).collect(),
                dealt: Hex(dealing(&key.task, key.round).0),
                bytes: ready.artifact.len() as u64,
                circuit: ready.hash,
            });
            let said = line.say(&begin, &ready.artifact, node.deadline());
            said.map_err(|e| {
                node.worker_failed(key, *number);
                format!("worker {number}, before its first range: {e}")
            })?;
        }
        let one = |(worker, line)| {
            let work = Work { worker, ranges: Vec::new(), bytes_sent: 0, peak_memory: 0 };
            One { line, at: None, work }
        };
        let workers = waiting.into_iter().map(one).collect();
        let (clients, aborted) = (BTreeMap::new(), node.aborted(key));
        let done = BTreeMap::new();
        Ok(Some(Crew { node, key, ready, division, clients, workers, done, aborted }))
    }

    /// Who gave what is loaded.
    pub(super) fn load_from(&mut self, clients: BTreeMap<(usize, usize), String>) {
        self.clients = clients;
    }

    /// What each of them has done.
    pub(super) fn work(self) -> Vec<Work> {
        self.workers.into_iter().map(|one| one.work).collect()
    }

    fn hand(&self, place: usize, given: &Given) -> Result<(), String> {
        let (me, line, most) = (self.node.me(), &self.workers[place].line, self.node.deadline());
        let range = self.division.ranges.get(given.range).ok_or("no such range")?;
        let reads = pack(&given.reads);
        let (number, replaced) = (given.range, given.replaced.clone());
        let order = ToWorker::Range { number, replaced, reads: reads.len() as u64 };
        line.say(&order, &reads, most).map_err(|e| e.to_string())?;
        for (set, member) in members(&self.ready.circuit, range) {
            if given.replaces(set, member) {
                continue;
            }
            let client = self.clients.get(&(set, member)).ok_or("nobody gave what it loads")?;
            let part = self.node.store.read_part(self.key, client).map_err(|e| e.to_string())?;
            if part.len() as u64 != part_bytes(&self.ready.circuit, set, me) {
                return Err(format!("the part of client {client} has another length"));
            }
            line.write(&part, true, most).map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    /// Hears of a range until it is done.
    fn hear(&self, place: usize, range: usize) -> Result<Computed, String> {
        let (circuit, line) = (&self.ready.circuit, &self.workers[place].line);
        let most = self.node.deadline() + GRACE;
        let of = self.division.ranges.get(range).ok_or("no such range")?;
        for _ in 0..=circuit.layers.len() {
            if self.aborted.load(Ordering::Acquire) {
                return Err("the round was aborted".into());
            }
            match line.hear(most).map_err(FrameError::told)? {
                OfWorker::Layer(_) => {}
                OfWorker::Failed(why) => return Err(why.chars().take(CAUSE).collect()),
                OfWorker::Done { bytes_sent, peak_memory, writes } => {
                    let me = self.node.me();
                    if writes != packed(circuit, me, &of.writes) {
                        return Err("what it hands back has another length".into());
                    }
                    let bytes = line.bytes(writes, most).map_err(|e| FrameError::from(e).told())?;
                    let writes = unpack(circuit, me, &of.writes, &bytes);
                    let writes = writes.map_err(|_| "what it hands back are no shares")?;
                    return Ok(Computed { range, writes, bytes_sent, peak_memory });
                }
            }
        }
        Err("it says more than a range has layers".into())
    }

    fn failed(&self, place: usize, range: usize, why: String) -> RunError {
        let worker = self.workers[place].work.worker;
        self.node.metrics.ranges_failed.get_or_create(&of_worker(worker)).inc();
        self.node.worker_failed(self.key, worker);
        in_range(self.division, worker.into(), range, RunError::Worker(why))
    }

    /// Waits for what a worker is at.
    fn wait(&mut self, place: usize) -> Result<(), RunError> {
        let Some(range) = self.workers[place].at.take() else { return Ok(()) };
        let worker = self.workers[place].work.worker;
        let board = &self.node.board;
        board.update(self.key, |p| p.range = Some((worker, range, Instant::now())));
        let heard = self.hear(place, range);
        board.update(self.key, |p| p.range = None);
        let done = heard.map_err(|why| self.failed(place, range, why))?;
        let work = &mut self.workers[place].work;
        work.ranges.push(range);
        // A worker says it, and may say anything.
        work.bytes_sent = work.bytes_sent.saturating_add(done.bytes_sent);
        work.peak_memory = work.peak_memory.max(done.peak_memory);
        self.node.metrics.ranges_computed.get_or_create(&of_worker(worker)).inc();
        self.done.insert(range, done);
        Ok(())
    }
}

impl Workers for Crew<'_> {
    fn give(&mut self, given: Given) -> Result<(), RunError> {
        let (range, place) = (given.range, given.range % self.workers.len());
        self.wait(place)?;
        if let Err(why) = self.hand(place, &given) {
            // A worker that has stopped has said why, before it ended the connection.
            let why = match self.workers[place].line.hear(GRACE) {
                Ok(OfWorker::Failed(said)) => said.chars().take(CAUSE).collect(),
                _ => why,
            };
            return Err(self.failed(place, range, why));
        }
        self.workers[place].at = Some(range);
        Ok(())
    }

    fn take(&mut self, range: usize) -> Result<Computed, RunError> {
        if !self.done.contains_key(&range) {
            self.wait(range % self.workers.len())?;
        }
        self.done.remove(&range).ok_or(RunError::Setup)
    }
}
