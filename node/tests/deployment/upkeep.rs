//! What an operator does while nodes run: backups, other tasks, old rounds, a look from elsewhere, a check.

use crate::attacks::{call_at, says};
use crate::world::{LONG, Shape, Sums, TASK, World, until};
use serde_json::Value;
use slvr_node::check::{Weight, check};
use slvr_node::hex::sha256;
use slvr_node::state::RoundKey;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

/// Asks a node at its port for operators, on this machine; the answer with its head.
pub fn ask(world: &World, node: usize, method: &str, path: &str, head: &str) -> String {
    ask_as(world, (node, "localhost"), method, path, head)
}

/// The same of a host of that name.
pub fn ask_as(
    world: &World,
    (node, host): (usize, &str),
    method: &str,
    path: &str,
    head: &str,
) -> String {
    let port = world.operations_ports[node];
    let mut socket = until(LONG, "connects", || TcpStream::connect(("127.0.0.1", port)).ok());
    let head =
        format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{head}\r\n");
    socket.write_all(head.as_bytes()).expect("sends");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("answers");
    answer
}

pub fn body(answer: &str) -> Value {
    let body = answer.split_once("\r\n\r\n").expect("a body").1;
    serde_json::from_str(body).unwrap_or_else(|e| panic!("{e}: {answer}"))
}

fn toml(world: &World, node: usize) -> PathBuf {
    world.folder.path().join(format!("node-{node}/node.toml"))
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let there = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &there),
            false => drop(fs::copy(entry.path(), there).expect("copies")),
        }
    }
}

#[test]
fn a_backup_is_what_a_crash_would_leave_and_a_node_goes_on_from_it() {
    let mut world = World::started(Shape::default());
    world.begin(1, &[0, 1, 2]);
    // A page in a browser of this machine makes none.
    assert!(ask(&world, 1, "POST", "/backup", "Origin: http://x\r\n").starts_with("HTTP/1.1 404"));
    let made = body(&ask(&world, 1, "POST", "/backup", ""));
    let folder = PathBuf::from(made["folder"].as_str().expect("a folder"));
    let data = world.folder.path().join("node-1/data");
    assert_eq!(folder, data.join("backup"));
    #[cfg(unix)]
    for folder in [&data, &folder] {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(folder.metadata().expect("a folder").permissions().mode() & 0o777, 0o700);
    }
    let kept = world.folder.path().join("kept");
    copy(&folder, &kept);
    assert_eq!(body(&ask(&world, 1, "DELETE", "/backup", ""))["ok"], true);
    assert!(!folder.exists());
    // The machine is lost. Nothing was released since, so the backup may take its place.
    world.kill(1);
    fs::remove_dir_all(&data).expect("removes");
    fs::rename(&kept, &data).expect("moves");
    world.start(1);
    (3..5).for_each(|i| world.submit(i, 1));
    world.released(1, &[0, 1, 2, 3, 4]);
}

/// While rounds begin and end, every backup is one that a node starts from.
#[test]
fn backups_of_any_moment_open() {
    let world = World::started(Shape { m: 3, ..Shape::default() });
    world.open(1, 600);
    let place = tempfile::tempdir().expect("a folder");
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let rounds = scope.spawn(|| {
            for round in 1..=4 {
                world.begin(round, &[0, 1, 2]);
                world.released(round, &[0, 1, 2]);
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        let mut count = 0;
        while !done.load(std::sync::atomic::Ordering::Relaxed) && !rounds.is_finished() {
            let node = count % 3;
            let answer = body(&ask(&world, node, "POST", "/backup", ""));
            let kept = place.path().join(count.to_string());
            copy(Path::new(answer["folder"].as_str().expect("a folder")), &kept);
            let store = world.store(node, Some(&kept));
            for round in store.rounds().expect("reads") {
                let damaged = store.damaged_of(&round.spec.key);
                assert!(damaged.is_empty(), "backup {count}: {damaged:?} of {}", round.spec.key);
            }
            count += 1;
        }
        assert!(count >= 3, "only {count} backups");
    });
}

#[test]
fn tasks_are_exchanged_and_an_open_round_keeps_its_circuit() {
    let mut world = World::started(Shape::default());
    world.begin(1, &[0, 1]);
    reload(&world, &[("layers=4", "layers=6")]);
    (2..5).for_each(|i| world.submit(i, 1));
    world.released(1, &[0, 1, 2, 3, 4]);
    let before = world.circuit().1;
    world.shape.layers = 6;
    assert_ne!(world.circuit().1, before);
    world.begin(2, &[0, 1, 2, 3, 4]);
    world.released(2, &[0, 1, 2, 3, 4]);
    // What cannot be compiled changes nothing.
    world.edit(0, &[("\"m=5\"", "\"k=5\"")]);
    world.signal(0, "-HUP");
    until(LONG, "it says so", || {
        world.logged(0).contains("the tasks stay as they were").then_some(())
    });
    world.open(3, 600);
}

/// Has all nodes read their tasks again, with something changed.
fn reload(world: &World, changes: &[(&str, &str)]) {
    for i in 0..3 {
        world.edit(i, changes);
        let read = || world.logged(i).matches("the tasks were read again").count();
        let before = read();
        world.signal(i, "-HUP");
        until(LONG, "the tasks are read again", || (read() > before).then_some(()));
    }
}

/// Rounds keep the task that they were opened with: clients get its circuit, it is run for fewer clients as it was then, and what
/// was aborted is run again with it.
#[test]
fn a_round_keeps_the_task_that_it_was_opened_with() {
    let mut world = World::started(Shape::default());
    for round in [1, 2, 3] {
        world.open(round, 600);
    }
    (0..2).for_each(|i| world.submit(i, 1));
    (0..4).for_each(|i| world.submit(i, 2));
    let coordinator = world.coordinator();
    coordinator.abort(TASK, 2).expect("aborts");
    // The circuit for all stays as it is. There is none for three clients any more, and fewer than five are not wanted.
    reload(&world, &[("not=0", "not=3"), ("minimum = 2", "minimum = 5")]);
    world.submit(2, 1);
    coordinator.close(TASK, 1).expect("closes");
    world.released(1, &[0, 1, 2]);
    // Now the circuits are others, too.
    reload(&world, &[("layers=4", "layers=6")]);
    let before = world.circuit().1;
    world.shape.layers = 6;
    let after = world.circuit().1;
    world.shape.layers = 4;
    let asks = world.client(3);
    assert_eq!(asks.circuit(TASK).expect("is shown").1, after);
    for round in [2, 3] {
        let opening = asks.opening(TASK, round).expect("is shown");
        assert_eq!(opening.circuit, before);
        let circuit = asks.circuit_of(&opening).expect("is sent");
        assert_eq!(slvr_circuit::artifact::hash(&circuit), before.0);
        for node in 0..3 {
            let path = format!("/v1/tasks/{TASK}/rounds/{round}/task");
            let (_, body) =
                asks.call(node, &hyper::Method::GET, &path, &[], &[], 1 << 20).expect("is shown");
            let shown: Value = serde_json::from_slice(&body).expect("JSON");
            assert_eq!(
                (&shown["circuit"], &shown["minimum"]),
                (&before.to_string().into(), &2.into())
            );
        }
    }
    let again =
        || coordinator.patiently(std::time::Instant::now() + LONG, || coordinator.retry(TASK, 2));
    again().expect("is run again");
    (1..5).for_each(|i| world.submit(i, 3));
    coordinator.close(TASK, 3).expect("closes");
    for (round, clients) in [(2, [0, 1, 2, 3]), (3, [1, 2, 3, 4])] {
        world.released(round, &clients);
    }
    // A new one is of the new task.
    let few = coordinator.open((TASK, 4), (600, 1, Some(4)), &world.public());
    assert!(few.is_err_and(|e| e.to_string().contains("the minimum of 4 clients is not from 5")));
}

#[test]
fn of_old_rounds_the_number_stays_and_nothing_else() {
    let limits = "keep_days = 3".to_string();
    let mut world = World::started(Shape { limits, ..Shape::default() });
    for round in [1, 2] {
        world.open(round, 600);
        (0..5 - round).for_each(|i| world.submit(i, round));
    }
    world.submit(4, 1);
    assert_eq!(world.ended(1, LONG)["phase"], "released");
    world.coordinator().abort(TASK, 2).expect("is aborted");
    world.all_know(2, "aborted");
    for (days, erased) in [(2, false), (4, true)] {
        for i in 0..3 {
            world.variables[i] = vec![("SLVR_NODE_SKEW", (days * 24 * 3600).to_string())];
            world.start(i);
        }
        for i in 0..3 {
            until(LONG, "the node looks", || {
                let log = world.logged(i);
                let said = log.matches("what was left of an old round is erased").count();
                let up = log.matches(" started ").count() >= if erased { 3 } else { 2 };
                (up && said == if erased { 2 } else { 0 }).then_some(())
            });
        }
    }
    let coordinator = world.coordinator();
    for round in [1, 2] {
        // Asked for as it was, it is what it was; with another minimum it is refused.
        for minimum in [3, 4] {
            let again = coordinator.open((TASK, round), (600, 1, Some(minimum)), &world.public());
            let ended = again.as_ref().is_ok_and(|s| s["phase"] == "released");
            assert!(again.is_err() || round == 1 && minimum == 3 && ended, "{round}: {again:?}");
        }
    }
    assert!(coordinator.collect(TASK, 1).is_err(), "there is nothing to collect");
    world.open(3, 600);
    world.kill(0);
    let store = world.store(0, None);
    for round in [1, 2] {
        let key = RoundKey { task: TASK.into(), round };
        let record = store.round(&key).expect("reads").expect("is there");
        assert!(record.erased && record.agreement.is_none());
        assert_eq!(store.submissions(&key).expect("reads").len(), 0);
        assert!(store.public(&key).is_err());
        let left: Vec<_> =
            fs::read_dir(world.data(0, round)).expect("a folder").flatten().collect();
        assert!(left.iter().all(|f| f.file_name() == "ended"), "{left:?}");
    }
    assert_eq!(store.rounds().expect("reads").len(), 3);
}

#[test]
fn the_operator_may_look_from_elsewhere_with_a_token() {
    let mut world = World::new(Shape::default());
    world.edit(0, &[("operations = \"127.0.0.1:", "operations = \"0.0.0.0:")]);
    let wrong = check(&toml(&world, 0), &Sums, false);
    let wrong = wrong.iter().find(|f| f.weight == Weight::Wrong).expect("is refused");
    assert!(wrong.what == "operations" && wrong.said.contains("[operator]"), "{wrong:?}");
    let token = sha256(b"of the operator");
    world.add(0, &format!("[operator]\ntokens = [\"{token}\"]"));
    (0..3).for_each(|i| world.start(i));
    world.open(1, 600);
    let told = |path: &str, head: &str, own: Option<&str>| {
        let tls = call_at(&world, (0, world.operations_ports[0]), own).expect("connects");
        let head = format!("GET {path} HTTP/1.1\r\nHost: node\r\nConnection: close\r\n{head}\r\n");
        tls.write_all(head.as_bytes(), true).expect("sends");
        says(&tls)
    };
    let with = "Authorization: Bearer of the operator\r\n";
    assert!(told("/metrics", with, None).contains("slvr_ready 1.0\n"));
    for head in ["", "Authorization: Bearer of nobody\r\n"] {
        assert!(told("/metrics", head, None).starts_with("HTTP/1.1 403"));
    }
    // A client's certificate is no operator's.
    assert!(told("/", "", Some("clients/client-000/client")).starts_with("HTTP/1.1 403"));
    assert!(told("/readyz", "", None).starts_with("HTTP/1.1 200"), "anybody may ask that");
    // Without TLS nothing is said.
    let mut plain = TcpStream::connect(("127.0.0.1", world.operations_ports[0])).expect("connects");
    plain.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sends");
    let mut out = Vec::new();
    let _ = plain.read_to_end(&mut out);
    assert!(!out.starts_with(b"HTTP"), "{}", String::from_utf8_lossy(&out));
}

#[test]
fn a_check_says_everything_that_is_wrong_at_once() {
    let mut world = World::started(Shape::default());
    world.open(1, 600);
    let said = |world: &World, reach: bool| {
        let found = check(&toml(world, 0), &Sums, reach);
        let wrong = found.iter().filter(|f| f.weight == Weight::Wrong);
        wrong.map(|f| (f.what, f.said.clone())).collect::<Vec<_>>()
    };
    assert_eq!(said(&world, true), []);
    world.kill(2);
    let away = said(&world, true);
    assert!(away.len() == 1 && away[0].0 == "reach" && away[0].1.contains("node 2"), "{away:?}");
    let node = world.folder.path().join("node-0");
    fs::copy(world.folder.path().join("node-1/node.key"), node.join("node.key")).expect("copies");
    fs::write(node.join("storage.key"), "no key").expect("writes");
    fs::write(node.join("clients.toml"), "[[client]]\nname = \"/\"\n").expect("writes");
    world.edit(0, &[("\"m=5\"", "\"k=5\"")]);
    let wrong: Vec<&str> = said(&world, false).into_iter().map(|(what, _)| what).collect();
    assert_eq!(wrong, ["certificate", "storage key", "clients", "tasks"]);
}
