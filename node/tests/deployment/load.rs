//! Many clients at once. It measures and is run by hand: the page on performance has its figures.
//!
//! `slvrc build slvr_accuracy M=LeNet5 m=10 c=1 b=10 -o check.slvrb`
//! `SLVR_CHECK=$PWD/check.slvrb cargo test --release -p slvr-node --test deployment a_thousand -- --ignored --nocapture`

use crate::world::{CHECK, Shape, TASK, World, client};
use slvr_circuit::{Circuit, Encoding, From, Input, artifact};
use slvr_node::hex::Hex;
use slvr_node::submission::{Signer, Submission, clients_of, pack_public};
use slvr_runtime::share::encode::{RawTensor, encode_public};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(900);

/// A check that somebody else has compiled, and what its clients submit.
struct Check(Circuit);

impl Check {
    /// Small numbers for an input: a check has something to compute, and nobody fails.
    fn tensor(input: &Input, salt: u64) -> RawTensor {
        let n = input.shape.iter().product::<u64>();
        match input.encoding {
            Encoding::Fixed { lo, hi, .. } => {
                let one = |i: u64| ((i * 7 + salt * 13) % 17) as f64 / 17.0 - 0.5;
                let all = (0..n).map(|i| (one(i) / 64.0).clamp(lo, hi));
                RawTensor::reals(input.shape.clone(), all.collect())
            }
            Encoding::Int { lo, hi } => {
                let all = (0..n).map(|i| lo + ((i + salt) as i64 % (hi - lo)));
                RawTensor::integers(input.shape.clone(), all.collect())
            }
            Encoding::OneHot { classes } => {
                let all = (0..n).map(|i| ((i + salt) % classes) as i64);
                RawTensor::integers(input.shape.clone(), all.collect())
            }
        }
    }

    fn tensors(&self, from: impl Fn(From) -> bool, salt: u64) -> BTreeMap<String, RawTensor> {
        let all = self.0.inputs.iter().filter(|i| from(i.from));
        all.map(|i| (i.name.clone(), Check::tensor(i, salt))).collect()
    }

    /// A round of it, from its opening to its end; how long it ran.
    fn round(&self, world: &World, round: u64) -> f64 {
        let coordinator = world.coordinator();
        let public = self.tensors(|f| f == From::Public, 0);
        let public = pack_public(&encode_public(&self.0, &public).expect("in range"));
        coordinator.open((CHECK, round), (3600, 0, None), &public).expect("opens");
        let set = clients_of(&self.0).expect("clients");
        let opening = coordinator.opening(CHECK, round).expect("is open").digest();
        let hashes = (Hex(artifact::hash(&self.0)), opening);
        for i in 0..self.0.parties[set].size {
            let caller = world.client(i);
            let signer = Signer::new(&caller.config().secret.expect("a secret").0).expect("a key");
            let tensors = self.tensors(|f| f == From::Each(set as u32), i);
            let name = client(i);
            let made = Submission::new(&signer, (CHECK, round, &name), &self.0, hashes, &tensors);
            caller.submit(&made.expect("a submission"), LONG, &|_, _, _| {}).expect("submits");
        }
        let begun = Instant::now();
        loop {
            let status = coordinator.status(0, CHECK, round).expect("a round");
            match status["phase"].as_str() {
                Some("released") => break,
                Some("aborted") => panic!("{status}"),
                _ => thread::sleep(Duration::from_millis(20)),
            }
            assert!(begun.elapsed() < LONG, "{status}");
        }
        let report = coordinator.report(0, CHECK, round).expect("a report");
        assert_eq!(report["excluded"].as_array().map(Vec::len), Some(0), "{report}");
        report["outcome"]["seconds"].as_f64().expect("a number")
    }
}

/// A thousand clients submit vectors of the size of LeNet-5 while rounds of a check of LeNet-5 run, one after another
/// (`SLVR_CHECK`); without one while a round of sums of another number runs over slow links.
#[test]
#[ignore = "it takes minutes; run it by hand"]
fn a_thousand_clients_submit_while_a_round_runs_and_nothing_is_lost() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let (m, layers) =
        (number("SLVR_CLIENTS").unwrap_or(1000), number("SLVR_LAYERS").unwrap_or(300));
    let check = std::env::var_os("SLVR_CHECK").map(PathBuf::from);
    let circuit = check.as_ref().map(|path| {
        Check(artifact::read(&std::fs::read(path).expect("an artifact")).expect("reads"))
    });
    let limits = "run_memory_mb = 100000".to_string();
    let layers = if circuit.is_some() { 4 } else { layers };
    let world = World::started(Shape {
        m,
        n: 61_706,
        layers,
        deadline: 120,
        patience: 600,
        limits,
        check,
        ..Shape::default()
    });
    world.open(2, 3600);
    if circuit.is_none() {
        world.open(1, 3600);
        (0..4).for_each(|i| world.submit(i, 1));
        // With slow links the round takes about as long as the submissions.
        world.links.iter().for_each(|(_, link)| link.slow(100));
        world.coordinator().close(TASK, 1).expect("closes");
    }
    let (next, latencies, start) = (AtomicU64::new(0), Mutex::new(Vec::new()), Instant::now());
    let most = [AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0)];
    let (submitted, took) = (AtomicBool::new(false), Mutex::new(0.0));
    thread::scope(|scope| {
        if let Some(check) = &circuit {
            let (world, submitted) = (&world, &submitted);
            scope.spawn(move || {
                let mut seconds = Vec::new();
                for round in 1.. {
                    seconds.push(check.round(world, round));
                    if submitted.load(Ordering::Relaxed) {
                        break;
                    }
                }
                eprintln!("rounds of `{}` meanwhile, in seconds: {seconds:.2?}", check.0.name);
            });
        }
        let clients: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        let i = next.fetch_add(1, Ordering::Relaxed);
                        if i >= m {
                            return;
                        }
                        let submission = world.submission(i, 2);
                        let caller = world.client(i);
                        let begun = Instant::now();
                        let done =
                            caller.submit(&submission, Duration::from_secs(300), &|_, _, _| {});
                        done.unwrap_or_else(|e| panic!("client {i}: {e}"));
                        latencies.lock().expect("a list").push(begun.elapsed().as_secs_f64());
                        for (node, most) in most.iter().enumerate() {
                            most.fetch_max(world.resident(node), Ordering::Relaxed);
                        }
                    }
                })
            })
            .collect();
        let done = clients.into_iter().map(|c| c.join()).collect::<Vec<_>>();
        *took.lock().expect("a number") = start.elapsed().as_secs_f64();
        submitted.store(true, Ordering::Relaxed);
        done.into_iter().for_each(|d| d.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    });
    let took = took.into_inner().expect("a number");
    let mut all = latencies.into_inner().expect("a list");
    all.sort_by(f64::total_cmp);
    let at = |q: f64| all[((all.len() - 1) as f64 * q) as usize];
    let memory: Vec<u64> = most.iter().map(|m| m.load(Ordering::Relaxed) / 1_000_000).collect();
    eprintln!(
        "{m} clients in {took:.1} s: {:.1} a second, p50 {:.3} s, p99 {:.3} s, memory {memory:?} MB while they submit",
        m as f64 / took,
        at(0.5),
        at(0.99)
    );
    if circuit.is_none() {
        let first = world.coordinator().status(0, TASK, 1).expect("a round");
        eprintln!("the round that runs meanwhile: {}, {}", first["phase"], first["run"]);
        world.links.iter().for_each(|(_, link)| link.heal());
        assert_eq!(world.ended(1, LONG)["phase"], "released");
    }
    let status = world.ended(2, LONG);
    assert_eq!(status["phase"], "released", "{status}");
    let report = world.coordinator().report(0, TASK, 2).expect("a report");
    assert_eq!(report["accepted"].as_array().map(Vec::len), Some(m as usize));
    let after: Vec<u64> = (0..3).map(|i| world.resident(i) / 1_000_000).collect();
    let peaks: Vec<u64> = (0..3).map(|i| world.most_resident(i)).collect();
    eprintln!(
        "the round: {}; memory {after:?} MB after it, {peaks:?} bytes at most",
        report["outcome"]
    );
    assert!(peaks.iter().all(|p| *p < 2 << 30), "{peaks:?}");
    assert_eq!(world.total(2), world.expected(&(0..m).collect::<Vec<_>>()));
}
