//! A coordinator opens a round at each node, and closes or aborts it before its time.
//!
//! Each node has the opening from the coordinator itself, with its signature. A round may be open at some nodes and not
//! at others for a while: whoever opens it asks again. If nobody does, it ends at its deadline. A round to which nobody
//! has submitted anything can be withdrawn by whoever names its opening: then its number was not used. Two who open the same
//! number at the same time meet at node 1, which has the first opening; node 0 has the last, and what it has is withdrawn by
//! nobody.

use super::lead::begin;
use super::others::OpenError;
use super::states;
use super::tidy::tidy;
use crate::clock::now;
use crate::locks::read_lock;
use crate::node::Node;
use crate::state::{Mandate, Order, Phase, Round, RoundKey, Spec, Step, StepError};
use crate::submission::{Public, public_hash, unpack_public};
use crate::wire::{Answer, Ask};
use std::sync::Arc;

/// Longest time that a round may be open, in seconds: thirty days.
const LONGEST: u64 = 30 * 24 * 3600;

/// What a coordinator asks of this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Whether the round could be opened.
    Checked,
    /// That it is opened.
    Opened,
}

/// Opens a round here, if it is one that this node may run. It may be asked for again.
///
/// # Errors
///
/// What speaks against it.
pub fn open(
    node: &Arc<Node>,
    spec: Spec,
    public: &Public,
    wanted: Wanted,
) -> Result<Option<Arc<Round>>, OpenError> {
    let me = node.me();
    // Before the task is asked for: it may be exchanged.
    let _one = node.opening();
    let known = node.task(&spec.key.task);
    let known = known.ok_or_else(|| format!("node {me} knows no task `{}`", spec.key.task))?;
    if !spec.is_signed(&node.config.openers()) {
        return Err(OpenError::Refused(format!(
            "node {me}: the opening is not signed by a coordinator that may open rounds: its key has to stand in node.toml"
        )));
    }
    if !spec.key.can_be() {
        let most = format!("the number of a round is at most {}", RoundKey::LAST);
        return Err(OpenError::Refused(most));
    }
    let full = &known.full;
    if spec.circuit != full.hash || spec.clients != full.clients {
        return Err(OpenError::Refused(format!(
            "node {me} has another circuit for this task: {} for {} clients, not {} for {}",
            full.hash, full.clients, spec.circuit, spec.clients
        )));
    }
    if spec.minimum < known.task.minimum || spec.minimum > spec.clients {
        return Err(OpenError::Refused(format!(
            "the minimum of {} clients is not from {}, the task's at node {me}, to {}",
            spec.minimum, known.task.minimum, spec.clients
        )));
    }
    if public_hash(public) != spec.public {
        let why = format!("node {me}: the public inputs are not those of the opening");
        return Err(OpenError::Refused(why));
    }
    unpack_public(&full.circuit, public)?;
    let key = spec.key.clone();
    match node.round(&key) {
        Some(round) if round.spec == spec => {}
        Some(_) => {
            let why = format!("node {me}: round {key} exists already, and is another one");
            return Err(OpenError::Exists(why));
        }
        None => {
            if node.is_withdrawn(&spec.digest()) {
                return Err(OpenError::Refused(format!(
                    "node {me}: this opening of {key} was withdrawn meanwhile, by another call: open it again"
                )));
            }
            check_clock(me, &spec)?;
            let roll = read_lock(&node.roll).clone();
            if roll.hash() != spec.roll {
                return Err(OpenError::Refused(format!(
                    "node {me} has other clients enrolled than the opening says: clients.toml has to be the same at all nodes"
                )));
            }
            states::check_opening(node, full, &spec)?;
            if wanted == Wanted::Checked {
                return Ok(None);
            }
            node.store.put_roll(&roll)?;
            let round = Round::new(spec, now());
            node.store.open_round(&round, public)?;
            tracing::info!(round = %key, minimum = round.spec.minimum, "opened");
            node.add(round);
        }
    }
    if node.leads()
        && let Err(e) = begin(node, key.clone())
    {
        return Err(OpenError::Away(format!("node {me}: no thread is left: {e}")));
    }
    Ok(node.round(&key))
}

/// A round that this node's clock has ended already would take nobody in.
fn check_clock(me: usize, spec: &Spec) -> Result<(), OpenError> {
    let now = now();
    if now >= spec.deadline {
        return Err(OpenError::Refused(format!(
            "node {me}: by its clock the round has ended {} s ago: compare the clocks of the nodes (`slvrc round watch` shows them)",
            now - spec.deadline
        )));
    }
    if spec.deadline - now > LONGEST || spec.grace > LONGEST {
        let why = format!("node {me}: a round is open for thirty days at most");
        return Err(OpenError::Refused(why));
    }
    Ok(())
}

/// Does what a coordinator has ordered, whoever brings the order.
///
/// # Errors
///
/// A signature of somebody else; a round that has gone on.
pub fn ordered(
    node: &Node,
    key: &RoundKey,
    order: Order,
    by: Mandate,
) -> Result<Arc<Round>, OpenError> {
    let round = node.round(key).ok_or(StepError::Unknown)?;
    if !round.is_ordered(order, &by, (node.me(), &node.config.openers())) {
        return Err(OpenError::Refused(format!(
            "node {}: this is no order of a coordinator for this round, or one from before it was run again",
            node.me()
        )));
    }
    // Once this node has computed, node 0 may have released the result: then it alone can end the round.
    let waits = order == Order::Abort && !node.leads() && round.phase == Phase::Computed;
    if waits {
        match node.peers.ask(0, &Ask::Where(key.clone()), node.deadline()) {
            Ok(Answer::Unknown | Answer::Stands { phase: Phase::Aborted, .. }) => {}
            Ok(_) => {
                return Err(OpenError::Refused(format!(
                    "node {} has computed the result, and node 0 may release it: ask node 0",
                    node.me()
                )));
            }
            Err(e) => {
                return Err(OpenError::Away(format!(
                    "node {} has computed the result, and node 0, which may have released it, is away ({e}): start node 0, which goes on with the round or aborts it. If it has lost its data, start it with an empty folder and abort the round again",
                    node.me()
                )));
            }
        }
    }
    let step = Step::Ordered { order, by, me: node.me(), computed: waits || node.leads() };
    let done = node.advance(key, step)?;
    if order == Order::Abort {
        tidy(node, key);
    }
    Ok(done)
}
