//! Large inputs in parts, for a memory budget.
//!
//! An input of many members is often read in two ways only: each member's part becomes something small (a norm, random
//! projections), and a sum over the members is made of all of them. Neither needs more than one member's part at a
//! time. So a scheduled circuit is rewritten: the members are cut into parts, and in each layer that reads the input,
//! each part is loaded ([`Op::Load`]), worked on and forgotten before the next one. What is made of the parts is put
//! together again, one part behind the other or added up.
//!
//! Everything that is rewritten is local, so neither rounds nor bytes change. All values are the same words as before:
//! local instructions work member by member, and sums in a ring are exact. Of random projections both components are
//! made, because shards that are cut between groups of all members are not those of a part: twice the work of `own` and
//! `dup`. What clients gave is read once in each layer that reads it.

use super::drop_dead;
use slvr_circuit::plan::split;
use slvr_circuit::verify::infer;
use slvr_circuit::{Circuit, From, Hold, Instr, Layer, Op, SplitPart, Type, ValueId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

/// Inputs that have less than a part in so many of the elements of the largest one stay as they are, as does what has
/// less than that of the input it is made of.
const SMALL: u64 = 16;

/// What becomes of a local instruction that reads parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    /// Its result has the members along this axis.
    Along(usize),
    /// Its result is the sum of what it makes of the parts.
    Summed,
    /// Its result is of some members.
    Members(u64, u64),
}

/// Which values of a circuit are worked on in parts.
pub struct Loads<'a> {
    circuit: &'a Circuit,
    /// The axis of the members, of inputs that are loaded and of what is as large and made of them member by member.
    axis: BTreeMap<ValueId, usize>,
    /// What makes them, inputs excepted.
    makers: BTreeMap<ValueId, Instr>,
    /// What is made of these and is not one of them.
    ends: BTreeMap<ValueId, Made>,
    /// What instructions read that is not in parts and has something for each member, by result and operand: the axis.
    cuts: BTreeMap<(ValueId, ValueId), usize>,
}

impl<'a> Loads<'a> {
    /// The most parts that inputs can be loaded in; 1 if none can be.
    pub fn most(&self) -> u64 {
        let inputs = self.circuit.inputs.iter().filter(|i| self.axis.contains_key(&i.value));
        let members = inputs.filter_map(|i| self.circuit.ty(i.value).shape.first().copied());
        members.max().unwrap_or(1)
    }

    /// The circuit with its large inputs loaded in (at most) so many parts; none if no input can be.
    pub fn in_parts(&self, count: u64) -> Option<Circuit> {
        if self.axis.is_empty() || count < 2 {
            return None;
        }
        let circuit = self.circuit;
        let types = circuit.types.clone();
        let mut rewrite = Rewrite { of: self, count, types, local: Vec::new() };
        let mut read = vec![None; circuit.types.len()];
        let mut layers = Vec::with_capacity(circuit.layers.len());
        for (l, layer) in circuit.layers.iter().enumerate() {
            rewrite.layer(layer, &needed(layer, l, &mut read))?;
            let local = std::mem::take(&mut rewrite.local);
            layers.push(Layer { local, exchange: layer.exchange.clone(), drop: Vec::new() });
        }
        let mut new = Circuit { types: rewrite.types, layers, ..circuit.clone() };
        compact(&mut new);
        drop_dead(&mut new);
        Some(new)
    }

    pub fn of(circuit: &'a Circuit) -> Loads<'a> {
        let secret = circuit.inputs.iter().filter(|i| matches!(i.from, From::Each(_)));
        let size = |v: ValueId| circuit.ty(v).elements();
        let largest = secret.clone().map(|i| size(i.value)).max().unwrap_or(0);
        let split = secret.filter(|i| circuit.ty(i.value).shape.first().is_some_and(|&m| m > 1));
        let large = split.filter(|i| size(i.value).saturating_mul(SMALL) >= largest);
        let mut inputs: BTreeMap<ValueId, u32> = large
            .filter_map(|i| match i.from {
                From::Each(set) => Some((i.value, set)),
                _ => None,
            })
            .collect();
        // What something reads that does not work member by member is made as a whole.
        let mut whole: BTreeSet<ValueId> = BTreeSet::new();
        loop {
            let (found, read) = Loads::found(circuit, &inputs, &whole);
            inputs.retain(|v, _| !read.contains(v));
            if read.is_empty() {
                return found;
            }
            whole.extend(read);
        }
    }

    /// With these inputs in parts and these values as wholes; also what else is to be a whole.
    fn found(
        circuit: &'a Circuit,
        inputs: &BTreeMap<ValueId, u32>,
        whole: &BTreeSet<ValueId>,
    ) -> (Loads<'a>, BTreeSet<ValueId>) {
        let axis = inputs.keys().map(|&v| (v, 0)).collect();
        let (makers, ends, cuts) = Default::default();
        let mut found = Loads { circuit, axis, makers, ends, cuts };
        let mut sets = inputs.clone();
        let mut read = BTreeSet::new();
        let largest = |set: u32| {
            let of = inputs.iter().filter(|(_, s)| **s == set);
            of.map(|(v, _)| circuit.ty(*v).elements()).max().unwrap_or(0)
        };
        for layer in &circuit.layers {
            for instr in &layer.local {
                let parts: BTreeSet<u32> =
                    instr.op.operands().iter().filter_map(|v| sets.get(v).copied()).collect();
                let Some(&set) = parts.first() else { continue };
                let way = (parts.len() == 1).then(|| way(circuit, instr, &found.axis)).flatten();
                let (Some((made, cuts)), Some(out)) = (way, instr.out) else {
                    let operands = instr.op.operands().into_iter();
                    read.extend(operands.filter(|v| found.axis.contains_key(v)));
                    continue;
                };
                found.cuts.extend(cuts.into_iter().map(|(v, at)| ((out, v), at)));
                let is_large = circuit.ty(out).elements().saturating_mul(SMALL) >= largest(set);
                match made {
                    Made::Along(at) if is_large && !whole.contains(&out) => {
                        found.axis.insert(out, at);
                        found.makers.insert(out, instr.clone());
                        sets.insert(out, set);
                    }
                    made => drop(found.ends.insert(out, made)),
                }
            }
            let sent = layer.exchange.iter().flat_map(|i| i.op.operands());
            read.extend(sent.filter(|v| found.axis.contains_key(v)));
        }
        (found, read)
    }
}

/// How an instruction works member by member, and operands that are not in parts and have something for each member,
/// with the axis.
type Way = (Made, Vec<(ValueId, usize)>);

/// How an instruction of which some operands have the members along an axis works member by member; none if it does
/// not.
fn way(circuit: &Circuit, instr: &Instr, axis: &BTreeMap<ValueId, usize>) -> Option<Way> {
    let out = circuit.ty(instr.out?);
    let shape = |v: ValueId| &circuit.ty(v).shape[..];
    let of = |v: ValueId| axis.get(&v).copied();
    let (x, at) = instr.op.operands().into_iter().find_map(|v| Some((v, of(v)?)))?;
    let members = shape(x)[at];
    // With these axes of operands as those of the members, where an operand has one entry it is the same for all.
    let aligned = |operands: &[(ValueId, usize)], same: bool| {
        let mut cuts = Vec::new();
        for &(v, at) in operands {
            let ty = circuit.ty(v);
            let plain = ty.groups == 0 && matches!(ty.hold, Hold::Rep | Hold::Public | Hold::Add3);
            match (of(v), ty.shape.get(at)) {
                (Some(own), _) if own == at => {}
                (None, Some(&n)) if plain && n == members => cuts.push((v, at)),
                (None, Some(1)) if plain && same => {}
                _ => return None,
            }
        }
        Some(cuts)
    };
    let along = |at: usize, cuts| Some((Made::Along(at), cuts));
    let done = match &instr.op {
        Op::Neg(_)
        | Op::Scale(..)
        | Op::Offset(..)
        | Op::Not(_)
        | Op::Narrow(..)
        | Op::Raise(..)
        | Op::AsAdd3(_)
        | Op::Broadcast(..) => along(at, Vec::new()),
        Op::Add(a, b) | Op::Sub(a, b) | Op::Mul(a, b) if shape(*a).len() == shape(*b).len() => {
            along(at, aligned(&[(*a, at), (*b, at)], true)?)
        }
        Op::Reshape(_, to) => {
            let before: u64 = shape(x)[..at].iter().product();
            let mut product = 1;
            let place = to.iter().position(|&d| {
                let here = product == before && d == members;
                product *= d;
                here
            });
            along(place?, Vec::new())
        }
        Op::Transpose(_, perm) => along(perm.iter().position(|&p| p == at as u64)?, Vec::new()),
        Op::Slice { axis, start, len, step, .. } => match (*axis == at as u64, step) {
            (false, _) => along(at, Vec::new()),
            (true, 1) if *len >= 1 => Some((Made::Members(*start, *len), Vec::new())),
            (true, _) => None,
        },
        Op::Sum { axes, .. } if axes.contains(&(at as u64)) => Some((Made::Summed, Vec::new())),
        Op::Sum { axes, .. } => {
            let before = axes.iter().filter(|&&a| a < at as u64).count();
            along(at - before, Vec::new())
        }
        Op::Concat { xs, axis } if *axis != at as u64 => {
            let all: Vec<(ValueId, usize)> = xs.iter().map(|&v| (v, at)).collect();
            along(at, aligned(&all, false)?)
        }
        Op::MatMul { a, b, trans_b } => {
            let (inner, columns) = if *trans_b { (2, 1) } else { (1, 2) };
            let batches = || Some((Made::Along(0), aligned(&[(*a, 0), (*b, 0)], true)?));
            let rows = || (of(*a) == Some(1) && of(*b).is_none()).then(|| (Made::Along(1), vec![]));
            let columns =
                || (of(*b) == Some(columns) && of(*a).is_none()).then(|| (Made::Along(2), vec![]));
            let summed = || Some((Made::Summed, aligned(&[(*a, 2), (*b, inner)], false)?));
            batches().or_else(rows).or_else(columns).or_else(summed)
        }
        Op::Project { .. } if at == 0 => return along(0, Vec::new()),
        _ => None,
    };
    done.filter(|_| out.groups == 0 && matches!(out.hold, Hold::Rep | Hold::Add3))
}

struct Rewrite<'a> {
    of: &'a Loads<'a>,
    count: u64,
    types: Vec<Type>,
    /// Of the layer at hand.
    local: Vec<Instr>,
}

/// What was made of some members, by the operation on their parts.
type Parts = HashMap<Op, ValueId>;

impl Rewrite<'_> {
    /// The local instructions of a layer. What is made of parts is made together as far as it can be, so that a part is
    /// loaded once for all of it.
    fn layer(&mut self, layer: &Layer, needed: &[bool]) -> Option<()> {
        let of = self.of;
        let is_part = |i: &Instr| i.out.is_some_and(|v| of.axis.contains_key(&v));
        let all = layer.local.iter().zip(needed.iter().copied());
        let mut rest: Vec<(&Instr, bool)> = all.filter(|(i, _)| !is_part(i)).collect();
        while !rest.is_empty() {
            let ends = |i: &Instr| i.out.filter(|v| of.ends.contains_key(v));
            let mut missing: BTreeSet<ValueId> = rest.iter().filter_map(|(i, _)| ends(i)).collect();
            let (mut later, mut waiting) = (Vec::new(), [Vec::new(), Vec::new()]);
            for (instr, needed) in std::mem::take(&mut rest) {
                if self.outside(instr).iter().any(|v| missing.contains(v)) {
                    missing.extend(instr.out);
                    later.push((instr, needed));
                } else if ends(instr).is_some() {
                    waiting[usize::from(needed)].push(instr);
                } else {
                    self.local.push(instr.clone());
                }
            }
            // A party works first on what the exchange needs: what it does not need has parts of its own.
            for waiting in waiting {
                self.make(waiting)?;
            }
            rest = later;
        }
        Some(())
    }

    /// What an instruction reads that is not in parts, directly or by way of parts.
    fn outside(&self, instr: &Instr) -> Vec<ValueId> {
        let mut all = Vec::new();
        let mut todo = instr.op.operands();
        let mut seen = BTreeSet::new();
        while let Some(v) = todo.pop() {
            match self.of.makers.get(&v) {
                Some(by) if seen.insert(v) => todo.extend(by.op.operands()),
                Some(_) => {}
                None => all.push(v),
            }
        }
        all
    }

    /// Makes of parts what these instructions make, part by part.
    fn make(&mut self, waiting: Vec<&Instr>) -> Option<()> {
        let made: Vec<Made> =
            waiting.iter().filter_map(|i| self.of.ends.get(&i.out?).copied()).collect();
        let members = waiting.iter().map(|i| self.members(i)).max().unwrap_or(0);
        let count = self.count.min(members).max(1);
        let mut pieces: Vec<Vec<ValueId>> = vec![Vec::new(); waiting.len()];
        for p in 0..count {
            let mut parts = Parts::new();
            for ((instr, made), pieces) in waiting.iter().zip(&made).zip(&mut pieces) {
                let all = self.members(instr);
                let range = all * p / count..all * (p + 1) / count;
                if range.is_empty() || matches!(made, Made::Members(..)) {
                    continue;
                }
                let piece = self.piece(instr, &range, &mut parts)?;
                match (made, pieces.first_mut()) {
                    (Made::Summed, Some(sum)) => {
                        *sum = self.add(Op::Add(*sum, piece), instr.site)?;
                    }
                    _ => pieces.push(piece),
                }
            }
        }
        // Projections of all members, of which there may be two parts.
        let mut joined: BTreeMap<Vec<ValueId>, ValueId> = BTreeMap::new();
        for ((instr, made), pieces) in waiting.iter().zip(made).zip(pieces) {
            let whole = match made {
                Made::Members(start, len) => {
                    let x = *instr.op.operands().first()?;
                    self.part(x, &(start..start + len), &mut Parts::new())?
                }
                Made::Summed => *pieces.first()?,
                Made::Along(at) => match joined.get(&pieces) {
                    Some(&whole) => whole,
                    None => {
                        let all = Op::Concat { xs: pieces.clone(), axis: at as u64 };
                        let whole = self.add(all, instr.site)?;
                        joined.insert(pieces, whole);
                        whole
                    }
                },
            };
            let ty = self.of.circuit.ty(instr.out?);
            let op = match instr.op {
                Op::Project { part: SplitPart::Own(groups), .. } => Op::OwnOf(whole, groups),
                Op::Project { part: SplitPart::Dup(groups), .. } => Op::DupOf(whole, groups),
                _ => Op::Reshape(whole, ty.shape.clone()),
            };
            self.local.push(Instr { out: instr.out, op, site: instr.site });
        }
        Some(())
    }

    /// How many members the operand in parts has.
    fn members(&self, instr: &Instr) -> u64 {
        let found = instr.op.operands().into_iter().find_map(|v| {
            let at = *self.of.axis.get(&v)?;
            self.of.circuit.ty(v).shape.get(at).copied()
        });
        found.unwrap_or(1)
    }

    /// The members `range` of a value that is in parts.
    fn part(&mut self, v: ValueId, range: &Range<u64>, parts: &mut Parts) -> Option<ValueId> {
        let (start, len) = (range.start, range.end - range.start);
        let of = self.of;
        match of.makers.get(&v) {
            Some(instr) => self.piece(instr, range, parts),
            None => self.once(Op::Load { x: v, start, len }, self.first_site(v), parts),
        }
    }

    /// What an instruction makes of the members `range` of its operands.
    fn piece(&mut self, instr: &Instr, range: &Range<u64>, parts: &mut Parts) -> Option<ValueId> {
        let (start, len) = (range.start, range.end - range.start);
        let (of, out) = (self.of, instr.out?);
        let mut places = BTreeMap::new();
        for v in instr.op.operands() {
            let place = match (of.axis.contains_key(&v), of.cuts.get(&(out, v))) {
                (true, _) => self.part(v, range, parts)?,
                (false, Some(&axis)) => {
                    let slice = Op::Slice { x: v, axis: axis as u64, start, len, step: 1 };
                    self.once(slice, instr.site, parts)?
                }
                (false, None) => v,
            };
            places.insert(v, place);
        }
        let mut op = instr.op.clone().map(|v| places.get(&v).copied().unwrap_or(v));
        match &mut op {
            Op::Reshape(_, shape) | Op::Broadcast(_, shape) => {
                let at = self.result_axis(instr)?;
                *shape.get_mut(at)? = len;
            }
            Op::Project { part, .. } => *part = SplitPart::Whole,
            _ => {}
        }
        self.once(op, instr.site, parts)
    }

    /// The axis of the members in the result of an instruction.
    fn result_axis(&self, instr: &Instr) -> Option<usize> {
        let out = instr.out?;
        match (self.of.axis.get(&out), self.of.ends.get(&out)) {
            (Some(&at), _) | (None, Some(&Made::Along(at))) => Some(at),
            _ => None,
        }
    }

    /// The line that first reads an input.
    fn first_site(&self, v: ValueId) -> u32 {
        let mut local = self.of.circuit.layers.iter().flat_map(|l| &l.local);
        local.find(|i| i.op.operands().contains(&v)).map_or(0, |i| i.site)
    }

    /// The result of an operation, which is made once for each part.
    fn once(&mut self, op: Op, site: u32, parts: &mut Parts) -> Option<ValueId> {
        if let Some(&v) = parts.get(&op) {
            return Some(v);
        }
        let v = self.add(op.clone(), site)?;
        parts.insert(op, v);
        Some(v)
    }

    fn add(&mut self, op: Op, site: u32) -> Option<ValueId> {
        let types = &self.types;
        let ty = infer(&op, &|v| &types[v.index()]).ok()??;
        let v = ValueId(u32::try_from(self.types.len()).ok()?);
        self.types.push(ty);
        self.local.push(Instr { out: Some(v), op, site });
        Some(v)
    }
}

/// Which local instructions a layer's exchange needs, or what is made of the same projections as one of them. `read` is
/// kept from layer to layer.
fn needed(layer: &Layer, l: usize, read: &mut [Option<usize>]) -> Vec<bool> {
    let projected = |i: &Instr| match i.op {
        Op::Project { x, coin, .. } => Some((x, coin)),
        _ => None,
    };
    let (first, _) = split(layer, l, read);
    let projections: BTreeSet<_> =
        first.iter().filter_map(|&i| projected(&layer.local[i])).collect();
    let mut needed: Vec<bool> = layer
        .local
        .iter()
        .map(|i| projected(i).is_some_and(|of| projections.contains(&of)))
        .collect();
    first.into_iter().for_each(|i| needed[i] = true);
    needed
}

/// Takes out the numbers of values that nothing defines any more.
fn compact(circuit: &mut Circuit) {
    let instrs = |c: &Circuit| -> Vec<ValueId> {
        let all = c.layers.iter().flat_map(|l| l.local.iter().chain(&l.exchange));
        all.filter_map(|i| i.out).collect()
    };
    let given = circuit.inputs.iter().map(|i| i.value);
    let given = given.chain(circuit.consts.iter().map(|c| c.value));
    let defined: BTreeSet<ValueId> = given.chain(instrs(circuit)).collect();
    let number: BTreeMap<ValueId, ValueId> =
        defined.iter().zip(0..).map(|(&v, n)| (v, ValueId(n))).collect();
    let to = |v: ValueId| number.get(&v).copied().unwrap_or(v);
    circuit.types = defined.iter().map(|v| circuit.types[v.index()].clone()).collect();
    circuit.inputs.iter_mut().for_each(|i| i.value = to(i.value));
    circuit.consts.iter_mut().for_each(|c| c.value = to(c.value));
    circuit.checks.iter_mut().for_each(|c| c.value = to(c.value));
    for instr in circuit.layers.iter_mut().flat_map(|l| l.local.iter_mut().chain(&mut l.exchange)) {
        instr.out = instr.out.map(to);
        instr.op = instr.op.clone().map(to);
    }
}
