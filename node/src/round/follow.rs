//! Answers the questions of the other nodes. Each may be asked again, and then has the same answer.

use super::attempt;
use super::gather::{is_taken, is_true};
use super::opening::{is_over, ordered};
use super::tidy::tidy;
use super::{pause, retry, states};
use crate::basics::{now, now_ms, spawn};
use crate::node::Node;
use crate::state::{
    ABORTED, Agreement, Entry, Failure, Order, Phase, Round, RoundKey, Signature, Spec, Step,
    StepError, Verdict,
};
use crate::tasks::Ready;
use crate::told::told;
use crate::wire::{Answer, Ask, RunName};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Why an attempt failed of which nothing is known.
pub(super) const LOST: &str = "the attempt ended, and how could not be written";

/// Answers node `from`. Only node 0 leads: from others, what changes something is refused.
pub fn answer(node: &Arc<Node>, from: usize, ask: Ask) -> Answer {
    let done = match ask {
        Ask::Ping => Ok(Answer::Clock(now_ms())),
        Ask::Where(key) => Ok(stands(node, &key)),
        Ask::Ordered { key, order, by } => {
            ordered(node, &key, order, by).map(|_| Answer::Done).map_err(|e| e.to_string())
        }
        _ if from != 0 => Err("only node 0 leads rounds".to_string()),
        Ask::Count(key) => complete(node, &key).map(Answer::Complete),
        Ask::Close { key, order } => asked_to_close(node, &key, order).map(Answer::Complete),
        Ask::Agree { key, agreement } => {
            let clients = agreement.clients;
            agree(node, &key, agreement).and_then(|()| room(node, &key, clients))
        }
        Ask::Start(name) => start(node, name),
        Ask::Retry { key, attempt, begins } => retry::follow(node, &key, attempt, begins),
        Ask::Release(name) => release(node, &name).map(|()| Answer::Done),
        Ask::Abort { key, why, order } => match ended_by_leader(node, &key, why, order) {
            // What was never opened here need not be aborted.
            Ok(()) | Err(StepError::Unknown) => Ok(Answer::Done),
            Err(e) => Err(e.to_string()),
        },
    };
    without_paths(done.unwrap_or_else(Answer::Refused))
}

/// An answer as other nodes are told it.
fn without_paths(answer: Answer) -> Answer {
    let told = |why: String| told(&why).into_owned();
    match answer {
        Answer::Refused(why) => Answer::Refused(told(why)),
        Answer::Stands { phase, attempt, failed, verdict, aborted, waits } => Answer::Stands {
            phase,
            attempt,
            verdict,
            failed: failed.map(told),
            aborted: aborted.map(told),
            waits: waits.map(told),
        },
        other => other,
    }
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
            verdict: None,
            aborted: None,
            waits: None,
        };
    }
    let failed =
        round.failures.last().filter(|f| f.attempt == round.attempt).map(|f| f.why.clone());
    let (phase, attempt, aborted) = (round.phase, round.attempt, round.aborted.clone());
    let (verdict, waits) = (round.verdict.clone(), node.board.waiting(key));
    Answer::Stands { phase, attempt, failed, verdict, aborted, waits }
}

/// Node 0 has ended a round. It may do so for any cause, and not in the coordinator's name.
fn ended_by_leader(
    node: &Node,
    key: &RoundKey,
    why: String,
    order: Option<Signature>,
) -> Result<(), StepError> {
    let round = node.round(key).ok_or(StepError::Unknown)?;
    let openers = node.config.openers();
    let step = match order {
        Some(by) if round.spec.is_ordered(Order::Abort, &by, &openers) => {
            Step::Ordered { order: Order::Abort, by, computed: true }
        }
        _ if why == ABORTED => Step::Abort(
            "node 0 says that the coordinator aborted it, and has no order of the coordinator"
                .into(),
        ),
        _ => Step::Abort(why),
    };
    node.advance(key, step)?;
    tidy(node, key);
    Ok(())
}

/// The complete submissions of a round.
pub(super) fn complete(node: &Node, key: &RoundKey) -> Result<Vec<Entry>, String> {
    let all = node.store.submissions(key).map_err(|e| e.to_string())?;
    Ok(all.iter().map(crate::store::Record::entry).collect())
}

/// Node 0 asks to take no more submissions. Before its time a round is closed by the coordinator, or if nobody is
/// missing here: node 0 shuts nobody out who comes in time.
fn asked_to_close(
    node: &Node,
    key: &RoundKey,
    order: Option<Signature>,
) -> Result<Vec<Entry>, String> {
    let round = node.round(key).ok_or(StepError::Unknown).map_err(|e| e.to_string())?;
    if round.phase != Phase::Open || is_over(&round.spec) {
        return close(node, key);
    }
    if let Some(by) = order {
        ordered(node, key, Order::Close, by).map_err(|e| e.to_string())?;
        return complete(node, key);
    }
    let full = node.circuit_of(&round.spec, round.spec.clients)?;
    let most = full.expected().min(enrolled(node, &round.spec, &full));
    if node.store.count_of(key).map_err(|e| e.to_string())? >= most {
        return close(node, key);
    }
    let spec = &round.spec;
    let left = spec.deadline.saturating_add(spec.grace).saturating_sub(now());
    Err(format!(
        "node {}: the round is open for another {left} s by its clock, and the coordinator has not closed it",
        node.me()
    ))
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
    let made = round.tries(name.attempt);
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
