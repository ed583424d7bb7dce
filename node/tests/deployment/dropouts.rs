//! A client that is not counted is as if it had never been there: what is released is the mean of the others.

use crate::world::{LONG, Shape, TASK, World, client};
use serde_json::Value;
use std::time::Duration;

/// These clients submit. Inputs of some are not in range.
fn submit(world: &World, number: u64, clients: &[u64], unfair: &[u64]) {
    world.open(number, 600);
    for &i in clients {
        let x = (0..world.shape.n).map(|k| ((i + 1) * (k + 1)) as f64 / 64.0).collect();
        let s = world.submission_that(i, number, x, !unfair.contains(&i));
        let done = world.client(i).submit(&s, Duration::from_secs(30), &|_, _, _| {});
        done.unwrap_or_else(|e| panic!("client {i}: {e}"));
    }
}

/// The same, and the round is closed; how it ended.
fn round(world: &World, number: u64, clients: &[u64], unfair: &[u64]) -> Value {
    submit(world, number, clients, unfair);
    world.coordinator().close(TASK, number).expect("closes");
    world.ended(number, LONG)
}

/// The mean of these clients.
fn mean(world: &World, clients: &[u64]) -> Vec<f64> {
    let of = |k: u64| clients.iter().map(|i| ((i + 1) * (k + 1)) as f64 / 64.0).sum::<f64>();
    (0..world.shape.n).map(|k| of(k) / clients.len() as f64).collect()
}

fn same(world: &World, number: u64, clients: &[u64]) {
    let (found, wanted) = (world.values(number), mean(world, clients));
    let near = found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-9);
    assert!(near && found.len() == wanted.len(), "{found:?} is not {wanted:?}");
    let report = world.coordinator().agreed_report(TASK, number).expect("one report");
    let members: Vec<Value> = clients.iter().map(|i| client(*i).into()).collect();
    assert_eq!(report["members"], Value::from(members));
    assert_eq!(report["circuit_clients"], clients.len());
}

#[test]
fn who_does_not_come_or_is_out_of_range_is_as_if_it_had_never_been_there() {
    let world = World::started(Shape { program: "mean", minimum: 2, not: 3, ..Shape::default() });
    for (number, clients, unfair, left) in [
        (1, &[0, 1, 2, 3, 4][..], &[][..], &[0, 1, 2, 3, 4][..]),
        (2, &[0, 2, 3, 4], &[], &[0, 2, 3, 4]),
        (3, &[0, 1, 2, 3, 4], &[1], &[0, 2, 3, 4]),
        (4, &[0, 1, 3, 4], &[0, 4], &[1, 3]),
    ] {
        let status = round(&world, number, clients, unfair);
        assert_eq!(status["phase"], "released", "{status}");
        same(&world, number, left);
        // A verdict uses up no attempt that may fail.
        assert_eq!(status["attempt"], if unfair.is_empty() { 1 } else { 2 }, "{status}");
        assert_eq!(status["failures"].as_array().map(Vec::len), Some(0), "{status}");
        let report = world.coordinator().agreed_report(TASK, number).expect("one report");
        let gone: Vec<(&str, &str)> = report["excluded"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|x| Some((x["client"].as_str()?, x["why"].as_str()?)))
            .collect();
        let names: Vec<String> = unfair.iter().map(|i| client(*i)).collect();
        let wanted: Vec<(&str, &str)> = names.iter().map(|c| (&**c, "out of range")).collect();
        assert_eq!(gone, wanted, "round {number}");
    }
}

#[test]
fn a_number_of_clients_without_a_circuit_aborts_with_its_message() {
    let world = World::started(Shape { program: "mean", minimum: 2, not: 3, ..Shape::default() });
    let why = |status: &Value| {
        assert_eq!(status["phase"], "aborted", "{status}");
        status["aborted"].as_str().unwrap_or_default().to_string()
    };
    let came = round(&world, 1, &[0, 1, 4], &[]);
    assert_eq!(
        why(&came),
        "there is no circuit for the 3 clients that were accepted: requirement does not hold: there is nothing for 3"
    );
    let said = "there is no circuit for these numbers of clients";
    (0..3).for_each(|node| assert!(world.logged(node).contains(said), "node {node} says nothing"));
    let left = round(&world, 2, &[0, 1, 3, 4], &[3]);
    assert_eq!(
        why(&left),
        "there is no circuit for the 3 clients that are left: requirement does not hold: there is nothing for 3; \
         the inputs of these do not count: client-003 (out of range)"
    );
    let few = round(&world, 3, &[0, 1, 2, 3], &[0, 2, 3]);
    let few = why(&few);
    assert!(
        few.starts_with("1 client is left, and the minimum is 2; the inputs of these"),
        "{few}"
    );
    for node in 1..3 {
        // Each of them comes to the same by itself.
        let ended = world.shows(node, 3, "it has ended", |s| s["phase"] != "running");
        assert_eq!(why(&ended), few, "node {node}");
    }
}

/// Each attempt may end with a verdict: a link that breaks in between loses nothing of it.
#[test]
fn a_verdict_that_a_node_did_not_hear_is_a_failed_attempt() {
    let mut world = World::started(Shape {
        program: "mean",
        minimum: 2,
        deadline: 4,
        layers: 20,
        ..Shape::default()
    });
    submit(&world, 1, &[0, 1, 2, 3, 4], &[2]);
    world.links.iter().for_each(|(_, link)| link.slow(25));
    world.coordinator().close(TASK, 1).ok();
    std::thread::sleep(Duration::from_millis(400));
    world.start(1);
    world.links.iter().for_each(|(_, link)| link.heal());
    let status = world.ended(1, Duration::from_secs(90));
    assert_eq!(status["phase"], "released", "{status}");
    same(&world, 1, &[0, 1, 3, 4]);
}
