//! A task whose rounds continue each other: what each client has submitted so far.

use crate::world::{LONG, Shape, TASK, World, client, until};
use slvr_node::client::CallError;
use std::fs;

/// Runs a round of these clients; how often each member has been counted so far.
fn round(world: &World, number: u64, clients: &[u64]) -> Vec<Vec<i64>> {
    world.open(number, 600);
    clients.iter().for_each(|&i| world.submit(i, number));
    let status = world.ended(number, LONG);
    assert_eq!(status["phase"], "released", "{status}");
    rows(world, number)
}

fn rows(world: &World, number: u64) -> Vec<Vec<i64>> {
    world.total(number).chunks(world.shape.n as usize).map(<[i64]>::to_vec).collect()
}

/// Client i submits 1 in its own place of its vector.
fn row(i: u64, times: i64) -> Vec<i64> {
    (0..8).map(|k| if k == i { times } else { 0 }).collect()
}

fn refused(world: &World, number: u64) -> String {
    let opened = world.coordinator().open((TASK, number), (600, 1, Some(3)), &world.public());
    match opened.expect_err("is refused") {
        CallError::Refused { message, .. } => message,
        other => panic!("{other}"),
    }
}

#[test]
fn each_round_continues_the_last_released_one_whatever_happens_in_between() {
    let mut world =
        World::started(Shape { program: "running", layers: 40, deadline: 5, ..Shape::default() });
    // A round with somebody missing has no result, and no place is taken.
    world.open(1, 600);
    [1, 3, 4].iter().for_each(|&i| world.submit(i, 1));
    world.coordinator().close(TASK, 1).expect("closes");
    let few = world.ended(1, LONG);
    let why = few["aborted"].as_str().unwrap_or_default();
    let wanted = "3 of 5 clients count, and the state of the task is about all of them";
    assert!(why.starts_with(wanted), "{few}");
    let everybody = [0, 1, 2, 3, 4];
    let times = |n: i64| everybody.map(|i| row(i, n));
    assert_eq!(round(&world, 2, &everybody), times(1));
    let gap = refused(&world, 4);
    assert!(gap.contains("the next is round 3"), "{gap}");
    let other = world.coordinator().open((TASK, 2), (600, 1, Some(4)), &world.public());
    assert!(other.is_err_and(|e| e.to_string().contains("exists already")), "a replay");
    // A crash in the middle: the attempt is repeated with the same state.
    world.open(3, 600);
    let twice = refused(&world, 4);
    assert!(twice.contains("round sums/3 is open"), "{twice}");
    everybody.iter().for_each(|&i| world.submit(i, 3));
    world.links.iter().for_each(|(_, link)| link.slow(20));
    let _ = world.coordinator().close(TASK, 3);
    let coordinator = world.coordinator();
    world.computes(1, 3, 5);
    world.start(2);
    world.links.iter().for_each(|(_, link)| link.heal());
    let status = world.ended(3, LONG);
    assert_eq!(status["phase"], "released", "{status}");
    assert!(status["attempt"].as_u64() > Some(1), "{status}");
    assert_eq!(rows(&world, 3), times(2));
    // A round without a result leaves the state as it was.
    world.open(4, 600);
    world.submit(0, 4);
    world.coordinator().close(TASK, 4).expect("closes");
    assert_eq!(world.ended(4, LONG)["phase"], "aborted");
    // All nodes may stop in between.
    (0..3).for_each(|i| world.start(i));
    assert_eq!(round(&world, 5, &everybody), times(3));
    // Only the last state is kept, and it is sealed.
    let state = |node: usize, n: u64| world.data(node, n).join("state");
    for node in 0..3 {
        let kept = || (1..=5).filter(|n| state(node, *n).exists()).collect::<Vec<u64>>();
        until(LONG, "older ones are erased", || (kept() == [5]).then_some(()));
        let sealed = fs::read(state(node, 5)).expect("reads");
        assert!(!sealed.windows(8).any(|w| w == b"SLVRSTA1"));
    }
    // A node that has lost its state says so before anybody submits.
    fs::remove_file(state(2, 5)).expect("removes");
    let lost = refused(&world, 6);
    assert!(
        lost.contains("node 2") && lost.contains("the state that round sums/5 has left"),
        "{lost}"
    );
    let report = coordinator.report(1, TASK, 5).expect("a report");
    assert_eq!(
        (&report["continues"], &report["circuit_clients"]),
        (&3.into(), &5.into()),
        "{report}"
    );
    let accepted: Vec<&str> = report["accepted"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|e| e["client"].as_str())
        .collect();
    assert_eq!(accepted, (0..5).map(client).collect::<Vec<_>>());
}

#[test]
fn a_round_that_was_aborted_is_run_again_from_the_same_state_unless_that_has_gone_on() {
    let world = World::started(Shape { program: "running", ..Shape::default() });
    let coordinator = world.coordinator();
    let everybody = [0, 1, 2, 3, 4];
    let all = |times: i64| everybody.map(|i| row(i, times));
    assert_eq!(round(&world, 1, &everybody), all(1));
    for number in [2, 3] {
        world.open(number, 600);
        // It closes by itself, and has not ended when it is aborted.
        world.links.iter().for_each(|(_, link)| link.slow(300));
        everybody.iter().for_each(|&i| world.submit(i, number));
        coordinator.abort(TASK, number).expect("aborts");
        world.all_know(number, "aborted");
        world.links.iter().for_each(|(_, link)| link.heal());
    }
    let retry = |number| {
        coordinator.patiently(std::time::Instant::now() + LONG, || coordinator.retry(TASK, number))
    };
    // The older one goes on with the state that both were opened to continue; then the other one cannot.
    retry(2).expect("is run again");
    assert_eq!(world.ended(2, LONG)["phase"], "released");
    assert_eq!(rows(&world, 2), all(2));
    let said = retry(3).expect_err("the state has gone on");
    assert!(said.to_string().contains("the state has gone on"), "{said}");
    // The next round continues that one.
    assert_eq!(round(&world, 4, &everybody), all(3));
}

/// A circuit that reads who takes part has rounds without some: they keep their places, and nothing of theirs changes.
#[test]
fn a_task_that_reads_who_takes_part_goes_on_without_some() {
    let world = World::started(Shape { program: "present", minimum: 2, ..Shape::default() });
    let times = |n: [i64; 5]| (0..5u64).zip(n).map(|(i, n)| row(i, n)).collect::<Vec<_>>();
    assert_eq!(round(&world, 1, &[0, 1, 2, 3, 4]), times([1, 1, 1, 1, 1]));
    for (number, there, counts) in [
        (2, &[0u64, 2, 3][..], [2, 1, 2, 2, 1]),
        (3, &[1, 4][..], [2, 2, 2, 2, 2]),
        (4, &[0, 1, 2, 3, 4][..], [3, 3, 3, 3, 3]),
    ] {
        world.open(number, 600);
        there.iter().for_each(|&i| world.submit(i, number));
        world.coordinator().close(TASK, number).expect("closes");
        let status = world.ended(number, LONG);
        assert_eq!(status["phase"], "released", "{status}");
        assert_eq!(rows(&world, number), times(counts), "round {number}");
    }
}
