//! Node 0 leads rounds: it closes them, has everybody agree and run, and releases the result.
//!
//! A thread for each round, which no bug of one step ends, looks where it stands and does what comes next. What fails is done again until the node's
//! patience is over; then the round is aborted with the last failure as its cause, and the submissions are kept. After
//! a restart the same thread goes on from what is on disk. Whatever it asks of the others may be asked twice.

use super::agreement::{self, Enrolled};
use super::backoff::{self, AGAIN, Backoff, rest};
use super::others::{all_done, both, each, ended_by, said};
use super::tidy::{release_here, tidy};
use super::{attempt, gather, states};
use crate::locks::read_lock;
use crate::names::{counted, listed};
use crate::node::Node;
use crate::redaction::redacted;
use crate::state::{Agreement, Entry, Excluded, Failure, Phase, Round, RoundKey, Spec, Step};
use crate::tasks::{GivingSet, Ready};
use crate::threads::{Claim, spawn};
use crate::wire::{Answer, Ask, RunName};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How often the leader looks whether a round can be closed.
const LOOK: Duration = Duration::from_millis(200);

/// Leads a round on a thread of its own, unless one does already.
///
/// # Errors
///
/// A system that has no threads left.
pub fn begin(node: &Arc<Node>, key: RoundKey) -> std::io::Result<()> {
    match node.lead(&key) {
        Some(led) => lead_on(node, key, led),
        None => Ok(()),
    }
}

/// Leads a round on a thread of its own, for whoever has taken the lead.
pub(super) fn lead_on(node: &Arc<Node>, key: RoundKey, led: Claim) -> std::io::Result<()> {
    let node = node.clone();
    spawn("lead", move || {
        lead(&node, &key);
        drop(led);
    })
}

/// Leads a round to its end, from wherever it stands.
fn lead(node: &Arc<Node>, key: &RoundKey) {
    let patience = Duration::from_secs(node.config.limits.patience_s);
    // Patience is for what does not go on: a long run takes nothing of it.
    let mut stands = (Phase::Open, 0);
    let mut since = Instant::now();
    let mut pauses = Backoff::new();
    while !node.stopping() {
        let Some(round) = node.round(key) else { return };
        if stands != (round.phase, round.attempt) {
            stands = (round.phase, round.attempt);
            since = Instant::now();
            pauses = Backoff::new();
            rest_after_failure(node, key, &round);
        }
        match round.phase {
            Phase::Released => {
                node.status.waits_for(key, None);
                return;
            }
            Phase::Aborted => {
                node.status.waits_for(key, None);
                return tell_aborted(node, key, &round);
            }
            _ => {}
        }
        let done = guarded(|| go_on(node, key, &round));
        let Err(why) = done else {
            // It stands somewhere else now, or there is nothing to wait for.
            node.status.waits_for(key, None);
            continue;
        };
        // Once for each cause: it is tried again several times a second.
        if node.status.waits_for(key, Some(&why)) {
            tracing::warn!(round = %key, phase = %round.phase, why, "the round waits");
        }
        let hears = matches!(round.phase, Phase::Closed | Phase::Agreed | Phase::Computed);
        if let Some(step) = hears.then(|| aborted_elsewhere(node, &round)).flatten() {
            end(node, key, step);
            continue;
        }
        let late = round.phase != Phase::Open && since.elapsed() > patience;
        if late && round.phase != Phase::Releasing {
            abort(
                node,
                key,
                &format!(
                    "{}: {why}, and the patience of {} s is over",
                    round.phase,
                    patience.as_secs()
                ),
            );
        } else {
            rest(node, key, round.phase, pauses.next());
        }
    }
}

/// What made an attempt fail may make the next one fail as well: each waits longer than the one before.
fn rest_after_failure(node: &Node, key: &RoundKey, round: &Round) {
    let limits = &node.config.limits;
    let Some((attempts, failed)) = failed(round, limits.attempts) else { return };
    let pause = backoff::after(attempts, Duration::from_secs(limits.patience_s), limits.attempts);
    node.status.waits_for(key, Some(&failed));
    rest(node, key, Phase::Agreed, pause);
}

/// How many attempts have failed if the last one has, what is said of it, and that another one follows. What ended with a verdict
/// has not failed: the round goes on at once.
fn failed(round: &Round, most: u32) -> Option<(u32, String)> {
    let last = round.failures.last().filter(|f| f.attempt == round.attempt)?;
    let made = round.tries(round.attempt);
    (round.phase == Phase::Agreed && made < most).then(|| {
        let Failure { attempt, why, .. } = last;
        (made, format!("attempt {attempt} failed ({why}): the next one begins soon"))
    })
}

/// Does it. A bug is a cause as any other: the thread that leads a round goes on, until the leader's patience is over.
fn guarded(act: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let bug = |_| Err("node 0 has a bug: its log says more".to_string());
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(bug)
}

/// Does what comes next in a round that has not ended.
fn go_on(node: &Arc<Node>, key: &RoundKey, round: &Round) -> Result<(), String> {
    match round.phase {
        Phase::Open => match is_due(node, round)? {
            true => agreement::close(node, key).map(drop),
            false => {
                node.wait(LOOK);
                Ok(())
            }
        },
        Phase::Closed => settle(node, key, round),
        Phase::Agreed if round.verdict.is_some() => leave_out(node, key, round),
        Phase::Agreed => try_again(node, key, round),
        Phase::Running => match node.occupy(key) {
            // Attempts of this node are made by this thread: this one's end could not be written.
            Some(_busy) => {
                let why = format!("node {}: {}", node.me(), attempt::LOST);
                let failure = Failure::new(round.attempt, why);
                node.step(key, Step::Fail(failure))
            }
            None => {
                node.wait(LOOK);
                Ok(())
            }
        },
        Phase::Computed => confirm(node, key, round),
        Phase::Releasing => release(node, key, round),
        Phase::Released | Phase::Aborted => Ok(()),
    }
}

/// Aborts a round here. The others are told by the round's thread, and ask themselves.
pub(super) fn abort(node: &Arc<Node>, key: &RoundKey, why: &str) {
    end(node, key, Step::Abort(why.to_string()));
}

/// Ends a round here with a step. The others are told by the round's thread, and ask themselves.
fn end(node: &Arc<Node>, key: &RoundKey, step: Step) {
    match node.advance(key, step) {
        Ok(round) => tell_aborted(node, key, &round),
        Err(e) => {
            tracing::error!(round = %key, why = %e, "it cannot be aborted");
            thread::sleep(AGAIN);
        }
    }
}

fn tell_aborted(node: &Arc<Node>, key: &RoundKey, round: &Round) {
    tidy(node, key);
    let why = redacted(round.aborted.as_deref().unwrap_or_default()).into_owned();
    // Who cannot be reached asks later.
    let _ = both(node, &Ask::Abort { key: key.clone(), why, order: round.ending });
}

/// What ends a round that another node has aborted, if one has: then waiting is of no use.
fn aborted_elsewhere(node: &Arc<Node>, round: &Round) -> Option<Step> {
    let all = each(node, &Ask::Where(round.spec.key.clone()));
    all.into_iter().find_map(|answer| match answer {
        Ok((peer, Answer::Stands { phase: Phase::Aborted, aborted, ending, .. })) => {
            Some(ended_by(node, (peer, round), aborted, ending))
        }
        _ => None,
    })
}

/// Whether nobody can come any more, or nobody is missing on any node.
fn is_due(node: &Arc<Node>, round: &Round) -> Result<bool, String> {
    let spec = &round.spec;
    if agreement::is_over(spec) {
        return Ok(true);
    }
    let full = node.circuit_of(spec, spec.clients)?;
    let enrolled = Enrolled::of(node, spec, &full)?;
    // Most of the time it ends here, and nothing is read.
    if node.store.count_of(&spec.key).map_err(|e| e.to_string())? < enrolled.least(&full) {
        return Ok(false);
    }
    let own = agreement::complete(node, &spec.key)?;
    if !enrolled.fill(&full, &own) {
        return Ok(false);
    }
    let mut nodes: [Vec<Entry>; 3] = [own, Vec::new(), Vec::new()];
    for (peer, answer) in both(node, &Ask::Count(spec.key.clone()))? {
        match answer {
            Answer::Complete(all) => nodes[peer] = all,
            other => return Err(said(peer, other)),
        }
    }
    // A place is taken by who is complete at all three nodes, and not by who is at one.
    let taken = |s: Selected| {
        s.accepted.len() as u64 == full.clients && few_others(&full.others, &s.others).is_none()
    };
    let all_came = nodes.iter().all(|all| enrolled.have_come(all));
    Ok(all_came || taken(select(node, round, &full, &nodes)?))
}

/// Whose submissions count of those that three nodes have.
struct Selected {
    accepted: Vec<Entry>,
    excluded: Vec<Excluded>,
    others: Vec<Entry>,
    places: Vec<String>,
}

fn select(
    node: &Node,
    round: &Round,
    full: &Ready,
    nodes: &[Vec<Entry>; 3],
) -> Result<Selected, String> {
    let opening = round.spec.digest();
    let (mut accepted, mut excluded) = gather::gather(&full.others, nodes);
    let all = split_others(&full.others, &mut accepted);
    let mut others = Vec::new();
    for GivingSet { name, size, .. } in &full.others {
        let of = all.iter().filter(|e| e.set.as_ref() == Some(name)).cloned().collect();
        others.extend(gather::seat(&opening, *size, of, &mut excluded));
    }
    let places = match full.states {
        true => states::place(node, round, &mut accepted, &mut excluded)?,
        false => {
            accepted = gather::seat(&opening, full.clients, accepted, &mut excluded);
            Vec::new()
        }
    };
    Ok(Selected { accepted, excluded, others, places })
}

fn settle(node: &Arc<Node>, key: &RoundKey, round: &Round) -> Result<(), String> {
    let mine = agreement::close(node, key)?;
    let mut nodes: [Vec<Entry>; 3] = [mine, Vec::new(), Vec::new()];
    for (peer, answer) in both(node, &Ask::Close { key: key.clone(), order: round.closing })? {
        match answer {
            Answer::Complete(all) => nodes[peer] = all,
            // Whoever opened it asked no more than that.
            Answer::Unknown => {
                abort(
                    node,
                    key,
                    &format!("node {peer} knows no such round: it was not open at all nodes"),
                );
                return Ok(());
            }
            other => return Err(said(peer, other)),
        }
    }
    let full = node.circuit_of(&round.spec, round.spec.clients)?;
    for (peer, all) in nodes.iter().enumerate() {
        let left_out = all.iter().filter(|e| !gather::can_be(&full.others, e)).count();
        if left_out > 0 {
            tracing::warn!(round = %key, peer, left_out, "a node lists submissions that cannot be: their names or their party sets");
        }
    }
    let Selected { accepted, excluded, others, places } = select(node, round, &full, &nodes)?;
    let all: Vec<Entry> = accepted.iter().chain(&others).cloned().collect();
    if let Some(few) = few(node, &round.spec, &full, &all, &excluded) {
        abort(node, key, &few);
        return Ok(());
    }
    let found = accepted.len() as u64;
    // The circuit for those who came: a client that is not counted is as if it had never been there.
    let known = node.task_of(&round.spec).ok_or("no such task")?;
    let circuit = states::circuit_clients(&full, found).and_then(|clients| {
        let came = counted(found, "client that was accepted", "clients that were accepted");
        let none = |why| format!("there is no circuit for the {came}: {why}");
        Ok((clients, known.hash(clients).map_err(none)?))
    });
    let (clients, circuit) = match circuit {
        Ok(circuit) => circuit,
        Err(why) => {
            let gone = listed(excluded.iter().map(|x| format!("{} ({})", x.client, x.why)));
            let gone = gone.map_or(String::new(), |gone| format!("; excluded: {gone}"));
            abort(node, key, &format!("{why}{gone}"));
            return Ok(());
        }
    };
    let opening = round.spec.digest();
    let agreement = Agreement { opening, accepted, excluded, circuit, clients, places, others };
    agreement::agree(node, key, agreement)
}

/// Takes the members of other party sets out of those that count: by set and name.
fn split_others(sets: &[GivingSet], accepted: &mut Vec<Entry>) -> Vec<Entry> {
    let all = std::mem::take(accepted);
    let (clients, rest): (Vec<Entry>, Vec<Entry>) = all.into_iter().partition(|e| e.set.is_none());
    *accepted = clients;
    let of = |name: &str| rest.iter().filter(|e| e.set.as_deref() == Some(name)).cloned().collect();
    sets.iter().flat_map(|set| -> Vec<Entry> { of(&set.name) }).collect()
}

/// Why there are too few to run a round with, and who is missing where.
pub(super) fn few(
    node: &Node,
    spec: &Spec,
    full: &Ready,
    accepted: &[Entry],
    excluded: &[Excluded],
) -> Option<String> {
    let (clients, others): (Vec<Entry>, Vec<Entry>) =
        accepted.iter().cloned().partition(|e| e.set.is_none());
    let (found, minimum) = (clients.len() as u64, spec.minimum);
    let few = match found < minimum {
        true => {
            let came = counted(found, "client was accepted", "clients were accepted");
            format!("{came}, and the minimum is {minimum}")
        }
        false => few_others(&full.others, &others)?,
    };
    let named: BTreeSet<&str> = accepted
        .iter()
        .map(|e| e.client.as_str())
        .chain(excluded.iter().map(|x| x.client.as_str()))
        .collect();
    let roll = read_lock(&node.roll);
    let silent = roll.clients.keys().map(String::as_str).filter(|c| !named.contains(c));
    let gone = listed(excluded.iter().map(|x| format!("{} ({})", x.client, x.why)));
    let silent = listed(silent.map(str::to_string));
    let told = [("excluded", gone), ("missing at all nodes", silent)];
    let told = told.into_iter().filter_map(|(what, who)| Some(format!("; {what}: {}", who?)));
    Some(format!("{few}{}", told.collect::<String>()))
}

/// Which party set is not complete: all its members are needed.
fn few_others(sets: &[GivingSet], others: &[Entry]) -> Option<String> {
    sets.iter().find_map(|GivingSet { name, size, .. }| {
        let found = others.iter().filter(|e| e.set.as_ref() == Some(name)).count() as u64;
        (found < *size).then(|| {
            format!("{found} of {size} members of `{name}` were accepted, and all are needed")
        })
    })
}

/// How the others stand once this node has ended an attempt.
enum Standing {
    /// As this node does.
    Same,
    /// One has not ended it: for whom it waits.
    Running(String),
    /// One has ended it otherwise, and this node has followed.
    Otherwise,
}

/// Looks whether both others have ended an attempt as this node has. If the attempt has failed at one of them, it has failed here,
/// too; `unlike` says why, if that one does not.
fn standing(
    node: &Arc<Node>,
    round: &Round,
    same: impl Fn(&Answer) -> bool,
    unlike: impl Fn(usize, Phase) -> String,
) -> Result<Standing, String> {
    let (key, attempt) = (&round.spec.key, round.attempt);
    let mut running = None;
    for (peer, answer) in both(node, &Ask::Where(key.clone()))? {
        match answer {
            answer if same(&answer) => {}
            Answer::Stands { phase: Phase::Running, attempt: at, waits, .. } if at == attempt => {
                let computes = || format!("node {peer} has not finished the attempt yet");
                running = Some(waits.unwrap_or_else(computes));
            }
            Answer::Stands { phase: Phase::Aborted, aborted, ending, .. } => {
                end(node, key, ended_by(node, (peer, round), aborted, ending));
                return Ok(Standing::Otherwise);
            }
            Answer::Stands { failed, phase, .. } => {
                let failure = match failed {
                    Some(failed) if failed.attempt == attempt => *failed,
                    Some(failed) => Failure::new(attempt, failed.why),
                    None => Failure::new(attempt, unlike(peer, phase)),
                };
                node.step(key, Step::Fail(failure))?;
                return Ok(Standing::Otherwise);
            }
            other => return Err(said(peer, other)),
        }
    }
    Ok(running.map_or(Standing::Same, Standing::Running))
}

/// An attempt has ended with a verdict on inputs: the round goes on without these clients, once both others have the same
/// verdict. If one has none, its attempt has failed, and so has this one.
fn leave_out(node: &Arc<Node>, key: &RoundKey, round: &Round) -> Result<(), String> {
    let Some(verdict) = &round.verdict else { return Ok(()) };
    let same =
        |a: &Answer| matches!(a, Answer::Stands { verdict: Some(other), .. } if other == verdict);
    let unlike = |peer, _| format!("node {peer} has another verdict on inputs");
    match standing(node, round, same, unlike)? {
        Standing::Same => {}
        Standing::Running(_) => return Err("another node has not finished the attempt yet".into()),
        Standing::Otherwise => return Ok(()),
    }
    match agreement::next(node, round, verdict) {
        Ok(agreement) => agreement::agree(node, key, agreement),
        Err(why) => {
            abort(node, key, &why);
            Ok(())
        }
    }
}

/// Begins another attempt, once both others are ready for it.
fn try_again(node: &Arc<Node>, key: &RoundKey, round: &Round) -> Result<(), String> {
    let agreement = round.agreement.clone().ok_or("nothing was agreed")?;
    let next = round.attempt.saturating_add(1);
    let (made, most) = (round.tries(round.attempt), node.config.limits.attempts);
    if made >= most {
        let why = round.failures.last().map_or("", |f| f.why.as_str());
        abort(node, key, &format!("attempt {made} of {most} failed: {why}"));
        return Ok(());
    }
    let ready = node.circuit_of(&round.spec, agreement.clients)?;
    attempt::undamaged(node, key).map_err(|why| format!("node {}: {why}", node.me()))?;
    backoff::has_room(node, ready.leaves())?;
    let busy = node.occupy(key).ok_or("an attempt of this node has not ended")?;
    let permit = node.permit(ready.memory).ok_or("other runs take the memory of this node")?;
    all_done(both(node, &Ask::Agree { key: key.clone(), agreement })?)?;
    let name = RunName { key: key.clone(), attempt: next };
    node.step(key, Step::Start(next))?;
    let started = both(node, &Ask::Start(name.clone())).and_then(all_done);
    if let Err(why) = started {
        let failure = Failure::new(next, format!("start: {why}"));
        node.step(key, Step::Fail(failure))?;
        return Err(why);
    }
    attempt::run(node, &name, &ready);
    drop((permit, busy));
    Ok(())
}

/// This node has computed: have the others?
fn confirm(node: &Arc<Node>, key: &RoundKey, round: &Round) -> Result<(), String> {
    let finished = |phase| matches!(phase, Phase::Computed | Phase::Releasing | Phase::Released);
    let same = |a: &Answer| matches!(a, Answer::Stands { phase, attempt, .. } if finished(*phase) && *attempt == round.attempt);
    let unlike = |peer, phase| format!("node {peer} has not finished it and is {phase}");
    let mut waits = Duration::from_millis(5);
    let begun = Instant::now();
    while !node.stopping() {
        match standing(node, round, same, unlike)? {
            Standing::Same => return node.step(key, Step::Release(round.attempt)),
            Standing::Otherwise => return Ok(()),
            Standing::Running(why) if begun.elapsed() > node.deadline() => return Err(why),
            Standing::Running(_) => thread::sleep(waits),
        }
        waits = (waits * 2).min(LOOK);
    }
    Ok(())
}

/// All have computed: they and this node serve their words of the result. Who is away asks by itself later, and nobody
/// keeps this node from erasing what it has.
fn release(node: &Arc<Node>, key: &RoundKey, round: &Round) -> Result<(), String> {
    let name = RunName { key: key.clone(), attempt: round.attempt };
    if let Err(why) = both(node, &Ask::Release(name.clone())).and_then(all_done) {
        tracing::warn!(round = %key, why, "another node does not release the result yet");
    }
    release_here(node, &name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Verdict;
    use crate::state::tests::{agreement, round};

    #[test]
    fn a_pause_is_said_to_follow_an_attempt_that_failed_and_no_other() {
        let mut r = round(1);
        let fail = |attempt| Step::Fail(Failure::new(attempt, "w"));
        let gone = vec![Excluded { client: "0".into(), why: "out of range".into() }];
        let said = |n: u32, attempt: u32| {
            Some((n, format!("attempt {attempt} failed (w): the next one begins soon")))
        };
        let next = {
            let (accepted, excluded) = agreement(5).without(&gone);
            Agreement { accepted, excluded, clients: 4, ..agreement(5) }
        };
        for (step, wanted) in [
            (Step::Close, None),
            (Step::Agree(agreement(5)), None),
            (Step::Start(1), None),
            (fail(1), said(1, 1)),
            (Step::Start(2), None),
            (Step::Reject(Verdict { attempt: 2, gone }), None),
            (Step::Agree(next), None),
            (Step::Start(3), None),
            // The one with a verdict is none that failed.
            (fail(3), said(2, 3)),
            (Step::Start(4), None),
            // There is no other one.
            (fail(4), None),
        ] {
            assert_eq!(r.step(step.clone(), 1), Ok(true), "{step:?}");
            assert_eq!(failed(&r, 3), wanted, "{step:?}");
        }
    }

    #[test]
    fn a_bug_in_a_step_is_a_cause_and_ends_no_thread() {
        assert_eq!(guarded(|| Ok(())), Ok(()));
        let why = guarded(|| panic!("a bug")).expect_err("is a cause");
        assert!(why.contains("node 0 has a bug"), "{why}");
    }
}
