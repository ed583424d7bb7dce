//! Node 0 opens rounds, on all three nodes.
//!
//! The two others are looked for first. If one goes away after that, the round is open at some nodes and not at others. It
//! is led all the same, and whoever opens it asks again: then it is opened where it is not yet. If nobody asks again, it
//! is aborted at its deadline. A node that says no ends it at once.

use super::lead::{abort, begin};
use super::others::{OpenError, all_done, both, both_within, said};
use super::pause::AGAIN;
use super::{follow, states};
use crate::basics::now;
use crate::node::Node;
use crate::state::{Phase, RoundKey, Spec};
use crate::submission::Public;
use crate::wire::{Answer, Ask};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How long a node is looked for while a round is opened: whoever opens it waits.
const LOOKING: Duration = Duration::from_secs(10);

/// Opens a round on all three nodes, and begins to lead it. It may be asked for again.
///
/// # Errors
///
/// What speaks against it at any node: then it is open on none. A node that is away: then it is opened once it is asked
/// for again.
pub fn open_everywhere(node: &Arc<Node>, spec: Spec, public: Public) -> Result<(), OpenError> {
    let key = spec.key.clone();
    let there = both_within(node, &Ask::Ping, LOOKING.min(node.deadline()));
    all_done(there.map_err(OpenError::Away)?)?;
    if follow::open(node, spec.clone(), &public)? {
        node.partly_open(&key, true);
    }
    if let Err(e) = begin(node, key.clone()) {
        return Err(OpenError::Away(format!("node {}: no thread is left: {e}", node.me())));
    }
    let ask = Ask::Open { spec, public };
    let begun = Instant::now();
    // A node may go away for a moment after it was looked for.
    let answers = loop {
        match both(node, &ask) {
            Err(why) if begun.elapsed() < LOOKING && is_open(node, &key) => {
                tracing::warn!(round = %key, why, "a node is away while a round is opened");
                thread::sleep(AGAIN);
            }
            done => break done,
        }
    };
    let answers = answers.map_err(|why| match is_open(node, &key) {
        true => OpenError::Away(format!(
            "{why}: the round is not open there yet, and may be asked for again"
        )),
        false => {
            let ended = node.round(&key).and_then(|r| r.aborted.clone());
            OpenError::Refused(ended.unwrap_or_else(|| "the round is closed".into()))
        }
    })?;
    let refused = answers.into_iter().find(|(_, a)| !matches!(a, Answer::Done));
    // One that was open everywhere goes on with a node that would not open it any more.
    let partly = node.partly_open(&key, false);
    let Some((peer, answer)) = refused else { return Ok(()) };
    let why = said(peer, answer);
    if partly {
        abort(node, &key, &format!("it could not be opened: {why}"));
    }
    Err(why.into())
}

fn is_open(node: &Node, key: &RoundKey) -> bool {
    node.round(key).is_some_and(|r| r.phase == Phase::Open)
}

/// The specification of a round that a coordinator asks for.
pub(crate) fn spec(
    node: &Node,
    key: RoundKey,
    (minimum, seconds, grace): (Option<u64>, u64, u64),
    public: &Public,
) -> Result<Spec, String> {
    let known = node.task(&key.task).ok_or_else(|| format!("no task `{}`", key.task))?;
    let (full, floor) = (&known.full, known.task.minimum);
    let after = states::after(node, full, &key)?;
    Ok(Spec {
        key,
        after,
        circuit: full.hash,
        clients: full.clients,
        minimum: minimum.unwrap_or(floor),
        public: crate::store::Store::public_hash(public),
        deadline: now().saturating_add(seconds),
        grace,
    })
}
