//! The rounds of a node in memory.
//!
//! Each round has a lock of its own for its steps. Whoever takes a step, or counts a submission, holds it until that is
//! on disk. Whoever only looks does not wait for the disk: it sees the round as it was after its last step. A run asks a
//! flag whether its round was aborted, and waits for nobody.
//!
//! Of a round that has ended, what was agreed and what came of it is in the database alone ([`Round::brief`]). So memory
//! grows by some hundred bytes for each round that a node has ever run.

use crate::locks::lock;
use crate::state::{Phase, Round, RoundKey, Step, StepError};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

#[derive(Debug)]
struct Slot {
    /// Held by whoever changes something that has to be on disk first.
    steps: Mutex<()>,
    now: Mutex<Arc<Round>>,
    aborted: Arc<AtomicBool>,
}

/// A round before a step and after it; the same twice if the step was taken before.
#[derive(Debug)]
pub struct Stepped {
    pub before: Arc<Round>,
    /// After, as a whole, even if it has ended.
    pub after: Arc<Round>,
    /// Whether there was anything to do.
    pub changed: bool,
}

/// All rounds of a node.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<BTreeMap<RoundKey, Arc<Slot>>>);

impl Slot {
    fn new(round: Round) -> Slot {
        let aborted = Arc::new(AtomicBool::new(round.phase == Phase::Aborted));
        let kept = if round.ended() { round.brief() } else { round };
        Slot { steps: Mutex::new(()), now: Mutex::new(Arc::new(kept)), aborted }
    }

    fn now(&self) -> Arc<Round> {
        lock(&self.now).clone()
    }
}

impl Ledger {
    fn slot(&self, key: &RoundKey) -> Option<Arc<Slot>> {
        lock(&self.0).get(key).cloned()
    }

    /// Where a round stands. One that has ended is [brief](Round::brief).
    pub fn get(&self, key: &RoundKey) -> Option<Arc<Round>> {
        Some(self.slot(key)?.now())
    }

    /// All rounds, by task and number. Those that have ended are [brief](Round::brief).
    pub fn all(&self) -> Vec<Arc<Round>> {
        lock(&self.0).values().map(|slot| slot.now()).collect()
    }

    /// Adds a round that is on disk.
    pub fn add(&self, round: Round) {
        lock(&self.0).insert(round.spec.key.clone(), Arc::new(Slot::new(round)));
    }

    /// Takes a step once `durable` has made it so, or takes none. Of a round that has ended, `whole` reads what memory does
    /// not have.
    ///
    /// # Errors
    ///
    /// A step that may not follow; what `durable` says.
    pub fn step(
        &self,
        key: &RoundKey,
        step: Step,
        now: u64,
        whole: impl FnOnce() -> Result<Option<Round>, StepError>,
        durable: impl FnOnce(&Round) -> Result<(), StepError>,
    ) -> Result<Stepped, StepError> {
        let slot = self.slot(key).ok_or(StepError::Unknown)?;
        let _one = lock(&slot.steps);
        let before = slot.now();
        let mut next = (*before).clone();
        if !next.step(step.clone(), now)? {
            return Ok(Stepped { after: before.clone(), before, changed: false });
        }
        // Memory has no lists of a round that has ended, and they are written again.
        if before.ended()
            && let Some(mut kept) = whole()?
        {
            kept.step(step, now)?;
            next = kept;
        }
        durable(&next)?;
        let after = Arc::new(next);
        *lock(&slot.now) = if after.ended() { Arc::new(after.brief()) } else { after.clone() };
        slot.aborted.store(after.phase == Phase::Aborted, Ordering::Release);
        Ok(Stepped { before, after, changed: true })
    }

    /// Takes a round out once `durable` has, or leaves it. Whoever still holds it finds it aborted.
    ///
    /// # Errors
    ///
    /// What `durable` says; no such round.
    pub fn remove(
        &self,
        key: &RoundKey,
        durable: impl FnOnce(&Round) -> Result<(), StepError>,
    ) -> Result<(), StepError> {
        let slot = self.slot(key).ok_or(StepError::Unknown)?;
        let _one = lock(&slot.steps);
        let now = slot.now();
        durable(&now)?;
        let gone = Round { phase: Phase::Aborted, ..now.brief() };
        *lock(&slot.now) = Arc::new(gone);
        slot.aborted.store(true, Ordering::Release);
        lock(&self.0).remove(key);
        Ok(())
    }

    /// Notes that nothing is left of a round that has ended, once `durable` has erased it. One that is run again at this
    /// moment, or is not there, stays as it is.
    ///
    /// # Errors
    ///
    /// What `durable` says.
    pub fn forget<E>(
        &self,
        key: &RoundKey,
        durable: impl FnOnce(&Round) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(slot) = self.slot(key) else { return Ok(()) };
        let _one = lock(&slot.steps);
        let now = slot.now();
        if now.ended() {
            durable(&now)?;
            *lock(&slot.now) = Arc::new(now.forgotten());
        }
        Ok(())
    }

    /// Does something while a round stays as it is. Submissions are counted so.
    pub fn held<T>(&self, key: &RoundKey, act: impl FnOnce(Option<&Round>) -> T) -> T {
        let Some(slot) = self.slot(key) else { return act(None) };
        let _one = lock(&slot.steps);
        let now = slot.now();
        act(Some(&now))
    }

    /// What is true once a round was aborted.
    pub fn aborted(&self, key: &RoundKey) -> Arc<AtomicBool> {
        self.slot(key).map_or_else(Arc::default, |slot| slot.aborted.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Failure;
    use crate::state::tests::{agreement, round};
    use std::sync::mpsc::channel;
    use std::thread;

    /// No database.
    fn none() -> Result<Option<Round>, StepError> {
        Ok(None)
    }

    #[test]
    fn whoever_looks_at_a_round_does_not_wait_for_the_disk() {
        let ledger = Ledger::default();
        ledger.add(round(1));
        ledger.add(round(2));
        let (one, two) = (round(1).spec.key, round(2).spec.key);
        let aborted = ledger.aborted(&one);
        let (writes, writing) = channel();
        let (goes_on, wait) = channel();
        thread::scope(|scope| {
            let (ledger, one) = (&ledger, &one);
            let step = scope.spawn(move || {
                ledger.step(one, Step::Abort("w".into()), 1, none, |_| {
                    writes.send(()).expect("is heard");
                    wait.recv().expect("the others have looked");
                    Ok(())
                })
            });
            writing.recv().expect("the step is being written");
            // All of this would wait for the step if it took the same lock.
            assert_eq!(ledger.get(one).expect("is there").phase, Phase::Open);
            assert_eq!(ledger.all().len(), 2);
            assert!(!aborted.load(Ordering::Acquire));
            ledger.step(&two, Step::Close, 1, none, |_| Ok(())).expect("another round goes on");
            goes_on.send(()).expect("is heard");
            assert!(step.join().expect("ends").expect("is taken").changed);
        });
        assert!(aborted.load(Ordering::Acquire));
    }

    #[test]
    fn a_step_that_is_not_on_disk_is_not_taken() {
        let ledger = Ledger::default();
        ledger.add(round(1));
        let key = round(1).spec.key;
        let full = |_: &Round| Err(StepError::Store { why: "full".into(), full: true });
        assert!(ledger.step(&key, Step::Close, 1, none, full).is_err());
        assert_eq!(ledger.get(&key).expect("is there").phase, Phase::Open);
    }

    #[test]
    fn of_a_round_that_has_ended_memory_has_no_lists() {
        let ledger = Ledger::default();
        ledger.add(round(1));
        let key = round(1).spec.key;
        let failure = Failure::new(1, "w");
        let steps = [
            Step::Close,
            Step::Agree(agreement(4)),
            Step::Start(1),
            Step::Fail(failure),
            Step::Abort("none".into()),
        ];
        let mut last = None;
        for step in steps {
            last = Some(ledger.step(&key, step, 1, none, |_| Ok(())).expect("follows"));
        }
        let whole = last.expect("a step").after;
        assert_eq!((whole.agreement.is_some(), whole.failures.len()), (true, 1));
        let kept = ledger.get(&key).expect("is there");
        assert_eq!((&kept.agreement, kept.failures.len()), (&None, 0));
        assert_eq!((kept.phase, kept.attempt, &kept.aborted), (whole.phase, 1, &whole.aborted));
    }

    /// Whoever waits for the round while it is forgotten goes on with the same one.
    #[test]
    fn what_is_forgotten_stays_where_whoever_waits_for_it_finds_it() {
        let ledger = Ledger::default();
        ledger.add(round(1));
        let key = round(1).spec.key;
        let nothing = |_: &Round| -> Result<(), StepError> { panic!("it goes on") };
        ledger.forget(&key, nothing).expect("stays");
        ledger.step(&key, Step::Abort("w".into()), 1, none, |_| Ok(())).expect("follows");
        let waits = ledger.slot(&key).expect("is there");
        ledger.forget(&key, |_| Err(StepError::Unknown)).expect_err("nothing is erased");
        assert!(!waits.now().erased);
        ledger.forget(&key, |_| Ok::<(), StepError>(())).expect("is forgotten");
        assert!(waits.now().erased && ledger.get(&key).expect("is there").erased);
    }

    #[test]
    fn a_round_that_is_run_again_has_the_lists_that_only_the_database_has() {
        let ledger = Ledger::default();
        ledger.add(round(1));
        let key = round(1).spec.key;
        let failure = Failure::new(1, "w");
        let steps = [
            Step::Close,
            Step::Agree(agreement(4)),
            Step::Start(1),
            Step::Fail(failure),
            Step::Abort("none".into()),
            Step::Permit,
            Step::Retry(1),
        ];
        let mut disk = None;
        for step in steps {
            let mut written = None;
            let read = || Ok(disk.clone());
            let durable = |r: &Round| {
                written = Some(r.clone());
                Ok(())
            };
            ledger.step(&key, step, 1, read, durable).expect("follows");
            disk = written;
        }
        let kept = ledger.get(&key).expect("is there");
        assert_eq!(Some(&*kept), disk.as_ref());
        assert_eq!((kept.phase, kept.failures.len(), kept.before()), (Phase::Closed, 1, 1));
        assert!(!ledger.aborted(&key).load(Ordering::Acquire));
    }
}
