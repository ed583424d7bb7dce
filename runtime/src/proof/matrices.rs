//! Products of matrices as statements: what each of the three knows of one, whether it is reshared or not.

use super::products::Long;
use super::statements::{View, wide, wide_part, zip};
use crate::protocol::complement;
use crate::share::prev;
use slvr_circuit::ValueId;
use slvr_circuit::proof::{Parted, Statement};
use slvr_ring::{Data, Words};
use std::borrow::Cow;

/// Words of 64 bits where they lie, or made of narrower ones.
fn words(x: &Data) -> Cow<'_, [u64]> {
    match x {
        Data::Ring(Words::W64(x)) => Cow::Borrowed(x),
        x => Cow::Owned(wide(x)),
    }
}

impl View<'_> {
    /// A product of matrices.
    pub fn long(&self, s: &Statement) -> Long<'_> {
        let ty = self.circuit.ty(s.out);
        let mut values = Vec::new();
        s.claim.values(&mut |v| values.push(v));
        let tensor = |v: ValueId| (words(self.part(v)), self.circuit.ty(v).shape.clone());
        let sum = self.sums.then(|| {
            if let Some(parted) = s.claim.parted() {
                return self.parted(s, parted);
            }
            let mut sum: Vec<u64> = wide(&self.reshared(s, 0..ty.elements() as usize));
            if self.first() {
                let out = words(self.part(s.out));
                sum.iter_mut().zip(out.iter()).for_each(|(s, x)| *s = s.wrapping_add(*x));
            } else {
                sum.iter_mut().for_each(|s| *s = s.wrapping_neg());
            }
            sum
        });
        Long {
            claim: s.claim.clone(),
            operands: [tensor(values[0]), tensor(values[1])],
            shape: ty.shape.clone(),
            sum,
            first: self.first(),
            scale: 64 - ty.bits(),
        }
    }

    /// What a verifier adds of words that are not reshared ([`Parted`]): t1 or t2.
    fn parted(&self, s: &Statement, parted: Parted) -> Vec<u64> {
        let (out, lanes) = (s.out, s.lanes(self.circuit));
        let (shards, me, prover) = (lanes.ranges(), self.me, self.prover());
        let mut sum = vec![0; lanes.n];
        // Where this verifier knows what masks the prover's word, it is the owner; in the third shard it is the other of the
        // two that open.
        let mut put = |r: usize, words: Vec<u64>| sum[shards[r].clone()].copy_from_slice(&words);
        let part = |x: ValueId, r: usize| wide_part(self.part(x), shards[r].clone());
        put(prover, part(parted.input, prover));
        put(me, part(out, me));
        let other = 3 - prover - me;
        let rep = self.rep(out);
        let [x, y] = [&rep.first, &rep.second].map(|x| wide_part(x, shards[other].clone()));
        let (before, after) = complement(lanes, me);
        let at = if other == prev(me) { before } else { after };
        let own = wide_part(self.kept(parted.others).as_one(), at);
        put(other, zip(&zip(&x, &y, u64::wrapping_add), &own, u64::wrapping_sub));
        sum
    }
}
