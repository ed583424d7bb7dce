//! Connections between nodes: TLS with both ends authenticated, over blocking sockets and threads.
//!
//! Each node calls each other node: a connection belongs to an ordered pair, the one who calls and the one who is
//! called. Over it go questions and their answers. Connections that are not in use are kept. For the messages of a run
//! each pair has a connection of its own, for this run only, which the node with the larger number opens.
//!
//! **What strangers can do.** A caller that does not prove to be a node within [`GREETING`] is turned away. At most
//! [`CALLERS`] may be about to do so; one more, and the first of them is turned away that does not call from where a node
//! does. Handshakes are concurrent. A node may have at most [`EACH`] connections. Nothing is allocated by a length before
//! it is compared with what is admitted. A line a second is logged about strangers, or twenty at once, and the rest is counted.
//!
//! **What nodes can do.** Each call ends at its deadline, whatever comes: handshake, question and answer together.
//!
//! | file | does |
//! |---|---|
//! | `admission` | who is let in, and until when |
//! | `runs` | the connections of an attempt |
//! | `workers` | connections between a node and its workers |
//!
//! A worker has connections of the same kind: with the same workers of the two other nodes in place of these nodes, and its
//! own node may call it.

mod admission;
mod runs;
mod workers;

use crate::clock::now_ms;
use crate::config::{NodeConfig, WorkerConfig, identity};
use crate::hex::{Hash, sha256};
use crate::locks::lock;
use crate::threads::spawn;
use crate::trust;
use crate::wire::{
    Answer, Ask, FrameError, PROTOCOL, Purpose, RunHello, RunName, SHORT, frame, read_frame,
};
use prometheus_client::metrics::counter::Counter;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ServerConfig};
use slvr_runtime::link::tls::Secure;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

use admission::Admission;
pub use admission::{CALLERS, GREETING};
pub use runs::{Ended, LinksError};
use workers::OwnWorker;
pub use workers::{Line, Ranges, TellError, answers_within};

/// How many connections one node may have.
pub const EACH: usize = 64;
/// Connections to a node that are kept while they are not in use.
const KEPT: usize = 4;
/// After so long without a question a connection is closed. Who asks opens another one before that.
const QUIET: Duration = Duration::from_secs(120);
/// Between two attempts to reach a node.
const RETRY: Duration = Duration::from_millis(50);

/// Why a node could not be asked.
#[derive(Debug, Error)]
pub enum AskError {
    /// It is not there, or not who it should be.
    #[error("node {peer} at {address}: {why}")]
    Unreachable { peer: usize, address: String, why: io::Error },
    /// Its answer makes no sense.
    #[error("node {peer}: {why}")]
    Answer { peer: usize, why: FrameError },
}

/// Reads from a connection until a moment.
struct Timed<'a> {
    from: &'a Secure,
    until: Instant,
}

impl Read for Timed<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.from.read_until(to, self.until)
    }
}

/// Answers the questions of a node.
pub type Handler = dyn Fn(usize, Ask) -> Answer + Send + Sync;

/// Counts something until it is dropped, also by a panic.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    /// How many there were before, and this one.
    fn new(count: &'a AtomicUsize) -> (usize, Counted<'a>) {
        (count.fetch_add(1, Ordering::Relaxed), Counted(count))
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Connections for runs that have come and are not asked for yet.
type Arrivals = BTreeMap<(RunName, usize), (Secure, RunHello, Instant)>;

/// The connections of a node.
pub struct Peers {
    me: usize,
    /// Where each is. Where a worker of another node is may not be known before an attempt.
    addresses: Vec<Option<String>>,
    /// Who may call, by party: in its own place of a node nobody, and of a worker its node.
    pins: Vec<Vec<Hash>>,
    called: Arc<ServerConfig>,
    calling: Vec<Arc<ClientConfig>>,
    workers: Vec<OwnWorker>,
    idle: [Mutex<Vec<Secure>>; 3],
    arrivals: Mutex<Arrivals>,
    arrived: Condvar,
    admission: Admission,
    /// Whether a node is being looked for.
    pinged: [AtomicBool; 3],
    open: [AtomicUsize; 3],
    /// Callers that were turned away.
    pub refused: Counter,
    /// When each node last answered.
    heard: [Mutex<Option<Instant>>; 3],
    /// By how many seconds each node's clock is ahead of this one's.
    offsets: [Mutex<Option<f64>>; 3],
    longest: AtomicU64,
    stop: AtomicBool,
}

impl fmt::Debug for Peers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Peers(of node {})", self.me)
    }
}

impl Peers {
    /// Of a node. No message of another node may be longer than `longest`.
    ///
    /// # Errors
    ///
    /// Keys that cannot be used.
    pub fn new(config: &NodeConfig, longest: u64) -> Result<Peers, String> {
        let own = identity(&config.certificate, &config.key).map_err(|e| e.to_string())?;
        let ends = config.node.iter().map(|n| (Some(&n.address), &n.certificates));
        let mut peers = Peers::of("node", config.party, &own, ends, Vec::new())
            .map_err(|why| format!("{}: {why}", config.certificate.display()))?;
        peers.longest = AtomicU64::new(longest);
        let known = config.worker.iter().map(|w| OwnWorker::new(w, (&own.0, &own.1)));
        peers.workers = known.collect::<Result<_, _>>().map_err(no_tls)?;
        Ok(peers)
    }

    /// Of a worker.
    ///
    /// # Errors
    ///
    /// Keys that cannot be used.
    pub fn of_worker(config: &WorkerConfig) -> Result<Peers, String> {
        let own = identity(&config.certificate, &config.key).map_err(|e| e.to_string())?;
        let ends = config.worker.iter().map(|w| (w.address.as_ref(), &w.certificates));
        Peers::of("worker", config.party, &own, ends, config.node.clone())
            .map_err(|why| format!("{}: {why}", config.certificate.display()))
    }

    /// With three ends that stand in a table of this name, of which `me` is this one. In its place `node` may call.
    fn of<'a>(
        table: &str,
        me: usize,
        (certificate, key): &(CertificateDer<'static>, PrivateKeyDer<'static>),
        ends: impl Iterator<Item = (Option<&'a String>, &'a Vec<Hash>)>,
        node: Vec<Hash>,
    ) -> Result<Peers, String> {
        let own = (certificate, key);
        let (addresses, mut pins): (Vec<_>, Vec<_>) =
            ends.map(|(address, pins)| (address.cloned(), pins.clone())).unzip();
        let calling = pins.iter().map(|p| trust::client(Some(own), p.clone()).map(Arc::new));
        let calling = calling.collect::<Result<_, _>>().map_err(no_tls)?;
        let mine = sha256(certificate);
        match pins.get_mut(me) {
            Some(pins) if pins.contains(&mine) => *pins = node,
            _ => {
                return Err(format!(
                    "the certificate (SHA-256 {mine}) is not among those of [[{table}]] {me}"
                ));
            }
        }
        let called = Arc::new(trust::server(own, Some(pins.concat())).map_err(no_tls)?);
        Ok(Peers {
            me,
            addresses,
            calling,
            pins,
            called,
            workers: Vec::new(),
            idle: Default::default(),
            arrivals: Mutex::default(),
            arrived: Condvar::new(),
            admission: Admission::default(),
            pinged: Default::default(),
            open: Default::default(),
            refused: Counter::default(),
            heard: Default::default(),
            offsets: Default::default(),
            longest: AtomicU64::new(SHORT),
            stop: AtomicBool::new(false),
        })
    }

    /// Whether something that others cause may be logged, and how much was not since the last time.
    pub fn may_log(&self) -> Option<u64> {
        self.admission.may_log()
    }

    pub fn others(&self) -> [usize; 2] {
        [(self.me + 1) % 3, (self.me + 2) % 3]
    }

    /// No message of another node may be longer than this from now on.
    pub fn allow(&self, longest: u64) {
        self.longest.fetch_max(longest, Ordering::Relaxed);
    }

    /// How long ago a node answered.
    pub fn heard(&self, peer: usize) -> Option<Duration> {
        lock(&self.heard[peer]).map(|at| at.elapsed())
    }

    /// By how many seconds a node's clock was ahead of this one's when it was last looked for.
    pub fn offset(&self, peer: usize) -> Option<f64> {
        *lock(&self.offsets[peer])
    }

    /// Listens, on threads of its own, until [`Peers::stop`]. `ranges` does what a worker's node asks for.
    ///
    /// # Errors
    ///
    /// A system that has no threads left.
    pub fn listen(
        self: &Arc<Self>,
        listener: TcpListener,
        handler: Arc<Handler>,
        ranges: Option<Arc<Ranges>>,
    ) -> io::Result<()> {
        let sweeping = self.clone();
        spawn("sweep", move || {
            while !sweeping.stop.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(250));
                sweeping.sweep();
            }
        })?;
        let me = self.clone();
        spawn("peers", move || {
            for socket in listener.incoming() {
                if me.stop.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(socket) = socket else {
                    // Too many files are open, most likely: it passes.
                    thread::sleep(RETRY);
                    continue;
                };
                let Ok((number, closed)) = me.admission.admit(&socket) else { continue };
                me.refused.inc_by(closed as u64);
                let (caller, handler, ranges) = (me.clone(), handler.clone(), ranges.clone());
                let greets = move || caller.greet(number, socket, &*handler, ranges.as_deref());
                if spawn("caller", greets).is_err() {
                    // Threads that end make room for others.
                    me.admission.greeted(number);
                    thread::sleep(RETRY);
                }
            }
        })
    }

    /// Turns away who is late, and forgets connections of runs that nobody asks for.
    fn sweep(&self) {
        self.refused.inc_by(self.admission.sweep() as u64);
        lock(&self.arrivals).retain(|_, (_, _, came)| came.elapsed() < 3 * GREETING);
    }

    fn greet(
        self: Arc<Self>,
        number: u64,
        socket: TcpStream,
        handler: &Handler,
        ranges: Option<&Ranges>,
    ) {
        let address = socket.peer_addr().ok();
        let from = address.map_or("?".into(), |a| a.to_string());
        let greeted = self.greeted(socket);
        self.admission.greeted(number);
        let (peer, tls, purpose) = match greeted {
            Ok(greeted) => greeted,
            Err(why) => {
                self.refused.inc();
                if let Some(unsaid) = self.admission.may_log() {
                    tracing::warn!(from, %why, unsaid, "a caller at the port of nodes was turned away");
                }
                return;
            }
        };
        self.admission.is_node(peer, address.map(|a| a.ip()));
        let (open, _one) = Counted::new(&self.open[peer]);
        if open >= EACH {
            if let Some(unsaid) = self.admission.may_log() {
                tracing::warn!(peer, unsaid, "too many connections of a node: one is closed");
            }
            return;
        }
        match purpose {
            Purpose::Control { .. } => self.answer(peer, &tls, handler),
            Purpose::Run { name, hello } => {
                let mut arrivals = lock(&self.arrivals);
                if arrivals.keys().filter(|(_, p)| *p == peer).count() < EACH {
                    arrivals.insert((name, peer), (tls, hello, Instant::now()));
                }
                drop(arrivals);
                self.arrived.notify_all();
            }
            Purpose::Ranges { name, deadline_s, worker, .. } => {
                let line = Line::new(self.clone(), tls, String::new(), deadline_s);
                if let Some(ranges) = ranges.filter(|_| peer == self.me) {
                    ranges(worker, name, line);
                }
            }
        }
    }

    /// Who calls, and what for.
    fn greeted(&self, socket: TcpStream) -> Result<(usize, Secure, Purpose), FrameError> {
        let until = Instant::now() + GREETING;
        prepare(&socket, GREETING)?;
        let tls = Secure::answer_with(self.called.clone(), socket)?;
        let shown = tls.certificate().map(|c| sha256(&c));
        let peer = shown.and_then(|c| self.pins.iter().position(|p| p.contains(&c)));
        let peer = peer.ok_or_else(|| io::Error::from(io::ErrorKind::PermissionDenied))?;
        let purpose: Purpose = read_frame(&mut Timed { from: &tls, until }, SHORT)?;
        let version = match purpose {
            Purpose::Control { version } | Purpose::Ranges { version, .. } => version,
            Purpose::Run { .. } => PROTOCOL,
        };
        if version != PROTOCOL {
            let why = format!(
                "node {} speaks version {PROTOCOL}, node {peer} version {version}",
                self.me
            );
            tls.write_all(&frame(&Answer::Refused(why.clone())), true)?;
            return Err(FrameError::Garbled(why));
        }
        if matches!(purpose, Purpose::Control { .. }) {
            tls.write_all(&frame(&Answer::Done), true)?;
        }
        Ok((peer, tls, purpose))
    }

    /// Answers one question after another.
    fn answer(&self, peer: usize, tls: &Secure, handler: &Handler) {
        while !self.stop.load(Ordering::Relaxed) {
            let until = Instant::now() + QUIET;
            let ask: Ask = match read_frame(
                &mut Timed { from: tls, until },
                self.longest.load(Ordering::Relaxed),
            ) {
                Ok(ask) => ask,
                Err(FrameError::Io(_)) => return,
                Err(why) => {
                    if let Some(unsaid) = self.admission.may_log() {
                        tracing::warn!(peer, %why, unsaid, "a question that is refused");
                    }
                    return;
                }
            };
            *lock(&self.heard[peer]) = Some(Instant::now());
            let answer = handler(peer, ask);
            if self.write(tls, &frame(&answer), Instant::now() + QUIET).is_err() {
                return;
            }
        }
    }

    fn unreachable(&self, peer: usize, why: io::Error) -> AskError {
        let address = self.addresses[peer].clone().unwrap_or_default();
        AskError::Unreachable { peer, address, why: told(why) }
    }

    /// Calls another end where it is configured to be, or else where another node says that it is.
    fn call(&self, peer: usize, told: Option<&String>, until: Instant) -> io::Result<Secure> {
        let configured = self.addresses[peer].as_ref();
        let at = configured.or(told).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::NotFound,
                "nobody has said where it is: give its [[worker]] in worker.toml an `address`, or have its node told (POST /workers)",
            )
        })?;
        let found = resolved(at, until)?;
        if configured.is_some() {
            self.admission.is_node(peer, found.iter().map(SocketAddr::ip));
        }
        let tls = self.dial(found, &self.calling[peer], until)?;
        // Whatever was said, there it is.
        self.admission.is_node(peer, tls.socket().peer_addr().ok().map(|at| at.ip()));
        Ok(tls)
    }

    fn dial(
        &self,
        found: Vec<SocketAddr>,
        calling: &Arc<ClientConfig>,
        until: Instant,
    ) -> io::Result<Secure> {
        let left = || {
            until
                .saturating_duration_since(Instant::now())
                .clamp(Duration::from_millis(1), GREETING)
        };
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for address in found {
            match TcpStream::connect_timeout(&address, left()) {
                Ok(socket) => {
                    prepare(&socket, left())?;
                    let _late =
                        self.admission.until(&socket, until.min(Instant::now() + GREETING))?;
                    return Secure::call_with(calling.clone(), socket);
                }
                Err(e) => last = e,
            }
        }
        Err(last)
    }

    /// Writes a frame; the connection is closed if that takes longer.
    fn write(&self, tls: &Secure, frame: &[u8], until: Instant) -> io::Result<()> {
        let _late = self.admission.until(tls.socket(), until)?;
        tls.write_all(frame, true)
    }

    fn control(&self, peer: usize, until: Instant) -> Result<Secure, AskError> {
        let open = || {
            let tls = self.call(peer, None, until)?;
            self.write(&tls, &frame(&Purpose::Control { version: PROTOCOL }), until)?;
            Ok(tls)
        };
        let tls = open().map_err(|e| self.unreachable(peer, e))?;
        match read_frame(&mut Timed { from: &tls, until }, SHORT) {
            Ok(Answer::Done) => Ok(tls),
            Ok(Answer::Refused(why)) => Err(self.unreachable(peer, io::Error::other(why))),
            Ok(_) => Err(self.unreachable(peer, io::ErrorKind::InvalidData.into())),
            Err(FrameError::Io(e)) => Err(self.unreachable(peer, e)),
            Err(why) => Err(AskError::Answer { peer, why }),
        }
    }

    /// Asks a node once.
    ///
    /// # Errors
    ///
    /// A node that is not there or does not answer in time.
    pub fn ask(&self, peer: usize, ask: &Ask, deadline: Duration) -> Result<Answer, AskError> {
        let until = Instant::now() + deadline;
        let kept = lock(&self.idle[peer]).pop();
        let used = kept.is_some();
        let one = |tls: &Secure| -> Result<Answer, FrameError> {
            tls.socket().set_write_timeout(Some(deadline))?;
            let _late = self.admission.until(tls.socket(), until)?;
            tls.write_all(&frame(ask), true)?;
            read_frame(&mut Timed { from: tls, until }, self.longest.load(Ordering::Relaxed))
        };
        let mut tls = match kept {
            Some(tls) => tls,
            None => self.control(peer, until)?,
        };
        let mut answer = one(&tls);
        // A connection that was kept may have ended in the meantime. Questions may be asked twice.
        if used && matches!(&answer, Err(FrameError::Io(e)) if e.kind() != io::ErrorKind::TimedOut)
        {
            lock(&self.idle[peer]).clear();
            tls = self.control(peer, until)?;
            answer = one(&tls);
        }
        match answer {
            Ok(answer) => {
                *lock(&self.heard[peer]) = Some(Instant::now());
                let mut idle = lock(&self.idle[peer]);
                if idle.len() < KEPT {
                    idle.push(tls);
                }
                Ok(answer)
            }
            Err(FrameError::Io(e)) => Err(self.unreachable(peer, e)),
            Err(why) => Err(AskError::Answer { peer, why }),
        }
    }

    /// Looks whether a node is there, on a thread of its own, unless that is being done already.
    pub fn ping(self: &Arc<Self>, peer: usize, deadline: Duration) {
        if self.pinged[peer].swap(true, Ordering::AcqRel) {
            return;
        }
        let me = self.clone();
        let pings = move || {
            // Whether it answers is seen by when it was last heard of.
            let (begun, before) = (Instant::now(), now_ms());
            if let Ok(Answer::Clock(theirs)) = me.ask(peer, &Ask::Ping, deadline) {
                // It has looked at its clock in the middle of the question and the answer.
                let here = before as f64 + begun.elapsed().as_millis() as f64 / 2.0;
                *lock(&me.offsets[peer]) = Some((theirs as f64 - here) / 1000.0);
            }
            me.pinged[peer].store(false, Ordering::Release);
        };
        if spawn("ping", pings).is_err() {
            self.pinged[peer].store(false, Ordering::Release);
        }
    }

    /// Takes no more callers, and ends connections that nobody waits for.
    pub fn stop(&self, own: Option<SocketAddr>) {
        self.stop.store(true, Ordering::Relaxed);
        self.idle.iter().for_each(|i| lock(i).clear());
        lock(&self.arrivals).clear();
        if let Some(mut own) = own {
            if own.ip().is_unspecified() {
                own.set_ip(match own.ip() {
                    IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                    IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
                });
            }
            // Wakes the thread that listens.
            drop(TcpStream::connect_timeout(&own, Duration::from_secs(1)));
        }
    }
}

/// The addresses of a host and a port, which another process may have told. A name server may be silent.
fn resolved(at: &str, until: Instant) -> io::Result<Vec<SocketAddr>> {
    let (say, heard) = channel();
    let at = at.to_string();
    spawn("resolve", move || {
        // Who asks may have waited long enough.
        let _ = say.send(at.to_socket_addrs().map(Vec::from_iter));
    })?;
    let left = until.saturating_duration_since(Instant::now());
    heard.recv_timeout(left).unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// What is said of a connection that has come to nothing. A handshake, a question and an answer each have a time limit, which
/// systems name differently.
fn told(why: io::Error) -> io::Error {
    match why.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => io::Error::new(
            io::ErrorKind::TimedOut,
            "it does not answer in time: its process may be stopped or the line be cut; look at that machine",
        ),
        io::ErrorKind::UnexpectedEof => {
            io::Error::new(io::ErrorKind::UnexpectedEof, "it has ended the connection")
        }
        _ => why,
    }
}

fn no_tls(e: rustls::Error) -> String {
    format!("TLS cannot be set up: {e}")
}

/// Small frames leave at once; a connection being set up has a time limit.
fn prepare(socket: &TcpStream, limit: Duration) -> io::Result<()> {
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(limit))?;
    socket.set_write_timeout(Some(limit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys;

    /// A node may say anything of where its worker is. Where it is configured to be counts, and who does not prove to be
    /// one is none.
    #[test]
    fn a_worker_is_called_where_another_node_says_only_if_nothing_is_configured() {
        let dir = tempfile::tempdir().expect("a folder");
        keys::make(dir.path(), &keys::Plan::local(7400, Vec::new(), String::new())).expect("keys");
        keys::workers(dir.path(), 1).expect("workers");
        let path = dir.path().join("node-1/worker-0/worker.toml");
        let mut config = WorkerConfig::read(&path).expect("reads");
        // Whoever is called ends the connection at once.
        let [there, elsewhere] = [(); 2].map(|()| {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let (at, called) = (listener.local_addr().expect("a port"), Arc::default());
            let count: Arc<AtomicUsize> = Arc::clone(&called);
            spawn("other", move || {
                for socket in listener.incoming().flatten() {
                    count.fetch_add(1, Ordering::SeqCst);
                    drop(socket);
                }
            })
            .expect("a thread");
            (at.to_string(), called)
        });
        let calls = |config: &WorkerConfig, told: Option<&String>| {
            let peers = Peers::of_worker(config).expect("keys");
            let before = [&there, &elsewhere].map(|(_, called)| called.load(Ordering::SeqCst));
            let why = peers.call(0, told, Instant::now() + GREETING).expect_err("is none");
            let after = [&there, &elsewhere].map(|(_, called)| called.load(Ordering::SeqCst));
            ([0, 1].map(|i| after[i] - before[i]), peers.admission.knows(0), why.to_string())
        };
        config.worker[0].address = Some(there.0.clone());
        for told in [None, Some(&elsewhere.0)] {
            let (called, known, _) = calls(&config, told);
            assert_eq!((called, known), ([1, 0], 1), "{told:?}");
        }
        config.worker[0].address = None;
        let (called, known, _) = calls(&config, Some(&elsewhere.0));
        assert_eq!((called, known), ([0, 1], 0));
        let (called, known, why) = calls(&config, None);
        assert!((called, known) == ([0, 0], 0) && why.contains("nobody has said"), "{why}");
    }

    #[test]
    fn a_handler_that_panics_gives_its_place_back() {
        let open = AtomicUsize::new(0);
        let panicked = std::panic::catch_unwind(|| {
            let (before, _one) = Counted::new(&open);
            assert_eq!((before, open.load(Ordering::Relaxed)), (0, 1));
            panic!("a bug");
        });
        assert!(panicked.is_err());
        assert_eq!(open.load(Ordering::Relaxed), 0);
    }
}
