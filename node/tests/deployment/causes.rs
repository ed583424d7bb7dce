//! What a round says of an attempt that failed where workers or their nodes are away: the cause is the one that was struck, no
//! healthy worker is counted as failed, and nobody waits for what has ended.

use crate::strikes::{MEMORY, SMALL, failures};
use crate::workers::{Case, Crew, LONG};
use crate::world::{CHECK, Shape, until};
use std::thread;
use std::time::Duration;

/// Waits until node 0 waits for the others.
fn connects(crew: &Crew) {
    let coordinator = crew.world.coordinator();
    until(LONG, "node 0 connects", || {
        let shown = coordinator.status(0, CHECK, 1).ok()?;
        (shown["run"]["doing"] == "connecting").then_some(())
    });
    thread::sleep(Duration::from_secs(1));
}

/// Node 2 waits for a worker that is stopped, and nodes 0 and 1 for node 2, which is started again meanwhile.
#[test]
fn nodes_that_connect_hear_that_another_one_has_ended_the_attempt() {
    let case = Case::accuracy(SMALL, MEMORY, 7);
    let mut crew = Crew::started(case, 1, Shape { deadline: 300, ..Shape::default() });
    crew.signal(2, 0, "-STOP");
    crew.submit(1);
    connects(&crew);
    crew.world.start(2);
    // It need not wait for the worker in the next attempt, too.
    crew.signal(2, 0, "-CONT");
    let status = crew.released(1, "after a node was started again");
    let first = failures(&status).remove(0);
    assert!(first.contains("node 2") && first.contains("restarted"), "{first}");
}

/// The same of the coordinator, who may have the round run again at once.
#[test]
fn nodes_that_connect_hear_that_the_round_is_aborted() {
    let case = Case::accuracy(SMALL, MEMORY, 7);
    let crew = Crew::started(case, 1, Shape { deadline: 300, ..Shape::default() });
    crew.signal(2, 0, "-STOP");
    crew.submit(1);
    connects(&crew);
    let coordinator = crew.world.coordinator();
    coordinator.abort(CHECK, 1).expect("aborts");
    for node in [0, 1] {
        // Without a look at whether the attempt goes on it takes thirty.
        until(Duration::from_secs(20), "it waits no more", || {
            coordinator.status(node, CHECK, 1).ok()?["run"].is_null().then_some(())
        });
    }
    crew.signal(2, 0, "-CONT");
    until(Duration::from_secs(60), "is run again", || {
        thread::sleep(Duration::from_millis(200));
        coordinator.retry(CHECK, 1).ok()
    });
    crew.released(1, "after it was aborted");
}

/// As behind a firewall: whatever workers do, the nodes compute alone in the last attempt.
#[test]
fn workers_that_never_reach_each_other_end_no_round() {
    let case = Case::accuracy(SMALL, MEMORY, 7);
    let shape = Shape { deadline: 2, limits: "attempts = 2".into(), ..Shape::default() };
    let crew = Crew::started(case, 3, shape);
    // From those of node 1 to those of node 0.
    (0..3).for_each(|k| crew.lines[3 * k].cut());
    crew.submit(1);
    let status = crew.released(1, "without workers");
    assert_eq!(failures(&status).len(), 1, "{status}");
    assert_eq!(crew.all_failed(), [(); 3].map(|()| [0, 0, 0]));
}

/// Its worker is alive: those of the others wait for it, and their nodes for them.
#[test]
fn a_node_that_is_stopped_is_the_cause_and_no_worker() {
    let case = Case::accuracy(SMALL, MEMORY, 7);
    let crew = Crew::started(case, 1, Shape { deadline: 4, ..Shape::default() });
    crew.lines.iter().for_each(|line| line.slow(15));
    crew.submit(1);
    assert!(crew.computes(0, 1), "a range is computed");
    crew.world.signal(1, "-STOP");
    let coordinator = crew.world.coordinator();
    until(LONG, "an attempt fails", || {
        let status = coordinator.status(0, CHECK, 1).ok()?;
        (!failures(&status).is_empty()).then_some(())
    });
    crew.world.signal(1, "-CONT");
    let status = crew.released(1, "after a node was stopped");
    let first = failures(&status).remove(0);
    assert!(first.contains("node 1 at ") || first.contains("party 1"), "{first}");
    assert_eq!(crew.all_failed(), [[0], [0], [0]]);
}

/// Node 0 and its worker only hear of it. After two attempts that number is left out.
#[test]
fn a_line_between_workers_of_others_that_breaks_is_named_and_done_without() {
    let case = Case::accuracy(SMALL, MEMORY, 9);
    let crew = Crew::started(case, 1, Shape { deadline: 20, ..Shape::default() });
    crew.lines.iter().for_each(|line| line.slow(15));
    crew.submit(1);
    // From the worker of node 2 to that of node 1.
    crew.breaks(3, 0);
    let status = crew.released(1, "without workers");
    let all = failures(&status);
    assert_eq!(all.len(), 2, "{all:?}");
    for why in &all {
        assert!(why.contains("on worker 0: "), "{why}");
    }
    assert_eq!(crew.all_failed(), [[0], [0], [0]]);
}

/// What it reads at that moment ends because it has ended, and is not the cause.
#[test]
fn a_worker_says_what_ended_it_also_while_it_is_handed_a_range() {
    let case = Case::norm_bound("LeNet5", "16", Some(6 << 20), 3);
    let crew = Crew::started(case, 1, Shape { deadline: 5, ..Shape::default() });
    // The worker of node 2 does not reach that of node 0, and all are handed their ranges slowly.
    crew.lines[1].cut();
    [2, 4, 5].iter().for_each(|line| crew.lines[*line].slow(200));
    crew.submit(1);
    let status = crew.released(1, "without workers");
    let all = failures(&status);
    assert!(all.iter().any(|why| why.contains("worker 0 of node")), "{all:?}");
    assert!(all.iter().all(|why| !why.contains("close_notify")), "{all:?}");
}
