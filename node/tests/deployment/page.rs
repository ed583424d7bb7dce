//! The status page and metrics.

use crate::upkeep::{ask, ask_as, body};
use crate::world::{Shape, World};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// What a node counts.
pub fn metrics(world: &World, node: usize) -> String {
    ask(world, node, "GET", "/metrics", "")
}

fn get(world: &World, path: &str, host: &str) -> String {
    ask_as(world, (0, host), "GET", path, "")
}

#[test]
fn the_operator_sees_rounds_peers_and_counts_and_no_secrets() {
    let mut world = World::new(Shape::default());
    // Nobody runs it: no task of this round is for workers.
    slvr_node::keys::workers(world.folder.path(), 1).expect("a worker");
    (0..3).for_each(|i| world.start(i));
    world.begin(1, &[0, 1, 2, 3, 4]);
    let status = world.ended(1, Duration::from_secs(90));
    assert_eq!(status["phase"], "released", "{status}");
    let page = get(&world, "/", "127.0.0.1:1");
    assert!(page.contains("content-security-policy") && page.contains("<!doctype html>"), "{page}");
    let shown = get(&world, "/status.json", "localhost");
    let shown = body(&shown);
    assert_eq!(
        (&shown["rounds"][0]["phase"], &shown["node"]),
        (&"released".into(), &0.into()),
        "{shown}"
    );
    let metrics = metrics(&world, 0);
    assert!(metrics.contains("slvr_submissions_total{task=\"sums\"} 5\n"), "{metrics}");
    assert!(metrics.contains("slvr_rounds{phase=\"released\",task=\"sums\"} 1.0\n"), "{metrics}");
    for there in [
        "slvr_attempts_computed_total{task=\"sums\"} 1\n",
        "slvr_attempts_failed_total{task=\"sums\"} 0\n",
        "slvr_attempt_duration_seconds_count{task=\"sums\",end=\"computed\"} 1\n",
        "slvr_request_duration_seconds_count{request=\"submission\",status=\"2xx\"} 5\n",
        "slvr_oldest_round_seconds{task=\"sums\"} 0.0\n",
        "slvr_ready 1.0\n",
        "slvr_build_info{version=",
        "slvr_disk_free_bytes ",
        "# EOF\n",
    ] {
        assert!(metrics.contains(there), "{there} is not in {metrics}");
    }
    named_are_there(&metrics);
    assert!(get(&world, "/readyz", "localhost").ends_with("{\"node\":0,\"ready\":true}"));
    assert!(get(&world, "/livez", "localhost").starts_with("HTTP/1.1 200"));
    // A page of somebody else's in the operator's browser gets nothing.
    assert!(get(&world, "/status.json", "evil.example").starts_with("HTTP/1.1 403"));
    // Logs, the page and metrics have no token, no secret and no part.
    let toml = std::fs::read_to_string(world.folder.path().join("clients/client-000/client.toml"))
        .expect("reads");
    for line in toml.lines().filter(|l| l.starts_with("token") || l.starts_with("secret")) {
        let secret = line.split('"').nth(1).expect("a value");
        for text in [&world.logged(0), &world.logged(1), &world.logged(2), &metrics, &page] {
            assert!(!text.contains(secret));
        }
    }
}

/// Every metric that a file for operators names is one that a node has.
fn named_are_there(metrics: &str) {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let mut names = BTreeSet::new();
    for file in ["deploy/alerts.yaml", "deploy/grafana.json", "src/operations.md"] {
        // The crate may be built by itself.
        let Ok(text) = std::fs::read_to_string(docs.join(file)) else { return };
        if file.ends_with(".json") {
            let board: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            assert!(board["panels"].as_array().is_some_and(|p| !p.is_empty()));
        }
        for piece in text.split("slvr_").skip(1) {
            let end = piece.find(|c: char| !c.is_ascii_lowercase() && c != '_');
            let name = &piece[..end.unwrap_or(piece.len())];
            // The names of predicates begin so, too.
            if name != "accuracy" {
                names.insert(format!("slvr_{name}"));
            }
        }
    }
    assert!(names.len() > 15, "{names:?}");
    // A histogram has lines of its own for buckets, sums and counts.
    let name = |l: &'_ str| {
        let l = l.strip_prefix("# TYPE ").unwrap_or(l);
        l.split(['{', ' ']).next().unwrap_or_default().to_string()
    };
    let there: BTreeSet<String> = metrics.lines().map(name).collect();
    let missing: Vec<&String> = names.iter().filter(|n| !there.contains(*n)).collect();
    assert!(missing.is_empty(), "{missing:?} are in no {metrics}");
}
