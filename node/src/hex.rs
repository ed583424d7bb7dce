//! Bytes as hexadecimal digits, and hashes.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};
use std::fmt;

/// Bytes that are written as hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hex<const N: usize>(pub [u8; N]);

/// A hash of 32 bytes.
pub type Hash = Hex<32>;

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |d: u8| char::from(DIGITS[usize::from(d & 15)]);
    bytes.iter().flat_map(|&b| [digit(b >> 4), digit(b)]).collect()
}

/// The bytes of hexadecimal digits; nothing for anything else.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |c: u8| char::from(c).to_digit(16).map(|d| d as u8);
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|p| Some(digit(*p.first()?)? << 4 | digit(*p.get(1)?)?)).collect()
}

impl<const N: usize> Hex<N> {
    /// Of 2 N digits.
    pub fn parse(text: &str) -> Option<Self> {
        // Nothing longer is decoded.
        let bytes = if text.len() == 2 * N { unhex(text)? } else { return None };
        Some(Hex(bytes.try_into().ok()?))
    }
}

impl<const N: usize> Default for Hex<N> {
    fn default() -> Self {
        Hex([0; N])
    }
}

impl<const N: usize> fmt::Display for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl<const N: usize> fmt::Debug for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl<const N: usize> Serialize for Hex<N> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&hex(&self.0))
    }
}

impl<'de, const N: usize> Deserialize<'de> for Hex<N> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Hex::parse(&text)
            .ok_or_else(|| de::Error::custom(format!("{} hexadecimal digits are expected", 2 * N)))
    }
}

/// SHA-256: of certificates and tokens, as other programs compute it, too.
pub fn sha256(bytes: &[u8]) -> Hash {
    Hex(Sha256::digest(bytes).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_reads_back_and_nothing_else_is_read() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(unhex(&hex(&bytes)), Some(bytes));
        assert_eq!(unhex("abc"), None);
        assert_eq!(unhex("zz"), None);
        assert_eq!(Hex::<2>::parse("0aFF").map(|h| h.0), Some([10, 255]));
        assert_eq!(Hex::<2>::parse("0aFF00"), None);
    }
}
