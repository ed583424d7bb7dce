//! The exchange of a layer: each instruction's part is sent as soon as it is computed and received when
//! its result is read, in the order and in the frames of [`slvr_circuit::plan`].

use super::engine::Engine;
use super::error::{Phase, RunError};
use super::transcript::{Direction, Event};
use crate::link::{Header, Kind, Peer};
use crate::protocol::{self, Incoming, Message, Operands, Protocol, incoming};
use crate::share::{Held, next, prev};
use slvr_circuit::plan::{self, Frame};
use slvr_circuit::{Dom, Instr, Op, wire_len};
use slvr_ring::Data;

/// The messages of one layer.
pub(super) struct Round {
    layer: u32,
    /// Number in the circuit of the layer's first interactive instruction.
    first: u64,
    /// What was sent and kept, until the instruction is finished.
    sent: Vec<Option<Message>>,
    outboxes: Vec<Outbox>,
    from_next: Inbox,
    from_prev: Inbox,
}

/// The frames to one peer.
struct Outbox {
    peer: Peer,
    headers: std::vec::IntoIter<Header>,
    /// The frame under construction, if one is.
    open: Option<(Header, Vec<u8>)>,
}

/// The frames from one peer.
struct Inbox {
    peer: Peer,
    headers: std::vec::IntoIter<Header>,
    /// By instruction: in which frame its part is and where.
    places: Vec<Option<(usize, std::ops::Range<usize>)>>,
    /// The frames that have come and how many parts of each are still to be read.
    frames: Vec<(Vec<u8>, usize)>,
    /// Parts of every frame.
    parts: Vec<usize>,
}

impl Outbox {
    fn new(layer: u32, frames: &[Frame], peer: Peer) -> Self {
        Outbox { peer, headers: headers(layer, frames).into_iter(), open: None }
    }
}

impl Inbox {
    fn new(layer: u32, frames: &[Frame], peer: Peer, instrs: usize) -> Self {
        let mut places = vec![None; instrs];
        for (n, frame) in frames.iter().enumerate() {
            let mut at = 0;
            for &(j, bytes) in &frame.parts {
                places[j] = Some((n, at..at + bytes));
                at += bytes;
            }
        }
        let parts = frames.iter().map(|f| f.parts.len()).collect();
        let headers = headers(layer, frames).into_iter();
        Inbox { peer, headers, places, frames: Vec::with_capacity(frames.len()), parts }
    }
}

impl Engine<'_> {
    /// The round of a layer, before anything is sent. Announces to the link what will come.
    pub(super) fn round(&mut self, layer: u32, order: &[usize], first: u64) -> Round {
        let circuit = self.party.circuit;
        let of = &circuit.layers[layer as usize];
        let frames = |from, to| plan::frames(circuit, of, order, from, to);
        let on_wire = self.on_wire(layer);
        let outbox = |peer| Outbox::new(on_wire, &frames(self.me, peer), peer);
        let outboxes = self.everybody().into_iter().map(outbox).collect();
        let inbox = |from: usize| {
            let frames = frames(from, Peer::Party(self.me));
            Inbox::new(on_wire, &frames, Peer::Party(from), of.exchange.len())
        };
        let (from_next, from_prev) = (inbox(next(self.me)), inbox(prev(self.me)));
        for inbox in [&from_next, &from_prev] {
            self.party.link.expect(inbox.peer, inbox.headers.as_slice());
        }
        let sent = of.exchange.iter().map(|_| None).collect();
        Round { layer, first, sent, outboxes, from_next, from_prev }
    }

    /// Computes the part of an instruction and sends the frames that it completes.
    pub(super) fn send_part(
        &mut self,
        round: &mut Round,
        j: usize,
        instr: &Instr,
    ) -> Result<(), RunError> {
        self.instr = round.first + j as u64;
        let mut message =
            (protocol_of(&instr.op).message)(self.context(self.instr), &self.operands(&instr.op));
        if let (true, Op::OpenTo { x, .. }) = (self.guard.is_some(), &instr.op) {
            // A component that another party holds, too, and can vouch for.
            message.to_receiver = Some(Data::clone(self.regs.one(*x)));
        }
        let number = self.number(self.instr);
        let receiver = plan::receiver(self.party.circuit, &instr.op);
        let parts = [
            (Peer::Party(next(self.me)), &message.to_next),
            (Peer::Party(prev(self.me)), &message.to_prev),
            (Peer::Receiver(receiver), &message.to_receiver),
        ];
        for (peer, part) in parts {
            let Some(part) = part.as_ref().filter(|p| !p.is_empty()) else { continue };
            let Some(outbox) = round.outboxes.iter_mut().find(|o| o.peer == peer) else {
                unreachable!("a party has a channel to every peer and receiver")
            };
            let (header, mut buffer) = match outbox.open.take() {
                Some(open) => open,
                None => match outbox.headers.next() {
                    Some(header) => (header, Vec::with_capacity(header.len as usize)),
                    None => unreachable!("`outgoing` counts every part of a message"),
                },
            };
            let start = buffer.len();
            part.to_wire(&mut buffer);
            if let Some(t) = self.party.transcript.as_deref_mut() {
                let (op, direction, layer) = (instr.op.name(), Direction::Sent, round.layer);
                let (bytes, instr) = (&buffer[start..], number);
                t.message(Event { layer, instr, op, direction, peer, bytes });
            }
            if (buffer.len() as u64) < header.len {
                outbox.open = Some((header, buffer));
                continue;
            }
            self.bytes_sent += buffer.len() as u64;
            self.send(peer, header, buffer)?;
        }
        round.sent[j] = Some(message);
        Ok(())
    }

    /// Receives the parts of an instruction and defines its result.
    pub(super) fn complete(
        &mut self,
        round: &mut Round,
        j: usize,
        instr: &Instr,
    ) -> Result<(), RunError> {
        let phase = std::mem::replace(&mut self.phase, Phase::Layer(round.layer));
        self.instr = round.first + j as u64;
        let (dom, lanes) = self.operand(&instr.op);
        let counts = incoming(&instr.op, lanes, self.me);
        let got = Incoming {
            from_next: self.part(&mut round.from_next, j, instr, dom, counts.next)?,
            from_prev: self.part(&mut round.from_prev, j, instr, dom, counts.prev)?,
        };
        let message = round.sent[j].take().unwrap_or_default();
        let (cx, operands) = (self.context(self.instr), self.operands(&instr.op));
        let value = (protocol_of(&instr.op).finish)(cx, &operands, message, got);
        if let (Some(v), Some(value)) = (instr.out, value) {
            if instr.op == Op::Coin {
                self.coins.push((self.instr, value.as_one().get_u128(0)));
            }
            if let (Held::One(x), true) = (&value, self.guard.is_some()) {
                self.opened.insert(v, Data::clone(x));
            }
            self.define(v, value);
        }
        self.phase = phase;
        Ok(())
    }

    /// What this party still holds of an instruction's operands.
    fn operands(&self, op: &Op) -> Operands<'_> {
        let (dom, lanes) = self.operand(op);
        let held = op.operands().into_iter().map(|v| self.regs.held(v)).collect();
        Operands { held, dom, lanes }
    }

    /// The part of an instruction in what a peer sends; waits for its frame.
    fn part(
        &mut self,
        inbox: &mut Inbox,
        j: usize,
        instr: &Instr,
        dom: Dom,
        n: usize,
    ) -> Result<Option<Data>, RunError> {
        let peer = inbox.peer;
        let malformed = RunError::Malformed { phase: self.phase, peer };
        let number = self.number(self.instr);
        let Some((frame, place)) = inbox.places[j].take() else {
            return Ok(Data::from_wire(dom, n, &[]));
        };
        while inbox.frames.len() <= frame {
            let Some(header) = inbox.headers.next() else { return Err(malformed) };
            let body = self.recv(peer, header)?;
            inbox.frames.push((body, inbox.parts[inbox.frames.len()]));
        }
        let (body, unread) = &mut inbox.frames[frame];
        let bytes = body.get(place).filter(|b| b.len() == wire_len(dom, n));
        let Some(bytes) = bytes else { return Err(malformed) };
        if let Some(t) = self.party.transcript.as_deref_mut() {
            let Phase::Layer(layer) = self.phase else { unreachable!("parts belong to layers") };
            let (op, direction, instr) = (instr.op.name(), Direction::Received, number);
            t.message(Event { layer, instr, op, direction, peer, bytes });
        }
        let part = Data::from_wire(dom, n, bytes);
        *unread -= 1;
        if *unread == 0 {
            *body = Vec::new();
        }
        part.map(Some).ok_or(malformed)
    }
}

fn protocol_of(op: &Op) -> Protocol {
    match protocol::of(op) {
        Some(protocol) => protocol,
        None => unreachable!("the verifier admits only interactive instructions here"),
    }
}

/// The headers of the frames of a layer.
pub(super) fn headers(layer: u32, frames: &[Frame]) -> Vec<Header> {
    let header = |(frame, part): (&Frame, u32)| Header {
        part,
        ..Header::new(Kind::Layer, layer, frame.len)
    };
    frames.iter().zip(0..).map(header).collect()
}
