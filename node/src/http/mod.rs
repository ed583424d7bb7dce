//! The interface for clients, the coordinator and the operator: HTTP/1.1.
//!
//! | file | does |
//! |---|---|
//! | `reply` | answers, and errors with a code |
//! | `connections` | how many there are, whose they are, and which one makes room |
//! | `body` | short bodies, read as a whole; the rest of one that is refused |
//! | `routes` | finds out who asks for what, and answers |
//! | `views` | what callers are shown of tasks and rounds |
//! | `erase` | what is left of a round that has ended is erased |
//! | `upload` | submissions as they come in |
//! | `keep` | what makes a whole part count |
//! | `health` | whether the node is alive, and whether it should be sent clients |
//! | `operations` | the status page, readiness, metrics, backups and where workers are, for the operator |
//! | `scrape` | what Prometheus is told |
//!
//! `openapi.json` beside this file describes it, and the node serves that file. Requests are handled by one thread and
//! a pool for what waits for the disk. A run is on threads of its own, and takes no lock that is held while something is
//! written ([`crate::ledger`]).
//!
//! **What strangers can do.** Connections are capped, also by how many files the system lets the process open. If there
//! are too many, the first of those on which nobody has said yet who it is ends, so that strangers keep nobody out. A
//! client has a share of them, and whoever has most makes room if there are no strangers. A
//! handshake has [`GREETING`], a request's head, an answer that is not taken and an idle connection have `idle_s`, and
//! a body has to come at `slowest` bytes a second or more. Bodies are read only from whoever is enrolled, and each kind
//! has its own cap, which follows from the task's circuit; of a refused one some is taken and dropped, so that the caller
//! sees the answer. So memory is bounded by the caps, whoever calls.

mod body;
mod connections;
mod erase;
mod health;
mod keep;
mod operations;
mod reply;
mod routes;
mod scrape;
mod upload;
mod views;

use crate::node::Node;
use crate::peers::GREETING;
use crate::threads::Claim;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Sleep, sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::server::TlsStream;

use crate::hex::sha256;
use body::Inbound;
use connections::Connections;
use operations::Origin;
use reply::Body;
use routes::Caller;
pub use upload::Uploads;

/// Connections of operators, of workers that say where they are, and of whoever asks whether the node lives.
const OPERATORS: usize = 64;

/// Most bytes of a request's head.
const HEAD: usize = 32 << 10;

/// How many connections of clients there may be: what is configured, and what the system's limit of open files leaves.
pub fn connections(configured: usize) -> usize {
    #[cfg(unix)]
    let soft = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    #[cfg(not(unix))]
    let soft: Option<u64> = None;
    // Files of the store, of uploads, and connections to the other nodes come on top.
    let most = soft.map(|soft| usize::try_from(soft.saturating_sub(384).max(64)));
    most.and_then(Result::ok).map_or(configured, |most| configured.min(most))
}

/// A connection among the others, until it is dropped.
struct Held {
    all: Arc<Connections>,
    number: u64,
    _place: OwnedSemaphorePermit,
}

impl Held {
    /// Somebody has said on it who it is.
    fn says(&self, who: &str) {
        self.all.says(self.number, who);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.all.remove(self.number);
    }
}

/// Serves each caller in a task of its own until it is dropped. Where all places are taken, `full` is told who comes, and
/// another connection makes room.
async fn serve_each<F>(
    listener: &TcpListener,
    all: Connections,
    full: impl Fn(SocketAddr),
    serve: impl Fn(TcpStream, SocketAddr, Held) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let all = Arc::new(all);
    for number in 0.. {
        let (socket, from) = accept(listener).await;
        let mut place = all.place();
        if place.is_none() {
            full(from);
            place = all.place_of_another().await;
        }
        let Some(place) = place else { continue };
        let held = Held { all: all.clone(), number, _place: place };
        let task = tokio::spawn(serve(socket, from, held));
        // There is one thread: the task has not begun yet.
        all.add(number, task.abort_handle());
    }
}

/// Serves clients and the coordinator until it is dropped.
pub async fn serve(node: Arc<Node>, listener: TcpListener, tls: TlsAcceptor) {
    let most = connections(node.config.limits.connections);
    let uploads = Arc::new(Uploads::new(node.config.limits.uploads));
    let full = |from| {
        let before = node.metrics.turned_away.inc();
        if before.is_multiple_of(1000) {
            tracing::warn!(%from, most, "too many connections of clients: one is closed");
        }
    };
    let serve = |socket: TcpStream, from, held: Held| {
        node.metrics.connections.fetch_add(1, Ordering::Relaxed);
        let (node, tls, uploads) = (node.clone(), tls.clone(), uploads.clone());
        let of = node.clone();
        let counted = Claim::new(move || {
            of.metrics.connections.fetch_sub(1, Ordering::Relaxed);
        });
        async move {
            // Small answers leave at once; without it they leave later.
            let _ = socket.set_nodelay(true);
            match timeout(GREETING, tls.accept(socket)).await {
                Ok(Ok(stream)) => {
                    let certificate = certificate(&stream).map(|c| c.to_vec());
                    let says = Box::new(move |who: &str| held.says(who));
                    one(&node, &uploads, Caller { certificate, says }, stream, false).await;
                }
                other => {
                    let why = other.map_or("too slow".to_string(), |r| {
                        r.err().map_or(String::new(), |e| e.to_string())
                    });
                    tracing::debug!(%from, why, "no handshake with a client");
                    node.metrics.turned_away.inc();
                }
            }
            drop(counted);
        }
    };
    serve_each(&listener, Connections::new(most), full, serve).await;
}

/// The certificate that the other end has shown.
fn certificate<S>(stream: &TlsStream<S>) -> Option<&CertificateDer<'static>> {
    stream.get_ref().1.peer_certificates().and_then(|c| c.first())
}

/// Serves one connection of a client or the coordinator to its end.
async fn one<S>(
    node: &Arc<Node>,
    uploads: &Arc<Uploads>,
    caller: Caller,
    stream: S,
    half_closed: bool,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let caller = Arc::new(caller);
    let answer = |request| {
        let (node, uploads, caller) = (node.clone(), uploads.clone(), caller.clone());
        async move { routes::answer(&node, &uploads, &caller, request).await }
    };
    let idle = Duration::from_secs(node.config.limits.idle_s.max(1));
    converse(stream, (idle, half_closed), answer).await;
}

/// What a node answers to these bytes, as if they had come over TLS without a certificate. Tests feed it anything.
#[cfg(feature = "doors")]
pub async fn answer_to(node: &Arc<Node>, bytes: &[u8]) -> Vec<u8> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let uploads = Arc::new(Uploads::new(1));
    let (mut there, here) = tokio::io::duplex(1 << 20);
    let node = node.clone();
    let served = tokio::spawn(async move {
        let caller = Caller { certificate: None, says: Box::new(|_| {}) };
        one(&node, &uploads, caller, here, true).await
    });
    let mut answer = Vec::new();
    // A node may close the connection before it has read everything.
    let _ = there.write_all(bytes).await;
    let _ = there.shutdown().await;
    let _ = there.read_to_end(&mut answer).await;
    if let Err(e) = served.await
        && let Ok(panic) = e.try_into_panic()
    {
        std::panic::resume_unwind(panic);
    }
    answer
}

/// Serves the operator until it is dropped.
pub async fn serve_operator(node: Arc<Node>, listener: TcpListener, tls: Option<TlsAcceptor>) {
    let serve = |socket, _, held: Held| {
        let (node, tls) = (node.clone(), tls.clone());
        async move {
            let says = |who: &str| held.says(who);
            let answer = |seen: Origin| {
                let (node, says) = (&node, &says);
                move |request| {
                    let seen = seen.clone();
                    async move { operations::answer(node, (&seen, says), request).await }
                }
            };
            let patience = (Duration::from_secs(10), false);
            match tls {
                None => converse(socket, patience, answer(Origin::Here)).await,
                Some(tls) => {
                    if let Ok(Ok(stream)) = timeout(GREETING, tls.accept(socket)).await {
                        let seen = Origin::Over(certificate(&stream).map(|c| sha256(c)));
                        converse(stream, patience, answer(seen)).await;
                    }
                }
            }
        }
    };
    serve_each(&listener, Connections::new(OPERATORS), |_| {}, serve).await;
}

async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(one) => return one,
            Err(e) if e.kind() == io::ErrorKind::ConnectionAborted => {}
            // Too many files are open, most likely: it passes.
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    }
}

/// A connection that ends if the other end takes nothing of an answer for too long.
struct Patient<S> {
    stream: S,
    limit: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    fn timed<T>(&mut self, cx: &mut Context<'_>, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if done.is_ready() {
            self.stalled = None;
            return done;
        }
        let limit = self.limit;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(limit)));
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, to)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let me = self.get_mut();
        let done = Pin::new(&mut me.stream).poll_write(cx, bytes);
        me.timed(cx, done)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let me = self.get_mut();
        let done = Pin::new(&mut me.stream).poll_flush(cx);
        me.timed(cx, done)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let me = self.get_mut();
        let done = Pin::new(&mut me.stream).poll_shutdown(cx);
        me.timed(cx, done)
    }
}

/// Answers requests until a connection has been idle for so long. One that the caller has closed for what it says ends at
/// once, unless it is said that it is half closed.
async fn converse<S, F, A>(stream: S, (idle, half_closed): (Duration, bool), answer: F)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
    F: Fn(Request<Inbound>) -> A,
    A: Future<Output = Response<Body>>,
{
    let service = service_fn(|request: Request<Incoming>| {
        let answer = answer(Inbound::of(request));
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(idle)
        .half_close(half_closed)
        .max_buf_size(HEAD)
        .serve_connection(TokioIo::new(Patient { stream, limit: idle, stalled: None }), service)
        .await;
    if let Err(e) = served {
        tracing::debug!(why = %e, "a conversation with a client ended");
    }
}
