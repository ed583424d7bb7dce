//! What makes a whole part count: it fits its manifest, it is on disk under its name, and the round still takes it.

use super::reply::{Body, Refused, object, refused};
use crate::codes::Code;
use crate::config::Enrolled;
use crate::locks::read_lock;
use crate::metrics::task;
use crate::node::Node;
use crate::redaction::redacted;
use crate::state::{Phase, RoundKey, Spec};
use crate::store::{Record, StoreError};
use crate::submission::check::Checker;
use crate::vault::Sealer;
use hyper::Response;
use serde_json::json;

/// Whose submission to which round.
pub type Place = (RoundKey, String);

/// What a caller is told of an error of the store.
pub fn store<T>(done: Result<T, StoreError>) -> Result<T, Refused> {
    done.or_else(|e| match e {
        StoreError::Conflict => refused(409, Code::Conflict, e.to_string()),
        // Paths of the node are nobody's business.
        _ => {
            tracing::error!(why = %e, "the store fails");
            fails(e.is_full())
        }
    })
}

/// The answer where a store fails, or its disk is full.
pub fn fails<T>(full: bool) -> Result<T, Refused> {
    match full {
        true => refused(507, Code::Full, "this node's disk is full: try again later"),
        false => refused(500, Code::Store, "this node's store fails: its log says why"),
    }
}

/// Whether a part is damaged that may come again: nothing was released of the round, which goes on or may be run again, and its
/// submissions were not erased.
pub fn is_mended(node: &Node, (key, client): &Place) -> bool {
    node.store.is_damaged(key, client)
        && node.round(key).is_some_and(|r| r.phase != Phase::Released)
        && !node.store.are_erased(key)
}

/// Makes a whole part durable and counts it, unless the round has been closed in the meantime.
pub fn keep(
    node: &Node,
    place: &Place,
    sealer: Sealer,
    checker: &Checker,
    record: &Record,
) -> Result<Response<Body>, Refused> {
    let (key, client) = place;
    if let Err(e) = checker.finish() {
        return refused(422, Code::Part, e.to_string());
    }
    let bytes = sealer.taken();
    let submission = record.manifest.submission.to_string();
    let at = (key, client.as_str(), submission.as_str());
    if is_mended(node, place) {
        let before = store(node.store.submission(key, client))?;
        let Some(before) = before.filter(|b| b.manifest == record.manifest) else {
            return store(Err(StoreError::Conflict));
        };
        // The round may be dropped at this moment, and then nothing of it comes back.
        node.with_round(key, |_| match is_mended(node, place) {
            true => store(node.store.end(at, sealer)),
            false => refused(409, Code::Closed, "the submissions to this round have been erased"),
        })?;
        tracing::info!(round = %key, client, bytes, "a damaged part is mended");
        node.wake();
        return Ok(receipt(node, &before));
    }
    let counts = || -> Result<(), Refused> {
        store(node.store.end(at, sealer))?;
        node.with_round(key, |round| {
            // Everybody who is enrolled is taken: who gets a place is seen once all three nodes have it.
            if round.is_none_or(|r| r.phase != Phase::Open) {
                return refused(
                    409,
                    Code::Closed,
                    "the round was closed before the part was whole",
                );
            }
            store(node.store.count(record))
        })
    };
    counts().inspect_err(|_| {
        // It has the name of one that counts. What cannot be removed is sealed, and goes at the next start.
        let _ = node.store.take_back(key, client);
    })?;
    let counts = &node.metrics;
    counts.submissions.get_or_create(&task(&key.task)).inc();
    counts.bytes.get_or_create(&task(&key.task)).inc_by(bytes);
    tracing::info!(round = %key, client, bytes, "a submission is complete");
    node.wake();
    Ok(receipt(node, record))
}

/// Whether a client was enrolled when a round was opened, with this key.
pub fn is_on_roll(node: &Node, spec: &Spec, client: &Enrolled) -> Result<(), Refused> {
    let now = read_lock(&node.roll).hash();
    if now == spec.roll {
        return Ok(());
    }
    let roll = store(node.store.roll(&spec.roll))?.unwrap_or_default();
    let same = |c: &Enrolled| (&c.name, &c.set, c.key) == (&client.name, &client.set, client.key);
    if roll.iter().any(same) {
        return Ok(());
    }
    let why = format!("{} was not enrolled when the round was opened", client.name);
    refused(403, Code::Roll, why)
}

/// What an acknowledged submission is answered with: always the same, but for where the round stands.
pub fn receipt(node: &Node, record: &Record) -> Response<Body> {
    let m = &record.manifest;
    let key = RoundKey { task: m.task.clone(), round: m.round };
    let round = node.round(&key);
    let erased = round.as_ref().is_some_and(|r| r.ended()) && node.store.are_erased(&key);
    let aborted = round.as_ref().and_then(|r| r.aborted.as_deref()).map(redacted);
    object(
        200,
        &json!({
            "state": "complete", "node": node.me(), "task": m.task, "round": m.round, "client": m.client,
            "submission": m.submission, "digest": m.digest(), "at": record.at,
            "phase": round.as_ref().map(|r| r.phase), "aborted": aborted, "erased": erased,
        }),
    )
}
