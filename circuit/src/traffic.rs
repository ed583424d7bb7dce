//! Rounds and bytes of a circuit, before it runs.
//!
//! Everything follows from the types. An instruction's part of a message starts at a whole byte, so
//! its size is [`wire_len`] of the elements it moves; what the link adds (framing, TLS) is not
//! counted. Who sends how many elements is in the table of interactions ([`crate::interaction`]). Parties
//! count the same when they run, and a test holds them to it.

use crate::interaction::Counts;
use crate::plan::operand;
use crate::plan::{members, receiver};
use crate::proof::{HASH, Proof, proofs};
use crate::speculation::Speculation;
use crate::{Circuit, Instr, Op, ValueId, wire_len};
use std::collections::BTreeMap;
use std::ops::Range;

/// Rounds, and bytes sent by each party.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Layers with an exchange.
    pub rounds: usize,
    /// Bytes sent by each party, to the other parties and to receivers.
    pub bytes: [u64; 3],
    /// Of these, bytes to receivers.
    pub revealed: [u64; 3],
    /// Each layer, in the order of execution.
    pub layers: Vec<LayerTraffic>,
}

/// Bytes of one layer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerTraffic {
    /// Bytes sent by each party, those of a proof that begins before it included.
    pub bytes: [u64; 3],
    /// Of these, bytes of the proof.
    pub proof: [u64; 3],
    /// Rounds of proofs that the run waits before it.
    pub proof_rounds: usize,
    /// Each instruction of the exchange, in order.
    pub instrs: Vec<InstrTraffic>,
}

/// Bytes of one interactive instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstrTraffic {
    /// The value it defines, if any.
    pub out: Option<ValueId>,
    /// Index into [`Circuit::sites`].
    pub site: u32,
    /// Bytes sent by each party.
    pub bytes: [u64; 3],
}

impl Traffic {
    /// Of a verified circuit, when no client fails a check.
    pub fn of(circuit: &Circuit) -> Traffic {
        Traffic::through(circuit, 0..0)
    }

    /// Of a verified circuit, when a client fails: with the layers that are repeated then, one after
    /// another as they are executed. The same as [`Traffic::of`] if there are none.
    pub fn repeated(circuit: &Circuit) -> Traffic {
        match Speculation::of(circuit) {
            Some(s) => Traffic::through(circuit, s.first..s.last + 1),
            None => Traffic::of(circuit),
        }
    }

    /// Of a run of a verified circuit in which its checks came out so, in their order.
    pub fn of_run(circuit: &Circuit, admitted: &[(u32, Vec<bool>)]) -> Traffic {
        match Speculation::of(circuit) {
            Some(s) if s.repeats(admitted) => Traffic::repeated(circuit),
            _ => Traffic::of(circuit),
        }
    }

    /// Of all layers, with the proofs before them; some are executed again. Bits that were opened are not opened again.
    fn through(circuit: &Circuit, again: Range<usize>) -> Traffic {
        let proofs = match circuit.security.is_malicious() {
            true => proofs(circuit).unwrap_or_default(),
            false => Vec::new(),
        };
        let proofs: BTreeMap<usize, Proof> =
            proofs.into_iter().map(|p| (p.barrier.layer as usize, p)).collect();
        let part = Speculation::of(circuit).filter(|_| !again.is_empty());
        let known = |i: &Instr| part.as_ref().is_some_and(|p| p.opens(circuit, i));
        let (end, all) = (again.end, circuit.layers.len());
        let once = (0..end).map(|l| (l, false));
        let twice = again.map(|l| (l, true));
        let rest = (end..all).map(|l| (l, false));
        let mut total = Traffic::default();
        for (l, repeats) in once.chain(twice).chain(rest) {
            let Some(layer) = circuit.layers.get(l) else { continue };
            let exchange: Vec<&Instr> =
                layer.exchange.iter().filter(|i| !repeats || !known(i)).collect();
            total.rounds += usize::from(!exchange.is_empty());
            let mut traffic = LayerTraffic::default();
            if let Some(Proof { lengths, waits, .. }) = proofs.get(&l) {
                traffic.proof = lengths.bytes();
                traffic.proof_rounds = waits[usize::from(repeats)];
                traffic.bytes = lengths.bytes();
                total.rounds += traffic.proof_rounds;
            }
            for instr in exchange {
                let bytes = sent(circuit, instr);
                if instr.op.interaction().is_some_and(|i| i.to.is_none()) {
                    add(&mut total.revealed, bytes);
                }
                add(&mut traffic.bytes, bytes);
                traffic.instrs.push(InstrTraffic { out: instr.out, site: instr.site, bytes });
            }
            add(&mut total.bytes, traffic.bytes);
            total.layers.push(traffic);
        }
        total
    }
}

/// Bytes that each party sends in one instruction of a verified circuit; 0 for a local one.
pub fn sent(circuit: &Circuit, instr: &Instr) -> [u64; 3] {
    let Some(interaction) = instr.op.interaction() else { return [0; 3] };
    let (dom, lanes) = operand(circuit, &instr.op);
    [0, 1, 2].map(|me| {
        let Counts { next, prev, receiver } = interaction.outgoing(lanes, me);
        let bytes = [next, prev, receiver].iter().map(|&n| wire_len(dom, n) as u64).sum::<u64>();
        bytes + voucher(circuit, instr, lanes.n)
    })
}

/// Bytes by which a party vouches for what another one opens: a hash, or one for each member that receives.
fn voucher(circuit: &Circuit, instr: &Instr, elements: usize) -> u64 {
    let hashes = match instr.op {
        Op::Open(_) | Op::Coin => 1,
        Op::OpenTo { .. } if elements > 0 => members(circuit, receiver(circuit, &instr.op)),
        _ => 0,
    };
    if circuit.security.is_malicious() { hashes.saturating_mul(HASH as u64) } else { 0 }
}

fn add(to: &mut [u64; 3], bytes: [u64; 3]) {
    for (t, b) in to.iter_mut().zip(bytes) {
        *t += b;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dom;
    use crate::verify::tests::all_ops;

    #[test]
    fn counted_by_hand() {
        let mut c = all_ops();
        let at = |c: &mut Circuit, dom: Dom, n: u64, op: fn(ValueId) -> Op| {
            c.types[0].dom = dom;
            c.types[0].shape = vec![n];
            sent(c, &Instr { out: None, op: op(ValueId(0)), site: 0 })
        };
        let (a64, b5) = (Dom::Ring(64), Dom::Bits(5));
        assert_eq!(at(&mut c, a64, 10, Op::Reshare), [80; 3]);
        assert_eq!(at(&mut c, b5, 10, Op::Open), [7; 3]);
        // 200 elements: shards of 128, 72 and none.
        assert_eq!(at(&mut c, a64, 200, Op::Input), [1024, 576, 0]);
        assert_eq!(at(&mut c, b5, 200, Op::Deal), [80, 45, 0]);
        assert_eq!(at(&mut c, b5, 200, Op::ReshareTwo), [45, 80, 125]);
        assert_eq!(at(&mut c, a64, 1, Op::Not), [0; 3]);
        // 1 element: 1 byte of 5 bits, in shard 0.
        assert_eq!(at(&mut c, b5, 1, Op::ReshareTwo), [0, 1, 1]);
        // A mask says no more to those who know its words.
        assert_eq!(at(&mut c, b5, 200, Op::DealMask), [80, 45, 0]);
        assert_eq!(at(&mut c, b5, 200, |x| Op::OpenMasked { x, mask: x }), [45, 80, 125]);
        assert_eq!(at(&mut c, a64, 200, |x| Op::MaskOf(x, 10)), [0; 3]);
        // 20 elements in ten groups: shards of 3, 4 and 3 groups; one group is in the second shard.
        c.types[0].groups = 10;
        assert_eq!(at(&mut c, a64, 20, Op::Input), [48, 64, 48]);
        assert_eq!(at(&mut c, b5, 20, |x| Op::OpenMasked { x, mask: x }), [5 + 4, 4 + 4, 4 + 5]);
        c.types[0].groups = 1;
        assert_eq!(at(&mut c, a64, 20, Op::DealMask), [0, 160, 0]);
        assert_eq!(at(&mut c, a64, 20, Op::ReshareTwo), [160, 0, 160]);
    }

    #[test]
    fn totals_add_up() {
        let c = all_ops();
        let t = Traffic::of(&c);
        assert_eq!(t.rounds, c.rounds());
        assert_eq!(t.layers.len(), c.layers.len());
        let mut sum = [0; 3];
        for l in &t.layers {
            let mut layer = [0; 3];
            l.instrs.iter().for_each(|i| add(&mut layer, i.bytes));
            assert_eq!(layer, l.bytes);
            add(&mut sum, layer);
        }
        assert_eq!(sum, t.bytes);
        assert!(t.revealed.iter().all(|&b| b > 0));
    }
}
