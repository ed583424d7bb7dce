//! What a node does by itself, now and then: it looks whether the others are there, and if it does not lead, asks the
//! leader about rounds of which it may not have heard the end, and erases what could not be erased when a round ended, and
//! rounds that ended long ago.

use super::agreement::is_over;
use super::others::ended_by;
use super::tidy::{forget_old, release_here, tidy};
use crate::node::Node;
use crate::peers::AskError;
use crate::state::{Order, Phase, Round, RoundKey, Step};
use crate::wire::{Answer, Ask, RunName};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const PERIOD: Duration = Duration::from_secs(2);

/// How often it looks for rounds that ended long ago.
const FORGET: Duration = Duration::from_secs(3600);

/// Goes on until the node is stopped.
pub fn maintain(node: &Arc<Node>) {
    let mut looked: Option<Instant> = None;
    let mut told = BTreeSet::new();
    let mut stalled = BTreeMap::new();
    while !node.stopping() {
        for peer in node.peers.others() {
            node.peers.ping(peer, node.deadline().min(2 * PERIOD));
        }
        // A bug in what is done for one round must not end what is done for all.
        let done = catch_unwind(AssertUnwindSafe(|| {
            if !node.leads() {
                tell_leader(node, &mut told);
                ask_leader(node);
                leave(node, &mut stalled);
            }
            node.untidy().iter().for_each(|key| tidy(node, key));
            if looked.is_none_or(|at| at.elapsed() > FORGET) {
                looked = Some(Instant::now());
                forget_old(node);
            }
        }));
        if done.is_err() {
            tracing::error!("this node has a bug: what it does now and then was not done");
        }
        let mut left = PERIOD;
        while !left.is_zero() && !node.stopping() {
            let part = left.min(Duration::from_millis(250));
            thread::sleep(part);
            left -= part;
        }
    }
}

/// Passes on to the leader what the coordinator has ordered while it was away.
fn tell_leader(node: &Arc<Node>, told: &mut BTreeSet<(RoundKey, Order, [u32; 3])>) {
    for round in node.rounds() {
        // One that was aborted may be run again: then the order is an old one. What was released the leader knows.
        let ending = round.ending.filter(|_| round.phase == Phase::Aborted);
        let closing = round.closing.filter(|_| round.phase != Phase::Released);
        let orders = [(Order::Close, closing), (Order::Abort, ending)];
        for (order, by) in orders.into_iter().filter_map(|(o, by)| Some((o, by?))) {
            let key = &round.spec.key;
            let one = (key.clone(), order, by.permits);
            if told.contains(&one) {
                continue;
            }
            let ask = Ask::Ordered { key: key.clone(), order, by };
            match node.peers.ask(0, &ask, node.deadline()) {
                Ok(Answer::Done) => drop(told.insert(one)),
                Err(AskError::Unreachable { .. }) => return,
                Ok(_) | Err(_) => {}
            }
        }
    }
}

/// Where a round stands: its phase, its attempt, and how often it was run again. Each time it is watched anew, although it may be back
/// where it was.
type Stands = (Phase, u32, usize);

fn stands(round: &Round) -> Stands {
    (round.phase, round.attempt, round.retries.len())
}

/// Where rounds stand, and since when.
type Stalled = BTreeMap<RoundKey, (Stands, Instant)>;

/// Since when a round stands where it does.
fn since(stalled: &mut Stalled, round: &Round, waits: bool) -> Instant {
    let now = stands(round);
    let before = stalled.get(&round.spec.key).filter(|(stood, _)| waits && *stood == now);
    let since = before.map_or_else(Instant::now, |(_, since)| *since);
    stalled.insert(round.spec.key.clone(), (now, since));
    since
}

/// Ends rounds that node 0 leads no more: it has not been heard of for this node's patience, or is there and the round has
/// not gone on for twice as long, in which node 0 itself would have ended it.
fn leave(node: &Arc<Node>, stalled: &mut Stalled) {
    let rounds: Vec<_> = node.rounds().into_iter().filter(|r| !r.ended()).collect();
    stalled.retain(|key, _| rounds.iter().any(|r| r.spec.key == *key));
    let patience = Duration::from_secs(node.config.limits.patience_s);
    for round in rounds {
        let key = &round.spec.key;
        let waits = !node.is_busy(key) && (round.phase != Phase::Open || is_over(&round.spec));
        let since = since(stalled, &round, waits);
        let gone = node.peers.heard(0).is_none_or(|heard| heard > patience);
        let why = match since.elapsed() {
            t if gone && t > patience => {
                format!("has not been heard of for {} s", patience.as_secs())
            }
            t if t > 2 * patience => {
                format!("does not go on with the round for {} s", 2 * patience.as_secs())
            }
            _ => continue,
        };
        let why = format!("node {}: node 0 {why}", node.me());
        let step = match round.phase {
            // Node 0 may have released it, unless the other node has ended it without having computed.
            Phase::Computed => match other_has_ended(node, key) {
                Some(other) => Step::Abort(format!("{why}, and node {other} has ended the round")),
                None => continue,
            },
            _ => Step::Leave(why),
        };
        match node.advance(key, step) {
            Ok(_) => tidy(node, key),
            Err(why) => tracing::warn!(round = %key, %why, "it cannot be ended"),
        }
    }
}

/// The node besides node 0, if it has ended a round.
fn other_has_ended(node: &Arc<Node>, key: &RoundKey) -> Option<usize> {
    let other = node.peers.others().into_iter().find(|p| *p != 0)?;
    match node.peers.ask(other, &Ask::Where(key.clone()), node.deadline()) {
        Ok(Answer::Stands { phase: Phase::Aborted, .. }) => Some(other),
        _ => None,
    }
}

fn ask_leader(node: &Arc<Node>) {
    for round in node.rounds().into_iter().filter(|r| !r.ended()) {
        let key = &round.spec.key;
        let (phase, attempt, aborted, ending) =
            match node.peers.ask(0, &Ask::Where(key.clone()), node.deadline()) {
                Ok(Answer::Stands { phase, attempt, aborted, ending, .. }) => {
                    (phase, attempt, aborted, ending)
                }
                Err(AskError::Unreachable { .. }) => return,
                _ => continue,
            };
        let done = match phase {
            Phase::Aborted => {
                let done = node.advance(key, ended_by(node, (0, &round), aborted, ending));
                done.map(|_| tidy(node, key)).map_err(|e| e.to_string())
            }
            Phase::Releasing | Phase::Released if attempt == round.attempt => {
                release_here(node, &RunName { key: key.clone(), attempt })
            }
            _ => Ok(()),
        };
        if let Err(why) = done {
            tracing::warn!(round = %key, why, "what the leader says cannot be done");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::{agreement, round};

    /// A round that is aborted and run again between two looks stands where it stood, and is watched from then on.
    #[test]
    fn a_round_that_is_run_again_is_watched_anew() {
        let mut r = round(1);
        let mut stalled = Stalled::new();
        let take = |r: &mut Round, steps: &[Step]| {
            steps.iter().for_each(|s| assert_eq!(r.step(s.clone(), 1), Ok(true), "{s:?}"));
        };
        take(&mut r, &[Step::Close, Step::Agree(agreement(4))]);
        let first = since(&mut stalled, &r, true);
        assert_eq!(since(&mut stalled, &r, true), first, "it has not gone on");
        assert!(since(&mut stalled, &r, false) > first, "it computes, and waits for nobody");
        let before = since(&mut stalled, &r, true);
        take(
            &mut r,
            &[Step::Abort("w".into()), Step::Permit, Step::Retry(0), Step::Agree(agreement(4))],
        );
        assert!(since(&mut stalled, &r, true) > before, "it is run again");
    }
}
