//! A link that its own end can close at any time.

use super::{Header, Link, LinkError, Peer};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Sends and receives until the flag is set: it is looked at before each message. The peers then hear of an abort.
pub struct Cancellable<'a, L> {
    link: L,
    cancel: &'a AtomicBool,
}

impl<'a, L> Cancellable<'a, L> {
    /// The same link with a flag.
    pub fn new(link: L, cancel: &'a AtomicBool) -> Self {
        Cancellable { link, cancel }
    }

    fn goes_on(&self, kind: super::Kind) -> Result<(), LinkError> {
        // The abort itself goes out.
        match kind != super::Kind::Abort && self.cancel.load(Ordering::Acquire) {
            true => Err(LinkError::Closed),
            false => Ok(()),
        }
    }
}

impl<L: Link> Link for Cancellable<'_, L> {
    fn send(&mut self, to: Peer, header: Header, body: Vec<u8>) -> Result<(), LinkError> {
        self.goes_on(header.kind)?;
        self.link.send(to, header, body)
    }

    fn expect(&mut self, from: Peer, frames: &[Header]) {
        self.link.expect(from, frames);
    }

    fn recv(
        &mut self,
        from: Peer,
        expected: Header,
        deadline: Duration,
    ) -> Result<Vec<u8>, LinkError> {
        self.goes_on(expected.kind)?;
        self.link.recv(from, expected, deadline)
    }
}
