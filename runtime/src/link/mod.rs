//! How bytes reach the two peers and the receivers.
//!
//! Lives here: the [`Link`] trait, the frame in front of every message ([`Header`]), links in memory
//! ([`memory`]) and over TCP with TLS ([`tcp`], [`tls`]), and wrappers: one that imposes the bandwidth and latency of a
//! network ([`shaped`]), one that can be closed ([`cancel`]), and one that tests look through (`tap`, with the feature `doors`). May not:
//! shares, circuits, anything that looks inside a message.
//!
//! A link is a set of ordered channels, one per pair of endpoints and direction. It authenticates
//! the peer by the channel (a TLS certificate, an in-memory queue); no identity is read from the
//! bytes. Every receive names the exact frame it expects and a deadline: another kind, layer or
//! length is an error before a byte of the body is allocated.

pub mod cancel;
pub mod memory;
#[cfg(feature = "tls")]
pub mod pinned;
pub mod shaped;
#[cfg(feature = "doors")]
pub mod tap;
pub mod tcp;
#[cfg(feature = "tls")]
pub mod tls;
#[cfg(not(feature = "tls"))]
#[path = "no_tls.rs"]
pub mod tls;

pub use slvr_circuit::interaction::Peer;
use std::fmt;
use std::time::Duration;
use thiserror::Error;

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// The hashes that are compared before the first share is used.
    Hello = 1,
    /// The message of one layer.
    Layer = 2,
    /// The sender has finished every layer without an error.
    Done = 3,
    /// The sender has heard from both others that they are done, and nothing else.
    Agreed = 4,
    /// The sender has stopped; nothing follows.
    Abort = 5,
    /// What is compared of the clients' inputs before layer 0; the header's layer is the step.
    Inputs = 6,
    /// A part of a proof before a layer.
    Proof = 7,
    /// A hash of an opened component, by its other holder; the header's part is the instruction's place.
    Vouch = 8,
}

/// The frame in front of a message. Not counted as traffic of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Header {
    pub kind: Kind,
    /// Index of the layer, with [`Header::REPEATED`] when it is repeated. Of an abort: the layer in which the sender
    /// stopped; of the comparison of inputs: its step; of a worker's greeting: its range of layers.
    pub layer: u32,
    /// Of a layer's message: which frame, counted from 0; of a proof: its step; of a hash: the instruction's place. The
    /// greeting about states has 1. Where nothing is said of a kind, 0.
    pub part: u32,
    /// Length of the body in bytes.
    pub len: u64,
}

impl Header {
    /// Bytes of an encoded header.
    pub const BYTES: usize = 17;
    /// In the number of a layer that is computed a second time; beyond all indices.
    pub const REPEATED: u32 = 1 << 31;

    /// A header for a body of `len` bytes.
    pub fn new(kind: Kind, layer: u32, len: usize) -> Self {
        Header { kind, layer, part: 0, len: len as u64 }
    }

    /// Kind, layer, part and length, little-endian.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut out = [0; Self::BYTES];
        out[0] = self.kind as u8;
        out[1..5].copy_from_slice(&self.layer.to_le_bytes());
        out[5..9].copy_from_slice(&self.part.to_le_bytes());
        out[9..].copy_from_slice(&self.len.to_le_bytes());
        out
    }

    /// Reads what [`Header::encode`] wrote; `None` for an unknown kind.
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let [kind, l0, l1, l2, l3, p0, p1, p2, p3, len @ ..] = *bytes;
        let kind = match kind {
            1 => Kind::Hello,
            2 => Kind::Layer,
            3 => Kind::Done,
            4 => Kind::Agreed,
            5 => Kind::Abort,
            6 => Kind::Inputs,
            7 => Kind::Proof,
            8 => Kind::Vouch,
            _ => return None,
        };
        let layer = u32::from_le_bytes([l0, l1, l2, l3]);
        let part = u32::from_le_bytes([p0, p1, p2, p3]);
        Some(Header { kind, layer, part, len: u64::from_le_bytes(len) })
    }

    /// Compares a header that arrived with the one that was expected. Every implementation of
    /// [`Link::recv`] calls this before it allocates room for the body.
    pub fn check(&self, expected: &Header) -> Result<(), LinkError> {
        if self.kind == Kind::Abort {
            return Err(LinkError::Aborted);
        }
        if (self.kind, self.layer, self.part) != (expected.kind, expected.layer, expected.part) {
            return Err(LinkError::Unexpected { expected: *expected, found: *self });
        }
        if self.len != expected.len {
            return Err(LinkError::Length { expected: expected.len, found: self.len });
        }
        Ok(())
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Hello => write!(f, "the handshake"),
            Kind::Layer if self.layer & Self::REPEATED != 0 => {
                let layer = self.layer & !Self::REPEATED;
                write!(f, "part {} of the repeated message of layer {layer}", self.part)
            }
            Kind::Layer if self.part == 0 => write!(f, "the message of layer {}", self.layer),
            Kind::Layer => write!(f, "part {} of the message of layer {}", self.part, self.layer),
            Kind::Done => write!(f, "the end of the layers"),
            Kind::Agreed => write!(f, "the end of the run"),
            Kind::Abort => write!(f, "an abort"),
            Kind::Inputs => write!(f, "step {} of comparing the inputs", self.layer),
            Kind::Proof | Kind::Vouch => {
                let layer = self.layer & !Self::REPEATED;
                let again = if layer == self.layer { "" } else { "repeated " };
                match self.kind {
                    Kind::Proof => {
                        write!(f, "step {} of the proof before {again}layer {layer}", self.part)
                    }
                    _ => write!(f, "the voucher for opening {} of {again}layer {layer}", self.part),
                }
            }
        }
    }
}

/// Why a send or a receive failed. The caller adds the layer and the peer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LinkError {
    /// Nothing arrived before the deadline.
    #[error("nothing arrived within {0:?}")]
    Late(Duration),
    /// The channel is gone: the peer stopped or the network failed.
    #[error("the connection is closed")]
    Closed,
    /// The peer sent an abort.
    #[error("the peer aborted the run")]
    Aborted,
    /// The announced or the actual length differs from the predicted one.
    #[error("a message of {found} bytes arrived where {expected} were expected")]
    Length {
        /// Predicted bytes.
        expected: u64,
        /// Bytes that were announced or came.
        found: u64,
    },
    /// A frame of another kind or layer: a message was lost, repeated or out of order.
    #[error("{found} arrived where {expected} was expected")]
    Unexpected {
        /// What the circuit says comes next.
        expected: Header,
        found: Header,
    },
    /// Bytes that are not a frame.
    #[error("what arrived is not a frame")]
    Garbled,
}

/// The channels of one endpoint.
pub trait Link: Send {
    /// Hands a message over. Must not wait for the peer to read: all parties send before they
    /// receive, so an implementation that blocks on a full socket would deadlock.
    fn send(&mut self, to: Peer, header: Header, body: Vec<u8>) -> Result<(), LinkError>;

    /// Announces frames that [`recv`](Link::recv) will ask for, in this order: an implementation may
    /// read them ahead, so that they do not wait in the network while the party computes. Calling it
    /// is optional; whoever does announces all frames of a peer from then on that are data.
    fn expect(&mut self, from: Peer, frames: &[Header]) {
        let _ = (from, frames);
    }

    /// Waits for the next message of `from`, for at most `deadline`, and returns its body if it is
    /// exactly the one that was expected ([`Header::check`]).
    fn recv(
        &mut self,
        from: Peer,
        expected: Header,
        deadline: Duration,
    ) -> Result<Vec<u8>, LinkError>;
}

/// A pointer to a link is a link, too.
macro_rules! behind {
    ($($link:ty),*) => {$(
        impl<L: Link + ?Sized> Link for $link {
            fn expect(&mut self, from: Peer, frames: &[Header]) {
                (**self).expect(from, frames);
            }

            fn send(&mut self, to: Peer, header: Header, body: Vec<u8>) -> Result<(), LinkError> {
                (**self).send(to, header, body)
            }

            fn recv(
                &mut self,
                from: Peer,
                expected: Header,
                deadline: Duration,
            ) -> Result<Vec<u8>, LinkError> {
                (**self).recv(from, expected, deadline)
            }
        }
    )*};
}

behind!(Box<L>, &mut L);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_read_back() {
        let steps = [Kind::Inputs, Kind::Proof, Kind::Vouch];
        let ends = [Kind::Hello, Kind::Layer, Kind::Done, Kind::Agreed, Kind::Abort];
        for kind in ends.into_iter().chain(steps) {
            let len = 0x1122_3344_5566_7788;
            let h = Header { kind, layer: 0x0102_0304, part: 0x0506_0708, len };
            assert_eq!(Header::decode(&h.encode()), Some(h));
        }
        assert_eq!(Header::decode(&[0; Header::BYTES]), None);
        assert_eq!(Header::decode(&[9; Header::BYTES]), None);
    }

    #[test]
    fn check_tells_apart() {
        let want = Header::new(Kind::Layer, 3, 10);
        assert_eq!(want.check(&want), Ok(()));
        let long = Header::new(Kind::Layer, 3, 11);
        assert_eq!(long.check(&want), Err(LinkError::Length { expected: 10, found: 11 }));
        let old = Header::new(Kind::Layer, 2, 10);
        assert_eq!(old.check(&want), Err(LinkError::Unexpected { expected: want, found: old }));
        assert_eq!(Header::new(Kind::Abort, 3, 0).check(&want), Err(LinkError::Aborted));
    }
}
