//! The memory of the parties, replayed without values.
//!
//! A party's register file counts the tensors that values point to, each once however many values
//! share it: a reshape shares all components, an offset all but the one it adds to, and a product with
//! outcomes of checks the other factor, as all clients are taken to pass. What the runtime
//! keeps is a function of the types and of which party it is, so the replay is exact; a test holds
//! it to what runs count. Against a malicious party a value is kept until the last proof about it, too. What a party
//! computes while it proves is not counted, as messages are not.

use slvr_circuit::plan::{LayerPlan, Step, instr, plan, starts};
use slvr_circuit::proof::{Proof, kept, proofs, vectors};
use slvr_circuit::ranges::{Division, Range};
use slvr_circuit::speculation::{Gated, gated};
use slvr_circuit::{Circuit, Hold, Instr, Op, Security, ValueId};
use std::collections::{BTreeMap, BTreeSet};

/// Memory of a run.
pub(super) struct Memory {
    /// Most bytes at one time, by party.
    pub peak: [u64; 3],
    /// Of the party with most, at that time: bytes by site of the instruction that made them. What is
    /// there from the start (inputs, tables) is under the site of its first reader.
    pub peak_by_site: Vec<u64>,
    /// Most bytes at one time in each layer.
    pub layers: Vec<[u64; 3]>,
    /// Bytes when each layer begins, before a proof there.
    pub starts: Vec<[u64; 3]>,
    /// Bytes once each instruction is done, by its number in the circuit.
    pub after: Vec<[u64; 3]>,
}

/// Replays a circuit at all three parties.
pub(super) fn replay(circuit: &Circuit) -> Memory {
    let parties = Replay::parties(circuit);
    let runs = parties.clone().map(|replay| replay.run(None));
    let peak = [0, 1, 2].map(|me: usize| runs[me].peak);
    let by = |pick: for<'r> fn(&'r Replay<'_>) -> &'r Vec<u64>| -> Vec<[u64; 3]> {
        let n = pick(&runs[0]).len();
        (0..n).map(|i| [0, 1, 2].map(|me: usize| pick(&runs[me])[i])).collect()
    };
    let (layers, starts, after) = (by(|r| &r.layers), by(|r| &r.starts), by(|r| &r.after));
    let most = (0..3).rev().max_by_key(|&me: &usize| peak[me]).unwrap_or(0);
    let at_peak = parties[most].clone().run(Some(peak[most]));
    Memory { peak, peak_by_site: at_peak.by_site, layers, starts, after }
}

/// Most bytes of values at one time, by party: [`Cost::peak_memory`](super::Cost::peak_memory) alone.
pub fn peak(circuit: &Circuit) -> [u64; 3] {
    Replay::parties(circuit).map(|replay| replay.run(None).peak)
}

/// Most bytes of values at one time of a party that hands its ranges to workers.
pub(super) fn of_party(circuit: &Circuit, division: &Division) -> [u64; 3] {
    Replay::parties(circuit).map(|replay| {
        let replay = Replay { ranges: &division.ranges, ..replay };
        replay.steps(given(circuit), division.party.clone()).peak
    })
}

/// Most bytes of values at one time of a worker in one range, what it reads included.
pub(super) fn of_range(circuit: &Circuit, division: &Division, range: usize) -> [u64; 3] {
    let (of, plans) = (&division.ranges[range], &division.workers[range]);
    let given: Vec<ValueId> = of.reads.iter().copied().chain(of.consts(circuit)).collect();
    Replay::parties(circuit).map(|replay| replay.steps(given.clone(), plans.clone()).peak)
}

/// What is there before the first layer.
fn given(circuit: &Circuit) -> Vec<ValueId> {
    let loaded = circuit.loaded();
    let inputs = circuit.inputs.iter().map(|i| i.value).filter(|v| !loaded.contains(v));
    inputs.chain(circuit.consts.iter().map(|c| c.value)).collect()
}

/// Most bytes of values, and of the vectors of proofs, while the parties wait before each layer, and in it: at the party
/// with most.
pub fn by_layer(circuit: &Circuit) -> Vec<[u64; 2]> {
    let proofs = all_proofs(circuit);
    layers(circuit, &proofs, Replay::proven_by(circuit, &proofs))
}

/// The same whether or not a client fails a check: then a product with outcomes of checks is a copy, and shares no factor.
pub fn by_layer_at_most(circuit: &Circuit) -> Vec<[u64; 2]> {
    let nothing = vec![None; circuit.types.len()];
    let without = |replay| Replay { gated: nothing.clone(), ..replay };
    let proofs = all_proofs(circuit);
    layers(circuit, &proofs, Replay::proven_by(circuit, &proofs).map(without))
}

/// The proofs of a circuit, which has none for parties that follow the protocol. What has none for all is refused
/// elsewhere.
fn all_proofs(circuit: &Circuit) -> Vec<Proof> {
    match circuit.security {
        Security::SemiHonest => Vec::new(),
        Security::Malicious => proofs(circuit).unwrap_or_default(),
    }
}

/// Most bytes of values, and of the vectors of proofs, at the party with most, whether or not a client fails a check.
pub fn at_most(circuit: &Circuit) -> u64 {
    by_layer_at_most(circuit).into_iter().flatten().max().unwrap_or(0)
}

fn layers(circuit: &Circuit, proofs: &[Proof], parties: [Replay<'_>; 3]) -> Vec<[u64; 2]> {
    let runs = parties.map(|replay| replay.run(None));
    let most = |of: &dyn Fn(&Replay<'_>) -> u64| runs.iter().map(of).max().unwrap_or(0);
    let of = |(l, [before, within]): (usize, [u64; 2])| {
        let values = [most(&|r| r.starts[l]), most(&|r| r.layers[l])];
        [values[0].saturating_add(before), values[1].saturating_add(within)]
    };
    let vectors = vectors(circuit, proofs);
    vectors.into_iter().enumerate().map(of).collect()
}

/// Most bytes of values at one time if the circuit is evaluated in the clear, where a tensor stands for a value.
pub fn peak_in_the_clear(circuit: &Circuit) -> u64 {
    let of = |v: ValueId| circuit.ty(v).dom.bytes(circuit.ty(v).elements());
    let given =
        circuit.inputs.iter().map(|i| i.value).chain(circuit.consts.iter().map(|c| c.value));
    let mut live = given.fold(0u64, |sum, v| sum.saturating_add(of(v)));
    let mut peak = live;
    for layer in &circuit.layers {
        for v in layer.local.iter().chain(&layer.exchange).filter_map(|i| i.out) {
            live = live.saturating_add(of(v));
        }
        peak = peak.max(live);
        layer.drop.iter().for_each(|&v| live = live.saturating_sub(of(v)));
    }
    peak
}

/// A tensor, by number.
type Part = usize;

#[derive(Clone)]
struct Replay<'a> {
    circuit: &'a Circuit,
    me: usize,
    /// What is computed elsewhere.
    ranges: &'a [Range],
    /// Products that share a factor.
    gated: Vec<Option<Gated>>,
    /// Components of every value.
    slots: Vec<Vec<Part>>,
    /// Size, owners and site of every tensor.
    size: Vec<u64>,
    owners: Vec<u32>,
    site: Vec<u32>,
    live: u64,
    peak: u64,
    /// Since the layer began.
    layer_peak: u64,
    layers: Vec<u64>,
    /// When each layer began.
    starts: Vec<u64>,
    after: Vec<u64>,
    /// Once `live` reaches this the holdings are noted.
    stop_at: Option<u64>,
    by_site: Vec<u64>,
    /// Before the exchange of which layer no proof reads each value any more.
    until: Vec<Option<u32>>,
    /// Layers before which the parties wait for proofs.
    waits: BTreeSet<u32>,
    /// What is kept for proofs until each such layer.
    kept: BTreeMap<u32, Vec<Part>>,
}

impl<'a> Replay<'a> {
    /// Of the three parties.
    fn parties(circuit: &'a Circuit) -> [Self; 3] {
        Replay::proven_by(circuit, &all_proofs(circuit))
    }

    /// Likewise, with the proofs of the circuit.
    fn proven_by(circuit: &'a Circuit, proofs: &[Proof]) -> [Self; 3] {
        let first = Replay::first(circuit, proofs);
        [0, 1, 2].map(|me| Replay { me, ..first.clone() })
    }

    fn first(circuit: &'a Circuit, proofs: &[Proof]) -> Self {
        Replay {
            until: kept(circuit, proofs),
            waits: proofs.iter().filter(|p| p.barrier.waits).map(|p| p.barrier.layer).collect(),
            kept: BTreeMap::new(),
            circuit,
            me: 0,
            ranges: &[],
            gated: gated(circuit),
            slots: vec![Vec::new(); circuit.types.len()],
            size: Vec::new(),
            owners: Vec::new(),
            site: Vec::new(),
            live: 0,
            peak: 0,
            layer_peak: 0,
            layers: Vec::new(),
            starts: Vec::new(),
            after: vec![0; circuit.instructions()],
            stop_at: None,
            by_site: vec![0; circuit.sites.len()],
        }
    }

    fn run(mut self, stop_at: Option<u64>) -> Self {
        self.stop_at = stop_at;
        let circuit = self.circuit;
        self.steps(given(circuit), plan(circuit))
    }

    /// Steps, with these values there from the start.
    fn steps(mut self, given: Vec<ValueId>, plans: Vec<LayerPlan>) -> Self {
        let first_reader = first_readers(self.circuit);
        for v in given {
            let parts = self.fresh(v, first_reader[v.index()].unwrap_or(0));
            self.set(v, parts);
        }
        let starts = starts(self.circuit);
        for (l, plan) in plans.into_iter().enumerate() {
            let waits = self.waits.contains(&(l as u32));
            if !waits {
                self.folded(l as u32);
            }
            self.layer_peak = self.live;
            self.starts.push(self.live);
            if waits {
                self.folded(l as u32);
            }
            for step in plan.steps {
                match step {
                    Step::Local(i) => {
                        self.define(&self.circuit.layers[l].local[i], starts[l] + i);
                    }
                    Step::Finish { layer, exchange } => {
                        let of = &self.circuit.layers[layer];
                        let number = starts[layer] + of.local.len() + exchange;
                        self.define(&of.exchange[exchange], number);
                    }
                    Step::Ahead(place) => {
                        self.define(instr(self.circuit, place), starts[place.layer] + place.at);
                    }
                    Step::Take(range) => {
                        let writes = self.ranges.get(range).map_or(&[][..], |r| &r.writes);
                        for &v in writes {
                            let parts = self.fresh(v, 0);
                            self.set(v, parts);
                        }
                    }
                    Step::Drop(v) => self.drop(v),
                    Step::Send(_) | Step::Give(_) => {}
                }
            }

            self.layers.push(self.layer_peak);
        }
        self
    }

    fn define(&mut self, instr: &Instr, number: usize) {
        if let Some(v) = instr.out {
            let parts = self.result(v, instr);
            self.set(v, parts);
        }
        self.after[number] = self.live;
    }

    /// The tensors of a result: which of an operand's it shares, which are new.
    fn result(&mut self, v: ValueId, instr: &Instr) -> Vec<Part> {
        match &instr.op {
            Op::Reshape(x, _) => self.slots[x.index()].clone(),
            Op::AsAdd3(x) if self.circuit.ty(*x).hold == Hold::Rep => {
                self.slots[x.index()].first().copied().into_iter().collect()
            }
            Op::Offset(x, _) | Op::Not(x) => {
                let (hold, me) = (self.circuit.ty(*x).hold, self.me);
                let old = self.slots[x.index()].clone();
                let mut parts = self.fresh(v, instr.site);
                // Component x_0 is party 0's first and party 2's second.
                let kept = |i: usize| match hold {
                    Hold::Rep => (i, me) != (0, 0) && (i, me) != (1, 2),
                    Hold::Add3 => me != 0,
                    _ => false,
                };
                for (i, part) in parts.iter_mut().enumerate() {
                    if kept(i) {
                        *part = old[i];
                    }
                }
                parts
            }
            _ => match self.gated[v.index()] {
                Some(Gated { x, .. }) => self.slots[x.index()].clone(),
                None => self.fresh(v, instr.site),
            },
        }
    }

    fn fresh(&mut self, v: ValueId, site: u32) -> Vec<Part> {
        let ty = self.circuit.ty(v);
        let sizes = ty.stored(self.me).into_iter().map(|n| ty.dom.bytes(n));
        let first = self.size.len();
        self.size.extend(sizes);
        let count = self.size.len() - first;
        self.owners.extend(std::iter::repeat_n(0, count));
        self.site.extend(std::iter::repeat_n(site, count));
        (first..first + count).collect()
    }

    /// Before what layer l sends: forgets what no proof reads from then on.
    fn folded(&mut self, l: u32) {
        let later = self.kept.split_off(&(l + 1));
        let gone = std::mem::replace(&mut self.kept, later);
        gone.into_values().for_each(|parts| self.release(parts));
    }

    fn set(&mut self, v: ValueId, parts: Vec<Part>) {
        if let Some(until) = self.until[v.index()] {
            parts.iter().for_each(|&p| self.own(p));
            self.kept.entry(until).or_default().extend(&parts);
        }
        parts.iter().for_each(|&p| self.own(p));
        self.slots[v.index()] = parts;
        self.peak = self.peak.max(self.live);
        self.layer_peak = self.layer_peak.max(self.live);
        if self.stop_at == Some(self.live) {
            self.stop_at = None;
            let all = self.owners.iter().zip(&self.size).zip(&self.site);
            for ((_, size), site) in all.filter(|((owners, _), _)| **owners > 0) {
                if let Some(sum) = self.by_site.get_mut(*site as usize) {
                    *sum = sum.saturating_add(*size);
                }
            }
        }
    }

    fn own(&mut self, p: Part) {
        self.owners[p] += 1;
        if self.owners[p] == 1 {
            self.live = self.live.saturating_add(self.size[p]);
        }
    }

    fn drop(&mut self, v: ValueId) {
        let parts = std::mem::take(&mut self.slots[v.index()]);
        self.release(parts);
    }

    fn release(&mut self, parts: Vec<Part>) {
        for p in parts {
            self.owners[p] -= 1;
            if self.owners[p] == 0 {
                self.live = self.live.saturating_sub(self.size[p]);
            }
        }
    }
}

/// The site of the first instruction that reads each value.
fn first_readers(circuit: &Circuit) -> Vec<Option<u32>> {
    let mut out = vec![None; circuit.types.len()];
    for instr in circuit.layers.iter().flat_map(|l| l.local.iter().chain(&l.exchange)) {
        instr.op.values(&mut |v| out[v.index()] = out[v.index()].or(Some(instr.site)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An offset of a replicated value is added to component x_0, which party 1 does not hold: it shares both of its
    /// components with the operand.
    #[test]
    fn an_offset_takes_memory_where_x0_is() {
        let circuit = slvr_circuit::text::parse(
            "circuit \"offset\"\nparty \"Client\" 1\n\
             input %0 \"x\" from 0 int(0, 10) [64] : A64[1,64]\nsite 0 \"s\" line 1\nlayer 0:\n  \
             %1 = offset %0 5 : A64[1,64] @0\n",
        );
        let circuit = circuit.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(peak(&circuit), [1536, 1024, 1536]);
    }
}
