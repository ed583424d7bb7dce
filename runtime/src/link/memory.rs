//! Links in memory: queues between threads of one process.

use super::{Header, Link, LinkError, Peer};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

type Frame = (Header, Vec<u8>);

/// One endpoint of a mesh of queues. Messages are moved, not copied.
pub struct Memory {
    to: BTreeMap<Peer, Sender<Frame>>,
    from: BTreeMap<Peer, Receiver<Frame>>,
}

/// The endpoints of a run.
pub struct Mesh {
    /// The three parties, in order.
    pub parties: [Memory; 3],
    /// The receivers, in the order they were asked for.
    pub receivers: Vec<Memory>,
}

/// Three connected parties, each with a channel to every receiver in `receivers` (indices of party
/// sets). Receivers are not connected with one another.
pub fn mesh(receivers: &[usize]) -> Mesh {
    let empty = || Memory { to: BTreeMap::new(), from: BTreeMap::new() };
    let mut parties = [empty(), empty(), empty()];
    let mut ends: Vec<Memory> = receivers.iter().map(|_| empty()).collect();
    for (i, j) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
        let (tx, rx) = channel();
        parties[i].to.insert(Peer::Party(j), tx);
        parties[j].from.insert(Peer::Party(i), rx);
    }
    for (end, &set) in ends.iter_mut().zip(receivers) {
        for (i, party) in parties.iter_mut().enumerate() {
            let (tx, rx) = channel();
            party.to.insert(Peer::Receiver(set), tx);
            end.from.insert(Peer::Party(i), rx);
        }
    }
    Mesh { parties, receivers: ends }
}

impl Link for Memory {
    fn send(&mut self, to: Peer, header: Header, body: Vec<u8>) -> Result<(), LinkError> {
        let channel = self.to.get(&to).ok_or(LinkError::Closed)?;
        channel.send((header, body)).map_err(|_| LinkError::Closed)
    }

    fn recv(
        &mut self,
        from: Peer,
        expected: Header,
        deadline: Duration,
    ) -> Result<Vec<u8>, LinkError> {
        let channel = self.from.get(&from).ok_or(LinkError::Closed)?;
        let (header, body) = channel.recv_timeout(deadline).map_err(|e| match e {
            RecvTimeoutError::Timeout => LinkError::Late(deadline),
            RecvTimeoutError::Disconnected => LinkError::Closed,
        })?;
        header.check(&expected)?;
        if body.len() as u64 != expected.len {
            return Err(LinkError::Length { expected: expected.len, found: body.len() as u64 });
        }
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Kind;

    const SOON: Duration = Duration::from_millis(5);

    #[test]
    fn delivers_in_order_and_reports_silence_and_closing() {
        let Mesh { parties: [mut a, mut b, c], mut receivers } = mesh(&[4]);
        let h = |layer, len| Header::new(Kind::Layer, layer, len);
        a.send(Peer::Party(1), h(0, 2), vec![1, 2]).unwrap();
        a.send(Peer::Party(1), h(1, 1), vec![3]).unwrap();
        a.send(Peer::Receiver(4), h(1, 1), vec![9]).unwrap();
        assert_eq!(b.recv(Peer::Party(0), h(0, 2), SOON), Ok(vec![1, 2]));
        assert_eq!(b.recv(Peer::Party(0), h(1, 1), SOON), Ok(vec![3]));
        assert_eq!(receivers[0].recv(Peer::Party(0), h(1, 1), SOON), Ok(vec![9]));
        assert_eq!(b.recv(Peer::Party(0), h(2, 1), SOON), Err(LinkError::Late(SOON)));
        drop(c);
        assert_eq!(b.recv(Peer::Party(2), h(2, 1), SOON), Err(LinkError::Closed));
        assert_eq!(a.send(Peer::Receiver(5), h(0, 0), vec![]), Err(LinkError::Closed));
    }
}
