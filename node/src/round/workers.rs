//! A node's workers in an attempt: who takes part, and what they are handed.
//!
//! Each node calls its workers before it calls the other nodes, and tells these which of them wait. Those whose numbers wait at
//! all three nodes take part, so a worker that is away is left out of the attempt, with the same workers of the other nodes. Range
//! n is for the worker at place n modulo their number. What fails in a range ends the attempt, and is computed again in another
//! one only, from fresh seeds.
//!
//! Each worker has a thread that hands over and one that hears, so that none waits for another one, and one that is lost ends the
//! attempt at once, whatever the node is at.

use crate::config;
use crate::hex::Hex;
use crate::keys::is_address;
use crate::locks::lock;
use crate::metrics::worker as of_worker;
use crate::node::Node;
use crate::peers::Line;
use crate::state::{RoundKey, Work};
use crate::status::Awaited;
use crate::submission::{dealing, part_bytes};
use crate::tasks::{Divided, Ready, members};
use crate::wire::{Begin, FrameError, OfWorker, RunHello, RunName, ToWorker};
use slvr_runtime::link::LinkError;
use slvr_runtime::link::tcp::Closer;
use slvr_runtime::party::{
    Computed, Given, Origin, Phase, RunError, Workers, in_range, pack, packed, unpack,
};
use slvr_runtime::share::{PairSeeds, RunId};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{Builder, Scope};
use std::time::{Duration, Instant};

/// A worker that is silent for the deadline has this in addition, so that what it says last is heard.
const GRACE: Duration = Duration::from_secs(1);

/// Attempts of a round that may fail in ranges of a number.
const FAILURES: usize = 2;
/// How soon the end of a round or of another node's attempt is noticed by whoever waits for a worker.
const LOOK: Duration = Duration::from_millis(200);

/// Those of this node's workers that wait for an attempt, by number.
pub(super) fn call(node: &Arc<Node>, name: &RunName, ready: &Ready) -> BTreeMap<u16, Line> {
    let ranges = ready.divided.as_ref().is_some_and(|d| !d.division.ranges.is_empty());
    if !ranges || node.config.worker.is_empty() {
        return BTreeMap::new();
    }
    let mut there = BTreeMap::new();
    // What the nodes can compute alone they do before a round is aborted because of workers.
    let (round, most) = (node.round(&name.key), node.config.limits.attempts);
    let last = most > 1 && round.as_ref().is_some_and(|r| r.tries(name.attempt) >= most);
    // Numbers that wait at all three take part: that node 0 leaves one out is enough.
    let failed = |number: u16| match node.leads() {
        true => round.as_ref().map_or(0, |round| round.failures_of(number)),
        false => 0,
    };
    let unfit = |number: u16, worker: &config::OwnWorker| match failed(number) {
        _ if last => Some("the last attempt is made without workers"),
        FAILURES.. => Some("two attempts have failed in ranges of this number"),
        _ if ready.worker_memory > worker.memory_mb.saturating_mul(1_000_000) => {
            Some("a range takes more memory than it has")
        }
        _ => None,
    };
    let without = |number: u16, why: &str| {
        let at = node.peers.worker_at(number).unwrap_or("?".into());
        tracing::warn!(round = %name.key, attempt = name.attempt, worker = number, at, why, "a worker takes no part in the attempt");
    };
    let mut fit = Vec::new();
    for (number, worker) in (0u16..).zip(&node.config.worker) {
        match unfit(number, worker) {
            Some(why) => without(number, why),
            None => fit.push(number),
        }
    }
    for (number, called) in node.peers.workers(fit, name, node.deadline()) {
        match called {
            Ok(line) => drop(there.insert(number, line)),
            Err(why) => {
                without(number, &why);
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
    divided: &'a Divided,
    ready: &'a Ready,
    /// By party set and member: who gave what is loaded.
    clients: BTreeMap<(usize, usize), String>,
    workers: Vec<One>,
    heard: Receiver<(usize, Heard)>,
    done: BTreeMap<usize, Computed>,
    links: Arc<Closer>,
    aborted: Arc<AtomicBool>,
    /// When the other nodes last heard of this one.
    spoken: Arc<Mutex<Instant>>,
    /// For how long each worker was waited for since then, by place.
    waited: (Instant, BTreeMap<usize, Duration>),
}

struct One {
    _line: Open,
    orders: Sender<Order>,
    /// The range that it is at, and whether it has all of that.
    at: Option<(usize, bool)>,
    work: Work,
}

/// A line that is ended when this is dropped, so that nobody waits for it any more.
struct Open(Arc<Line>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// A range, and the clients of whose parts it loads: party set, member and name.
type Order = (Given, Vec<(usize, usize, String)>);

impl Divided {
    /// What a member gave for a range cannot be read.
    fn unread(&self, range: usize, (set, member): (usize, usize), why: String) -> RunError {
        let phase = Phase::Layer(self.division.ranges[range].layers.start as u32);
        RunError::Lost { phase, set: set as u32, member: member as u64, why }
    }
}

/// What there is of a worker.
enum Heard {
    /// It has all of a range. Another thread may have heard before that this is done.
    Handed(usize),
    Lives,
    Done(Computed),
    /// It has stopped, or cannot be heard.
    Lost(String, Origin),
    /// This node cannot hand over what it has to.
    Own(RunError),
}

/// What the threads of a worker share.
struct Ends<'a> {
    node: &'a Arc<Node>,
    key: &'a RoundKey,
    ready: &'a Ready,
    divided: &'a Divided,
    place: usize,
    line: Arc<Line>,
    say: Sender<(usize, Heard)>,
    /// Why it does not take what it is handed.
    unsaid: OnceLock<String>,
    links: Arc<Closer>,
    lost: Arc<AtomicBool>,
}

impl Ends<'_> {
    fn say(&self, heard: Heard) {
        // An attempt that has ended hears nothing more.
        let _ = self.say.send((self.place, heard));
    }

    /// Says why the attempt cannot go on. Whoever waits for another node hears that its link is closed.
    fn ends(&self, heard: Heard) {
        self.say(heard);
        self.lost.store(true, Ordering::Release);
        self.links.close();
    }

    /// Tells the worker of the run, and then hands over its ranges.
    fn hands(&self, begin: &ToWorker, orders: Receiver<Order>) {
        let most = self.line.deadline;
        let told = self.line.say(begin, &self.ready.artifact, most);
        let told = told.map_err(|e| FrameError::from(e).told()).map_err(Err);
        let done = told.and_then(|()| {
            orders.into_iter().try_for_each(|order| {
                self.hand(&order)?;
                self.say(Heard::Handed(order.0.range));
                Ok(())
            })
        });
        match done {
            Ok(()) => {}
            Err(Ok(own)) => self.ends(Heard::Own(own)),
            Err(Err(why)) => {
                // Before it ended the connection it may have said why: whoever hears it says so.
                let _ = self.unsaid.set(why);
                self.line.deaf();
            }
        }
    }

    /// Hands a range over. An error of this node itself, or what is wrong with the line.
    fn hand(&self, (given, clients): &Order) -> Result<(), Result<RunError, String>> {
        let (me, line, most) = (self.node.me(), &self.line, self.line.deadline);
        let late = |e: io::Error| Err(FrameError::from(e).told());
        let reads = pack(&given.reads);
        let (number, replaced) = (given.range, given.replaced.clone());
        let order = ToWorker::Range { number, replaced, reads: reads.len() as u64 };
        line.say(&order, &reads, most).map_err(late)?;
        for (set, member, client) in clients {
            let lost = |why: String| Ok(self.divided.unread(number, (*set, *member), why));
            let part = self.node.store.read_part(self.key, client);
            let part = part.map_err(|e| lost(e.to_string()))?;
            if part.len() as u64 != part_bytes(&self.ready.circuit, *set, me) {
                return Err(lost(format!("the part of client {client} has another length")));
            }
            line.write(&part, true, most).map_err(late)?;
        }
        Ok(())
    }

    /// Hears of the worker until it has done all of its ranges, of which every `step`th is.
    fn hears(&self, step: usize) {
        let all = self.place..self.divided.division.ranges.len();
        let done = all.step_by(step).try_for_each(|range| {
            self.say(Heard::Done(self.hear(range)?));
            Ok(())
        });
        if let Err((why, origin)) = done {
            self.ends(Heard::Lost(why, origin));
        }
    }

    /// Hears of a range until it is done.
    fn hear(&self, range: usize) -> Result<Computed, (String, Origin)> {
        let (circuit, line, me) = (&self.ready.circuit, &self.line, self.node.me());
        let of = &self.divided.division.ranges[range];
        let own = |why: &str| (why.to_string(), Origin::Own);
        let gone = |e: FrameError| {
            let why = self.unsaid.get().cloned();
            (why.unwrap_or_else(|| e.told()), Origin::Own)
        };
        loop {
            // How long it may say nothing depends on whether anybody waits for it.
            match line.hear(Duration::MAX).map_err(gone)? {
                OfWorker::Lives => self.say(Heard::Lives),
                OfWorker::Failed { why, origin } => return Err((why, origin)),
                OfWorker::Done { bytes_sent, peak_memory, writes } => {
                    if writes != packed(circuit, me, &of.writes) {
                        return Err(own("what it hands back has another length"));
                    }
                    let each = || self.say(Heard::Lives);
                    let bytes = line.bytes(writes, line.deadline, each);
                    let bytes = bytes.map_err(|e| gone(e.into()))?;
                    let writes = unpack(circuit, me, &of.writes, &bytes);
                    let writes = writes.map_err(|_| own("what it hands back are no shares"))?;
                    return Ok(Computed { range, writes, bytes_sent, peak_memory });
                }
            }
        }
    }
}

/// What workers are told of a run, and by what they and their node know of one another.
pub(super) struct OfRun<'a> {
    pub take_part: &'a BTreeSet<u16>,
    /// What the other nodes have said of it.
    pub theirs: &'a BTreeMap<usize, RunHello>,
    pub run: RunId,
    pub seeds: &'a PairSeeds,
    /// Closes the links to the other nodes.
    pub links: Closer,
    /// Whether a worker is lost.
    pub lost: Arc<AtomicBool>,
    /// When a node or a worker was last heard of.
    pub spoken: Arc<Mutex<Instant>>,
}

impl<'a> Crew<'a> {
    /// Tells them of a run; nothing if there are none. One that is lost says so in `lost`, and closes the links.
    ///
    /// # Errors
    ///
    /// A system that has no threads left.
    pub(super) fn begin(
        scope: &'a Scope<'a, '_>,
        node: &'a Arc<Node>,
        key: &'a RoundKey,
        ready: &'a Ready,
        mut waiting: BTreeMap<u16, Line>,
        of: OfRun<'_>,
    ) -> io::Result<Option<Crew<'a>>> {
        let OfRun { take_part, theirs, run, seeds, links, lost, spoken } = of;
        waiting.retain(|number, _| take_part.contains(number));
        let Some(divided) = ready.divided.as_ref().filter(|_| !waiting.is_empty()) else {
            return Ok(None);
        };
        let (links, step) = (Arc::new(links), waiting.len());
        let (say, heard) = channel();
        let mut workers = Vec::new();
        for (place, (worker, line)) in waiting.into_iter().enumerate() {
            // Another node may say anything. What is no address is as if it had said nothing.
            let at = |(node, hello): (&usize, &RunHello)| {
                let at = hello.addresses.get(&worker).filter(|at| is_address(at))?;
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
                division: divided.hash,
            });
            let line = Arc::new(line);
            let work = Work { worker, ranges: Vec::new(), bytes_sent: 0, peak_memory: 0 };
            let (orders, taken) = channel();
            workers.push(One { _line: Open(line.clone()), orders, at: None, work });
            let (say, unsaid) = (say.clone(), OnceLock::new());
            let (links, lost) = (links.clone(), lost.clone());
            let ends = Ends { node, key, ready, divided, place, line, say, unsaid, links, lost };
            let hands = Arc::new(ends);
            let hears = hands.clone();
            let hand = move || hands.hands(&begin, taken);
            Builder::new().name("hands".into()).spawn_scoped(scope, hand)?;
            Builder::new().name("hears".into()).spawn_scoped(scope, move || hears.hears(step))?;
        }
        let (clients, aborted) = (BTreeMap::new(), node.aborted(key));
        let done = BTreeMap::new();
        let waited = (Instant::now(), BTreeMap::new());
        Ok(Some(Crew {
            node,
            key,
            divided,
            ready,
            clients,
            workers,
            heard,
            done,
            links,
            aborted,
            spoken,
            waited,
        }))
    }

    /// Who gave what is loaded.
    pub(super) fn load_from(&mut self, clients: BTreeMap<(usize, usize), String>) {
        self.clients = clients;
    }

    /// What each of them has done.
    pub(super) fn work(&self) -> Vec<Work> {
        self.workers.iter().map(|one| one.work.clone()).collect()
    }

    /// Why an attempt has failed, of which is known what the party says: workers that are lost have its links closed.
    pub(super) fn cause(&mut self, of_party: RunError) -> RunError {
        let mut all = Vec::new();
        // A worker's end may be heard after what others have made of it.
        let until = match of_party.origin() {
            Origin::Own | Origin::Waited(Some(_)) => Instant::now(),
            _ => Instant::now() + GRACE / 2,
        };
        let is_own = |(_, e): &(_, RunError)| e.origin() == Origin::Own;
        while !all.iter().any(is_own) {
            let left = until.saturating_duration_since(Instant::now());
            let Ok((place, heard)) = self.heard.recv_timeout(left) else { break };
            all.extend(self.note(place, heard).err().map(|e| (None, e)));
        }
        all.push((None, of_party));
        RunError::cause(all).unwrap_or(RunError::Setup)
    }

    /// What becomes of a worker: of the range that it is at, or else of its next one.
    fn lost(&self, place: usize, why: &str, origin: Origin) -> RunError {
        let one = &self.workers[place];
        let next = place + one.work.ranges.len() * self.workers.len();
        let (range, why) = match one.at {
            Some((range, _)) => (range, why.to_string()),
            None => (next, format!("before it was handed over: {why}")),
        };
        let worker = RunError::Worker { why, origin };
        in_range(&self.divided.division, one.work.worker.into(), range, worker)
    }

    /// What follows from what was heard of a worker.
    fn note(&mut self, place: usize, heard: Heard) -> Result<(), RunError> {
        let one = &mut self.workers[place];
        match (heard, one.at) {
            (Heard::Handed(of), Some((range, _))) if of == range => one.at = Some((range, true)),
            (Heard::Handed(_) | Heard::Lives, _) => {}
            (Heard::Done(done), Some((range, _))) if range == done.range => {
                one.at = None;
                one.work.ranges.push(range);
                // A worker says it, and may say anything.
                one.work.bytes_sent = one.work.bytes_sent.saturating_add(done.bytes_sent);
                one.work.peak_memory = one.work.peak_memory.max(done.peak_memory);
                let worker = of_worker(one.work.worker);
                self.node.metrics.ranges_computed.get_or_create(&worker).inc();
                self.done.insert(range, done);
            }
            (Heard::Lost(why, origin), _) => return Err(self.lost(place, &why, origin)),
            (Heard::Own(own), _) => return Err(own),
            (Heard::Done(_), _) => {
                return Err(self.lost(
                    place,
                    "it is at no range, and says that it is",
                    Origin::Own,
                ));
            }
        }
        Ok(())
    }

    /// Waits until a worker is at no range, and hears of the others meanwhile.
    fn wait(&mut self, place: usize) -> Result<(), RunError> {
        let Some((range, _)) = self.workers[place].at else { return Ok(()) };
        let waits = Awaited::Worker(self.workers[place].work.worker, range);
        self.node.status.update(self.key, |p| p.waits = Some((waits, Instant::now())));
        let done = self.hear(place);
        let done = done.map_err(|ended| ended.unwrap_or_else(|| self.ended(place)));
        self.node.status.update(self.key, |p| p.waits = None);
        done
    }

    fn has_waited(&mut self, place: usize, time: Duration) {
        let spoken = *lock(&self.spoken);
        if self.waited.0 != spoken {
            self.waited = (spoken, BTreeMap::new());
        }
        *self.waited.1.entry(place).or_default() += time;
    }

    /// Another node has ended its link while a worker was waited for. If the others have waited for this one, what it waited
    /// for most is the cause.
    fn ended(&self, place: usize) -> RunError {
        let (spoken, waited) = &self.waited;
        let silent = spoken.elapsed();
        let most = waited.iter().max_by_key(|(_, d)| **d);
        let most = most.filter(|(_, d)| silent >= self.node.deadline() && **d > silent / 2);
        match (most, self.links.ended()) {
            // Whoever has waited in vain says so, and does not only vanish.
            (Some((most, _)), Some((_, LinkError::Aborted))) => {
                let why = "the other nodes have waited for what it computes, and wait no longer";
                self.lost(*most, why, Origin::Waited(None))
            }
            (_, Some((peer, problem))) => {
                let range = self.workers[place].at.map_or(0, |(range, _)| range);
                let layer = self.divided.division.ranges[range].layers.start as u32;
                RunError::Link { phase: Phase::Layer(layer), proof: None, peer, problem }
            }
            (_, None) => RunError::Setup,
        }
    }

    /// Hears of workers until one is at no range; none as error if another node has ended its link.
    fn hear(&mut self, place: usize) -> Result<(), Option<RunError>> {
        let most = self.node.deadline() + GRACE;
        let (mut silent, mut ended) = (Duration::ZERO, None);
        while let Some((_, handed)) = self.workers[place].at {
            if self.aborted.load(Ordering::Acquire) {
                return Err(Some(self.lost(place, "the round was aborted", Origin::Echo)));
            }
            let turn = Instant::now();
            let heard = self.heard.recv_timeout(LOOK);
            // A node that was stopped meanwhile has waited for nobody.
            let turn = turn.elapsed().min(2 * LOOK);
            self.has_waited(place, turn);
            silent += turn;
            // What it is handed takes as long as it takes.
            if !handed || matches!(heard, Ok((of, _)) if of == place) {
                silent = Duration::ZERO;
            }
            if let Ok((of, heard)) = heard {
                self.note(of, heard)?;
            }
            if silent > most {
                let late = FrameError::from(io::Error::from(io::ErrorKind::TimedOut)).told();
                return Err(Some(self.lost(place, &late, Origin::Own)));
            }
            // This party receives nothing while it waits here, and workers of a node that has gone may be waited for in vain. What
            // workers have said before is heard first.
            if self.links.ended().is_some()
                && ended.get_or_insert_with(Instant::now).elapsed() >= LOOK
            {
                return Err(None);
            }
        }
        Ok(())
    }
}

impl Workers for Crew<'_> {
    fn give(&mut self, given: Given) -> Result<(), RunError> {
        let (range, place) = (given.range, given.range % self.workers.len());
        self.wait(place)?;
        let loads = members(&self.ready.circuit, &self.divided.division.ranges[range]);
        let loads = loads.filter(|(set, member)| !given.replaces(*set, *member));
        let named = loads.map(|(set, member)| {
            let lost = || self.divided.unread(range, (set, member), "nobody gave it".into());
            let client = self.clients.get(&(set, member)).ok_or_else(lost)?;
            Ok((set, member, client.clone()))
        });
        let named = named.collect::<Result<Vec<_>, RunError>>()?;
        self.workers[place].at = Some((range, false));
        // One that takes nothing more is lost, and says so.
        let _ = self.workers[place].orders.send((given, named));
        Ok(())
    }

    fn take(&mut self, range: usize) -> Result<Computed, RunError> {
        if !self.done.contains_key(&range) {
            self.wait(range % self.workers.len())?;
        }
        self.done.remove(&range).ok_or(RunError::Setup)
    }
}
