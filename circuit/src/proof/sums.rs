//! Statements of what is reshared and exchanged: sums of products of replicated values, and of these with what two
//! parties know.

use super::claim::{Claim, Parted, Pooled, Term};
use super::index::BarrierSearch;
use crate::{Hold, Op, ValueId};

/// Products that are added up to one word before it is exchanged, at most: each place in a sum is a column of its own.
const MOST_POOLED: usize = 1 << 10;

/// Why what is added or multiplied has no statement.
const NOT_SHARED: &str = "neither a replicated value nor a mask";

impl BarrierSearch<'_> {
    /// What is claimed of a sum of three words that is reshared.
    pub(super) fn reshared_claim(&self, z: ValueId) -> Result<Claim, &'static str> {
        let rep = |v: &ValueId| self.holds(*v, Hold::Rep);
        if let Some(claim) = self.matrices_claim(z, None) {
            return Ok(claim);
        }
        let (mut terms, mut plus) = (Vec::new(), Vec::new());
        let mut left = vec![z];
        while let Some(v) = left.pop() {
            self.summand()?;
            if self.circuit.ty(v).shape != self.circuit.ty(z).shape {
                return Err("a sum with repeated axes");
            }
            match self.op(v) {
                _ if rep(&v) => plus.push(v),
                Some(Op::Mul(x, y)) if rep(x) && rep(y) => terms.push(self.product_term(z, *x, *y)),
                Some(Op::AsAdd3(x)) if rep(x) => plus.push(*x),
                Some(Op::Add(x, y)) => left.extend([*y, *x]),
                Some(Op::Conv2d { conv, .. }) if conv.groups > 1 => {
                    return Err("a convolution whose channels are in groups");
                }
                _ => {
                    return Err(
                        "neither a product of replicated values nor a sum of such products",
                    );
                }
            }
        }
        Ok(Claim::Products { terms, plus })
    }

    /// What is claimed of a sum of three words that is a product of matrices.
    fn matrices_claim(&self, z: ValueId, parted: Option<Parted>) -> Option<Claim> {
        let rep = |v: ValueId| self.holds(v, Hold::Rep);
        match *self.op(z)? {
            Op::MatMul { a, b, trans_b } if rep(a) && rep(b) => {
                Some(Claim::MatMul { a, b, trans_b, parted })
            }
            Op::Conv2d { x, w, conv } if rep(x) && rep(w) && conv.groups == 1 => {
                Some(Claim::Conv { x, w, conv, parted })
            }
            _ => None,
        }
    }

    /// The sum of three words of which this value is the two words of those who are not the owner.
    pub(super) fn sum_of_words(&self, x: ValueId) -> Option<ValueId> {
        match self.op(x) {
            Some(&(Op::AsAdd2(z) | Op::AsAdd2Of(z, _))) if self.holds(z, Hold::Add3) => Some(z),
            _ => None,
        }
    }

    /// What the owners' input of their own words of a sum of three makes, where it is cut between so many groups.
    pub(super) fn input_of_words(&self, z: ValueId, groups: u32) -> Option<ValueId> {
        self.input_of.get(self.words_of_owners.get(&(z, groups))?).copied()
    }

    /// What is claimed of a product of matrices of whose three words the owner inputs its own and the others open
    /// theirs.
    pub(super) fn parted_claim(&self, others: ValueId) -> Result<Claim, &'static str> {
        let Some(z) = self.sum_of_words(others) else { return Err("no word of a sum") };
        let Some(input) = self.input_of_words(z, self.circuit.ty(others).groups) else {
            return Err("words of a sum of which the owner inputs nothing");
        };
        let claim = self.matrices_claim(z, Some(Parted { others, input }));
        match claim.filter(|c| c.inner(self.circuit).is_none()) {
            Some(claim) => Ok(claim),
            None => Err("words of a sum that is no product of matrices"),
        }
    }

    /// Whether owners input here their own words of a sum of three, and make `out` of them, while the others open
    /// theirs.
    pub(super) fn is_parted(&self, a: ValueId, out: Option<ValueId>) -> bool {
        let Some(&(Op::Own(z) | Op::OwnOf(z, _))) = self.op(a) else { return false };
        let groups = self.circuit.ty(a).groups;
        self.is_owners_word(a)
            && self.split_sums.contains(&(z, groups))
            && self.input_of_words(z, groups) == out
    }

    /// Whether it is the owner's own word of a sum of three.
    pub(super) fn is_owners_word(&self, a: ValueId) -> bool {
        matches!(self.op(a), Some(&(Op::Own(z) | Op::OwnOf(z, _))) if self.holds(z, Hold::Add3))
    }

    /// What is claimed of what two parties reshare or open to each other: products of replicated values with what these
    /// two know, and values that are added.
    pub(super) fn exchanged_claim(&self, z: ValueId) -> Result<Claim, &'static str> {
        let (z, pooled) = self.pooled_sum(z);
        let same = |v: ValueId| {
            let (ty, to) = (self.circuit.ty(v), self.circuit.ty(z));
            (&ty.shape, ty.dom, ty.groups) == (&to.shape, to.dom, to.groups)
        };
        // A replicated value is not cut.
        let alike = |v: ValueId| {
            let (ty, to) = (self.circuit.ty(v), self.circuit.ty(z));
            (&ty.shape, ty.dom) == (&to.shape, to.dom) && (ty.hold == Hold::Rep || same(v))
        };
        let (mut terms, mut plus) = (Vec::new(), Vec::new());
        let mut left = vec![z];
        while let Some(v) = left.pop() {
            self.summand()?;
            if !same(v) {
                return Err("a sum with repeated axes");
            }
            match self.op(v) {
                Some(Op::Add(x, y)) => left.extend([*y, *x]),
                Some(Op::AsAdd2(x) | Op::AsAdd2Of(x, _)) => match self.split_value_or_itself(*x) {
                    Some((x, mask)) => plus.push((x, mask)),
                    None => return Err(NOT_SHARED),
                },
                Some(Op::Mul(x, y)) => match (self.op(*x), self.split_value_of_dup_or_itself(*y)) {
                    (Some(Op::AsAdd2(v) | Op::AsAdd2Of(v, _)), Some(y)) if same(*x) && alike(y) => {
                        let (x, mask) = self.split_value_or_itself(*v).ok_or(NOT_SHARED)?;
                        terms.push(Term { x, y, dup: true, mask });
                    }
                    _ => {
                        return Err(
                            "a product whose factors are not a replicated value and what two parties know",
                        );
                    }
                },
                _ => {
                    return Err(
                        "neither a product with what two parties know nor a sum of such products",
                    );
                }
            }
        }
        // Each place in a sum has a column for every product.
        if let Some(pooled) = &pooled {
            self.some_summands((terms.len() as u64).saturating_mul(pooled.each() as u64))?;
        }
        match pooled {
            Some(_) if !plus.is_empty() => Err("values that are added up without a factor"),
            Some(pooled) if pooled.each() > MOST_POOLED => Err("a sum of too many products"),
            pooled => Ok(Claim::Exchange { terms, plus, pooled }),
        }
    }

    /// What is added up before it is exchanged, and over which axes of which shape; or the value itself. Its shape may
    /// have changed in between.
    fn pooled_sum(&self, z: ValueId) -> (ValueId, Option<Pooled>) {
        let flat = |mut v: ValueId| {
            while let Some((Op::Reshape(..), x)) = self.followed(v) {
                v = x;
            }
            v
        };
        match self.op(flat(z)) {
            Some(Op::Sum { x, axes }) => {
                let shape = self.circuit.ty(*x).shape.clone();
                (flat(*x), Some(Pooled { shape, axes: axes.clone() }))
            }
            _ => (z, None),
        }
    }

    /// A replicated value itself, or with `true` the one whose part a this mask is.
    fn split_value_or_itself(&self, v: ValueId) -> Option<(ValueId, bool)> {
        match self.circuit.ty(v).hold {
            Hold::Rep => Some((v, false)),
            Hold::Mask => Some((self.split_value_of_mask(v)?, true)),
            _ => None,
        }
    }

    /// The replicated value whose part a this mask is.
    pub(super) fn split_value_of_mask(&self, m: ValueId) -> Option<ValueId> {
        match self.op(m) {
            Some(Op::MaskOf(x, _)) => Some(*x),
            Some(Op::Mask { .. }) => self.joined.get(&m).map(|(_, out)| *out),
            _ => None,
        }
    }

    /// The replicated value whose part b this is.
    pub(super) fn split_value_of_dup(&self, d: ValueId) -> Option<ValueId> {
        match self.op(d) {
            Some(Op::Dup(x) | Op::DupOf(x, _)) => Some(*x),
            Some(Op::OpenMasked { mask, .. }) => {
                self.joined.get(mask).filter(|(dup, _)| *dup == d).map(|(_, out)| *out)
            }
            _ => None,
        }
    }

    /// The replicated value whose part b this is, or else itself, if two parties know it.
    fn split_value_of_dup_or_itself(&self, d: ValueId) -> Option<ValueId> {
        self.split_value_of_dup(d).or_else(|| self.holds(d, Hold::Dup).then_some(d))
    }

    /// A product of two replicated values, on the right the one that only two parties know, if one is.
    fn product_term(&self, product: ValueId, x: ValueId, y: ValueId) -> Term {
        let shape = &self.circuit.ty(product).shape;
        let dup = |v: ValueId| self.circuit.ty(v).shape == *shape && self.is_dup(v);
        match (dup(x), dup(y)) {
            (_, true) => Term { x, y, dup: true, mask: false },
            (true, false) => Term { x: y, y: x, dup: true, mask: false },
            (false, false) => Term { x, y, dup: false, mask: false },
        }
    }
}
