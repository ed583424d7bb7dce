//! Bodies of requests: short ones, read as a whole, and what is left of one that was answered early.

use super::reply::{Refused, refused};
use crate::codes::Code;
use crate::node::Node;
use http_body_util::BodyExt;
use hyper::Request;
use hyper::body::{Body, Buf, Bytes, Frame, Incoming, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// Bytes of a refused body that are still taken, and dropped: four times what a piece of our own clients has.
const LINGER: usize = 4 << 20;

/// How long they are waited for.
const LINGER_TIME: Duration = Duration::from_secs(5);

/// The body of a request.
///
/// A node often says no before it has read a body. If it then closed the connection, the system would answer what still
/// comes with a reset, and the caller would see a broken connection where the answer was (RFC 9112, section 9.6). So
/// what nobody has read is taken and dropped for a while: [`LINGER`] bytes and [`LINGER_TIME`] at most.
pub struct Inbound {
    /// Nothing once it is dropped.
    body: Option<Incoming>,
    lingers: bool,
}

impl Inbound {
    /// The body of this request. Whoever expects to be told to go on sends nothing after a no.
    pub fn of(request: Request<Incoming>) -> Request<Inbound> {
        let lingers = !request.headers().contains_key("expect");
        request.map(|body| Inbound { body: Some(body), lingers })
    }
}

impl Body for Inbound {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.get_mut().body {
            Some(body) => Pin::new(body).poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or(SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for Inbound {
    fn drop(&mut self) {
        let Some(mut body) = self.body.take().filter(|b| self.lingers && !b.is_end_stream()) else {
            return;
        };
        // A node that ends has no runtime any more, and nobody to answer.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(timeout(LINGER_TIME, async move {
            let mut taken = 0;
            while let Some(Ok(frame)) = body.frame().await {
                taken += frame.data_ref().map_or(0, Buf::remaining);
                if taken > LINGER {
                    break;
                }
            }
        }));
    }
}

/// A body that has to come at a pace: one that is slower is given up, however often a byte of it comes.
pub struct Paced {
    body: Inbound,
    begun: Instant,
    slowest: u64,
    read: u64,
}

impl Paced {
    pub fn new(node: &Node, body: Inbound) -> Paced {
        let slowest = node.config.limits.slowest.max(1);
        Paced { body, begun: Instant::now(), slowest, read: 0 }
    }

    /// The next bytes, or nothing at the end; `slow` is what is said if they come too slowly.
    pub async fn next(&mut self, slow: &str) -> Result<Option<Bytes>, Refused> {
        loop {
            let until = self.begun + Duration::from_secs(10 + self.read / self.slowest);
            match timeout_at(until, self.body.frame()).await {
                Ok(Some(Ok(frame))) => {
                    let Ok(data) = frame.into_data() else { continue };
                    self.read += data.len() as u64;
                    return Ok(Some(data));
                }
                Ok(None) => return Ok(None),
                Ok(Some(Err(_))) => return refused(400, Code::Body, "the body broke off"),
                Err(_) => return refused(408, Code::Slow, slow),
            }
        }
    }
}

/// A body of at most `most` bytes.
pub async fn small(
    node: &Node,
    request: Request<Inbound>,
    most: usize,
) -> Result<Vec<u8>, Refused> {
    let long = || refused(413, Code::Length, format!("the body may have {most} bytes"));
    if request.body().size_hint().lower() > most as u64 {
        return long();
    }
    let (mut body, mut out) = (Paced::new(node, request.into_body()), Vec::new());
    while let Some(data) = body.next("the body comes too slowly").await? {
        if out.len() + data.len() > most {
            return long();
        }
        out.extend_from_slice(&data);
    }
    Ok(out)
}
