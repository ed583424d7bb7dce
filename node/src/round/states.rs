//! Tasks with a state: each round continues what the one before has left.
//!
//! Each node keeps its shares of the state that a round leaves beside its words of the result, sealed. They count once
//! the round is released, and are erased once a later one is. An attempt that fails leaves the state of the round
//! before as it was, so another attempt begins with the same.
//!
//! **Order.** A round says which one it continues, and each node opens it only if that is the last one that it has
//! released itself. One round of a task is under way at a time, and the next has the next number. So no round is run
//! twice on one state, and none is left out. Before they compute, the nodes compare rounds, runs and digests of shares
//! ([`slvr_runtime::share::state`]).
//!
//! **Places.** A state may be about members of the party set of clients. So each client has one place in all rounds: the
//! agreement lists them, and a later one may only add to the list. The circuit is always the one for all clients. So if
//! somebody does not come the round is aborted, unless the circuit reads who is there ([`Ready::reads_presence`]).

use crate::node::Node;
use crate::state::{Agreement, Entry, Excluded, Round, RoundKey, Spec};
use crate::store::Left;
use crate::tasks::Ready;
use slvr_runtime::share::state::Kept;
use std::collections::BTreeSet;

/// Why a client is excluded for whom there is no place.
const FULL: &str = "all places of the task's state are taken by other clients";

/// Whether a round that is to be opened continues what this node has.
///
/// # Errors
///
/// What speaks against it.
pub(super) fn check_opening(node: &Node, ready: &Ready, spec: &Spec) -> Result<(), String> {
    let (me, key) = (node.me(), &spec.key);
    if !ready.states {
        return match spec.after {
            None => Ok(()),
            Some(_) => Err(format!("node {me}: the task has no state to continue")),
        };
    }
    let (released, highest) = node.history(&key.task);
    under_way(node, key)?;
    if key.round <= highest {
        return Err(format!("node {me}: round {highest} of the task was opened before"));
    }
    if node.leads() && key.round != highest + 1 {
        return Err(format!(
            "each round of `{}` continues the state of the one before: the next is round {}",
            key.task,
            highest + 1
        ));
    }
    if spec.after != released {
        let said = |r: Option<u64>| r.map_or("no round".into(), |r| format!("round {r}"));
        return Err(format!(
            "node {me}: the last round that it has released is {}, and not {}",
            said(released),
            said(spec.after)
        ));
    }
    // That it can be continued is known before anybody submits.
    before(node, ready, spec).map(drop).map_err(|e| format!("node {me}: {e}"))
}

/// A round of the task that has not ended speaks against another one.
fn under_way(node: &Node, key: &RoundKey) -> Result<(), String> {
    let found = node.rounds().into_iter().find(|r| r.spec.key.task == key.task && !r.ended());
    found.map_or(Ok(()), |other| {
        Err(format!(
            "node {}: round {} is {}, and each round of the task continues the state of the one before: wait for its end",
            node.me(),
            other.spec.key,
            other.phase
        ))
    })
}

/// Whether a round that was aborted could still continue what it was opened to continue.
///
/// # Errors
///
/// What speaks against it.
pub(super) fn check_retry(node: &Node, ready: &Ready, spec: &Spec) -> Result<(), String> {
    if !ready.states {
        return Ok(());
    }
    let (me, key) = (node.me(), &spec.key);
    let (released, _) = node.history(&key.task);
    if let Some(last) = released.filter(|_| released != spec.after) {
        return Err(format!(
            "node {me}: round {last} of the task was released after {key} was opened, and the state has gone on: open a new round"
        ));
    }
    under_way(node, key)?;
    before(node, ready, spec).map(drop).map_err(|e| format!("node {me}: {e}"))
}

/// What a round continues: this node's shares of the state, or nothing, and then it begins.
///
/// # Errors
///
/// A state that is not there, damaged, or another circuit's.
pub(super) fn before(node: &Node, ready: &Ready, spec: &Spec) -> Result<Option<Kept>, String> {
    let Some(round) = spec.after else { return Ok(None) };
    let key = RoundKey { task: spec.key.task.clone(), round };
    let bytes = node.store.kept(&key, Left::State);
    let bytes = bytes.map_err(|e| format!("the state that round {key} has left: {e}"))?;
    let kept = Kept::from_bytes(&ready.circuit, node.me(), &bytes);
    kept.map(Some).map_err(|e| format!("the state that round {key} has left: {e}"))
}

/// For how many clients the circuit is of a round in which so many count.
///
/// # Errors
///
/// A task with a state of which somebody is missing.
pub(super) fn circuit_clients(full: &Ready, found: u64) -> Result<u64, String> {
    match full.states {
        false => Ok(found),
        true if found == full.clients || full.reads_presence => Ok(full.clients),
        true => Err(format!(
            "{found} of {} clients count, and the state of the task is about all of them",
            full.clients
        )),
    }
}

/// Who was which member in the round that this one continues.
fn places_before(node: &Node, round: &Round) -> Result<Vec<String>, String> {
    let Some(before) = round.spec.after else { return Ok(Vec::new()) };
    let key = RoundKey { task: round.spec.key.task.clone(), round: before };
    let record = node.record(&key).map_err(|e| e.to_string())?;
    let places = record.and_then(|r| r.agreement.as_ref().map(|a| a.places.clone()));
    places.ok_or_else(|| format!("node {}: nothing is known of round {key}", node.me()))
}

/// Gives each accepted client its place; who has none is excluded.
///
/// # Errors
///
/// A database that cannot be read.
pub(super) fn place(
    node: &Node,
    round: &Round,
    accepted: &mut Vec<Entry>,
    excluded: &mut Vec<Excluded>,
) -> Result<Vec<String>, String> {
    let mut places = places_before(node, round)?;
    let clients = usize::try_from(round.spec.clients).unwrap_or(usize::MAX);
    accepted.retain(|e| {
        if places.contains(&e.client) {
            return true;
        }
        if places.len() < clients {
            places.push(e.client.clone());
            return true;
        }
        excluded.push(Excluded { client: e.client.clone(), why: FULL.into() });
        false
    });
    excluded.sort_by(|a, b| a.client.cmp(&b.client));
    Ok(places)
}

/// Whether it is so that there is no place for a client.
pub(super) fn is_full(agreement: &Agreement, round: &Round, x: &Excluded) -> bool {
    x.why == FULL
        && agreement.places.len() as u64 == round.spec.clients
        && !agreement.places.contains(&x.client)
}

/// Whether places are those of the round before, with those who came since.
///
/// # Errors
///
/// What is not so.
pub(super) fn check_places(
    node: &Node,
    ready: &Ready,
    round: &Round,
    agreement: &Agreement,
) -> Result<(), String> {
    let places = &agreement.places;
    if !ready.states {
        return match places.is_empty() {
            true => Ok(()),
            false => Err("clients have places, and the task has no state".into()),
        };
    }
    let named: BTreeSet<&str> = places.iter().map(String::as_str).collect();
    if named.len() != places.len() || places.len() as u64 > round.spec.clients {
        return Err("two clients have the same place, or there are more than places".into());
    }
    let before = places_before(node, round)?;
    let new = places.strip_prefix(&before[..]).ok_or_else(|| {
        format!("node {}: clients had other places in the round before", node.me())
    })?;
    let accepted: BTreeSet<&str> = agreement.accepted.iter().map(|e| e.client.as_str()).collect();
    if let Some(absent) = new.iter().find(|c| !accepted.contains(c.as_str())) {
        return Err(format!("client {absent} gets a place and is not accepted"));
    }
    if let Some(lost) = accepted.iter().find(|c| !named.contains(*c)) {
        return Err(format!("client {lost} is accepted and has no place"));
    }
    Ok(())
}

/// Erases the state that a released round has continued: its own has taken that one's place.
pub(super) fn settle(node: &Node, round: &Round) -> Result<(), String> {
    let Some(before) = round.spec.after else { return Ok(()) };
    let key = RoundKey { task: round.spec.key.task.clone(), round: before };
    node.store.erase(&key, Left::State).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::agreement;

    #[test]
    fn members_are_those_of_their_places() {
        let mut agreement = agreement(3);
        for (entry, name) in agreement.accepted.iter_mut().zip(["a", "c", "d"]) {
            entry.client = name.into();
        }
        let members = |a: &Agreement| {
            (0..5)
                .map(|i| a.member(i).map_or("-", |e| e.client.as_str()).to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(members(&agreement), ["a", "c", "d", "-", "-"]);
        agreement.places = ["d", "b", "a", "c"].map(String::from).to_vec();
        assert_eq!(members(&agreement), ["d", "-", "a", "c", "-"]);
    }
}
