//! The handshake: what the parties must agree on before the first share is used.

use crate::share::RunId;
use sha2::{Digest, Sha256};
use slvr_circuit::{Circuit, artifact};
use slvr_ring::Data;
use std::ops::Range;

/// The version of what parties tell each other in a run. It is another one whenever a message of the same circuit has
/// other bytes, and with it the version that nodes compare.
pub const MESSAGES: u32 = 5;

/// What a party says it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    circuit: [u8; 32],
    public: [u8; 32],
    run: [u8; 16],
    /// Of a circuit with states: which round of which history it is.
    state: Option<[u8; 32]>,
}

const VERSION: Range<usize> = 0..4;
const CIRCUIT: Range<usize> = 4..36;
const PUBLIC: Range<usize> = 36..68;
const RUN: Range<usize> = 68..Hello::BYTES;

impl Hello {
    /// Bytes on the wire of a circuit without states.
    pub const BYTES: usize = 84;

    /// Bytes on the wire.
    pub fn bytes(circuit: &Circuit) -> usize {
        let states = circuit.states().next().is_some();
        Self::BYTES + if states { 32 } else { 0 }
    }

    /// For a circuit, the hash of its public inputs and a run.
    pub fn new(circuit: &Circuit, public: [u8; 32], run: RunId) -> Self {
        Hello { circuit: artifact::hash(circuit), public, run: run.0, state: None }
    }

    /// In a circuit with states, the round and history of what the party has kept.
    pub(super) fn of_history(self, state: Option<[u8; 32]>) -> Self {
        Hello { state, ..self }
    }

    /// For a receiver: its own circuit and run, and the hash of the public inputs and the history that a party sent.
    pub fn with_public_of(theirs: &[u8], circuit: &Circuit, run: RunId) -> Self {
        let mut public = [0; 32];
        if let Some(bytes) = theirs.get(PUBLIC) {
            public.copy_from_slice(bytes);
        }
        let state = theirs.get(Self::BYTES..).and_then(|state| state.try_into().ok());
        Hello { state, ..Hello::new(circuit, public, run) }
    }

    /// Version of the messages, circuit hash, hash of the public inputs, run id; round and history of states.
    pub fn encode(&self) -> Vec<u8> {
        let state = self.state.as_ref().map_or(&[][..], |state| state);
        [&MESSAGES.to_le_bytes()[..], &self.circuit, &self.public, &self.run, state].concat()
    }

    /// Compares with what a peer sent; says what the peer has that differs.
    pub fn compare(&self, theirs: &[u8]) -> Result<(), &'static str> {
        let mine = self.encode();
        let part = |r: Range<usize>| theirs.get(r.clone()) == mine.get(r);
        if !part(VERSION) {
            return Err("another version of the messages");
        }
        if !part(CIRCUIT) {
            return Err("another circuit");
        }
        if !part(PUBLIC) {
            return Err("other public inputs");
        }
        if !part(RUN) || theirs.len() != mine.len() {
            return Err("another run");
        }
        if theirs != mine {
            return Err("the state of another round, or of another history");
        }
        Ok(())
    }
}

/// Hash of the public inputs, in declaration order.
pub fn hash_public<'a>(inputs: impl Iterator<Item = &'a Data>) -> [u8; 32] {
    let mut hash = Sha256::new();
    let mut bytes = Vec::new();
    for x in inputs {
        bytes.clear();
        x.to_wire(&mut bytes);
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(&bytes);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use slvr_circuit::text;

    #[test]
    fn what_differs_is_named_and_the_version_first() {
        let circuit = text::parse("circuit \"none\"\n").unwrap();
        let hello = |public| Hello::new(&circuit, public, RunId([3; 16]));
        let mine = hello([1; 32]);
        assert_eq!(mine.encode().len(), Hello::BYTES);
        assert_eq!(mine.compare(&mine.encode()), Ok(()));
        assert_eq!(mine.compare(&hello([2; 32]).encode()), Err("other public inputs"));
        // Parties of two versions may have all else in common, or nothing.
        for mut theirs in [mine.encode(), vec![7; Hello::BYTES]] {
            theirs[0] ^= 0x80;
            assert_eq!(mine.compare(&theirs), Err("another version of the messages"));
        }
        assert!(mine.compare(&[]).is_err());
    }
}
