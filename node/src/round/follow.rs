//! Answers the questions of the other nodes. Each may be asked again, and then has the same answer.

use super::agreement::{Enrolled, agree, close, complete, is_over};
use super::attempt::{self, LOST};
use super::opening::ordered;
use super::others::ended_by;
use super::tidy::{release_here, tidy};
use super::{backoff, retry};
use crate::clock::{now, now_ms};
use crate::node::Node;
use crate::redaction::redacted;
use crate::state::{Failure, Mandate, Order, Phase, RoundKey, Step, StepError};
use crate::threads::spawn;
use crate::wire::{Answer, Ask, RunName};
use std::sync::Arc;

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
        Ask::Close { key, order } => asked_to_close(node, &key, order),
        Ask::Agree { key, agreement } => {
            let clients = agreement.clients;
            agree(node, &key, agreement).and_then(|()| room(node, &key, clients))
        }
        Ask::Start(name) => start(node, name),
        Ask::Retry { key, attempt, wanted } => retry::follow(node, &key, attempt, wanted),
        Ask::Release(name) => release_here(node, &name).map(|()| Answer::Done),
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
    let told = |why: String| redacted(&why).into_owned();
    match answer {
        Answer::Refused(why) => Answer::Refused(told(why)),
        Answer::Stands { phase, attempt, failed, verdict, aborted, ending, waits } => {
            Answer::Stands {
                phase,
                attempt,
                verdict,
                ending,
                failed: failed.map(|f| Box::new(Failure { why: told(f.why), ..*f })),
                aborted: aborted.map(told),
                waits: waits.map(told),
            }
        }
        other => other,
    }
}

fn stands(node: &Node, key: &RoundKey) -> Answer {
    let before = node.is_busy(key);
    let Some(round) = node.round(key) else {
        return Answer::Unknown;
    };
    if round.phase == Phase::Running && !before && !node.is_busy(key) {
        // Its end could not be written.
        let attempt = round.attempt;
        let failed = Failure::new(attempt, format!("node {}: {LOST}", node.me()));
        return Answer::Stands {
            phase: Phase::Agreed,
            attempt,
            failed: Some(Box::new(failed)),
            verdict: None,
            aborted: None,
            ending: None,
            waits: None,
        };
    }
    let failed = round.failures.last().filter(|f| f.attempt == round.attempt);
    let failed = failed.cloned().map(Box::new);
    let (phase, attempt, aborted) = (round.phase, round.attempt, round.aborted.clone());
    let (verdict, waits) = (round.verdict.clone(), node.status.waiting(key));
    Answer::Stands { phase, attempt, failed, verdict, aborted, ending: round.ending, waits }
}

/// Node 0 has ended a round. It may do so for any cause, and not in the coordinator's name.
fn ended_by_leader(
    node: &Node,
    key: &RoundKey,
    why: String,
    order: Option<Mandate>,
) -> Result<(), StepError> {
    let round = node.round(key).ok_or(StepError::Unknown)?;
    node.advance(key, ended_by(node, (0, &round), Some(why), order))?;
    tidy(node, key);
    Ok(())
}

/// Node 0 asks to take no more submissions. Before its time a round is closed by the coordinator, or if nobody is
/// missing here: node 0 shuts nobody out who comes in time.
fn asked_to_close(node: &Node, key: &RoundKey, order: Option<Mandate>) -> Result<Answer, String> {
    let Some(round) = node.round(key) else { return Ok(Answer::Unknown) };
    if round.phase != Phase::Open || is_over(&round.spec) {
        return close(node, key).map(Answer::Complete);
    }
    if let Some(by) = order {
        ordered(node, key, Order::Close, by).map_err(|e| e.to_string())?;
        return complete(node, key).map(Answer::Complete);
    }
    let full = node.circuit_of(&round.spec, round.spec.clients)?;
    if Enrolled::of(node, &round.spec, &full)?.fill(&full, &complete(node, key)?) {
        return close(node, key).map(Answer::Complete);
    }
    let spec = &round.spec;
    let left = spec.ends().saturating_sub(now());
    Err(format!(
        "node {}: the round is open for another {left} s by its clock, and the coordinator has not closed it",
        node.me()
    ))
}

/// Whether an attempt could begin now. None is used up if not.
fn room(node: &Arc<Node>, key: &RoundKey, clients: u64) -> Result<Answer, String> {
    let spec = node.round(key).ok_or("no such round")?.spec.clone();
    let ready = node.circuit_of(&spec, clients)?;
    attempt::undamaged(node, key)?;
    backoff::has_room(node, ready.leaves())?;
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
        let failure = Failure::new(r.attempt, format!("node {}: {LOST}", node.me()));
        node.step(&name.key, Step::Fail(failure))?;
    }
    node.step(&name.key, Step::Start(name.attempt))?;
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
            let failure = Failure::new(attempt, why.clone());
            node.step(&key, Step::Fail(failure))?;
            Err(why)
        }
    }
}
