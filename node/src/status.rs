//! What a node shows of itself: where runs are, and who waits for whom. Nothing of it is secret.

use crate::locks::lock;
use crate::state::RoundKey;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;

/// Where a run is at this node.
#[derive(Clone, Debug)]
pub struct Progress {
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

/// What rounds do at a node.
#[derive(Debug, Default)]
pub struct Status {
    runs: Mutex<BTreeMap<RoundKey, Progress>>,
    /// Why rounds do not go on, at the node that leads them.
    waiting: Mutex<BTreeMap<RoundKey, String>>,
}

impl Status {
    /// Notes why a round does not go on, or that it does; whether that is another cause than before.
    pub fn waits_for(&self, key: &RoundKey, why: Option<&str>) -> bool {
        let mut waiting = lock(&self.waiting);
        match why {
            Some(why) => waiting.insert(key.clone(), why.into()).as_deref() != Some(why),
            None => waiting.remove(key).is_some(),
        }
    }

    /// Why a round does not go on.
    pub fn waiting(&self, key: &RoundKey) -> Option<String> {
        lock(&self.waiting).get(key).cloned()
    }

    /// What is done for a round from here on.
    pub fn doing(&self, key: &RoundKey, doing: &'static str, layers: usize) {
        lock(&self.runs).insert(key.clone(), Progress { doing, done: 0, layers, waits: None });
    }

    /// Changes what is shown of a round.
    pub fn update(&self, key: &RoundKey, change: impl FnOnce(&mut Progress)) {
        if let Some(p) = lock(&self.runs).get_mut(key) {
            change(p);
        }
    }

    /// Nothing is done for a round any more.
    pub fn rest(&self, key: &RoundKey) {
        lock(&self.runs).remove(key);
    }

    /// What is done for a round, to be shown.
    pub fn of(&self, key: &RoundKey) -> Option<Value> {
        let Progress { doing, done, layers, waits } = lock(&self.runs).get(key).cloned()?;
        let mut shown = json!({ "doing": doing, "layer": done, "layers": layers });
        if let Some((awaited, since)) = waits {
            shown["seconds"] = since.elapsed().as_secs_f64().into();
            match awaited {
                Awaited::Node(peer) => shown["waits_for"] = peer.into(),
                Awaited::Worker(worker, range) => {
                    (shown["waits_for_worker"], shown["range"]) = (worker.into(), range.into());
                }
            }
        }
        Some(shown)
    }
}
