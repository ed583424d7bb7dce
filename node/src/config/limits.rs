//! What a node may use, and how long it waits.

use serde::Deserialize;

/// What a node may use, and how long it waits.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Megabytes of memory for the values of all runs at one time.
    pub run_memory_mb: u64,
    /// Connections of clients at one time.
    pub connections: usize,
    /// Uploads that are being read at one time.
    pub uploads: usize,
    /// Seconds for a message of a run, and for an answer of another node.
    pub deadline_s: u64,
    /// Seconds after which a connection that says nothing is closed.
    pub idle_s: u64,
    /// Bytes a second below which an upload is given up.
    pub slowest: u64,
    /// Seconds that the leader goes on trying, once a round has closed, before it aborts it.
    pub patience_s: u64,
    /// How often a run is tried.
    pub attempts: u32,
    /// Days after which what is left of a round that has ended is erased. Without it nothing is.
    pub keep_days: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            run_memory_mb: 4096,
            connections: 4096,
            uploads: 128,
            deadline_s: 60,
            idle_s: 30,
            slowest: 4096,
            patience_s: 1800,
            attempts: 5,
            keep_days: None,
        }
    }
}

/// Most seconds that somebody may be told to wait: a month.
pub const LONGEST: u64 = 31 * 24 * 3600;

impl Limits {
    /// Each of them: its name, what it is, and from where to where it may be.
    fn all(&self) -> [(&'static str, u64, u64, u64); 9] {
        // One without a row is not used.
        let &Limits {
            run_memory_mb,
            connections,
            uploads,
            deadline_s,
            idle_s,
            slowest,
            patience_s,
            attempts,
            keep_days,
        } = self;
        [
            ("run_memory_mb", run_memory_mb, 1, 1 << 40),
            ("connections", connections as u64, 16, 1 << 20),
            ("uploads", uploads as u64, 1, 1 << 20),
            ("deadline_s", deadline_s, 1, LONGEST),
            ("idle_s", idle_s, 1, LONGEST),
            ("slowest", slowest, 1, 1 << 40),
            ("patience_s", patience_s, 1, LONGEST),
            ("attempts", attempts.into(), 1, 100),
            ("keep_days", keep_days.unwrap_or(1), 1, 36_500),
        ]
    }

    /// What cannot be.
    pub(super) fn wrong(&self) -> Option<String> {
        let (name, found, low, high) =
            self.all().into_iter().find(|(_, n, l, h)| !(l..=h).contains(&n))?;
        Some(format!("[limits]: `{name} = {found}` is not from {low} to {high}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_no_clock_or_round_can_have_are_refused() {
        let wrong = |text: &str| {
            let limits: Limits = toml::from_str(text).expect("reads");
            limits.wrong()
        };
        assert_eq!(wrong(""), None, "what is not said is as it should be");
        for (name, ..) in Limits::default().all() {
            let zero = wrong(&format!("{name} = 0")).expect("is refused");
            assert!(zero.contains(&format!("`{name} = 0`")), "{zero}");
            let most = if name == "attempts" { u64::from(u32::MAX) } else { i64::MAX as u64 };
            assert!(wrong(&format!("{name} = {most}")).is_some(), "{name} = {most}");
        }
    }
}
