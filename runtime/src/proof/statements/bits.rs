//! Statements over bits: gates, inputs, thermometer codes.

use super::{View, planes, shard};
use crate::proof::chunk::{Chunk, Column};
use crate::proof::pooling::{Reading, earlier};
use slvr_circuit::ValueId;
use slvr_circuit::proof::{Bits, Claim, Cut, Item, Statement, code_bits, steps};
use slvr_ring::{Data, Planes};
use std::borrow::Cow;
use std::ops::Range;

/// The words of bits of some elements, of all planes or of some, where they lie if they begin at a word and end at one or
/// where all end.
fn flat<'x>(x: &'x Data, some: Option<&[u32]>, range: Range<usize>) -> Column<'x, u64> {
    let Data::Bits(p) = x else { unreachable!("statements over bits are about bits") };
    let ends = range.end.is_multiple_of(64) || range.end == p.len();
    if !range.start.is_multiple_of(64) || !ends {
        let cut = x.slice(range);
        let cut = if let Some(some) = some { cut.select(some) } else { cut };
        return planes(cut).into_words().into();
    }
    let each = range.len().div_ceil(64);
    let plane = |j: u32| &p.plane(j as usize)[range.start / 64..][..each];
    match some {
        Some(some) => Column::of_parts(some.iter().map(|j| plane(*j))),
        None if range.len() == p.len() => Column::of_parts(std::iter::once(p.words())),
        None => Column::of_parts((0..p.width()).map(plane)),
    }
}

/// Words of the planes of an input of which something is to be proven.
fn unfound(s: &Statement, bits: Planes) -> Vec<u64> {
    if s.found.is_empty() {
        return bits.into_words();
    }
    let left = (0..bits.width()).filter(|place| s.found.binary_search(place).is_err());
    left.flat_map(|place| bits.plane(place as usize)).copied().collect()
}

impl View<'_> {
    /// The same as words of bits.
    fn own_words(&self, x: Cut) -> Vec<u64> {
        flat(self.part(x.x), None, shard(self.circuit, x, self.prover())).one().into_owned()
    }

    /// As [`View::products`], over bits.
    pub(super) fn gates(&self, s: &Statement, part: Option<usize>) -> Chunk<'_> {
        let (terms, plus, range) = self.terms(s, part);
        let ty = self.circuit.ty(s.out);
        let read = |v: ValueId| {
            let (x, some) = self.source(v);
            if some.is_some() {
                return flat(self.part(x), some, range.clone());
            }
            if let Some((x, gap)) = self.known(v, part) {
                return flat(x, None, earlier(&range, gap));
            }
            match self.aligned(v, s.out) {
                Cow::Borrowed(x) => flat(x, None, range.clone()),
                Cow::Owned(x) => flat(&x, None, range.clone()).one().into_owned().into(),
            }
        };
        let mut columns = Vec::new();
        for (u, v) in self.columns(terms, part) {
            columns.push(read(if self.first() { u } else { v }));
        }
        let exchanged = matches!(s.claim, Claim::Exchange { .. });
        let sum = self.sums.then(|| {
            if exchanged {
                let (xor, and) = (|x: u64, y: u64| x ^ y, |x: u64, y: u64| x & y);
                let all = Reading { range: &range, read: flat, pooling: None };
                return self.message(s, part, &all, (xor, xor, and));
            }
            let mut sum = planes(self.reshared(s, range.clone())).into_words();
            if self.first() {
                for t in terms.iter().filter(|t| t.is_local(self.prover(), part)) {
                    Column::each([&read(t.x), &read(t.y)], |at, [x, y]| {
                        let both = x.iter().zip(y);
                        sum[at..].iter_mut().zip(both).for_each(|(s, (x, y))| *s ^= x & y);
                    });
                }
                for z in [s.out].iter().chain(plus) {
                    let (z, some) = self.source(*z);
                    Column::each([&flat(self.part(z), some, range.clone())], |at, [z]| {
                        sum[at..].iter_mut().zip(z).for_each(|(s, z)| *s ^= z);
                    });
                }
            }
            sum
        });
        Chunk::new(ty.bits() as usize * range.len().div_ceil(64), columns, sum)
    }

    /// Products of an owner's bits.
    pub(super) fn both_bits(&self, s: &Statement, u: &Bits, x: &Bits) -> Chunk<'_> {
        let [u, p] = [u, x].map(|x| planes(self.bits(s, x)).into_words());
        let out = self.own_words(s.cut(s.out));
        let statements = out.len();
        let sum = self.sums.then(|| (0..statements).map(|i| out[i] ^ u[i] & p[i]).collect());
        let pair = if self.first() { [u, p] } else { [p, u] };
        Chunk::new(statements, pair.map(Column::from).into(), sum)
    }

    /// Bits less what was to be input, of those of which something is to be proven.
    pub(super) fn input_bits(&self, s: &Statement, bits: &Bits) -> Chunk<'_> {
        let sum = self.sums.then(|| {
            let mut sum = self.bits(s, bits);
            sum.add_assign(&self.own(s.cut(s.out)));
            unfound(s, planes(sum))
        });
        Chunk::new(Item::Claim(s).size(self.circuit, self.prover()).1, Vec::new(), sum)
    }

    pub(in crate::proof) fn add_planes(out: &mut [u64], code: &Planes, planes: &[u32]) {
        for &j in planes {
            out.iter_mut().zip(code.plane(j as usize)).for_each(|(o, x)| *o ^= x);
        }
    }

    /// The bits of a number are sums of its thermometer code.
    pub(super) fn code_bits(&self, s: &Statement, bits: &Bits, blocks: &[u32]) -> Chunk<'_> {
        let sum = self.sums.then(|| {
            let mut sum = planes(self.bits(s, bits));
            let code = planes(self.own(s.cut(s.out)));
            for (j, all) in code_bits(blocks).iter().enumerate() {
                Self::add_planes(sum.plane_mut(j), &code, all);
            }
            unfound(s, sum)
        });
        Chunk::new(Item::Claim(s).size(self.circuit, self.prover()).1, Vec::new(), sum)
    }

    /// T_(h+v) = T_h (T_v + T_h + T_(h+v)).
    pub(super) fn code_steps(&self, s: &Statement, blocks: &[u32]) -> Chunk<'_> {
        let code = planes(self.own(s.cut(s.out)));
        let all = steps(blocks);
        let mut parts = [(); 3].map(|()| vec![0; all.len() * code.stride()]);
        for (i, step) in all.iter().enumerate() {
            for (part, planes) in parts.iter_mut().zip(step) {
                Self::add_planes(&mut part[i * code.stride()..][..code.stride()], &code, planes);
            }
        }
        let [top, next, high] = parts;
        let sum = self
            .sums
            .then(|| high.iter().zip(top.iter().zip(&next)).map(|(h, (t, n))| h ^ t & n).collect());
        let pair = if self.first() { [top, next] } else { [next, top] };
        Chunk::new(high.len(), pair.map(Column::from).into(), sum)
    }
}
