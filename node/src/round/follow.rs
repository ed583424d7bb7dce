//! Answers the questions of the other nodes. Each may be asked again, and then has the same answer.

use super::attempt;
use super::gather::is_true;
use super::tidy::tidy;
use super::{pause, retry, states};
use crate::basics::spawn;
use crate::node::Node;
use crate::state::{Agreement, Entry, Failure, Phase, Round, RoundKey, Spec, Step, StepError};
use crate::store::Store;
use crate::submission::{Public, unpack_public};
use crate::wire::{Answer, Ask, RunName};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Why an attempt failed of which nothing is known.
pub(super) const LOST: &str = "the attempt ended, and how could not be written";

/// Answers node `from`. Only node 0 leads: from others, what changes something is refused.
pub fn answer(node: &Arc<Node>, from: usize, ask: Ask) -> Answer {
    let done = match ask {
        Ask::Ping => Ok(Answer::Done),
        Ask::Where(key) => Ok(stands(node, &key)),
        _ if from != 0 => Err("only node 0 leads rounds".to_string()),
        Ask::Open { spec, public } => open(node, spec, &public).map(|_| Answer::Done),
        Ask::Count(key) => complete(node, &key).map(|all| Answer::Count(all.len() as u64)),
        Ask::Close(key) => close(node, &key).map(Answer::Complete),
        Ask::Agree { key, agreement } => {
            let clients = agreement.clients;
            agree(node, &key, agreement).and_then(|()| room(node, &key, clients))
        }
        Ask::Start(name) => start(node, name),
        Ask::Retry { key, attempt, begins } => retry::follow(node, &key, attempt, begins),
        Ask::Release(name) => release(node, &name).map(|()| Answer::Done),
        Ask::Abort { key, why } => match node.advance(&key, Step::Abort(why)) {
            Ok(_) => {
                tidy(node, &key);
                Ok(Answer::Done)
            }
            // What was never opened here need not be aborted.
            Err(StepError::Unknown) => Ok(Answer::Done),
            Err(e) => Err(e.to_string()),
        },
    };
    done.unwrap_or_else(Answer::Refused)
}

fn stands(node: &Node, key: &RoundKey) -> Answer {
    let before = node.is_busy(key);
    let Some(round) = node.round(key) else {
        return Answer::Refused(StepError::Unknown.to_string());
    };
    if round.phase == Phase::Running && !before && !node.is_busy(key) {
        // Its end could not be written.
        let failed = Some(format!("node {}: {LOST}", node.me()));
        let attempt = round.attempt;
        return Answer::Stands {
            phase: Phase::Agreed,
            attempt,
            failed,
            aborted: None,
            waits: None,
        };
    }
    let failed =
        round.failures.last().filter(|f| f.attempt == round.attempt).map(|f| f.why.clone());
    let (phase, attempt, aborted) = (round.phase, round.attempt, round.aborted.clone());
    Answer::Stands { phase, attempt, failed, aborted, waits: node.board.waiting(key) }
}

/// Opens a round here, if it is one that this node may run; whether it was not open before.
///
/// # Errors
///
/// What speaks against it.
pub fn open(node: &Node, spec: Spec, public: &Public) -> Result<bool, String> {
    // Before the task is asked for: it may be exchanged.
    let _one = node.opening();
    let known = node
        .task(&spec.key.task)
        .ok_or_else(|| format!("node {} knows no task `{}`", node.me(), spec.key.task))?;
    if !spec.key.can_be() {
        return Err(format!("the number of a round is at most {}", RoundKey::LAST));
    }
    let full = &known.full;
    if spec.circuit != full.hash || spec.clients != full.clients {
        return Err(format!(
            "node {} has another circuit for this task: {} for {} clients, not {} for {}",
            node.me(),
            full.hash,
            full.clients,
            spec.circuit,
            spec.clients
        ));
    }
    if spec.minimum < known.task.minimum || spec.minimum > spec.clients {
        return Err(format!(
            "the minimum of {} clients is not from {}, the task's at node {}, to {}",
            spec.minimum,
            known.task.minimum,
            node.me(),
            spec.clients
        ));
    }
    if Store::public_hash(public) != spec.public {
        return Err("the public inputs are not those that are announced".into());
    }
    unpack_public(&full.circuit, public)?;
    if node.round(&spec.key).is_none() {
        states::check_opening(node, full, &spec)?;
    }
    match node.round(&spec.key) {
        Some(round) if round.spec == spec => Ok(false),
        Some(_) => Err(format!("round {} exists already, and is another one", spec.key)),
        None => {
            let round = Round::new(spec, crate::basics::now());
            node.store.open_round(&round, public).map_err(|e| e.to_string())?;
            tracing::info!(round = %round.spec.key, minimum = round.spec.minimum, "opened");
            node.add(round);
            Ok(true)
        }
    }
}

/// The complete submissions of a round.
pub(super) fn complete(node: &Node, key: &RoundKey) -> Result<Vec<Entry>, String> {
    let all = node.store.submissions(key).map_err(|e| e.to_string())?;
    Ok(all.iter().map(crate::store::Record::entry).collect())
}

/// Takes no more submissions; those that are complete.
pub(super) fn close(node: &Node, key: &RoundKey) -> Result<Vec<Entry>, String> {
    node.advance(key, Step::Close).map_err(|e| e.to_string())?;
    complete(node, key)
}

/// Holds what is proposed against what this node has.
pub(super) fn agree(node: &Node, key: &RoundKey, agreement: Agreement) -> Result<(), String> {
    let round = node.round(key).ok_or("no such round")?;
    let records = node.store.submissions(key).map_err(|e| e.to_string())?;
    if let Some(r) = records.iter().find(|r| r.manifest.circuit != round.spec.circuit) {
        let client = &r.manifest.client;
        return Err(format!("client {client} has signed another circuit than the round's"));
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
    for x in &agreement.excluded {
        let own = mine.iter().find(|e| e.client == x.client);
        let full = own.is_some() && states::is_full(&agreement, &round, x);
        if !full && !is_true(&x.why, node.me(), own) {
            return Err(format!(
                "client {} is excluded ({}), which is not so at node {}",
                x.client,
                x.why,
                node.me()
            ));
        }
    }
    let found = agreement.accepted.len() as u64;
    if found > agreement.clients {
        return Err(format!("{found} clients are accepted in a circuit for {}", agreement.clients));
    }
    if agreement.clients != found && agreement.clients != round.spec.clients {
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
    states::check_places(node, &ready, &round, &agreement)?;
    node.advance(key, Step::Agree(agreement)).map(drop).map_err(|e| e.to_string())
}

/// Whether an attempt could begin now. None is used up if not.
fn room(node: &Arc<Node>, key: &RoundKey, clients: u64) -> Result<Answer, String> {
    let spec = node.round(key).ok_or("no such round")?.spec.clone();
    let ready = node.circuit_of(&spec, clients)?;
    attempt::undamaged(node, key)?;
    pause::has_room(node, ready.leaves())?;
    let free = !node.stopping() && !node.is_busy(key) && node.permit(ready.memory).is_some();
    Ok(if free { Answer::Done } else { Answer::Busy })
}

fn start(node: &Arc<Node>, name: RunName) -> Result<Answer, String> {
    let round = node.round(&name.key).ok_or("no such round")?;
    // Each attempt is another draw of coins and of whom checks may leave out. The leader has as many as this node lets it.
    let most = node.config.limits.attempts;
    let made = name.attempt.saturating_sub(round.before());
    if made > most {
        return Err(format!("attempt {made} is begun, and this node makes {most}"));
    }
    let clients = round.agreement.as_ref().map_or(0, |a| a.clients);
    let ready = node.circuit_of(&round.spec, clients)?;
    // An attempt before this one may still wait for somebody.
    let (Some(busy), Some(permit)) = (node.occupy(&name.key), node.permit(ready.memory)) else {
        let again = round.phase == Phase::Running && round.attempt == name.attempt;
        return Ok(if again { Answer::Done } else { Answer::Busy });
    };
    // Nobody computes, so an attempt that is still under way has ended.
    let stuck = node.round(&name.key).filter(|r| r.phase == Phase::Running);
    if let Some(r) = stuck.filter(|r| r.attempt < name.attempt) {
        let failure = Failure { attempt: r.attempt, why: format!("node {}: {LOST}", node.me()) };
        node.advance(&name.key, Step::Fail(failure)).map_err(|e| e.to_string())?;
    }
    node.advance(&name.key, Step::Start(name.attempt)).map_err(|e| e.to_string())?;
    let (key, attempt) = (name.key.clone(), name.attempt);
    let runs = node.clone();
    let started = spawn("attempt", move || {
        attempt::run(&runs, &name, &ready);
        drop((permit, busy));
    });
    match started {
        Ok(()) => Ok(Answer::Done),
        Err(e) => {
            let why = format!("node {}: no thread is left: {e}", node.me());
            let failure = Failure { attempt, why: why.clone() };
            node.advance(&key, Step::Fail(failure)).map_err(|e| e.to_string())?;
            Err(why)
        }
    }
}

/// All have computed: this node serves its words, and forgets the submissions.
pub(super) fn release(node: &Node, name: &RunName) -> Result<(), String> {
    let step = |step| node.advance(&name.key, step).map_err(|e| e.to_string());
    step(Step::Release(name.attempt))?;
    step(Step::Done)?;
    tidy(node, &name.key);
    Ok(())
}
