//! The artifact file `.slvrb`, and the hash of a circuit.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | magic, with a line end and a control byte so that a transfer as text shows |
//! | 4 | version of this format and adversary of the circuit ([`Security`]), little-endian |
//! | 8 | length of the payload, little-endian, at most 1 GiB |
//! | 32 | SHA-256 of the domain string, the version and the payload |
//! | | the payload: the circuit in bincode 1.3, integers of variable length |
//!
//! The hash is no signature: it finds accidents, and the parties compare it before the first share
//! moves. Reading checks length and hash before it decodes, and verifies the circuit after. bincode
//! is used in this file only.

use super::verify::{VerifyError, verify};
use super::{Circuit, Security};
use bincode::Options;
use sha2::{Digest, Sha256};
use thiserror::Error;

const MAGIC: [u8; 8] = *b"slvrb\r\n\x1a";
const VERSION: u32 = 6;
/// The same with a circuit against a malicious party. An older program refuses it, and a hash tells the two apart.
const MALICIOUS: u32 = 7;
const HEADER: usize = 8 + 4 + 8 + 32;

/// Whether a file has the name of a compiled circuit.
pub fn is_named(file: &str) -> bool {
    file.ends_with(".slvrb")
}

/// Largest payload, in bytes.
pub const MAX_PAYLOAD: u64 = 1 << 30;

/// Why bytes are not an artifact.
#[derive(Debug, Error)]
pub enum ArtifactError {
    /// Another kind of file, or one damaged by a transfer as text.
    #[error("not a .slvrb file")]
    Magic,
    /// Written by another version.
    #[error("version {0} of the format; this program reads versions {VERSION} and {MALICIOUS}")]
    Version(u32),
    /// The payload is larger than is accepted.
    #[error("a payload of {0} bytes; at most {MAX_PAYLOAD} are accepted")]
    TooLarge(u64),
    /// Truncated, or with something after the end.
    #[error("the file should have {expected} bytes and has {found}")]
    Length {
        /// By its header.
        expected: u64,
        found: u64,
    },
    /// The content is not what was written.
    #[error("the hash does not match the content")]
    Hash,
    /// The payload is not the encoding of a circuit.
    #[error("the payload is not a circuit: {0}")]
    Payload(String),
    /// The circuit is not well formed.
    #[error("the circuit is not well formed: {0}")]
    Circuit(#[from] VerifyError),
}

/// The version that says which adversary a circuit is made for.
fn version(security: Security) -> u32 {
    match security {
        Security::SemiHonest => VERSION,
        Security::Malicious => MALICIOUS,
    }
}

fn hasher(version: u32) -> Sha256 {
    let mut hash = Sha256::new();
    hash.update(b"slvr circuit\0");
    hash.update(version.to_le_bytes());
    hash
}

/// The hash that the parties compare: of all of the circuit, including its name, sizes, sites and adversary.
pub fn hash(circuit: &Circuit) -> [u8; 32] {
    struct Sink(Sha256);
    impl std::io::Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.update(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut sink = Sink(hasher(version(circuit.security)));
    serialize(circuit, &mut sink);
    sink.0.finalize().into()
}

/// The artifact of a circuit. The same circuit gives the same bytes. [`read`] refuses a payload of
/// more than [`MAX_PAYLOAD`] bytes, which the verifier's limits on constants and values leave out of
/// reach of circuits with names of ordinary length.
pub fn write(circuit: &Circuit) -> Vec<u8> {
    let mut payload = Vec::new();
    serialize(circuit, &mut payload);
    let mut out = Vec::with_capacity(HEADER + payload.len());
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&version(circuit.security).to_le_bytes());
    out.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    let hash = hasher(version(circuit.security)).chain_update(&payload).finalize();
    out.extend_from_slice(&hash);
    out.extend_from_slice(&payload);
    out
}

/// Writes a circuit's payload to a sink that does not fail.
fn serialize(circuit: &Circuit, sink: impl std::io::Write) {
    // bincode refuses only sequences of unknown length, of which a circuit has none.
    if let Err(e) = bincode::DefaultOptions::new().serialize_into(sink, circuit) {
        unreachable!("a circuit always serialises: {e}");
    }
}

/// Reads and verifies an artifact.
///
/// # Errors
///
/// Whatever is wrong with the bytes or the circuit, found in the order of [`ArtifactError`].
pub fn read(bytes: &[u8]) -> Result<Circuit, ArtifactError> {
    let rest = bytes.strip_prefix(&MAGIC).ok_or(ArtifactError::Magic)?;
    let found = bytes.len() as u64;
    let short = ArtifactError::Length { expected: HEADER as u64, found };
    let Some((version, rest)) = rest.split_first_chunk() else { return Err(short) };
    let version = u32::from_le_bytes(*version);
    let find = |s: &Security| self::version(*s) == version;
    let Some(security) = Security::ALL.into_iter().find(find) else {
        return Err(ArtifactError::Version(version));
    };
    let Some((length, rest)) = rest.split_first_chunk() else { return Err(short) };
    let length = u64::from_le_bytes(*length);
    if length > MAX_PAYLOAD {
        return Err(ArtifactError::TooLarge(length));
    }
    let Some((want, payload)) = rest.split_first_chunk::<32>() else { return Err(short) };
    if payload.len() as u64 != length {
        return Err(ArtifactError::Length { expected: HEADER as u64 + length, found });
    }
    let hash: [u8; 32] = hasher(version).chain_update(payload).finalize().into();
    if hash != *want {
        return Err(ArtifactError::Hash);
    }
    let options = bincode::DefaultOptions::new().with_limit(MAX_PAYLOAD);
    let mut circuit: Circuit =
        options.deserialize(payload).map_err(|e| ArtifactError::Payload(e.to_string()))?;
    circuit.security = security;
    verify(&circuit)?;
    Ok(circuit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ValueId;
    use crate::proof::tests::small_proven;
    use crate::verify::tests::{all_ops, small};

    /// An artifact with a valid header around any payload.
    fn seal(payload: &[u8]) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend(VERSION.to_le_bytes());
        out.extend((payload.len() as u64).to_le_bytes());
        out.extend(hasher(VERSION).chain_update(payload).finalize());
        out.extend(payload);
        out
    }

    fn payload(c: &Circuit) -> Vec<u8> {
        let mut out = Vec::new();
        serialize(c, &mut out);
        out
    }

    #[test]
    fn reads_what_it_wrote() {
        let malicious = Circuit { security: Security::Malicious, ..small_proven() };
        for c in [small(), all_ops(), malicious] {
            let bytes = write(&c);
            assert_eq!(read(&bytes).unwrap(), c);
            assert_eq!(write(&c), bytes);
            assert_eq!(bytes[20..52], hash(&c), "the stored hash is the circuit's");
        }
        assert_ne!(hash(&small()), hash(&all_ops()));
        let honest = small_proven();
        let malicious = Circuit { security: Security::Malicious, ..honest.clone() };
        assert_ne!(hash(&honest), hash(&malicious), "parties notice another adversary");
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_is_refused() {
        let bytes = write(&small());
        for i in 0..bytes.len() {
            for bit in 0..8 {
                let mut bad = bytes.clone();
                bad[i] ^= 1 << bit;
                assert!(read(&bad).is_err(), "byte {i} bit {bit}");
            }
            assert!(read(&bytes[..i]).is_err(), "first {i} bytes");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(matches!(read(&longer), Err(ArtifactError::Length { .. })));
    }

    /// Version 8 was of circuits against a malicious party whose proofs had coins from a hash.
    #[test]
    fn other_versions_are_refused() {
        for version in [0, 5, 8, u32::MAX] {
            let mut bytes = write(&small());
            bytes[8..12].copy_from_slice(&version.to_le_bytes());
            let said = read(&bytes).unwrap_err().to_string();
            let want =
                format!("version {version} of the format; this program reads versions 6 and 7");
            assert_eq!(said, want);
        }
    }

    #[test]
    fn huge_lengths_are_refused_before_anything_is_allocated() {
        let mut bytes = write(&small());
        bytes[12..20].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(matches!(read(&bytes), Err(ArtifactError::TooLarge(u64::MAX))));
        // Inside a payload with a valid hash: a name of 2^60 bytes.
        let bytes = seal(&[253, 0, 0, 0, 0, 0, 0, 0, 16]);
        assert!(matches!(read(&bytes), Err(ArtifactError::Payload(_))));
    }

    #[test]
    fn a_sealed_payload_is_still_checked() {
        let good = payload(&small());
        assert!(read(&seal(&good)).is_ok());
        assert!(matches!(read(&seal(&[&good[..], &[0]].concat())), Err(ArtifactError::Payload(_))));
        for i in 0..good.len() {
            let mut bad = good.clone();
            bad[i] ^= 0xff;
            // Some of these are other circuits; none may panic.
            let _ = read(&seal(&bad));
        }
        let mut c = small();
        c.layers[0].drop = vec![ValueId(99)];
        let bad = payload(&c);
        assert!(matches!(read(&seal(&bad)), Err(ArtifactError::Circuit(_))));
        assert!(matches!(read(b"PK\x03\x04"), Err(ArtifactError::Magic)));
    }
}
