//! Which instructions of its window a range computes.

use super::cut::{NEVER, Network};
use super::{Members, Range, SMALL, is_own, size};
use crate::plan::{Place, instr};
use crate::traffic::sent;
use crate::{Circuit, Instr, Op, ValueId};
use std::collections::{BTreeMap, BTreeSet};

/// Of which part of all that a circuit makes a range has to make one, to be worth a worker.
const WORTH: u64 = 64;

/// Who computes an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    Party,
    /// Whoever reads it: it is local and needs nothing that is made in its window.
    Reader,
    Range(usize),
}

/// When a value is there.
#[derive(Clone, Copy)]
struct Ready {
    /// The first stage whose ranges may read it.
    stage: u32,
    /// The first layer at whose beginning the party can have it.
    from: usize,
    by: By,
}

const GIVEN: Ready = Ready { stage: 0, from: 0, by: By::Party };

/// The ranges in these windows.
pub(super) fn assign(circuit: &Circuit, windows: &[std::ops::Range<usize>]) -> Vec<Range> {
    let Some(start) = windows.first().map(|w| w.start) else { return Vec::new() };
    let mut ready = vec![GIVEN; circuit.types.len()];
    for (l, layer) in circuit.layers.iter().enumerate().take(start) {
        for v in layer.local.iter().chain(&layer.exchange).filter_map(|i| i.out) {
            ready[v.index()].from = l + 1;
        }
    }
    let all = instrs(circuit, 0..circuit.layers.len());
    let total =
        all.filter_map(|(_, i)| i.out).fold(0, |sum: u64, v| sum.saturating_add(size(circuit, v)));
    let mut stages = Vec::new();
    for window in windows {
        let number = stages.len();
        let most = ready.iter().map(|r| r.stage).max().unwrap_or(0);
        let range = Some(number);
        let tried = (0..=most).map(|stage| {
            let apart = BTreeSet::new();
            Window { circuit, window, stage, range, apart }.without_small_parts(&ready)
        });
        let tried: Vec<_> = tried.map(|w| (w.clone(), w.made(&w.ready(&ready)))).collect();
        // The first in which most of it is.
        let half = tried.iter().map(|(_, made)| made / 2).max().unwrap_or(0);
        let Some((of, made)) = tried.into_iter().find(|(_, made)| *made >= half) else { continue };
        let found = of.ready(&ready);
        if made > 0 && made.saturating_mul(WORTH) >= total && of.leaves_little(&found) {
            ready = found;
            stages.push(of.stage);
        } else {
            ready = Window { range: None, ..of }.ready(&ready);
        }
    }
    let assigned = Assigned::new(circuit, start, &ready, stages.len());
    stages.iter().enumerate().map(|(number, &stage)| assigned.range(number, stage)).collect()
}

/// The instructions of some layers with their places, in order.
pub(super) fn instrs(
    circuit: &Circuit,
    layers: std::ops::Range<usize>,
) -> impl DoubleEndedIterator<Item = (Place, &Instr)> {
    layers.flat_map(|layer| {
        let of = &circuit.layers[layer];
        let local = of.local.iter().enumerate().map(move |(at, i)| (Place { layer, at }, i));
        let after = of.local.len();
        let sent = of.exchange.iter().enumerate();
        local.chain(sent.map(move |(at, i)| (Place { layer, at: after + at }, i)))
    })
}

/// A window with the stage that its range may be of, if it has one.
#[derive(Clone)]
struct Window<'a> {
    circuit: &'a Circuit,
    window: &'a std::ops::Range<usize>,
    stage: u32,
    range: Option<usize>,
    /// What is not in the range all the same.
    apart: BTreeSet<Place>,
}

impl Window<'_> {
    /// When everything is there, given that for what is made before this window.
    fn ready(&self, before: &[Ready]) -> Vec<Ready> {
        let mut ready = before.to_vec();
        for (place, instr) in instrs(self.circuit, self.window.clone()) {
            let Some(v) = instr.out else { continue };
            let operands = instr.op.operands().into_iter();
            let operands: Vec<Ready> = operands.map(|v| ready[v.index()]).collect();
            ready[v.index()] = self.of(place, instr, &operands);
        }
        ready
    }

    /// Leaves out what has nothing to do with most of the range: last steps of the range before it, and first ones of others.
    fn without_small_parts(mut self, before: &[Ready]) -> Self {
        let ready = self.ready(before);
        let mine: Vec<(Place, &Instr, ValueId)> = instrs(self.circuit, self.window.clone())
            .filter_map(|(place, i)| Some((place, i, i.out.filter(|&v| self.mine(&ready, v))?)))
            .collect();
        let number: BTreeMap<ValueId, usize> =
            mine.iter().enumerate().map(|(n, &(_, _, v))| (v, n)).collect();
        // Of each part one, in the end.
        let mut head: Vec<usize> = (0..mine.len()).collect();
        fn find(head: &mut [usize], mut n: usize) -> usize {
            while head[n] != n {
                head[n] = head[head[n]];
                n = head[n];
            }
            n
        }
        for (n, (_, instr, _)) in mine.iter().enumerate() {
            for x in instr.op.operands().iter().filter_map(|x| number.get(x)) {
                let (a, b) = (find(&mut head, n), find(&mut head, *x));
                head[a.max(b)] = a.min(b);
            }
        }
        let mut bytes = vec![0u64; mine.len()];
        for (n, &(_, _, v)) in mine.iter().enumerate() {
            let part = find(&mut head, n);
            bytes[part] = bytes[part].saturating_add(size(self.circuit, v));
        }
        let all = bytes.iter().copied().fold(0, u64::saturating_add);
        let small =
            (0..mine.len()).filter(|&n| bytes[find(&mut head, n)].saturating_mul(WORTH) < all);
        self.apart = small.map(|n| mine[n].0).collect();
        self
    }

    fn of(&self, place: Place, instr: &Instr, operands: &[Ready]) -> Ready {
        let mine = |r: &Ready| self.range.map(By::Range) == Some(r.by);
        let outside = |r: &Ready| r.stage <= self.stage && r.from <= self.window.start;
        let stage = operands.iter().map(|r| r.stage).max().unwrap_or(0);
        let party = Ready { stage, from: place.layer + 1, by: By::Party };
        let there = operands.iter().all(|r| mine(r) || outside(r));
        if is_own(&instr.op) || !there || self.apart.contains(&place) {
            return party;
        }
        let reads = operands.iter().any(mine);
        match self.range {
            _ if !reads && !instr.op.is_interactive() => {
                let from = operands.iter().map(|r| r.from).max().unwrap_or(0);
                Ready { stage, from, by: By::Reader }
            }
            Some(number) if reads || self.reads_soon(instr) => {
                Ready { stage: self.stage + 1, from: self.window.end, by: By::Range(number) }
            }
            _ => party,
        }
    }

    /// Whether what an instruction sends is read in this window: what is dealt for a later one is not this one's.
    fn reads_soon(&self, instr: &Instr) -> bool {
        instrs(self.circuit, self.window.clone())
            .any(|(_, i)| instr.out.is_some_and(|v| i.op.operands().contains(&v)))
    }

    fn mine(&self, ready: &[Ready], v: ValueId) -> bool {
        self.range.is_some_and(|n| ready[v.index()].by == By::Range(n))
    }

    /// Bytes of what its range makes.
    fn made(&self, ready: &[Ready]) -> u64 {
        let all = instrs(self.circuit, self.window.clone()).filter_map(|(_, i)| i.out);
        let mine = all.filter(|&v| self.mine(ready, v));
        mine.fold(0, |sum, v| sum.saturating_add(size(self.circuit, v)))
    }

    /// Whether what is read elsewhere of what its range makes is little of it.
    fn leaves_little(&self, ready: &[Ready]) -> bool {
        let mut left = BTreeSet::new();
        for (_, instr) in instrs(self.circuit, self.window.start..self.circuit.layers.len()) {
            let inside = instr.out.is_some_and(|v| self.mine(ready, v));
            let read = instr.op.operands().into_iter().filter(|&v| self.mine(ready, v));
            left.extend(read.filter(|_| !inside));
        }
        let left = left.into_iter().fold(0u64, |sum, v| sum.saturating_add(size(self.circuit, v)));
        left.saturating_mul(SMALL) <= self.made(ready)
    }
}

/// Who computes what, once every window has its range or none.
struct Assigned<'a> {
    circuit: &'a Circuit,
    ready: &'a [Ready],
    /// Of what is made from the first window on: where.
    makers: BTreeMap<ValueId, (Place, &'a Instr)>,
    consts: BTreeSet<ValueId>,
    /// What each range computes that needs something of its window.
    own: Vec<Vec<Place>>,
    /// Each value that is read, with who reads it.
    read: BTreeSet<(ValueId, By)>,
}

impl<'a> Assigned<'a> {
    fn new(circuit: &'a Circuit, start: usize, ready: &'a [Ready], count: usize) -> Self {
        let consts = circuit.consts.iter().map(|c| c.value).collect();
        let mut out = Assigned {
            circuit,
            ready,
            makers: BTreeMap::new(),
            consts,
            own: vec![Vec::new(); count],
            read: BTreeSet::new(),
        };
        for (place, instr) in instrs(circuit, start..circuit.layers.len()) {
            out.makers.extend(instr.out.map(|v| (v, (place, instr))));
            let by = instr.out.map_or(By::Party, |v| ready[v.index()].by);
            if let By::Range(number) = by {
                out.own[number].push(place);
            }
            out.read.extend(reads(instr).into_iter().map(|v| (v, by)));
        }
        out
    }

    fn by(&self, v: ValueId) -> By {
        self.ready[v.index()].by
    }

    fn size(&self, v: ValueId) -> u64 {
        size(self.circuit, v)
    }

    /// The range of this number.
    fn range(&self, number: usize, stage: u32) -> Range {
        let of = |place: &Place| instr(self.circuit, *place);
        let mine = &self.own[number];
        let needed: BTreeSet<ValueId> = mine.iter().flat_map(|place| reads(of(place))).collect();
        let needed: Vec<ValueId> =
            needed.into_iter().filter(|v| self.by(*v) != By::Range(number)).collect();
        let (reads, kept) = self.handed_over(&needed);
        let mut inputs: Vec<Members> = Vec::new();
        for place in &kept {
            if let Op::Load { x, start, len } = of(place).op {
                let input = self.circuit.inputs.iter().position(|i| i.value == x);
                let part = input.map(|input| Members { input, members: start..start + len });
                let new = part.filter(|part| !inputs.contains(part));
                inputs.extend(new);
            }
        }
        let mut bytes = [0u64; 3];
        for place in mine {
            bytes
                .iter_mut()
                .zip(sent(self.circuit, of(place)))
                .for_each(|(sum, more)| *sum += more);
        }
        let layers = mine.iter().map(|place| place.layer);
        let layers = layers.clone().min().zip(layers.max()).map_or(0..0, |(a, b)| a..b + 1);
        let made = mine.iter().filter_map(|place| of(place).out);
        let others = |v: &ValueId| {
            let of = self.read.range((*v, By::Party)..=(*v, By::Range(usize::MAX)));
            of.into_iter().any(|(_, by)| *by != By::Range(number))
        };
        let mut writes: Vec<ValueId> = made.filter(others).collect();
        writes.sort_unstable();
        let prepared = self.ahead(&reads);
        let all = kept.into_iter().chain(mine.iter().copied()).collect::<BTreeSet<Place>>();
        Range {
            layers,
            stage,
            instrs: all.into_iter().collect(),
            prepared,
            inputs,
            reads,
            writes,
            bytes,
        }
    }

    /// What is handed over to a range that needs these values, ascending, and which local instructions it evaluates itself to
    /// have the others: where least has to be handed over. Functions of masks are its own, slices of what is large are not.
    ///
    /// In the network, vertex 2 n + 2 of a value stands for the party's side of it, and vertex 2 n + 3 for that of the range.
    fn handed_over(&self, needed: &[ValueId]) -> (Vec<ValueId>, BTreeSet<Place>) {
        let (from, to) = (0, 1);
        let mut numbers: BTreeMap<ValueId, usize> = BTreeMap::new();
        let mut todo: Vec<ValueId> = needed.to_vec();
        while let Some(v) = todo.pop() {
            let next = 2 * numbers.len() + 2;
            if !self.consts.contains(&v) && !numbers.contains_key(&v) {
                numbers.insert(v, next);
                todo.extend(self.maker(v).into_iter().flat_map(|(_, i)| reads(i)));
            }
        }
        let mut network = Network::new(2 * numbers.len() + 2);
        for (&v, &at) in &numbers {
            network.edge(at, at + 1, self.size(v));
            match self.maker(v) {
                Some((_, instr)) => {
                    let operands = reads(instr).into_iter().filter_map(|x| numbers.get(&x));
                    operands.for_each(|x| network.edge(x + 1, at, NEVER));
                }
                None => network.edge(from, at, NEVER),
            }
        }
        let ends = || needed.iter().filter_map(|v| numbers.get(v));
        ends().for_each(|at| network.edge(at + 1, to, NEVER));
        let of_party = network.cut(from, to);
        let (mut reads_of, mut kept) = (BTreeSet::new(), BTreeSet::new());
        let mut todo: Vec<ValueId> = needed.to_vec();
        while let Some(v) = todo.pop() {
            match (numbers.get(&v), self.maker(v)) {
                (None, _) => {}
                (Some(&at), Some((place, instr))) if !of_party[at] => {
                    if kept.insert(place) {
                        todo.extend(reads(instr));
                    }
                }
                (Some(_), _) => {
                    reads_of.insert(v);
                }
            }
        }
        (reads_of.into_iter().collect(), kept)
    }

    /// The instruction that any reader may evaluate for itself.
    fn maker(&self, v: ValueId) -> Option<(Place, &'a Instr)> {
        self.makers.get(&v).copied().filter(|_| self.by(v) == By::Reader)
    }

    /// What the party evaluates to hand these over, in order.
    fn ahead(&self, values: &[ValueId]) -> Vec<Place> {
        let mut todo = values.to_vec();
        let mut all = BTreeSet::new();
        while let Some(v) = todo.pop() {
            if let Some((place, instr)) = self.maker(v)
                && all.insert(place)
            {
                todo.extend(reads(instr));
            }
        }
        all.into_iter().collect()
    }
}

/// What an instruction reads of values: what members gave is loaded wherever it is read.
pub(super) fn reads(instr: &Instr) -> Vec<ValueId> {
    match &instr.op {
        Op::Load { .. } => Vec::new(),
        op => op.operands(),
    }
}
