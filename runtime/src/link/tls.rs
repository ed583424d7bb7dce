//! TLS 1.3 between parties that know one another's certificates.
//!
//! A party is whoever proves that it holds the key of the certificate that stands in its place in
//! [`Identity::certificates`]: no authority, no names, no dates. Both ends are authenticated.
//!
//! One connection serves a reading and a writing thread: the state of TLS is locked while bytes are
//! sealed or opened, never while the socket is waited for.

use super::pinned::{self, Expected};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, Connection, Error, ServerConfig, ServerConnection};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Bytes that are sealed at a time: what a record holds at most.
const RECORD: usize = 16 << 10;

/// What a party needs to prove who it is and to know the others.
pub struct Identity {
    pub me: usize,
    /// The certificates of the three parties, DER.
    pub certificates: [Vec<u8>; 3],
    /// The private key of this party's certificate, PKCS #8 DER.
    pub key: Vec<u8>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity(party {}, key hidden)", self.me)
    }
}

impl Identity {
    /// Own certificate and key.
    fn own(&self) -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), Error> {
        let own = self.certificates.get(self.me).cloned().unwrap_or_default();
        let key = PrivateKeyDer::try_from(self.key.clone())
            .map_err(|why| Error::General(why.to_string()))?;
        Ok((own.into(), key))
    }

    /// Expects the certificates of these parties.
    fn expected(&self, who: impl Fn(usize) -> bool) -> Expected {
        let parties = self.certificates.iter().enumerate().filter(|(p, _)| who(*p));
        let theirs: Vec<Vec<u8>> = parties.map(|(_, c)| c.clone()).collect();
        Expected {
            known: Box::new(move |certificate| theirs.iter().any(|c| c == certificate)),
            refusal: "the certificate is not a party's",
            needed: true,
        }
    }

    /// Which party has a certificate.
    fn party(&self, certificate: &[u8]) -> Option<usize> {
        let found = self.certificates.iter().position(|c| c.as_slice() == certificate);
        found.filter(|&p| p != self.me)
    }
}

/// The state of TLS and what it has sealed but not yet written.
struct State {
    tls: Connection,
    /// Bytes from the socket that TLS has not taken.
    raw: Vec<u8>,
    taken: usize,
}

/// An established connection with an authenticated peer. One thread may read while another writes.
pub struct Secure {
    socket: TcpStream,
    state: Mutex<State>,
    /// Serialises the socket: sealed records must leave in the order of sealing.
    writing: Mutex<()>,
}

fn tls_error(e: Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, e)
}

impl fmt::Debug for Secure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secure(hidden)")
    }
}

impl Secure {
    /// Calls whoever the configuration accepts. The socket's time limits hold for each step of the handshake.
    ///
    /// # Errors
    ///
    /// Whatever the socket or TLS says.
    pub fn call_with(config: Arc<ClientConfig>, socket: TcpStream) -> io::Result<Secure> {
        // The name is not checked: the certificate is.
        let name = ServerName::try_from("party").map_err(io::Error::other)?;
        let tls = ClientConnection::new(config, name).map_err(tls_error)?;
        Secure::establish(tls.into(), socket)
    }

    /// Answers whoever the configuration accepts.
    ///
    /// # Errors
    ///
    /// Whatever the socket or TLS says.
    pub fn answer_with(config: Arc<ServerConfig>, socket: TcpStream) -> io::Result<Secure> {
        let tls = ServerConnection::new(config).map_err(tls_error)?;
        Secure::establish(tls.into(), socket)
    }

    /// The certificate that the peer has proven to hold the key of, DER.
    pub fn certificate(&self) -> Option<Vec<u8>> {
        let state = self.state();
        Some(state.tls.peer_certificates()?.first()?.as_ref().to_vec())
    }

    /// Calls party `peer`: it must have that party's certificate.
    pub(super) fn call(identity: &Identity, peer: usize, socket: TcpStream) -> io::Result<Secure> {
        let (certificate, key) = identity.own().map_err(tls_error)?;
        let config = pinned::client(Some((&certificate, &key)), identity.expected(|p| p == peer))
            .map_err(tls_error)?;
        Secure::call_with(Arc::new(config), socket)
    }

    /// Answers a caller and says which party it is.
    pub(super) fn answer(identity: &Identity, socket: TcpStream) -> io::Result<(usize, Secure)> {
        let (certificate, key) = identity.own().map_err(tls_error)?;
        let others = identity.expected(|p| p != identity.me);
        let config = pinned::server((&certificate, &key), others).map_err(tls_error)?;
        let secure = Secure::answer_with(Arc::new(config), socket)?;
        let caller = secure.certificate().and_then(|c| identity.party(&c));
        let caller = caller.ok_or_else(|| tls_error(Error::General("not a party".into())))?;
        Ok((caller, secure))
    }

    fn establish(mut tls: Connection, mut socket: TcpStream) -> io::Result<Secure> {
        while tls.is_handshaking() {
            tls.complete_io(&mut socket)?;
        }
        tls.set_buffer_limit(None);
        let state = State { tls, raw: Vec::new(), taken: 0 };
        Ok(Secure { socket, state: Mutex::new(state), writing: Mutex::new(()) })
    }

    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A thread that panicked left an unusable connection, which TLS notices.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Some bytes of the stream; 0 at its end. One thread reads.
    ///
    /// # Errors
    ///
    /// Whatever the socket or TLS says.
    pub fn read(&self, to: &mut [u8]) -> io::Result<usize> {
        self.read_once(to, || Ok(()))
    }

    /// The same until a moment. A record of which a byte comes now and then is late, too.
    ///
    /// # Errors
    ///
    /// Whatever the socket or TLS says; [`io::ErrorKind::TimedOut`] after that moment.
    pub fn read_until(&self, to: &mut [u8], until: Instant) -> io::Result<usize> {
        let limit = || match until.saturating_duration_since(Instant::now()) {
            left if left.is_zero() => Err(io::ErrorKind::TimedOut.into()),
            left => self.socket.set_read_timeout(Some(left)),
        };
        self.read_once(to, limit).map_err(|e| match e.kind() {
            io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
            _ => e,
        })
    }

    /// With what is done before each time that the socket is waited for.
    fn read_once(&self, to: &mut [u8], limit: impl Fn() -> io::Result<()>) -> io::Result<usize> {
        loop {
            {
                let mut state = self.state();
                let State { tls, raw, taken } = &mut *state;
                loop {
                    match tls.reader().read(to) {
                        Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                        done => return done,
                    }
                    let Some(rest) = raw.get(*taken..).filter(|r| !r.is_empty()) else { break };
                    *taken += tls.read_tls(&mut &*rest)?;
                    tls.process_new_packets().map_err(tls_error)?;
                }
                raw.clear();
                *taken = 0;
            }
            let mut fresh = vec![0; 4 * RECORD];
            limit()?;
            let n = (&self.socket).read(&mut fresh)?;
            let mut state = self.state();
            if n == 0 {
                // Tells TLS, which knows whether the peer has closed properly.
                state.tls.read_tls(&mut io::empty())?;
                continue;
            }
            state.raw.extend_from_slice(&fresh[..n]);
        }
    }

    /// Writes bytes; with `flush` also what was left of before. One thread writes.
    ///
    /// # Errors
    ///
    /// Whatever the socket says.
    pub fn write_all(&self, bytes: &[u8], flush: bool) -> io::Result<()> {
        let _order = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sealed = Vec::with_capacity(2 * RECORD);
        for chunk in bytes.chunks(RECORD) {
            {
                let mut state = self.state();
                state.tls.writer().write_all(chunk)?;
                if flush {
                    drain(&mut state.tls, &mut sealed)?;
                }
            }
            (&self.socket).write_all(&sealed)?;
            sealed.clear();
        }
        if flush && bytes.is_empty() {
            drain(&mut self.state().tls, &mut sealed)?;
            (&self.socket).write_all(&sealed)?;
        }
        Ok(())
    }

    /// Tells the peer that nothing follows.
    pub(super) fn say_goodbye(&self) {
        self.state().tls.send_close_notify();
        // If the connection is broken, the peer notices without being told.
        let _ = self.write_all(&[], true);
    }
}

/// What TLS has sealed.
fn drain(tls: &mut Connection, to: &mut Vec<u8>) -> io::Result<()> {
    while tls.wants_write() {
        tls.write_tls(to)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    fn pair() -> [TcpStream; 2] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let one = TcpStream::connect(listener.local_addr().expect("its address"));
        [one.expect("connects"), listener.accept().expect("a caller").0]
    }

    /// A moment holds for a record, not for each of its bytes.
    #[test]
    fn a_record_of_which_a_byte_comes_now_and_then_is_late() {
        let made = [0; 2]
            .map(|_| rcgen::generate_simple_self_signed(["party".into()]).expect("a certificate"));
        let der = made.each_ref().map(|m| m.cert.der().to_vec());
        let certificates = [der[0].clone(), der[1].clone(), Vec::new()];
        let of = |me: usize| {
            let key = made[me].signing_key.serialize_der();
            Identity { me, certificates: certificates.clone(), key }
        };
        let ([reads, before], [after, writes]) = (pair(), pair());
        let (drips, ended) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| io::copy(&mut &before, &mut &after));
            scope.spawn(|| {
                let (mut bytes, mut to) = ([0; 4 * RECORD], &before);
                while let Ok(n @ 1..) = (&after).read(&mut bytes) {
                    let mut rest = &bytes[..n];
                    while !rest.is_empty() && !ended.load(Ordering::Acquire) {
                        let one = if drips.load(Ordering::Acquire) { 1 } else { rest.len() };
                        to.write_all(&rest[..one]).expect("it is still there");
                        rest = &rest[one..];
                        thread::sleep(Duration::from_millis(if one == 1 { 5 } else { 0 }));
                    }
                }
            });
            let (mine, theirs) = (of(0), of(1));
            let answers = scope.spawn(move || Secure::answer(&theirs, writes).expect("answers").1);
            let here = Secure::call(&mine, 1, reads).expect("calls");
            let there = answers.join().expect("no panic");
            let within = |most| Instant::now() + most;
            let mut bytes = vec![0; RECORD];
            there.write_all(b"at once", true).expect("writes");
            let n = here.read_until(&mut bytes, within(Duration::from_secs(60)));
            assert_eq!(&bytes[..n.expect("in time")], b"at once");
            drips.store(true, Ordering::Release);
            // It would take a minute and more.
            there.write_all(&vec![7; RECORD], true).expect("writes");
            let read = here.read_until(&mut bytes, within(Duration::from_millis(200)));
            assert_eq!(read.map_err(|e| e.kind()), Err(io::ErrorKind::TimedOut));
            ended.store(true, Ordering::Release);
            for end in [here.socket(), there.socket()] {
                end.shutdown(std::net::Shutdown::Both).expect("is there");
            }
        });
    }
}
