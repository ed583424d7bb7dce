//! What callers are told: nodes that say nothing, rounds that nobody knows, calls at the same time.

use crate::openings::{give, seal};
use crate::world::{LONG, Shape, Sums, TASK, World, until};
use hyper::Method;
use slvr_node::Service;
use slvr_node::client::{CallError, Caller};
use slvr_node::clock::now;
use slvr_node::codes::Code;
use slvr_node::config::{CallerConfig, NodeConfig};
use slvr_node::state::{RoundKey, Spec};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// A caller and what it is told.
fn told(caller: Caller) -> (Caller, Arc<Mutex<Vec<String>>>) {
    let all = Arc::new(Mutex::new(Vec::new()));
    let to = all.clone();
    let tell = move |text: &str| to.lock().expect("a list").push(text.to_string());
    (caller.telling(tell), all)
}

#[test]
fn a_stopped_node_is_named_while_it_is_waited_for_and_given_up() {
    let world = World::started(Shape::default());
    world.open(1, 600);
    let (coordinator, heard) = told(world.coordinator().quiet(Duration::from_secs(4)));
    // A patience that is over is not that of later calls.
    let status = || coordinator.status(1, TASK, 1);
    coordinator.patiently(Instant::now(), status).expect("is there");
    let made = world.submission(0, 1);
    world.signal(1, "-STOP");
    let address = format!("node 1 at 127.0.0.1:{}", world.client_ports[1]);
    // On a connection that is there, for longer than the time after which whoever waits is told.
    let e = coordinator.status(1, TASK, 1).expect_err("it is stopped");
    assert!(matches!(&e, CallError::Unreachable { node: 1, .. }), "{e}");
    let heard = heard.lock().expect("a list").clone();
    assert!(e.to_string().contains(&address), "{e}");
    assert!(heard.iter().any(|t| t.contains(&address)), "{heard:?}");
    // On a new one.
    let done = world.client(0).submit(&made, Duration::ZERO, &|_, _, _| {});
    let e = done.expect_err("it is stopped");
    let CallError::Submission(all) = &e else { panic!("{e}") };
    assert!(all[0].is_ok() && all[2].is_ok(), "who is there has it: {e}");
    assert!(matches!(&all[1], Err(CallError::Unreachable { node: 1, .. })), "{e}");
    let lines: Vec<String> = e.to_string().lines().map(String::from).collect();
    let there = |node: u64| format!("node {node}: it is there, and the round is open");
    assert_eq!((&lines[1], &lines[3]), (&there(0), &there(2)), "{e}");
    assert!(lines[2].contains(&address), "{e}");
    // All three are asked at the same time, and who is there answers.
    let soon = || Instant::now() + Duration::from_secs(4);
    let all = coordinator.patiently(soon(), || Ok(coordinator.statuses(TASK, 1)));
    let all = all.expect("three answers");
    assert!(all[0].is_ok() && all[1].is_err() && all[2].is_ok(), "{all:?}");
    // A round that cannot be opened everywhere names the node, and its number is not used up.
    let open = || coordinator.open((TASK, 2), (600, 1, None), &world.public());
    let e = coordinator.patiently(soon(), open).expect_err("it is stopped");
    assert!(matches!(&e, CallError::Unreachable { node: 1, .. }), "{e}");
    world.signal(1, "-CONT");
    let opened = coordinator.patiently(Instant::now() + LONG, open).expect("opens");
    assert_eq!(opened["phase"], "open", "{opened}");
}

#[test]
fn patience_begins_with_the_first_request() {
    let mut world = World::new(Shape::default());
    (0..2).for_each(|i| world.start(i));
    let (caller, heard) = told(world.client(0));
    let world = Mutex::new(world);
    thread::scope(|scope| {
        let waits = scope.spawn(|| {
            caller.patiently(Instant::now() + LONG, || caller.circuit(TASK)).map(|(_, hash)| hash)
        });
        let named =
            || heard.lock().expect("a list").iter().any(|t| t.contains("node 2 at")).then_some(());
        until(LONG, "it says for whom it waits", named);
        world.lock().expect("a world").start(2);
        let hash = waits.join().expect("ends").expect("has the circuit");
        assert_eq!(hash, world.lock().expect("a world").circuit().1);
    });
    let none = caller.patiently(Instant::now(), || caller.circuit("other"));
    assert!(none.is_err_and(|e| e.to_string().contains("node 2 knows no task `other`")));
}

#[test]
fn calls_that_open_a_round_at_the_same_time_open_one() {
    let world = World::started(Shape::default());
    world.open(1, 600);
    let deadlines: Vec<u64> = thread::scope(|scope| {
        let one = |k: u64| {
            let (coordinator, public) = (world.coordinator(), world.public());
            // Each would have another deadline.
            scope.spawn(move || {
                let shown = coordinator.open((TASK, 2), (600 + k, 1, None), &public);
                shown.unwrap_or_else(|e| panic!("{e}"))["deadline"].as_u64().expect("a number")
            })
        };
        let all: Vec<_> = (0..8).map(one).collect();
        all.into_iter().map(|t| t.join().expect("ends")).collect()
    });
    assert!(deadlines.windows(2).all(|d| d[0] == d[1]), "{deadlines:?}");
    let rounds = world.coordinator().rounds(1, TASK).expect("a list");
    assert_eq!(rounds.as_array().map(Vec::len), Some(2));
}

#[test]
fn a_node_that_goes_away_in_the_last_step_of_an_opening_costs_no_number() {
    let mut world = World::started(Shape { deadline: 5, ..Shape::default() });
    world.open(1, 600);
    let coordinator = world.coordinator();
    // Nodes 1 and 2 have it, and node 0 goes away before it is told.
    let deadline = open_at(&world, 2, 600, &[1, 2]);
    assert_eq!(coordinator.status(1, TASK, 2).expect("a round")["phase"], "open");
    world.start(0);
    // The same call again opens it there, with its first deadline.
    let open = || coordinator.open((TASK, 2), (700, 1, Some(3)), &world.public());
    let opened = coordinator.patiently(Instant::now() + LONG, open).expect("opens");
    assert_eq!((&opened["phase"], &opened["deadline"]), (&"open".into(), &deadline.into()));
    // It is led: it ends by itself.
    (0..5).for_each(|i| world.submit(i, 2));
    world.released(2, &[0, 1, 2, 3, 4]);
}

/// Opens a round at some nodes only; its deadline.
fn open_at(world: &World, round: u64, seconds: u64, nodes: &[usize]) -> u64 {
    let coordinator = world.coordinator();
    let key = RoundKey { task: TASK.into(), round };
    let before = coordinator.opening(TASK, 1).expect("is open");
    let spec = seal(&coordinator).open(Spec { key, deadline: now() + seconds, ..before });
    for &node in nodes {
        give(&coordinator, node, &spec, &world.public()).expect("opens");
    }
    spec.deadline
}

#[test]
fn a_round_that_is_open_at_two_nodes_only_ends_at_its_deadline_and_costs_no_number() {
    let world = World::started(Shape { deadline: 5, ..Shape::default() });
    world.open(1, 600);
    open_at(&world, 2, 3, &[0, 1]);
    let why = world.aborted(2);
    assert!(why.contains("not open at all nodes"), "{why}");
    world.begin(2, &[0, 1, 2, 3, 4]);
    world.released(2, &[0, 1, 2, 3, 4]);
}

#[test]
fn patience_is_kept_also_where_a_connection_would_take_longer() {
    let world = World::started(Shape::default());
    world.open(1, 600);
    world.signal(1, "-STOP");
    let begun = Instant::now();
    let caller = world.client(0);
    let done = caller.patiently(begun + Duration::from_secs(3), || caller.circuit(TASK));
    let e = done.expect_err("it is stopped");
    // Without it each handshake may take fifteen seconds, and an answer thirty.
    assert!(e.to_string().contains("node 1 at") && !e.to_string().contains("within 15"), "{e}");
    assert!(!e.to_string().contains("for 30 s"), "{e}");
    world.signal(1, "-CONT");
}

#[test]
fn a_submission_is_told_where_its_round_stands_and_everything_of_it_is_erased() {
    let mut world = World::started(Shape::default());
    let coordinator = world.coordinator();
    world.open(1, 600);
    let submit = |world: &World| {
        let s = world.submission(0, 1);
        world.client(0).submit(&s, LONG, &|_, _, _| {}).expect("is there")
    };
    let stands = |receipts: &[serde_json::Value; 3]| {
        let of = |r: &serde_json::Value| (r["phase"].clone(), r["erased"].clone());
        receipts.each_ref().map(of)
    };
    let first = submit(&world);
    assert_eq!(stands(&first), [0; 3].map(|_| ("open".into(), false.into())));
    coordinator.abort(TASK, 1).expect("aborts");
    world.all_know(1, "aborted");
    let again = submit(&world);
    assert_eq!(stands(&again), [0; 3].map(|_| ("aborted".into(), false.into())));
    assert_eq!((&again[0]["digest"], &again[0]["at"]), (&first[0]["digest"], &first[0]["at"]));
    let e = coordinator.collect(TASK, 1).expect_err("has no result");
    assert!(matches!(&e, CallError::Aborted(_)) && e.is_aborted(), "{e}");
    // One node has lost its data: the others erase, and which one it was is said.
    world.kill(1);
    std::fs::remove_dir_all(world.folder.path().join("node-1/data")).expect("is there");
    world.start(1);
    until(LONG, "node 1 is there", || world.coordinator().rounds(1, TASK).ok());
    for what in ["submissions", "reveals", "words"] {
        assert_eq!(world.coordinator().erase(TASK, 1, &[what]).expect("erases"), [1]);
    }
    let e = world.client(0).submit(&world.submission(0, 1), LONG, &|_, _, _| {});
    let e = e.expect_err("node 1 knows no such round");
    let CallError::Submission(all) = &e else { panic!("{e}") };
    assert_eq!(all[0].as_ref().expect("is there")["erased"], true);
    assert!(all[2].is_ok() && e.to_string().contains("\nnode 1: there is no round sums/1"), "{e}");
    let none = world.coordinator().erase(TASK, 7, &["words"]).expect_err("no node knows it");
    assert!(matches!(&none, CallError::Refused { code: Code::Round, .. }), "{none}");
}

#[test]
fn what_a_caller_is_told_says_which_round_which_line_and_which_part() {
    let world = World::started(Shape::default());
    world.open(1, 600);
    let coordinator = world.coordinator();
    let unknown = [
        coordinator.close(TASK, 99).map(drop),
        coordinator.abort(TASK, 99).map(drop),
        coordinator.agreed_report(TASK, 99).map(drop),
        coordinator.drop_round(TASK, 99).map(drop),
        coordinator.status(2, TASK, 99).map(drop),
        world.client(0).opening(TASK, 99).map(drop),
    ];
    for e in unknown.map(|done| done.expect_err("no node knows it").to_string()) {
        assert!(e.contains("there is no round sums/99"), "{e}");
    }
    let e = coordinator.open((TASK, 2), (0, 1, None), &world.public());
    let e = e.expect_err("nobody can come");
    assert!(matches!(&e, CallError::Config(why) if why.contains("0 seconds")), "{e}");
    // The certificate of another node.
    let path = world.folder.path().join("clients/client-000/client.toml");
    let mut config = CallerConfig::read(&path).expect("a configuration");
    config.node[1].certificates = config.node[2].certificates.clone();
    let e = Caller::new(config).expect("keys").status(1, TASK, 1).expect_err("is another one");
    assert!(e.to_string().contains("`certificates` of [[node]] 1"), "{e}");
    // A part with more bytes than the node expects.
    let submission = world.submission(0, 1);
    let client = world.client(0);
    let path = format!("/v1/tasks/{TASK}/rounds/1/submissions/{}", submission.manifest.submission);
    let manifest = serde_json::to_vec(&submission.manifest).expect("JSON");
    let announced = client.call(0, &Method::POST, &path, &[], &manifest, 1 << 16);
    announced.expect("is announced");
    let whole = submission.part(0);
    let long = [&whole[..], &[0; 3]].concat();
    let offset = [("upload-offset", "0".to_string())];
    let e = client.call(0, &Method::PATCH, &path, &offset, &long, 1 << 16);
    let (e, n) = (e.expect_err("is too long").to_string(), whole.len());
    let said = format!("{n} bytes, of which {n} are still to come, and {} were sent", n + 3);
    assert!(e.contains(&said), "{e}");
    // Two of three that have to come, and three.
    for (round, came, short) in [(1, 2, true), (3, 3, false)] {
        if round > 1 {
            world.open(round, 600);
        }
        (0..came).for_each(|i| world.submit(i, round));
        coordinator.abort(TASK, round).expect("aborts");
        assert_eq!(world.client(0).is_short(TASK, round), short, "round {round}");
    }
}

#[test]
fn a_key_of_another_certificate_is_named_by_its_file() {
    let world = World::new(Shape::default());
    let at = |name: &str| world.folder.path().join(name);
    let mut config = NodeConfig::read(&at("node-0/node.toml")).expect("a configuration");
    config.key = NodeConfig::read(&at("node-1/node.toml")).expect("a configuration").key;
    let named = [config.key.display().to_string(), config.certificate.display().to_string()];
    let e = Service::start(config, Box::new(Sums)).expect_err("is another one's");
    assert!(named.iter().all(|file| e.contains(file)) && e.contains("not the key"), "{e}");
}

#[test]
fn a_node_does_not_start_where_it_cannot_listen() {
    let world = World::new(Shape::default());
    let there = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = there.local_addr().expect("an address").to_string();
    for line in ["peer_listen", "client_listen", "operations"] {
        let path = world.folder.path().join("node-0/node.toml");
        let mut config = NodeConfig::read(&path).expect("a configuration");
        let all = [&mut config.peer_listen, &mut config.client_listen, &mut config.operations];
        for (at, own) in all.into_iter().zip(["peer_listen", "client_listen", "operations"]) {
            *at = if own == line { taken.clone() } else { "127.0.0.1:0".into() };
        }
        let e = Service::start(config, Box::new(Sums)).expect_err("the port is taken");
        assert!(e.starts_with(&format!("{line} = \"{taken}\": cannot listen there")), "{e}");
    }
}

#[test]
fn a_round_without_a_result_yet_says_so_and_is_no_disagreement() {
    let world = World::started(Shape { layers: 200, ..Shape::default() });
    world.open(1, 600);
    let coordinator = world.coordinator();
    let e = coordinator.collect(TASK, 1).expect_err("has no result");
    assert!(matches!(&e, CallError::Early(why) if why.contains("slvrc round close")), "{e}");
    world.links.iter().for_each(|(_, link)| link.slow(5));
    (0..5).for_each(|i| world.submit(i, 1));
    // Nodes are a step apart all the time.
    until(LONG, "the round is released", || match coordinator.collect(TASK, 1) {
        Ok(got) => Some(got),
        Err(CallError::Early(_)) => {
            coordinator.agreed_report(TASK, 1).unwrap_or_else(|e| panic!("{e}"));
            None
        }
        Err(e) => panic!("{e}"),
    });
    let e = coordinator.status(0, TASK, 1 << 53).expect_err("cannot be");
    assert!(e.to_string().contains("9007199254740991"), "{e}");
}

#[test]
fn no_answer_says_where_a_node_keeps_its_files() {
    let world = World::started(Shape { limits: "attempts = 2".into(), ..Shape::default() });
    world.open(1, 600);
    // What node 1 computes cannot be written: a folder has the file's name.
    let folder = world.folder.path();
    let taken = folder.join(format!("node-1/data/rounds/{TASK}/1/result/x"));
    std::fs::create_dir_all(&taken).expect("makes");
    (0..5).for_each(|i| world.submit(i, 1));
    let mut said = vec![world.ended(1, LONG).to_string()];
    assert!(said[0].contains("node 1: result: "), "the cause is of the file: {said:?}");
    for node in 0..3 {
        let coordinator = world.coordinator();
        let shown = || coordinator.status(node, TASK, 1).ok();
        said.push(
            until(LONG, "all know", || shown().filter(|s| s["aborted"].is_string())).to_string(),
        );
        said.push(coordinator.report(node, TASK, 1).expect("a report").to_string());
        said.push(coordinator.rounds(node, TASK).expect("a list").to_string());
        said.push(world.client(0).rounds(node, TASK).expect("a list").to_string());
        for method in [hyper::Method::GET, hyper::Method::DELETE] {
            let path = format!("/v1/tasks/{TASK}/rounds/1/words");
            let done = coordinator.call(node, &method, &path, &[], &[], 1 << 16);
            said.push(format!("{done:?}"));
        }
        let late = world.submission(0, 1);
        said.push(format!("{:?}", world.submit_to(0, node, &late)));
    }
    said.push(format!("{:?}", world.client(0).fetch(TASK, 1)));
    let path = folder.to_str().expect("text");
    let named: Vec<&String> = said.iter().filter(|text| text.contains(path)).collect();
    assert!(named.is_empty(), "{named:#?}");
    assert!(world.logged(1).contains(path), "its operator is told");
}
