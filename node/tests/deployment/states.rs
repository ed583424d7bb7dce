//! A task whose rounds continue each other: what each client has submitted so far.

use crate::world::{Shape, TASK, World, client, until};
use slvr_node::client::CallError;
use std::fs;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(90);

/// Runs a round of these clients; how often each member has been counted so far.
fn round(world: &World, number: u64, clients: &[u64]) -> Vec<Vec<i64>> {
    world.open(number, 600);
    clients.iter().for_each(|&i| world.submit(i, number));
    world.coordinator().close(TASK, number).expect("closes");
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
        World::started(Shape { state: true, layers: 40, deadline: 5, ..Shape::default() });
    // Who comes first has the first place.
    assert_eq!(
        round(&world, 1, &[1, 3, 4]),
        [row(1, 1), row(3, 1), row(4, 1), row(0, 0), row(0, 0)]
    );
    let gap = refused(&world, 3);
    assert!(gap.contains("the next is round 2"), "{gap}");
    let other = world.coordinator().open((TASK, 1), (600, 1, Some(4)), &world.public());
    assert!(other.is_err_and(|e| e.to_string().contains("exists already")), "a replay");
    // A crash in the middle: the attempt is repeated with the same state. One client is new, and one does not come.
    world.open(2, 600);
    let twice = refused(&world, 3);
    assert!(twice.contains("round sums/2 is open"), "{twice}");
    [0, 1, 3].iter().for_each(|&i| world.submit(i, 2));
    world.links.iter().for_each(|(_, link)| link.slow(20));
    world.coordinator().close(TASK, 2).expect("closes");
    let coordinator = world.coordinator();
    let deep =
        || coordinator.status(1, TASK, 2).ok().filter(|s| s["run"]["layer"].as_u64() > Some(5));
    until(LONG, "the run is under way", deep);
    world.kill(2);
    world.start(2);
    world.links.iter().for_each(|(_, link)| link.heal());
    let status = world.ended(2, LONG);
    assert_eq!(status["phase"], "released", "{status}");
    assert!(status["attempt"].as_u64() > Some(1), "{status}");
    let after_two = [row(1, 2), row(3, 2), row(4, 1), row(0, 1), row(0, 0)];
    assert_eq!(rows(&world, 2), after_two);
    // A round without a result leaves the state as it was.
    world.open(3, 600);
    world.submit(0, 3);
    world.coordinator().close(TASK, 3).expect("closes");
    assert_eq!(world.ended(3, LONG)["phase"], "aborted");
    // All nodes may stop in between.
    (0..3).for_each(|i| {
        world.kill(i);
        world.start(i);
    });
    let next = round(&world, 4, &[0, 1, 2, 3, 4]);
    assert_eq!(next, [row(1, 3), row(3, 3), row(4, 2), row(0, 2), row(2, 1)]);
    // Only the last state is kept, and it is sealed.
    let state = |node: usize, n: u64| {
        world.folder.path().join(format!("node-{node}/data/rounds/{TASK}/{n}/state"))
    };
    for node in 0..3 {
        let kept = || (1..=4).filter(|n| state(node, *n).exists()).collect::<Vec<u64>>();
        until(LONG, "older ones are erased", || (kept() == [4]).then_some(()));
        let sealed = fs::read(state(node, 4)).expect("reads");
        assert!(!sealed.windows(8).any(|w| w == b"SLVRSTA1"));
    }
    // A node that has lost its state says so before anybody submits.
    fs::remove_file(state(2, 4)).expect("removes");
    let lost = refused(&world, 5);
    assert!(
        lost.contains("node 2") && lost.contains("the state that round sums/4 has left"),
        "{lost}"
    );
    let report = coordinator.report(1, TASK, 4).expect("a report");
    assert_eq!(
        (&report["continues"], &report["circuit_clients"]),
        (&2.into(), &5.into()),
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
    let world = World::started(Shape { state: true, ..Shape::default() });
    let coordinator = world.coordinator();
    let all = |times: [i64; 5]| (0..5).map(|i| row(i, times[i as usize])).collect::<Vec<_>>();
    assert_eq!(round(&world, 1, &[0, 1, 2]), all([1, 1, 1, 0, 0]));
    for (number, clients) in [(2, [0, 1, 3]), (3, [0, 1, 2])] {
        world.open(number, 600);
        clients.iter().for_each(|&i| world.submit(i, number));
        coordinator.abort(TASK, number).expect("aborts");
        for node in 0..3 {
            let shown = || coordinator.status(node, TASK, number).ok();
            until(LONG, "all know", || shown().filter(|s| s["phase"] == "aborted"));
        }
    }
    let retry = |number| {
        coordinator.patiently(std::time::Instant::now() + LONG, || coordinator.retry(TASK, number))
    };
    // The older one goes on with the state that both were opened to continue; then the other one cannot.
    retry(2).expect("is run again");
    assert_eq!(world.ended(2, LONG)["phase"], "released");
    assert_eq!(rows(&world, 2), all([2, 2, 1, 1, 0]));
    let said = retry(3).expect_err("the state has gone on");
    assert!(said.to_string().contains("the state has gone on"), "{said}");
    // The next round continues that one.
    assert_eq!(round(&world, 4, &[0, 1, 2]), all([3, 3, 2, 1, 0]));
}
