//! Parties in processes of their own, told what to do over a pair of pipes each.
//!
//! Whoever starts the run deals the clients' inputs and gives each party a [`Setup`]: the circuit, its
//! seeds, its parts of the uploads. All of it goes through the pipe to that party and nowhere else.
//! The party connects to the others, says so, waits to be started, runs, and hands what it reveals to
//! the receivers and its report back through the other pipe. Messages are length-prefixed.

use super::intake::Intake;
use super::session::{Dealer, Options};
use super::{Held, Invalid, Origin, Party, PartyReport, Replaced, RunError, Uploads};
use crate::link::{Header, Link, LinkError, Peer};
use crate::share::deal::{Part, Upload};
use crate::share::encode::Encoded;
use crate::share::state::Kept;
use crate::share::{PairSeeds, Prss, RunId, Seed};
use bincode::Options as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use slvr_circuit::verify::verify;
use slvr_circuit::{Circuit, artifact};
use slvr_ring::Data;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use zeroize::Zeroizing;

/// How a party proves who it is: certificates and key as in [`crate::link::tls::Identity`].
#[derive(Clone, Serialize, Deserialize)]
pub struct Keys {
    /// The certificates of the three parties, DER.
    pub certificates: [Vec<u8>; 3],
    /// The party's private key, PKCS #8 DER.
    pub key: Vec<u8>,
}

/// Everything that one party is told before a run. Secret: it is never printed.
#[derive(Serialize, Deserialize)]
pub struct Setup {
    pub me: usize,
    /// Where to listen for the others, as `host:port`.
    pub bind: String,
    /// With keys the parties talk over TLS.
    pub keys: Option<Keys>,
    /// How long it waits for the others, to connect and for each message.
    pub deadline: Duration,
    circuit: Vec<u8>,
    run: [u8; 16],
    next: Seed,
    prev: Seed,
    invalid: Invalid,
    /// Public inputs, by index.
    public: Vec<(usize, Vec<u8>)>,
    /// Party set, member, and the two components of what it uploaded, if it did.
    uploads: Vec<(usize, usize, Option<[Component; 2]>)>,
    /// What the party has kept of the round before.
    state: Option<Vec<u8>>,
}

impl Setup {
    /// What the party is to evaluate, verified.
    ///
    /// # Errors
    ///
    /// A setup that another version of this crate wrote, or that was damaged.
    pub fn circuit(&self) -> Result<Circuit, RunError> {
        artifact::read(&self.circuit).map_err(|_| RunError::Setup)
    }
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Setup(party {}, contents hidden)", self.me)
    }
}

#[derive(Serialize, Deserialize)]
enum Component {
    Seed(Seed),
    Explicit(Vec<u8>),
}

impl From<Part> for Component {
    fn from(part: Part) -> Self {
        match part {
            Part::Seed(seed) => Component::Seed(seed),
            Part::Explicit(bytes) => Component::Explicit(Arc::unwrap_or_clone(bytes)),
        }
    }
}

impl From<Component> for Part {
    fn from(c: Component) -> Self {
        match c {
            Component::Seed(seed) => Part::Seed(seed),
            Component::Explicit(bytes) => Part::Explicit(Arc::new(bytes)),
        }
    }
}

/// What the three parties are told, and what the one who starts them keeps.
pub struct Setups {
    pub setups: [Setup; 3],
    /// The run's public name, for the receivers.
    pub run: RunId,
    /// Bytes that each client uploads, by party set and member.
    pub upload_bytes: Vec<Vec<u64>>,
}

/// Deals encoded inputs for three parties elsewhere, as [`super::session::run_outcome`] does for those here.
/// `bind` and `keys` are by party.
///
/// # Errors
///
/// A circuit that is not well formed; no randomness.
pub fn set_up(
    circuit: &Circuit,
    mut inputs: Encoded,
    options: &Options<'_>,
    bind: [String; 3],
    keys: [Option<Keys>; 3],
) -> Result<Setups, RunError> {
    verify(circuit)?;
    let mut uploads: [Vec<_>; 3] = Default::default();
    let public = std::mem::take(&mut inputs.public);
    let dealer = Dealer::new(options)?;
    let (run, pairs) = (dealer.run, dealer.pairs());
    let members = |set| Ok(inputs.take(set));
    let upload_bytes = dealer.deal(circuit, members, &Ok, options, |set, member, parts| {
        let parts = parts.map_or([None, None, None], |u| u.map(Some));
        for (all, part) in uploads.iter_mut().zip(parts) {
            let part = part.map(|u| [u.first.into(), u.second.into()]);
            all.push((set, member, part));
        }
    })?;
    let bytes = artifact::write(circuit);
    let packed = |(j, x): (&usize, &Data)| {
        let mut wire = Vec::new();
        x.to_wire(&mut wire);
        (*j, wire)
    };
    let each = uploads.into_iter().zip(bind).zip(keys).enumerate();
    let setups = each.map(|(me, ((uploads, bind), keys))| Setup {
        me,
        bind,
        keys,
        deadline: options.deadline,
        circuit: bytes.clone(),
        run: run.0,
        next: pairs[me].next.clone(),
        prev: pairs[me].prev.clone(),
        invalid: options.invalid,
        public: public.iter().map(packed).collect(),
        uploads,
        state: options.state.map(|s| s[me].to_bytes()),
    });
    let Ok(setups) = <[Setup; 3]>::try_from(setups.collect::<Vec<_>>()) else {
        unreachable!("there are three parties")
    };
    Ok(Setups { setups, run, upload_bytes })
}

/// What a party says.
#[derive(Debug, Serialize, Deserialize)]
pub enum Said {
    /// It listens there, as `host:port`.
    Listening(String),
    /// It is connected with the others and has its shares.
    Ready,
    /// It is there, and so many layers are done: said all the time, so that silence means that it has been stopped.
    Layers(usize),
    /// A frame for the receiver of a party set.
    Reveals {
        /// Index of the party set.
        set: usize,
        header: Vec<u8>,
        body: Vec<u8>,
    },
    /// What it keeps for the next round: secret.
    Keeps(Vec<u8>),
    Done(PartyReport),
    /// It has stopped because the inputs of these clients cannot be used.
    Invalid(Vec<Replaced>),
    Stopped {
        why: String,
        /// Where that comes from.
        origin: Origin,
    },
}

/// A message as it travels: its length in 8 bytes, little-endian, and its bytes. Wiped when dropped, since it may
/// hold seeds.
pub struct Message(Zeroizing<Vec<u8>>);

impl Message {
    /// Of anything.
    ///
    /// # Errors
    ///
    /// What cannot be serialised.
    pub fn of<T: Serialize>(message: &T) -> io::Result<Message> {
        let len = encoding().serialized_size(message).map_err(io::Error::other)?;
        // All of it at once: what a vector leaves behind as it grows is not wiped.
        let mut bytes = Zeroizing::new(Vec::with_capacity(8 + len as usize));
        bytes.extend_from_slice(&len.to_le_bytes());
        encoding().serialize_into(&mut *bytes, message).map_err(io::Error::other)?;
        Ok(Message(bytes))
    }

    /// Sends it.
    ///
    /// # Errors
    ///
    /// Whatever the pipe says.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&self.0)?;
        to.flush()
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Message<{} bytes>", self.0.len())
    }
}

fn encoding() -> impl bincode::Options {
    bincode::DefaultOptions::new().with_fixint_encoding()
}

/// The end of a pipe, with a buffer that is wiped: seeds come through it.
pub struct Incoming<R> {
    from: R,
    buffer: Zeroizing<Vec<u8>>,
    /// What of the buffer is still to be read.
    unread: std::ops::Range<usize>,
}

impl<R: Read> Incoming<R> {
    /// Reads from there. The standard input has a small buffer of its own, which reads as large as this one pass by.
    pub fn new(from: R) -> Self {
        Incoming { from, buffer: Zeroizing::new(vec![0; 64 << 10]), unread: 0..0 }
    }

    /// Reads a [`Message`] of at most `most` bytes. Memory grows with what comes, not with what is announced.
    ///
    /// # Errors
    ///
    /// Whatever the pipe says; bytes that are not such a message.
    pub fn message<T: DeserializeOwned>(&mut self, most: u64) -> io::Result<T> {
        let mut len = [0; 8];
        self.read_exact(&mut len)?;
        let len = u64::from_le_bytes(len);
        if len > most {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut body = Read::take(&mut *self, len);
        let message = encoding().with_limit(len).deserialize_from(&mut body);
        let message = message.map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))?;
        match body.limit() {
            0 => Ok(message),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

impl<R: Read> Read for Incoming<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.unread.is_empty() {
            self.unread = 0..self.from.read(&mut self.buffer)?;
        }
        let n = to.len().min(self.unread.len());
        let at = self.unread.start;
        to[..n].copy_from_slice(&self.buffer[at..at + n]);
        self.unread.start += n;
        Ok(n)
    }
}

impl<R> fmt::Debug for Incoming<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Incoming(hidden)")
    }
}

/// Where a party speaks, a message at a time, from any of its threads.
pub struct Voice<W>(Mutex<W>);

impl<W: Write> Voice<W> {
    /// To the end of this pipe.
    pub fn new(to: W) -> Self {
        Voice(Mutex::new(to))
    }

    /// Says it, all of it before anything else is said.
    ///
    /// # Errors
    ///
    /// Whatever the pipe says.
    pub fn say(&self, message: &Said) -> io::Result<()> {
        let message = Message::of(message)?;
        message.write(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A party that has its shares.
pub struct Job {
    circuit: Circuit,
    prss: Prss,
    run: RunId,
    deadline: Duration,
    inputs: Vec<Held>,
    uploads: Uploads,
    invalid: Invalid,
    state: Option<Kept>,
}

impl Job {
    /// What it will evaluate.
    pub fn circuit(&self) -> &Circuit {
        &self.circuit
    }

    /// Reads the circuit and expands the uploads.
    ///
    /// # Errors
    ///
    /// A setup that another version of this crate wrote, or that was damaged.
    pub fn new(setup: Setup) -> Result<Job, RunError> {
        let unusable = || RunError::Setup;
        let me = setup.me;
        if me >= 3 {
            return Err(unusable());
        }
        let circuit = setup.circuit()?;
        let run = RunId(setup.run);
        let mut public = BTreeMap::new();
        for (j, bytes) in setup.public {
            let input = circuit.inputs.get(j).ok_or_else(unusable)?;
            let ty = circuit.ty(input.value);
            let data = Data::from_wire(ty.dom, ty.elements() as usize, &bytes);
            public.insert(j, data.ok_or_else(unusable)?);
        }
        let mut intake = Intake::new(&circuit, me, run, true);
        for (set, member, parts) in setup.uploads {
            let upload = parts.map(|[a, b]| Upload { first: a.into(), second: b.into() });
            intake.take(set, member, upload.as_ref());
        }
        let (inputs, uploads) = intake.finish(&public);
        let pairs = PairSeeds { next: setup.next, prev: setup.prev };
        let prss = Prss::new(me, &pairs, run);
        let (deadline, invalid) = (setup.deadline, setup.invalid);
        let state = setup.state.map(|bytes| Kept::from_bytes(&circuit, me, &bytes)).transpose()?;
        Ok(Job { circuit, prss, run, deadline, inputs, uploads, invalid, state })
    }

    /// Runs over a link to the other parties; says what it reveals and how it ended, and counts in `layers`
    /// what is done.
    ///
    /// # Errors
    ///
    /// Whatever the pipe says.
    pub fn run<W: Write + Send>(
        self,
        parties: impl Link,
        voice: &Voice<W>,
        layers: &AtomicUsize,
    ) -> io::Result<()> {
        let mut link = Piped { parties, voice };
        let count = |done, _| layers.store(done, Ordering::Relaxed);
        let party = Party {
            uploads: self.uploads,
            invalid: self.invalid,
            state: self.state,
            progress: Some(&count),
            ..Party::new(&self.circuit, self.prss, &mut link, self.run, self.deadline)
        };
        let ended = match party.run(self.inputs) {
            Ok((report, kept)) => {
                if let Some(kept) = kept {
                    voice.say(&Said::Keeps(kept.to_bytes()))?;
                }
                Said::Done(report)
            }
            Err(RunError::Invalid(replaced)) => Said::Invalid(replaced),
            Err(e) => Said::Stopped { why: e.to_string(), origin: e.origin() },
        };
        voice.say(&ended)
    }
}

/// The links to the parties, with the receivers at the end of a pipe.
struct Piped<'a, L, W> {
    parties: L,
    voice: &'a Voice<W>,
}

impl<L: Link, W: Write + Send> Link for Piped<'_, L, W> {
    fn send(&mut self, to: Peer, header: Header, body: Vec<u8>) -> Result<(), LinkError> {
        match to {
            Peer::Party(_) => self.parties.send(to, header, body),
            Peer::Receiver(set) => {
                let header = header.encode().to_vec();
                let message = Said::Reveals { set, header, body };
                self.voice.say(&message).map_err(|_| LinkError::Closed)
            }
        }
    }

    fn expect(&mut self, from: Peer, frames: &[Header]) {
        self.parties.expect(from, frames);
    }

    fn recv(
        &mut self,
        from: Peer,
        expected: Header,
        deadline: Duration,
    ) -> Result<Vec<u8>, LinkError> {
        self.parties.recv(from, expected, deadline)
    }
}
