//! Questions of the leader to both other nodes, at the same time.

use super::backoff::Full;
use crate::node::Node;
use crate::state::{ABORTED, Failure, Mandate, Order, Phase, Round, Step, StepError};
use crate::store::StoreError;
use crate::wire::{Answer, Ask, RunName};
use slvr_runtime::party::{Origin, RunError};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// How often the others are asked how an attempt has ended.
const LOOK: Duration = Duration::from_millis(100);

/// Why a round is not open, closed or aborted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OpenError {
    /// A node does not answer. Nothing has happened, and it may be there soon.
    #[error("{0}")]
    Away(String),
    /// Something speaks against it.
    #[error("{0}")]
    Refused(String),
    /// A round of that number is there, and is another one.
    #[error("{0}")]
    Exists(String),
    /// There is no room for what has to be written. Nothing has happened.
    #[error("this node's disk is full: make room, and give the same command again")]
    Full,
}

impl From<StoreError> for OpenError {
    fn from(e: StoreError) -> Self {
        match e.is_full() {
            true => OpenError::Full,
            false => OpenError::Refused(e.to_string()),
        }
    }
}

impl From<StepError> for OpenError {
    fn from(e: StepError) -> Self {
        match Full::is_full(&e) {
            true => OpenError::Full,
            false => OpenError::Refused(e.to_string()),
        }
    }
}

impl From<String> for OpenError {
    fn from(why: String) -> Self {
        OpenError::Refused(why)
    }
}

/// Asks both other nodes at the same time; both have to answer.
pub(super) fn both(node: &Arc<Node>, ask: &Ask) -> Result<[(usize, Answer); 2], String> {
    let [first, second] = each(node, ask);
    Ok([first?, second?])
}

/// Asks both other nodes at the same time.
pub(super) fn each(node: &Arc<Node>, ask: &Ask) -> [Result<(usize, Answer), String>; 2] {
    let one = |peer| match node.peers.ask(peer, ask, node.deadline()) {
        Ok(answer) => Ok((peer, answer)),
        Err(e) => Err(e.to_string()),
    };
    let [a, b] = node.peers.others();
    thread::scope(|scope| match thread::Builder::new().spawn_scoped(scope, || one(b)) {
        Ok(other) => {
            let first = one(a);
            [first, other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))]
        }
        // Without a thread for it the other one comes after.
        Err(_) => [one(a), one(b)],
    })
}

/// Why an attempt failed of which this node, the leader, only heard that it has ended, or in which it waited in vain: what
/// another node says of itself, or else that one does not answer, or for whom one waited. With the number of the workers in
/// whose range that was.
pub(super) fn cause(node: &Arc<Node>, name: &RunName, own: Failure) -> Failure {
    let until = Instant::now() + node.deadline();
    loop {
        let (mut runs, mut said, mut away) =
            (false, BTreeMap::from([(node.me(), own.clone())]), None);
        for answer in each(node, &Ask::Where(name.key.clone())) {
            match answer {
                Ok((_, Answer::Stands { phase: Phase::Running, .. })) => runs = true,
                Ok((party, Answer::Stands { failed: Some(failed), .. }))
                    if failed.attempt == name.attempt =>
                {
                    said.insert(party, *failed);
                }
                Ok(_) => {}
                Err(why) => away = Some(why),
            }
        }
        let best = first(&said);
        let is_known = said.get(&best).is_some_and(|f| f.origin == Origin::Own);
        let over = node.stopping() || node.aborted(&name.key).load(Ordering::Acquire);
        if !is_known && runs && Instant::now() <= until && !over {
            node.wait(LOOK);
            continue;
        }
        return match (said.remove(&best), away) {
            (Some(best), None) if best == own => own,
            (Some(best), away) if best.origin == Origin::Own || away.is_none() => {
                Failure { why: format!("{}; {}", own.why, best.why), ..best }
            }
            // Who does not answer has ended it, most likely, and no worker.
            (_, away) => {
                let why = format!("{}; {}", own.why, away.unwrap_or_default());
                Failure { why, worker: None, ..own }
            }
        };
    }
}

/// The node whose failure the others come from. A line between nodes that is cut ends workers, too, and one between workers is
/// heard of as an abort at the nodes: so of those that were closed, that of a node comes first.
fn first(said: &BTreeMap<usize, Failure>) -> usize {
    let between = |f: &Failure| f.origin == Origin::Closed && f.worker.is_none();
    // That the others have waited for it, they say.
    let waited_for = |p: usize| said.values().any(|f| f.origin == Origin::Waited(Some(p)));
    let error = |(&party, f): (&usize, &Failure)| {
        let why = f.why.clone();
        let origin = match f.origin {
            Origin::Waited(None) if !waited_for(party) => Origin::Echo,
            origin => origin,
        };
        (Some(party), RunError::Stopped { party, why, origin })
    };
    match RunError::cause(said.iter().map(error).collect()) {
        Some(RunError::Stopped { origin: Origin::Closed, party, .. }) => {
            said.iter().find(|(_, f)| between(f)).map_or(party, |(party, _)| *party)
        }
        Some(RunError::Stopped { party, .. }) => party,
        _ => 0,
    }
}

/// What an answer that is not the expected one says.
pub(super) fn said(peer: usize, answer: Answer) -> String {
    match answer {
        Answer::Refused(why) if why.starts_with(&format!("node {peer}")) => why,
        Answer::Refused(why) => format!("node {peer}: {why}"),
        Answer::Busy => format!("node {peer} is busy"),
        Answer::Unknown => format!("node {peer}: {}", StepError::Unknown),
        _ => format!("node {peer}: what it answers is no answer to this"),
    }
}

/// Both have to say that it is done.
pub(super) fn all_done(answers: [(usize, Answer); 2]) -> Result<(), String> {
    answers.into_iter().try_for_each(|(peer, answer)| match answer {
        Answer::Done => Ok(()),
        other => Err(said(peer, other)),
    })
}

/// What follows from another node having ended a round: its cause, which may be any, but is the coordinator's only if that has
/// signed an order.
pub(super) fn ended_by(
    node: &Node,
    (from, round): (usize, &Round),
    why: Option<String>,
    order: Option<Mandate>,
) -> Step {
    let known = node.config.openers();
    match order {
        Some(by) if round.is_ordered(Order::Abort, &by, (node.me(), &known)) => {
            Step::Ordered { order: Order::Abort, by, me: node.me(), computed: true }
        }
        _ => Step::Abort(match why {
            Some(why) if why == ABORTED => format!(
                "node {from} says that the coordinator aborted it, and has no order of the coordinator"
            ),
            Some(why) => why,
            None => format!("node {from} has aborted it"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The node whose failure counts, and the number of the workers in whose range that was.
    #[test]
    fn the_cause_of_an_attempt_is_what_was_struck() {
        use Origin::{Closed, Echo, Own, Waited};
        let (none, at) = (None, Some(4));
        for (said, expected, what) in [
            ([(Echo, at), (Own, at), (Closed, at)], (1, at), "a worker is killed"),
            ([(Closed, none), (Closed, at), (Echo, at)], (0, none), "a line between nodes is cut"),
            ([(Echo, at), (Closed, at), (Closed, none)], (2, none), "the same, elsewhere"),
            ([(Echo, none), (Closed, at), (Closed, at)], (1, at), "a line between workers is cut"),
            (
                [(Waited(Some(1)), at), (Waited(Some(2)), at), (Echo, at)],
                (1, at),
                "a worker is stopped",
            ),
            (
                [(Waited(None), at), (Waited(Some(0)), none), (Echo, none)],
                (0, at),
                "a worker is slow",
            ),
            (
                [(Waited(None), at), (Closed, none), (Closed, none)],
                (1, none),
                "nobody waited for it",
            ),
            (
                [(Waited(None), at), (Waited(Some(2)), none), (Echo, at)],
                (1, none),
                "for another one",
            ),
            ([(Echo, none), (Echo, none), (Echo, at)], (0, none), "nobody knows"),
        ] {
            let failure = |(origin, worker)| Failure { origin, worker, ..Failure::new(1, "w") };
            let said: BTreeMap<usize, Failure> = (0..).zip(said.map(failure)).collect();
            let best = first(&said);
            assert_eq!((best, said[&best].worker), expected, "{what}");
        }
    }

    #[test]
    fn a_cause_names_its_node_once() {
        assert_eq!(said(2, Answer::Unknown), "node 2: no such round");
        assert_eq!(said(2, Answer::Refused("it is full".into())), "node 2: it is full");
        assert_eq!(said(2, Answer::Refused("node 2 knows none".into())), "node 2 knows none");
        assert_eq!(said(2, Answer::Refused("node 1 is away".into())), "node 2: node 1 is away");
    }
}
