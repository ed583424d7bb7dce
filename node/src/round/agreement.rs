//! What the three nodes agree upon: whose submissions count, and in which circuit.
//!
//! Node 0 proposes the first agreement of a round, and each node holds it against what it has itself. After a verdict on
//! inputs the next one follows from the one before, so each node knows it by itself.

use super::gather::{is_taken, is_true};
use super::states;
use crate::basics::now;
use crate::node::Node;
use crate::state::{Agreement, Entry, Phase, Round, RoundKey, Spec, Step, Verdict};
use crate::tasks::Ready;
use std::collections::BTreeSet;

/// Whether nobody may submit to a round any more, by this node's clock.
pub(super) fn is_over(spec: &Spec) -> bool {
    now() >= spec.deadline.saturating_add(spec.grace)
}

/// The complete submissions of a round.
pub(super) fn complete(node: &Node, key: &RoundKey) -> Result<Vec<Entry>, String> {
    let all = node.store.submissions(key).map_err(|e| e.to_string())?;
    Ok(all.iter().map(crate::store::Record::entry).collect())
}

/// How many were enrolled when a round was opened that give something in it.
pub(super) fn enrolled(node: &Node, spec: &Spec, full: &Ready) -> u64 {
    // Of a roll that cannot be read nobody knows who is missing.
    let Ok(Some(roll)) = node.store.roll(&spec.roll) else { return u64::MAX };
    roll.iter().filter(|c| full.set_of(c.set.as_deref()).is_some()).count() as u64
}

/// Takes no more submissions; those that are complete.
pub(super) fn close(node: &Node, key: &RoundKey) -> Result<Vec<Entry>, String> {
    node.advance(key, Step::Close).map_err(|e| e.to_string())?;
    complete(node, key)
}

/// What is agreed once some of those that were accepted are left out by a verdict: it follows from what was agreed before,
/// so each node knows it by itself.
///
/// # Errors
///
/// Why the round ends instead.
pub(super) fn next(node: &Node, round: &Round, verdict: &Verdict) -> Result<Agreement, String> {
    let before = round.agreement.as_ref().ok_or("nothing was agreed")?;
    let known = node.task_of(&round.spec).ok_or("no such task")?;
    let (accepted, excluded) = before.without(&verdict.gone);
    let (found, minimum) = (accepted.len() as u64, round.spec.minimum);
    let gone: Vec<String> =
        verdict.gone.iter().map(|x| format!("{} ({})", x.client, x.why)).collect();
    let ends =
        |why: String| format!("{why}; the inputs of these do not count: {}", gone.join(", "));
    if found < minimum {
        return Err(ends(format!("{found} clients are left, and the minimum is {minimum}")));
    }
    let clients = states::circuit_clients(&known.full, found).map_err(ends)?;
    let circuit = known.hash(clients).map_err(|why| {
        ends(format!("there is no circuit for the {found} clients that are left: {why}"))
    })?;
    Ok(Agreement { accepted, excluded, circuit, clients, ..before.clone() })
}

/// Holds what is proposed against what this node has.
pub(super) fn agree(node: &Node, key: &RoundKey, agreement: Agreement) -> Result<(), String> {
    let round = node.round(key).ok_or("no such round")?;
    if agreement.opening != round.spec.digest() {
        return Err(format!(
            "node {} has another opening of the round than what is agreed upon: {}, not {}",
            node.me(),
            round.spec.digest(),
            agreement.opening
        ));
    }
    // What is counted from here on would be neither accepted nor excluded.
    if round.phase == Phase::Open {
        return Err(format!("node {}: the round is open, and nothing can be agreed", node.me()));
    }
    match &round.agreement {
        None => may_agree(node, &round, &agreement)?,
        Some(before) if *before == agreement => {
            // It was held against what this node has. The program may have been changed since.
            node.circuit_of(&round.spec, agreement.clients)?;
        }
        Some(_) => {
            let verdict = round
                .verdict
                .as_ref()
                .ok_or_else(|| format!("node {}: something else was agreed before", node.me()))?;
            if next(node, &round, verdict)? != agreement {
                let me = node.me();
                return Err(format!("node {me}: this does not follow from the verdict on inputs"));
            }
        }
    }
    node.advance(key, Step::Agree(agreement)).map(drop).map_err(|e| e.to_string())
}

/// Whether the first agreement may be this one.
fn may_agree(node: &Node, round: &Round, agreement: &Agreement) -> Result<(), String> {
    let records = node.store.submissions(&round.spec.key).map_err(|e| e.to_string())?;
    if let Some(r) = records.iter().find(|r| r.manifest.circuit != round.spec.circuit) {
        let client = &r.manifest.client;
        return Err(format!("client {client} has signed another circuit than the round's"));
    }
    if let Some(r) = records.iter().find(|r| r.manifest.opening != agreement.opening) {
        let client = &r.manifest.client;
        return Err(format!("client {client} has signed another opening than the round's"));
    }
    let mine: BTreeSet<Entry> = records.iter().map(crate::store::Record::entry).collect();
    if let Some(e) = agreement.accepted.iter().chain(&agreement.others).find(|e| !mine.contains(e))
    {
        return Err(format!(
            "node {} does not have this submission of client {}",
            node.me(),
            e.client
        ));
    }
    let names: Vec<&str> = agreement.accepted.iter().map(|e| e.client.as_str()).collect();
    if names.windows(2).any(|n| n[0] >= n[1]) {
        return Err("a client stands twice among those that count".into());
    }
    if agreement.accepted.iter().any(|e| e.set.is_some()) {
        return Err("a member of another party set stands among the clients".into());
    }
    let named = |client: &str| {
        agreement.excluded.iter().any(|x| x.client == client)
            || names.contains(&client)
            || agreement.others.iter().any(|e| e.client == client)
    };
    if let Some(e) = mine.iter().find(|e| !named(&e.client)) {
        return Err(format!(
            "client {} of node {} is neither accepted nor excluded",
            e.client,
            node.me()
        ));
    }
    // No node leaves out a client of another one without saying so of itself.
    let all = node.circuit_of(&round.spec, round.spec.clients)?;
    for x in &agreement.excluded {
        let own = mine.iter().find(|e| e.client == x.client);
        let full = own.is_some() && states::is_full(agreement, round, x);
        let places = |e: &Entry| all.set_of(e.set.as_deref()).map_or(0, |(_, _, size)| size);
        let taken = own.is_some_and(|e| is_taken(agreement, x, e, places(e)));
        if !full && !taken && !is_true(&x.why, node.me(), own) {
            return Err(format!(
                "client {} is excluded ({}), which is not so at node {}",
                x.client,
                x.why,
                node.me()
            ));
        }
    }
    let found = agreement.accepted.len() as u64;
    let known = node.task_of(&round.spec).ok_or("no such task")?;
    if states::circuit_clients(&known.full, found)? != agreement.clients {
        return Err(format!(
            "a circuit for {} clients is proposed, {found} are accepted",
            agreement.clients
        ));
    }
    let ready = node.circuit_of(&round.spec, agreement.clients)?;
    if ready.hash != agreement.circuit {
        return Err(format!(
            "node {} has another circuit for {} clients: {}, not {}",
            node.me(),
            agreement.clients,
            ready.hash,
            agreement.circuit
        ));
    }
    let wanted: Vec<&str> = ready
        .others
        .iter()
        .flat_map(|(_, name, size)| std::iter::repeat_n(name.as_str(), *size as usize))
        .collect();
    let there = agreement.others.iter().map(|e| e.set.as_deref().unwrap_or(""));
    let sorted =
        agreement.others.windows(2).all(|w| w[0].set != w[1].set || w[0].client < w[1].client);
    if !there.eq(wanted) || !sorted {
        return Err("the members of other party sets are not all there, or not in order".into());
    }
    states::check_places(node, &ready, round, agreement)
}
