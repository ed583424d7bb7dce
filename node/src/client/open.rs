//! A coordinator opens a round at the three nodes, and closes or aborts it before its time.

use super::{AGAIN, CallError, Caller, round_path, together};
use crate::codes::Code;
use crate::hex::{Hash, Hex, hex};
use crate::opening::Seal;
use crate::state::{Mandate, Order, RoundKey, Signature, Spec};
use crate::submission::{Public, public_hash};
use hyper::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

/// What a node has of what an opening says.
#[derive(Clone, Debug, Deserialize)]
struct Terms {
    clock_ms: u64,
    circuit: Hash,
    clients: u64,
    minimum: u64,
    roll: Hash,
    after: Option<u64>,
}

/// Which node is given an opening after which. Node 0 begins to lead a round once it has it.
const ORDER: [usize; 3] = [1, 2, 0];

/// How often an opening is begun anew that another call has begun at the same time.
const TRIES: usize = 4;

/// How long another opening may be on its way to the nodes before it is taken for one that nobody goes on with.
const UNDER_WAY: Duration = Duration::from_secs(3);

impl Caller {
    fn seal(&self) -> Result<Seal, CallError> {
        let none = || {
            CallError::Config(
                "the configuration has no `secret`: rounds are opened with a coordinator's".into(),
            )
        };
        Seal::new(&self.config().secret.ok_or_else(none)?.0).ok_or_else(none)
    }

    /// The opening of a round at a node; nothing if it knows no such round.
    fn opening_at(&self, node: usize, task: &str, round: u64) -> Result<Option<Spec>, CallError> {
        let path = round_path(task, round, "/opening");
        match self.json(node, &Method::GET, &path, &[]) {
            Ok(shown) => serde_json::from_value::<Spec>(shown)
                .ok()
                .filter(|s| s.key.task == task && s.key.round == round)
                .map(Some)
                .ok_or_else(|| CallError::Disagree(format!("node {node} shows no opening"))),
            Err(CallError::Refused { code: Code::Round, .. }) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The opening of a round, the same at all three nodes. A coordinator holds it against the keys of those who may open
    /// rounds. A client has one node that does so if one of the three is honest.
    ///
    /// # Errors
    ///
    /// A node that does not know the round, or shows another opening than the others.
    pub fn opening(&self, task: &str, round: u64) -> Result<Spec, CallError> {
        let of = |node: usize| -> Result<Spec, CallError> {
            self.opening_at(node, task, round)?
                .ok_or_else(|| CallError::no_round(node, task, round))
        };
        let [first, others @ ..] = self.all(of)?;
        if let Some(i) = others.iter().position(|o| o.digest() != first.digest()) {
            return Err(CallError::Disagree(format!(
                "nodes 0 and {} show different openings of {task}/{round}",
                i + 1
            )));
        }
        let mut openers = self.config().openers.clone();
        if let Some(own) = self.config().secret.filter(|_| !openers.is_empty()) {
            openers.extend(Seal::new(&own.0).map(|s| s.public()));
        }
        if !openers.is_empty() && !first.is_signed(&openers) {
            return Err(CallError::Disagree(format!(
                "the opening of {task}/{round} is not signed by a coordinator that this one knows (`openers`)"
            )));
        }
        Ok(first)
    }

    fn terms(&self, node: usize, task: &str) -> Result<Terms, CallError> {
        let shown = self.json(node, &Method::GET, &format!("/v1/tasks/{task}/terms"), &[])?;
        let odd = |_| CallError::Disagree(format!("node {node} shows no terms of `{task}`"));
        serde_json::from_value(shown).map_err(odd)
    }

    /// A client whom two nodes have enrolled otherwise.
    fn unlike(&self, a: usize, b: usize) -> Result<String, CallError> {
        let of = |node: usize| -> Result<BTreeMap<String, Value>, CallError> {
            let all = self.json(node, &Method::GET, "/v1/roll", &[])?;
            let name = |c: &Value| c["name"].as_str().unwrap_or_default().to_string();
            Ok(all.as_array().into_iter().flatten().map(|c| (name(c), c.clone())).collect())
        };
        let (left, right) = (of(a)?, of(b)?);
        let mut names = left.keys().chain(right.keys());
        let found = names.find(|n| left.get(*n) != right.get(*n));
        Ok(found.cloned().unwrap_or_default())
    }

    /// Opens a round on all nodes: signs what it is, asks each node what speaks against it, and gives it to each. It may be
    /// asked for again, and then has its first deadline. The deadline is by the middle one of the nodes' clocks, so that one
    /// node that is wrong does not move it. A round is open once each node holds this opening and no other.
    ///
    /// # Errors
    ///
    /// What speaks against it: then it is open nowhere. A node that goes away in the meantime: then the same call opens it
    /// where it is not open yet.
    pub fn open(
        &self,
        of: (&str, u64),
        terms: (u64, u64, Option<u64>),
        public: &Public,
    ) -> Result<Value, CallError> {
        self.open_for(None, of, terms, public)
    }

    /// The same for clients who were given what has this hash, which they find in the opening.
    ///
    /// # Errors
    ///
    /// As [`Caller::open`].
    pub fn open_for(
        &self,
        context: Option<Hash>,
        (task, round): (&str, u64),
        (seconds, grace, minimum): (u64, u64, Option<u64>),
        public: &Public,
    ) -> Result<Value, CallError> {
        if seconds == 0 {
            return Err(CallError::Config(
                "nobody can submit to a round that is open for 0 seconds: give it a second at least".into(),
            ));
        }
        let seal = self.seal()?;
        let [a, b, c] = self.all(|node| self.terms(node, task))?;
        for (node, other) in [(1, &b), (2, &c)] {
            if other.roll != a.roll {
                let client = self.unlike(0, node)?;
                return Err(CallError::Disagree(format!(
                    "nodes 0 and {node} have enrolled `{client}` differently: clients.toml has to be the same at all nodes"
                )));
            }
        }
        let mut clocks = [a.clock_ms, b.clock_ms, c.clock_ms];
        clocks.sort_unstable();
        let wanted = Spec {
            key: RoundKey { task: task.into(), round },
            circuit: a.circuit,
            clients: a.clients,
            minimum: minimum.unwrap_or(a.minimum),
            public: public_hash(public),
            // A second that has begun is no second of the round.
            deadline: clocks[1].div_ceil(1000).saturating_add(seconds),
            grace,
            after: a.after,
            context,
            roll: a.roll,
            signed: Signature { coordinator: seal.public(), signature: Hex([0; 64]) },
        };
        let wanted = seal.open(wanted);
        for left in (0..TRIES).rev() {
            let spec = self.begun(&wanted, clocks[1] / 1000)?.unwrap_or_else(|| wanted.clone());
            match self.give(&spec, public) {
                // Another call has been faster: what it has signed is as good, if it is the same but for its deadline.
                Err(e) if left > 0 && is_there(&e) => {}
                done => return done,
            }
        }
        Err(CallError::Disagree(format!("{task}/{round} is opened by other calls all the time")))
    }

    /// The openings that the nodes hold of a round.
    fn held(&self, task: &str, round: u64) -> Result<[Option<Spec>; 3], CallError> {
        self.all(|node| self.opening_at(node, task, round))
    }

    /// The opening that is there of a round, if it is what is wanted but for its deadline. One that is not open at all
    /// nodes, to which nobody has submitted, and that cannot be opened at the others any more is withdrawn, unless somebody may
    /// just be opening it.
    fn begun(&self, wanted: &Spec, now: u64) -> Result<Option<Spec>, CallError> {
        let (task, round) = (wanted.key.task.as_str(), wanted.key.round);
        let mut held = self.held(task, round)?;
        let until = Instant::now() + UNDER_WAY;
        loop {
            let there: Vec<(usize, &Spec)> =
                ORDER.iter().filter_map(|&n| Some((n, held[n].as_ref()?))).collect();
            let Some((_, first)) = there.first() else { return Ok(None) };
            let mut like =
                Spec { deadline: first.deadline, signed: first.signed, ..wanted.clone() };
            if there.len() == 3 {
                // It may have gone on: it is of who was enrolled then, and continues what was there then.
                (like.roll, like.after) = (first.roll, first.after);
                return Ok((like == **first).then_some(like));
            }
            // One that another call withdraws meanwhile is nowhere.
            let phase = |node| Some(self.status(node, task, round).ok()?["phase"].take());
            let phases: Vec<_> = there.iter().map(|(node, _)| phase(*node)).collect();
            let all_are = |is: &str| phases.iter().all(|p| p.as_ref().is_some_and(|p| p == is));
            let same = there.iter().all(|(_, spec)| spec == first);
            if like == **first && same && now < like.deadline && all_are("open") {
                return Ok(Some(like));
            }
            let ended = all_are("aborted");
            // Node 0 says that it is another one.
            if held[0].is_some() && !ended {
                return Ok(None);
            }
            if ended || Instant::now() >= until {
                for (node, spec) in there {
                    self.withdraw(node, spec)?;
                }
                return Ok(None);
            }
            thread::sleep(AGAIN);
            let before = std::mem::replace(&mut held, self.held(task, round)?);
            // It is not what it was: whoever has opened it goes on.
            if held != before {
                return Ok(None);
            }
        }
    }

    /// Withdraws an opening at a node. Node 0 is asked first: if it has it, it is open at all nodes and stays, and if not, it
    /// takes it no more.
    fn withdraw(&self, node: usize, spec: &Spec) -> Result<(), CallError> {
        let path = round_path(&spec.key.task, spec.key.round, "");
        let path = format!("{path}?opening={}", spec.digest());
        self.json(0, &Method::DELETE, &path, &[])?;
        match node {
            0 => Ok(()),
            _ => self.json(node, &Method::DELETE, &path, &[]).map(drop),
        }
    }

    /// Gives the nodes an opening, if none of them has anything against it.
    fn give(&self, spec: &Spec, public: &Public) -> Result<Value, CallError> {
        let (task, round) = (spec.key.task.as_str(), spec.key.round);
        let path = round_path(task, round, "");
        let public: BTreeMap<String, String> =
            public.iter().map(|(j, x)| (j.to_string(), hex(x))).collect();
        let ask = |node: usize, check: bool| {
            let body = json!({ "opening": spec, "public": public, "check": check });
            self.json(node, &Method::POST, &path, body.to_string().as_bytes())
        };
        ORDER.iter().try_for_each(|&node| ask(node, true).map(drop))?;
        let mut shown = Value::Null;
        for (i, &node) in ORDER.iter().enumerate() {
            match ask(node, false) {
                Ok(status) => shown = status,
                Err(e @ CallError::Refused { status: 409, .. }) if !is_there(&e) => {
                    // It has changed its mind since it was asked.
                    for &before in &ORDER[..i] {
                        let _ = self.withdraw(before, spec);
                    }
                    return Err(e);
                }
                Err(e) => return Err(e),
            }
        }
        let digests = self.held(task, round)?.map(|held| held.map(|s| s.digest()));
        if let Some(node) = (0..3).find(|&node| digests[node] != Some(spec.digest())) {
            return Err(CallError::Disagree(format!(
                "{task}/{round} is not open: node {node} holds {}, as another call may have opened or withdrawn it meanwhile; a new round has a new number",
                if digests[node].is_some() { "another opening of it" } else { "no opening of it" }
            )));
        }
        if let Some(why) = shown["aborted"].as_str() {
            let again = self.again(task, round);
            return Err(CallError::Disagree(format!(
                "{task}/{round} was aborted ({why}): a new round has a new number; {again}"
            )));
        }
        Ok(shown)
    }

    /// Signs an order for the round as the nodes have it: how often each of them was told that it is run again. Of one that is
    /// away it is what the others say: the least of it, so that no order is for later than now.
    fn mandate(&self, spec: &Spec, order: Order) -> Result<Mandate, CallError> {
        let told =
            self.statuses(&spec.key.task, spec.key.round).map(|s| s.ok()?["permits"].as_u64());
        let least = told.iter().flatten().min().copied().unwrap_or(0);
        let permits = told.map(|n| u32::try_from(n.unwrap_or(least)).unwrap_or(u32::MAX));
        Ok(self.seal()?.order(&spec.digest(), order, permits))
    }

    /// Gives a node an order.
    fn order(
        &self,
        node: usize,
        spec: &Spec,
        order: Order,
        by: &Mandate,
    ) -> Result<Value, CallError> {
        let what = match order {
            Order::Close => "close",
            Order::Abort => "abort",
        };
        let path = round_path(&spec.key.task, spec.key.round, &format!("/{what}"));
        self.json(node, &Method::POST, &path, json!(by).to_string().as_bytes())
    }

    /// The opening of a round at the first node that knows it.
    fn opening_anywhere(&self, task: &str, round: u64) -> Result<Spec, CallError> {
        let mut last = None;
        for node in 0..3 {
            match self.opening_at(node, task, round) {
                Ok(Some(spec)) => return Ok(spec),
                Ok(None) => {}
                Err(e) => last = Some(e),
            }
        }
        Err(last.unwrap_or(CallError::no_round(0, task, round)))
    }

    /// Closes a round before its deadline: node 0 has the order, and shows it to the others.
    ///
    /// # Errors
    ///
    /// What speaks against it.
    pub fn close(&self, task: &str, round: u64) -> Result<Value, CallError> {
        let spec = self.opening_anywhere(task, round)?;
        self.order(0, &spec, Order::Close, &self.mandate(&spec, Order::Close)?)
    }

    /// Aborts a round. Without node 0 the others do it, unless they have computed the result: then node 0 may have
    /// released it. What each of them says of it.
    ///
    /// # Errors
    ///
    /// What speaks against it, and if no node has done it.
    pub fn abort(
        &self,
        task: &str,
        round: u64,
    ) -> Result<Vec<Result<Value, CallError>>, CallError> {
        let spec = self.opening_anywhere(task, round)?;
        let by = self.mandate(&spec, Order::Abort)?;
        let first = match self.order(0, &spec, Order::Abort, &by) {
            // What node 0 does not do the others do not do either.
            Err(e @ CallError::Refused { status: 409, .. }) => return Err(e),
            done => done,
        };
        let [second, third] = [1, 2].map(|node| self.order(node, &spec, Order::Abort, &by));
        let all = [first, second, third];
        match all.iter().all(Result::is_err) {
            // Each says what keeps it from it, and what to do.
            true => together(all).map(|done| done.map(Ok).into()),
            false => Ok(all.into()),
        }
    }
}

/// Whether a node has another opening of the round.
fn is_there(e: &CallError) -> bool {
    matches!(e, CallError::Refused { code: Code::Exists, .. })
}
