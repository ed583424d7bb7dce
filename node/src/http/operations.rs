//! The status page, readiness, metrics and backups, for the operator: on a loopback address without TLS, or on any with it.
//! Over TLS whoever looks shows a token or a certificate that `[operator]` names. Whether the node is alive and ready is told
//! to anybody. Where a worker is may also be said by whoever shows this worker's certificate.

use super::body::{Inbound, small};
use super::health::{alive, ready};
use super::reply::{Body, Refused, blocking, bytes, object, refused};
use super::routes::LISTED;
use super::scrape::{KIND, metrics, resident};
use super::views::status;
use crate::codes::Code;
use crate::hex::{Hash, sha256};
use crate::keys::is_address;
use crate::node::Node;
use crate::peers::TellError;
use crate::store::StoreError;
use hyper::header::{AUTHORIZATION, HOST, HeaderName, HeaderValue, ORIGIN};
use hyper::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// The page: one file that needs nothing else.
const PAGE: &str = include_str!("status.html");

/// Who an operator is among the connections, whichever token or certificate it has.
const OPERATOR: &str = "operator";

/// How the operator came here.
#[derive(Clone, Debug)]
pub enum Origin {
    /// From this machine, without TLS.
    Here,
    /// Over TLS, with a certificate of this hash or none.
    Over(Option<Hash>),
}

/// Whether somebody may look; if not, why.
fn may(node: &Node, seen: &Origin, request: &Request<Inbound>) -> Result<(), &'static str> {
    let text = |name| request.headers().get(name).and_then(|h: &HeaderValue| h.to_str().ok());
    match seen {
        Origin::Here => {
            // A page of somebody else that was opened in a browser of this machine has another host.
            let host = text(HOST).unwrap_or("");
            let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
            let here = ["127.0.0.1", "localhost", "[::1]"].contains(&name);
            here.then_some(()).ok_or("only as localhost")
        }
        Origin::Over(certificate) => {
            let Some(operator) = &node.config.operator else {
                return Err("there is no [operator]");
            };
            let token = text(AUTHORIZATION).and_then(|t| t.strip_prefix("Bearer "));
            let known = token.is_some_and(|t| operator.tokens.contains(&sha256(t.as_bytes())))
                || certificate.is_some_and(|c| operator.certificates.contains(&c));
            known.then_some(()).ok_or("a token or a certificate that [operator] names is needed")
        }
    }
}

pub async fn answer(
    node: &Arc<Node>,
    from: (&Origin, &(impl Fn(&str) + Sync)),
    request: Request<Inbound>,
) -> Response<Body> {
    answered(node, from, request).await.unwrap_or_else(Refused::into)
}

async fn answered(
    node: &Arc<Node>,
    (seen, says): (&Origin, &(impl Fn(&str) + Sync)),
    request: Request<Inbound>,
) -> Result<Response<Body>, Refused> {
    // A page in a browser says where it is from. It makes no backups, and moves no workers.
    let page = request.headers().contains_key(ORIGIN);
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/livez") => return Ok(alive(node)),
        (&Method::GET, "/readyz") => return ready(node).await,
        (&Method::POST, "/workers") if !page => {
            return Ok(object(200, &place(node, (seen, says), request).await?));
        }
        _ => {}
    }
    if let Err(why) = may(node, seen, &request) {
        return refused(403, Code::Forbidden, why);
    }
    says(OPERATOR);
    let of = node.clone();
    Ok(match (request.method(), request.uri().path()) {
        (&Method::GET, "/") => {
            let mut page = bytes(StatusCode::OK, "text/html; charset=utf-8", PAGE);
            let policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'";
            let name = HeaderName::from_static("content-security-policy");
            page.headers_mut().insert(name, HeaderValue::from_static(policy));
            page
        }
        (&Method::GET, "/status.json") => object(200, &blocking(move || overview(&of)).await?),
        (&Method::GET, "/metrics") => {
            bytes(StatusCode::OK, KIND, blocking(move || metrics(&of)).await?)
        }
        (method @ (&Method::POST | &Method::DELETE), "/backup") if !page => {
            let make = method == Method::POST;
            blocking(move || backup(&of, make)).await??
        }
        _ => {
            let why = "/, /status.json, /metrics, /livez, /readyz, POST and DELETE /backup and POST /workers are all there is";
            return refused(404, Code::Path, why);
        }
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    number: u16,
    address: String,
}

/// Takes note of where a worker is called from now on.
async fn place(
    node: &Node,
    (seen, says): (&Origin, &(impl Fn(&str) + Sync)),
    request: Request<Inbound>,
) -> Result<Value, Refused> {
    let may = may(node, seen, &request);
    let shown = match seen {
        Origin::Over(Some(shown)) => {
            node.config.worker.iter().position(|w| w.certificates.contains(shown))
        }
        Origin::Over(None) | Origin::Here => None,
    };
    if let (Err(why), None) = (may, shown) {
        return refused(403, Code::Forbidden, why);
    }
    says(&shown.map_or(OPERATOR.to_string(), |worker| format!("worker {worker}")));
    let body = small(node, request, 1024).await?;
    let told = serde_json::from_slice::<Place>(&body);
    let Place { number, address } = told.or_else(|e| {
        refused(
            400,
            Code::Body,
            format!("{{\"number\": 0, \"address\": \"host:7430\"}} is needed: {e}"),
        )
    })?;
    if may.is_err() && shown != Some(usize::from(number)) {
        let why = "a worker says where it is itself, and not where another one is";
        return refused(403, Code::Forbidden, why);
    }
    if !is_address(&address) {
        let why = "`address` is a host and a port, as in \"w0.a.example:7430\" or \"[::1]:7430\"";
        return refused(400, Code::Address, why);
    }
    match node.peers.tell_worker(number, address.clone()) {
        Err(TellError::None) => {
            let there = node.config.worker.len();
            let why = format!(
                "there is no worker {number}: node.toml has [[worker]] {there} times, and numbers begin with 0"
            );
            refused(404, Code::Worker, why)
        }
        Err(TellError::Configured(at)) => {
            let why = format!(
                "worker {number} has the address {at} in node.toml: take this line out if what starts the worker says where it is"
            );
            refused(409, Code::Configured, why)
        }
        Ok(news) => {
            // Whoever starts workers may say it again and again, and one after the other.
            if let Some(unsaid) = news.then(|| node.peers.may_log()).flatten() {
                tracing::info!(
                    worker = number,
                    at = address,
                    unsaid,
                    "a worker is called there from now on"
                );
            }
            Ok(json!({ "number": number, "address": address }))
        }
    }
}

fn overview(node: &Node) -> Value {
    let peers: Vec<Value> = node.peers.others().iter().map(|&p| {
        json!({ "node": p, "heard_seconds": node.peers.heard(p).map(|d| d.as_secs_f64()), "clock_ahead_seconds": node.peers.offset(p) })
    }).collect();
    let rounds: Vec<Value> =
        node.rounds().iter().rev().take(LISTED).map(|r| status(node, r)).collect();
    json!({ "node": node.me(), "peers": peers, "rounds": rounds, "resident_bytes": resident() })
}

/// Makes a copy of everything that the node keeps, or takes it away.
fn backup(node: &Node, make: bool) -> Result<Response<Body>, Refused> {
    let done = match make {
        true => node.store.backup().map(|at| json!({ "folder": at.display().to_string() })),
        false => node.store.forget_backup().map(|()| json!({ "ok": true })),
    };
    match done {
        Ok(said) => {
            tracing::info!(made = make, "a backup was made or taken away");
            Ok(object(200, &said))
        }
        Err(e @ StoreError::Copying) => refused(409, Code::Busy, e.to_string()),
        Err(e) => {
            tracing::error!(why = %e, "a backup fails");
            refused(500, Code::Store, e.to_string())
        }
    }
}
