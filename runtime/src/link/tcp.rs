//! Links over TCP, with or without TLS.
//!
//! Every peer has two threads. The writer takes frames from a queue, so that sending never waits for the
//! peer to read. The reader takes in the frames that are expected, in order, while the party computes;
//! it compares a header with the expected one before it allocates the body, and reads nothing more than a
//! header that is not expected: so it hears of a peer's end while the party is at something else. Dropping the link writes
//! out what is queued and closes the connections.

use super::tls::{Identity, Secure};
use super::{Header, Kind, Link, LinkError, Peer};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use thiserror::Error;

/// What a party says first on a connection without TLS, before its index.
const HELLO: &[u8; 7] = b"slvr 1\n";

/// How long the last frames may take to leave after the link is dropped.
const LINGER: Duration = Duration::from_secs(1);

/// How long one caller may take to say who it is, and one call to be answered.
const GREETING: Duration = Duration::from_secs(10);

/// How many callers may be about to say who they are. One more, and the first of them is turned away.
const CALLERS: usize = 64;

/// Between two attempts to reach a peer that does not listen yet.
const RETRY: Duration = Duration::from_millis(10);

/// Why the parties could not be connected.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// No connection to a peer, or none from it, within the time allowed.
    #[error("no connection with party {peer} within {after:?}{}", .last.as_ref().map(|e| format!(": {e}")).unwrap_or_default())]
    Late {
        /// Who is missing.
        peer: usize,
        /// The time allowed.
        after: Duration,
        /// What the last attempt said.
        last: Option<io::Error>,
    },
    /// The operating system refused.
    #[error("the network cannot be used: {0}")]
    Io(#[from] io::Error),
    /// Keys or certificates that cannot be used.
    #[cfg(feature = "tls")]
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
}

/// Both directions of a connection.
#[derive(Clone)]
enum Wire {
    Plain(Arc<TcpStream>),
    Secure(Arc<Secure>),
}

impl Wire {
    fn read_exact(&self, mut to: &mut [u8]) -> io::Result<()> {
        match self {
            Wire::Plain(socket) => (&**socket).read_exact(to),
            Wire::Secure(tls) => {
                while !to.is_empty() {
                    match tls.read(to)? {
                        0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                        n => to = &mut to[n..],
                    }
                }
                Ok(())
            }
        }
    }

    fn write(&self, header: &[u8], body: &[u8]) -> io::Result<()> {
        match self {
            Wire::Plain(socket) => {
                // One segment where it fits.
                let (head, tail) = body.split_at(body.len().min(1024));
                let first = [header, head].concat();
                (&**socket).write_all(&first)?;
                (&**socket).write_all(tail)
            }
            Wire::Secure(tls) => {
                tls.write_all(header, body.is_empty())?;
                tls.write_all(body, true)
            }
        }
    }

    fn socket(&self) -> &TcpStream {
        match self {
            Wire::Plain(socket) => socket,
            Wire::Secure(tls) => tls.socket(),
        }
    }
}

/// The connection to one peer.
struct Channel {
    wire: Wire,
    /// `None` once the link is being dropped.
    outgoing: Option<Sender<(Header, Vec<u8>)>>,
    wanted: Option<Sender<Header>>,
    incoming: Receiver<Result<Vec<u8>, LinkError>>,
    /// Why the peer sends nothing more.
    ended: Arc<OnceLock<LinkError>>,
    /// Frames that the reader was told of and that were not asked for yet.
    announced: VecDeque<Header>,
    writer: Option<JoinHandle<()>>,
    reader: Option<JoinHandle<()>>,
}

impl Channel {
    fn new(wire: Wire) -> Channel {
        let (outgoing, to_write) = channel::<(Header, Vec<u8>)>();
        let (wanted, to_read) = channel::<Header>();
        let (arrived, incoming) = channel();
        let (w, r) = (wire.clone(), wire.clone());
        let writer = thread::spawn(move || {
            while let Ok((header, body)) = to_write.recv() {
                if w.write(&header.encode(), &body).is_err() {
                    // The peer has gone; the reader says so.
                    return;
                }
            }
        });
        let ended = Arc::new(OnceLock::new());
        let ends = ended.clone();
        let reader = thread::spawn(move || {
            loop {
                let head = read_header(&r);
                match &head {
                    Ok(head) if head.kind == Kind::Abort => drop(ends.set(LinkError::Aborted)),
                    Ok(_) => {}
                    Err(e) => drop(ends.set(e.clone())),
                }
                let Ok(expected) = to_read.recv() else { return };
                let got = head.and_then(|head| read_body(&r, &head, &expected));
                let failed = got.is_err();
                if arrived.send(got).is_err() || failed {
                    return;
                }
            }
        });
        Channel {
            wire,
            outgoing: Some(outgoing),
            wanted: Some(wanted),
            incoming,
            ended,
            announced: VecDeque::new(),
            writer: Some(writer),
            reader: Some(reader),
        }
    }
}

fn read_header(wire: &Wire) -> Result<Header, LinkError> {
    let mut head = [0; Header::BYTES];
    wire.read_exact(&mut head).map_err(closed)?;
    Header::decode(&head).ok_or(LinkError::Garbled)
}

/// Reads the rest of a frame if it is the one that is expected.
fn read_body(wire: &Wire, head: &Header, expected: &Header) -> Result<Vec<u8>, LinkError> {
    head.check(expected)?;
    let len = usize::try_from(expected.len).map_err(|_| LinkError::Garbled)?;
    let mut body = vec![0; len];
    wire.read_exact(&mut body).map_err(closed)?;
    Ok(body)
}

/// Bytes that TLS rejects are not a frame; whatever else happens to a connection ends it.
fn closed(e: io::Error) -> LinkError {
    match e.kind() {
        io::ErrorKind::InvalidData => LinkError::Garbled,
        _ => LinkError::Closed,
    }
}

impl Drop for Channel {
    /// What is queued still leaves, and what the peer still sends is read and dropped: closing a socket
    /// with unread bytes in it would make the system throw away ours. A peer that does neither read
    /// nor close is left after [`LINGER`]. A failure at this point is the end that was wanted.
    fn drop(&mut self) {
        let start = Instant::now();
        let gone = |thread: &Option<JoinHandle<()>>| {
            while thread.as_ref().is_some_and(|t| !t.is_finished()) && start.elapsed() < LINGER {
                thread::sleep(Duration::from_millis(1));
            }
        };
        self.outgoing = None;
        gone(&self.writer);
        let socket = self.wire.socket();
        let _ = socket.set_write_timeout(Some(LINGER));
        if let (Wire::Secure(tls), true) =
            (&self.wire, self.writer.as_ref().is_some_and(|w| w.is_finished()))
        {
            tls.say_goodbye();
        }
        let _ = socket.shutdown(Shutdown::Write);
        self.wanted = None;
        gone(&self.reader);
        let _ = socket.set_read_timeout(Some(LINGER));
        let mut socket = socket;
        let mut sink = [0; 4096];
        while start.elapsed() < LINGER && socket.read(&mut sink).is_ok_and(|n| n > 0) {}
        let _ = socket.shutdown(Shutdown::Both);
        for thread in [self.writer.take(), self.reader.take()].into_iter().flatten() {
            let _ = thread.join();
        }
    }
}

/// The channels of one endpoint.
pub struct Tcp {
    channels: BTreeMap<Peer, Channel>,
}

impl Tcp {
    /// Over connections that exist, without TLS. For tests and measurements: nobody is
    /// authenticated.
    ///
    /// # Errors
    ///
    /// A socket that is closed already.
    pub fn over(sockets: impl IntoIterator<Item = (Peer, TcpStream)>) -> io::Result<Tcp> {
        let open = |(peer, socket): (Peer, TcpStream)| {
            socket.set_nodelay(true)?;
            Ok((peer, Channel::new(Wire::Plain(Arc::new(socket)))))
        };
        Ok(Tcp { channels: sockets.into_iter().map(open).collect::<io::Result<_>>()? })
    }

    /// Over connections whose peers have been authenticated. Nothing else may read or write them from here on.
    ///
    /// # Errors
    ///
    /// A socket that is closed already.
    #[cfg(feature = "tls")]
    pub fn secured(connections: impl IntoIterator<Item = (Peer, Secure)>) -> io::Result<Tcp> {
        let open = |(peer, tls): (Peer, Secure)| {
            prepare(tls.socket(), None)?;
            Ok((peer, Channel::new(Wire::Secure(Arc::new(tls)))))
        };
        Ok(Tcp { channels: connections.into_iter().map(open).collect::<io::Result<_>>()? })
    }

    /// Connects party `me` with the other two: it calls those with a smaller index and is called by
    /// those with a larger one. With an identity over TLS 1.3, both ends authenticated by the
    /// certificates in it; without, in the clear, taking callers at their word.
    ///
    /// # Errors
    ///
    /// A peer that is not there, or not who it should be, after `patience`.
    pub fn connect(
        me: usize,
        listener: TcpListener,
        addresses: &[SocketAddr; 3],
        identity: Option<&Identity>,
        patience: Duration,
    ) -> Result<Tcp, ConnectError> {
        let start = Instant::now();
        let left = || patience.saturating_sub(start.elapsed()).max(Duration::from_millis(1));
        let mut channels = BTreeMap::new();
        for (peer, address) in addresses.iter().enumerate().take(me) {
            let mut last = None;
            let wire = loop {
                if start.elapsed() >= patience {
                    return Err(ConnectError::Late { peer, after: patience, last });
                }
                let called = TcpStream::connect_timeout(address, left());
                // Whoever answers at that address may be silent, and the party come later.
                let patience = || left().min(GREETING);
                match called.and_then(|socket| call(me, peer, socket, identity, patience())) {
                    Ok(wire) => break wire,
                    Err(e) => last = Some(e),
                }
                thread::sleep(RETRY);
            };
            channels.insert(Peer::Party(peer), Channel::new(wire));
        }
        listener.set_nonblocking(true)?;
        let mut last = None;
        thread::scope(|scope| {
            let mut callers = Callers::default();
            let (say, greeted) = channel();
            while let Some(peer) = (me + 1..3).find(|p| !channels.contains_key(&Peer::Party(*p))) {
                if start.elapsed() >= patience {
                    return Err(ConnectError::Late { peer, after: patience, last });
                }
                match listener.accept() {
                    Ok((socket, _)) => {
                        // A caller that says nothing keeps nobody but itself waiting.
                        let number = callers.add(&socket)?;
                        let (say, patience) = (say.clone(), left().min(GREETING));
                        scope.spawn(move || {
                            let answered = answer(me, socket, identity, patience);
                            // Nobody asks any more once all are connected.
                            let _ = say.send((number, answered));
                        });
                    }
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => thread::sleep(RETRY / 10),
                    // A caller that has gone, or too many of them: there may be a better one.
                    Err(e) => {
                        last = Some(e);
                        thread::sleep(RETRY);
                    }
                }
                callers.turn_away_late();
                for (number, answered) in greeted.try_iter() {
                    callers.forget(number);
                    match answered {
                        // Whoever is not a party that is missing is turned away.
                        Ok((caller, wire)) if caller > me => {
                            let peer = Peer::Party(caller);
                            channels.entry(peer).or_insert_with(|| Channel::new(wire));
                        }
                        Ok(_) => {}
                        Err(e) => last = Some(e),
                    }
                }
            }
            Ok(())
        })?;
        Ok(Tcp { channels })
    }
}

/// Has a link's own end hear, from another thread, that it is closed, and knows whether a peer has ended it. What its own
/// end says then, an abort, still goes out.
pub struct Closer(Vec<(Peer, TcpStream, Arc<OnceLock<LinkError>>)>);

impl Closer {
    pub fn close(&self) {
        for (_, socket, _) in &self.0 {
            // It may have gone by itself.
            let _ = socket.shutdown(Shutdown::Read);
        }
    }

    /// Who has ended it, and how: a peer whose bytes are no frame, that has said that it stops, or that has closed its
    /// connection. One that has sent a frame before which is not expected yet is none.
    pub fn ended(&self) -> Option<(Peer, LinkError)> {
        let all = self.0.iter().filter_map(|(peer, _, ended)| Some((*peer, ended.get()?.clone())));
        // Whoever aborts may only have heard of the others' end.
        all.max_by_key(|(_, how)| match how {
            LinkError::Aborted => 0,
            LinkError::Closed => 1,
            _ => 2,
        })
    }
}

impl Tcp {
    /// What has it hear that it is closed.
    ///
    /// # Errors
    ///
    /// A system without files left.
    pub fn closer(&self) -> io::Result<Closer> {
        let of = |(peer, c): (&Peer, &Channel)| {
            Ok((*peer, c.wire.socket().try_clone()?, c.ended.clone()))
        };
        Ok(Closer(self.channels.iter().map(of).collect::<io::Result<_>>()?))
    }
}

/// Callers that have not said yet who they are, in the order in which they came. Dropping it turns them away, so that the
/// threads that listen to them end.
#[derive(Default)]
struct Callers {
    waiting: VecDeque<(u64, Instant, TcpStream)>,
    count: u64,
}

impl Callers {
    /// Room for one more, at the cost of the first if there are too many.
    fn add(&mut self, socket: &TcpStream) -> io::Result<u64> {
        if self.waiting.len() == CALLERS {
            self.turn_away_first();
        }
        self.count += 1;
        self.waiting.push_back((self.count, Instant::now(), socket.try_clone()?));
        Ok(self.count)
    }

    /// A caller that says a little all the time is late as well.
    fn turn_away_late(&mut self) {
        while self.waiting.front().is_some_and(|(_, came, _)| came.elapsed() > GREETING) {
            self.turn_away_first();
        }
    }

    fn turn_away_first(&mut self) {
        if let Some((_, _, socket)) = self.waiting.pop_front() {
            // It may have gone by itself.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    fn forget(&mut self, number: u64) {
        self.waiting.retain(|(n, ..)| *n != number);
    }
}

impl Drop for Callers {
    fn drop(&mut self) {
        while !self.waiting.is_empty() {
            self.turn_away_first();
        }
    }
}

/// The side that opens a connection to party `peer`.
fn call(
    me: usize,
    peer: usize,
    socket: TcpStream,
    identity: Option<&Identity>,
    patience: Duration,
) -> io::Result<Wire> {
    prepare(&socket, Some(patience))?;
    let wire = match identity {
        Some(identity) => Wire::Secure(Arc::new(Secure::call(identity, peer, socket)?)),
        None => {
            (&socket).write_all(&[HELLO.as_slice(), &[me as u8]].concat())?;
            Wire::Plain(Arc::new(socket))
        }
    };
    prepare(wire.socket(), None)?;
    Ok(wire)
}

/// The side that is called; who called.
fn answer(
    me: usize,
    socket: TcpStream,
    identity: Option<&Identity>,
    patience: Duration,
) -> io::Result<(usize, Wire)> {
    socket.set_nonblocking(false)?;
    prepare(&socket, Some(patience))?;
    let (caller, wire) = match identity {
        Some(identity) => {
            let (caller, tls) = Secure::answer(identity, socket)?;
            (caller, Wire::Secure(Arc::new(tls)))
        }
        None => {
            let mut hello = [0; HELLO.len() + 1];
            (&socket).read_exact(&mut hello)?;
            match hello.strip_prefix(HELLO.as_slice()) {
                Some(&[caller]) if usize::from(caller) != me && caller < 3 => {
                    (usize::from(caller), Wire::Plain(Arc::new(socket)))
                }
                _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "not a party")),
            }
        }
    };
    prepare(wire.socket(), None)?;
    Ok((caller, wire))
}

/// Small frames leave at once; a connection being set up has a time limit.
fn prepare(socket: &TcpStream, limit: Option<Duration>) -> io::Result<()> {
    socket.set_nodelay(true)?;
    socket.set_read_timeout(limit)?;
    socket.set_write_timeout(limit)
}

impl Link for Tcp {
    fn send(&mut self, to: Peer, header: Header, body: Vec<u8>) -> Result<(), LinkError> {
        let channel = self.channels.get(&to).and_then(|c| c.outgoing.as_ref());
        let queue = channel.ok_or(LinkError::Closed)?;
        queue.send((header, body)).map_err(|_| LinkError::Closed)
    }

    fn expect(&mut self, from: Peer, frames: &[Header]) {
        let Some(channel) = self.channels.get_mut(&from) else { return };
        for frame in frames {
            channel.announced.push_back(*frame);
            if let Some(wanted) = &channel.wanted {
                // A reader that has stopped has said why.
                let _ = wanted.send(*frame);
            }
        }
    }

    fn recv(
        &mut self,
        from: Peer,
        expected: Header,
        deadline: Duration,
    ) -> Result<Vec<u8>, LinkError> {
        let channel = self.channels.get_mut(&from).ok_or(LinkError::Closed)?;
        match channel.announced.pop_front() {
            Some(first) => first.check(&expected)?,
            None => {
                let wanted = channel.wanted.as_ref().ok_or(LinkError::Closed)?;
                // A reader that has stopped has said why, or says nothing more.
                let _ = wanted.send(expected);
            }
        }
        channel.incoming.recv_timeout(deadline).unwrap_or_else(|e| {
            Err(match e {
                RecvTimeoutError::Timeout => LinkError::Late(deadline),
                RecvTimeoutError::Disconnected => LinkError::Closed,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As many callers wait as there is room for: the first of more is turned away, and the others stay.
    #[test]
    fn the_first_of_too_many_callers_is_turned_away() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let at = listener.local_addr().expect("its address");
        let mut callers = Callers::default();
        let mut called: Vec<TcpStream> = Vec::new();
        for n in 1..=CALLERS + 2 {
            called.push(TcpStream::connect(at).expect("somebody listens"));
            let (socket, _) = listener.accept().expect("somebody calls");
            assert_eq!(callers.add(&socket).expect("a socket"), n as u64);
            assert!(callers.waiting.len() <= CALLERS, "{n}");
        }
        for (n, mut caller) in called.into_iter().enumerate() {
            caller.set_nonblocking(n >= 2).expect("a socket");
            let heard = caller.read(&mut [0]).map_err(|e| e.kind());
            let wanted = if n < 2 { Ok(0) } else { Err(io::ErrorKind::WouldBlock) };
            assert_eq!(heard, wanted, "caller {n}");
        }
    }
}
