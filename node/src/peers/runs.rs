//! Connections for the messages of a run: a fresh one for each pair of nodes, which the one with the larger number opens.

use super::{Peers, RETRY};
use crate::locks::lock;
use crate::state::Cause;
use crate::wire::{FrameError, Purpose, RunHello, RunName, SHORT, frame, read_frame};
use slvr_runtime::link::Peer;
use slvr_runtime::link::tcp::Tcp;
use slvr_runtime::link::tls::Secure;
use slvr_runtime::party::Origin;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Most between two attempts to reach another end, and between two looks whether there is still hope.
const PAUSE: Duration = Duration::from_secs(1);

/// Why the nodes could not be connected for a run.
#[derive(Debug, Error)]
pub enum LinksError {
    /// A node that is not there.
    #[error("handshake, node {peer}: {why}")]
    Late { peer: usize, why: String },
    #[error("handshake, node {peer}: {why}")]
    Ended { peer: usize, why: String },
    #[error("handshake: {0}")]
    Io(#[from] io::Error),
}

/// Why it makes no sense any more to wait for a node, if it makes none.
pub type Ended<'a> = &'a (dyn Fn(usize) -> Option<String> + Sync);

impl From<LinksError> for Cause {
    fn from(e: LinksError) -> Cause {
        let origin = match &e {
            LinksError::Late { peer, .. } => Origin::Waited(Some(*peer)),
            LinksError::Ended { .. } => Origin::Echo,
            LinksError::Io(_) => Origin::Own,
        };
        Cause { origin, ..e.to_string().into() }
    }
}

/// Reads from a connection until a moment, or until there is nothing to hope for: who has ended the attempt keeps a connection
/// for a while, and says nothing on it.
struct Hopeful<'a, F> {
    from: &'a Secure,
    until: Instant,
    goes_on: F,
}

impl<F: Fn() -> bool> Read for Hopeful<'_, F> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            let soon = self.until.min(Instant::now() + PAUSE);
            match self.from.read_until(to, soon) {
                Err(e)
                    if e.kind() == io::ErrorKind::TimedOut
                        && soon < self.until
                        && (self.goes_on)() => {}
                done => return done,
            }
        }
    }
}

impl Peers {
    /// Connects this node with the other two for an attempt; what they say, by node. `hello` is what each is told, `at` says where
    /// those are for which no address is configured, and `ended` why it makes no sense to wait for one, which is asked now and
    /// then.
    ///
    /// # Errors
    ///
    /// A node that does not come in time.
    pub fn run_links(
        &self,
        name: &RunName,
        hello: &(dyn Fn(usize) -> RunHello + Sync),
        at: &BTreeMap<usize, String>,
        ended: Ended<'_>,
        deadline: Duration,
    ) -> Result<(Tcp, BTreeMap<usize, RunHello>), LinksError> {
        let until = Instant::now() + deadline;
        let one = |peer: usize| match peer < self.me {
            true => self.open_run((peer, at.get(&peer)), name, hello(peer), ended, until),
            false => self.await_run(peer, name, hello(peer), ended, until),
        };
        let [a, b] = self.others();
        let (first, second) = thread::scope(|scope| {
            // Both at a time: the one that is called may be waiting for the other one.
            let other = thread::Builder::new().spawn_scoped(scope, || one(b))?;
            let end = || other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok::<_, LinksError>((one(a), end()))
        })?;
        let ((tls_a, hello_a), (tls_b, hello_b)) = (first?, second?);
        let tcp = Tcp::secured([(Peer::Party(a), tls_a), (Peer::Party(b), tls_b)])?;
        Ok((tcp, BTreeMap::from([(a, hello_a), (b, hello_b)])))
    }

    fn open_run(
        &self,
        (peer, at): (usize, Option<&String>),
        name: &RunName,
        hello: RunHello,
        ended: Ended<'_>,
        until: Instant,
    ) -> Result<(Secure, RunHello), LinksError> {
        let first = frame(&Purpose::Run { name: name.clone(), hello });
        let mut pause = RETRY;
        loop {
            let open = || -> Result<(Secure, RunHello), FrameError> {
                let tls = self.call(peer, at, until)?;
                self.write(&tls, &first, until)?;
                let goes_on = || ended(peer).is_none();
                let theirs = read_frame(&mut Hopeful { from: &tls, until, goes_on }, SHORT)?;
                Ok((tls, theirs))
            };
            match open() {
                Ok(done) => return Ok(done),
                Err(e) if Instant::now() + pause >= until => {
                    return Err(LinksError::Late { peer, why: e.to_string() });
                }
                Err(_) => thread::sleep(pause),
            }
            if let Some(why) = ended(peer) {
                return Err(LinksError::Ended { peer, why });
            }
            pause = (2 * pause).min(PAUSE);
        }
    }

    fn await_run(
        &self,
        peer: usize,
        name: &RunName,
        hello: RunHello,
        ended: Ended<'_>,
        until: Instant,
    ) -> Result<(Secure, RunHello), LinksError> {
        let late = |why: String| LinksError::Late { peer, why };
        loop {
            let mut arrivals = lock(&self.arrivals);
            let came = arrivals.remove(&(name.clone(), peer));
            if let Some((tls, theirs, _)) = came {
                drop(arrivals);
                self.write(&tls, &frame(&hello), until).map_err(|e| late(e.to_string()))?;
                return Ok((tls, theirs));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.stop.load(Ordering::Relaxed) {
                return Err(late("it did not connect in time".into()));
            }
            let waited = self.arrived.wait_timeout(arrivals, left.min(Duration::from_millis(200)));
            drop(waited.unwrap_or_else(PoisonError::into_inner));
            if let Some(why) = ended(peer) {
                return Err(LinksError::Ended { peer, why });
            }
        }
    }
}
