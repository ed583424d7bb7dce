//! Inner products as statements: their words are folded, as those of element-wise products are, so that no vector of
//! elements is as long as a factor.
//!
//! Many short ones are statements with one term for each product. A few long ones follow one another: each is cut into blocks
//! by itself, and has one coefficient in all of them.

use super::chunk::{Chunk, Column};
use super::statements::{View, column, wide_part, zip};
use slvr_circuit::proof::{Claim, Statement};
use slvr_ring::Word;
use std::ops::Range;

impl View<'_> {
    /// This party's component of both factors of inner products, those from one batch on.
    fn factors<B: Word>(
        &self,
        s: &Statement,
        batch: Range<usize>,
        sums: usize,
    ) -> [Column<'_, B>; 2] {
        let Claim::MatMul { a, b, .. } = s.claim else { unreachable!("inner products") };
        [a, b].map(|v| {
            let part = self.part(v);
            // A batch of 1 is repeated.
            if part.len() == sums {
                return match batch.len() {
                    1 => column(part, 0..sums),
                    n => column::<B>(part, 0..sums).one().repeat(n).into(),
                };
            }
            column(part, batch.start * sums..batch.end * sums)
        })
    }

    /// Of inner products, the sums that a verifier adds.
    fn inner_sums<B: Word>(
        &self,
        s: &Statement,
        batch: Range<usize>,
        [x, y]: [&[B]; 2],
        sums: usize,
    ) -> Vec<B> {
        let start = batch.start / 64 * 64;
        let stream = self.reshared(s, start..batch.end);
        let stream = wide_part::<B>(&stream, batch.start - start..batch.end - start);
        if self.first() {
            // What V1 computes alone.
            let dot = |(x, y): (&[B], &[B])| {
                x.iter().zip(y).fold(B::ZERO, |s, (x, y)| s.wadd(x.wmul(*y)))
            };
            // There may be none of no products.
            let part = |b: usize| b * sums..(b + 1) * sums;
            let alone: Vec<B> = (0..batch.len()).map(|b| dot((&x[part(b)], &y[part(b)]))).collect();
            let out = zip(&wide_part::<B>(self.part(s.out), batch), &stream, B::wadd);
            zip(&out, &alone, B::wsub)
        } else {
            stream.into_iter().map(B::wneg).collect()
        }
    }

    /// Inner products x1 y2 + y1 x2 as statements, with a term for each product.
    pub(super) fn dots<B: Word>(&self, s: &Statement, count: usize, sums: usize) -> Chunk<'_, B> {
        let [x, y] = self.factors::<B>(s, 0..count, sums);
        let [x, y] = [x.one(), y.one()];
        let sum = self.sums.then(|| self.inner_sums(s, 0..count, [&x, &y], sums));
        let columns = |x: &[B]| -> Vec<Column<'static, B>> {
            let column = |k| (0..count).map(|b| x[b * sums + k]).collect::<Vec<_>>().into();
            (0..sums).map(column).collect()
        };
        let terms = match (self.sums, self.first()) {
            // A verifier that asks for sums reads the terms apart.
            (true, _) => Vec::new(),
            (false, true) => [columns(&x), columns(&y)].concat(),
            (false, false) => [columns(&y), columns(&x)].concat(),
        };
        Chunk::new(count, terms, sum).over(self.circuit.ty(s.out).bits())
    }

    /// One long inner product x1 y2 + y1 x2, as two terms. Its sum is one word.
    pub(super) fn dot<B: Word>(&self, s: &Statement, b: usize, sums: usize) -> Chunk<'_, B> {
        let [x, y] = self.factors::<B>(s, b..b + 1, sums);
        let sum = || self.inner_sums(s, b..b + 1, [&x.one(), &y.one()], sums);
        let sum = self.sums.then(sum);
        let terms = match (self.sums, self.first()) {
            // As above.
            (true, _) => Vec::new(),
            (false, true) => vec![x, y],
            (false, false) => vec![y, x],
        };
        Chunk::new(sums, terms, sum).over(self.circuit.ty(s.out).bits())
    }
}
