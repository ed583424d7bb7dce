//! What a node does by itself, now and then: it looks whether the others are there, and if it does not lead, asks the
//! leader about rounds of which it may not have heard the end, and erases what could not be erased when a round ended, and
//! rounds that ended long ago.

use super::follow;
use super::tidy::{forget_old, tidy};
use crate::node::Node;
use crate::state::{Order, Phase, RoundKey, Step};
use crate::wire::{Answer, Ask, RunName};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How often.
const TEND: Duration = Duration::from_secs(2);

/// How often it looks for rounds that ended long ago.
const FORGET: Duration = Duration::from_secs(3600);

/// Goes on until the node is stopped.
pub fn tend(node: &Arc<Node>) {
    let mut looked: Option<Instant> = None;
    let mut told = BTreeSet::new();
    while !node.stopping() {
        for peer in node.peers.others() {
            node.peers.ping(peer, node.deadline().min(2 * TEND));
        }
        // A bug in what is done for one round must not end what is done for all.
        let done = catch_unwind(AssertUnwindSafe(|| {
            if !node.leads() {
                tell_leader(node, &mut told);
                ask_leader(node);
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
        let mut left = TEND;
        while !left.is_zero() && !node.stopping() {
            let part = left.min(Duration::from_millis(250));
            thread::sleep(part);
            left -= part;
        }
    }
}

/// Passes on to the leader what the coordinator has ordered while it was away.
fn tell_leader(node: &Arc<Node>, told: &mut BTreeSet<(RoundKey, Order)>) {
    for round in node.rounds() {
        // One that was aborted may be run again: then the order is an old one.
        let ending = round.ending.filter(|_| round.phase == Phase::Aborted);
        let orders = [(Order::Close, round.closing), (Order::Abort, ending)];
        for (order, by) in orders.into_iter().filter_map(|(o, by)| Some((o, by?))) {
            let key = &round.spec.key;
            if told.contains(&(key.clone(), order)) {
                continue;
            }
            let ask = Ask::Ordered { key: key.clone(), order, by };
            if node.peers.ask(0, &ask, node.deadline()).is_ok() {
                told.insert((key.clone(), order));
            }
        }
    }
}

fn ask_leader(node: &Arc<Node>) {
    for round in node.rounds().into_iter().filter(|r| !r.ended()) {
        let key = &round.spec.key;
        let Ok(Answer::Stands { phase, attempt, aborted, .. }) =
            node.peers.ask(0, &Ask::Where(key.clone()), node.deadline())
        else {
            continue;
        };
        let done = match phase {
            Phase::Aborted => {
                let done = node.advance(key, Step::Abort(aborted.unwrap_or_default()));
                done.map(|_| tidy(node, key)).map_err(|e| e.to_string())
            }
            Phase::Releasing | Phase::Released if attempt == round.attempt => {
                follow::release(node, &RunName { key: key.clone(), attempt })
            }
            _ => Ok(()),
        };
        if let Err(why) = done {
            tracing::warn!(round = %key, why, "what the leader says cannot be done");
        }
    }
}
