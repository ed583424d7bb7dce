//! The verifier. What it accepts, the parties can evaluate without a panic, an out-of-range access
//! or a number that overflows.
//!
//! # Invariants of a circuit
//!
//! 1. **Bounded.** At most 2^22 values, instructions, layers and sites, 2^16 inputs, outputs and
//!    party sets, party sets of 1 to 2^20 members, 2^25 words of constants in all.
//! 2. **Types** are well formed ([`check_type`]): ring widths 8 to 128 in powers of two, 1 to
//!    4096 bits, at most 12 axes and 2^34 elements (sizes 0 counted as 1).
//! 3. **Ids** of values, sites, party sets and outputs are in range.
//! 4. **Single assignment.** Every value is defined exactly once: by an input, a constant or an
//!    instruction.
//! 5. **Defined before use.** An operand of a local instruction is defined earlier; an operand of an
//!    interactive instruction before its exchange, so none reads another's result of the exchange.
//! 6. **Not used after it is dropped.** A layer drops, in ascending order, values that are defined
//!    and were not dropped before.
//! 7. **Sections.** Local operations in the local part, interactive ones in the exchange.
//! 8. **Results.** Every instruction but `open_to` has a result, `open_to` has none.
//! 9. **Typing.** A result has the type that [`infer`] gives: holders, domains, shapes and
//!    parameters as documented at [`Op`].
//! 10. **Inputs** have distinct names. A public one becomes a `Public` value of the declared shape; a
//!     secret one a `Rep` value with the members of its party set as first axis. One-hot inputs have
//!     their classes as last axis and are over a ring or single bits, all others are over a ring.
//!     Ranges are not empty, and their ends fit the ring (those of public real numbers need not).
//!     Fields fill the only axis.
//! 11. **Constants** are `Public`, have as many elements as their type, each in the domain.
//! 12. **Indices** of a gather that are a constant are in range. (Others are checked when they are
//!     known.)
//! 13. **Outputs** are opened exactly once each, with the declared ring and shape, to a party set
//!     that exists; factor and divisor are finite and not zero; fields fill the only axis.
//! 14. **Masks.** The mask of a `open_masked` is the result of a `mask`, and no other `open_masked` has it.
//! 15. **Checks**: at most one of each party set, which exists; its value is the result of an
//!     instruction, `Public` single bits, one for each member.
//! 16. **Speculation.** With R and L as in [`super::speculation`]: an `admitted` names a check and has
//!     one bit for each member of its party set; R is at most L. Bits of a check that is named do not
//!     depend on an `admitted`. In layers R to L nothing else is opened and no coin
//!     drawn; no value that is defined before R is dropped; the mask of a `open_masked` is not made before R.

mod infer;
mod speculation;

pub use infer::{TypeError, check_type, infer};

use super::types::elements;
use super::{Circuit, Dom, Encoding, Field, From, Hold, Input, Instr, Op, Output, Type, ValueId};
use crate::{fixed, low_mask};
use infer::bounded;
use std::collections::BTreeSet;
use std::fmt;
use thiserror::Error;

/// Largest number of elements of a value.
pub const MAX_ELEMENTS: u64 = 1 << 34;
/// Largest number of planes of a value over bits.
pub const MAX_PLANES: u32 = 4096;
/// Largest number of axes of a value.
pub const MAX_RANK: usize = 12;
/// Largest number of values, instructions, layers, and sites.
pub const MAX_VALUES: usize = 1 << 22;
/// Largest number of inputs, outputs, party sets, sizes, and fields of all records together.
pub const MAX_DECLARATIONS: usize = 1 << 16;
/// Largest party set.
pub const MAX_MEMBERS: u64 = 1 << 20;
/// Most entries of a lookup table: as many as planes.
pub const MAX_TABLE: u64 = 1 << 12;
/// Largest set that committees are drawn from: drawing takes time quadratic in it.
pub const MAX_COMMITTEE: u64 = 1 << 15;
/// Largest number of random inner products of a row.
pub const MAX_TESTS: u64 = 1024;
/// Largest number of words of all constants together.
pub const MAX_CONSTS: usize = 1 << 25;

/// An instruction's place, for error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Layer, from 0.
    pub layer: usize,
    /// Whether it is in the exchange.
    pub exchange: bool,
    /// Position in that part of the layer, from 0.
    pub instr: usize,
    /// Name of the operation.
    pub op: &'static str,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = if self.exchange { "exchange" } else { "local" };
        write!(f, "layer {}, {part} instruction {} (`{}`)", self.layer, self.instr, self.op)
    }
}

/// Which invariant a circuit breaks, and where.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum VerifyError {
    /// Invariant 1.
    #[error("too many {0}")]
    TooMany(&'static str),
    /// Invariant 1.
    #[error("party set {set} has {size} members")]
    PartySize {
        /// Its index.
        set: usize,
        /// Its size.
        size: u64,
    },
    /// Invariant 2.
    #[error("{value}: {error}")]
    BadType {
        /// Which value.
        value: ValueId,
        /// What is wrong.
        error: TypeError,
    },
    /// Invariant 3.
    #[error("{place}: there is no value {value}")]
    NoValue {
        /// Where.
        place: Place,
        /// The id.
        value: ValueId,
    },
    /// Invariant 3.
    #[error("{place}: there is no {what} {index}")]
    NoIndex {
        /// Where.
        place: Place,
        /// A site, an output or a check.
        what: &'static str,
        /// The index.
        index: u32,
    },
    /// Invariant 4.
    #[error("{value} is defined twice, again by {by}")]
    Redefined {
        /// Which value.
        value: ValueId,
        /// The second definition.
        by: String,
    },
    /// Invariant 4.
    #[error("{0} is never defined")]
    Undefined(ValueId),
    /// Invariant 5.
    #[error("{place}: {value} is not defined yet")]
    NotYet {
        /// Where.
        place: Place,
        /// The operand.
        value: ValueId,
    },
    /// Invariant 6.
    #[error("{place}: {value} was dropped before")]
    Dropped {
        /// Where.
        place: Place,
        /// The operand.
        value: ValueId,
    },
    /// Invariants 6 and 16.
    #[error("layer {layer} cannot drop {value}: {why}")]
    BadDrop {
        /// In which layer.
        layer: usize,
        /// Which value.
        value: ValueId,
        /// Why not.
        why: &'static str,
    },
    /// Invariant 7.
    #[error("{place}: this operation does not belong in this part of a layer")]
    Section {
        /// Where.
        place: Place,
    },
    /// Invariant 8.
    #[error("{place}: it has a result where it must not, or none where it must")]
    Result {
        /// Where.
        place: Place,
    },
    /// Invariant 9.
    #[error("{place}: {error}")]
    Operands {
        /// Where.
        place: Place,
        /// What is wrong.
        error: TypeError,
    },
    /// Invariant 9.
    #[error("{place}: {value} is declared {declared}, but its operation gives {found}")]
    WrongType {
        /// Where.
        place: Place,
        /// The result.
        value: ValueId,
        /// Its type in the circuit, as text.
        declared: String,
        /// The type by the rules, as text.
        found: String,
    },
    /// Invariant 10.
    #[error("input {index} (`{name}`): {why}")]
    BadInput {
        /// Its index.
        index: usize,
        /// Its name.
        name: String,
        /// What is wrong.
        why: &'static str,
    },
    /// Invariant 11.
    #[error("constant {value}: {why}")]
    BadConst {
        /// The value it defines.
        value: ValueId,
        /// What is wrong.
        why: &'static str,
    },
    /// Invariant 12.
    #[error("{place}: index {index} is out of range for an axis of size {size}")]
    Index {
        /// Where.
        place: Place,
        /// The index.
        index: u128,
        /// Size of the axis.
        size: u64,
    },
    /// Invariant 13.
    #[error("output {index} (`{name}`): {why}")]
    BadOutput {
        /// Its index.
        index: usize,
        /// Its name.
        name: String,
        /// What is wrong.
        why: &'static str,
    },
    /// Invariant 14.
    #[error("{place}: {value} is not a fresh mask, or masks another exchange too")]
    Mask {
        /// Where.
        place: Place,
        /// The mask.
        value: ValueId,
    },
    /// Invariant 15.
    #[error("check {index}: {why}")]
    BadCheck {
        /// Its index.
        index: usize,
        /// What is wrong.
        why: &'static str,
    },
    /// Invariant 16.
    #[error("{place}: {why}")]
    Speculation {
        /// Where.
        place: Place,
        /// What is wrong.
        why: &'static str,
    },
}

/// Checks all invariants of the [module docs](self).
///
/// # Errors
///
/// The first invariant that is broken.
pub fn verify(circuit: &Circuit) -> Result<(), VerifyError> {
    bounds(circuit)?;
    for (i, ty) in circuit.types.iter().enumerate() {
        check_type(ty).map_err(|error| VerifyError::BadType { value: ValueId(i as u32), error })?;
    }
    let mut check = Checker {
        circuit,
        state: vec![State::Undefined; circuit.types.len()],
        opened: vec![false; circuit.outputs.len()],
        masks: BTreeSet::new(),
    };
    check.inputs()?;
    check.consts()?;
    check.layers()?;
    if let Some(i) = check.state.iter().position(|s| *s == State::Undefined) {
        return Err(VerifyError::Undefined(ValueId(i as u32)));
    }
    for (index, output) in circuit.outputs.iter().enumerate() {
        let opened = check.opened.get(index) == Some(&true);
        let why = if opened { bad_output(circuit, output) } else { Some("it is never opened") };
        if let Some(why) = why {
            return Err(VerifyError::BadOutput { index, name: output.name.clone(), why });
        }
    }
    checks(circuit)?;
    speculation::check(circuit)
}

/// Invariant 15, in a circuit whose values are all defined.
fn checks(circuit: &Circuit) -> Result<(), VerifyError> {
    let given: BTreeSet<ValueId> = (circuit.inputs.iter().map(|i| i.value))
        .chain(circuit.consts.iter().map(|c| c.value))
        .collect();
    let mut sets = BTreeSet::new();
    for (index, check) in circuit.checks.iter().enumerate() {
        let (set, ty) =
            (circuit.parties.get(check.set as usize), circuit.types.get(check.value.index()));
        let why = match (set, ty) {
            (None, _) => "its party set does not exist",
            (_, None) => "its value does not exist",
            _ if !sets.insert(check.set) => "another check has its party set",
            _ if given.contains(&check.value) => "its value is not the result of an instruction",
            (Some(set), Some(ty)) => match (ty.hold, ty.dom, &ty.shape[..]) {
                (Hold::Public, Dom::Bits(1), &[n]) if n == set.size => continue,
                _ => "its value is not one public bit for each member",
            },
        };
        return Err(VerifyError::BadCheck { index, why });
    }
    Ok(())
}

fn bounds(c: &Circuit) -> Result<(), VerifyError> {
    let consts = c.consts.iter().fold(0usize, |n, c| n.saturating_add(c.data.len()));
    let fields = c.inputs.iter().map(|i| i.fields.len());
    let fields: usize = fields.chain(c.outputs.iter().map(|o| o.fields.len())).sum();
    for (what, found, limit) in [
        ("values", c.types.len(), MAX_VALUES),
        ("layers", c.layers.len(), MAX_VALUES),
        ("instructions", c.instructions(), MAX_VALUES),
        ("sites", c.sites.len(), MAX_VALUES),
        ("sizes", c.sizes.len(), MAX_DECLARATIONS),
        ("party sets", c.parties.len(), MAX_DECLARATIONS),
        ("inputs", c.inputs.len(), MAX_DECLARATIONS),
        ("outputs", c.outputs.len(), MAX_DECLARATIONS),
        ("checks", c.checks.len(), MAX_DECLARATIONS),
        ("fields", fields, MAX_DECLARATIONS),
        ("words of constants", consts, MAX_CONSTS),
    ] {
        if found > limit {
            return Err(VerifyError::TooMany(what));
        }
    }
    for (set, p) in c.parties.iter().enumerate() {
        if p.size == 0 || p.size > MAX_MEMBERS {
            return Err(VerifyError::PartySize { set, size: p.size });
        }
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Undefined,
    /// Defined, by a constant with this index if any.
    Alive(Option<u32>),
    Dropped,
}

struct Checker<'a> {
    circuit: &'a Circuit,
    state: Vec<State>,
    opened: Vec<bool>,
    /// Results of `mask` that no `open_masked` has used.
    masks: BTreeSet<ValueId>,
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
            self.define(c.value, State::Alive(Some(index as u32)), "a constant")?;
        }
        Ok(())
    }

    fn layers(&mut self) -> Result<(), VerifyError> {
        for (l, layer) in self.circuit.layers.iter().enumerate() {
            let place = |exchange: bool, i: usize, instr: &Instr| Place {
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
    fn operands(&mut self, place: Place, instr: &Instr) -> Result<(), VerifyError> {
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

    fn define_result(&mut self, place: Place, instr: &Instr) -> Result<(), VerifyError> {
        match instr.out {
            Some(v) => self.define(v, State::Alive(None), place),
            None => Ok(()),
        }
    }

    fn indices(
        &self,
        place: Place,
        x: ValueId,
        index: ValueId,
        axis: u64,
    ) -> Result<(), VerifyError> {
        let size = self.circuit.ty(x).shape.get(axis as usize).copied().unwrap_or(0);
        let Some(State::Alive(Some(c))) = self.state.get(index.index()) else { return Ok(()) };
        let data = self.circuit.consts.get(*c as usize).map_or(&[][..], |c| &c.data);
        match data.iter().find(|&&i| i >= u128::from(size)) {
            Some(&index) => Err(VerifyError::Index { place, index, size }),
            None => Ok(()),
        }
    }

    fn open(&mut self, place: Place, x: ValueId, index: u32) -> Result<(), VerifyError> {
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

fn bad_input(circuit: &Circuit, input: &Input, ty: &Type) -> Option<&'static str> {
    let mut shape = Vec::new();
    let hold = match input.from {
        From::Public => Hold::Public,
        From::Each(set) => match circuit.parties.get(set as usize) {
            Some(set) => {
                shape.push(set.size);
                Hold::Rep
            }
            None => return Some("its party set does not exist"),
        },
    };
    shape.extend(&input.shape);
    if ty.hold != hold {
        return Some("its value is not held as its giver implies");
    }
    let k = ty.bits();
    let in_range = match input.encoding {
        Encoding::Fixed { frac, lo, hi, shift, norm } => {
            // A public number that does not fit is found when it is encoded.
            let fits = |x| hold == Hold::Public || fixed::encode(x, frac, k).is_some();
            let room =
                shift == 0 || fixed::shifted(lo.abs().max(hi.abs()), frac, shift, k).is_some();
            lo <= hi && fits(lo) && fits(hi) && room && norm >= 0.0
        }
        Encoding::Int { lo: 0, hi: 2 } if ty.dom == Dom::Bits(1) => true,
        Encoding::Int { lo, hi } => {
            let fits = |x: i128| k == 128 || (-(1i128 << (k - 1))..1i128 << (k - 1)).contains(&x);
            lo < hi && fits(i128::from(lo)) && fits(i128::from(hi) - 1)
        }
        Encoding::OneHot { classes } => {
            shape.push(classes);
            classes >= 1
        }
    };
    let bits = matches!(input.encoding, Encoding::OneHot { .. } | Encoding::Int { lo: 0, hi: 2 });
    match ty.dom {
        Dom::Bits(w) if !bits || w != 1 => Some("it is over bits"),
        _ if !in_range => Some("its range is empty or does not fit the ring"),
        _ if ty.shape != shape => Some("its value has another shape"),
        _ => bad_fields(&input.fields, &input.shape),
    }
}

fn bad_output(circuit: &Circuit, output: &Output) -> Option<&'static str> {
    if output.to as usize >= circuit.parties.len() {
        Some("its receiver does not exist")
    } else if [output.factor, output.divisor].iter().any(|x| !x.is_finite() || *x == 0.0) {
        Some("the factor or the divisor is zero or not finite")
    } else if output.frac > 1000 {
        Some("too many fraction bits")
    } else {
        bad_fields(&output.fields, &output.shape)
    }
}

fn bad_fields(fields: &[Field], shape: &[u64]) -> Option<&'static str> {
    if fields.is_empty() {
        return None;
    }
    if fields.iter().any(|f| f.shape.len() > MAX_RANK || !bounded(&f.shape)) {
        return Some("a field is too large");
    }
    let total = fields.iter().fold(0u64, |n, f| n.saturating_add(elements(&f.shape)));
    (shape != [total]).then_some("its fields do not fill its only axis")
}

#[cfg(test)]
pub(crate) mod tests;
