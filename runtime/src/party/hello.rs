//! The handshake: what the parties must agree on before the first share is used.

use crate::share::RunId;
use sha2::{Digest, Sha256};
use slvr_circuit::{Circuit, artifact};
use slvr_ring::Data;

/// What a party says it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    circuit: [u8; 32],
    public: [u8; 32],
    run: [u8; 16],
}

impl Hello {
    /// Bytes on the wire.
    pub const BYTES: usize = 80;

    /// For a circuit, the hash of its public inputs and a run.
    pub fn new(circuit: &Circuit, public: [u8; 32], run: RunId) -> Self {
        Hello { circuit: artifact::hash(circuit), public, run: run.0 }
    }

    /// For a receiver: its own circuit and run, and the hash of the public inputs that a party sent.
    pub fn with_public_of(theirs: &[u8], circuit: &Circuit, run: RunId) -> Self {
        let mut public = [0; 32];
        if let Some(bytes) = theirs.get(32..64) {
            public.copy_from_slice(bytes);
        }
        Hello::new(circuit, public, run)
    }

    /// Circuit hash, hash of the public inputs, run id.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut out = [0; Self::BYTES];
        out[..32].copy_from_slice(&self.circuit);
        out[32..64].copy_from_slice(&self.public);
        out[64..].copy_from_slice(&self.run);
        out
    }

    /// Compares with what a peer sent; says what the peer has that differs.
    pub fn compare(&self, theirs: &[u8]) -> Result<(), &'static str> {
        let mine = self.encode();
        let part = |r: std::ops::Range<usize>| theirs.get(r.clone()) == mine.get(r);
        if !part(0..32) {
            return Err("another circuit");
        }
        if !part(32..64) {
            return Err("other public inputs");
        }
        if !part(64..Self::BYTES) || theirs.len() != Self::BYTES {
            return Err("another run");
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
