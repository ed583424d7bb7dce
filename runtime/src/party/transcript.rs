//! A hook that sees what a party sees, for tests and for a verifier of the messages.

use crate::link::Peer;
use crate::share::Held;
use slvr_circuit::ValueId;
use std::collections::BTreeSet;
use std::fmt;

/// Which way a message went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// This party sent it.
    Sent,
    /// This party received it.
    Received,
}

/// The part of a message that belongs to one instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Event<B> {
    pub layer: u32,
    /// Number of the instruction in the run, which names its pseudorandom streams
    /// ([`crate::protocol::Context::instr`]).
    pub instr: u64,
    /// Name of the operation.
    pub op: &'static str,
    pub direction: Direction,
    pub peer: Peer,
    pub bytes: B,
}

/// One that is kept.
pub type Recorded = Event<Vec<u8>>;

/// Is told of everything a party holds and says, as it happens.
pub trait Transcript: Send {
    /// An input, a constant or the result of an instruction: what this party holds of it.
    fn value(&mut self, id: ValueId, held: &Held);
    /// A message, or the part of it that belongs to one instruction.
    fn message(&mut self, event: Event<&[u8]>);
    /// These values will be computed again, since a client has failed a check.
    fn forget(&mut self, values: &BTreeSet<ValueId>) {
        let _ = values;
    }
}

impl fmt::Debug for Recorded {
    /// Without the bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dir, n) = (self.direction, self.bytes.len());
        write!(f, "layer {} {} {dir:?} {} {n} bytes", self.layer, self.op, self.peer)
    }
}

/// Keeps everything in memory. For tests: it holds shares.
#[derive(Default)]
pub struct Recorder {
    /// Every value, in the order of definition; of one that was computed twice the second.
    pub values: Vec<(ValueId, Held)>,
    pub messages: Vec<Recorded>,
}

impl fmt::Debug for Recorder {
    /// Numbers only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recorder<{} values, {} messages>", self.values.len(), self.messages.len())
    }
}

impl Transcript for Recorder {
    fn value(&mut self, id: ValueId, held: &Held) {
        self.values.push((id, held.clone()));
    }

    fn forget(&mut self, values: &BTreeSet<ValueId>) {
        self.values.retain(|(v, _)| !values.contains(v));
    }

    fn message(&mut self, e: Event<&[u8]>) {
        let Event { layer, instr, op, direction, peer, bytes } = e;
        let bytes = bytes.to_vec();
        self.messages.push(Recorded { layer, instr, op, direction, peer, bytes });
    }
}
