//! The status page and metrics, on a loopback address and without TLS.

use super::body::Inbound;
use super::reply::{Body, Refused, blocking, bytes, object};
use super::routes::LISTED;
use super::scrape::{KIND, disk, metrics, resident};
use super::shown::status;
use crate::node::Node;
use hyper::header::{HOST, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use std::sync::Arc;

/// The page: one file that needs nothing else.
const PAGE: &str = include_str!("status.html");

/// Answers the operator.
pub async fn answer(node: &Arc<Node>, request: &Request<Inbound>) -> Response<Body> {
    // A page of somebody else that was opened in a browser of this machine has another host.
    let host = request.headers().get(HOST).and_then(|h| h.to_str().ok()).unwrap_or("");
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    if !["127.0.0.1", "localhost", "[::1]"].contains(&name) {
        return object(403, &json!({ "error": "only as localhost" }));
    }
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/") => {
            let mut page = bytes(StatusCode::OK, "text/html; charset=utf-8", PAGE);
            let policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'";
            let name = HeaderName::from_static("content-security-policy");
            page.headers_mut().insert(name, HeaderValue::from_static(policy));
            page
        }
        (&Method::GET, "/status.json") => {
            let node = node.clone();
            match blocking(move || overview(&node)).await {
                Ok(shown) => object(200, &shown),
                Err(e) => Refused::into(e),
            }
        }
        (&Method::GET, "/metrics") => {
            let node = node.clone();
            match blocking(move || metrics(&node)).await {
                Ok(text) => bytes(StatusCode::OK, KIND, text),
                Err(e) => Refused::into(e),
            }
        }
        (&Method::GET, "/livez") => alive(node),
        (&Method::GET, "/readyz") => ready(node).await,
        _ => object(
            404,
            &json!({ "error": "/, /status.json, /metrics, /livez and /readyz are all there is" }),
        ),
    }
}

fn overview(node: &Node) -> Value {
    let peers: Vec<Value> = node.peers.others().iter().map(|&p| {
        json!({ "node": p, "heard_seconds": node.peers.heard(p).map(|d| d.as_secs_f64()) })
    }).collect();
    let rounds: Vec<Value> =
        node.rounds().iter().rev().take(LISTED).map(|r| status(node, r)).collect();
    json!({ "node": node.me(), "peers": peers, "rounds": rounds, "resident_bytes": resident() })
}

/// Says that the process answers.
pub(super) fn alive(node: &Node) -> Response<Body> {
    object(200, &json!({ "node": node.me(), "ok": true }))
}

/// Says whether the node serves clients.
pub(super) async fn ready(node: &Arc<Node>) -> Response<Body> {
    let asked = node.clone();
    match blocking(move || unready(&asked)).await {
        Ok(None) => object(200, &json!({ "node": node.me(), "ready": true })),
        Ok(Some(why)) => object(503, &json!({ "node": node.me(), "ready": false, "why": why })),
        Err(e) => Refused::into(e),
    }
}

/// Bytes of the disk without which nothing can be stored reliably: a few parts, and the database.
const ROOM: u64 = 16 << 20;

/// Why a node should not be sent clients; nothing if it should. Other nodes that are away are no reason: it takes
/// submissions without them, and nodes that waited for each other before they can be reached would wait forever.
pub(super) fn unready(node: &Node) -> Option<&'static str> {
    if node.stopping() {
        return Some("it is being stopped");
    }
    if node.store.check().is_err() {
        return Some("its database does not answer");
    }
    let full = disk(&node.config.data).is_some_and(|[free, _]| free < ROOM);
    full.then_some("its disk is full")
}
