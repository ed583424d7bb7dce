//! Why a run stopped.

use super::uploads::Replaced;
use crate::link::{LinkError, Peer};
use crate::share::encode::InputError;
use crate::share::state::StateError;
use serde::{Deserialize, Serialize};
use slvr_circuit::verify::VerifyError;
use slvr_ring::layout::IndexOutOfRange;
use std::fmt;
use std::time::Duration;
use thiserror::Error;

/// Where in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Before the first share is used.
    Handshake,
    /// While the parties settle whose inputs are used.
    Inputs,
    /// In a layer of the circuit, counted from 0.
    Layer(u32),
    /// After the last layer, while the parties tell one another that they are done.
    Closing,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Phase::Handshake => f.write_str("handshake"),
            Phase::Inputs => f.write_str("handshake, comparing inputs"),
            Phase::Layer(l) => write!(f, "layer {l}"),
            Phase::Closing => f.write_str("end of the run"),
        }
    }
}

/// Why a party, a receiver or a session stopped. Names the layer and the peer, never a value.
#[derive(Debug, Error)]
pub enum RunError {
    /// A state that this circuit or this party did not keep.
    #[error("{0}")]
    State(#[from] StateError),
    /// A message was late, short, long or out of order, or the peer stopped.
    #[error("{phase}{}, {peer}: {problem}", in_proof(*.proof))]
    Link {
        phase: Phase,
        /// Of a message of a proof, what is opened behind it.
        proof: Option<&'static str>,
        peer: Peer,
        problem: LinkError,
    },
    /// A message has the right length but is not a packing of elements.
    #[error("{phase}, {peer}: the message is not a packing of ring elements")]
    Malformed { phase: Phase, peer: Peer },
    /// A peer runs something else.
    #[error("handshake, {peer}: has {what}")]
    Mismatch {
        peer: Peer,
        /// What differs: another circuit, other public inputs, another run.
        what: &'static str,
    },
    /// A public index points outside the axis it indexes.
    #[error("{phase}: {source}")]
    Index { phase: Phase, source: IndexOutOfRange },
    /// The circuit is not well formed.
    #[error("the circuit is not well formed: {0}")]
    Circuit(#[from] VerifyError),
    /// An input was not handed to the party as the circuit declares it.
    #[error("input `{0}` does not have the declared holder, domain or number of elements")]
    Shape(String),
    /// An input file does not fit the circuit.
    #[error(transparent)]
    Input(#[from] InputError),
    /// Whoever started the run has ended it.
    #[error("the run was cancelled")]
    Cancelled,
    /// The parties found different values of something public.
    #[error("the parties disagree on {0}")]
    Disagreement(&'static str),
    /// A party sent something that it cannot prove, or not as the proof is carried out.
    #[error("{phase}, before `{op}`, {}: {what}", either(*party, *or))]
    Proof {
        /// Before which layer the proof stands.
        phase: Phase,
        /// What is opened there.
        op: &'static str,
        /// Whose message it is.
        party: usize,
        /// Who else may have made it look wrong.
        or: Option<usize>,
        what: &'static str,
    },
    /// The two holders of a component that was opened have sent different ones.
    #[error("{phase}, `{op}`: parties {from} and {by} have sent different copies of a component")]
    Voucher {
        phase: Phase,
        op: &'static str,
        /// Who sent the component.
        from: usize,
        /// Who vouched for it.
        by: usize,
    },
    /// What a client gave cannot be read once more, where the circuit loads it in parts.
    #[error("{phase}: what client {member} of party set {set} gave is lost: {why}")]
    Lost {
        phase: Phase,
        /// The client's party set.
        set: u32,
        /// Which of its members.
        member: u64,
        why: String,
    },
    /// Not all parties have the same of a client, in a circuit against a malicious party.
    #[error(
        "{phase}, {peer}: does not have the same of client {member} of party set {set} as this party"
    )]
    Client {
        phase: Phase,
        /// Who has something else.
        peer: Peer,
        /// The client's party set.
        set: u32,
        /// Which of its members.
        member: u64,
    },
    /// Inputs of clients cannot be used, and the run was to end in that case ([`Invalid::Stop`](super::Invalid)). All three
    /// parties find the same, once every verdict is known.
    #[error("the inputs of these clients cannot be used: {}", listed(.0))]
    Invalid(Vec<Replaced>),
    /// A worker of this party has not computed a range of layers.
    #[error("range {number} (layers {first} to {last}) on worker {worker}: {source}")]
    Range { number: usize, first: usize, last: usize, worker: usize, source: Box<RunError> },
    /// What a worker elsewhere says of itself, or what became of it.
    #[error("{why}")]
    Worker {
        why: String,
        /// Where that comes from, as it sees it.
        origin: Origin,
    },
    /// What a party in another process was told does not make sense to it.
    #[error("the setup of a party is not one of this version, or is damaged")]
    Setup,
    /// A party in another process stopped.
    #[error("party {party}: {why}")]
    Stopped {
        party: usize,
        why: String,
        /// Where that comes from, as it sees it.
        origin: Origin,
    },
    /// The process of a party ended, or no longer makes sense.
    #[error("party {party}: its process ended before the run was over, {}", place(*.layers))]
    Gone {
        party: usize,
        /// How many layers it had done when it was last heard of.
        layers: usize,
    },
    /// The process of a party does not end and says nothing: it has been stopped, or its machine has.
    #[error("party {party}: its process has said nothing for {after:.1?}, {}", place(*.layers))]
    Silent {
        party: usize,
        after: Duration,
        /// How many layers it had done when it was last heard of.
        layers: usize,
    },
    /// The operating system gave no randomness.
    #[error("no randomness from the operating system: {0}")]
    Randomness(#[from] getrandom::Error),
}

/// Where a party was when it was last heard of.
fn place(layers: usize) -> String {
    match layers {
        0 => "before its first layer was done".into(),
        n => format!("in layer {n}"),
    }
}

/// Where a failure comes from, as whoever reports it sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// It is its own.
    Own,
    /// It waited in vain, for this party if for one. That one may have waited for another.
    Waited(Option<usize>),
    /// It saw that a connection was closed, by whoever has failed or by what is between them.
    Closed,
    /// It is the echo of another's failure.
    Echo,
}

fn listed(replaced: &[Replaced]) -> String {
    let one = |r: &Replaced| format!("client {} of party set {} ({})", r.member, r.set, r.why);
    replaced.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// That a message belongs to a proof.
fn in_proof(opens: Option<&str>) -> String {
    opens.map_or(String::new(), |op| format!(", in the proof before `{op}`"))
}

/// One party, or two of whom this one cannot tell which it was.
fn either(party: usize, or: Option<usize>) -> String {
    match or {
        None => Peer::Party(party).to_string(),
        Some(or) => format!("{} or {}", Peer::Party(party), Peer::Party(or)),
    }
}

impl RunError {
    /// Where it comes from.
    pub fn origin(&self) -> Origin {
        match self {
            RunError::Link { problem: LinkError::Closed, .. } => Origin::Closed,
            RunError::Link { problem: LinkError::Aborted, .. } => Origin::Echo,
            RunError::Link { problem: LinkError::Late(_), peer, .. } => {
                Origin::Waited(match peer {
                    Peer::Party(party) => Some(*party),
                    Peer::Receiver(_) => None,
                })
            }
            RunError::Stopped { origin, .. } | RunError::Worker { origin, .. } => *origin,
            RunError::Range { source, .. } => source.origin(),
            _ => Origin::Own,
        }
    }

    /// The one of several errors that the others come from, each with the party that reports it, if one does. A
    /// process that has gone comes before one that is silent, the longest first, and that before whoever waited: for
    /// somebody who did not wait himself, if there is one. The first of equals.
    pub fn cause(errors: Vec<(Option<usize>, RunError)>) -> Option<RunError> {
        let waits = |party: usize| {
            let mut all = errors.iter();
            all.any(|(who, e)| *who == Some(party) && matches!(e.origin(), Origin::Waited(_)))
        };
        let rank = |e: &RunError| match (e, e.origin()) {
            (RunError::Silent { after, .. }, _) => (1, Duration::MAX - *after),
            (_, Origin::Own) => (0, Duration::ZERO),
            (_, Origin::Waited(Some(party))) if waits(party) => (3, Duration::ZERO),
            (_, Origin::Waited(_)) => (2, Duration::ZERO),
            (_, Origin::Closed) => (4, Duration::ZERO),
            (_, Origin::Echo) => (5, Duration::ZERO),
        };
        let ranks: Vec<_> = errors.iter().map(|(_, e)| rank(e)).collect();
        let least = (0..ranks.len()).min_by_key(|&i| ranks[i])?;
        errors.into_iter().nth(least).map(|(_, e)| e)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(peer: usize) -> RunError {
        let problem = LinkError::Late(Duration::from_secs(5));
        RunError::Link { phase: Phase::Layer(3), proof: None, peer: Peer::Party(peer), problem }
    }

    fn silent(party: usize, after: u64) -> RunError {
        RunError::Silent { party, after: Duration::from_secs(after), layers: 3 }
    }

    fn cause(errors: Vec<(usize, RunError)>) -> String {
        let errors = errors.into_iter().map(|(who, e)| (Some(who), e)).collect();
        RunError::cause(errors).expect("an error").to_string()
    }

    /// Whoever waits names the next in the row; the cause is at its end.
    #[test]
    fn the_cause_is_who_did_not_wait() {
        assert!(cause(vec![(0, late(1)), (1, late(2))]).contains("party 2"));
        assert!(cause(vec![(1, late(2)), (0, late(1))]).contains("party 2"));
        assert!(
            cause(vec![(0, late(1)), (1, late(2)), (2, silent(2, 6))]).contains("said nothing")
        );
        let gone = RunError::Gone { party: 1, layers: 2 };
        assert!(cause(vec![(0, silent(0, 1)), (1, gone), (2, late(0))]).contains("party 1: its"));
        assert!(cause(vec![(0, silent(0, 1)), (1, silent(1, 6))]).contains("party 1: its"));
        let echo = |party| {
            let why = "the peer aborted the run".into();
            RunError::Stopped { party, why, origin: Origin::Echo }
        };
        assert!(cause(vec![(0, echo(0)), (1, late(2)), (2, echo(2))]).contains("party 2"));
        let closed = RunError::Link {
            phase: Phase::Layer(3),
            proof: None,
            peer: Peer::Party(2),
            problem: LinkError::Closed,
        };
        assert!(cause(vec![(0, echo(0)), (1, closed), (2, echo(2))]).contains("party 2"));
        // A ring of three: the first.
        assert!(cause(vec![(0, late(1)), (1, late(2)), (2, late(0))]).contains("party 1"));
        assert!(RunError::cause(Vec::new()).is_none());
    }
}
