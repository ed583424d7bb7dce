//! How long a node waits before it does something again.
//!
//! What fails at once fails again at once: without pauses a full disk, or a node that is started, would cost a round all
//! its attempts within a second. So each pause is longer than the one before, and all of them are within the patience
//! after which a round is aborted.
//!
//! **A full disk** costs no attempt. Before one begins each node looks whether what it will leave fits on its disk, and
//! says so to node 0 if it does not. What an attempt leaves is written once there is room.

use crate::node::Node;
use crate::state::{Phase, RoundKey, StepError};
use crate::store::StoreError;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// Before something is tried for the second time.
pub(super) const AGAIN: Duration = Duration::from_millis(300);
/// Longest pause while a node waits for another one, or for room.
const LONG: Duration = Duration::from_secs(3);
/// Longest pause between two attempts.
const LONGEST: Duration = Duration::from_secs(60);
/// How often a pause looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(100);

/// Pauses that double.
pub(super) struct Backoff(Duration);

impl Backoff {
    pub(super) fn new() -> Backoff {
        Backoff(AGAIN)
    }

    pub(super) fn next(&mut self) -> Duration {
        let pause = self.0;
        self.0 = (pause * 2).min(LONG);
        pause
    }
}

/// The pause after so many attempts that failed one after another: four times the one before, and altogether no longer
/// than the patience.
pub(super) fn after(failed: u32, patience: Duration, attempts: u32) -> Duration {
    if failed == 0 {
        return Duration::ZERO;
    }
    let most = LONGEST.min(patience / attempts.max(1));
    AGAIN.saturating_mul(4u32.saturating_pow(failed - 1)).min(most)
}

/// Waits, unless the node is stopped or the round goes on otherwise.
pub(super) fn rest(node: &Node, key: &RoundKey, phase: Phase, pause: Duration) {
    let until = Instant::now() + pause;
    let stays = || node.round(key).is_some_and(|r| r.phase == phase);
    while !node.stopping() && stays() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(LOOK));
    }
}

/// What may fail because a disk is full.
pub(super) trait Full {
    fn is_full(&self) -> bool;
}

impl Full for StoreError {
    fn is_full(&self) -> bool {
        StoreError::is_full(self)
    }
}

impl Full for StepError {
    fn is_full(&self) -> bool {
        matches!(self, StepError::Store { full: true, .. })
    }
}

/// Does what needs room on the disk, again and again while there is none, until the node's patience is over or the round
/// is aborted.
pub(super) fn with_room<T, E: Full>(
    node: &Node,
    key: &RoundKey,
    act: impl Fn() -> Result<T, E>,
) -> Result<T, E> {
    let patience = Duration::from_secs(node.config.limits.patience_s);
    let (begun, aborted) = (Instant::now(), node.aborted(key));
    let mut pauses = Backoff::new();
    let mut waited = false;
    loop {
        let done = act();
        let full = done.as_ref().is_err_and(Full::is_full);
        let ends = node.stopping() || aborted.load(Ordering::Acquire) || begun.elapsed() > patience;
        if !full || ends {
            if waited {
                node.status.waits_for(key, None);
            }
            return done;
        }
        waited = true;
        if node.status.waits_for(key, Some(&full_disk(node))) {
            tracing::warn!(round = %key, "the disk is full: what was computed is written once there is room");
        }
        thread::sleep(pauses.next());
    }
}

/// What others are told of a full disk.
pub(super) fn full_disk(node: &Node) -> String {
    format!("node {}: its disk is full, and it waits for room", node.me())
}

/// Whether there is room for what an attempt leaves.
pub(super) fn has_room(node: &Node, bytes: u64) -> Result<(), String> {
    node.store.has_room(bytes).map_err(|e| match e.is_full() {
        true => full_disk(node),
        false => format!("node {}: its store fails: {e}", node.me()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_all_of_them_are_within_the_patience() {
        let patience = Duration::from_secs(1800);
        let all: Vec<u64> = (0..7).map(|k| after(k, patience, 5).as_millis() as u64).collect();
        assert_eq!(all, [0, 300, 1200, 4800, 19_200, 60_000, 60_000]);
        for (patience, attempts) in [(20, 5), (1, 100), (1800, 100), (u64::from(u32::MAX), 1)] {
            let patience = Duration::from_secs(patience);
            let sum: Duration = (0..attempts).map(|k| after(k, patience, attempts)).sum();
            assert!(sum <= patience, "{patience:?}, {attempts} attempts: {sum:?}");
        }
        let mut pauses = Backoff::new();
        let all: Vec<u64> = (0..6).map(|_| pauses.next().as_millis() as u64).collect();
        assert_eq!(all, [300, 600, 1200, 2400, 3000, 3000]);
    }
}
