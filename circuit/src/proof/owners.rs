//! Statements of what an owner inputs: how it is made of parts a of replicated values ([`super`] says what these are).
//!
//! | asked | of | gives the replicated value |
//! |---|---|---|
//! | `split_value` | an owner's value | whose part a it is |
//! | `split_or_input` | an owner's value | likewise, or else the one that its input makes |
//! | `split_value_of_mask` | a mask | whose part a it is |
//! | `split_value_or_itself` | what is replicated, or a mask | that it is, or whose part a it is |
//! | `split_value_of_dup` | what two parties know | whose part b it is |
//! | `split_value_of_dup_or_itself` | what two parties know | likewise, or else itself |

use super::index::{BarrierSearch, is_linear};
use super::input::{Bits, Own};
use crate::{Hold, Op, ValueId};
use std::collections::HashMap;

/// Why an owner's part has no statement.
const NEVER_JOINED: &str = "a part of what is never joined";

impl BarrierSearch<'_> {
    /// What is claimed of an owner's value that is input.
    pub(super) fn input_claim(&self, a: ValueId) -> Result<Own, &'static str> {
        if let Some(Op::Thermometer { x, blocks }) = self.op(a) {
            self.planes(blocks.len())?;
            return Ok(Own::Thermometer(self.bits_claim(*x)?, blocks.clone()));
        }
        // A factor that is no part of a replicated value is input by itself, too.
        if let Some(Op::Mul(u, x)) = self.op(a) {
            let same = |v: ValueId| {
                let (ty, to) = (self.circuit.ty(v), self.circuit.ty(a));
                ty.shape == to.shape && ty.dom == to.dom
            };
            if self.circuit.ty(a).dom.is_bits() && same(*u) && same(*x) {
                return Ok(Own::And(self.bits_or_input(*u)?, self.bits_or_input(*x)?));
            }
            return match (self.split_or_input(*u), self.split_or_input(*x)) {
                (Some(u), Some(x)) if same(u) && same(x) => Ok(Own::Times { u, x }),
                (Some(_), Some(_)) => Err("a product with repeated axes"),
                _ => Err("a product with a factor that is not input by itself"),
            };
        }
        if self.circuit.ty(a).dom.is_bits() {
            return Ok(Own::Bits(self.bits_claim(a)?));
        }
        match self.op(a) {
            Some(Op::FromBits(b, _)) if self.circuit.ty(*b).bits() == 1 => {
                Ok(Own::Word(self.bits_claim(*b)?))
            }
            _ => {
                let (x, shift) = self.high_bits_modulo(a)?;
                let left = self.circuit.ty(x).bits() - shift;
                Ok(Own::High { x, shift, wraps: self.circuit.ty(a).bits() > left })
            }
        }
    }

    /// If an owner's value is the high bits of a part a, modulo the power of two of its own type: the replicated value,
    /// and how many low bits are dropped.
    fn high_bits_modulo(&self, a: ValueId) -> Result<(ValueId, u32), &'static str> {
        match self.followed(a) {
            Some((Op::Narrow(..), b)) => self.high_bits_modulo(b),
            _ => self.high_bits(a),
        }
    }

    /// If an owner's value is all of the high bits of a part a: the replicated value, and how many low bits are
    /// dropped. What was narrowed before it is extended has lost some, and the statement, which is about the part,
    /// would be another.
    fn high_bits(&self, a: ValueId) -> Result<(ValueId, u32), &'static str> {
        match self.followed(a) {
            Some((Op::Extend(..), b)) => self.high_bits(b),
            Some((Op::Shr(_, shift), b)) => match self.split_or_input(b) {
                Some(x) if *shift < self.circuit.ty(x).bits() => Ok((x, *shift)),
                _ => Err("a shift of more than a part of a split"),
            },
            _ => match (self.split_value(a), self.op(a)) {
                (Some(x), _) => Ok((x, 0)),
                (None, Some(Op::Own(_) | Op::OwnOf(..))) => Err(NEVER_JOINED),
                (None, _) => Err("a function that an owner computes by itself"),
            },
        }
    }

    /// If an owner's value is bits of a part a, from a place on: the replicated value, the place, and how many bits
    /// there are.
    fn split_bits(&self, a: ValueId) -> Option<(ValueId, u32, u32)> {
        match self.followed(a) {
            Some((Op::Narrow(_, to), b)) => {
                self.split_bits(b).map(|(x, by, there)| (x, by, there.min(*to)))
            }
            Some((Op::Shr(_, n), b)) => {
                self.split_bits(b).map(|(x, by, there)| (x, by + n, there.saturating_sub(*n)))
            }
            _ => self.split_or_input(a).map(|x| (x, 0, self.circuit.ty(x).bits())),
        }
    }

    /// The replicated value of which this one, which is also replicated, is the low bits, or itself: carries into these
    /// bits are the same.
    fn before_narrowing(&self, x: ValueId) -> ValueId {
        match self.followed(x) {
            Some((Op::Narrow(..), y)) if self.holds(y, Hold::Rep) => self.before_narrowing(y),
            _ => x,
        }
    }

    /// How an owner's bits are made of the parts a of replicated values.
    fn bits_claim(&self, a: ValueId) -> Result<Bits, &'static str> {
        match (self.followed(a), self.op(a)) {
            (Some((Op::Not(_), b)), _) => {
                self.planes(0)?;
                Ok(Bits::Not(Box::new(self.bits_or_input(b)?)))
            }
            (Some((Op::Planes { start, step, count, .. }, x)), _) => {
                self.planes(*count as usize)?;
                let planes = (0..*count).map(|i| start + step * i).collect();
                Ok(Bits::Select(Box::new(self.bits_or_input(x)?), planes))
            }
            (Some((Op::SelectPlanes(_, planes), x)), _) => {
                self.planes(planes.len())?;
                Ok(Bits::Select(Box::new(self.bits_or_input(x)?), planes.clone()))
            }
            (_, Some(Op::ToBits { x, lo, w })) => match self.split_bits(*x) {
                Some((x, by, there)) if lo + w <= there => {
                    Ok(Bits::OfWord { x: self.before_narrowing(x), lo: by + lo, w: *w })
                }
                _ => Err("bits of more than a part of a split"),
            },
            (_, Some(Op::Own(_) | Op::OwnOf(..))) => {
                self.split_value(a).map(Bits::Part).ok_or(NEVER_JOINED)
            }
            _ => self.split_value(a).map(Bits::Part).ok_or("bits that an owner computes by itself"),
        }
    }

    /// How bits are made of which an owner makes others. Those that it also inputs have a statement of their own.
    fn bits_or_input(&self, a: ValueId) -> Result<Bits, &'static str> {
        match self.input_of.get(&a) {
            Some(x) => Ok(Bits::Part(*x)),
            None => self.bits_claim(a),
        }
    }

    /// The replicated value whose part a this owner's value is. Where it is none but is input, what the input makes
    /// stands in its place: that it is right is a statement of its own.
    pub(super) fn split_or_input(&self, a: ValueId) -> Option<ValueId> {
        self.split_value(a).or_else(|| self.input_of.get(&a).copied())
    }

    /// The replicated value whose part a this owner's value is, whether or not it is input: a statement about an input
    /// cannot rest on what the input itself makes.
    pub(super) fn split_value(&self, a: ValueId) -> Option<ValueId> {
        self.split_values.get(a.index()).copied().flatten()
    }

    /// Finds the replicated value whose part a this owner's value is, once those of its operands are found.
    pub(super) fn find_split_value(&self, a: ValueId) -> Option<ValueId> {
        match self.op(a) {
            Some(Op::Own(x)) if self.holds(*x, Hold::Rep) => Some(*x),
            Some(Op::OwnOf(x, _)) if self.holds(*x, Hold::Rep) => Some(*x),
            Some(Op::Own(m)) => self.split_value_of_mask(*m),
            Some(op) if is_linear(op) => self.split_value_of_linear(a, op),
            _ => None,
        }
    }

    /// Of an owner's value that a linear instruction makes of parts a, the replicated value that the same instruction
    /// makes of the replicated values: each of its components is made of theirs, so that its part a is this value.
    fn split_value_of_linear(&self, a: ValueId, op: &Op) -> Option<ValueId> {
        let mut parts = HashMap::new();
        for v in op.operands() {
            parts.insert(v, self.split_or_input(v)?);
        }
        let part = |v: ValueId| parts.get(&v).copied().unwrap_or(v);
        let turned = match *op {
            Op::Add(x, y) => self.linear.get(&Op::Add(part(y), part(x))),
            _ => None,
        };
        let out = *self.linear.get(&op.map(part)).or(turned)?;
        // Shards of what is repeated begin elsewhere, but where they are cut between the same groups of both.
        let ty = |v: ValueId| self.circuit.ty(v);
        let groups = ty(a).groups;
        let cut = |own: ValueId, rep: ValueId| {
            let (own, rep) = (ty(own), ty(rep));
            (&own.shape, own.dom, own.groups) == (&rep.shape, rep.dom, groups)
        };
        let elements = ty(out).elements();
        let fits = cut(a, out) && parts.iter().all(|(&own, &rep)| cut(own, rep));
        let as_many = |rep: &ValueId| ty(*rep).elements() == elements;
        (fits && (groups > 0 || parts.values().all(as_many))).then_some(out)
    }
}
