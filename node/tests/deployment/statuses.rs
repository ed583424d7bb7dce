//! Every route is asked in every way that changes its answer, and each status stands in the description that nodes serve.

use crate::world::{LONG, Shape, TASK, World};
use hyper::Method;
use serde_json::Value;
use slvr_node::client::{CallError, Caller};
use slvr_node::config::CallerConfig;
use std::collections::{BTreeMap, BTreeSet};

/// The status of an answer.
fn status(caller: &Caller, node: usize, (method, path): (&Method, &str), body: &[u8]) -> u16 {
    let headers: &[(&'static str, String)] = match body.first() {
        Some(b'9') => &[],
        _ => &[("upload-offset", "0".into())],
    };
    match caller.call(node, method, path, headers, body, 1 << 20) {
        Ok((status, _)) => status,
        Err(CallError::Refused { status, .. }) => status,
        Err(e) => panic!("{method} {path}: {e}"),
    }
}

#[test]
fn every_status_of_every_route_stands_in_the_description() {
    let world = World::started(Shape { program: "own", ..Shape::default() });
    let coordinator = world.coordinator();
    // 1 is released, 2 is aborted, 3 is open; 4 there is not.
    world.begin(1, &[0, 1, 2, 3, 4]);
    assert_eq!(world.ended(1, LONG)["phase"], "released");
    world.open(2, 600);
    coordinator.abort(TASK, 2).expect("aborts");
    world.open(3, 600);
    let mut stranger =
        CallerConfig::read(&world.folder.path().join("clients/client-000/client.toml"));
    if let Ok(config) = &mut stranger {
        (config.token, config.certificate, config.key) = (None, None, None);
    }
    let stranger = Caller::new(stranger.expect("reads")).expect("a caller");
    let callers = [&stranger, &world.client(0), &coordinator];
    let (_, text) = stranger
        .call(0, &Method::GET, "/v1/openapi.json", &[], &[], 1 << 20)
        .expect("is served to everybody");
    let described: Value = serde_json::from_slice(&text).expect("JSON");
    let manifest = |round: u64| {
        let made = world.submission_of(0, round, vec![0.5; 8]).manifest;
        (made.submission.to_string(), serde_json::to_vec(&made).expect("JSON"))
    };
    let (name, announced) = manifest(3);
    let bodies: [&[u8]; 4] = [b"", b"9 is no object", &[b'1'; 5000], &announced];
    let paths = described["paths"].as_object().expect("paths");
    let mut seen: BTreeMap<(String, String), BTreeSet<u16>> = BTreeMap::new();
    // Submissions come before a round is ended.
    let mut paths: Vec<_> = paths.iter().collect();
    paths.sort_by_key(|(template, _)| !template.ends_with("{submission}"));
    for (template, item) in paths {
        // Of a task that there is not, one round is as any other.
        let mut places = vec![("other", "1")];
        match template.contains("{round}") {
            true => places.extend(["4", "9007199254740992", "3", "2", "1"].map(|r| (TASK, r))),
            false => places.push((TASK, "")),
        }
        places.retain(|(task, _)| template.contains("{task}") || *task == TASK);
        for (task, round) in places {
            let path = template.replace("{task}", task).replace("{round}", round);
            for query in ["", "?clients=3", "?clients=99", "?before=1", "?x"] {
                // A query means something where a list or a circuit is asked for.
                let lists = template.ends_with("/rounds") || template.ends_with("{task}/artifact");
                if !query.is_empty() && !lists {
                    continue;
                }
                let path = path.replace("{submission}", &name) + query;
                for method in [
                    Method::GET,
                    Method::POST,
                    Method::PATCH,
                    Method::PUT,
                    Method::DELETE,
                    Method::GET,
                ] {
                    let declared = item[method.as_str().to_lowercase()]["responses"].as_object();
                    let reads = method == Method::POST || method == Method::PATCH;
                    let bodies = if reads { &bodies[..] } else { &bodies[..1] };
                    for (who, caller) in callers.iter().enumerate() {
                        for body in bodies {
                            // Node 1 is asked last, so that node 0 does what it is asked for.
                            for node in if method == Method::PUT { 0..1 } else { 0..2 } {
                                let found = status(caller, node, (&method, &path), body);
                                let known = match declared {
                                    Some(all) => all.contains_key(&found.to_string()),
                                    // There is no such operation.
                                    None => [400, 401, 403, 404, 405].contains(&found),
                                };
                                assert!(known, "{method} {path} by {who} at node {node}: {found}");
                                let of = (method.to_string(), template.clone());
                                seen.entry(of).or_default().insert(found);
                            }
                        }
                    }
                }
            }
        }
    }
    // It is asked in ways that lead somewhere.
    let all: BTreeSet<u16> = seen.values().flatten().copied().collect();
    for status in [200, 202, 400, 401, 403, 404, 405, 409, 410] {
        assert!(all.contains(&status), "nothing was answered with {status}: {seen:#?}");
    }
}
