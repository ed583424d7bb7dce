//! In which order a party works through a circuit, and how a layer's message is cut into frames.
//!
//! Both are functions of the circuit alone, so that every party knows each frame of its peers in
//! advance, and whoever predicts the memory of a run replays the same steps.
//!
//! **Order.** Within a layer the local instructions that the exchange needs come first. An interactive
//! instruction is sent as soon as its operands are there, and finished when its result is first
//! read, at the latest at the end of the next layer: what does not depend on it runs while its
//! messages are under way. A value is dropped right after the last step that touches it.
//!
//! When layers may be repeated ([`crate::speculation`]), the last of them finishes all of its
//! exchange itself, so that the parties can decide, and what is older than them is dropped after it.
//!
//! **Frames.** The parts of a message to one peer follow one another in the order of sending, each on
//! whole bytes. A frame is complete once it has [`FRAME`] bytes or the layer has nothing more for that
//! peer: a large part is on its way before the next one is computed, small ones travel together.

use crate::interaction::{COINS, Peer, next, outgoing, prev};
use crate::speculation::Speculation;
use crate::wire_len;
use crate::{Circuit, Dom, Instr, Lanes, Layer, Op, ValueId};
use serde::Serialize;
use std::collections::BTreeSet;

/// Bytes at which a frame is complete.
pub const FRAME: usize = 64 << 10;

/// One step of a party.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Step {
    /// Evaluate a local instruction of the layer, by its index there.
    Local(usize),
    /// Compute and send the part of an interactive instruction of the layer, by its index there.
    Send(usize),
    /// Receive the parts of an interactive instruction and define its result.
    Finish {
        /// Its layer: this one or the one before. When this layer is the first of those that are
        /// repeated, the one before is finished the first time only.
        layer: usize,
        /// Its index in that layer's exchange.
        exchange: usize,
    },
    Drop(ValueId),
    /// Evaluate a local instruction of this layer or a later one, for a range that is about to be handed over.
    Ahead(Place),
    /// Hand over a range of the circuit ([`crate::ranges`]) with what it reads, by its number.
    Give(usize),
    /// Wait for a range, and take what is read of it.
    Take(usize),
}

/// Where an instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Place {
    pub layer: usize,
    /// Among the local instructions of the layer, and after them those of its exchange.
    pub at: usize,
}

/// The number of each layer's first instruction among all of the circuit.
pub fn starts(circuit: &Circuit) -> Vec<usize> {
    let layers = circuit.layers.iter().scan(0, |next, layer| {
        let start = *next;
        *next += layer.local.len() + layer.exchange.len();
        Some(start)
    });
    layers.collect()
}

/// The instruction at a place.
pub fn instr(circuit: &Circuit, place: Place) -> &Instr {
    let layer = &circuit.layers[place.layer];
    match place.at.checked_sub(layer.local.len()) {
        Some(j) => &layer.exchange[j],
        None => &layer.local[place.at],
    }
}

/// The steps of one layer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LayerPlan {
    /// In order.
    pub steps: Vec<Step>,
    /// The interactive instructions in the order of sending, by index in the layer's exchange.
    pub order: Vec<usize>,
}

/// The steps of a verified circuit, by layer.
pub fn plan(circuit: &Circuit) -> Vec<LayerPlan> {
    let part = Speculation::of(circuit);
    drops(circuit, part.as_ref(), &[], undropped(circuit))
}

/// The same without drops.
pub(crate) fn undropped(circuit: &Circuit) -> Vec<LayerPlan> {
    let values = circuit.types.len();
    let part = Speculation::of(circuit);
    // Whether a layer leaves nothing under way. A proof is about all that was sent before it.
    let settles = |l: usize| {
        circuit.security.is_malicious()
            || l + 1 == circuit.layers.len()
            || part.as_ref().is_some_and(|p| p.last == l)
    };
    let mut plans: Vec<LayerPlan> = Vec::with_capacity(circuit.layers.len());
    // Of a result that is under way: which interactive instruction of the layer before makes it.
    let mut under_way: Vec<Option<usize>> = vec![None; values];
    // By value: the layer that defines it locally and after how many of its needed instructions.
    let mut defined: Vec<(usize, usize)> = vec![(usize::MAX, 0); values];
    let mut read: Vec<Option<usize>> = vec![None; values];
    for (l, layer) in circuit.layers.iter().enumerate() {
        let (needed, later) = split(layer, l, &mut read);
        for (at, &i) in needed.iter().enumerate() {
            if let Some(v) = layer.local[i].out {
                defined[v.index()] = (l, at + 1);
            }
        }
        // Where the party would wait for the layer before anyway.
        let waits = |op: &Op| op.operands().iter().any(|v| under_way[v.index()].is_some());
        let wait = needed.iter().position(|&i| waits(&layer.local[i].op)).unwrap_or(needed.len());
        let ready = |op: &Op| {
            let of = |v: &ValueId| match (under_way[v.index()], defined[v.index()]) {
                (Some(_), _) => wait,
                (None, (at, n)) if at == l => n,
                _ => 0,
            };
            op.operands().iter().map(of).max().unwrap_or(0)
        };
        let when: Vec<usize> = layer.exchange.iter().map(|i| ready(&i.op)).collect();
        let mut order: Vec<usize> = (0..layer.exchange.len()).collect();
        order.sort_by_key(|&j| (when[j], j));

        let mut steps = Vec::new();
        let mut fetch = |op: &Op, steps: &mut Vec<Step>| {
            for v in op.operands() {
                if let Some(exchange) = under_way[v.index()].take() {
                    steps.push(Step::Finish { layer: l - 1, exchange });
                }
            }
        };
        let mut sending = order.iter().copied().peekable();
        for at in 0..=needed.len() {
            while let Some(j) = sending.next_if(|&j| when[j] == at) {
                fetch(&layer.exchange[j].op, &mut steps);
                steps.push(Step::Send(j));
            }
            if let Some(&i) = needed.get(at) {
                fetch(&layer.local[i].op, &mut steps);
                steps.push(Step::Local(i));
            }
        }
        for i in later {
            fetch(&layer.local[i].op, &mut steps);
            steps.push(Step::Local(i));
        }
        // What nothing has read yet.
        if let Some(before) = l.checked_sub(1).filter(|&before| !settles(before)) {
            for &j in &plans[before].order {
                let instr = &circuit.layers[before].exchange[j];
                let read = match instr.out {
                    Some(v) => under_way[v.index()].take().is_none(),
                    None => false,
                };
                if !read {
                    steps.push(Step::Finish { layer: before, exchange: j });
                }
            }
        }
        if settles(l) {
            steps.extend(order.iter().map(|&exchange| Step::Finish { layer: l, exchange }));
        }
        for (j, instr) in layer.exchange.iter().enumerate().filter(|_| !settles(l)) {
            if let Some(v) = instr.out {
                under_way[v.index()] = Some(j);
            }
        }
        plans.push(LayerPlan { steps, order });
    }
    plans
}

/// The local instructions of layer l that its exchange needs, and the others. `read` says of each value in which
/// layer something needs it, the last one so far.
pub fn split(layer: &Layer, l: usize, read: &mut [Option<usize>]) -> (Vec<usize>, Vec<usize>) {
    let mut mark = |op: &Op| op.values(&mut |v| read[v.index()] = Some(l));
    layer.exchange.iter().for_each(|i| mark(&i.op));
    let mut needed = vec![false; layer.local.len()];
    for (i, instr) in layer.local.iter().enumerate().rev() {
        needed[i] = instr.out.is_some_and(|v| read[v.index()] == Some(l));
        if needed[i] {
            instr.op.values(&mut |v| read[v.index()] = Some(l));
        }
    }
    (0..layer.local.len()).partition(|&i| needed[i])
}

/// What a party has of a range that it hands over.
pub(crate) struct Handed<'a> {
    /// What it gives.
    pub reads: &'a [ValueId],
    /// What it takes.
    pub writes: &'a [ValueId],
    /// All that is made there.
    pub made: Vec<ValueId>,
}

/// Puts in the drops; of what ranges make the party has what is read of them.
pub(crate) fn drops(
    circuit: &Circuit,
    part: Option<&Speculation>,
    ranges: &[Handed<'_>],
    mut plans: Vec<LayerPlan>,
) -> Vec<LayerPlan> {
    let mut repeated = vec![false; circuit.types.len()];
    part.into_iter().flat_map(|p| p.made(circuit)).for_each(|v| repeated[v.index()] = true);
    // What a repetition needs as it was, by the first layer in which nothing can be repeated.
    let mut kept: Vec<ValueId> = Vec::new();
    let mut last: Vec<Option<(usize, usize)>> = vec![None; circuit.types.len()];
    for (l, plan) in plans.iter().enumerate() {
        for (s, step) in plan.steps.iter().enumerate() {
            let mut touch = |v: ValueId| last[v.index()] = Some((l, s));
            match *step {
                Step::Local(i) => {
                    let instr = &circuit.layers[l].local[i];
                    instr.op.operands().into_iter().chain(instr.out).for_each(&mut touch);
                }
                Step::Send(j) => {
                    circuit.layers[l].exchange[j].op.operands().into_iter().for_each(&mut touch);
                }
                Step::Finish { layer, exchange } => {
                    let instr = &circuit.layers[layer].exchange[exchange];
                    if instr.op.interaction().is_some_and(|i| i.rereads) {
                        instr.op.values(&mut touch);
                    }
                    instr.out.into_iter().for_each(&mut touch);
                }
                Step::Ahead(place) => {
                    let instr = instr(circuit, place);
                    instr.op.operands().into_iter().chain(instr.out).for_each(&mut touch);
                }
                Step::Give(range) => ranges[range].reads.iter().copied().for_each(touch),
                Step::Take(range) => ranges[range].writes.iter().copied().for_each(touch),
                Step::Drop(_) => {}
            }
        }
    }
    let made = ranges.iter().flat_map(|r| &r.made).copied();
    let elsewhere: BTreeSet<ValueId> = made.filter(|v| last[v.index()].is_none()).collect();
    let mut after: Vec<Vec<Vec<ValueId>>> =
        plans.iter().map(|p| vec![Vec::new(); p.steps.len() + 1]).collect();
    for (l, layer) in circuit.layers.iter().enumerate() {
        for &v in layer.drop.iter().filter(|v| !elsewhere.contains(v)) {
            // What nothing touches goes at the end of its layer.
            let (l, s) = last[v.index()].unwrap_or((l, plans[l].steps.len()));
            match part {
                Some(p) if p.covers(l) && !repeated[v.index()] => kept.push(v),
                _ => after[l][s].push(v),
            }
        }
    }
    for (plan, after) in plans.iter_mut().zip(after) {
        let steps = std::mem::take(&mut plan.steps).into_iter().map(Some).chain([None]);
        for (step, gone) in steps.zip(after) {
            plan.steps.extend(step);
            plan.steps.extend(gone.into_iter().map(Step::Drop));
        }
    }
    if let Some(plan) = part.and_then(|p| plans.get_mut(p.last + 1)) {
        plan.steps.splice(0..0, kept.into_iter().map(Step::Drop));
    }
    plans
}

/// Domain and shards of what an interactive instruction works on.
pub fn operand(circuit: &Circuit, op: &Op) -> (Dom, Lanes) {
    let mut first = None;
    op.values(&mut |v| {
        first.get_or_insert(v);
    });
    match first {
        Some(x) => (circuit.ty(x).dom, circuit.ty(x).lanes()),
        None => (COINS, Lanes { n: 1, groups: 0 }),
    }
}

/// The party set that an instruction reveals to; 0 for others.
pub fn receiver(circuit: &Circuit, op: &Op) -> usize {
    match op {
        Op::OpenTo { output, .. } => {
            circuit.outputs.get(*output as usize).map_or(0, |o| o.to as usize)
        }
        _ => 0,
    }
}

/// How many members a party set has; 1 for one that does not exist.
pub fn members(circuit: &Circuit, set: usize) -> u64 {
    circuit.parties.get(set).map_or(1, |p| p.size)
}

/// A frame of a layer's message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Which instructions' parts it holds (by index in the exchange), and their bytes; none is empty.
    pub parts: Vec<(usize, usize)>,
    /// All bytes.
    pub len: usize,
}

/// The frames of what party `from` sends to a peer in a layer; `order` is the plan's.
pub fn frames(
    circuit: &Circuit,
    layer: &Layer,
    order: &[usize],
    from: usize,
    to: Peer,
) -> Vec<Frame> {
    let mut out: Vec<Frame> = Vec::new();
    for &j in order {
        let Some(instr) = layer.exchange.get(j) else { continue };
        let (dom, lanes) = operand(circuit, &instr.op);
        let counts = outgoing(&instr.op, lanes, from);
        let elements = match to {
            Peer::Party(p) if p == next(from) => counts.next,
            Peer::Party(p) if p == prev(from) => counts.prev,
            Peer::Receiver(set) if set == receiver(circuit, &instr.op) => counts.receiver,
            _ => 0,
        };
        let bytes = wire_len(dom, elements);
        if bytes == 0 {
            continue;
        }
        if out.last().is_none_or(|f| f.len >= FRAME) {
            out.push(Frame::default());
        }
        if let Some(frame) = out.last_mut() {
            frame.parts.push((j, bytes));
            frame.len += bytes;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::tests::all_ops;

    #[test]
    fn every_instruction_once_and_in_time() {
        let circuit = all_ops();
        let plans = plan(&circuit);
        let mut defined: Vec<bool> = vec![false; circuit.types.len()];
        circuit.inputs.iter().for_each(|i| defined[i.value.index()] = true);
        circuit.consts.iter().for_each(|c| defined[c.value.index()] = true);
        let (mut local, mut sent, mut finished, mut dropped) = (0, 0, 0, 0);
        for (l, plan) in plans.iter().enumerate() {
            let layer = &circuit.layers[l];
            for step in &plan.steps {
                let instr = match *step {
                    Step::Local(i) => &layer.local[i],
                    Step::Send(j) => &layer.exchange[j],
                    Step::Finish { layer, exchange } => {
                        finished += 1;
                        assert!(layer + 1 >= l, "at the latest in the next layer");
                        if let Some(v) = circuit.layers[layer].exchange[exchange].out {
                            assert!(!std::mem::replace(&mut defined[v.index()], true));
                        }
                        continue;
                    }
                    Step::Ahead(_) | Step::Give(_) | Step::Take(_) => {
                        unreachable!("there are no ranges")
                    }
                    Step::Drop(v) => {
                        dropped += 1;
                        assert!(std::mem::take(&mut defined[v.index()]));
                        continue;
                    }
                };
                assert!(instr.op.operands().iter().all(|v| defined[v.index()]));
                match step {
                    Step::Local(_) => {
                        local += 1;
                        instr.out.iter().for_each(|v| defined[v.index()] = true);
                    }
                    _ => sent += 1,
                }
            }
        }
        let count = |of: fn(&Layer) -> usize| circuit.layers.iter().map(of).sum::<usize>();
        assert_eq!(local, count(|l| l.local.len()));
        assert_eq!((sent, finished), (count(|l| l.exchange.len()), count(|l| l.exchange.len())));
        assert_eq!(dropped, count(|l| l.drop.len()));
    }

    #[test]
    fn frames_hold_every_part_once() {
        let mut circuit = all_ops();
        // Some parts large, some small.
        for (n, ty) in circuit.types.iter_mut().enumerate() {
            ty.shape = vec![if n % 3 == 0 { 20_000 } else { 100 }];
        }
        for (layer, plan) in circuit.layers.iter().zip(plan(&circuit)) {
            for from in 0..3 {
                let peers = [0, 1, 2].map(Peer::Party);
                for to in peers.into_iter().chain([Peer::Receiver(0), Peer::Receiver(1)]) {
                    let all = frames(&circuit, layer, &plan.order, from, to);
                    for (i, frame) in all.iter().enumerate() {
                        let bytes: Vec<usize> = frame.parts.iter().map(|p| p.1).collect();
                        assert_eq!(frame.len, bytes.iter().sum::<usize>());
                        assert!(frame.len > 0 && (frame.len >= FRAME || i + 1 == all.len()));
                        assert!(
                            frame.len - bytes[bytes.len() - 1] < FRAME,
                            "no longer than needed"
                        );
                    }
                    let mut parts: Vec<usize> =
                        all.iter().flat_map(|f| f.parts.iter().map(|p| p.0)).collect();
                    parts.sort_unstable();
                    let before = parts.len();
                    parts.dedup();
                    assert_eq!(parts.len(), before);
                }
            }
        }
    }
}
