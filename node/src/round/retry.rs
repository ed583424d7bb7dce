//! Runs a round again that was aborted, from the submissions that are kept.
//!
//! The coordinator tells each of the three nodes by itself that a round is run again. So node 0 alone runs none again, and
//! draws no more coins than it is granted. Each node looks whether it can: the round was aborted here, and so this node
//! has given nothing of it away; its submissions were not erased; the circuit is the one that clients have signed; a state
//! has not gone on. Then node 0 goes back to `closed`, has the two others do so, and leads the round as any other: whose
//! submissions count is agreed anew, and attempts are counted on, so that each has a name and randomness of its own.

use super::agreement::complete;
use super::gather::gather;
use super::lead::{abort, few, lead_on};
use super::others::{OpenError, both, said};
use super::states;
use crate::names::counted;
use crate::node::Node;
use crate::state::{Entry, Phase, Round, RoundKey, Step};
use crate::wire::{Again, Answer, Ask};
use std::sync::Arc;

/// The submissions from which this node could run a round again.
///
/// # Errors
///
/// What speaks against it, and what to do.
pub(crate) fn kept(node: &Node, key: &RoundKey) -> Result<Vec<Entry>, OpenError> {
    let me = node.me();
    let refused = |why: String| Err(OpenError::Refused(format!("node {me}: {why}")));
    let Some(round) = node.round(key) else {
        return refused(format!(
            "it knows no round {key}: the round was not open at all three nodes, or this node has lost its data. Open a new round"
        ));
    };
    if round.phase != Phase::Aborted {
        let phase = round.phase;
        return refused(format!(
            "round {key} is {phase}, and only one that was aborted is run again"
        ));
    }
    if node.is_busy(key) {
        return Err(OpenError::Away(format!(
            "node {me}: an attempt at {key} has not ended yet; ask again"
        )));
    }
    if !node.store.keeps_parts(key) {
        return refused(format!("the submissions to {key} have been erased: open a new round"));
    }
    let full = node.circuit_of(&round.spec, round.spec.clients)?;
    states::check_retry(node, &full, &round.spec)?;
    let all = complete(node, key)?;
    let (found, minimum) = (clients(&all), round.spec.minimum);
    if found < minimum {
        return refused(format!(
            "it has the submissions of {} to {key}, and the minimum is {minimum}: there is nothing else to run it on. Open a new round",
            counted(found, "client", "clients")
        ));
    }
    Ok(all)
}

fn clients(all: &[Entry]) -> u64 {
    all.iter().filter(|e| e.set.is_none()).count() as u64
}

/// The coordinator tells this node that a round is run again. At node 0 it then is; the others have to have been told
/// before.
///
/// # Errors
///
/// What speaks against it at any node; a node that is away, or an attempt that has not ended.
pub(crate) fn retry(node: &Arc<Node>, key: &RoundKey) -> Result<Arc<Round>, OpenError> {
    // Asked for again, a round that is run again is.
    if let Some(round) = node.round(key).filter(|r| !r.ended() && !r.retries.is_empty()) {
        return Ok(round);
    }
    kept(node, key)?;
    let permitted = node.advance(key, Step::Permit)?;
    match node.leads() {
        true => begin(node, key, permitted.attempt),
        false => Ok(permitted),
    }
}

/// Whether node 0 could run a round again: all three nodes have kept what it takes, and together enough of it.
///
/// # Errors
///
/// What speaks against it, and what to do.
pub(crate) fn could(node: &Arc<Node>, key: &RoundKey) -> Result<(), OpenError> {
    enough(node, key, 0, Again::Look)
}

fn enough(node: &Arc<Node>, key: &RoundKey, attempt: u32, wanted: Again) -> Result<(), OpenError> {
    let mut nodes = [kept(node, key)?, Vec::new(), Vec::new()];
    let ask = Ask::Retry { key: key.clone(), attempt, wanted };
    for (peer, answer) in both(node, &ask).map_err(OpenError::Away)? {
        match answer {
            Answer::Complete(all) => nodes[peer] = all,
            Answer::Busy => return Err(OpenError::Away(said(peer, answer))),
            other => return Err(OpenError::Refused(said(peer, other))),
        }
    }
    let spec = node.round(key).ok_or_else(|| "no such round".to_string())?.spec.clone();
    let full = node.circuit_of(&spec, spec.clients)?;
    let (accepted, excluded) = gather(&full.others, &nodes);
    match few(node, &spec, &full, &accepted, &excluded) {
        None => Ok(()),
        Some(why) => Err(OpenError::Refused(format!(
            "{why}: there is nothing else to run {key} on. Open a new round"
        ))),
    }
}

fn begin(node: &Arc<Node>, key: &RoundKey, attempt: u32) -> Result<Arc<Round>, OpenError> {
    let Some(led) = node.lead(key) else {
        return Err(OpenError::Away(format!(
            "node 0 still tells the others that {key} was aborted; ask again"
        )));
    };
    enough(node, key, attempt, Again::Ready)?;
    node.store.erase_outcome(key)?;
    // This node first: what the others ask it from here on is not whether the round was aborted.
    let again = node.advance(key, Step::Retry(attempt))?;
    let ask = Ask::Retry { key: key.clone(), attempt, wanted: Again::Begin };
    let begun = both(node, &ask).and_then(|all| {
        all.into_iter().try_for_each(|(peer, answer)| match answer {
            Answer::Complete(_) => Ok(()),
            other => Err(said(peer, other)),
        })
    });
    if let Err(why) = begun {
        abort(node, key, &format!("it was to be run again, and could not: {why}"));
        return Err(OpenError::Away(why));
    }
    tracing::info!(round = %key, attempt, "the round is run again");
    lead_on(node, key.clone(), led)
        .map_err(|e| OpenError::Away(format!("node 0: no thread is left: {e}")))?;
    Ok(again)
}

/// What another node answers to node 0.
pub(super) fn follow(
    node: &Node,
    key: &RoundKey,
    attempt: u32,
    wanted: Again,
) -> Result<Answer, String> {
    let round = node.round(key);
    let begun = round.as_ref().is_some_and(|r| r.phase == Phase::Closed && r.before() == attempt);
    if begun && wanted == Again::Begin {
        return complete(node, key).map(Answer::Complete);
    }
    let all = match kept(node, key) {
        Ok(all) => all,
        Err(OpenError::Away(_)) => return Ok(Answer::Busy),
        Err(e) => return Err(e.to_string()),
    };
    if wanted != Again::Look && !round.is_some_and(|r| r.may_retry) {
        return Err(format!(
            "node {}: the coordinator has not told this node that {key} is run again: `slvrc round retry` tells all three",
            node.me()
        ));
    }
    if wanted == Again::Begin {
        node.store.erase_outcome(key).map_err(|e| e.to_string())?;
        node.step(key, Step::Retry(attempt))?;
    }
    Ok(Answer::Complete(all))
}
