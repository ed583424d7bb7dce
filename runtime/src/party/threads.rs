//! Workers of a party as threads of its process: for sessions on one machine.

use super::ranges::{Computed, Given, Workers, in_range};
use super::{Doors, Party, Recorder, RunError, Transcript, Uploads};
use crate::link::Link;
use crate::share::{Held, PairSeeds, Prss, Rep, RunId};
use slvr_circuit::ranges::Division;
use slvr_circuit::{Circuit, ValueId};
use slvr_ring::Data;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// The party's end.
pub(super) struct Threads<'a> {
    division: &'a Division,
    ends: Vec<End>,
    done: BTreeMap<usize, Computed>,
}

struct End {
    to: Sender<Given>,
    from: Receiver<Result<Computed, RunError>>,
    /// The range that it is at.
    at: Option<usize>,
}

/// Whose worker it is, in which run.
pub(super) struct Setting<'a> {
    pub circuit: &'a Circuit,
    pub me: usize,
    pub pairs: &'a PairSeeds,
    pub run: RunId,
    pub uploads: Uploads,
    pub deadline: Duration,
    pub doors: Doors<'a>,
}

/// The other end.
pub(super) struct Worker<'a> {
    of: Setting<'a>,
    division: &'a Division,
    given: Receiver<Given>,
    computed: Sender<Result<Computed, RunError>>,
}

impl<'a> Threads<'a> {
    pub(super) fn new(division: &'a Division) -> Self {
        Threads { division, ends: Vec::new(), done: BTreeMap::new() }
    }

    /// Another worker, to be run in a thread.
    pub(super) fn worker(&mut self, of: Setting<'a>) -> Worker<'a> {
        let ((to, given), (computed, from)) = (channel(), channel());
        self.ends.push(End { to, from, at: None });
        Worker { of, division: self.division, given, computed }
    }

    /// Waits for what a worker is at.
    fn wait(&mut self, worker: usize) -> Result<(), RunError> {
        let end = &mut self.ends[worker];
        let Some(range) = end.at.take() else { return Ok(()) };
        let computed = end.from.recv().unwrap_or(Err(RunError::Setup));
        let computed = computed.map_err(|e| in_range(self.division, worker, range, e))?;
        self.done.insert(range, computed);
        Ok(())
    }
}

impl Workers for Threads<'_> {
    fn give(&mut self, given: Given) -> Result<(), RunError> {
        let (range, worker) = (given.range, given.range % self.ends.len());
        self.wait(worker)?;
        let end = &mut self.ends[worker];
        // A worker that is gone has said why, which `take` hears.
        let _ = end.to.send(Given { reads: copied(given.reads), ..given });
        end.at = Some(range);
        Ok(())
    }

    fn take(&mut self, range: usize) -> Result<Computed, RunError> {
        if !self.done.contains_key(&range) {
            self.wait(range % self.ends.len())?;
        }
        let computed = self.done.remove(&range).ok_or(RunError::Setup)?;
        Ok(Computed { writes: copied(computed.writes), ..computed })
    }
}

impl Worker<'_> {
    /// Computes what it is given, until the party has nothing more; what it has seen goes to `recorder`.
    pub(super) fn run(self, link: &mut dyn Link, recorder: Option<&mut Recorder>) {
        let (mut recorder, of) = (recorder, self.of);
        while let Ok(given) = self.given.recv() {
            let prss = Prss::new(of.me, of.pairs, of.run);
            let party = Party {
                uploads: of.uploads.clone(),
                transcript: recorder.as_deref_mut().map(|r| r as &mut dyn Transcript),
                doors: of.doors,
                ..Party::new(of.circuit, prss, link, of.run, of.deadline)
            };
            let done = party.run_range(self.division, given);
            let ended = done.is_err();
            if self.computed.send(done).is_err() || ended {
                return;
            }
        }
    }
}

/// What travels is another copy, of which no two values share a part.
fn copied(all: Vec<(ValueId, Held)>) -> Vec<(ValueId, Held)> {
    let copy = |held: Held| match held {
        Held::One(x) => Held::one(Data::clone(&x)),
        Held::Rep(x) => Held::Rep(Rep::new(Data::clone(&x.first), Data::clone(&x.second))),
    };
    all.into_iter().map(|(v, held)| (v, copy(held))).collect()
}
