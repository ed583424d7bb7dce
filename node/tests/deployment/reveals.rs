//! What a round reveals to clients: each fetches its own from the nodes, and nobody else gets it.

use crate::world::{LONG, Shape, TASK, World, client};
use hyper::Method;
use slvr_node::client::{CallError, Caller};
use slvr_node::codes::Code;
use slvr_node::submission::Public;
use std::fs;

/// A round of four clients, who submit 1 and their number.
fn released() -> World {
    let world = World::started(Shape { program: "own", n: 2, ..Shape::default() });
    let coordinator = world.coordinator();
    world.open(1, 600);
    for i in 0..4 {
        let submission = world.submission_of(i, 1, vec![1.0, i as f64]);
        world.client(i).submit(&submission, LONG, &|_, _, _| {}).expect("submits");
    }
    early(&world.client(0));
    coordinator.close(TASK, 1).expect("closes");
    assert_eq!(world.ended(1, LONG)["phase"], "released");
    world
}

/// Nothing is fetched of a round that is not released.
fn early(caller: &Caller) {
    let e = caller.fetch(TASK, 1).expect_err("it is open");
    assert!(matches!(&e, CallError::Refused { code: Code::Early, .. }), "{e}");
}

fn fetched(caller: &Caller) -> Result<Vec<f64>, CallError> {
    let until = std::time::Instant::now() + LONG;
    let got = caller.patiently(until, || caller.fetch(TASK, 1))?;
    assert_eq!((got.of.set.as_str(), got.outputs.len()), ("Client", 1));
    assert_eq!(got.outputs[0].0.name, "mine");
    Ok(got.outputs[0].1.values.clone())
}

fn refused<T: std::fmt::Debug>(done: Result<T, CallError>, with: &str) {
    let e = done.expect_err("is refused");
    assert!(matches!(&e, CallError::Refused { code, .. } if code.to_string() == with), "{e}");
}

#[test]
fn each_client_fetches_its_own_and_the_coordinator_sees_nothing_of_it() {
    let mut world = released();
    let coordinator = world.coordinator();
    // A node that is restarted still has them.
    world.start(1);
    for i in 0..4 {
        let own = fetched(&world.client(i)).expect("fetches");
        assert!((own[0] - 1.0).abs() < 1e-3 && (own[1] - i as f64).abs() < 1e-3, "{i}: {own:?}");
    }
    // One that has submitted nothing gets nothing, and the coordinator asks in vain.
    refused(world.client(4).fetch(TASK, 1), "reveal");
    for node in 0..3 {
        let path = format!("/v1/tasks/{TASK}/rounds/1/reveals");
        refused(coordinator.call(node, &Method::GET, &path, &[], &[], 1 << 20), "path");
        let path = format!("/v1/tasks/{TASK}/rounds/1/words");
        refused(world.client(0).call(node, &Method::GET, &path, &[], &[], 1 << 20), "role");
        // What the coordinator gets has no frame for the set of clients.
        let (_, bytes) =
            coordinator.call(node, &Method::GET, &path, &[], &[], 1 << 20).expect("words");
        let (_, words) = slvr_node::words::words(&bytes).expect("reads");
        assert!(!words.is_empty() && words.iter().all(|(set, ..)| *set == 1), "{words:?}");
    }
    let revealed = coordinator.collect(TASK, 1).expect("collects").revealed;
    assert_eq!(revealed.iter().map(|r| r.name.as_str()).collect::<Vec<_>>(), ["total"]);
    // What is collected is erased for the coordinator only; what is fetched for the client only.
    coordinator.erase(TASK, 1, &["words"]).expect("erases");
    assert!(fetched(&world.client(0)).is_ok());
    world.client(0).forget(TASK, 1).expect("erases");
    refused(world.client(0).fetch(TASK, 1), "reveal");
    assert!(fetched(&world.client(1)).is_ok());
    coordinator.erase(TASK, 1, &["reveals"]).expect("erases");
    refused(world.client(1).fetch(TASK, 1), "reveal");
    for node in 0..3 {
        let left = fs::read_dir(world.data(node, 1)).expect("a folder").flatten();
        let left: Vec<_> = left.map(|f| f.file_name()).collect();
        assert!(left.iter().all(|f| f == "ended"), "{left:?}");
    }
}

#[test]
fn a_word_of_another_member_or_run_is_noticed() {
    let world = released();
    // The word of client 1 in the place of client 0's is sealed for another name.
    let file = |i: u64| world.data(2, 1).join(format!("{}.reveal", client(i)));
    let (own, other) = (fs::read(file(0)).expect("reads"), fs::read(file(1)).expect("reads"));
    fs::write(file(0), other).expect("writes");
    refused(world.client(0).fetch(TASK, 1), "store");
    fs::write(file(0), own).expect("writes");
    assert!(fetched(&world.client(0)).is_ok());
}

#[test]
fn an_aborted_round_reveals_nothing_to_clients() {
    let world = World::started(Shape { program: "own", n: 2, ..Shape::default() });
    let public = Public::from([(1, 1u64.to_le_bytes().to_vec())]);
    let open = || world.coordinator().open((TASK, 1), (600, 1, None), &public);
    world.coordinator().patiently(std::time::Instant::now() + LONG, open).expect("opens");
    assert!(world.coordinator().abort(TASK, 1).is_ok(), "aborts");
    refused(world.client(0).fetch(TASK, 1), "aborted");
}

#[test]
fn fetches_of_one_client_at_the_same_time_raise_no_alarm() {
    let world = World::started(Shape { program: "own", ..Shape::default() });
    for round in 1..=4 {
        world.begin(round, &[0, 1, 2, 3, 4]);
        assert_eq!(world.ended(round, LONG)["phase"], "released");
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    let client = world.client(3);
                    let until = std::time::Instant::now() + LONG;
                    match client.patiently(until, || client.fetch(TASK, round)) {
                        Ok(got) => assert_eq!(got.outputs[0].1.values[3], 1.0),
                        Err(e) => assert!(e.to_string().contains("or it has been erased"), "{e}"),
                    }
                    client.forget(TASK, round).expect("erases");
                });
            }
        });
    }
    for node in 0..3 {
        let log = world.logged(node);
        assert!(!log.contains("ERROR") && !log.contains("the store fails"), "node {node}: {log}");
    }
}
