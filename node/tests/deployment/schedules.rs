//! Random faults, and what holds whatever happens.
//!
//! A schedule is a deployment, and operations that are drawn from a seed: a client submits, submits again, submits
//! something else, replays, gives only some nodes its part; a node is killed, stopped for a while, has a full disk or a
//! wrong clock; a link is cut, healed or slowed down. Afterwards everything is healed. Then:
//!
//! - every round ends, released or aborted with a cause, within the deadlines;
//! - a round that was aborted is run again, and then released: unless too few had submitted to it, or too few of them what is in
//!   range, which is said;
//! - what is released is the mean of the accepted submissions, each once: each client has a place of its own in the vector, what
//!   it has submitted there is known to the test, and the divisor is their number, so zeros in the place of a client that does not
//!   count would show;
//! - no acknowledged submission is lost: who has three receipts of one submission is accepted, or its inputs are out of range and
//!   the report says so;
//! - no result is of fewer clients than the minimum, and all nodes release the same attempt.
//!
//! `SLVR_COUNT` is how many schedules there are, and `SLVR_SEED` the first of them.

use crate::world::{Shape, TASK, World, client, number, until};
use slvr_node::client::CallError;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// A small generator: schedules are the same on every machine.
pub struct Draw(pub u64);

impl Draw {
    pub fn of(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % n
    }
}

const M: u64 = 5;
const MINIMUM: u64 = 2;

struct Schedule {
    seed: u64,
    draw: Draw,
    world: World,
    /// By client: the digests that nodes have acknowledged.
    acknowledged: BTreeMap<u64, [Option<String>; 3]>,
    /// What each submission adds in its client's place, by its name.
    sent: BTreeMap<String, i64>,
    stopped: BTreeSet<usize>,
    /// Whether something failed while the nodes computed.
    struck: bool,
    /// Clients whose inputs are not in range, whatever they submit.
    unfair: BTreeSet<u64>,
}

/// Opens the round. A node whose clock is too far from the others' says so, and has its clock put right.
fn open(world: &mut World) {
    let skew = |world: &World, i: usize| -> i64 {
        world.variables[i]
            .iter()
            .find(|v| v.0 == "SLVR_NODE_SKEW")
            .map_or(0, |v| v.1.parse().expect("a number"))
    };
    let mut all = [0, 1, 2].map(|i| skew(world, i));
    all.sort_unstable();
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let coordinator = world.coordinator();
        match coordinator.open((TASK, 1), (600, 1, Some(MINIMUM)), &world.public()) {
            Ok(_) => return,
            Err(CallError::Refused { node, message, .. }) if message.contains("by its clock") => {
                assert!((skew(world, node) - all[1]).abs() >= 600, "{message}");
                let at = world.variables[node].iter_mut().find(|v| v.0 == "SLVR_NODE_SKEW");
                at.expect("a clock").1 = all[1].to_string();
                world.start(node);
            }
            Err(e) => assert!(Instant::now() < end, "{e}"),
        }
        thread::sleep(Duration::from_millis(30));
    }
}

/// How a schedule ended.
struct End {
    released: bool,
    retries: u64,
    attempts: u64,
    struck: bool,
}

impl Schedule {
    fn new(seed: u64) -> Schedule {
        let mut draw = Draw(seed);
        let shape = Shape {
            m: M,
            n: 8,
            program: "mean",
            layers: 10 + draw.of(30),
            minimum: MINIMUM,
            deadline: 3,
            patience: 3 + 17 * draw.of(2),
            ..Shape::default()
        };
        let mut world = World::new(shape);
        for i in 0..3 {
            let flag = world.folder.path().join(format!("full-{i}"));
            world.variables[i].push(("SLVR_NODE_FULL", flag.display().to_string()));
            let skew = [0i64, 0, 300, -300, -3600, 3600][draw.of(6) as usize];
            world.variables[i].push(("SLVR_NODE_SKEW", skew.to_string()));
        }
        (0..3).for_each(|i| world.start(i));
        // Clocks may be an hour apart in a round that is open for longer.
        match draw.of(2) {
            0 => open(&mut world),
            _ => drop(world.open(1, 10_800)),
        }
        // In many of the schedules inputs of a client or two are not in range.
        let unfair =
            (0..draw.of(6).saturating_sub(2) / 2 + draw.of(2)).map(|_| draw.of(M)).collect();
        Schedule {
            seed,
            draw,
            world,
            acknowledged: BTreeMap::new(),
            sent: BTreeMap::new(),
            stopped: BTreeSet::new(),
            struck: false,
            unfair,
        }
    }

    fn note(&mut self, i: u64, node: usize, done: Result<serde_json::Value, CallError>) {
        let Ok(receipt) = done else { return };
        let digest = receipt["digest"].as_str().expect("a digest").to_string();
        let before = &mut self.acknowledged.entry(i).or_default()[node];
        let first = before.get_or_insert_with(|| digest.clone());
        assert_eq!(
            *first, digest,
            "seed {}: node {node} acknowledged two submissions of client {i}",
            self.seed
        );
    }

    /// Client i sends nodes its part; a stopped node does not answer, so nobody asks it.
    fn submit(&mut self, i: u64, nodes: &[usize], value: f64) {
        let mut x = vec![0.0; 8];
        x[i as usize] = value;
        let s = self.world.submission_that(i, 1, x, !self.unfair.contains(&i));
        self.sent.insert(s.manifest.submission.to_string(), value as i64);
        let caller = self.world.client(i);
        for &node in
            nodes.iter().filter(|n| !self.stopped.contains(n)).copied().collect::<Vec<_>>().iter()
        {
            let done = caller.submit_to(node, &s, &|_, _, _| {});
            self.note(i, node, done);
        }
    }

    fn act(&mut self) {
        let (i, node) = (self.draw.of(M), self.draw.of(3) as usize);
        let link = self.draw.of(6) as usize;
        match self.draw.of(16) {
            0..=4 => self.submit(i, &[0, 1, 2], 1.0),
            5 => self.submit(i, &[node, (node + 1) % 3], 1.0),
            6 => self.submit(i, &[node], 2.0),
            7 => {
                let mut s = self.world.submission(i, 1);
                s.manifest.round = 2;
                let done = self.world.client(i).submit_to(
                    if self.stopped.contains(&node) { return } else { node },
                    &s,
                    &|_, _, _| {},
                );
                assert!(done.is_err(), "seed {}: a replay is taken", self.seed);
            }
            8 | 9 => {
                self.stopped.remove(&node);
                self.world.start(node);
            }
            10 => {
                if self.stopped.is_empty() {
                    self.world.signal(node, "-STOP");
                    self.stopped.insert(node);
                }
            }
            11 => self.go_on(),
            12 => self.world.links[link].1.cut(),
            13 => self.world.links.iter().for_each(|(_, l)| l.heal()),
            14 => self.world.links[link].1.slow(self.draw.of(60)),
            _ => {
                let flag = self.world.folder.path().join(format!("full-{node}"));
                match flag.exists() {
                    true => fs::remove_file(&flag).expect("is there"),
                    false => fs::write(&flag, "").expect("writes"),
                }
            }
        }
        thread::sleep(Duration::from_millis(self.draw.of(80)));
    }

    /// Waits until the nodes compute, over slow links, and then lets something fail in one of the layers.
    fn strike_the_run(&mut self) {
        self.heal();
        let slow = 10 + self.draw.of(30);
        self.world.links.iter().for_each(|(_, l)| l.slow(slow));
        let coordinator = self.world.coordinator();
        // It may have ended, or never begin: then whatever fails, fails at another time.
        for _ in 0..100 {
            let shown = coordinator.status(1, TASK, 1).unwrap_or_default();
            if shown["run"]["layer"].as_u64() > Some(0) {
                self.struck = true;
                break;
            }
            if shown["phase"] == "released" || shown["phase"] == "aborted" {
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
        thread::sleep(Duration::from_millis(self.draw.of(300)));
        let (node, link) = (self.draw.of(3) as usize, self.draw.of(6) as usize);
        match self.draw.of(4) {
            0 => {
                self.world.start(node);
            }
            1 => {
                self.world.signal(node, "-STOP");
                self.stopped.insert(node);
            }
            2 => self.world.links[link].1.cut(),
            _ => {
                let flag = self.world.folder.path().join(format!("full-{node}"));
                fs::write(&flag, "").expect("writes");
            }
        }
        thread::sleep(Duration::from_millis(self.draw.of(1500)));
    }

    fn go_on(&mut self) {
        for node in std::mem::take(&mut self.stopped) {
            self.world.signal(node, "-CONT");
        }
    }

    fn heal(&mut self) {
        self.go_on();
        self.world.links.iter().for_each(|(_, l)| l.heal());
        for i in 0..3 {
            let _ = fs::remove_file(self.world.folder.path().join(format!("full-{i}")));
            if !self.world.is_there(i) {
                self.world.start(i);
            }
        }
    }

    fn run(mut self) -> End {
        let seed = self.seed;
        // Most clients come, so that there is something to release, to lose and to count twice.
        for i in 0..M {
            if self.draw.of(10) < 7 {
                self.submit(i, &[0, 1, 2], 1.0);
            }
        }
        (0..self.draw.of(10)).for_each(|_| self.act());
        // The round is closed in the middle of it.
        if !self.stopped.contains(&0) {
            let _ = self.world.coordinator().close(TASK, 1);
        }
        if self.draw.of(3) > 0 {
            self.strike_the_run();
        }
        for _ in 0..self.draw.of(5) {
            self.act();
        }
        // Some the coordinator gives up, and wants after all.
        if self.draw.of(4) == 0 && self.stopped.is_empty() {
            let _ = self.world.coordinator().abort(TASK, 1);
        }
        self.heal();
        let coordinator = self.world.coordinator();
        until(Duration::from_secs(60), &format!("seed {seed}: the leader is there"), || {
            coordinator
                .close(TASK, 1)
                .ok()
                .or_else(|| coordinator.status(0, TASK, 1).ok().filter(|s| s["phase"] != "open"))
        });
        let whole = |acks: &[Option<String>; 3]| acks.iter().all(|a| a.is_some() && *a == acks[0]);
        let owed: BTreeSet<u64> =
            self.acknowledged.iter().filter(|(_, a)| whole(a)).map(|(i, _)| *i).collect();
        let mut retries = 0;
        while let Some(why) = self.aborted() {
            eprintln!("schedule {seed} is aborted: {why}");
            assert!(why.len() > 10, "seed {seed}: no cause: {why}");
            assert!(
                coordinator.collect(TASK, 1).is_err(),
                "seed {seed}: an aborted round has a result"
            );
            if why.contains(" left, and the minimum is ") {
                let fair = owed.difference(&self.unfair).count() as u64;
                assert!(fair < MINIMUM, "seed {seed}: {owed:?} without {:?}: {why}", self.unfair);
                return End { released: false, retries, attempts: 0, struck: self.struck };
            }
            // Everything is healed: what fails now would fail for ever.
            assert!(retries < 2, "seed {seed}: run again, it is aborted again: {why}");
            let most = Instant::now() + Duration::from_secs(60);
            match coordinator.patiently(most, || coordinator.retry(TASK, 1)) {
                Ok(_) => retries += 1,
                Err(CallError::Refused { message, .. }) if message.contains("the minimum is") => {
                    let few = (owed.len() as u64) < MINIMUM;
                    assert!(few, "seed {seed}: {owed:?} were acknowledged by all: {message}");
                    return End { released: false, retries, attempts: 0, struck: self.struck };
                }
                Err(e) => panic!("seed {seed}: it cannot be run again: {e}"),
            }
        }
        let reports: Vec<_> =
            (0..3).map(|n| coordinator.report(n, TASK, 1).expect("a report")).collect();
        let attempts: BTreeSet<_> =
            reports.iter().map(|r| r["outcome"]["attempt"].to_string()).collect();
        assert_eq!(attempts.len(), 1, "seed {seed}: {reports:?}");
        let accepted: Vec<String> = reports[0]["accepted"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|e| e["client"].as_str().expect("a name").to_string())
            .collect();
        assert!(accepted.len() as u64 >= MINIMUM, "seed {seed}: below the minimum");
        let out = |i: u64| {
            let all = reports[0]["excluded"].as_array().expect("a list");
            all.iter().any(|x| x["client"] == client(i) && x["why"] == "out of range")
        };
        for i in 0..M {
            assert!(!out(i) || self.unfair.contains(&i), "seed {seed}: client {i} was in range");
            let counts = accepted.contains(&client(i)) && self.unfair.contains(&i);
            assert!(!counts, "seed {seed}: client {i} was not in range");
        }
        for i in &owed {
            assert!(
                accepted.contains(&client(*i)) || out(*i),
                "seed {seed}: client {i} was acknowledged by all and is lost: {accepted:?}"
            );
        }
        // Each accepted client once, in its own place, with the value that it submitted.
        eprintln!(
            "schedule {seed} is released: {} clients, attempt {}",
            accepted.len(),
            reports[0]["outcome"]["attempt"]
        );
        let total = self.world.values(1);
        let mut expected = vec![0.0; self.world.shape.n as usize];
        for entry in reports[0]["accepted"].as_array().expect("a list") {
            let place = (0..M).find(|i| entry["client"] == client(*i)).expect("a client");
            let name = entry["submission"].as_str().expect("a name");
            expected[place as usize] += self.sent[name] as f64 / accepted.len() as f64;
        }
        let near = total.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(near, "seed {seed}: {total:?} is not {expected:?}: {accepted:?}");
        assert_eq!(self.world.values(1), total, "seed {seed}: the result is released twice");
        let attempts = reports[0]["outcome"]["attempt"].as_u64().unwrap_or(0);
        End { released: true, retries, attempts, struck: self.struck }
    }

    /// Waits until everybody has ended in the same way, within the deadlines; why, if the round was aborted.
    fn aborted(&self) -> Option<String> {
        let (seed, coordinator) = (self.seed, self.world.coordinator());
        let ended = until(Duration::from_secs(90), &format!("seed {seed}: the round ends"), || {
            let all: Vec<_> =
                (0..3).map(|n| coordinator.status(n, TASK, 1).ok()).collect::<Option<_>>()?;
            let phase = |s: &serde_json::Value| s["phase"].as_str().unwrap_or("").to_string();
            let phases: BTreeSet<String> = all.iter().map(phase).collect();
            let over = |p: &String| p == "released" || p == "aborted";
            // Whom the end has not reached yet asks for it.
            (phases.len() == 1 && phases.iter().all(over)).then_some(all)
        });
        let why = ended[0]["aborted"].as_str().map(str::to_string);
        assert_eq!(why.is_some(), ended[0]["phase"] == "aborted", "seed {seed}: {ended:?}");
        why
    }
}

#[test]
fn nothing_is_lost_counted_twice_or_released_twice_whatever_fails() {
    let first = number("SLVR_SEED", 0);
    let seeds: Vec<u64> = (first..first + number("SLVR_COUNT", 20)).collect();
    // Nodes wait for one another and for time to pass, so three deployments run at a time.
    let (rest, ends) = (Mutex::new(seeds.iter()), Mutex::new(Vec::new()));
    let next = || rest.lock().expect("no panic").next();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(&seed) = next() {
                    eprintln!("schedule {seed}");
                    let end = Schedule::new(seed).run();
                    ends.lock().expect("no panic").push(end);
                }
            });
        }
    });
    let ends = ends.into_inner().expect("no panic");
    let count = |which: fn(&End) -> bool| ends.iter().filter(|end| which(end)).count();
    let (released, repeated) = (count(|end| end.released), count(|end| end.attempts > 1));
    let struck = count(|end| end.struck);
    let again = count(|end| end.retries > 0);
    eprintln!(
        "{} schedules from seed {:?}: {released} released, {repeated} of them after more than one attempt, {again} after they were run again; in {struck} something failed while the nodes computed",
        seeds.len(),
        seeds.first()
    );
    // Invariants of results are shown by rounds that have one.
    assert!(seeds.len() < 10 || 2 * released >= seeds.len(), "{released} of {}", seeds.len());
}
