//! A link that goes wrong on demand, to test that every failure stops all parties.

use slvr_runtime::link::{Header, Kind, Link, LinkError, Peer};
use std::time::Duration;

/// What happens to one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// It never arrives.
    Drop,
    /// Its last byte is cut off, and the frame says so.
    Truncate,
    /// Its last byte is cut off, and the frame still announces the full length.
    CutBody,
    /// One byte is added, and the frame says so.
    Lengthen,
    /// The sender stalls this long before it sends.
    Delay(Duration),
    Duplicate,
    /// It arrives after the next message on the same channel.
    Reorder,
    /// The frame names the layer after.
    WrongLayer,
    /// Every channel of the sender closes.
    Close,
}

/// A fault in the message of one layer to one peer, at the endpoint that sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub party: usize,
    /// The layer whose message it hits; with none, the handshake's.
    pub layer: Option<u32>,
    pub to: Peer,
    pub kind: FaultKind,
}

/// Wraps the link of one party and applies the faults that are addressed to it.
pub struct Faulty<L> {
    /// `None` once a [`FaultKind::Close`] has struck.
    inner: Option<L>,
    faults: Vec<Fault>,
    held: Vec<(Peer, Header, Vec<u8>)>,
}

impl<L: Link> Faulty<L> {
    /// The link of `party`; faults of other parties are ignored.
    pub fn new(party: usize, inner: L, faults: &[Fault]) -> Self {
        let faults = faults.iter().filter(|f| f.party == party).copied().collect();
        Faulty { inner: Some(inner), faults, held: Vec::new() }
    }

    fn pass(&mut self, to: Peer, header: Header, body: Vec<u8>) -> Result<(), LinkError> {
        self.inner.as_mut().ok_or(LinkError::Closed)?.send(to, header, body)
    }
}

impl<L: Link> Link for Faulty<L> {
    fn send(&mut self, to: Peer, header: Header, mut body: Vec<u8>) -> Result<(), LinkError> {
        let layer = match header.kind {
            Kind::Layer => Some(Some(header.layer)),
            Kind::Hello => Some(None),
            Kind::Inputs | Kind::Done | Kind::Agreed | Kind::Abort | Kind::Proof | Kind::Vouch => {
                None
            }
        };
        let hit = self.faults.iter().find(|f| f.to == to && Some(f.layer) == layer);
        let Some(kind) = hit.map(|f| f.kind) else {
            self.pass(to, header, body)?;
            while let Some(i) = self.held.iter().position(|(peer, ..)| *peer == to) {
                let (to, header, body) = self.held.remove(i);
                self.pass(to, header, body)?;
            }
            return Ok(());
        };
        match kind {
            FaultKind::Drop => Ok(()),
            FaultKind::Truncate => {
                body.pop();
                self.pass(to, Header { len: body.len() as u64, ..header }, body)
            }
            FaultKind::CutBody => {
                body.pop();
                self.pass(to, header, body)
            }
            FaultKind::Lengthen => {
                body.push(0);
                self.pass(to, Header { len: body.len() as u64, ..header }, body)
            }
            FaultKind::Delay(pause) => {
                std::thread::sleep(pause);
                self.pass(to, header, body)
            }
            FaultKind::Duplicate => {
                self.pass(to, header, body.clone())?;
                self.pass(to, header, body)
            }
            FaultKind::Reorder => {
                self.held.push((to, header, body));
                Ok(())
            }
            FaultKind::WrongLayer => {
                self.pass(to, Header { layer: header.layer.wrapping_add(1), ..header }, body)
            }
            FaultKind::Close => {
                self.inner = None;
                Err(LinkError::Closed)
            }
        }
    }

    fn expect(&mut self, from: Peer, frames: &[Header]) {
        if let Some(inner) = &mut self.inner {
            inner.expect(from, frames);
        }
    }

    fn recv(
        &mut self,
        from: Peer,
        expected: Header,
        deadline: Duration,
    ) -> Result<Vec<u8>, LinkError> {
        self.inner.as_mut().ok_or(LinkError::Closed)?.recv(from, expected, deadline)
    }
}
