//! One of the parties, or a client, does what it should not: the others are unharmed.

use crate::attacks::{call_at, is_closed, says};
use crate::harness::Asked;
use crate::world::{LONG, Shape, TASK, World, client, until};
use serde_json::Value;
use slvr_node::client::CallError;
use slvr_node::codes::Code;
use slvr_node::config::token_for;
use slvr_node::hex::Hex;
use slvr_node::state::{
    Agreement, Entry, Excluded, Outcome, Phase, Round, RoundKey, Signature, Spec, Step,
};
use slvr_node::store::{Left, Record};
use slvr_node::submission::{Manifest, Public};
use slvr_node::wire::{Answer, Ask, RunName};
use slvr_runtime::link::tls::Secure;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Asks a node over a connection of its own; the whole answer.
fn asked(world: &World, node: usize, token: &str, what: &str) -> String {
    let tls = call_at(world, (node, world.client_ports[node]), None).expect("connects");
    let head = format!(
        "{what} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    tls.write_all(head.as_bytes(), true).expect("sends");
    says(&tls)
}

#[test]
fn what_a_node_is_told_of_a_caller_is_worth_nothing_at_another_node() {
    let world = World::started(Shape::default());
    world.open(1, 600);
    let path = format!("GET /v1/tasks/{TASK}/rounds/1");
    for caller in [world.coordinator(), world.client(0)] {
        let secret = caller.config().token.clone().expect("a secret");
        for at in 0..3 {
            for of in 0..3 {
                let answer = asked(&world, at, &token_for(&secret, of), &path);
                let status = if at == of { "HTTP/1.1 200" } else { "HTTP/1.1 401" };
                assert!(answer.starts_with(status), "the token for {of} at {at}: {answer}");
            }
            // The secret itself is sent to nobody, and serves nowhere.
            assert!(asked(&world, at, &secret, &path).starts_with("HTTP/1.1 401"));
        }
    }
    // No node's files have what another one's token follows from, or is compared with alone.
    let secret = world.coordinator().config().token.clone().expect("a secret");
    for at in 0..3 {
        let toml = fs::read_to_string(world.folder.path().join(format!("node-{at}/node.toml")));
        let toml = toml.expect("a configuration");
        assert!(!toml.contains(&secret));
        for of in 0..3 {
            let hash = slvr_node::hex::sha256(token_for(&secret, of).as_bytes()).to_string();
            assert_eq!(toml.contains(&hash), at == of, "the hash for {of} at {at}");
        }
    }
}

#[test]
fn a_leader_begins_no_more_attempts_than_a_follower_lets_it() {
    let world = World::started(Shape { limits: "attempts = 2".into(), ..Shape::default() });
    world.open(1, 600);
    let key = RoundKey { task: TASK.into(), round: 1 };
    let begin = |attempt| match world.ask(0, 1, &Ask::Start(RunName { key: key.clone(), attempt }))
    {
        Answer::Refused(why) => why,
        other => panic!("{other:?}"),
    };
    for attempt in [3, 4, u32::MAX] {
        let why = begin(attempt);
        assert!(why.contains("this node makes 2"), "{why}");
    }
    assert!(!begin(2).contains("this node makes 2"), "only the phase speaks against it");
}

#[test]
fn numbers_of_rounds_that_not_every_reader_tells_apart_are_refused() {
    let world = World::started(Shape::default());
    world.open(RoundKey::LAST, 600);
    let open = |n: u64| world.coordinator().open((TASK, n), (60, 1, None), &world.public());
    for n in [RoundKey::LAST + 1, u64::MAX] {
        assert!(
            open(n).is_err_and(|e| e.to_string().contains("from 0 to 9007199254740991")),
            "{n}"
        );
    }
    // The last one is a round as any other.
    (0..5).for_each(|i| world.submit(i, RoundKey::LAST));
    assert_eq!(world.ended(RoundKey::LAST, LONG)["phase"], "released");
}

/// A node that sends a byte of its handshake now and then, for as long as it is listened to.
struct Drips {
    port: u16,
    most: Arc<AtomicUsize>,
    calls: Arc<AtomicUsize>,
    end: Arc<AtomicBool>,
}

impl Drips {
    fn new() -> Drips {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let drips =
            Drips { port, most: Arc::default(), calls: Arc::default(), end: Arc::default() };
        let (most, calls, end) = (drips.most.clone(), drips.calls.clone(), drips.end.clone());
        let open = Arc::new(AtomicUsize::new(0));
        thread::spawn(move || {
            for socket in listener.incoming() {
                let (mut socket, open) = (socket.expect("a caller"), open.clone());
                let end = end.clone();
                calls.fetch_add(1, Ordering::Relaxed);
                most.fetch_max(open.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                thread::spawn(move || {
                    // The head of a record of 16 kB that never ends.
                    let mut alive = socket.write_all(&[0x16, 3, 3, 0x40, 0]).is_ok();
                    let _ = socket.set_read_timeout(Some(Duration::from_millis(300)));
                    while alive && !end.load(Ordering::Relaxed) {
                        alive = socket.write_all(b"x").is_ok();
                        // The end of it, if it has come.
                        alive &= !matches!(socket.read(&mut [0; 4096]), Ok(0));
                    }
                    open.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
        drips
    }
}

impl Drop for Drips {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_node_that_drips_its_handshake_is_given_up_and_holds_few_threads() {
    let drips = Drips::new();
    let mut world = World::new(Shape { deadline: 3, ..Shape::default() });
    let (_, link) = world.links.iter().find(|(pair, _)| *pair == (0, 2)).expect("a link");
    let ports = [link.port, drips.port].map(|port| format!(":{port}\""));
    world.edit(0, &[(&ports[0], &ports[1])]);
    (0..3).for_each(|i| world.start(i));
    world.open(1, 600);
    world.coordinator().close(TASK, 1).expect("closes");
    // Without an end of its own the call would go on for as long as a byte comes.
    let waits = |s: &Value| s["waits"].as_str().is_some_and(|w| w.contains("node 2"));
    world.shows(0, 1, "node 0 gives the call up", waits);
    // It is looked for again and again, by one thread at a time, and once for the round.
    let again = || (drips.calls.load(Ordering::Relaxed) >= 5).then_some(());
    until(LONG, "it is called again", again);
    let most = drips.most.load(Ordering::Relaxed);
    assert!(most <= 3, "{most} calls at the same time");
}

#[test]
fn a_node_that_cannot_erase_holds_up_no_release_and_erases_when_it_can() {
    let world = World::started(Shape::default());
    world.begin(1, &[0, 1, 2, 3]);
    let folder = |node: usize| world.data(node, 1);
    // A folder in its place cannot be overwritten. The node has the key in its memory.
    for node in [0, 1] {
        fs::rename(folder(node).join("key"), folder(node).join("elsewhere")).expect("renames");
        fs::create_dir(folder(node).join("key")).expect("a folder");
    }
    world.submit(4, 1);
    assert_eq!(world.ended(1, LONG)["phase"], "released");
    world.all_know(1, "released");
    assert_eq!(world.total(1), world.expected(&[0, 1, 2, 3, 4]));
    let parts = |node: usize| {
        let all = fs::read_dir(folder(node)).expect("a folder").flatten();
        all.filter(|f| f.path().extension().is_some_and(|e| e == "part")).count()
    };
    for node in [0, 1] {
        assert_eq!(parts(node), 5, "node {node}");
        fs::remove_dir(folder(node).join("key")).expect("removes");
        until(LONG, "they are erased later", || (parts(node) == 0).then_some(()));
    }
}

#[test]
fn a_round_ends_without_node_0_if_the_coordinator_says_so_and_node_0_learns_of_it() {
    let mut world = World::started(Shape::default());
    for round in [1, 2] {
        world.begin(round, &[0, 1, 2]);
    }
    assert!(world.client(0).abort(TASK, 1).is_err(), "not for clients");
    world.kill(0);
    let told = world.coordinator().abort(TASK, 1).expect("the others do it");
    assert!(told[0].is_err(), "{told:?}");
    for node in 1..3 {
        let shown = world.coordinator().status(node, TASK, 1).expect("answers");
        assert_eq!(shown["phase"], "aborted", "{shown}");
        assert_eq!(shown["aborted"], "the coordinator aborted it", "{shown}");
    }
    world.start(0);
    assert_eq!(world.ended(1, LONG)["aborted"], "the coordinator aborted it");
    // Node 0 has lost what it kept of the other round.
    world.kill(0);
    let data = world.folder.path().join("node-0/data");
    fs::rename(&data, data.with_extension("lost")).expect("moves");
    world.start(0);
    let told = until(LONG, "node 0 is there", || {
        let told = world.coordinator().abort(TASK, 2).ok()?;
        matches!(&told[0], Err(CallError::Refused { code: Code::Round, .. })).then_some(told)
    });
    assert!(told[1].is_ok() && told[2].is_ok(), "{told:?}");
    // Nobody knows this one.
    let e = world.coordinator().abort(TASK, 7).expect_err("no such round");
    assert!(matches!(&e, CallError::Refused { code: Code::Round, .. }), "{e}");
    world.begin(3, &[0, 1, 2, 3, 4]);
    world.released(3, &[0, 1, 2, 3, 4]);
}

#[test]
fn one_client_with_many_connections_keeps_nobody_out() {
    let world =
        World::started(Shape { idle: 600, limits: "connections = 64".into(), ..Shape::default() });
    world.open(1, 600);
    let own = format!("clients/{}/client", client(0));
    let at = (0, world.client_ports[0]);
    let many: Vec<Secure> = (0..80)
        .map(|_| {
            let tls = call_at(&world, at, Some(&own)).expect("connects");
            tls.write_all(b"GET /v1/tasks HTTP/1.1\r\nHost: x\r\n\r\n", true).expect("sends");
            assert!(tls.read(&mut [0; 4096]).is_ok_and(|n| n > 0), "is answered");
            tls
        })
        .collect();
    // The first ones have made room for its own later ones.
    let short = Some(Duration::from_secs(2));
    let closed = |tls: &Secure| tls.socket().set_read_timeout(short).is_ok() && is_closed(tls);
    assert!(many[..64].iter().all(closed), "it has no more than its share");
    let mut last = many[79].socket();
    last.set_nonblocking(true).expect("a socket");
    let waits = last.read(&mut [0; 1]).expect_err("it is open, and nothing has come");
    assert_eq!(waits.kind(), std::io::ErrorKind::WouldBlock);
    (0..5).for_each(|i| world.submit(i, 1));
    world.released(1, &[0, 1, 2, 3, 4]);
}

#[test]
fn no_client_makes_a_node_compile() {
    let world = World::started(Shape::default());
    world.open(1, 600);
    for (caller, status) in [(world.client(0), Some(403)), (world.coordinator(), None)] {
        let path = format!("/v1/tasks/{TASK}/artifact?clients=3");
        let done = caller.call(1, &hyper::Method::GET, &path, &[], &[], 1 << 20);
        let refused = match done {
            Ok(_) => None,
            Err(CallError::Refused { status, .. }) => Some(status),
            Err(other) => panic!("{other}"),
        };
        assert_eq!(refused, status);
    }
    // Nobody gets a circuit that no round can have.
    for n in [0, 1, 6, u64::MAX] {
        let path = format!("/v1/tasks/{TASK}/artifact?clients={n}");
        let done = world.coordinator().call(1, &hyper::Method::GET, &path, &[], &[], 1 << 20);
        assert!(done.is_err(), "{n}");
    }
}

fn spec(n: u64) -> Spec {
    let h = Hex([0; 32]);
    let key = RoundKey { task: "t".into(), round: n };
    let signed = Signature { coordinator: h, signature: Hex([0; 64]) };
    Spec {
        key,
        circuit: h,
        clients: 5,
        minimum: 2,
        public: h,
        deadline: 0,
        grace: 0,
        after: None,
        context: None,
        roll: h,
        signed,
    }
}

/// A round that a node has computed.
fn computed(n: u64) -> Round {
    let gone = Excluded { client: "x".into(), why: "missing at node 1".into() };
    let entry = |c: &str| Entry { client: c.into(), ..Entry::default() };
    let (accepted, excluded) = (vec![entry("a"), entry("b")], vec![gone]);
    let agreement = Agreement { accepted, excluded, clients: 2, ..Agreement::default() };
    let outcome = Outcome { attempt: 1, ..Outcome::default() };
    let mut round = Round::new(spec(n), 1);
    for step in [Step::Close, Step::Agree(agreement), Step::Start(1), Step::Compute(outcome)] {
        round.step(step, 1).expect("follows");
    }
    round
}

#[test]
fn what_was_computed_and_cannot_be_read_is_computed_again() {
    let dir = tempfile::tempdir().expect("a folder");
    // A crash between what was erased and the step that says so.
    let asked = Asked::with(dir.path(), |store| {
        for n in 1..3 {
            store.open_round(&Round::new(spec(n), 1), &Public::new()).expect("opens");
            store.put_round(&computed(n)).expect("writes");
        }
        store.keep(&spec(2).key, Left::Result, b"words").expect("writes");
    });
    let lost = asked.node().round(&spec(1).key).expect("is there");
    assert_eq!((lost.phase, lost.failures.len()), (Phase::Agreed, 1));
    assert!(lost.failures[0].why.contains("cannot be read"), "{:?}", lost.failures);
    let there = asked.node().round(&spec(2).key).expect("is there");
    assert_eq!((there.phase, there.failures.len()), (Phase::Computed, 0));
}

#[test]
fn a_long_history_takes_little_memory_and_is_listed_in_pieces() {
    let dir = tempfile::tempdir().expect("a folder");
    let asked = Asked::with(dir.path(), |store| {
        for n in 1..=130 {
            let mut round = computed(n);
            round.step(Step::Abort("w".into()), 1).expect("ends");
            store.open_round(&round, &Public::new()).expect("opens");
        }
    });
    let all = asked.node().rounds();
    assert_eq!(all.len(), 130);
    assert!(all.iter().all(|r| r.agreement.is_none() && r.outcome.is_none()));
    let whole = asked.node().record(&spec(7).key).expect("reads").expect("is there");
    assert_eq!(whole.agreement.as_ref().map(|a| a.accepted.len()), Some(2));
    let list = |query: &str| -> Vec<(u64, u64)> {
        let head = format!(
            "GET /v1/tasks/t/rounds{query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer CLIENT\r\n\r\n"
        );
        let answer = String::from_utf8(asked.request(head.as_bytes())).expect("text");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        let all: Vec<serde_json::Value> = serde_json::from_str(body).expect("JSON");
        let one = |r: &serde_json::Value| (r["round"].as_u64(), r["accepted"].as_u64());
        all.iter().map(one).map(|(n, a)| (n.expect("a number"), a.expect("a number"))).collect()
    };
    assert_eq!(list(""), (31..=130).map(|n| (n, 2)).collect::<Vec<_>>());
    assert_eq!(list("?before=31"), (1..31).map(|n| (n, 2)).collect::<Vec<_>>());
}

#[test]
fn a_round_runs_no_other_circuit_than_the_one_its_clients_have_signed() {
    let mut world = World::started(Shape::default());
    world.begin(1, &[0, 1, 2, 3]);
    let change = |world: &mut World, from: &str, to: &str| {
        for i in 0..3 {
            world.kill(i);
            world.edit(i, &[(from, to)]);
        }
        (0..3).for_each(|i| world.start(i));
    };
    // All three nodes have the same other program now, and would agree with each other.
    change(&mut world, "layers=4", "layers=5");
    let closes = || world.coordinator().close(TASK, 1).ok();
    until(LONG, "node 0 is there", closes);
    let waits = |s: &Value| {
        assert!(s["phase"] == "closed" || s["phase"] == "agreed", "{s}");
        s["waits"].as_str().is_some_and(|w| w.contains("another circuit"))
    };
    let why = world.shows(0, 1, "it says why it waits", waits)["waits"].to_string();
    assert!(why.contains("node 0 has another circuit for `sums`"), "{why}");
    change(&mut world, "layers=5", "layers=4");
    world.released(1, &[0, 1, 2, 3]);
}

/// A node lists submissions that cannot be. Nobody waits for them, nobody is named, and the others count.
#[test]
fn what_cannot_be_neither_stops_a_round_nor_changes_it() {
    let mut world = World::started(Shape { patience: 100_000, ..Shape::default() });
    world.begin(1, &[0, 1, 2, 3]);
    world.kill(1);
    let store = world.store(1, None);
    let key = RoundKey { task: TASK.into(), round: 1 };
    let own = store.submissions(&key).expect("reads").remove(0);
    for (client, set) in [("../key", None), ("client-004", Some("Nobody"))] {
        let manifest = Manifest { client: client.into(), ..own.manifest.clone() };
        let set = set.map(str::to_string);
        store.count(&Record { manifest, set, ..own.clone() }).expect("counts");
    }
    drop(store);
    world.start(1);
    world.shows(1, 1, "node 1 is there", |_| true);
    world.coordinator().close(TASK, 1).expect("closes");
    world.released(1, &[0, 1, 2, 3]);
    let report = world.coordinator().agreed_report(TASK, 1).expect("a report");
    assert_eq!(report["excluded"], serde_json::json!([]), "{report}");
}
