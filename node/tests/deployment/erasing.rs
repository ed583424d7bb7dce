//! What is erased of a round is erased at all three nodes or at none, and by whom it may be.

use crate::world::{LONG, Shape, TASK, World};
use slvr_node::client::CallError;
use slvr_node::codes::Code;
use slvr_node::config::Power;
use slvr_node::keys::appoint;
use std::fs;
use std::time::Instant;

fn role(e: &CallError) -> bool {
    matches!(e, CallError::Refused { code: Code::Role, .. })
}

/// The files of a round at the three nodes, without what says that it ended.
fn files(world: &World, round: u64) -> [Vec<String>; 3] {
    [0, 1, 2].map(|node| {
        let all = fs::read_dir(world.data(node, round)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            all.map(|f| f.file_name().to_string_lossy().into_owned()).collect();
        names.retain(|n| n != "ended");
        names.sort();
        names
    })
}

/// Erasing is refused as a whole, and what was there still serves: an aborted round is run again, a released one is collected.
#[test]
fn a_round_is_dropped_at_all_nodes_or_at_none() {
    let mut world = World::new(Shape { program: "own", ..Shape::default() });
    let folder = world.folder.path().to_path_buf();
    appoint(&folder, "opener", &[Power::Open]).expect("is appointed");
    appoint(&folder, "reader", &[Power::Collect]).expect("is appointed");
    (0..3).for_each(|i| world.start(i));
    let caller = |name: &str| world.caller(&format!("{name}/coordinator.toml"));
    let (both, opener, reader) = (caller("coordinator"), caller("opener"), caller("reader"));
    // 1 is released and 2 aborted.
    world.begin(1, &[0, 1, 2, 3, 4]);
    assert_eq!(world.ended(1, LONG)["phase"], "released");
    world.begin(2, &[0, 1, 2, 3]);
    both.abort(TASK, 2).expect("aborts");
    world.all_know(1, "released");
    world.all_know(2, "aborted");
    let before = [files(&world, 1), files(&world, 2)];
    assert!(before[0].iter().all(|f| f.len() == 6), "words and five reveals: {before:?}");
    // Each has half of the rights that it takes to drop what was released, and the reader none to drop what was not.
    for (who, round) in [(&opener, 1), (&reader, 1), (&reader, 2)] {
        let e = who.drop_round(TASK, round).expect_err("has no right to all of it");
        assert!(role(&e), "{e}");
    }
    world.kill(2);
    for round in [1, 2] {
        assert!(both.drop_round(TASK, round).is_err(), "node 2 is away");
        assert!(both.erase(TASK, round, &["submissions"]).is_err(), "node 2 is away");
    }
    assert_eq!([files(&world, 1), files(&world, 2)], before);
    world.start(2);
    let again = || both.patiently(Instant::now() + LONG, || both.retry(TASK, 2));
    again().expect("everything is there");
    assert_eq!(world.ended(2, LONG)["phase"], "released");
    let of = |clients: u64, round: u64| {
        let got = reader.collect(TASK, round).expect("collects");
        let total = got.revealed.iter().find(|r| r.name == "total").expect("is revealed");
        let total: Vec<i64> = total.values.iter().map(|v| v.round() as i64).collect();
        assert_eq!(total, world.expected(&(0..clients).collect::<Vec<_>>()), "round {round}");
    };
    of(5, 1);
    of(4, 2);
    // Who may do all of it erases all of it; and who may open, what was aborted.
    world.all_know(2, "released");
    for round in [1, 2] {
        assert_eq!(both.drop_round(TASK, round).expect("erases"), [0usize; 0]);
        assert_eq!(files(&world, round), [(); 3].map(|()| Vec::<String>::new()), "round {round}");
    }
    world.begin(3, &[0, 1, 2, 3]);
    both.abort(TASK, 3).expect("aborts");
    assert_eq!(opener.drop_round(TASK, 3).expect("erases"), [0usize; 0]);
    assert_eq!(files(&world, 3), [(); 3].map(|()| Vec::<String>::new()));
}
