//! Frames and messages between nodes, and between a node and its workers.
//!
//! A frame is its length in 8 bytes, little-endian, and its bytes: one message as JSON. A length beyond what the
//! reader admits is an error before anything is allocated. Who speaks follows from the connection's certificate and is
//! never read from a message.

use crate::hex::{Hash, Hex};
use crate::state::{Agreement, Entry, Failure, Mandate, Order, Phase, RoundKey, Verdict};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use slvr_runtime::party::{Origin, Replaced};
use slvr_runtime::share::Seed;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, Read};
use thiserror::Error;
use zeroize::Zeroizing;

/// The version of these messages, and of those of the parties in a run. Nodes of different versions do not work together.
pub const PROTOCOL: u32 = 1000 * slvr_runtime::party::MESSAGES + 11;

/// Most bytes of a message that is not announced to be longer.
pub const SHORT: u64 = 64 << 10;

/// What is wrong with a frame.
#[derive(Debug, Error)]
pub enum FrameError {
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It announces more bytes than are admitted.
    #[error("a message of {found} bytes is announced, at most {most} are accepted")]
    Long { found: u64, most: u64 },
    /// Its bytes are no message.
    #[error("a message that makes no sense: {0}")]
    Garbled(String),
}

/// Characters of a text that another process says: it goes on into logs, reports and to other nodes.
const SAID: usize = 1000;

/// Of a text of another process its beginning.
fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(SAID) {
        text.truncate(end);
    }
    text
}

fn said<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    String::deserialize(from).map(cut)
}

fn said_if_any<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Option::deserialize(from)?.map(cut))
}

fn failure<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<Failure>>, D::Error> {
    let failed = Option::<Box<Failure>>::deserialize(from)?;
    Ok(failed.map(|failed| Box::new(Failure { why: cut(failed.why), ..*failed })))
}

/// A message as a frame. It may carry a seed, so it is wiped when it is dropped.
pub fn frame<T: Serialize>(message: &T) -> Zeroizing<Vec<u8>> {
    // What carries a seed is short: nothing of it is left behind where a longer vector would begin anew.
    let mut out = Zeroizing::new(Vec::with_capacity(4096));
    out.extend([0; 8]);
    // Messages are made of texts, numbers and lists: they can be written.
    let written = serde_json::to_writer(&mut *out, message);
    debug_assert!(written.is_ok(), "{written:?}");
    let len = (out.len() - 8) as u64;
    out[..8].copy_from_slice(&len.to_le_bytes());
    out
}

/// Reads a frame of at most `most` bytes. Beyond [`SHORT`] memory grows with what comes, not with what is announced.
///
/// # Errors
///
/// A connection that ends, a frame that is too long or makes no sense.
pub fn read_frame<T: DeserializeOwned>(from: &mut impl Read, most: u64) -> Result<T, FrameError> {
    let mut len = [0; 8];
    from.read_exact(&mut len)?;
    let found = u64::from_le_bytes(len);
    if found > most {
        return Err(FrameError::Long { found, most });
    }
    let mut body = Zeroizing::new(Vec::with_capacity(found.min(SHORT) as usize));
    from.take(found).read_to_end(&mut body)?;
    if (body.len() as u64) < found {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    // What a parser says may quote the message.
    serde_json::from_slice(&body)
        .map_err(|e| FrameError::Garbled(format!("line {} column {}", e.line(), e.column())))
}

/// An attempt at a round.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunName {
    pub key: RoundKey,
    pub attempt: u32,
}

/// What two nodes tell each other on a connection of a run before the run's own messages.
#[derive(Clone, Serialize, Deserialize)]
pub struct RunHello {
    pub agreement: Hash,
    /// Drawn for this attempt: the run's name is a hash of all three nonces.
    pub nonce: Hex<32>,
    /// For the next node: the seed of the randomness that these two share.
    pub seed: Option<Seed>,
    /// Numbers of this node's workers that wait for the attempt. Those that wait at all three nodes take part.
    #[serde(default)]
    pub workers: BTreeSet<u16>,
    /// Where this node calls them. It counts where the other nodes' workers are not configured to call somewhere.
    #[serde(default)]
    pub addresses: BTreeMap<u16, String>,
    /// How the circuit is divided among workers, a hash; nothing where it is not.
    pub division: Option<Hash>,
}

impl fmt::Debug for RunHello {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RunHello({}, seed hidden)", self.nonce)
    }
}

/// What a connection is for: the first frame of a caller.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Purpose {
    /// Questions and answers.
    Control { version: u32 },
    /// The messages of a run.
    Run { name: RunName, hello: RunHello },
    /// Ranges of an attempt, for a worker of the caller.
    Ranges {
        version: u32,
        name: RunName,
        /// For how long a message is waited for.
        deadline_s: u64,
        /// Whom the caller takes it for: its party and its number.
        worker: (usize, u16),
    },
}

/// What a node says to its worker in an attempt. Bytes follow where it says how many.
#[derive(Serialize, Deserialize)]
pub enum ToWorker {
    /// The worker takes part; the circuit follows.
    Begin(Begin),
    /// It computes a range, which is asked once. What that reads follows, and then the parts of the members whose inputs it
    /// loads, but for those that are replaced.
    Range { number: usize, replaced: Vec<Replaced>, reads: u64 },
}

/// What a worker is told of an attempt.
#[derive(Serialize, Deserialize)]
pub struct Begin {
    pub run: Hex<16>,
    /// The node's seeds of the run, those that it shares with the next one and the one before.
    pub next: Seed,
    pub prev: Seed,
    /// Who takes part, by number, in order: range n is for the worker at place n modulo their number.
    pub workers: BTreeSet<u16>,
    /// Where the same workers of other nodes are by what these say, by node.
    #[serde(default)]
    pub addresses: BTreeMap<usize, String>,
    /// Under which name the clients dealt.
    pub dealt: Hex<16>,
    /// Bytes of the circuit's artifact, and its hash.
    pub bytes: u64,
    pub circuit: Hash,
    /// How the node divides it, a hash.
    pub division: Hash,
}

/// What a worker says to its node.
#[derive(Debug, Serialize, Deserialize)]
pub enum OfWorker {
    /// It lives, whomever it waits for: said several times within the deadline.
    Lives,
    /// It has done the range, and what is read of it follows.
    Done { bytes_sent: u64, peak_memory: u64, writes: u64 },
    /// It has stopped: why, and where that comes from.
    Failed {
        #[serde(deserialize_with = "said")]
        why: String,
        origin: Origin,
    },
}

/// What node 0 asks of a round that was aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Again {
    /// Which submissions are kept, for whoever asks whether it could be run again.
    Look,
    /// The same, and whether the coordinator has told the other node that it is run again.
    Ready,
    Begin,
}

/// A question of one node to another.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Ask {
    Ping,
    /// Which submissions are complete?
    Count(RoundKey),
    /// Take no more submissions; which are complete?
    Close {
        key: RoundKey,
        /// The coordinator's order, if its time is not over.
        order: Option<Mandate>,
    },
    /// What the coordinator has ordered: any node may say so.
    Ordered {
        key: RoundKey,
        order: Order,
        by: Mandate,
    },
    /// These submissions count.
    Agree {
        key: RoundKey,
        agreement: Agreement,
    },
    Start(RunName),
    /// A round that was aborted is run again.
    Retry {
        key: RoundKey,
        /// Attempts that node 0 has made.
        attempt: u32,
        /// What node 0 wants of it.
        wanted: Again,
    },
    /// Where does a round stand?
    Where(RoundKey),
    /// All have computed this attempt.
    Release(RunName),
    /// There will be no result.
    Abort {
        key: RoundKey,
        #[serde(deserialize_with = "said")]
        why: String,
        /// The coordinator's order, if it is one.
        order: Option<Mandate>,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    Done,
    /// Not now: try again.
    Busy,
    /// The clock says so many milliseconds since 1970.
    Clock(u64),
    Complete(Vec<Entry>),
    Stands {
        phase: Phase,
        attempt: u32,
        /// Why it failed, if it did.
        #[serde(deserialize_with = "failure")]
        failed: Option<Box<Failure>>,
        /// What ended it, if clients are left out by it and that is not agreed yet.
        verdict: Option<Verdict>,
        /// Why there is no result.
        #[serde(deserialize_with = "said_if_any")]
        aborted: Option<String>,
        /// The coordinator's order to end it, if that is why.
        ending: Option<Mandate>,
        /// What this node waits for, beside other nodes.
        #[serde(deserialize_with = "said_if_any")]
        waits: Option<String>,
    },
    /// No, and why.
    Refused(#[serde(deserialize_with = "said")] String),
    /// It knows no such round.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_that_is_not_admitted_is_refused_before_it_is_allocated() {
        for len in [11, 1 << 63, u64::MAX] {
            let bytes = [&u64::to_le_bytes(len)[..], b"\"0123456\""].concat();
            let e = read_frame::<String>(&mut &bytes[..], 10).expect_err("it is too long");
            assert!(matches!(e, FrameError::Long { found, most: 10 } if found == len), "{e}");
        }
    }

    #[test]
    fn of_what_another_process_says_the_beginning_counts() {
        let long = "é".repeat(SAID + 7);
        let cut: String = long.chars().take(SAID).collect();
        let read = |answer: &Answer| read_frame::<Answer>(&mut &frame(answer)[..], SHORT);
        assert!(
            matches!(read(&Answer::Refused(long.clone())), Ok(Answer::Refused(why)) if why == cut)
        );
        let (aborted, waits) = (Some(long.clone()), Some(long.clone()));
        let failed = Some(Box::new(Failure::new(1, long.clone())));
        let (phase, attempt, verdict, ending) = (Phase::Open, 1, None, None);
        let stands = Answer::Stands { phase, attempt, failed, verdict, aborted, ending, waits };
        let Ok(Answer::Stands { failed: Some(failed), aborted, waits, .. }) = read(&stands) else {
            unreachable!("it reads back")
        };
        assert_eq!(
            (failed.why, aborted, waits),
            (cut.clone(), Some(cut.clone()), Some(cut.clone()))
        );
        let key = RoundKey { task: "t".into(), round: 7 };
        let ask = frame(&Ask::Abort { key, why: long.clone(), order: None });
        let read = read_frame::<Ask>(&mut &ask[..], SHORT);
        assert!(matches!(read, Ok(Ask::Abort { why, .. }) if why == cut));
        let failed = frame(&OfWorker::Failed { why: long, origin: Origin::Own });
        let read = read_frame::<OfWorker>(&mut &failed[..], SHORT);
        assert!(matches!(read, Ok(OfWorker::Failed { why, .. }) if why == cut));
    }

    #[test]
    fn frames_read_back_and_damaged_ones_are_errors() {
        let ask = Ask::Start(RunName { key: RoundKey { task: "t".into(), round: 7 }, attempt: 2 });
        let bytes = frame(&ask);
        assert!(matches!(read_frame(&mut &bytes[..], SHORT), Ok(Ask::Start(n)) if n.attempt == 2));
        for cut in 0..bytes.len() {
            assert!(read_frame::<Ask>(&mut &bytes[..cut], SHORT).is_err(), "cut at {cut}");
        }
        // Any byte may be another one: then it is a question, too, or an error.
        for at in 0..bytes.len() {
            for other in [0, 1, b'"', b'{', b'9', 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = other;
                let read = read_frame::<Ask>(&mut &damaged[..], SHORT);
                assert!(at >= 8 || damaged == bytes || read.is_err(), "byte {at}");
            }
        }
        let mut garbled = bytes.clone();
        garbled[8] = b'!';
        assert!(matches!(read_frame::<Ask>(&mut &garbled[..], SHORT), Err(FrameError::Garbled(_))));
    }
}
