//! A round is what a coordinator has signed: what node 0, a client or another coordinator makes of it is refused, with
//! who refuses it and why. Node 0 is played by the tests themselves, with its keys and over its protocol.

use crate::world::{LONG, Shape, TASK, World, client, program, until};
use hyper::Method;
use serde_json::{Value, json};
use slvr_node::client::{CallError, Caller};
use slvr_node::clock::now;
use slvr_node::config::Power;
use slvr_node::hex::{Hash, Hex, hex};
use slvr_node::keys::{appoint, dismiss};
use slvr_node::opening::Seal;
use slvr_node::state::{Agreement, Entry, Excluded, Mandate, Order, RoundKey, Spec};
use slvr_node::submission::{Public, public_hash};
use slvr_node::wire::{Answer, Ask, RunName};

fn key(round: u64) -> RoundKey {
    RoundKey { task: TASK.into(), round }
}

/// The code and the message with which a node says no.
fn no<T: std::fmt::Debug>(done: Result<T, CallError>) -> (String, String) {
    match done.expect_err("is refused") {
        CallError::Refused { code, message, .. } => (code.to_string(), message),
        other => panic!("{other}"),
    }
}

/// Gives a node an opening.
pub fn give(
    caller: &Caller,
    node: usize,
    spec: &Spec,
    public: &Public,
) -> Result<Value, CallError> {
    let public: serde_json::Map<String, Value> =
        public.iter().map(|(j, x)| (j.to_string(), hex(x).into())).collect();
    let body = json!({ "opening": spec, "public": public }).to_string();
    let path = format!("/v1/tasks/{TASK}/rounds/{}", spec.key.round);
    let (_, body) = caller.call(node, &Method::POST, &path, &[], body.as_bytes(), 1 << 16)?;
    Ok(serde_json::from_slice(&body).expect("JSON"))
}

pub fn seal(caller: &Caller) -> Seal {
    Seal::new(&caller.config().secret.expect("a secret").0).expect("a key")
}

/// What a node says to a question in the name of node 0.
fn refused(world: &World, to: usize, ask: &Ask) -> String {
    match world.ask(0, to, ask) {
        Answer::Refused(why) => why,
        other => panic!("node {to} answers {other:?} to {ask:?}"),
    }
}

/// Whatever is changed of an opening, no node takes it from anybody, with any token: the two that node 0 would tell of
/// it say no, and name themselves.
#[test]
fn nothing_of_an_opening_is_changed_after_the_coordinator_has_signed_it() {
    let world = World::started(Shape::default());
    world.open(1, 600);
    let coordinator = world.coordinator();
    let signed = Spec { key: key(2), ..coordinator.opening(TASK, 1).expect("is open") };
    let good = seal(&coordinator).open(signed.clone());
    let twice = Public::from([(1, 2u64.to_le_bytes().to_vec())]);
    type Change = fn(&mut Spec);
    let changes: [(&str, Change); 7] = [
        ("minimum", |s| s.minimum = 2),
        ("deadline", |s| s.deadline += 3600),
        ("grace", |s| s.grace = 0),
        ("roll", |s| s.roll = Hex([1; 32])),
        ("public inputs", |s| {
            s.public = public_hash(&Public::from([(1, 2u64.to_le_bytes().to_vec())]));
        }),
        ("round", |s| s.key.round = 3),
        ("what it continues", |s| s.after = Some(1)),
    ];
    for node in [1, 2] {
        let named = |why: &str| assert!(why.starts_with(&format!("node {node}: ")), "{why}");
        for (what, change) in &changes {
            // With the signature of the right one, and with one of node 0's own.
            let mut altered = good.clone();
            change(&mut altered);
            for spec in [altered.clone(), Seal::new(&[9; 32]).expect("a key").open(altered)] {
                let (code, why) = no(give(&coordinator, node, &spec, &twice));
                assert!(code == "open" && why.contains("not signed"), "{what}: {why}");
                named(&why);
            }
        }
        // Other public inputs beside the right opening.
        let (_, why) = no(give(&coordinator, node, &good, &twice));
        assert!(why.contains("public inputs are not those of the opening"), "{why}");
        named(&why);
        // Somebody enrolled besides, which the coordinator would have signed.
        let other = seal(&coordinator).open(Spec { roll: Hex([1; 32]), ..signed.clone() });
        let (_, why) = no(give(&coordinator, node, &other, &world.public()));
        assert!(why.contains("other clients enrolled"), "{why}");
        assert!(coordinator.status(node, TASK, 2).is_err(), "it is open nowhere");
        // A client opens nothing.
        assert_eq!(no(give(&world.client(0), node, &good, &world.public())).0, "role");
    }
    // And the right one is opened, with the values of its own public inputs, for clients who were given this.
    let open_for =
        |given| coordinator.open_for(Some(Hex([given; 32])), (TASK, 2), (600, 1, Some(3)), &twice);
    open_for(7).expect("opens");
    assert_eq!(coordinator.opening(TASK, 2).expect("is open").context, Some(Hex([7; 32])));
    open_for(7).expect("is open already");
    no(open_for(8));
    (0..5).for_each(|i| world.submit(i, 2));
    assert_eq!(world.ended(2, LONG)["phase"], "released");
    let doubled: Vec<i64> = world.expected(&[0, 1, 2, 3, 4]).iter().map(|x| 2 * x).collect();
    assert_eq!(world.total(2), doubled);
    let report = coordinator.agreed_report(TASK, 2).expect("a report");
    assert_eq!(report["opening"], json!(coordinator.opening(TASK, 2).expect("is there")));
}

/// Node 0 closes early, lowers the minimum, agrees on another opening, ends a round in the coordinator's name, or has the
/// result released before it is computed: each of the others refuses it by itself.
#[test]
fn a_leader_decides_nothing_that_the_coordinator_decides() {
    let mut world = World::started(Shape::default());
    world.begin(1, &[0, 1, 2]);
    let coordinator = world.coordinator();
    let spec = coordinator.opening(TASK, 1).expect("is open");
    world.kill(0);
    let entries: Vec<Entry> = (0..3)
        .map(|i| {
            let m = world.submission(i, 1).manifest;
            Entry { client: client(i), submission: m.submission, digest: m.digest(), set: None }
        })
        .collect();
    let circuit = |m: u64| Hex(slvr_circuit::artifact::hash(&program("sums", m, 8, 4)));
    let agreement = |n: usize, opening: Hash| Agreement {
        opening,
        accepted: entries[..n].to_vec(),
        excluded: entries[n..]
            .iter()
            .map(|e| Excluded { client: e.client.clone(), why: "missing at node 0".into() })
            .collect(),
        circuit: circuit(n as u64),
        clients: n as u64,
        ..Agreement::default()
    };
    let forged = Seal::new(&[9; 32]).expect("a key").order(&spec.digest(), Order::Close, [0; 3]);
    // An order for another round, and another order for this one.
    let own = seal(&coordinator);
    let elsewhere = own.order(&Hex([0; 32]), Order::Close, [0; 3]);
    let abort = own.order(&spec.digest(), Order::Abort, [0; 3]);
    for node in [1, 2] {
        let close = |order: Option<Mandate>| Ask::Close { key: key(1), order };
        let why = refused(&world, node, &close(None));
        assert!(why.starts_with(&format!("node {node}: ")), "{why}");
        assert!(why.contains("the coordinator has not closed it"), "{why}");
        for order in [forged, elsewhere, abort] {
            let why = refused(&world, node, &close(Some(order)));
            assert!(why.contains(&format!("node {node}")) && why.contains("no order"), "{why}");
        }
        assert_eq!(coordinator.status(node, TASK, 1).expect("a round")["phase"], "open");
        // The coordinator closes it, and nothing else has changed.
        let order = own.order(&spec.digest(), Order::Close, [0; 3]);
        match world.ask(0, node, &close(Some(order))) {
            Answer::Complete(all) => assert_eq!(all.len(), 3),
            other => panic!("{other:?}"),
        }
        let agree = |agreement| Ask::Agree { key: key(1), agreement };
        let why = refused(&world, node, &agree(agreement(3, Hex([7; 32]))));
        assert!(why.contains(&format!("node {node} has another opening")), "{why}");
        let why = refused(&world, node, &agree(agreement(2, spec.digest())));
        assert!(why.contains("which is not so at node") || why.contains("minimum is 3"), "{why}");
        assert!(matches!(world.ask(0, node, &agree(agreement(3, spec.digest()))), Answer::Done));
        let release = Ask::Release(RunName { key: key(1), attempt: 1 });
        assert!(refused(&world, node, &release).contains("not finished here"));
        // It may end the round, as each node may, and not in the coordinator's name.
        let why = "the coordinator aborted it".to_string();
        let ends = Ask::Abort { key: key(1), why, order: None };
        assert!(matches!(world.ask(0, node, &ends), Answer::Done));
        let shown = coordinator.status(node, TASK, 1).expect("a round");
        assert!(shown["aborted"].as_str().expect("a cause").starts_with("node 0 says"), "{shown}");
    }
}

/// Node 0 shows clients and coordinators another opening than it has given the others, or than the coordinator has signed.
#[test]
fn an_opening_that_one_node_shows_otherwise_is_submitted_to_and_collected_by_nobody() {
    let mut world = World::started(Shape::default());
    world.begin(1, &[0, 1, 2]);
    let honest = world.opening(1);
    let change = |world: &mut World, minimum: u64| {
        world.kill(0);
        let store = world.store(0, None);
        let mut round = store.round(&key(1)).expect("reads").expect("is there");
        round.spec.minimum = minimum;
        store.put_round(&round).expect("writes");
        drop(store);
        world.start(0);
    };
    change(&mut world, 2);
    let shown = until(LONG, "node 0 is there", || match world.client(4).opening(TASK, 1) {
        Err(e) if e.passes() => None,
        done => Some(done),
    });
    let why = shown.expect_err("they differ").to_string();
    assert!(why.contains("nodes 0 and 1 show different openings"), "{why}");
    // Whoever believes node 0 all the same is heard by nobody else.
    let told = world.coordinator().status(0, TASK, 1).expect("a round")["opening"].clone();
    let told = Hash::parse(told.as_str().expect("a hash")).expect("a hash");
    assert_ne!(told, honest);
    let fooled = world.submission_to(4, 1, (vec![0.0; 8], true), told);
    for node in [1, 2] {
        let done = world.submit_to(4, node, &fooled);
        assert_eq!(no(done).0, "opening");
    }
    change(&mut world, 3);
    let closes = || world.coordinator().close(TASK, 1).ok();
    until(LONG, "node 0 is there", closes);
    world.released(1, &[0, 1, 2]);
    change(&mut world, 2);
    let collected = until(LONG, "node 0 is there", || match world.coordinator().collect(TASK, 1) {
        Err(e) if e.passes() => None,
        done => Some(done),
    });
    let why = collected.expect_err("they differ").to_string();
    assert!(why.contains("nodes 0 and 1 show different openings"), "{why}");
}

/// One coordinator opens and another collects; a new key is accepted beside the old one until that is dismissed.
#[test]
fn each_coordinator_may_do_its_own_and_keys_are_exchanged_without_a_stop() {
    let mut world = World::new(Shape::default());
    let folder = world.folder.path().to_path_buf();
    appoint(&folder, "opener", &[Power::Open]).expect("is appointed");
    appoint(&folder, "reader", &[Power::Collect]).expect("is appointed");
    (0..3).for_each(|i| world.start(i));
    world.open(1, 600);
    let [opener, reader] =
        ["opener", "reader"].map(|name| world.caller(&format!("{name}/coordinator.toml")));
    let how = (600, 1, Some(3));
    assert_eq!(no(reader.open((TASK, 2), how, &world.public())).0, "role");
    // Nor does its signature open anything, whoever brings it.
    let spec = Spec { key: key(2), ..opener.opening(TASK, 1).expect("is open") };
    let (_, why) = no(give(&opener, 1, &seal(&reader).open(spec), &world.public()));
    assert!(why.contains("not signed by a coordinator that may open"), "{why}");
    opener.open((TASK, 2), how, &world.public()).expect("opens");
    for done in [reader.close(TASK, 2).map(drop), reader.abort(TASK, 2).map(drop)] {
        assert_eq!(no(done).0, "role");
    }
    (0..5).for_each(|i| world.submit(i, 2));
    assert_eq!(world.ended(2, LONG)["phase"], "released");
    assert_eq!(no(opener.collect(TASK, 2)).0, "role");
    let got = reader.collect(TASK, 2).expect("collects").revealed;
    let got: Vec<i64> = got[0].values.iter().map(|v| v.round() as i64).collect();
    assert_eq!(got, world.expected(&[0, 1, 2, 3, 4]));
    assert_eq!(no(reader.erase(TASK, 2, &["submissions"])).0, "role");
    reader.erase(TASK, 2, &["words"]).expect("erases");
    // The first one is dismissed: its rounds go on, and it opens none any more.
    dismiss(&folder, "coordinator").expect("is dismissed");
    (0..3).for_each(|i| world.start(i));
    (0..5).for_each(|i| world.submit(i, 1));
    until(LONG, "the round ends", || {
        reader.status(0, TASK, 1).ok().filter(|s| s["phase"] == "released")
    });
    reader.collect(TASK, 1).expect("knows the key that has opened it");
    let old = world.coordinator().open((TASK, 3), how, &world.public());
    assert_eq!(no(old).0, "unknown");
}

/// A round that one node refuses to open is open nowhere, and the number is as good as new.
#[test]
fn a_number_is_not_used_up_by_an_opening_that_fails() {
    let mut world = World::new(Shape::default());
    world.edit(2, &[("minimum = 2", "minimum = 5")]);
    (0..3).for_each(|i| world.start(i));
    let coordinator = world.coordinator();
    let open = |minimum| coordinator.open((TASK, 1), (600, 1, Some(minimum)), &world.public());
    let why = until(LONG, "the nodes are there", || match open(4) {
        Err(CallError::Refused { node: 2, message, .. }) => Some(message),
        Err(e) if e.passes() => None,
        other => panic!("{other:?}"),
    });
    assert!(why.contains("minimum of 4 clients is not from 5, the task's at node 2"), "{why}");
    for node in 0..3 {
        assert!(coordinator.status(node, TASK, 1).is_err(), "it is open at node {node}");
    }
    assert_eq!(open(5).expect("opens")["phase"], "open");
    // One that is open at all nodes is not opened otherwise.
    assert!(
        no(coordinator.open(
            (TASK, 1),
            (600, 1, Some(5)),
            &Public::from([(1, 3u64.to_le_bytes().to_vec())])
        ))
        .1
        .contains("exists already")
    );
    // Of one that is open at some and that nobody has submitted to nothing is left once it is opened otherwise.
    let spec = Spec { key: key(2), minimum: 5, ..coordinator.opening(TASK, 1).expect("is open") };
    give(&coordinator, 1, &seal(&coordinator).open(Spec { grace: 77, ..spec }), &world.public())
        .expect("opens at node 1");
    let shown = coordinator.open((TASK, 2), (600, 1, Some(5)), &world.public()).expect("opens");
    assert_eq!(shown["grace"], 1);
    (0..5).for_each(|i| world.submit(i, 2));
    world.released(2, &[0, 1, 2, 3, 4]);
    // One with submissions is not withdrawn.
    let opening = world.opening(2);
    assert_eq!(no(withdraw(&coordinator, 1, 2, &opening)).0, "step");
}

/// Asks a node to forget an opening.
fn withdraw(caller: &Caller, node: usize, round: u64, opening: &Hash) -> Result<(), CallError> {
    let path = format!("/v1/tasks/{TASK}/rounds/{round}?opening={opening}");
    caller.call(node, &Method::DELETE, &path, &[], &[], 1 << 16).map(drop)
}

/// Two coordinators open the same numbers at the same time, each with a minimum of its own. Whoever is told that a round is
/// open has it open at all three nodes, as it wants it: so at most one of them is.
#[test]
fn of_two_that_open_the_same_round_at_once_one_is_told_that_it_is_open() {
    let mut world = World::new(Shape::default());
    appoint(world.folder.path(), "other", &[Power::Open]).expect("is appointed");
    (0..3).for_each(|i| world.start(i));
    world.open(1000, 600);
    let rounds = 12;
    let barrier = std::sync::Barrier::new(2);
    // Whether it was told that the round is open, and the minimum that each node has once both have ended.
    let opens = |file: &str, minimum: u64| -> Vec<(bool, [Option<u64>; 3])> {
        let caller = world.caller(file);
        let one = |round| {
            barrier.wait();
            let done = caller.open((TASK, round), (600, 1, Some(minimum)), &world.public());
            barrier.wait();
            (
                done.is_ok(),
                [0, 1, 2].map(|n| caller.status(n, TASK, round).ok()?["minimum"].as_u64()),
            )
        };
        (1..=rounds).map(one).collect()
    };
    let (one, two) = std::thread::scope(|scope| {
        let two = scope.spawn(|| opens("other/coordinator.toml", 4));
        (opens("coordinator/coordinator.toml", 3), two.join().expect("ends"))
    });
    for (round, ((a, held), (b, _))) in (1..).zip(one.iter().zip(&two)) {
        let wanted = match (a, b) {
            (true, false) => [Some(3); 3],
            (false, true) => [Some(4); 3],
            _ => panic!(
                "round {round} is told to be open to {}: {held:?}",
                if *a { "both" } else { "nobody" }
            ),
        };
        assert_eq!(*held, wanted, "round {round}");
    }
}

/// Nobody withdraws what another one opens: a withdrawal names its opening, and what node 0 has stays.
#[test]
fn a_withdrawal_names_the_opening_that_it_withdraws() {
    let world = World::started(Shape::default());
    world.open(1, 600);
    let coordinator = world.coordinator();
    let first = coordinator.opening(TASK, 1).expect("is open");
    let of = |grace| seal(&coordinator).open(Spec { key: key(2), grace, ..first.clone() });
    let (mine, other) = (of(5), of(6));
    // It is at node 1, and goes on to the others.
    give(&coordinator, 1, &mine, &world.public()).expect("opens at node 1");
    let (code, why) = no(withdraw(&coordinator, 1, 2, &other.digest()));
    assert!(code == "step" && why.contains("another opening"), "{why}");
    assert_eq!(no(give(&coordinator, 1, &other, &world.public())).0, "exists");
    for node in [2, 0] {
        give(&coordinator, node, &mine, &world.public()).expect("opens");
    }
    // Somebody who has seen it at node 1 only is late.
    let (code, why) = no(withdraw(&coordinator, 0, 2, &mine.digest()));
    assert!(code == "step" && why.contains("open at all nodes"), "{why}");
    assert_eq!(coordinator.opening(TASK, 2).expect("is open").digest(), mine.digest());
    // And what is withdrawn in time is opened nowhere afterwards.
    let gone = seal(&coordinator).open(Spec { key: key(3), ..first.clone() });
    give(&coordinator, 1, &gone, &world.public()).expect("opens at node 1");
    for node in [0, 1] {
        withdraw(&coordinator, node, 3, &gone.digest()).expect("is withdrawn");
    }
    let (_, why) = no(give(&coordinator, 0, &gone, &world.public()));
    assert!(why.contains("was withdrawn"), "{why}");
    for node in 0..3 {
        assert!(coordinator.status(node, TASK, 3).is_err(), "node {node}");
    }
}

/// A node whose clock has ended a round opens none, and the middle clock of the three sets the deadline.
#[test]
fn a_node_whose_clock_has_ended_a_round_does_not_open_it() {
    let mut world = World::new(Shape::default());
    world.variables[2].push(("SLVR_NODE_SKEW", "3600".into()));
    (0..3).for_each(|i| world.start(i));
    let coordinator = world.coordinator();
    let open = |n, seconds| coordinator.open((TASK, n), (seconds, 1, Some(3)), &world.public());
    let why = until(LONG, "the nodes are there", || match open(1, 600) {
        Err(CallError::Refused { message, .. }) => Some(message),
        Err(e) if e.passes() => None,
        other => panic!("{other:?}"),
    });
    assert!(why.starts_with("node 2: by its clock the round has ended"), "{why}");
    let shown = open(1, 7200).expect("opens");
    let left = shown["deadline"].as_u64().expect("a number").abs_diff(now());
    assert!((7000..=7201).contains(&left), "{shown}");
    (0..5).for_each(|i| world.submit(i, 1));
    world.released(1, &[0, 1, 2, 3, 4]);
}

/// Nodes 1 and 2 end a round that nobody leads any more, and say why; afterwards it is run again from what they have kept.
#[test]
fn a_round_ends_by_itself_when_node_0_stays_away() {
    let mut world = World::started(Shape { deadline: 2, patience: 4, ..Shape::default() });
    world.begin(1, &[0, 1, 2, 3]);
    let coordinator = world.coordinator();
    let spec = coordinator.opening(TASK, 1).expect("is open");
    world.kill(0);
    // Before its time nobody gives it up: the coordinator closes it.
    let order = seal(&coordinator).order(&spec.digest(), Order::Close, [0; 3]);
    for node in [1, 2] {
        let path = format!("/v1/tasks/{TASK}/rounds/1/close");
        let body = json!(order).to_string();
        let done = coordinator.call(node, &Method::POST, &path, &[], body.as_bytes(), 1 << 16);
        assert_eq!(done.expect("closes").0, 200);
    }
    for node in [1, 2] {
        let why = world.shows(node, 1, "it ends", |s| s["aborted"].is_string())["aborted"].take();
        assert!(why.to_string().contains("node 0 has not been heard of for 4 s"), "{why}");
    }
    world.start(0);
    // Node 0 hears of the order and of the end.
    let why = world.ended(1, LONG)["aborted"].to_string();
    assert!(why.contains("node 0 has not been heard of"), "{why}");
    until(LONG, "it is run again", || coordinator.retry(TASK, 1).ok());
    world.released(1, &[0, 1, 2, 3]);
}

/// More are enrolled than there are places. Whoever is complete at one node only takes none.
#[test]
fn a_place_is_taken_by_who_is_complete_at_all_three_nodes() {
    let mut world = World::new(Shape { m: 5, minimum: 2, ..Shape::default() });
    for i in 0..3 {
        world.edit(i, &[("\"m=5\"", "\"m=3\"")]);
        world.start(i);
    }
    world.shape.m = 3;
    world.open(1, 600);
    // One that is complete at nodes 0 and 1, and one at node 2.
    for (i, nodes) in [(3, &[0, 1][..]), (4, &[2])] {
        let made = world.submission(i, 1);
        for &node in nodes {
            world.submit_to(i, node, &made).expect("submits");
        }
    }
    (0..3).for_each(|i| world.submit(i, 1));
    world.released(1, &[0, 1, 2]);
    // All five come: three of them get places, and each of the others is told of it.
    world.open(2, 600);
    let (made, mut late) = ((0..5).map(|i| world.submission(i, 2)).collect::<Vec<_>>(), 0);
    for node in 0..3 {
        for (i, made) in made.iter().enumerate() {
            let done = world.client(i as u64).submit_to(node, made, &|_, _, _| {});
            late += u64::from(done.is_err_and(|e| no::<()>(Err(e)).0 == "closed"));
        }
    }
    assert_eq!(world.ended(2, LONG)["phase"], "released");
    let report = world.coordinator().agreed_report(TASK, 2).expect("a report");
    let names = |list: &str| -> Vec<String> {
        let all = report[list].as_array().expect("a list").iter();
        all.map(|e| e["client"].as_str().expect("a name").to_string()).collect()
    };
    let accepted: Vec<u64> = (0..5).filter(|i| names("accepted").contains(&client(*i))).collect();
    assert_eq!((accepted.len(), names("excluded").len()), (3, 2), "{report}, {late} came late");
    assert_eq!(world.total(2), world.expected(&accepted));
}
