//! The clock of this machine.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970.
pub fn now() -> u64 {
    now_ms() / 1000
}

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
    since.saturating_add_signed(1000 * skew())
}

/// A wrong clock, for tests.
fn skew() -> i64 {
    let told = cfg!(feature = "doors").then(|| std::env::var("SLVR_NODE_SKEW").ok()).flatten();
    told.and_then(|s| s.parse().ok()).unwrap_or(0)
}
