//! Connections between a node and its workers: one for each attempt and worker, which the node opens.

use super::{GREETING, Peers, Timed, resolved, told};
use crate::config;
use crate::locks::lock;
use crate::threads::spawn;
use crate::trust;
use crate::wire::{Answer, FrameError, PROTOCOL, Purpose, RunName, frame, read_frame};
use rustls::{ClientConfig, Error};
use serde::Serialize;
use serde::de::DeserializeOwned;
use slvr_runtime::link::pinned::Own;
use slvr_runtime::link::tls::Secure;
use socket2::{SockRef, TcpKeepalive};
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// For how long the system of the other end may acknowledge nothing. Its machine or the way to it is gone then.
const SILENT: Duration = Duration::from_secs(30);
/// What is large has a time limit for each piece of so many bytes, so that it takes as long as it takes.
const PIECE: usize = 1 << 20;

/// For how long a node waits until its workers say whether they take part: the other nodes wait for it meanwhile.
pub fn answers_within(deadline: Duration) -> Duration {
    GREETING.min(deadline / 2)
}

/// Has the system notice an end that is gone without a word, while nothing is said and while something is.
fn watch(socket: &TcpStream, deadline: Duration) -> io::Result<()> {
    let probes =
        TcpKeepalive::new().with_time(SILENT / 2).with_interval(SILENT / 6).with_retries(3);
    let socket = SockRef::from(socket);
    socket.set_tcp_keepalive(&probes)?;
    // One that reads nothing for a while is not gone: that is what the deadline is for.
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(SILENT.max(deadline)))?;
    #[cfg(not(target_os = "linux"))]
    let _ = deadline;
    Ok(())
}

/// The moment after so long.
fn at(most: Duration) -> Instant {
    // Clocks have an end.
    Instant::now()
        .checked_add(most)
        .unwrap_or_else(|| Instant::now() + Duration::from_secs(1 << 31))
}

/// Computes ranges of an attempt for a worker's node, which takes it for this worker of this party.
pub type Ranges = dyn Fn((usize, u16), RunName, Line) + Send + Sync;

/// Why a node does not take note of where a worker is.
#[derive(Debug)]
pub enum TellError {
    /// There is none of this number.
    None,
    /// It is configured to be there.
    Configured(String),
}

/// A worker as its node calls it.
pub(super) struct OwnWorker {
    configured: Option<String>,
    /// Where it is by what the node was told while it runs, if no address is configured.
    told: Mutex<Option<String>>,
    calling: Arc<ClientConfig>,
}

impl OwnWorker {
    pub(super) fn new(worker: &config::OwnWorker, own: Own<'_>) -> Result<OwnWorker, Error> {
        let calling = Arc::new(trust::client(Some(own), worker.certificates.clone())?);
        Ok(OwnWorker { configured: worker.address.clone(), told: Mutex::default(), calling })
    }

    fn address(&self) -> Option<String> {
        self.configured.clone().or_else(|| lock(&self.told).clone())
    }
}

/// A connection between a node and its worker. What is read and written has a time limit, and is wiped.
pub struct Line {
    peers: Arc<Peers>,
    tls: Secure,
    /// Where the other end was called; empty if it has called itself.
    pub address: String,
    /// For how long a message is waited for.
    pub deadline: Duration,
    /// Held while something is said, with the bytes that follow it.
    saying: Mutex<()>,
    left: AtomicBool,
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Line(hidden)")
    }
}

impl Line {
    pub(super) fn new(peers: Arc<Peers>, tls: Secure, address: String, deadline_s: u64) -> Line {
        // Longer than a configuration may say it is not.
        let deadline = Duration::from_secs(deadline_s.clamp(1, config::LONGEST_WAIT));
        if let Err(why) = watch(tls.socket(), deadline) {
            tracing::warn!(%why, "a machine that vanishes is noticed after the deadlines of its attempt only");
        }
        let (saying, left) = (Mutex::default(), AtomicBool::new(false));
        Line { peers, tls, address, deadline, saying, left }
    }

    /// Says something, and then bytes: on any thread, and nothing else is said between.
    ///
    /// # Errors
    ///
    /// A connection that ends, or takes longer.
    pub fn say<T: Serialize>(&self, message: &T, bytes: &[u8], most: Duration) -> io::Result<()> {
        let _alone = lock(&self.saying);
        self.write(&frame(message), bytes.is_empty(), most)?;
        match bytes {
            [] => Ok(()),
            bytes => self.write(bytes, true, most),
        }
    }

    /// Writes bytes that belong to what was said before.
    ///
    /// # Errors
    ///
    /// A connection that ends, or takes longer.
    pub fn write(&self, bytes: &[u8], flush: bool, most: Duration) -> io::Result<()> {
        self.tls.socket().set_write_timeout(Some(most))?;
        let last = bytes.len().saturating_sub(1) / PIECE;
        for (n, piece) in bytes.chunks(PIECE).enumerate() {
            let _late = self.peers.admission.until(self.tls.socket(), at(most))?;
            self.tls.write_all(piece, flush || n < last)?;
        }
        Ok(())
    }

    /// Hears a message without the bytes that follow it.
    ///
    /// # Errors
    ///
    /// A connection that ends or is silent; what is no such message.
    pub fn hear<T: DeserializeOwned>(&self, most: Duration) -> Result<T, FrameError> {
        // Clients that are replaced are listed.
        const LONGEST: u64 = 16 << 20;
        read_frame(&mut Timed { from: &self.tls, until: at(most) }, LONGEST)
    }

    /// Reads so many bytes, and says of each piece that it is there. The caller has compared the number with what is admitted.
    ///
    /// # Errors
    ///
    /// A connection that ends or is silent.
    pub fn bytes(
        &self,
        len: u64,
        most: Duration,
        each: impl Fn(),
    ) -> io::Result<Zeroizing<Vec<u8>>> {
        // What a vector leaves behind as it grows is not wiped.
        let mut bytes = Zeroizing::new(vec![0; len as usize]);
        for piece in bytes.chunks_mut(PIECE) {
            Timed { from: &self.tls, until: at(most) }.read_exact(piece)?;
            each();
        }
        Ok(bytes)
    }

    /// Has whoever hears, on any thread, hear that the connection has ended. What is said still goes out.
    pub fn deaf(&self) {
        self.leave(Shutdown::Read);
    }

    /// Ends it: whoever says or hears something, on any thread, hears that.
    pub fn end(&self) {
        self.leave(Shutdown::Both);
    }

    fn leave(&self, how: Shutdown) {
        self.left.store(true, Ordering::Release);
        // The other end may have closed it.
        let _ = self.tls.socket().shutdown(how);
    }

    /// Whether this end has left it, or no longer hears.
    pub fn is_left(&self) -> bool {
        self.left.load(Ordering::Acquire)
    }
}

impl FrameError {
    /// What is said of the other end.
    pub fn told(self) -> String {
        match self {
            FrameError::Io(why) => told(why).to_string(),
            why => why.to_string(),
        }
    }
}

impl Peers {
    /// Asks workers of this node to take part in an attempt, at the same time. Those that are there and free, and why the
    /// others are not, by number.
    pub fn workers(
        self: &Arc<Self>,
        numbers: Vec<u16>,
        name: &RunName,
        deadline: Duration,
    ) -> BTreeMap<u16, Result<Line, String>> {
        let until = Instant::now() + answers_within(deadline);
        let (say, heard) = channel();
        let mut all = BTreeMap::new();
        for number in numbers {
            all.insert(number, Err("it does not answer in time".to_string()));
            let (me, name, say) = (self.clone(), name.clone(), say.clone());
            let calls = move || {
                let (version, worker, deadline_s) = (PROTOCOL, (me.me, number), deadline.as_secs());
                let purpose = Purpose::Ranges { version, name, deadline_s, worker };
                let done = me.call_worker(number, &purpose, until);
                // Who asks may have waited long enough.
                let _ = say.send((number, done));
            };
            if let Err(e) = spawn("worker", calls) {
                all.insert(number, Err(e.to_string()));
            }
        }
        drop(say);
        let left = || until.saturating_duration_since(Instant::now());
        while let Ok((number, done)) = heard.recv_timeout(left()) {
            all.insert(number, done);
        }
        all
    }

    /// Looks whether a worker is there and knows its node.
    ///
    /// # Errors
    ///
    /// Why it is not.
    pub fn reach_worker(self: &Arc<Self>, number: u16, most: Duration) -> Result<(), String> {
        self.call_worker(number, &Purpose::Control { version: PROTOCOL }, at(most)).map(drop)
    }

    fn call_worker(
        self: &Arc<Self>,
        number: u16,
        purpose: &Purpose,
        until: Instant,
    ) -> Result<Line, String> {
        let worker = self.workers.get(usize::from(number)).ok_or("there is none")?;
        let address = worker.address().ok_or(
            "nobody has said yet where it is: give its [[worker]] in node.toml an `address`, or have what starts it tell the node (POST /workers)",
        )?;
        let left = || until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let deadline_s = match purpose {
            Purpose::Ranges { deadline_s, .. } => *deadline_s,
            Purpose::Control { .. } | Purpose::Run { .. } => left().as_secs(),
        };
        let open = || -> Result<(Line, Answer), FrameError> {
            let tls = self.dial(resolved(&address, until)?, &worker.calling, until)?;
            let line = Line::new(self.clone(), tls, address.clone(), deadline_s);
            line.say(purpose, &[], left())?;
            let answer = line.hear(left())?;
            Ok((line, answer))
        };
        match open() {
            Ok((line, Answer::Done)) => Ok(line),
            Ok((_, Answer::Busy)) => Err("it computes for another attempt".into()),
            Ok((_, Answer::Refused(why))) => Err(why),
            Ok(_) => Err("what it answers is no answer to this".into()),
            Err(why) => Err(why.told()),
        }
    }

    /// Where a worker is called, if that is known.
    pub fn worker_at(&self, number: u16) -> Option<String> {
        self.workers.get(usize::from(number))?.address()
    }

    /// A worker of which no address is configured is called there from now on. Whoever answers there still has to show its
    /// certificate. Whether that is news.
    ///
    /// # Errors
    ///
    /// No such worker; one that has another address.
    pub fn tell_worker(&self, number: u16, address: String) -> Result<bool, TellError> {
        let worker = self.workers.get(usize::from(number)).ok_or(TellError::None)?;
        match &worker.configured {
            Some(at) if *at == address => Ok(false),
            Some(at) => Err(TellError::Configured(at.clone())),
            None => {
                let before = lock(&worker.told).replace(address.clone());
                Ok(before.as_ref() != Some(&address))
            }
        }
    }
}
