//! Calls to nodes: submit, open, watch, collect, fetch.
//!
//! | file | does |
//! |---|---|
//! | `idle` | gives up connections on which nothing moves |
//! | `calls` | what callers ask for |
//! | `open` | a coordinator opens a round, and closes or aborts it before its time |
//! | `collect` | puts the result together from the words of three nodes |
//! | `fetch` | the same of what is revealed to one member |
//!
//! **Every request ends.** A connection has `CONNECT` to be there, and ends if nothing moves on it for `QUIET`. Whoever waits is told so ([`Caller::telling`]), and every
//! error names the node and its address.

mod calls;
mod collect;
mod fetch;
mod idle;
mod open;

use crate::codes::Code;
use crate::config::{CallerConfig, identity, token_for};
use crate::locks::lock;
use crate::trust;
pub use collect::Collected;
pub use fetch::Fetched;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use idle::{Counting, Moved, unless_idle};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde::Deserialize;
use serde_json::Value;
use slvr_runtime::party::RunError;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use zeroize::Zeroizing;

/// Bytes of a part that are sent at a time: so much is sent again if a connection breaks.
const PIECE: usize = 1 << 20;
/// Between two attempts.
const AGAIN: Duration = Duration::from_millis(300);
/// Longest answer that is no file.
const SHORT: usize = 16 << 20;
/// How long a connection and its handshake may take.
const CONNECT: Duration = Duration::from_secs(15);
/// How long a request may take, however little patience is left.
const LEAST: Duration = Duration::from_secs(1);
/// How long nothing may move while an answer is waited for.
const QUIET: Duration = Duration::from_secs(30);

/// Why a call came to nothing.
#[derive(Debug, Error)]
pub enum CallError {
    /// What is configured cannot be used.
    #[error("{0}")]
    Config(String),
    #[error("node {node} at {address}: {why}")]
    Unreachable { node: usize, address: String, why: String },
    #[error("{} ({code})", named(*.node, .message))]
    Refused { node: usize, status: u16, code: Code, message: String },
    /// What nodes say does not fit together.
    #[error("{0}")]
    Disagree(String),
    /// Several nodes do not answer, or say no.
    #[error("{}", list(.0))]
    Several(Vec<CallError>),
    /// A submission is not on all three nodes: what each of them says.
    #[error("the submission is not on all three nodes{}", of_nodes(.0))]
    Submission(Box<[Result<Value, CallError>; 3]>),
    /// There is no result yet.
    #[error("{0}")]
    Early(String),
    /// There is no result, and there will be none unless the round is run again.
    #[error("{0}")]
    Aborted(String),
    /// The result cannot be put together.
    #[error("the result: {0}")]
    Result(#[from] RunError),
}

impl CallError {
    /// A node knows no such round.
    fn no_round(node: usize, task: &str, round: u64) -> CallError {
        CallError::Refused {
            node,
            status: 404,
            code: Code::Round,
            message: format!("there is no round {task}/{round}"),
        }
    }

    /// Whether a node says that it knows no such round.
    pub fn is_unknown_round(&self) -> bool {
        matches!(self, CallError::Refused { code: Code::Round, .. })
    }

    /// Whether it may be different soon.
    pub fn passes(&self) -> bool {
        match self {
            CallError::Unreachable { .. } => true,
            CallError::Refused { status, code, .. } => {
                let soon =
                    matches!(code, Code::Busy | Code::Offset | Code::Submission | Code::Early);
                *status >= 500 || *status == 408 || soon
            }
            CallError::Several(all) => all.iter().all(CallError::passes),
            _ => false,
        }
    }

    /// Whether the round was aborted: also if a node says so to whoever submits.
    pub fn is_aborted(&self) -> bool {
        match self {
            CallError::Aborted(_) => true,
            CallError::Refused { code, .. } => *code == Code::Aborted,
            CallError::Several(all) => all.iter().any(CallError::is_aborted),
            CallError::Submission(all) => {
                all.iter().any(|r| r.as_ref().is_err_and(CallError::is_aborted))
            }
            _ => false,
        }
    }
}

/// What a node says, with its name once.
fn named(node: usize, message: &str) -> String {
    match message.starts_with(&format!("node {node}")) {
        true => message.into(),
        false => format!("node {node}: {message}"),
    }
}

fn list(all: &[CallError]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// What each node says of a submission, a line each.
fn of_nodes(all: &[Result<Value, CallError>; 3]) -> String {
    let one = |(node, said): (usize, &Result<Value, CallError>)| match said {
        Ok(receipt) => {
            let phase = receipt["phase"].as_str().unwrap_or("?");
            format!("\nnode {node}: it is there, and the round is {phase}")
        }
        Err(e) => format!("\n{e}"),
    };
    all.iter().enumerate().map(one).collect()
}

/// A connection to a node.
struct Line {
    requests: SendRequest<Full<Bytes>>,
    moved: Moved,
}

/// What three nodes have answered, or all that speaks against it: what passes is not told beside what does not, and what
/// several nodes say alike is told once.
fn together<T>(all: [Result<T, CallError>; 3]) -> Result<[T; 3], CallError> {
    let (mut found, mut failed) = (Vec::new(), Vec::new());
    for one in all {
        match one {
            Ok(one) => found.push(one),
            Err(e) => failed.push(e),
        }
    }
    if let Ok(all) = <[T; 3]>::try_from(found) {
        return Ok(all);
    }
    if failed.iter().any(|e: &CallError| !e.passes()) {
        failed.retain(|e| !e.passes());
    }
    failed.dedup_by(|a, b| match (a, b) {
        (
            CallError::Refused { code, message, .. },
            CallError::Refused { code: other, message: text, .. },
        ) => code == other && message == text,
        _ => false,
    });
    let one = failed.len() == 1;
    Err(failed.pop_if(|_| one).unwrap_or(CallError::Several(failed)))
}

/// Why there is no answer on a connection.
enum Lost {
    /// It broke, as one that was kept may.
    Broke(String),
    /// Nothing moved for so long.
    Silent(Duration),
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lost::Broke(why) => f.write_str(why),
            Lost::Silent(quiet) => write!(f, "it has said nothing for {} s", quiet.as_secs()),
        }
    }
}

/// Hears what a caller has to wait for.
pub type Tell = dyn Fn(&str) + Send + Sync;

pub struct Caller {
    config: CallerConfig,
    tls: Vec<Arc<ClientConfig>>,
    lines: [Mutex<Option<Line>>; 3],
    runtime: Runtime,
    tell: Box<Tell>,
    quiet: Duration,
    /// Until when whoever calls is patient.
    until: Mutex<Option<Instant>>,
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Caller({:?})", self.config)
    }
}

/// An answer: its status and its body.
pub type Answer = (u16, Bytes);

/// For as long as whoever calls is patient until a moment.
struct Patience<'a> {
    of: &'a Caller,
    before: Option<Instant>,
}

impl Drop for Patience<'_> {
    fn drop(&mut self) {
        *lock(&self.of.until) = self.before;
    }
}

/// The path of what there is of a round, such as `/report`.
fn round_path(task: &str, round: u64, rest: &str) -> String {
    format!("/v1/tasks/{task}/rounds/{round}{rest}")
}

impl Caller {
    /// With what a file says.
    ///
    /// # Errors
    ///
    /// Keys that cannot be used.
    pub fn new(config: CallerConfig) -> Result<Caller, CallError> {
        let bad = |e: String| CallError::Config(e);
        let own = match (&config.certificate, &config.key) {
            // A token is enough. A certificate serves whoever has none.
            (Some(c), Some(k)) if config.token.is_none() => {
                Some(identity(c, k).map_err(|e| bad(e.to_string()))?)
            }
            _ => None,
        };
        let tls = config.node.iter().map(|n| {
            let own = own.as_ref().map(|(c, k)| (c, k));
            trust::client(own, n.certificates.clone()).map(Arc::new).map_err(|e| {
                bad(match (&config.certificate, &config.key) {
                    (Some(c), Some(k)) => trust::unusable(c, k, &e),
                    _ => e.to_string(),
                })
            })
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Ok(Caller {
            tls: tls.collect::<Result<_, _>>()?,
            config,
            lines: Default::default(),
            runtime: runtime.map_err(|e| bad(e.to_string()))?,
            tell: Box::new(|_| {}),
            quiet: QUIET,
            until: Mutex::default(),
        })
    }

    /// Has every request end about when the patience does, until what this makes is dropped.
    fn patient_until(&self, until: Instant) -> Patience<'_> {
        Patience { before: lock(&self.until).replace(until), of: self }
    }

    /// So long, or as long as the patience lasts. A request has a second in any case.
    fn within(&self, most: Duration) -> Duration {
        let until = *lock(&self.until);
        let left = until.map_or(most, |u| u.saturating_duration_since(Instant::now()));
        most.min(left.max(LEAST))
    }

    /// Asks all three nodes at the same time.
    pub(crate) fn each<T: Send>(
        &self,
        ask: impl Fn(usize) -> Result<T, CallError> + Sync,
    ) -> [Result<T, CallError>; 3] {
        let end = |done: thread::ScopedJoinHandle<'_, _>| {
            done.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        let ask = &ask;
        thread::scope(|scope| [0, 1, 2].map(|node| scope.spawn(move || ask(node))).map(end))
    }

    /// The same; all have to answer, and what is said names each that does not.
    pub(crate) fn all<T: Send>(
        &self,
        ask: impl Fn(usize) -> Result<T, CallError> + Sync,
    ) -> Result<[T; 3], CallError> {
        together(self.each(ask))
    }

    /// What it was told.
    pub fn config(&self) -> &CallerConfig {
        &self.config
    }

    /// Tells somebody what it has to wait for: once for a node that says nothing, and for every other cause.
    pub fn telling(self, tell: impl Fn(&str) + Send + Sync + 'static) -> Caller {
        Caller { tell: Box::new(tell), ..self }
    }

    /// Gives a node up if nothing moves for so long, other than `QUIET`.
    pub fn quiet(self, quiet: Duration) -> Caller {
        Caller { quiet, ..self }
    }

    /// Does it again until a moment, while what speaks against it may pass.
    ///
    /// # Errors
    ///
    /// What does not pass; the last that did not pass in time.
    pub fn patiently<T>(
        &self,
        until: Instant,
        act: impl Fn() -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        let mut told = String::new();
        let _patience = self.patient_until(until);
        loop {
            match act() {
                Err(e) if e.passes() && Instant::now() + AGAIN < until => {
                    self.tell_again(&mut told, &e, until);
                    thread::sleep(AGAIN);
                }
                done => return done,
            }
        }
    }

    /// Tells of a cause that is another one than before.
    fn tell_again(&self, told: &mut String, e: &CallError, until: Instant) {
        // A line, whatever several nodes say.
        let why = e.to_string().replace('\n', "; ");
        if *told != why {
            let left = until.saturating_duration_since(Instant::now()).as_secs();
            (self.tell)(&format!("{why}; trying again for {left} s"));
            *told = why;
        }
    }

    async fn line(&self, node: usize) -> Result<Line, String> {
        let text = |e: &dyn fmt::Display| e.to_string();
        let socket =
            TcpStream::connect(&self.config.node[node].address).await.map_err(|e| text(&e))?;
        socket.set_nodelay(true).map_err(|e| text(&e))?;
        let moved = Moved::default();
        let socket = Counting { stream: socket, moved: moved.clone() };
        // The name is not checked: the certificate is.
        let name = ServerName::try_from("node").map_err(|e| text(&e))?;
        let stream = TlsConnector::from(self.tls[node].clone())
            .connect(name, socket)
            .await
            .map_err(|e| match trust::is_unexpected(&e) {
                true => format!(
                    "it shows a certificate whose hash is not among the `certificates` of [[node]] {node} in this configuration"
                ),
                false => text(&e),
            })?;
        let (requests, conversation) =
            handshake(TokioIo::new(stream)).await.map_err(|e| text(&e))?;
        tokio::spawn(async move {
            // How it ends, whoever waits for an answer is told.
            let _ = conversation.await;
        });
        Ok(Line { requests, moved })
    }

    async fn once(
        &self,
        node: usize,
        line: &mut Line,
        request: Request<Full<Bytes>>,
        (most, quiet): (usize, Duration),
    ) -> Result<Answer, Lost> {
        let requests = &mut line.requests;
        let asked = async {
            let broke = |e: &dyn fmt::Display| Lost::Broke(e.to_string());
            requests.ready().await.map_err(|e| broke(&e))?;
            let response = requests.send_request(request).await.map_err(|e| broke(&e))?;
            let status = response.status().as_u16();
            let body = Limited::new(response.into_body(), most).collect().await;
            Ok((status, body.map_err(|e| broke(&e))?.to_bytes()))
        };
        let tell = || (self.tell)(&format!("waiting for node {node} at {}", self.address(node)));
        unless_idle(asked, &line.moved, quiet, tell).await.map_err(|_| Lost::Silent(quiet))?
    }

    fn address(&self, node: usize) -> &str {
        self.config.node.get(node).map_or("?", |n| n.address.as_str())
    }

    /// Asks a node once, on the connection that is there or on a new one.
    ///
    /// # Errors
    ///
    /// No answer; an answer that says no.
    pub fn call(
        &self,
        node: usize,
        method: &Method,
        path: &str,
        headers: &[(&'static str, String)],
        body: &[u8],
        most: usize,
    ) -> Result<Answer, CallError> {
        let address = self.address(node);
        let unreachable =
            |why: String| CallError::Unreachable { node, address: address.into(), why };
        let mut builder = Request::builder().method(method).uri(path);
        builder = builder.header("host", address);
        if let Some(secret) = &self.config.token {
            // Each node has a token of its own: none can call another one with it.
            let token = Zeroizing::new(format!("Bearer {}", *token_for(secret, node)));
            builder = builder.header("authorization", token.as_str());
        }
        for (name, value) in headers {
            builder = builder.header(*name, value);
        }
        let request = builder.body(Full::new(Bytes::copy_from_slice(body)));
        let request = request.map_err(|e| CallError::Config(e.to_string()))?;
        let again = request.clone();
        let kept = lock(&self.lines[node]).take();
        let limits = (most, self.within(self.quiet));
        let answer = self.runtime.block_on(async {
            // A node may close a connection that it has kept while this request is on its way.
            if let Some(mut line) = kept.filter(|l| !l.requests.is_closed()) {
                match self.once(node, &mut line, request, limits).await {
                    Ok(answer) => return Ok((answer, line)),
                    Err(silent @ Lost::Silent(_)) => return Err(silent.to_string()),
                    Err(Lost::Broke(_)) => {}
                }
            }
            let connect = self.within(CONNECT);
            let late = |_| {
                format!(
                    "no connection within {} s: its process may be stopped or the line be cut",
                    connect.as_secs()
                )
            };
            let mut line = timeout(connect, self.line(node)).await.map_err(late)??;
            let answer = self.once(node, &mut line, again, limits).await;
            Ok((answer.map_err(|e| e.to_string())?, line))
        });
        let ((status, body), line) = answer.map_err(unreachable)?;
        *lock(&self.lines[node]) = Some(line);
        if status < 300 {
            return Ok((status, body));
        }
        let error: Value = serde_json::from_slice(&body).unwrap_or_default();
        let error = &error["error"];
        let code = Code::deserialize(&error["code"]).unwrap_or(Code::Other("?".into()));
        let message = error["message"].as_str().unwrap_or("?").to_string();
        Err(CallError::Refused { node, status, code, message })
    }

    fn json(
        &self,
        node: usize,
        method: &Method,
        path: &str,
        body: &[u8],
    ) -> Result<Value, CallError> {
        let (_, body) = self.call(node, method, path, &[], body, SHORT)?;
        serde_json::from_slice(&body)
            .map_err(|_| CallError::Disagree(format!("node {node}: its answer is no JSON")))
    }
}

/// As an error of the system.
impl From<CallError> for io::Error {
    fn from(e: CallError) -> Self {
        io::Error::other(e)
    }
}
