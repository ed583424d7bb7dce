//! Full disks, and rounds that were aborted and are run again.

use crate::openings::seal;
use crate::world::{LONG, Shape, TASK, World, client};
use serde_json::Value;
use slvr_node::client::CallError;
use slvr_node::codes::Code;
use slvr_node::state::{Mandate, Order, RoundKey};
use slvr_node::wire::{Again, Answer, Ask};
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

/// A deployment in which each node's disk can be full: while a file is there.
fn with_disks(shape: Shape) -> World {
    let mut world = World::new(shape);
    for i in 0..3 {
        let flag = disk(&world, i).display().to_string();
        world.variables[i].push(("SLVR_NODE_FULL", flag));
    }
    (0..3).for_each(|i| world.start(i));
    world
}

fn disk(world: &World, i: usize) -> PathBuf {
    world.folder.path().join(format!("full-{i}"))
}

fn status(world: &World, node: usize, round: u64) -> Value {
    world.coordinator().status(node, TASK, round).unwrap_or_default()
}

/// Waits until a node says that it waits for room.
fn waits_for_room(world: &World, asked: usize, full: usize, round: u64) {
    let said = format!("node {full}: its disk is full");
    let waits = |s: &Value| s["waits"].as_str().is_some_and(|w| w.starts_with(&said));
    world.shows(asked, round, &said, waits);
}

#[test]
fn a_full_disk_is_waited_for_and_costs_no_attempt() {
    let world = with_disks(Shape { layers: 60, ..Shape::default() });
    for (round, full) in [(1, 1), (2, 0)] {
        world.begin(round, &[0, 1, 2, 3]);
        // Before the attempt.
        fs::write(disk(&world, full), "").expect("writes");
        world.coordinator().close(TASK, round).expect("closes");
        waits_for_room(&world, 0, full, round);
        assert_eq!(status(&world, 0, round)["attempt"], 0);
        // Within it: what was computed is written later.
        world.links.iter().for_each(|(_, l)| l.slow(20));
        fs::remove_file(disk(&world, full)).expect("is there");
        world.computes(full, round, 2);
        fs::write(disk(&world, full), "").expect("writes");
        world.links.iter().for_each(|(_, l)| l.heal());
        waits_for_room(&world, full, full, round);
        fs::remove_file(disk(&world, full)).expect("is there");
        let ended = world.ended(round, LONG);
        assert_eq!(
            (&ended["phase"], &ended["attempt"]),
            (&"released".into(), &1.into()),
            "{ended}"
        );
        assert_eq!(ended["failures"], Value::Array(vec![]), "{ended}");
        assert_eq!(world.total(round), world.expected(&[0, 1, 2, 3]));
    }
}

#[test]
fn whoever_opens_a_round_is_told_of_a_full_disk_and_opens_it_once_there_is_room() {
    let world = with_disks(Shape::default());
    world.open(1, 600);
    let coordinator = world.coordinator();
    let open = || coordinator.open((TASK, 2), (600, 1, Some(3)), &world.public());
    fs::write(disk(&world, 1), "").expect("writes");
    let e = open().expect_err("there is no room");
    let CallError::Refused { node, code, message, .. } = &e else { panic!("{e}") };
    assert_eq!((*node, code), (1, &Code::Full), "{e}");
    assert!(message.contains("disk is full") && message.contains("same command again"), "{e}");
    fs::remove_file(disk(&world, 1)).expect("is there");
    assert_eq!(open().expect("opens")["phase"], "open");
}

fn retry(world: &World, round: u64) -> Result<Value, CallError> {
    let coordinator = world.coordinator();
    coordinator.patiently(Instant::now() + LONG, || coordinator.retry(TASK, round))
}

fn refused(done: Result<Value, CallError>) -> String {
    match done {
        Err(CallError::Refused { code: Code::Retry, message, .. }) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_round_that_was_aborted_is_run_again_from_its_submissions() {
    let mut world = World::started(Shape { deadline: 2, patience: 4, ..Shape::default() });
    world.open(1, 600);
    assert!(refused(retry(&world, 1)).contains("is open"), "it has not ended");
    (0..4).for_each(|i| world.submit(i, 1));
    world.kill(2);
    world.coordinator().close(TASK, 1).expect("closes");
    let cause = world.aborted(1);
    // Not while a node is away, and not because node 0 says so.
    assert!(world.coordinator().retry(TASK, 1).is_err());
    let key = RoundKey { task: TASK.into(), round: 1 };
    world.start(2);
    world.all_know(1, "aborted");
    let asks = Ask::Retry { key, attempt: 0, wanted: Again::Begin };
    let said = world.ask(0, 2, &asks);
    assert!(matches!(&said, Answer::Refused(why) if why.contains("has not told")), "{said:?}");
    let report = world.coordinator().report(2, TASK, 1).expect("a report");
    assert_eq!(report["may_retry"], true, "{report}");
    let shown = retry(&world, 1).expect("is run again");
    assert!(shown["phase"] != "aborted", "{shown}");
    let ended = world.ended(1, LONG);
    assert_eq!(ended["phase"], "released", "{ended}");
    assert_eq!(world.total(1), world.expected(&[0, 1, 2, 3]));
    for node in 0..3 {
        let report = world.coordinator().report(node, TASK, 1).expect("a report");
        assert_eq!(report["retries"].as_array().map(Vec::len), Some(1), "{report}");
        let before = report["retries"][0]["aborted"].as_str().expect("a cause");
        assert_eq!(before, cause, "node {node}");
    }
    // It is released once.
    assert!(refused(retry(&world, 1)).contains("is released"));
}

/// Node 0 is away while the round is aborted and while it is to be run again. What failed has changed nothing: the order reaches node 0
/// when it is back, and then the round can be run again. So it is if the other two were told before node 0 went away.
#[test]
fn a_retry_without_node_0_keeps_no_order_from_it() {
    let mut world = World::started(Shape { deadline: 2, ..Shape::default() });
    for round in [1, 2] {
        world.begin(round, &[0, 1, 2]);
        world.kill(0);
        let coordinator = world.coordinator();
        let told = coordinator.abort(TASK, round).expect("aborts");
        assert_eq!(told.iter().map(Result::is_ok).collect::<Vec<_>>(), [false, true, true]);
        assert!(coordinator.retry(TASK, round).is_err(), "node 0 is away");
        for node in [1, 2] {
            assert_eq!(status(&world, node, round)["permits"], 0, "node {node}");
        }
        if round == 2 {
            for node in [1, 2] {
                let path = format!("/v1/tasks/{TASK}/rounds/{round}/retry");
                let done = coordinator.call(node, &hyper::Method::POST, &path, &[], &[], 1 << 16);
                done.expect("is told");
            }
        }
        world.start(0);
        world.all_know(round, "aborted");
        for node in 0..3 {
            let why = status(&world, node, round)["aborted"].clone();
            assert_eq!(why, "the coordinator aborted it", "node {node}");
        }
        retry(&world, round).expect("is run again");
        world.released(round, &[0, 1, 2]);
    }
}

#[test]
fn what_cannot_be_run_again_says_so() {
    let world = World::started(Shape::default());
    let coordinator = world.coordinator();
    // Too few.
    world.begin(1, &[0, 1]);
    coordinator.close(TASK, 1).expect("closes");
    let why = world.aborted(1);
    let missing = [2, 3, 4].map(client).join(", ");
    assert_eq!(
        why,
        format!("2 clients were accepted, and the minimum is 3; missing at all nodes: {missing}")
    );
    world.all_know(1, "aborted");
    let said = refused(retry(&world, 1));
    assert!(said.contains("2 clients") && said.contains("Open a new round"), "{said}");
    let report = coordinator.report(0, TASK, 1).expect("a report");
    assert_eq!(report["may_retry"], false, "{report}");
    // Enough at each node, and too few at all of them.
    world.begin(2, &[0, 1]);
    for (i, nodes) in [(2, [0, 1]), (3, [1, 2]), (4, [2, 0])] {
        let s = world.submission(i, 2);
        for node in nodes {
            world.submit_to(i, node, &s).expect("submits");
        }
    }
    coordinator.close(TASK, 2).expect("closes");
    let why = world.aborted(2);
    for (i, node) in [(2, 2), (3, 0), (4, 1)] {
        let named = format!("{} (missing at node {node})", client(i));
        assert!(why.contains(&named), "{why}");
    }
    world.all_know(2, "aborted");
    // What is offered of it is what a retry would say, also where each node alone could run it again.
    for round in [1, 2] {
        let said = coordinator.no_retry(TASK, round).expect("is asked").expect("it cannot be");
        assert!(said.contains("2 clients"), "{said}");
        let opened = coordinator.open((TASK, round), (600, 1, Some(3)), &world.public());
        let opened = opened.expect_err("was aborted").to_string();
        let offers = opened.contains("`slvrc round retry` runs");
        assert!(
            !offers && opened.contains("cannot be run again") && opened.contains("2 clients"),
            "{opened}"
        );
    }
    assert!(refused(retry(&world, 2)).contains("2 clients were accepted"));
    // Erased.
    world.begin(3, &[0, 1, 2, 3]);
    coordinator.abort(TASK, 3).expect("aborts");
    world.all_know(3, "aborted");
    coordinator.erase(TASK, 3, &["submissions"]).expect("erases");
    let said = coordinator.no_retry(TASK, 3).expect("is asked").expect("it cannot be");
    assert!(said.contains("have been erased"), "{said}");
    assert!(refused(retry(&world, 3)).contains("have been erased"));
    // One that the coordinator has aborted, and wants after all.
    world.begin(4, &[0, 1, 2]);
    coordinator.abort(TASK, 4).expect("aborts");
    world.all_know(4, "aborted");
    assert_eq!(coordinator.no_retry(TASK, 4).expect("is asked"), None);
    let opened = coordinator.open((TASK, 4), (600, 1, Some(3)), &world.public());
    let opened = opened.expect_err("was aborted").to_string();
    assert!(opened.contains("`slvrc round retry` runs it again"), "{opened}");
    retry(&world, 4).expect("is run again");
    world.released(4, &[0, 1, 2]);
}

#[test]
fn attempts_after_a_retry_are_granted_anew_and_no_more_than_those() {
    let shape = Shape { limits: "attempts = 2".into(), ..Shape::default() };
    let world = World::started(shape);
    world.begin(1, &[0, 1, 2, 3]);
    world.coordinator().abort(TASK, 1).expect("aborts");
    world.all_know(1, "aborted");
    // The coordinator tells node 1, which then hears of attempts that were never made.
    let path = format!("/v1/tasks/{TASK}/rounds/1/retry");
    let told = world.coordinator().call(1, &hyper::Method::POST, &path, &[], &[], 1 << 16);
    told.expect("is told");
    let key = RoundKey { task: TASK.into(), round: 1 };
    let ask = |attempt| Ask::Retry { key: key.clone(), attempt, wanted: Again::Begin };
    assert!(matches!(world.ask(0, 1, &ask(7)), Answer::Complete(all) if all.len() == 4));
    // Asked again, it has the same answer; another number it does not take.
    assert!(matches!(world.ask(0, 1, &ask(7)), Answer::Complete(_)));
    assert!(matches!(world.ask(0, 1, &ask(8)), Answer::Refused(_)));
    let name = |attempt| slvr_node::wire::RunName { key: key.clone(), attempt };
    let start = |attempt| world.ask(0, 1, &Ask::Start(name(attempt)));
    let said = start(10);
    assert!(matches!(&said, Answer::Refused(why) if why.contains("makes 2")), "{said:?}");
}

/// The coordinator aborts a round, has it run again, and whoever has kept the order tries to end it once more. An order of now ends
/// it, and every node names it as the cause, whichever of them was given it.
#[test]
fn an_order_from_before_a_retry_ends_no_round_after_it() {
    let world = World::started(Shape { layers: 400, deadline: 1000, ..Shape::default() });
    world.begin(1, &[0, 1, 2, 3]);
    let coordinator = world.coordinator();
    let spec = coordinator.opening(TASK, 1).expect("is open");
    let order = |permits| seal(&coordinator).order(&spec.digest(), Order::Abort, permits);
    let old = order([0; 3]);
    coordinator.abort(TASK, 1).expect("aborts");
    world.all_know(1, "aborted");
    world.links.iter().for_each(|(_, link)| link.slow(150));
    let retried = || coordinator.patiently(Instant::now() + LONG, || coordinator.retry(TASK, 1));
    retried().expect("is run again");
    world.shows(2, 1, "it runs", |s| s["phase"] == "running");
    let key = RoundKey { task: TASK.into(), round: 1 };
    let says = |by| Ask::Ordered { key: key.clone(), order: Order::Abort, by };
    for (from, to) in [(1, 0), (2, 0), (0, 1), (1, 2)] {
        // As it was signed, and with other numbers than those that were.
        for by in [old, Mandate { permits: [1; 3], ..old }] {
            let said = world.ask(from, to, &says(by));
            assert!(matches!(&said, Answer::Refused(why) if why.contains("no order")), "{said:?}");
        }
    }
    for node in 0..3 {
        let shown = status(&world, node, 1);
        assert_eq!((&shown["phase"], &shown["permits"]), (&"running".into(), &1.into()), "{shown}");
    }
    // Node 0 does not hear it from the coordinator, and neither does node 2.
    assert!(matches!(world.ask(2, 1, &says(order([1; 3]))), Answer::Done));
    world.links.iter().for_each(|(_, link)| link.heal());
    world.all_know(1, "aborted");
    for node in 0..3 {
        assert_eq!(status(&world, node, 1)["aborted"], "the coordinator aborted it", "node {node}");
    }
    retried().expect("is run again");
    world.released(1, &[0, 1, 2, 3]);
}
