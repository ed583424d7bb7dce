//! What a node shows of itself: where runs are, and who waits for whom. Nothing of it is secret.

use crate::state::RoundKey;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Where a run is at this node.
#[derive(Clone, Debug)]
pub struct Progress {
    /// What it does.
    pub doing: &'static str,
    /// Layers that are done.
    pub done: usize,
    pub layers: usize,
    /// For whom it waits, and since when.
    pub waits: Option<(Awaited, Instant)>,
}

/// For whom a run waits.
#[derive(Clone, Copy, Debug)]
pub enum Awaited {
    Node(usize),
    /// This node's own, at this range.
    Worker(u16, usize),
}

/// The same, to be shown.
#[derive(Clone, Debug, Serialize)]
pub struct RunStatus {
    /// What it does.
    pub doing: &'static str,
    /// Layers that are done.
    pub layer: usize,
    pub layers: usize,
    /// For which node it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<usize>,
    /// For which of its workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for_worker: Option<u16>,
    /// Which range of layers that computes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<usize>,
    /// For how long, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// What rounds do at a node.
#[derive(Debug, Default)]
pub struct Status {
    runs: Mutex<BTreeMap<RoundKey, Progress>>,
    /// Why rounds do not go on, at the node that leads them.
    waiting: Mutex<BTreeMap<RoundKey, String>>,
}

impl Status {
    fn runs(&self) -> MutexGuard<'_, BTreeMap<RoundKey, Progress>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes why a round does not go on, or that it does; whether that is another cause than before.
    pub fn waits_for(&self, key: &RoundKey, why: Option<&str>) -> bool {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match why {
            Some(why) => waiting.insert(key.clone(), why.into()).as_deref() != Some(why),
            None => waiting.remove(key).is_some(),
        }
    }

    /// Why a round does not go on.
    pub fn waiting(&self, key: &RoundKey) -> Option<String> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// What is done for a round from here on.
    pub fn doing(&self, key: &RoundKey, doing: &'static str, layers: usize) {
        self.runs().insert(key.clone(), Progress { doing, done: 0, layers, waits: None });
    }

    /// Changes what is shown of a round.
    pub fn update(&self, key: &RoundKey, change: impl FnOnce(&mut Progress)) {
        if let Some(p) = self.runs().get_mut(key) {
            change(p);
        }
    }

    /// Nothing is done for a round any more.
    pub fn rest(&self, key: &RoundKey) {
        self.runs().remove(key);
    }

    /// What is done for a round.
    pub fn of(&self, key: &RoundKey) -> Option<RunStatus> {
        let Progress { doing, done, layers, waits } = self.runs().get(key).cloned()?;
        let (waits_for, worker) = match waits {
            Some((Awaited::Node(peer), _)) => (Some(peer), None),
            Some((Awaited::Worker(worker, range), _)) => (None, Some((worker, range))),
            None => (None, None),
        };
        Some(RunStatus {
            doing,
            layer: done,
            layers,
            waits_for,
            waits_for_worker: worker.map(|(worker, _)| worker),
            range: worker.map(|(_, range)| range),
            seconds: waits.map(|(_, since)| since.elapsed().as_secs_f64()),
        })
    }
}
