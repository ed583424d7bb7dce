//! Statements over words: products of entries, inputs.

use super::{View, column, planes, shard, wide, zip};
use crate::proof::chunk::{Chunk, Column};
use crate::proof::pooling::{Pooling, Reading, earlier};
use slvr_circuit::ValueId;
use slvr_circuit::proof::{Claim, Own, Statement};
use slvr_ring::{Data, Planes, Word};
use std::borrow::Cow;
use std::ops::Range;

/// As [`column`], of words, which have no planes.
fn words<'x, B: Word>(x: &'x Data, _: Option<&[u32]>, range: Range<usize>) -> Column<'x, B> {
    column(x, range)
}

/// Bits of one plane as numbers.
fn numbers<B: Word>(p: &Planes, plane: usize) -> Vec<B> {
    let words = p.plane(plane);
    (0..p.len()).map(|i| B::from_u64(words[i / 64] >> (i % 64) & 1)).collect()
}

/// 2^n, or 0 if a word has no such bit.
fn power<B: Word>(n: u32) -> B {
    B::from_u128(1u128.checked_shl(n).unwrap_or(0))
}

impl View<'_> {
    pub(super) fn products<B: Word>(&self, s: &Statement, part: Option<usize>) -> Chunk<'_, B> {
        let (terms, plus, range) = self.terms(s, part);
        let ty = self.circuit.ty(s.out);
        let read = |v: ValueId| -> Column<'_, B> {
            if let Some((x, gap)) = self.known(v, part) {
                return column(x, earlier(&range, gap));
            }
            match self.aligned(v, s.out) {
                Cow::Borrowed(x) => column(x, range.clone()),
                Cow::Owned(Data::Ring(x)) => Column::of_words(Cow::Owned(x), range.clone()),
                Cow::Owned(Data::Bits(_)) => unreachable!("statements over words"),
            }
        };
        let pooling = Pooling::of(self.circuit, s, part.filter(|_| !range.is_empty()));
        let all = Reading { range: &range, read: words, pooling: pooling.as_ref() };
        let mut columns = Vec::new();
        for (u, v) in self.columns(terms, part) {
            let x = if self.first() { u } else { v };
            let some = match s.claim.is_pooled() {
                true => {
                    let (x, gap) = self.known(x, part).unwrap_or_else(|| (self.part(x), 0));
                    all.all((x, gap, None))
                }
                false => vec![read(x)],
            };
            columns.extend(some);
        }
        let exchanged = matches!(s.claim, Claim::Exchange { .. });
        let sum = self.sums.then(|| {
            if exchanged {
                let how = (B::wadd, B::wsub, B::wmul);
                return self.message(s, part, &all, how);
            }
            let stream: Vec<B> = wide(&self.reshared(s, range.clone()));
            if self.first() {
                let mut sum =
                    zip(&column::<B>(self.part(s.out), range.clone()).one(), &stream, B::wadd);
                for t in terms.iter().filter(|t| t.is_local(self.prover(), part)) {
                    Column::each([&read(t.x), &read(t.y)], |at, [x, y]| {
                        let both = x.iter().zip(y);
                        let less = |s: B, x: &B, y: &B| s.wsub(x.wmul(*y));
                        sum[at..].iter_mut().zip(both).for_each(|(s, (x, y))| *s = less(*s, x, y));
                    });
                }
                for z in plus {
                    Column::each([&column(self.part(*z), range.clone())], |at, [z]| {
                        sum[at..].iter_mut().zip(z).for_each(|(s, z): (&mut B, _)| *s = s.wsub(*z));
                    });
                }
                sum
            } else {
                stream.into_iter().map(B::wneg).collect()
            }
        });
        Chunk::new(range.len(), columns, sum).over(ty.bits())
    }

    pub(super) fn input_words<B: Word>(&self, s: &Statement, own: &Own) -> Chunk<'_, B> {
        let part = |x: ValueId| -> Column<'_, B> {
            let x = s.cut(x);
            column(self.part(x.x), shard(self.circuit, x, self.prover()))
        };
        // Products that the statement has on its left, or, for sums, of its right side what this party knows besides the result.
        let (columns, known): (Vec<Column<'_, B>>, Vec<B>) = match own {
            Own::Bits(_) | Own::And(..) | Own::Thermometer(..) => {
                unreachable!("a statement over bits")
            }
            Own::Word(b) => {
                let b: Vec<B> = numbers(&planes(self.bits(s, b)), 0);
                (vec![self.twice(&b, B::ONE).into()], b)
            }
            Own::High { x, shift, wraps } => {
                let k = self.circuit.ty(*x).bits();
                let mut known = Vec::new();
                if self.sums {
                    known = part(*x).one().into_owned();
                    known.iter_mut().for_each(|p| *p = p.shr(*shift));
                }
                let mut columns = Vec::new();
                // Of a carry what this party shares, times what it adds.
                let mut add = |bit: u32, times: B| {
                    let c: Vec<B> = numbers(&self.carries[&s.cut(*x)], bit as usize - 1);
                    known.iter_mut().zip(&c).for_each(|(x, c)| *x = x.wadd(c.wmul(times)));
                    if !self.sums {
                        columns.push(self.twice(&c, times).into());
                    }
                };
                if *shift > 0 {
                    add(*shift, B::ONE);
                }
                if *wraps {
                    add(k, power::<B>(k - shift).wneg());
                }
                (columns, known)
            }
            Own::Times { u, x } => {
                let (u, p) = (part(*u), part(*x));
                let known = if self.sums { zip(&u.one(), &p.one(), B::wmul) } else { Vec::new() };
                (if self.first() { vec![u, p] } else { vec![p, u] }, known)
            }
        };
        let sum = || zip(&part(s.out).one(), &known, B::wsub);
        let (n, sum) =
            (shard(self.circuit, s.cut(s.out), self.prover()).len(), self.sums.then(sum));
        Chunk::new(n, columns, sum).over(self.circuit.ty(s.out).bits())
    }

    /// Of bits b1 xor b2 = b1 + b2 - 2 b1 b2, times a word: this party's factor of the product.
    fn twice<B: Word>(&self, b: &[B], times: B) -> Vec<B> {
        let first = self.first();
        let factor = times.wadd(times).wneg();
        b.iter().map(|b| if first { b.wmul(factor) } else { *b }).collect()
    }
}
