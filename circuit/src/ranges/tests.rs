use super::*;
use crate::plan::{Step, plan};
use crate::verify::infer;
use crate::verify::tests::all_ops;
use crate::{Dom, From, Hold, Input, Instr, Layer, Output, PartySet, Security, Site, Type};
use crate::{Encoding, verify::verify};
use std::collections::BTreeSet;

/// A circuit that is put together layer by layer.
struct Made {
    circuit: Circuit,
}

impl Made {
    fn new(members: u64, each: u64) -> Made {
        let party = |name: &str, size| PartySet { name: name.into(), size };
        let encoding = Encoding::Int { lo: 0, hi: 10 };
        let (name, shape, value) = ("x".into(), vec![each], ValueId(0));
        let x = Input { name, from: From::Each(0), encoding, shape, fields: Vec::new(), value };
        let circuit = Circuit {
            name: "blocks".into(),
            sizes: Vec::new(),
            parties: vec![party("Client", members), party("Server", 1)],
            inputs: vec![x],
            consts: Vec::new(),
            types: vec![Type::new(Hold::Rep, Dom::Ring(64), [members, each])],
            sites: vec![Site { name: "s".into(), line: 1 }],
            layers: Vec::new(),
            outputs: Vec::new(),
            checks: Vec::new(),
            security: Security::SemiHonest,
        };
        Made { circuit }
    }

    fn put(&mut self, layer: usize, op: Op) -> ValueId {
        let count = self.circuit.layers.len().max(layer + 1);
        self.circuit.layers.resize(count, Layer::default());
        let ty = infer(&op, &|v| self.circuit.ty(v)).expect("well typed");
        let out = ty.map(|ty| {
            self.circuit.types.push(ty);
            ValueId(self.circuit.types.len() as u32 - 1)
        });
        let of = &mut self.circuit.layers[layer];
        let section = if op.is_interactive() { &mut of.exchange } else { &mut of.local };
        section.push(Instr { out, op, site: 0 });
        out.unwrap_or(ValueId(0))
    }

    /// Products of some members with themselves, in four rounds from this layer on, and a last round of little in the next
    /// layer.
    fn block(&mut self, layer: usize, start: u64, len: u64) -> ValueId {
        let mut x = self.put(layer, Op::Slice { x: ValueId(0), axis: 0, start, len, step: 1 });
        for l in layer..layer + 3 {
            let z = self.put(l, Op::Mul(x, x));
            x = self.put(l, Op::Reshare(z));
        }
        let sum = self.put(layer + 3, Op::Sum { x, axes: vec![1] });
        let mut x = sum;
        for l in layer + 3..layer + 5 {
            let z = self.put(l, Op::Mul(x, x));
            x = self.put(l, Op::Reshare(z));
        }
        x
    }

    fn reveal(mut self, layer: usize, x: ValueId) -> Circuit {
        let z = self.put(layer, Op::AsAdd3(x));
        self.put(layer, Op::OpenTo { x: z, output: 0 });
        self.circuit.outputs.push(Output {
            name: "y".into(),
            to: 1,
            shape: self.circuit.ty(x).shape.clone(),
            ring: 64,
            frac: 0,
            factor: 1.0,
            divisor: 1.0,
            fields: Vec::new(),
        });
        // Values end at their last use.
        let mut last = vec![0; self.circuit.types.len()];
        for (l, layer) in self.circuit.layers.iter().enumerate() {
            for i in layer.local.iter().chain(&layer.exchange) {
                i.op.operands().into_iter().chain(i.out).for_each(|v| last[v.index()] = l);
            }
        }
        for (v, l) in last.into_iter().enumerate() {
            self.circuit.layers[l].drop.push(ValueId(v as u32));
        }
        verify(&self.circuit).expect("a circuit");
        self.circuit
    }
}

/// Three blocks, of which each has its last round in the first layer of the next one.
fn blocks() -> Circuit {
    let mut made = Made::new(12, 1000);
    let ends: Vec<ValueId> = (0..3).map(|b| made.block(4 * b as usize, 4 * b, 4)).collect();
    let all = made.put(13, Op::Concat { xs: ends, axis: 0 });
    made.reveal(13, all)
}

/// What a division has to be: steps find what they read, every message is sent once, what is made is dropped.
fn check(circuit: &Circuit) {
    let Division { ranges, party, workers } = Division::of(circuit);
    let given = circuit.inputs.iter().map(|i| i.value);
    let consts: BTreeSet<ValueId> = circuit.consts.iter().map(|c| c.value).collect();
    let mut here: BTreeSet<ValueId> = given.chain(consts.iter().copied()).collect();
    let mut sent: Vec<(usize, usize)> = Vec::new();
    let mut out: BTreeSet<usize> = BTreeSet::new();
    let mut run = |plans: &[crate::plan::LayerPlan], here: &mut BTreeSet<ValueId>| {
        for (l, plan) in plans.iter().enumerate() {
            for &step in &plan.steps {
                let layer = &circuit.layers[l];
                match step {
                    Step::Local(_) | Step::Ahead(_) => {
                        let instr = match step {
                            Step::Local(i) => &layer.local[i],
                            Step::Ahead(place) => crate::plan::instr(circuit, place),
                            _ => unreachable!(),
                        };
                        assert!(assign::reads(instr).iter().all(|v| here.contains(v)), "{instr:?}");
                        here.extend(instr.out);
                    }
                    Step::Send(j) => {
                        assert!(layer.exchange[j].op.operands().iter().all(|v| here.contains(v)));
                        assert!(plan.order.contains(&j));
                        sent.push((l, j));
                    }
                    Step::Finish { layer, exchange } => {
                        assert!(sent.contains(&(layer, exchange)), "finished once it is sent");
                        here.extend(circuit.layers[layer].exchange[exchange].out);
                    }
                    Step::Drop(v) => assert!(here.remove(&v), "{v} is dropped in layer {l}"),
                    Step::Give(n) => {
                        assert!(ranges[n].reads.iter().all(|v| here.contains(v)), "range {n}");
                        assert!(out.insert(n));
                    }
                    Step::Take(n) => {
                        assert!(out.remove(&n), "range {n} is taken once it is given");
                        here.extend(&ranges[n].writes);
                    }
                }
            }
        }
    };
    run(&party, &mut here);
    for (range, plans) in ranges.iter().zip(&workers) {
        let mut here: BTreeSet<ValueId> = range.reads.iter().chain(&consts).copied().collect();
        run(plans, &mut here);
        here.retain(|v| !consts.contains(v));
        assert_eq!(here.into_iter().collect::<Vec<_>>(), range.writes, "nothing else is left");
        let steps = || plans.iter().flat_map(|p| &p.steps);
        let sent = steps().filter(|s| matches!(s, Step::Send(_))).count();
        let finished = steps().filter(|s| matches!(s, Step::Finish { .. })).count();
        assert_eq!(sent, finished, "messages are finished");
    }
    assert!(out.is_empty());
    sent.sort_unstable();
    let all = circuit.layers.iter().enumerate();
    let all = all.flat_map(|(l, layer)| (0..layer.exchange.len()).map(move |j| (l, j)));
    assert_eq!(sent, all.collect::<Vec<_>>(), "every message once");
}

#[test]
fn blocks_are_independent_ranges() {
    let circuit = blocks();
    let found = ranges(&circuit);
    let layers: Vec<_> = found.iter().map(|r| r.layers.clone()).collect();
    assert_eq!(layers, [0..4, 4..8, 8..13]);
    for (n, range) in found.iter().enumerate() {
        assert_eq!(range.stage, 0);
        // Three messages of 4,000 words and one of four, and of the last block also its last round. The party makes the slice, which is less than what it is of.
        let small = if n == 2 { 8 } else { 4 };
        assert_eq!(range.bytes, [(3 * 4000 + small) * 8; 3]);
        let [read] = range.reads[..] else { panic!("{:?}", range.reads) };
        assert_eq!(circuit.ty(read).shape, [4, 1000]);
        let slice = crate::plan::instr(&circuit, *range.prepared.first().expect("a slice"));
        assert!(matches!(slice.op, Op::Slice { start, .. } if start == 4 * n as u64), "{slice:?}");
    }
    check(&circuit);
}

#[test]
fn a_stage_reads_the_one_before() {
    let mut made = Made::new(8, 1000);
    let first: Vec<ValueId> = (0..2).map(|b| made.block(4 * b as usize, 4 * b, 4)).collect();
    let all = made.put(10, Op::Concat { xs: first, axis: 0 });
    let shape = made.put(10, Op::Reshape(all, vec![8, 1]));
    let wide = made.put(10, Op::Broadcast(shape, vec![8, 1000]));
    let mut x = wide;
    for l in 10..14 {
        let z = made.put(l, Op::Mul(x, wide));
        x = made.put(l, Op::Reshare(z));
    }
    let sum = made.put(14, Op::Sum { x, axes: vec![1] });
    let circuit = made.reveal(14, sum);
    let stages: Vec<u32> = ranges(&circuit).iter().map(|r| r.stage).collect();
    assert_eq!(stages, [0, 0, 1]);
    check(&circuit);
}

#[test]
fn without_ranges_a_party_does_everything() {
    let circuit = all_ops();
    let division = Division::of(&circuit);
    assert!(division.ranges.is_empty());
    let orders = |plans: &[crate::plan::LayerPlan]| -> Vec<Vec<usize>> {
        plans.iter().map(|p| p.order.clone()).collect()
    };
    assert_eq!(orders(&division.party), orders(&plan(&circuit)));
    let malicious = Circuit { security: Security::Malicious, ..blocks() };
    assert!(ranges(&malicious).is_empty());
}
