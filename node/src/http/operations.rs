//! The status page and metrics, on a loopback address and without TLS.

use super::body::Inbound;
use super::reply::{Body, Refused, blocking, bytes, object};
use super::routes::LISTED;
use super::shown::status;
use crate::node::Node;
use hyper::header::{HOST, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;

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
            bytes(StatusCode::OK, "text/plain; version=0.0.4", metrics(node))
        }
        _ => object(404, &json!({ "error": "/, /status.json and /metrics are all there is" })),
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

/// Bytes of memory that this process holds; 0 where the system does not say.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|s| s.split_whitespace().nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

fn metrics(node: &Node) -> String {
    let c = &node.board.counts;
    let counters = [
        ("submissions_total", "Submissions acknowledged for the first time", &c.submissions),
        ("submission_bytes_total", "Bytes of their parts", &c.bytes),
        ("submissions_repeated_total", "Submissions that were there already", &c.repeated),
        (
            "submissions_conflicting_total",
            "Submissions refused because there is another one",
            &c.conflicts,
        ),
        ("requests_refused_total", "Requests that were refused", &c.refused),
        (
            "connections_turned_away_total",
            "Connections of clients that were turned away",
            &c.turned_away,
        ),
        (
            "peer_callers_refused_total",
            "Callers at the port of nodes that were turned away",
            &node.peers.refused,
        ),
        ("attempts_computed_total", "Attempts that were finished", &c.computed),
        ("attempts_failed_total", "Attempts that failed", &c.failed),
        ("rounds_released_total", "Rounds that were released", &c.released),
        ("rounds_aborted_total", "Rounds that were aborted", &c.aborted),
    ];
    let mut out = String::new();
    for (name, help, count) in counters {
        let value = count.load(Ordering::Relaxed);
        let _ = write!(
            out,
            "# HELP slvr_{name} {help}.\n# TYPE slvr_{name} counter\nslvr_{name} {value}\n"
        );
    }
    let gauges = [
        ("connections", "Connections of clients", c.connections.load(Ordering::Relaxed)),
        ("resident_bytes", "Memory of the process", resident()),
    ];
    for (name, help, value) in gauges {
        let _ = write!(
            out,
            "# HELP slvr_{name} {help}.\n# TYPE slvr_{name} gauge\nslvr_{name} {value}\n"
        );
    }
    let _ = write!(
        out,
        "# HELP slvr_peer_heard_seconds Since the other node was last heard of.\n# TYPE slvr_peer_heard_seconds gauge\n"
    );
    for p in node.peers.others() {
        if let Some(since) = node.peers.heard(p) {
            let _ =
                writeln!(out, "slvr_peer_heard_seconds{{node=\"{p}\"}} {:.3}", since.as_secs_f64());
        }
    }
    let _ =
        write!(out, "# HELP slvr_rounds Rounds by where they stand.\n# TYPE slvr_rounds gauge\n");
    let rounds = node.rounds();
    for phase in
        ["open", "closed", "agreed", "running", "computed", "releasing", "released", "aborted"]
    {
        let n = rounds.iter().filter(|r| r.phase.to_string() == phase).count();
        let _ = writeln!(out, "slvr_rounds{{phase=\"{phase}\"}} {n}");
    }
    out
}
