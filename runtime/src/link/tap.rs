//! A link with which tests see, change, drop and reorder frames.

use super::memory::Memory;
use super::{Header, Link, LinkError, Peer};
use std::time::Duration;

/// A frame and whom it is for.
pub type Frame = (Peer, Header, Vec<u8>);

/// A party's link, of which `send` gives what is sent in a frame's place, and `heard` is told what comes in.
pub struct Tap<S, H> {
    pub inner: Memory,
    pub send: S,
    pub heard: H,
}

/// A link of which frames that are sent pass through a function.
pub fn sending<S>(inner: Memory, send: S) -> Box<dyn Link>
where
    S: FnMut(Frame) -> Vec<Frame> + Send + 'static,
{
    Box::new(Tap { inner, send, heard: |_: Peer, _: &Header, _: &[u8]| {} })
}

impl<S, H> Link for Tap<S, H>
where
    S: FnMut(Frame) -> Vec<Frame> + Send,
    H: FnMut(Peer, &Header, &[u8]) + Send,
{
    fn send(&mut self, to: Peer, header: Header, body: Vec<u8>) -> Result<(), LinkError> {
        let sent = (self.send)((to, header, body));
        sent.into_iter().try_for_each(|(to, header, body)| self.inner.send(to, header, body))
    }

    fn recv(
        &mut self,
        from: Peer,
        expected: Header,
        deadline: Duration,
    ) -> Result<Vec<u8>, LinkError> {
        let body = self.inner.recv(from, expected, deadline)?;
        (self.heard)(from, &expected, &body);
        Ok(body)
    }
}
