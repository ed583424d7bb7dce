//! Why a run stopped.

use crate::link::{LinkError, Peer};
use crate::share::encode::InputError;
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
    /// A message was late, short, long or out of order, or the peer stopped.
    #[error("{phase}, {peer}: {problem}")]
    Link {
        /// When.
        phase: Phase,
        /// The other end.
        peer: Peer,
        /// What is wrong.
        problem: LinkError,
    },
    /// A message has the right length but is not a packing of elements.
    #[error("{phase}, {peer}: the message is not a packing of ring elements")]
    Malformed {
        /// When.
        phase: Phase,
        /// The sender.
        peer: Peer,
    },
    /// A peer runs something else.
    #[error("handshake, {peer}: has {what}")]
    Mismatch {
        /// Who.
        peer: Peer,
        /// What differs: another circuit, other public inputs, another run.
        what: &'static str,
    },
    /// A public index points outside the axis it indexes.
    #[error("{phase}: {source}")]
    Index {
        /// When.
        phase: Phase,
        /// Which index.
        source: IndexOutOfRange,
    },
    /// The circuit is not well formed.
    #[error("the circuit is not well formed: {0}")]
    Circuit(#[from] VerifyError),
    /// An input was not handed to the party as the circuit declares it.
    #[error("input `{0}` does not have the declared holder, domain or number of elements")]
    Shape(String),
    /// An input file does not fit the circuit.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The parties found different values of something public.
    #[error("the parties disagree on {0}")]
    Disagreement(&'static str),
    /// The bits of the clients' checks differ from those before layers were repeated: a peer did not
    /// do what it should.
    #[error("{phase}: other clients pass their checks than before the repetition")]
    Repetition {
        /// When.
        phase: Phase,
    },
    /// A party sent something that it cannot prove, or not as the proof is carried out.
    #[error("{phase}, before `{op}`, {}: {what}", Peer::Party(*party))]
    Proof {
        /// Before which layer the proof stands.
        phase: Phase,
        /// What is opened there.
        op: &'static str,
        /// Whose message it is.
        party: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// The two holders of a component that was opened have sent different ones.
    #[error("{phase}, `{op}`: parties {from} and {by} have sent different copies of a component")]
    Voucher {
        /// In which layer.
        phase: Phase,
        /// The instruction.
        op: &'static str,
        /// Who sent the component.
        from: usize,
        /// Who vouched for it.
        by: usize,
    },
    /// Not all parties have the same of a client, in a circuit against a malicious party.
    #[error(
        "{phase}, {peer}: does not have the same of client {member} of party set {set} as this party"
    )]
    Client {
        /// When.
        phase: Phase,
        /// Who has something else.
        peer: Peer,
        /// The client's party set.
        set: u32,
        /// Which of its members.
        member: u64,
    },
    /// What a party in another process was told does not make sense to it.
    #[error("the setup of a party is not one of this version, or is damaged")]
    Setup,
    /// A party in another process stopped.
    #[error("party {party}: {why}")]
    Stopped {
        /// Which.
        party: usize,
        /// What it said.
        why: String,
        /// Whether it echoes another's failure.
        consequence: bool,
    },
    /// The process of a party ended, or no longer makes sense.
    #[error("party {party}: its process ended before the run was over, {}", place(*.layers))]
    Gone {
        /// Which.
        party: usize,
        /// How many layers it had done when it was last heard of.
        layers: usize,
    },
    /// The process of a party does not end and says nothing: it has been stopped, or its machine has.
    #[error("party {party}: its process has said nothing for {after:.1?}, {}", place(*.layers))]
    Silent {
        /// Which.
        party: usize,
        /// For how long.
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

impl RunError {
    /// Whether this is the echo of another party's failure rather than a cause.
    pub fn is_consequence(&self) -> bool {
        matches!(
            self,
            RunError::Link { problem: LinkError::Aborted | LinkError::Closed, .. }
                | RunError::Stopped { consequence: true, .. }
        )
    }
}
