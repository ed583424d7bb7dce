//! A link that takes the time of a network: bandwidth and latency imposed on endpoints in one process.
//!
//! **Model.** Every endpoint has one full-duplex line. What it sends, to whomever, leaves one frame
//! after another at the line's rate; it travels for the one-way latency; at the receiving end all
//! senders share the line's rate again. A frame is there when its last bit is. Payload travels in TCP
//! segments: every [`SEGMENT`] bytes take [`OVERHEAD`] more on the line.
//!
//! Nothing is held back by a thread of its own: a frame is handed to the inner link at once, its time
//! is entered in a ledger of the receiving end, and the receiver waits until that time. A wait sleeps
//! and spins only for its last tenth of a millisecond, so that parties that wait leave the cores to
//! those that compute. Errors of the inner link (a closed channel, a wrong frame) are not delayed.

use super::{Header, Link, LinkError, Peer};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of payload in a full segment on an Ethernet path with TCP timestamps.
pub const SEGMENT: u64 = 1448;
/// What a segment adds on the line: IP and TCP headers (52 bytes) and the Ethernet frame (18).
pub const OVERHEAD: u64 = 70;
/// The last part of a wait, which spins: about what a sleep may overrun.
const SPIN: Duration = Duration::from_micros(100);

/// What a line can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Bits per second in each direction; above 0.
    pub bits_per_s: f64,
    /// From one end to another: half a round trip.
    pub latency: Duration,
}

impl Line {
    /// How long a body of `len` bytes and its header occupy the line.
    pub fn occupied(&self, len: u64) -> Duration {
        let payload = len.saturating_add(Header::BYTES as u64);
        let wire = payload.saturating_add(payload.div_ceil(SEGMENT).saturating_mul(OVERHEAD));
        let seconds = wire as f64 * 8.0 / self.bits_per_s;
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

/// Times are counted from the start of the network.
type Time = Duration;

/// A frame under way: when its last bit would be there if nobody else sent to the same end, and a
/// number that tells frames apart.
type Ticket = (Time, u64);

/// One end of the network.
#[derive(Default)]
struct End {
    /// When the last frame that was sent will have left.
    sent: Time,
    /// From when to when the line was last busy receiving.
    busy: (Time, Time),
    /// Frames under way to this end and how long each occupies the line.
    coming: BTreeMap<Ticket, Duration>,
    /// Frames whose time is settled.
    due: BTreeMap<Ticket, Time>,
    /// Tickets by sender, in the order of sending.
    queues: BTreeMap<Peer, VecDeque<Ticket>>,
}

impl End {
    /// When a frame is there. Frames share the line in the order in which they would arrive alone; all
    /// that come before have been entered once that time is over.
    fn settle(&mut self, ticket: Ticket) -> Time {
        while let Some((&first, &occupied)) = self.coming.first_key_value() {
            if first > ticket {
                break;
            }
            self.coming.remove(&first);
            // Alone it would come from `start` on; it waits as long as the line serves others then.
            let start = first.0.saturating_sub(occupied);
            let (from, to) = self.busy;
            let others = to.saturating_sub(start.max(from));
            let done = first.0.saturating_add(others);
            self.busy = (if others.is_zero() { start } else { start.min(from) }, done);
            self.due.insert(first, done);
        }
        self.due.remove(&ticket).unwrap_or(ticket.0)
    }
}

struct State {
    ends: BTreeMap<Peer, End>,
    tickets: u64,
}

/// The lines of all endpoints of a run.
pub struct Network {
    line: Line,
    start: Instant,
    state: Mutex<State>,
}

impl Network {
    /// Idle lines.
    pub fn new(line: Line) -> Arc<Network> {
        let state = Mutex::new(State { ends: BTreeMap::new(), tickets: 0 });
        Arc::new(Network { line, start: Instant::now(), state })
    }

    /// The line of endpoint `me`; `inner` carries the frames. The other endpoints of `inner` must
    /// be attached to the same network.
    pub fn attach<L: Link>(self: &Arc<Network>, me: Peer, inner: L) -> Shaped<L> {
        Shaped { network: self.clone(), me, inner }
    }

    /// Every update is a few assignments: a panic of another thread leaves nothing half done.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a frame that is sent at `now`.
    fn enter(&self, now: Time, from: Peer, to: Peer, len: u64) {
        let occupied = self.line.occupied(len);
        let mut state = self.state();
        state.tickets += 1;
        let number = state.tickets;
        let sender = state.ends.entry(from).or_default();
        sender.sent = sender.sent.max(now).saturating_add(occupied);
        let ticket = (sender.sent.saturating_add(self.line.latency), number);
        let end = state.ends.entry(to).or_default();
        end.coming.insert(ticket, occupied);
        end.queues.entry(from).or_default().push_back(ticket);
    }

    /// The ticket of the next frame of `from`.
    fn next(&self, me: Peer, from: Peer) -> Option<Ticket> {
        let mut state = self.state();
        state.ends.entry(me).or_default().queues.get_mut(&from)?.pop_front()
    }

    fn settle(&self, me: Peer, ticket: Ticket) -> Time {
        self.state().ends.entry(me).or_default().settle(ticket)
    }

    /// Waits until `time`; nothing if it has passed.
    fn wait(&self, time: Time) {
        loop {
            let left = time.saturating_sub(self.start.elapsed());
            if left.is_zero() {
                return;
            }
            match left.checked_sub(SPIN) {
                Some(sleep) if !sleep.is_zero() => std::thread::sleep(sleep),
                _ => std::thread::yield_now(),
            }
        }
    }
}

/// An endpoint whose frames take their time.
pub struct Shaped<L> {
    network: Arc<Network>,
    me: Peer,
    inner: L,
}

impl<L: Link> Link for Shaped<L> {
    fn send(&mut self, to: Peer, header: Header, body: Vec<u8>) -> Result<(), LinkError> {
        // Entered first: once the receiver has the frame, it looks for the ticket.
        let now = self.network.start.elapsed();
        self.network.enter(now, self.me, to, body.len() as u64);
        self.inner.send(to, header, body)
    }

    fn expect(&mut self, from: Peer, frames: &[Header]) {
        self.inner.expect(from, frames);
    }

    fn recv(
        &mut self,
        from: Peer,
        expected: Header,
        deadline: Duration,
    ) -> Result<Vec<u8>, LinkError> {
        let end = self.network.start.elapsed().saturating_add(deadline);
        let body = self.inner.recv(from, expected, deadline)?;
        let Some(ticket) = self.network.next(self.me, from) else { return Ok(body) };
        for settled in [false, true] {
            let time = if settled { self.network.settle(self.me, ticket) } else { ticket.0 };
            self.network.wait(time.min(end));
            if time > end {
                return Err(LinkError::Late(deadline));
            }
        }
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Kind;
    use crate::link::memory::mesh;

    const MS: Duration = Duration::from_millis(1);
    const A: Peer = Peer::Party(0);
    const B: Peer = Peer::Party(1);
    const C: Peer = Peer::Party(2);

    /// 8 Mbit/s: a byte takes a microsecond.
    fn line() -> Line {
        Line { bits_per_s: 8e6, latency: 10 * MS }
    }

    /// Bytes on the line of a body with this many bytes.
    fn wire(len: u64) -> Duration {
        let payload = len + Header::BYTES as u64;
        Duration::from_micros(payload + payload.div_ceil(1448) * 70)
    }

    fn due(net: &Network, me: Peer, from: Peer) -> Time {
        let ticket = net.next(me, from).expect("a frame");
        net.settle(me, ticket)
    }

    #[test]
    fn the_sender_shares_its_line() {
        let net = Network::new(line());
        net.enter(Time::ZERO, A, B, 1000);
        net.enter(Time::ZERO, A, C, 2000);
        net.enter(100 * MS, A, B, 0);
        assert_eq!(due(&net, B, A), wire(1000) + 10 * MS);
        assert_eq!(due(&net, C, A), wire(1000) + wire(2000) + 10 * MS);
        assert_eq!(due(&net, B, A), 100 * MS + wire(0) + 10 * MS);
    }

    #[test]
    fn the_receiver_shares_its_line() {
        let net = Network::new(line());
        net.enter(Time::ZERO, A, C, 50_000);
        net.enter(MS, B, C, 1000);
        // The small one comes in between, the large one is later for it.
        assert_eq!(due(&net, C, A), wire(50_000) + 10 * MS + wire(1000));
        assert_eq!(due(&net, C, B), MS + wire(1000) + 10 * MS);
        net.enter(200 * MS, A, C, 50_000);
        net.enter(200 * MS, B, C, 50_000);
        let (a, b) = (due(&net, C, A), due(&net, C, B));
        assert_eq!(a, 200 * MS + wire(50_000) + 10 * MS);
        assert_eq!(b, a + wire(50_000));
        // Full duplex: what C receives does not delay what it sends.
        net.enter(200 * MS, C, A, 10);
        assert_eq!(due(&net, A, C), 200 * MS + wire(10) + 10 * MS);
    }

    #[test]
    fn frames_arrive_in_order_and_not_before_their_time() {
        let line = Line { bits_per_s: 8e6, latency: 5 * MS };
        let net = Network::new(line);
        let [a, b, _c] = mesh(&[]).parties;
        let (mut a, mut b) = (net.attach(A, a), net.attach(B, b));
        let h = |layer, len| Header::new(Kind::Layer, layer, len);
        let start = Instant::now();
        for i in 0..3 {
            a.send(B, h(i, 2000), vec![i as u8; 2000]).unwrap();
        }
        for i in 0..3u32 {
            let got = b.recv(A, h(i, 2000), Duration::from_secs(60)).unwrap();
            assert_eq!(got, vec![i as u8; 2000]);
            assert!(start.elapsed() >= 5 * MS + (i + 1) * wire(2000));
        }
        a.send(B, h(3, 0), vec![]).unwrap();
        assert_eq!(b.recv(A, h(3, 0), MS), Err(LinkError::Late(MS)));
        drop(a);
        assert_eq!(b.recv(A, h(4, 0), MS), Err(LinkError::Closed));
    }
}
