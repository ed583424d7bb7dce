//! Who sends how much to whom.

use slvr_circuit::interaction::outgoing;
use slvr_circuit::plan::operand;
use slvr_circuit::upload as uploads;
use slvr_circuit::{Circuit, From, Layer, Op, wire_len};
use std::collections::BTreeMap;

/// Most bytes that one participant (a party or a receiver) sends in all, or receives in all, in the
/// exchange of a layer. Everyone has one line to the network, with its bandwidth in each direction.
pub(super) fn busiest(circuit: &Circuit, layer: &Layer) -> u64 {
    let (mut up, mut down) = ([0u64; 3], [0u64; 3]);
    let mut receivers: BTreeMap<u32, u64> = BTreeMap::new();
    for instr in &layer.exchange {
        let (dom, lanes) = operand(circuit, &instr.op);
        for me in 0..3 {
            let counts = outgoing(&instr.op, lanes, me);
            let [next, prev, receiver] =
                [counts.next, counts.prev, counts.receiver].map(|n| wire_len(dom, n) as u64);
            up[me] += next + prev + receiver;
            down[(me + 1) % 3] += next;
            down[(me + 2) % 3] += prev;
            if let Op::OpenTo { output, .. } = instr.op {
                let to = circuit.outputs.get(output as usize).map_or(0, |o| o.to);
                *receivers.entry(to).or_default() += receiver;
            }
        }
    }
    up.into_iter().chain(down).chain(receivers.into_values()).max().unwrap_or(0)
}

/// Bytes that a member of each party set uploads.
pub(super) fn upload(circuit: &Circuit) -> Vec<u64> {
    let of = |set: usize| {
        let gives = circuit.inputs.iter().any(|i| i.from == From::Each(set as u32));
        if gives { uploads::upload_bytes(&uploads::layout(circuit, set)) } else { 0 }
    };
    (0..circuit.parties.len()).map(of).collect()
}
