//! The exchange of a layer: all messages of all its instructions, as one message per peer.

use super::transcript::{Direction, Event};
use super::{Engine, Held, Outbox, Phase, RunError};
use crate::circuit::{Instr, Lanes, Op};
use crate::link::{Header, Kind, Peer};
use crate::protocol::{
    Context, Incoming, Message, coin, deal, deal_mask, incoming, input, meet, open, open_sum,
    open_to, reshare, xchg,
};
use crate::ring::{Data, Dom, wire_len};
use crate::share::{next, prev};

impl Engine<'_> {
    /// Sends, receives, finishes. Parts of a message follow one another in the order of the
    /// instructions, each on whole bytes.
    pub(super) fn exchange(&mut self, layer: u32, instrs: &[Instr]) -> Result<(), RunError> {
        let mut outbox = Outbox::new();
        let mut sent = Vec::with_capacity(instrs.len());
        for (i, instr) in instrs.iter().enumerate() {
            let message = self.message(self.instr + i as u64, &instr.op);
            self.pack(layer, self.instr + i as u64, &instr.op, &message, &mut outbox);
            sent.push(message);
        }
        for (peer, body) in outbox {
            self.bytes_sent += body.len() as u64;
            self.send(peer, Header::new(Kind::Layer, layer, body.len()), body)?;
        }
        let from_next = self.collect(layer, instrs, Peer::Party(next(self.me)))?;
        let from_prev = self.collect(layer, instrs, Peer::Party(prev(self.me)))?;
        let (mut from_next, mut from_prev) = (from_next.as_slice(), from_prev.as_slice());
        for (instr, message) in instrs.iter().zip(sent) {
            let (dom, lanes) = self.operand(&instr.op);
            let counts = incoming(&instr.op, lanes, self.me);
            let (after, before) = (Peer::Party(next(self.me)), Peer::Party(prev(self.me)));
            let got = Incoming {
                from_next: self.unpack(layer, instr, after, &mut from_next, dom, counts.next)?,
                from_prev: self.unpack(layer, instr, before, &mut from_prev, dom, counts.prev)?,
            };
            let value = self.finish(&instr.op, message, got, dom, lanes);
            if let (Some(v), Some(value)) = (instr.out, value) {
                self.define(v, value);
            }
            self.instr += 1;
        }
        Ok(())
    }

    pub(super) fn context(&self, instr: u64) -> Context<'_> {
        Context { prss: &self.party.prss, instr }
    }

    fn message(&self, instr: u64, op: &Op) -> Message {
        let cx = self.context(instr);
        let lanes = self.operand(op).1;
        match op {
            Op::Reshare(z) => reshare::message(cx, self.regs.one(*z)),
            Op::Input(v) => input::message(cx, self.regs.one(*v), lanes),
            Op::Deal(v) => deal::message(cx, self.regs.one(*v), lanes),
            Op::DealMask(v) => deal_mask::message(cx, self.regs.one(*v), lanes),
            Op::Meet { x, mask } => {
                meet::message(cx, self.regs.one(*x), self.regs.rep(*mask), lanes)
            }
            Op::Xchg(t) => xchg::message(cx, self.regs.one(*t), lanes),
            Op::Open(x) => open::message(self.regs.rep(*x)),
            Op::OpenSum(x) => open_sum::message(cx, self.regs.one(*x)),
            Op::OpenTo { x, .. } => open_to::message(cx, self.regs.one(*x)),
            Op::Coin => coin::message(cx),
            _ => unreachable!("the verifier admits only interactive instructions here"),
        }
    }

    fn finish(
        &mut self,
        op: &Op,
        sent: Message,
        got: Incoming,
        dom: Dom,
        lanes: Lanes,
    ) -> Option<Held> {
        let cx = self.context(self.instr);
        Some(match op {
            Op::Reshare(_) => Held::Rep(reshare::finish(sent, got)),
            Op::Input(_) => Held::Rep(input::finish(cx, sent, got, dom, lanes)),
            Op::Deal(_) => Held::one(deal::finish(cx, got, dom, lanes)),
            Op::DealMask(_) => Held::Rep(deal_mask::finish(cx, sent, got, dom, lanes)),
            Op::Meet { .. } => Held::one(meet::finish(cx, sent, got)),
            Op::Xchg(_) => Held::Rep(xchg::finish(cx, sent, got, dom, lanes)),
            Op::Open(x) => Held::one(open::finish(self.regs.rep(*x), got)),
            Op::OpenSum(_) => Held::one(open_sum::finish(sent, got)),
            Op::Coin => {
                let coin = coin::finish(sent, got);
                self.coins.push(coin.get_u128(0));
                Held::one(coin)
            }
            _ => return None,
        })
    }

    /// Appends a message's parts to the peers' buffers.
    fn pack(&mut self, layer: u32, instr: u64, op: &Op, message: &Message, outbox: &mut Outbox) {
        let receiver = match op {
            Op::OpenTo { output, .. } => {
                self.party.circuit.outputs.get(*output as usize).map_or(0, |o| o.to as usize)
            }
            _ => 0,
        };
        let parts = [
            (Peer::Party(next(self.me)), &message.to_next),
            (Peer::Party(prev(self.me)), &message.to_prev),
            (Peer::Receiver(receiver), &message.to_receiver),
        ];
        for (peer, part) in parts {
            let Some(part) = part.as_ref().filter(|p| !p.is_empty()) else { continue };
            let buffer = outbox.entry(peer).or_default();
            let start = buffer.len();
            part.to_wire(buffer);
            if let Some(t) = self.party.transcript.as_deref_mut() {
                let (op, direction) = (op.name(), Direction::Sent);
                let bytes = &buffer[start..];
                t.message(Event { layer, instr, op, direction, peer, bytes });
            }
        }
    }

    /// The message of a peer for this layer, if the circuit says there is one.
    fn collect(&mut self, layer: u32, instrs: &[Instr], peer: Peer) -> Result<Vec<u8>, RunError> {
        let from_next = peer == Peer::Party(next(self.me));
        let len: usize = instrs
            .iter()
            .map(|instr| {
                let (dom, lanes) = self.operand(&instr.op);
                let counts = incoming(&instr.op, lanes, self.me);
                wire_len(dom, if from_next { counts.next } else { counts.prev })
            })
            .sum();
        if len == 0 {
            return Ok(Vec::new());
        }
        self.recv(peer, Header::new(Kind::Layer, layer, len))
    }

    /// Takes the part of one instruction off a message.
    fn unpack(
        &mut self,
        layer: u32,
        instr: &Instr,
        peer: Peer,
        rest: &mut &[u8],
        dom: Dom,
        n: usize,
    ) -> Result<Option<Data>, RunError> {
        let malformed = RunError::Malformed { phase: Phase::Layer(layer), peer };
        let Some((bytes, tail)) = rest.split_at_checked(wire_len(dom, n)) else {
            return Err(malformed);
        };
        *rest = tail;
        if n > 0
            && let Some(t) = self.party.transcript.as_deref_mut()
        {
            let (op, direction, instr) = (instr.op.name(), Direction::Received, self.instr);
            t.message(Event { layer, instr, op, direction, peer, bytes });
        }
        match Data::from_wire(dom, n, bytes) {
            Some(x) => Ok(Some(x)),
            None => Err(malformed),
        }
    }
}
