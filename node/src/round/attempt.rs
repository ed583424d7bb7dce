//! One attempt: connects, reads the parts, runs the circuit, keeps what the receivers get.
//!
//! Each pair of neighbours has a fresh seed for its randomness, and the run a fresh name, a hash of nonces of all
//! three nodes. So no stream of an attempt is drawn in another one, whoever chooses what. What the receivers get goes to
//! files of this node and nowhere else until all three nodes have finished.

use super::backoff::with_room;
use super::others::cause;
use super::tidy::tidy;
use super::workers::{self, Crew, OfRun};
use super::{agreement, reveals, states};
use crate::hex::Hex;
use crate::locks::lock;
use crate::metrics::worker as of_worker;
use crate::node::Node;
use crate::state::{
    Agreement, Cause, Excluded, Failure, Outcome, Phase, RoundKey, Step, StepError, Verdict,
};
use crate::status::Awaited;
use crate::store::Left;
use crate::submission::{dealing, unpack, unpack_public};
use crate::tasks::{GivingSet, Ready};
use crate::wire::{Answer, Ask, RunHello, RunName};
use crate::words::{Words, pack};
use slvr_circuit::Circuit;
use slvr_runtime::link::{Header, Kind, Link, LinkError, Peer};
use slvr_runtime::party::{
    Held, Intake, Invalid, Origin, Party, Replaced, RunError, Submitted, Uploads, Workers,
};
use slvr_runtime::share::deal::Upload;
use slvr_runtime::share::state::Kept;
use slvr_runtime::share::{PairSeeds, Prss, RunId, Seed};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// How long a node has to say where it stands while the others wait for it.
const ANSWER: Duration = Duration::from_secs(1);

/// Why an attempt failed of which nothing is known.
pub(super) const LOST: &str = "the attempt ended, and how could not be written";

/// Makes an attempt and takes the step that follows from it.
pub(super) fn run(node: &Arc<Node>, name: &RunName, ready: &Ready) {
    let begun = Instant::now();
    let done = thread::scope(|scope| attempt(scope, node, name, ready));
    node.metrics.attempted(&name.key.task, done.is_ok(), begun.elapsed());
    let step = step_after(node, name, done);
    let refused = match with_room(node, &name.key, || node.advance(&name.key, step.clone())) {
        Ok(_) => {
            if !matches!(step, Step::Compute(_)) {
                let _ = node.store.erase_outcome(&name.key);
            }
            if matches!(step, Step::Abort(_)) {
                tidy(node, &name.key);
            }
            return;
        }
        Err(e) => e,
    };
    if node.aborted(&name.key).load(Ordering::Acquire) {
        // Nobody waits for this attempt any more.
        tidy(node, &name.key);
        return;
    }
    // It failed for good: nothing is kept of the attempt.
    let _ = node.store.erase_outcome(&name.key);
    let why = format!("node {}: {refused}", node.me());
    let step = Step::Fail(Failure::new(name.attempt, why));
    loop {
        match node.advance(&name.key, step.clone()) {
            Ok(_) => return,
            Err(e) => {
                tracing::error!(round = %name.key, why = %e, "an attempt could not be ended");
                // A disk that is full, or fails, may not stay so.
                if node.stopping() || !matches!(e, StepError::Store { .. }) {
                    return;
                }
            }
        }
        thread::sleep(Duration::from_secs(1));
    }
}

/// The step that follows from how an attempt has ended.
fn step_after(node: &Arc<Node>, name: &RunName, done: Result<Ended, Cause>) -> Step {
    match done {
        Ok(Ended::Computed(outcome)) => Step::Compute(outcome),
        Ok(Ended::Rejected(verdict)) => {
            // All three have this verdict, and decide the same.
            let round = node.round(&name.key);
            let next = round.ok_or_else(|| "no such round".to_string());
            match next.and_then(|round| agreement::next(node, &round, &verdict)) {
                Ok(_) => Step::Reject(verdict),
                Err(why) => Step::Abort(why),
            }
        }
        Ok(Ended::Impossible(why)) => Step::Abort(why),
        Err(Cause { why, origin, worker }) => {
            let why = format!("node {}: {why}", node.me());
            let own = Failure { attempt: name.attempt, why, origin, worker };
            // What the leader says of it, all are told.
            Step::Fail(match origin {
                _ if node.aborted(&name.key).load(Ordering::Acquire) => {
                    Failure { worker: None, ..own }
                }
                Origin::Own => {
                    // It has not waited for another one, nor heard of its end.
                    if let Some(worker) = worker {
                        node.metrics.ranges_failed.get_or_create(&of_worker(worker)).inc();
                    }
                    own
                }
                _ if node.leads() => cause(node, name, own),
                _ => own,
            })
        }
    }
}

/// How an attempt ends that does not fail.
enum Ended {
    /// This node has its words of the result.
    Computed(Outcome),
    /// Inputs of some clients are not in their ranges. Nothing was opened but that.
    Rejected(Verdict),
    /// There will be no result.
    Impossible(String),
}

/// Why an attempt need not wait for a node: the round was aborted, or that node has ended the attempt.
fn has_ended(node: &Arc<Node>, name: &RunName, peer: usize) -> Option<String> {
    if node.aborted(&name.key).load(Ordering::Acquire) || node.stopping() {
        return Some("the round was aborted, or this node stops".into());
    }
    // One that has not heard yet that the attempt begins stands before it.
    match node.peers.ask(peer, &Ask::Where(name.key.clone()), ANSWER).ok()? {
        Answer::Stands { phase, attempt, failed, aborted, .. }
            if phase == Phase::Aborted
                || attempt > name.attempt
                || (attempt == name.attempt && phase != Phase::Running) =>
        {
            let why = failed.map(|f| f.why).or(aborted);
            Some(why.unwrap_or_else(|| "it has ended the attempt".into()))
        }
        _ => None,
    }
}

fn attempt<'a>(
    scope: &'a Scope<'a, '_>,
    node: &'a Arc<Node>,
    name: &'a RunName,
    ready: &'a Ready,
) -> Result<Ended, Cause> {
    let key = &name.key;
    let (me, layers) = (node.me(), ready.circuit.layers.len());
    let round = node.round(key).ok_or("no such round")?;
    let agreement = round.agreement.clone().ok_or("nothing was agreed")?;
    let begun = Instant::now();
    node.status.doing(key, "connecting", layers);
    let waiting = workers::call(node, name, ready);
    let mine = Hello::draw(&agreement, ready, waiting.keys().copied());
    let mut mine = mine.map_err(|e| e.to_string())?;
    mine.addresses = waiting.iter().map(|(n, line)| (*n, line.address.clone())).collect();
    let hello = |peer| mine.for_node(me, peer);
    let ended = |peer| has_ended(node, name, peer);
    let none = BTreeMap::new();
    let (links, theirs) = node.peers.run_links(name, &hello, &none, &ended, node.deadline())?;
    let (run, seeds) = mine.join(me, &theirs)?;
    let take_part = workers::common(&waiting, &theirs);
    let lost: Arc<AtomicBool> = Arc::default();
    let spoken = Arc::new(Mutex::new(Instant::now()));
    let of_run = OfRun {
        take_part: &take_part,
        theirs: &theirs,
        run,
        seeds: &seeds,
        links: links.closer().map_err(|e| e.to_string())?,
        lost: lost.clone(),
        spoken: spoken.clone(),
    };
    let crew = Crew::begin(scope, node, key, ready, waiting, of_run);
    let mut crew = crew.map_err(|e| format!("no thread is left: {e}"))?;
    let connect_seconds = begun.elapsed().as_secs_f64();
    node.status.doing(key, "reading submissions", layers);
    let (inputs, uploads) = inputs(node, key, ready, &agreement, crew.as_mut())?;
    node.status.doing(key, "computing", layers);
    let start = Instant::now();
    let aborted = node.aborted(key);
    let ends = [aborted, lost];
    let mut link = Watched { links, node, key, ends, spoken, words: Vec::new() };
    let count = |done, _| node.status.update(key, |p| p.done = done);
    let prss = Prss::new(me, &seeds, run);
    let party = Party {
        uploads,
        invalid: Invalid::Stop,
        state: states::before(node, ready, &round.spec)?,
        progress: Some(&count),
        workers: crew.as_mut().map(|crew| crew as &mut dyn Workers),
        ..Party::new(&ready.circuit, prss, &mut link, run, node.deadline())
    };
    let (report, kept) = match party.run(inputs) {
        Ok(done) => done,
        Err(RunError::Invalid(gone)) => {
            return Ok(rejected(&gone, name.attempt, ready, &agreement));
        }
        Err(e) => {
            let cause = match &mut crew {
                Some(crew) => crew.cause(e),
                None => e,
            };
            // Links take a while to end if the other ends do not: workers need not wait for it.
            drop(crew);
            return Err(cause.into());
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    let Watched { words, .. } = link;
    keep(node, key, ready, &agreement, run, words, kept)?;
    Ok(Ended::Computed(Outcome {
        attempt: name.attempt,
        run: Hex(run.0),
        rounds: report.rounds,
        bytes_sent: report.bytes_sent,
        peak_memory: report.peak_memory,
        workers: crew.as_ref().map_or(Vec::new(), Crew::work),
        connect_seconds,
        seconds,
    }))
}

/// What this node holds of the inputs of a round.
fn inputs(
    node: &Arc<Node>,
    key: &RoundKey,
    ready: &Ready,
    agreement: &Agreement,
    crew: Option<&mut Crew<'_>>,
) -> Result<(Vec<Held>, Uploads), Cause> {
    let public = node.store.public(key).map_err(|e| e.to_string())?;
    let public = unpack_public(&ready.circuit, &public)?;
    let mut intake = Intake::new(&ready.circuit, node.me(), dealing(&key.task, key.round), true);
    let clients = (0..ready.clients as usize).map(|k| (ready.set, k, agreement.member(k)));
    let of_set = |GivingSet { set, name, size }: &GivingSet| {
        let one = |k| Some((*set, k, Some(agreement.other(name, k)?)));
        (0..*size as usize).map_while(one).collect::<Vec<_>>()
    };
    let given: Vec<_> = clients.chain(ready.others.iter().flat_map(of_set)).collect();
    if !ready.circuit.loaded().is_empty() {
        // Before anything is taken in, so that no part is kept in memory.
        let named =
            given.iter().filter_map(|(set, k, e)| Some(((*set, *k), e.as_ref()?.client.clone())));
        let clients: BTreeMap<_, _> = named.collect();
        if let Some(crew) = crew {
            crew.load_from(clients.clone());
        }
        let (key, circuit) = (key.clone(), ready.circuit.clone());
        intake.load_from(Arc::new(Stored { node: node.clone(), key, circuit, clients }));
    }
    let mut damaged = Ok(());
    for (set, member, entry) in given {
        let upload = match entry {
            Some(entry) => {
                let part = match node.store.read_part(key, &entry.client) {
                    Ok(part) => part,
                    // All that are damaged are found in one attempt.
                    Err(_) if node.store.is_damaged(key, &entry.client) => {
                        damaged = undamaged(node, key);
                        continue;
                    }
                    Err(e) => return Err(e.to_string().into()),
                };
                Some(unpack(&ready.circuit, set, node.me(), &part).map_err(|e| e.to_string())?)
            }
            None => None,
        };
        intake.take(set, member, upload.as_ref());
    }
    damaged?;
    Ok(intake.finish(&public))
}

/// Keeps what a run has given this node.
fn keep(
    node: &Arc<Node>,
    key: &RoundKey,
    ready: &Ready,
    agreement: &Agreement,
    run: RunId,
    words: Words,
    kept: Option<Kept>,
) -> Result<(), Cause> {
    let (words, own) = reveals::split((node.me(), key), ready, agreement, run, words)?;
    for (client, bytes) in own {
        let put = || node.store.keep(key, Left::Reveal(&client), &bytes);
        with_room(node, key, put).map_err(|e| e.to_string())?;
    }
    if let Some(kept) = kept {
        let bytes = Zeroizing::new(kept.to_bytes());
        with_room(node, key, || node.store.keep(key, Left::State, &bytes))
            .map_err(|e| e.to_string())?;
    }
    // The result comes last: where it is, all is.
    let packed = pack(run, &words);
    with_room(node, key, || node.store.keep(key, Left::Result, &packed))
        .map_err(|e| e.to_string().into())
}

/// Reads the parts of a round again, for a circuit that loads inputs in parts.
struct Stored {
    node: Arc<Node>,
    key: RoundKey,
    circuit: Circuit,
    /// By party set and member.
    clients: BTreeMap<(usize, usize), String>,
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stored({}, {} clients)", self.key, self.clients.len())
    }
}

impl Submitted for Stored {
    fn upload(&self, set: usize, member: usize) -> Result<Upload, String> {
        let client = self.clients.get(&(set, member)).ok_or("nobody gave it")?;
        let part = self.node.store.read_part(&self.key, client).map_err(|e| e.to_string())?;
        unpack(&self.circuit, set, self.node.me(), &part).map_err(|e| e.to_string())
    }
}

/// Whether all parts of a round are as they were written, as far as that is known.
pub(super) fn undamaged(node: &Node, key: &RoundKey) -> Result<(), String> {
    let agreement = node.round(key).and_then(|r| r.agreement.clone());
    let mut damaged = node.store.damaged_of(key);
    // Nobody waits for who is excluded.
    damaged
        .retain(|c| agreement.as_ref().is_none_or(|a| a.accepted.iter().any(|e| e.client == *c)));
    match damaged.as_slice() {
        [] => Ok(()),
        clients => Err(format!(
            "damaged parts wait to be mended: clients {} have to submit the same again",
            clients.join(", ")
        )),
    }
}

/// What becomes of an attempt in which inputs are not in their ranges.
fn rejected(gone: &[Replaced], attempt: u32, ready: &Ready, agreement: &Agreement) -> Ended {
    if let Some(r) = gone.iter().find(|r| r.set as usize != ready.set) {
        let set = ready.circuit.parties.get(r.set as usize).map_or("?", |p| p.name.as_str());
        let client = agreement.other(set, r.member as usize).map_or("?", |e| e.client.as_str());
        return Ended::Impossible(format!(
            "the inputs of {client}, member {} of `{set}`, do not count, and all its members are needed: {}",
            r.member, r.why
        ));
    }
    let named = |r: &Replaced| {
        let entry = agreement.member(r.member as usize)?;
        Some(Excluded { client: entry.client.clone(), why: r.why.to_string() })
    };
    Ended::Rejected(Verdict { attempt, gone: gone.iter().filter_map(named).collect() })
}

/// What this node draws for an attempt.
struct Hello {
    agreement: crate::hex::Hash,
    nonce: Hex<32>,
    seed: Seed,
    workers: BTreeSet<u16>,
    division: Option<crate::hex::Hash>,
    addresses: BTreeMap<u16, String>,
}

impl Hello {
    /// With the numbers of its workers that wait.
    fn draw(
        agreement: &Agreement,
        ready: &Ready,
        workers: impl Iterator<Item = u16>,
    ) -> Result<Hello, getrandom::Error> {
        let mut nonce = [0; 32];
        getrandom::fill(&mut nonce)?;
        let (agreement, seed) = (agreement.digest(), Seed::random()?);
        let division = ready.divided.as_ref().map(|divided| divided.hash);
        let (nonce, workers, addresses) = (Hex(nonce), workers.collect(), BTreeMap::new());
        Ok(Hello { agreement, nonce, seed, workers, division, addresses })
    }

    /// The seed is for the next node only: it is the randomness of these two.
    fn for_node(&self, me: usize, peer: usize) -> RunHello {
        let seed = (peer == (me + 1) % 3).then(|| self.seed.clone());
        let (workers, addresses) = (self.workers.clone(), self.addresses.clone());
        let (agreement, nonce, division) = (self.agreement, self.nonce, self.division);
        RunHello { agreement, nonce, seed, workers, division, addresses }
    }

    /// The run's name and this node's seeds.
    fn join(
        &self,
        me: usize,
        theirs: &BTreeMap<usize, RunHello>,
    ) -> Result<(RunId, PairSeeds), String> {
        if let Some((peer, _)) = theirs.iter().find(|(_, h)| h.agreement != self.agreement) {
            return Err(format!(
                "handshake, node {peer}: has another agreement on whose submissions count"
            ));
        }
        // Where one divides nothing no worker takes part.
        let other = |h: &RunHello| self.division.zip(h.division).is_some_and(|(a, b)| a != b);
        if let Some((peer, _)) = theirs.iter().find(|(_, h)| other(h)) {
            return Err(format!(
                "handshake, node {peer}: divides the same circuit into other ranges for workers: its slvrc is another one than that of node {me}, so run the same at all three nodes"
            ));
        }
        let mut hash = blake3::Hasher::new_derive_key("slvr 1 name of a run");
        for node in 0..3 {
            let nonce = if node == me {
                self.nonce
            } else {
                theirs.get(&node).map_or(self.nonce, |h| h.nonce)
            };
            hash.update(&nonce.0);
        }
        hash.update(&self.agreement.0);
        let mut run = [0; 16];
        hash.finalize_xof().fill(&mut run);
        let before = (me + 2) % 3;
        let prev = theirs.get(&before).and_then(|h| h.seed.clone());
        let prev = prev.ok_or_else(|| format!("handshake, node {before}: sends no seed"))?;
        Ok((RunId(run), PairSeeds { next: self.seed.clone(), prev }))
    }
}

/// Links to the other nodes that show for whom this one waits, and keep what the receivers get. They end once the round
/// is aborted or a worker is lost: the other nodes then hear of an abort, so that nobody waits for a message's deadline.
struct Watched<'a, L> {
    links: L,
    node: &'a Node,
    key: &'a RoundKey,
    ends: [Arc<AtomicBool>; 2],
    /// When the other nodes last heard of this one.
    spoken: Arc<Mutex<Instant>>,
    words: Words,
}

impl<L> Watched<'_, L> {
    fn is_ended(&self) -> bool {
        self.ends.iter().any(|ends| ends.load(Ordering::Acquire))
    }

    fn goes_on(&self, kind: Kind) -> Result<(), LinkError> {
        // The abort itself goes out.
        match kind != Kind::Abort && self.is_ended() {
            true => Err(LinkError::Aborted),
            false => Ok(()),
        }
    }
}

impl<L: Link> Link for Watched<'_, L> {
    fn send(&mut self, to: Peer, header: Header, body: Vec<u8>) -> Result<(), LinkError> {
        self.goes_on(header.kind)?;
        match to {
            Peer::Party(_) => {
                *lock(&self.spoken) = Instant::now();
                self.links.send(to, header, body)
            }
            Peer::Receiver(set) => {
                self.words.push((set as u32, header, body));
                Ok(())
            }
        }
    }

    fn expect(&mut self, from: Peer, frames: &[Header]) {
        self.links.expect(from, frames);
    }

    fn recv(
        &mut self,
        from: Peer,
        expected: Header,
        deadline: Duration,
    ) -> Result<Vec<u8>, LinkError> {
        self.goes_on(expected.kind)?;
        if let Peer::Party(peer) = from {
            self.node.status.update(self.key, |p| {
                p.waits = Some((Awaited::Node(peer), Instant::now()));
            });
        }
        let got = self.links.recv(from, expected, deadline);
        self.node.status.update(self.key, |p| p.waits = None);
        match got {
            // By this node itself.
            Err(LinkError::Closed) if self.is_ended() => Err(LinkError::Aborted),
            got => got,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_that_divide_a_circuit_otherwise_do_not_begin() {
        let hello = |division: Option<u8>| Hello {
            agreement: Hex([1; 32]),
            nonce: Hex([2; 32]),
            seed: Seed::new([3; 16]),
            workers: BTreeSet::new(),
            addresses: BTreeMap::new(),
            division: division.map(|n| Hex([n; 32])),
        };
        let joins = |mine: Option<u8>, theirs: [Option<u8>; 2]| {
            let heard = [1, 2].map(|peer| (peer, hello(theirs[peer - 1]).for_node(peer, 0)));
            hello(mine).join(0, &BTreeMap::from(heard)).map(drop)
        };
        for (mine, theirs) in [
            (Some(7), [Some(7), Some(7)]),
            (None, [None, None]),
            // Where one divides nothing no worker takes part.
            (None, [Some(7), None]),
            (Some(7), [None, Some(7)]),
        ] {
            assert_eq!(joins(mine, theirs), Ok(()), "{mine:?} {theirs:?}");
        }
        let why = joins(Some(7), [Some(7), Some(8)]).expect_err("another division");
        assert!(why.contains("node 2: divides") && why.contains("that of node 0"), "{why}");
    }
}
