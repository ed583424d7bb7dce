//! Who may hold a thread of this node, and for how long: callers that have not said who they are, and calls of this node
//! that do not come to an end.
//!
//! A time limit of a socket is one for each read. Whoever sends a byte now and then keeps to it for hours. So everything
//! that has to end at a moment is noted here with a copy of its socket, which is closed at that moment by [`Admission::sweep`].

use crate::locks::lock;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long a caller may take to prove who it is and to say what it wants.
pub const GREETING: Duration = Duration::from_secs(10);
/// How many callers may be about to say who they are.
pub const CALLERS: usize = 64;

/// One line about strangers may be logged for each so many seconds; the rest is counted.
const LINES: Duration = Duration::from_secs(1);
/// So many lines may come at once.
const BURST: u32 = 20;

/// A caller that has not proven yet who it is.
#[derive(Debug)]
struct Caller {
    number: u64,
    came: Instant,
    from: Option<IpAddr>,
    socket: TcpStream,
}

#[derive(Debug, Default)]
struct State {
    callers: VecDeque<Caller>,
    /// Sockets that are closed at a moment.
    until: BTreeMap<u64, (Instant, TcpStream)>,
    /// From where nodes call, or where they are called.
    nodes: BTreeMap<usize, BTreeSet<IpAddr>>,
    count: u64,
}

#[derive(Debug, Default)]
pub struct Admission {
    state: Mutex<State>,
    lines: Mutex<Lines>,
}

/// Takes a socket out of the list again when it is dropped.
#[derive(Debug)]
pub struct Until<'a>(&'a Admission, u64);

impl Drop for Until<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).until.remove(&self.1);
    }
}

fn close(socket: &TcpStream) {
    // It may have gone by itself.
    let _ = socket.shutdown(Shutdown::Both);
}

impl Admission {
    /// Notes a caller, and closes another one if there are too many: the first that does not call from where a node
    /// does. How many were closed.
    ///
    /// # Errors
    ///
    /// A system without files left.
    pub fn admit(&self, socket: &TcpStream) -> io::Result<(u64, usize)> {
        let copy = socket.try_clone()?;
        let from = socket.peer_addr().ok().map(|a| a.ip());
        let mut state = lock(&self.state);
        let mut closed = 0;
        if state.callers.len() >= CALLERS {
            let known: BTreeSet<IpAddr> = state.nodes.values().flatten().copied().collect();
            let all: Vec<Option<IpAddr>> = state.callers.iter().map(|c| c.from).collect();
            if let Some(caller) = state.callers.remove(first_to_go(&all, &known)) {
                close(&caller.socket);
                closed += 1;
            }
        }
        state.count += 1;
        let number = state.count;
        state.callers.push_back(Caller { number, came: Instant::now(), from, socket: copy });
        Ok((number, closed))
    }

    /// A caller has said who it is, or has gone.
    pub fn greeted(&self, number: u64) {
        lock(&self.state).callers.retain(|c| c.number != number);
    }

    /// A node calls from there, or is called there.
    pub fn is_node(&self, peer: usize, at: impl IntoIterator<Item = IpAddr>) {
        let mut state = lock(&self.state);
        let known = state.nodes.entry(peer).or_default();
        at.into_iter().for_each(|ip| {
            // A node has an address or two. Who moves it often is forgotten where it was.
            if known.len() >= 16 && !known.contains(&ip) {
                known.clear();
            }
            known.insert(ip);
        });
    }

    /// From how many addresses this node or worker calls, or is called.
    #[cfg(test)]
    pub fn knows(&self, peer: usize) -> usize {
        lock(&self.state).nodes.get(&peer).map_or(0, BTreeSet::len)
    }

    /// Closes a socket at a moment, unless what is returned is dropped before.
    ///
    /// # Errors
    ///
    /// A system without files left.
    pub fn until(&self, socket: &TcpStream, until: Instant) -> io::Result<Until<'_>> {
        let copy = socket.try_clone()?;
        let mut state = lock(&self.state);
        state.count += 1;
        let number = state.count;
        state.until.insert(number, (until, copy));
        Ok(Until(self, number))
    }

    /// Closes what is late; how many callers there were among it.
    pub fn sweep(&self) -> usize {
        let now = Instant::now();
        let mut state = lock(&self.state);
        state.until.values().filter(|(until, _)| *until <= now).for_each(|(_, s)| close(s));
        let before = state.callers.len();
        state.callers.retain(|c| {
            let late = now.duration_since(c.came) > GREETING;
            if late {
                close(&c.socket);
            }
            !late
        });
        before - state.callers.len()
    }

    /// Whether something about a stranger may be logged, and how much was not since the last time. Otherwise strangers
    /// would fill the disk that holds the data.
    pub fn may_log(&self) -> Option<u64> {
        lock(&self.lines).one(Instant::now())
    }
}

/// Which caller makes room: the first from where no node calls, or the first.
fn first_to_go(callers: &[Option<IpAddr>], nodes: &BTreeSet<IpAddr>) -> usize {
    callers.iter().position(|from| from.is_none_or(|ip| !nodes.contains(&ip))).unwrap_or(0)
}

/// Lines that may be logged.
#[derive(Debug)]
struct Lines {
    left: u32,
    since: Option<Instant>,
    kept_back: u64,
}

impl Default for Lines {
    fn default() -> Self {
        Lines { left: BURST, since: None, kept_back: 0 }
    }
}

impl Lines {
    fn one(&mut self, now: Instant) -> Option<u64> {
        let since = *self.since.get_or_insert(now);
        let more = (now.duration_since(since).as_secs() / LINES.as_secs()).min(BURST.into()) as u32;
        if more > 0 {
            self.left = (self.left + more).min(BURST);
            self.since = Some(now);
        }
        if self.left == 0 {
            self.kept_back += 1;
            return None;
        }
        self.left -= 1;
        Some(std::mem::take(&mut self.kept_back))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    #[test]
    fn strangers_make_room_before_callers_from_where_a_node_calls() {
        let ip = |n: u8| IpAddr::from([10, 0, 0, n]);
        let nodes = BTreeSet::from([ip(1), ip(2)]);
        for (callers, goes) in [
            (vec![Some(ip(9)), Some(ip(1))], 0),
            (vec![Some(ip(1)), Some(ip(9)), Some(ip(8))], 1),
            (vec![Some(ip(2)), None], 1),
            // Behind one address with the strangers a node is one of them.
            (vec![Some(ip(1)), Some(ip(2))], 0),
        ] {
            assert_eq!(first_to_go(&callers, &nodes), goes, "{callers:?}");
        }
    }

    #[test]
    fn there_are_never_more_callers_than_are_admitted() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let at = listener.local_addr().expect("an address");
        let admission = Admission::default();
        let mut closed = 0;
        let mut all = Vec::new();
        for _ in 0..CALLERS + 5 {
            let there = TcpStream::connect(at).expect("connects");
            let here = listener.accept().expect("a caller").0;
            closed += admission.admit(&here).expect("is noted").1;
            all.push((there, here));
        }
        assert_eq!((closed, lock(&admission.state).callers.len()), (5, CALLERS));
        assert!(!matches!(all[0].0.read(&mut [0; 1]), Ok(1..)), "the first was closed");
    }

    /// Whatever the other end does, what has to end at a moment ends.
    #[test]
    fn a_byte_now_and_then_keeps_nobody_beyond_the_moment() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let there = TcpStream::connect(listener.local_addr().expect("an address"));
        let there = there.expect("connects");
        let mut here = listener.accept().expect("a caller").0;
        here.set_read_timeout(Some(Duration::from_secs(3600))).expect("a limit");
        let admission = Admission::default();
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut drips = &there;
                while !ended.load(Ordering::Relaxed) {
                    let _ = drips.write_all(b"x");
                    admission.sweep();
                    thread::sleep(Duration::from_millis(5));
                }
            });
            let late = admission.until(&here, Instant::now() + Duration::from_millis(200));
            let late = late.expect("is noted");
            let mut byte = [0; 1];
            while let Ok(1..) = here.read(&mut byte) {}
            drop(late);
            ended.store(true, Ordering::Relaxed);
        });
        assert!(lock(&admission.state).until.is_empty());
    }

    #[test]
    fn strangers_fill_no_log() {
        let (mut lines, start) = (Lines::default(), Instant::now());
        let logged = (0..100_000u64)
            .filter(|i| lines.one(start + Duration::from_millis(*i)).is_some())
            .count();
        // A hundred seconds.
        assert!((100..=100 + BURST as usize).contains(&logged), "{logged} lines");
        assert!(lines.kept_back > 0 || lines.left == 0);
        let told = (0..3).filter_map(|i| lines.one(start + Duration::from_secs(200 + i))).max();
        assert!(told.is_some_and(|n| n > 0), "how many there were is said");
    }
}
