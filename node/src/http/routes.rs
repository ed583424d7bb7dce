//! Finds out who asks for what, and answers.

use super::body::{Inbound, small};
use super::erase::{erase, erase_own, only_asks, stored};
use super::health::{alive, ready};
use super::keep::fails;
use super::reply::{Body, Refused, blocking, bytes, no_round, object, refused, secret, waiting};
use super::upload::{About, Uploads};
use super::views::{enrolled, report, status, task, tasks, terms};
use crate::codes::Code;
use crate::config::{Coordinator, Enrolled, Power};
use crate::hex::{Hash, hex, sha256, unhex};
use crate::locks::read_lock;
use crate::names::is_name;
use crate::node::Node;
use crate::round::{OpenError, Wanted, could, open, ordered, retry};
use crate::state::{Mandate, Order, Phase, Round, RoundKey, Spec, StepError};
use crate::store::Left;
use crate::submission::Public;
use crate::tasks::{Known, Ready};
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use tracing::Instrument;

/// Who is at the other end of a connection.
pub struct Caller {
    /// What was shown in the handshake.
    pub certificate: Option<Vec<u8>>,
    /// Hears who has said who it is: the name of a client, or nothing for the coordinator.
    pub says: Box<dyn Fn(&str) + Send + Sync>,
}

/// Rounds that are listed at a time.
pub const LISTED: usize = 100;

const OPENAPI: &str = include_str!("openapi.json");

enum Who {
    Client(Box<Enrolled>),
    Coordinator(Coordinator),
}

/// What a coordinator opens a round with.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Opening {
    opening: Spec,
    /// Public inputs as they travel, in hexadecimal digits, by index.
    #[serde(default)]
    public: BTreeMap<usize, String>,
    /// Whether it only asks what speaks against it.
    #[serde(default)]
    check: bool,
}

/// Longest order, as JSON.
const ORDER: usize = 1024;

pub async fn answer(
    node: &Arc<Node>,
    uploads: &Arc<Uploads>,
    caller: &Caller,
    request: Request<Inbound>,
) -> Response<Body> {
    let begun = Instant::now();
    let (id, path) = (id_of(&request), request.uri().path().to_string());
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let kind = kind(request.method(), &parts);
    let round = match parts.as_slice() {
        ["v1", "tasks", task, "rounds", round, ..] => key(task, round).ok().map(|k| k.to_string()),
        _ => None,
    };
    let span = tracing::info_span!("request", id, kind, round);
    let done = route(node, uploads, caller, &parts, request).instrument(span.clone()).await;
    let mut answer = done.unwrap_or_else(|e| {
        span.in_scope(|| {
            node.metrics.refused.inc();
            tracing::debug!(
                status = e.status.as_u16(),
                code = e.code.to_string(),
                message = e.message,
                "refused"
            );
            e.into()
        })
    });
    let (status, after) = (answer.status().as_u16(), begun.elapsed());
    if let Ok(id) = HeaderValue::from_str(&id) {
        answer.headers_mut().insert(REQUEST_ID, id);
    }
    node.metrics.answered(kind, status, after);
    span.in_scope(|| tracing::debug!(status, seconds = after.as_secs_f64(), "answered"));
    answer
}

/// The header that names a request, in what comes in and in the answer.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The name of a request: the caller's own if it gives one, so that its calls to three nodes can be found in three logs.
fn id_of(request: &Request<Inbound>) -> String {
    let own = request.headers().get(REQUEST_ID).and_then(|v| v.to_str().ok());
    own.filter(|id| is_name(id)).map_or_else(
        || {
            let mut drawn = [0; 8];
            // Without randomness requests have the same name, and are answered all the same.
            let _ = getrandom::fill(&mut drawn);
            hex(&drawn)
        },
        str::to_string,
    )
}

/// What kind of request it is, for metrics: a stranger cannot make up new ones.
fn kind(method: &Method, parts: &[&str]) -> &'static str {
    match parts {
        ["v1", "health" | "ready" | "openapi.json"] => "health",
        ["v1", "tasks"] => "tasks",
        ["v1", "tasks", _, "artifact"] | ["v1", "tasks", _, "rounds", _, "circuit"] => "artifact",
        ["v1", "tasks", _, "rounds", _, "task"] => "tasks",
        ["v1", "tasks", _, "rounds"] => "rounds",
        ["v1", "tasks", _, "rounds", _] if method == Method::POST => "open",
        ["v1", "tasks", _, "rounds", _] => "status",
        ["v1", "tasks", _, "rounds", _, "submissions", _] if method == Method::PATCH => "piece",
        ["v1", "tasks", _, "rounds", _, "submissions", _] => "submission",
        ["v1", "tasks", _, "rounds", _, "reveals"] => "reveals",
        ["v1", "tasks", _, "rounds", ..] => "coordinate",
        _ => "other",
    }
}

async fn route(
    node: &Arc<Node>,
    uploads: &Arc<Uploads>,
    caller: &Caller,
    parts: &[&str],
    request: Request<Inbound>,
) -> Result<Response<Body>, Refused> {
    match (request.method(), parts) {
        (&Method::GET, ["v1", "openapi.json"]) => {
            return Ok(bytes(StatusCode::OK, "application/json", OPENAPI));
        }
        (&Method::GET, ["v1", "health"]) => return Ok(alive(node)),
        (&Method::GET, ["v1", "ready"]) => return ready(node).await,
        _ => {}
    }
    let who = who(node, caller.certificate.as_deref(), &request)?;
    // No client has a name with a slash in it.
    match &who {
        Who::Client(client) => (caller.says)(&client.name),
        Who::Coordinator(by) => (caller.says)(&format!("coordinator/{}", by.name)),
    }
    let query = request.uri().query().map(str::to_string);
    match (&who, request.method(), parts) {
        (_, &Method::GET, ["v1", "tasks"]) => Ok(object(200, &tasks(node))),
        (Who::Coordinator(_), &Method::GET, ["v1", "roll"]) => Ok(object(200, &enrolled(node))),
        (Who::Coordinator(_), &Method::GET, ["v1", "tasks", task, "terms"]) => {
            match terms(node, task) {
                Some(terms) => Ok(object(200, &terms)),
                None => refused(404, Code::Task, "there is no such task"),
            }
        }
        // A client cannot make this node compile.
        (Who::Client(_), &Method::GET, ["v1", "tasks", _, "artifact"]) if query.is_some() => {
            refused(403, Code::Role, "circuits for fewer clients are for the coordinator")
        }
        (_, &Method::GET, ["v1", "tasks", task, "artifact"]) => {
            let (node, task) = (node.clone(), task.to_string());
            match query {
                None => blocking(move || artifact(&node, &task, None)).await?,
                Some(query) => waiting(move || artifact(&node, &task, Some(&query))).await?,
            }
        }
        (_, &Method::GET, ["v1", "tasks", task, "rounds"]) => {
            let (node, task) = (node.clone(), task.to_string());
            let before = match query.map(|q| q.strip_prefix("before=")?.parse().ok()) {
                None => u64::MAX,
                Some(Some(n)) => n,
                Some(None) => {
                    return refused(400, Code::Query, "?before=NUMBER is all that can be asked");
                }
            };
            Ok(object(200, &blocking(move || rounds(&node, &task, before)).await?))
        }
        (_, _, ["v1", "tasks", task, "rounds", round, rest @ ..]) => {
            of_round(node, uploads, &who, key(task, round)?, rest, request).await
        }
        _ => nothing(),
    }
}

/// What somebody asks or orders of a round.
async fn of_round(
    node: &Arc<Node>,
    uploads: &Arc<Uploads>,
    who: &Who,
    key: RoundKey,
    what: &[&str],
    request: Request<Inbound>,
) -> Result<Response<Body>, Refused> {
    let method = request.method().clone();
    if let Who::Coordinator(who) = who {
        permitted(who, &method, what)?;
    }
    let here = node.clone();
    match (who, &method, what) {
        (_, &Method::GET, []) => {
            let round = known(node, &key)?;
            Ok(object(200, &blocking(move || status(&here, &round)).await?))
        }
        (_, &Method::GET, ["opening"]) => Ok(object(200, &known(node, &key)?.spec)),
        (_, &Method::GET, ["task"]) => Ok(object(200, &task(node, &*opened_with(node, &key)?))),
        (_, &Method::GET, ["circuit"]) => Ok(circuit(&opened_with(node, &key)?.full)),
        (Who::Client(client), _, ["submissions", submission]) => {
            let about = About { key, submission, client };
            match method {
                Method::POST => uploads.announce(node, about, request).await,
                Method::GET | Method::HEAD => uploads.state(node, about).await,
                Method::PATCH => uploads.piece(node, about, request).await,
                _ => refused(405, Code::Method, "POST announces, PATCH sends, GET asks"),
            }
        }
        (Who::Client(client), &Method::DELETE, ["reveals"]) => {
            let (client, only) = (client.name.clone(), only_asks(&request)?);
            blocking(move || erase_own(&here, &key, &client, only)).await?
        }
        (Who::Client(client), _, ["reveals"]) => {
            let client = client.name.clone();
            blocking(move || reveals(&here, &key, &method, &client)).await?
        }
        (Who::Client(_), _, _) => refused(403, Code::Role, "this is not for clients"),
        (_, &Method::POST, []) => opened(node, key, request).await,
        (_, &Method::DELETE, []) => {
            let query = request.uri().query().and_then(|q| q.strip_prefix("opening="));
            let Some(opening) = query.and_then(Hash::parse) else {
                return refused(400, Code::Query, "?opening=HASH says what is withdrawn");
            };
            blocking(move || withdrawn(&here, &key, &opening)).await?
        }
        (_, &Method::POST, ["close"]) => obeyed(node, key, Order::Close, request).await,
        (_, &Method::POST, ["abort"]) => obeyed(node, key, Order::Abort, request).await,
        (_, &Method::GET, ["retry"]) => waiting(move || may_retry(&here, &key)).await?,
        (_, &Method::POST, ["retry"]) => waiting(move || retried(&here, &key)).await?,
        (_, &Method::GET, ["artifact"]) => waiting(move || ran(&here, &key)).await?,
        (_, &Method::GET, ["report"]) => blocking(move || reported(&here, &key)).await?,
        (_, &Method::GET, ["words"]) => blocking(move || words(&here, &key)).await?,
        (_, &Method::DELETE, [what @ ("words" | "submissions" | "reveals")]) => {
            let (what, only) = (what.to_string(), only_asks(&request)?);
            blocking(move || erase(&here, &key, &what, only)).await?
        }
        _ => known(node, &key).and_then(|_| nothing()),
    }
}

fn nothing<T>() -> Result<T, Refused> {
    refused(404, Code::Path, "there is nothing here: see /v1/openapi.json")
}

fn known(node: &Node, key: &RoundKey) -> Result<Arc<Round>, Refused> {
    node.round(key).map_or_else(|| no_round(key), Ok)
}

fn circuit(ready: &Ready) -> Response<Body> {
    bytes(StatusCode::OK, "application/octet-stream", ready.artifact.clone())
}

/// The last rounds of a task before one.
fn rounds(node: &Node, task: &str, before: u64) -> Vec<Value> {
    let of = |r: &Arc<Round>| r.spec.key.task == task && r.spec.key.round < before;
    let of: Vec<_> = node.rounds().into_iter().filter(of).collect();
    of[of.len().saturating_sub(LISTED)..].iter().map(|r| status(node, r)).collect()
}

fn who(
    node: &Node,
    certificate: Option<&[u8]>,
    request: &Request<Inbound>,
) -> Result<Who, Refused> {
    let roll = read_lock(&node.roll);
    let token =
        request.headers().get(AUTHORIZATION).and_then(|v| v.to_str().ok()?.strip_prefix("Bearer "));
    if let Some(token) = token {
        let hash = sha256(token.as_bytes());
        if let Some(who) = node.config.coordinator.iter().find(|c| c.token == hash) {
            return Ok(Who::Coordinator(who.clone()));
        }
        if let Some(client) = roll.by_token(token) {
            return Ok(Who::Client(client.clone().into()));
        }
    }
    match certificate.and_then(|c| roll.by_certificate(c)) {
        Some(client) => Ok(Who::Client(client.clone().into())),
        None => refused(
            401,
            Code::Unknown,
            "a token for this node (Authorization: Bearer) or a certificate of an enrolled client is needed",
        ),
    }
}

/// Whether a coordinator may do that. Everyone may look.
fn permitted(who: &Coordinator, method: &Method, rest: &[&str]) -> Result<(), Refused> {
    let (power, name) = match rest {
        ["words"] => (Power::Collect, "collect"),
        _ if method != Method::GET => (Power::Open, "open"),
        _ => return Ok(()),
    };
    match who.may.contains(&power) {
        true => Ok(()),
        false => {
            let why = format!("the coordinator `{}` may not do that: it needs `{name}`", who.name);
            refused(403, Code::Role, why)
        }
    }
}

fn key(task: &str, round: &str) -> Result<RoundKey, Refused> {
    if !is_name(task) {
        return refused(404, Code::Task, "there is no such task");
    }
    let number = round.parse().ok().filter(|n| *n <= RoundKey::LAST);
    match number {
        Some(round) => Ok(RoundKey { task: task.into(), round }),
        None => {
            let why = format!("a round is a number from 0 to {} (2^53 - 1)", RoundKey::LAST);
            refused(400, Code::Number, why)
        }
    }
}

/// The artifact of a task, for all clients or for so many.
fn artifact(node: &Node, task: &str, query: Option<&str>) -> Result<Response<Body>, Refused> {
    let Some(known) = node.task(task) else {
        return refused(404, Code::Task, "there is no such task");
    };
    let clients = match query.map(|q| q.strip_prefix("clients=").and_then(|n| n.parse().ok())) {
        None => known.full.clients,
        Some(Some(n)) => n,
        Some(None) => return refused(400, Code::Query, "?clients=NUMBER is all that can be asked"),
    };
    if clients < known.task.minimum || clients > known.full.clients {
        return refused(404, Code::Clients, "no round of the task is for so many clients");
    }
    node.circuit(&known, clients)
        .map(|c| circuit(&c))
        .or_else(|why| refused(409, Code::Circuit, why))
}

/// A coordinator withdraws an opening.
fn withdrawn(node: &Node, key: &RoundKey, opening: &Hash) -> Result<Response<Body>, Refused> {
    match node.withdraw(key, opening) {
        Ok(()) => Ok(object(200, &json!({ "ok": true }))),
        Err(StepError::Unknown) => no_round(key),
        Err(StepError::Store { why, full }) => {
            tracing::error!(round = %key, why, "a round could not be withdrawn");
            fails(full)
        }
        Err(e) => refused(409, Code::Step, e.to_string()),
    }
}

/// Whether a round may be run again.
fn may_retry(node: &Arc<Node>, key: &RoundKey) -> Result<Response<Body>, Refused> {
    known(node, key)?;
    if !node.leads() {
        return refused(409, Code::Retry, "ask node 0, which asks the others");
    }
    match could(node, key) {
        Ok(()) => Ok(object(200, &json!({ "may": true, "why": null }))),
        Err(OpenError::Refused(why)) => Ok(object(200, &json!({ "may": false, "why": why }))),
        Err(e) => speaks(e, Code::Busy, Code::Retry),
    }
}

fn retried(node: &Arc<Node>, key: &RoundKey) -> Result<Response<Body>, Refused> {
    known(node, key)?;
    match retry(node, key) {
        Ok(round) => Ok(object(200, &status(node, &round))),
        Err(e) => speaks(e, Code::Busy, Code::Retry),
    }
}

fn reported(node: &Node, key: &RoundKey) -> Result<Response<Body>, Refused> {
    Ok(object(200, &report(node, &known(node, key)?)))
}

/// This node's words of the result.
fn words(node: &Node, key: &RoundKey) -> Result<Response<Body>, Refused> {
    let round = known(node, key)?;
    if round.phase != Phase::Released {
        return refused(409, Code::Phase, format!("the round is {}", round.phase));
    }
    match node.store.kept_if_any(key, Left::Result) {
        Ok(Some(words)) => Ok(secret("application/octet-stream", words)),
        Ok(None) => {
            refused(410, Code::Collected, "this node's words of the result have been erased")
        }
        Err(e) => stored(Err(e)),
    }
}

/// The task that a round was opened with, for whoever submits to it. It may be another one by now.
fn opened_with(node: &Node, key: &RoundKey) -> Result<Arc<Known>, Refused> {
    let round = known(node, key)?;
    match node.task_of(&round.spec).filter(|k| k.full.hash == round.spec.circuit) {
        Some(known) => Ok(known),
        None => refused(409, Code::Circuit, "this node has another circuit for the task by now"),
    }
}

/// The circuit that a round was run with. The task may have another one by now.
fn ran(node: &Node, key: &RoundKey) -> Result<Response<Body>, Refused> {
    known(node, key)?;
    let round = match node.record(key) {
        Ok(found) => found,
        Err(e) => return stored(Err(e)),
    };
    let Some((round, clients)) = round.and_then(|r| {
        let clients = r.agreement.as_ref()?.clients;
        Some((r, clients))
    }) else {
        return refused(409, Code::Phase, "nothing was agreed of the round, or it was erased");
    };
    node.circuit_of(&round.spec, clients)
        .map(|c| circuit(&c))
        .or_else(|why| refused(409, Code::Circuit, why))
}

/// What a round reveals to a member of a party set.
fn reveals(
    node: &Node,
    key: &RoundKey,
    method: &Method,
    client: &str,
) -> Result<Response<Body>, Refused> {
    let round = known(node, key)?;
    match (method, round.phase) {
        (&Method::GET, Phase::Aborted) => {
            let why = round.aborted.as_deref().unwrap_or("");
            refused(409, Code::Aborted, format!("the round was aborted: {why}"))
        }
        (&Method::GET, Phase::Released) => {
            match node.store.kept_if_any(key, Left::Reveal(client)) {
                Ok(Some(own)) => Ok(secret("application/json", own)),
                Ok(None) => refused(
                    404,
                    Code::Reveal,
                    format!("the round has revealed nothing to `{client}`, or it has been erased"),
                ),
                Err(e) => stored(Err(e)),
            }
        }
        (&Method::GET, phase) => refused(409, Code::Early, format!("the round is {phase}")),
        _ => refused(405, Code::Method, "GET fetches, DELETE erases"),
    }
}

/// What speaks against something, with the codes for a node that is away and for one that says no.
fn speaks<T>(e: OpenError, away: Code, no: Code) -> Result<T, Refused> {
    match e {
        OpenError::Away(why) => refused(503, away, why),
        OpenError::Refused(why) => refused(409, no, why),
        OpenError::Exists(why) => refused(409, Code::Exists, why),
        OpenError::Full => refused(507, Code::Full, e.to_string()),
    }
}

/// What this node has to say of an opening or an order.
fn told(
    node: &Node,
    done: Result<Option<Arc<Round>>, OpenError>,
    no: Code,
) -> Result<Response<Body>, Refused> {
    match done {
        Ok(Some(round)) => Ok(object(200, &status(node, &round))),
        Ok(None) => Ok(object(200, &json!({ "ok": true }))),
        Err(e) => speaks(e, Code::Away, no),
    }
}

async fn opened(
    node: &Arc<Node>,
    key: RoundKey,
    request: Request<Inbound>,
) -> Result<Response<Body>, Refused> {
    let most = usize::try_from(node.longest_opening()).unwrap_or(usize::MAX);
    let body = small(node, request, most).await?;
    let Opening { opening, public, check } = read(&body)?;
    if opening.key != key {
        return refused(400, Code::Body, "the opening is of another round than the request");
    }
    let public: Option<Public> = public.iter().map(|(j, x)| Some((*j, unhex(x)?))).collect();
    let Some(public) = public else {
        return refused(400, Code::Body, "public inputs are hexadecimal digits");
    };
    let wanted = if check { Wanted::Checked } else { Wanted::Opened };
    let node = node.clone();
    waiting(move || told(&node, open(&node, opening, &public, wanted), Code::Open)).await?
}

/// Does what a coordinator has ordered.
async fn obeyed(
    node: &Arc<Node>,
    key: RoundKey,
    order: Order,
    request: Request<Inbound>,
) -> Result<Response<Body>, Refused> {
    let body = small(node, request, ORDER).await?;
    let by: Mandate = read(&body)?;
    known(node, &key)?;
    let node = node.clone();
    waiting(move || told(&node, ordered(&node, &key, order, by).map(Some), Code::Step)).await?
}

fn read<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, Refused> {
    serde_json::from_slice(body).or_else(|e| {
        let at = format!("line {} column {}", e.line(), e.column());
        refused(400, Code::Body, format!("{at}: not as the description has it"))
    })
}
