//! Statements of what an owner inputs: how it is made of parts of replicated values that it knows.

use super::barriers::{BarrierSearch, is_linear};
use super::input::{Bits, Own};
use crate::{Hold, Op, ValueId};
use std::collections::HashMap;

impl BarrierSearch<'_> {
    /// What an owner computes.
    pub(super) fn input_claim(&self, a: ValueId) -> Result<Own, &'static str> {
        if let Some(Op::Thermometer { x, blocks }) = self.op(a) {
            self.planes(blocks.len())?;
            return Ok(Own::Thermometer(self.bits(*x)?, blocks.clone()));
        }
        // A factor that is no part of a replicated value is input by itself, too.
        if let Some(Op::Mul(u, x)) = self.op(a) {
            let same = |v: ValueId| {
                let (ty, to) = (self.circuit.ty(v), self.circuit.ty(a));
                ty.shape == to.shape && ty.dom == to.dom
            };
            if self.circuit.ty(a).dom.is_bits() && same(*u) && same(*x) {
                return Ok(Own::And(self.known_bits(*u)?, self.known_bits(*x)?));
            }
            return match (self.part(*u), self.part(*x)) {
                (Some(u), Some(x)) if same(u) && same(x) => Ok(Own::Times { u, x }),
                (Some(_), Some(_)) => Err("a product with repeated axes"),
                _ => Err("a product with a factor that is not input by itself"),
            };
        }
        if self.circuit.ty(a).dom.is_bits() {
            return Ok(Own::Bits(self.bits(a)?));
        }
        match self.op(a) {
            Some(Op::FromBits(b, _)) if self.circuit.ty(*b).bits() == 1 => {
                Ok(Own::Word(self.bits(*b)?))
            }
            _ => {
                let (x, shift) = self.high(a)?;
                let left = self.circuit.ty(x).bits() - shift;
                Ok(Own::High { x, shift, wraps: self.circuit.ty(a).bits() > left })
            }
        }
    }

    /// The high bits of a part of a split, modulo the power of two of the result.
    fn high(&self, a: ValueId) -> Result<(ValueId, u32), &'static str> {
        match self.op(a) {
            Some(Op::Narrow(b, _)) => self.high(*b),
            _ => self.whole_high(a),
        }
    }

    /// All of the high bits of a part of a split. What was narrowed before it is extended has lost some, and the
    /// statement, which is about the part, would be another.
    fn whole_high(&self, a: ValueId) -> Result<(ValueId, u32), &'static str> {
        match self.op(a) {
            Some(Op::Extend(b, _)) => self.whole_high(*b),
            Some(Op::Shr(b, shift)) => match self.part(*b) {
                Some(x) if *shift < self.circuit.ty(x).bits() => Ok((x, *shift)),
                _ => Err("a shift of more than a part of a split"),
            },
            Some(Op::Own(_) | Op::OwnOf(..)) => match self.replicated(a) {
                Some(x) => Ok((x, 0)),
                None => Err("a part of what is never joined"),
            },
            _ => match self.replicated(a) {
                Some(x) => Ok((x, 0)),
                None => Err("a function that an owner computes by itself"),
            },
        }
    }

    /// A replicated value of whose part a an owner's value has the bits from a place on, and how many of them.
    fn shifted(&self, a: ValueId) -> Option<(ValueId, u32, u32)> {
        match self.op(a) {
            Some(Op::Narrow(b, to)) => {
                self.shifted(*b).map(|(x, by, there)| (x, by, there.min(*to)))
            }
            Some(Op::Shr(b, n)) => {
                self.shifted(*b).map(|(x, by, there)| (x, by + n, there.saturating_sub(*n)))
            }
            _ => self.part(a).map(|x| (x, 0, self.circuit.ty(x).bits())),
        }
    }

    /// The value whose low bits a narrower one is, all of them with the same carries.
    fn whole(&self, x: ValueId) -> ValueId {
        match self.op(x) {
            Some(Op::Narrow(y, _)) if self.holds(*y, Hold::Rep) => self.whole(*y),
            _ => x,
        }
    }

    fn bits(&self, a: ValueId) -> Result<Bits, &'static str> {
        if let Some(Op::Own(_) | Op::OwnOf(..)) = self.op(a) {
            return self.replicated(a).map(Bits::Part).ok_or("a part of what is never joined");
        }
        match self.op(a) {
            Some(Op::ToBits { x, lo, w }) => match self.shifted(*x) {
                Some((x, by, there)) if lo + w <= there => {
                    Ok(Bits::OfWord { x: self.whole(x), lo: by + lo, w: *w })
                }
                _ => Err("bits of more than a part of a split"),
            },
            Some(Op::Not(b)) => {
                self.planes(0)?;
                Ok(Bits::Not(Box::new(self.known_bits(*b)?)))
            }
            Some(Op::Planes { x, start, step, count }) => {
                self.planes(*count as usize)?;
                let planes = (0..*count).map(|i| start + step * i).collect();
                Ok(Bits::Select(Box::new(self.known_bits(*x)?), planes))
            }
            Some(Op::SelectPlanes(x, planes)) => {
                self.planes(planes.len())?;
                Ok(Bits::Select(Box::new(self.known_bits(*x)?), planes.clone()))
            }
            _ => self.replicated(a).map(Bits::Part).ok_or("bits that an owner computes by itself"),
        }
    }

    /// Bits of which others are made. What the owner inputs itself has a statement of its own.
    fn known_bits(&self, a: ValueId) -> Result<Bits, &'static str> {
        match self.input_of.get(&a) {
            Some(x) => Ok(Bits::Part(*x)),
            None => self.bits(a),
        }
    }

    /// A replicated value whose part a an owner's value is. What the owner inputs is one, if nothing else is: of it
    /// there is a statement by itself.
    pub(super) fn part(&self, a: ValueId) -> Option<ValueId> {
        self.replicated(a).or_else(|| self.input_of.get(&a).copied())
    }

    /// The same of what the owner computes. It may be input, so that no statement is about its own result.
    pub(super) fn replicated(&self, a: ValueId) -> Option<ValueId> {
        self.replicated_of.get(a.index()).copied().flatten()
    }

    /// The same, from what is found of the operands.
    pub(super) fn of_owner(&self, a: ValueId) -> Option<ValueId> {
        match self.op(a) {
            Some(Op::Own(x)) if self.holds(*x, Hold::Rep) => Some(*x),
            Some(Op::OwnOf(x, _)) if self.holds(*x, Hold::Rep) => Some(*x),
            Some(Op::Own(m)) => self.masked(*m),
            Some(op) if is_linear(op) => self.alike(a, op),
            _ => None,
        }
    }

    /// Of an owner's value that a linear instruction makes of others, what the same instruction makes of the replicated
    /// values whose parts a these are: its components are that instruction's of theirs, so that its part a is this
    /// value.
    fn alike(&self, a: ValueId, op: &Op) -> Option<ValueId> {
        let mut parts = HashMap::new();
        for v in op.operands() {
            parts.insert(v, self.part(v)?);
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
