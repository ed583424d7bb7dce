//! Where a round stands, and which step may follow which.
//!
//! ```text
//!  open ─▶ closed ─▶ agreed ◀──────── failed attempt
//!                      │ ▲                  │  or the verdict that inputs
//!                      ▼ │ another attempt  │  are out of range
//!                    running ───────────────┘
//!                      │
//!                      ▼
//!                   computed ─▶ releasing ─▶ released        aborted: from anything before `releasing`
//! ```
//!
//! A failure leads from `computed`, too, back to `agreed`, and another attempt from there to `running`.
//!
//! From `aborted` a round may go back to `closed`, if the coordinator has told each node that it is run again
//! ([`crate::round`], `retry`). Its attempts are counted on, so none has the name of an earlier one.
//!
//! `releasing` is of the leader alone: it has heard from both others that they have computed the same attempt, and from
//! there on the round is never run again and never aborted. A node serves its words of the result once it has
//! `released`, so what ever leaves the nodes is of one attempt. Each step is made durable before anybody is told of it.

use crate::hex::{Hash, Hex};
use crate::names::{counted, is_name};
use serde::{Deserialize, Serialize};
use slvr_runtime::party::{Origin, RunError};
use std::fmt;
use thiserror::Error;

/// Which round of which task.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RoundKey {
    pub task: String,
    /// Its number, which the coordinator chooses, at most [`RoundKey::LAST`].
    pub round: u64,
}

impl RoundKey {
    /// The highest number: one more is not the same number to every reader of JSON.
    pub const LAST: u64 = (1 << 53) - 1;

    /// Whether there may be such a round.
    pub fn can_be(&self) -> bool {
        is_name(&self.task) && self.round <= Self::LAST
    }
}

impl fmt::Display for RoundKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.task, self.round)
    }
}

/// What a round is: its opening, as a coordinator has signed it for all three nodes and every client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    pub key: RoundKey,
    /// Hash of the circuit for all clients that may come.
    pub circuit: Hash,
    /// How many may come.
    pub clients: u64,
    /// How many have to be accepted.
    pub minimum: u64,
    /// Hash of the public inputs.
    pub public: Hash,
    /// When submissions may no longer begin, in seconds since 1970. Each node holds it against its own clock.
    pub deadline: u64,
    /// Seconds after that in which those that have begun may end.
    pub grace: u64,
    /// Of a task with a state: the round that left it; nothing for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// Hash of what clients were given outside of the nodes, such as the weights from which they train. Nodes do not look at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Hash>,
    /// Hash of who is enrolled ([`crate::config::Roll::hash`]).
    pub roll: Hash,
    /// A coordinator's signature of all that.
    pub signed: Signature,
}

impl Spec {
    /// When submissions that have begun may no longer end, in seconds since 1970.
    pub fn ends(&self) -> u64 {
        self.deadline.saturating_add(self.grace)
    }
}

/// A coordinator's signature (Ed25519).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    pub coordinator: Hex<32>,
    pub signature: Hex<64>,
}

/// A coordinator's order, signed for what each node knows of the round: an order from before the round was run again ends it no
/// more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mandate {
    #[serde(flatten)]
    pub signed: Signature,
    /// How often each of the three nodes has been told that the round is run again ([`Round::permits`]). Each of them compares its
    /// own number.
    #[serde(default)]
    pub permits: [u32; 3],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Submissions are taken.
    Open,
    /// They are not any more.
    Closed,
    /// Whose submissions count is settled, and no attempt is under way.
    Agreed,
    /// An attempt is under way.
    Running,
    /// This node has finished the attempt.
    Computed,
    /// All have, and the leader knows.
    Releasing,
    /// This node serves its words of the result.
    Released,
    /// There is no result.
    Aborted,
}

impl Phase {
    pub const ALL: [Phase; 8] = [
        Phase::Open,
        Phase::Closed,
        Phase::Agreed,
        Phase::Running,
        Phase::Computed,
        Phase::Releasing,
        Phase::Released,
        Phase::Aborted,
    ];

    /// Whether nothing comes after it by itself.
    pub fn ended(self) -> bool {
        matches!(self, Phase::Released | Phase::Aborted)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Open => "open",
            Phase::Closed => "closed",
            Phase::Agreed => "agreed",
            Phase::Running => "running",
            Phase::Computed => "computed",
            Phase::Releasing => "releasing",
            Phase::Released => "released",
            Phase::Aborted => "aborted",
        })
    }
}

/// A complete submission, as nodes compare it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Entry {
    pub client: String,
    pub submission: Hex<16>,
    /// Hash of its manifest.
    pub digest: Hash,
    /// The party set of which it is, if it is not that of the clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
}

/// A client whose submission does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excluded {
    pub client: String,
    pub why: String,
}

/// Whose submissions count, and what is computed of them. Members of the circuit's party set are the accepted clients
/// in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agreement {
    /// Hash of the round's opening ([`Spec::digest`]).
    pub opening: Hash,
    /// Those that count, by name.
    pub accepted: Vec<Entry>,
    pub excluded: Vec<Excluded>,
    pub circuit: Hash,
    /// How many clients the circuit is for: those accepted. Of a task with a state all that have a place.
    pub clients: u64,
    /// Of a task with a state: which client each member is, in this round and all that follow. A state may be about
    /// members, so a client is the same one in each round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
    /// The members of other party sets that give inputs, all of them, by set and name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Entry>,
}

impl Agreement {
    /// Whose inputs a member of the circuit's party set gives.
    pub fn member(&self, member: usize) -> Option<&Entry> {
        if self.places.is_empty() {
            return self.accepted.get(member);
        }
        let name = self.places.get(member)?;
        self.accepted.iter().find(|e| e.client == *name)
    }

    /// Whose inputs a member of another party set gives.
    pub fn other(&self, set: &str, member: usize) -> Option<&Entry> {
        self.others.iter().filter(|e| e.set.as_deref() == Some(set)).nth(member)
    }

    /// Who counts, and who does not, once some clients are left out that were accepted.
    pub fn without(&self, gone: &[Excluded]) -> (Vec<Entry>, Vec<Excluded>) {
        let is_gone = |e: &&Entry| gone.iter().any(|x| x.client == e.client);
        let left = self.accepted.iter().filter(|e| !is_gone(e)).cloned().collect();
        let mut excluded = self.excluded.clone();
        excluded.extend(gone.iter().cloned());
        excluded.sort_by(|a, b| a.client.cmp(&b.client));
        (left, excluded)
    }

    /// What the nodes compare before an attempt.
    pub fn digest(&self) -> Hash {
        let text = serde_json::to_vec(self).unwrap_or_default();
        Hex(*blake3::hash(&text).as_bytes())
    }
}

/// An attempt that came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub attempt: u32,
    /// Why: the cause, the layer and the peer.
    pub why: String,
    /// Whether that is the node's own, or what follows from what happened elsewhere.
    #[serde(default = "own")]
    pub origin: Origin,
    /// In whose range, by number.
    pub worker: Option<u16>,
}

fn own() -> Origin {
    Origin::Own
}

impl Failure {
    /// One that is the node's own, or that it says of another one.
    pub fn new(attempt: u32, why: impl Into<String>) -> Failure {
        Failure { attempt, why: why.into(), origin: Origin::Own, worker: None }
    }
}

/// Why something ended that a node or a worker did in an attempt. A text alone is a cause of its own.
#[derive(Debug)]
pub struct Cause {
    pub why: String,
    pub origin: Origin,
    /// In whose range, by number.
    pub worker: Option<u16>,
}

impl From<String> for Cause {
    fn from(why: String) -> Cause {
        Cause { why, origin: Origin::Own, worker: None }
    }
}

impl From<&str> for Cause {
    fn from(why: &str) -> Cause {
        why.to_string().into()
    }
}

impl From<RunError> for Cause {
    fn from(e: RunError) -> Cause {
        let worker = match e {
            RunError::Range { worker, .. } => u16::try_from(worker).ok(),
            _ => None,
        };
        Cause { why: e.to_string(), origin: e.origin(), worker }
    }
}

/// A round that was aborted and is run again from the same submissions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// The last attempt before. From it on each node grants as many as it is configured to.
    pub attempt: u32,
    /// Why the round was aborted.
    pub aborted: String,
    /// When it was run again, by this node's clock.
    pub at: u64,
}

/// What ended an attempt: inputs of some clients are not in their ranges. It was opened to all nodes, so each of them has the
/// same. The round goes on without these clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub attempt: u32,
    /// Whose inputs do not count, and why.
    pub gone: Vec<Excluded>,
}

/// What a worker of a node did in an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    pub worker: u16,
    /// Ranges of layers, by number, in order.
    pub ranges: Vec<usize>,
    /// Bytes that it sent to the same workers of the other nodes.
    pub bytes_sent: u64,
    /// Most bytes that values took there.
    pub peak_memory: u64,
}

/// What a node knows of an attempt that it has finished. Nothing of it is secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub attempt: u32,
    /// The run's public name.
    pub run: Hex<16>,
    /// Rounds of messages.
    pub rounds: usize,
    /// Bytes that this node sent.
    pub bytes_sent: u64,
    /// Most bytes that values took.
    pub peak_memory: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<Work>,
    /// Seconds until the nodes were connected.
    pub connect_seconds: f64,
    /// Seconds from there to the end.
    pub seconds: f64,
}

/// A round as a node has it on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    pub spec: Spec,
    pub phase: Phase,
    /// Whose submissions count, once that is settled.
    pub agreement: Option<Agreement>,
    /// The last attempt; 0 before the first.
    pub attempt: u32,
    pub failures: Vec<Failure>,
    /// What ended the last attempt, if clients are left out by it and that is not agreed yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// How often the round went on without clients whose inputs were not in their ranges.
    #[serde(default)]
    pub repeats: u32,
    /// What came of the last attempt.
    pub outcome: Option<Outcome>,
    /// Why there is no result.
    pub aborted: Option<String>,
    /// When it was opened, closed and ended, by this node's clock.
    pub times: [Option<u64>; 3],
    /// Whether the coordinator has told this node that it is run again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_retry: bool,
    /// How often the coordinator has told this node so.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub permits: u32,
    /// Whenever it was run again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retries: Vec<Retry>,
    /// Whether it ended so long ago that everything else was erased.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
    /// The coordinator's order to close it before its deadline, if this node has it.
    pub closing: Option<Mandate>,
    /// The coordinator's order to abort it, if this node has it.
    pub ending: Option<Mandate>,
}

/// Whether a number need not be written.
fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// What happens to a round.
#[derive(Clone, Debug)]
pub enum Step {
    /// No more submissions.
    Close,
    /// These count.
    Agree(Agreement),
    /// An attempt begins.
    Start(u32),
    /// It failed here.
    Fail(Failure),
    /// It has ended with a verdict on inputs.
    Reject(Verdict),
    /// It is finished here.
    Compute(Outcome),
    /// It is finished everywhere.
    Release(u32),
    /// This node serves its words.
    Done,
    /// There will be no result.
    Abort(String),
    /// The coordinator has told this node that it is run again.
    Permit,
    /// What was submitted is about to be erased: the round is not run again.
    Drop,
    /// It is run again. Node 0 has made so many attempts.
    Retry(u32),
    /// A coordinator orders it.
    Ordered {
        order: Order,
        by: Mandate,
        me: usize,
        /// Whether it may be aborted although this node has computed: node 0 has not released it, nor will it.
        computed: bool,
    },
    /// Node 0 is gone. Without it there is no result, unless this node has computed one.
    Leave(String),
}

/// What a coordinator orders of a round that is open, or has no result yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// No more submissions, before the deadline.
    Close,
    /// There will be no result.
    Abort,
}

/// Why a round has no result that the coordinator does not want.
pub const ABORTED: &str = "the coordinator aborted it";

/// Why a round is not given up any more.
const COMPUTED: &str = "this node has computed the result, and node 0 may release it";

/// A step that cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StepError {
    /// Not from where the round stands.
    #[error("the round is {phase}: {what}")]
    OutOfOrder { phase: Phase, what: &'static str },
    /// Fewer clients than the minimum.
    #[error("{}, and the minimum is {minimum}", counted(*found, "client counts", "clients count"))]
    Minimum { found: u64, minimum: u64 },
    /// This node knows no such round.
    #[error("no such round")]
    Unknown,
    /// It could not be made durable, or what is durable not be read.
    #[error("the round's state cannot be kept: {why}")]
    Store { why: String, full: bool },
}

impl Round {
    /// A round that has just been opened.
    pub fn new(spec: Spec, now: u64) -> Round {
        Round {
            spec,
            phase: Phase::Open,
            agreement: None,
            attempt: 0,
            failures: Vec::new(),
            verdict: None,
            repeats: 0,
            outcome: None,
            aborted: None,
            times: [Some(now), None, None],
            may_retry: false,
            permits: 0,
            retries: Vec::new(),
            erased: false,
            closing: None,
            ending: None,
        }
    }

    /// The last attempt before the round was run again; 0 if it was not.
    pub fn before(&self) -> u32 {
        self.retries.last().map_or(0, |r| r.attempt)
    }

    /// In how many attempts since the round began, or began anew, ranges of this number of workers have failed.
    pub fn failures_of(&self, worker: u16) -> usize {
        let before = self.before();
        self.failures.iter().filter(|f| f.attempt > before && f.worker == Some(worker)).count()
    }

    /// Whether nothing more will happen to it.
    pub fn ended(&self) -> bool {
        self.phase.ended()
    }

    /// What memory keeps of a round that has ended: what it was, how it ended and that it was run again.
    pub fn brief(&self) -> Round {
        Round {
            agreement: None,
            failures: Vec::new(),
            verdict: None,
            outcome: None,
            spec: self.spec.clone(),
            aborted: self.aborted.clone(),
            retries: self.retries.clone(),
            phase: self.phase,
            attempt: self.attempt,
            repeats: self.repeats,
            times: self.times,
            may_retry: self.may_retry,
            permits: self.permits,
            erased: self.erased,
            closing: self.closing,
            ending: self.ending,
        }
    }

    /// What is left of a round that ended long ago.
    pub fn forgotten(&self) -> Round {
        Round { erased: true, ..self.brief() }
    }

    /// Whether an agreement is the one before without those of the verdict: nobody else may leave or come.
    fn follows(&self, agreement: &Agreement) -> bool {
        let (Some(before), Some(verdict)) = (&self.agreement, &self.verdict) else { return false };
        let (accepted, excluded) = before.without(&verdict.gone);
        let (circuit, clients) = (agreement.circuit, agreement.clients);
        accepted.len() < before.accepted.len()
            && *agreement == Agreement { accepted, excluded, circuit, clients, ..before.clone() }
    }

    /// How many of these attempts may have come to nothing, since the round is run: those that ended with a verdict did not.
    /// Each of these leaves out a client at least, so there are fewer of them than clients.
    pub fn tries(&self, attempt: u32) -> u32 {
        attempt.saturating_sub(self.before()).saturating_sub(self.repeats)
    }

    /// Takes a step. The result is whether anything has changed: a step that was taken before may be taken again.
    ///
    /// # Errors
    ///
    /// A step that may not follow; then nothing has changed.
    pub fn step(&mut self, step: Step, now: u64) -> Result<bool, StepError> {
        let phase = self.phase;
        match step {
            Step::Close => return self.close(now),
            Step::Agree(agreement) => return self.agree(agreement),
            Step::Start(attempt) => match phase {
                Phase::Running if attempt == self.attempt => return Ok(false),
                Phase::Agreed | Phase::Computed if attempt > self.attempt => {
                    self.phase = Phase::Running;
                    self.attempt = attempt;
                    self.outcome = None;
                    self.verdict = None;
                }
                _ => return self.refused("this attempt cannot begin"),
            },
            Step::Fail(failure) => return self.fail(failure),
            Step::Reject(verdict) => match phase {
                Phase::Running if verdict.attempt == self.attempt => {
                    self.phase = Phase::Agreed;
                    self.verdict = Some(verdict);
                }
                _ => return self.refused("no such attempt is under way"),
            },
            Step::Compute(outcome) => {
                if phase != Phase::Running || outcome.attempt != self.attempt {
                    return self.refused("no such attempt is under way");
                }
                self.outcome = Some(outcome);
                self.phase = Phase::Computed;
            }
            Step::Release(attempt) => match phase {
                Phase::Computed if attempt == self.attempt => self.phase = Phase::Releasing,
                Phase::Releasing | Phase::Released if attempt == self.attempt => return Ok(false),
                _ => return self.refused("this attempt is not finished here"),
            },
            Step::Done => match phase {
                Phase::Releasing => {
                    self.phase = Phase::Released;
                    self.times[2] = Some(now);
                }
                Phase::Released => return Ok(false),
                _ => return self.refused("not all have finished"),
            },
            Step::Abort(why) => return self.abort(why, now),
            Step::Leave(_) if phase == Phase::Computed => return self.refused(COMPUTED),
            Step::Leave(why) => return self.abort(why, now),
            Step::Ordered { order: Order::Abort, computed: false, .. }
                if phase == Phase::Computed =>
            {
                return self.refused(COMPUTED);
            }
            // Whoever has verified the order may have done so before the coordinator said that the round is run again.
            Step::Ordered { by, me, .. } if by.permits.get(me) != Some(&self.permits) => {
                return self.refused("the order is from before it was to be run again");
            }
            Step::Ordered { order, by, .. } => return self.ordered(order, by, now),
            Step::Permit => return self.permit(),
            Step::Drop => match phase {
                Phase::Aborted | Phase::Released => {
                    return Ok(std::mem::take(&mut self.may_retry));
                }
                _ => return self.refused("what it runs on cannot be erased"),
            },
            Step::Retry(attempt) => return self.retry(attempt, now),
        }
        Ok(true)
    }

    fn refused(&self, what: &'static str) -> Result<bool, StepError> {
        Err(StepError::OutOfOrder { phase: self.phase, what })
    }

    fn close(&mut self, now: u64) -> Result<bool, StepError> {
        match self.phase {
            Phase::Open => {
                self.phase = Phase::Closed;
                self.times[1] = Some(now);
                Ok(true)
            }
            Phase::Aborted => self.refused("it cannot be closed"),
            _ => Ok(false),
        }
    }

    fn abort(&mut self, why: String, now: u64) -> Result<bool, StepError> {
        match self.phase {
            Phase::Releasing | Phase::Released => self.refused("it cannot be aborted any more"),
            Phase::Aborted => Ok(false),
            _ => {
                self.phase = Phase::Aborted;
                self.aborted = Some(why);
                self.times[2] = Some(now);
                Ok(true)
            }
        }
    }

    /// What a coordinator orders now, and may.
    fn ordered(&mut self, order: Order, by: Mandate, now: u64) -> Result<bool, StepError> {
        if order == Order::Abort && self.phase == Phase::Aborted && self.may_retry {
            // The last order counts: it is not run again. A node that has missed the first one knows of no permission, so
            // that one is what it takes.
            self.may_retry = false;
            self.ending.get_or_insert(by);
            return Ok(true);
        }
        let (changed, whose) = match order {
            Order::Close => (self.close(now)?, &mut self.closing),
            Order::Abort => (self.abort(ABORTED.into(), now)?, &mut self.ending),
        };
        if changed {
            *whose = Some(by);
        }
        Ok(changed)
    }

    fn agree(&mut self, agreement: Agreement) -> Result<bool, StepError> {
        let (found, minimum) = (agreement.accepted.len() as u64, self.spec.minimum);
        if found < minimum {
            return Err(StepError::Minimum { found, minimum });
        }
        match (self.phase, &self.agreement) {
            (Phase::Closed, _) => self.phase = Phase::Agreed,
            (Phase::Open | Phase::Aborted, _) => return self.refused("nothing can be agreed"),
            // What was agreed is not agreed again otherwise.
            (_, Some(before)) if *before == agreement => return Ok(false),
            (Phase::Agreed, _) if self.follows(&agreement) => {
                self.verdict = None;
                self.repeats += 1;
            }
            _ => return self.refused("something else was agreed before"),
        }
        self.agreement = Some(agreement);
        Ok(true)
    }

    fn fail(&mut self, failure: Failure) -> Result<bool, StepError> {
        let rejected = self.verdict.as_ref().is_some_and(|v| v.attempt == failure.attempt);
        match self.phase {
            // What this node has computed is of no use if another one has not.
            Phase::Running | Phase::Computed if failure.attempt == self.attempt => {
                self.phase = Phase::Agreed;
                self.outcome = None;
            }
            // Nor is a verdict that another one has not.
            Phase::Agreed if rejected => self.verdict = None,
            _ => return self.refused("no such attempt is under way"),
        }
        self.failures.push(failure);
        Ok(true)
    }

    fn permit(&mut self) -> Result<bool, StepError> {
        match self.phase {
            Phase::Aborted if self.erased => {
                self.refused("it ended long ago, and its submissions were erased")
            }
            Phase::Aborted if self.may_retry => Ok(false),
            // The order to abort it is an old one here from now on. It stays for a node that has not heard of it, until the
            // round is run again: which node is not told of that either.
            Phase::Aborted => {
                self.may_retry = true;
                self.permits = self.permits.saturating_add(1);
                Ok(true)
            }
            _ => self.refused("only a round that was aborted is run again"),
        }
    }

    fn retry(&mut self, attempt: u32, now: u64) -> Result<bool, StepError> {
        match self.phase {
            Phase::Closed if self.retries.last().is_some_and(|r| r.attempt == attempt) => Ok(false),
            Phase::Aborted if self.may_retry && attempt >= self.attempt => {
                let aborted = self.aborted.take().unwrap_or_default();
                self.retries.push(Retry { attempt, aborted, at: now });
                (self.phase, self.attempt, self.may_retry) = (Phase::Closed, attempt, false);
                (self.agreement, self.outcome, self.times[2]) = (None, None, None);
                self.ending = None;
                (self.verdict, self.repeats) = (None, 0);
                Ok(true)
            }
            Phase::Aborted if self.may_retry => {
                self.refused("this node has made more attempts than node 0")
            }
            Phase::Aborted => {
                self.refused("the coordinator has not told this node that it is run again")
            }
            _ => self.refused("only a round that was aborted is run again"),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
