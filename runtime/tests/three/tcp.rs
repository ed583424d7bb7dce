//! Links over sockets: what a peer does wrong is an error, and three parties run over them.

use crate::build::{Builder, words};
use crate::speculation;
use slvr_circuit::{Circuit, Hold, Op};
use slvr_runtime::link::memory::Memory;
use slvr_runtime::link::tcp::{ConnectError, Tcp};
use slvr_runtime::link::tls::Identity;
use slvr_runtime::link::{Header, Kind, Link, LinkError, Peer};
use slvr_runtime::party::Doors;
use slvr_runtime::party::session::{Options, Outcome, run_outcome};
use slvr_runtime::share::encode::Encoded;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::time::Duration;

const PEER: Peer = Peer::Party(1);
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(50);

fn header(layer: u32, len: usize) -> Header {
    Header::new(Kind::Layer, layer, len)
}

/// A connection within this process.
fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (one, listener.accept().unwrap().0)
}

/// A link whose peer is whoever holds the socket.
fn link() -> (Tcp, TcpStream) {
    let (mine, theirs) = pair();
    (Tcp::over([(PEER, mine)]).unwrap(), theirs)
}

/// What a link says to bytes of a peer that closes afterwards.
fn said(expected: Header, bytes: &[u8]) -> LinkError {
    let (mut link, mut peer) = link();
    peer.write_all(bytes).unwrap();
    drop(peer);
    link.recv(PEER, expected, LONG).unwrap_err()
}

fn frame(header: Header, body: &[u8]) -> Vec<u8> {
    [header.encode().as_slice(), body].concat()
}

#[test]
fn wrong_frames_are_errors() {
    let two = header(7, 2);
    assert_eq!(said(two, &[0xff; 400]), LinkError::Garbled);
    let found = header(8, 2);
    assert_eq!(said(two, &frame(found, &[1, 2])), LinkError::Unexpected { expected: two, found });
    let found = Header { part: 1, ..two };
    assert_eq!(said(two, &frame(found, &[1, 2])), LinkError::Unexpected { expected: two, found });
    let abort = Header::new(Kind::Abort, 3, 0);
    assert_eq!(said(two, &frame(abort, &[])), LinkError::Aborted);
    // Nothing is allocated for what is announced.
    let huge = Header { len: u64::MAX, ..two };
    let length = LinkError::Length { expected: 2, found: u64::MAX };
    assert_eq!(said(two, &frame(huge, &[1; 100])), length);
    let short = LinkError::Length { expected: 2, found: 1 };
    assert_eq!(said(two, &frame(header(7, 1), &[1])), short);
    // Closed before, within the header, within the body.
    for bytes in [&[][..], &two.encode()[..5], &frame(two, &[1])] {
        assert_eq!(said(two, bytes), LinkError::Closed);
    }
}

#[test]
fn silence_is_late() {
    let (mut link, mut peer) = link();
    assert_eq!(link.recv(PEER, header(0, 3), SHORT), Err(LinkError::Late(SHORT)));
    peer.write_all(&frame(header(0, 3), &[1])).unwrap();
    assert_eq!(link.recv(PEER, header(1, 3), SHORT), Err(LinkError::Late(SHORT)));
    let nobody = Peer::Party(2);
    assert_eq!(link.recv(nobody, header(0, 3), SHORT), Err(LinkError::Closed));
    assert_eq!(link.send(nobody, header(0, 0), vec![]), Err(LinkError::Closed));
}

#[test]
fn frames_that_are_announced_are_read_ahead_and_in_order() {
    let (mut link, mut peer) = link();
    let big = 5 << 20;
    link.expect(PEER, &[header(0, 2), header(1, big), header(2, 1)]);
    peer.write_all(&frame(header(0, 2), &[1, 2])).unwrap();
    // More than sockets hold: it returns because somebody reads.
    peer.write_all(&frame(header(1, big), &vec![3; big])).unwrap();
    peer.write_all(&frame(header(2, 1), &[4])).unwrap();
    peer.write_all(&frame(Header::new(Kind::Done, 0, 0), &[])).unwrap();
    assert_eq!(link.recv(PEER, header(0, 2), LONG), Ok(vec![1, 2]));
    assert_eq!(link.recv(PEER, header(1, big), LONG), Ok(vec![3; big]));
    assert_eq!(link.recv(PEER, header(2, 1), LONG), Ok(vec![4]));
    assert_eq!(link.recv(PEER, Header::new(Kind::Done, 0, 0), LONG), Ok(vec![]));
}

#[test]
fn sending_does_not_wait_for_the_peer_and_what_is_sent_leaves() {
    let (mut link, mut peer) = link();
    let body = vec![9; 5 << 20];
    for layer in 0..4 {
        link.send(PEER, header(layer, body.len()), body.clone()).unwrap();
    }
    let reading = std::thread::spawn(move || {
        let mut all = Vec::new();
        peer.read_to_end(&mut all).map(|_| all.len())
    });
    drop(link);
    assert_eq!(reading.join().unwrap().unwrap(), 4 * (body.len() + Header::BYTES));
}

/// What is sent before an end is received, and that it has ended is known before anything is expected.
#[test]
fn the_end_of_a_peer_is_heard_while_nothing_is_expected() {
    let abort = Header::new(Kind::Abort, 3, 0);
    let closes = |mut peer: TcpStream| drop(peer.write_all(&frame(header(0, 2), &[1, 2])[..5]));
    let aborts = |mut peer: TcpStream| peer.write_all(&abort.encode()).unwrap();
    let garbles = |mut peer: TcpStream| peer.write_all(&[0xff; Header::BYTES]).unwrap();
    let ends: [(&dyn Fn(TcpStream), _); 4] = [
        (&drop, LinkError::Closed),
        (&closes, LinkError::Closed),
        (&aborts, LinkError::Aborted),
        (&garbles, LinkError::Garbled),
    ];
    for (end, says) in ends {
        let (mut link, mut peer) = link();
        let closer = link.closer().unwrap();
        peer.write_all(&frame(header(0, 2), &[1, 2])).unwrap();
        assert!(closer.ended().is_none());
        assert_eq!(link.recv(PEER, header(0, 2), LONG), Ok(vec![1, 2]));
        assert!(closer.ended().is_none());
        end(peer);
        let begun = std::time::Instant::now();
        while closer.ended().is_none() {
            assert!(begun.elapsed() < LONG);
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(closer.ended(), Some((PEER, says.clone())));
        assert_eq!(link.recv(PEER, header(1, 2), LONG), Err(says));
    }
}

/// Whoever ends a link from another thread ends its own waiting: the peer still hears why.
#[test]
fn a_link_that_its_own_end_closes_still_says_that_it_aborts() {
    let (mut link, mut peer) = link();
    let closer = link.closer().unwrap();
    let waits = std::thread::spawn(move || (link.recv(PEER, header(0, 3), LONG), link));
    closer.close();
    let (heard, mut link) = waits.join().unwrap();
    assert_eq!(heard, Err(LinkError::Closed));
    let abort = Header::new(Kind::Abort, 4, 0);
    link.send(PEER, abort, Vec::new()).unwrap();
    drop(link);
    let mut all = Vec::new();
    peer.read_to_end(&mut all).unwrap();
    assert_eq!(all, abort.encode());
}

/// Certificates and keys of three parties.
fn identities() -> [Identity; 3] {
    let made = [0; 3].map(|_| rcgen::generate_simple_self_signed(["party".into()]).unwrap());
    let certificates = made.each_ref().map(|m| m.cert.der().to_vec());
    let mut me = 0..3;
    made.map(|m| Identity {
        me: me.next().unwrap(),
        certificates: certificates.clone(),
        key: m.signing_key.serialize_der(),
    })
}

fn listeners() -> ([TcpListener; 3], [SocketAddr; 3]) {
    let all = [0; 3].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    let at = all.each_ref().map(|l| l.local_addr().unwrap());
    (all, at)
}

/// Three parties connected with one another.
fn connected(identities: Option<&[Identity; 3]>) -> [Tcp; 3] {
    connected_at(identities, listeners(), LONG)
}

fn connected_at(
    identities: Option<&[Identity; 3]>,
    (listeners, at): ([TcpListener; 3], [SocketAddr; 3]),
    patience: Duration,
) -> [Tcp; 3] {
    let all: Vec<Tcp> = std::thread::scope(|scope| {
        let each = listeners.into_iter().enumerate().map(|(i, listener)| {
            let identity = identities.map(|all| &all[i]);
            scope.spawn(move || Tcp::connect(i, listener, &at, identity, patience).unwrap())
        });
        let each: Vec<_> = each.collect();
        each.into_iter().map(|t| t.join().unwrap()).collect()
    });
    all.try_into().ok().unwrap()
}

/// Callers that connect first and say nothing, or a little: more than may be waiting at a time, and each may take
/// longer than the parties have.
#[test]
fn silent_callers_keep_no_party_waiting() {
    let identities = identities();
    for identities in [Some(&identities), None] {
        let (listeners, at) = listeners();
        // More for each port than may be about to say who they are.
        let silent: Vec<TcpStream> = (0..200)
            .map(|i| {
                let mut caller = TcpStream::connect(at[i % 2]).unwrap();
                match i % 3 {
                    0 => {}
                    // The beginning of a TLS record, and of a greeting.
                    1 => caller.write_all(&[22, 3, 1, 64, 0, 1]).unwrap(),
                    _ => caller.write_all(b"slvr").unwrap(),
                }
                caller
            })
            .collect();
        let links = connected_at(identities, (listeners, at), Duration::from_secs(9));
        let outcome = run(Some(links), circuit());
        assert!(outcome.parties.iter().all(Result::is_ok));
        drop(silent);
    }
}

/// To the parties by sockets, to the receivers through memory.
struct Both(Tcp, Memory);

impl Link for Both {
    fn send(&mut self, to: Peer, header: Header, body: Vec<u8>) -> Result<(), LinkError> {
        match to {
            Peer::Party(_) => self.0.send(to, header, body),
            Peer::Receiver(_) => self.1.send(to, header, body),
        }
    }

    fn expect(&mut self, from: Peer, frames: &[Header]) {
        self.0.expect(from, frames);
    }

    fn recv(&mut self, from: Peer, h: Header, deadline: Duration) -> Result<Vec<u8>, LinkError> {
        self.0.recv(from, h, deadline)
    }
}

/// Rounds with messages of several frames and of a few bytes.
fn circuit() -> (Circuit, Encoded) {
    let mut b = Builder::new();
    let n = 100_000;
    let big: Vec<_> = (0..3).map(|i| b.secret(64, &[1, n], &words(i, n as usize))).collect();
    let mut small = b.secret(64, &[1, 3], &words(9, 3));
    for x in big {
        let z = b.same(Op::Mul(x, x), Hold::Add3);
        let y = b.round(Op::Reshare(z), Hold::Rep);
        let s = b.same(Op::Mul(small, small), Hold::Add3);
        small = b.round(Op::Reshare(s), Hold::Rep);
        b.reveal(y, 0, 1.0);
    }
    b.reveal(small, 0, 1.0);
    b.finish()
}

fn run(links: Option<[Tcp; 3]>, (circuit, encoded): (Circuit, Encoded)) -> Outcome {
    let links = links.map(|l| l.map(Some)).unwrap_or_default();
    let links = Mutex::new(links);
    let wrap = |party: usize, memory: Memory| -> Box<dyn Link> {
        match links.lock().unwrap()[party].take() {
            Some(tcp) => Box::new(Both(tcp, memory)),
            None => Box::new(memory),
        }
    };
    let options = Options {
        doors: Doors::new().wrap(&wrap),
        seed: Some(5),
        deadline: LONG,
        ..Options::default()
    };
    run_outcome(&circuit, encoded, &options).unwrap()
}

#[test]
fn a_run_over_sockets_is_the_run_in_memory() {
    let speculative = || {
        let circuit = speculation::circuit();
        let encoded = speculation::inputs(&circuit, [true, false, true]);
        (circuit, encoded)
    };
    let (plain, tls) = (None, Some(identities()));
    for (identities, given) in
        [(&plain, &circuit as &dyn Fn() -> _), (&tls, &circuit), (&plain, &speculative)]
    {
        let (circuit, _) = given();
        let expected = run(None, given()).report(&circuit).unwrap();
        let links = Some(connected(identities.as_ref()));
        let report = run(links, given()).report(&circuit).unwrap();
        assert!(report.outputs == expected.outputs);
        assert_eq!(report.bytes_sent, expected.bytes_sent);
        assert_eq!(report.rounds, expected.rounds);
        assert_eq!(report.peak_memory, expected.peak_memory);
    }
}

#[test]
fn strangers_are_turned_away() {
    let known = identities();
    let [mut stranger, ..] = identities();
    // It knows the certificates, and has a key that belongs to none.
    stranger.me = 2;
    let own = stranger.certificates[0].clone();
    stranger.certificates = known[0].certificates.clone();
    stranger.certificates[2] = own;
    let (listeners, at) = listeners();
    let [first, _, third] = listeners;
    let patience = Duration::from_millis(300);
    let called = std::thread::scope(|scope| {
        let caller = scope.spawn(|| Tcp::connect(2, third, &at, Some(&stranger), patience));
        // Whoever just talks is turned away, too.
        let mut noise = TcpStream::connect(at[0]).unwrap();
        noise.write_all(&[7; 100]).unwrap();
        let called = Tcp::connect(0, first, &at, Some(&known[0]), patience);
        assert!(caller.join().unwrap().is_err());
        called
    });
    assert!(matches!(called, Err(ConnectError::Late { peer: 1, .. })));
}

#[test]
fn nobody_there_is_an_error_that_says_who() {
    let (listeners, at) = listeners();
    let [first, second, third] = listeners;
    drop((first, third));
    let e = Tcp::connect(1, second, &at, None, SHORT).err().unwrap();
    assert!(e.to_string().contains("party 0"), "{e}");
    assert_eq!(format!("{:?}", identities()[0]), "Identity(party 0, key hidden)");
}
