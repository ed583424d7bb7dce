//! What is found of a circuit before statements are: what makes a value, what is made of it, and which instructions
//! statements are found through.

use super::unproven::{Source, Unproven};
use crate::speculation::Speculation;
use crate::{Circuit, Hold, Op, ValueId};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Instructions in a row that are followed, one within another, to find what a statement is about, at most.
const DEPTH: u32 = 512;
/// Summands of all statements together: so many, and [`PER_VALUE`] for each value of the circuit. What is added to itself
/// over and over is not written out.
const SUMMANDS: u64 = 1 << 20;
/// Planes that statements pick from others, likewise.
const PLANES: u64 = 1 << 24;
const PER_VALUE: u64 = 16;
/// What each selection counts beside its planes, because a statement has all that stand in a row.
const PER_SELECTION: u64 = 8;

/// What is found of a circuit before statements are.
pub(super) struct BarrierSearch<'a> {
    pub(super) circuit: &'a Circuit,
    /// The layers that may be repeated.
    pub(super) repeated: Option<Speculation>,
    defs: Vec<Option<&'a Op>>,
    layer_of: Vec<Option<u32>>,
    /// Of masks under which something is opened: what was opened, and both joined.
    pub(super) joined: BTreeMap<ValueId, (ValueId, ValueId)>,
    /// What linear local instructions make of replicated values ([`is_linear`]).
    pub(super) linear: HashMap<Op, ValueId>,
    /// Of an owner's value what its input makes.
    pub(super) input_of: BTreeMap<ValueId, ValueId>,
    /// Of a sum of three words, cut between so many groups, what owners know of it ([`super::Parted`]).
    pub(super) words_of_owners: BTreeMap<(ValueId, u32), ValueId>,
    /// Sums of which the others open their words.
    pub(super) split_sums: BTreeSet<(ValueId, u32)>,
    /// Of an owner's value or a mask, the replicated value whose part a it is.
    pub(super) split_values: Vec<Option<ValueId>>,
    /// Which values are what two parties know.
    of_two: Vec<bool>,
    /// Summands that may still be written out.
    summands: Cell<u64>,
    /// Planes of statements that may still be written out.
    planes: Cell<u64>,
}

impl<'a> BarrierSearch<'a> {
    /// Looks for all that statements are told from.
    pub(super) fn of(circuit: &'a Circuit) -> Result<BarrierSearch<'a>, Unproven> {
        let n = circuit.types.len();
        let mut search = BarrierSearch {
            circuit,
            repeated: Speculation::of(circuit),
            defs: vec![None; n],
            layer_of: vec![None; n],
            joined: BTreeMap::new(),
            linear: HashMap::new(),
            input_of: BTreeMap::new(),
            words_of_owners: BTreeMap::new(),
            split_sums: BTreeSet::new(),
            split_values: vec![None; n],
            of_two: vec![false; n],
            summands: Cell::new(SUMMANDS + PER_VALUE * n as u64),
            planes: Cell::new(PLANES + PER_VALUE * n as u64),
        };
        for i in circuit.layers.iter().flat_map(|l| l.local.iter().chain(&l.exchange)) {
            if let Some(place) = i.out.and_then(|v| search.defs.get_mut(v.index())) {
                *place = Some(&i.op);
            }
        }
        search.check_depth()?;
        for (l, layer) in (0u32..).zip(&circuit.layers) {
            for i in layer.local.iter().chain(&layer.exchange) {
                let Some(out) = i.out else { continue };
                if let Some(place) = search.layer_of.get_mut(out.index()) {
                    *place = Some(l);
                }
                search.record(&i.op, out);
            }
        }
        search.find_split_values();
        search.find_of_two();
        Ok(search)
    }

    /// Remembers an instruction by what a statement will look for.
    fn record(&mut self, op: &Op, out: ValueId) {
        let circuit = self.circuit;
        let rep = |x: &ValueId| self.holds(*x, Hold::Rep);
        match *op {
            Op::Join { mask, dup } => drop(self.joined.entry(mask).or_insert((dup, out))),
            Op::Input(a) => drop(self.input_of.entry(a).or_insert(out)),
            Op::Own(x) | Op::OwnOf(x, _) if self.holds(x, Hold::Add3) => {
                let key = (x, circuit.ty(out).groups);
                self.words_of_owners.entry(key).or_insert(out);
            }
            Op::OpenMasked { x, .. } => {
                self.split_sums.extend(self.sum_of_words(x).map(|z| (z, circuit.ty(x).groups)));
            }
            ref op if is_linear(op) && op.operands().iter().all(rep) => {
                self.linear.entry(op.clone()).or_insert(out);
            }
            _ => {}
        }
    }

    /// Refuses rows of instructions that are followed too deep.
    fn check_depth(&self) -> Result<(), Unproven> {
        let mut depth = vec![0u32; self.circuit.types.len()];
        for (layer, of) in self.circuit.layers.iter().enumerate() {
            for i in of.local.iter().chain(&of.exchange) {
                let (Some(out), Some(from)) = (i.out, follows(&i.op)) else { continue };
                let deep = depth.get(from.index()).map_or(1, |d| d + 1);
                if deep > DEPTH {
                    let what = "the last of a long row of local instructions";
                    let of = Source::of(self.circuit, i);
                    return Err(Unproven::Operand { layer, op: i.op.name(), what, of });
                }
                if let Some(place) = depth.get_mut(out.index()) {
                    *place = deep;
                }
            }
        }
        Ok(())
    }

    /// Finds of owners' values and masks the replicated values whose parts a these are, operands first.
    fn find_split_values(&mut self) {
        let circuit = self.circuit;
        for i in circuit.layers.iter().flat_map(|l| l.local.iter().chain(&l.exchange)) {
            let owned = |v: ValueId| matches!(circuit.ty(v).hold, Hold::Own | Hold::Mask);
            if let Some(out) = i.out.filter(|&v| owned(v)) {
                self.split_values[out.index()] = self.find_split_value(out);
            }
        }
    }

    /// Counts a summand.
    pub(super) fn summand(&self) -> Result<(), &'static str> {
        self.some_summands(1)
    }

    /// Counts so many summands.
    pub(super) fn some_summands(&self, n: u64) -> Result<(), &'static str> {
        let left = self.summands.get();
        self.summands.set(left.saturating_sub(n));
        if left < n { Err("a sum of too many summands") } else { Ok(()) }
    }

    /// Counts a selection of so many planes.
    pub(super) fn planes(&self, n: usize) -> Result<(), &'static str> {
        match self.planes.get().checked_sub(PER_SELECTION + n as u64) {
            Some(left) => self.planes.set(left),
            None => return Err("a selection of too many planes"),
        }
        Ok(())
    }

    /// The layer in which a value is computed or received; none if it is there from the start.
    pub(super) fn layer_of(&self, v: ValueId) -> Option<u32> {
        self.layer_of.get(v.index()).copied().flatten()
    }

    pub(super) fn op(&self, v: ValueId) -> Option<&'a Op> {
        self.defs.get(v.index()).copied().flatten()
    }

    /// The instruction that makes a value, and the operand that statements are found through, if it is one of those:
    /// nothing is found through another, so that no row is longer than [`DEPTH`].
    pub(super) fn followed(&self, v: ValueId) -> Option<(&'a Op, ValueId)> {
        let op = self.op(v)?;
        Some((op, follows(op)?))
    }

    pub(super) fn holds(&self, v: ValueId, hold: Hold) -> bool {
        self.circuit.ty(v).hold == hold
    }

    /// Whether a replicated value is what two parties know, so that its other components are 0.
    pub(super) fn is_dup(&self, v: ValueId) -> bool {
        self.of_two.get(v.index()).copied().unwrap_or(false)
    }

    /// Finds which replicated values only two parties know, operands first.
    fn find_of_two(&mut self) {
        let circuit = self.circuit;
        for i in circuit.layers.iter().flat_map(|l| &l.local) {
            let Some(out) = i.out else { continue };
            self.of_two[out.index()] = match &i.op {
                Op::Trivial(x) => {
                    let ty = circuit.ty(*x);
                    ty.hold == Hold::Dup && ty.groups == 0
                }
                Op::Planes { x, .. } | Op::SelectPlanes(x, _) | Op::Scale(x, _) | Op::Neg(x) => {
                    self.is_dup(*x)
                }
                _ => false,
            };
        }
    }
}

/// The operand of an instruction through which statements are found, in `owners` and `sums`, however many of them stand
/// in a row: what is written there goes on from [`BarrierSearch::followed`] alone.
pub(super) fn follows(op: &Op) -> Option<ValueId> {
    match *op {
        Op::Not(x) | Op::Planes { x, .. } | Op::SelectPlanes(x, _) => Some(x),
        Op::Narrow(x, _) | Op::Extend(x, _) | Op::Shr(x, _) => Some(x),
        Op::Reshape(x, _) => Some(x),
        _ => None,
    }
}

/// Whether each component of the result is what the instruction makes of that component of the operands, element by
/// element or in the same order.
pub fn is_linear(op: &Op) -> bool {
    is_in_groups(op)
        || matches!(
            op,
            Op::Add(..)
                | Op::Sub(..)
                | Op::Neg(_)
                | Op::Scale(..)
                | Op::Raise(..)
                | Op::Narrow(..)
                | Op::Planes { .. }
                | Op::SelectPlanes(..)
                | Op::Stack(_)
                | Op::Reshape(..)
        )
}

/// Whether it also changes the order or the number of elements, so that only of what is cut between groups, and of
/// which no element leaves its group, shards become shards.
fn is_in_groups(op: &Op) -> bool {
    matches!(
        op,
        Op::Sum { .. } | Op::Transpose(..) | Op::Slice { .. } | Op::Broadcast(..) | Op::ToPlanes(_)
    )
}
