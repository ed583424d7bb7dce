//! Answers, and errors with a code.

use crate::codes::Code;
use crate::redaction::redacted;
use crate::state::RoundKey;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;
use serde_json::json;
use zeroize::Zeroizing;

/// The body of an answer.
pub type Body = Full<Bytes>;

/// An error that a caller is told: status, code, what is wrong.
#[derive(Debug)]
pub struct Refused {
    pub status: StatusCode,
    pub code: Code,
    /// What is wrong and what to do.
    pub message: String,
}

pub fn refused<T>(status: u16, code: Code, message: impl Into<String>) -> Result<T, Refused> {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Err(Refused { status, code, message: message.into() })
}

/// This node knows no such round.
pub fn no_round<T>(key: &RoundKey) -> Result<T, Refused> {
    refused(404, Code::Round, format!("there is no round {key}"))
}

pub fn bytes(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    let fixed = [
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
    ];
    for (name, value) in fixed {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

/// Bytes that are overwritten once they are sent.
pub fn secret(kind: &'static str, body: Zeroizing<Vec<u8>>) -> Response<Body> {
    bytes(StatusCode::OK, kind, Bytes::from_owner(body))
}

pub fn object<T: Serialize>(status: u16, value: &T) -> Response<Body> {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    bytes(status, "application/json", serde_json::to_vec(value).unwrap_or_default())
}

impl From<Refused> for Response<Body> {
    fn from(e: Refused) -> Self {
        let message = redacted(&e.message);
        object(e.status.as_u16(), &json!({ "error": { "code": e.code, "message": message } }))
    }
}

/// Does what waits for the disk without keeping others waiting.
pub async fn blocking<T: Send + 'static>(
    act: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refused> {
    // What is logged there is of this request, too.
    let span = tracing::Span::current();
    tokio::task::spawn_blocking(move || span.in_scope(act)).await.or_else(|_| bug())
}

/// Does what waits for other nodes, or compiles, in a thread of its own: of those that wait for the disk there are few. Only
/// coordinators cause it, and each has few connections.
pub async fn waiting<T: Send + 'static>(
    act: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refused> {
    let span = tracing::Span::current();
    let (say, said) = tokio::sync::oneshot::channel();
    let thread = std::thread::Builder::new().name("coordinator".into());
    match thread.spawn(move || drop(say.send(span.in_scope(act)))) {
        Ok(_) => said.await.or_else(|_| bug()),
        Err(_) => refused(503, Code::Busy, "this node has no thread left: try again"),
    }
}

fn bug<T>() -> Result<T, Refused> {
    refused(500, Code::Bug, "this node has a bug: its log says more")
}
