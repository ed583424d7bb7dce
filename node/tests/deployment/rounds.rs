//! A round from its keys to its result; exclusion, deadlines, idempotence, recovery.

use crate::world::{LONG, Shape, TASK, World, client, until};
use serde_json::Value;
use slvr_node::client::CallError;
use slvr_node::state::RoundKey;
use slvr_node::wire::{Answer, Ask};
use slvr_runtime::share::encode::RawTensor;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

fn code(e: CallError) -> String {
    match e {
        CallError::Refused { code, .. } => code.to_string(),
        other => panic!("{other}"),
    }
}

#[test]
fn ten_clients_submit_to_three_processes_and_the_sum_is_that_of_a_local_run() {
    let shape = Shape { m: 10, n: 12, ..Shape::default() };
    let mut world = World::new(shape);
    // Any order of starting does.
    [2, 0, 1].into_iter().for_each(|i| world.start(i));
    world.open(1, 600);
    (0..10).for_each(|i| world.submit(i, 1));
    let status = world.ended(1, LONG);
    assert_eq!(status["phase"], "released", "{status}");
    let total = world.total(1);
    let all: Vec<u64> = (0..10).collect();
    assert_eq!(total, world.expected(&all));
    // The same inputs in a run of this process.
    let member = |i: u64| {
        let mut x = vec![0.0; 12];
        x[i as usize] = 1.0;
        BTreeMap::from([("update".to_string(), RawTensor::reals([12], x))])
    };
    let inputs = slvr_runtime::share::encode::Inputs {
        public: BTreeMap::from([("scale".to_string(), RawTensor::integers([1], vec![1]))]),
        sets: vec![(0..10).map(member).collect()],
    };
    let (circuit, _) = world.circuit();
    let local = slvr_runtime::party::session::run_local(&circuit, &inputs, &Default::default())
        .expect("runs");
    let local: Vec<i64> = local.outputs[0].values.iter().map(|v| v.round() as i64).collect();
    assert_eq!(total, local);
    let report = world.coordinator().report(0, TASK, 1).expect("a report");
    assert_eq!(report["accepted"].as_array().map(Vec::len), Some(10), "{report}");
    assert_eq!(report["outcome"]["attempt"], 1, "{report}");
    // What was submitted is gone once the round is released, and the words once they are collected.
    for node in 0..3 {
        let folder = world.data(node, 1);
        // A node erases behind its answers.
        until(LONG, "submissions are erased", || {
            let all = std::fs::read_dir(&folder).expect("a folder").flatten();
            let left: BTreeSet<String> =
                all.map(|f| f.file_name().to_string_lossy().into_owned()).collect();
            (left == ["ended", "result"].map(String::from).into()).then_some(())
        });
    }
    // Words that cannot be read are not gone.
    let file = world.data(1, 1).join("result");
    let words = std::fs::read(&file).expect("reads");
    std::fs::write(&file, b"other").expect("writes");
    assert_eq!(code(world.coordinator().collect(TASK, 1).expect_err("is damaged")), "store");
    std::fs::write(&file, words).expect("writes");
    assert_eq!(world.total(1), total);
    world.coordinator().erase(TASK, 1, &["words"]).expect("erases");
    assert_eq!(code(world.coordinator().collect(TASK, 1).expect_err("is gone")), "collected");
}

#[test]
fn a_client_that_one_node_is_missing_is_excluded_and_the_circuit_is_for_the_rest() {
    let world = World::started(Shape::default());
    world.begin(1, &[0, 1, 2, 3]);
    let half = world.submission(4, 1);
    for node in [0, 2] {
        world.submit_to(4, node, &half).expect("submits");
    }
    world.coordinator().close(TASK, 1).expect("closes");
    world.released(1, &[0, 1, 2, 3]);
    let report = world.coordinator().report(1, TASK, 1).expect("a report");
    assert_eq!(report["excluded"][0]["client"], client(4), "{report}");
    assert_eq!(report["excluded"][0]["why"], "missing at node 1", "{report}");
    assert_eq!(report["circuit_clients"], 4, "{report}");
}

/// Nobody lists a submission of them, so nothing is agreed about them. Who was enrolled is in the opening.
#[test]
fn who_has_nothing_whole_at_any_node_is_named_in_the_report() {
    let world = World::started(Shape::default());
    world.begin(1, &[0, 1, 2]);
    // One does not come, and one does not get further than its announcement.
    let begun = world.submission(4, 1).manifest;
    let path = format!("/v1/tasks/{TASK}/rounds/1/submissions/{}", begun.submission);
    let manifest = serde_json::to_vec(&begun).expect("JSON");
    for node in 0..3 {
        let caller = world.client(4);
        let said = caller.call(node, &hyper::Method::POST, &path, &[], &manifest, 1 << 16);
        assert_eq!(said.expect("is announced").0, 202);
    }
    world.coordinator().close(TASK, 1).expect("closes");
    assert_eq!(world.ended(1, LONG)["phase"], "released");
    // All three say the same of it.
    let got = world.coordinator().collect(TASK, 1).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(got.report["missing"], serde_json::json!([client(3), client(4)]));
    assert_eq!(got.report["excluded"], serde_json::json!([]));
}

#[test]
fn a_client_that_tells_nodes_different_things_is_excluded() {
    let world = World::started(Shape::default());
    world.begin(1, &[0, 1, 2, 3]);
    let (one, other) = (world.submission(4, 1), world.submission_of(4, 1, vec![2.0; 8]));
    for (node, s) in [(0, &one), (1, &one), (2, &other)] {
        world.submit_to(4, node, s).expect("submits");
    }
    world.released(1, &[0, 1, 2, 3]);
    let report = world.coordinator().report(0, TASK, 1).expect("a report");
    let why = report["excluded"][0]["why"].as_str().expect("a reason");
    assert!(why.starts_with("nodes have different submissions of it: "), "{report}");
}

#[test]
fn below_the_minimum_nothing_is_run_and_the_submissions_are_kept() {
    let world = World::started(Shape::default());
    world.begin(1, &[0, 1]);
    world.coordinator().close(TASK, 1).expect("closes");
    let why = world.aborted(1);
    assert!(why.starts_with("2 clients were accepted, and the minimum is 3"), "{why}");
    assert!(world.coordinator().collect(TASK, 1).is_err());
    world.all_know(1, "aborted");
    let part = |node| world.data(node, 1).join(format!("{}.part", client(0)));
    assert!((0..3).all(|node| part(node).is_file()));
    world.coordinator().erase(TASK, 1, &["submissions"]).expect("erases");
    assert!(!part(0).exists());
}

#[test]
fn the_same_bytes_have_the_same_answer_and_other_bytes_are_refused() {
    let mut world = World::started(Shape::default());
    world.open(1, 600);
    let (one, other) = (world.submission(0, 1), world.submission_of(0, 1, vec![2.0; 8]));
    assert_eq!(one.manifest, world.submission(0, 1).manifest, "dealing is deterministic");
    assert_ne!(one.manifest.components, other.manifest.components);
    let send = |world: &World, s| world.submit_to(0, 0, s);
    let first = send(&world, &one).expect("submits");
    assert_eq!(send(&world, &one).expect("again"), first);
    assert_eq!(code(send(&world, &other).expect_err("is another one")), "conflict");
    // An acknowledgement survives a crash.
    world.start(0);
    let again = until(LONG, "node 0 answers", || match send(&world, &one) {
        Err(e) if e.passes() => None,
        done => Some(done.expect("again")),
    });
    assert_eq!(again, first);
    assert_eq!(code(send(&world, &other).expect_err("is another one")), "conflict");
    // A replay in another round is not signed for it.
    world.open(2, 600);
    let mut replay = world.submission(0, 1);
    replay.manifest.round = 2;
    assert_eq!(code(send(&world, &replay).expect_err("is a replay")), "manifest");
    // Nobody submits in another's name, and who is not enrolled not at all.
    let foreign = world.submission(1, 1);
    assert_eq!(code(world.submit_to(0, 0, &foreign).expect_err("is another's")), "manifest");
}

#[test]
fn an_upload_goes_on_where_it_broke_off_and_a_part_that_is_not_the_manifests_does_not_count() {
    use hyper::Method;
    let world = World::started(Shape { n: 50_000, ..Shape::default() });
    world.open(1, 600);
    let s = world.submission(0, 1);
    let caller = world.client(0);
    let path = format!("/v1/tasks/{TASK}/rounds/1/submissions/{}", s.manifest.submission);
    let manifest = serde_json::to_vec(&s.manifest).expect("JSON");
    let json = |b: &[u8]| -> serde_json::Value { serde_json::from_slice(b).expect("JSON") };
    let post = || caller.call(1, &Method::POST, &path, &[], &manifest, 1 << 16);
    let patch = |at: usize, body: &[u8]| {
        caller.call(1, &Method::PATCH, &path, &[("upload-offset", at.to_string())], body, 1 << 16)
    };
    let (status, state) = post().expect("announces");
    let part = s.part(1);
    assert_eq!((status, json(&state)["length"].as_u64()), (202, Some(part.len() as u64)));
    assert_eq!(patch(0, &part[..100_000]).expect("a piece").0, 202);
    assert_eq!(code(patch(0, &part[..10]).expect_err("another offset")), "offset");
    assert_eq!(json(&post().expect("announces again").1)["offset"], 100_000);
    assert_eq!(code(patch(100_000, &vec![0; part.len()]).expect_err("is longer")), "length");
    // The node says no before it has read so much, and still its answer arrives.
    for _ in 0..10 {
        assert_eq!(code(patch(100_000, &vec![0; 4_000_000]).expect_err("is longer")), "length");
    }
    assert_eq!(patch(100_000, &part[100_000..]).expect("the rest").0, 200);
    // A bit of the part is not as it was committed to.
    let s = world.submission(1, 1);
    let caller = world.client(1);
    let path = format!("/v1/tasks/{TASK}/rounds/1/submissions/{}", s.manifest.submission);
    let manifest = serde_json::to_vec(&s.manifest).expect("JSON");
    caller.call(1, &Method::POST, &path, &[], &manifest, 1 << 16).expect("announces");
    let mut changed = s.part(1).to_vec();
    changed[300_000] ^= 1;
    let e =
        caller.call(1, &Method::PATCH, &path, &[("upload-offset", "0".into())], &changed, 1 << 16);
    assert_eq!(code(e.expect_err("is not the same")), "part");
    let state = caller.call(1, &Method::GET, &path, &[], &[], 1 << 16);
    assert_eq!(code(state.expect_err("is forgotten")), "submission");
    caller.submit_to(1, &s, &|_, _, _| {}).expect("the right one counts");
}

#[test]
fn after_the_deadline_nothing_begins_and_who_has_begun_has_the_grace() {
    let world = World::started(Shape::default());
    world.open(1, 600);
    let begun = Instant::now();
    (0..3).for_each(|i| world.submit(i, 1));
    // Long enough for three clients, also on a machine that does much else.
    world.open(2, 3 + 5 * begun.elapsed().as_secs());
    (0..3).for_each(|i| world.submit(i, 2));
    world.released(2, &[0, 1, 2]);
    let late = world.submission(4, 2);
    let e = world.submit_to(4, 0, &late).expect_err("is late");
    assert_eq!(code(e), "closed");
}

#[test]
fn a_node_that_is_killed_in_a_run_leads_to_another_attempt_with_the_same_sum() {
    let mut world = World::started(Shape { layers: 60, deadline: 5, ..Shape::default() });
    world.open(1, 600);
    world.links.iter().for_each(|(_, link)| link.slow(20));
    (0..5).for_each(|i| world.submit(i, 1));
    world.computes(1, 1, 5);
    world.start(2);
    world.links.iter().for_each(|(_, link)| link.heal());
    world.released(1, &[0, 1, 2, 3, 4]);
    let report = world.coordinator().report(0, TASK, 1).expect("a report");
    let why = report["failures"][0]["why"].as_str().expect("a failure").to_string();
    assert!(why.contains("layer") && why.contains("party"), "{why}");
}

#[test]
fn the_leader_goes_on_after_a_crash_wherever_the_round_stood() {
    let mut world = World::started(Shape { layers: 30, deadline: 5, ..Shape::default() });
    world.open(1, 600);
    world.open(2, 600);
    (0..3).for_each(|i| world.submit(i, 1));
    // Open.
    world.start(0);
    (3..5).for_each(|i| world.submit(i, 1));
    world.released(1, &[0, 1, 2, 3, 4]);
    // Closed, and another node away: it goes on once that is back.
    (0..4).for_each(|i| world.submit(i, 2));
    world.kill(1);
    world.coordinator().close(TASK, 2).expect("closes");
    world.start(0);
    world.start(1);
    world.released(2, &[0, 1, 2, 3]);
}

#[test]
fn a_node_that_stays_away_ends_the_round_with_a_cause_that_names_it() {
    let mut world = World::started(Shape { deadline: 2, patience: 4, ..Shape::default() });
    world.begin(1, &[0, 1, 2, 3]);
    world.kill(2);
    world.coordinator().close(TASK, 1).expect("closes");
    let why = world.aborted(1);
    assert!(why.contains("node 2") && why.contains("closed"), "{why}");
    // When it comes back it learns how the round ended.
    world.start(2);
    world.all_know(1, "aborted");
}

#[test]
fn a_round_that_another_node_has_aborted_ends_at_once_with_its_cause() {
    // With the leader's patience the test would never end.
    let world = World::started(Shape { patience: 100_000, ..Shape::default() });
    world.begin(1, &[0, 1, 2, 3]);
    let key = RoundKey { task: TASK.into(), round: 1 };
    let abort = Ask::Abort { key, why: "node 1: 2 clients count".into(), order: None };
    assert!(matches!(world.ask(0, 1, &abort), Answer::Done));
    world.coordinator().close(TASK, 1).expect("closes");
    let status = world.ended(1, LONG);
    assert_eq!(status["aborted"], "node 1: 2 clients count", "{status}");
}

#[test]
fn an_abort_stops_an_attempt_that_is_under_way() {
    // Neither does a message come too late nor is the run short: only the abort ends it.
    let world = World::started(Shape { layers: 400, deadline: 1000, ..Shape::default() });
    world.open(1, 600);
    world.links.iter().for_each(|(_, link)| link.slow(150));
    (0..5).for_each(|i| world.submit(i, 1));
    let coordinator = world.coordinator();
    world.computes(0, 1, 1);
    assert!(coordinator.abort(TASK, 1).is_ok(), "aborts");
    for node in 0..3 {
        let rests = |s: &Value| s["phase"] == "aborted" && s["run"].is_null();
        world.shows(node, 1, "the node computes no more", rests);
    }
}

#[test]
fn nodes_with_different_circuits_open_no_round() {
    let mut world = World::new(Shape::default());
    world.edit(1, &[("layers=4", "layers=5")]);
    (0..3).for_each(|i| world.start(i));
    let coordinator = world.coordinator();
    let refused = until(LONG, "the nodes are there", || {
        match coordinator.open((TASK, 1), (60, 1, None), &world.public()) {
            Err(CallError::Refused { message, .. }) if message.contains("circuit") => Some(message),
            Err(_) => None,
            Ok(_) => panic!("it was opened"),
        }
    });
    assert!(refused.contains("node 1 has another circuit"), "{refused}");
}

#[test]
fn public_inputs_outside_their_range_are_refused() {
    let world = World::started(Shape::default());
    world.open(1, 60);
    let public = [(1, 11u64.to_le_bytes().to_vec())].into();
    let e =
        world.coordinator().open((TASK, 2), (60, 1, None), &public).expect_err("is out of range");
    assert!(e.to_string().contains("outside its declared range"), "{e}");
}
