//! A worker: a process of a party that computes ranges of layers for its node.
//!
//! Its node calls it before an attempt. Once the nodes have agreed which workers take part, it is told the run's name, the
//! pair seeds and the circuit, and connects with the same workers of the other two nodes. Then it is handed one range after
//! another: what that reads, and the parts of those members whose inputs it loads. What it computes it hands back. Once the
//! node ends the connection it has nothing left of the run, and it keeps nothing on a disk at any time.
//!
//! It takes orders from its own node only, computes no range twice and none of its last thousand runs again, and is part of one attempt at a time. A
//! later attempt at the same round takes the place of the one before, which the node has left.

use crate::clock::now_ms;
use crate::config::{WorkerConfig, is_open_to_others};
use crate::hex::Hex;
use crate::locks::lock;
use crate::peers::{Line, LinksError, Peers, answers_within};
use crate::state::Cause;
use crate::submission::{part_bytes, unpack as unpack_part};
use crate::tasks::{Divided, members};
use crate::threads::spawn;
use crate::wire::{Answer, Ask, Begin, FrameError, OfWorker, RunHello, RunName, ToWorker};
use slvr_circuit::{Circuit, artifact};
use slvr_runtime::link::cancel::Cancellable;
use slvr_runtime::link::tcp::{Closer, Tcp};
use slvr_runtime::link::{Link, Peer};
use slvr_runtime::party::{Given, Party, RunError, Source, Uploads, pack, packed, unpack};
use slvr_runtime::share::deal::Upload;
use slvr_runtime::share::{PairSeeds, Prss, RunId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a call waits for an attempt at another round to end.
const FREE: Duration = Duration::from_secs(2);
/// Runs that are remembered, so that none is computed again.
const RUNS: usize = 1000;

pub struct Worker {
    pub address: SocketAddr,
    peers: Arc<Peers>,
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Worker({})", self.address)
    }
}

/// What the threads of a worker share.
struct Place {
    config: WorkerConfig,
    peers: Arc<Peers>,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    /// The attempt that it is part of.
    at: Option<(RunName, Arc<Line>)>,
    runs: VecDeque<[u8; 16]>,
}

/// Says that the worker is part of an attempt, until it is dropped.
struct Busy<'a>(&'a Place);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).at = None;
        self.0.freed.notify_all();
    }
}

impl Worker {
    /// Starts a worker: it listens.
    ///
    /// # Errors
    ///
    /// A configuration that cannot be used; a port that is taken.
    pub fn start(config: WorkerConfig) -> Result<Worker, String> {
        if is_open_to_others(&config.key) {
            tracing::warn!(file = %config.key.display(), "others than its owner may read this secret: chmod 600");
        }
        let peers = Arc::new(Peers::of_worker(&config)?);
        let at = &config.listen;
        let no_port = |e| format!("listen = \"{at}\": cannot listen there: {e}");
        let listener = TcpListener::bind(at).map_err(no_port)?;
        let address = listener.local_addr().map_err(|e| e.to_string())?;
        let (party, number) = (config.party, config.number);
        let state = Mutex::default();
        let place = Arc::new(Place { config, peers: peers.clone(), state, freed: Condvar::new() });
        let answers = |_, ask| match ask {
            Ask::Ping => Answer::Clock(now_ms()),
            _ => Answer::Refused("this is a worker, and knows no rounds".into()),
        };
        let ranges = move |taken_for, name, line| place.called(taken_for, &name, &Arc::new(line));
        let listens = peers.listen(listener, Arc::new(answers), Some(Arc::new(ranges)));
        listens.map_err(|e| format!("no thread is left: {e}"))?;
        tracing::info!(node = party, worker = number, %address, "started");
        Ok(Worker { address, peers })
    }

    /// Takes no more calls. An attempt under way ends with the process.
    pub fn stop(self) {
        self.peers.stop(Some(self.address));
    }
}

impl Place {
    /// Takes part in an attempt, once the one before has ended.
    fn take(&self, name: &RunName, line: &Arc<Line>) -> Option<Busy<'_>> {
        let begun = Instant::now();
        // So that the node still hears it.
        let patience = answers_within(line.deadline) * 3 / 4;
        let mut state = lock(&self.state);
        while let Some((other, at)) = &state.at {
            // The node makes one attempt at a time, and may have vanished in this one.
            if other.key == name.key && other.attempt < name.attempt {
                at.end();
            }
            // What its node has left ends with what it computes at the moment.
            let most = if at.is_left() { patience } else { FREE.min(patience) };
            let left = most.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return None;
            }
            let waited = self.freed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.at = Some((name.clone(), line.clone()));
        Some(Busy(self))
    }

    fn called(self: &Arc<Self>, taken_for: (usize, u16), name: &RunName, line: &Arc<Line>) {
        let (party, number) = (self.config.party, self.config.number);
        if taken_for != (party, number as u16) {
            // One machine for two parties would have what neither may have.
            let why = format!(
                "this is worker {number} of node {party}, and worker {} of node {} is called: see [[worker]] of its node.toml",
                taken_for.1, taken_for.0
            );
            tracing::warn!(round = %name.key, why, "a call is refused");
            // Who has gone does not hear it.
            let _ = line.say(&Answer::Refused(why), &[], line.deadline);
            return;
        }
        let Some(busy) = self.take(name, line) else {
            // As above.
            let _ = line.say(&Answer::Busy, &[], line.deadline);
            return;
        };
        if line.say(&Answer::Done, &[], line.deadline).is_err() {
            return;
        }
        let (round, attempt) = (&name.key, name.attempt);
        let mut links = None;
        match self.attempt(name, line, &mut links) {
            Ok(ranges) => tracing::info!(%round, attempt, ranges, "an attempt has ended"),
            Err(Cause { why, origin, .. }) => {
                tracing::warn!(%round, attempt, why, "an attempt has failed");
                // As above.
                let _ = line.say(&OfWorker::Failed { why, origin }, &[], line.deadline);
            }
        }
        drop(busy);
        // They take a while to end if the other ends do not: nobody waits for it.
        drop(links);
    }

    /// All ranges of an attempt, over links that are left in their place; how many. Meanwhile the node hears that this worker
    /// lives, whatever it waits for.
    fn attempt(
        self: &Arc<Self>,
        name: &RunName,
        line: &Arc<Line>,
        links: &mut Option<Tcp>,
    ) -> Result<usize, Cause> {
        // The nodes connect before it begins. One that leaves this worker out says nothing more.
        let begin = match line.hear(3 * line.deadline) {
            Ok(ToWorker::Begin(begin)) => begin,
            Ok(ToWorker::Range { .. }) => return Err("a range before the run".into()),
            Err(why) => return left(why).map(|()| 0).map_err(Cause::from),
        };
        let (goes_on, over) = channel::<()>();
        let lives = move || {
            // Several times within the deadline.
            while over.recv_timeout(line.deadline / 4) == Err(RecvTimeoutError::Timeout) {
                if line.say(&OfWorker::Lives, &[], line.deadline).is_err() {
                    return;
                }
            }
        };
        thread::scope(|scope| {
            let living = thread::Builder::new().name("lives".into()).spawn_scoped(scope, lives);
            living.map_err(|e| format!("no thread is left: {e}"))?;
            let done = self.begun(begin, name, line, links);
            drop(goes_on);
            done
        })
    }

    fn begun(
        self: &Arc<Self>,
        begin: Begin,
        name: &RunName,
        line: &Arc<Line>,
        links: &mut Option<Tcp>,
    ) -> Result<usize, Cause> {
        let job = Job::new(self, begin, line)?;
        let (say, events) = channel();
        let (connects, ended) = (say.clone(), say);
        let (place, name, hello) = (self.clone(), name.clone(), job.hello());
        let at = job.addresses.clone();
        let (deadline, line_of_node) = (line.deadline, Arc::downgrade(line));
        // Nobody waits for this thread once the node has ended the attempt.
        spawn("connect", move || {
            let left = || line_of_node.upgrade().is_none_or(|line| line.is_left());
            let done = place.connect(&name, deadline, &hello, &at, &left);
            let _ = connects.send(Event::Connected(done));
        })
        .map_err(|e| format!("no thread is left: {e}"))?;
        job.run(line, links, ended, &events)
    }

    /// Connects with the same workers of the other nodes.
    fn connect(
        &self,
        name: &RunName,
        deadline: Duration,
        mine: &RunHello,
        at: &BTreeMap<usize, String>,
        left: &(dyn Fn() -> bool + Sync),
    ) -> Result<Tcp, Cause> {
        let number = self.config.number;
        let ended = |_| left().then(|| "its node has ended the attempt".to_string());
        let done = self.peers.run_links(name, &|_| mine.clone(), at, &ended, deadline);
        let (links, theirs) = done.map_err(|e| {
            let why = match &e {
                LinksError::Late { peer, why } if self.config.worker[*peer].address.is_none() => {
                    // Whoever has told where it is hears of the attempt's end, and not what is there.
                    tracing::warn!(round = %name.key, at = at.get(peer), why, "the worker of another node is not there");
                    format!("worker {number} of node {peer}: it cannot be reached where its node says that it is")
                }
                LinksError::Late { peer, why } => format!("worker {number} of node {peer}: {why}"),
                e => e.to_string(),
            };
            Cause { why, ..e.into() }
        })?;
        let run = |h: &RunHello| (h.agreement, h.nonce, h.workers.clone(), h.division);
        match theirs.iter().find(|(_, h)| run(h) != run(mine)) {
            Some((peer, _)) => {
                Err(format!("worker {number} of node {peer}: is in another run").into())
            }
            None => Ok(links),
        }
    }
}

/// Its node says nothing more: that it ends the connection is no error.
fn left(why: FrameError) -> Result<(), String> {
    match &why {
        FrameError::Io(e) if e.kind() != io::ErrorKind::TimedOut => Ok(()),
        _ => Err(format!("its node: {}", why.told())),
    }
}

/// What a worker waits for before its first range.
enum Event {
    /// It is connected with the others, or not.
    Connected(Result<Tcp, Cause>),
    /// Its node has ended the attempt.
    Ended,
}

/// What a worker does in an attempt.
struct Job {
    me: usize,
    number: usize,
    circuit: Circuit,
    hash: Hex<32>,
    divided: Divided,
    run: RunId,
    dealt: RunId,
    seeds: PairSeeds,
    workers: BTreeSet<u16>,
    /// Where the same workers of other nodes are, if that was told.
    addresses: BTreeMap<usize, String>,
    /// Its place among them.
    place: usize,
}

/// A range, and what was dealt of what it loads.
type Range = (Given, BTreeMap<(usize, usize), Upload>);

impl Job {
    fn new(of: &Place, begin: Begin, line: &Line) -> Result<Job, String> {
        let (me, number) = (of.config.party, of.config.number);
        let most = artifact::MAX_PAYLOAD + (1 << 10);
        if begin.bytes > most {
            return Err(format!(
                "a circuit of {} bytes is announced, at most {most} are accepted",
                begin.bytes
            ));
        }
        let bytes = line.bytes(begin.bytes, line.deadline, || {}).map_err(|e| e.to_string())?;
        // What is read is verified.
        let circuit = artifact::read(&bytes).map_err(|e| e.to_string())?;
        let hash = Hex(artifact::hash(&circuit));
        if hash != begin.circuit {
            return Err("the circuit is another one than is announced".into());
        }
        let found = begin.workers.iter().position(|w| usize::from(*w) == number);
        let place = found.ok_or_else(|| {
            format!("this is worker {number}, and its node calls another one: see [[worker]] of node.toml")
        })?;
        let divided = Divided::of(&circuit);
        if divided.hash != begin.division {
            return Err("it divides the circuit into other ranges than its node: its slvrc is another one, so run the same at both".into());
        }
        let mut state = lock(&of.state);
        if state.runs.contains(&begin.run.0) {
            return Err("a run is never computed again: its seeds would be used twice".into());
        }
        state.runs.push_back(begin.run.0);
        if state.runs.len() > RUNS {
            state.runs.pop_front();
        }
        drop(state);
        Ok(Job {
            me,
            number,
            circuit,
            hash,
            divided,
            run: RunId(begin.run.0),
            dealt: RunId(begin.dealt.0),
            seeds: PairSeeds { next: begin.next, prev: begin.prev },
            workers: begin.workers,
            addresses: begin.addresses,
            place,
        })
    }

    /// What the same workers of the other nodes are told.
    fn hello(&self) -> RunHello {
        let mut nonce = [0; 32];
        nonce[..16].copy_from_slice(&self.run.0);
        let (agreement, workers) = (self.hash, self.workers.clone());
        let (division, addresses) = (Some(self.divided.hash), BTreeMap::new());
        RunHello { agreement, nonce: Hex(nonce), seed: None, workers, division, addresses }
    }

    /// Computes what it is handed, until its node ends the connection.
    fn run(
        &self,
        line: &Line,
        links: &mut Option<Tcp>,
        ended: Sender<Event>,
        events: &Receiver<Event>,
    ) -> Result<usize, Cause> {
        let cancel = AtomicBool::new(false);
        let closer: Mutex<Option<Closer>> = Mutex::default();
        // One range is read while another one is computed at most.
        let (say, heard) = sync_channel(1);
        thread::scope(|scope| {
            let reads = || {
                let done = self.read_all(line, say);
                line.deaf();
                // Whoever computes, or connects, waits for nothing more.
                cancel.store(true, Ordering::Release);
                if let Some(closer) = &*lock(&closer) {
                    closer.close();
                }
                let _ = ended.send(Event::Ended);
                done
            };
            let reader = thread::Builder::new().name("orders".into()).spawn_scoped(scope, reads);
            let reader = reader.map_err(|e| format!("no thread is left: {e}"))?;
            let computes = || self.ranges(line, links, events, heard, &cancel, &closer);
            // Its node hears of a bug, too.
            let bug = |_| Err("it has a bug: its log says more".into());
            let done = catch_unwind(AssertUnwindSafe(computes)).unwrap_or_else(bug);
            let ended = cancel.load(Ordering::Acquire);
            line.deaf();
            let read = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match (ended, done) {
                // What was read at that moment has ended because this has.
                (false, Err(stopped)) => Err(stopped),
                // An order that makes no sense is the cause of what follows.
                (_, done) => read.map_err(Cause::from).and(done),
            }
        })
    }

    /// Computes ranges once it is connected with the others.
    fn ranges(
        &self,
        line: &Line,
        links: &mut Option<Tcp>,
        events: &Receiver<Event>,
        heard: Receiver<Range>,
        cancel: &AtomicBool,
        closer: &Mutex<Option<Closer>>,
    ) -> Result<usize, Cause> {
        let links = match events.recv() {
            Ok(Event::Connected(connected)) => links.insert(connected?),
            Ok(Event::Ended) | Err(_) => return Ok(0),
        };
        let own = links.closer().map_err(|e| e.to_string())?;
        *lock(closer) = Some(own);
        let done = self.compute(line, &mut Cancellable::new(links, cancel), heard);
        done.map_err(|cause| match cancel.load(Ordering::Acquire) {
            // Its own link may have failed before.
            true => {
                Cause { why: format!("its node has ended the attempt; {}", cause.why), ..cause }
            }
            false => cause,
        })
    }

    /// Hands on what its node says, until that ends the connection.
    fn read_all(&self, line: &Line, to: SyncSender<Range>) -> Result<(), String> {
        // Between two ranges the party may compute layers of its own, each within the deadline.
        let patience = self.whole(line.deadline);
        let mut seen = BTreeSet::new();
        loop {
            let (number, replaced, reads) = match line.hear(patience) {
                Ok(ToWorker::Range { number, replaced, reads }) => (number, replaced, reads),
                Ok(ToWorker::Begin(_)) => return Err("a second run in an attempt".into()),
                Err(why) => return left(why),
            };
            let mine = number % self.workers.len() == self.place;
            let ranges = &self.divided.division.ranges;
            let of = ranges.get(number).filter(|_| mine && seen.insert(number));
            let of = of.ok_or_else(|| {
                format!("range {number} is not for this worker, or was computed already")
            })?;
            if reads != packed(&self.circuit, self.me, &of.reads) {
                return Err(format!("what range {number} reads has another length"));
            }
            let read = |len| line.bytes(len, line.deadline, || {}).map_err(|e| e.to_string());
            let reads = unpack(&self.circuit, self.me, &of.reads, &read(reads)?);
            let reads = reads.map_err(|e| e.to_string())?;
            let given = Given { range: number, reads, replaced };
            let mut uploads = BTreeMap::new();
            for (set, member) in members(&self.circuit, of) {
                if !given.replaces(set, member) {
                    let part = read(part_bytes(&self.circuit, set, self.me))?;
                    let upload = unpack_part(&self.circuit, set, self.me, &part);
                    uploads.insert((set, member), upload.map_err(|e| e.to_string())?);
                }
            }
            if to.send((given, uploads)).is_err() {
                return Ok(());
            }
        }
    }

    fn compute(
        &self,
        line: &Line,
        link: &mut dyn Link,
        heard: Receiver<Range>,
    ) -> Result<usize, Cause> {
        let mut ranges = 0;
        for (given, uploads) in heard {
            let range = given.range;
            let source = Source { dealt: self.dealt, from: Arc::new(uploads) };
            let prss = Prss::new(self.me, &self.seeds, self.run);
            let party = Party {
                uploads: Uploads { source: Some(source), ..Uploads::default() },
                ..Party::new(&self.circuit, prss, &mut *link, self.run, line.deadline)
            };
            let done = party.run_range(&self.divided.division, given);
            let done = done.map_err(|e| Cause { why: self.said(&e), ..e.into() })?;
            let (bytes_sent, peak_memory) = (done.bytes_sent, done.peak_memory);
            tracing::info!(range, bytes_sent, peak_memory, "a range is computed");
            let bytes = pack(&done.writes);
            let said = OfWorker::Done { bytes_sent, peak_memory, writes: bytes.len() as u64 };
            // Its node takes it once it has come so far itself.
            line.say(&said, &bytes, self.whole(line.deadline)).map_err(|e| e.to_string())?;
            ranges += 1;
        }
        Ok(ranges)
    }

    /// For how long the whole circuit may be computed, if each layer takes as long as it may.
    fn whole(&self, deadline: Duration) -> Duration {
        let layers = u32::try_from(self.circuit.layers.len()).unwrap_or(u32::MAX);
        deadline.saturating_mul(layers.saturating_add(2))
    }

    /// What its node is told of a failure: another end of a link is the same worker of that node.
    fn said(&self, e: &RunError) -> String {
        match e {
            RunError::Link { phase, peer: Peer::Party(p), problem, .. } => {
                format!("{phase}, worker {} of node {p}: {problem}", self.number)
            }
            e => e.to_string(),
        }
    }
}
