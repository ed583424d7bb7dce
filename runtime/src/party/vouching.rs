//! How the holders of an opened component vouch for it: one sends the words, the other a hash.

use super::engine::Engine;
use super::error::{Phase, RunError};
use super::guard::{voucher, vouchers};
use crate::link::{Header, Kind, Peer};
use crate::share::{Purpose, Stream, next, prev};
use slvr_circuit::interaction::COINS;
use slvr_circuit::proof::{HASH, opened};
use slvr_circuit::{Op, ValueId, plan};
use slvr_ring::Data;

impl Engine<'_> {
    /// After the exchange of a layer that opens something or draws coins: the other holder of each component that
    /// this party or a receiver got vouches for it. `first` is the number of the layer's first interactive
    /// instruction.
    pub(super) fn vouch(&mut self, l: usize, first: u64) -> Result<(), RunError> {
        let circuit = self.party.circuit;
        let (me, before) = (self.me, Peer::Party(prev(self.me)));
        let layer = self.on_wire(l as u32);
        let mut expected = Vec::new();
        let exchange = circuit.layers[l].exchange.iter().enumerate();
        for (j, instr) in exchange.filter(|(_, instr)| !self.knows(instr)).collect::<Vec<_>>() {
            let header = Header { part: j as u32, ..Header::new(Kind::Vouch, layer, HASH) };
            let stream = Stream::new(first + j as u64, Purpose::Coin);
            let guard = self.guard.as_ref();
            let kept = guard.and_then(|g| g.kept.get(&opened(&instr.op, &g.words)?));
            match (&instr.op, kept.map(|held| held.as_rep().clone())) {
                (Op::Open(_), Some(x)) => {
                    // The component that neither of these two is.
                    let mut other = self.opened_data(instr.out);
                    other.sub_assign(&x.first);
                    other.sub_assign(&x.second);
                    expected.push((header, instr.op.name(), voucher(&other)));
                    self.send_vouch(before, header, voucher(&x.second).to_vec())?;
                }
                (Op::Coin, _) => {
                    let prss = &self.party.prss;
                    let mine = prss.again_with_prev(stream, COINS, 1, 0..1);
                    let after = prss.again_with_next(stream, COINS, 1, 0..1);
                    let mut other = self.opened_data(instr.out);
                    other.sub_assign(&mine);
                    other.sub_assign(&after);
                    expected.push((header, instr.op.name(), voucher(&other)));
                    self.send_vouch(before, header, voucher(&after).to_vec())?;
                }
                (Op::OpenTo { .. }, Some(x)) if !x.second.is_empty() => {
                    let set = plan::receiver(circuit, &instr.op);
                    let hashes = vouchers(&x.second, plan::members(circuit, set));
                    let header = Header { len: hashes.len() as u64, ..header };
                    self.send_vouch(Peer::Receiver(set), header, hashes)?;
                }
                (Op::Open(_) | Op::OpenTo { .. }, None) => {
                    unreachable!("what a layer opens is kept until it is vouched for")
                }
                _ => {}
            }
        }
        let after = Peer::Party(next(me));
        for (header, op, want) in expected {
            if self.recv(after, header)? != want {
                let phase = Phase::Layer(l as u32);
                return Err(RunError::Voucher { phase, op, from: prev(me), by: next(me) });
            }
        }
        Ok(())
    }

    fn send_vouch(&mut self, to: Peer, header: Header, hashes: Vec<u8>) -> Result<(), RunError> {
        self.bytes_sent += hashes.len() as u64;
        self.send(to, header, hashes)
    }

    /// An opened value, which is public, even after it is dropped.
    fn opened_data(&self, v: Option<ValueId>) -> Data {
        match v.and_then(|v| self.opened.get(&v)) {
            Some(x) => x.clone(),
            None => unreachable!("an opening defines a value, which is remembered"),
        }
    }
}
