//! Workers that fail, in schedules that are drawn from a seed.
//!
//! A schedule has three nodes with one worker or two, and a round of a check that has ranges. A fault or two strike before the
//! round, or while a range is computed: a worker is killed, and comes back or does not; it is stopped; a line is cut, slow or
//! later than the deadline; in its place stands somebody with another certificate, or the worker of another party; a node is
//! killed. Whatever it is, the round ends within the deadlines, and either it reveals what it should, to the bit, or the cause
//! is said.
//!
//! `SLVR_COUNT` is how many schedules there are, and `SLVR_SEED` the first of them.

use crate::schedules::Draw;
use crate::workers::{Case, Crew};
use crate::world::{CHECK, Shape, client, number, until};
use serde_json::Value;
use std::thread;
use std::time::{Duration, Instant};

pub const SMALL: (&str, &str, &str) = ("8", "1", "7");
/// Bytes with which it has three ranges. The first loads no input, and reads more at one party than at another.
pub const MEMORY: Option<u64> = Some(1600 << 10);
/// Seconds for a message.
const DEADLINE: u64 = 4;

/// Five attempts that each wait for a few messages, and the pauses between them.
const MOST: Duration = Duration::from_secs(20 * DEADLINE + 100);

fn strike(crew: &mut Crew, draw: &mut Draw) -> String {
    let (node, k) = (draw.of(3) as usize, draw.of(crew.count as u64) as usize);
    let line = draw.of(crew.lines.len() as u64) as usize;
    let worker = format!("worker {k} of node {node}");
    match draw.of(9) {
        0 => {
            crew.kill(node, k);
            format!("{worker} is killed")
        }
        1 => {
            crew.start(node, k);
            format!("{worker} is killed and comes back")
        }
        2 => {
            crew.signal(node, k, "-STOP");
            format!("{worker} is stopped")
        }
        3 => {
            crew.lines[line].cut();
            format!("line {line} is cut")
        }
        4 => {
            crew.lines[line].slow(20 + draw.of(100));
            format!("line {line} is slow")
        }
        5 => {
            crew.lines[line].slow(1000 * (DEADLINE + 2));
            format!("line {line} is late")
        }
        6 => {
            let other = (node + 1 + draw.of(2) as usize) % 3;
            crew.impostor(node, k, &format!("node-{other}/worker-{k}/worker"));
            format!("in the place of {worker} stands that of node {other}")
        }
        7 => {
            crew.impostor(node, k, &format!("clients/{}/client", client(0)));
            format!("in the place of {worker} stands a client")
        }
        _ => {
            crew.world.start(node);
            format!("node {node} is killed and comes back")
        }
    }
}

/// Of a status: why attempts failed.
pub fn failures(status: &Value) -> Vec<String> {
    let all = status["failures"].as_array().cloned().unwrap_or_default();
    all.iter().map(|f| f["why"].as_str().unwrap_or("").to_string()).collect()
}

struct End {
    released: bool,
    failed: bool,
}

fn schedule(seed: u64) -> End {
    let mut draw = Draw(seed);
    let count = 1 + draw.of(2) as usize;
    let case = Case::accuracy(SMALL, MEMORY, seed);
    let shape = Shape { deadline: DEADLINE, patience: 60, ..Shape::default() };
    let mut crew = Crew::started(case, count, shape);
    // So that there is time to strike.
    crew.lines.iter().for_each(|line| line.slow(8));
    let mut said = Vec::new();
    if draw.of(3) == 0 {
        said.push(strike(&mut crew, &mut draw));
    }
    crew.submit(1);
    if said.is_empty() || draw.of(2) == 0 {
        // It may have ended before: then nothing is struck.
        let computes = crew.computes(draw.of(3) as usize, 1);
        thread::sleep(Duration::from_millis(draw.of(200)));
        said.push(format!("{} (computes: {computes})", strike(&mut crew, &mut draw)));
    }
    let begun = Instant::now();
    let status = crew.ended(1, MOST);
    let failed = failures(&status);
    eprintln!(
        "schedule {seed}, {count} workers: {said:?}: {} after {:.1} s, failures {failed:?}",
        status["phase"],
        begun.elapsed().as_secs_f64()
    );
    assert!(failed.iter().all(|why| why.len() > 10), "seed {seed}: no cause: {failed:?}");
    let released = status["phase"] == "released";
    match released {
        true => crew.case.check(&crew.values(1), &format!("seed {seed}: {said:?}")),
        false => {
            let why = status["aborted"].as_str().unwrap_or("");
            assert!(why.len() > 10, "seed {seed}: {said:?}: no cause: {status}");
            assert!(crew.world.coordinator().collect(CHECK, 1).is_err(), "seed {seed}: a result");
        }
    }
    crew.keeps_nothing(&format!("seed {seed}"));
    End { released, failed: !failed.is_empty() }
}

#[test]
fn a_round_ends_with_its_bits_or_a_cause_whatever_workers_do() {
    let (first, count) = (number("SLVR_SEED", 0), number("SLVR_COUNT", 4));
    let ends: Vec<End> = (first..first + count).map(schedule).collect();
    let of = |which: fn(&End) -> bool| ends.iter().filter(|end| which(end)).count();
    let (released, failed) = (of(|e| e.released), of(|e| e.failed));
    eprintln!(
        "{count} schedules from seed {first}: {released} released, in {failed} an attempt failed"
    );
    // Each worker that fails is left out in the end, so that the nodes compute without it.
    assert!(2 * released >= ends.len(), "{released} of {count}");
}

/// The cause names range, worker and node, also where node 0 has only heard of it; the next attempt is one without the worker.
#[test]
fn a_worker_that_is_killed_is_named_and_left_out() {
    let case = Case::accuracy(SMALL, MEMORY, 7);
    let shape = Shape { deadline: 30, ..Shape::default() };
    let mut crew = Crew::started(case, 2, shape);
    // So that there is time.
    crew.lines.iter().for_each(|line| line.slow(15));
    crew.submit(1);
    assert!(crew.computes(1, 1), "a range is computed");
    crew.kill(1, 0);
    let status = crew.released(1, "after an attempt without it");
    let why = failures(&status).concat();
    assert!(why.contains("range ") && why.contains("worker 0"), "{why}");
    assert!(why.contains("node 1"), "{why}");
    assert_eq!(crew.took_part(1), [1]);
    assert!(crew.reports(1).iter().all(|report| report["outcome"]["attempt"] == 2));
    // It has failed, and nobody who heard of it.
    assert_eq!(crew.all_failed(), [[0, 0], [1, 0], [0, 0]]);
}

/// The node waits for another worker at that time, which would say nothing for a long while.
#[test]
fn a_worker_that_is_lost_before_its_turn_ends_the_attempt() {
    let case = Case::accuracy(SMALL, MEMORY, 8);
    let mut crew = Crew::started(case, 2, Shape { deadline: 60, ..Shape::default() });
    crew.lines.iter().for_each(|line| line.slow(15));
    crew.submit(1);
    assert!(crew.computes(1, 1), "a range is computed");
    crew.signal(1, 0, "-STOP");
    crew.kill(1, 1);
    let status = crew.released(1, "without workers");
    let why = failures(&status).remove(0);
    assert!(why.contains("node 1: range ") && why.contains("on worker 1: "), "{why}");
    assert!(why.contains("it has ended the connection"), "{why}");
    assert_eq!(crew.failed(1), [0, 1]);
}

/// The workers of the two other nodes wait for it until the deadline, and these nodes for them: what they wait for has ended.
#[test]
fn a_worker_that_is_lost_while_workers_connect_ends_the_attempt_everywhere() {
    let case = Case::accuracy(SMALL, MEMORY, 11);
    let mut crew = Crew::started(case, 2, Shape { deadline: 60, ..Shape::default() });
    // From worker 1 of node 1 to that of node 0, and from that of node 2 to it.
    let between = [3, 8];
    between.iter().for_each(|line| crew.lines[*line].cut());
    crew.submit(1);
    for node in 0..3 {
        assert!(crew.computes(node, 1), "node {node} waits for a range");
    }
    crew.kill(1, 1);
    let status = crew.released(1, "without that number");
    let first = failures(&status).remove(0);
    assert!(first.contains("node 1: range ") && first.contains("on worker 1: "), "{first}");
    assert!(first.contains("it has ended the connection"), "{first}");
    assert_eq!(crew.all_failed(), [[0, 0], [0, 1], [0, 0]]);
}

/// The other nodes wait for a node, and this one for a worker that lives: its line is slow. No worker has failed, and the round
/// goes on without this number.
#[test]
fn a_worker_that_is_too_slow_for_the_other_nodes_is_done_without() {
    let case = Case::accuracy(SMALL, MEMORY, 12);
    let crew = Crew::started(case, 1, Shape { deadline: 5, ..Shape::default() });
    crew.lines.iter().for_each(|line| line.slow(15));
    crew.submit(1);
    assert!(crew.computes(0, 1), "a range is computed");
    // From node 0 to its worker.
    crew.lines[2].slow(3400);
    let status = crew.released(1, "without workers");
    let all = failures(&status);
    assert!(all.len() <= 2, "{all:?}");
    let said = "the other nodes have waited for what it computes";
    assert!(all.iter().any(|why| why.contains("node 0: range ") && why.contains(said)), "{all:?}");
    assert_eq!(crew.all_failed(), [[0], [0], [0]]);
}

/// A line between two nodes breaks while both wait for workers: these have done nothing wrong, and go on in the next attempt.
#[test]
fn a_line_between_nodes_that_breaks_is_no_failure_of_a_worker() {
    let case = Case::accuracy(SMALL, MEMORY, 13);
    let crew = Crew::started(case, 1, Shape { deadline: 30, ..Shape::default() });
    crew.lines.iter().for_each(|line| line.slow(15));
    crew.submit(1);
    // One more than a worker may fail.
    for attempt in 1..=3 {
        for node in 0..3 {
            assert!(crew.computes_in(node, 1, attempt), "node {node} waits for a range");
        }
        // Node 1 has opened it.
        let between = crew.world.links.iter().find(|(ends, _)| *ends == (1, 0));
        let (_, between) = between.expect("a line");
        between.cut();
        between.heal();
    }
    let status = crew.released(1, "after a line broke");
    assert_eq!(failures(&status).len(), 3, "{status}");
    assert_eq!(crew.all_failed(), [[0], [0], [0]]);
    assert_eq!(crew.took_part(1), [0]);
}

/// Both ends of a line only hear that it is closed, and no worker says more: none has failed, and that number is left out.
#[test]
fn a_line_between_workers_that_breaks_again_and_again_is_done_without() {
    let case = Case::accuracy(SMALL, MEMORY, 9);
    let crew = Crew::started(case, 1, Shape { deadline: 20, ..Shape::default() });
    crew.lines.iter().for_each(|line| line.slow(15));
    crew.submit(1);
    // The first line is the one from node 1's worker to node 0's.
    crew.breaks(0, 0);
    crew.released(1, "without workers");
    assert_eq!(crew.all_failed(), [[0], [0], [0]]);
    assert_eq!(crew.took_part(1), [0u64; 0]);
}

/// What a node cannot read itself is not the worker's fault, and is mended as ever.
#[test]
fn a_part_that_is_lost_before_it_is_handed_over_is_named_and_no_worker_is_blamed() {
    let case = Case::norm_bound("DigitsNet", "8", Some(200 << 10), 3);
    let crew = Crew::started(case, 1, Shape { deadline: 60, ..Shape::default() });
    let parts = |crew: &Crew| -> Vec<std::path::PathBuf> {
        let part = |i| format!("node-1/data/rounds/{CHECK}/1/{}.part", client(i));
        (0..8).map(|i| crew.world.folder.path().join(part(i))).collect()
    };
    // So that there is time between what it takes in and what it hands over.
    crew.world.links.iter().for_each(|(_, link)| link.slow(100));
    let submissions = crew.submit(1);
    let coordinator = crew.world.coordinator();
    until(Duration::from_secs(60), "node 1 computes", || {
        let shown = coordinator.status(1, CHECK, 1).ok()?;
        (shown["run"]["doing"] == "computing").then_some(())
    });
    parts(&crew).iter().for_each(|part| std::fs::remove_file(part).expect("removes"));
    until(Duration::from_secs(120), "the attempt ends", || {
        let shown = coordinator.status(1, CHECK, 1).ok()?;
        let failed = failures(&shown).concat();
        failed.contains("of party set 0 gave is lost").then_some(())
    });
    crew.world.links.iter().for_each(|(_, link)| link.slow(0));
    for (i, submission) in submissions.iter().enumerate() {
        let caller = crew.world.client(i as u64);
        caller.submit(submission, Duration::from_secs(60), &|_, _, _| {}).expect("submits");
    }
    crew.released(1, "after it was mended");
    assert_eq!(crew.all_failed(), [[0], [0], [0]]);
    assert_eq!(crew.took_part(1), [0]);
}
