//! Hexadecimal, hashes, clocks, names and threads.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

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

/// Seconds since 1970 by this machine's clock.
pub fn now() -> u64 {
    now_ms() / 1000
}

/// Milliseconds since 1970 by this machine's clock.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
    since.saturating_add_signed(1000 * skew())
}

/// A wrong clock, for tests.
fn skew() -> i64 {
    let told = cfg!(feature = "doors").then(|| std::env::var("SLVR_NODE_SKEW").ok()).flatten();
    told.and_then(|s| s.parse().ok()).unwrap_or(0)
}

/// Starts a thread.
///
/// # Errors
///
/// A system that has no more threads. Then nothing of it happens.
#[cfg(feature = "server")]
pub fn spawn(name: &str, act: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new().name(name.into()).spawn(act).map(drop).inspect_err(|why| {
        tracing::error!(name, %why, "the system starts no thread");
    })
}

/// So many of something, in words: "1 client was", "2 clients were".
pub fn counted(n: u64, one: &str, more: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { more })
}

/// Most names in a message.
const NAMED: usize = 50;

/// Some names, and how many more there are; nothing for none.
pub fn listed(all: impl Iterator<Item = String>) -> Option<String> {
    let mut named: Vec<String> = all.collect();
    let more = named.len().saturating_sub(NAMED);
    named.truncate(NAMED);
    match (named.is_empty(), more) {
        (true, _) => None,
        (_, 0) => Some(named.join(", ")),
        _ => Some(format!("{} and {more} more", named.join(", "))),
    }
}

/// Whether a name of a task or a client can also be the name of a file on any system.
pub fn is_name(name: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=64).contains(&name.len()) && name.chars().all(good) && !name.starts_with(['.', '-'])
}

/// Numbers below n from a seed, for tests.
#[cfg(test)]
pub(crate) fn draws(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |n| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % n
    }
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

    #[test]
    fn names_leave_no_folder() {
        for good in ["digits", "client-7", "a.b_c"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", ".", "..", "a/b", "a\\b", "-rf", "é", "a\0", &"x".repeat(65)] {
            assert!(!is_name(bad), "{bad:?}");
        }
    }
}
