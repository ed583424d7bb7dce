//! What a run costs that hands ranges of its layers to workers ([`slvr_circuit::ranges`]).
//!
//! Bytes and memory are those that a run counts. Seconds are of the model of `seconds.rs`, and of a schedule in which
//! the party and each worker do one thing after another.

use super::count::{Cost, InstrCost, LayerCost, add, busiest_party};
use super::net::NetProfile;
use super::{links, memory, seconds};
use serde::Serialize;
use slvr_circuit::plan::{LayerPlan, Place, Step, instr, starts};
use slvr_circuit::ranges::Division;
use slvr_circuit::{Circuit, Layer, ValueId};

/// A run with so many workers of each party.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkersCost {
    /// What stays with the party.
    pub party: PartyCost,
    pub workers: Vec<WorkerCost>,
    pub ranges: Vec<RangeCost>,
    /// Seconds from the first layer to the last.
    pub seconds: f64,
    pub seconds_alone: f64,
    /// What the end waits for, in order: ranges by number, and the party in between.
    pub critical: Vec<Waits>,
}

/// What somebody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Waits {
    Party,
    Range(usize),
}

/// Arrays are by party.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartyCost {
    /// Layers with an exchange.
    pub rounds: usize,
    /// Bytes sent to other parties and receivers.
    pub bytes: [u64; 3],
    pub memory: [u64; 3],
    pub seconds: f64,
}

/// The same worker of each party.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WorkerCost {
    pub ranges: usize,
    /// Bytes sent to the same worker of other parties.
    pub bytes: [u64; 3],
    /// Most bytes of values at one time.
    pub memory: [u64; 3],
    pub seconds: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RangeCost {
    pub first_layer: usize,
    pub last_layer: usize,
    pub stage: u32,
    pub worker: usize,
    pub rounds: usize,
    /// Members whose parts it loads, of all inputs.
    pub loads: u64,
    /// Bytes that it is handed, and hands back.
    pub reads: [u64; 3],
    pub writes: [u64; 3],
    /// Bytes sent to the same worker of other parties.
    pub bytes: [u64; 3],
    pub memory: [u64; 3],
    pub seconds: f64,
}

/// Of a verified circuit with `count` workers, at least one, on each of these networks.
pub fn workers(circuit: &Circuit, count: usize, nets: &[&NetProfile]) -> Vec<WorkersCost> {
    let division = Division::of(circuit);
    let cost = Cost::of(circuit);
    let starts = starts(circuit);
    let mut bytes = cost.bytes;
    for range in &division.ranges {
        bytes.iter_mut().zip(range.bytes).for_each(|(all, of)| *all -= of);
    }
    let party = PartyCost {
        rounds: division.party.iter().filter(|p| !p.order.is_empty()).count(),
        bytes,
        memory: memory::of_party(circuit, &division),
        seconds: 0.0,
    };
    // Of networks nothing depends but seconds.
    let ranges: Vec<RangeCost> =
        (0..division.ranges.len()).map(|n| range(circuit, &division, n, n % count)).collect();
    let on = |net| {
        let work = Work { circuit, cost: &cost, starts: &starts, net };
        work.on(&division, party.clone(), ranges.clone(), count)
    };
    nets.iter().copied().map(on).collect()
}

/// Most bytes of values of any of a circuit's ranges at one time, by party.
pub fn range_memory(circuit: &Circuit, division: &Division) -> [u64; 3] {
    let each = (0..division.ranges.len()).map(|n| memory::of_range(circuit, division, n));
    each.fold([0; 3], |most, next| [0, 1, 2].map(|me| most[me].max(next[me])))
}

/// A range without its seconds.
fn range(circuit: &Circuit, division: &Division, n: usize, worker: usize) -> RangeCost {
    let size = |all: &[ValueId]| {
        [0, 1, 2].map(|me| all.iter().map(|v| circuit.ty(*v).bytes(me)).sum::<u64>())
    };
    let range = &division.ranges[n];
    RangeCost {
        first_layer: range.layers.start,
        last_layer: range.layers.end - 1,
        stage: range.stage,
        worker,
        rounds: division.workers[n].iter().filter(|p| !p.order.is_empty()).count(),
        loads: range.inputs.iter().map(|i| i.members.end - i.members.start).sum(),
        reads: size(&range.reads),
        writes: size(&range.writes),
        bytes: range.bytes,
        memory: memory::of_range(circuit, division, n),
        seconds: 0.0,
    }
}

struct Work<'a> {
    circuit: &'a Circuit,
    cost: &'a Cost,
    /// Number of each layer's first instruction.
    starts: &'a [usize],
    net: &'a NetProfile,
}

impl Work<'_> {
    /// The whole, of what does not depend on the network.
    fn on(
        &self,
        division: &Division,
        party: PartyCost,
        mut ranges: Vec<RangeCost>,
        count: usize,
    ) -> WorkersCost {
        for (range, plans) in ranges.iter_mut().zip(&division.workers) {
            range.seconds = plans.iter().enumerate().map(|(l, plan)| self.seconds(l, plan)).sum();
        }
        let timeline = Timeline::of(self, division, &ranges, count);
        let mut workers = vec![WorkerCost::default(); count];
        for range in &ranges {
            let worker = &mut workers[range.worker];
            worker.ranges += 1;
            worker.seconds += range.seconds;
            add(&mut worker.bytes, range.bytes);
            let memory = worker.memory.iter_mut().zip(range.memory);
            memory.for_each(|(most, next)| *most = next.max(*most));
        }
        WorkersCost {
            party: PartyCost { seconds: timeline.party, ..party },
            workers,
            ranges,
            seconds: timeline.end,
            seconds_alone: self.cost.seconds(self.net).total,
            critical: timeline.critical,
        }
    }

    /// Seconds of the steps of a layer.
    fn seconds(&self, layer: usize, plan: &LayerPlan) -> f64 {
        let of = &self.circuit.layers[layer];
        let exchange = plan.order.iter().map(|&j| of.exchange[j].clone()).collect::<Vec<_>>();
        let mut cost = LayerCost {
            busiest: links::busiest(self.circuit, &Layer { exchange, ..Layer::default() }),
            ..LayerCost::default()
        };
        for step in &plan.steps {
            let place = match *step {
                Step::Local(at) => Place { layer, at },
                Step::Send(j) => Place { layer, at: of.local.len() + j },
                Step::Ahead(place) => place,
                _ => continue,
            };
            let one: &InstrCost = &self.cost.instrs[self.starts[place.layer] + place.at];
            debug_assert_eq!(one.op, instr(self.circuit, place).op.name());
            add(&mut cost.macs, one.macs);
            add(&mut cost.touched, one.touched);
            add(&mut cost.random, one.random);
        }
        seconds::of_layer(&cost, !plan.order.is_empty(), self.net)
    }

    /// Seconds until values are somewhere else.
    fn moved(&self, bytes: [u64; 3]) -> f64 {
        self.net.rtt_s / 2.0 + seconds::transfer(busiest_party(bytes), self.net)
    }
}

/// When what is done: the party and each worker do one thing after another.
struct Timeline {
    end: f64,
    /// Seconds in which the party works, or hands over.
    party: f64,
    critical: Vec<Waits>,
}

impl Timeline {
    fn of(work: &Work<'_>, division: &Division, ranges: &[RangeCost], count: usize) -> Timeline {
        // When each is free, and what it has waited for until then.
        let mut now = (0.0, Vec::new());
        let mut free = vec![(0.0, Vec::new()); count];
        let mut done: Vec<(f64, Vec<Waits>)> = vec![(0.0, Vec::new()); ranges.len()];
        let mut busy = 0.0;
        for (l, plan) in division.party.iter().enumerate() {
            // Waits within a layer come before what it computes; what is evaluated ahead is a small part of it.
            for step in &plan.steps {
                match *step {
                    Step::Give(n) => {
                        let (range, worker) = (&ranges[n], n % count);
                        // A worker is handed one range at a time.
                        if free[worker].0 > now.0 {
                            now = free[worker].clone();
                        }
                        let handed = work.moved(range.reads);
                        now.0 += handed;
                        busy += handed;
                        let mut path = now.1.clone();
                        path.push(Waits::Range(n));
                        done[n] = (now.0 + range.seconds + work.moved(range.writes), path);
                        free[worker] = done[n].clone();
                    }
                    Step::Take(n) if done[n].0 > now.0 => now = done[n].clone(),
                    _ => {}
                }
            }
            let spent = work.seconds(l, plan);
            busy += spent;
            now.0 += spent;
            if spent > 0.0 && now.1.last() != Some(&Waits::Party) {
                now.1.push(Waits::Party);
            }
        }
        Timeline { end: now.0, party: busy, critical: now.1 }
    }
}
