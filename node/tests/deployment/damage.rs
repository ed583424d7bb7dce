//! Files that are damaged or lost, and uploads that a restart interrupts.

use crate::schedules::Draw;
use crate::world::{LONG, Shape, TASK, World, client, number, until};
use hyper::Method;
use serde_json::Value;
use std::fs;

#[test]
fn a_damaged_part_is_mended_by_the_same_submission_and_costs_no_round() {
    let world = World::started(Shape::default());
    world.begin(1, &[0, 1, 2, 3]);
    let part = |node: usize, i: u64| world.data(node, 1).join(format!("{}.part", client(i)));
    // Changed, cut short, and gone.
    let mut changed = fs::read(part(1, 0)).expect("reads");
    let half = changed.len() / 2;
    changed[half] ^= 1;
    fs::write(part(1, 0), changed).expect("writes");
    let short = fs::read(part(0, 2)).expect("reads");
    fs::write(part(0, 2), &short[..10]).expect("writes");
    fs::remove_file(part(1, 3)).expect("removes");
    let before = world.submit_to(0, 1, &world.submission(0, 1));
    let before = before.expect("it is not known yet");
    let coordinator = world.coordinator();
    coordinator.close(TASK, 1).expect("closes");
    let damaged = |node: usize| {
        let shown = coordinator.status(node, TASK, 1).ok()?;
        let all = shown["damaged"].as_array()?.clone();
        (!all.is_empty()).then_some(all)
    };
    assert_eq!(until(LONG, "node 0 says so", || damaged(0)), [client(2)]);
    // All of a node are found in one attempt.
    let both = [client(0), client(3)];
    until(LONG, "node 1 says so", || damaged(1).filter(|d| *d == both));
    // Other bytes mend nothing.
    let other = world.submission_of(0, 1, vec![2.0; 8]);
    assert!(world.submit_to(0, 1, &other).is_err());
    for i in [0, 2, 3] {
        world.submit(i, 1);
    }
    let after = world.submit_to(0, 1, &world.submission(0, 1));
    // The round has gone on meanwhile, and that is all that differs.
    let mut after = after.expect("is there");
    after["phase"] = before["phase"].clone();
    assert_eq!(after, before, "the same bytes have the same answer");
    let status = world.released(1, &[0, 1, 2, 3]);
    // Waiting for the clients used up no attempts but those in which the damage was found.
    assert!(status["attempt"].as_u64() <= Some(3), "{status}");
}

/// Nodes read what clients gave again where a circuit loads inputs in parts: what is damaged meanwhile ends the attempt, and
/// is mended as ever.
#[test]
fn what_is_damaged_between_two_loads_ends_the_attempt() {
    let world = World::started(Shape { program: "parts", layers: 200, ..Shape::default() });
    world.begin(1, &[0, 1, 2, 3, 4]);
    world.released(1, &[0, 1, 2, 3, 4]);

    world.begin(2, &[0, 1, 2, 3]);
    // Client 4 is loaded in the last layer.
    world.links.iter().for_each(|(_, proxy)| proxy.slow(10));
    world.submit(4, 2);
    world.computes(1, 2, 2);
    let path = world.data(1, 2).join(format!("{}.part", client(4)));
    let mut bytes = fs::read(&path).expect("reads");
    let half = bytes.len() / 2;
    bytes[half] ^= 1;
    fs::write(&path, bytes).expect("writes");
    let failed = |s: &Value| s.to_string().contains("of party set 0 gave is lost");
    world.shows(1, 2, "the attempt ends", failed);
    world.links.iter().for_each(|(_, proxy)| proxy.slow(0));
    world.submit(4, 2);
    world.released(2, &[0, 1, 2, 3, 4]);
}

/// A round that was aborted for a damaged part may be run again, so each node still takes exactly what it has acknowledged.
#[test]
fn a_part_that_is_lost_is_taken_again_also_once_the_round_was_aborted() {
    let mut world = World::started(Shape { deadline: 2, patience: 4, ..Shape::default() });
    let part = |world: &World, (node, round, i): (usize, u64, u64)| {
        world.data(node, round).join(format!("{}.part", client(i)))
    };
    world.begin(1, &[0, 1, 2, 3]);
    // Found by an attempt.
    let lost = part(&world, (1, 1, 2));
    let whole = fs::metadata(&lost).expect("is there").len();
    fs::remove_file(&lost).expect("removes");
    world.coordinator().close(TASK, 1).expect("closes");
    let why = world.aborted(1);
    let named = format!("node 1: damaged parts wait to be mended: clients {}", client(2));
    assert!(why.contains(&named), "{why}");
    world.all_know(1, "aborted");
    let other = world.submission_of(2, 1, vec![2.0; 8]);
    assert!(world.submit_to(2, 1, &other).is_err());
    world.submit(2, 1);
    assert_eq!(fs::metadata(&lost).expect("is there again").len(), whole);
    // Found when the node starts, and when somebody asks.
    let (at_start, while_it_runs) = (part(&world, (2, 1, 0)), part(&world, (0, 1, 3)));
    world.kill(2);
    fs::remove_file(&at_start).expect("removes");
    world.start(2);
    let damaged = world.shows(2, 1, "node 2 is there", |_| true)["damaged"].clone();
    assert_eq!(damaged, serde_json::json!([client(0)]));
    fs::remove_file(&while_it_runs).expect("removes");
    for (i, lost) in [(0, &at_start), (3, &while_it_runs)] {
        world.submit(i, 1);
        assert!(lost.is_file(), "client {i}");
    }
    let coordinator = world.coordinator();
    let until_then = std::time::Instant::now() + LONG;
    coordinator.patiently(until_then, || coordinator.retry(TASK, 1)).expect("is run again");
    world.released(1, &[0, 1, 2, 3]);
    // What was erased does not come back.
    world.begin(2, &[0, 1, 2, 3]);
    coordinator.abort(TASK, 2).expect("aborts");
    world.all_know(2, "aborted");
    coordinator.erase(TASK, 2, &["submissions"]).expect("erases");
    world.submit(1, 2);
    for node in 0..3 {
        assert!(!part(&world, (node, 2, 1)).exists(), "node {node}");
    }
}

#[test]
fn an_upload_goes_on_after_a_restart_of_the_node() {
    let mut world = World::started(Shape { n: 50_000, ..Shape::default() });
    world.open(1, 600);
    let s = world.submission(0, 1);
    let caller = world.client(0);
    let path = format!("/v1/tasks/{TASK}/rounds/1/submissions/{}", s.manifest.submission);
    let manifest = serde_json::to_vec(&s.manifest).expect("JSON");
    let offset =
        |b: &[u8]| serde_json::from_slice::<serde_json::Value>(b).expect("JSON")["offset"].as_u64();
    let (_, state) =
        caller.call(1, &Method::POST, &path, &[], &manifest, 1 << 16).expect("announces");
    assert_eq!(offset(&state), Some(0));
    let part = s.part(1);
    let zero = [("upload-offset", "0".to_string())];
    caller.call(1, &Method::PATCH, &path, &zero, &part[..300_000], 1 << 16).expect("a piece");
    world.start(1);
    let state = until(LONG, "node 1 answers", || {
        caller.call(1, &Method::POST, &path, &[], &manifest, 1 << 16).ok()
    });
    // Whole pieces are kept.
    assert_eq!(offset(&state.1), Some(300_000 / 65_536 * 65_536));
    // Another submission of the client has nothing of it.
    let other = world.submission_of(0, 1, vec![2.0; 50_000]);
    let elsewhere = format!("/v1/tasks/{TASK}/rounds/1/submissions/{}", other.manifest.submission);
    let announced = serde_json::to_vec(&other.manifest).expect("JSON");
    let state =
        caller.call(1, &Method::POST, &elsewhere, &[], &announced, 1 << 16).expect("announces");
    assert_eq!(offset(&state.1), Some(0));
    caller.submit_to(1, &s, &|_, _, _| {}).expect("the first one counts");
    for node in [0, 2] {
        caller.submit_to(node, &s, &|_, _, _| {}).expect("submits");
    }
    (1..5).for_each(|i| world.submit(i, 1));
    assert_eq!(world.ended(1, LONG)["phase"], "released");
    assert_eq!(world.total(1)[..5], [1, 1, 1, 1, 1]);
}

#[test]
fn a_node_whose_store_is_lost_or_under_another_key_does_not_start_and_says_what_to_do() {
    let mut world = World::started(Shape::default());
    world.begin(1, &[0, 1, 2, 3]);
    world.kill(1);
    let at = |name: &str| world.folder.path().join(format!("node-1/{name}"));
    let (store, key) = (at("data/node.redb"), at("storage.key"));
    let (whole, right) = (fs::read(&store).expect("reads"), fs::read(&key).expect("reads"));
    fs::write(&key, format!("{}\n", "0".repeat(64))).expect("writes");
    let said = |world: &mut World, what: &str| {
        let before = world.logged(1).len();
        world.start(1);
        until(LONG, what, || (!world.is_there(1)).then_some(()));
        assert!(world.logged(1)[before..].contains(what), "{}", &world.logged(1)[before..]);
    };
    said(&mut world, "this is not the key under which the data was sealed");
    fs::write(&key, right).expect("writes");
    fs::write(&store, b"").expect("writes");
    said(&mut world, "the database is empty");
    fs::remove_file(&store).expect("removes");
    said(&mut world, "the database is missing");
    fs::write(&store, &whole[..whole.len() / 2]).expect("writes");
    said(&mut world, "the database is damaged");
    fs::write(&store, whole).expect("writes");
    world.start(1);
    world.coordinator().close(TASK, 1).expect("closes");
    world.released(1, &[0, 1, 2, 3]);
}

#[test]
fn a_node_with_a_damaged_database_says_so_and_prints_no_panic() {
    let mut world = World::started(Shape::default());
    world.begin(1, &[0, 1, 2, 3]);
    world.kill(1);
    let store = world.folder.path().join("node-1/data/node.redb");
    let whole = fs::read(&store).expect("reads");
    let seed = number("SLVR_SEED", 1);
    let many = number("SLVR_COUNT", 12);
    let mut refused = 0;
    for k in seed..seed + many {
        let mut draw = Draw(k);
        let mut below = |n: usize| draw.of(n as u64) as usize;
        let mut bytes = whole.clone();
        // What redb does not expect stands in the header, in the pages at its end, or in their length.
        match k % 4 {
            0 => bytes.truncate(below(whole.len())),
            1 => (0..8).for_each(|_| bytes[below(512)] ^= 1 << below(8)),
            2 => {
                let page = below(whole.len() / 4096) * 4096;
                bytes[page..page + 4096].fill(below(256) as u8);
            }
            _ => (0..64).for_each(|_| {
                let at = below(whole.len());
                bytes[at] = below(256) as u8;
            }),
        }
        fs::write(&store, bytes).expect("writes");
        let before = world.logged(1).len();
        world.start(1);
        let started = until(LONG, "it starts or ends", || {
            let started = world.logged(1)[before..].contains(" started ");
            (started || !world.is_there(1)).then_some(started)
        });
        world.kill(1);
        let said = world.logged(1)[before..].to_string();
        refused += u32::from(!started);
        // The test's own end is a panic, since it expects a node that starts.
        let panics = said.lines().filter(|l| l.contains("panicked at") && !l.contains("main.rs"));
        assert_eq!(panics.collect::<Vec<_>>(), [""; 0], "damage {k}: {said}");
        assert!(started || said.contains("damaged") || said.contains("node.redb"), "{k}: {said}");
    }
    assert!(refused > 0, "some damage is noticed");
    fs::write(&store, whole).expect("writes");
    world.start(1);
    world.coordinator().close(TASK, 1).expect("closes");
    assert_eq!(world.ended(1, LONG)["phase"], "released");
}
