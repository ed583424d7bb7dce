//! Invariants of values and instructions: each value is defined once, before it is used and not used after it
//! is dropped, and each instruction stands where it belongs and has the type that its rule gives.

use super::declarations::{bad_input, bad_output};
use super::error::{Instruction, VerifyError};
use super::infer::infer;
use crate::{Circuit, Dom, From, Hold, Instr, Op, Type, ValueId, low_mask};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Checks invariants 3 to 14 (of 14 that masks are masks, each used once), 20 and 21, and where a `prove` may stand, in
/// a circuit that keeps the first two.
pub(super) fn check(circuit: &Circuit) -> Result<(), VerifyError> {
    let mut check = Checker {
        circuit,
        state: vec![State::Undefined; circuit.types.len()],
        opened: vec![false; circuit.outputs.len()],
        largest: BTreeMap::new(),
        masks: BTreeSet::new(),
        kept: BTreeSet::new(),
        loaded: circuit.loaded(),
    };
    check.inputs()?;
    check.consts()?;
    check.layers()?;
    if let Some(i) = check.state.iter().position(|s| *s == State::Undefined) {
        return Err(VerifyError::Undefined(ValueId(i as u32)));
    }
    for (index, state) in circuit.states() {
        if !check.kept.contains(&(index as u32)) {
            let why = "it is not kept for the next round";
            return Err(VerifyError::BadState { name: state.name.clone(), why });
        }
    }
    for (index, output) in circuit.outputs.iter().enumerate() {
        let opened = check.opened.get(index) == Some(&true);
        let why = if opened { bad_output(circuit, output) } else { Some("it is never opened") };
        if let Some(why) = why {
            return Err(VerifyError::BadOutput { index, name: output.name.clone(), why });
        }
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Undefined,
    /// Defined, by a table that is known if any.
    Alive(Option<Known>),
    Dropped,
}

/// A table that is known before a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// The constant with this index.
    Const(u32),
    /// By a rule, with this as its largest word.
    Rule(u128),
}

struct Checker<'a> {
    circuit: &'a Circuit,
    state: Vec<State>,
    opened: Vec<bool>,
    /// The largest word of each constant that a gather has read.
    largest: BTreeMap<u32, u128>,
    /// Results of `mask` that no `open_masked` has used.
    masks: BTreeSet<ValueId>,
    /// The states that are kept, by index of the input.
    kept: BTreeSet<u32>,
    /// What loads read.
    loaded: BTreeSet<ValueId>,
}

impl<'a> Checker<'a> {
    fn ty(&self, v: ValueId) -> Option<&'a Type> {
        self.circuit.types.get(v.index())
    }

    /// Defines a value that is known to be in range.
    fn define(
        &mut self,
        value: ValueId,
        state: State,
        by: impl fmt::Display,
    ) -> Result<(), VerifyError> {
        match self.state.get_mut(value.index()) {
            Some(s @ State::Undefined) => {
                *s = state;
                Ok(())
            }
            _ => Err(VerifyError::Redefined { value, by: by.to_string() }),
        }
    }

    fn inputs(&mut self) -> Result<(), VerifyError> {
        let mut names = BTreeSet::new();
        for (index, input) in self.circuit.inputs.iter().enumerate() {
            let twice = !names.insert(&input.name);
            let why = match self.ty(input.value) {
                None => Some("its value does not exist"),
                Some(_) if twice => Some("another input has this name"),
                Some(ty) => bad_input(self.circuit, input, ty),
            };
            if let Some(why) = why {
                return Err(VerifyError::BadInput { index, name: input.name.clone(), why });
            }
            self.define(input.value, State::Alive(None), format_args!("input {index}"))?;
        }
        Ok(())
    }

    fn consts(&mut self) -> Result<(), VerifyError> {
        for (index, c) in self.circuit.consts.iter().enumerate() {
            let why = match self.ty(c.value) {
                None => Some("it does not exist"),
                Some(ty) if ty.hold != Hold::Public => Some("it is not public"),
                Some(ty) if ty.elements() != c.data.len() as u64 => {
                    Some("the number of words is not that of its type")
                }
                Some(ty) if c.data.iter().any(|&x| x > low_mask(ty.bits())) => {
                    Some("a word is outside its domain")
                }
                Some(_) => None,
            };
            if let Some(why) = why {
                return Err(VerifyError::BadConst { value: c.value, why });
            }
            self.define(c.value, State::Alive(Some(Known::Const(index as u32))), "a constant")?;
        }
        Ok(())
    }

    fn layers(&mut self) -> Result<(), VerifyError> {
        for (l, layer) in self.circuit.layers.iter().enumerate() {
            let place = |exchange: bool, i: usize, instr: &Instr| Instruction {
                layer: l,
                exchange,
                instr: i,
                op: instr.op.name(),
            };
            for (i, instr) in layer.local.iter().enumerate() {
                let place = place(false, i, instr);
                self.operands(place, instr)?;
                self.define_result(place, instr)?;
            }
            // All operands before any result: the exchange is one round.
            for (i, instr) in layer.exchange.iter().enumerate() {
                self.operands(place(true, i, instr), instr)?;
            }
            for (i, instr) in layer.exchange.iter().enumerate() {
                self.define_result(place(true, i, instr), instr)?;
            }
            self.drops(l, &layer.drop)?;
        }
        Ok(())
    }

    fn drops(&mut self, layer: usize, drop: &[ValueId]) -> Result<(), VerifyError> {
        let mut last = None;
        for &value in drop {
            let bad = |why| Err(VerifyError::BadDrop { layer, value, why });
            if last.is_some_and(|l| l >= value) {
                return bad("the list is not ascending");
            }
            last = Some(value);
            match self.state.get_mut(value.index()) {
                None => return bad("there is no such value"),
                Some(State::Undefined) => return bad("it is not defined yet"),
                Some(State::Dropped) => return bad("it was dropped before"),
                Some(s) => *s = State::Dropped,
            }
        }
        Ok(())
    }

    /// Everything about an instruction but the definition of its result.
    fn operands(&mut self, place: Instruction, instr: &Instr) -> Result<(), VerifyError> {
        if instr.op.is_interactive() != place.exchange {
            return Err(VerifyError::Section { place });
        }
        if instr.site as usize >= self.circuit.sites.len() {
            return Err(VerifyError::NoIndex { place, what: "site", index: instr.site });
        }
        for value in instr.op.operands() {
            match self.state.get(value.index()) {
                None => return Err(VerifyError::NoValue { place, value }),
                Some(State::Undefined) => return Err(VerifyError::NotYet { place, value }),
                Some(State::Dropped) => return Err(VerifyError::Dropped { place, value }),
                Some(State::Alive(_)) => {}
            }
        }
        let circuit = self.circuit;
        let loads = matches!(instr.op, Op::Load { .. });
        let given = |v: ValueId| {
            circuit.inputs.iter().any(|i| i.value == v && matches!(i.from, From::Each(_)))
        };
        if let Some(value) = instr.op.operands().into_iter().find(|v| self.loaded.contains(v))
            && !(loads && given(value))
        {
            return Err(VerifyError::Load { place, value });
        }
        let found = infer(&instr.op, &|v| circuit.ty(v))
            .map_err(|error| VerifyError::Operands { place, error })?;
        match (found, instr.out) {
            (None, None) => {}
            (Some(found), Some(value)) => {
                let declared = self.ty(value).ok_or(VerifyError::NoValue { place, value })?;
                if *declared != found {
                    let (declared, found) = (declared.to_string(), found.to_string());
                    return Err(VerifyError::WrongType { place, value, declared, found });
                }
            }
            _ => return Err(VerifyError::Result { place }),
        }
        match &instr.op {
            Op::Admitted { check: index, .. } if *index as usize >= circuit.checks.len() => {
                Err(VerifyError::NoIndex { place, what: "check", index: *index })
            }
            Op::Gather { x, index, axis, .. } => self.indices(place, *x, *index, *axis),
            Op::OpenTo { x, output } => self.open(place, *x, *output),
            Op::Keep { x, input } => self.keep(place, *x, *input),
            Op::Prove | Op::BeginProof if !self.circuit.security.is_malicious() => {
                Err(VerifyError::NothingToProve { place })
            }
            Op::Mask { .. } => {
                self.masks.extend(instr.out);
                Ok(())
            }
            Op::OpenMasked { mask, .. } if !self.masks.remove(mask) => {
                Err(VerifyError::Mask { place, value: *mask })
            }
            _ => Ok(()),
        }
    }

    /// A state is kept once, as it is read in the next round.
    fn keep(&mut self, place: Instruction, x: ValueId, input: u32) -> Result<(), VerifyError> {
        let declared = self.circuit.inputs.get(input as usize);
        let state = declared.filter(|i| matches!(i.from, From::State(_)));
        let state = state.ok_or(VerifyError::NoIndex { place, what: "state", index: input })?;
        if self.ty(x) != self.ty(state.value) {
            return Err(VerifyError::BadState {
                name: state.name.clone(),
                why: "another type is kept",
            });
        }
        if !self.kept.insert(input) {
            return Err(VerifyError::BadState {
                name: state.name.clone(),
                why: "it is kept twice",
            });
        }
        Ok(())
    }

    fn define_result(&mut self, place: Instruction, instr: &Instr) -> Result<(), VerifyError> {
        match instr.out {
            Some(v) => self.define(v, State::Alive(rule(&instr.op)), place),
            None => Ok(()),
        }
    }

    fn indices(
        &mut self,
        place: Instruction,
        x: ValueId,
        index: ValueId,
        axis: u64,
    ) -> Result<(), VerifyError> {
        let size = self.circuit.ty(x).shape.get(axis as usize).copied().unwrap_or(0);
        let c = match self.state.get(index.index()) {
            Some(State::Alive(Some(Known::Const(c)))) => c,
            Some(State::Alive(Some(Known::Rule(most)))) if *most >= u128::from(size) => {
                return Err(VerifyError::Index { place, index: *most, size });
            }
            _ => return Ok(()),
        };
        let data = self.circuit.consts.get(*c as usize).map_or(&[][..], |c| &c.data);
        // Many gathers may read one large table.
        let most = || data.iter().copied().max().unwrap_or(0);
        if *self.largest.entry(*c).or_insert_with(most) < u128::from(size) {
            return Ok(());
        }
        match data.iter().find(|&&i| i >= u128::from(size)) {
            Some(&index) => Err(VerifyError::Index { place, index, size }),
            None => Ok(()),
        }
    }

    fn open(&mut self, place: Instruction, x: ValueId, index: u32) -> Result<(), VerifyError> {
        let circuit = self.circuit;
        let at = index as usize;
        let (Some(output), Some(opened)) = (circuit.outputs.get(at), self.opened.get_mut(at))
        else {
            return Err(VerifyError::NoIndex { place, what: "output", index });
        };
        let ty = circuit.ty(x);
        let why = if *opened {
            "it is opened twice"
        } else if ty.dom != Dom::Ring(output.ring) {
            "it is opened over another ring"
        } else if ty.shape != output.shape {
            "it is opened in another shape"
        } else {
            *opened = true;
            return Ok(());
        };
        Err(VerifyError::BadOutput { index: at, name: output.name.clone(), why })
    }
}

/// What is known of the words of a table that an operation makes by a rule.
fn rule(op: &Op) -> Option<Known> {
    let Op::Pairs { table, n, dom: Dom::Ring(k) } = op else { return None };
    let (lo, hi) = table.range(*n);
    Some(Known::Rule(if lo < 0 { low_mask(*k) } else { hi as u128 }))
}
